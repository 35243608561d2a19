//! Attributes read straight from the record of an object column.

use super::{Compiler, Row};
use crate::error::Result;
use crate::object::codec::{self, Body};
use crate::object::{Oid, Record, Type, Value, ValueRef};
use crate::query::plan::{Expression, ExpressionKind, Slots};

/// An attribute of an object column: where it lies.
#[derive(Clone, Copy)]
pub struct Attribute<'a> {
    position: usize,
    place: Lies<'a>,
}

#[derive(Clone, Copy)]
enum Lies<'a> {
    /// In one slot for all classes, with one type and one default.
    Same {
        slot: usize,
        r#type: &'a Type,
        default: &'a Value,
    },
    /// By class.
    ByClass(&'a Slots),
}

impl<'a> Compiler<'a> {
    /// The attribute that an expression is, if it is one of an object column of the row itself.
    pub fn attribute(&self, expression: &'a Expression) -> Option<Attribute<'a>> {
        let ExpressionKind::Attribute { base, slots, .. } = &expression.kind else {
            return None;
        };
        let column = base.as_column()?;
        let position = self.position(column)?;
        let place = match slots {
            Slots::ByClass(_) => Lies::ByClass(slots),
            Slots::Same(slot) => {
                let Type::Reference(class) = &column.r#type else {
                    return None;
                };
                let layout = &self.shared.reader.catalog().class(class)?.layout;
                let found = layout.slots.get(*slot)?;
                Lies::Same {
                    slot: *slot,
                    r#type: &found.r#type,
                    default: &found.default,
                }
            }
        };
        // Only an object column holds records; the value of another is looked up by the evaluator.
        self.objects
            .get(position)
            .copied()
            .unwrap_or(false)
            .then_some(Attribute { position, place })
    }
}

impl<'a> Attribute<'a> {
    /// Whether the attribute has this type in every class.
    pub fn is(&self, wanted: &Type) -> bool {
        matches!(self.place, Lies::Same { r#type, .. } if r#type == wanted)
    }

    /// The place of the object column in the rows.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Slot and default, if they are the same for all classes.
    pub fn same(&self) -> Option<(usize, &'a Value)> {
        match self.place {
            Lies::Same { slot, default, .. } => Some((slot, default)),
            Lies::ByClass(_) => None,
        }
    }

    #[inline]
    fn record<'r>(&self, row: &Row<'r, 'a>) -> Option<&'r Record<'a>> {
        row.batch
            .column(self.position)
            .and_then(|cells| cells.record(row.index))
    }

    /// The value.
    #[inline]
    pub fn value<'r>(&self, row: &Row<'r, 'a>) -> Result<ValueRef<'r>> {
        let Some(record) = self.record(row) else {
            return Ok(ValueRef::Nil);
        };
        match self.place {
            Lies::Same {
                slot,
                r#type,
                default,
            } => match Body::new(&record.body)?.slot(slot)? {
                Some(bytes) => codec::decode(r#type, bytes),
                None => Ok(default.as_ref()),
            },
            Lies::ByClass(slots) => {
                let class = record.oid.class();
                match (slots.slot(class), row.run.layout(class)) {
                    (Some(slot), Some(layout)) => codec::read_slot(layout, &record.body, slot),
                    _ => Ok(ValueRef::Nil),
                }
            }
        }
    }

    /// The value of an attribute of type int.
    #[inline]
    pub fn int(&self, row: &Row<'_, 'a>) -> Result<Option<i64>> {
        match (self.record(row), self.place) {
            (Some(record), Lies::Same { slot, default, .. }) => {
                match Body::new(&record.body)?.stored(slot)? {
                    Some(stored) => stored.int(),
                    None => Ok(default.as_int()),
                }
            }
            (None, _) => Ok(None),
            _ => Ok(match self.value(row)? {
                ValueRef::Int(number) => Some(number),
                _ => None,
            }),
        }
    }

    /// The value of an attribute of type float.
    #[inline]
    pub fn float(&self, row: &Row<'_, 'a>) -> Result<Option<f64>> {
        match (self.record(row), self.place) {
            (Some(record), Lies::Same { slot, default, .. }) => match Body::new(&record.body)?.slot(slot)? {
                Some(bytes) => codec::decode_float(bytes),
                None => Ok(default.as_float()),
            },
            (None, _) => Ok(None),
            _ => Ok(match self.value(row)? {
                ValueRef::Float(number) => Some(number),
                _ => None,
            }),
        }
    }

    /// The bytes of an attribute of type string.
    #[inline]
    pub fn text<'r>(&self, row: &Row<'r, 'a>) -> Result<Option<&'r [u8]>> {
        match (self.record(row), self.place) {
            (Some(record), Lies::Same { slot, default, .. }) => match Body::new(&record.body)?.slot(slot)? {
                Some(bytes) => codec::decode_string(bytes),
                None => Ok(default.as_str().map(str::as_bytes)),
            },
            (None, _) => Ok(None),
            _ => Ok(match self.value(row)? {
                ValueRef::String(text) => Some(text),
                _ => None,
            }),
        }
    }

    /// The value of an attribute of type bool.
    #[inline]
    pub fn truth(&self, row: &Row<'_, 'a>) -> Result<Option<bool>> {
        Ok(match self.value(row)? {
            ValueRef::Bool(truth) => Some(truth),
            _ => None,
        })
    }

    /// The value of an attribute that is a reference.
    #[inline]
    pub fn reference(&self, row: &Row<'_, 'a>) -> Result<Option<Oid>> {
        match (self.record(row), self.place) {
            (Some(record), Lies::Same { slot, default, .. }) => match Body::new(&record.body)?.slot(slot)? {
                Some(bytes) => codec::decode_reference(bytes),
                None => Ok(default.as_reference()),
            },
            (None, _) => Ok(None),
            _ => Ok(match self.value(row)? {
                ValueRef::Reference(oid) => Some(oid),
                _ => None,
            }),
        }
    }

    /// Whether the value is nil.
    #[inline]
    pub fn is_nil(&self, row: &Row<'_, 'a>) -> Result<bool> {
        match (self.record(row), self.place) {
            (Some(record), Lies::Same { slot, default, .. }) => match Body::new(&record.body)?.slot(slot)? {
                Some(bytes) => Ok(bytes.is_empty()),
                None => Ok(default.is_nil()),
            },
            (None, _) => Ok(true),
            _ => Ok(self.value(row)?.is_nil()),
        }
    }
}

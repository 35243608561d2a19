//! Collections, maps and structs while their items come in.
//!
//! The items are appended to the buffer as they come. The head depends on all of them (how many, which are nil), and
//! a set, bag, map or struct may want them in another order, so at the end they are taken off and put back behind it.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use smallvec::SmallVec;

use super::super::codec::{ANY, Tag, decode, put_bitmap, put_bytes, put_header};
use super::super::types::Type;
use super::super::value_ref::ValueRef;
use super::failure::{Failure, Reason};
use super::value_ser::ValueSerializer;

/// What is being collected.
#[derive(Clone, Copy)]
enum Form<'s> {
    List(&'s Type),
    Set(&'s Type),
    Bag(&'s Type),
    Map(&'s Type, &'s Type),
    /// Fields of declared names and types.
    Struct(&'s [(Arc<str>, Type)]),
    /// Fields of any names and types.
    Named,
}

/// The state of one collection.
pub(super) struct Pending<'s> {
    form: Form<'s>,
    /// Where its bytes begin, after a tag.
    start: usize,
    depth: usize,
    /// Where each part ends in the buffer. An item is one part; an entry of a map, or a field with its name, two. A
    /// part that is nil is empty.
    ends: SmallVec<[usize; 16]>,
    /// For declared fields: which one each part is.
    fields: SmallVec<[usize; 8]>,
}

impl<'s> Pending<'s> {
    /// Begins a value of `kind` (list, map or struct) where one of type `type` is wanted; `None` if it is none.
    fn open(r#type: &'s Type, kind: Tag, out: &mut Vec<u8>, depth: usize) -> Option<Pending<'s>> {
        let form = match (kind, r#type) {
            (Tag::List, Type::List(member)) => Form::List(member),
            (Tag::List, Type::Set(member)) => Form::Set(member),
            (Tag::List, Type::Bag(member)) => Form::Bag(member),
            (Tag::List, Type::Any) => Form::List(&ANY),
            (Tag::Map, Type::Map(key, value)) => Form::Map(key, value),
            (Tag::Map, Type::Any) => Form::Map(&ANY, &ANY),
            (Tag::Struct, Type::Struct(fields)) => Form::Struct(fields),
            (Tag::Struct, Type::Any) => Form::Named,
            _ => return None,
        };
        if *r#type == Type::Any {
            out.push(kind as u8);
        }
        Some(Pending {
            form,
            start: out.len(),
            depth,
            ends: SmallVec::new(),
            fields: SmallVec::new(),
        })
    }

    /// Appends the next part.
    fn part<T: Serialize + ?Sized>(&mut self, value: &T, out: &mut Vec<u8>) -> Result<(), Failure> {
        let at_key = self.ends.len().is_multiple_of(2);
        let r#type = match self.form {
            Form::List(member) | Form::Set(member) | Form::Bag(member) => member,
            Form::Map(key, _) if at_key => key,
            Form::Map(_, value) => value,
            Form::Named => &ANY,
            Form::Struct(declared) => {
                let field = self.fields.last().and_then(|field| declared.get(*field));
                field.map_or(&ANY, |(_, r#type)| r#type)
            }
        };
        value.serialize(ValueSerializer::below(r#type, out, self.depth))?;
        self.ends.push(out.len());
        Ok(())
    }

    /// Says which field the next part is.
    fn name(&mut self, name: &str, out: &mut Vec<u8>) -> Result<(), Failure> {
        match self.form {
            Form::Struct(declared) => {
                let field = declared.iter().position(|(known, _)| **known == *name);
                let unknown = || Failure::new(format!("the attribute's struct has no field {name}"));
                self.fields.push(field.ok_or_else(unknown)?);
            }
            _ => {
                put_bytes(name.as_bytes(), out);
                self.ends.push(out.len());
            }
        }
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        self.name(name, out)
            .and_then(|()| self.part(value, out))
            .map_err(|failure| match failure.reason() {
                Reason::Error(error) => Failure::new(format!("field {name}: {error}")),
                Reason::Missing(field) => {
                    serde::ser::Error::custom(format!("the field {field} has no value"))
                }
            })
    }

    /// Puts the head in front of parts that are in order already.
    fn finish_list(&self, out: &mut Vec<u8>) {
        let before = |position: usize| match position.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(self.start),
            None => self.start,
        };
        let nils = self
            .ends
            .iter()
            .enumerate()
            .map(|(position, end)| *end == before(position));
        let mut head = Vec::with_capacity(10);
        put_header(self.ends.len(), nils, &mut head);
        out.splice(self.start..self.start, head);
    }

    /// Puts the head in front, and the parts in order.
    fn finish(self, out: &mut Vec<u8>) {
        if let Form::List(_) = self.form {
            return self.finish_list(out);
        }
        let data = out.split_off(self.start.min(out.len()));
        let mut parts: Parts = SmallVec::with_capacity(self.ends.len());
        let mut begin = 0;
        for end in &self.ends {
            let end = end.saturating_sub(self.start);
            parts.push(data.get(begin..end).unwrap_or_default());
            begin = end;
        }
        match self.form {
            Form::List(_) => return,
            Form::Set(member) => {
                parts.sort_by(|a, b| compare(member, a, b));
                parts.dedup_by(|a, b| compare(member, a, b) == Ordering::Equal);
            }
            Form::Bag(member) => parts.sort_by(|a, b| compare(member, a, b)),
            Form::Map(key, _) => parts = sorted_entries(key, &parts),
            Form::Struct(declared) => return put_struct(declared.len(), &self.fields, &parts, out),
            Form::Named => {
                let nils = parts.iter().skip(1).step_by(2).map(|part| part.is_empty());
                put_header(parts.len() / 2, nils, out);
                out.extend_from_slice(&data);
                return;
            }
        }
        let each = if matches!(self.form, Form::Map(..)) { 2 } else { 1 };
        put_header(parts.len() / each, parts.iter().map(|part| part.is_empty()), out);
        out.extend(parts.iter().copied().flatten());
    }
}

type Parts<'d> = SmallVec<[&'d [u8]; 16]>;

fn compare(r#type: &Type, a: &[u8], b: &[u8]) -> Ordering {
    // These bytes were written just now, so they decode.
    let value = |bytes| decode(r#type, bytes).unwrap_or(ValueRef::Nil);
    value(a).compare(value(b))
}

/// Keys and values in turn, sorted by key; of several entries with one key the last is kept.
fn sorted_entries<'d>(key: &Type, parts: &[&'d [u8]]) -> Parts<'d> {
    let (entries, _) = parts.as_chunks::<2>();
    let mut entries = entries.to_vec();
    entries.sort_by(|[a, _], [b, _]| compare(key, a, b));
    entries.dedup_by(|later, earlier| {
        let same = compare(key, later[0], earlier[0]) == Ordering::Equal;
        if same {
            earlier[1] = later[1];
        }
        same
    });
    entries.into_iter().flatten().collect()
}

/// The fields of a struct in the order of their declaration, nil where one did not come.
fn put_struct(declared: usize, fields: &[usize], parts: &[&[u8]], out: &mut Vec<u8>) {
    let part = |field: usize| {
        let position = fields.iter().rposition(|given| *given == field);
        position
            .and_then(|position| parts.get(position))
            .copied()
            .unwrap_or_default()
    };
    put_bitmap((0..declared).map(|field| part(field).is_empty()), out);
    for field in 0..declared {
        out.extend_from_slice(part(field));
    }
}

/// A collection, map or struct being written to a buffer.
pub(super) struct Collector<'s> {
    out: &'s mut Vec<u8>,
    pending: Pending<'s>,
}

impl<'s> Collector<'s> {
    /// Begins a value of `kind` (list, map or struct) where one of type `type` is wanted; `None` if it is none.
    pub fn open(r#type: &'s Type, kind: Tag, out: &'s mut Vec<u8>, depth: usize) -> Option<Collector<'s>> {
        let pending = Pending::open(r#type, kind, out, depth)?;
        Some(Collector { out, pending })
    }

    /// Appends one item (for a map: a key or a value in turn).
    pub fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.pending.part(value, self.out)
    }

    /// Appends one field.
    pub fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Failure> {
        self.pending.field(name, value, self.out)
    }

    /// Ends it: a value was written.
    pub fn finish(self) -> Result<bool, Failure> {
        self.pending.finish(self.out);
        Ok(true)
    }

    /// The content of an enum's variant: a list or struct within a struct of one field, the variant's name.
    pub fn variant(mut self, name: &'static str, kind: Tag) -> Result<Nested<'s>, Failure> {
        self.pending.name(name, self.out)?;
        let depth = self.pending.depth + 1;
        match Pending::open(&ANY, kind, self.out, depth) {
            Some(content) => Ok(Nested {
                out: self.out,
                outer: self.pending,
                content,
            }),
            None => Err(Failure::new(format!(
                "the enum variant {name} has unknown content"
            ))),
        }
    }
}

impl SerializeSeq for Collector<'_> {
    type Ok = bool;
    type Error = Failure;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.item(value)
    }

    fn end(self) -> Result<bool, Failure> {
        self.finish()
    }
}

impl SerializeTuple for Collector<'_> {
    type Ok = bool;
    type Error = Failure;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.item(value)
    }

    fn end(self) -> Result<bool, Failure> {
        self.finish()
    }
}

impl SerializeTupleStruct for Collector<'_> {
    type Ok = bool;
    type Error = Failure;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.item(value)
    }

    fn end(self) -> Result<bool, Failure> {
        self.finish()
    }
}

impl SerializeMap for Collector<'_> {
    type Ok = bool;
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failure> {
        self.item(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.item(value)
    }

    fn end(self) -> Result<bool, Failure> {
        self.finish()
    }
}

impl SerializeStruct for Collector<'_> {
    type Ok = bool;
    type Error = Failure;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        self.field(name, value)
    }

    fn end(self) -> Result<bool, Failure> {
        self.finish()
    }
}

/// The content of an enum's variant within the struct that names the variant.
pub(super) struct Nested<'s> {
    out: &'s mut Vec<u8>,
    outer: Pending<'s>,
    content: Pending<'s>,
}

impl Nested<'_> {
    fn finish(mut self) -> Result<bool, Failure> {
        self.content.finish(self.out);
        self.outer.ends.push(self.out.len());
        self.outer.finish(self.out);
        Ok(true)
    }
}

impl SerializeTupleVariant for Nested<'_> {
    type Ok = bool;
    type Error = Failure;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.content.part(value, self.out)
    }

    fn end(self) -> Result<bool, Failure> {
        self.finish()
    }
}

impl SerializeStructVariant for Nested<'_> {
    type Ok = bool;
    type Error = Failure;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        self.content.field(name, value, self.out)
    }

    fn end(self) -> Result<bool, Failure> {
        self.finish()
    }
}

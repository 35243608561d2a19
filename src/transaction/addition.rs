//! Changes of one attribute by what is added to it, which read nothing.

use super::handle::Transaction;
use super::overlay::missing;
use crate::error::{Error, Result};
use crate::object::codec::read_value;
use crate::object::{Decimal, Oid, Value, coerce};
use crate::read::Reader;

impl Transaction {
    /// Adds to a number, less than nothing too. The object does not count as read; where the attribute is a counter
    /// ([`MergeRule::Counter`](crate::MergeRule::Counter)), increments that others make at the same time add up with this
    /// one.
    ///
    /// ```
    /// # use olivine::{Class, Database, MergeRule, Object, Type};
    /// # let db = Database::in_memory()?;
    /// db.define_class(Class::new("Page").attribute_merge("hits", Type::Int, MergeRule::Counter))?;
    /// let page = db.transact(|tx| tx.insert_object(Object::new("Page")))?;
    /// db.transact(|tx| tx.increment(page, "hits", 1))?;
    /// # assert_eq!(db.snapshot().object(page)?.unwrap().get("hits"), Some(&1.into()));
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] where the object does not exist here; [`Error::Schema`] for an unknown attribute;
    /// [`Error::Argument`] where it is no `int` or `decimal`, is nil, or the sum does not fit.
    pub fn increment(&mut self, oid: impl Into<Oid>, attribute: &str, by: impl Into<Value>) -> Result<()> {
        let (oid, by) = (oid.into(), by.into());
        self.add(oid, attribute, &|now| match (&now, &by) {
            (Value::Int(now), Value::Int(by)) => now.checked_add(*by).map(Value::Int),
            (Value::Decimal(now), Value::Int(by)) => now.checked_add(Decimal::from(*by)).map(Value::Decimal),
            (Value::Decimal(now), Value::Decimal(by)) => now.checked_add(*by).map(Value::Decimal),
            _ => None,
        })
    }

    /// Adds members to a set. The object does not count as read; where the set is declared with the rule
    /// [`MergeRule::Union`](crate::MergeRule::Union), members that others add at the same time come together with these.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the object does not exist here; [`Error::Schema`] for an unknown attribute;
    /// [`Error::Argument`] where it is no set, or a member does not fit.
    pub fn add_members(
        &mut self,
        oid: impl Into<Oid>,
        attribute: &str,
        members: impl IntoIterator<Item = Value>,
    ) -> Result<()> {
        let added: Vec<Value> = members.into_iter().collect();
        self.add(oid.into(), attribute, &|now| match now {
            Value::Nil => Some(Value::set(added.iter().cloned())),
            Value::Set(members) => Some(Value::set(members.iter().chain(&added).cloned())),
            _ => None,
        })
    }

    fn add(&mut self, oid: Oid, attribute: &str, sum: &dyn Fn(Value) -> Option<Value>) -> Result<()> {
        let catalog = self.overlay().catalog();
        let class = catalog.class_by_id(oid.class())?.clone();
        let found = class.attribute(attribute);
        let found = found.ok_or_else(|| {
            let name = &class.name;
            Error::Schema(format!(
                "{name} has no attribute {attribute}; see describe {name}"
            ))
        })?;
        let now = match self.overlay().object(oid)? {
            Some(record) => read_value(&class.layout, &record.body, found.slot)?,
            None => {
                self.note_object(oid);
                return Err(missing(catalog, oid));
            }
        };
        let refuse = |why: &str| Error::Argument(format!("{}.{attribute}: {why}", class.name));
        let described = format!("nothing can be added to {now}, or what is added does not fit");
        let value = sum(now).ok_or_else(|| refuse(&described))?;
        let value = coerce(value, &found.r#type).map_err(|why| refuse(&why.to_string()))?;
        self.update_object(oid, [(attribute, value)])
    }
}

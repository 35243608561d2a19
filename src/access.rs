//! Reading objects from any [`Reader`]: what snapshots and transactions have in common.

mod extent;
mod fetch;
mod find;
mod lazy;
mod record;
mod typed;

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::catalog::Class;
use crate::error::{Error, Result};
use crate::object::codec::read_value;
use crate::object::{
    CommitNumber, Object, Oid, Record, RecordBody, Ref, Value, class_name, field_names, from_plain,
    from_record,
};
use crate::query::{Row, Rows};
use crate::read::{Reader, completed, value_of};
use crate::view::{TOGETHER, View};
pub use extent::Extent;
pub use fetch::{Fetch, Fetched};
pub use find::{find, holder};
pub use record::Record as ObjectRecord;
pub use typed::{Decoded, Follow, follow, related_query};

/// The object `oid` as a `T`.
#[inline(never)]
pub fn get<T: DeserializeOwned>(reader: &dyn Reader, oid: Oid) -> Result<Option<T>> {
    let Some(record) = reader.object(oid)? else {
        return Ok(None);
    };
    let class = reader.catalog().class_by_id(oid.class())?;
    decode(reader, class, &record)
        .map(Some)
        .map_err(|error| misread::<T>(reader, oid, error))
}

/// Appends the objects of these references as `T`s, in their order: located in groups, so that their cache misses overlap.
#[inline]
pub fn get_many<T: DeserializeOwned>(
    view: &View,
    references: &[Ref<T>],
    objects: &mut Vec<Option<T>>,
) -> Result<()> {
    for references in references.chunks(TOGETHER) {
        let oids = references.iter().map(|reference| reference.oid());
        let mut together = [None; TOGETHER];
        view.plain_many(oids.clone(), &mut together);
        for (oid, found) in oids.zip(together) {
            let class = view.catalog().live_class(oid.class());
            let object = match (class, found) {
                (Some(class), Some((_, body))) if class.plain => from_plain(&class.layout, body),
                _ => None,
            };
            objects.push(match object {
                Some(object) => Some(object),
                None => get(view, oid)?,
            });
        }
    }
    Ok(())
}

/// Says so where an object could not be read because it is of another class.
#[cold]
pub fn misread<T: DeserializeOwned>(reader: &dyn Reader, oid: Oid, error: Error) -> Error {
    let (Error::Argument(reason), Ok(wanted)) = (&error, class_name::<T>()) else {
        return error;
    };
    let catalog = reader.catalog();
    let fits = catalog
        .class(wanted)
        .is_some_and(|class| catalog.is_a(oid.class(), class.id));
    if fits {
        return error;
    }
    Error::Argument(format!(
        "{} is no {wanted} and cannot be read as one ({reason})",
        catalog.describe(oid)
    ))
}

/// A record as a `T`.
#[inline]
pub fn decode<T: DeserializeOwned>(reader: &dyn Reader, class: &Class, record: &Record<'_>) -> Result<T> {
    match class.derives {
        false => from_record(&class.layout, &record.body),
        true => from_record(&class.layout, &completed_for::<T>(reader, class, record)?),
    }
}

/// The body of an object with the members of those derived attributes that `T` has a field for.
#[cold]
pub fn completed_for<'a, 'de, T: Deserialize<'de>>(
    reader: &dyn Reader,
    class: &Class,
    record: &Record<'a>,
) -> Result<RecordBody<'a>> {
    let fields = field_names::<T>();
    completed(reader, class, record, &|name| {
        fields.is_none_or(|fields| fields.contains(&name))
    })
}

/// The object `oid` with its attributes by name.
pub fn object(reader: &dyn Reader, oid: Oid) -> Result<Option<Object>> {
    let Some(record) = reader.object(oid)? else {
        return Ok(None);
    };
    let class = reader.catalog().class_by_id(oid.class())?;
    let mut object = Object::new(&*class.name);
    for attribute in &class.attributes {
        let value = value_of(reader, class, &record, attribute)?;
        object.set(&*attribute.name, value);
    }
    Ok(Some(object))
}

/// An object as it is stored, borrowed from the snapshot it was read from: nothing is decoded or copied until it is
/// asked for, and text and bytes not even then.
#[derive(Debug, Clone)]
pub struct StoredObject<'a> {
    record: Record<'a>,
    class: &'a Arc<Class>,
    /// Where the class has derived attributes.
    lazy: Option<Box<lazy::Lazy<'a>>>,
}

impl<'a> StoredObject<'a> {
    /// An object that was read.
    #[inline(always)]
    pub(crate) fn new(record: Record<'a>, class: &'a Arc<Class>) -> Self {
        StoredObject {
            record,
            class,
            lazy: None,
        }
    }

    /// The object `oid` of a reader.
    #[inline(never)]
    pub(crate) fn read(reader: &'a dyn Reader, oid: Oid) -> Result<Option<Self>> {
        let Some(record) = reader.object(oid)? else {
            return Ok(None);
        };
        let class = reader.catalog().class_by_id(oid.class())?;
        let lazy = class.derives.then(|| Box::new(lazy::Lazy::new(reader)));
        Ok(Some(StoredObject { record, class, lazy }))
    }

    /// The object's identifier.
    pub fn oid(&self) -> Oid {
        self.record.oid
    }

    /// The commit that wrote this version.
    pub fn commit(&self) -> CommitNumber {
        self.record.commit
    }

    /// Bytes of its encoded attributes.
    pub fn size(&self) -> usize {
        self.record.body.len()
    }

    /// The value of one attribute; the others are not decoded.
    ///
    /// # Errors
    /// [`Error::Schema`] where the class has no such attribute, or what is stored is damaged.
    pub fn get(&self, name: &str) -> Result<Value> {
        let Some(slot) = self.class.layout.slot(name) else {
            return Err(self.unknown(name));
        };
        if let Some(lazy) = &self.lazy
            && let Some(attribute) = self.class.attribute(name)
        {
            return value_of(lazy.reader(), self.class, &self.record, attribute);
        }
        read_value(&self.class.layout, &self.record.body, slot)
    }

    #[cold]
    fn unknown(&self, name: &str) -> Error {
        Error::Schema(format!("{} has no attribute {name}", self.class.name))
    }

    /// The object as a `T`, which may borrow text and bytes from it.
    ///
    /// # Errors
    /// Where the stored object does not fit `T`, or is damaged.
    #[inline]
    pub fn decode<'s, T: Deserialize<'s>>(&'s self) -> Result<T> {
        match &self.lazy {
            None => from_record(&self.class.layout, &self.record.body),
            Some(lazy) => from_record(&self.class.layout, lazy.body::<T>(self.class, &self.record)?),
        }
    }
}

/// The class that the Rust type `T` describes.
pub fn class_of<T: DeserializeOwned>(reader: &dyn Reader) -> Result<&Arc<Class>> {
    let name = class_name::<T>()?;
    reader.catalog().class(name).ok_or_else(|| undefined(name))
}

/// The class of this name.
pub fn class_named<'r>(reader: &'r dyn Reader, name: &str) -> Result<&'r Arc<Class>> {
    let class = reader.catalog().class(name);
    class.ok_or_else(|| Error::Schema(format!("the class {name} is not defined in this database")))
}

/// The sentence for a Rust type without a class.
pub fn undefined(name: &str) -> Error {
    Error::Schema(format!(
        "the class {name} is not defined in this database; call define::<{name}>() first"
    ))
}

impl Rows {
    /// The rows of a query for objects as `T`s, each with its reference: `select b from Book b`.
    ///
    /// A row whose one value is no reference to an object, or is one to an object that is gone, gives an error.
    pub fn objects<T: DeserializeOwned>(self) -> Objects<T> {
        Objects {
            rows: self,
            _type: PhantomData,
        }
    }
}

/// The rows of a query for objects, as `T`s.
#[derive(Debug)]
pub struct Objects<T> {
    rows: Rows,
    _type: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Objects<T> {
    fn object(&self, row: &Row) -> Result<(Ref<T>, T)> {
        let [Value::Reference(oid)] = row.values() else {
            let message =
                "these rows are no objects; ask for one range variable, such as select b from Book b";
            return Err(Error::Argument(message.into()));
        };
        let object = get(self.rows.reader().as_ref(), *oid)?;
        let object = object.ok_or_else(|| Error::NotFound(format!("{} is gone", self.describe(*oid))))?;
        Ok((Ref::from_oid(*oid), object))
    }

    fn describe(&self, oid: Oid) -> String {
        self.rows.reader().catalog().describe(oid)
    }
}

impl<T: DeserializeOwned> Iterator for Objects<T> {
    type Item = Result<(Ref<T>, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?;
        Some(row.and_then(|row| self.object(&row)))
    }
}

//! The loader: many new objects at once, their indexes built at the end.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::access;
use crate::catalog::Class;
use crate::error::{Error, Result};
use crate::instance::{Instance, Load};
use crate::object::codec::encode_body;
use crate::object::{
    BodyWriter, CommitNumber, Object, Oid, Ref, Value, class_name, coerce, serialized_name, to_body,
};

/// Makes new objects within [`Database::load`](crate::Database::load).
#[derive(Debug)]
pub struct Loader<'a> {
    load: Load<'a>,
    writer: BodyWriter,
    /// The class of the last object, which mostly is that of the next.
    last: Option<(&'static str, Arc<Class>)>,
    /// References given out for objects to come.
    reserved: rustc_hash::FxHashSet<Oid>,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(instance: &'a Instance, label: Option<Arc<str>>) -> Result<Loader<'a>> {
        Ok(Loader {
            load: instance.begin_load(label)?,
            writer: BodyWriter::default(),
            last: None,
            reserved: rustc_hash::FxHashSet::default(),
        })
    }

    pub(crate) fn finish(self) -> Result<CommitNumber> {
        self.load.finish()
    }

    /// Objects made so far.
    pub fn count(&self) -> u64 {
        self.load.count()
    }

    /// Creates an object and returns its reference. Unique values are compared at the end of the load.
    ///
    /// # Errors
    /// As [`Transaction::insert`](crate::Transaction::insert); and [`Error::Argument`] where the class has an attribute
    /// with an inverse, or an index that is still being built.
    pub fn insert<T: Serialize>(&mut self, value: &T) -> Result<Ref<T>> {
        let class = self.class_of(serialized_name(value)?)?;
        let oid = self.load.new_oid(&class)?;
        let body = self.writer.encode(value, &class.layout, None)?;
        self.load.create(oid, body)?;
        Ok(Ref::from_oid(oid))
    }

    /// Creates an object given by attribute names; what it leaves out takes its default.
    ///
    /// # Errors
    /// As [`Transaction::insert_object`](crate::Transaction::insert_object), and as [`Loader::insert`].
    pub fn insert_object(&mut self, object: Object) -> Result<Oid> {
        let catalog = self.load.catalog().clone();
        let class = catalog.user_class(object.class())?.clone();
        let mut values: Vec<Value> = class
            .layout
            .slots
            .iter()
            .map(|slot| slot.default.clone())
            .collect();
        for (name, value) in object.iter() {
            let attribute = class.attribute(name).ok_or_else(|| {
                Error::Schema(format!(
                    "{} has no attribute {name}; see describe {}",
                    class.name, class.name
                ))
            })?;
            let value = coerce(value.clone(), &attribute.r#type)
                .map_err(|why| Error::Argument(format!("{}.{name}: {why}", class.name)))?;
            if let Some(place) = values.get_mut(attribute.slot) {
                *place = value;
            }
        }
        catalog.check_references_of(&class, values.iter().enumerate())?;
        let body = encode_body(&class.layout, &values)?;
        let oid = self.load.new_oid(&class)?;
        self.load.create(oid, &body)?;
        Ok(oid)
    }

    /// A reference for an object to come, so that objects can refer to one another in a circle; the object itself
    /// follows by [`Loader::insert_at`]. A reference that never gets its object dangles.
    ///
    /// # Errors
    /// As [`Loader::insert`].
    pub fn reserve<T: DeserializeOwned>(&mut self) -> Result<Ref<T>> {
        let class = self.class_of(class_name::<T>()?)?;
        let oid = self.load.new_oid(&class)?;
        self.reserved.insert(oid);
        Ok(Ref::from_oid(oid))
    }

    /// Creates the object of a reference that [`Loader::reserve`] gave.
    ///
    /// # Errors
    /// [`Error::Argument`] where the reference was not reserved here, has its object already, or is for another class;
    /// else as [`Loader::insert`].
    pub fn insert_at<T: Serialize>(&mut self, reserved: Ref<T>, value: &T) -> Result<()> {
        let oid = reserved.oid();
        let class = self.class_of(serialized_name(value)?)?;
        if class.id != oid.class() || !self.reserved.contains(&oid) {
            let oid = self.load.catalog().describe(oid);
            return Err(Error::Argument(format!(
                "{oid} was not reserved in this load for a {}, or has its object already",
                class.name
            )));
        }
        let body = to_body(value, &class.layout)?;
        self.load.create(oid, &body)?;
        self.reserved.remove(&oid);
        Ok(())
    }

    fn class_of(&mut self, name: &'static str) -> Result<Arc<Class>> {
        if let Some((last, class)) = &self.last
            && std::ptr::eq(*last, name)
        {
            return Ok(class.clone());
        }
        let class = self
            .load
            .catalog()
            .class(name)
            .ok_or_else(|| access::undefined(name))?;
        if class.id.is_system() {
            let message = "objects of the catalog are changed by create, alter and drop only";
            return Err(Error::Argument(message.into()));
        }
        let class = class.clone();
        self.last = Some((name, class.clone()));
        Ok(class)
    }
}

//! The numbers of classes and indexes, which follow from the identifiers of their catalog objects.

use super::schema::IndexId;
use super::stored::SystemClass;
use crate::error::{Error, Result};
use crate::object::{ClassId, Oid};

/// Class ids follow from the serial of the catalog object, so neither is ever used twice.
const CLASS_OFFSET: u64 = ClassId::FIRST_USER.0 as u64 - 1;

/// The class a catalog object of [`SystemClass::Class`] defines.
pub fn class_of_object(oid: Oid) -> Result<ClassId> {
    u32::try_from(oid.serial().saturating_add(CLASS_OFFSET))
        .ok()
        .filter(|id| *id <= crate::object::MAX_CLASS)
        .map(ClassId)
        .ok_or_else(|| Error::corruption("the catalog", format!("class object {oid:?} is out of range")))
}

/// The catalog object that defines a class; `None` for a class of the system.
pub fn object_of_class(class: ClassId) -> Option<Oid> {
    let serial = u64::from(class.0).checked_sub(CLASS_OFFSET)?;
    Oid::new(SystemClass::Class.id(), serial)
}

/// The index a catalog object of [`SystemClass::Index`] defines.
pub fn index_of_object(oid: Oid) -> Result<IndexId> {
    u32::try_from(oid.serial())
        .map(IndexId)
        .map_err(|_| Error::corruption("the catalog", format!("index object {oid:?} is out of range")))
}

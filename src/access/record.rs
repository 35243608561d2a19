//! Owned views of stored objects.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use self_cell::self_cell;
use serde::Deserialize;

use super::completed_for;
use super::lazy::wants_derived;
use crate::catalog::Class;
use crate::error::{Error, Result};
use crate::object::codec::read_slot;
use crate::object::{self, CommitNumber, Oid, Ref, Value, from_record, from_slot};
use crate::read::{Reader, value_of};

type Version<'a> = object::Record<'a>;

self_cell!(
    struct Pinned {
        owner: Arc<dyn Reader>,
        #[covariant]
        dependent: Version,
    }
);

/// An object as it is stored, owned: nothing is decoded until it is asked for, and text and bytes are borrowed from
/// the store even then. It keeps the state it was read from alive, as a [`Snapshot`](crate::Snapshot) does.
///
/// ```
/// # use olivine::{Database, Ref};
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize)]
/// struct Book { title: String, year: u16 }
///
/// /// The same class, borrowed.
/// #[derive(Deserialize)]
/// #[serde(rename = "Book")]
/// struct Title<'a> { title: &'a str }
///
/// let db = Database::in_memory()?;
/// db.define::<Book>()?;
/// let book = db.transact(|tx| tx.insert(&Book { title: "Solaris".into(), year: 1961 }))?;
/// let record = db.snapshot().view(book)?.ok_or_else(|| olivine::Error::other("it is gone"))?;
/// assert_eq!(record.get::<&str>("title")?, "Solaris");
/// assert_eq!(record.decode::<Title<'_>>()?.title, "Solaris");
/// # Ok::<(), olivine::Error>(())
/// ```
pub struct Record<T = ()> {
    class: Arc<Class>,
    source: Source,
    /// The body with the members of derived attributes, once it was needed.
    completed: OnceLock<Vec<u8>>,
    target: PhantomData<fn() -> T>,
}

enum Source {
    /// Borrowed from a committed state.
    Pinned(Pinned),
    /// A copy.
    Copied(Version<'static>),
}

impl<T> Record<T> {
    /// The object `oid` of a state, which it keeps alive.
    pub(crate) fn pin(reader: Arc<dyn Reader>, oid: Oid) -> Result<Option<Self>> {
        let class = match reader.catalog().classes.get(&oid.class()) {
            Some(class) => class.clone(),
            None => return Ok(None),
        };
        let pinned = Pinned::try_new(reader, |reader| match reader.object(oid) {
            Ok(Some(record)) => Ok(record),
            Ok(None) => Err(None),
            Err(error) => Err(Some(error)),
        });
        match pinned {
            Ok(pinned) => Ok(Some(Record {
                class,
                source: Source::Pinned(pinned),
                completed: OnceLock::new(),
                target: PhantomData,
            })),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    /// A copy of one version of an object of `class`.
    pub(crate) fn copied(class: Arc<Class>, version: &Version<'_>) -> Self {
        let body: Arc<[u8]> = version.body.to_vec().into();
        Record {
            class,
            source: Source::Copied(Version {
                oid: version.oid,
                commit: version.commit,
                body: object::RecordBody::Shared(body),
            }),
            completed: OnceLock::new(),
            target: PhantomData,
        }
    }

    fn version(&self) -> &Version<'_> {
        match &self.source {
            Source::Pinned(pinned) => pinned.borrow_dependent(),
            Source::Copied(version) => version,
        }
    }

    /// The object's identifier.
    pub fn oid(&self) -> Oid {
        self.version().oid
    }

    /// The object's reference.
    pub fn reference(&self) -> Ref<T> {
        Ref::from_oid(self.oid())
    }

    /// The name of its class.
    pub fn class(&self) -> &str {
        &self.class.name
    }

    /// The commit that wrote this version; 0 for a write of the reading transaction itself.
    pub fn commit(&self) -> CommitNumber {
        self.version().commit
    }

    /// Bytes of its encoded attributes.
    pub fn size(&self) -> usize {
        self.version().body.len()
    }

    /// One attribute as a `V`, which may borrow text and bytes from the record; the others are not decoded.
    ///
    /// # Errors
    /// [`Error::Schema`] where the class has no such attribute, [`Error::Argument`] where its value is no `V`.
    pub fn get<'s, V: Deserialize<'s>>(&'s self, attribute: &str) -> Result<V> {
        let slot = self.slot(attribute)?;
        let derived = self
            .class
            .attributes
            .iter()
            .any(|own| own.slot == slot && own.is_derived());
        let body = if derived {
            self.completed()?
        } else {
            &self.version().body
        };
        from_slot(&self.class.layout, body, slot)
    }

    /// One attribute as a value of any type.
    ///
    /// # Errors
    /// [`Error::Schema`] where the class has no such attribute.
    pub fn value(&self, attribute: &str) -> Result<Value> {
        let slot = self.slot(attribute)?;
        match (&self.source, self.class.attribute(attribute)) {
            (Source::Pinned(pinned), Some(own)) if own.is_derived() => {
                value_of(pinned.borrow_owner().as_ref(), &self.class, self.version(), own)
            }
            _ => read_slot(&self.class.layout, &self.version().body, slot)?.to_value(),
        }
    }

    /// The object as a `V`, which may borrow text and bytes from the record.
    ///
    /// # Errors
    /// [`Error::Argument`] where the stored object does not fit `V`.
    pub fn decode<'s, V: Deserialize<'s>>(&'s self) -> Result<V> {
        match self.class.derives && wants_derived::<V>(&self.class) {
            false => from_record(&self.class.layout, &self.version().body),
            true => from_record(&self.class.layout, self.completed()?),
        }
    }

    /// The body with the members of derived attributes; a copy has them already.
    fn completed(&self) -> Result<&[u8]> {
        let Source::Pinned(pinned) = &self.source else {
            return Ok(&self.version().body);
        };
        if let Some(body) = self.completed.get() {
            return Ok(body);
        }
        let reader = pinned.borrow_owner().as_ref();
        let body = completed_for::<()>(reader, &self.class, self.version())?.into_owned();
        Ok(self.completed.get_or_init(|| body))
    }

    fn slot(&self, attribute: &str) -> Result<usize> {
        let found = self.class.attribute(attribute);
        found
            .map(|attribute| attribute.slot)
            .ok_or_else(|| Error::Schema(format!("{} has no attribute {attribute}", self.class.name)))
    }
}

impl<T> std::fmt::Debug for Record<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record")
            .field("class", &self.class.name)
            .field("oid", &self.oid())
            .field("size", &self.size())
            .finish()
    }
}

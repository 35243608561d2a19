//! Owned read handles.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::access::{self, Extent, Fetch, Follow, ObjectRecord, Objects, StoredObject};
use crate::error::Result;
use crate::instance::{Held, Instance, Opened, ReaderKind};
use crate::object::{CommitNumber, Object, Oid, Record, Ref, Value, from_plain};
use crate::query::{Engine, Parameters, Prepared, Rows};
use crate::read::Reader;
use crate::view::View;

/// One committed state of the database, for as long as it is held: reads never block, never conflict and always see
/// exactly the commits up to [`Snapshot::commit`]. Cheap to make and to clone.
///
/// While it is held, the old versions it can see are kept on the disk; [`Database::snapshots`](crate::Database::snapshots)
/// lists it. Once it is older than [`Options::max_snapshot_age`](crate::Options::max_snapshot_age) allows, its reads end in
/// [`Error::Expired`](crate::Error::Expired).
#[derive(Clone)]
pub struct Snapshot {
    view: Arc<View>,
    engine: Arc<Engine>,
    /// Its place in the ledger of open readers.
    opened: Arc<Opened>,
    /// Keeps the database open.
    _database: Arc<Instance>,
}

impl Snapshot {
    pub(crate) fn new(database: &Arc<Instance>, view: Arc<View>, label: Option<Arc<str>>) -> Self {
        let opened = database.ledger.open(ReaderKind::Snapshot, label, view.clone());
        Snapshot {
            view,
            engine: database.engine().clone(),
            opened,
            _database: database.clone(),
        }
    }

    /// The commit it is the state of.
    pub fn commit(&self) -> CommitNumber {
        self.view.commit()
    }

    /// The object behind a reference, or `None` if it does not exist in this state.
    ///
    /// # Errors
    /// Where the stored object does not fit `T`, or is damaged.
    #[inline]
    pub fn get<T: DeserializeOwned>(&self, reference: Ref<T>) -> Result<Option<T>> {
        let view = self.checked()?;
        if let Some((class, _, body)) = view.plain(reference.oid())
            && let Some(object) = from_plain(&class.layout, body)
        {
            return Ok(Some(object));
        }
        access::get(view, reference.oid())
    }

    /// The objects behind many references, in their order; `None` for those that do not exist in this state. Quicker than
    /// [`Snapshot::get`] of each: the processor waits for the memory of many objects at once.
    ///
    /// ```
    /// # use olivine::{Database, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Station { name: String, next: Vec<Ref<Station>> }
    ///
    /// # fn main() -> olivine::Result<()> {
    /// let db = Database::in_memory()?;
    /// db.define::<Station>()?;
    /// let hub = db.transact(|tx| {
    ///     let mut next = Vec::new();
    ///     for name in ["Nord", "Est"] {
    ///         next.push(tx.insert(&Station { name: name.into(), next: vec![] })?);
    ///     }
    ///     tx.insert(&Station { name: "Hub".into(), next })
    /// })?;
    /// let snapshot = db.snapshot();
    /// let hub = snapshot.get(hub)?.expect("it was just inserted");
    /// let neighbours = snapshot.get_many(&hub.next)?;
    /// let names: Vec<String> = neighbours.into_iter().flatten().map(|station| station.name).collect();
    /// assert_eq!(names, ["Nord", "Est"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::get`].
    pub fn get_many<T: DeserializeOwned>(&self, references: &[Ref<T>]) -> Result<Vec<Option<T>>> {
        let mut objects = Vec::with_capacity(references.len());
        access::get_many(self.checked()?, references, &mut objects)?;
        Ok(objects)
    }

    /// The object behind an identifier with its attributes by name, or `None` if it does not exist in this state.
    pub fn object(&self, oid: impl Into<Oid>) -> Result<Option<Object>> {
        access::object(self.checked()?, oid.into())
    }

    /// The object behind an identifier as it is stored, nothing decoded yet, or `None` if it does not exist in this
    /// state.
    #[inline]
    pub fn stored(&self, oid: impl Into<Oid>) -> Result<Option<StoredObject<'_>>> {
        let oid = oid.into();
        match self.checked()?.plain(oid) {
            Some((class, commit, body)) => {
                let body = body.into();
                Ok(Some(StoredObject::new(Record { oid, commit, body }, class)))
            }
            None => StoredObject::read(self.checked()?, oid),
        }
    }

    /// The object behind a reference as it is stored, owned: attributes are decoded one by one when they are asked for,
    /// and text is borrowed. `None` if it does not exist in this state.
    ///
    /// # Errors
    /// Where the stored object is damaged.
    pub fn view<T>(&self, reference: Ref<T>) -> Result<Option<ObjectRecord<T>>> {
        self.opened.check()?;
        ObjectRecord::pin(self.reader(), reference.oid())
    }

    /// The object a reference of another object leads to, `None` where there is no reference or its object is gone:
    /// `snapshot.follow(&book.author)`.
    ///
    /// # Errors
    /// As [`Snapshot::get`].
    pub fn follow<R: Follow>(&self, reference: &R) -> Result<Option<R::Target>>
    where
        R::Target: DeserializeOwned,
    {
        access::follow(self.checked()?, reference)
    }

    /// The objects of the class of `T` whose `attribute` is a reference to `target`, or contains one:
    /// `snapshot.related::<Book>("author", author)`. Quick where the attribute has an index.
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) where the class or attribute is not defined.
    pub fn related<T: DeserializeOwned>(
        &self,
        attribute: &str,
        target: impl Into<Oid>,
    ) -> Result<Objects<T>> {
        let text = access::related_query(
            self.view.catalog(),
            access::class_of::<T>(self.view.as_ref())?,
            attribute,
        )?;
        self.query(&text, (target.into(),)).map(Rows::objects)
    }

    /// The object of the class of `T` that has `value` in `attribute`, which must have a unique index of its own, with its
    /// reference; `None` where there is none. It goes straight to the index, so it is the quickest way to an object by its
    /// key; in the state of an earlier commit, which has no indexes, all objects are read.
    ///
    /// ```
    /// # use olivine::Database;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Book { isbn: String, title: String }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Book>()?.unique("isbn")?;
    /// db.transact(|tx| tx.insert(&Book { isbn: "978-3".into(), title: "Solaris".into() }))?;
    /// let found = db.snapshot().find::<Book>("isbn", "978-3")?;
    /// assert_eq!(found.map(|(_, book)| book.title).as_deref(), Some("Solaris"));
    /// assert!(db.snapshot().find::<Book>("isbn", "0")?.is_none());
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) where the class is not defined or the attribute has no unique index,
    /// [`Error::Argument`](crate::Error::Argument) where `value` is not of the attribute's type; else as
    /// [`Snapshot::get`].
    pub fn find<T: DeserializeOwned>(
        &self,
        attribute: &str,
        value: impl Into<Value>,
    ) -> Result<Option<(Ref<T>, T)>> {
        let view = self.checked()?;
        let class = access::class_of::<T>(view)?;
        let Some(oid) = access::find(view, class, attribute, value.into())? else {
            return Ok(None);
        };
        let reference = Ref::from_oid(oid);
        Ok(self.get(reference)?.map(|object| (reference, object)))
    }

    /// As [`Snapshot::find`], for a class given by its name: the identifier, and the object with its attributes by name.
    ///
    /// # Errors
    /// As [`Snapshot::find`].
    pub fn find_object(
        &self,
        class: &str,
        attribute: &str,
        value: impl Into<Value>,
    ) -> Result<Option<(Oid, Object)>> {
        let view = self.checked()?;
        let class = access::class_named(view, class)?;
        let found = access::find(view, class, attribute, value.into())?;
        let object = |oid| Ok(access::object(view, oid)?.map(|object| (oid, object)));
        found.map_or(Ok(None), object)
    }

    /// A plan for reading the object behind a reference together with what it leads to: `snapshot.fetch(book).depth(3)`,
    /// `snapshot.fetch(book).paths(["author", "chapters.notes"])`, then `.read()`. A plan changes how fast the closure is
    /// walked, never what is found.
    pub fn fetch<T>(&self, reference: Ref<T>) -> Fetch<T> {
        Fetch::new(self.reader(), reference.oid())
    }

    /// Whether the object exists in this state.
    pub fn exists(&self, oid: impl Into<Oid>) -> Result<bool> {
        Ok(self.checked()?.object(oid.into())?.is_some())
    }

    /// All objects of the class of `T` and its subclasses.
    pub fn extent<T: DeserializeOwned>(&self) -> Result<Extent<T>> {
        Extent::new(self.reader())
    }

    /// Runs a query (a `select` or a bare expression) with its parameters ([`params!`](crate::params), a tuple for
    /// `$1`, `$2`, ..., or `()`).
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) where the text is wrong; what goes wrong later comes with the rows.
    pub fn query(&self, text: &str, parameters: impl Into<Parameters>) -> Result<Rows> {
        self.engine.query(text, &parameters.into(), self.reader(), None)
    }

    /// Parses and checks a query that is to be run many times; see [`Prepared`].
    ///
    /// ```
    /// # use olivine::Database;
    /// let db = Database::in_memory()?;
    /// let snapshot = db.snapshot();
    /// let larger = snapshot.prepare("select n from n in list(1, 2, 3) where n > $1")?;
    /// let numbers: Vec<i64> = snapshot.run(&larger, (1,))?.decode().collect::<olivine::Result<_>>()?;
    /// assert_eq!(numbers, [2, 3]);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) where the text is wrong or changes data.
    pub fn prepare(&self, text: &str) -> Result<Prepared> {
        self.engine.prepare_query(text, self.view.as_ref())
    }

    /// Runs a prepared query with its parameters, as [`Snapshot::query`] runs a text.
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) where it does not fit this state's schema, or a parameter its place.
    pub fn run(&self, prepared: &Prepared, parameters: impl Into<Parameters>) -> Result<Rows> {
        self.engine.run(prepared, &parameters.into(), self.reader(), None)
    }

    /// An identifier as text: `Person#42`.
    pub fn describe(&self, oid: impl Into<Oid>) -> String {
        self.view.catalog().describe(oid.into())
    }

    /// The committed state, for rows and what else may outlive this handle.
    pub(crate) fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(Held::new(self.opened.clone(), self.view.clone()))
    }

    #[inline]
    fn checked(&self) -> Result<&View> {
        self.opened.check()?;
        Ok(self.view.as_ref())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("commit", &self.commit())
            .finish_non_exhaustive()
    }
}

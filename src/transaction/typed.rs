//! Typed reads and writes beyond the plain ones: references for objects to come, changes in place, upserts.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::handle::Transaction;
use super::overlay::missing;
use crate::access::{self, Fetch, Follow, ObjectRecord, Objects};
use crate::error::{Error, Result};
use crate::object::codec::read_slot;
use crate::object::{Object, Oid, Ref, Value, class_name, to_body};
use crate::query::{Parameters, Prepared, Rows};
use crate::read::Reader;

impl Transaction {
    /// The object behind a reference as it is stored, owned: attributes are decoded one by one when they are asked for,
    /// and text is borrowed. `None` if it does not exist here. Later writes of the transaction do not show in it.
    ///
    /// # Errors
    /// Where the stored object is damaged.
    pub fn view<T>(&self, reference: Ref<T>) -> Result<Option<ObjectRecord<T>>> {
        let (overlay, oid) = (self.overlay(), reference.oid());
        self.read_object(oid)?;
        let derives = overlay
            .catalog()
            .live_class(oid.class())
            .is_some_and(|class| class.derives);
        if derives {
            return ObjectRecord::pin(self.reader(), oid);
        }
        if overlay.writes().get(oid).is_none() {
            return ObjectRecord::pin(overlay.view().clone(), oid);
        }
        let Some(version) = overlay.object(oid)? else {
            return Ok(None);
        };
        let class = overlay.catalog().class_by_id(oid.class())?.clone();
        Ok(Some(ObjectRecord::copied(class, &version)))
    }

    /// Parses and checks a query that is to be run many times, here or elsewhere; see [`Prepared`].
    ///
    /// # Errors
    /// [`Error::Query`] where the text is wrong or changes data.
    pub fn prepare(&self, text: &str) -> Result<Prepared> {
        self.instance().engine().prepare_query(text, self.overlay())
    }

    /// Runs a prepared query with its parameters, as [`Transaction::query`] runs a text.
    ///
    /// # Errors
    /// [`Error::Query`] where it does not fit the schema as it is here, or a parameter its place.
    pub fn run(&self, prepared: &Prepared, parameters: impl Into<Parameters>) -> Result<Rows> {
        self.note_names(prepared.text());
        let (parameters, ended) = (parameters.into(), self.ended());
        self.instance()
            .engine()
            .run(prepared, &parameters, self.reader(), Some(ended))
    }

    /// The object a reference of another object leads to, `None` where there is no reference or its object is gone:
    /// `tx.follow(&book.author)`.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn follow<R: Follow>(&self, reference: &R) -> Result<Option<R::Target>>
    where
        R::Target: DeserializeOwned,
    {
        match reference.target() {
            Some(reference) => self.get(reference),
            None => Ok(None),
        }
    }

    /// The objects of the class of `T` whose `attribute` is a reference to `target`, or contains one:
    /// `tx.related::<Book>("author", author)`. Quick where the attribute has an index.
    ///
    /// # Errors
    /// [`Error::Schema`] where the class or attribute is not defined.
    pub fn related<T: DeserializeOwned>(
        &self,
        attribute: &str,
        target: impl Into<Oid>,
    ) -> Result<Objects<T>> {
        let text = access::related_query(
            self.overlay().catalog(),
            access::class_of::<T>(self.overlay())?,
            attribute,
        )?;
        self.query(&text, (target.into(),)).map(Rows::objects)
    }

    /// The object of the class of `T` that has `value` in `attribute`, with its reference; as
    /// [`Snapshot::find`](crate::Snapshot::find), under the writes of this transaction. A serializable transaction
    /// remembers the key as read, also where nobody holds it: whoever takes it first is a conflict.
    ///
    /// # Errors
    /// As [`Snapshot::find`](crate::Snapshot::find).
    pub fn find<T: DeserializeOwned>(
        &self,
        attribute: &str,
        value: impl Into<Value>,
    ) -> Result<Option<(Ref<T>, T)>> {
        let class = access::class_of::<T>(self.overlay())?;
        let Some(oid) = access::find(self.reader().as_ref(), class, attribute, value.into())? else {
            return Ok(None);
        };
        let reference = Ref::from_oid(oid);
        Ok(self.get(reference)?.map(|object| (reference, object)))
    }

    /// As [`Transaction::find`], for a class given by its name: the identifier, and the object with its attributes by name.
    ///
    /// # Errors
    /// As [`Transaction::find`].
    pub fn find_object(
        &self,
        class: &str,
        attribute: &str,
        value: impl Into<Value>,
    ) -> Result<Option<(Oid, Object)>> {
        let class = access::class_named(self.overlay(), class)?;
        let Some(oid) = access::find(self.reader().as_ref(), class, attribute, value.into())? else {
            return Ok(None);
        };
        Ok(self.object(oid)?.map(|object| (oid, object)))
    }

    /// A plan for reading the object behind a reference together with what it leads to: `tx.fetch(book).depth(3)`,
    /// `tx.fetch(book).paths(["author", "chapters.notes"])`, then `.read()`. A plan changes how fast the closure is
    /// walked, never what is found. It sees the transaction as it is now.
    pub fn fetch<T>(&self, reference: Ref<T>) -> Fetch<T> {
        Fetch::new(self.reader(), reference.oid())
    }

    /// A reference for an object to come, so that objects can refer to one another in a circle; the object itself
    /// follows by [`Transaction::insert_at`]. A reference that never gets its object dangles.
    ///
    /// ```
    /// # use olivine::{Database, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Person { name: String, spouse: Ref<Person> }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Person>()?;
    /// db.transact(|tx| {
    ///     let ann = tx.reserve::<Person>()?;
    ///     let bob = tx.insert(&Person { name: "Bob".into(), spouse: ann })?;
    ///     tx.insert_at(ann, &Person { name: "Ann".into(), spouse: bob })
    /// })?;
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] where the class of `T` is not defined.
    pub fn reserve<T: DeserializeOwned>(&mut self) -> Result<Ref<T>> {
        let name = class_name::<T>()?;
        let class = self.overlay().catalog().class(name);
        let class = class.ok_or_else(|| access::undefined(name))?.id;
        self.reserve_oid(class).map(Ref::from_oid)
    }

    /// Creates the object of a reference that [`Transaction::reserve`] gave in this transaction.
    ///
    /// # Errors
    /// [`Error::Argument`] where the reference was not reserved here, has its object already, or is for another class;
    /// else as [`Transaction::insert`].
    pub fn insert_at<T: Serialize>(&mut self, reserved: Ref<T>, value: &T) -> Result<()> {
        let oid = reserved.oid();
        let class = self.class_of_value(value)?;
        let refuse = |why: &str| Err(Error::Argument(format!("{} {why}", self.describe(oid))));
        if !self.is_reserved(oid) {
            return refuse("was not reserved in this transaction");
        }
        if class.id != oid.class() {
            return refuse(&format!("was not reserved for a {}", class.name));
        }
        if self.overlay().object(oid)?.is_some() {
            return refuse("has its object already");
        }
        let body = to_body(value, &class.layout)?;
        self.create_at(&class, oid, body)
    }

    /// Changes an object in place: reads it as a `T`, hands it to `change`, and stores it. Attributes that `T` does not
    /// know keep their values.
    ///
    /// ```
    /// # use olivine::{Database, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)]
    /// # struct Book { title: String, year: u16 }
    /// # let db = Database::in_memory()?;
    /// # db.define::<Book>()?;
    /// # let book = db.transact(|tx| tx.insert(&Book { title: "Solaris".into(), year: 0 }))?;
    /// db.transact(|tx| tx.update_with(book, |book| book.year = 1961))?;
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] where the object does not exist here, else as [`Transaction::update`].
    pub fn update_with<T, R>(&mut self, reference: Ref<T>, change: impl FnOnce(&mut T) -> R) -> Result<R>
    where
        T: Serialize + DeserializeOwned,
    {
        let found = self.get(reference)?;
        let mut value = found.ok_or_else(|| missing(self.overlay().catalog(), reference.oid()))?;
        let result = change(&mut value);
        self.update(reference, &value)?;
        Ok(result)
    }

    /// Updates the object that has the value of `value`'s `attribute`, which has a unique index, or creates one where
    /// there is none (or the attribute is nil). Answers with its reference, and whether it was created.
    ///
    /// ```
    /// # use olivine::Database;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Account { email: String, logins: u32 }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Account>()?.unique("email")?;
    /// let account = Account { email: "ann@example.org".into(), logins: 1 };
    /// let (first, created) = db.transact(|tx| tx.upsert("email", &account))?;
    /// let (again, created_again) = db.transact(|tx| tx.upsert("email", &account))?;
    /// assert_eq!((first == again, created, created_again), (true, true, false));
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] where the attribute has no unique index, else as [`Transaction::insert`] and
    /// [`Transaction::update`].
    pub fn upsert<T: Serialize>(&mut self, attribute: &str, value: &T) -> Result<(Ref<T>, bool)> {
        let class = self.class_of_value(value)?;
        let body = to_body(value, &class.layout)?;
        let slot = class.layout.slot(attribute);
        let key = match slot {
            Some(slot) => read_slot(&class.layout, &body, slot)?.to_value()?,
            None => Value::Nil,
        };
        let is_nil = slot.is_some() && key.is_nil();
        let holder = access::holder(self.reader().as_ref(), &class, attribute, key)?;
        match holder.filter(|_| !is_nil) {
            Some(oid) => {
                self.update(Ref::from_oid(oid), value)?;
                Ok((Ref::from_oid(oid), false))
            }
            None => self.insert(value).map(|reference| (reference, true)),
        }
    }
}

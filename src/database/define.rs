//! Classes from Rust types.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::class_list::ClassList;
use super::compare::define;
use super::handle::Database;
use crate::catalog::{Alteration, IndexDefinition, MergeRule, OnDelete};
use crate::error::Result;
use crate::object::{Shape, class_name, probe};
use crate::read::Reader;

/// A class just defined, to hang indexes and a superclass on.
#[derive(Debug)]
pub struct Definition {
    database: Database,
    shape: Shape,
}

impl Definition {
    pub(super) fn of<'de, T: Deserialize<'de>>(database: Database) -> Result<Self> {
        let shape = probe::<T>()?;
        database.transact(|tx| define(tx, &shape))?;
        Ok(Definition { database, shape })
    }

    /// Makes the class a subclass of the class of `S`, which is defined already. Fields of both are one attribute, and
    /// must be of one type.
    ///
    /// ```
    /// # use olivine::Database;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Person { name: String }
    /// #[derive(Serialize, Deserialize)]
    /// struct Employee { name: String, salary: i64 }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Person>()?;
    /// db.define::<Employee>()?.extends::<Person>()?;
    /// db.transact(|tx| tx.insert(&Employee { name: "Ann".into(), salary: 100 }))?;
    /// assert_eq!(db.snapshot().extent::<Person>()?.count(), 1);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) where the class of `S` is not defined, or an attribute of both has two
    /// types.
    pub fn extends<S: DeserializeOwned>(self) -> Result<Self> {
        let above = class_name::<S>()?;
        self.database.transact(|tx| {
            let catalog = tx.overlay().catalog();
            let class = catalog.user_class(self.shape.name)?;
            let target = catalog
                .class(above)
                .ok_or_else(|| crate::access::undefined(above))?;
            if class.id != target.id && catalog.is_a(class.id, target.id) {
                return Ok(());
            }
            let change = Alteration::Extends(Some(above.into()));
            tx.alter_class(self.shape.name, &change).map(drop)
        })?;
        Ok(self)
    }

    /// Makes two attributes each other's inverse: `attribute` of this class and `inverse` of the class it refers to. The
    /// engine keeps both in step from then on.
    ///
    /// # Errors
    /// As [`Transaction::set_inverse`](crate::Transaction::set_inverse).
    pub fn inverse(self, attribute: &str, inverse: &str) -> Result<Self> {
        self.database
            .transact(|tx| tx.set_inverse(self.shape.name, attribute, inverse))?;
        Ok(self)
    }

    /// Says what becomes of an object of this class when the one it refers to by `attribute` is deleted.
    ///
    /// # Errors
    /// As [`Transaction::set_on_delete`](crate::Transaction::set_on_delete).
    pub fn on_delete(self, attribute: &str, rule: OnDelete) -> Result<Self> {
        self.database
            .transact(|tx| tx.set_on_delete(self.shape.name, attribute, rule))?;
        Ok(self)
    }

    /// Makes the class dependent, if it is not yet: an object of it, or of a class below it, lives only while something
    /// reaches it, and is deleted by [`Database::collect`] otherwise. A program that defines the class without this leaves
    /// it as it is; [`Alteration::Dependent`] makes it independent again.
    ///
    /// ```
    /// # use olivine::{CollectOptions, Database, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Page { text: String }
    /// #[derive(Serialize, Deserialize)]
    /// struct Book { title: String, pages: Vec<Ref<Page>> }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Page>()?.dependent()?;
    /// db.define::<Book>()?;
    /// let book = db.transact(|tx| {
    ///     let page = tx.insert(&Page { text: "once".into() })?;
    ///     tx.insert(&Book { title: "Solaris".into(), pages: vec![page] })
    /// })?;
    /// assert_eq!(db.collect(&CollectOptions::new())?.deleted, 0);
    /// db.transact(|tx| tx.delete(book))?;
    /// assert_eq!(db.collect(&CollectOptions::new())?.deleted, 1);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) if the class was dropped meanwhile.
    pub fn dependent(self) -> Result<Self> {
        self.database.transact(|tx| {
            match tx
                .overlay()
                .catalog()
                .user_class(self.shape.name)?
                .stored
                .dependent
            {
                true => Ok(()),
                false => tx
                    .alter_class(self.shape.name, &Alteration::Dependent(true))
                    .map(drop),
            }
        })?;
        Ok(self)
    }

    /// Lets increments of an attribute add up that are made at the same time ([`MergeRule::Counter`]).
    ///
    /// ```
    /// # use olivine::Database;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Page { url: String, hits: i64 }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Page>()?.counter("hits")?;
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) where the attribute is no `int` or `decimal`, or is unique.
    pub fn counter(self, attribute: &str) -> Result<Self> {
        self.merge(attribute, MergeRule::Counter)
    }

    /// Lets members that are added to a set at the same time come together ([`MergeRule::Union`]).
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) where the attribute is no set, or is unique.
    pub fn union(self, attribute: &str) -> Result<Self> {
        self.merge(attribute, MergeRule::Union)
    }

    fn merge(self, attribute: &str, rule: MergeRule) -> Result<Self> {
        let change = Alteration::Merge {
            attribute: attribute.into(),
            rule: Some(rule),
        };
        self.database.transact(|tx| {
            let class = tx.overlay().catalog().user_class(self.shape.name)?.clone();
            match class.attribute(attribute).and_then(|attribute| attribute.merge) == Some(rule) {
                true => Ok(()),
                false => tx.alter_class(self.shape.name, &change).map(drop),
            }
        })?;
        Ok(self)
    }

    /// Gives the class a method in OQL, or its own method of that name another body: an expression over the object, whose
    /// attributes it sees by name, for queries to call and for subclasses to declare anew. Nothing is written if the class
    /// has the method just so.
    ///
    /// ```
    /// # use olivine::Database;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Person { first: String, last: String }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Person>()?.method("full_name(): string as first || ' ' || last")?;
    /// db.transact(|tx| tx.insert(&Person { first: "Stanisław".into(), last: "Lem".into() }))?;
    /// let names: Vec<String> = db.snapshot().query("select p.full_name() from Person p", ())?.decode().collect::<Result<_, _>>()?;
    /// assert_eq!(names, ["Stanisław Lem"]);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) where the text is wrong, [`Error::Schema`](crate::Error::Schema) where an
    /// attribute has the name, or a class above or below has the method with other parameters or another result.
    pub fn method(self, text: &str) -> Result<Self> {
        let method = crate::query::parse_method(text)?.kept();
        let change = Alteration::AddMethod(method.clone());
        self.database.transact(|tx| {
            let class = tx.overlay().catalog().user_class(self.shape.name)?.clone();
            match class.own_method(&method.name) == Some(&method) {
                true => Ok(()),
                false => tx.alter_class(self.shape.name, &change).map(drop),
            }
        })?;
        Ok(self)
    }

    /// Adds an index on an attribute or a path (`"author.name"`), unless the class has it already.
    ///
    /// # Errors
    /// As [`Database::create_index`].
    pub fn index(self, path: &str) -> Result<Self> {
        self.index_on(IndexDefinition::on(path))
    }

    /// Adds a unique index on an attribute, unless the class has it already.
    ///
    /// # Errors
    /// As [`Database::create_index`].
    pub fn unique(self, attribute: &str) -> Result<Self> {
        self.index_on(IndexDefinition {
            unique: true,
            ..IndexDefinition::on(attribute)
        })
    }

    /// Adds an index, unless the class has one of that name already.
    ///
    /// # Errors
    /// As [`Database::create_index`].
    pub fn index_on(self, definition: IndexDefinition) -> Result<Self> {
        let class: Arc<str> = self.shape.name.into();
        let name = definition.name_on(&class);
        self.database
            .transact(|tx| match tx.overlay().catalog().index(&name) {
                Some(_) => Ok(()),
                None => tx.create_index(&class, &definition),
            })?;
        Ok(self)
    }
}

/// Defines the classes of all types of a list in one transaction.
pub(super) fn define_all<L: ClassList>(database: &Database) -> Result<()> {
    let shapes = L::shapes()?;
    database.transact(|tx| shapes.iter().try_for_each(|shape| define(tx, shape)))
}

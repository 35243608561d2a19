//! Following references, finding what refers to an object, and rows as Rust values.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::get;
use crate::catalog::{Attribute, Catalog, Class};
use crate::error::{Error, Result};
use crate::object::{Ref, Type, Value, class_name, from_row};
use crate::query::{Row, Rows};
use crate::read::Reader;

/// What [`follow`](crate::Snapshot::follow) takes: a reference, or one that may be missing.
pub trait Follow {
    /// The type of the object it leads to.
    type Target;

    /// Where it leads.
    fn target(&self) -> Option<Ref<Self::Target>>;
}

impl<T> Follow for Ref<T> {
    type Target = T;

    fn target(&self) -> Option<Ref<T>> {
        Some(*self)
    }
}

impl<T> Follow for Option<Ref<T>> {
    type Target = T;

    fn target(&self) -> Option<Ref<T>> {
        *self
    }
}

/// The object behind a reference that may be missing.
pub fn follow<R: Follow>(reader: &dyn Reader, reference: &R) -> Result<Option<R::Target>>
where
    R::Target: DeserializeOwned,
{
    match reference.target() {
        Some(reference) => get(reader, reference.oid()),
        None => Ok(None),
    }
}

/// The text of a query for the objects of `class` whose `attribute` is `$1` or contains it.
pub fn related_query(catalog: &Catalog, class: &Class, attribute: &str) -> Result<String> {
    let found = attribute_of(class, attribute)?;
    let (holder, step) = (quoted(&class.name), quoted(attribute));
    if let Some((member, back)) = catalog.backing(found) {
        let (member, back) = (quoted(&member.name), quoted(&back.name));
        return Ok(format!(
            "select x from {holder} x where x in (select m.{back} from {member} m where m = $1)"
        ));
    }
    match &found.r#type {
        Type::Reference(_) => Ok(format!("select x from {holder} x where x.{step} = $1")),
        Type::List(member) | Type::Set(member) | Type::Bag(member)
            if matches!(**member, Type::Reference(_) | Type::Any) =>
        {
            Ok(format!("select x from {holder} x where $1 in x.{step}"))
        }
        other => Err(Error::Argument(format!(
            "{}.{attribute} is of type {other}, and no reference or collection of references",
            class.name
        ))),
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

pub(super) fn attribute_of<'c>(class: &'c Class, attribute: &str) -> Result<&'c Attribute> {
    let found = class.attribute(attribute);
    found.ok_or_else(|| Error::Schema(format!("{} has no attribute {attribute}", class.name)))
}

impl Row {
    /// The row as a `T`: a struct takes the columns by their labels, a tuple takes them in order, and a row of one
    /// column is its value to everything else.
    ///
    /// ```
    /// # use olivine::Database;
    /// let db = Database::in_memory()?;
    /// let mut rows = db.snapshot().query("select 1 as number, 'one' as name", ())?;
    /// let row = rows.next().ok_or_else(|| olivine::Error::other("no row"))??;
    /// assert_eq!(row.decode::<(i64, String)>()?, (1, "one".into()));
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] where a value does not fit.
    pub fn decode<'s, T: serde::Deserialize<'s>>(&'s self) -> Result<T> {
        from_row(self.labels(), self.values())
    }
}

impl Rows {
    /// The rows as `T`s, as [`Row::decode`] has it; a row that is an object becomes the struct that views its class.
    ///
    /// ```
    /// # use olivine::Database;
    /// let db = Database::in_memory()?;
    /// let rows = db.snapshot().query("select n from n in list(1, 2, 3)", ())?;
    /// let numbers: Vec<i64> = rows.decode().collect::<olivine::Result<_>>()?;
    /// assert_eq!(numbers, [1, 2, 3]);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    pub fn decode<T: DeserializeOwned>(self) -> Decoded<T> {
        Decoded {
            rows: self,
            is_class: class_name::<T>().is_ok(),
            target: PhantomData,
        }
    }
}

/// The rows of a query as `T`s.
#[derive(Debug)]
pub struct Decoded<T> {
    rows: Rows,
    /// Whether `T` is a struct, which an object can be read as.
    is_class: bool,
    target: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Decoded<T> {
    fn value(&self, row: &Row) -> Result<T> {
        match row.values() {
            [Value::Reference(oid)] if self.is_class => {
                let reader = self.rows.reader();
                get(reader.as_ref(), *oid)?
                    .ok_or_else(|| Error::NotFound(format!("{} is gone", reader.catalog().describe(*oid))))
            }
            _ => row.decode(),
        }
    }
}

impl<T: DeserializeOwned> Iterator for Decoded<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let row = self.rows.next()?;
        Some(row.and_then(|row| self.value(&row)))
    }
}

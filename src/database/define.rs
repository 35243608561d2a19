//! Classes from Rust types.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::handle::Database;
use crate::catalog::{AttributeDefinition, Class, ClassDefinition, IndexDefinition};
use crate::error::{Error, Result};
use crate::object::{Shape, probe};
use crate::read::Reader;
use crate::transaction::Transaction;

/// A class just defined, to hang indexes and a superclass on.
#[derive(Debug)]
pub struct Definition {
    database: Database,
    shape: Shape,
}

impl Definition {
    pub(super) fn of<'de, T: Deserialize<'de>>(database: Database) -> Result<Self> {
        let shape = probe::<T>()?;
        database.transact(|tx| define(tx, &shape, None))?;
        Ok(Definition { database, shape })
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

/// One to eight Rust types to define together, as a tuple.
pub trait ClassList {
    /// Their shapes.
    ///
    /// # Errors
    /// As [`Database::define`].
    #[doc(hidden)]
    fn shapes() -> Result<Vec<Shape>>;
}

impl<A: DeserializeOwned> ClassList for (A,) {
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned> ClassList for (A, B) {
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?, probe::<B>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned, C: DeserializeOwned> ClassList for (A, B, C) {
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?, probe::<B>()?, probe::<C>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned, C: DeserializeOwned, D: DeserializeOwned> ClassList
    for (A, B, C, D)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?, probe::<B>()?, probe::<C>()?, probe::<D>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned, C: DeserializeOwned, D: DeserializeOwned, E: DeserializeOwned>
    ClassList for (A, B, C, D, E)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
        ])
    }
}

impl<
    A: DeserializeOwned,
    B: DeserializeOwned,
    C: DeserializeOwned,
    D: DeserializeOwned,
    E: DeserializeOwned,
    F: DeserializeOwned,
> ClassList for (A, B, C, D, E, F)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
            probe::<F>()?,
        ])
    }
}

impl<
    A: DeserializeOwned,
    B: DeserializeOwned,
    C: DeserializeOwned,
    D: DeserializeOwned,
    E: DeserializeOwned,
    F: DeserializeOwned,
    G: DeserializeOwned,
> ClassList for (A, B, C, D, E, F, G)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
            probe::<F>()?,
            probe::<G>()?,
        ])
    }
}

impl<
    A: DeserializeOwned,
    B: DeserializeOwned,
    C: DeserializeOwned,
    D: DeserializeOwned,
    E: DeserializeOwned,
    F: DeserializeOwned,
    G: DeserializeOwned,
    H: DeserializeOwned,
> ClassList for (A, B, C, D, E, F, G, H)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
            probe::<F>()?,
            probe::<G>()?,
            probe::<H>()?,
        ])
    }
}

pub(super) fn define_all<L: ClassList>(database: &Database) -> Result<()> {
    let shapes = L::shapes()?;
    database.transact(|tx| shapes.iter().try_for_each(|shape| define(tx, shape, None)))
}

/// Creates the class of a shape, or brings it up to the shape where that is safe.
fn define(tx: &mut Transaction, shape: &Shape, superclass: Option<&str>) -> Result<()> {
    match tx.overlay().catalog().class(shape.name).cloned() {
        None => {
            let mut definition = ClassDefinition::new(shape.name);
            definition.superclass = superclass.map(Into::into);
            definition.attributes = attributes(shape);
            tx.create_class(&definition)
        }
        Some(class) => extend(tx, shape, &class),
    }
}

fn attributes(shape: &Shape) -> Vec<AttributeDefinition> {
    shape
        .fields
        .iter()
        .map(|field| AttributeDefinition::new(field.name, field.r#type.clone()))
        .collect()
}

fn extend(tx: &mut Transaction, shape: &Shape, class: &Class) -> Result<()> {
    let mut differences = Vec::new();
    let mut missing = Vec::new();
    for field in &shape.fields {
        match class.attribute(field.name) {
            Some(attribute) if attribute.r#type == field.r#type => {}
            Some(attribute) => differences.push(format!(
                "{} is {} in the database and {} in the program",
                field.name, attribute.r#type, field.r#type
            )),
            None if field.optional => {
                missing.push(AttributeDefinition::new(field.name, field.r#type.clone()))
            }
            None => differences.push(format!(
                "{} is new and neither optional nor with a serde default, which existing objects need",
                field.name
            )),
        }
    }
    if !differences.is_empty() {
        let message = format!(
            "the class {} does not agree with the program: {}",
            class.name,
            differences.join("; ")
        );
        return Err(Error::Schema(message));
    }
    if missing.is_empty() {
        Ok(())
    } else {
        tx.add_attributes(&class.name, &missing)
    }
}

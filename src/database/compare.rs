//! Bringing a class up to the Rust type that describes it, where that is safe.

use std::sync::Arc;

use crate::catalog::{Alteration, Attribute, AttributeDefinition, Catalog, Class, ClassDefinition};
use crate::error::{Error, Result};
use crate::object::{Field, Shape, Type};
use crate::read::Reader;
use crate::transaction::Transaction;

/// Creates the class of a shape, or brings it up to the shape.
pub fn define(tx: &mut Transaction, shape: &Shape) -> Result<()> {
    match tx.overlay().catalog().class(shape.name).cloned() {
        None => {
            let mut definition = ClassDefinition::new(shape.name);
            definition.attributes = shape.fields.iter().map(attribute).collect();
            tx.create_class(&definition)
        }
        Some(class) => evolve(tx, shape, &class),
    }
}

fn attribute(field: &Field) -> AttributeDefinition {
    AttributeDefinition::new(field.name, field.r#type.clone())
}

/// What has to be done so that a class and a shape agree.
#[derive(Default)]
struct Plan {
    /// Attributes to add.
    missing: Vec<AttributeDefinition>,
    /// Changes of attributes, each with the class that declares it.
    changes: Vec<(Arc<str>, Alteration)>,
    /// Differences that nobody should do away with unasked.
    differences: Vec<String>,
}

fn evolve(tx: &mut Transaction, shape: &Shape, class: &Class) -> Result<()> {
    let mut plan = Plan::default();
    for field in &shape.fields {
        match class.attribute(field.name) {
            Some(attribute) => compare(tx.overlay().catalog(), class, attribute, field, &mut plan)?,
            None if field.optional => plan.missing.push(self::attribute(field)),
            None => plan.differences.push(new_and_required(class, shape, field)),
        }
    }
    if !plan.differences.is_empty() {
        let message = format!(
            "the class {} does not agree with the program: {}",
            class.name,
            plan.differences.join("; ")
        );
        return Err(Error::Schema(message));
    }
    for (class, change) in &plan.changes {
        tx.alter_class(class, change)?;
    }
    match plan.missing.is_empty() {
        true => Ok(()),
        false => tx.add_attributes(&class.name, &plan.missing),
    }
}

fn compare(
    catalog: &Catalog,
    class: &Class,
    attribute: &Attribute,
    field: &Field,
    plan: &mut Plan,
) -> Result<()> {
    let declaring = catalog.class_by_id(attribute.declared_in)?.name.clone();
    if !agree(&attribute.r#type, &field.r#type) {
        if widens(&attribute.r#type, &field.r#type) {
            let change = Alteration::Retype {
                attribute: attribute.name.clone(),
                r#type: field.r#type.clone(),
                using: None,
            };
            plan.changes.push((declaring.clone(), change));
        } else {
            plan.differences.push(format!(
                "{} is {} in the database and {} in the program (alter class {declaring} retype attribute {} to {})",
                field.name, attribute.r#type, field.r#type, attribute.name, field.r#type
            ));
        }
    }
    let is_reference = matches!(attribute.r#type, Type::Reference(_));
    if attribute.not_null && field.nilable && !is_reference && class.name == declaring {
        plan.changes
            .push((declaring, Alteration::Relax(attribute.name.clone())));
    }
    Ok(())
}

fn new_and_required(class: &Class, shape: &Shape, field: &Field) -> String {
    let unknown = |attribute: &&Attribute| !shape.fields.iter().any(|field| *field.name == *attribute.name);
    let alike = |attribute: &&Attribute| agree(&attribute.r#type, &field.r#type);
    let mut candidates = class.attributes.iter().filter(unknown).filter(alike);
    let hint = match (candidates.next(), candidates.next()) {
        (Some(old), None) => format!(
            "; if it is a new name for {}: alter class {} rename attribute {} to {}",
            old.name, class.name, old.name, field.name
        ),
        _ => String::new(),
    };
    format!(
        "{} is new and neither optional nor with a serde default, which existing objects need (alter class {} add \
         attribute {}: {} default ..{hint})",
        field.name, class.name, field.name, field.r#type
    )
}

/// Whether a program's field can view an attribute as it is: of the same type, or one that serde reads and writes
/// alike. A program with an older, narrower number reads a wider one where the value fits.
fn agree(database: &Type, program: &Type) -> bool {
    match (database, program) {
        (Type::List(a) | Type::Set(a) | Type::Bag(a), Type::List(b) | Type::Set(b) | Type::Bag(b)) => {
            agree(a, b)
        }
        (Type::Map(a, b), Type::Map(c, d)) => agree(a, c) && agree(b, d),
        (Type::Struct(a), Type::Struct(b)) => {
            let known = |(name, r#type): &(Arc<str>, Type)| {
                a.iter()
                    .any(|(other, known)| other == name && agree(known, r#type))
            };
            b.iter().all(known)
        }
        (Type::Float, Type::Int) | (Type::Decimal, Type::Int | Type::Float) => true,
        (
            Type::Date | Type::Time | Type::Timestamp | Type::Duration | Type::Decimal | Type::Uuid,
            Type::String,
        ) => true,
        _ => database == program,
    }
}

/// Whether every value of one type is one of the other, or says so where it is not.
fn widens(from: &Type, to: &Type) -> bool {
    matches!(
        (from, to),
        (Type::Int, Type::Float | Type::Decimal) | (Type::Float, Type::Decimal)
    )
}

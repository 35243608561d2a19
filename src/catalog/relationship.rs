//! Relationships: attributes that are each other's inverse, and rules for deletes.
//!
//! A set whose inverse is one reference is *derived*: the reference is what is stored, with an index on it, and the set is
//! that index read backwards. Both sides carry a mark (`index_backed`), so that a relationship made before there were such
//! keeps its two stored sides. Where an index is on the set itself, or a side is inherited from elsewhere than it says,
//! both sides are stored, as those of all other relationships are.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::define::SchemaChange;
use super::definition::OnDelete;
use super::schema::{Attribute, Catalog, Class, Index};
use crate::error::{Error, Result};
use crate::object::{ClassId, Type};

/// What a delete of an object does to those that refer to it by one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteRule {
    /// The class that declares the attribute.
    pub holder: ClassId,
    /// The attribute.
    pub attribute: Arc<str>,
    /// The rule; never [`OnDelete::Leave`].
    pub rule: OnDelete,
}

/// The class that an attribute of type `C`, `list<C>` or `set<C>` refers to.
pub fn side(r#type: &Type) -> Option<&Arc<str>> {
    match r#type {
        Type::Reference(class) => Some(class),
        Type::List(member) | Type::Set(member) => match &**member {
            Type::Reference(class) => Some(class),
            _ => None,
        },
        _ => None,
    }
}

/// Refuses rules that an attribute cannot have.
pub fn check_rule(class: &str, name: &str, r#type: &Type, not_null: bool, rule: OnDelete) -> Result<()> {
    let refuse = |why: &str| Err(Error::Schema(format!("{class}.{name} {why}")));
    let refers = side(r#type).is_some() || matches!(r#type.member(), Some(Type::Reference(_)));
    match rule {
        OnDelete::Leave => Ok(()),
        _ if !refers => refuse("is no reference or collection of references, so no rule for deletes fits it"),
        OnDelete::Clear if not_null => refuse("may not be nil, so a delete cannot clear it"),
        _ => Ok(()),
    }
}

impl Catalog {
    /// Makes `inverse` the inverse of an attribute, on this side.
    ///
    /// # Errors
    /// [`Error::Schema`] where the attribute has another.
    pub fn declare_inverse(
        &self,
        class: &Class,
        name: &str,
        inverse: Option<&str>,
    ) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        let wanted: Option<Arc<str>> = inverse.map(Into::into);
        if attribute.inverse == wanted {
            return Ok(Vec::new());
        }
        if let (Some(other), Some(_)) = (&attribute.inverse, inverse) {
            return Err(Error::Schema(format!(
                "{}.{name} has the inverse {other} already",
                class.name
            )));
        }
        let change = match inverse {
            Some(inverse) => format!("attribute {}.{name} has the inverse {inverse}", class.name),
            None => format!("attribute {}.{name} has no inverse", class.name),
        };
        self.edit_slots(class, name, &change, &|stored, slot| {
            if let Some(slot) = stored.slots.get_mut(slot) {
                slot.inverse = wanted.clone();
                slot.index_backed = false;
            }
        })
    }

    /// Gives an attribute a rule for deletes.
    ///
    /// # Errors
    /// [`Error::Schema`] where the rule does not fit it.
    pub fn set_rule(&self, class: &Class, name: &str, rule: OnDelete) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        if attribute.on_delete == rule {
            return Ok(Vec::new());
        }
        check_rule(&class.name, name, &attribute.r#type, attribute.not_null, rule)?;
        let change = format!("attribute {}.{name} has another rule for deletes", class.name);
        self.edit_slots(class, name, &change, &|stored, slot| {
            if let Some(slot) = stored.slots.get_mut(slot) {
                slot.on_delete = rule;
            }
        })
    }

    /// The other side of a relationship: its class, and the attribute there.
    pub fn other_side(&self, attribute: &Attribute) -> Option<(&Arc<Class>, &Attribute)> {
        let class = self.class(side(&attribute.r#type)?)?;
        let other = class.attribute_now(attribute.inverse.as_ref()?)?;
        Some((class, other))
    }

    /// The class whose objects are the members of a derived attribute, and the attribute they refer back by.
    pub fn backing(&self, attribute: &Attribute) -> Option<(&Arc<Class>, &Attribute)> {
        self.other_side(attribute).filter(|_| attribute.is_derived())
    }

    /// An index on exactly this attribute that covers the class, usable or not yet.
    pub fn index_of_reference(&self, class: ClassId, attribute: &str) -> Option<&Arc<Index>> {
        let on_it = self.indexes.values().filter(|index| {
            let alone = match index.components.as_slice() {
                [component] => matches!(component.path.as_slice(), [only] if **only == *attribute),
                _ => false,
            };
            alone && index.steps.is_empty() && self.is_a(class, index.class)
        });
        on_it.min_by_key(|index| (!index.ready, index.id))
    }

    /// Whether an attribute of a class can be derived, and is not yet.
    pub fn can_derive(&self, class: &Class, attribute: &Attribute) -> bool {
        let Some((holder, other)) = self.other_side(attribute) else {
            return false;
        };
        let back = matches!(&other.r#type, Type::Reference(back) if *back == class.name);
        let own = attribute.declared_in == class.id && other.declared_in == holder.id;
        let mutual = own && back && other.inverse.as_ref() == Some(&attribute.name);
        let ruled = attribute.on_delete != OnDelete::Leave;
        let fits = matches!(attribute.r#type, Type::Set(_)) && !attribute.index_backed && !ruled;
        fits && mutual && self.indexes_on(class, attribute).is_empty()
    }

    /// The writes that mark one side of a relationship whose set is derived.
    ///
    /// # Errors
    /// [`Error::Schema`] where there is no such attribute.
    pub fn mark_index_backed(&self, class: &Class, name: &str) -> Result<Vec<SchemaChange>> {
        let change = format!("the relationship of {}.{name} is backed by an index", class.name);
        self.edit_slots(class, name, &change, &|stored, slot| {
            if let Some(slot) = stored.slots.get_mut(slot) {
                slot.index_backed = true;
            }
        })
    }

    /// Checks that what derived attributes are read from is there.
    fn check_derived(&self, class: &Class, attribute: &Attribute) -> Result<()> {
        let Some((holder, other)) = self.backing(attribute) else {
            return Ok(());
        };
        let name = format!("{}.{}", class.name, attribute.name);
        let reference = format!("{}.{}", holder.name, other.name);
        if self.index_of_reference(holder.id, &other.name).is_none() {
            return Err(Error::Schema(format!(
                "{name} is read from the index on {reference}, which so cannot be dropped; drop the attribute {name} \
                 first, or create another index on {reference}"
            )));
        }
        if attribute.on_delete != OnDelete::Leave {
            return Err(Error::Schema(format!(
                "{name} is read from the index on {reference} and can have no rule for deletes; {reference} can"
            )));
        }
        if let Some(index) = self.indexes_on(class, attribute).first() {
            return Err(Error::Schema(format!(
                "{name} is read from the index on {reference} and can have none of its own, as {} would be",
                index.name
            )));
        }
        Ok(())
    }

    /// Sides of relationships that their other side does not know of yet: class, attribute and inverse to declare.
    pub fn one_sided(&self) -> Option<(ClassId, Arc<str>, Arc<str>)> {
        for class in self.classes.values() {
            for attribute in class.attributes.iter().filter(|own| own.declared_in == class.id) {
                if let Some((_, other)) = self.other_side(attribute)
                    && other.inverse.is_none()
                {
                    return Some((other.declared_in, other.name.clone(), attribute.name.clone()));
                }
            }
        }
        None
    }

    /// Checks that both sides of every relationship of a class know each other.
    ///
    /// # Errors
    /// [`Error::Schema`] that names the attributes.
    pub fn check_inverses(&self, class: &Class) -> Result<()> {
        for attribute in &class.attributes {
            let Some(inverse) = &attribute.inverse else {
                continue;
            };
            let name = format!("{}.{}", class.name, attribute.name);
            let Some(target) = side(&attribute.r#type) else {
                return Err(Error::Schema(format!(
                    "{name} is of type {}, which can have no inverse: that takes a reference, or a list or set of them",
                    attribute.r#type
                )));
            };
            let mutual = self.other_side(attribute).is_some_and(|(_, other)| {
                let back = side(&other.r#type).and_then(|back| self.class(back));
                let fits = back.is_some_and(|back| {
                    self.is_a(attribute.declared_in, back.id) || self.is_a(back.id, attribute.declared_in)
                });
                other.inverse.as_ref() == Some(&attribute.name) && fits
            });
            if !mutual {
                return Err(Error::Schema(format!(
                    "the inverse of {name} is to be {target}.{inverse}, which is no reference back to {} (or collection \
                     of such), or has another inverse",
                    class.name
                )));
            }
            self.check_derived(class, attribute)?;
        }
        Ok(())
    }

    /// The rules for deletes, by the class of the object that goes.
    pub(super) fn delete_rules(&self) -> FxHashMap<ClassId, Vec<DeleteRule>> {
        let mut rules: FxHashMap<ClassId, Vec<DeleteRule>> = FxHashMap::default();
        for class in self.classes.values() {
            let declared = class.attributes.iter();
            let ruled =
                declared.filter(|own| own.declared_in == class.id && own.on_delete != OnDelete::Leave);
            for attribute in ruled {
                let target = match attribute.r#type.member().unwrap_or(&attribute.r#type) {
                    Type::Reference(target) => self.class(target),
                    _ => None,
                };
                for id in target.map_or(&[][..], |target| &target.family) {
                    rules.entry(*id).or_default().push(DeleteRule {
                        holder: class.id,
                        attribute: attribute.name.clone(),
                        rule: attribute.on_delete,
                    });
                }
            }
        }
        rules.values_mut().for_each(|rules| {
            rules.sort_by(|a, b| (a.holder, &a.attribute).cmp(&(b.holder, &b.attribute)));
        });
        rules
    }
}

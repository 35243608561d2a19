//! Attributes that move between classes, and classes that move below others.

use std::sync::Arc;

use super::alter::Empty;
use super::define::SchemaChange;
use super::schema::{Attribute, Catalog, Class, Index};
use super::stored::{StoredClass, StoredSlot};
use crate::error::{Error, Result};
use crate::object::ClassId;

/// Where an attribute moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To a superclass.
    Up,
    /// To a subclass.
    Down,
}

impl Catalog {
    /// Which way an attribute of `class` would move to get to `to`.
    ///
    /// # Errors
    /// [`Error::Schema`] where neither is above the other.
    pub fn direction(&self, class: &Class, to: &Class) -> Result<Direction> {
        match (self.is_a(class.id, to.id), self.is_a(to.id, class.id)) {
            (true, false) => Ok(Direction::Up),
            (false, true) => Ok(Direction::Down),
            _ => Err(Error::Schema(format!(
                "an attribute moves to a class above or below: {} and {} are neither",
                class.name, to.name
            ))),
        }
    }

    /// The writes that make `to`, a class above, declare an attribute of `class`.
    ///
    /// # Errors
    /// [`Error::Schema`] where another class below `to` has an attribute of that name and of another type, or where
    /// the attribute may not be nil, has no default, and a class that gets it has objects.
    pub fn move_up(
        &self,
        class: &Class,
        name: &str,
        to: &Class,
        empty: Empty<'_>,
    ) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        let change = format!(
            "attribute {}.{} moved up to {}",
            class.name, attribute.name, to.name
        );
        let model = class.stored.slots.get(attribute.slot);
        let model = model.ok_or_else(|| Error::Schema(format!("{} has no slot for {name}", class.name)))?;
        let mut changes = Vec::new();
        for id in &to.family {
            let member = self.class_by_id(*id)?;
            let declared_in = (*id != to.id).then_some(to.id);
            changes.extend(Self::edit(member, &change, |stored| {
                match member.attribute_now(&attribute.name) {
                    Some(own) => merge(stored, member, own, attribute, declared_in),
                    None => {
                        refuse_nothing_to_take(member, model, empty)?;
                        stored.slots.push(StoredSlot {
                            declared_in,
                            converted_from: None,
                            ..model.clone()
                        });
                        Ok(())
                    }
                }
            })?);
        }
        Ok(changes)
    }

    /// The writes that make `to`, a class below, declare an attribute of `class`; classes that are not below `to` lose
    /// it. Whether they have values is for the caller to ask.
    ///
    /// # Errors
    /// [`Error::Schema`] where an index on the attribute covers a class that loses it.
    pub fn move_down(&self, class: &Class, name: &str, to: &Class) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        let covers = |index: &&Arc<Index>| !self.is_a(index.class, to.id);
        if let Some(index) = self.indexes_on(class, attribute).into_iter().find(covers) {
            return Err(Error::Schema(format!(
                "the index {} is on {}.{name}, which {} loses; drop it first",
                index.name, class.name, class.name
            )));
        }
        let change = format!(
            "attribute {}.{} moved down to {}",
            class.name, attribute.name, to.name
        );
        let mut changes = Vec::new();
        for id in &class.family {
            let member = self.class_by_id(*id)?;
            let Some(own) = member.attribute(&attribute.name) else {
                continue;
            };
            changes.extend(Self::edit(member, &change, |stored| {
                if let Some(slot) = stored.slots.get_mut(own.slot) {
                    slot.dropped = !self.is_a(*id, to.id);
                    slot.declared_in = (*id != to.id).then_some(to.id);
                }
                Ok(())
            })?);
        }
        Ok(changes)
    }

    /// The writes that put `class` below `to`, or below no class.
    ///
    /// # Errors
    /// [`Error::Schema`] where `to` is below `class`, where an attribute of one name has two types, or where objects
    /// of `class` would no longer fit an attribute that refers to one of its superclasses.
    pub fn change_superclass(
        &self,
        class: &Class,
        to: Option<&Class>,
        empty: Empty<'_>,
    ) -> Result<Vec<SchemaChange>> {
        if let Some(to) = to.filter(|to| class.family.contains(&to.id)) {
            return Err(Error::Schema(format!(
                "{} is {} or below it, which cannot extend it",
                to.name, class.name
            )));
        }
        self.refuse_misfits(class, to, empty)?;
        let above = to.map_or("no class", |to| &to.name);
        let change = format!("class {} extends {above}", class.name);
        let mut changes = Vec::new();
        for id in &class.family {
            let member = self.class_by_id(*id)?;
            changes.extend(Self::edit(member, &change, |stored| {
                if *id == class.id {
                    stored.superclass = to.map(|to| to.id);
                }
                self.inherit(stored, member, class, to, empty)
            })?);
        }
        Ok(changes)
    }

    /// Works out anew who declares the attributes of `member`, a class of the family of `class`, and adds those of `to`.
    fn inherit(
        &self,
        stored: &mut StoredClass,
        member: &Class,
        class: &Class,
        to: Option<&Class>,
        empty: Empty<'_>,
    ) -> Result<()> {
        for own in &member.attributes {
            let above = to.and_then(|to| to.attribute_now(&own.name));
            let in_family = class.family.contains(&own.declared_in);
            match above {
                Some(above) => merge(stored, member, own, above, Some(above.declared_in))?,
                None if in_family => {}
                None => {
                    if let Some(slot) = stored.slots.get_mut(own.slot) {
                        slot.declared_in = (member.id != class.id).then_some(class.id);
                    }
                }
            }
        }
        let Some(to) = to else { return Ok(()) };
        for above in &to.attributes {
            if member.attributes.iter().any(|own| own.name == above.name) {
                continue;
            }
            if let Some(model) = to.stored.slots.get(above.slot) {
                refuse_nothing_to_take(member, model, empty)?;
                stored.slots.push(StoredSlot {
                    declared_in: Some(above.declared_in),
                    converted_from: None,
                    ..model.clone()
                });
            }
        }
        Ok(())
    }

    /// Refuses to take a class with objects from below a class that attributes refer to.
    fn refuse_misfits(&self, class: &Class, to: Option<&Class>, empty: Empty<'_>) -> Result<()> {
        if class.family.iter().all(|id| empty(*id)) {
            return Ok(());
        }
        for lost in self.lost_and_gained(class, to).0 {
            let lost = self.class_by_id(lost)?;
            for holder in self.classes.values() {
                let refers = |attribute: &&Attribute| super::define::mentions(&attribute.r#type, &lost.name);
                if let Some(attribute) = holder.attributes.iter().find(refers) {
                    return Err(Error::Schema(format!(
                        "{}.{} refers to {}, and may refer to objects of {}, which would be no {} any more",
                        holder.name, attribute.name, lost.name, class.name, lost.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// The classes above `class` that it would no longer have above it below `to`, and those it would newly have.
    fn lost_and_gained(&self, class: &Class, to: Option<&Class>) -> (Vec<ClassId>, Vec<ClassId>) {
        let before: Vec<ClassId> = self.ancestry(class.id).into_iter().skip(1).collect();
        let after = to.map_or(Vec::new(), |to| self.ancestry(to.id));
        let only = |some: &[ClassId], others: &[ClassId]| {
            some.iter().copied().filter(|id| !others.contains(id)).collect()
        };
        (only(&before, &after), only(&after, &before))
    }

    /// The indexes that would cover other objects once `class` is below `to`.
    pub fn indexes_of_move(&self, class: &Class, to: Option<&Class>) -> Vec<&Arc<Index>> {
        let (lost, gained) = self.lost_and_gained(class, to);
        let concerned = |index: &&Arc<Index>| lost.contains(&index.class) || gained.contains(&index.class);
        let mut indexes: Vec<_> = self.indexes.values().filter(concerned).collect();
        indexes.sort_by_key(|index| index.id);
        indexes
    }
}

/// Makes an attribute that a class has already the one it inherits.
fn merge(
    stored: &mut StoredClass,
    member: &Class,
    own: &Attribute,
    above: &Attribute,
    declared_in: Option<ClassId>,
) -> Result<()> {
    if own.r#type != above.r#type {
        return Err(Error::Schema(format!(
            "{}.{} is {}, and the inherited attribute of that name {}",
            member.name, own.name, own.r#type, above.r#type
        )));
    }
    if let Some(slot) = stored.slots.get_mut(own.slot) {
        slot.declared_in = declared_in;
        slot.not_null &= above.not_null;
        slot.merge = above.merge;
    }
    Ok(())
}

fn refuse_nothing_to_take(member: &Class, model: &StoredSlot, empty: Empty<'_>) -> Result<()> {
    if model.not_null && model.default.is_nil() && !empty(member.id) {
        return Err(Error::Schema(format!(
            "{}.{} would be nil in existing objects, which it may not be, and has no default",
            member.name, model.name
        )));
    }
    Ok(())
}

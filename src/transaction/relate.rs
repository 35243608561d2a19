//! Relationships kept in step, and what becomes of the holders of references when their object is deleted.
//!
//! # Inverses
//!
//! Two attributes that are each other's inverse say one thing twice, and a write to either side writes the other, in
//! the same transaction. A side that is one reference belongs to one object at a time: whoever is given it takes it
//! from its holder. An object joins the end of a list, once. A set whose other side is one reference is not stored, and
//! needs no such care: `derived.rs`.
//!
//! # Deletes
//!
//! The objects that go are worked out first: the one that is deleted, and every holder of a `cascade` reference to one
//! that goes, so circles end, and a holder of several such references goes with the first of their objects. Then a
//! `restrict` reference from an object that stays refuses all of it, `clear` references of objects that stay become
//! nil (or leave their collection), and inverses forget what is gone.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::handle::Transaction;
use crate::catalog::{Attribute, Class, DeleteRule, OnDelete};
use crate::error::{Constraint, ConstraintKind, Error, Result};
use crate::object::codec::{read_slot, rewrite};
use crate::object::{Oid, SlotSet, Type, Value};
use crate::read::{Reader, each_holder};

/// The objects a value refers to, itself or by its members.
fn references(value: &Value) -> Vec<Oid> {
    match value {
        Value::Reference(oid) => vec![*oid],
        other => {
            let members = other.as_members().unwrap_or_default();
            members.iter().filter_map(Value::as_reference).collect()
        }
    }
}

/// `value`, an attribute's, without references to `oid`.
fn without(value: &Value, oid: Oid) -> Value {
    let kept = |members: &[Value]| -> Vec<Value> {
        let stays = |member: &&Value| member.as_reference() != Some(oid);
        members.iter().filter(stays).cloned().collect()
    };
    match value {
        Value::Reference(found) if *found == oid => Value::Nil,
        Value::List(members) => Value::list(kept(members)),
        Value::Set(members) => Value::set(kept(members)),
        Value::Bag(members) => Value::bag(kept(members)),
        other => other.clone(),
    }
}

/// `value`, an attribute's of this type, with a reference to `oid`.
fn with(value: &Value, r#type: &Type, oid: Oid) -> Value {
    let members = value.as_members().unwrap_or_default().iter().cloned();
    let more = members.chain([Value::Reference(oid)]);
    match r#type {
        Type::List(_) => Value::list(more),
        Type::Set(_) => Value::set(more),
        _ => Value::Reference(oid),
    }
}

/// The holders of references to `target` under a rule that are not deleted themselves.
fn staying(reader: &dyn Reader, rule: &DeleteRule, target: Oid, doomed: &BTreeSet<Oid>) -> Result<Vec<Oid>> {
    let mut staying = Vec::new();
    let holder = reader.catalog().class_by_id(rule.holder)?;
    each_holder(reader, holder, &rule.attribute, target, &mut |found| {
        staying.extend(found.iter().filter(|holder| !doomed.contains(holder)));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(staying)
}

/// The first of them, for which no more is read than is needed.
fn first_staying(
    reader: &dyn Reader,
    rule: &DeleteRule,
    target: Oid,
    doomed: &BTreeSet<Oid>,
) -> Result<Option<Oid>> {
    let mut first = None;
    let holder = reader.catalog().class_by_id(rule.holder)?;
    each_holder(reader, holder, &rule.attribute, target, &mut |found| {
        first = found.iter().find(|holder| !doomed.contains(holder)).copied();
        Ok(match first {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        })
    })?;
    Ok(first)
}

impl Transaction {
    /// Brings the other sides of an object's relationships up to a write of it that was just made; `before` is its body
    /// before that.
    pub(super) fn relate(&mut self, oid: Oid, before: Option<&[u8]>) -> Result<()> {
        let class = self.overlay().catalog().class_by_id(oid.class())?.clone();
        for attribute in class
            .attributes
            .iter()
            .filter(|own| own.inverse.is_some() && !own.index_backed)
        {
            let old = match before {
                Some(body) => references(&read_slot(&class.layout, body, attribute.slot)?.to_value()?),
                None => Vec::new(),
            };
            let new = self.attribute_value(oid, &class, attribute)?;
            let new = references(&new.unwrap_or_default());
            for target in old.iter().filter(|target| !new.contains(target)) {
                self.unlink(*target, attribute, oid)?;
            }
            for target in new.iter().filter(|target| !old.contains(target)) {
                self.link(*target, attribute, oid)?;
            }
        }
        Ok(())
    }

    fn attribute_value(&self, oid: Oid, class: &Class, attribute: &Attribute) -> Result<Option<Value>> {
        match self.overlay().object(oid)? {
            Some(record) => read_slot(&class.layout, &record.body, attribute.slot)?
                .to_value()
                .map(Some),
            None => Ok(None),
        }
    }

    /// The class and attribute of `target` that are the other side of `attribute`, and the value there; `None` where
    /// the object is gone.
    fn other_side(&self, target: Oid, attribute: &Attribute) -> Result<Option<(Attribute, Value)>> {
        let Some(class) = self.overlay().catalog().classes.get(&target.class()) else {
            return Ok(None);
        };
        let other = attribute
            .inverse
            .as_ref()
            .and_then(|name| class.attribute_now(name));
        let Some(other) = other else { return Ok(None) };
        let value = self.attribute_value(target, class, other)?;
        Ok(value.map(|value| (other.clone(), value)))
    }

    fn unlink(&mut self, target: Oid, attribute: &Attribute, oid: Oid) -> Result<()> {
        match self.other_side(target, attribute)? {
            Some((other, value)) if references(&value).contains(&oid) => {
                self.set_attribute(target, &other, without(&value, oid))
            }
            _ => Ok(()),
        }
    }

    fn link(&mut self, target: Oid, attribute: &Attribute, oid: Oid) -> Result<()> {
        let Some((other, value)) = self.other_side(target, attribute)? else {
            return Ok(());
        };
        if references(&value).contains(&oid) {
            return Ok(());
        }
        if let Value::Reference(holder) = value {
            // It is taken from its holder, whose side is the attribute itself.
            let class = self.overlay().catalog().class_by_id(holder.class())?.clone();
            if let Some(own) = class.attribute_now(&attribute.name)
                && let Some(value) = self.attribute_value(holder, &class, own)?
            {
                self.set_attribute(holder, own, without(&value, target))?;
            }
        }
        self.set_attribute(target, &other, with(&value, &other.r#type, oid))
    }

    pub(super) fn set_attribute(&mut self, oid: Oid, attribute: &Attribute, value: Value) -> Result<()> {
        let class = self.overlay().catalog().class_by_id(oid.class())?.clone();
        let body = match self.overlay().object(oid)? {
            Some(record) => rewrite(&class.layout, &record.body, &[(attribute.slot, value)])?,
            None => return Ok(()),
        };
        self.overlay_mut().update(oid, &body, SlotSet::of(attribute.slot))
    }

    /// Deletes an object of a class that has relationships, or that others refer to under a rule.
    pub(super) fn delete_related(&mut self, oid: Oid) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let rules = |target: Oid| catalog.rules.get(&target.class()).map_or(&[][..], Vec::as_slice);
        let mut doomed = BTreeSet::new();
        let mut waiting = vec![oid];
        // What becomes of the holders that stay is worked out when it is known which do.
        let mut others: Vec<(&DeleteRule, Oid)> = Vec::new();
        let reader = self.reader();
        while let Some(next) = waiting.pop() {
            if !doomed.insert(next) {
                continue;
            }
            for rule in rules(next) {
                if rule.rule != OnDelete::Cascade {
                    others.push((rule, next));
                    continue;
                }
                each_holder(
                    &*reader,
                    catalog.class_by_id(rule.holder)?,
                    &rule.attribute,
                    next,
                    &mut |found| {
                        waiting.extend(found.iter().filter(|holder| !doomed.contains(holder)));
                        Ok(ControlFlow::Continue(()))
                    },
                )?;
            }
        }
        for (rule, target) in others.iter().filter(|(rule, _)| rule.rule == OnDelete::Restrict) {
            if let Some(holder) = first_staying(&*reader, rule, *target, &doomed)? {
                return Err(self.restricted(holder, rule, *target));
            }
        }
        drop(reader);
        for (rule, target) in others.iter().filter(|(rule, _)| rule.rule == OnDelete::Clear) {
            for holder in staying(&*self.reader(), rule, *target, &doomed)? {
                self.clear(holder, rule, *target)?;
            }
        }
        self.delete_all(doomed)
    }

    fn delete_all(&mut self, doomed: BTreeSet<Oid>) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        for oid in doomed {
            let relates = catalog.live_class(oid.class()).is_some_and(|class| class.relates);
            let Some(before) = self.overlay().object(oid)?.map(|record| match relates {
                true => record.body.to_vec(),
                false => Vec::new(),
            }) else {
                continue;
            };
            self.overlay_mut().write(oid, None, false)?;
            if relates {
                self.relate(oid, Some(&before))?;
            }
        }
        Ok(())
    }

    fn restricted(&self, holder: Oid, rule: &DeleteRule, target: Oid) -> Error {
        let sentence = format!(
            "{} cannot be deleted: {} refers to it by {}, which is declared on delete restrict",
            self.describe(target),
            self.describe(holder),
            rule.attribute
        );
        Constraint::new(ConstraintKind::Reference, sentence).into()
    }

    fn clear(&mut self, holder: Oid, rule: &DeleteRule, target: Oid) -> Result<()> {
        let class = self.overlay().catalog().class_by_id(holder.class())?.clone();
        let Some(attribute) = class.attribute_now(&rule.attribute) else {
            return Ok(());
        };
        match self.attribute_value(holder, &class, attribute)? {
            Some(value) => self.set_attribute(holder, attribute, without(&value, target)),
            None => Ok(()),
        }
    }

    /// Makes two attributes each other's inverse: `attribute` of `class`, and `inverse` of the class it refers to. What
    /// objects say on either side already is brought in step.
    ///
    /// # Errors
    /// [`Error::Schema`] where the attributes do not refer to each other's class, or have another inverse.
    pub fn set_inverse(&mut self, class: &str, attribute: &str, inverse: &str) -> Result<()> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        let changes = self
            .overlay()
            .catalog()
            .declare_inverse(&class, attribute, Some(inverse))?;
        if changes.is_empty() {
            return self.derive(&class.name, attribute);
        }
        self.change_schema(changes)?;
        self.complete_inverses()?;
        self.overlay()
            .catalog()
            .check_inverses(self.overlay().catalog().class_by_id(class.id)?)?;
        self.derive(&class.name, attribute)?;
        let mut existing = Vec::new();
        let other = self
            .overlay()
            .catalog()
            .class_by_id(class.id)?
            .attribute_now(attribute)
            .cloned();
        let other = other.and_then(|own| {
            let catalog = self.overlay().catalog();
            catalog.other_side(&own).map(|(class, _)| class.family.clone())
        });
        let families = class.family.iter().copied().chain(other.into_iter().flatten());
        let families: BTreeSet<_> = families.collect();
        let families: Vec<_> = families.into_iter().collect();
        self.each_object(&families, &mut |_, record| {
            existing.push(record.oid);
            Ok(())
        })?;
        existing.into_iter().try_for_each(|oid| self.relate(oid, None))
    }

    /// Says what becomes of an object when the one it refers to by `attribute` is deleted. The attribute gets an index,
    /// unless it has one, so that holders are found at once.
    ///
    /// # Errors
    /// [`Error::Schema`] where the rule does not fit the attribute.
    pub fn set_on_delete(&mut self, class: &str, attribute: &str, rule: OnDelete) -> Result<()> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        let changes = self.overlay().catalog().set_rule(&class, attribute, rule)?;
        self.change_schema(changes)?;
        self.index_rules(&class.name)
    }

    /// Tells the other sides of relationships of them.
    pub(super) fn complete_inverses(&mut self) -> Result<()> {
        while let Some((class, attribute, inverse)) = self.overlay().catalog().one_sided() {
            let class = self.overlay().catalog().class_by_id(class)?.clone();
            let changes = self
                .overlay()
                .catalog()
                .declare_inverse(&class, &attribute, Some(&inverse))?;
            self.change_schema(changes)?;
        }
        Ok(())
    }

    /// Derives the sets of all relationships of a class that can be.
    pub(super) fn derive_all(&mut self, class: &str) -> Result<()> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        let sides = class.attributes.iter().filter(|own| own.inverse.is_some());
        sides
            .into_iter()
            .try_for_each(|own| self.derive(&class.name, &own.name))
    }

    /// Gives every attribute of a class that has a rule for deletes an index.
    pub(super) fn index_rules(&mut self, class: &str) -> Result<()> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        let ruled = class.attributes.iter();
        let ruled = ruled.filter(|own| own.declared_in == class.id && own.on_delete != OnDelete::Leave);
        for attribute in ruled {
            let catalog = self.overlay().catalog();
            let on_it = |id: &crate::catalog::IndexId| {
                catalog.indexes.get(id).is_some_and(|index| {
                    matches!(index.components.as_slice(), [component] if component.path == [attribute.name.clone()])
                })
            };
            if !class.indexes.iter().any(on_it) {
                let index = crate::catalog::IndexDefinition::on_attribute(attribute.name.clone());
                self.create_index(&class.name, &index)?;
            }
        }
        Ok(())
    }

    /// Ends the relationship an attribute is a side of.
    pub(super) fn forget_inverse(&mut self, class: &Class, attribute: &str) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let own = catalog.declared(class, attribute)?;
        let Some((_, other)) = catalog.other_side(own) else {
            return Ok(());
        };
        self.refuse_backing(class, own)?;
        let changes = catalog.declare_inverse(class, attribute, None)?;
        self.change_schema(changes)?;
        let declaring = self.overlay().catalog().class_by_id(other.declared_in)?.clone();
        let changes = self
            .overlay()
            .catalog()
            .declare_inverse(&declaring, &other.name, None)?;
        self.change_schema(changes)
    }
}

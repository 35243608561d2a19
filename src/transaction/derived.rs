//! Sets that are an index read backwards, as a transaction writes them.
//!
//! No object stores a derived attribute: its slot is nil. A body that is to be written may have members there all the same,
//! because a program replaces the set, or creates the object with one; they are taken out of it, and the references of the
//! members are brought in line: those that come refer to the object, whatever they referred to before, those that go refer
//! to nothing. Nil says nothing about the members, an empty set that there are none. To compare, the members are read, so
//! replacing a set is a read of it; a member that is written itself touches nothing but its own reference.

use super::handle::Transaction;
use crate::catalog::{Attribute, Class, IndexDefinition};
use crate::error::{Error, Result};
use crate::object::codec::{read_slot, rewrite};
use crate::object::{Oid, Value};
use crate::read::{Reader, members};

/// What a body said of derived attributes: each with its new members, ascending.
pub type Memberships = Vec<(Attribute, Vec<Oid>)>;

impl Transaction {
    /// Takes the members of derived attributes out of a body.
    pub(super) fn take_members(class: &Class, body: Vec<u8>) -> Result<(Vec<u8>, Memberships)> {
        let mut taken = Memberships::new();
        for attribute in class.attributes.iter().filter(|own| own.is_derived()) {
            let value = read_slot(&class.layout, &body, attribute.slot)?.to_value()?;
            if let Some(given) = value.as_members() {
                let mut given: Vec<Oid> = given.iter().filter_map(Value::as_reference).collect();
                given.sort_unstable();
                given.dedup();
                taken.push((attribute.clone(), given));
            }
        }
        if taken.is_empty() {
            return Ok((body, taken));
        }
        let nothing: Vec<(usize, Value)> = taken.iter().map(|(own, _)| (own.slot, Value::Nil)).collect();
        Ok((rewrite(&class.layout, &body, &nothing)?, taken))
    }

    /// Makes these, and no others, the members of derived attributes of an object.
    pub(super) fn set_members(&mut self, oid: Oid, memberships: Memberships, is_new: bool) -> Result<()> {
        for (attribute, wanted) in memberships {
            let current = match is_new {
                true => Vec::new(),
                false => members(self.reader().as_ref(), &attribute, oid)?,
            };
            let catalog = self.overlay().catalog().clone();
            let Some((_, other)) = catalog.backing(&attribute) else {
                continue;
            };
            for gone in current.iter().filter(|own| wanted.binary_search(own).is_err()) {
                self.set_reference(*gone, other, Value::Nil)?;
            }
            for new in wanted.iter().filter(|own| current.binary_search(own).is_err()) {
                self.set_reference(*new, other, Value::Reference(oid))?;
            }
        }
        Ok(())
    }

    /// Sets the reference a derived attribute is read from, in one object; one that does not exist stays away.
    fn set_reference(&mut self, member: Oid, reference: &Attribute, value: Value) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let own = catalog.classes.get(&member.class());
        match own.and_then(|class| class.attribute_now(&reference.name)) {
            Some(own) => self.set_attribute(member, own, value),
            None => Ok(()),
        }
    }

    /// Derives the set of a relationship, where one of its sides is a set that can be: gives the reference an index unless
    /// it has one, and takes what objects have stored in the set. Where a member refers to another object already, its
    /// reference is right.
    pub(super) fn derive(&mut self, class: &str, attribute: &str) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let own = catalog.user_class(class)?;
        let Some(side) = own.attribute_now(attribute) else {
            return Ok(());
        };
        let Some((holder, other)) = catalog.other_side(side) else {
            return Ok(());
        };
        if catalog.can_derive(own, side) {
            return self.derive_set((own, side), (holder, other));
        }
        match catalog.can_derive(holder, other) {
            true => self.derive_set((holder, other), (own, side)),
            false => Ok(()),
        }
    }

    fn derive_set(&mut self, set: (&Class, &Attribute), reference: (&Class, &Attribute)) -> Result<()> {
        let stored = self.stored_sets(set.0, set.1)?;
        if self
            .overlay()
            .catalog()
            .index_of_reference(reference.0.id, &reference.1.name)
            .is_none()
        {
            let index = IndexDefinition::on_attribute(reference.1.name.clone());
            self.create_index(&reference.0.name, &index)?;
        }
        for (class, attribute) in [set, reference] {
            let catalog = self.overlay().catalog();
            let class = catalog.class_by_id(class.id)?;
            let changes = catalog.mark_index_backed(class, &attribute.name)?;
            self.change_schema(changes)?;
        }
        for (oid, members) in stored {
            for member in members {
                if self.refers_to_nothing(member, reference.1)? {
                    self.set_reference(member, reference.1, Value::Reference(oid))?;
                }
            }
            self.set_attribute(oid, set.1, Value::Nil)?;
        }
        Ok(())
    }

    /// The objects that have members stored in a set, and these.
    fn stored_sets(&self, class: &Class, attribute: &Attribute) -> Result<Vec<(Oid, Vec<Oid>)>> {
        let mut stored = Vec::new();
        self.each_object(&class.family, &mut |member, record| {
            if let Some(slot) = member.layout.slot(&attribute.name) {
                let value = read_slot(&member.layout, &record.body, slot)?.to_value()?;
                let members = value.as_members().unwrap_or_default();
                let members = members.iter().filter_map(Value::as_reference).collect();
                if !value.is_nil() {
                    stored.push((record.oid, members));
                }
            }
            Ok(())
        })?;
        Ok(stored)
    }

    fn refers_to_nothing(&self, member: Oid, reference: &Attribute) -> Result<bool> {
        let overlay = self.overlay();
        let Some(record) = overlay.object(member)? else {
            return Ok(false);
        };
        let class = overlay.catalog().class_by_id(member.class())?;
        match class.layout.slot(&reference.name) {
            Some(slot) => Ok(read_slot(&class.layout, &record.body, slot)?.is_nil()),
            None => Ok(false),
        }
    }

    /// Refuses to end a relationship by its reference, where its set is read from that.
    pub(super) fn refuse_backing(&self, class: &Class, attribute: &Attribute) -> Result<()> {
        let catalog = self.overlay().catalog();
        let Some((other_class, other)) = catalog.other_side(attribute) else {
            return Ok(());
        };
        if !other.is_derived() {
            return Ok(());
        }
        let index = catalog.index_of_reference(class.id, &attribute.name);
        Err(Error::Schema(format!(
            "{}.{} is what {set}.{} is read from, by the index {}; drop {set}.{} first, then that index",
            class.name,
            attribute.name,
            other.name,
            index.map_or("on it", |index| &index.name),
            other.name,
            set = other_class.name,
        )))
    }
}

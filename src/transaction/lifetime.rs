//! What a transaction does for the objects of dependent classes that it makes someone refer to.
//!
//! The collector deletes only objects whose newest version is older than its search, and a delete conflicts with every
//! other write of the object. So an object that existed before and is newly referred to is *held*: written anew, with
//! the body it has, in the transaction that refers to it. Whichever of the two commits first, the other conflicts; at
//! every isolation level, because writes are always compared.

use super::handle::Transaction;
use crate::error::Result;
use crate::object::codec::references_in_slots;
use crate::object::{CommitNumber, Oid};
use crate::read::Reader;
use crate::write_set::Write;

impl Transaction {
    /// Holds the objects of dependent classes that something refers to only since this transaction. Nothing is done
    /// while no class is dependent, nor for objects that the transaction writes anyway.
    pub(super) fn hold_dependents(&mut self) -> Result<()> {
        if self.overlay().catalog().holders.is_empty() {
            return Ok(());
        }
        for target in self.newly_referred_to()? {
            let body = match self.overlay().object(target)? {
                Some(record) => record.body.to_vec(),
                None => continue,
            };
            self.overlay_mut().write(target, Some(&body), false)?;
        }
        Ok(())
    }

    /// The objects to hold, each once, in ascending order.
    fn newly_referred_to(&self) -> Result<Vec<Oid>> {
        let overlay = self.overlay();
        let catalog = overlay.catalog();
        let mut found = Vec::new();
        let (mut after, mut before) = (Vec::new(), Vec::new());
        for (oid, write) in overlay.writes().iter() {
            let Some(slots) = catalog.holders.get(&oid.class()) else {
                continue;
            };
            after.clear();
            if let Some(body) = write.body() {
                references_in_slots(&catalog.class_by_id(oid.class())?.layout, body, slots, &mut after)?;
            }
            after.retain(|target| {
                catalog.is_dependent(target.class()) && overlay.writes().get(*target).is_none()
            });
            if matches!(write, Write::Update(_)) && !after.is_empty() {
                self.references_before(oid, slots, &mut before)?;
                after.retain(|target| before.binary_search(target).is_err());
            }
            found.append(&mut after);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The references an object had when the transaction began, ascending.
    fn references_before(&self, oid: Oid, slots: &[usize], found: &mut Vec<Oid>) -> Result<()> {
        found.clear();
        let overlay = self.overlay();
        if let Some(record) = overlay.view().object(oid)? {
            let layout = &overlay.catalog().class_by_id(oid.class())?.layout;
            references_in_slots(layout, &record.body, slots, found)?;
        }
        found.sort_unstable();
        Ok(())
    }

    /// Deletes objects that nothing outside of them refers to, if none was written since `since`; else gives those that
    /// were, and deletes none. Rules for deletes and inverses concern those who refer to an object, and so nobody here.
    pub(crate) fn delete_unreachable(&mut self, objects: &[Oid], since: CommitNumber) -> Result<Vec<Oid>> {
        let view = self.overlay().view().clone();
        let mut written = Vec::new();
        let mut old = Vec::new();
        for oid in objects {
            match view.object(*oid)? {
                Some(record) if record.commit > since => written.push(*oid),
                Some(_) => old.push(*oid),
                None => {}
            }
        }
        if written.is_empty() {
            for oid in old {
                self.overlay_mut().write(oid, None, false)?;
            }
        }
        Ok(written)
    }
}

//! Updates of one object that were made at the same time, brought together.
//!
//! An update is what it assigned: a set of slots, and their values. Where the head of the object has changed since the
//! snapshot, the update can still be made over it, slot by slot:
//!
//! * a slot that it did not assign keeps what the head has;
//! * an assigned slot that is in the head as it was in the snapshot takes the new value;
//! * an assigned slot that the head changed too is merged by the attribute's rule. Without a rule, and where the rule
//!   has no answer, the update conflicts.
//!
//! `counter`: the head's value plus what the update added to the snapshot's. No answer where one of the three is nil,
//! or where the sum does not fit. `union`: the members of both, where both only added members; nil counts as no members.
//!
//! The index entries of a merged object are worked out anew, from the head to the merged body.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::request::{IndexEntry, Request};
use crate::catalog::{Catalog, Class, IndexKind, MergeRule, index_differences};
use crate::error::Result;
use crate::index::{IndexChange, encode_changes};
use crate::object::codec::{Body, read_value, rewrite};
use crate::object::{Decimal, Layout, Oid, SlotSet, Value};

/// An update that was overtaken, and what becomes of the object.
#[derive(Debug)]
pub struct Merged {
    /// The object.
    pub oid: Oid,
    /// Its body at the head.
    pub head: Vec<u8>,
    /// Its body once the update is made over that.
    pub body: Vec<u8>,
}

/// The body of an object once an update, which made `own` of `base` by assigning some slots, is made over `head`; `None`
/// where that cannot be.
pub fn merge_bodies(
    class: &Class,
    base: &[u8],
    own: &[u8],
    assigned: SlotSet,
    head: &[u8],
) -> Result<Option<Vec<u8>>> {
    let mut changes: SmallVec<[(usize, Value); 4]> = SmallVec::new();
    for attribute in &class.attributes {
        let slot = attribute.slot;
        if !assigned.contains(slot) {
            continue;
        }
        let value = |body| read_value(&class.layout, body, slot);
        if !slot_differs(&class.layout, base, head, slot)? {
            changes.push((slot, value(own)?));
            continue;
        }
        let Some(rule) = attribute.merge else {
            return Ok(None);
        };
        match merge_values(rule, &value(base)?, &value(own)?, &value(head)?) {
            Some(merged) => changes.push((slot, merged)),
            None => return Ok(None),
        }
    }
    rewrite(&class.layout, head, &changes).map(Some)
}

/// Whether two bodies differ in one of these slots.
pub fn differ(layout: &Layout, a: &[u8], b: &[u8], slots: SlotSet) -> Result<bool> {
    let numbers = layout.slots.iter().enumerate();
    for (number, _) in numbers.filter(|(number, slot)| !slot.dropped && slots.contains(*number)) {
        if slot_differs(layout, a, b, number)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn slot_differs(layout: &Layout, a: &[u8], b: &[u8], slot: usize) -> Result<bool> {
    match (Body::new(a)?.slot(slot)?, Body::new(b)?.slot(slot)?) {
        (Some(a), Some(b)) => Ok(a != b),
        // One was written before there was the slot, and has its default.
        _ => Ok(read_value(layout, a, slot)? != read_value(layout, b, slot)?),
    }
}

fn merge_values(rule: MergeRule, base: &Value, own: &Value, head: &Value) -> Option<Value> {
    match (rule, base, own, head) {
        (MergeRule::Counter, Value::Int(base), Value::Int(own), Value::Int(head)) => {
            let sum = i128::from(*head) + i128::from(*own) - i128::from(*base);
            i64::try_from(sum).ok().map(Value::Int)
        }
        (MergeRule::Counter, Value::Decimal(base), Value::Decimal(own), Value::Decimal(head)) => {
            let increment = exact_difference(*own, *base)?;
            let sum = head.checked_add(increment)?;
            (exact_difference(sum, *head)? == increment).then_some(Value::Decimal(sum))
        }
        (MergeRule::Counter, ..) => None,
        (MergeRule::Union, ..) => union(members(base)?, members(own)?, members(head)?),
    }
}

/// `a - b`, where no digit is lost.
fn exact_difference(a: Decimal, b: Decimal) -> Option<Decimal> {
    let difference = a.checked_sub(b)?;
    (b.checked_add(difference)? == a).then_some(difference)
}

fn members(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Nil => Some(&[]),
        Value::Set(members) => Some(members),
        _ => None,
    }
}

/// Members of a set come in order.
fn union(base: &[Value], own: &[Value], head: &[Value]) -> Option<Value> {
    let has_all = |set: &[Value]| base.iter().all(|member| set.binary_search(member).is_ok());
    (has_all(own) && has_all(head)).then(|| Value::set(head.iter().chain(own).cloned()))
}

/// The request with the merged bodies, and the index entries that follow from them.
pub fn merged_request(request: &Request, merged: &[Merged], secret: [u8; 16]) -> Result<Request> {
    let mut writes = request.writes.as_ref().clone();
    let objects: FxHashSet<Oid> = merged.iter().map(|merged| merged.oid).collect();
    let kept = request.entries.iter();
    let kept = kept.filter(|entry| !objects.contains(&entry.change.oid));
    let mut entries: Vec<IndexEntry> = kept.cloned().collect();
    for Merged { oid, head, body } in merged {
        writes.update(*oid, body, SlotSet::NONE);
        add_entries(&request.catalog, (*oid, head, body), secret, &mut entries)?;
    }
    entries.sort_by(|a, b| {
        let key = |entry: &IndexEntry| (entry.change.index, entry.change.oid);
        (a.change.index, &a.change.key, key(a)).cmp(&(b.change.index, &b.change.key, key(b)))
    });
    let mut deltas = Vec::new();
    if !entries.is_empty() {
        encode_changes(entries.iter().map(|entry| &entry.change), &mut deltas);
    }
    Ok(Request {
        snapshot: request.snapshot,
        base: request.base.clone(),
        catalog: request.catalog.clone(),
        catalog_version: request.catalog_version,
        writes: writes.into(),
        entries,
        deltas,
        reads: None,
        durability: request.durability,
        label: request.label.clone(),
    })
}

fn add_entries(
    catalog: &Catalog,
    (oid, head, body): (Oid, &[u8], &[u8]),
    secret: [u8; 16],
    entries: &mut Vec<IndexEntry>,
) -> Result<()> {
    let class = catalog.class_by_id(oid.class())?;
    index_differences(
        catalog,
        class,
        Some(head),
        Some(body),
        secret,
        &mut |index, key, has_nil, added| {
            entries.push(IndexEntry {
                claim: index.kind == IndexKind::Unique && added && !has_nil,
                change: IndexChange {
                    index: index.id,
                    key: key.clone(),
                    oid,
                    added,
                },
            });
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(base: i64, own: i64, head: i64) -> Option<Value> {
        merge_values(MergeRule::Counter, &base.into(), &own.into(), &head.into())
    }

    #[test]
    fn increments_add_up_and_overflow_has_no_answer() {
        assert_eq!(counted(5, 8, 7), Some(10.into()));
        assert_eq!(counted(5, 5, 7), Some(7.into()));
        assert_eq!(counted(i64::MIN, i64::MAX, i64::MIN), Some(i64::MAX.into()));
        assert_eq!(counted(0, 1, i64::MAX), None);
        let nil = Value::Nil;
        assert_eq!(merge_values(MergeRule::Counter, &nil, &1.into(), &1.into()), None);
    }

    #[test]
    fn decimals_add_up_where_no_digit_is_lost() {
        let decimal = |text: &str| Value::Decimal(text.parse().unwrap());
        let merged =
            |base, own, head| merge_values(MergeRule::Counter, &decimal(base), &decimal(own), &decimal(head));
        assert_eq!(merged("1.50", "2.25", "1.75"), Some(decimal("2.50")));
        assert_eq!(
            merged(
                "0",
                "0.0000000000000000000000000001",
                "70000000000000000000000000000"
            ),
            None
        );
    }

    #[test]
    fn additions_come_together_and_a_removal_has_no_answer() {
        let set = |members: &[i64]| Value::set(members.iter().map(|member| Value::Int(*member)));
        let merged = |base, own, head| merge_values(MergeRule::Union, &base, &own, &head);
        assert_eq!(
            merged(set(&[1]), set(&[1, 2]), set(&[1, 3])),
            Some(set(&[1, 2, 3]))
        );
        assert_eq!(merged(Value::Nil, set(&[2]), set(&[2, 3])), Some(set(&[2, 3])));
        assert_eq!(merged(set(&[1]), set(&[]), set(&[1, 3])), None);
        assert_eq!(merged(set(&[1]), set(&[1, 2]), set(&[])), None);
    }
}

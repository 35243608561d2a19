//! Operations laid over sorted objects: what both readers and the flush do.

use super::cache::Objects;
use crate::object::Oid;

/// The most operations that are cheaper one by one than by a pass over everything.
const FEW: usize = 8;

/// Performs operations, sorted by object and one for each, on the ascending `objects`.
pub(super) fn overlay(objects: &mut Objects, operations: &[(Oid, bool)]) {
    if operations.len() > FEW {
        let merged = merged(objects, operations);
        objects.clear();
        objects.extend_from_slice(&merged);
        return;
    }
    for &(oid, added) in operations {
        match objects.binary_search(&oid) {
            Ok(at) if !added => {
                objects.remove(at);
            }
            Err(at) if added => objects.insert(at, oid),
            _ => {}
        }
    }
}

/// The ascending `objects` after operations, sorted by object and one for each.
pub(super) fn merged(objects: &[Oid], operations: &[(Oid, bool)]) -> Vec<Oid> {
    let mut merged = Vec::with_capacity(objects.len().saturating_add(operations.len()));
    let mut objects = objects.iter().copied().peekable();
    for &(oid, added) in operations {
        while let Some(before) = objects.next_if(|&object| object < oid) {
            merged.push(before);
        }
        objects.next_if_eq(&oid);
        if added {
            merged.push(oid);
        }
    }
    merged.extend(objects);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_operations_do_the_same() {
        let oid = |n: u64| Oid::from_bits(n).unwrap();
        let objects: Vec<Oid> = (1..40).map(|n| oid(n * 3)).collect();
        let operations: Vec<(Oid, bool)> = (1..130).step_by(2).map(|n| (oid(n), n % 4 == 1)).collect();
        let mut one_by_one = Objects::from_slice(&objects);
        for operation in &operations {
            overlay(&mut one_by_one, std::slice::from_ref(operation));
        }
        let mut at_once = Objects::from_slice(&objects);
        overlay(&mut at_once, &operations);
        assert_eq!(one_by_one, at_once);
        assert!(at_once.is_sorted());
        assert!(at_once.contains(&oid(1)) && !at_once.contains(&oid(3)) && at_once.contains(&oid(6)));
    }
}

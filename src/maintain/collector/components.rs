//! In which order garbage may go: strongly connected components, those that are referred to by others last.
//!
//! Gabow's algorithm, with stacks of its own instead of recursion, so that a chain of a million objects is no matter, and
//! so that it can be left and taken up again. It finds components targets first; they are handed out the other way
//! round. It takes about 40 bytes for each object of garbage.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::object::Oid;

/// A search for components under way.
#[derive(Debug, Default)]
pub(super) struct Components {
    /// When each object was first met; [`PLACED`] once its component is known.
    numbers: FxHashMap<Oid, u32>,
    /// How many were met.
    met: u32,
    /// Objects whose targets are being visited, with the targets left.
    path: Vec<(Oid, Vec<Oid>)>,
    /// Met, and not placed.
    open: Vec<Oid>,
    /// The objects of `path` that may begin a component.
    first: Vec<Oid>,
    /// Placed objects, component by component, targets first.
    placed: Vec<Oid>,
    /// Where each component begins in `placed`.
    begins: Vec<usize>,
}

const PLACED: u32 = u32::MAX;

impl Components {
    /// Begins at an object, unless it was met. The steps after it lead through all that it reaches.
    pub(super) fn start(&mut self, object: Oid, targets: &mut Targets<'_>) -> Result<()> {
        match self.numbers.contains_key(&object) {
            true => Ok(()),
            false => self.meet(object, targets),
        }
    }

    fn meet(&mut self, object: Oid, targets: &mut Targets<'_>) -> Result<()> {
        self.numbers.insert(object, self.met);
        self.met = self.met.saturating_add(1);
        self.open.push(object);
        self.first.push(object);
        self.path.push((object, targets(object)?));
        Ok(())
    }

    /// Goes one reference on; false where nothing that was started is unfinished.
    pub(super) fn step(&mut self, targets: &mut Targets<'_>) -> Result<bool> {
        let Some((object, left)) = self.path.last_mut() else {
            return Ok(false);
        };
        let object = *object;
        match left.pop() {
            Some(target) => match self.numbers.get(&target).copied() {
                None => self.meet(target, targets)?,
                Some(PLACED) => {}
                Some(number) => self.join(number),
            },
            None => {
                self.path.pop();
                self.leave(object);
            }
        }
        Ok(true)
    }

    /// A reference back: what was met since is one component with it.
    fn join(&mut self, number: u32) {
        let later = |object: &Oid| self.numbers.get(object).is_some_and(|met| *met > number);
        while self.first.last().is_some_and(later) {
            self.first.pop();
        }
    }

    fn leave(&mut self, object: Oid) {
        if self.first.last() != Some(&object) {
            return;
        }
        self.first.pop();
        self.begins.push(self.placed.len());
        while let Some(member) = self.open.pop() {
            self.numbers.insert(member, PLACED);
            self.placed.push(member);
            if member == object {
                break;
            }
        }
    }

    /// Takes components for one transaction: so many that they have about `wanted` objects. Empty at the end. What refers
    /// to an object of a batch is in it, or in one before.
    pub(super) fn take(&mut self, wanted: usize) -> Vec<Oid> {
        let mut batch = Vec::new();
        while batch.len() < wanted
            && let Some(begin) = self.begins.pop()
        {
            batch.extend(self.placed.drain(begin..));
        }
        if self.begins.is_empty() && self.placed.is_empty() {
            self.numbers = FxHashMap::default();
        }
        batch
    }
}

/// Gives the objects of garbage that one refers to.
pub(super) type Targets<'a> = dyn FnMut(Oid) -> Result<Vec<Oid>> + 'a;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ClassId;

    fn oid(serial: u64) -> Oid {
        Oid::new(ClassId(70), serial).unwrap()
    }

    fn batches(edges: &[(u64, u64)], objects: u64) -> Vec<Vec<u64>> {
        let mut components = Components::default();
        let mut targets = |object: Oid| -> Result<Vec<Oid>> {
            let of = edges.iter().filter(|(from, _)| *from == object.serial());
            Ok(of.map(|(_, to)| oid(*to)).collect())
        };
        for serial in 1..=objects {
            components.start(oid(serial), &mut targets).unwrap();
            while components.step(&mut targets).unwrap() {}
        }
        let mut batches = Vec::new();
        loop {
            let mut batch: Vec<u64> = components.take(1).iter().map(|oid| oid.serial()).collect();
            if batch.is_empty() {
                return batches;
            }
            batch.sort_unstable();
            batches.push(batch);
        }
    }

    #[test]
    fn what_refers_goes_before_what_it_refers_to_and_rings_go_whole() {
        let chain: Vec<(u64, u64)> = vec![(3, 2), (2, 1)];
        assert_eq!(batches(&chain, 3), [[3], [2], [1]]);
        let ring = [(1, 2), (2, 3), (3, 1), (3, 4), (5, 1), (4, 4)];
        assert_eq!(batches(&ring, 5), [vec![5], vec![1, 2, 3], vec![4]]);
    }

    #[test]
    fn a_long_chain_and_a_long_ring_are_ordered_without_recursion() {
        let length = 2_000;
        let mut edges: Vec<(u64, u64)> = (1..length).map(|at| (at, at + 1)).collect();
        let chain: Vec<u64> = batches(&edges, length).into_iter().flatten().collect();
        assert!(chain.is_sorted());
        edges.push((length, 1));
        assert_eq!(batches(&edges, length).len(), 1);
    }

    #[test]
    fn random_graphs_are_ordered() {
        let seed = 0x5eed_u64;
        let mut state = seed;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for round in 0..200 {
            let objects = 1 + random(12);
            let edges: Vec<(u64, u64)> = (0..random(20))
                .map(|_| (1 + random(objects), 1 + random(objects)))
                .collect();
            let batches = batches(&edges, objects);
            let place = |object: u64| batches.iter().position(|batch| batch.contains(&object));
            assert_eq!(batches.iter().flatten().count() as u64, objects, "round {round}");
            for (from, to) in &edges {
                assert!(
                    place(*from) <= place(*to),
                    "seed {seed}, round {round}: {edges:?}"
                );
            }
        }
    }
}

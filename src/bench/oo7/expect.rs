//! Every operation of OO7, run on the plain model: the counts and the state the database is checked against.

use std::collections::HashSet;

use super::model::{Atomic, Children, Design, position_to_id};
use crate::bench::random::Random;

/// Random ids that Q1 looks up.
const Q1_LOOKUPS: usize = 10;
/// Random titles that Q4 looks up.
const Q4_LOOKUPS: usize = 100;
/// Repetitions of the update in T2c and T3c.
const REPEATED: usize = 4;
/// The first date of the last 1 % of the range of dates.
pub const Q2_DATE: i64 = 1_990;
/// The first date of the last 10 %.
pub const Q3_DATE: i64 = 1_900;

/// What an operation must report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Visits, updates, characters or rows: what the benchmark counts for this operation.
    pub count: u64,
    /// Different objects among those visited or found.
    pub distinct: u64,
}

/// Which atomic parts of a visited composite part an update changes, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The root part (variant a).
    Root,
    /// Every part (variant b).
    All,
    /// Every part four times (variant c).
    AllRepeated,
}

impl Extent {
    /// How often each part it covers is changed in one visit.
    pub fn repetitions(self) -> usize {
        match self {
            Extent::Root | Extent::All => 1,
            Extent::AllRepeated => REPEATED,
        }
    }
}

/// The update made at an atomic part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Exchange x and y (T2, CU).
    Swap,
    /// One up if the build date is odd, one down if it is even (T3).
    Toggle,
}

/// Sums over the whole design that any lost, doubled or misplaced change shows in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// All objects.
    pub objects: u64,
    /// The sum of x over all atomic parts.
    pub sum_x: i64,
    /// The sum of y.
    pub sum_y: i64,
    /// The sum of their build dates.
    pub sum_date: i64,
    /// The sum modulo 2^64 over the atomic parts of id times a mix of x, y and date: which part has which values.
    pub placed: u64,
    /// Bytes of all documents.
    pub text: u64,
    /// Uses of composite parts, private and shared, as the base assemblies know them.
    pub uses: u64,
    /// The same, as the composite parts know them.
    pub uses_back: u64,
}

impl State {
    /// Adds one atomic part.
    pub fn add(&mut self, id: i64, x: i64, y: i64, date: i64) {
        self.sum_x += x;
        self.sum_y += y;
        self.sum_date += date;
        let mixed = (x.wrapping_mul(1_000_003).wrapping_add(y))
            .wrapping_mul(1_000_003)
            .wrapping_add(date);
        self.placed = self.placed.wrapping_add(id.wrapping_mul(mixed).cast_unsigned());
    }
}

impl Design {
    /// T1: visits every atomic part below the first module's root, again at each use of its composite part.
    pub fn traverse(&self) -> Outcome {
        let composites = self.private_parts();
        let mut outcome = self.reached_parts(&composites);
        outcome.count = composites
            .iter()
            .map(|composite| count(self.reachable(*composite).len()))
            .sum();
        outcome
    }

    /// T10: T1 over all modules.
    pub fn traverse_all_modules(&self) -> Outcome {
        let composites: Vec<usize> = self
            .bases
            .iter()
            .flat_map(|base| base.private.iter().copied())
            .collect();
        let mut outcome = self.reached_parts(&composites);
        outcome.count = composites
            .iter()
            .map(|composite| count(self.reachable(*composite).len()))
            .sum();
        outcome
    }

    /// T2 and T3: T1 with a change at the parts that `extent` names.
    pub fn change(&mut self, change: Change, extent: Extent) -> Outcome {
        let mut changes = 0;
        let mut changed = HashSet::new();
        for composite in self.private_parts() {
            let parts = match extent {
                Extent::Root => self
                    .composites
                    .get(composite)
                    .map(|part| vec![part.root])
                    .unwrap_or_default(),
                Extent::All | Extent::AllRepeated => self.reachable(composite),
            };
            for part in parts {
                changed.insert(part);
                for _ in 0..extent.repetitions() {
                    changes += 1;
                    if let Some(part) = self.atomics.get_mut(part) {
                        part.apply(change);
                    }
                }
            }
        }
        Outcome {
            count: changes,
            distinct: count(changed.len()),
        }
    }

    /// T4: the number of `I` in the documents of the composite parts T1 visits.
    pub fn count_in_documents(&self) -> Outcome {
        let composites = self.private_parts();
        let letters = composites
            .iter()
            .filter_map(|composite| self.composites.get(*composite))
            .map(|composite| count(composite.document.matches('I').count()))
            .sum();
        Outcome {
            count: letters,
            distinct: distinct(&composites),
        }
    }

    /// T5: replaces `from` by `to` where a visited document begins with it.
    pub fn replace_in_documents(&mut self, from: &str, to: &str) -> Outcome {
        let mut replaced = 0;
        for composite in self.private_parts() {
            if let Some(composite) = self.composites.get_mut(composite)
                && let Some(rest) = composite.document.strip_prefix(from)
            {
                composite.document = format!("{to}{rest}");
                replaced += 1;
            }
        }
        Outcome {
            count: replaced,
            distinct: replaced,
        }
    }

    /// T6: T1 that visits the root parts only.
    pub fn traverse_roots(&self) -> Outcome {
        let composites = self.private_parts();
        Outcome {
            count: count(composites.len()),
            distinct: distinct(&composites),
        }
    }

    /// The id of the atomic part T7 starts from.
    pub fn random_part(&self) -> i64 {
        position_to_id(Random::new(self.seed).position(self.scale.atomics()))
    }

    /// T7: the assemblies above a random atomic part, up to the root, each once.
    pub fn traverse_up(&self) -> Outcome {
        let part = Random::new(self.seed).position(self.scale.atomics());
        let composite = self
            .atomics
            .get(part)
            .and_then(|part| self.composites.get(part.part_of));
        let mut bases = HashSet::new();
        let mut complexes = HashSet::new();
        for base in composite
            .map(|part| part.used_private.as_slice())
            .unwrap_or_default()
        {
            bases.insert(*base);
            let mut next = self.bases.get(*base).map(|base| base.parent);
            while let Some(complex) = next {
                next = complexes
                    .insert(complex)
                    .then(|| self.complexes.get(complex).and_then(|complex| complex.parent))
                    .flatten();
            }
        }
        let visited = count(bases.len() + complexes.len());
        Outcome {
            count: visited,
            distinct: visited,
        }
    }

    /// T8: the number of `I` in the first module's manual.
    pub fn count_in_manual(&self) -> Outcome {
        let manual = self
            .modules
            .first()
            .map(|module| module.manual.as_str())
            .unwrap_or_default();
        Outcome {
            count: count(manual.matches('I').count()),
            distinct: 1,
        }
    }

    /// T9: 1 if the first and the last character of the manual are the same, else 0.
    pub fn compare_manual_ends(&self) -> Outcome {
        let manual = self
            .modules
            .first()
            .map(|module| module.manual.as_bytes())
            .unwrap_or_default();
        Outcome {
            count: u64::from(manual.first() == manual.last()),
            distinct: 1,
        }
    }

    /// The ids Q1 looks up.
    pub fn random_part_ids(&self) -> Vec<i64> {
        let mut random = Random::new(self.seed);
        (0..Q1_LOOKUPS)
            .map(|_| position_to_id(random.position(self.scale.atomics())))
            .collect()
    }

    /// The ids of the composite parts whose documents Q4 looks up by title.
    pub fn random_document_ids(&self) -> Vec<usize> {
        let mut random = Random::new(self.seed);
        (0..Q4_LOOKUPS)
            .map(|_| random.position(self.scale.composites()) + 1)
            .collect()
    }

    /// Q1: atomic parts by random id.
    pub fn query_ids(&self) -> Outcome {
        let ids = self.random_part_ids();
        Outcome {
            count: count(ids.len()),
            distinct: count(ids.iter().collect::<HashSet<_>>().len()),
        }
    }

    /// Q2 and Q3: atomic parts not older than `date`.
    pub fn query_dates(&self, date: i64) -> Outcome {
        let found = count(
            self.atomics
                .iter()
                .filter(|part| part.common.date >= date)
                .count(),
        );
        Outcome {
            count: found,
            distinct: found,
        }
    }

    /// Q4: uses of the composite parts of `documents`, as private parts.
    pub fn query_titles(&self, documents: &[usize]) -> Outcome {
        let uses: Vec<usize> = documents
            .iter()
            .filter_map(|id| self.composites.get(id - 1))
            .flat_map(|composite| composite.used_private.iter().copied())
            .collect();
        Outcome {
            count: count(uses.len()),
            distinct: distinct(&uses),
        }
    }

    /// Q5: pairs of a base assembly and a private use of a composite part younger than it; distinct are the
    /// assemblies.
    pub fn query_younger(&self) -> Outcome {
        let mut outcome = Outcome::default();
        for base in &self.bases {
            let younger = base
                .private
                .iter()
                .filter_map(|composite| self.composites.get(*composite))
                .filter(|composite| composite.common.date > base.common.date)
                .count();
            outcome.count += count(younger);
            outcome.distinct += u64::from(younger > 0);
        }
        outcome
    }

    /// Q6: assemblies, base or complex, that use a younger composite part, directly or through assemblies below.
    pub fn query_younger_below(&self) -> Outcome {
        let found = self
            .modules
            .iter()
            .map(|module| self.younger_below(module.root).1)
            .sum();
        Outcome {
            count: found,
            distinct: found,
        }
    }

    /// Q8: pairs of a document and an atomic part whose document id is its id.
    pub fn query_join(&self) -> Outcome {
        let last = count(self.composites.len()).cast_signed();
        let matched = self
            .atomics
            .iter()
            .filter(|part| (1..=last).contains(&part.document));
        let parts = count(matched.count());
        Outcome {
            count: parts,
            distinct: parts,
        }
    }

    /// The sums the database must agree with.
    pub fn state(&self) -> State {
        let mut state = State {
            objects: count(self.objects()),
            text: self
                .composites
                .iter()
                .map(|composite| count(composite.document.len()))
                .sum(),
            uses: self
                .bases
                .iter()
                .map(|base| count(base.private.len() + base.shared.len()))
                .sum(),
            uses_back: self
                .composites
                .iter()
                .map(|composite| count(composite.used_private.len() + composite.used_shared.len()))
                .sum(),
            ..State::default()
        };
        for (position, part) in self.atomics.iter().enumerate() {
            state.add(position_to_id(position), part.x, part.y, part.common.date);
        }
        state
    }

    /// The private composite parts of the first module's base assemblies, once a use, in the order of the tree.
    pub fn private_parts(&self) -> Vec<usize> {
        self.bases
            .iter()
            .filter(|base| base.module == 0)
            .flat_map(|base| base.private.iter().copied())
            .collect()
    }

    /// The atomic parts reachable from the root part of a composite part, depth first.
    fn reachable(&self, composite: usize) -> Vec<usize> {
        let Some(root) = self.composites.get(composite).map(|composite| composite.root) else {
            return Vec::new();
        };
        let mut seen = HashSet::from([root]);
        let mut stack = vec![root];
        let mut parts = Vec::new();
        while let Some(part) = stack.pop() {
            parts.push(part);
            for connection in self.connections.get(self.leaving(part)).unwrap_or_default() {
                if seen.insert(connection.to) {
                    stack.push(connection.to);
                }
            }
        }
        parts
    }

    /// The distinct atomic parts reachable in any of `composites`.
    fn reached_parts(&self, composites: &[usize]) -> Outcome {
        let composites: HashSet<usize> = composites.iter().copied().collect();
        let parts = composites
            .iter()
            .map(|composite| count(self.reachable(*composite).len()))
            .sum();
        Outcome {
            count: 0,
            distinct: parts,
        }
    }

    /// The youngest date of a composite part used below a complex assembly, and the assemblies below and including
    /// it that are older than the youngest they use.
    fn younger_below(&self, complex: usize) -> (i64, u64) {
        let Some(complex) = self.complexes.get(complex) else {
            return (i64::MIN, 0);
        };
        let mut youngest = i64::MIN;
        let mut found = 0;
        match &complex.children {
            Children::Complex(children) => {
                for child in children {
                    let (date, below) = self.younger_below(*child);
                    youngest = youngest.max(date);
                    found += below;
                }
            }
            Children::Base(children) => {
                for base in children.iter().filter_map(|child| self.bases.get(*child)) {
                    let parts = base.private.iter().filter_map(|part| self.composites.get(*part));
                    let date = parts.map(|part| part.common.date).max().unwrap_or(i64::MIN);
                    youngest = youngest.max(date);
                    found += u64::from(date > base.common.date);
                }
            }
        }
        (youngest, found + u64::from(youngest > complex.common.date))
    }
}

impl Atomic {
    /// Makes one change.
    fn apply(&mut self, change: Change) {
        match change {
            Change::Swap => std::mem::swap(&mut self.x, &mut self.y),
            Change::Toggle => self.common.date = toggled(self.common.date),
        }
    }
}

/// The build date after one toggle.
pub fn toggled(date: i64) -> i64 {
    if date % 2 == 0 { date - 1 } else { date + 1 }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn distinct(positions: &[usize]) -> u64 {
    count(positions.iter().collect::<HashSet<_>>().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::oo7::scale::Scale;

    /// The published counts of one scale at seed 1.
    struct Published {
        scale: &'static str,
        objects: usize,
        visits: u64,
        t4: u64,
        t5: u64,
        t7: u64,
        t8: u64,
        q2: u64,
        q3: u64,
        q4: u64,
        q4_ten: u64,
        inserted: usize,
    }

    fn agrees(published: &Published) {
        let mut design = Design::generate(Scale::parse(published.scale).unwrap(), 1);
        let before = design.state();
        assert_eq!(design.objects(), published.objects);
        traversals_agree(&mut design, published);
        queries_agree(&design, published);
        assert_eq!(design.insert(), published.inserted, "S1");
        assert_ne!(design.state(), before);
        assert_eq!(design.delete(), published.inserted, "S2");
        assert_eq!(design.state(), before, "S2 undoes S1");
    }

    fn traversals_agree(design: &mut Design, published: &Published) {
        let before = design.state();
        assert_eq!(design.traverse().count, published.visits, "T1");
        assert_eq!(design.change(Change::Swap, Extent::Root).count, 2_187, "T2a");
        assert_eq!(design.change(Change::Swap, Extent::Root).count, 2_187, "T2a");
        assert_eq!(
            design.change(Change::Swap, Extent::All).count,
            published.visits,
            "T2b"
        );
        assert_eq!(
            design.change(Change::Swap, Extent::All).count,
            published.visits,
            "T2b"
        );
        assert_eq!(
            design.change(Change::Swap, Extent::AllRepeated).count,
            4 * published.visits,
            "T2c"
        );
        assert_eq!(
            design.change(Change::Toggle, Extent::AllRepeated).count,
            4 * published.visits,
            "T3c"
        );
        assert_eq!(
            design.state(),
            before,
            "every change was made an even number of times"
        );
        assert_eq!(design.count_in_documents().count, published.t4, "T4");
        assert_eq!(
            design.replace_in_documents("I am", "This is").count,
            published.t5,
            "T5 do"
        );
        assert_eq!(
            design.replace_in_documents("This is", "I am").count,
            published.t5,
            "T5 undo"
        );
        assert_eq!(design.traverse_roots().count, 2_187, "T6");
        assert_eq!(design.traverse_up().count, published.t7, "T7");
        assert_eq!(design.count_in_manual().count, published.t8, "T8");
        assert_eq!(design.compare_manual_ends().count, 0, "T9");
    }

    fn queries_agree(design: &Design, published: &Published) {
        assert_eq!(design.query_ids().count, 10, "Q1");
        assert_eq!(design.query_dates(Q2_DATE).count, published.q2, "Q2");
        assert_eq!(design.query_dates(Q3_DATE).count, published.q3, "Q3");
        let documents = design.random_document_ids();
        assert_eq!(design.query_titles(&documents).count, published.q4, "Q4");
        assert_eq!(
            design.query_titles(&documents[..10]).count,
            published.q4_ten,
            "Q4, ten titles"
        );
        assert_eq!(
            design.query_younger(),
            Outcome {
                count: 233,
                distinct: 210
            },
            "Q5"
        );
        assert_eq!(design.query_younger_below().count, 490, "Q6");
        assert_eq!(design.query_join().count, count(design.scale.atomics()), "Q8");
    }

    #[test]
    fn tiny_gives_the_published_counts() {
        agrees(&Published {
            scale: "tiny",
            objects: 5_195,
            visits: 43_740,
            t4: 2_187,
            t5: 50,
            t7: 152,
            t8: 27,
            q2: 7,
            q3: 109,
            q4: 4_410,
            q4_ten: 445,
            inserted: 820,
        });
    }

    #[test]
    fn small_3_gives_the_published_counts() {
        agrees(&Published {
            scale: "small-3",
            objects: 42_095,
            visits: 43_740,
            t4: 83_106,
            t5: 495,
            t7: 19,
            t8: 2_632,
            q2: 101,
            q3: 1_002,
            q4: 472,
            q4_ten: 45,
            inserted: 820,
        });
    }

    #[test]
    fn medium_3_gives_the_published_counts() {
        let design = Design::generate(Scale::parse("medium-3").unwrap(), 1);
        assert_eq!(design.objects(), 402_095);
        assert_eq!(design.traverse().count, 437_400);
        assert_eq!(design.count_in_documents().count, 826_686);
        assert_eq!(design.traverse_up().count, 29);
        assert_eq!(design.count_in_manual().count, 26_316);
        assert_eq!(design.query_dates(Q2_DATE).count, 991);
        assert_eq!(design.query_dates(Q3_DATE).count, 9_830);
        assert_eq!(design.query_titles(&design.random_document_ids()).count, 472);
    }

    #[test]
    fn small_3_holds_the_published_values() {
        let mut design = Design::generate(Scale::parse("small-3").unwrap(), 1);
        assert_eq!(
            design.random_part_ids(),
            [9384, 887, 2778, 6916, 7794, 8336, 5387, 493, 6650, 1422]
        );
        assert_eq!(design.traverse().distinct, 9_900);
        assert_eq!(design.state().sum_x, 496_246_114);
        design.change(Change::Swap, Extent::All);
        assert_eq!(
            design.state().sum_x,
            499_856_253,
            "T2b changes only parts visited an odd number of times"
        );
    }

    #[test]
    fn all_objects_are_as_many_as_the_table_says() {
        for (scale, objects) in [("spin-tiny", 8_323), ("small-6", 72_095), ("small-9", 102_095)] {
            assert_eq!(
                Design::generate(Scale::parse(scale).unwrap(), 1).objects(),
                objects,
                "{scale}"
            );
        }
    }

    #[test]
    fn analytic_counts_hold_for_any_seed() {
        for seed in [0, 7, 4_000_000_000] {
            let mut design = Design::generate(Scale::parse("tiny").unwrap(), seed);
            let before = design.state();
            assert_eq!(design.traverse().count, 43_740, "seed {seed}");
            assert_eq!(design.query_join().count, 1_000, "seed {seed}");
            assert_eq!((design.insert(), design.delete()), (820, 820), "seed {seed}");
            assert_eq!(design.state(), before, "seed {seed}");
        }
    }
}

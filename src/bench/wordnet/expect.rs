//! What the circuit asks, answered on the plain graph.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::data::{Graph, Synset};
use crate::bench::outcome::Outcome;

impl Graph {
    /// All synsets below one, itself left out; those of one lexicographer's file only, if asked.
    pub fn below(&self, start: usize, file: Option<u8>) -> Outcome {
        let mut outcome = Outcome::default();
        for position in self.reached(start, Synset::below_as_vector) {
            let Some(synset) = self.synsets.get(position) else {
                continue;
            };
            if position != start && file.is_none_or(|file| synset.file == file) {
                outcome.add(&synset.gloss);
            }
        }
        outcome
    }

    /// The same, but entering only synsets of the lexicographer's file.
    pub fn below_within(&self, start: usize, file: u8) -> Outcome {
        let within = |synset: &Synset| {
            let below = synset.below();
            below
                .filter(|position| {
                    self.synsets
                        .get(*position)
                        .is_some_and(|synset| synset.file == file)
                })
                .collect()
        };
        let mut outcome = Outcome::default();
        for position in self.reached(start, within) {
            if let Some(synset) = self.synsets.get(position).filter(|_| position != start) {
                outcome.add(&synset.gloss);
            }
        }
        outcome
    }

    /// The synset above both that is the least number of steps from the two together, the lower offset among equals, and
    /// that number.
    pub fn common(&self, one: usize, other: usize) -> Outcome {
        let (from_one, from_other) = (self.distances(one), self.distances(other));
        let common = from_one.iter().filter_map(|(position, distance)| {
            let other = from_other.get(position)?;
            Some((distance + other, self.synsets.get(*position)?.offset))
        });
        let mut outcome = Outcome::default();
        if let Some((distance, offset)) = common.min() {
            outcome.add_in_order(&offset.to_string(), i64::from(distance));
        }
        outcome
    }

    /// The least number of steps from a synset up to another; nothing where none lead there.
    pub fn steps_up(&self, from: usize, to: usize) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(distance) = self.distances(from).get(&to) {
            outcome.add_in_order("", i64::from(*distance));
        }
        outcome
    }

    /// The glosses of a word's senses as one part of speech, in their order.
    pub fn glosses(&self, word: usize) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(word) = self.words.get(word) else {
            return outcome;
        };
        for synset in word.synsets.iter().filter_map(|synset| self.synsets.get(*synset)) {
            let forms = synset
                .forms
                .iter()
                .filter(|form| form.to_lowercase() == word.lemma);
            forms.for_each(|_| outcome.add_in_order(&synset.gloss, 0));
        }
        outcome
    }

    fn reached(&self, start: usize, next: impl Fn(&Synset) -> Vec<usize>) -> FxHashSet<usize> {
        let mut seen = FxHashSet::from_iter([start]);
        let mut waiting = vec![start];
        while let Some(synset) = waiting.pop().and_then(|position| self.synsets.get(position)) {
            waiting.extend(next(synset).into_iter().filter(|position| seen.insert(*position)));
        }
        seen
    }

    /// The synsets above one with the least number of steps to each, itself included.
    fn distances(&self, start: usize) -> FxHashMap<usize, u32> {
        let mut distances = FxHashMap::from_iter([(start, 0)]);
        let mut waiting = VecDeque::from([(start, 0)]);
        while let Some((position, distance)) = waiting.pop_front() {
            for above in self.synsets.get(position).into_iter().flat_map(Synset::above) {
                distances.entry(above).or_insert_with(|| {
                    waiting.push_back((above, distance + 1));
                    distance + 1
                });
            }
        }
        distances
    }
}

impl Synset {
    fn below_as_vector(&self) -> Vec<usize> {
        self.below().collect()
    }
}

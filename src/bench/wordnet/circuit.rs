//! The questions of the circuit, put to the database and to the plain graph.

use std::hint::black_box;

use super::classes::{self, Sense, Synset};
use super::data::Graph;
use super::load::{self, Stored};
use crate::bench::measure::{Circuit, Expected, Kind, Progress, Work};
use crate::bench::outcome::{Outcome, counted, expected, length, queried, work};
use crate::bench::random::Random;
use crate::bench::store::{self, Counting, Source, Store, ask};
use crate::error::{Error, Result};
use crate::object::Value;
use crate::{Oid, Ref, params};

/// Random words looked up.
const LOOKUPS: usize = 1_000;
/// Random pairs of nouns, and nouns alone, asked about.
const NOUNS: usize = 100;
/// The lexicographer's file of animals.
const ANIMALS: u8 = 5;

/// One question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Records by OID in random order.
    Read,
    /// All synsets with all their senses as typed objects.
    Materialize,
    /// The glosses of a thousand random words.
    Senses,
    /// Everything below the root.
    Hyponyms,
    /// The same by reverse steps over the hypernyms.
    Reverse,
    /// The animals below the root.
    Filtered,
    /// What is below the animal with the most below it, entering animals only.
    Within,
    /// What two nouns have in common.
    Common,
    /// The shortest path from a noun to the root.
    Path,
}

/// The circuit on one database.
#[derive(Debug)]
pub struct WordNet<'a> {
    store: Store,
    graph: &'a Graph,
    stored: Stored,
    shuffled: Vec<Oid>,
    /// Positions of the words looked up, of pairs of nouns, of the root, and of the animal.
    words: Vec<usize>,
    nouns: Vec<(usize, usize)>,
    root: usize,
    animal: usize,
}

impl<'a> WordNet<'a> {
    /// Stores the graph.
    pub fn load(mut store: Store, graph: &'a Graph, seed: u32, progress: &Progress) -> Result<WordNet<'a>> {
        classes::define(store.database()?)?;
        let stored = load::load(store.database()?, graph, progress)?;
        store.reopen()?;
        let classes = ["Synset", "Sense", "Word"];
        let shuffled = store::shuffled(&store.database()?.snapshot(), &classes, seed)?;
        let mut random = Random::new(seed);
        let words = (0..LOOKUPS).map(|_| random.position(graph.words.len())).collect();
        let nouns: Vec<usize> = positions(graph, |synset| synset.part == 'n');
        let mut noun = || {
            nouns
                .get(random.position(nouns.len()))
                .copied()
                .unwrap_or_default()
        };
        let nouns = (0..NOUNS).map(|_| (noun(), noun())).collect();
        let animals = positions(graph, |synset| {
            synset.file == ANIMALS && synset.below().next().is_some()
        });
        let animal = animals
            .into_iter()
            .max_by_key(|at| graph.below_within(*at, ANIMALS).count);
        let root = graph.root();
        Ok(WordNet {
            store,
            graph,
            stored,
            shuffled,
            words,
            nouns,
            root,
            animal: animal.unwrap_or(root),
        })
    }

    /// All objects loaded.
    pub fn objects(&self) -> u64 {
        length(self.graph.synsets.len() + self.graph.senses() + self.graph.words.len())
    }

    /// Bytes on the disk.
    pub fn disk(&self) -> u64 {
        self.store.disk()
    }

    fn read<S: Source>(&self, source: &S, operation: Operation) -> Result<Work> {
        match operation {
            Operation::Read => source.records(&self.shuffled),
            Operation::Materialize => materialize(source, &self.stored.synsets),
            Operation::Senses => self.senses(source),
            Operation::Hyponyms => {
                let text = "select s.gloss from s in $start.hyponyms{1,}";
                self.closure(source, text, self.root)
            }
            Operation::Reverse => {
                let text = "select s.gloss from s in $start.<Synset.hypernyms{1,}";
                self.closure(source, text, self.root)
            }
            Operation::Filtered => {
                let text =
                    "select s.gloss from s in $start.hyponyms{1,} where s.file = $file and s != $start";
                self.closure(source, text, self.root)
            }
            Operation::Within => {
                let text = "select s.gloss from s in $start.(hyponyms[where it.file = $file]){1,}";
                self.closure(source, text, self.animal)
            }
            Operation::Common => self.common(source),
            Operation::Path => self.paths(source),
        }
    }

    fn senses<S: Source>(&self, source: &S) -> Result<Work> {
        let text =
            "select s.synset.gloss from Word w, s in w.senses where w.lemma = $lemma and w.part = $part";
        let mut outcomes = Vec::with_capacity(self.words.len());
        for word in self.words.iter().filter_map(|word| self.graph.words.get(*word)) {
            let mut outcome = Outcome::default();
            let part = word.part.to_string();
            ask(
                source,
                text,
                params! { lemma: word.lemma.as_str(), part: part.as_str() },
                |row| {
                    outcome.add_in_order(row.first().and_then(Value::as_str).unwrap_or_default(), 0);
                },
            )?;
            outcomes.push(outcome);
        }
        Ok(queried(outcomes))
    }

    fn closure<S: Source>(&self, source: &S, text: &str, start: usize) -> Result<Work> {
        let mut outcome = Outcome::default();
        let parameters = params! { start: self.reference(start)?, file: i64::from(ANIMALS) };
        let rows = ask(source, text, parameters, |row| {
            outcome.add(row.first().and_then(Value::as_str).unwrap_or_default());
        })?;
        Ok(Work {
            rows,
            queries: 1,
            ..work(outcome, 0)
        })
    }

    fn common<S: Source>(&self, source: &S) -> Result<Work> {
        let text = "select x.offset, d + e from x in $one.hypernyms{0,} with depth d, \
                    y in $other.hypernyms{0,} with depth e where x = y order by d + e, x.offset limit 1";
        let mut outcomes = Vec::with_capacity(self.nouns.len());
        for (one, other) in &self.nouns {
            let mut outcome = Outcome::default();
            let parameters = params! { one: self.reference(*one)?, other: self.reference(*other)? };
            ask(source, text, parameters, |row| {
                if let [Value::Int(offset), Value::Int(distance)] = row {
                    outcome.add_in_order(&offset.to_string(), *distance);
                }
            })?;
            outcomes.push(outcome);
        }
        Ok(queried(outcomes))
    }

    /// Shortest paths to the root: each must begin and end where it should, and be as long as the model says.
    fn paths<S: Source>(&self, source: &S) -> Result<Work> {
        let text = "select p from x in $noun.hypernyms{0,} with path p where x = $root";
        let root = self.reference(self.root)?;
        let mut outcomes = Vec::with_capacity(self.nouns.len());
        for (noun, _) in &self.nouns {
            let mut outcome = Outcome::default();
            let noun = self.reference(*noun)?;
            ask(source, text, params! { noun: noun, root: root }, |row| {
                let [Value::List(path)] = row else { return };
                let ends = (path.first(), path.last());
                let right = (
                    Some(&Value::Reference(noun.oid())),
                    Some(&Value::Reference(root.oid())),
                );
                if ends == right {
                    outcome.add_in_order("", i64::try_from(path.len()).unwrap_or(0) - 1);
                }
            })?;
            outcomes.push(outcome);
        }
        Ok(queried(outcomes))
    }

    fn reference(&self, position: usize) -> Result<Ref<Synset>> {
        let found = self.stored.synsets.get(position).copied();
        found.ok_or_else(|| Error::Argument("the files of WordNet have no synsets".into()))
    }
}

impl Circuit for WordNet<'_> {
    type Operation = Operation;

    fn groups(&self) -> Vec<Vec<Operation>> {
        use Operation::*;
        [
            Read,
            Materialize,
            Senses,
            Hyponyms,
            Reverse,
            Filtered,
            Within,
            Common,
            Path,
        ]
        .map(|one| vec![one])
        .into()
    }

    fn name(&self, operation: Operation) -> &'static str {
        match operation {
            Operation::Read => "records by oid",
            Operation::Materialize => "whole synsets",
            Operation::Senses => "sense look-up",
            Operation::Hyponyms => "hyponyms",
            Operation::Reverse => "hyponyms, reverse",
            Operation::Filtered => "animals",
            Operation::Within => "animals within",
            Operation::Common => "common hypernym",
            Operation::Path => "path to the root",
        }
    }

    fn kind(&self, operation: Operation) -> Kind {
        match operation {
            Operation::Read => Kind::Read,
            Operation::Materialize => Kind::Materialize,
            _ => Kind::Query,
        }
    }

    fn reopen(&mut self) -> Result<()> {
        self.store.reopen()
    }

    fn prepare(&mut self, _: Operation, _: u32) {}

    fn run(&mut self, operation: Operation, _: u32) -> Result<Work> {
        self.read(&self.store.database()?.snapshot(), operation)
    }

    fn expect(&mut self, operation: Operation, _: u32) -> Expected {
        let graph = self.graph;
        match operation {
            Operation::Read => counted(self.shuffled.len()),
            Operation::Materialize => counted(graph.synsets.len() + graph.senses()),
            Operation::Senses => expected(self.words.iter().map(|word| graph.glosses(*word))),
            Operation::Hyponyms | Operation::Reverse => expected([graph.below(self.root, None)]),
            Operation::Filtered => expected([graph.below(self.root, Some(ANIMALS))]),
            Operation::Within => expected([graph.below_within(self.animal, ANIMALS)]),
            Operation::Common => expected(self.nouns.iter().map(|(one, other)| graph.common(*one, *other))),
            Operation::Path => expected(
                self.nouns
                    .iter()
                    .map(|(noun, _)| graph.steps_up(*noun, self.root)),
            ),
        }
    }

    fn compare_state(&mut self) -> Result<Option<String>> {
        Ok(None)
    }

    fn count_bytes(&mut self, operation: Operation, _: u32) -> Result<u64> {
        let counting = Counting::new(self.store.database()?.snapshot());
        self.read(&counting, operation)?;
        Ok(counting.bytes())
    }
}

/// Decodes every synset and every sense of it.
fn materialize<S: Source>(source: &S, synsets: &[Ref<Synset>]) -> Result<Work> {
    let mut work = Work::default();
    for synset in synsets {
        let synset = black_box(source.present(*synset)?);
        for sense in &synset.senses {
            black_box::<Sense>(source.present(*sense)?);
        }
        work.count += 1 + length(synset.senses.len());
    }
    work.objects = work.count;
    Ok(work)
}

fn positions(graph: &Graph, wanted: impl Fn(&super::data::Synset) -> bool) -> Vec<usize> {
    let synsets = graph.synsets.iter().enumerate();
    synsets
        .filter(|(_, synset)| wanted(synset))
        .map(|(position, _)| position)
        .collect()
}

//! The questions of the circuit, put to the database and to the plain graph.

use std::hint::black_box;

use rustc_hash::FxHashSet;

use super::classes::{self, Installed, Needed, Needing, Package, Wanted};
use super::data::{Graph, KINDS};
use super::expect::STRONG;
use super::load;
use crate::bench::measure::{Circuit, Expected, Kind, Progress, Work};
use crate::bench::outcome::{Outcome, counted, expected, length, queried, work};
use crate::bench::random::Random;
use crate::bench::store::{self, Counting, Source, Store, ask};
use crate::error::Result;
use crate::object::{Oid, Value};
use crate::{Ref, params};

/// Random names looked up.
const LOOKUPS: usize = 1_000;
/// The busiest tags and maintainers asked about.
const BUSIEST: usize = 10;
/// What is installed; of a graph without it, the package with the most relations.
const INSTALLED: &str = "gnome";

/// One question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Records by OID in random order.
    Read,
    /// All packages with all their relations as typed objects.
    Materialize,
    /// All packages that depend on the one with the most relations to it.
    Dependents,
    /// All packages installed with one.
    Install,
    /// The same, by one query: a closure over methods.
    Installable,
    /// For each kind of relation, the packages that state it about the hub, directly or through others: a closure in OQL.
    Closures,
    /// A thousand packages by name.
    ByName,
    /// The packages of each section by size.
    BySection,
    /// The packages of the ten most used tags by size.
    ByTag,
    /// The sources of the ten maintainers with the most packages.
    SourcesOf,
    /// Number and size of packages section by section.
    SectionSizes,
    /// Relations to names that no package has.
    Unresolved,
}

/// The circuit on one database.
#[derive(Debug)]
pub struct Debian<'a> {
    store: Store,
    graph: &'a Graph<'a>,
    /// References to the packages in the order of the graph.
    packages: Vec<Ref<Package>>,
    shuffled: Vec<Oid>,
    /// Positions of the packages whose names are looked up.
    drawn: Vec<usize>,
    /// Positions of the package depended on, and of the one installed.
    hub: usize,
    installed: usize,
    tags: Vec<usize>,
    maintainers: Vec<usize>,
}

impl<'a> Debian<'a> {
    /// Stores the graph.
    pub fn load(
        mut store: Store,
        graph: &'a Graph<'a>,
        seed: u32,
        progress: &Progress,
    ) -> Result<Debian<'a>> {
        classes::define(store.database()?)?;
        let packages = load::load(store.database()?, graph, progress)?;
        store.reopen()?;
        let shuffled = store::shuffled(&store.database()?.snapshot(), &["Package", "Relation"], seed)?;
        let mut random = Random::new(seed);
        let drawn = (0..LOOKUPS)
            .map(|_| random.position(graph.packages.len()))
            .collect();
        let tags = graph
            .packages
            .iter()
            .flat_map(|package| package.tags.iter().copied());
        let maintainers = graph.packages.iter().map(|package| package.maintainer);
        Ok(Debian {
            store,
            graph,
            packages,
            shuffled,
            drawn,
            hub: graph.hub(),
            installed: graph
                .named
                .get(INSTALLED)
                .copied()
                .unwrap_or_else(|| graph.neediest()),
            tags: busiest(tags, graph.tags.len()),
            maintainers: busiest(maintainers, graph.maintainers.len()),
        })
    }

    /// All objects loaded.
    pub fn objects(&self) -> u64 {
        let counts = self.graph.counts();
        counts.packages
            + counts.relations
            + counts.provided
            + counts.sections
            + counts.tags
            + counts.maintainers
            + counts.sources
    }

    /// Bytes on the disk.
    pub fn disk(&self) -> u64 {
        self.store.disk()
    }

    fn read<S: Source>(&self, source: &S, operation: Operation) -> Result<Work> {
        match operation {
            Operation::Read => source.records(&self.shuffled),
            Operation::Materialize => materialize(source, &self.packages),
            Operation::Dependents => match self.packages.get(self.hub) {
                Some(package) => dependents(source, *package),
                None => Ok(Work::default()),
            },
            Operation::Install => match self.packages.get(self.installed) {
                Some(package) => install(source, *package),
                None => Ok(Work::default()),
            },
            Operation::Installable => match self.packages.get(self.installed) {
                Some(package) => installable(source, *package),
                None => Ok(Work::default()),
            },
            Operation::Closures => match self.packages.get(self.hub) {
                Some(package) => closures(source, *package),
                None => Ok(Work::default()),
            },
            Operation::ByName => self.by_name(source),
            Operation::BySection => by_size(source, "Section", &self.graph.sections),
            Operation::ByTag => by_size(source, "Tag", &pick(&self.graph.tags, &self.tags)),
            Operation::SourcesOf => sources_of(source, &pick(&self.graph.maintainers, &self.maintainers)),
            Operation::SectionSizes => section_sizes(source),
            Operation::Unresolved => unresolved(source),
        }
    }

    fn by_name<S: Source>(&self, source: &S) -> Result<Work> {
        let mut work = Work::default();
        for package in self
            .drawn
            .iter()
            .filter_map(|position| self.graph.packages.get(*position))
        {
            let text = "select p from Package p where p.name = $name";
            work.rows += ask(source, text, params! { name: package.name }, |row| {
                black_box(row);
            })?;
            work.queries += 1;
        }
        work.count = work.rows;
        Ok(work)
    }

    fn named_alike(&self, position: usize) -> u64 {
        let name = self.graph.packages.get(position).map(|package| package.name);
        let near = self
            .graph
            .packages
            .iter()
            .skip(position.saturating_sub(1))
            .take(3);
        near.map(|package| u64::from(Some(package.name) == name)).sum()
    }
}

impl Circuit for Debian<'_> {
    type Operation = Operation;

    fn groups(&self) -> Vec<Vec<Operation>> {
        use Operation::*;
        [
            Read,
            Dependents,
            Install,
            Materialize,
            Closures,
            Installable,
            ByName,
            BySection,
            ByTag,
            SourcesOf,
            SectionSizes,
            Unresolved,
        ]
        .map(|one| vec![one])
        .into()
    }

    fn name(&self, operation: Operation) -> &'static str {
        match operation {
            Operation::Read => "records by oid",
            Operation::Materialize => "whole packages",
            Operation::Dependents => "dependents",
            Operation::Install => "installation",
            Operation::Closures => "closures by kind",
            Operation::Installable => "installable set",
            Operation::ByName => "by name",
            Operation::BySection => "by section",
            Operation::ByTag => "by tag",
            Operation::SourcesOf => "sources",
            Operation::SectionSizes => "section sizes",
            Operation::Unresolved => "unresolved",
        }
    }

    fn kind(&self, operation: Operation) -> Kind {
        match operation {
            Operation::Read | Operation::Dependents | Operation::Install => Kind::Read,
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
            Operation::Materialize => counted(graph.packages.len() + graph.relations.len()),
            Operation::Dependents => expected([graph.dependents(self.hub)]),
            Operation::Install | Operation::Installable => expected([graph.installed_with(self.installed)]),
            Operation::Closures => expected([graph.closures(self.hub)]),
            Operation::ByName => Expected {
                count: self
                    .drawn
                    .iter()
                    .map(|position| self.named_alike(*position))
                    .sum(),
                ..Expected::default()
            },
            Operation::BySection => {
                expected((0..graph.sections.len()).map(|section| graph.by_section(section)))
            }
            Operation::ByTag => expected(self.tags.iter().map(|tag| graph.by_tag(*tag))),
            Operation::SourcesOf => expected(self.maintainers.iter().map(|one| graph.sources_of(*one))),
            Operation::SectionSizes => expected([graph.section_sizes()]),
            Operation::Unresolved => counted(
                graph
                    .relations
                    .iter()
                    .filter(|relation| relation.target.is_none())
                    .count(),
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

/// Decodes every package and every relation of it.
fn materialize<S: Source>(source: &S, packages: &[Ref<Package>]) -> Result<Work> {
    let mut work = Work::default();
    for package in packages {
        let package = black_box(source.present(*package)?);
        for relation in &package.relations {
            black_box(source.present(*relation)?);
        }
        work.count += 1 + length(package.relations.len());
    }
    work.objects = work.count;
    Ok(work)
}

/// The packages that depend on `start`, directly or through others: breadth or depth first makes no difference.
fn dependents<S: Source>(source: &S, start: Ref<Package>) -> Result<Work> {
    let mut outcome = Outcome::default();
    let mut objects = 0;
    let mut seen = FxHashSet::from_iter([start]);
    let mut waiting = vec![start];
    while let Some(package) = waiting.pop() {
        let needed = source.present(package.cast::<Needed>())?;
        objects += 1 + length(needed.targeted_by.len());
        if package != start {
            outcome.add(&needed.name);
        }
        for relation in needed.targeted_by {
            let needing = source.present(relation.cast::<Needing>())?;
            if is_strong(&needing.kind) && seen.insert(needing.package) {
                waiting.push(needing.package);
            }
        }
    }
    Ok(work(outcome, objects))
}

/// For each kind of relation, the packages from which the hub is reached by such relations, itself left out.
fn closures<S: Source>(source: &S, hub: Ref<Package>) -> Result<Work> {
    let text =
        "select p.name from p in $hub.(targeted_by[where it.kind = $kind].package){1,} where p != $hub";
    let mut outcome = Outcome::default();
    let (mut rows, mut queries) = (0, 0);
    for kind in KINDS {
        rows += ask(source, text, params! { hub: hub, kind: kind }, |row| {
            if let Some(name) = row.first().and_then(Value::as_str) {
                outcome.add(name);
            }
        })?;
        queries += 1;
    }
    Ok(Work {
        rows,
        queries,
        ..work(outcome, 0)
    })
}

/// What is installed with `start`, by one query.
fn installable<S: Source>(source: &S, start: Ref<Package>) -> Result<Work> {
    let text = "select p.name from p in $start.(relations[where it.answers()].chosen()){0,}";
    let mut outcome = Outcome::default();
    let rows = ask(source, text, params! { start: start }, |row| {
        if let Some(name) = row.first().and_then(Value::as_str) {
            outcome.add(name);
        }
    })?;
    Ok(Work {
        rows,
        queries: 1,
        ..work(outcome, 0)
    })
}

/// What is installed with `start`: for each group of alternatives the first that a package answers to, by its own
/// name or, failing that, as the first that provides it.
fn install<S: Source>(source: &S, start: Ref<Package>) -> Result<Work> {
    let mut outcome = Outcome::default();
    let mut objects = 0;
    let mut seen = FxHashSet::from_iter([start]);
    let mut waiting = vec![start];
    while let Some(package) = waiting.pop() {
        let package = source.present(package.cast::<Installed>())?;
        outcome.add(&package.name);
        let mut answered = None;
        for relation in package.relations {
            let wanted = source.present(relation.cast::<Wanted>())?;
            objects += 1;
            if !is_strong(&wanted.kind) || answered == Some(wanted.group) {
                continue;
            }
            let chosen = match wanted.target {
                Some(target) => Some(target),
                None => provider(source, &wanted.name)?,
            };
            if let Some(chosen) = chosen {
                answered = Some(wanted.group);
                if seen.insert(chosen) {
                    waiting.push(chosen);
                }
            }
        }
    }
    let packages = outcome.count;
    Ok(work(outcome, objects + packages))
}

/// The first package, in the order they were stored, that provides a name.
fn provider<S: Source>(source: &S, name: &str) -> Result<Option<Ref<Package>>> {
    let text = "select p.package from Provision p where p.name = $name";
    Ok(store::references(source, text, params! { name: name })?
        .into_iter()
        .min())
}

/// The packages of each object of `class`, the largest first.
fn by_size<S: Source>(source: &S, class: &str, names: &[&str]) -> Result<Work> {
    let text = format!(
        "select p.name as name, p.installed as installed from {class} c, p in c.packages where c.name = $name \
         order by p.installed desc, p.name, p.version"
    );
    each(source, &text, names)
}

/// The sources of the packages of each maintainer.
fn sources_of<S: Source>(source: &S, names: &[&str]) -> Result<Work> {
    let text = "select distinct p.source.name as source from Maintainer m, p in m.packages where m.name = $name \
                order by p.source.name";
    each(source, text, names)
}

/// Runs a query once for each name, and checks its rows in their order.
fn each<S: Source>(source: &S, text: &str, names: &[&str]) -> Result<Work> {
    let mut outcomes = Vec::with_capacity(names.len());
    for name in names {
        let mut outcome = Outcome::default();
        ask(source, text, params! { name: *name }, |row| {
            outcome.add_in_order(string(row.first()), integer(row.get(1)));
        })?;
        outcomes.push(outcome);
    }
    Ok(queried(outcomes))
}

fn section_sizes<S: Source>(source: &S) -> Result<Work> {
    let text = "select p.section.name as section, count(*) as packages, sum(p.installed) as size from Package p \
                group by p.section.name order by p.section.name";
    let mut outcome = Outcome::default();
    ask(source, text, (), |row| {
        outcome.add_in_order(string(row.first()), integer(row.get(1)) + integer(row.get(2)));
    })?;
    Ok(queried([outcome]))
}

fn unresolved<S: Source>(source: &S) -> Result<Work> {
    let mut found = 0;
    let rows = ask(
        source,
        "select count(*) from Relation r where r.target is nil",
        (),
        |row| {
            found = integer(row.first());
        },
    )?;
    Ok(Work {
        count: found.cast_unsigned(),
        queries: 1,
        rows,
        ..Work::default()
    })
}

/// The positions used most often, the busiest first, the smaller position first among equals.
fn busiest(uses: impl Iterator<Item = usize>, positions: usize) -> Vec<usize> {
    let mut counts: Vec<(u64, usize)> = (0..positions).map(|position| (0, position)).collect();
    for used in uses {
        if let Some((count, _)) = counts.get_mut(used) {
            *count += 1;
        }
    }
    counts.sort_unstable_by_key(|(count, position)| (std::cmp::Reverse(*count), *position));
    counts
        .into_iter()
        .take(BUSIEST)
        .map(|(_, position)| position)
        .collect()
}

fn pick<'n>(names: &[&'n str], positions: &[usize]) -> Vec<&'n str> {
    positions
        .iter()
        .filter_map(|position| names.get(*position).copied())
        .collect()
}

fn is_strong(kind: &str) -> bool {
    KINDS.iter().take(STRONG).any(|strong| *strong == kind)
}

fn string(value: Option<&Value>) -> &str {
    match value {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

fn integer(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

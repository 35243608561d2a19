//! The frozen package graph, as `benches/data/make-debian.py` wrote it (the format is described there).

use std::io::Read;

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};

/// The file, part of the program so that the circuit runs anywhere.
const FILE: &[u8] = include_bytes!("../../../benches/data/debian-bookworm.txt.gz");
/// Its checksum, as the script printed it.
const CRC32C: u32 = 0x4f5b_b771;
/// More bytes than the text has.
const TEXT_LIMIT: u64 = 64 << 20;

/// The kinds of relations, in the order of their fields.
pub const KINDS: [&str; 8] = [
    "Pre-Depends",
    "Depends",
    "Recommends",
    "Suggests",
    "Enhances",
    "Breaks",
    "Conflicts",
    "Replaces",
];

/// What the script counted, by means of its own.
pub const COUNTS: Counts = Counts {
    packages: 63_441,
    maintainers: 2_094,
    sources: 34_170,
    sections: 58,
    tags: 598,
    tag_uses: 112_152,
    provided: 37_557,
    groups: 365_338,
    relations: 377_159,
    resolved: 317_075,
    versioned: 188_731,
    installed: 338_602_243,
};

/// The pinned counts of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Packages; four names have two versions.
    pub packages: u64,
    /// Different maintainers.
    pub maintainers: u64,
    /// Different source packages.
    pub sources: u64,
    /// Sections.
    pub sections: u64,
    /// Different tags.
    pub tags: u64,
    /// Tags of packages.
    pub tag_uses: u64,
    /// Names that packages provide beside their own.
    pub provided: u64,
    /// Groups of alternatives.
    pub groups: u64,
    /// Relations: each alternative of each group.
    pub relations: u64,
    /// Relations to a name that a package has.
    pub resolved: u64,
    /// Relations with a version.
    pub versioned: u64,
    /// The sum of all installed sizes, KiB.
    pub installed: i64,
}

/// A package.
#[derive(Debug, Clone)]
pub struct Package<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Position of its section.
    pub section: usize,
    /// `required`, `important`, `standard`, `optional` or `extra`.
    pub priority: &'a str,
    /// Installed size in KiB, if stated.
    pub installed: Option<i64>,
    /// Position of its maintainer.
    pub maintainer: usize,
    /// Position of its source.
    pub source: usize,
    /// Positions of its tags.
    pub tags: Vec<usize>,
    /// Names it provides, with the version of each if stated.
    pub provides: Vec<(&'a str, Option<&'a str>)>,
    /// Positions of its relations.
    pub relations: std::ops::Range<usize>,
}

/// One alternative of a relation of a package.
#[derive(Debug, Clone)]
pub struct Relation<'a> {
    /// Position of the package that states it.
    pub package: usize,
    /// Position in [`KINDS`].
    pub kind: usize,
    /// The number of its group among those of the package, from 0: alternatives share one.
    pub group: usize,
    /// The name it is about.
    pub name: &'a str,
    /// The architecture it names.
    pub architecture: Option<&'a str>,
    /// Operator and version.
    pub version: Option<(&'a str, &'a str)>,
    /// Position of the newest package of that name.
    pub target: Option<usize>,
}

/// The whole graph, borrowed from its text.
#[derive(Debug)]
pub struct Graph<'a> {
    /// The release, in words.
    pub release: &'a str,
    /// Names of maintainers.
    pub maintainers: Vec<&'a str>,
    /// Names of sections.
    pub sections: Vec<&'a str>,
    /// Names of tags.
    pub tags: Vec<&'a str>,
    /// Names of source packages.
    pub sources: Vec<&'a str>,
    /// Packages in order of name, then of version.
    pub packages: Vec<Package<'a>>,
    /// All relations, package by package.
    pub relations: Vec<Relation<'a>>,
    /// Position of the newest package of each name.
    pub named: FxHashMap<&'a str, usize>,
}

/// The text of the graph, unpacked.
///
/// # Errors
/// [`Error::Corruption`] if the embedded file is not the one whose checksum is pinned.
pub fn text() -> Result<String> {
    if crc32c::crc32c(FILE) != CRC32C {
        return Err(damaged("its checksum differs from the pinned one"));
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(FILE)
        .take(TEXT_LIMIT)
        .read_to_string(&mut text)
        .map_err(|error| damaged(&error.to_string()))?;
    Ok(text)
}

impl<'a> Graph<'a> {
    /// Reads the graph from its text.
    ///
    /// # Errors
    /// [`Error::Corruption`] for a line that is not of the form, and for counts that differ from the pinned ones.
    pub fn parse(text: &'a str) -> Result<Graph<'a>> {
        let graph = Reading::start(text)
            .and_then(Reading::graph)
            .ok_or_else(|| damaged("a line is not of the form"))?;
        if graph.counts() != COUNTS {
            return Err(damaged("its counts differ from the pinned ones"));
        }
        Ok(graph)
    }

    /// Keeps the first `packages` packages: relations to the others become relations to names that no package has.
    pub fn truncate(&mut self, packages: usize) {
        self.packages.truncate(packages);
        let relations = self.packages.last().map_or(0, |package| package.relations.end);
        self.relations.truncate(relations);
        self.named.retain(|_, position| *position < packages);
        for relation in &mut self.relations {
            relation.target = self.named.get(relation.name).copied();
        }
    }

    /// The counts of what was read.
    pub fn counts(&self) -> Counts {
        let packages = || self.packages.iter();
        let groups = packages().map(|package| {
            let last = self
                .relations
                .get(package.relations.clone())
                .and_then(|relations| relations.last());
            last.map_or(0, |relation| relation.group + 1)
        });
        Counts {
            packages: count(self.packages.len()),
            maintainers: count(self.maintainers.len()),
            sources: count(self.sources.len()),
            sections: count(self.sections.len()),
            tags: count(self.tags.len()),
            tag_uses: packages().map(|package| count(package.tags.len())).sum(),
            provided: packages().map(|package| count(package.provides.len())).sum(),
            groups: groups.map(count).sum(),
            relations: count(self.relations.len()),
            resolved: count(
                self.relations
                    .iter()
                    .filter(|relation| relation.target.is_some())
                    .count(),
            ),
            versioned: count(
                self.relations
                    .iter()
                    .filter(|relation| relation.version.is_some())
                    .count(),
            ),
            installed: packages().filter_map(|package| package.installed).sum(),
        }
    }
}

/// A graph half read; every step answers `None` where the text is not of the form.
struct Reading<'a> {
    lines: std::str::Lines<'a>,
    graph: Graph<'a>,
    sources: FxHashMap<&'a str, usize>,
}

impl<'a> Reading<'a> {
    fn start(text: &'a str) -> Option<Self> {
        let mut lines = text.lines();
        let release = lines.next()?.strip_prefix("olivine-debian 1\t")?;
        Some(Reading {
            lines,
            graph: Graph {
                release,
                maintainers: Vec::new(),
                sections: Vec::new(),
                tags: Vec::new(),
                sources: Vec::new(),
                packages: Vec::new(),
                relations: Vec::new(),
                named: FxHashMap::default(),
            },
            sources: FxHashMap::default(),
        })
    }

    fn graph(mut self) -> Option<Graph<'a>> {
        self.graph.maintainers = self.table("maintainers")?;
        self.graph.sections = self.table("sections")?;
        self.graph.tags = self.table("tags")?;
        for line in self.table("packages")? {
            self.package(line)?;
        }
        for relation in &mut self.graph.relations {
            relation.target = self.graph.named.get(relation.name).copied();
        }
        Some(self.graph)
    }

    fn table(&mut self, name: &str) -> Option<Vec<&'a str>> {
        let rows: usize = self.lines.next()?.strip_prefix(name)?.trim_start().parse().ok()?;
        let table: Vec<&str> = self.lines.by_ref().take(rows).collect();
        (table.len() == rows).then_some(table)
    }

    fn package(&mut self, line: &'a str) -> Option<()> {
        let position = self.graph.packages.len();
        let first = self.graph.relations.len();
        let mut fields = line.split('\t');
        let name = fields.next()?;
        let package = Package {
            name,
            version: fields.next()?,
            section: below(fields.next()?, self.graph.sections.len())?,
            priority: fields.next()?,
            installed: optional(fields.next()?).map(str::parse).transpose().ok()?,
            maintainer: below(fields.next()?, self.graph.maintainers.len())?,
            source: self.source(optional(fields.next()?).unwrap_or(name)),
            tags: fields
                .next()?
                .split_whitespace()
                .map(|tag| below(tag, self.graph.tags.len()))
                .collect::<Option<_>>()?,
            provides: members(fields.next()?, ',').map(provided).collect(),
            relations: first..first,
        };
        let mut group = 0;
        for (kind, field) in fields.enumerate() {
            for alternatives in members(field, ',') {
                for text in members(alternatives, '|') {
                    self.graph.relations.push(relation(text, position, kind, group));
                }
                group += 1;
            }
        }
        self.graph.named.insert(name, position);
        self.graph.packages.push(Package {
            relations: first..self.graph.relations.len(),
            ..package
        });
        Some(())
    }

    fn source(&mut self, name: &'a str) -> usize {
        let next = self.graph.sources.len();
        let source = *self.sources.entry(name).or_insert(next);
        if source == next {
            self.graph.sources.push(name);
        }
        source
    }
}

fn relation(text: &str, package: usize, kind: usize, group: usize) -> Relation<'_> {
    let (name, version) = match text.split_once(' ') {
        Some((name, constraint)) => {
            let digits = constraint
                .find(|character| !"<=>".contains(character))
                .unwrap_or(0);
            (name, constraint.split_at_checked(digits))
        }
        None => (text, None),
    };
    let (name, architecture) = match name.split_once(':') {
        Some((name, architecture)) => (name, Some(architecture)),
        None => (name, None),
    };
    Relation {
        package,
        kind,
        group,
        name,
        architecture,
        version,
        target: None,
    }
}

fn provided(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    }
}

fn members(field: &str, separator: char) -> impl Iterator<Item = &str> {
    field.split(separator).filter(|member| !member.is_empty())
}

fn optional(field: &str) -> Option<&str> {
    Some(field).filter(|field| !field.is_empty())
}

fn below(field: &str, bound: usize) -> Option<usize> {
    field.parse().ok().filter(|number| *number < bound)
}

fn damaged(what: &str) -> Error {
    Error::corruption("the package graph of Debian inside this program", what)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_graph_has_the_counts_of_the_script() {
        let text = text().unwrap();
        let graph = Graph::parse(&text).unwrap();
        assert_eq!(graph.counts(), COUNTS);
        let kinds: Vec<usize> = (0..KINDS.len())
            .map(|kind| {
                graph
                    .relations
                    .iter()
                    .filter(|relation| relation.kind == kind)
                    .count()
            })
            .collect();
        assert_eq!(
            kinds,
            [994, 286_197, 30_599, 28_143, 2_065, 11_397, 6_799, 10_965]
        );
    }

    #[test]
    fn a_relation_is_taken_apart() {
        let read = relation("python3:any >=3.9~", 7, 1, 2);
        assert_eq!(
            (read.name, read.architecture, read.version),
            ("python3", Some("any"), Some((">=", "3.9~")))
        );
        let read = relation("foo", 7, 1, 2);
        assert_eq!((read.name, read.architecture, read.version), ("foo", None, None));
        let read = relation("foo <<1:2", 7, 1, 2);
        assert_eq!((read.name, read.version), ("foo", Some(("<<", "1:2"))));
    }

    #[test]
    fn text_of_another_form_is_refused() {
        for text in [
            "",
            "olivine-debian 2\tx",
            "olivine-debian 1\tx\nmaintainers 2\na\n",
        ] {
            assert!(Graph::parse(text).is_err(), "{text:?}");
        }
    }
}

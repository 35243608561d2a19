//! What the circuit `debian` asks, answered on the plain graph.

use rustc_hash::{FxHashMap, FxHashSet};

use super::data::{Graph, KINDS, Package};
use crate::bench::outcome::Outcome;

/// Kinds below this position must hold for a package to be installed: `Pre-Depends` and `Depends`.
pub const STRONG: usize = 2;

impl Graph<'_> {
    /// The package with the most relations to it.
    pub fn hub(&self) -> usize {
        let mut uses: FxHashMap<usize, usize> = FxHashMap::default();
        for target in self.relations.iter().filter_map(|relation| relation.target) {
            *uses.entry(target).or_default() += 1;
        }
        uses.into_iter()
            .max_by_key(|(package, uses)| (*uses, *package))
            .map_or(0, |(package, _)| package)
    }

    /// All packages that depend on the package at `start`, directly or through others, itself left out.
    pub fn dependents(&self, start: usize) -> Outcome {
        self.reverse_closure(start, |kind| kind < STRONG)
    }

    /// For each kind of relation, the packages that state it about the package at `start`, directly or through others.
    pub fn closures(&self, start: usize) -> Outcome {
        let mut all = Outcome::default();
        for kind in 0..KINDS.len() {
            let one = self.reverse_closure(start, |other| other == kind);
            all.count += one.count;
            all.check = all.check.wrapping_add(one.check);
        }
        all
    }

    /// The packages from which that at `start` is reached by relations of the kinds wanted, itself left out.
    fn reverse_closure(&self, start: usize, wanted: impl Fn(usize) -> bool) -> Outcome {
        let mut users: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for relation in self.relations.iter().filter(|relation| wanted(relation.kind)) {
            if let Some(target) = relation.target {
                users.entry(target).or_default().push(relation.package);
            }
        }
        let mut seen = FxHashSet::from_iter([start]);
        let mut waiting = vec![start];
        let mut outcome = Outcome::default();
        while let Some(package) = waiting.pop() {
            for user in users.get(&package).map(Vec::as_slice).unwrap_or_default() {
                if seen.insert(*user) {
                    outcome.add(self.name(*user));
                    waiting.push(*user);
                }
            }
        }
        outcome
    }

    /// What is installed with the package at `start`: for each group of alternatives the first that a package
    /// answers to, by its own name or, failing that, by the first package that provides the name.
    pub fn installed_with(&self, start: usize) -> Outcome {
        let providers = self.providers();
        let mut seen = FxHashSet::from_iter([start]);
        let mut waiting = vec![start];
        let mut outcome = Outcome::default();
        while let Some(position) = waiting.pop() {
            outcome.add(self.name(position));
            let Some(package) = self.packages.get(position) else {
                continue;
            };
            let mut answered = None;
            for relation in self.relations.get(package.relations.clone()).unwrap_or_default() {
                if relation.kind >= STRONG || answered == Some(relation.group) {
                    continue;
                }
                let chosen = relation.target.or_else(|| providers.get(relation.name).copied());
                if let Some(chosen) = chosen {
                    answered = Some(relation.group);
                    if seen.insert(chosen) {
                        waiting.push(chosen);
                    }
                }
            }
        }
        outcome
    }

    /// The packages of a section by installed size, the largest first, then by name and version.
    pub fn by_section(&self, section: usize) -> Outcome {
        self.by_size(|package| package.section == section)
    }

    /// The packages with a tag, in the same order.
    pub fn by_tag(&self, tag: usize) -> Outcome {
        self.by_size(|package| package.tags.contains(&tag))
    }

    /// The sources of a maintainer's packages, by name, each once.
    pub fn sources_of(&self, maintainer: usize) -> Outcome {
        let packages = self
            .packages
            .iter()
            .filter(|package| package.maintainer == maintainer);
        let mut sources: Vec<&str> = packages
            .filter_map(|package| self.sources.get(package.source).copied())
            .collect();
        sources.sort_unstable();
        sources.dedup();
        let mut outcome = Outcome::default();
        for source in sources {
            outcome.add_in_order(source, 0);
        }
        outcome
    }

    /// Sections with packages by name, with the number of these and the sum of their sizes together.
    pub fn section_sizes(&self) -> Outcome {
        let mut sections: Vec<(&str, i64)> = self.sections.iter().map(|name| (*name, 0)).collect();
        for package in &self.packages {
            if let Some((_, sum)) = sections.get_mut(package.section) {
                *sum += package.installed.unwrap_or_default() + 1;
            }
        }
        sections.retain(|(_, sum)| *sum > 0);
        sections.sort_unstable();
        let mut outcome = Outcome::default();
        for (name, sum) in sections {
            outcome.add_in_order(name, sum);
        }
        outcome
    }

    /// The package with the most relations of its own.
    pub fn neediest(&self) -> usize {
        let relations = |package: &Package<'_>| package.relations.len();
        let packages = self.packages.iter().enumerate();
        packages
            .max_by_key(|(_, package)| relations(package))
            .map_or(0, |(position, _)| position)
    }

    /// The first package, in order of name and version, that provides each name.
    pub fn providers(&self) -> FxHashMap<&str, usize> {
        let mut providers = FxHashMap::default();
        for (position, package) in self.packages.iter().enumerate() {
            for (name, _) in &package.provides {
                providers.entry(*name).or_insert(position);
            }
        }
        providers
    }

    fn by_size(&self, wanted: impl Fn(&Package<'_>) -> bool) -> Outcome {
        let mut packages: Vec<&Package<'_>> =
            self.packages.iter().filter(|package| wanted(package)).collect();
        packages.sort_by_key(|package| {
            (
                std::cmp::Reverse(package.installed),
                package.name,
                package.version,
            )
        });
        let mut outcome = Outcome::default();
        for package in packages {
            outcome.add_in_order(package.name, package.installed.unwrap_or_default());
        }
        outcome
    }

    fn name(&self, package: usize) -> &str {
        self.packages
            .get(package)
            .map(|package| package.name)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::debian::data::text;

    #[test]
    fn the_questions_have_answers_worth_asking() {
        let text = text().unwrap();
        let graph = Graph::parse(&text).unwrap();
        let hub = graph.hub();
        assert_eq!(graph.packages[hub].name, "libc6");
        assert_eq!(graph.dependents(hub).count, 48_670);
        let desktop = graph.named["gnome"];
        assert_eq!(graph.installed_with(desktop).count, 1_139);
        assert_eq!(graph.section_sizes().count, 58);
        let sections: u64 = (0..graph.sections.len())
            .map(|section| graph.by_section(section).count)
            .sum();
        assert_eq!(sections, 63_441);
    }
}

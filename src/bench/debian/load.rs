//! Storing the package graph as objects.
//!
//! Packages refer to sections, tags, maintainers and sources, and to their relations, and all of these back to them.
//! So the four small classes are created first, then the packages with what they refer to there, then provisions and
//! relations, and last every list is entered.

use super::classes::{Maintainer, Package, Provision, Relation, Section, Source, Tag};
use super::data::{self, Graph, KINDS};
use crate::bench::measure::Progress;
use crate::error::{Error, Result};
use crate::{Database, Ref, Transaction};

/// Objects that one transaction stores.
const OBJECTS_PER_TRANSACTION: usize = 20_000;

/// References to what was stored, in the order of the graph, and the lists to enter.
#[derive(Debug, Default)]
struct Stored {
    sections: Lists<Section>,
    tags: Lists<Tag>,
    maintainers: Lists<Maintainer>,
    sources: Lists<Source>,
    packages: Vec<Ref<Package>>,
    provisions: Vec<Ref<Provision>>,
    relations: Vec<Ref<Relation>>,
}

/// Objects of one of the small classes, and the packages that belong to each.
#[derive(Debug)]
struct Lists<T> {
    objects: Vec<Ref<T>>,
    packages: Vec<Vec<Ref<Package>>>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists {
            objects: Vec::new(),
            packages: Vec::new(),
        }
    }
}

impl<T: serde::Serialize> Lists<T> {
    fn create(
        database: &Database,
        names: &[&str],
        make: fn(String, Vec<Ref<Package>>) -> T,
    ) -> Result<Lists<T>> {
        let mut objects = Vec::with_capacity(names.len());
        for run in names.chunks(OBJECTS_PER_TRANSACTION) {
            objects.extend(database.transact(|tx| {
                run.iter()
                    .map(|name| tx.insert(&make((*name).to_owned(), Vec::new())))
                    .collect::<Result<Vec<_>>>()
            })?);
        }
        let packages = names.iter().map(|_| Vec::new()).collect();
        Ok(Lists { objects, packages })
    }

    fn enter(
        &mut self,
        database: &Database,
        names: &[&str],
        make: fn(String, Vec<Ref<Package>>) -> T,
    ) -> Result<()> {
        let whole: Vec<(Ref<T>, T)> = self
            .objects
            .drain(..)
            .zip(names.iter().zip(self.packages.drain(..)))
            .map(|(reference, (name, packages))| (reference, make((*name).to_owned(), packages)))
            .collect();
        whole.chunks(OBJECTS_PER_TRANSACTION).try_for_each(|run| {
            database.transact(|tx| {
                run.iter()
                    .try_for_each(|(reference, object)| tx.update(*reference, object))
            })
        })
    }

    /// The object at `position`, which `package` now belongs to.
    fn join(&mut self, position: usize, package: Ref<Package>) {
        if let Some(packages) = self.packages.get_mut(position) {
            packages.push(package);
        }
    }
}

/// Stores the whole graph.
pub fn load(database: &Database, graph: &Graph<'_>, progress: &Progress) -> Result<Vec<Ref<Package>>> {
    progress.now("debian loading sections, tags, maintainers, sources")?;
    let mut stored = Stored {
        sections: Lists::create(database, &graph.sections, |name, packages| Section {
            name,
            packages,
        })?,
        tags: Lists::create(database, &graph.tags, |name, packages| Tag { name, packages })?,
        maintainers: Lists::create(database, &graph.maintainers, |name, packages| Maintainer {
            name,
            packages,
        })?,
        sources: Lists::create(database, &graph.sources, |name, packages| Source {
            name,
            packages,
        })?,
        ..Stored::default()
    };
    for run in graph.packages.chunks(OBJECTS_PER_TRANSACTION) {
        progress.now(format!("debian loading package {}", stored.packages.len()))?;
        let created = database.transact(|tx| {
            run.iter()
                .map(|model| tx.insert(&package(&stored, model)?))
                .collect::<Result<Vec<_>>>()
        })?;
        stored.packages.extend(created);
    }
    provisions(database, graph, &mut stored)?;
    for run in graph.relations.chunks(OBJECTS_PER_TRANSACTION) {
        progress.now(format!("debian loading relation {}", stored.relations.len()))?;
        let created = database.transact(|tx| {
            run.iter()
                .map(|model| tx.insert(&relation(&stored, model)?))
                .collect::<Result<Vec<_>>>()
        })?;
        stored.relations.extend(created);
    }
    enter(database, graph, &mut stored, progress)?;
    Ok(stored.packages)
}

/// Enters the lists of packages, and those of the small classes.
fn enter(database: &Database, graph: &Graph<'_>, stored: &mut Stored, progress: &Progress) -> Result<()> {
    progress.now("debian entering lists")?;
    let targeted = targeted(graph, &stored.relations);
    let mut provision = 0;
    for (first, run) in graph.packages.chunks(OBJECTS_PER_TRANSACTION).enumerate() {
        let first = first * OBJECTS_PER_TRANSACTION;
        let from = provision;
        database.transact(|tx| {
            provision = from;
            for (position, model) in run.iter().enumerate().map(|(at, model)| (first + at, model)) {
                let mut package = package(stored, model)?;
                let provisions = provision..provision + model.provides.len();
                provision = provisions.end;
                package.provides = slice(&stored.provisions, provisions);
                package.relations = slice(&stored.relations, model.relations.clone());
                package.targeted_by = targeted.get(position).cloned().unwrap_or_default();
                tx.update(*at(&stored.packages, position)?, &package)?;
            }
            Ok(())
        })?;
    }
    for (model, reference) in graph.packages.iter().zip(&stored.packages) {
        stored.sections.join(model.section, *reference);
        stored.maintainers.join(model.maintainer, *reference);
        stored.sources.join(model.source, *reference);
        model
            .tags
            .iter()
            .for_each(|tag| stored.tags.join(*tag, *reference));
    }
    stored
        .sections
        .enter(database, &graph.sections, |name, packages| Section {
            name,
            packages,
        })?;
    stored
        .tags
        .enter(database, &graph.tags, |name, packages| Tag { name, packages })?;
    stored
        .maintainers
        .enter(database, &graph.maintainers, |name, packages| Maintainer {
            name,
            packages,
        })?;
    stored
        .sources
        .enter(database, &graph.sources, |name, packages| Source {
            name,
            packages,
        })
}

/// The relations to each package.
fn targeted(graph: &Graph<'_>, relations: &[Ref<Relation>]) -> Vec<Vec<Ref<Relation>>> {
    let mut targeted: Vec<Vec<Ref<Relation>>> = graph.packages.iter().map(|_| Vec::new()).collect();
    for (model, reference) in graph.relations.iter().zip(relations) {
        if let Some(list) = model.target.and_then(|target| targeted.get_mut(target)) {
            list.push(*reference);
        }
    }
    targeted
}

fn provisions(database: &Database, graph: &Graph<'_>, stored: &mut Stored) -> Result<()> {
    let all: Vec<Provision> = graph
        .packages
        .iter()
        .zip(&stored.packages)
        .flat_map(|(model, package)| {
            model.provides.iter().map(|(name, version)| Provision {
                name: (*name).to_owned(),
                version: version.map(str::to_owned),
                package: *package,
            })
        })
        .collect();
    for run in all.chunks(OBJECTS_PER_TRANSACTION) {
        let insert = |tx: &mut Transaction| run.iter().map(|one| tx.insert(one)).collect::<Result<Vec<_>>>();
        stored.provisions.extend(database.transact(insert)?);
    }
    Ok(())
}

fn package(stored: &Stored, model: &data::Package<'_>) -> Result<Package> {
    Ok(Package {
        name: model.name.to_owned(),
        version: model.version.to_owned(),
        priority: model.priority.to_owned(),
        installed: model.installed,
        section: *at(&stored.sections.objects, model.section)?,
        maintainer: *at(&stored.maintainers.objects, model.maintainer)?,
        source: *at(&stored.sources.objects, model.source)?,
        tags: model
            .tags
            .iter()
            .map(|tag| at(&stored.tags.objects, *tag).copied())
            .collect::<Result<_>>()?,
        provides: Vec::new(),
        relations: Vec::new(),
        targeted_by: Vec::new(),
    })
}

fn relation(stored: &Stored, model: &data::Relation<'_>) -> Result<Relation> {
    Ok(Relation {
        package: *at(&stored.packages, model.package)?,
        kind: KINDS.get(model.kind).copied().unwrap_or_default().to_owned(),
        group: i64::try_from(model.group).unwrap_or(i64::MAX),
        name: model.name.to_owned(),
        architecture: model.architecture.map(str::to_owned),
        operator: model.version.map(|(operator, _)| operator.to_owned()),
        version: model.version.map(|(_, version)| version.to_owned()),
        target: model
            .target
            .map(|target| at(&stored.packages, target).copied())
            .transpose()?,
    })
}

fn slice<T: Copy>(all: &[T], range: std::ops::Range<usize>) -> Vec<T> {
    all.get(range).unwrap_or_default().to_vec()
}

fn at<T>(stored: &[T], position: usize) -> Result<&T> {
    stored.get(position).ok_or_else(|| {
        Error::NotFound(format!(
            "the package graph refers to position {position}, where nothing was stored"
        ))
    })
}

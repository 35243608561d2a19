//! The classes of the package graph as Rust types. Every reference has its counterpart in the other object.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::{Database, Ref};

/// A section of the archive.
#[derive(Debug, Serialize, Deserialize)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// The packages in it.
    pub packages: Vec<Ref<Package>>,
}

/// A tag, such as `interface::x11`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// The packages that have it.
    pub packages: Vec<Ref<Package>>,
}

/// Who maintains packages.
#[derive(Debug, Serialize, Deserialize)]
pub struct Maintainer {
    /// The name.
    pub name: String,
    /// Their packages.
    pub packages: Vec<Ref<Package>>,
}

/// A source package.
#[derive(Debug, Serialize, Deserialize)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The packages built from it.
    pub packages: Vec<Ref<Package>>,
}

/// A package.
#[derive(Debug, Serialize, Deserialize)]
pub struct Package {
    /// Its name; four names have two versions.
    pub name: String,
    /// Its version.
    pub version: String,
    /// From `required` to `optional`.
    pub priority: String,
    /// Installed size in KiB, if stated.
    pub installed: Option<i64>,
    /// Its section.
    pub section: Ref<Section>,
    /// Its maintainer.
    pub maintainer: Ref<Maintainer>,
    /// Its source.
    pub source: Ref<Source>,
    /// Its tags.
    pub tags: Vec<Ref<Tag>>,
    /// The names it provides beside its own.
    pub provides: Vec<Ref<Provision>>,
    /// What it states about other packages.
    pub relations: Vec<Ref<Relation>>,
    /// What other packages state about it.
    pub targeted_by: Vec<Ref<Relation>>,
}

/// A name that a package provides beside its own.
#[derive(Debug, Serialize, Deserialize)]
pub struct Provision {
    /// The name.
    pub name: String,
    /// The version it is provided in, if stated.
    pub version: Option<String>,
    /// The package.
    pub package: Ref<Package>,
}

/// What a package states about another: one alternative of a dependency, recommendation, conflict and so on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Relation {
    /// The package that states it.
    pub package: Ref<Package>,
    /// `Depends`, `Recommends` and so on.
    pub kind: String,
    /// Alternatives of one group are of one number, from 0 in each package.
    pub group: i64,
    /// The name it is about.
    pub name: String,
    /// The architecture it names.
    pub architecture: Option<String>,
    /// How the version must compare, with a version.
    pub operator: Option<String>,
    /// The version compared with.
    pub version: Option<String>,
    /// The newest package of that name; nil if there is none, or the name is only provided.
    pub target: Option<Ref<Package>>,
}

/// What the walk to dependents decodes of a package.
#[derive(Debug, Deserialize)]
#[serde(rename = "Package")]
pub struct Needed {
    /// See [`Package::name`].
    pub name: String,
    /// See [`Package::targeted_by`].
    pub targeted_by: Vec<Ref<Relation>>,
}

/// What the walk to dependents decodes of a relation.
#[derive(Debug, Deserialize)]
#[serde(rename = "Relation")]
pub struct Needing {
    /// See [`Relation::package`].
    pub package: Ref<Package>,
    /// See [`Relation::kind`].
    pub kind: String,
}

/// What an installation decodes of a package.
#[derive(Debug, Deserialize)]
#[serde(rename = "Package")]
pub struct Installed {
    /// See [`Package::name`].
    pub name: String,
    /// See [`Package::relations`].
    pub relations: Vec<Ref<Relation>>,
}

/// What an installation decodes of a relation.
#[derive(Debug, Deserialize)]
#[serde(rename = "Relation")]
pub struct Wanted {
    /// See [`Relation::kind`].
    pub kind: String,
    /// See [`Relation::group`].
    pub group: i64,
    /// See [`Relation::name`].
    pub name: String,
    /// See [`Relation::target`].
    pub target: Option<Ref<Package>>,
}

/// The package that answers to a relation: the one of that name or, failing that, the first that provides it.
const CHOSEN: &str = "chosen(): Package as \
    target ?? (select v.package from Provision v where v.name = this.name order by oid(v.package) limit 1)";

/// Whether a relation is the first of its group of alternatives that a package answers to.
const ANSWERS: &str = "answers(): bool as kind in ('Pre-Depends', 'Depends') and this.chosen() is not nil and \
    not exists r in package.relations: r.group = this.group and oid(r) < oid(this) and r.chosen() is not nil";

/// Defines the classes, their indexes and methods.
pub fn define(database: &Database) -> Result<()> {
    database.define_all::<(Section, Tag, Maintainer, Source, Package, Provision, Relation)>()?;
    database.define::<Section>()?.unique("name")?;
    database.define::<Tag>()?.unique("name")?;
    database.define::<Maintainer>()?.unique("name")?;
    database.define::<Source>()?.unique("name")?;
    database.define::<Package>()?.index("name")?;
    database.define::<Provision>()?.index("name")?;
    database.define::<Relation>()?.method(CHOSEN)?.method(ANSWERS)?;
    Ok(())
}

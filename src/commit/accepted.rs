//! What was accepted but is not yet published: the groups between validation and their view.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::request::{IndexEntry, Request};
use crate::catalog::IndexId;
use crate::index::IndexKey;
use crate::object::{ClassId, CommitNumber, Oid};
use crate::read::Reader;
use crate::view::View;
use crate::write_set::{Write, WriteSet};

/// Commits of more objects are kept whole: asking each of the few there can be is cheaper than noting every object.
const LARGE: usize = 64;

/// Changes of the holders of one key, oldest first: object, whether it was added, by which commit.
type KeyChanges = SmallVec<[(Oid, bool, CommitNumber); 2]>;

/// Heads and unique keys of accepted, unpublished commits.
#[derive(Debug, Default)]
pub struct Accepted {
    /// Of commits with few objects.
    heads: FxHashMap<Oid, CommitNumber>,
    /// The commits with few objects, oldest first.
    small: VecDeque<(CommitNumber, Arc<WriteSet>)>,
    /// Those with many, oldest first.
    large: VecDeque<(CommitNumber, Arc<WriteSet>)>,
    keys: FxHashMap<(IndexId, IndexKey), KeyChanges>,
    /// The newest accepted commit, published or not.
    pub last: CommitNumber,
    /// Its time, microseconds since 1970 UTC.
    pub time: i64,
    /// The newest accepted commit that changed a class or an index.
    pub catalog_version: CommitNumber,
    /// The newest accepted commit that created or removed a named root.
    pub names_version: CommitNumber,
}

impl Accepted {
    /// Nothing accepted above a published view.
    pub fn new(published: &View) -> Self {
        Accepted {
            last: published.commit(),
            time: published.time(),
            catalog_version: published.catalog().version,
            ..Accepted::default()
        }
    }

    /// The accepted, unpublished commit that last wrote `oid`.
    pub fn head(&self, oid: Oid) -> Option<CommitNumber> {
        let wrote = |(_, writes): &&(CommitNumber, Arc<WriteSet>)| writes.get(oid).is_some();
        let large = self.large.iter().rev().find(wrote).map(|(number, _)| *number);
        self.heads.get(&oid).copied().max(large)
    }

    /// What the accepted, unpublished commit that last wrote `oid` made of it.
    pub fn write(&self, oid: Oid) -> Option<Write<'_>> {
        let number = self.head(oid)?;
        let written = |commits: &'_ VecDeque<(CommitNumber, Arc<WriteSet>)>| {
            commits.binary_search_by_key(&number, |(number, _)| *number).ok()
        };
        let (_, writes) = match written(&self.small) {
            Some(at) => self.small.get(at)?,
            None => self.large.get(written(&self.large)?)?,
        };
        writes.get(oid)
    }

    /// Whether an accepted, unpublished commit wrote an object of `class`.
    pub fn wrote_class(&self, class: ClassId) -> bool {
        let wrote = |(_, writes): &(CommitNumber, Arc<WriteSet>)| writes.of_class(class).next().is_some();
        self.heads.keys().any(|oid| oid.class() == class) || self.large.iter().any(wrote)
    }

    /// What accepted, unpublished commits did to the holders of a unique key, oldest first: object, and whether it
    /// was added.
    pub fn holders(&self, index: IndexId, key: &IndexKey) -> impl Iterator<Item = (Oid, bool)> + '_ {
        let changes = self.keys.get(&(index, key.clone()));
        changes
            .into_iter()
            .flatten()
            .map(|(oid, added, _)| (*oid, *added))
    }

    /// Takes in a request that was validated and numbered.
    pub fn accept(&mut self, number: CommitNumber, request: &Request, is_unique: &dyn Fn(IndexId) -> bool) {
        self.last = number;
        if request.writes.len() > LARGE {
            self.large.push_back((number, request.writes.clone()));
        } else {
            let heads = request.writes.iter().map(|(oid, _)| (oid, number));
            self.heads.extend(heads);
            self.small.push_back((number, request.writes.clone()));
        }
        for IndexEntry { change, .. } in request
            .entries
            .iter()
            .filter(|entry| is_unique(entry.change.index))
        {
            let entry = self.keys.entry((change.index, change.key.clone())).or_default();
            entry.push((change.oid, change.added, number));
        }
    }

    /// Forgets a request that is now published under `number`.
    pub fn publish(&mut self, number: CommitNumber, request: &Request) {
        if request.writes.len() > LARGE {
            self.large.retain(|(large, _)| *large != number);
        } else {
            if let Ok(at) = self.small.binary_search_by_key(&number, |(number, _)| *number) {
                self.small.remove(at);
            }
            for (oid, _) in request.writes.iter() {
                if self.heads.get(&oid) == Some(&number) {
                    self.heads.remove(&oid);
                }
            }
        }
        if self.keys.is_empty() {
            return;
        }
        for IndexEntry { change, .. } in &request.entries {
            let key = (change.index, change.key.clone());
            if let Some(changes) = self.keys.get_mut(&key) {
                changes.retain(|(_, _, commit)| *commit != number);
                if changes.is_empty() {
                    self.keys.remove(&key);
                }
            }
        }
    }
}

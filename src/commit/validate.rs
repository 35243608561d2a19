//! Whether a request may commit, given everything accepted before it.

use parking_lot::RwLock;
use smallvec::SmallVec;

use super::accepted::Accepted;
use super::footprint::Change;
use super::merge::{Merged, merge_bodies, merged_request};
use super::read_check::{Overtaken, ReadCheck};
use super::recent::Recent;
use super::request::{IndexEntry, Request};
use crate::catalog::{Index, IndexKind, SystemClass, duplicate_value};
use crate::error::{Conflict, Error, Result};
use crate::heap::Heap;
use crate::index::IndexKey;
use crate::object::codec::Body;
use crate::object::{CommitNumber, Oid};
use crate::read::{Reader, has_objects};
use crate::view::{View, is_hashed};
use crate::write_set::Write;

/// What a request is validated against.
pub struct State<'a> {
    /// The heads of published objects.
    pub heap: &'a Heap,
    /// The newest published view.
    pub view: &'a View,
    /// What is accepted above it.
    pub accepted: &'a Accepted,
    /// What accepted and recent commits changed.
    pub recent: &'a RwLock<Recent>,
}

impl State<'_> {
    /// Validates a request. What it read is known to hold through the commit `checked`. Where objects it updates were
    /// updated since its snapshot, and that can be brought together, the request to commit in its place is returned.
    ///
    /// # Errors
    /// [`Error::Conflict`] where an object it writes, something it read, or the schema it was bound to, changed since
    /// its snapshot;
    /// [`Error::Constraint`] where it would break a unique index.
    pub fn validate(&self, request: &Request, checked: CommitNumber) -> Result<Option<Request>> {
        let mut merged = None;
        if self.accepted.last > request.snapshot {
            self.check_catalog(request)?;
            self.check_names(request)?;
            self.check_new_indexes(request)?;
            let overtaken = self.check_heads(request)?;
            let is_overtaken = |oid: Oid| overtaken.iter().any(|merged| merged.oid == oid);
            self.check_reads(request, checked, &is_overtaken)?;
            if !overtaken.is_empty() {
                merged = Some(merged_request(request, &overtaken, self.view.secret())?);
            }
        }
        self.check_claims(merged.as_ref().unwrap_or(request))?;
        Ok(merged)
    }

    /// Whoever bound an older schema reruns. Names are no schema.
    fn check_catalog(&self, request: &Request) -> Result<()> {
        let name = SystemClass::Name.id();
        let binds = request.reads.is_some() || request.writes.iter().any(|(oid, _)| oid.class() != name);
        if binds && self.accepted.catalog_version > request.catalog_version {
            return Err(self.conflict_about("a change of the schema", self.accepted.catalog_version));
        }
        Ok(())
    }

    /// Two transactions that give one name each make an object of their own, so heads do not show the conflict.
    fn check_names(&self, request: &Request) -> Result<()> {
        if self.accepted.names_version > request.snapshot && names_roots(request) {
            return Err(self.conflict_about("the names of root objects", self.accepted.names_version));
        }
        Ok(())
    }

    /// An index that was ready from the start because its class was empty must still find it empty.
    fn check_new_indexes(&self, request: &Request) -> Result<()> {
        if request.catalog.version <= request.catalog_version {
            return Ok(());
        }
        let known = &self.view.catalog().indexes;
        for index in request
            .catalog
            .indexes
            .values()
            .filter(|index| index.ready && !known.contains_key(&index.id))
        {
            let Some(class) = request.catalog.classes.get(&index.class) else {
                continue;
            };
            for member in &class.family {
                if self.accepted.wrote_class(*member) || has_objects(self.view, *member) {
                    let about = format!("the extent of {}, which has to be empty", class.name);
                    return Err(self.conflict_about(&about, self.accepted.last));
                }
            }
        }
        Ok(())
    }

    /// Compares the heads of what is updated or deleted with the snapshot; the updates that can be made over newer heads
    /// are returned.
    fn check_heads(&self, request: &Request) -> Result<Vec<Merged>> {
        let mut faster: Option<CommitNumber> = None;
        let (mut objects, mut overtaken) = (Vec::new(), Vec::new());
        for (oid, write) in request.writes.iter() {
            if matches!(write, Write::Create(_)) {
                continue;
            }
            let Some(commit) = self.newer_head(oid, request.snapshot)? else {
                continue;
            };
            match self.merge(request, oid, write)? {
                Some(merged) => overtaken.push(merged),
                None => {
                    faster = faster.max(Some(commit));
                    objects.push(oid);
                }
            }
        }
        match faster {
            Some(commit) => Err(self.conflict_over(request, &objects, commit).into()),
            None => Ok(overtaken),
        }
    }

    /// The commit that changed an object since the snapshot. An object that has no head any more was deleted, and its
    /// tombstone forgotten: that is a change too, of which nothing but the class is known.
    fn newer_head(&self, oid: Oid, snapshot: CommitNumber) -> Result<Option<CommitNumber>> {
        let head = match self.accepted.head(oid) {
            Some(commit) => commit,
            None => match self.heap.head(oid)? {
                Some(head) => head.commit,
                None => return Ok(Some(self.recent.read().class(oid.class()).max(snapshot))),
            },
        };
        Ok((head > snapshot).then_some(head))
    }

    /// An update made over the head of its object, if that can be.
    fn merge(&self, request: &Request, oid: Oid, write: Write<'_>) -> Result<Option<Merged>> {
        let changes_schema = request.catalog.version > request.catalog_version;
        let Write::Update(own) = write else {
            return Ok(None);
        };
        if changes_schema || oid.class().is_system() {
            return Ok(None);
        }
        let head = match self.accepted.write(oid) {
            Some(write) => write.body().map(<[u8]>::to_vec),
            None => self.view.object(oid)?.map(|record| record.body.to_vec()),
        };
        let (Some(head), Some(base)) = (head, request.base.object(oid)?) else {
            return Ok(None);
        };
        let class = request.catalog.class_by_id(oid.class())?;
        let assigned = request.writes.assigned(oid);
        let body = merge_bodies(class, &base.body, own, assigned, &head)?;
        Ok(body.map(|body| Merged { oid, head, body }))
    }

    fn check_reads(
        &self,
        request: &Request,
        checked: CommitNumber,
        is_overtaken: &dyn Fn(Oid) -> bool,
    ) -> Result<()> {
        let Some(reads) = &request.reads else {
            return Ok(());
        };
        let check = ReadCheck {
            heap: self.heap,
            recent: self.recent,
            accepted: Some(self.accepted),
            base: &request.base,
            view: self.view,
            since: checked,
            through: self.accepted.last,
        };
        let compared_as_written = |oid: Oid| {
            let written = matches!(request.writes.get(oid), Some(Write::Update(_) | Write::Delete));
            written && !is_overtaken(oid)
        };
        match check.run(reads, &compared_as_written)? {
            Some(overtaken) => Err(self.overtaken(request, &overtaken)),
            None => Ok(()),
        }
    }

    /// The conflict of a request whose reads do not hold any more.
    pub fn overtaken(&self, request: &Request, overtaken: &Overtaken) -> Error {
        let catalog = &request.catalog;
        let class_name = |class| catalog.classes.get(&class).map_or("?", |class| &*class.name);
        let mut objects: Vec<Oid> = Vec::new();
        let mut about = "what was read".to_string();
        for change in &overtaken.changes {
            match change {
                Change::Object(oid) => objects.push(*oid),
                Change::Extent(oid) => {
                    about = format!("what was read of the extent of {}", class_name(oid.class()));
                    objects.push(*oid);
                }
                Change::Class(class) => {
                    about = format!("what was read of the extent of {}", class_name(*class))
                }
                Change::Index(index, oid) => {
                    let name = catalog.indexes.get(index).map_or("?", |index| &*index.name);
                    about = format!("what was read of the index {name}");
                    objects.extend(oid);
                }
            }
        }
        objects.sort_unstable();
        objects.dedup();
        let mut conflict = self.conflict_over(request, &objects, overtaken.commit);
        conflict.about = Some(about);
        conflict.into()
    }

    fn conflict_about(&self, about: &str, commit: CommitNumber) -> Error {
        let mut conflict = self.marked(Vec::new(), commit);
        conflict.about = Some(about.into());
        conflict.into()
    }

    /// A conflict with the time and label of the other commit, as far as they are remembered.
    fn marked(&self, objects: Vec<String>, commit: CommitNumber) -> Conflict {
        let mut conflict = Conflict::new(objects, commit.0);
        if let Some(mark) = self.recent.read().mark(commit) {
            conflict.time = mark.time;
            conflict.label = mark.label.map(|label| label.to_string());
        }
        conflict
    }

    fn conflict_over(&self, request: &Request, objects: &[Oid], commit: CommitNumber) -> Conflict {
        let named = || objects.iter().take(MAX_NAMED);
        let described = named().map(|oid| request.catalog.describe(*oid)).collect();
        let mut conflict = self.marked(described, commit);
        for oid in named() {
            self.add_differences(request, *oid, &mut conflict);
        }
        conflict.classes.sort_unstable();
        conflict.classes.dedup();
        conflict.attributes.sort_unstable();
        conflict.attributes.dedup();
        conflict
    }

    /// Names the attributes whose committed values differ from those the request started from. The request keeps no
    /// old bodies: what it left alone is what it started from.
    fn add_differences(&self, request: &Request, oid: Oid, conflict: &mut Conflict) {
        let Some(class) = request.catalog.classes.get(&oid.class()) else {
            return;
        };
        conflict.classes.push(class.name.to_string());
        let Ok(Some(committed)) = self.view.object(oid) else {
            return;
        };
        let Ok(before) = self.view.heap().get(oid, request.snapshot) else {
            return;
        };
        let Some(before) = before else { return };
        let (Ok(old), Ok(new)) = (Body::new(&before.body), Body::new(&committed.body)) else {
            return;
        };
        let slots = |slot: usize| (old.slot(slot).ok(), new.slot(slot).ok());
        let differing = class.attributes.iter().filter(|attribute| {
            let (old, new) = slots(attribute.slot);
            old != new
        });
        let named = differing.map(|attribute| format!("{}.{}", class.name, attribute.name));
        conflict.attributes.extend(named);
    }

    fn check_claims(&self, request: &Request) -> Result<()> {
        for IndexEntry { change, .. } in request.entries.iter().filter(|entry| entry.claim) {
            let Some(index) = request.catalog.indexes.get(&change.index) else {
                continue;
            };
            if let Some(holder) = self.other_holder(request, index, &change.key, change.oid)? {
                return Err(duplicate_value(&request.catalog, index, change.oid, holder));
            }
        }
        Ok(())
    }

    /// Another object that would hold the key of a unique index after this request.
    fn other_holder(
        &self,
        request: &Request,
        index: &Index,
        key: &IndexKey,
        oid: Oid,
    ) -> Result<Option<Oid>> {
        let mut holders: SmallVec<[Oid; 4]> = SmallVec::new();
        // One that is being built checks what came before it was in place itself.
        if self.view.catalog().indexes.contains_key(&index.id) && self.view.has_index(index.id) {
            holders = self.view.holders(index.id, key)?;
        }
        for (changed, added) in self.accepted.holders(index.id, key) {
            change_holders(&mut holders, changed, added);
        }
        for entry in own_changes(request, index, key) {
            change_holders(&mut holders, entry.change.oid, entry.change.added);
        }
        for holder in holders.into_iter().filter(|holder| *holder != oid) {
            if !is_hashed(index) || self.same_value(request, index, oid, holder)? {
                return Ok(Some(holder));
            }
        }
        Ok(None)
    }

    /// Whether two objects whose keys hash alike really have the same value.
    ///
    /// A holder that is accepted but not yet published cannot be read here. It is taken to have the value: its key of
    /// 128 bits, hashed with a secret of this database, is the same.
    fn same_value(&self, request: &Request, index: &Index, oid: Oid, holder: Oid) -> Result<bool> {
        if request.writes.get(holder).is_none() && self.accepted.head(holder).is_some() {
            return Ok(true);
        }
        let unhashed = Index {
            kind: IndexKind::Ordered,
            ..index.clone()
        };
        let keys = |oid: Oid| -> Result<_> {
            let class = request.catalog.class_by_id(oid.class())?;
            match request.writes.get(oid).map(Write::body) {
                Some(Some(body)) => crate::catalog::index_keys(&unhashed, &class.layout, body, [0; 16]),
                Some(None) => Ok(SmallVec::new()),
                None => match self.view.object(oid)? {
                    Some(record) => {
                        crate::catalog::index_keys(&unhashed, &class.layout, &record.body, [0; 16])
                    }
                    None => Ok(SmallVec::new()),
                },
            }
        };
        let (own, other) = (keys(oid)?, keys(holder)?);
        Ok(own
            .iter()
            .any(|(key, _)| other.iter().any(|(theirs, _)| theirs == key)))
    }
}

/// What the request itself does to a key; its entries are sorted by index and key.
fn own_changes<'a>(request: &'a Request, index: &Index, key: &'a IndexKey) -> &'a [IndexEntry] {
    let order = |entry: &IndexEntry| (entry.change.index, &entry.change.key).cmp(&(index.id, key));
    let start = request.entries.partition_point(|entry| order(entry).is_lt());
    let rest = request.entries.get(start..).unwrap_or_default();
    rest.get(..rest.partition_point(|entry| order(entry).is_eq()))
        .unwrap_or_default()
}

/// Whether the request creates or removes a named root.
pub fn names_roots(request: &Request) -> bool {
    request
        .writes
        .of_class(SystemClass::Name.id())
        .any(|(_, write)| !matches!(write, Write::Update(_)))
}

fn change_holders(holders: &mut SmallVec<[Oid; 4]>, oid: Oid, added: bool) {
    holders.retain(|holder| *holder != oid);
    if added {
        holders.push(oid);
    }
}

/// How many objects a conflict names at most.
const MAX_NAMED: usize = 10;

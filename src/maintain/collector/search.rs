//! One collection: a state machine that takes small steps, so that it can be slowed down, stopped, and taken up again.

use std::time::Duration;

use roaring::RoaringTreemap;

use super::components::Components;
use super::frontier::Frontier;
use super::options::CollectOptions;
use super::report::{ClassGarbage, CollectReport, RootReach};
use crate::catalog::{Catalog, SystemClass};
use crate::error::Result;
use crate::instance::{Instance, Pace};
use crate::object::codec::references_in_slots;
use crate::object::{ClassId, CommitNumber, MAX_SERIAL, Oid, Record};
use crate::read::{ExtentPosition, Reader, members};
use crate::view::View;

/// Objects read or deleted in one step.
const BATCH: usize = 1024;
/// Objects of garbage that a report names for each class.
const SAMPLES: usize = 5;

/// A collection under way.
#[derive(Debug)]
pub struct Collection {
    options: CollectOptions,
    pace: Pace,
    stage: Stage,
    /// What is written after this commit stays.
    since: CommitNumber,
    /// The schema it began with; with another it begins anew.
    schema: CommitNumber,
    /// The dependent classes.
    dependents: Vec<ClassId>,
    /// The classes whose objects are roots.
    sources: Vec<ClassId>,
    reached: RoaringTreemap,
    frontier: Frontier,
    garbage: RoaringTreemap,
    components: Components,
    report: CollectReport,
    /// Whether the last step failed: what it left half done is not gone on with.
    failed: bool,
}

/// What is being done; a position within an extent where one is read.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Reading roots, and what they reach: the source being read.
    Reach(usize, ExtentPosition),
    /// Looking for what was not reached: the dependent class being read.
    Sweep(usize, ExtentPosition),
    /// Putting garbage in order: the first object that was not started at.
    Order(u64),
    Delete,
    Done,
}

/// Where a step leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// There is more to do, after this pause.
    Later(Duration),
    /// All is done.
    End,
}

/// What came of an attempt to delete some garbage.
#[derive(Debug)]
pub enum Deletion {
    /// All of it is gone.
    Done,
    /// Nothing was deleted, because these were written since.
    Written(Vec<Oid>),
    /// Nothing was deleted, because the schema changed, or other transactions were faster again and again.
    Again,
}

/// Deletes objects, if none was written since the first commit given, and the schema is still that of the second.
pub type Delete<'a> = &'a mut dyn FnMut(&[Oid], CommitNumber, CommitNumber) -> Result<Deletion>;

impl Collection {
    /// A collection that has everything before it.
    pub fn new(instance: &Instance, options: CollectOptions) -> Collection {
        let mut collection = Collection {
            pace: Pace::new(options.budget),
            options,
            stage: Stage::Done,
            since: CommitNumber::default(),
            schema: CommitNumber::default(),
            dependents: Vec::new(),
            sources: Vec::new(),
            reached: RoaringTreemap::new(),
            frontier: Frontier::default(),
            garbage: RoaringTreemap::new(),
            components: Components::default(),
            report: CollectReport::default(),
            failed: false,
        };
        collection.restart(&instance.pipeline().view());
        collection
    }

    /// What was found and done so far.
    pub fn report(&self) -> &CollectReport {
        &self.report
    }

    /// What is being done, in a few words, with how much of it is done and about how much there is.
    pub fn progress(&self) -> (&'static str, u64, u64) {
        match self.stage {
            Stage::Reach(..) => ("looking for what is reachable", self.report.objects_read, 0),
            Stage::Sweep(..) => ("looking for garbage", self.report.objects(), 0),
            Stage::Order(_) => ("ordering garbage", 0, self.garbage.len()),
            Stage::Delete | Stage::Done => ("deleting garbage", self.report.deleted, self.report.garbage),
        }
    }

    /// Forgets what was found, but not what was done, and begins at the newest state.
    fn restart(&mut self, view: &View) {
        let catalog = view.catalog();
        self.since = view.commit();
        self.schema = catalog.version;
        self.dependents = catalog.dependent_classes();
        let independent = |class: &&ClassId| !catalog.is_dependent(**class);
        self.sources = catalog.holders.keys().filter(independent).copied().collect();
        self.sources
            .sort_unstable_by_key(|class| (*class != SystemClass::Name.id(), *class));
        self.reached.clear();
        self.garbage.clear();
        self.frontier = Frontier::default();
        self.components = Components::default();
        let class = |id: &ClassId| ClassGarbage {
            class: class_name(catalog, *id),
            objects: 0,
            young: 0,
            garbage: 0,
            samples: Vec::new(),
        };
        self.report = CollectReport {
            dry_run: self.options.dry_run,
            classes: self.dependents.iter().map(class).collect(),
            deleted: self.report.deleted,
            garbage: self.report.deleted,
            objects_read: self.report.objects_read,
            ..CollectReport::default()
        };
        self.stage = match self.dependents.is_empty() {
            true => Stage::Done,
            false => Stage::Reach(0, ExtentPosition::default()),
        };
    }

    /// Does a little.
    ///
    /// # Errors
    /// [`Error::Corruption`](crate::Error::Corruption) where an object cannot be read, and those of `delete`. What is done
    /// stays done; the next step begins the search anew.
    pub fn step(&mut self, instance: &Instance, delete: Delete<'_>) -> Result<Until> {
        let view = instance.pipeline().view();
        if self.failed || view.catalog().version != self.schema {
            self.restart(&view);
        }
        self.failed = true;
        let work = match self.stage {
            Stage::Reach(source, position) => self.reach(&view, source, position)?,
            Stage::Sweep(class, position) => self.sweep(&view, class, position)?,
            Stage::Order(from) => self.order(&view, from)?,
            Stage::Delete => self.delete(&view, delete)?,
            Stage::Done => 0,
        };
        self.failed = false;
        Ok(match self.stage {
            Stage::Done => Until::End,
            _ => Until::Later(self.pace.wait_after(work)),
        })
    }

    /// Follows references of what was reached, or reads more roots where there are none left.
    fn reach(&mut self, view: &View, source: usize, mut position: ExtentPosition) -> Result<u64> {
        if let Some(read) = self.follow(view)? {
            return Ok(read);
        }
        let Some(class) = self.sources.get(source).copied() else {
            self.report.roots.retain(|root| root.reached > 0);
            self.stage = Stage::Sweep(0, ExtentPosition::default());
            return Ok(0);
        };
        let limit = match class == SystemClass::Name.id() {
            true => 1,
            false => BATCH,
        };
        let mut records = Vec::new();
        if view.catalog().is_live(class) {
            view.scan(class, &mut position, limit, &mut records)?;
        }
        let Some(first) = records.first() else {
            self.stage = Stage::Reach(source.saturating_add(1), ExtentPosition::default());
            return Ok(0);
        };
        self.name_root(view.catalog(), first.oid);
        self.read(view, &records)?;
        self.stage = Stage::Reach(source, position);
        Ok(records.len() as u64)
    }

    /// Follows the references of some objects that were reached; `None` where there are none left.
    fn follow(&mut self, view: &View) -> Result<Option<u64>> {
        let batch = self.frontier.take(BATCH);
        if batch.is_empty() {
            return Ok(None);
        }
        let mut records = Vec::new();
        view.gather(&batch, &mut records)?;
        let found: Vec<Record<'_>> = records.into_iter().flatten().collect();
        self.read(view, &found)?;
        Ok(Some(batch.len() as u64))
    }

    /// Counts what is reached from now on for the root that this object is, or is of.
    fn name_root(&mut self, catalog: &Catalog, object: Oid) {
        let root = if object.class() == SystemClass::Name.id() {
            let name = catalog.names.values().find(|name| name.object == object);
            name.map_or_else(|| "a name".into(), |name| format!("name {}", name.name).into())
        } else {
            class_name(catalog, object.class())
        };
        if self.report.roots.last().is_none_or(|last| last.root != root) {
            self.report.roots.push(RootReach { root, reached: 0 });
        }
    }

    /// Reaches what these objects refer to.
    fn read(&mut self, view: &View, records: &[Record<'_>]) -> Result<()> {
        self.report.objects_read = self.report.objects_read.saturating_add(records.len() as u64);
        let catalog = view.catalog();
        let mut targets = Vec::new();
        for record in records {
            references(view, record, &mut targets)?;
        }
        for target in targets {
            if !catalog.is_dependent(target.class()) || !self.reached.insert(target.to_bits()) {
                continue;
            }
            // What young objects reach is no root's.
            let counts = matches!(self.stage, Stage::Reach(..));
            if let Some(root) = self.report.roots.last_mut().filter(|_| counts) {
                root.reached = root.reached.saturating_add(1);
            }
            if catalog.holders.contains_key(&target.class()) {
                self.frontier.add(target);
            }
        }
        Ok(())
    }

    /// Looks at the dependent objects themselves. Those written since the search began stay, with all that they reach.
    fn sweep(&mut self, view: &View, number: usize, mut position: ExtentPosition) -> Result<u64> {
        if let Some(read) = self.follow(view)? {
            return Ok(read);
        }
        let Some(class) = self.dependents.get(number).copied() else {
            self.end_sweep();
            return Ok(0);
        };
        let mut records = Vec::new();
        if view.catalog().is_live(class) {
            view.scan(class, &mut position, BATCH, &mut records)?;
        }
        self.stage = match records.is_empty() {
            true => Stage::Sweep(number.saturating_add(1), ExtentPosition::default()),
            false => Stage::Sweep(number, position),
        };
        let Some(found) = self.report.classes.get_mut(number) else {
            return Ok(0);
        };
        found.objects = found.objects.saturating_add(records.len() as u64);
        for record in &records {
            if self.reached.contains(record.oid.to_bits()) {
                continue;
            }
            if record.commit > self.since {
                found.young = found.young.saturating_add(1);
                self.reached.insert(record.oid.to_bits());
                self.frontier.add(record.oid);
                continue;
            }
            self.garbage.insert(record.oid.to_bits());
        }
        Ok(records.len() as u64)
    }

    fn end_sweep(&mut self) {
        self.garbage -= &self.reached;
        let classes = self.dependents.iter().zip(&mut self.report.classes);
        for (class, found) in classes {
            let (Some(first), Some(last)) = (Oid::new(*class, 1), Oid::new(*class, MAX_SERIAL)) else {
                continue;
            };
            let serials = first.to_bits()..=last.to_bits();
            found.garbage = self.garbage.range_cardinality(serials.clone());
            let mut garbage = self.garbage.iter();
            garbage.advance_to(*serials.start());
            let garbage = garbage.take_while(|bits| serials.contains(bits));
            found.samples = garbage.take(SAMPLES).filter_map(Oid::from_bits).collect();
        }
        self.report.garbage = self.report.deleted.saturating_add(self.garbage.len());
        self.stage = match self.options.dry_run {
            true => Stage::Done,
            false => Stage::Order(0),
        };
    }

    /// Goes on with the search for components, started at one object of garbage after the other.
    fn order(&mut self, view: &View, from: u64) -> Result<u64> {
        let garbage = &self.garbage;
        let mut targets = |object: Oid| -> Result<Vec<Oid>> {
            let mut targets = Vec::new();
            if view.catalog().holders.contains_key(&object.class())
                && let Some(record) = view.object(object)?
            {
                references(view, &record, &mut targets)?;
                targets.retain(|target| garbage.contains(target.to_bits()));
            }
            Ok(targets)
        };
        let mut left = garbage.iter();
        left.advance_to(from);
        for _ in 0..BATCH {
            if self.components.step(&mut targets)? {
                continue;
            }
            let Some(bits) = left.next() else {
                self.stage = Stage::Delete;
                break;
            };
            self.stage = Stage::Order(bits.saturating_add(1));
            if let Some(object) = Oid::from_bits(bits) {
                self.components.start(object, &mut targets)?;
            }
        }
        Ok(BATCH as u64 / 2)
    }

    fn delete(&mut self, view: &View, delete: Delete<'_>) -> Result<u64> {
        let mut batch = self.components.take(BATCH);
        if batch.is_empty() {
            self.report.spared = self.report.garbage.saturating_sub(self.report.deleted);
            self.stage = Stage::Done;
            return Ok(0);
        }
        loop {
            batch.retain(|object| !self.reached.contains(object.to_bits()));
            if batch.is_empty() {
                return Ok(0);
            }
            match delete(&batch, self.since, self.schema)? {
                Deletion::Done => break,
                Deletion::Written(objects) => self.spare(view, &objects)?,
                Deletion::Again => {
                    self.restart(view);
                    return Ok(0);
                }
            }
        }
        let deleted = batch.len() as u64;
        self.report.deleted = self.report.deleted.saturating_add(deleted);
        Ok(deleted)
    }

    /// Reaches objects that are in use again, and all that they reach.
    fn spare(&mut self, view: &View, objects: &[Oid]) -> Result<()> {
        for object in objects {
            self.reached.insert(object.to_bits());
            self.frontier.add(*object);
        }
        while self.follow(view)?.is_some() {}
        Ok(())
    }
}

/// Appends what an object refers to, where that may be of a dependent class; the members of a set that is read from an
/// index too.
fn references(view: &View, record: &Record<'_>, targets: &mut Vec<Oid>) -> Result<()> {
    let catalog = view.catalog();
    let Some(slots) = catalog.holders.get(&record.oid.class()) else {
        return Ok(());
    };
    let class = catalog.class_by_id(record.oid.class())?;
    references_in_slots(&class.layout, &record.body, slots, targets)?;
    if class.derives {
        for attribute in class.attributes.iter().filter(|own| own.is_derived()) {
            targets.extend(members(view, attribute, record.oid)?);
        }
    }
    Ok(())
}

fn class_name(catalog: &Catalog, class: ClassId) -> std::sync::Arc<str> {
    let known = catalog.live_class(class);
    known.map_or_else(|| format!("class {}", class.0).into(), |class| class.name.clone())
}

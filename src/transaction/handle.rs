//! The transaction handle.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roaring::RoaringTreemap;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::overlay::{EntryChanges, Overlay, missing};
use super::reading::{Reading, SharedReadSet, note_object};
use super::savepoint::Savepoint;
use crate::access::{self, Extent};
use crate::catalog::{Catalog, Class, IndexId, IndexKind, SystemClass};
use crate::commit::{Durability, IndexEntry, Isolation, Request};
use crate::error::{Error, Result};
use crate::index::{IndexChange, encode_changes};
use crate::instance::{BuildProgress, BuildWatch, Held, Instance, Opened, ReaderKind};
use crate::object::codec::{check_not_null, encode_body, rewrite};
use crate::object::{
    BodyWriter, ClassId, CommitNumber, Object, Oid, Ref, SlotSet, Value, coerce, serialized_name,
};
use crate::query::{Parameters, Rows};
use crate::read::Reader;
use crate::read_set::Depth;
use crate::view::View;

/// How a transaction runs.
#[derive(Debug, Clone, Default)]
pub struct TransactionOptions {
    /// What it is protected from; default [`Isolation::Serializable`].
    pub isolation: Isolation,
    /// What is true when its commit returns; `None`: as the database was opened.
    pub durability: Option<Durability>,
    /// A label, shown to whoever conflicts with it.
    pub label: Option<Arc<str>>,
}

/// A transaction: reads one snapshot under its own writes, and commits all of them or none.
///
/// Dropping it rolls it back. Every read method of [`Snapshot`](crate::Snapshot) exists here too and sees the
/// transaction's own writes.
pub struct Transaction {
    instance: Arc<Instance>,
    overlay: Arc<Overlay>,
    options: TransactionOptions,
    /// Its place in the ledger of open readers.
    opened: Arc<Opened>,
    /// What it read; `None` where that does not matter.
    reads: Option<SharedReadSet>,
    /// The innermost last.
    savepoints: Vec<Savepoint>,
    /// References given out for objects to come.
    reserved: RoaringTreemap,
    writer: BodyWriter,
    /// Is told how far the indexes are that its commit builds.
    watch: Option<BuildWatch>,
    /// Set when the transaction ends, so that rows read from it end too.
    ended: Arc<AtomicBool>,
}

impl Transaction {
    pub(crate) fn new(instance: Arc<Instance>, view: Arc<View>, options: TransactionOptions) -> Self {
        let label = options.label.clone();
        let opened = instance.ledger.open(ReaderKind::Transaction, label, view.clone());
        let overlay = Arc::new(Overlay::new(view));
        let reads = (options.isolation == Isolation::Serializable).then(SharedReadSet::default);
        Transaction {
            instance,
            overlay,
            options,
            opened,
            reads,
            savepoints: Vec::new(),
            reserved: RoaringTreemap::new(),
            writer: BodyWriter::default(),
            watch: None,
            ended: Arc::default(),
        }
    }

    /// Has `watch` told how far the indexes are that [`Transaction::commit`] builds over existing objects: now and then,
    /// from the committing thread. Where it says `Break`, the commit returns [`Error::Cancelled`]: that index and those
    /// not built yet do not exist then, and everything else is committed.
    pub fn watch_builds(&mut self, watch: BuildWatch) {
        self.watch = Some(watch);
    }

    /// The commit its snapshot is the state of.
    pub fn commit_number(&self) -> CommitNumber {
        self.overlay.commit()
    }

    /// Whether nothing was written.
    pub fn is_unchanged(&self) -> bool {
        self.overlay.writes().is_empty()
    }

    /// The object behind a reference, or `None` if it does not exist here.
    ///
    /// # Errors
    /// Where the stored object does not fit `T`, or is damaged.
    pub fn get<T: DeserializeOwned>(&self, reference: Ref<T>) -> Result<Option<T>> {
        self.read_object(reference.oid())?;
        self.read_whole(reference.oid(), |reader| access::get(reader, reference.oid()))
    }

    /// The objects behind many references, in their order; `None` for those that do not exist here. As
    /// [`Snapshot::get_many`](crate::Snapshot::get_many).
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn get_many<T: DeserializeOwned>(&self, references: &[Ref<T>]) -> Result<Vec<Option<T>>> {
        references.iter().map(|reference| self.get(*reference)).collect()
    }

    /// The object behind an identifier with its attributes by name, or `None` if it does not exist here.
    pub fn object(&self, oid: impl Into<Oid>) -> Result<Option<Object>> {
        let oid = oid.into();
        self.read_object(oid)?;
        self.read_whole(oid, |reader| access::object(reader, oid))
    }

    /// Reads an object that was noted; one with derived attributes through a reader that notes what they are read from.
    pub(super) fn read_whole<R>(&self, oid: Oid, read: impl FnOnce(&dyn Reader) -> Result<R>) -> Result<R> {
        let class = self.overlay.catalog().live_class(oid.class());
        match class.is_some_and(|class| class.derives) {
            true => read(self.reader().as_ref()),
            false => read(self.overlay.as_ref()),
        }
    }

    /// Whether the object exists here.
    pub fn exists(&self, oid: impl Into<Oid>) -> Result<bool> {
        let oid = oid.into();
        self.read_object(oid)?;
        Ok(self.overlay.object(oid)?.is_some())
    }

    /// All objects of the class of `T` and its subclasses, as they are now.
    pub fn extent<T: DeserializeOwned>(&self) -> Result<Extent<T>> {
        Extent::new(self.reader())
    }

    /// Runs a query (a `select` or a bare expression) with its parameters. Its rows are those of this moment, whatever
    /// is written while they are read; they end in an error once the transaction has ended.
    ///
    /// # Errors
    /// [`Error::Query`] where the text is wrong; what goes wrong later comes with the rows.
    pub fn query(&self, text: &str, parameters: impl Into<Parameters>) -> Result<Rows> {
        self.note_names(text);
        self.instance
            .engine()
            .query(text, &parameters.into(), self.reader(), Some(self.ended.clone()))
    }

    /// About how many bytes it takes to remember what was read, for the comparison at commit; a bit or two an object at
    /// most, and nothing at all where [`Isolation::Snapshot`] was asked for.
    pub fn read_set_bytes(&self) -> usize {
        self.reads.as_ref().map_or(0, |reads| reads.lock().bytes())
    }

    /// An identifier as text: `Person#42`.
    pub fn describe(&self, oid: impl Into<Oid>) -> String {
        self.overlay.catalog().describe(oid.into())
    }

    /// Creates an object and returns its reference, which no other object ever had or will have.
    ///
    /// # Errors
    /// [`Error::Schema`] where the class of `T` is not defined, [`Error::Argument`] where a value does not fit.
    pub fn insert<T: Serialize>(&mut self, value: &T) -> Result<Ref<T>> {
        let class = self.class_of_value(value)?;
        let oid = self.instance.new_oid(class.id)?;
        let body = self.writer.encode(value, &class.layout, None)?;
        if class.derives {
            let body = body.to_vec();
            self.create_at(&class, oid, body)?;
            return Ok(Ref::from_oid(oid));
        }
        Arc::make_mut(&mut self.overlay).write(oid, Some(body), true)?;
        if class.relates {
            self.relate(oid, None)?;
        }
        Ok(Ref::from_oid(oid))
    }

    /// Gives an object the value of `value`; attributes that `T` does not know keep theirs.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the object does not exist here, else as [`Transaction::insert`].
    pub fn update<T: Serialize>(&mut self, reference: Ref<T>, value: &T) -> Result<()> {
        let oid = reference.oid();
        let name = serialized_name(value)?;
        let catalog = self.overlay.catalog();
        let class = catalog.class_by_id(oid.class())?;
        let described = catalog.class(name).ok_or_else(|| access::undefined(name))?;
        if class.id != described.id && !catalog.is_a(class.id, described.id) {
            let message = format!("{} cannot be updated with a {name}", self.describe(oid));
            return Err(Error::Argument(message));
        }
        self.check_user_class(class.id)?;
        let before = self.overlay.object(oid)?;
        let before = before.ok_or_else(|| self.missing(oid))?;
        let body = self.writer.encode(value, &class.layout, Some(&before.body))?;
        let related = class.relates.then(|| before.body.to_vec());
        let derives = class.derives;
        drop(before);
        if derives {
            let body = body.to_vec();
            return self.write(oid, body, SlotSet::ALL);
        }
        Arc::make_mut(&mut self.overlay).write(oid, Some(body), false)?;
        match related {
            Some(before) => self.relate(oid, Some(&before)),
            None => Ok(()),
        }
    }

    /// Deletes an object. References to it dangle, and a step through one gives nil, but for attributes that have a rule
    /// ([`OnDelete`](crate::OnDelete)) or an inverse.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the object does not exist here.
    pub fn delete(&mut self, oid: impl Into<Oid>) -> Result<()> {
        let oid = oid.into();
        self.check_user_class(oid.class())?;
        if self.overlay.object(oid)?.is_none() {
            return Err(self.missing(oid));
        }
        let catalog = self.overlay.catalog();
        let relates = catalog
            .classes
            .get(&oid.class())
            .is_some_and(|class| class.relates);
        if relates || catalog.rules.contains_key(&oid.class()) {
            return self.delete_related(oid);
        }
        Arc::make_mut(&mut self.overlay).write(oid, None, false)
    }

    /// Creates an object given by attribute names; what it leaves out takes its default.
    ///
    /// # Errors
    /// [`Error::Schema`] for an unknown class or attribute, [`Error::Argument`] where a value does not fit.
    pub fn insert_object(&mut self, object: Object) -> Result<Oid> {
        let class = self.overlay.catalog().user_class(object.class())?.clone();
        let mut values: Vec<Value> = class
            .layout
            .slots
            .iter()
            .map(|slot| slot.default.clone())
            .collect();
        for (slot, value) in self.assignments(&class, object.iter())? {
            if let Some(place) = values.get_mut(slot) {
                *place = value;
            }
        }
        self.insert_values(&class, &values)
    }

    /// Changes the named attributes of an object; the others keep their values.
    ///
    /// # Errors
    /// As [`Transaction::update`].
    pub fn update_object<'a>(
        &mut self,
        oid: impl Into<Oid>,
        attributes: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<()> {
        let oid = oid.into();
        let class = self.overlay.catalog().class_by_id(oid.class())?.clone();
        let attributes: Vec<(&str, Value)> = attributes.into_iter().collect();
        let changes = self.assignments(&class, attributes.iter().map(|(name, value)| (*name, value)))?;
        let body = self.changed_body(oid, &changes)?;
        self.write(oid, body, changes.iter().map(|(slot, _)| *slot).collect())
    }

    /// Makes all writes durable and visible, or none.
    ///
    /// When it returns a number, every snapshot taken from then on shows the commit, and it is on the disk if the
    /// transaction's durability is [`Durability::Sync`]. A transaction that wrote nothing returns its snapshot's
    /// number at once.
    ///
    /// # Errors
    /// [`Error::Conflict`] where another transaction was faster: run it again. [`Error::Constraint`] where a unique
    /// value is taken. In every case nothing was changed.
    pub fn commit(mut self) -> Result<CommitNumber> {
        self.end();
        if self.overlay.writes().is_empty() {
            return Ok(self.overlay.commit());
        }
        self.opened.check()?;
        self.check_schema()?;
        self.check_not_null()?;
        self.hold_dependents()?;
        let empty = Arc::new(Overlay::new(self.overlay.view().clone()));
        let overlay = std::mem::replace(&mut self.overlay, empty);
        let unbuilt = super::schema::unbuilt_indexes(&overlay);
        let request = self.request(overlay);
        let number = self.instance.pipeline().commit(request)?;
        self.build(unbuilt)?;
        Ok(number)
    }

    /// Builds what the commit has created, up to the first failure; what comes after it is dropped.
    fn build(&self, unbuilt: Vec<IndexId>) -> Result<()> {
        let watch = |progress: &BuildProgress| match &self.watch {
            Some(watch) => watch.tell(progress),
            None => ControlFlow::Continue(()),
        };
        let mut outcome = Ok(());
        for index in unbuilt {
            match outcome {
                Ok(()) => outcome = self.instance.build_index(index, &watch),
                Err(_) => self.instance.abandon_build(index),
            }
        }
        outcome
    }

    /// Drops all writes. The same as dropping the transaction.
    pub fn rollback(self) {}

    fn end(&mut self) {
        self.ended.store(true, Ordering::Release);
    }

    fn request(&self, overlay: Arc<Overlay>) -> Request {
        let (snapshot, catalog) = (overlay.commit(), overlay.catalog().clone());
        let base = overlay.view().clone();
        let catalog_version = base.catalog().version;
        // Rows may still read it; then they keep it, and this takes a copy.
        let (writes, entries) = Arc::unwrap_or_clone(overlay).into_changes();
        let entries = sorted_entries(&catalog, entries);
        let mut deltas = Vec::new();
        if !entries.is_empty() {
            encode_changes(entries.iter().map(|entry| &entry.change), &mut deltas);
        }
        let reads = self.reads.as_ref().map(|reads| {
            let mut reads = std::mem::take(&mut *reads.lock());
            reads.finish();
            reads
        });
        Request {
            snapshot,
            base,
            catalog,
            catalog_version,
            writes: Arc::new(writes),
            entries,
            deltas,
            reads,
            durability: self
                .options
                .durability
                .unwrap_or_else(|| self.instance.durability()),
            label: self.options.label.clone(),
        }
    }

    /// Checks what may be nil until the end of a transaction: references that are `not null`.
    fn check_not_null(&self) -> Result<()> {
        let catalog = self.overlay.catalog();
        for (oid, write) in self.overlay.writes().iter() {
            let (Some(body), Some(class)) = (write.body(), catalog.classes.get(&oid.class())) else {
                continue;
            };
            if class.has_required_reference() {
                check_not_null(&class.layout, body)?;
            }
        }
        Ok(())
    }

    pub(super) fn class_of_value<T: Serialize>(&self, value: &T) -> Result<Arc<Class>> {
        let name = serialized_name(value)?;
        let class = self
            .overlay
            .catalog()
            .class(name)
            .ok_or_else(|| access::undefined(name))?;
        self.check_user_class(class.id)?;
        Ok(class.clone())
    }

    fn check_user_class(&self, class: ClassId) -> Result<()> {
        if class.is_system() {
            let message = "objects of the catalog are changed by create, alter and drop only";
            return Err(Error::Argument(message.into()));
        }
        Ok(())
    }

    fn assignments<'a>(
        &self,
        class: &Class,
        attributes: impl Iterator<Item = (&'a str, &'a Value)>,
    ) -> Result<Vec<(usize, Value)>> {
        let mut slots = Vec::new();
        for (name, value) in attributes {
            let attribute = class.attribute(name);
            let attribute = attribute.ok_or_else(|| {
                Error::Schema(format!(
                    "{} has no attribute {name}; see describe {}",
                    class.name, class.name
                ))
            })?;
            let value = coerce(value.clone(), &attribute.r#type)
                .map_err(|why| Error::Argument(format!("{}.{name}: {why}", class.name)))?;
            slots.push((attribute.slot, value));
        }
        Ok(slots)
    }

    /// Creates an object from one value a slot of its class.
    fn insert_values(&mut self, class: &Class, values: &[Value]) -> Result<Oid> {
        self.overlay
            .catalog()
            .check_references_of(class, values.iter().enumerate())?;
        let body = encode_body(&class.layout, values)?;
        self.insert_body(class, body)
    }

    /// Creates an object from its encoded body.
    pub(crate) fn insert_body(&mut self, class: &Class, body: Vec<u8>) -> Result<Oid> {
        self.check_user_class(class.id)?;
        self.create(class, body)
    }

    /// The encoded body an object has once some of its slots have new values.
    pub(crate) fn changed_body(&self, oid: Oid, changes: &[(usize, Value)]) -> Result<Vec<u8>> {
        let catalog = self.overlay.catalog();
        let class = catalog.class_by_id(oid.class())?;
        catalog.check_references_of(class, changes.iter().map(|(slot, value)| (*slot, value)))?;
        let before = self.overlay.object(oid)?.ok_or_else(|| self.missing(oid))?;
        if !class.derives {
            return rewrite(&class.layout, &before.body, changes);
        }
        // Nil in what is not stored says nothing; who assigns it means that there are no members.
        let derived = |slot: usize| {
            class
                .attributes
                .iter()
                .any(|own| own.slot == slot && own.is_derived())
        };
        let assigned = |(slot, value): &(usize, Value)| match value.is_nil() && derived(*slot) {
            true => (*slot, Value::set(Vec::<Value>::new())),
            false => (*slot, value.clone()),
        };
        let changes: Vec<(usize, Value)> = changes.iter().map(assigned).collect();
        rewrite(&class.layout, &before.body, &changes)
    }

    /// Gives an object a new encoded body, in which these slots were given values.
    pub(crate) fn update_body(&mut self, oid: Oid, body: Vec<u8>, assigned: SlotSet) -> Result<()> {
        self.write(oid, body, assigned)
    }

    fn create(&mut self, class: &Class, body: Vec<u8>) -> Result<Oid> {
        let oid = self.instance.new_oid(class.id)?;
        self.create_at(class, oid, body)?;
        Ok(oid)
    }

    /// Creates an object of `class` under an identifier that was given out for it.
    pub(super) fn create_at(&mut self, class: &Class, oid: Oid, body: Vec<u8>) -> Result<()> {
        if class.derives {
            let (body, memberships) = Self::take_members(class, body)?;
            Arc::make_mut(&mut self.overlay).write(oid, Some(&body), true)?;
            self.set_members(oid, memberships, true)?;
        } else {
            Arc::make_mut(&mut self.overlay).write(oid, Some(&body), true)?;
        }
        match class.relates {
            true => self.relate(oid, None),
            false => Ok(()),
        }
    }

    /// An identifier for an object to come.
    pub(super) fn reserve_oid(&mut self, class: ClassId) -> Result<Oid> {
        self.check_user_class(class)?;
        let oid = self.instance.new_oid(class)?;
        self.reserved.insert(oid.to_bits());
        Ok(oid)
    }

    /// Whether an identifier was reserved in this transaction.
    pub(super) fn is_reserved(&self, oid: Oid) -> bool {
        self.reserved.contains(oid.to_bits())
    }

    fn write(&mut self, oid: Oid, body: Vec<u8>, assigned: SlotSet) -> Result<()> {
        self.check_user_class(oid.class())?;
        let class = self.overlay.catalog().class_by_id(oid.class())?.clone();
        let before = match class.relates {
            true => self.overlay.object(oid)?.map(|record| record.body.to_vec()),
            false => None,
        };
        if class.derives {
            let (body, memberships) = Self::take_members(&class, body)?;
            Arc::make_mut(&mut self.overlay).update(oid, &body, assigned)?;
            self.set_members(oid, memberships, false)?;
        } else {
            Arc::make_mut(&mut self.overlay).update(oid, &body, assigned)?;
        }
        match before {
            Some(before) => self.relate(oid, Some(&before)),
            None => Ok(()),
        }
    }

    /// The state the transaction sees, fixed at this moment; what is read of it counts as read.
    pub(crate) fn reader(&self) -> Arc<dyn Reader> {
        self.reader_of(FxHashMap::default())
    }

    /// As [`Transaction::reader`], for somebody to whom nothing but these slots of objects of these classes matters.
    pub(crate) fn reader_of(&self, parts: FxHashMap<ClassId, SlotSet>) -> Arc<dyn Reader> {
        let (opened, overlay) = (self.opened.clone(), self.overlay.clone());
        match &self.reads {
            Some(reads) => {
                let reading = Reading::new(overlay, reads.clone(), parts);
                Arc::new(Held::new(opened, Arc::new(reading)))
            }
            None => Arc::new(Held::new(opened, overlay)),
        }
    }

    /// Notes the named roots that a statement may use: its words that are names, or all names where it quotes some, or
    /// where there are named queries or methods, whose texts may use others.
    pub(crate) fn note_names(&self, text: &str) {
        let catalog = self.overlay.catalog();
        let names = &catalog.names;
        let Some(reads) = self.reads.as_ref().filter(|_| !names.is_empty()) else {
            return;
        };
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let mut reads = reads.lock();
        let has_methods = |class: &Arc<Class>| !class.stored.methods.is_empty();
        if text.contains('`') || !catalog.queries.is_empty() || catalog.classes.values().any(has_methods) {
            reads.extent(SystemClass::Name.id(), 0, u64::MAX, Depth::Whole);
        }
        for word in text.split(|character| !is_part(character)) {
            if let Some(name) = names.get(word) {
                reads.object(name.object, Depth::Whole);
            }
        }
    }

    /// Notes that a named root was asked for.
    pub(super) fn note_name(&self, name: &str) {
        if let Some(reads) = &self.reads {
            let mut reads = reads.lock();
            match self.overlay.catalog().names.get(name) {
                Some(name) => reads.object(name.object, Depth::Whole),
                None => reads.extent(SystemClass::Name.id(), 0, u64::MAX, Depth::Whole),
            }
        }
    }

    /// Where an object that was to be changed is not there: the caller learns that, so it counts as read.
    fn missing(&self, oid: Oid) -> Error {
        self.note_object(oid);
        missing(self.overlay.catalog(), oid)
    }

    /// Whether what it reads is compared at commit.
    pub(super) fn is_serializable(&self) -> bool {
        self.reads.is_some()
    }

    /// Before an object is read: checks the age of the transaction, and notes the object.
    #[inline]
    pub(super) fn read_object(&self, oid: Oid) -> Result<()> {
        self.opened.check()?;
        self.note_object(oid);
        Ok(())
    }

    #[inline]
    pub(super) fn note_object(&self, oid: Oid) {
        if let Some(reads) = &self.reads {
            note_object(&self.overlay, reads, oid, Depth::Whole);
        }
    }

    pub(crate) fn overlay_mut(&mut self) -> &mut Overlay {
        Arc::make_mut(&mut self.overlay)
    }

    pub(super) fn savepoints_mut(&mut self) -> &mut Vec<Savepoint> {
        &mut self.savepoints
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Set once the transaction has ended.
    pub(crate) fn ended(&self) -> Arc<AtomicBool> {
        self.ended.clone()
    }
}

/// Index by index, in key order.
fn sorted_entries(catalog: &Catalog, entries: FxHashMap<IndexId, EntryChanges>) -> Vec<IndexEntry> {
    let mut indexes: Vec<(IndexId, EntryChanges)> = entries.into_iter().collect();
    indexes.sort_unstable_by_key(|(id, _)| *id);
    let mut sorted = Vec::with_capacity(indexes.iter().map(|(_, changes)| changes.len()).sum());
    for (index, changes) in indexes {
        let known = catalog.indexes.get(&index);
        let unique = known.is_some_and(|known| known.kind == IndexKind::Unique);
        sorted.extend(changes.into_iter().map(|((key, oid), change)| IndexEntry {
            claim: unique && change.added && !change.has_nil,
            change: IndexChange {
                index,
                key,
                oid,
                added: change.added,
            },
        }));
    }
    sorted
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("snapshot", &self.overlay.commit())
            .field("writes", &self.overlay.writes().len())
            .finish_non_exhaustive()
    }
}

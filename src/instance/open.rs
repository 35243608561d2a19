//! Opening a database: heap, catalog, indexes, and the threads over them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use parking_lot::Mutex;

use super::indexes::recover;
use super::ledger::Ledger;
use super::opened::{Instance, Parts};
use super::options::Options;
use super::query_files::QueryFiles;
use crate::catalog::{Catalog, SystemClass};
use crate::commit::Pipeline;
use crate::error::{Error, Result};
use crate::files::{Disk, MemoryDisk, RealDisk};
use crate::heap::{Heap, HeapOptions, HeapView, Recovered};
use crate::index::{IndexStorage, IndexStore, Shadow, SyncThrough};
use crate::object::{CommitNumber, Oid, Record};
use crate::query::Engine;
use crate::view::View;

/// Opens the database the options name.
pub fn open(options: Options) -> Result<Arc<Instance>> {
    options.check()?;
    let disk: Arc<dyn Disk> = match &options.path {
        None => Arc::new(MemoryDisk::new()),
        Some(path) if options.create && !options.read_only => Arc::new(RealDisk::create(path)?),
        Some(path) => Arc::new(RealDisk::open(path, options.read_only)?),
    };
    let storage = match &options.path {
        Some(path) => IndexStorage::Directory(path.join("index")),
        None => IndexStorage::Memory,
    };
    open_on(disk, storage, options)
}

/// Opens a database on a given disk.
pub fn open_on(disk: Arc<dyn Disk>, storage: IndexStorage, options: Options) -> Result<Arc<Instance>> {
    let heap_options = HeapOptions {
        read_only: options.read_only,
        create: options.create,
        memory: options.memory / 4,
    };
    let temporary = Arc::new(QueryFiles(disk.clone()));
    let (heap, recovered) = Heap::open(disk, heap_options)?;
    let heap = Arc::new(heap);
    let catalog = Arc::new(load_catalog(&heap.view(), recovered.last_commit)?);
    // Only now, under the lock, nobody changes what the shadow is made of.
    let (storage, shadow) = match storage {
        IndexStorage::Directory(directory) if options.read_only => shadow_of(&directory),
        storage => (storage, None),
    };
    let (indexes, index_damage) = open_indexes(storage, options.memory / 8 * 3, &heap)?;
    let indexes = Arc::new(indexes);
    let view = view_of(&heap, &indexes, &catalog, &recovered);
    recover(&heap, &indexes, &view)?;
    let view = view_of(&heap, &indexes, &catalog, &recovered);
    let footprints = (options.memory / 8).min(MOST_FOOTPRINTS);
    let instance = Arc::new(Instance::start(Parts {
        pipeline: Pipeline::new(heap.clone(), indexes.clone(), view, footprints),
        heap,
        indexes,
        ledger: Ledger::new(options.max_snapshot_age),
        engine: Arc::new(Engine::new(options.memory / 4, Some(temporary))),
        cleaning: Mutex::default(),
        builds: Mutex::default(),
        build_turn: Mutex::default(),
        cleaners_waiting: AtomicU32::new(0),
        recovery: recovered.cut,
        index_damage: index_damage.filter(|_| options.read_only),
        options,
        _shadow: shadow,
    })?);
    if !instance.options.read_only {
        instance.finish_builds()?;
    }
    Ok(instance)
}

fn view_of(heap: &Heap, indexes: &IndexStore, catalog: &Arc<Catalog>, recovered: &Recovered) -> View {
    let commit = recovered.last_commit;
    View::new(
        commit,
        recovered.last_time,
        catalog.clone(),
        heap.view(),
        indexes.capture(commit),
        heap.secret(),
    )
}

/// Where the indexes of a database that is opened read-only lie: in a shadow, or in memory.
fn shadow_of(directory: &Path) -> (IndexStorage, Option<Shadow>) {
    match Shadow::of(directory) {
        Some(shadow) => (IndexStorage::Directory(shadow.path().to_path_buf()), Some(shadow)),
        None => (IndexStorage::Memory, None),
    }
}

/// The index store; a folder that does not open is emptied, since what was in it can be built anew. Also what was wrong
/// with it.
fn open_indexes(
    storage: IndexStorage,
    memory: usize,
    heap: &Arc<Heap>,
) -> Result<(IndexStore, Option<String>)> {
    let log = heap.clone();
    let sync_through: SyncThrough = Arc::new(move |position| log.sync(position));
    match IndexStore::open(storage.clone(), memory, sync_through.clone()) {
        Err(Error::Corruption(damage)) => {
            if let IndexStorage::Directory(directory) = &storage {
                IndexStore::reset(directory)?;
            }
            let opened = IndexStore::open(storage, memory, sync_through)?;
            Ok((opened, Some(damage.what.clone())))
        }
        opened => Ok((opened?, None)),
    }
}

/// The catalog as of `commit`, out of the objects of the system classes.
pub(super) fn load_catalog(view: &HeapView, commit: CommitNumber) -> Result<Catalog> {
    let mut objects: Vec<(Oid, Vec<u8>)> = Vec::new();
    for class in SystemClass::ALL {
        let mut serial = 0;
        loop {
            let mut records: Vec<Record<'_>> = Vec::new();
            view.scan(class.id(), &mut serial, commit, BATCH, &mut records)?;
            if records.is_empty() {
                break;
            }
            objects.extend(
                records
                    .into_iter()
                    .map(|record| (record.oid, record.body.into_owned())),
            );
        }
    }
    let changes = objects.iter().map(|(oid, body)| (*oid, Some(body.as_slice())));
    Catalog::empty()?.after(commit, changes)
}

const BATCH: usize = 1024;

/// Bytes that what recent commits changed may take.
const MOST_FOOTPRINTS: usize = 64 << 20;

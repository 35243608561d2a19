//! A disk that fails on purpose.
//!
//! It keeps two images. What the program sees is the *live* one: anonymous files, so that mapping works. What a power
//! cut would leave is worked out from the *durable* one, which changes only when a file or a directory is synced, and
//! from the list of changes that were not synced yet: each of them may have reached the disk, in part, or not, and in
//! any order. Directory entries are durable only after their directory was synced.
//!
//! Every change counts as an operation. A [`Fault`] strikes at one of them, so a test can run a workload once to count
//! its operations, and then once for each of them with the fault there.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::disk::{Disk, File};
use super::faulty_image::{Change, Contents, Entries, EntryChange};
use super::map::Map;
use super::memory::{MemoryFile, names_in, refused};
use super::positional::{read_exact_at, write_all_at};
use crate::error::{Error, Result};

/// What goes wrong, and at which operation (the first is 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The power goes at this operation: it may have reached the disk or not, and all later ones fail.
    PowerCut(u64),
    /// This one operation fails with an I/O error; a sync that fails so has lost what it should have made durable.
    Io(u64),
    /// This one operation finds the disk full.
    NoSpace(u64),
    /// The n-th sync of a file fails, as with [`Fault::Io`].
    FailedSync(u64),
}

/// A disk that fails on purpose; clones share it.
#[derive(Debug, Clone)]
pub struct FaultyDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    fault: Fault,
    operations: u64,
    syncs: u64,
    power_is_off: bool,
    /// The most bytes that all files together may have.
    capacity: Option<u64>,
    live: Entries,
    durable: Entries,
    unsynced: Vec<EntryChange>,
    locked: BTreeSet<PathBuf>,
}

impl Default for FaultyDisk {
    fn default() -> Self {
        FaultyDisk::new()
    }
}

impl FaultyDisk {
    /// An empty disk without faults.
    pub fn new() -> FaultyDisk {
        FaultyDisk::holding(Entries::default())
    }

    fn holding(entries: Entries) -> FaultyDisk {
        let state = State {
            fault: Fault::None,
            operations: 0,
            syncs: 0,
            power_is_off: false,
            capacity: None,
            live: entries.clone(),
            durable: entries,
            unsynced: Vec::new(),
            locked: BTreeSet::new(),
        };
        FaultyDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Sets what goes wrong, and starts counting operations and syncs anew.
    pub fn set_fault(&self, fault: Fault) {
        let mut state = self.state.lock();
        state.fault = fault;
        state.operations = 0;
        state.syncs = 0;
    }

    /// The operations that changed anything, since the fault was set.
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// What the disk holds after the power was cut now: the durable image, and of the rest what chance (`seed`) let
    /// through, torn at sectors or pages and in any order.
    pub fn after_power_cut(&self, seed: u64) -> Result<FaultyDisk> {
        let state = self.state.lock();
        let image = state.durable.after_power_cut(&state.unsynced, seed);
        let image = image.map_err(|error| Error::io("building the image after a power cut", error))?;
        Ok(FaultyDisk::holding(image))
    }

    /// A copy of all files as the program sees them, as a copying tool would make it.
    pub fn copy(&self) -> Result<FaultyDisk> {
        let copied = self.state.lock().live.copy();
        let copied = copied.map_err(|error| Error::io("copying a faulty disk", error))?;
        Ok(FaultyDisk::holding(copied))
    }

    /// Lets all files together have at most so many bytes from now on; what is there stays.
    pub fn set_capacity(&self, capacity: Option<u64>) {
        self.state.lock().capacity = capacity;
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.state.lock().bytes()
    }

    /// The length of a file, `None` if there is none.
    pub fn len(&self, path: &Path) -> Option<u64> {
        let contents = self.state.lock().live.files.get(path)?.clone();
        let metadata = contents.lock().live.metadata();
        metadata.ok().map(|found| found.len())
    }

    /// Removes a file, durably, whatever fault is set; no operation is counted.
    pub fn remove_file(&self, path: &Path) {
        let mut state = self.state.lock();
        let change = EntryChange::Remove(path.to_path_buf());
        state.live.apply(&change);
        state.durable.apply(&change);
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state.lock().live.files.keys().cloned().collect()
    }
}

/// What becomes of an operation.
#[derive(PartialEq, Eq)]
enum Fate {
    Done,
    /// It fails, but may have reached the disk.
    Cut,
    Failed(io::ErrorKind),
}

impl State {
    /// Counts an operation and says what becomes of it.
    fn strike(&mut self, sync: bool) -> Fate {
        if self.power_is_off {
            return Fate::Failed(io::ErrorKind::NotConnected);
        }
        self.operations = self.operations.saturating_add(1);
        self.syncs = self.syncs.saturating_add(u64::from(sync));
        match self.fault {
            Fault::PowerCut(at) if at == self.operations => {
                self.power_is_off = true;
                Fate::Cut
            }
            Fault::Io(at) if at == self.operations => Fate::Failed(io::ErrorKind::Other),
            Fault::NoSpace(at) if at == self.operations => Fate::Failed(io::ErrorKind::StorageFull),
            Fault::FailedSync(at) if sync && at == self.syncs => Fate::Failed(io::ErrorKind::Other),
            _ => Fate::Done,
        }
    }

    fn bytes(&self) -> u64 {
        let contents = self.live.files.values();
        contents.map(|contents| contents.lock().live_len()).sum()
    }

    /// An error if `more` bytes do not fit on the disk.
    fn make_room(&self, doing: &str, path: &Path, more: u64) -> Result<()> {
        match self.capacity {
            Some(capacity) if more > 0 && self.bytes().saturating_add(more) > capacity => {
                Err(refused(doing, path, io::ErrorKind::StorageFull))
            }
            _ => Ok(()),
        }
    }

    /// Records a change of a directory, live at once and durable later.
    fn change(&mut self, doing: &str, path: &Path, change: EntryChange) -> Result<()> {
        let fate = self.strike(false);
        if !matches!(fate, Fate::Failed(_)) {
            self.live.apply(&change);
            self.unsynced.push(change);
        }
        settle(fate, doing, path)
    }
}

fn settle(fate: Fate, doing: &str, path: &Path) -> Result<()> {
    match fate {
        Fate::Done => Ok(()),
        Fate::Cut => Err(refused(doing, path, io::ErrorKind::NotConnected)),
        Fate::Failed(kind) => Err(refused(doing, path, kind)),
    }
}

impl FaultyDisk {
    fn file(&self, path: &Path, contents: Arc<Mutex<Contents>>) -> Arc<dyn File> {
        Arc::new(FaultyFile {
            path: path.to_path_buf(),
            state: self.state.clone(),
            contents,
        })
    }
}

impl Disk for FaultyDisk {
    fn root(&self) -> Option<&Path> {
        None
    }

    fn create(&self, path: &Path, size: u64) -> Result<Arc<dyn File>> {
        let mut state = self.state.lock();
        if state.live.files.contains_key(path) {
            return Err(refused("creating", path, io::ErrorKind::AlreadyExists));
        }
        state.make_room("creating", path, size)?;
        let made = Contents::new(size);
        let made = made.map_err(|error| Error::io(format!("creating {}", path.display()), error))?;
        let contents = Arc::new(Mutex::new(made));
        let change = EntryChange::Create(path.to_path_buf(), contents.clone());
        state.change("creating", path, change)?;
        Ok(self.file(path, contents))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        let state = self.state.lock();
        match state.live.files.get(path) {
            Some(contents) => Ok(self.file(path, contents.clone())),
            None => Err(refused("opening", path, io::ErrorKind::NotFound)),
        }
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let mut state = self.state.lock();
        if !state.live.files.contains_key(path) {
            return Err(refused("removing", path, io::ErrorKind::NotFound));
        }
        state.change("removing", path, EntryChange::Remove(path.to_path_buf()))
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let state = self.state.lock();
        let paths = state.live.files.keys().chain(state.live.directories.iter());
        Ok(names_in(directory, paths))
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        let mut state = self.state.lock();
        if state.live.directories.contains(path) {
            return Ok(());
        }
        state.change("creating", path, EntryChange::Directory(path.to_path_buf()))
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        let mut state = self.state.lock();
        settle(state.strike(false), "syncing", directory)?;
        let unsynced = std::mem::take(&mut state.unsynced);
        let (synced, rest) = unsynced
            .into_iter()
            .partition(|change: &EntryChange| change.path().parent() == Some(directory));
        state.unsynced = rest;
        for change in Vec::from_iter::<Vec<EntryChange>>(synced) {
            state.durable.apply(&change);
        }
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn Send + Sync>> {
        if !self.state.lock().live.files.contains_key(path) {
            self.create(path, 0)?;
        }
        if !self.state.lock().locked.insert(path.to_path_buf()) {
            return Err(Error::Locked {
                path: path.to_path_buf(),
            });
        }
        Ok(Box::new(FaultyLock {
            path: path.to_path_buf(),
            state: self.state.clone(),
        }))
    }

    /// In memory, and without faults: nothing of it is meant to last.
    fn temporary(&self) -> Result<Arc<dyn File>> {
        MemoryFile::temporary()
    }

    fn is_read_only(&self) -> bool {
        false
    }
}

struct FaultyLock {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

impl Drop for FaultyLock {
    fn drop(&mut self) {
        self.state.lock().locked.remove(&self.path);
    }
}

#[derive(Debug)]
struct FaultyFile {
    path: PathBuf,
    state: Arc<Mutex<State>>,
    contents: Arc<Mutex<Contents>>,
}

impl FaultyFile {
    /// An error if the file cannot have `len` bytes.
    fn make_room(&self, doing: &str, len: u64) -> Result<()> {
        let state = self.state.lock();
        if state.capacity.is_none() {
            return Ok(());
        }
        let present = self.contents.lock().live_len();
        state.make_room(doing, &self.path, len.saturating_sub(present))
    }

    fn failed(&self, doing: &str, error: io::Error) -> Error {
        Error::io(format!("{doing} {}", self.path.display()), error)
    }
}

impl File for FaultyFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64> {
        let metadata = self.contents.lock().live.metadata();
        metadata
            .map(|found| found.len())
            .map_err(|error| self.failed("measuring", error))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let contents = self.contents.lock();
        read_exact_at(&contents.live, buffer, offset).map_err(|error| self.failed("reading", error))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.make_room("writing", offset.saturating_add(bytes.len() as u64))?;
        let fate = self.state.lock().strike(false);
        if !matches!(fate, Fate::Failed(_)) {
            let mut contents = self.contents.lock();
            write_all_at(&contents.live, bytes, offset).map_err(|error| self.failed("writing", error))?;
            contents.unsynced.push(Change::Write(offset, bytes.to_vec()));
        }
        settle(fate, "writing", &self.path)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.make_room("resizing", len)?;
        let fate = self.state.lock().strike(false);
        if !matches!(fate, Fate::Failed(_)) {
            let mut contents = self.contents.lock();
            contents
                .live
                .set_len(len)
                .map_err(|error| self.failed("resizing", error))?;
            contents.unsynced.push(Change::Length(len));
        }
        settle(fate, "resizing", &self.path)
    }

    fn sync(&self) -> Result<()> {
        let fate = self.state.lock().strike(true);
        let mut contents = self.contents.lock();
        match fate {
            Fate::Done => contents.sync(),
            Fate::Cut => {}
            // As on real disks: the pages count as clean from now on, and a later sync that succeeds does not write them.
            Fate::Failed(_) => contents.unsynced.clear(),
        }
        settle(fate, "syncing", &self.path)
    }

    fn map(&self, len: u64) -> Result<Map> {
        Map::new(&self.contents.lock().live, len).map_err(|error| self.failed("mapping", error))
    }
}

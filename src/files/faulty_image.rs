//! The durable image of a faulty disk, and what a power cut makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::anonymous::anonymous_file;
use super::positional::{read_exact_at, write_all_at};

/// A change of a directory.
#[derive(Debug, Clone)]
pub(super) enum EntryChange {
    Create(PathBuf, Arc<Mutex<Contents>>),
    Remove(PathBuf),
    Directory(PathBuf),
}

impl EntryChange {
    /// The path whose parent must be synced for the change to be durable.
    pub(super) fn path(&self) -> &Path {
        match self {
            EntryChange::Create(path, _) | EntryChange::Remove(path) | EntryChange::Directory(path) => path,
        }
    }
}

/// A change of a file.
#[derive(Debug)]
pub(super) enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

/// The bytes of one file: as the program sees them, as they are durable, and the changes between.
pub(super) struct Contents {
    pub(super) live: fs::File,
    pub(super) durable: Vec<u8>,
    pub(super) unsynced: Vec<Change>,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (durable, unsynced) = (self.durable.len(), self.unsynced.len());
        write!(f, "{durable} durable bytes, {unsynced} unsynced changes")
    }
}

impl Contents {
    pub(super) fn new(size: u64) -> io::Result<Contents> {
        let live = anonymous_file()?;
        live.set_len(size)?;
        Ok(Contents {
            live,
            durable: Vec::new(),
            unsynced: vec![Change::Length(size)],
        })
    }

    fn holding(bytes: Vec<u8>) -> io::Result<Contents> {
        let live = anonymous_file()?;
        write_all_at(&live, &bytes, 0)?;
        Ok(Contents {
            live,
            durable: bytes,
            unsynced: Vec::new(),
        })
    }

    /// Its length as the program sees it.
    pub(super) fn live_len(&self) -> u64 {
        self.live.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Makes every change durable.
    pub(super) fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                Change::Write(offset, bytes) => write(&mut self.durable, offset, &bytes),
                Change::Length(len) => resize(&mut self.durable, len),
            }
        }
    }

    fn copy(&self) -> io::Result<Contents> {
        let len = self.live.metadata()?.len();
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::InvalidData)?];
        read_exact_at(&self.live, &mut bytes, 0)?;
        Contents::holding(bytes)
    }

    /// The durable bytes, and those of the changes after them that chance lets through, each in pieces of one size.
    fn after_power_cut(&self, chance: &mut Chance) -> io::Result<Contents> {
        let mut image = self.durable.clone();
        let keep = Keep::choose(chance);
        for change in &self.unsynced {
            match change {
                Change::Length(len) if keep.passes(chance) => resize(&mut image, *len),
                Change::Length(_) => {}
                Change::Write(offset, bytes) => keep.write(&mut image, *offset, bytes, chance),
            }
        }
        Contents::holding(image)
    }
}

fn resize(image: &mut Vec<u8>, len: u64) {
    image.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
}

fn write(image: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = offset.saturating_add(bytes.len());
    if image.len() < end {
        image.resize(end, 0);
    }
    if let Some(place) = image.get_mut(offset..end) {
        place.copy_from_slice(bytes);
    }
}

/// How the unsynced changes of one file fare.
enum Keep {
    All,
    Nothing,
    /// Each piece of this many bytes by itself.
    Pieces(usize),
}

impl Keep {
    fn choose(chance: &mut Chance) -> Keep {
        match chance.below(5) {
            0 => Keep::All,
            1 => Keep::Nothing,
            2 => Keep::Pieces(4096),
            _ => Keep::Pieces(512),
        }
    }

    fn passes(&self, chance: &mut Chance) -> bool {
        match self {
            Keep::All => true,
            Keep::Nothing => false,
            Keep::Pieces(_) => chance.below(2) == 0,
        }
    }

    /// Writes those pieces of `bytes` that pass; pieces end where sectors of the disk end.
    fn write(&self, image: &mut Vec<u8>, offset: u64, bytes: &[u8], chance: &mut Chance) {
        let piece = match self {
            Keep::Pieces(size) => *size as u64,
            Keep::All | Keep::Nothing => u64::MAX,
        };
        let (mut offset, mut bytes) = (offset, bytes);
        while !bytes.is_empty() {
            let room = piece - offset % piece;
            let take = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (first, rest) = bytes.split_at(take);
            if self.passes(chance) {
                write(image, offset, first);
            }
            offset = offset.saturating_add(take as u64);
            bytes = rest;
        }
    }
}

/// The entries of all directories.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    pub(super) files: BTreeMap<PathBuf, Arc<Mutex<Contents>>>,
    pub(super) directories: BTreeSet<PathBuf>,
}

impl Entries {
    pub(super) fn apply(&mut self, change: &EntryChange) {
        match change {
            EntryChange::Create(path, contents) => {
                self.files.insert(path.clone(), contents.clone());
            }
            EntryChange::Remove(path) => {
                self.files.remove(path);
            }
            EntryChange::Directory(path) => {
                self.directories.insert(path.clone());
            }
        }
    }

    pub(super) fn copy(&self) -> io::Result<Entries> {
        self.transform(|contents| contents.copy())
    }

    /// These entries with what chance lets through of `unsynced`, and their files likewise. A file whose directory is
    /// lost is lost with it.
    pub(super) fn after_power_cut(&self, unsynced: &[EntryChange], seed: u64) -> io::Result<Entries> {
        let mut chance = Chance(seed);
        let mut entries = self.clone();
        let keep = Keep::choose(&mut chance);
        for change in unsynced {
            if keep.passes(&mut chance) {
                entries.apply(change);
            }
        }
        let directories = entries.directories.clone();
        entries.files.retain(|path, _| {
            path.parent()
                .is_none_or(|parent| parent.as_os_str().is_empty() || directories.contains(parent))
        });
        entries.transform(|contents| contents.after_power_cut(&mut chance))
    }

    fn transform(&self, mut transform: impl FnMut(&Contents) -> io::Result<Contents>) -> io::Result<Entries> {
        let mut files = BTreeMap::new();
        for (path, contents) in &self.files {
            files.insert(path.clone(), Arc::new(Mutex::new(transform(&contents.lock())?)));
        }
        Ok(Entries {
            files,
            directories: self.directories.clone(),
        })
    }
}

/// A stream of numbers from a seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Disk, Fault, FaultyDisk};
    use std::path::Path;

    #[test]
    fn only_what_was_synced_is_sure_to_survive() {
        let disk = FaultyDisk::new();
        let file = disk.create(Path::new("f"), 4096).unwrap();
        file.write_at(&[1; 600], 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory(Path::new("")).unwrap();
        file.write_at(&[2; 600], 100).unwrap();
        disk.create(Path::new("g"), 0).unwrap();
        let (mut torn, mut lost) = (false, false);
        for seed in 0..50 {
            let after = disk.after_power_cut(seed).unwrap();
            let mut found = [0; 700];
            after
                .open(Path::new("f"))
                .unwrap()
                .read_at(&mut found, 0)
                .unwrap();
            assert_eq!(&found[..100], &[1; 100]);
            torn |= found[511] != found[512] && found[512] == 2;
            lost |= after.open(Path::new("g")).is_err();
        }
        assert!(torn && lost);
    }

    #[test]
    fn a_failed_sync_loses_its_writes_and_a_power_cut_fails_all_later_operations() {
        let disk = FaultyDisk::new();
        let file = disk.create(Path::new("f"), 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory(Path::new("")).unwrap();
        disk.set_fault(Fault::FailedSync(1));
        file.write_at(b"lost", 0).unwrap();
        assert!(file.sync().is_err());
        file.sync().unwrap();
        let after = disk.after_power_cut(1).unwrap();
        assert_eq!(after.open(Path::new("f")).unwrap().len().unwrap(), 0);
        disk.set_fault(Fault::PowerCut(2));
        file.write_at(b"kept", 0).unwrap();
        assert!(file.write_at(b"cut!", 4).is_err());
        assert!(file.sync().is_err() && disk.create(Path::new("g"), 0).is_err());
    }
}

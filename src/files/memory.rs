//! A disk in memory: a list of anonymous files. Nothing of it survives the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::anonymous::anonymous_file;
use super::disk::{Disk, File};
use super::map::Map;
use super::positional::{read_exact_at, write_all_at};
use crate::error::{Error, Result};

/// A disk whose files lie in memory.
#[derive(Debug, Default)]
pub struct MemoryDisk {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    files: BTreeMap<PathBuf, Arc<MemoryFile>>,
    directories: BTreeSet<PathBuf>,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }
}

/// The names directly in `directory` among `paths`, sorted.
pub(super) fn names_in<'a>(directory: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let names: BTreeSet<PathBuf> = paths
        .filter(|path| path.parent() == Some(directory))
        .filter_map(|path| path.file_name().map(PathBuf::from))
        .collect();
    names.into_iter().collect()
}

/// The error of an operation on a file that a disk in memory does not have, or has already.
pub(super) fn refused(doing: &str, path: &Path, kind: io::ErrorKind) -> Error {
    Error::io(format!("{doing} {} in memory", path.display()), kind.into())
}

impl Disk for MemoryDisk {
    fn root(&self) -> Option<&Path> {
        None
    }

    fn create(&self, path: &Path, size: u64) -> Result<Arc<dyn File>> {
        let mut entries = self.entries.lock();
        if entries.files.contains_key(path) {
            return Err(refused("creating", path, io::ErrorKind::AlreadyExists));
        }
        let made = anonymous_file().and_then(|file| file.set_len(size).map(|()| file));
        let file =
            made.map_err(|error| Error::io(format!("creating {} in memory", path.display()), error))?;
        let file = Arc::new(MemoryFile {
            path: path.to_path_buf(),
            file,
        });
        entries.files.insert(path.to_path_buf(), file.clone());
        Ok(file)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        match self.entries.lock().files.get(path) {
            Some(file) => Ok(file.clone()),
            None => Err(refused("opening", path, io::ErrorKind::NotFound)),
        }
    }

    fn remove(&self, path: &Path) -> Result<()> {
        match self.entries.lock().files.remove(path) {
            Some(_) => Ok(()),
            None => Err(refused("removing", path, io::ErrorKind::NotFound)),
        }
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let entries = self.entries.lock();
        Ok(names_in(
            directory,
            entries.files.keys().chain(entries.directories.iter()),
        ))
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        self.entries.lock().directories.insert(path.to_path_buf());
        Ok(())
    }

    fn sync_directory(&self, _directory: &Path) -> Result<()> {
        Ok(())
    }

    /// Nobody else can reach this disk, so the lock is always free.
    fn lock(&self, path: &Path) -> Result<Box<dyn Send + Sync>> {
        let present = self.entries.lock().files.contains_key(path);
        if !present {
            self.create(path, 0)?;
        }
        Ok(Box::new(()))
    }

    fn temporary(&self) -> Result<Arc<dyn File>> {
        MemoryFile::temporary()
    }

    fn is_read_only(&self) -> bool {
        false
    }
}

/// An anonymous file under a name of its own.
#[derive(Debug)]
pub(super) struct MemoryFile {
    path: PathBuf,
    file: fs::File,
}

impl MemoryFile {
    /// A new empty file that no directory lists.
    pub(super) fn temporary() -> Result<Arc<dyn File>> {
        let made =
            anonymous_file().map_err(|error| Error::io("creating a temporary file in memory", error))?;
        Ok(Arc::new(MemoryFile {
            path: PathBuf::from("temporary"),
            file: made,
        }))
    }

    fn failed(&self, doing: &str, error: io::Error) -> Error {
        Error::io(format!("{doing} {} in memory", self.path.display()), error)
    }
}

impl File for MemoryFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        metadata
            .map(|found| found.len())
            .map_err(|error| self.failed("measuring", error))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(&self.file, buffer, offset).map_err(|error| self.failed("reading", error))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        write_all_at(&self.file, bytes, offset).map_err(|error| self.failed("writing", error))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file
            .set_len(len)
            .map_err(|error| self.failed("resizing", error))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn map(&self, len: u64) -> Result<Map> {
        Map::new(&self.file, len).map_err(|error| self.failed("mapping", error))
    }
}

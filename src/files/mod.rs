//! The only door to the disk.
//!
//! Everything the heap writes goes through [`Disk`] and [`File`]. Three disks exist: the real one, one in memory, and
//! a faulty one that keeps a live and a durable image, so that a test can cut the power at any operation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;

/// A directory tree that holds a database.
///
/// All paths are relative to the database directory. A new file and a removal are durable only after
/// [`Disk::sync_directory`] of their parent.
pub trait Disk: Send + Sync + std::fmt::Debug {
    /// The root as a path of the operating system, for messages and for libraries that open files themselves
    /// (`None` on a disk that has none).
    fn root(&self) -> Option<&Path>;
    /// Creates a file that must not exist, and reserves `size` bytes for it (zeroes; no later write inside can fail
    /// for want of space).
    fn create(&self, path: &Path, size: u64) -> Result<Arc<dyn File>>;
    /// Opens an existing file for reading and, unless the disk was opened read-only, writing.
    fn open(&self, path: &Path) -> Result<Arc<dyn File>>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Renames a file over another, atomically.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// The names of the files and directories directly in `directory`, sorted; empty if it does not exist.
    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>>;
    /// Creates a directory if it does not exist.
    fn create_directory(&self, path: &Path) -> Result<()>;
    /// Makes creations, renames and removals directly in `directory` durable.
    fn sync_directory(&self, directory: &Path) -> Result<()>;
    /// Takes the exclusive lock on `path` (created if absent); held until the guard is dropped.
    fn lock(&self, path: &Path) -> Result<Box<dyn Send + Sync>>;
    /// Whether writing is refused.
    fn is_read_only(&self) -> bool;
}

/// An open file of a [`Disk`].
pub trait File: Send + Sync + std::fmt::Debug {
    /// The path it was opened with, for messages.
    fn path(&self) -> &Path;
    /// Its length in bytes.
    fn len(&self) -> Result<u64>;
    /// Reads exactly `buffer.len()` bytes at `offset`.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()>;
    /// Writes all of `bytes` at `offset`; not durable before [`File::sync`].
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()>;
    /// Sets the length.
    fn set_len(&self, len: u64) -> Result<()>;
    /// When it returns, all writes made before it was called are durable.
    fn sync(&self) -> Result<()>;
    /// Maps the first `len` bytes for reading. Later writes through this file show in the map.
    fn map(&self, len: u64) -> Result<Map>;
}

/// A read-only mapping of a file; derefs to its bytes.
#[derive(Debug)]
pub struct Map(memmap2::Mmap);

//! What a disk can do: the two traits that every disk implements.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::map::Map;
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
    /// for want of space). Leaves nothing behind when it fails.
    fn create(&self, path: &Path, size: u64) -> Result<Arc<dyn File>>;
    /// Opens an existing file for reading and, unless the disk was opened read-only, writing.
    fn open(&self, path: &Path) -> Result<Arc<dyn File>>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<()>;
    /// The names of the files and directories directly in `directory`, sorted; empty if it does not exist.
    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>>;
    /// Creates a directory if it does not exist.
    fn create_directory(&self, path: &Path) -> Result<()>;
    /// Makes creations, renames and removals directly in `directory` durable.
    fn sync_directory(&self, directory: &Path) -> Result<()>;
    /// Takes the lock on `path`, held until the guard is dropped: exclusive, and `path` is created if absent; on a
    /// read-only disk shared with other readers, and nothing is created. [`Error::Locked`](crate::Error::Locked) if
    /// another holds it.
    fn lock(&self, path: &Path) -> Result<Box<dyn Send + Sync>>;
    /// A new empty file for what is not kept: no directory lists it, and it is gone with its last handle, or with the
    /// process. Never synced.
    fn temporary(&self) -> Result<Arc<dyn File>>;
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
    /// Maps the first `len` bytes for reading; the file must have them. Later writes through this file show in the
    /// map. A mapped byte must not be read after [`File::set_len`] has cut it off.
    fn map(&self, len: u64) -> Result<Map>;
}

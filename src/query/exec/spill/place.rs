//! Where rows go that do not fit in memory. Queries name no disk: whoever runs them gives them this.

use std::fmt::Debug;

use crate::error::Result;

/// A place for temporary files.
pub trait TemporaryFiles: Send + Sync + Debug {
    /// A new empty file, which is gone when it is dropped, or when the process ends.
    fn create(&self) -> Result<Box<dyn TemporaryFile>>;
}

/// A file that only its owner sees.
pub trait TemporaryFile: Send + Debug {
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()>;
    /// Fills `buffer` from `offset` on.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()>;
}

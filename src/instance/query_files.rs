//! The temporary files of queries, on the database's own disk.

use std::sync::Arc;

use crate::error::Result;
use crate::files::{Disk, File};
use crate::query::{TemporaryFile, TemporaryFiles};

/// Gives queries files on a disk.
#[derive(Debug)]
pub(super) struct QueryFiles(pub Arc<dyn Disk>);

#[derive(Debug)]
struct QueryFile(Arc<dyn File>);

impl TemporaryFiles for QueryFiles {
    fn create(&self) -> Result<Box<dyn TemporaryFile>> {
        Ok(Box::new(QueryFile(self.0.temporary()?)))
    }
}

impl TemporaryFile for QueryFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.0.read_at(buffer, offset)
    }
}

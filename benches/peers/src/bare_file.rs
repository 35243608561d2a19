//! What the disk gives: records appended to a plain file of fixed size, in groups, one fdatasync a group.
//!
//! Whoever finds no group being synced takes all records that wait, writes them with one call and syncs; the others
//! wait for their record's group. Records carry neither checksums nor heads, and nothing else is kept.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Result, ensure};
use parking_lot::{Condvar, Mutex};
use rustix::fs::{FallocateFlags, fallocate};

/// How the file's blocks were prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// Allocated, never written: the file system notes each first write, as in Olivine's segments.
    Allocated,
    /// Written with zeros before.
    Written,
}

/// A file that is appended to.
#[derive(Debug)]
pub struct BareFile {
    file: File,
    state: Mutex<State>,
    synced: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// Where the next group goes.
    end: u64,
    appended: u64,
    durable: u64,
    syncing: bool,
}

const SIZE: u64 = 512 << 20;

impl BareFile {
    /// Creates the file and makes its size durable.
    pub fn create(path: &Path, blocks: Blocks) -> Result<BareFile> {
        let file = File::create(path)?;
        fallocate(&file, FallocateFlags::empty(), 0, SIZE)?;
        if blocks == Blocks::Written {
            let zeros = vec![0; 1 << 20];
            for at in (0..SIZE).step_by(zeros.len()) {
                file.write_all_at(&zeros, at)?;
            }
        }
        file.sync_all()?;
        Ok(BareFile {
            file,
            state: Mutex::default(),
            synced: Condvar::new(),
        })
    }

    /// Appends a record; it is on the disk when this returns.
    pub fn append(&self, record: &[u8]) -> Result<()> {
        let mut state = self.state.lock();
        state.waiting.extend_from_slice(record);
        state.appended += 1;
        let mine = state.appended;
        while state.durable < mine {
            if state.syncing {
                self.synced.wait(&mut state);
                continue;
            }
            state.syncing = true;
            let (group, at, through) = (std::mem::take(&mut state.waiting), state.end, state.appended);
            ensure!(at + group.len() as u64 <= SIZE, "the bare file is full");
            state.end += group.len() as u64;
            drop(state);
            self.file.write_all_at(&group, at)?;
            self.file.sync_data()?;
            state = self.state.lock();
            state.durable = through;
            state.syncing = false;
            self.synced.notify_all();
        }
        Ok(())
    }

    /// Records on the disk.
    pub fn records(&self) -> u64 {
        self.state.lock().durable
    }
}

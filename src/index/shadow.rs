//! Opening the indexes of a database that is opened read-only.
//!
//! The engine cannot open its directory without writing to it. So it is shown another one: in the system's directory for
//! temporary files, with links to the files that hold data, which are never changed in place, and copies of the small
//! ones. What recovery and merging write goes there, and all of it is removed when the database is closed. Several readers
//! each have their own.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory that stands in for that of the indexes; removed when it is dropped.
#[derive(Debug)]
pub struct Shadow {
    path: PathBuf,
}

impl Shadow {
    /// A shadow of `directory`; `None` where there is no such directory, or no room for a shadow: the indexes are then
    /// built in memory.
    pub fn of(directory: &Path) -> Option<Shadow> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !directory.is_dir() {
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("olivine-index-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Left by a process of the same number that was killed.
        let _ = fs::remove_dir_all(&path);
        let directory = fs::canonicalize(directory).ok()?;
        let shadow = Shadow { path };
        mirror(&directory, &shadow.path).ok().map(|()| shadow)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // Links are removed, not what they lead to.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    let holds_data = from
        .file_name()
        .is_some_and(|name| name == "tables" || name == "blobs");
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            mirror(&entry.path(), &target)?;
        } else if holds_data {
            link(&entry.path(), &target)?;
        } else {
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    copy(from, to)
}

/// Copies a file, but not its zeroes: a journal is mostly reserved space.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut source, mut target) = (File::open(from)?, File::create(to)?);
    let mut piece = vec![0; 64 << 10];
    let mut offset = 0u64;
    loop {
        let length = source.read(&mut piece)?;
        let bytes = piece.get(..length).unwrap_or_default();
        if bytes.is_empty() {
            return target.set_len(offset);
        }
        if bytes.iter().any(|byte| *byte != 0) {
            target.seek(SeekFrom::Start(offset))?;
            target.write_all(bytes)?;
        }
        offset = offset.saturating_add(length as u64);
    }
}

//! Whole directories: whether a place is free, and putting one directory in the place of another in one step.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::real::sync_parent;
use crate::error::{Error, Result};

/// Whether nothing is at `path`, or an empty directory.
pub fn is_free(path: &Path) -> Result<bool> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io(format!("looking at {}", path.display()), error)),
    }
}

/// Whether the directory `path` has something of this name.
pub fn has(path: &Path, name: &str) -> bool {
    path.join(name).exists()
}

/// The place beside `path` with `ending` behind its name.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    let text = name.to_string_lossy().into_owned();
    if text.ends_with('/') {
        name = text.trim_end_matches('/').into();
    }
    name.push(ending);
    PathBuf::from(name)
}

/// Removes everything in the directory `path` but what is called `except`.
pub fn empty(path: &Path, except: &str) -> Result<()> {
    let failed = |error| Error::io(format!("emptying {}", path.display()), error);
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name() == except {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        let removed = match kind.is_dir() {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
        removed.map_err(failed)?;
    }
    Ok(())
}

/// Removes the directory `path` with all in it.
pub fn remove(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).map_err(|error| Error::io(format!("removing {}", path.display()), error))
}

/// Puts the directory `from` at `to`, durably. What is there is replaced in one step where the system can do that (on
/// Linux), and removed afterwards; elsewhere it is moved aside first.
pub fn put(from: &Path, to: &Path) -> Result<()> {
    let failed = |error| {
        let doing = format!("moving {} to {}", from.display(), to.display());
        Error::io(doing, error)
    };
    if is_free(to)? {
        match fs::remove_dir(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::rename(from, to).map_err(failed)?;
        return sync_parent(to);
    }
    if exchange(from, to).is_err() {
        let aside = beside(to, ".replaced");
        fs::rename(to, &aside).map_err(failed)?;
        fs::rename(from, to).map_err(failed)?;
        sync_parent(to)?;
        return remove(&aside);
    }
    sync_parent(to)?;
    remove(from)
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Bytes of all files below `path`; what cannot be read counts as nothing.
pub fn bytes(path: &Path) -> u64 {
    let mut total = 0u64;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(found) if found.is_dir() => total = total.saturating_add(bytes(&entry.path())),
            Ok(found) => total = total.saturating_add(on_disk(&found)),
            Err(_) => {}
        }
    }
    total
}

#[cfg(unix)]
fn on_disk(found: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    found.blocks().saturating_mul(512)
}

#[cfg(not(unix))]
fn on_disk(found: &fs::Metadata) -> u64 {
    found.len()
}

/// Bytes of memory of a process that are resident, where the system tells; 0 elsewhere.
pub fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

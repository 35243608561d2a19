//! The real disk: a directory of the operating system.

use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::disk::{Disk, File};
use super::map::Map;
use super::positional::{read_exact_at, write_all_at};
use crate::error::{Error, Result};

/// A directory of the operating system.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
    read_only: bool,
}

impl RealDisk {
    /// The directory `root`, which must exist. Opened `read_only`, nothing in it is created or changed.
    pub fn open(root: &Path, read_only: bool) -> Result<RealDisk> {
        match fs::metadata(root) {
            Ok(found) if found.is_dir() => Ok(RealDisk {
                root: root.to_path_buf(),
                read_only,
            }),
            Ok(_) => Err(Error::Format(format!(
                "{} is a file; a database is a directory: name the directory, or another place",
                root.display()
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Format(format!(
                "there is no database at {}: the directory does not exist",
                root.display()
            ))),
            Err(error) => Err(Error::io(
                format!("opening the directory {}", root.display()),
                error,
            )),
        }
    }

    /// The directory `root` for reading and writing; its last component is created if absent, never its parents.
    pub fn create(root: &Path) -> Result<RealDisk> {
        match fs::create_dir(root) {
            Ok(()) => sync_parent(root)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Format(format!(
                    "cannot create the database {}: its parent directory does not exist; create that first",
                    root.display()
                )));
            }
            Err(error) => {
                return Err(Error::io(
                    format!("creating the directory {}", root.display()),
                    error,
                ));
            }
        }
        RealDisk::open(root, false)
    }

    fn at(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    fn writable(&self, path: &Path) -> Result<PathBuf> {
        let path = self.at(path);
        if self.read_only {
            let text = format!(
                "{} was opened read-only; nothing can be changed",
                self.root.display()
            );
            return Err(Error::ReadOnly(text));
        }
        Ok(path)
    }
}

impl Disk for RealDisk {
    fn root(&self) -> Option<&Path> {
        Some(&self.root)
    }

    fn create(&self, path: &Path, size: u64) -> Result<Arc<dyn File>> {
        let path = self.writable(path)?;
        let doing = || format!("creating {} with {size} bytes", path.display());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| Error::io(doing(), error))?;
        if let Err(error) = reserve_space(&file, size) {
            drop(file);
            // The error that counts is the first one; an empty file left behind is removed at the next open.
            let _ = fs::remove_file(&path);
            return Err(Error::io(doing(), error));
        }
        Ok(Arc::new(RealFile { path, file }))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        let path = self.at(path);
        let file = OpenOptions::new()
            .read(true)
            .write(!self.read_only)
            .open(&path)
            .map_err(|error| Error::io(format!("opening {}", path.display()), error))?;
        Ok(Arc::new(RealFile { path, file }))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let path = self.writable(path)?;
        fs::remove_file(&path).map_err(|error| Error::io(format!("removing {}", path.display()), error))
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let path = self.at(directory);
        let doing = || format!("listing {}", path.display());
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(doing(), error)),
        };
        let names: io::Result<Vec<PathBuf>> = entries
            .map(|entry| entry.map(|entry| PathBuf::from(entry.file_name())))
            .collect();
        let mut names = names.map_err(|error| Error::io(doing(), error))?;
        names.sort();
        Ok(names)
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        let path = self.writable(path)?;
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            other => {
                other.map_err(|error| Error::io(format!("creating the directory {}", path.display()), error))
            }
        }
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        sync_directory(&self.writable(directory)?)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn Send + Sync>> {
        let path = self.at(path);
        let doing = || format!("locking {}", path.display());
        let file = OpenOptions::new()
            .read(true)
            .write(!self.read_only)
            .create(!self.read_only)
            .truncate(false)
            .open(&path)
            .map_err(|error| Error::io(doing(), error))?;
        let patience = Instant::now() + LOCK_PATIENCE;
        loop {
            let locked = if self.read_only {
                file.try_lock_shared()
            } else {
                file.try_lock()
            };
            match locked {
                Ok(()) => return Ok(Box::new(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < patience => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Locked {
                        path: self.root.clone(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io(doing(), error)),
            }
        }
    }

    /// Created in the directory (of one opened read-only, among the temporary files of the system) and removed from it at
    /// once.
    fn temporary(&self) -> Result<Arc<dyn File>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let directory = match self.read_only {
            true => std::env::temp_dir(),
            false => self.root.clone(),
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("temporary-{}-{number}", std::process::id()));
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .and_then(|file| fs::remove_file(&path).map(|()| file));
        let file = made
            .map_err(|error| Error::io(format!("creating the temporary file {}", path.display()), error))?;
        Ok(Arc::new(RealFile { path, file }))
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }
}

/// How long an opener waits for a lock. A process that closes a database while another of its threads starts a child
/// leaves the lock with the child until that runs its program, which takes milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A file of the operating system.
#[derive(Debug)]
struct RealFile {
    path: PathBuf,
    file: fs::File,
}

impl RealFile {
    fn failed(&self, doing: &str, error: io::Error) -> Error {
        Error::io(format!("{doing} {}", self.path.display()), error)
    }
}

impl File for RealFile {
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
        let len = buffer.len();
        read_exact_at(&self.file, buffer, offset)
            .map_err(|error| self.failed(&format!("reading {len} bytes at {offset} of"), error))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let len = bytes.len();
        write_all_at(&self.file, bytes, offset)
            .map_err(|error| self.failed(&format!("writing {len} bytes at {offset} of"), error))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file
            .set_len(len)
            .map_err(|error| self.failed(&format!("setting to {len} bytes the length of"), error))
    }

    fn sync(&self) -> Result<()> {
        sync_data(&self.file).map_err(|error| self.failed("syncing", error))
    }

    fn map(&self, len: u64) -> Result<Map> {
        Map::new(&self.file, len).map_err(|error| self.failed(&format!("mapping {len} bytes of"), error))
    }
}

#[cfg(target_os = "linux")]
fn sync_data(file: &fs::File) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_data(file: &fs::File) -> io::Result<()> {
    file.sync_data()
}

/// Gives `file` the length `size`, with its blocks allocated where the file system can do that.
#[cfg(target_os = "linux")]
fn reserve_space(file: &fs::File, size: u64) -> io::Result<()> {
    use rustix::io::Errno;
    if size == 0 {
        return Ok(());
    }
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(size),
        other => Ok(other?),
    }
}

/// Gives `file` the length `size`.
#[cfg(not(target_os = "linux"))]
fn reserve_space(file: &fs::File, size: u64) -> io::Result<()> {
    file.set_len(size)
}

pub(super) fn sync_parent(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_directory(Path::new(".")),
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> Result<()> {
    fs::File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| Error::io(format!("syncing the directory {}", path.display()), error))
}

/// Windows makes directory entries durable by itself, and cannot open a directory for syncing.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_place_of_the_directory_and_a_missing_parent_are_named() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, b"text").unwrap();
        let error = RealDisk::open(&file, true).unwrap_err().to_string();
        assert!(error.contains("is a file"), "{error}");
        assert!(RealDisk::create(&file).is_err());
        let error = RealDisk::create(&place.path().join("a/b"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("parent directory"), "{error}");
        assert!(!place.path().join("a").exists());
        let error = RealDisk::open(&place.path().join("c"), true)
            .unwrap_err()
            .to_string();
        assert!(error.contains("does not exist"), "{error}");
    }

    #[test]
    fn the_lock_refuses_a_second_writer_and_readers_share_it() {
        let place = tempfile::tempdir().unwrap();
        let writer = RealDisk::open(place.path(), false).unwrap();
        let reader = RealDisk::open(place.path(), true).unwrap();
        let lock = Path::new("FORMAT");
        assert!(reader.lock(lock).is_err());
        let held = writer.lock(lock).unwrap();
        assert!(matches!(writer.lock(lock), Err(Error::Locked { .. })));
        assert!(matches!(reader.lock(lock), Err(Error::Locked { .. })));
        drop(held);
        let _shared = (reader.lock(lock).unwrap(), reader.lock(lock).unwrap());
        assert!(matches!(writer.lock(lock), Err(Error::Locked { .. })));
    }

    #[test]
    fn a_file_is_written_read_and_mapped() {
        let place = tempfile::tempdir().unwrap();
        let disk = RealDisk::open(place.path(), false).unwrap();
        let file = disk.create(Path::new("f"), 8192).unwrap();
        assert_eq!(file.len().unwrap(), 8192);
        let map = file.map(8192).unwrap();
        file.write_at(b"olivine", 4000).unwrap();
        assert_eq!(&map[4000..4007], b"olivine");
        assert!(file.map(8193).is_err());
        assert!(disk.create(Path::new("f"), 0).is_err());
    }
}

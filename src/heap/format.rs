//! The file FORMAT: what the directory is, and who may open it.
//!
//! Two copies of one small structure, each within a sector, so that a power cut leaves at least one whole; the sound
//! one with the highest generation counts. The file is also what is locked while the database is open.
//!
//! The life of a new database: the directory is made; FORMAT is created empty and locked; `heap` and `table` are made
//! and the directory synced; FORMAT is written and synced. Only then are there segments. So a directory with an empty
//! FORMAT and nothing else is a creation that was interrupted, and is completed by the next open.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::fixed::{put, u16_at, u32_at, u64_at};
use super::segment::HEAP_DIRECTORY;
use crate::error::{Error, Result};
use crate::files::{Disk, File};

/// The format this build writes, and the oldest and newest it reads.
pub(super) const FORMAT: u16 = 1;
const OLDEST: u16 = 1;
const NAME: &str = "FORMAT";
const MAGIC: &[u8; 8] = b"OLIVINE\0";
/// Bytes between the copies: a sector each.
const COPY: usize = 512;
/// Bytes of a copy that are used.
const USED: usize = 128;
const DIRECTORIES: [&str; 2] = [HEAP_DIRECTORY, "table"];

/// What FORMAT says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    generation: u32,
    /// Features a build may not know and still read and write.
    compatible: u64,
    /// Features a build must know to write.
    read_only: u64,
    /// Features a build must know to read.
    incompatible: u64,
    pub(super) database: [u8; 16],
    pub(super) secret: [u8; 16],
    pub(super) timeline: u32,
}

/// The open FORMAT file, its lock held.
pub(super) struct FormatFile {
    pub(super) format: Format,
    /// Whether this open created the database.
    pub(super) created: bool,
    _lock: Box<dyn Send + Sync>,
}

impl std::fmt::Debug for FormatFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FormatFile").field(&self.format).finish()
    }
}

/// The database as messages name it.
pub(super) fn database_name(disk: &dyn Disk) -> String {
    match disk.root() {
        Some(root) => root.display().to_string(),
        None => "in memory".into(),
    }
}

/// Opens and locks FORMAT; writes it first if `create` allows that and the directory is new.
pub(super) fn open_format(disk: &dyn Disk, create: bool) -> Result<FormatFile> {
    let create = create && !disk.is_read_only();
    let names = disk.list(Path::new(""))?;
    if !names.iter().any(|name| name == Path::new(NAME)) {
        check_new(disk, &names, create)?;
    }
    let lock = disk.lock(Path::new(NAME))?;
    let file = disk.open(Path::new(NAME))?;
    let (format, created) = match read_format(disk, &*file)? {
        Some((format, whole)) => {
            if !whole && !disk.is_read_only() {
                write_copies(&*file, &format)?;
            }
            (format, false)
        }
        None => {
            check_new(disk, &names, create)?;
            (create_format(disk, &*file)?, true)
        }
    };
    Ok(FormatFile {
        format,
        created,
        _lock: lock,
    })
}

/// Whether a database may be made in a directory that has these names and no written FORMAT.
fn check_new(disk: &dyn Disk, names: &[PathBuf], create: bool) -> Result<()> {
    let database = database_name(disk);
    let holds = |directory: &str| Ok::<bool, Error>(!disk.list(Path::new(directory))?.is_empty());
    if holds(HEAP_DIRECTORY)? {
        return Err(Error::Format(format!(
            "{database} holds segments, but its FORMAT file is missing or empty: put FORMAT back from a backup, or salvage"
        )));
    }
    let ours = |name: &PathBuf| {
        name == Path::new(NAME) || DIRECTORIES.iter().any(|directory| name == Path::new(directory))
    };
    if !names.iter().all(ours) || holds("table")? {
        return Err(Error::Format(format!(
            "{database} is no Olivine database: the directory is not empty and has no FORMAT file; name another"
        )));
    }
    if !create {
        return Err(Error::Format(format!(
            "there is no database at {database}; create it first"
        )));
    }
    Ok(())
}

/// The identity of a new database.
fn new_format() -> Result<Format> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)
        .map_err(|error| Error::io("asking the system for random bytes", std::io::Error::other(error)))?;
    let (id, secret) = random.split_at(16);
    let database = Uuid::from_slice(id).unwrap_or_default();
    Ok(Format {
        generation: 1,
        compatible: 0,
        read_only: 0,
        incompatible: 0,
        database: *uuid::Builder::from_random_bytes(*database.as_bytes())
            .as_uuid()
            .as_bytes(),
        secret: secret.try_into().unwrap_or_default(),
        timeline: 1,
    })
}

fn create_format(disk: &dyn Disk, file: &dyn File) -> Result<Format> {
    let format = new_format()?;
    for directory in DIRECTORIES {
        disk.create_directory(Path::new(directory))?;
    }
    disk.sync_directory(Path::new(""))?;
    let mut bytes = [0; 2 * COPY];
    put(&mut bytes, 0, &format.encode());
    put(&mut bytes, COPY, &format.encode());
    file.write_at(&bytes, 0)?;
    file.sync()?;
    Ok(format)
}

/// Writes the FORMAT of a database that was put together from the segments of another time: the same identity, a new
/// timeline, which is returned. Durable when it returns.
pub(super) fn write_new_format(disk: &dyn Disk, before: &Format) -> Result<u32> {
    let format = Format {
        generation: 1,
        timeline: before.timeline.saturating_add(1),
        ..*before
    };
    let mut bytes = [0; 2 * COPY];
    put(&mut bytes, 0, &format.encode());
    put(&mut bytes, COPY, &format.encode());
    disk.create_directory(Path::new("table"))?;
    let file = disk.create(Path::new(NAME), bytes.len() as u64)?;
    file.write_at(&bytes, 0)?;
    file.sync()?;
    disk.sync_directory(Path::new(""))?;
    Ok(format.timeline)
}

/// Writes one copy after the other, so that one is whole at any time.
fn write_copies(file: &dyn File, format: &Format) -> Result<()> {
    for copy in [COPY as u64, 0] {
        file.write_at(&format.encode(), copy)?;
        file.sync()?;
    }
    Ok(())
}

/// What the file says; `None` if it was never written. False beside it if a power cut has left one copy unwritten or
/// behind the other.
fn read_format(disk: &dyn Disk, file: &dyn File) -> Result<Option<(Format, bool)>> {
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    let mut bytes = [0; 2 * COPY];
    let present = bytes.get_mut(..length.min(2 * COPY)).unwrap_or_default();
    file.read_at(present, 0)?;
    if present.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let database = database_name(disk);
    let (first, second) = bytes.split_at(COPY);
    check_version(&database, first)?;
    let copies = [first, second].into_iter().filter_map(Format::decode);
    let Some(format) = copies.max_by_key(|format| format.generation) else {
        return Err(Error::Format(format!(
            "the FORMAT file of {database} is damaged or another program's: put it back from a backup, or name another directory"
        )));
    };
    format.check_features(&database, disk.is_read_only())?;
    let behind = |copy: &[u8]| match Format::decode(copy) {
        Some(other) => other != format,
        None => copy.iter().all(|byte| *byte == 0),
    };
    Ok(Some((format, !behind(first) && !behind(second))))
}

/// Refuses a format this build does not read, by name.
fn check_version(database: &str, copy: &[u8]) -> Result<()> {
    let version = u16_at(copy, 8).unwrap_or(0);
    if copy.starts_with(MAGIC) && !(OLDEST..=FORMAT).contains(&version) {
        return Err(Error::Format(format!(
            "{database} has format {version}, this build reads {OLDEST} to {FORMAT}; open it with a build that reads it"
        )));
    }
    Ok(())
}

impl Format {
    pub(super) fn encode(&self) -> [u8; USED] {
        let mut bytes = [0; USED];
        put(&mut bytes, 0, MAGIC);
        put(&mut bytes, 8, &FORMAT.to_le_bytes());
        put(&mut bytes, 12, &self.generation.to_le_bytes());
        put(&mut bytes, 16, &self.compatible.to_le_bytes());
        put(&mut bytes, 24, &self.read_only.to_le_bytes());
        put(&mut bytes, 32, &self.incompatible.to_le_bytes());
        put(&mut bytes, 40, &self.database);
        put(&mut bytes, 56, &self.secret);
        put(&mut bytes, 72, &self.timeline.to_le_bytes());
        let checksum = crc32c::crc32c(bytes.get(..USED - 4).unwrap_or_default());
        put(&mut bytes, USED - 4, &checksum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(copy: &[u8]) -> Option<Format> {
        let checksum = crc32c::crc32c(copy.get(..USED - 4)?);
        if !copy.starts_with(MAGIC) || u32_at(copy, USED - 4)? != checksum {
            return None;
        }
        Some(Format {
            generation: u32_at(copy, 12)?,
            compatible: u64_at(copy, 16)?,
            read_only: u64_at(copy, 24)?,
            incompatible: u64_at(copy, 32)?,
            database: *copy.get(40..)?.first_chunk()?,
            secret: *copy.get(56..)?.first_chunk()?,
            timeline: u32_at(copy, 72)?,
        })
    }

    fn check_features(&self, database: &str, read_only: bool) -> Result<()> {
        let unknown = if self.incompatible != 0 {
            self.incompatible
        } else if self.read_only != 0 && !read_only {
            self.read_only
        } else {
            return Ok(());
        };
        let what = if self.incompatible != 0 { "open" } else { "write" };
        Err(Error::Format(format!(
            "{database} uses the features {unknown:#x}, which this build does not know; use a newer build to {what} it"
        )))
    }
}

impl FormatFile {
    /// Begins a new timeline: history was cut off. Durable when it returns.
    pub(super) fn begin_timeline(&mut self, disk: &dyn Disk) -> Result<()> {
        let file = disk.open(Path::new(NAME))?;
        let mut format = self.format;
        format.generation = format.generation.saturating_add(1);
        format.timeline = format.timeline.saturating_add(1);
        write_copies(&*file, &format)?;
        self.format = format;
        Ok(())
    }
}

/// What FORMAT says, if it can be read at all; a newer format is refused by name.
pub(super) fn find_format(disk: &dyn Disk) -> Result<Option<Format>> {
    let Ok(file) = disk.open(Path::new(NAME)) else {
        return Ok(None);
    };
    match read_format(disk, &*file) {
        Ok(found) => Ok(found.map(|(format, _)| format)),
        Err(error @ Error::Format(_)) => {
            let mut bytes = [0; 2 * COPY];
            let present = bytes
                .get_mut(..(file.len()? as usize).min(2 * COPY))
                .unwrap_or_default();
            file.read_at(present, 0)?;
            // Damage is what salvage is for; a format of another build is not.
            match bytes.chunks(COPY).any(|copy| Format::decode(copy).is_some()) {
                true => Err(error),
                false => Ok(None),
            }
        }
        Err(_) => Ok(None),
    }
}

/// Makes the directories and the FORMAT of a new database whose timeline is not the first.
pub fn found(disk: &dyn Disk, timeline: u32) -> Result<()> {
    for directory in DIRECTORIES {
        disk.create_directory(Path::new(directory))?;
    }
    let format = Format {
        timeline: timeline.saturating_sub(1),
        ..new_format()?
    };
    write_new_format(disk, &format).map(drop)
}

/// Checks both copies byte by byte; `Some` says what is wrong.
pub(super) fn verify_format(disk: &dyn Disk) -> Result<Option<String>> {
    let file = disk.open(Path::new(NAME))?;
    let mut bytes = [0; 2 * COPY];
    if file.len()? != bytes.len() as u64 {
        return Ok(Some("the file has the wrong length".into()));
    }
    file.read_at(&mut bytes, 0)?;
    let (first, second) = bytes.split_at(COPY);
    let slack = |copy: &[u8]| {
        copy.get(USED..)
            .is_some_and(|rest| rest.iter().any(|byte| *byte != 0))
    };
    Ok(match (Format::decode(first), Format::decode(second)) {
        (None, _) => Some("the first copy is damaged".into()),
        (_, None) => Some("the second copy is damaged".into()),
        (Some(one), Some(other)) if one != other => Some("the two copies differ".into()),
        _ if slack(first) || slack(second) => Some("bytes that should be zero are not".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryDisk;

    fn refusal(disk: &MemoryDisk, create: bool) -> String {
        open_format(disk, create).unwrap_err().to_string()
    }

    fn overwrite(disk: &MemoryDisk, at: u64, bytes: &[u8]) {
        disk.open(Path::new(NAME)).unwrap().write_at(bytes, at).unwrap();
    }

    #[test]
    fn a_database_is_created_once_and_keeps_its_identity() {
        let disk = MemoryDisk::new();
        assert!(refusal(&disk, false).contains("no database"));
        let mut first = open_format(&disk, true).unwrap();
        let again = open_format(&disk, true).unwrap();
        assert!(first.created && !again.created);
        assert_eq!(first.format, again.format);
        first.begin_timeline(&disk).unwrap();
        assert_eq!(open_format(&disk, false).unwrap().format.timeline, 2);
        assert_eq!(verify_format(&disk).unwrap(), None);
    }

    #[test]
    fn foreign_directories_and_files_are_refused_and_left_alone() {
        let disk = MemoryDisk::new();
        disk.create(Path::new("letter.txt"), 1).unwrap();
        assert!(refusal(&disk, true).contains("not empty"));
        assert_eq!(disk.list(Path::new("")).unwrap(), [PathBuf::from("letter.txt")]);
        let disk = MemoryDisk::new();
        disk.create(Path::new(NAME), 0).unwrap();
        overwrite(&disk, 0, b"a text file");
        assert!(refusal(&disk, true).contains("another program's"));
    }

    #[test]
    fn an_interrupted_creation_is_completed_but_a_lost_format_is_not() {
        let disk = MemoryDisk::new();
        disk.create(Path::new(NAME), 0).unwrap();
        disk.create_directory(Path::new("heap")).unwrap();
        assert!(open_format(&disk, true).unwrap().created);
        let disk = MemoryDisk::new();
        disk.create(Path::new("heap/00000001.seg"), 1).unwrap();
        assert!(refusal(&disk, true).contains("FORMAT file is missing"));
    }

    #[test]
    fn other_formats_and_unknown_features_are_refused_by_name() {
        let disk = MemoryDisk::new();
        let created = open_format(&disk, true).unwrap().format;
        for version in [0u16, 2, u16::MAX] {
            overwrite(&disk, 8, &version.to_le_bytes());
            assert!(refusal(&disk, true).contains(&format!("format {version}, this build reads 1 to 1")));
        }
        let unknown = Format {
            incompatible: 4,
            generation: 9,
            ..created
        };
        overwrite(&disk, 0, &unknown.encode());
        assert!(refusal(&disk, true).contains("features 0x4"));
        overwrite(&disk, 0, &created.encode());
        overwrite(&disk, 60, b"x");
        assert_eq!(open_format(&disk, false).unwrap().format, created);
        assert!(verify_format(&disk).unwrap().unwrap().contains("first copy"));
    }
}

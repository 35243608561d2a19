//! Looking at the engine's files before it does, and giving the whole store up.
//!
//! The engine asks for as much memory as a count in a file says before it compares the checksum; a damaged count would end
//! the process. So the lists of files and the tables of contents are compared with their checksums here first.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::store::damaged;
use crate::error::Result;

/// A file of this name in the directory says that the store must be built anew.
const REBUILD: &str = "REBUILD";
/// Bytes at the end of a table file: magic (4), version, kind of checksum, checksum of the contents (16), where they begin
/// (8), how long they are (8).
const TRAILER: u64 = 38;
/// No table of contents is longer: it has a dozen entries.
const LONGEST_CONTENTS: u64 = 64 << 10;

/// Refuses a directory whose files would make the engine ask for memory by a damaged count, or that was given up.
pub(super) fn check(directory: &Path) -> Result<()> {
    if directory.join(REBUILD).exists() {
        return Err(damaged(directory, "damage was met while they were in use".into()));
    }
    let Ok(spaces) = fs::read_dir(directory.join("keyspaces")) else {
        return Ok(());
    };
    for space in spaces.flatten().map(|entry| entry.path()) {
        let Some(list) = sound_list(&space)? else { continue };
        // What an interrupted ingestion left is not listed: the engine deletes it unread.
        let tables =
            listed_tables(&list).map_err(|error| damaged(&list, format!("it cannot be read: {error}")))?;
        for table in tables {
            check_table(&space.join("tables").join(table.to_string()))?;
        }
    }
    Ok(())
}

/// The list of files, compared with the checksum that is kept of it; none if it is missing or shortened, which is for the
/// engine to find.
fn sound_list(space: &Path) -> Result<Option<PathBuf>> {
    let Ok(current) = fs::read(space.join("current")) else {
        return Ok(None);
    };
    let Some((number, rest)) = current.split_first_chunk::<8>() else {
        return Ok(None);
    };
    let Some((checksum, [0])) = rest.split_first_chunk::<16>() else {
        return Ok(None);
    };
    let list = space.join(format!("v{}", u64::from_le_bytes(*number)));
    match fs::read(&list) {
        Ok(bytes) if xxh3_128(&bytes) != u128::from_le_bytes(*checksum) => {
            Err(damaged(&list, "the list of files has a wrong checksum".into()))
        }
        Ok(_) => Ok(Some(list)),
        Err(_) => Ok(None),
    }
}

/// The numbers of the table files in a sound list: the number of levels (u8), in each that of runs (u8), in each that of
/// tables (u32), each table a number (u64), a kind of checksum (u8), a checksum (16 bytes) and a sequence number (u64).
fn listed_tables(list: &Path) -> std::io::Result<Vec<u64>> {
    let invalid = |error: sfa::Error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string());
    let contents = sfa::Reader::new(list).map_err(invalid)?;
    let Some(section) = contents.toc().section(b"tables") else {
        return Ok(Vec::new());
    };
    let mut section = section.buf_reader(list)?;
    let mut tables = Vec::new();
    for _ in 0..take::<1>(&mut section)?[0] {
        for _ in 0..take::<1>(&mut section)?[0] {
            for _ in 0..u32::from_le_bytes(take(&mut section)?) {
                tables.push(u64::from_le_bytes(take(&mut section)?));
                take::<25>(&mut section)?;
            }
        }
    }
    Ok(tables)
}

fn take<const N: usize>(from: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Compares the table of contents of a table file with its checksum.
fn check_table(path: &Path) -> Result<()> {
    match contents_are_sound(path) {
        Ok(true) | Err(_) => Ok(()),
        Ok(false) => Err(damaged(
            path,
            "the table of contents of a file has a wrong checksum".into(),
        )),
    }
}

/// An error means that the file cannot be read, or is too short: that is for the engine to find.
fn contents_are_sound(path: &Path) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    let Some(end) = file.metadata()?.len().checked_sub(TRAILER) else {
        return Ok(true);
    };
    let mut trailer = [0; TRAILER as usize];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut trailer)?;
    let field = |at: usize| trailer.get(at..).and_then(<[u8]>::first_chunk::<8>);
    let (Some(low), Some(high), Some(start)) = (field(6), field(14), field(22)) else {
        return Ok(false);
    };
    let checksum = u128::from(u64::from_le_bytes(*low)) | u128::from(u64::from_le_bytes(*high)) << 64;
    let start = u64::from_le_bytes(*start);
    let Some(length) = end
        .checked_sub(start)
        .filter(|length| *length <= LONGEST_CONTENTS)
    else {
        return Ok(false);
    };
    let mut contents = vec![0; usize::try_from(length).unwrap_or(0)];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut contents)?;
    Ok(xxh3_128(&contents) == checksum)
}

/// Has the store in `directory` built anew at the next open.
pub(super) fn give_up(directory: &Path) {
    // If this fails, the damage is met again then.
    let _ = File::create(directory.join(REBUILD));
}

/// The same, of the store that has `path` in it.
pub(super) fn give_up_above(path: &Path) {
    let directory = path.ancestors().find(|above| above.join("keyspaces").is_dir());
    if let Some(directory) = directory {
        give_up(directory);
    }
}

//! Making a backup.

use std::path::{Path, PathBuf};

use super::manifest::{
    MANIFESTS, Manifest, SEGMENTS, StoredSegment, lineage, manifest_path, newest_manifest, segment_path,
};
use super::report::BackupReport;
use crate::error::{Error, Result};
use crate::files::{Disk, File, RealDisk};
use crate::heap::{Heap, HeldLog, Moment, SegmentIdentity};
use crate::instance::Instance;
use crate::maintain::progress::{Watch, tell};
use crate::object::{CommitNumber, Timestamp};

/// The file that is locked while a backup is written or read.
pub(super) const LOCK: &str = "LOCK";
const STAGE: &str = "copying segments";

/// Backs a database up into `directory`; see [`Database::backup`](crate::Database::backup).
pub fn backup(instance: &Instance, directory: &Path, prune: bool, watch: Watch<'_>) -> Result<BackupReport> {
    if let Some(root) = instance.root()
        && directory.starts_with(root)
    {
        let sentence = "a backup inside the database itself would be lost with it; name another directory";
        return Err(Error::Argument(sentence.into()));
    }
    let disk = RealDisk::create(directory)?;
    backup_on(&instance.heap, &disk, prune, watch)
}

/// Backs the log of `heap` up onto `disk`.
pub fn backup_on(heap: &Heap, disk: &dyn Disk, prune: bool, watch: Watch<'_>) -> Result<BackupReport> {
    check_ours(disk)?;
    let _lock = disk.lock(Path::new(LOCK))?;
    for directory in [MANIFESTS, SEGMENTS] {
        disk.create_directory(Path::new(directory))?;
    }
    disk.sync_directory(Path::new(""))?;
    let (before, numbers) = newest_manifest(disk)?;
    let format = heap.format_copy();
    if let Some(before) = &before
        && before.lineage().0 != lineage(&format).0
    {
        return Err(Error::Argument(
            "the directory holds a backup of another database; name another directory".into(),
        ));
    }
    let held = heap.hold();
    let mut manifest = Manifest {
        generation: numbers.last().copied().unwrap_or(0).saturating_add(1),
        format,
        ..Manifest::default()
    };
    let continued = before
        .as_ref()
        .filter(|before| before.lineage() == lineage(&manifest.format));
    let unchanged = continued.filter(|before| before.newest() == Some(&held.moment) && !prune);
    if let Some(unchanged) = unchanged {
        return Ok(report(unchanged, &held.moment, Copied::default()));
    }
    let copied = copy_missing(&held, disk, before.as_ref(), &mut manifest, watch)?;
    if let Some(continued) = continued.filter(|_| !prune) {
        manifest.moments.clone_from(&continued.moments);
        let kept = continued.segments.iter();
        let absent: Vec<StoredSegment> = kept
            .filter(|segment| manifest.segment(segment.number).is_none())
            .copied()
            .collect();
        manifest.segments.extend(absent);
        manifest.segments.sort_unstable_by_key(|segment| segment.number);
    }
    manifest.moments.push(held.moment.clone());
    write_manifest(disk, &manifest)?;
    tidy(disk, &manifest, &numbers, prune)?;
    Ok(report(&manifest, &held.moment, copied))
}

/// A directory with anything but a backup in it is left alone.
fn check_ours(disk: &dyn Disk) -> Result<()> {
    let ours = [LOCK, MANIFESTS, SEGMENTS];
    let names = disk.list(Path::new(""))?;
    let foreign = names
        .iter()
        .find(|name| !ours.iter().any(|ours| name.as_path() == Path::new(ours)));
    match foreign {
        None => Ok(()),
        Some(name) => Err(Error::Argument(format!(
            "the directory is no backup: it holds {}; name an empty or a new one",
            name.display()
        ))),
    }
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default)]
struct Copied {
    segments: u64,
    bytes: u64,
}

/// Copies the segments of the moment that are not there, and names all of them in the manifest.
fn copy_missing(
    held: &HeldLog,
    disk: &dyn Disk,
    before: Option<&Manifest>,
    manifest: &mut Manifest,
    watch: Watch<'_>,
) -> Result<Copied> {
    let mut wanted = Vec::new();
    let mut total = 0u64;
    for number in held.moment.numbers() {
        let identity = held.identity(number)?;
        let stored = before.and_then(|before| before.segment(number));
        let stored = stored.filter(|stored| is_same(stored, identity) && is_there(disk, stored));
        if stored.is_none() {
            total = total.saturating_add(identity.length);
        }
        wanted.push((number, identity, stored.copied()));
    }
    let mut copied = Copied::default();
    for (number, identity, stored) in wanted {
        let stored = match stored {
            Some(stored) => stored,
            None => {
                let mut pieces = |bytes: u64| tell(watch, STAGE, copied.bytes.saturating_add(bytes), total);
                let stored = copy(held, disk, number, identity, manifest.generation, &mut pieces)?;
                copied.segments = copied.segments.saturating_add(1);
                copied.bytes = copied.bytes.saturating_add(stored.length);
                stored
            }
        };
        manifest.segments.push(stored);
    }
    disk.sync_directory(Path::new(SEGMENTS))?;
    Ok(copied)
}

fn is_same(stored: &StoredSegment, identity: SegmentIdentity) -> bool {
    stored.footer.is_some() && stored.footer == identity.footer && stored.length == identity.length
}

fn is_there(disk: &dyn Disk, stored: &StoredSegment) -> bool {
    let length = disk.open(&stored.path()).and_then(|file| file.len());
    length.is_ok_and(|length| length == stored.length)
}

/// Copies one segment, durably, and reads it back.
fn copy(
    held: &HeldLog,
    disk: &dyn Disk,
    number: u32,
    identity: SegmentIdentity,
    generation: u32,
    told: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<StoredSegment> {
    let path = segment_path(number, generation);
    remove_leftover(disk, &path)?;
    let file = disk.create(&path, identity.length)?;
    let mut checksum = 0;
    held.read(number, identity, &mut |offset, bytes| {
        checksum = crc32c::crc32c_append(checksum, bytes);
        told(offset)?;
        file.write_at(bytes, offset)
    })?;
    file.sync()?;
    if checksum_of(&*file, identity.length)? != checksum {
        return Err(Error::corruption(
            file.path().display().to_string(),
            "what was written reads back as something else; the medium of the backup is bad",
        ));
    }
    Ok(StoredSegment {
        number,
        generation,
        length: identity.length,
        checksum,
        footer: identity.footer,
    })
}

/// The checksum of the first `length` bytes of a file.
pub(super) fn checksum_of(file: &dyn File, length: u64) -> Result<u32> {
    let mut checksum = 0;
    read_pieces(file, length, &mut |_, bytes| {
        checksum = crc32c::crc32c_append(checksum, bytes);
        Ok(())
    })?;
    Ok(checksum)
}

/// Reads the first `length` bytes of a file piece by piece.
pub(super) fn read_pieces(
    file: &dyn File,
    length: u64,
    take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    const PIECE: usize = 1 << 20;
    let mut piece = vec![0; PIECE];
    let mut offset = 0u64;
    while offset < length {
        let left = usize::try_from(length.saturating_sub(offset)).unwrap_or(PIECE);
        let bytes = piece.get_mut(..left.min(PIECE)).unwrap_or_default();
        file.read_at(bytes, offset)?;
        take(offset, bytes)?;
        offset = offset.saturating_add(bytes.len() as u64);
    }
    Ok(())
}

/// Removes what a killed backup may have left under this name.
fn remove_leftover(disk: &dyn Disk, path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let names = disk.list(parent)?;
    match names
        .iter()
        .any(|name| Some(name.as_os_str()) == path.file_name())
    {
        true => disk.remove(path),
        false => Ok(()),
    }
}

/// Writes the manifest, durably; from then on it counts.
fn write_manifest(disk: &dyn Disk, manifest: &Manifest) -> Result<()> {
    let bytes = manifest.encode();
    let path = manifest_path(manifest.generation);
    let file = disk.create(&path, bytes.len() as u64)?;
    file.write_at(&bytes, 0)?;
    file.sync()?;
    disk.sync_directory(Path::new(MANIFESTS))
}

/// Removes the manifests that the new one replaces, then the segments that none names. The newest manifest of each
/// earlier timeline is kept, unless only the newest moment is wanted.
fn tidy(disk: &dyn Disk, manifest: &Manifest, numbers: &[u32], prune: bool) -> Result<()> {
    let mut kept = vec![manifest.clone()];
    for number in numbers.iter().rev() {
        let older = super::restore::read_manifest(disk, *number)?;
        let same = |older: &Manifest| kept.iter().any(|kept| kept.lineage() == older.lineage());
        match older.filter(|older| !prune && !same(older)) {
            Some(older) => kept.push(older),
            None => disk.remove(&manifest_path(*number))?,
        }
    }
    disk.sync_directory(Path::new(MANIFESTS))?;
    let named: Vec<PathBuf> = kept
        .iter()
        .flat_map(|kept| kept.segments.iter().map(StoredSegment::path))
        .collect();
    for name in disk.list(Path::new(SEGMENTS))? {
        let path = Path::new(SEGMENTS).join(name);
        if !named.contains(&path) {
            disk.remove(&path)?;
        }
    }
    disk.sync_directory(Path::new(SEGMENTS))
}

fn report(manifest: &Manifest, moment: &Moment, copied: Copied) -> BackupReport {
    let bytes = manifest.segments.iter().map(|segment| segment.length).sum();
    let first = manifest.moments.first().unwrap_or(moment);
    let from_the_start = (1..=first.end.segment).all(|number| manifest.segment(number).is_some());
    BackupReport {
        commit: moment.commit,
        time: Timestamp(moment.time),
        oldest: match from_the_start {
            true => CommitNumber(first.commit.0.min(1)),
            false => first.commit,
        },
        segments: moment.numbers().count() as u64,
        copied: copied.segments,
        bytes_copied: copied.bytes,
        bytes,
    }
}

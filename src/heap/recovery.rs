//! Opening what an earlier owner left.
//!
//! 1. Every segment is opened; those with a footer are *sealed*.
//! 2. The table's newest checkpoint says up to which position of the log it holds everything, which segments there were
//!    until then (all but the one it ends in sealed), and what the next frame must say. That position was durable
//!    before the checkpoint was written: if the log does not reach it, something is damaged. Without a usable
//!    checkpoint the table is rebuilt from the whole log.
//! 3. Frames are replayed from there, each the successor of the one before, over all segments, until there is none.
//! 4. What lies beyond is either *the tail*: written when the power went, and never acknowledged. Or the log is damaged
//!    in front of it. Each frame says through where the log was known durable when it was written, so: if any sound
//!    frame beyond the end claims that the log was durable further than its end, it is damage, and opening fails.
//!    Otherwise it is the tail, and is cut off; so is a commit whose last frame is missing.
//! 5. Cutting: a new timeline begins, segments beyond the end are removed, the newest first, the one with the end is
//!    sealed there, and the log goes on in a new one. If nothing had to be cut, it goes on where it ends.
//!    So are segments that a checkpoint does not list any more: they were being given up.
//! 6. Older segments without a footer (left by a kill) were checked frame by frame and get theirs. Everything is synced.
//!
//! Killing a recovery is harmless: each step leaves a log that recovers to the same end. A read-only open does 1 to 4
//! and changes nothing.

use std::path::Path;
use std::sync::Arc;

use super::census::{gaps, were_given_up};
use super::cut::{Leftover, find_leftover, seal_at, survey};
use super::format::{FormatFile, open_format};
use super::frame::Chain;
use super::log::{Active, Log, LogStart};
use super::object_heap::{HeapOptions, Recovered};
use super::position::LogPosition;
use super::replayer::Replayer;
use super::root::RootMetadata;
use super::scan::LogReader;
use super::segment::{Found, HEAP_DIRECTORY, SEGMENT_HEADER, Segment, place, segment_number, segment_path};
use super::segments::{SegmentDirectory, runs};
use super::serials::Serials;
use super::table::{Root, Table};
use crate::error::{Error, Result};
use crate::files::Disk;
use crate::object::CommitNumber;

/// A heap that has been recovered.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) format: FormatFile,
    pub(super) log: Log,
    pub(super) table: Table,
    pub(super) serials: Serials,
    pub(super) recovered: Recovered,
    pub(super) chain: Chain,
    /// The position of the checkpoint that was loaded.
    pub(super) checkpoint: LogPosition,
    /// The commit from which on every state is whole.
    pub(super) floor: CommitNumber,
    /// Whether the uses of the segments are counted.
    pub(super) counted: bool,
}

/// The files of the heap, by what they turned out to be.
#[derive(Debug, Default)]
struct Files {
    segments: Vec<Arc<Segment>>,
    /// Numbers of those that are sealed.
    sealed: Vec<u32>,
    blanks: Vec<u32>,
    /// Numbers of those that the checkpoint does not list any more: they were being given up.
    given_up: Vec<u32>,
    highest: u32,
}

/// Where the log ends.
#[derive(Debug, Clone, Copy)]
struct End {
    position: LogPosition,
    chain: Chain,
}

/// What the table's checkpoint and the log after it gave.
struct Loaded {
    table: Table,
    serials: Serials,
    metadata: RootMetadata,
    /// The position of the checkpoint.
    start: LogPosition,
    replay: Replay,
    counted: bool,
}

/// Opens the database on `disk` and brings it into a state to go on from.
pub(super) fn recover(disk: &Arc<dyn Disk>, options: &HeapOptions) -> Result<Opened> {
    let mut format = open_format(&**disk, options.create && !options.read_only)?;
    let database = format.format.database;
    let mut files = open_files(&**disk, database)?;
    let loaded = load(disk, options, &mut files)?;
    let Replay { log_end, end, .. } = loaded.replay;
    let leftover = find_leftover(&files.segments, log_end, end.position)?;
    let cut = leftover.describe(end.position);
    let (segments, active) = match disk.is_read_only() {
        true => (files.segments.clone(), None),
        false => settle(disk, &mut format, &files, loaded.start, end, &leftover)?,
    };
    let start = LogStart {
        epoch: loaded.metadata.epoch.saturating_add(1),
        end: end.position,
        chain: end.chain,
        next_number: files.highest.saturating_add(1),
        active,
    };
    let recovered = Recovered {
        last_commit: loaded.metadata.last_commit,
        last_time: loaded.metadata.last_time,
        end: end.position,
        created: format.created,
        clean: format.created || (cut.is_none() && loaded.metadata.clean && end.position == loaded.start),
        cut,
    };
    let format_created = format.created;
    Ok(Opened {
        format,
        log: Log::new(disk.clone(), database, directory_of(&segments), start),
        table: loaded.table,
        serials: loaded.serials,
        recovered,
        chain: end.chain,
        checkpoint: loaded.replay.checkpoint,
        floor: loaded.metadata.floor,
        counted: loaded.counted || format_created,
    })
}

/// Loads the table at its checkpoint and replays the log after it.
fn load(disk: &Arc<dyn Disk>, options: &HeapOptions, files: &mut Files) -> Result<Loaded> {
    let (table, root) = open_table(disk, files)?;
    let mut metadata = match &root {
        Some(root) => check_root(root, files)?,
        None => RootMetadata::default(),
    };
    if let Some(root) = &root {
        set_aside(files, root, &metadata);
    }
    let counted = !metadata.uses.is_empty();
    let start = root.as_ref().map_or(LogPosition::default(), |root| root.position);
    let serials = Serials::default();
    for (class, next) in &metadata.serials {
        serials.raise(*class, *next);
    }
    let directory = directory_of(&files.segments);
    let mut replayer = Replayer {
        table: &table,
        serials: &serials,
        directory: &directory,
        segments: &files.segments,
        rebuild: root.is_none(),
        last_commit: metadata.last_commit,
        last_time: metadata.last_time,
        epoch: metadata.epoch,
        floor: metadata.floor,
        headless: false,
        pending: None,
    };
    for (number, live, superseded_by) in &metadata.uses {
        if let Some(segment) = directory.get(*number) {
            segment.use_count.set(*live, *superseded_by);
        }
    }
    let after_gap = match root {
        Some(_) => Vec::new(),
        None => gaps(&files.segments)?,
    };
    let replay = replay(&mut replayer, disk, options, start, metadata.chain, after_gap)?;
    replayer.raise_serials();
    metadata.last_commit = replayer.last_commit;
    metadata.last_time = replayer.last_time;
    metadata.epoch = replayer.epoch;
    metadata.floor = replayer.floor;
    Ok(Loaded {
        table,
        serials,
        metadata,
        start,
        replay,
        counted,
    })
}

/// Takes out of `files` the segments that were being given up: the checkpoint has them no more.
fn set_aside(files: &mut Files, root: &Root, metadata: &RootMetadata) {
    let listed = |number: u32| {
        metadata
            .segments
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&number))
    };
    files.segments.retain(|segment| {
        let keep = segment.number > root.position.segment || listed(segment.number);
        if !keep {
            files.given_up.push(segment.number);
        }
        keep
    });
}

fn directory_of(segments: &[Arc<Segment>]) -> SegmentDirectory {
    let directory = SegmentDirectory::default();
    for segment in segments {
        directory.insert(segment.clone());
    }
    directory
}

fn open_files(disk: &dyn Disk, database: [u8; 16]) -> Result<Files> {
    let mut files = Files::default();
    let names = disk.list(Path::new(HEAP_DIRECTORY))?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    for number in numbers {
        files.highest = number;
        match Segment::open(disk, number, database)? {
            Found::Sealed(segment) => {
                files.sealed.push(number);
                files.segments.push(Arc::new(segment));
            }
            Found::Open(segment) => files.segments.push(Arc::new(segment)),
            Found::Blank => files.blanks.push(number),
        }
    }
    Ok(files)
}

/// The table at its checkpoint; an empty one, to be rebuilt, if its files are damaged, or its checkpoint is an older one
/// that needs segments which were given up since.
fn open_table(disk: &Arc<dyn Disk>, files: &Files) -> Result<(Table, Option<Root>)> {
    match Table::open(disk.clone()) {
        Err(Error::Corruption(_)) => Ok((Table::rebuild(disk.clone())?, None)),
        Ok((_, Some(root))) if is_outlived(&root, files)? => Ok((Table::rebuild(disk.clone())?, None)),
        opened => opened,
    }
}

/// Whether the segments that the checkpoint lists and that are missing were all given up.
fn is_outlived(root: &Root, files: &Files) -> Result<bool> {
    let Some(metadata) = RootMetadata::decode(&root.metadata) else {
        return Ok(false);
    };
    let listed = metadata.segments.iter().flat_map(|(first, last)| *first..=*last);
    let present = |number: &u32| {
        let segments = &files.segments;
        segments
            .binary_search_by_key(number, |segment| segment.number)
            .is_ok()
            || files.blanks.binary_search(number).is_ok()
    };
    let missing: Vec<u32> = listed.filter(|number| !present(number)).collect();
    Ok(!missing.is_empty() && were_given_up(&files.segments, &missing)?)
}

/// Checks that all the checkpoint relies on is there.
fn check_root(root: &Root, files: &Files) -> Result<RootMetadata> {
    let metadata = RootMetadata::decode(&root.metadata).ok_or_else(|| {
        Error::Format("the table's checkpoint was written by a newer build; open it with that".into())
    })?;
    let present = |number: u32| {
        files
            .segments
            .binary_search_by_key(&number, |segment| segment.number)
    };
    for number in metadata.segments.iter().flat_map(|(first, last)| *first..=*last) {
        let damaged = |what: &str| Error::corruption(segment_path(number).display().to_string(), what);
        let found = present(number).ok().and_then(|index| files.segments.get(index));
        let Some(segment) = found else {
            return Err(damaged(match files.blanks.binary_search(&number) {
                Ok(_) => "the header of the segment is damaged",
                Err(_) => "the segment file is missing",
            }));
        };
        if number < root.position.segment && files.sealed.binary_search(&number).is_err() {
            return Err(damaged(
                "the footer of the segment is damaged, or the file was cut short",
            ));
        }
        if number == root.position.segment {
            check_reaches(segment, root.position, metadata.chain)?;
        }
    }
    Ok(metadata)
}

/// Checks that `segment` holds sound frames up to the checkpoint's position.
fn check_reaches(segment: &Segment, position: LogPosition, chain: Chain) -> Result<()> {
    if segment.end() < position.offset {
        return Err(Error::corruption(
            place(segment.number, u64::from(segment.end()), None),
            format!(
                "the segment ends here, but was durable through offset {}",
                position.offset
            ),
        ));
    }
    let found = match segment.sealed_chain() {
        Some(_) if segment.end() != position.offset => return Ok(()),
        Some(sealed) => sealed,
        None => survey(segment, position.offset)?.chain,
    };
    if found != chain && position.offset > SEGMENT_HEADER {
        return Err(Error::corruption(
            place(segment.number, u64::from(position.offset), None),
            "the last frame is not the one that the table's checkpoint knows",
        ));
    }
    Ok(())
}

/// How far replaying came.
struct Replay {
    /// After the last frame that fits.
    log_end: LogPosition,
    /// The same, or where a commit begins whose end is missing.
    end: End,
    checkpoint: LogPosition,
}

fn replay(
    replayer: &mut Replayer<'_>,
    disk: &Arc<dyn Disk>,
    options: &HeapOptions,
    start: LogPosition,
    chain: Chain,
    after_gap: Vec<u32>,
) -> Result<Replay> {
    let reader = LogReader::new(replayer.segments.to_vec(), start, Some(chain));
    let mut reader = reader.over_gaps(after_gap);
    let mut checkpoint = start;
    let mut before = start;
    while reader.advance()? {
        let behind_gap = reader.is_behind_gap();
        if let Some(frame) = reader.frame()? {
            if behind_gap {
                replayer.cross_gap(frame.position)?;
            }
            replayer.frame(&frame, before)?;
        }
        before = reader.position();
        let full = replayer.table.dirty_bytes() > options.memory;
        if full && replayer.pending.is_none() && !disk.is_read_only() {
            let at = End {
                position: reader.position(),
                chain: reader.chain(),
            };
            checkpoint_midway(replayer, disk, checkpoint, at)?;
            checkpoint = at.position;
        }
    }
    let log_end = reader.position();
    let end = match replayer.pending {
        None => End {
            position: log_end,
            chain: reader.chain(),
        },
        Some((position, chain)) => End { position, chain },
    };
    Ok(Replay {
        log_end,
        end,
        checkpoint,
    })
}

/// Writes the table in the middle of a long replay, so that its changes do not outgrow their memory. As every checkpoint
/// relies on sealed segments behind it, one left open by a kill (there is one at most, as a rule) puts it off.
fn checkpoint_midway(
    replayer: &Replayer<'_>,
    disk: &Arc<dyn Disk>,
    start: LogPosition,
    at: End,
) -> Result<()> {
    let passed = start.segment..=at.position.segment;
    let passed = || {
        replayer
            .segments
            .iter()
            .filter(|segment| passed.contains(&segment.number))
    };
    if passed().any(|segment| segment.number < at.position.segment && segment.footer().is_none()) {
        return Ok(());
    }
    for segment in passed() {
        segment.file.sync()?;
    }
    disk.sync_directory(Path::new(HEAP_DIRECTORY))?;
    let numbers = replayer.segments.iter().map(|segment| segment.number);
    let metadata = RootMetadata {
        clean: false,
        epoch: replayer.epoch,
        chain: at.chain,
        last_commit: replayer.last_commit,
        last_time: replayer.last_time,
        serials: replayer.serials.next(false),
        segments: runs(numbers.filter(|number| *number <= at.position.segment)),
        floor: replayer.floor,
        uses: Vec::new(),
    };
    replayer.table.checkpoint(at.position, &metadata.encode())
}

type Settled = (Vec<Arc<Segment>>, Option<Active>);

/// Makes the files say what was recovered, durably: steps 5 and 6.
fn settle(
    disk: &Arc<dyn Disk>,
    format: &mut FormatFile,
    files: &Files,
    start: LogPosition,
    end: End,
    leftover: &Leftover,
) -> Result<Settled> {
    if leftover.must_cut() {
        format.begin_timeline(&**disk)?;
    }
    let beyond = |number: &u32| *number > end.position.segment;
    let later = files.segments.iter().map(|segment| segment.number).filter(beyond);
    let mut useless: Vec<u32> = later.chain(files.blanks.iter().copied()).collect();
    useless.extend(&files.given_up);
    useless.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
    for number in &useless {
        disk.remove(&segment_path(*number))?;
    }
    let mut segments = Vec::new();
    let mut active = None;
    for segment in files.segments.iter().filter(|segment| !beyond(&segment.number)) {
        let is_last = segment.number == end.position.segment;
        let open = segment.footer().is_none();
        // A power cut may have left the end of a footer and torn its list.
        let torn = !open && segment.number >= start.segment && !segment.has_sound_sums();
        if is_last && open && !leftover.must_cut() {
            active = Some(go_on_in(segment, end.position.offset)?);
        } else if open || torn || (is_last && leftover.must_cut()) {
            let offset = if is_last { Some(end.position.offset) } else { None };
            segments.push(seal_at(&**disk, format.format.database, segment, offset)?);
            continue;
        }
        if segment.number >= start.segment {
            segment.file.sync()?;
        }
        segments.push(segment.clone());
    }
    disk.sync_directory(Path::new(HEAP_DIRECTORY))?;
    Ok((segments, active))
}

/// The segment with the end of the log, to be written to from there.
fn go_on_in(segment: &Arc<Segment>, offset: u32) -> Result<Active> {
    let survey = survey(segment, offset)?;
    segment.publish(offset);
    Ok(Active {
        segment: segment.clone(),
        offset,
        sums: survey.sums,
        tally: survey.tally,
    })
}

//! Making a database of copied segments: cutting the log at a commit, and building the table.
//!
//! The segments are those of a [`Moment`] and those that followed it without a gap, up to where the log shall end. A
//! moment's own segments may have gaps, where the cleaner freed some, so the chain of frames is followed only from the
//! moment on. Within the segments every commit counts that has a part there: a commit that never ended was cut off before
//! the moment, and one whose last part lies in a freed segment is a commit all the same.
//!
//! FORMAT is written last. Before, nobody can take the directory for a database.

use std::path::Path;
use std::sync::Arc;

use super::archive::Moment;
use super::cut::{seal_at, survey};
use super::format::{Format, write_new_format};
use super::frame::{
    COMMITS, Chain, FRAME_HEADER, FrameHeader, MOVE, RESERVATION, SKIPPABLE, moves, records, reservations,
    sections,
};
use super::position::{Location, LogPosition};
use super::record::RecordHeader;
use super::root::RootMetadata;
use super::scan::{Frame, LogReader, Window};
use super::segment::{Found, HEAP_DIRECTORY, SEGMENT_HEADER, Segment, place, segment_path};
use super::segments::{SegmentDirectory, runs};
use super::serials::Serials;
use super::table::Table;
use crate::error::{Error, Result};
use crate::files::Disk;
use crate::object::{ClassId, CommitNumber, Oid};

/// Up to where history is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The moment itself.
    Moment,
    /// Through this commit.
    Commit(CommitNumber),
    /// Through the last commit at or before this time, microseconds since 1970 UTC.
    Time(i64),
}

impl Until {
    fn takes(self, commit: CommitNumber, time: i64) -> bool {
        match self {
            Until::Moment => false,
            Until::Commit(last) => commit <= last,
            Until::Time(last) => time <= last,
        }
    }
}

/// What a database is made of.
#[derive(Debug)]
pub struct Assembly<'a> {
    /// One copy of FORMAT of the database the segments come from; the new one begins the next timeline.
    pub format: &'a [u8],
    /// Where the log is whole: the newest moment before its end; [`Moment::beginning`] where there is none.
    pub moment: &'a Moment,
    /// The numbers of the segments, ascending.
    pub segments: Vec<u32>,
    /// Where the log shall end.
    pub until: Until,
    /// Serial numbers that were given away, here or later.
    pub serials: &'a [(u32, u64)],
    /// Bytes that changes of the table may take in memory.
    pub memory: usize,
}

/// What an assembly gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assembled {
    /// The newest commit.
    pub commit: CommitNumber,
    /// Its time.
    pub time: i64,
    /// The timeline that begins after it.
    pub timeline: u32,
    /// Whether the log was whole up to where it should end: that commit is there, or a later one was seen.
    pub reached: bool,
}

/// Where the log ends.
#[derive(Debug, Clone, Copy)]
struct End {
    position: LogPosition,
    chain: Chain,
    commit: CommitNumber,
    time: i64,
    /// Whether something follows that is not wanted.
    reached: bool,
}

/// Makes a database on `disk`, whose directory `heap` has the segments and which has no FORMAT yet. `watch` is called
/// once a segment, and an error of it ends the work.
///
/// # Errors
/// [`Error::Corruption`] where the segments are not what the moment says.
pub fn assemble(
    disk: &Arc<dyn Disk>,
    assembly: &Assembly<'_>,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<Assembled> {
    let format = Format::decode(assembly.format).ok_or_else(|| {
        Error::corruption(
            "the copy of FORMAT",
            "its checksum does not match; use another backup",
        )
    })?;
    let mut segments = Vec::with_capacity(assembly.segments.len());
    for number in &assembly.segments {
        segments.push(open_segment(&**disk, *number, format.database)?);
    }
    let end = find_end(&segments, assembly)?;
    let segments = cut(&**disk, format.database, segments, end.position)?;
    let serials = Serials::default();
    for (class, next) in assembly.serials.iter().chain(&assembly.moment.serials) {
        serials.raise(*class, *next);
    }
    let table = Table::rebuild(disk.clone())?;
    let mut builder = Builder {
        table: &table,
        serials: &serials,
        directory: SegmentDirectory::default(),
        memory: assembly.memory,
        epoch: assembly.moment.epoch,
    };
    for segment in &segments {
        watch()?;
        builder.segment(segment)?;
    }
    let epoch = builder.finish();
    let metadata = RootMetadata {
        clean: true,
        epoch,
        chain: end.chain,
        last_commit: end.commit,
        last_time: end.time,
        serials: serials.next(false),
        segments: runs(segments.iter().map(|segment| segment.number)),
        // What the cleaner had given up before the backup was made is not in it.
        floor: end.commit,
        uses: Vec::new(),
    };
    for segment in &segments {
        segment.file.sync()?;
    }
    disk.sync_directory(Path::new(HEAP_DIRECTORY))?;
    table.checkpoint(end.position, &metadata.encode())?;
    let timeline = write_new_format(&**disk, &format)?;
    Ok(Assembled {
        commit: end.commit,
        time: end.time,
        timeline,
        reached: end.reached || assembly.until == Until::Commit(end.commit),
    })
}

fn open_segment(disk: &dyn Disk, number: u32, database: [u8; 16]) -> Result<Arc<Segment>> {
    match Segment::open(disk, number, database)? {
        Found::Sealed(segment) | Found::Open(segment) => Ok(Arc::new(segment)),
        Found::Blank => Err(Error::corruption(
            place(number, 0, None),
            "the header of the segment is damaged",
        )),
    }
}

/// Follows the log from the moment on, as far as it shall go. The frame with the last commit is rewritten where others
/// follow in it.
fn find_end(segments: &[Arc<Segment>], assembly: &Assembly<'_>) -> Result<End> {
    let moment = assembly.moment;
    let mut end = End {
        position: moment.end,
        chain: moment.chain(),
        commit: moment.commit,
        time: moment.time,
        reached: false,
    };
    if assembly.until == Until::Moment {
        return Ok(end);
    }
    let mut reader = LogReader::new(segments.to_vec(), moment.end, Some(end.chain));
    while reader.advance()? {
        let chain = reader.chain();
        let position = reader.position();
        let Some(frame) = reader.frame()? else { break };
        match judge(&frame, assembly.until) {
            Verdict::Whole(Some((commit, time))) => {
                end = End {
                    position,
                    chain,
                    commit,
                    time,
                    reached: false,
                }
            }
            Verdict::Whole(None) => {}
            Verdict::Before => {
                end.reached = true;
                break;
            }
            Verdict::Within { cut, commit, time } => {
                let segment = segments
                    .iter()
                    .find(|segment| segment.number == frame.position.segment);
                if let Some(segment) = segment {
                    end = shorten(segment, &frame, cut, commit, time)?;
                }
                break;
            }
        }
    }
    Ok(end)
}

/// What of a frame is taken.
enum Verdict {
    /// All of it; with the last commit that ends in it.
    Whole(Option<(CommitNumber, i64)>),
    /// Nothing, and nothing after it.
    Before,
    /// What lies before `cut`, with the last commit in that.
    Within {
        cut: u32,
        commit: CommitNumber,
        time: i64,
    },
}

fn judge(frame: &Frame<'_>, until: Until) -> Verdict {
    if frame.header.kind != COMMITS {
        return Verdict::Whole(None);
    }
    let mut last = None;
    for section in sections(frame.payload, frame.payload_start) {
        if !until.takes(section.number, section.time) {
            return match last {
                Some((commit, time)) => Verdict::Within {
                    cut: section.start,
                    commit,
                    time,
                },
                None => Verdict::Before,
            };
        }
        if section.last {
            last = Some((section.number, section.time));
        }
    }
    Verdict::Whole(last)
}

/// Writes a frame again with only the sections before `cut`.
fn shorten(segment: &Segment, frame: &Frame<'_>, cut: u32, commit: CommitNumber, time: i64) -> Result<End> {
    let kept = cut.saturating_sub(frame.payload_start) as usize;
    let mut bytes = vec![0; FRAME_HEADER];
    bytes.extend_from_slice(frame.payload.get(..kept).unwrap_or_default());
    let FrameHeader {
        kind,
        chain,
        epoch,
        durable,
        ..
    } = frame.header;
    let checksum = FrameHeader::seal(&mut bytes, kind, chain, epoch, durable);
    segment.file.write_at(&bytes, u64::from(frame.position.offset))?;
    Ok(End {
        position: LogPosition {
            segment: segment.number,
            offset: cut,
        },
        chain: Chain {
            sequence: chain.sequence.wrapping_add(1),
            previous: checksum,
        },
        commit,
        time,
        reached: true,
    })
}

/// Removes the segments beyond `end` and seals the one with it there.
fn cut(
    disk: &dyn Disk,
    database: [u8; 16],
    segments: Vec<Arc<Segment>>,
    end: LogPosition,
) -> Result<Vec<Arc<Segment>>> {
    let mut kept = Vec::with_capacity(segments.len());
    for segment in segments {
        let sealed = segment.footer().is_some();
        if segment.number > end.segment {
            disk.remove(&segment_path(segment.number))?;
        } else if segment.number == end.segment && !(sealed && segment.end() == end.offset) {
            kept.push(seal_at(disk, database, &segment, Some(end.offset))?);
        } else if sealed {
            kept.push(segment);
        } else {
            return Err(Error::corruption(
                place(segment.number, u64::from(segment.end()), None),
                "the footer of the segment is damaged, or the file was cut short",
            ));
        }
    }
    Ok(kept)
}

/// Puts the records of segments into a table: of two of one object the one of the higher commit, then the later one.
struct Builder<'a> {
    table: &'a Table,
    serials: &'a Serials,
    directory: SegmentDirectory,
    memory: usize,
    epoch: u32,
}

impl Builder<'_> {
    fn segment(&mut self, segment: &Arc<Segment>) -> Result<()> {
        self.directory.insert(segment.clone());
        // Every frame is sound, and they follow one another to the end.
        survey(segment, segment.end())?;
        let mut window = Window::default();
        let mut offset = SEGMENT_HEADER;
        while let Some(header) = window.sound_frame(segment, offset, segment.end())? {
            let size = header.size();
            let frame = window
                .get(segment, offset, size, segment.end())?
                .unwrap_or_default();
            let payload = frame.get(FRAME_HEADER..).unwrap_or_default();
            let payload_start = offset.saturating_add(FRAME_HEADER as u32);
            self.frame(&header, payload, segment.number, payload_start)?;
            offset = offset.saturating_add(u32::try_from(size).unwrap_or(u32::MAX));
            if self.table.dirty_bytes() > self.memory {
                // No root of an unfinished assembly is ever read.
                self.table.checkpoint(LogPosition::default(), &[])?;
            }
        }
        Ok(())
    }

    fn frame(&mut self, header: &FrameHeader, payload: &[u8], segment: u32, start: u32) -> Result<()> {
        self.epoch = self.epoch.max(header.epoch);
        match header.kind {
            COMMITS => {
                for section in sections(payload, start) {
                    for (location, record) in records(section.records, segment, section.records_start) {
                        self.record(location, &record)?;
                    }
                }
            }
            RESERVATION => {
                for (class, end) in reservations(payload) {
                    self.serials.raise(class, end);
                }
            }
            MOVE => {
                for (_, location, record) in moves(payload, segment, start) {
                    self.record(location, &record)?;
                }
            }
            kind if kind & SKIPPABLE != 0 => {}
            kind => {
                return Err(Error::Format(format!(
                    "segment {segment} holds a frame of kind {kind}, which this build does not know; use a newer build"
                )));
            }
        }
        Ok(())
    }

    fn record(&self, location: Location, header: &RecordHeader) -> Result<()> {
        let Some(oid) = Oid::from_bits(header.oid) else {
            let place = place(location.segment(), location.offset(), None);
            return Err(Error::corruption(place, "a record without an object"));
        };
        if let Some(known) = self.table.get(oid)? {
            let commit = self.directory.record(known, oid)?.header.commit;
            if (commit, known.0) > (header.commit, location.0) {
                return Ok(());
            }
        }
        self.table.set(oid, location);
        Ok(())
    }

    /// Lets numbering go on past every object; gives the open epoch.
    fn finish(self) -> u32 {
        let version = self.table.version();
        for class in version.classes() {
            let ClassId(number) = class;
            let next = version.last_serial(class).saturating_add(1);
            self.serials.raise(number, next);
        }
        self.epoch
    }
}

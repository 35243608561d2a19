//! The heap as its callers see it: append, sync, apply, read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;

use super::archive::Moment;
use super::chronicle::last_commit_where;
use super::format::FormatFile;
use super::frame::Chain;
use super::log::Log;
use super::pending::{Pending, PendingGroup};
use super::position::{Location, LogPosition};
use super::readers::{Mark, Readers};
use super::reclaim::Reclaim;
use super::recovery::recover;
use super::replay::replay_commits;
use super::root::RootMetadata;
use super::segment::{Segment, UseCount};
use super::segments::{SegmentDirectory, runs};
use super::serials::Serials;
use super::table::{Table, TableVersion};
use super::verify::Verify;
use super::view::HeapView;
use crate::error::{Error, Result};
use crate::files::Disk;
use crate::object::{ClassId, CommitNumber, Oid};

/// How to open a heap.
#[derive(Debug, Clone)]
pub struct HeapOptions {
    /// Refuse every change; nothing on the disk is touched, and several readers may share the lock.
    pub read_only: bool,
    /// Create the database if the directory is empty or absent.
    pub create: bool,
    /// Bytes that changes of the object table may take in memory before a checkpoint is asked for.
    pub memory: usize,
}

impl Default for HeapOptions {
    fn default() -> Self {
        HeapOptions {
            read_only: false,
            create: true,
            memory: 64 << 20,
        }
    }
}

/// What opening found.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// The newest commit; zero in a new database.
    pub last_commit: CommitNumber,
    /// Its time, microseconds since 1970 UTC.
    pub last_time: i64,
    /// Where the log ends.
    pub end: LogPosition,
    /// Whether the database was created by this open.
    pub created: bool,
    /// Whether the last close was clean: nothing had to be replayed.
    pub clean: bool,
    /// What of an unacknowledged tail was cut, as a sentence; `None` if nothing was.
    pub cut: Option<String>,
}

/// One commit to append.
#[derive(Debug, Clone, Copy)]
pub struct CommitEntry<'a> {
    /// Its number, 48 bits, above all earlier ones.
    pub number: CommitNumber,
    /// Microseconds since 1970 UTC; at least that of the commit before.
    pub time: i64,
    /// A caller's label.
    pub label: Option<&'a str>,
    /// Further metadata, opaque here.
    pub metadata: &'a [u8],
    /// The objects it writes.
    pub records: &'a [RecordEntry<'a>],
    /// Index deltas, opaque here.
    pub deltas: &'a [u8],
}

/// One object a commit writes.
#[derive(Debug, Clone, Copy)]
pub struct RecordEntry<'a> {
    /// The object.
    pub oid: Oid,
    /// Its encoded body; `None` deletes it.
    pub body: Option<&'a [u8]>,
    /// A creation: there is no previous version to link to.
    pub fresh: bool,
}

/// A group of commits in the log, to be synced, then applied.
#[derive(Debug)]
pub struct Appended {
    /// The position after its last frame.
    pub end: LogPosition,
    chain: Chain,
    last_commit: CommitNumber,
    last_time: i64,
    records: Arc<PendingGroup>,
}

/// The newest applied version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The commit that wrote it.
    pub commit: CommitNumber,
    /// Whether it is a deletion.
    pub deleted: bool,
}

/// One commit as [`Heap::replay`] shows it.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// Its number.
    pub number: CommitNumber,
    /// The position after it; replaying from here shows the next one first.
    pub end: LogPosition,
    /// Its label.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "part of what the log keeps of a commit; tests read it")
    )]
    pub label: Option<&'a str>,
    /// Its metadata.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "part of what the log keeps of a commit; tests read it")
    )]
    pub metadata: &'a [u8],
    /// Its index deltas.
    pub deltas: &'a [u8],
    /// The objects it wrote, and whether it deleted them.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "part of what the log keeps of a commit; tests read it")
    )]
    pub records: &'a [(Oid, bool)],
}

/// Figures about the heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeapStatistics {
    /// Segment files, those included that only open readers keep.
    pub segments: u64,
    /// Bytes of them in use, headers and footers included.
    pub bytes: u64,
    /// Records in the log, superseded versions included.
    pub records: u64,
    /// Bytes of table changes in memory.
    pub dirty_bytes: u64,
    /// Bytes of log since the last checkpoint.
    pub tail_bytes: u64,
}

/// A damaged place that [`Heap::verify`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// File and offset, and the object where one is known.
    pub place: String,
    /// What is wrong with it.
    pub what: String,
}

/// The log of segments and the object table; `Send + Sync`, locks inside.
///
/// The life of a group of commits: [`Heap::append`] writes it at the end of the log; [`Heap::sync`] makes it durable;
/// [`Heap::apply`] points the table at its records; [`Heap::view`] shows it. The next group may be appended while this
/// one is synced. Locks, each taken only while those before it are held or none: `appending`, `checkpointing`,
/// `applied`, then those of log and table.
#[derive(Debug)]
pub struct Heap {
    pub(super) disk: Arc<dyn Disk>,
    options: HeapOptions,
    format: FormatFile,
    pub(super) log: Log,
    pub(super) table: Table,
    pub(super) serials: Serials,
    pub(super) pending: Pending,
    pub(super) appending: Mutex<()>,
    pub(super) checkpointing: Mutex<Checkpointed>,
    pub(super) applied: Mutex<Applied>,
    pub(super) readers: Readers,
    pub(super) reclaim: Mutex<Reclaim>,
    /// Whether a commit is being written in parts: a checkpoint would end before it, so none is asked for.
    pub(super) bulk: AtomicBool,
}

/// What is in the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applied {
    pub(super) position: LogPosition,
    pub(super) chain: Chain,
    pub(super) last_commit: CommitNumber,
    pub(super) last_time: i64,
}

/// The newest checkpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checkpointed {
    position: LogPosition,
    clean: bool,
}

/// Records applied to the table under one hold of its lock.
const APPLY_BATCH: usize = 4096;
/// Bytes of log after which a checkpoint is asked for.
const LONGEST_TAIL: u64 = 256 << 20;

impl Heap {
    /// Opens the database on `disk`, recovering what the last owner left.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`], [`Error::Format`] (no database, a foreign or newer one), [`Error::Corruption`] (what was
    /// durable is damaged), [`Error::Io`]; the directory is left as it was.
    pub fn open(disk: Arc<dyn Disk>, options: HeapOptions) -> Result<(Heap, Recovered)> {
        let opened = recover(&disk, &options)?;
        let recovered = opened.recovered;
        let heap = Heap {
            disk,
            options,
            format: opened.format,
            log: opened.log,
            table: opened.table,
            serials: opened.serials,
            pending: Pending::default(),
            appending: Mutex::new(()),
            checkpointing: Mutex::new(Checkpointed {
                position: opened.checkpoint,
                clean: recovered.clean && !recovered.created,
            }),
            applied: Mutex::new(Applied {
                position: recovered.end,
                chain: opened.chain,
                last_commit: recovered.last_commit,
                last_time: recovered.last_time,
            }),
            readers: Readers::new(opened.floor, recovered.last_commit),
            reclaim: Mutex::new(Reclaim::new(opened.counted)),
            bulk: AtomicBool::new(false),
        };
        Ok((heap, recovered))
    }

    /// Key for hashes that must not be predictable; fixed at creation.
    pub fn secret(&self) -> [u8; 16] {
        self.format.format.secret
    }

    /// The random identity given at creation.
    pub fn database_id(&self) -> Uuid {
        Uuid::from_bytes(self.format.format.database)
    }

    /// Counts how often history was cut off: a position in history is (timeline, commit).
    pub fn timeline(&self) -> u32 {
        self.format.format.timeline
    }

    /// Writes a group of commits at the tail. Not durable before [`Heap::sync`], not readable before [`Heap::apply`].
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] and [`Error::Limit`]: nothing of this group was written, and the next may go well. After a
    /// failed write every further one fails with [`Error::ReadOnly`].
    pub fn append(&self, group: &[CommitEntry<'_>]) -> Result<Appended> {
        let _one_at_a_time = self.appending.lock();
        let previous = self.previous_versions(group)?;
        let written = self.log.append(group, previous)?;
        let records = PendingGroup::new(written.records, written.superseded, None);
        self.pending.push(records.clone());
        let last = group.last();
        Ok(Appended {
            end: written.end,
            chain: written.chain,
            last_commit: last.map_or(CommitNumber::default(), |commit| commit.number),
            last_time: last.map_or(i64::MIN, |commit| commit.time),
            records,
        })
    }

    /// The location of each record's previous version, in order; nothing at all if all are new.
    pub(super) fn previous_versions(&self, group: &[CommitEntry<'_>]) -> Result<Vec<Option<Location>>> {
        let records = || group.iter().flat_map(|commit| commit.records);
        if records().all(|record| record.fresh) {
            return Ok(Vec::new());
        }
        // In this order: a group leaves the list only after it is in the table.
        let pending = self.pending.newest_first();
        let table = self.table.version();
        let previous = records().map(|record| match record.fresh {
            true => Ok(None),
            false => match pending.iter().find_map(|group| group.find(record.oid)) {
                Some(location) => Ok(Some(location)),
                None => Ok(table
                    .get(record.oid)?
                    .filter(|location| *location != Location::NOWHERE)),
            },
        });
        previous.collect()
    }

    /// Makes the log durable through `through`. A failure stops all writing, for good.
    pub fn sync(&self, through: LogPosition) -> Result<()> {
        self.log.sync(through)
    }

    /// Points the table at the group's records; in append order, before the group is published.
    pub fn apply(&self, appended: &Appended) {
        let mut applied = self.applied.lock();
        for records in appended.records.records.chunks(APPLY_BATCH) {
            self.table.set_all(records.iter().copied());
        }
        self.count_uses(&appended.records, appended.last_commit);
        *applied = Applied {
            position: appended.end,
            chain: appended.chain,
            last_commit: applied.last_commit.max(appended.last_commit),
            last_time: applied.last_time.max(appended.last_time),
        };
        self.readers.applied(appended.last_commit);
        self.pending.remove(&appended.records);
        self.apply_moves(&mut applied);
    }

    /// A reader of the applied state; cheap.
    pub fn view(&self) -> HeapView {
        let mark = self.readers.register_newest();
        self.view_with(mark)
    }

    /// The directory before the table: see the head of `segments.rs`.
    fn view_with(&self, mark: Arc<Mark>) -> HeapView {
        let segments = self.log.segments.current();
        HeapView::new(self.table.version(), segments, mark)
    }

    /// A reader that may be asked for commits from `commit` on.
    ///
    /// # Errors
    ///
    /// [`Error::Expired`] where the versions of that state are no longer kept.
    pub fn view_at(&self, commit: CommitNumber) -> Result<HeapView> {
        let mark = self.readers.register(commit)?;
        Ok(self.view_with(mark))
    }

    /// The time of `commit`, or of the nearest kept one before it; microseconds since 1970 UTC.
    pub fn time_of(&self, commit: CommitNumber) -> Result<i64> {
        Ok(
            last_commit_where(&self.log.segments.current().from(0), &|number, _| {
                number <= commit
            })?
            .map_or(0, |found| found.1),
        )
    }

    /// The newest kept commit that was made at or before `time`.
    ///
    /// # Errors
    ///
    /// [`Error::Expired`] where all that are kept are newer.
    pub fn commit_at(&self, time: i64) -> Result<CommitNumber> {
        let found = last_commit_where(&self.log.segments.current().from(0), &|_, made| made <= time)?;
        let found = found.map(|(number, _)| number);
        found.ok_or_else(|| Error::Expired("everything that is kept was committed later than that".into()))
    }

    /// The newest applied version of an object.
    pub fn head(&self, oid: Oid) -> Result<Option<Head>> {
        // Before the table is asked, as every reader does.
        let segments = self.log.segments.current();
        let Some(location) = self
            .table
            .get(oid)?
            .filter(|location| *location != Location::NOWHERE)
        else {
            return Ok(None);
        };
        let record = segments.record(location, oid)?;
        Ok(Some(Head {
            commit: record.header.commit,
            deleted: record.header.deleted(),
        }))
    }

    /// Hands out `count` consecutive serial numbers of `class` that were never handed out before; the first is 1.
    pub fn reserve(&self, class: ClassId, count: u64) -> Result<Range<u64>> {
        self.log.check_writable()?;
        self.serials
            .take(class, count, |class, end| self.log.reserve(class, end))
    }

    /// Shows every applied commit that begins at or after `from`, in log order.
    pub fn replay(&self, from: LogPosition, visit: &mut dyn FnMut(Replayed<'_>) -> Result<()>) -> Result<()> {
        let until = self.applied.lock().position;
        replay_commits(&self.log.segments.current(), from, until, visit)
    }

    /// The position through which the log is known durable.
    pub fn durable(&self) -> LogPosition {
        self.log.durable()
    }

    /// The position after the newest frame.
    pub fn end(&self) -> LogPosition {
        self.log.end()
    }

    /// Makes room in the log ahead of those who write; to be called now and then by a thread of its own.
    pub fn prepare(&self) {
        self.log.prepare();
    }

    /// Whether table changes or the log since the last checkpoint ask for one.
    pub fn needs_checkpoint(&self) -> bool {
        self.log.check_writable().is_ok()
            && !self.bulk.load(Ordering::Acquire)
            && (self.table_is_full() || self.tail_bytes() > LONGEST_TAIL)
    }

    /// Whether table changes take more memory than they may.
    pub(super) fn table_is_full(&self) -> bool {
        self.table.dirty_bytes() > self.options.memory
    }

    fn tail_bytes(&self) -> u64 {
        let Some(from) = self
            .checkpointing
            .try_lock()
            .map(|checkpointed| checkpointed.position)
        else {
            return 0;
        };
        let segments = self.log.segments.current().from(from.segment);
        let bytes: u64 = segments.iter().map(|segment| u64::from(segment.end())).sum();
        bytes.saturating_sub(u64::from(from.offset))
    }

    /// Syncs the log, then writes the changed table pages and a new root. Readers and commits go on meanwhile.
    ///
    /// # Errors
    ///
    /// After [`Error::NoSpace`] it may be tried again; nothing is lost, the log has all.
    pub fn checkpoint(&self) -> Result<()> {
        self.log.check_writable()?;
        let mut checkpointed = self.checkpointing.lock();
        let (position, generation) = loop {
            let applied = self.applied.lock();
            let (metadata, generation) = self.metadata(&applied, false);
            if self.table.freeze(applied.position, metadata) {
                break (applied.position, generation);
            }
            drop(applied);
            // An earlier attempt failed half-way; what it froze comes first.
            self.log.sync(self.log.end())?;
            self.table.write()?;
        };
        self.log.sync(self.log.end().max(position))?;
        self.table.write()?;
        self.reclaim.lock().checkpointed(generation);
        *checkpointed = Checkpointed {
            position,
            clean: false,
        };
        Ok(())
    }

    /// The state that is in the table, as plain data; the list of segments is left out.
    pub(super) fn applied_moment(&self) -> Moment {
        let applied = *self.applied.lock();
        Moment {
            commit: applied.last_commit,
            time: applied.last_time,
            end: applied.position,
            sequence: applied.chain.sequence,
            previous: applied.chain.previous,
            epoch: self.log.epoch(),
            serials: self.serials.next(false),
            segments: Vec::new(),
        }
    }

    /// The segments from number `from` on, ascending.
    pub(super) fn segments_from(&self, from: u32) -> Vec<Arc<Segment>> {
        self.log.segments.current().from(from)
    }

    /// Lets numbering in `class` go on at `next`, or where it is if that is later.
    pub fn raise_serial(&self, class: ClassId, next: u64) {
        self.serials.raise(class.0, next);
    }

    /// All segments, by number.
    pub(super) fn segments(&self) -> Arc<SegmentDirectory> {
        self.log.segments.current()
    }

    /// The table as it is now.
    pub(super) fn table_version(&self) -> Arc<TableVersion> {
        self.table.version()
    }

    /// What FORMAT says, as one copy of it.
    pub fn format_copy(&self) -> Vec<u8> {
        self.format.format.encode().to_vec()
    }

    /// What goes with a checkpoint of what is applied, and the retirements it knows.
    fn metadata(&self, applied: &Applied, clean: bool) -> (Vec<u8>, u64) {
        let reclaim = self.reclaim.lock();
        let segments = self.log.segments.current().from(0);
        let segments = || {
            let below = segments
                .iter()
                .filter(|segment| segment.number <= applied.position.segment);
            below.map(|segment| (segment.number, &segment.use_count))
        };
        let use_of = |(number, uses): (u32, &UseCount)| {
            let live = u32::try_from(uses.live()).unwrap_or(u32::MAX);
            (number, live, uses.superseded_by())
        };
        let uses = match reclaim.is_counted() {
            true => segments().map(use_of).collect(),
            false => Vec::new(),
        };
        let metadata = RootMetadata {
            clean,
            epoch: self.log.epoch(),
            chain: applied.chain,
            last_commit: applied.last_commit,
            last_time: applied.last_time,
            serials: self.serials.next(clean),
            segments: runs(segments().map(|(number, _)| number)),
            floor: self.readers.floor(),
            uses,
        };
        (metadata.encode(), reclaim.generation())
    }

    /// Checkpoints and marks the database clean; nothing can be written afterwards. The lock is freed when the heap is
    /// dropped. Groups that were appended and never applied keep the database from being marked.
    pub fn close(&self) -> Result<()> {
        let _no_appends = self.appending.lock();
        if self.disk.is_read_only() || self.log.is_closed() {
            return Ok(());
        }
        self.log.check_writable()?;
        if self.pending.is_empty() {
            self.close_clean()?;
        } else {
            self.log.sync(self.log.end())?;
        }
        self.log.close();
        Ok(())
    }

    fn close_clean(&self) -> Result<()> {
        let mut checkpointed = self.checkpointing.lock();
        let mut applied = self.applied.lock();
        self.log.remove_spares()?;
        (applied.position, applied.chain) = self.log.end_and_chain();
        let position = applied.position;
        if checkpointed.clean && checkpointed.position == position {
            return Ok(());
        }
        self.log.sync(position)?;
        let (metadata, generation) = self.metadata(&applied, true);
        self.table.checkpoint(position, &metadata)?;
        self.reclaim.lock().checkpointed(generation);
        *checkpointed = Checkpointed {
            position,
            clean: true,
        };
        Ok(())
    }

    /// Figures about the heap.
    pub fn statistics(&self) -> HeapStatistics {
        let segments = self.log.segments.current().from(0);
        let retired = self.retired();
        let sealed = segments.iter().filter_map(|segment| segment.tally());
        let sealed: u64 = sealed.map(|tally| u64::from(tally.records)).sum();
        let active = self.log.active().map_or(0, |(_, tally)| tally.records);
        let bytes: u64 = segments.iter().map(|segment| segment.bytes_with_footer()).sum();
        HeapStatistics {
            segments: (segments.len() as u64).saturating_add(retired.segments),
            bytes: bytes.saturating_add(retired.bytes),
            records: sealed.saturating_add(u64::from(active)),
            dirty_bytes: self.table.memory_bytes() as u64,
            tail_bytes: self.tail_bytes(),
        }
    }

    /// Checks every byte of every file; reports each damaged place and goes on.
    ///
    /// # Errors
    ///
    /// Only if the files cannot be listed at all.
    pub fn verify(&self, report: &mut dyn FnMut(Damage)) -> Result<()> {
        let verify = Verify {
            disk: &*self.disk,
            database: self.format.format.database,
            segments: &self.log.segments.current(),
            table: &self.table.version(),
            end: self.log.end(),
        };
        verify.run(report)
    }
}

//! Making a database of a backup.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::copying::{LOCK, checksum_of, read_pieces};
use super::manifest::{Manifest, StoredSegment, manifest_path, newest_manifest};
use super::report::RestoreReport;
use crate::error::{Error, Result};
use crate::files::{Disk, RealDisk, place};
use crate::heap::{Assembled, Assembly, Moment, Until, assemble, segment_file};
use crate::instance::Options;
use crate::maintain::progress::{Watch, tell};
use crate::object::{CommitNumber, Timestamp};

const STAGE: &str = "copying segments";

/// A restore to be run: a database made of a backup, whole or not at all.
///
/// ```no_run
/// use olivine::Restore;
///
/// let report = Restore::new("library.backup", "library.olv").replace(true).run()?;
/// println!("{report}");
/// # Ok::<(), olivine::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Restore {
    backup: PathBuf,
    database: PathBuf,
    replace: bool,
    until: Until,
}

impl Restore {
    /// Restores the backup in the directory `backup` as the database `database`, which must not exist or be an empty
    /// directory.
    pub fn new(backup: impl AsRef<Path>, database: impl AsRef<Path>) -> Self {
        Restore {
            backup: backup.as_ref().to_path_buf(),
            database: database.as_ref().to_path_buf(),
            replace: false,
            until: Until::Moment,
        }
    }

    /// Whether to replace a database that is there. It must not be open; it is removed when the new one is complete.
    /// Default false.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Takes history through this commit only; rolls an earlier backup in the directory forward to it.
    #[must_use]
    pub fn until_commit(mut self, commit: CommitNumber) -> Self {
        self.until = Until::Commit(commit);
        self
    }

    /// Takes history through the last commit at or before this time only.
    #[must_use]
    pub fn until_time(mut self, time: Timestamp) -> Self {
        self.until = Until::Time(time.0);
        self
    }

    /// Runs it. The database is made beside its place, under the name with `.restoring` behind it, and moved there when
    /// it is complete and durable, its indexes built. It begins a new timeline.
    ///
    /// # Errors
    /// [`Error::Argument`] where the place is taken, or the backup does not reach the commit or time;
    /// [`Error::Locked`] where a database there is open; [`Error::Corruption`] where the backup is damaged. The place is
    /// left as it was.
    pub fn run(self) -> Result<RestoreReport> {
        self.run_watched(&mut |_| std::ops::ControlFlow::Continue(()))
    }

    /// As [`Restore::run`], and tells `watch` how far it has come.
    ///
    /// # Errors
    /// As [`Restore::run`], and [`Error::Cancelled`] where `watch` ends it.
    pub fn run_watched(self, watch: Watch<'_>) -> Result<RestoreReport> {
        let source = RealDisk::open(&self.backup, true)?;
        let _source_lock = match place::has(&self.backup, LOCK) {
            true => Some(source.lock(Path::new(LOCK))?),
            false => None,
        };
        let _target_lock = self.check_target()?;
        let beside = place::beside(&self.database, ".restoring");
        let disk = RealDisk::create(&beside)?;
        let _lock = disk.lock(Path::new(UNFINISHED))?;
        place::empty(&beside, UNFINISHED)?;
        let made = self.make(&source, Arc::new(disk), &beside, watch);
        let made = made.and_then(|report| {
            place::put(&beside, &self.database)?;
            Ok(report)
        });
        if made.is_err() {
            // The first error counts; what is left can never be taken for a database of this name.
            let _ = place::remove(&beside);
        }
        made
    }

    fn make(
        &self,
        source: &RealDisk,
        disk: Arc<RealDisk>,
        beside: &Path,
        watch: Watch<'_>,
    ) -> Result<RestoreReport> {
        let report = restore_on(source, disk.clone(), self.until, watch)?;
        tell(watch, "building indexes", 0, 0)?;
        let options = Options::new(Some(beside.to_path_buf())).create(false);
        crate::instance::open(options)?.close()?;
        disk.remove(Path::new(UNFINISHED))?;
        disk.sync_directory(Path::new(""))?;
        Ok(report)
    }

    /// Refuses a place that is taken; keeps a database there locked while it is about to be replaced.
    fn check_target(&self) -> Result<Option<Box<dyn Send + Sync>>> {
        let path = self.database.display();
        if place::is_free(&self.database)? {
            return Ok(None);
        }
        if !self.replace {
            return Err(Error::Argument(format!(
                "{path} exists and is not empty; name another place, or ask for it to be replaced"
            )));
        }
        let has_format = place::has(&self.database, "FORMAT");
        if !has_format && !place::has(&self.database, "heap") {
            return Err(Error::Argument(format!(
                "{path} holds no Olivine database, so it is not replaced; name another place"
            )));
        }
        match has_format {
            true => RealDisk::open(&self.database, false)?
                .lock(Path::new("FORMAT"))
                .map(Some),
            false => Ok(None),
        }
    }
}

/// Says that a directory is a restore that has not ended; locked while it runs.
const UNFINISHED: &str = "UNFINISHED";

/// Makes a database on `target`, which holds nothing, of the backup on `source`.
pub fn restore_on(
    source: &dyn Disk,
    target: Arc<dyn Disk>,
    until: Until,
    watch: Watch<'_>,
) -> Result<RestoreReport> {
    let plan = plan(source, until)?;
    target.create_directory(Path::new("heap"))?;
    let total = plan.segments.iter().map(|segment| segment.length).sum();
    let mut bytes = 0u64;
    for segment in &plan.segments {
        tell(watch, STAGE, bytes, total)?;
        copy(source, &*target, segment)?;
        bytes = bytes.saturating_add(segment.length);
    }
    let segments = plan.segments.iter().map(|segment| segment.number).collect();
    let assembly = Assembly {
        format: &plan.manifest.format,
        moment: &plan.moment,
        segments,
        until: plan.until,
        serials: plan.manifest.newest().map_or(&[], |moment| &moment.serials),
        memory: TABLE_MEMORY,
    };
    let mut done = 0u64;
    let count = plan.segments.len() as u64;
    let assembled = assemble(&target, &assembly, &mut || {
        done = done.saturating_add(1);
        tell(watch, "building the object table", done, count)
    })?;
    check_reached(&plan, &assembled)?;
    Ok(RestoreReport {
        commit: assembled.commit,
        time: Timestamp(assembled.time),
        timeline: assembled.timeline,
        segments: count,
        bytes,
    })
}

/// What a database is made of.
struct Plan {
    manifest: Manifest,
    moment: Moment,
    segments: Vec<StoredSegment>,
    until: Until,
}

/// Chooses manifest and moment: the newest from which history can be taken up to `until`.
fn plan(source: &dyn Disk, until: Until) -> Result<Plan> {
    let (newest, numbers) = newest_manifest(source)?;
    let no_backup = || {
        let name = source
            .root()
            .map_or_else(String::new, |root| root.display().to_string());
        Error::Format(format!(
            "there is no finished backup in {name}; name the directory a backup was made in"
        ))
    };
    let newest = newest.ok_or_else(no_backup)?;
    let last = newest.newest().cloned().ok_or_else(no_backup)?;
    if let Until::Commit(commit) = until
        && commit > last.commit
    {
        return Err(Error::Argument(format!(
            "the backup reaches commit {} of {} and not commit {}",
            last.commit.0,
            Timestamp(last.time),
            commit.0
        )));
    }
    if until == Until::Moment || takes(until, &last) {
        return plan_from(newest, last, Until::Moment);
    }
    for number in numbers.iter().rev() {
        let Some(manifest) = read_manifest(source, *number)? else {
            continue;
        };
        if let Some(base) = base_of(&manifest, until) {
            let exact = manifest.newest() == Some(&base);
            return plan_from(manifest, base, if exact { Until::Moment } else { until });
        }
    }
    Err(Error::Argument(format!(
        "the oldest commit that can be restored from this backup is {} of {}",
        newest.moments.first().map_or(0, |first| first.commit.0),
        Timestamp(newest.moments.first().map_or(0, |first| first.time))
    )))
}

/// The newest moment not beyond `until`, or the beginning of the log where all of it is there.
fn base_of(manifest: &Manifest, until: Until) -> Option<Moment> {
    let base = manifest.moments.iter().rev().find(|moment| takes(until, moment));
    match base {
        Some(base) => Some(base.clone()),
        None => manifest.segment(1).map(|_| Moment::beginning()),
    }
}

fn takes(until: Until, moment: &Moment) -> bool {
    match until {
        Until::Moment => true,
        Until::Commit(commit) => moment.commit <= commit,
        Until::Time(time) => moment.time <= time,
    }
}

/// The segments of the moment, and those that follow it without a gap.
fn plan_from(manifest: Manifest, moment: Moment, until: Until) -> Result<Plan> {
    let mut segments = Vec::new();
    for number in moment.numbers() {
        let segment = manifest.segment(number).copied().ok_or_else(|| {
            let place = format!("the manifest of generation {}", manifest.generation);
            Error::corruption(place, format!("it names no copy of segment {number}"))
        })?;
        segments.push(segment);
    }
    if until != Until::Moment {
        let following = (moment.end.segment.saturating_add(1)..).map_while(|number| manifest.segment(number));
        segments.extend(following.copied());
    }
    Ok(Plan {
        manifest,
        moment,
        segments,
        until,
    })
}

/// History between two backups has a gap where the cleaner freed a segment that neither has seen.
fn check_reached(plan: &Plan, assembled: &Assembled) -> Result<()> {
    if plan.until == Until::Moment || assembled.reached {
        return Ok(());
    }
    Err(Error::Argument(format!(
        "between two backups a segment was freed, so history from commit {} on has a gap: restore through that commit, \
         or through one of a later backup",
        assembled.commit.0
    )))
}

/// The manifest `number`, if it is sound.
pub(super) fn read_manifest(disk: &dyn Disk, number: u32) -> Result<Option<Manifest>> {
    let file = disk.open(&manifest_path(number))?;
    let bytes = super::manifest::read_all(&*file)?;
    Ok(Manifest::decode(&bytes)?.filter(|found| found.generation == number))
}

fn copy(source: &dyn Disk, target: &dyn Disk, segment: &StoredSegment) -> Result<()> {
    let from = source.open(&segment.path())?;
    let damaged = |what: &str| Error::corruption(from.path().display().to_string(), what);
    if from.len()? != segment.length {
        return Err(damaged(
            "the copy of the segment has another length; use another backup",
        ));
    }
    let to = target.create(&segment_file(segment.number), segment.length)?;
    read_pieces(&*from, segment.length, &mut |offset, bytes| {
        to.write_at(bytes, offset)
    })?;
    if checksum_of(&*to, segment.length)? != segment.checksum {
        return Err(damaged(
            "the copy of the segment does not have its checksum; use another backup",
        ));
    }
    Ok(())
}

/// Bytes that changes of the table may take while it is built.
const TABLE_MEMORY: usize = 64 << 20;

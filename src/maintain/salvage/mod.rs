//! Salvage: a new database of everything that can be read of a damaged one, and a list of what cannot.
//!
//! The damaged directory is only read. Objects keep their identifiers, so references go on to hold. The new database has an
//! identity of its own and the next timeline; its commits are numbered past all that were there. Indexes are built anew
//! from the objects.
//!
//! The catalog is objects like any other. Where the newest version of a class is lost, an older one serves; where a class
//! is lost altogether its objects are listed, and so is an index that no longer fits.

mod report;
mod schema;

pub use report::SalvageReport;

use std::path::Path;
use std::sync::Arc;

use crate::catalog::{Catalog, object_of_class};
use crate::error::{Error, Result};
use crate::files::{Disk, RealDisk, place};
use crate::heap::{CommitEntry, Heap, HeapOptions, Loss, RecordEntry, Remains, explore, found};
use crate::instance::Options;
use crate::maintain::check::check;
use crate::maintain::progress::{Watch, tell};
use crate::object::codec::read_all;
use crate::object::{CommitNumber, Oid};

/// Bytes of bodies in one commit of the new database.
const COMMIT_BYTES: usize = 4 << 20;
/// Says that a directory is a salvage that has not ended; locked while it runs.
const UNFINISHED: &str = "UNFINISHED";

/// Salvages the database in the directory `from` into a new one at `to`; see
/// [`Database::salvage`](crate::Database::salvage).
pub fn salvage(from: &Path, to: &Path, watch: Watch<'_>) -> Result<SalvageReport> {
    let source: Arc<dyn Disk> = Arc::new(RealDisk::open(from, true)?);
    let _source_lock = match place::has(from, "FORMAT") {
        true => Some(source.lock(Path::new("FORMAT"))?),
        false => None,
    };
    if !place::is_free(to)? {
        return Err(Error::Argument(format!(
            "{} exists and is not empty; name another place for what is salvaged",
            to.display()
        )));
    }
    let beside = place::beside(to, ".salvaging");
    let disk = RealDisk::create(&beside)?;
    let _lock = disk.lock(Path::new(UNFINISHED))?;
    place::empty(&beside, UNFINISHED)?;
    let made = make(&source, Arc::new(disk), &beside, watch);
    let made = made.and_then(|report| {
        place::put(&beside, to)?;
        Ok(report)
    });
    if made.is_err() {
        // The first error counts; what is left can never be taken for a database of this name.
        let _ = place::remove(&beside);
    }
    made
}

fn make(
    source: &Arc<dyn Disk>,
    target: Arc<RealDisk>,
    beside: &Path,
    watch: Watch<'_>,
) -> Result<SalvageReport> {
    let mut remains = explore(source, &mut |done, total| {
        tell(watch, "reading segments", done, total)
    })?;
    let mut report = SalvageReport {
        losses: std::mem::take(&mut remains.losses),
        timeline: remains.timeline().saturating_add(1),
        ..SalvageReport::default()
    };
    found(&*target, report.timeline)?;
    let (heap, _) = Heap::open(target.clone(), HeapOptions::default())?;
    write(&heap, &remains, &mut report, watch)?;
    for (class, serial) in remains.last_serials() {
        heap.raise_serial(class, serial.saturating_add(1));
    }
    for (class, next) in &remains.serials {
        heap.raise_serial(crate::object::ClassId(*class), *next);
    }
    heap.close()?;
    drop(heap);
    let rest = finish(beside, &mut report, watch);
    target.remove(Path::new(UNFINISHED))?;
    target.sync_directory(Path::new(""))?;
    rest.map(|()| report)
}

/// Writes the readable objects into the new heap: the catalog first, then all others of classes it knows.
fn write(heap: &Heap, remains: &Remains, report: &mut SalvageReport, watch: Watch<'_>) -> Result<()> {
    let mut writer = Writer {
        heap,
        number: remains.last_commit,
        time: remains.last_time,
        objects: Vec::new(),
        bytes: 0,
    };
    let catalog = schema::salvage(remains, report, &mut |oid, body| writer.push(oid, body))?;
    let objects = remains.objects();
    let total = objects.len() as u64;
    for (done, (oid, version)) in objects.into_iter().enumerate() {
        if done % 1024 == 0 {
            tell(watch, "writing objects", done as u64, total)?;
        }
        // Objects of a class that was dropped lie in the log until the cleaner comes by; they are no loss.
        let dropped = || object_of_class(oid.class()).is_some_and(|object| remains.is_deleted(object));
        if oid.class().is_system() || dropped() {
            continue;
        }
        let body = remains
            .body(oid, &version)
            .and_then(|body| check_body(&catalog, oid, body));
        match body {
            Ok(body) => {
                report.objects = report.objects.saturating_add(1);
                writer.push(oid, body)?;
            }
            Err(error) => {
                let loss = Loss::of_object(oid, Some(version.location), error.to_string());
                report.losses.push(loss);
            }
        }
    }
    writer.flush()
}

/// The body, if its class is known and every attribute of it decodes.
fn check_body(catalog: &Catalog, oid: Oid, body: Vec<u8>) -> Result<Vec<u8>> {
    let Some(class) = catalog.classes.get(&oid.class()) else {
        return Err(Error::Schema(format!(
            "the object is sound, but its class number {} was dropped or is lost",
            oid.class().0
        )));
    };
    read_all(&class.layout, &body)?;
    Ok(body)
}

/// Gathers objects into commits.
struct Writer<'a> {
    heap: &'a Heap,
    number: CommitNumber,
    time: i64,
    objects: Vec<(Oid, Vec<u8>)>,
    bytes: usize,
}

impl Writer<'_> {
    fn push(&mut self, oid: Oid, body: Vec<u8>) -> Result<()> {
        self.bytes = self.bytes.saturating_add(body.len()).saturating_add(64);
        self.objects.push((oid, body));
        match self.bytes >= COMMIT_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        if self.objects.is_empty() {
            return Ok(());
        }
        self.number = CommitNumber(self.number.0.saturating_add(1));
        let records: Vec<RecordEntry<'_>> = self
            .objects
            .iter()
            .map(|(oid, body)| RecordEntry {
                oid: *oid,
                body: Some(body),
                fresh: true,
            })
            .collect();
        let entry = CommitEntry {
            number: self.number,
            time: self.time,
            label: Some("salvage"),
            metadata: &[],
            records: &records,
            deltas: &[],
        };
        let appended = self.heap.append(&[entry])?;
        self.heap.sync(appended.end)?;
        self.heap.apply(&appended);
        self.objects.clear();
        self.bytes = 0;
        if self.heap.needs_checkpoint() {
            self.heap.checkpoint()?;
        }
        Ok(())
    }
}

/// Opens the new database, which builds its indexes, and checks it. A unique index that two objects contradict (an older
/// version may stand in for a lost one) is dropped and listed.
fn finish(path: &Path, report: &mut SalvageReport, watch: Watch<'_>) -> Result<()> {
    tell(watch, "building indexes", 0, 0)?;
    let instance = loop {
        match crate::instance::open(Options::new(Some(path.to_path_buf())).create(false)) {
            Err(Error::Constraint(constraint)) => report.losses.push(Loss {
                what: format!("a unique index was dropped: {}", constraint.message),
                ..Loss::default()
            }),
            opened => break opened?,
        }
    };
    let checked = check(&instance, watch)?;
    report.dangling_references = checked.dangling_references;
    for finding in checked.findings {
        report.losses.push(Loss {
            what: format!("in the new database: {finding}"),
            ..Loss::default()
        });
    }
    let view = instance.pipeline().view();
    let catalog = crate::read::Reader::catalog(&*view);
    report.classes = catalog.classes.keys().filter(|id| !id.is_system()).count() as u64;
    report.indexes = catalog.indexes.len() as u64;
    instance.close()
}

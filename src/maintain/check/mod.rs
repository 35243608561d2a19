//! Checking a whole database, open and in use: every byte of the log, every version, every object, every reference,
//! every index.
//!
//! 1. The log and the table are verified as files.
//! 2. Table and log are compared, and the chains of previous versions followed.
//! 3. One committed state is read: the catalog hangs together, each object decodes, each reference leads to an object.
//! 4. Each index is compared with what the objects give it: by number and by a sum over all entries, which needs no memory;
//!    where they differ, entry by entry, in windows of bounded size.

mod catalog;
mod indexes;
mod objects;
mod report;

pub use report::{CheckReport, Finding};

use crate::error::Result;
use crate::heap::{Damage, Findings};
use crate::instance::Instance;
use crate::maintain::progress::{Watch, tell};

/// Checks a database. Reads only, and may run while others read and write.
///
/// # Errors
/// [`Error::Cancelled`](crate::Error::Cancelled) where `watch` ends it, and what keeps the check itself from going on; what
/// it finds is in the report.
pub fn check(instance: &Instance, watch: Watch<'_>) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    tell(watch, "reading files", 0, 0)?;
    instance.verify_files(&mut |place, what| report.find(place, what))?;
    if let Some(damage) = &instance.index_damage {
        report.find("index", damage.clone());
    }
    let total = instance.heap.statistics().records.saturating_mul(2);
    let mut comparison = Comparison {
        report: &mut report,
        watch,
        total,
    };
    instance.heap.verify_versions(&mut comparison)?;
    let view = instance.pipeline().view();
    catalog::check(&view, &mut report);
    let expected = objects::check(&view, &mut report, watch)?;
    indexes::check(&view, &expected, &mut report, watch)?;
    Ok(report)
}

/// Collects what comparing table and log finds.
struct Comparison<'a, 'w> {
    report: &'a mut CheckReport,
    watch: &'a mut (dyn FnMut(crate::maintain::Progress) -> std::ops::ControlFlow<()> + 'w),
    total: u64,
}

impl Findings for Comparison<'_, '_> {
    fn found(&mut self, damage: Damage) {
        self.report.find(damage.place, damage.what);
    }

    fn compared(&mut self, more: u64) -> Result<()> {
        self.report.versions = self.report.versions.saturating_add(more);
        tell(
            self.watch,
            "comparing table and log",
            self.report.versions,
            self.total,
        )
    }
}

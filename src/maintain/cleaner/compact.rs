//! Compacting on request.

use std::ops::ControlFlow;

use super::options::CompactOptions;
use super::report::{CompactProgress, CompactReport};
use crate::error::Result;
use crate::instance::Instance;

/// Compacts a database; see [`Database::compact`](crate::Database::compact).
pub fn compact(
    instance: &Instance,
    options: &CompactOptions,
    _progress: &mut dyn FnMut(&CompactProgress) -> ControlFlow<()>,
) -> Result<CompactReport> {
    instance.check_writable()?;
    let statistics = instance.heap.statistics();
    Ok(CompactReport {
        dry_run: options.dry_run,
        segments_before: statistics.segments,
        bytes_before: statistics.bytes,
        segments_after: statistics.segments,
        bytes_after: statistics.bytes,
        ..CompactReport::default()
    })
}

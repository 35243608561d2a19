//! What things cost, in microseconds as measured once: only their proportions matter.

/// Reading one object in a scan.
pub(super) const SCANNED: f64 = 0.05;
/// One look-up in an index.
pub(super) const LOOKED_UP: f64 = 2.0;
/// Reading one object that an index has.
pub(super) const FOUND: f64 = 0.2;
/// Passing one entry of an index.
pub(super) const ENTRY: f64 = 0.04;
/// Probing a hash table.
pub(super) const PROBED: f64 = 0.1;
/// Extents below this are taken to have as many objects: a plan may be kept while they grow.
pub(super) const SMALL_EXTENT: f64 = 1_000.0;

//! What the optimizer asks about sizes.

use crate::catalog::IndexId;
use crate::object::ClassId;
use crate::read::Reader;

/// Sizes, as far as they are known. Wrong answers make slow plans, never wrong ones.
pub trait Estimates {
    /// About how many objects there are of exactly this class.
    fn extent(&self, class: ClassId) -> u64;

    /// About how many objects an index has for one value of its first `components` components; `None` if nothing is
    /// known.
    fn matches(&self, index: IndexId, components: usize) -> Option<u64> {
        let _ = (index, components);
        None
    }
}

/// The estimates of a reader: extents, but no statistics of indexes.
pub struct ReaderEstimates<'r>(pub &'r dyn Reader);

impl Estimates for ReaderEstimates<'_> {
    fn extent(&self, class: ClassId) -> u64 {
        self.0.extent_estimate(class)
    }
}

//! What the optimizer asks about sizes.

use crate::catalog::IndexId;
use crate::object::ClassId;
use crate::read::{IndexSize, Reader};

/// Sizes, as far as they are known. Wrong answers make slow plans, never wrong ones.
pub trait Estimates {
    /// About how many objects there are of exactly this class.
    fn extent(&self, class: ClassId) -> u64;

    /// About how much an index holds; `None` if nothing is known.
    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        let _ = index;
        None
    }
}

/// The estimates of a reader.
pub struct ReaderEstimates<'r>(pub &'r dyn Reader);

impl Estimates for ReaderEstimates<'_> {
    fn extent(&self, class: ClassId) -> u64 {
        self.0.extent_estimate(class)
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        self.0.index_size(index)
    }
}

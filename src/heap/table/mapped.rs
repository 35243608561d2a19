//! A checkpoint as it lies in the file, mapped and immutable.

use std::sync::Arc;

use crate::error::Result;
use crate::object::{ClassId, Oid};

use super::page::{Child, FAN_BITS, FAN_OUT};
use super::page_map::{PageMap, damaged, read_page, within};
use super::root::ClassRoot;
use super::trie::{GRANULE, GRANULE_BITS};

/// Bits of a granule number that choose the granule in a leaf.
const GRANULES_BITS: u32 = FAN_BITS - GRANULE_BITS;

/// The trees of all classes at one checkpoint.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// `None` before the first checkpoint: then there are no classes either.
    pages: Option<Arc<PageMap>>,
    /// Ascending by class.
    classes: Vec<ClassRoot>,
    /// By class number: one past the index in `classes`, 0 for none.
    index: Vec<u32>,
    /// The pages of the stem.
    stem: Vec<u32>,
}

impl Mapped {
    /// A checkpoint in `pages` with these classes (ascending) and stem.
    pub(super) fn new(pages: Arc<PageMap>, classes: Vec<ClassRoot>, stem: Vec<u32>) -> Mapped {
        let mut index = vec![0; classes.last().map_or(0, |last| last.class.0 as usize + 1)];
        for (class, one_past) in classes.iter().zip(1..) {
            if let Some(entry) = index.get_mut(class.class.0 as usize) {
                *entry = one_past;
            }
        }
        Mapped {
            pages: Some(pages),
            classes,
            index,
            stem,
        }
    }

    /// The map its pages lie in.
    pub(super) fn pages(&self) -> Option<&Arc<PageMap>> {
        self.pages.as_ref()
    }

    /// The pages of the stem.
    pub(super) fn stem(&self) -> &[u32] {
        &self.stem
    }

    /// The classes, ascending.
    pub(super) fn classes(&self) -> &[ClassRoot] {
        &self.classes
    }

    /// The root of `class`.
    #[inline]
    pub(super) fn class(&self, class: ClassId) -> Option<&ClassRoot> {
        let one_past = *self.index.get(class.0 as usize)? as usize;
        self.classes.get(one_past.wrapping_sub(1))
    }

    /// The bits of the location of `oid`; 0 if it has none.
    #[inline]
    pub(super) fn get(&self, oid: Oid) -> Result<u64> {
        let Some(pages) = &self.pages else {
            return Ok(0);
        };
        let serial = oid.serial();
        let Some(leaf) = self
            .class(oid.class())
            .and_then(|class| leaf_of(pages, class, serial))
        else {
            return Ok(0);
        };
        if !pages.is_trusted(leaf.page) {
            pages.check(leaf)?;
        }
        Ok(pages.word(leaf.page, serial % FAN_OUT))
    }

    /// The bytes of the granule `number` of `class`; none if its leaf is absent.
    pub(super) fn granule(&self, class: &ClassRoot, number: u64) -> Result<&[u8]> {
        let serial = number << GRANULE_BITS;
        let Some(pages) = &self.pages else {
            return Ok(&[]);
        };
        let Some(leaf) = leaf_of(pages, class, serial) else {
            return Ok(&[]);
        };
        if !pages.is_trusted(leaf.page) {
            pages.check(leaf)?;
        }
        Ok(pages.bytes(leaf.page, serial % FAN_OUT, GRANULE * 8))
    }

    /// The first granule of `class` from `from` on whose leaf is present.
    pub(super) fn next_granule(&self, class: &ClassRoot, from: u64) -> Option<u64> {
        let serial = from << GRANULE_BITS;
        if serial > class.last_serial {
            return None;
        }
        let leaf = serial >> FAN_BITS;
        let found = next_leaf(self.pages.as_deref()?, class.root, class.height, leaf)?;
        Some(if found == leaf {
            from
        } else {
            found << GRANULES_BITS
        })
    }

    /// Reads every page and compares it with its CRC.
    pub(super) fn verify(&self) -> Result<()> {
        let Some(pages) = &self.pages else {
            return Ok(());
        };
        for class in &self.classes {
            visit(pages, class.root, class.height, true, &mut |_| true)?;
        }
        Ok(())
    }
}

/// The leaf that holds `serial`.
#[inline]
fn leaf_of(pages: &PageMap, class: &ClassRoot, serial: u64) -> Option<Child> {
    if serial > class.last_serial {
        return None;
    }
    let mut child = class.root;
    let mut shift = FAN_BITS * class.height;
    while shift > 0 {
        child = Child::from_word(pages.word(child.page, (serial >> shift) % FAN_OUT))?;
        shift -= FAN_BITS;
    }
    Some(child)
}

/// The number, within the subtree of `node`, of its first leaf from `from` on.
fn next_leaf(pages: &PageMap, node: Child, height: u32, from: u64) -> Option<u64> {
    let Some(below) = height.checked_sub(1) else {
        return Some(from);
    };
    let bits = FAN_BITS * below;
    let first = from >> bits;
    (first..FAN_OUT).find_map(|index| {
        let child = Child::from_word(pages.word(node.page, index))?;
        let within = if index == first { from % (1 << bits) } else { 0 };
        next_leaf(pages, child, below, within).map(|found| index << bits | found)
    })
}

/// Calls `claim` for every page below and at `node`, after reading and checking each directory, and each leaf where
/// `leaves` says so. `claim` answers whether the page may be there.
pub(super) fn visit(
    pages: &PageMap,
    node: Child,
    height: u32,
    leaves: bool,
    claim: &mut dyn FnMut(u32) -> bool,
) -> Result<()> {
    let file = &**pages.file();
    if !claim(node.page) {
        return Err(damaged(file, node.page, "is referred to twice"));
    }
    if height == 0 && !leaves {
        return within(file, pages.len(), node);
    }
    let bytes = read_page(file, pages.len(), node)?;
    let Some(below) = height.checked_sub(1) else {
        return Ok(());
    };
    for index in 0..FAN_OUT {
        if let Some(child) = Child::from_word(super::page::word(&*bytes, index)) {
            visit(pages, child, below, leaves, claim)?;
        }
    }
    Ok(())
}

//! A checkpoint as it lies in the file, mapped and immutable.
//!
//! The way from a class's root to a leaf goes through mapped directories. For the dense beginning of each class, where
//! nearly all objects are, the page numbers of the leaves also stand in an array in memory, 4 bytes for 512 objects: a
//! read is then one load there and one in the leaf. The array is made from the directories when a checkpoint is opened
//! or written, and shared by following checkpoints that do not change the class.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Result;
use crate::object::{ClassId, Oid};

use super::page::{Child, FAN_BITS, FAN_OUT};
use super::page_map::{PageMap, damaged, read_page, within};
use super::root::ClassRoot;
use super::trie::{GRANULE, GRANULE_BITS};

/// Bits of a granule number that choose the granule in a leaf.
const GRANULES_BITS: u32 = FAN_BITS - GRANULE_BITS;

/// In a near leaf's entry: the leaf is absent, or was not checked yet; the directories know.
const UNCHECKED: u32 = 1 << 31;

/// One class at one checkpoint.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) root: ClassRoot,
    /// By leaf number: its page, or [`UNCHECKED`]. Relaxed, as the trust of a page is.
    near: Arc<[AtomicU32]>,
}

impl Class {
    fn new(pages: &PageMap, root: ClassRoot) -> Class {
        // At most 4 bytes for each 64 objects, however sparse they are.
        let span = (root.last_serial >> FAN_BITS) + 1;
        let len = span.min((root.entries >> GRANULE_BITS) + 8);
        let near: Arc<[AtomicU32]> = (0..len).map(|_| AtomicU32::new(UNCHECKED)).collect();
        fill(pages, root.root, root.height, 0, &near);
        Class { root, near }
    }
}

/// Enters the trusted leaves below `node`, whose first leaf has the number `first`.
fn fill(pages: &PageMap, node: Child, height: u32, first: u64, near: &[AtomicU32]) {
    let Some(below) = height.checked_sub(1) else {
        if let Some(entry) = near.get(first as usize).filter(|_| pages.is_trusted(node.page)) {
            entry.store(node.page, Ordering::Relaxed);
        }
        return;
    };
    for index in 0..FAN_OUT {
        let first = first + (index << (FAN_BITS * below));
        if first >= near.len() as u64 {
            return;
        }
        if let Some(child) = Child::from_word(pages.word(node.page, index)) {
            fill(pages, child, below, first, near);
        }
    }
}

/// The trees of all classes at one checkpoint.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// `None` before the first checkpoint: then there are no classes either.
    pages: Option<Arc<PageMap>>,
    /// Ascending by class.
    classes: Vec<Class>,
    /// By class number: its near leaves, once more, since nearly all reads begin here.
    near: Vec<Arc<[AtomicU32]>>,
    /// By class number: one past the index in `classes`, 0 for none.
    index: Vec<u32>,
    /// The pages of the stem.
    stem: Vec<u32>,
}

impl Mapped {
    /// A checkpoint in `pages` with these classes (ascending) and stem, written over `base`.
    pub(super) fn new(pages: Arc<PageMap>, roots: Vec<ClassRoot>, stem: Vec<u32>, base: &Mapped) -> Mapped {
        let mut index = vec![0; roots.last().map_or(0, |last| last.class.0 as usize + 1)];
        for (root, one_past) in roots.iter().zip(1..) {
            if let Some(entry) = index.get_mut(root.class.0 as usize) {
                *entry = one_past;
            }
        }
        let class_of = |root: ClassRoot| match base.class(root.class) {
            Some(class) if class.root == root => Class {
                root,
                near: class.near.clone(),
            },
            _ => Class::new(&pages, root),
        };
        let classes: Vec<Class> = roots.into_iter().map(class_of).collect();
        let mut near: Vec<Arc<[AtomicU32]>> = vec![Arc::default(); index.len()];
        for class in &classes {
            if let Some(entry) = near.get_mut(class.root.class.0 as usize) {
                *entry = class.near.clone();
            }
        }
        Mapped {
            pages: Some(pages),
            classes,
            near,
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

    /// The roots of all classes, ascending.
    pub(super) fn roots(&self) -> impl Iterator<Item = &ClassRoot> {
        self.classes.iter().map(|class| &class.root)
    }

    /// What it holds of `class`.
    #[inline(always)]
    pub(super) fn class(&self, class: ClassId) -> Option<&Class> {
        let one_past = *self.index.get(class.0 as usize)? as usize;
        self.classes.get(one_past.wrapping_sub(1))
    }

    /// The bits of the location of `oid`; 0 if it has none.
    #[inline]
    pub(super) fn get(&self, oid: Oid) -> Result<u64> {
        let (Some(class), Some(pages)) = (self.class(oid.class()), &self.pages) else {
            return Ok(0);
        };
        let serial = oid.serial();
        match leaf_of(pages, class, serial)? {
            0 => Ok(0),
            leaf => Ok(pages.word(leaf, serial % FAN_OUT)),
        }
    }

    /// The same if its leaf is near and trusted.
    #[inline(always)]
    pub(super) fn near(&self, oid: Oid) -> Option<u64> {
        self.near_class(oid.class())?.bits(oid.serial())
    }

    /// The near leaves of `class`.
    #[inline(always)]
    pub(super) fn near_class(&self, class: ClassId) -> Option<NearClass<'_>> {
        let leaves = self.near.get(class.0 as usize)?;
        let pages = self.pages.as_ref()?;
        Some(NearClass { leaves, pages })
    }

    /// The bytes of the granule `number` of `class`; none if its leaf is absent.
    pub(super) fn granule(&self, class: &Class, number: u64) -> Result<&[u8]> {
        let serial = number << GRANULE_BITS;
        let Some(pages) = &self.pages else {
            return Ok(&[]);
        };
        match leaf_of(pages, class, serial)? {
            0 => Ok(&[]),
            leaf => Ok(pages.bytes(leaf, serial % FAN_OUT, GRANULE * 8)),
        }
    }

    /// The first granule of `class` from `from` on whose leaf is present.
    pub(super) fn next_granule(&self, class: &Class, from: u64) -> Option<u64> {
        let serial = from << GRANULE_BITS;
        if serial > class.root.last_serial {
            return None;
        }
        let leaf = serial >> FAN_BITS;
        if near_leaf(class, leaf).is_some() {
            return Some(from);
        }
        let found = next_leaf(self.pages.as_deref()?, class.root.root, class.root.height, leaf)?;
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
        for class in self.roots() {
            visit(pages, class.root, class.height, true, &mut |_| true)?;
        }
        Ok(())
    }
}

/// The near leaves of one class.
#[derive(Debug, Clone, Copy)]
pub(super) struct NearClass<'a> {
    leaves: &'a [AtomicU32],
    pages: &'a PageMap,
}

impl NearClass<'_> {
    /// The bits of the location of the object `serial`, 0 if it has none; `None` if its leaf is not near or not trusted.
    #[inline(always)]
    pub(super) fn bits(&self, serial: u64) -> Option<u64> {
        let leaf = self
            .leaves
            .get((serial >> FAN_BITS) as usize)?
            .load(Ordering::Relaxed);
        (leaf & UNCHECKED == 0).then(|| self.pages.word(leaf, serial % FAN_OUT))
    }
}

/// The page of the leaf `number`, if it stands in the array and is trusted.
#[inline(always)]
fn near_leaf(class: &Class, number: u64) -> Option<u32> {
    let page = class.near.get(number as usize)?.load(Ordering::Relaxed);
    (page & UNCHECKED == 0).then_some(page)
}

/// The page of the leaf that holds `serial`, trusted; 0 if there is none.
#[inline]
fn leaf_of(pages: &PageMap, class: &Class, serial: u64) -> Result<u32> {
    match near_leaf(class, serial >> FAN_BITS) {
        Some(page) => Ok(page),
        None => far_leaf(pages, class, serial),
    }
}

/// As [`leaf_of`], through the directories: for sparse serials, and at the first touch of a leaf.
#[inline(never)]
fn far_leaf(pages: &PageMap, class: &Class, serial: u64) -> Result<u32> {
    let Some(leaf) = descend(pages, &class.root, serial) else {
        return Ok(0);
    };
    if !pages.is_trusted(leaf.page) {
        pages.check(leaf)?;
    }
    if let Some(entry) = class.near.get((serial >> FAN_BITS) as usize) {
        entry.store(leaf.page, Ordering::Relaxed);
    }
    Ok(leaf.page)
}

fn descend(pages: &PageMap, class: &ClassRoot, serial: u64) -> Option<Child> {
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

//! Writes a layer's changes into fresh pages: the slow part of a checkpoint.
//!
//! Every leaf with a change, and every directory above one, is written to a page that nothing refers to; what they
//! replace is left as it is and listed. Children are written before their parents, which hold their CRCs.

use crate::error::Result;
use crate::files::File;
use crate::heap::Location;
use crate::object::ClassId;

use super::allocator::Allocator;
use super::layer::{ClassLayer, Layer};
use super::mapped::Mapped;
use super::page::{Child, FAN_BITS, FAN_OUT, PAGE_SIZE, PageBytes, height_for, offset_of, set_word, word};
use super::page_map::damaged;
use super::root::{ClassRoot, stem_pages};
use super::trie::{GRANULE, GRANULE_BITS};

/// Neighbouring pages are gathered up to this many bytes before they are written.
const RUN_BYTES: usize = 256 * 1024;
/// The file grows by an eighth, at least and at most by this.
const GROW_BYTES: (u64, u64) = (1 << 20, 64 << 20);

/// An old subtree: its root page, and how many levels it has above its leaves.
type Old = (Child, u32);

/// Writes pages of one checkpoint.
pub(super) struct TreeWriter<'a> {
    file: &'a dyn File,
    /// The checkpoint that is changed.
    base: &'a Mapped,
    allocator: &'a mut Allocator,
    file_len: u64,
    /// Pages not written yet, `run_start` and the following.
    run: Vec<u8>,
    run_start: u32,
    /// Every page allocated.
    written: Vec<u32>,
    /// Pages of the base that the new checkpoint does without.
    replaced: Vec<u32>,
}

/// What a writer has done.
#[derive(Debug)]
pub(super) struct Written {
    /// The length of the file now.
    pub(super) file_len: u64,
    /// Every page allocated.
    pub(super) pages: Vec<u32>,
    /// Pages of the base that the new checkpoint does without.
    pub(super) replaced: Vec<u32>,
}

impl<'a> TreeWriter<'a> {
    /// A writer over `base` into `file`, which is `file_len` bytes long.
    pub(super) fn new(
        file: &'a dyn File,
        file_len: u64,
        base: &'a Mapped,
        allocator: &'a mut Allocator,
    ) -> TreeWriter<'a> {
        TreeWriter {
            file,
            base,
            allocator,
            file_len,
            run: Vec::new(),
            run_start: 0,
            written: Vec::new(),
            replaced: base.stem().to_vec(),
        }
    }

    /// Writes the changes of `layer`; the new roots of all classes, ascending.
    pub(super) fn trees(&mut self, layer: &Layer) -> Result<Vec<ClassRoot>> {
        let mut roots = Vec::new();
        let mut untouched = self.base.roots().peekable();
        for (class, changes) in layer.classes() {
            while let Some(root) = untouched.next_if(|root| root.class < class) {
                roots.push(*root);
            }
            let old = untouched.next_if(|root| root.class == class);
            roots.extend(self.tree(class, changes, old)?);
        }
        roots.extend(untouched);
        Ok(roots)
    }

    /// Writes the tree of one class; `None` if nothing is in it.
    fn tree(
        &mut self,
        class: ClassId,
        changes: &ClassLayer,
        old: Option<&ClassRoot>,
    ) -> Result<Option<ClassRoot>> {
        let last_serial = changes.last_serial().max(old.map_or(0, |old| old.last_serial));
        let height = height_for(last_serial);
        let mut added = 0i64;
        let subtree = old.map(|old| (old.root, old.height));
        let root = self.subtree(changes, subtree, height, 0, &mut added)?;
        let entries = old.map_or(0, |old| old.entries).saturating_add_signed(added);
        Ok(root.map(|root| ClassRoot {
            class,
            height,
            root,
            entries,
            last_serial,
        }))
    }

    /// Writes the subtree of `height` whose first leaf has the number `first`, where it has changes.
    fn subtree(
        &mut self,
        changes: &ClassLayer,
        old: Option<Old>,
        height: u32,
        first: u64,
        added: &mut i64,
    ) -> Result<Option<Child>> {
        let end = first + (1 << (FAN_BITS * height));
        let touched = next_leaf(changes, first).is_some_and(|leaf| leaf < end);
        match old {
            Some((child, same)) if same == height && !touched => Ok(Some(child)),
            None if !touched => Ok(None),
            old if height == 0 => self.leaf(changes, old, first, added).map(Some),
            old => self.directory(changes, old, height, first, added).map(Some),
        }
    }

    fn directory(
        &mut self,
        changes: &ClassLayer,
        old: Option<Old>,
        height: u32,
        first: u64,
        added: &mut i64,
    ) -> Result<Child> {
        let below = height - 1;
        let bits = FAN_BITS * below;
        let mut bytes = [0; PAGE_SIZE];
        // A lower old tree holds the lowest serials: it goes under the first child.
        let lower = old.filter(|(_, old_height)| *old_height < height);
        if let (Some((child, _)), None) = (old, lower) {
            bytes = self.replace(child)?;
        }
        if lower.is_some() {
            let child = self.subtree(changes, lower, below, first, added)?;
            set_word(&mut bytes, 0, child.map_or(0, Child::to_word));
        }
        let mut index = u64::from(lower.is_some());
        while let Some(leaf) = next_leaf(changes, first + (index << bits)) {
            index = (leaf - first) >> bits;
            if index >= FAN_OUT {
                break;
            }
            let old = Child::from_word(word(&bytes, index)).map(|child| (child, below));
            let child = self.subtree(changes, old, below, first + (index << bits), added)?;
            set_word(&mut bytes, index, child.map_or(0, Child::to_word));
            index += 1;
        }
        self.write(&bytes)
    }

    fn leaf(
        &mut self,
        changes: &ClassLayer,
        old: Option<Old>,
        number: u64,
        added: &mut i64,
    ) -> Result<Child> {
        let mut bytes = match old {
            Some((child, _)) => self.replace(child)?,
            None => [0; PAGE_SIZE],
        };
        let first_granule = number << (FAN_BITS - GRANULE_BITS);
        for part in 0..1 << (FAN_BITS - GRANULE_BITS) {
            let Some(granule) = changes.granule(first_granule + part) else {
                continue;
            };
            let mut values = [0; GRANULE];
            granule.overlay(&mut values);
            for (value, index) in values.into_iter().zip(part << GRANULE_BITS..) {
                if value != 0 {
                    let before = word(&bytes, index);
                    let value = if value == Location::NOWHERE.0.get() {
                        0
                    } else {
                        value
                    };
                    *added += i64::from(value != 0) - i64::from(before != 0);
                    set_word(&mut bytes, index, value);
                }
            }
        }
        self.write(&bytes)
    }

    /// The bytes of a page of the base, which is listed as replaced.
    fn replace(&mut self, child: Child) -> Result<PageBytes> {
        let Some(pages) = self.base.pages() else {
            return Ok([0; PAGE_SIZE]);
        };
        if !pages.is_trusted(child.page) {
            pages.check(child)?;
        }
        let bytes = PageBytes::try_from(pages.bytes(child.page, 0, PAGE_SIZE))
            .map_err(|_| damaged(self.file, child.page, "lies past the end of the map"))?;
        self.replaced.push(child.page);
        Ok(bytes)
    }

    /// Takes a fresh page for `bytes`.
    fn write(&mut self, bytes: &PageBytes) -> Result<Child> {
        let page = self.allocator.allocate()?;
        self.written.push(page);
        self.append(page, bytes)?;
        Ok(Child {
            page,
            crc: crc32c::crc32c(bytes),
        })
    }

    /// Writes the stem to fresh pages in a row.
    pub(super) fn stem(&mut self, stem: &[u8]) -> Result<(Child, Vec<u32>)> {
        let count = stem_pages(stem.len() as u64);
        let first = self.allocator.allocate_run(count)?;
        let pages: Vec<u32> = (first..).take(count as usize).collect();
        self.written.extend(&pages);
        for (page, bytes) in pages.iter().zip(stem.chunks(PAGE_SIZE)) {
            let mut padded = [0; PAGE_SIZE];
            padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            self.append(*page, &padded)?;
        }
        Ok((
            Child {
                page: first,
                crc: crc32c::crc32c(stem),
            },
            pages,
        ))
    }

    /// Adds a page to the run, which is written first where this page does not follow it.
    fn append(&mut self, page: u32, bytes: &PageBytes) -> Result<()> {
        let next = u64::from(self.run_start) + (self.run.len() / PAGE_SIZE) as u64;
        if self.run.len() >= RUN_BYTES || next != u64::from(page) {
            self.flush()?;
            self.run_start = page;
        }
        self.run.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the run.
    fn flush(&mut self) -> Result<()> {
        let offset = offset_of(self.run_start);
        let end = offset + self.run.len() as u64;
        if end > self.file_len {
            let step = (self.file_len / 8).clamp(GROW_BYTES.0, GROW_BYTES.1);
            let len = end.max(self.file_len + step).next_multiple_of(PAGE_SIZE as u64);
            self.file.set_len(len)?;
            self.file_len = len;
        }
        if !self.run.is_empty() {
            self.file.write_at(&self.run, offset)?;
            self.run.clear();
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()
    }

    /// What was done, well or not.
    pub(super) fn into_written(self) -> Written {
        Written {
            file_len: self.file_len,
            pages: self.written,
            replaced: self.replaced,
        }
    }
}

/// The number of the first leaf from `from` on with a change.
fn next_leaf(changes: &ClassLayer, from: u64) -> Option<u64> {
    let bits = FAN_BITS - GRANULE_BITS;
    changes.next_granule(from << bits).map(|granule| granule >> bits)
}

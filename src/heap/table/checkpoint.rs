//! The life of a checkpoint.
//!
//! 1. The table freezes its layer of changes; new ones go to a new layer.
//! 2. The changed leaves, the directories above them and the stem go to fresh pages; the file is synced.
//! 3. The root goes to the slot that does not hold the current root; the file is synced. From here on the checkpoint
//!    is durable, and the one before it is no longer needed to open the database.
//! 4. The table publishes a version that maps it. The pages it does without are written again only when no reader
//!    holds an older version.
//!
//! An error before the root is written leaves everything as it was, and the same frozen layer may be written again
//! later. After a failed sync, or a failed write of the root, nobody knows what the disk holds: the checkpointer refuses all
//! further work with a lasting error, and what an opening finds is a whole root, older or newer.
//!
//! At opening the newest whole root counts. A damaged slot beside it is the torn write of a root that never became
//! durable, or a durable one that went bad later: nothing tells them apart. So the older root is then taken only if every one of its pages
//! is still whole, and it is right to take it because the log from its position on is: no segment that a durable root
//! needs is removed before a newer root is durable. Otherwise the table is rebuilt from the whole log.

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::files::{Disk, File};
use crate::heap::LogPosition;

use super::allocator::Allocator;
use super::layer::Layer;
use super::mapped::{Mapped, visit};
use super::page::{Child, PAGE_SIZE, offset_of};
use super::page_map::{PageMap, damaged};
use super::root::{ClassRoot, Found, ROOT_SIZE, RootSlot, decode_stem, encode_stem, stem_pages};
use super::tree_writer::{TreeWriter, Written};

/// The directory of the table in the database.
const DIRECTORY: &str = "table";
/// The file of its pages.
const PAGES: &str = "table/pages";
/// The first length of the file.
const FIRST_LEN: u64 = 1 << 20;

/// What a durable checkpoint says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The log position up to which the checkpoint holds every change; replay starts here.
    pub position: LogPosition,
    /// The heap's own bytes, as given to the checkpoint.
    pub metadata: Vec<u8>,
    /// The number of the checkpoint; the first is 1.
    pub sequence: u64,
}

/// Writes checkpoints, one after the other.
#[derive(Debug)]
pub(super) struct Checkpointer {
    disk: Arc<dyn Disk>,
    file: Option<Arc<dyn File>>,
    file_len: u64,
    allocator: Allocator,
    /// Number and slot of the newest durable root.
    sequence: u64,
    slot: u32,
    /// Why no further checkpoint can be written.
    failed: Option<String>,
}

impl Checkpointer {
    /// Nothing stored yet, or nothing that counts.
    pub(super) fn new(disk: Arc<dyn Disk>) -> Checkpointer {
        Checkpointer {
            disk,
            file: None,
            file_len: 0,
            allocator: Allocator::new(),
            sequence: 0,
            slot: 1,
            failed: None,
        }
    }

    /// Finds the newest durable checkpoint.
    pub(super) fn open(disk: Arc<dyn Disk>) -> Result<(Checkpointer, Mapped, Option<Root>)> {
        let mut checkpointer = Checkpointer::new(disk);
        if !checkpointer.is_stored()? {
            return Ok((checkpointer, Mapped::default(), None));
        }
        let file = checkpointer.disk.open(Path::new(PAGES))?;
        checkpointer.file_len = file.len()? / PAGE_SIZE as u64 * PAGE_SIZE as u64;
        let slots = [
            checkpointer.read_slot(&file, 0)?,
            checkpointer.read_slot(&file, 1)?,
        ];
        let Some((slot, root)) = newest(&slots) else {
            return match slots {
                [Found::Damaged, Found::Damaged] => {
                    Err(damaged(&*file, 0, "and its twin hold no whole root"))
                }
                _ => Ok((checkpointer, Mapped::default(), None)),
            };
        };
        // From the second root on no slot is empty, unless it was wiped.
        let wiped = root.sequence > 1 && slots.contains(&Found::Empty);
        let fell_back = wiped || slots.contains(&Found::Damaged);
        let (mapped, metadata) = checkpointer.load(&file, &root, fell_back)?;
        if !checkpointer.disk.is_read_only() {
            // The root may have been read out of the page cache of a process that died before its sync.
            file.sync()?;
        }
        checkpointer.file = Some(file);
        checkpointer.sequence = root.sequence;
        checkpointer.slot = slot;
        let RootSlot {
            position, sequence, ..
        } = root;
        Ok((
            checkpointer,
            mapped,
            Some(Root {
                position,
                metadata,
                sequence,
            }),
        ))
    }

    /// Removes what is stored, where that is allowed.
    pub(super) fn remove(&self) -> Result<()> {
        if !self.disk.is_read_only() && self.is_stored()? {
            self.disk.remove(Path::new(PAGES))?;
            self.disk.sync_directory(Path::new(DIRECTORY))?;
        }
        Ok(())
    }

    fn is_stored(&self) -> Result<bool> {
        let names = self.disk.list(Path::new(DIRECTORY))?;
        Ok(names
            .iter()
            .any(|name| name.file_name() == Path::new(PAGES).file_name()))
    }

    fn read_slot(&self, file: &Arc<dyn File>, slot: u32) -> Result<Found> {
        if offset_of(slot) + ROOT_SIZE as u64 > self.file_len {
            return Ok(Found::Empty);
        }
        let mut bytes = [0; ROOT_SIZE];
        file.read_at(&mut bytes, offset_of(slot))?;
        RootSlot::decode(&bytes)
    }

    /// Maps the checkpoint of `root`, checks its directories (its leaves too if `leaves`) and claims its pages.
    fn load(&mut self, file: &Arc<dyn File>, root: &RootSlot, leaves: bool) -> Result<(Mapped, Vec<u8>)> {
        let stem = self.read_stem(file, root)?;
        let Some((metadata, classes)) = decode_stem(&stem) else {
            return Err(damaged(
                &**file,
                root.stem.page,
                "begins a stem that is not well-formed",
            ));
        };
        let pages = PageMap::new(file.clone(), self.file_len, None)?;
        let stem_pages: Vec<u32> = (root.stem.page..)
            .take(stem_pages(root.stem_len) as usize)
            .collect();
        for page in &stem_pages {
            if !self.allocator.claim(*page) {
                return Err(damaged(&**file, *page, "is referred to twice"));
            }
        }
        for class in &classes {
            let mut claim = |page| self.allocator.claim(page);
            visit(&pages, class.root, class.height, leaves, &mut claim)?;
        }
        Ok((
            Mapped::new(Arc::new(pages), classes, stem_pages, &Mapped::default()),
            metadata,
        ))
    }

    fn read_stem(&self, file: &Arc<dyn File>, root: &RootSlot) -> Result<Vec<u8>> {
        let end = offset_of(root.stem.page).checked_add(root.stem_len);
        if end.is_none_or(|end| end > self.file_len) {
            return Err(damaged(
                &**file,
                root.stem.page,
                "begins a stem that passes the end of the file",
            ));
        }
        let mut stem = vec![0; root.stem_len as usize];
        file.read_at(&mut stem, offset_of(root.stem.page))?;
        if crc32c::crc32c(&stem) != root.stem.crc {
            return Err(damaged(
                &**file,
                root.stem.page,
                "begins a stem that does not have its checksum",
            ));
        }
        Ok(stem)
    }

    /// Writes `layer` over `base` as the checkpoint of `position`, durably.
    pub(super) fn write(
        &mut self,
        layer: &Layer,
        base: &Arc<Mapped>,
        position: LogPosition,
        metadata: &[u8],
    ) -> Result<(Mapped, Root)> {
        if let Some(reason) = &self.failed {
            return Err(Error::ReadOnly(reason.clone()));
        }
        let file = self.writable_file()?;
        self.allocator.reclaim();
        let (stem, mapped, replaced) = self.write_pages(&file, layer, base, metadata)?;
        let sequence = self.sequence + 1;
        let root = RootSlot {
            sequence,
            position,
            stem: stem.0,
            stem_len: stem.1,
        };
        let slot = 1 - self.slot;
        self.publish_root(&*file, slot, &root).inspect_err(|error| {
            self.failed = Some(format!(
                "the object table cannot be checkpointed any more, because {} may not be durable ({error}); \
                 open the database again",
                file.path().display()
            ));
        })?;
        self.sequence = sequence;
        self.slot = slot;
        self.allocator.free_after(Arc::downgrade(base), replaced);
        Ok((
            mapped,
            Root {
                position,
                metadata: metadata.to_vec(),
                sequence,
            },
        ))
    }

    /// Writes all but the root, not synced yet; gives the pages back if it fails.
    fn write_pages(
        &mut self,
        file: &Arc<dyn File>,
        layer: &Layer,
        base: &Arc<Mapped>,
        metadata: &[u8],
    ) -> Result<(StemPlace, Mapped, Vec<u32>)> {
        let mut writer = TreeWriter::new(&**file, self.file_len, base, &mut self.allocator);
        let outcome = write_trees(&mut writer, layer, metadata);
        let Written {
            file_len,
            pages,
            replaced,
        } = writer.into_written();
        self.file_len = file_len;
        let outcome = outcome.and_then(|(classes, stem, stem_pages)| {
            let map = map_of(file, file_len, base)?;
            pages.iter().for_each(|page| map.trust(*page));
            Ok((stem, Mapped::new(map, classes, stem_pages, base), replaced))
        });
        outcome.inspect_err(|_| self.allocator.free(&pages))
    }

    /// Makes the pages durable, then the root.
    fn publish_root(&self, file: &dyn File, slot: u32, root: &RootSlot) -> Result<()> {
        file.sync()?;
        file.write_at(&root.encode(), offset_of(slot))?;
        file.sync()
    }

    /// The file. Without a root in it yet nothing says that its name is durable, so that is seen to first.
    fn writable_file(&mut self) -> Result<Arc<dyn File>> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        self.disk.create_directory(Path::new(DIRECTORY))?;
        let file = match self.is_stored()? {
            true => self.disk.open(Path::new(PAGES))?,
            false => self.disk.create(Path::new(PAGES), FIRST_LEN)?,
        };
        if file.len()? < FIRST_LEN {
            file.set_len(FIRST_LEN)?;
        }
        file.sync()?;
        self.disk.sync_directory(Path::new(DIRECTORY))?;
        self.disk.sync_directory(Path::new(""))?;
        self.file_len = file.len()? / PAGE_SIZE as u64 * PAGE_SIZE as u64;
        self.file = Some(file.clone());
        Ok(file)
    }
}

/// First page and CRC32C of a stem, and its length in bytes.
type StemPlace = (Child, u64);

/// Writes the trees and the stem: the classes, where the stem is, its pages.
fn write_trees(
    writer: &mut TreeWriter<'_>,
    layer: &Layer,
    metadata: &[u8],
) -> Result<(Vec<ClassRoot>, StemPlace, Vec<u32>)> {
    let classes = writer.trees(layer)?;
    let stem = encode_stem(metadata, &classes)?;
    let (child, pages) = writer.stem(&stem)?;
    writer.finish()?;
    Ok((classes, (child, stem.len() as u64), pages))
}

/// The map of `base`, or a new one if the file has outgrown it.
fn map_of(file: &Arc<dyn File>, len: u64, base: &Mapped) -> Result<Arc<PageMap>> {
    match base.pages() {
        Some(pages) if pages.len() >= len => Ok(pages.clone()),
        older => Ok(Arc::new(PageMap::new(
            file.clone(),
            len,
            older.map(|pages| &**pages),
        )?)),
    }
}

/// The whole root with the largest sequence, and its slot.
fn newest(slots: &[Found; 2]) -> Option<(u32, RootSlot)> {
    slots
        .iter()
        .zip(0..)
        .filter_map(|(found, slot)| match found {
            Found::Whole(root) => Some((slot, *root)),
            _ => None,
        })
        .max_by_key(|(_, root)| root.sequence)
}

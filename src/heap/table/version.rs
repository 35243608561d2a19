//! One version of the table, as readers hold it.
//!
//! A reader that holds a version sees a stack of up to three parts, the newest first: the layer that takes changes,
//! the layer that is being written, the mapped checkpoint. The first part that knows an OID answers. Parts below the
//! first never change; the first only gains entries and moves them on to newer records (whose chains of previous
//! versions lead back). So a version may show more than when it was taken, never less, and nothing in it needs a lock.

use std::num::NonZeroU64;
use std::sync::Arc;

use crate::error::Result;
use crate::heap::Location;
use crate::object::{ClassId, MAX_SERIAL, Oid};

use super::layer::{ClassLayer, Layer};
use super::mapped::{Class, Mapped, NearClass};
use super::trie::{GRANULE, GRANULE_BITS};

/// A version of the table that a reader holds: no lock, no allocation, no reference counting in a read.
#[derive(Debug)]
pub struct TableVersion {
    active: Arc<Layer>,
    frozen: Option<Arc<Layer>>,
    mapped: Arc<Mapped>,
}

impl TableVersion {
    /// The stack of these parts.
    pub(super) fn new(active: Arc<Layer>, frozen: Option<Arc<Layer>>, mapped: Arc<Mapped>) -> TableVersion {
        TableVersion {
            active,
            frozen,
            mapped,
        }
    }

    /// The next version, whose active layer is frozen below a `fresh` one. There must be no frozen layer.
    pub(super) fn frozen_below(&self, fresh: Arc<Layer>) -> TableVersion {
        TableVersion::new(fresh, Some(self.active.clone()), self.mapped.clone())
    }

    /// The next version, when the frozen layer has been written and is in `mapped`.
    pub(super) fn checkpointed(&self, mapped: Mapped) -> TableVersion {
        TableVersion::new(self.active.clone(), None, Arc::new(mapped))
    }

    /// The layer that takes changes.
    pub(super) fn active(&self) -> &Layer {
        &self.active
    }

    /// The layer that is being written.
    pub(super) fn frozen(&self) -> Option<&Layer> {
        self.frozen.as_deref()
    }

    /// The checkpoint below.
    pub(super) fn mapped(&self) -> &Arc<Mapped> {
        &self.mapped
    }

    /// Bytes of memory of the two layers.
    pub(super) fn dirty_bytes(&self) -> usize {
        self.active.bytes() + self.frozen().map_or(0, Layer::bytes)
    }

    /// Where the newest version of `oid` lies.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`](crate::Error::Corruption) at the first touch of a damaged page, and at every later one.
    #[inline]
    pub fn get(&self, oid: Oid) -> Result<Option<Location>> {
        let mut bits = self.changed(oid);
        if bits == 0 {
            bits = self.mapped.get(oid)?;
        }
        Ok(NonZeroU64::new(bits).map(Location))
    }

    /// The same where no page must be checked for it; `None` says only that [`TableVersion::get`] must be asked.
    #[inline(always)]
    pub fn near(&self, oid: Oid) -> Option<Location> {
        let mut bits = self.changed(oid);
        if bits == 0 {
            bits = self.mapped.near(oid)?;
        }
        NonZeroU64::new(bits).map(Location)
    }

    /// The bits of a location that was changed since the checkpoint; 0 if it was not.
    #[inline(always)]
    fn changed(&self, oid: Oid) -> u64 {
        let mut bits = 0;
        if !self.active.is_empty() {
            bits = self.active.get(oid);
        }
        if bits == 0
            && let Some(frozen) = &self.frozen
        {
            bits = frozen.get(oid);
        }
        bits
    }

    /// What this version has of one class, as far as [`TableVersion::near`] finds it.
    #[inline]
    pub fn near_objects(&self, class: ClassId) -> NearObjects<'_> {
        let active = (!self.active.is_empty())
            .then(|| self.active.class(class))
            .flatten();
        NearObjects {
            active,
            frozen: self.frozen().and_then(|layer| layer.class(class)),
            mapped: self.mapped.near_class(class),
        }
    }

    /// Appends up to `limit` objects of `class` from serial `*next_serial` on, in OID order, and moves it past the
    /// last one. Appending none (with a limit above 0) means the end.
    pub fn scan(
        &self,
        class: ClassId,
        next_serial: &mut u64,
        limit: usize,
        out: &mut Vec<(Oid, Location)>,
    ) -> Result<()> {
        let parts = self.parts(class);
        let full = out.len().saturating_add(limit);
        let mut from = *next_serial;
        while out.len() < full && from <= MAX_SERIAL {
            let Some(number) = parts.next_granule(from >> GRANULE_BITS) else {
                break;
            };
            let first = number << GRANULE_BITS;
            let values = parts.granule(number)?;
            for (bits, serial) in values
                .into_iter()
                .zip(first..)
                .skip(from.saturating_sub(first) as usize)
            {
                let found = Oid::new(class, serial).zip(NonZeroU64::new(bits));
                let Some((oid, bits)) = found else {
                    continue;
                };
                out.push((oid, Location(bits)));
                *next_serial = serial + 1;
                if out.len() == full {
                    return Ok(());
                }
            }
            from = first + GRANULE as u64;
        }
        Ok(())
    }

    /// The largest serial set in `class`; 0 if none.
    pub fn last_serial(&self, class: ClassId) -> u64 {
        let parts = self.parts(class);
        let layers = [parts.active, parts.frozen].into_iter().flatten();
        let newest = layers.map(ClassLayer::last_serial).max();
        newest.unwrap_or(0).max(parts.mapped_last_serial())
    }

    /// The classes with at least one entry, ascending.
    pub fn classes(&self) -> Vec<ClassId> {
        let mut classes: Vec<ClassId> = self.mapped.roots().map(|root| root.class).collect();
        for layer in [Some(self.active()), self.frozen()].into_iter().flatten() {
            classes.extend(layer.classes().map(|(class, _)| class));
        }
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// About how many entries `class` has, tombstones included: exact at a checkpoint; since then, changed entries count
    /// as new as far as the largest serial has grown.
    pub fn extent_estimate(&self, class: ClassId) -> u64 {
        let parts = self.parts(class);
        let layers = [parts.active, parts.frozen].into_iter().flatten();
        let changed: u64 = layers.map(ClassLayer::entries).sum();
        let grown = self.last_serial(class).saturating_sub(parts.mapped_last_serial());
        parts.mapped.map_or(0, |class| class.root.entries) + changed.min(grown)
    }

    /// Reads every page of the mapped checkpoint and compares it with its checksum.
    pub fn verify(&self) -> Result<()> {
        self.mapped.verify()
    }

    fn parts(&self, class: ClassId) -> Parts<'_> {
        Parts {
            active: self.active.class(class),
            frozen: self.frozen().and_then(|layer| layer.class(class)),
            checkpoint: &self.mapped,
            mapped: self.mapped.class(class),
        }
    }
}

/// One class of a version, for looking up many of its objects. Changes of the table since it was made do not show in it
/// where it had none before.
#[derive(Debug, Clone, Copy)]
pub struct NearObjects<'a> {
    active: Option<&'a ClassLayer>,
    frozen: Option<&'a ClassLayer>,
    mapped: Option<NearClass<'a>>,
}

impl NearObjects<'_> {
    /// As [`TableVersion::near`], of the object `serial`.
    #[inline(always)]
    pub fn location(&self, serial: u64) -> Option<Location> {
        let mut bits = self.active.map_or(0, |class| class.bits(serial));
        if bits == 0 {
            bits = self.frozen.map_or(0, |class| class.bits(serial));
        }
        if bits == 0 {
            bits = self.mapped?.bits(serial)?;
        }
        NonZeroU64::new(bits).map(Location)
    }
}

/// One class in each part of a version.
struct Parts<'a> {
    active: Option<&'a ClassLayer>,
    frozen: Option<&'a ClassLayer>,
    checkpoint: &'a Mapped,
    mapped: Option<&'a Class>,
}

impl Parts<'_> {
    /// The first granule from `from` on that is in any part.
    fn next_granule(&self, from: u64) -> Option<u64> {
        let mapped = self
            .mapped
            .and_then(|class| self.checkpoint.next_granule(class, from));
        // Nothing can come before the first one asked for.
        if mapped == Some(from) {
            return mapped;
        }
        let layers = [self.active, self.frozen].into_iter().flatten();
        layers
            .filter_map(|layer| layer.next_granule(from))
            .chain(mapped)
            .min()
    }

    /// The entries of a granule, each from the newest part that has it.
    fn granule(&self, number: u64) -> Result<[u64; GRANULE]> {
        let mut values = [0; GRANULE];
        if let Some(class) = self.mapped {
            let bytes = self.checkpoint.granule(class, number)?;
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *value = u64::from_le_bytes(*bytes);
            }
        }
        for layer in [self.frozen, self.active].into_iter().flatten() {
            if let Some(granule) = layer.granule(number) {
                granule.overlay(&mut values);
            }
        }
        Ok(values)
    }

    fn mapped_last_serial(&self) -> u64 {
        self.mapped.map_or(0, |class| class.root.last_serial)
    }
}

//! Serial numbers, handed out once for ever.
//!
//! They come from blocks. A block is reserved by a frame in the log before the first serial of it is given away; that
//! frame needs no sync, for whatever uses a serial lies behind it in the log, and is lost with it. After a kill,
//! numbering goes on past the last reservation; after a clean close, exactly where it stopped.

use std::ops::Range;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::object::{ClassId, MAX_CLASS, MAX_SERIAL};

const SMALLEST_BLOCK: u64 = 64;
const LARGEST_BLOCK: u64 = 65_536;

/// The serial numbers of all classes.
#[derive(Debug, Default)]
pub(super) struct Serials {
    classes: Mutex<FxHashMap<u32, Block>>,
}

/// Serials of one class: `next..reserved` may be handed out.
#[derive(Debug, Clone, Copy)]
struct Block {
    next: u64,
    reserved: u64,
    /// How many to reserve the next time.
    size: u64,
}

impl Block {
    fn at(next: u64) -> Block {
        Block {
            next,
            reserved: next,
            size: SMALLEST_BLOCK,
        }
    }
}

impl Serials {
    /// Makes sure that numbering in `class` begins at `next` or later.
    pub(super) fn raise(&self, class: u32, next: u64) {
        let mut classes = self.classes.lock();
        let block = classes.entry(class).or_insert(Block::at(1));
        if block.next < next {
            *block = Block::at(next);
        }
    }

    /// Hands out `count` serials; `log` writes a reservation of the class up to the given end.
    pub(super) fn take(
        &self,
        class: ClassId,
        count: u64,
        log: impl FnOnce(u32, u64) -> Result<()>,
    ) -> Result<Range<u64>> {
        if class.0 > MAX_CLASS {
            return Err(Error::Limit(format!(
                "class number {} is past {MAX_CLASS}",
                class.0
            )));
        }
        let mut classes = self.classes.lock();
        let block = classes.entry(class.0).or_insert(Block::at(1));
        let end = block.next.checked_add(count).filter(|end| *end <= MAX_SERIAL + 1);
        let Some(end) = end else {
            return Err(Error::Limit(format!(
                "class number {} has no {count} serial numbers left of {MAX_SERIAL}",
                class.0
            )));
        };
        if end > block.reserved {
            let reserved = end.saturating_add(block.size).min(MAX_SERIAL + 1);
            log(class.0, reserved)?;
            block.reserved = reserved;
            block.size = block.size.saturating_mul(4).min(LARGEST_BLOCK);
        }
        let start = std::mem::replace(&mut block.next, end);
        Ok(start..end)
    }

    /// Where numbering must go on in each class, ascending by class: `exactly`, or past what is reserved.
    pub(super) fn next(&self, exactly: bool) -> Vec<(u32, u64)> {
        let classes = self.classes.lock();
        let next = |block: &Block| if exactly { block.next } else { block.reserved };
        let mut all: Vec<_> = classes
            .iter()
            .map(|(class, block)| (*class, next(block)))
            .collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_are_consecutive_and_reserved_in_growing_blocks() {
        let serials = Serials::default();
        let mut reservations = Vec::new();
        for expected in 1..=1000 {
            let taken = serials.take(ClassId(64), 1, |class, end| {
                reservations.push((class, end));
                Ok(())
            });
            assert_eq!(taken.unwrap(), expected..expected + 1);
        }
        assert_eq!(reservations, [(64, 66), (64, 323), (64, 1348)]);
        assert_eq!(serials.next(true), [(64, 1001)]);
        assert_eq!(serials.next(false), [(64, 1348)]);
        serials.raise(64, 2000);
        serials.raise(64, 5);
        assert_eq!(serials.next(true), [(64, 2000)]);
    }

    #[test]
    fn a_failed_reservation_hands_out_nothing_and_the_last_serial_is_a_limit() {
        let serials = Serials::default();
        let failed = serials.take(ClassId(64), 1, |_, _| Err(Error::ReadOnly("no".into())));
        assert!(failed.is_err());
        assert_eq!(serials.take(ClassId(64), 3, |_, _| Ok(())).unwrap(), 1..4);
        serials.raise(64, MAX_SERIAL);
        assert_eq!(
            serials.take(ClassId(64), 1, |_, _| Ok(())).unwrap(),
            MAX_SERIAL..MAX_SERIAL + 1
        );
        let past = serials.take(ClassId(64), 1, |_, _| Ok(()));
        assert!(matches!(past, Err(Error::Limit(_))));
    }
}

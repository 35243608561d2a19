//! The two kinds of page of a checkpoint, as bytes.
//!
//! Both hold 512 words of 8 bytes, little-endian. A *leaf* holds the locations of 512 neighbouring serials, 0 for none.
//! A *directory* holds [`Child`]ren: the physical page number in the low half, its CRC32C in the high half, 0 for none
//! (page 0 is a root slot and no child).

/// Bytes of a page.
pub(super) const PAGE_SIZE: usize = 4096;
/// Bits that choose the word in a page.
pub(super) const FAN_BITS: u32 = 9;
/// Words in a page.
pub(super) const FAN_OUT: u64 = 1 << FAN_BITS;

/// The bytes of a page being built.
pub(super) type PageBytes = [u8; PAGE_SIZE];

/// A reference to a page: where it lies, and what its bytes add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child {
    /// The physical page number.
    pub(super) page: u32,
    /// CRC32C of its 4,096 bytes.
    pub(super) crc: u32,
}

impl Child {
    /// From a word of a directory; `None` if there is no child.
    #[inline]
    pub(super) fn from_word(word: u64) -> Option<Child> {
        let child = Child {
            page: word as u32,
            crc: (word >> 32) as u32,
        };
        (child.page != 0).then_some(child)
    }

    /// As a word of a directory.
    pub(super) fn to_word(self) -> u64 {
        u64::from(self.crc) << 32 | u64::from(self.page)
    }
}

/// The byte offset of page `page` in the file.
#[inline]
pub(super) fn offset_of(page: u32) -> u64 {
    u64::from(page) * PAGE_SIZE as u64
}

/// The word at `index` (below 512) of a page; 0 outside of it.
#[inline]
pub(super) fn word(page: &[u8], index: u64) -> u64 {
    let start = index as usize * 8;
    page.get(start..start + 8)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

/// Sets the word at `index` (below 512).
pub(super) fn set_word(page: &mut PageBytes, index: u64, word: u64) {
    let start = index as usize * 8;
    if let Some(bytes) = page.get_mut(start..start + 8) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

/// How many directory levels a class needs whose largest serial this is.
pub(super) fn height_for(last_serial: u64) -> u32 {
    let mut height = 0;
    while last_serial >> (FAN_BITS * (height + 1)) != 0 {
        height += 1;
    }
    height
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::MAX_SERIAL;

    #[test]
    fn height_grows_at_each_power_of_the_fan_out() {
        assert_eq!(height_for(0), 0);
        assert_eq!(height_for(511), 0);
        assert_eq!(height_for(512), 1);
        assert_eq!(height_for((1 << 18) - 1), 1);
        assert_eq!(height_for(1 << 18), 2);
        assert_eq!(height_for(MAX_SERIAL), 4);
    }

    #[test]
    fn a_child_survives_its_word() {
        let child = Child {
            page: u32::MAX,
            crc: 0x8000_0001,
        };
        assert_eq!(Child::from_word(child.to_word()), Some(child));
        assert_eq!(Child::from_word(0), None);
    }
}

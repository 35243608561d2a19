//! Integers in as many bytes as they need: seven bits a byte, least significant first, the high bit set on all but
//! the last.

/// Appends `value`.
pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes one integer off the front; `None` if the bytes end within it or it has more than 64 bits.
#[inline]
pub(super) fn take_varint(input: &mut &[u8]) -> Option<u64> {
    match input.split_first() {
        Some((&byte, rest)) if byte < 0x80 => {
            *input = rest;
            Some(u64::from(byte))
        }
        _ => take_long(input),
    }
}

/// The integer whose encoding is the last `length` bytes of `bytes`, if it has at most 4 of them and `bytes` at least
/// 4; `None` says only that [`take_varint`] must be asked. Branches on nothing that is in `bytes`, but for damage.
#[inline(always)]
pub(super) fn ends_with_varint(bytes: &[u8], length: usize) -> Option<u64> {
    let last = u32::from_le_bytes(*bytes.last_chunk()?);
    if !(1..=4).contains(&length) {
        return None;
    }
    let shift = 32 - 8 * (length as u32);
    let word = last >> shift;
    // All bytes but the last have their high bit set.
    if word & (0x8080_8080 >> shift) != 0x0080_8080 >> shift {
        return None;
    }
    // Seven bits of each byte, pushed together.
    let low = (word & 0x7f) | ((word >> 1) & 0x3f80);
    let high = ((word >> 2) & 0x001f_c000) | ((word >> 3) & 0x0fe0_0000);
    Some(u64::from(low | high))
}

fn take_long(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (position, &byte) in input.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if position == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * position);
        if byte < 0x80 {
            *input = input.get(position + 1..)?;
            return Some(value);
        }
    }
    None
}

/// Small numbers of either sign as small unsigned ones.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The number that [`zigzag`] made `value` of.
#[inline]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_at_the_end_is_the_one_that_was_put_there() {
        for bits in 0..64 {
            for value in [
                1u64 << bits,
                (1 << bits) - 1,
                (1 << bits) | 5,
                0x5555_5555_5555_5555 >> bits,
            ] {
                let mut bytes = vec![0xff; 8];
                put_varint(value, &mut bytes);
                let length = bytes.len() - 8;
                let found = ends_with_varint(&bytes, length);
                assert_eq!(found, (length <= 4).then_some(value), "{value:x}");
            }
        }
    }

    #[test]
    fn what_is_no_single_integer_is_left_to_the_careful_way() {
        assert_eq!(ends_with_varint(&[0, 0, 0, 0, 0, 0, 5, 5], 2), None);
        assert_eq!(ends_with_varint(&[0, 0, 0, 0, 0, 0, 0, 0x85], 1), None);
        assert_eq!(ends_with_varint(&[0, 0, 0, 0, 0, 0, 0x85, 0x85], 2), None);
        assert_eq!(ends_with_varint(&[0; 8], 0), None);
        assert_eq!(ends_with_varint(&[0; 16], 5), None);
        assert_eq!(ends_with_varint(&[0; 3], 1), None);
    }
}

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

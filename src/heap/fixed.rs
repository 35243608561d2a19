//! Fixed-width little-endian fields of the structures on disk.

/// The two bytes at `at` as a number; `None` past the end.
#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*field))
}

/// The four bytes at `at` as a number; `None` past the end.
#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*field))
}

/// The six bytes at `at` as a number; `None` past the end.
#[inline]
pub(super) fn u48_at(bytes: &[u8], at: usize) -> Option<u64> {
    let low = u64::from(u32_at(bytes, at)?);
    let high = u64::from(u16_at(bytes, at.checked_add(4)?)?);
    Some(low | high << 32)
}

/// The eight bytes at `at` as a number; `None` past the end.
#[inline]
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*field))
}

/// The eight bytes at `at` as a signed number; `None` past the end.
#[inline]
pub(super) fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    u64_at(bytes, at).map(u64::cast_signed)
}

/// Copies `field` to `at`; a field past the end is left out (structures are sized by constants).
#[inline]
pub(super) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    let end = at.saturating_add(field.len());
    if let Some(place) = bytes.get_mut(at..end) {
        place.copy_from_slice(field);
    }
}

/// The low six bytes of a number.
#[inline]
pub(super) fn u48(number: u64) -> [u8; 6] {
    let [a, b, c, d, e, f, _, _] = number.to_le_bytes();
    [a, b, c, d, e, f]
}

/// `len` rounded up to a multiple of 8.
#[inline]
pub(super) fn padded(len: usize) -> usize {
    len.saturating_add(7) & !7
}

//! The one data set: items with a reference, a number and 48 to 240 bytes, generated from a seed.
//!
//! An item of key `k` has `next` (another key; all together one cycle), `value` (below 1,000) and `payload`. The
//! stores that know only bytes keep it as `next` and `value`, 8 bytes each, and the payload: 64 to 256 bytes.

use crate::random::{Random, scramble};

/// Values lie below this.
pub const VALUES: u64 = 1_000;
/// Bytes in front of the payload.
pub const HEAD: usize = 16;

/// All items, in their first state.
#[derive(Debug)]
pub struct Items {
    seed: u64,
    next: Vec<u32>,
    value: Vec<u16>,
}

impl Items {
    /// `count` items of `seed`.
    pub fn new(count: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let next = one_cycle(count, &mut random);
        let value = (0..count).map(|_| random.below(VALUES) as u16).collect();
        Items { seed, next, value }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// The keys, ascending.
    pub fn keys(&self) -> std::ops::Range<u64> {
        0..self.next.len() as u64
    }

    /// The key that item `key` refers to.
    pub fn next(&self, key: u64) -> u64 {
        u64::from(self.next[key as usize])
    }

    /// The number of item `key`.
    pub fn value(&self, key: u64) -> i64 {
        i64::from(self.value[key as usize])
    }

    /// The payload of item `key` when its number is `value`: half of it scrambled, half of it plain.
    pub fn payload(&self, key: u64, value: i64) -> Vec<u8> {
        let length = 48 + (scramble(self.seed ^ key) % 193) as usize;
        let mut payload = Vec::with_capacity(length + 8);
        let mut noise = Random::new(scramble(key) ^ value as u64);
        while payload.len() < length / 2 {
            payload.extend_from_slice(&noise.next().to_le_bytes());
        }
        payload.truncate(length / 2);
        payload.resize(length, key as u8);
        payload
    }

    /// Item `key` with the number `value`, as bytes.
    pub fn body(&self, key: u64, value: i64) -> Vec<u8> {
        let mut body = Vec::with_capacity(256);
        body.extend_from_slice(&self.next(key).to_le_bytes());
        body.extend_from_slice(&value.to_le_bytes());
        body.extend_from_slice(&self.payload(key, value));
        body
    }
}

/// A random permutation of `0..count` that is one cycle (Sattolo's shuffle).
fn one_cycle(count: usize, random: &mut Random) -> Vec<u32> {
    let mut next: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        next.swap(last, random.below(last as u64) as usize);
    }
    next
}

/// The key an item kept as bytes refers to.
#[inline]
pub fn next_of(body: &[u8]) -> u64 {
    word(body, 0)
}

/// The number of an item kept as bytes.
#[inline]
pub fn value_of(body: &[u8]) -> i64 {
    word(body, 8) as i64
}

#[inline]
fn word(body: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&body[at..at + 8]);
    u64::from_le_bytes(word)
}

/// What one item adds to the digest of a whole store.
pub fn digest(key: u64, next: u64, value: i64, payload: &[u8]) -> u64 {
    let mut sum = scramble(key)
        .wrapping_add(scramble(next ^ 0x55))
        .wrapping_add(value as u64);
    for chunk in payload.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = scramble(sum ^ u64::from_le_bytes(word));
    }
    sum
}

/// What one item kept as bytes adds to the digest.
pub fn digest_of(key: u64, body: &[u8]) -> u64 {
    digest(key, next_of(body), value_of(body), &body[HEAD..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_of_all_items_are_one_cycle() {
        let items = Items::new(1_000, 7);
        let (mut key, mut steps) = (0, 0);
        loop {
            key = items.next(key);
            steps += 1;
            if key == 0 {
                break;
            }
        }
        assert_eq!(steps, 1_000);
    }

    #[test]
    fn bodies_have_64_to_256_bytes_and_hold_what_the_item_says() {
        let items = Items::new(2_000, 7);
        for key in items.keys() {
            let body = items.body(key, 5);
            assert!((64..=256).contains(&body.len()));
            assert_eq!((next_of(&body), value_of(&body)), (items.next(key), 5));
            assert_eq!(&body[HEAD..], items.payload(key, 5));
        }
    }
}

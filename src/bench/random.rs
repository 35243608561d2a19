//! The C library's `random()`: the generator the original OO7 drew from, so that its published counts come out.
//!
//! The additive feedback generator of the BSD and GNU libraries at its default degree: a window of 31 words, each new
//! word the sum (modulo 2^32) of the words 31 and 3 places back, its lowest bit dropped on the way out. The window
//! is filled from the seed by the Park-Miller generator, and the first 310 words are thrown away.

/// Words in the window.
const DEGREE: usize = 31;
/// How many places back the second summand lies.
const SEPARATION: usize = 3;
/// Words thrown away after seeding.
const DISCARDED: usize = 10 * DEGREE;

/// The state of one generator.
#[derive(Debug, Clone)]
pub struct Random {
    window: [u32; DEGREE],
    /// Where the word 31 places back lies, which the next word replaces.
    oldest: usize,
}

impl Random {
    /// The generator after `srandom(seed)`; a seed of 0 counts as 1, as in the C library.
    pub fn new(seed: u32) -> Self {
        let mut window = [0; DEGREE];
        let mut word = if seed == 0 { 1 } else { seed.cast_signed() };
        for slot in &mut window {
            *slot = word.cast_unsigned();
            word = park_miller(word);
        }
        let mut random = Random {
            window,
            oldest: SEPARATION,
        };
        for _ in 0..DISCARDED {
            random.next();
        }
        random
    }

    /// The next number, `0..2^31`.
    pub fn next(&mut self) -> u32 {
        let back = (self.oldest + DEGREE - SEPARATION) % DEGREE;
        let summand = self.window.get(back).copied().unwrap_or_default();
        let mut word = 0;
        if let Some(slot) = self.window.get_mut(self.oldest) {
            *slot = slot.wrapping_add(summand);
            word = *slot;
        }
        self.oldest = (self.oldest + 1) % DEGREE;
        word >> 1
    }

    /// The next number modulo `bound`, as the original draws it; `bound` must not be 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }

    /// A position below `bound`, drawn alike; 0 if there is none.
    pub fn position(&mut self, bound: usize) -> usize {
        usize::try_from(self.next()).map_or(0, |number| number % bound.max(1))
    }
}

/// 16807 x modulo 2^31 - 1 in signed 32-bit steps; a negative result is brought back by one modulus.
fn park_miller(word: i32) -> i32 {
    let high = word / 127_773;
    let low = word % 127_773;
    let next = 16_807_i32
        .wrapping_mul(low)
        .wrapping_sub(2_836_i32.wrapping_mul(high));
    if next < 0 {
        next.wrapping_add(i32::MAX)
    } else {
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_for_seed_one_are_the_c_librarys() {
        let mut random = Random::new(1);
        let drawn: Vec<u32> = (0..5).map(|_| random.next()).collect();
        assert_eq!(
            drawn,
            [
                1_804_289_383,
                846_930_886,
                1_681_692_777,
                1_714_636_915,
                1_957_747_793
            ]
        );
    }

    /// Seed, the polynomial at 31 over 100,000 numbers, and the last of them, as the GNU C library gives them.
    #[test]
    fn a_hundred_thousand_numbers_agree_with_the_c_library() {
        for (seed, sum, last) in EXPECTED {
            let mut random = Random::new(seed);
            let mut total = 0_u64;
            let mut word = 0;
            for _ in 0..100_000 {
                word = random.next();
                total = total.wrapping_mul(31).wrapping_add(u64::from(word));
            }
            assert_eq!((total, word), (sum, last), "seed {seed}");
        }
    }

    const EXPECTED: [(u32, u64, u32); 6] = [
        (0, 2_914_090_875_171_791_012, 660_658_275),
        (1, 2_914_090_875_171_791_012, 660_658_275),
        (1993, 10_130_365_816_564_072_470, 647_401_605),
        (2_147_483_647, 15_494_223_322_685_290_178, 910_617_080),
        (2_147_483_648, 13_595_672_214_557_652_088, 1_214_836_719),
        (4_294_967_295, 91_657_497_452_322_519, 2_125_453_799),
    ];
}

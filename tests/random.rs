//! Chance that can be repeated: a small generator, and the seed a test runs with.

/// A generator of random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

/// The seeds a test runs: that of the environment variable `SEED`, or `count` new ones. Prints each, so that a failed
/// run shows the last one.
pub fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let given: Option<u64> = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let mut fresh = Random::new(u64::from(std::process::id()) ^ time());
    let count = if given.is_some() { 1 } else { count };
    (0..count).map(move |_| {
        let seed = given.unwrap_or_else(|| fresh.below(1_000_000_000));
        println!("SEED={seed}");
        seed
    })
}

fn time() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_nanos() as u64
}

//! The parts of OO1 as a plain vector, and every operation on it.
//!
//! Each part has three connections to other parts. Nine in ten go to the closest hundredth of all parts by id, the
//! others anywhere. Operations of one repetition draw from a generator of their own ([`draws`]), so that the
//! database and this model draw alike, and other parts each time.

use crate::bench::random::Random;
use crate::error::{Error, Result};

/// Connections that leave a part.
const CONNECTIONS: usize = 3;
/// Hops of a traversal.
pub const HOPS: usize = 7;
/// Parts that a look-up and an update draw.
pub const LOOKUPS: usize = 1_000;
/// Parts that one insert adds.
pub const INSERTED: usize = 100;
/// The nearby zone is one part in this many.
const ZONE_FRACTION: usize = 100;
/// Bound of coordinates and lengths.
pub const COORDINATES: u32 = 100_000;
/// Build dates span this many days.
const DATES: u32 = 3_650;

/// The number of parts at the scale of this name.
///
/// # Errors
/// [`Error::Argument`] that lists the names.
pub fn parts_at(scale: &str) -> Result<usize> {
    match scale {
        "tiny" => Ok(1_000),
        "small" => Ok(20_000),
        "large" => Ok(200_000),
        _ => Err(Error::Argument(format!(
            "there is no OO1 scale `{scale}`; the scales are tiny, small and large"
        ))),
    }
}

/// A part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The number of its type, `0..10`.
    pub kind: u32,
    /// Horizontal coordinate.
    pub x: i64,
    /// Vertical coordinate.
    pub y: i64,
    /// Build date, in days.
    pub date: i64,
    /// The connections that leave it.
    pub to: Vec<Link>,
    /// Positions of the parts whose connections reach it, once a connection.
    pub from: Vec<usize>,
}

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Position of the part it reaches.
    pub to: usize,
    /// The number of its type.
    pub kind: u32,
    /// Its length.
    pub length: i64,
}

/// What an operation must report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Parts looked up, visited or changed.
    pub count: u64,
    /// The sum of their x, once a visit.
    pub sum: i64,
}

/// Sums over all parts that any lost, doubled or misplaced change shows in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// All parts.
    pub parts: u64,
    /// The sum of x.
    pub sum_x: i64,
    /// The sum of y.
    pub sum_y: i64,
    /// Connections as seen from the parts they leave.
    pub to: u64,
    /// Connections as seen from the parts they reach.
    pub from: u64,
    /// The sum modulo 2^64 over the parts of id times a mix of x and y: which part has which values.
    pub placed: u64,
}

impl State {
    /// Adds one part.
    pub fn add(&mut self, id: i64, x: i64, y: i64, to: usize, from: usize) {
        self.parts += 1;
        self.sum_x += x;
        self.sum_y += y;
        self.to += count(to);
        self.from += count(from);
        let mixed = x.wrapping_mul(1_000_003).wrapping_add(y);
        self.placed = self.placed.wrapping_add(id.wrapping_mul(mixed).cast_unsigned());
    }
}

/// All parts.
#[derive(Debug, Clone)]
pub struct Library {
    /// In order of id, which is the position plus one.
    pub parts: Vec<Part>,
}

impl Library {
    /// Generates `parts` parts.
    pub fn generate(parts: usize, seed: u32) -> Library {
        let mut random = Random::new(seed);
        let mut library = Library { parts: Vec::new() };
        library.add(parts, &mut random);
        library
    }

    /// Looks up random parts.
    pub fn look_up(&self, random: &mut Random) -> Outcome {
        let mut outcome = Outcome::default();
        for _ in 0..LOOKUPS {
            outcome.visit(self.parts.get(random.position(self.parts.len())));
        }
        outcome
    }

    /// Visits what is within seven hops of a random part, depth first, again on each way.
    pub fn traverse(&self, random: &mut Random) -> Outcome {
        self.walk(random.position(self.parts.len()), |part| {
            part.to.iter().map(|link| link.to).collect()
        })
    }

    /// The same against the direction of the connections.
    pub fn traverse_back(&self, random: &mut Random) -> Outcome {
        self.walk(random.position(self.parts.len()), |part| part.from.clone())
    }

    /// Adds a hundred parts with their connections, among old and new parts.
    pub fn insert(&mut self, random: &mut Random) -> Outcome {
        let first = self.parts.len();
        self.add(INSERTED, random);
        let mut outcome = Outcome::default();
        for part in self.parts.get(first..).unwrap_or_default() {
            outcome.visit(Some(part));
        }
        outcome
    }

    /// The first and last id of a random run of a hundredth of all parts.
    pub fn random_range(&self, random: &mut Random) -> (i64, i64) {
        let zone = zone(self.parts.len());
        let first = id(random.position(self.parts.len() - zone + 1));
        (first, first + count(zone).cast_signed() - 1)
    }

    /// Parts with an id from `first` to `last`.
    pub fn range(&self, (first, last): (i64, i64)) -> Outcome {
        self.select(|position, _| (first..=last).contains(&id(position)))
    }

    /// All parts whose y is below `bound`.
    pub fn scan(&self, bound: i64) -> Outcome {
        self.select(|_, part| part.y < bound)
    }

    /// Exchanges x and y of random parts.
    pub fn update(&mut self, random: &mut Random) -> Outcome {
        let mut outcome = Outcome::default();
        for _ in 0..LOOKUPS {
            let position = random.position(self.parts.len());
            if let Some(part) = self.parts.get_mut(position) {
                std::mem::swap(&mut part.x, &mut part.y);
                outcome.visit(Some(part));
            }
        }
        outcome
    }

    /// The sums the database must agree with.
    pub fn state(&self) -> State {
        let mut state = State::default();
        for (position, part) in self.parts.iter().enumerate() {
            state.add(id(position), part.x, part.y, part.to.len(), part.from.len());
        }
        state
    }

    fn select(&self, wanted: impl Fn(usize, &Part) -> bool) -> Outcome {
        let mut outcome = Outcome::default();
        for (position, part) in self.parts.iter().enumerate() {
            if wanted(position, part) {
                outcome.visit(Some(part));
            }
        }
        outcome
    }

    fn walk(&self, start: usize, next: impl Fn(&Part) -> Vec<usize>) -> Outcome {
        let mut outcome = Outcome::default();
        let mut stack = vec![(start, 0)];
        while let Some((position, hops)) = stack.pop() {
            let Some(part) = self.parts.get(position) else {
                continue;
            };
            outcome.visit(Some(part));
            if hops < HOPS {
                stack.extend(next(part).into_iter().map(|part| (part, hops + 1)));
            }
        }
        outcome
    }

    fn add(&mut self, parts: usize, random: &mut Random) {
        let first = self.parts.len();
        for _ in 0..parts {
            self.parts.push(Part {
                kind: random.below(10),
                x: i64::from(random.below(COORDINATES)),
                y: i64::from(random.below(COORDINATES)),
                date: i64::from(random.below(DATES)),
                to: Vec::with_capacity(CONNECTIONS),
                from: Vec::new(),
            });
        }
        for from in first..self.parts.len() {
            for _ in 0..CONNECTIONS {
                let link = self.draw_link(from, random);
                if let Some(part) = self.parts.get_mut(from) {
                    part.to.push(link);
                }
                if let Some(part) = self.parts.get_mut(link.to) {
                    part.from.push(from);
                }
            }
        }
    }

    fn draw_link(&self, from: usize, random: &mut Random) -> Link {
        let parts = self.parts.len();
        let to = if random.below(10) == 0 {
            random.position(parts)
        } else {
            let zone = zone(parts);
            let first = from.saturating_sub(zone / 2).min(parts - zone);
            first + random.position(zone)
        };
        Link {
            to,
            kind: random.below(10),
            length: i64::from(random.below(COORDINATES)),
        }
    }
}

impl Outcome {
    /// Counts one visit.
    fn visit(&mut self, part: Option<&Part>) {
        if let Some(part) = part {
            self.count += 1;
            self.sum += part.x;
        }
    }
}

/// The draws of repetition `repetition` of an operation.
pub fn draws(seed: u32, operation: u32, repetition: u32) -> Random {
    Random::new(
        seed.wrapping_mul(31)
            .wrapping_add(operation)
            .wrapping_mul(1_009)
            .wrapping_add(repetition),
    )
}

/// The id of the part at `position`.
pub fn id(position: usize) -> i64 {
    count(position).cast_signed() + 1
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The parts of the nearby zone among `parts`.
fn zone(parts: usize) -> usize {
    (parts / ZONE_FRACTION).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traversal_visits_3280_parts_and_back_at_least_one() {
        let library = Library::generate(1_000, 1);
        for repetition in 0..5 {
            assert_eq!(library.traverse(&mut draws(1, 2, repetition)).count, 3_280);
            assert!(library.traverse_back(&mut draws(1, 3, repetition)).count >= 1);
        }
    }

    #[test]
    fn nine_in_ten_connections_stay_in_the_nearby_zone() {
        let library = Library::generate(20_000, 1);
        let near = |from: usize, to: usize| from.abs_diff(to) <= 200;
        let links = library
            .parts
            .iter()
            .enumerate()
            .flat_map(|(from, part)| part.to.iter().map(move |link| near(from, link.to)));
        let near = links.filter(|near| *near).count();
        assert!((53_500..=55_500).contains(&near), "{near} of 60,000");
    }

    #[test]
    fn inserts_connect_in_both_directions() {
        let mut library = Library::generate(1_000, 1);
        assert_eq!(library.insert(&mut draws(1, 4, 0)).count, 100);
        let state = library.state();
        assert_eq!((state.parts, state.to, state.from), (1_100, 3_300, 3_300));
    }

    #[test]
    fn updates_made_twice_leave_what_was_there() {
        let mut library = Library::generate(1_000, 1);
        let before = library.state();
        library.update(&mut draws(1, 5, 0));
        assert_ne!(library.state(), before);
        library.update(&mut draws(1, 5, 0));
        assert_eq!(library.state(), before);
    }
}

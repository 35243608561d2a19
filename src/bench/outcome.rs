//! What a question gives: how much, and a check over the contents; from the database and from the model alike.

use super::measure::{Expected, Work};

/// What a question must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Rows or objects.
    pub count: u64,
    /// A check over their contents, in order where the question states one.
    pub check: u64,
}

impl Outcome {
    /// Adds a row whose place in the order matters.
    pub fn add_in_order(&mut self, text: &str, number: i64) {
        self.count += 1;
        self.check = self
            .check
            .wrapping_mul(1_000_003)
            .wrapping_add(digest(text))
            .wrapping_add(number.cast_unsigned());
    }

    /// Adds a row of a set.
    pub fn add(&mut self, text: &str) {
        self.count += 1;
        self.check = self.check.wrapping_add(digest(text));
    }
}

/// A digest of a text.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The work of what gave an outcome and read so many objects.
pub fn work(outcome: Outcome, objects: u64) -> Work {
    Work {
        count: outcome.count,
        check: Some(outcome.check),
        objects,
        ..Work::default()
    }
}

/// The work of one query for each outcome.
pub fn queried(outcomes: impl IntoIterator<Item = Outcome>) -> Work {
    let mut queries = 0;
    let all = outcomes.into_iter().inspect(|_| queries += 1);
    let expected = expected(all);
    Work {
        count: expected.count,
        check: expected.check,
        queries,
        rows: expected.count,
        ..Work::default()
    }
}

/// What several questions must give together.
pub fn expected(outcomes: impl IntoIterator<Item = Outcome>) -> Expected {
    let mut whole = Outcome::default();
    for outcome in outcomes {
        whole.count += outcome.count;
        whole.check = whole.check.wrapping_mul(31).wrapping_add(outcome.check);
    }
    Expected {
        count: whole.count,
        distinct: None,
        check: Some(whole.check),
    }
}

/// A count alone.
pub fn counted(number: usize) -> Expected {
    Expected {
        count: length(number),
        ..Expected::default()
    }
}

/// A length as a count.
pub fn length(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

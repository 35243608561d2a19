//! The sizes OO7 is run at.

use crate::error::{Error, Result};

/// The parameters of the generator (the names are the benchmark's own; all of the paper's values that never vary are
/// constants in `model.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Atomic parts in a composite part.
    pub atomic_per_composite: usize,
    /// Connections that leave an atomic part.
    pub connections_per_atomic: usize,
    /// Bytes of a document's text, counting the C string's end.
    pub document_size: usize,
    /// Bytes of a manual's text, counting the C string's end.
    pub manual_size: usize,
    /// Composite parts that one module's private library holds.
    pub composites_per_module: usize,
    /// Levels of the assembly tree; the lowest is that of the base assemblies.
    pub levels: usize,
    /// Modules.
    pub modules: usize,
}

/// What the small database holds, and the others vary.
const SMALL: Scale = Scale {
    atomic_per_composite: 20,
    connections_per_atomic: 3,
    document_size: 2_000,
    manual_size: 100_000,
    composites_per_module: 500,
    levels: 7,
    modules: 1,
};

impl Scale {
    /// The scale of this name: `tiny`, `spin-tiny`, `test-1`, `test-3`, or `small`, `medium`, `large` with the number
    /// of connections an atomic part has (`small-3`, `medium-9`).
    ///
    /// # Errors
    /// [`Error::Argument`] that lists the names.
    pub fn parse(name: &str) -> Result<Scale> {
        let (size, connections) = match name.rsplit_once('-') {
            Some((size, "1")) => (size, 1),
            Some((size, "3")) => (size, 3),
            Some((size, "6")) => (size, 6),
            Some((size, "9")) => (size, 9),
            _ => (name, 3),
        };
        let scale = match (size, connections) {
            ("tiny", 3 | 6 | 9) => Scale {
                document_size: 20,
                manual_size: 1_000,
                composites_per_module: 50,
                ..SMALL
            },
            ("spin-tiny", 3 | 6 | 9) => Scale {
                document_size: 100,
                manual_size: 5_000,
                composites_per_module: 100,
                levels: 5,
                ..SMALL
            },
            ("test", 1 | 3) => Scale {
                document_size: 20,
                manual_size: 1_000,
                composites_per_module: 5,
                levels: 3,
                ..SMALL
            },
            ("small", 3 | 6 | 9) => SMALL,
            ("medium", 3 | 6 | 9) => medium(1),
            ("large", 3 | 6 | 9) => medium(10),
            _ => return Err(unknown(name)),
        };
        Ok(Scale {
            connections_per_atomic: connections,
            ..scale
        })
    }

    /// All composite parts.
    pub fn composites(&self) -> usize {
        self.composites_per_module * self.modules
    }

    /// All atomic parts.
    pub fn atomics(&self) -> usize {
        self.composites() * self.atomic_per_composite
    }
}

/// The medium database, or with ten modules the large one.
fn medium(modules: usize) -> Scale {
    Scale {
        atomic_per_composite: 200,
        document_size: 20_000,
        manual_size: 1_000_000,
        modules,
        ..SMALL
    }
}

fn unknown(name: &str) -> Error {
    Error::Argument(format!(
        "there is no OO7 scale `{name}`; the scales are test-1, test-3, tiny, spin-tiny, small-3, small-6, small-9, \
         medium-3, medium-6, medium-9, large-3, large-6 and large-9"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_their_parameters_and_others_are_refused() {
        assert_eq!(Scale::parse("small-3").unwrap().atomics(), 10_000);
        assert_eq!(Scale::parse("small-9").unwrap().connections_per_atomic, 9);
        assert_eq!(Scale::parse("large-3").unwrap().atomics(), 1_000_000);
        assert_eq!(Scale::parse("tiny").unwrap().composites(), 50);
        for name in ["", "huge", "small-4", "small-1", "test-9", "medium-", "small 3"] {
            assert!(Scale::parse(name).is_err(), "{name}");
        }
    }
}

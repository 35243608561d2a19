//! What a session can set about its queries.

use std::time::Duration;

/// How queries are planned, and what they may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Whether plans are optimized; answers are the same either way.
    pub optimizer: bool,
    /// Whether plans may use indexes; answers are the same either way.
    pub indexes: bool,
    /// How long a statement may run; without an end if absent.
    pub timeout: Option<Duration>,
    /// The bytes a query may hold; the database's limit if absent.
    pub memory: Option<usize>,
}

impl Default for Settings {
    /// Optimized, with indexes, no limit of its own.
    fn default() -> Self {
        Settings {
            optimizer: true,
            indexes: true,
            timeout: None,
            memory: None,
        }
    }
}

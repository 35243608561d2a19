//! What to collect, and how fast.

/// Options of [`Database::collect`](crate::Database::collect); each setter consumes and returns them.
#[derive(Debug, Clone, Default)]
pub struct CollectOptions {
    pub(super) dry_run: bool,
    pub(super) budget: Option<u64>,
}

impl CollectOptions {
    /// Everything that nothing reaches is deleted, as fast as it goes.
    pub fn new() -> Self {
        CollectOptions::default()
    }

    /// Only to say what would be deleted, and what keeps the rest. Default false.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Whether it is one.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The most objects to look at or delete in a second. Default no bound.
    #[must_use]
    pub fn budget(mut self, objects_per_second: u64) -> Self {
        self.budget = Some(objects_per_second);
        self
    }
}

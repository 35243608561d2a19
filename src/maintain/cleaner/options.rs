//! What to compact, and how.

/// Options of [`Database::compact`](crate::Database::compact); each setter consumes and returns them.
#[derive(Debug, Clone, Default)]
pub struct CompactOptions {
    pub(super) dry_run: bool,
    pub(super) budget: Option<u64>,
    pub(super) cluster: Vec<Vec<String>>,
}

impl CompactOptions {
    /// Everything worth it is moved, in OID order, as fast as the disk allows.
    pub fn new() -> Self {
        CompactOptions::default()
    }

    /// Only to say what would be moved and freed. Default false.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// The most bytes to move in a second. Default no bound.
    #[must_use]
    pub fn budget(mut self, bytes_per_second: u64) -> Self {
        self.budget = Some(bytes_per_second);
        self
    }

    /// Lays objects that are used together next to one another: those of the class in front, in OID order, each followed
    /// by what is reached along the attributes behind it (`"Module.assemblies.parts"`), depth first, every object
    /// once. May be given several times; what no path reaches follows in OID order.
    #[must_use]
    pub fn cluster_by(self, path: &str) -> Self {
        self.cluster_by_steps(path.split('.').map(str::trim))
    }

    /// As [`CompactOptions::cluster_by`], with names that may hold any character: the class, then the attributes.
    #[must_use]
    pub fn cluster_by_steps<S: Into<String>>(mut self, steps: impl IntoIterator<Item = S>) -> Self {
        self.cluster.push(steps.into_iter().map(Into::into).collect());
        self
    }
}

//! A handle that stops what runs, from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a running query, or the statement a session runs, from any thread. What is stopped ends in
/// [`Error::Cancelled`](crate::Error::Cancelled), within a batch of rows.
///
/// ```
/// use olivine::{Database, Error};
///
/// let db = Database::in_memory()?;
/// let mut rows = db.snapshot().query("select 1 from a in list(1, 2), b in list(1, 2)", ())?;
/// rows.cancel_handle().cancel();
/// assert!(matches!(rows.next(), Some(Err(Error::Cancelled(_)))));
/// # Ok::<(), olivine::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelHandle {
    flag: Arc<AtomicBool>,
}

impl CancelHandle {
    /// A handle over a flag that running work watches.
    pub(crate) fn new(flag: Arc<AtomicBool>) -> CancelHandle {
        CancelHandle { flag }
    }

    /// Stops what runs, and of a session also every statement after it until [`CancelHandle::reset`].
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Release);
    }

    /// Lets the statements of a session run again.
    pub fn reset(&self) {
        self.flag.store(false, Ordering::Release);
    }
}

//! Ctrl-C: cancels what runs; a second one, with nothing to cancel or before it ended, ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C; queries watch it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
}

impl Interrupt {
    /// Catches Ctrl-C from now on. Where the system does not let us, Ctrl-C ends the program as ever.
    pub fn install() -> Interrupt {
        let interrupt = Interrupt::default();
        let flag = interrupt.flag.clone();
        let _ = ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::AcqRel) {
                std::process::exit(130);
            }
        });
        interrupt
    }

    /// The flag that running work watches.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    /// Takes a Ctrl-C as dealt with.
    pub fn reset(&self) {
        self.flag.store(false, Ordering::Release);
    }

    /// Whether Ctrl-C was pressed since the last reset.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }
}

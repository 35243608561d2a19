//! How far the build of an index is, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::instance::{BuildProgress, BuildWatch};
use crate::session::Session;

/// A line on standard error while an index is built; nothing where that is no terminal.
#[derive(Debug, Default)]
pub struct BuildMeter {
    shown: Arc<Mutex<Option<Instant>>>,
}

impl BuildMeter {
    /// A meter that shows what the session builds.
    pub fn of(session: &mut Session) -> BuildMeter {
        let meter = BuildMeter::default();
        if io::stderr().is_terminal() {
            let shown = meter.shown.clone();
            session.set_build_watch(BuildWatch::new(move |progress| {
                show(&shown, progress);
                ControlFlow::Continue(())
            }));
        }
        meter
    }

    /// Takes the line away, after each statement.
    pub fn clear(&self) {
        if self.shown.lock().take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K").and_then(|()| io::stderr().flush());
        }
    }
}

fn show(shown: &Mutex<Option<Instant>>, progress: &BuildProgress) {
    let mut shown = shown.lock();
    if shown.is_some_and(|shown| shown.elapsed() < INTERVAL) {
        return;
    }
    *shown = Some(Instant::now());
    let percent = progress.done.saturating_mul(100).checked_div(progress.total);
    let text = format!(
        "building the index {}: {} %",
        progress.index,
        percent.unwrap_or(0).min(100)
    );
    // A terminal that does not take it is no reason to stop.
    let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
}

const INTERVAL: Duration = Duration::from_millis(200);

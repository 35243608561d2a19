//! Room on the stack for statements that nest deeply.
//!
//! The grammar bounds nesting, but parsing, binding and optimizing recurse, and in a build without optimization a level
//! can take tens of kilobytes: more than the 2 MiB that threads have by default would hold at the bound. So a statement
//! that is long enough, or opens enough brackets, to nest deeply is worked on in a thread of its own.

use std::io;

/// Texts up to this many bytes nest deeply only by single characters.
const SHORT_TEXT: usize = 120;
/// So many opening characters do not nest deeply either.
const FEW_OPENINGS: usize = 16;
/// Parts of a statement up to this many bytes were parsed already, so what nests them has words.
const SHORT_STATEMENT: usize = 200;
/// Bytes of the roomy stack; only what is used of it takes memory.
const STACK: usize = 64 << 20;

/// Whether a text may nest deeply.
pub fn may_nest(text: &str) -> bool {
    let openings = text
        .bytes()
        .filter(|byte| matches!(byte, b'(' | b'[' | b'-'))
        .take(FEW_OPENINGS + 1)
        .count();
    text.len() > SHORT_TEXT || openings > FEW_OPENINGS
}

/// Whether a statement of `length` bytes may nest deeply.
pub fn may_nest_parsed(length: usize) -> bool {
    length > SHORT_STATEMENT
}

/// Runs `work`, on a roomy stack of its own where it is `deep`.
///
/// # Errors
/// Where the system gives no thread.
pub fn with_room<R: Send>(deep: bool, work: impl FnOnce() -> R + Send) -> io::Result<R> {
    if !deep {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("olivine-statement".into())
            .stack_size(STACK);
        match thread.spawn_scoped(scope, work)?.join() {
            Ok(outcome) => Ok(outcome),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

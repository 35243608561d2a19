//! Sessions: run statements of text, one after the other, and hold the open transaction between them.

mod answer;
mod change;
mod define;
mod runner;
mod show;
mod transaction;

pub use answer::{Answer, Outcome};
pub use runner::Session;

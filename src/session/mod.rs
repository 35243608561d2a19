//! Sessions: run statements of text, one after the other, and hold the open transaction between them.

mod alter;
mod answer;
mod backup;
mod change;
mod collect;
mod compact;
mod conflict;
mod define;
mod definition;
mod query;
mod runner;
mod setting;
mod show;
mod transaction;
mod variable;

pub use answer::{Answer, Outcome};
pub use runner::Session;

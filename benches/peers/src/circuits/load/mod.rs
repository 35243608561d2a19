//! Ten million small objects with two indexes: loaded by a child process that is watched, and perhaps killed, by this
//! one; opened again and compared by another.
//!
//! What the loading process acknowledges goes through a pipe, so that the record of it lies outside the process that
//! is killed. Accounts are a function of their number, so the first `n` of them can be told without a copy.

mod accounts;
mod child;
mod look_up;
mod parent;
mod sqlite;

pub use child::{ChildOptions, load};
pub use look_up::{LookUpOptions, look_up};
pub use parent::{LoadOptions, run};

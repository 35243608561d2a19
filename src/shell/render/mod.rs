//! Results as tables, JSON and CSV.

mod cell;
mod csv;
mod json;
mod outcome;
mod table;

pub use outcome::{Format, WriteError, write_error, write_outcome};

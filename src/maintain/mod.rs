//! Care of a database: finding what is wrong with it.

mod check;

pub use check::{CheckReport, Finding, check};

//! Queries beside SQL: look-ups while writes go on, a range, a path of two steps, a closure, a group, the top ten.
//!
//! Both hold the same people, departments, sites and edges; both run one statement for one answer, prepared once or
//! kept by its text. Every answer is compared with one worked out from the data.

mod data;
mod olivine;
mod run;
mod sqlite;

pub use run::run;

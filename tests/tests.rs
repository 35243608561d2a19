//! The one integration test binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod api;
mod backup;
#[cfg(feature = "bench")]
mod bench;
mod builds;
#[cfg(feature = "shell")]
mod care;
#[cfg(feature = "shell")]
mod cases;
mod cleaner;
mod collector;
#[cfg(feature = "shell")]
mod command;
mod compatibility;
mod conflict;
mod crash;
mod damage;
mod directory;
mod evolution;
mod faults;
mod golden;
mod grammar;
mod hubs;
mod isolation;
mod load;
mod merge;
mod model;
mod random;
mod random_queries;
mod reads;
mod relationships;
mod salvage;
mod scaling;
mod serializability;
mod snapshots;
mod tidy;
mod traps;
mod typed;

//! The one integration test binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod api;
#[cfg(feature = "bench")]
mod bench;
mod command;
mod compatibility;
mod conflict;
mod crash;
mod golden;
mod grammar;
mod model;
mod scaling;
mod tidy;

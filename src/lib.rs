//! Olivine: a persistent, transactional object database.
#![allow(dead_code, unused_imports)]

pub mod error;
pub mod object;

#[cfg(feature = "bench")]
pub mod bench;
#[cfg(feature = "shell")]
pub mod shell;

mod catalog;
mod commit;
mod database;
mod files;
mod heap;
mod index;
mod maintain;
mod query;
mod read;
mod session;
mod snapshot;
mod transaction;
mod view;
mod write_set;

pub use error::{Error, Result};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("Olivine maps its segments and needs a 64-bit target");

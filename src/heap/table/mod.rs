//! The object table: where the newest version of each object lies.

mod object_table;
mod version;

pub use object_table::{Root, Table};
pub use version::TableVersion;

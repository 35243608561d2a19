//! The object table: where the newest version of each object lies.

mod allocator;
mod checkpoint;
mod layer;
mod mapped;
mod object_table;
mod page;
mod page_map;
mod root;
mod tree_writer;
mod trie;
mod version;

#[cfg(test)]
mod tests;

pub use checkpoint::Root;
pub use object_table::Table;
pub use version::TableVersion;

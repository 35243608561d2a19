//! Transactions: one snapshot, and the writes made on top of it.

mod handle;
mod overlay;
mod schema;

pub use handle::{Transaction, TransactionOptions};

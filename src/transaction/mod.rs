//! Transactions: one snapshot, and the writes made on top of it.

mod overlay;
mod schema;
mod transaction;

pub use overlay::Overlay;
pub use transaction::{Transaction, TransactionOptions};

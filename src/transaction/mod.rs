//! Transactions: one snapshot, and the writes made on top of it.

mod addition;
mod alter;
mod derived;
mod handle;
mod lifetime;
mod loader;
mod overlay;
mod reading;
mod relate;
mod savepoint;
mod schema;
mod typed;
mod undo;

pub use alter::AlterationReport;
pub use handle::{Transaction, TransactionOptions};
pub use loader::Loader;

//! Transactions: write set and overlay of own writes.

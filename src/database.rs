//! Databases: open, define, snapshot, begin, transact.

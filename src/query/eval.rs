//! The reference evaluator: expressions, one row at a time.

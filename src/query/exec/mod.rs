//! Execution: operators over batches of borrowed records, expressions as closures.

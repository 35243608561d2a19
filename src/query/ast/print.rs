//! Canonical text of expressions and queries.

//! Canonical text of statements.

//! The committed state at one commit number.

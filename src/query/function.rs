//! The function library.

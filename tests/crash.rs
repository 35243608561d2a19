//! Power cuts and killed processes.

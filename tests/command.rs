//! The command, run as a process.

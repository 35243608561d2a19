//! Golden scripts, on memory and disk.

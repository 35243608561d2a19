//! The `olivine` command.
fn main() {}

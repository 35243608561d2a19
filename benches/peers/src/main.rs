//! Peers.
fn main() {}

//! Tests of the executor, over a store in memory.

mod closures;
mod joins;
mod language;
mod limits;
mod operators;
mod spilling;
mod store;

//! Tests of the executor, over a store in memory.

mod closures;
mod joins;
mod limits;
mod operators;
mod store;

//! Tests of the index store as a whole.

mod crash;
mod model;
mod store;
mod support;

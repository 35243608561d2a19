//! The function library, and what operators do with values: everything an expression computes.

pub mod aggregate;
pub mod arithmetic;
pub mod collections;
pub mod compare;
pub mod like;
mod numbers;
mod objects;
pub mod other;
mod strings;
mod table;
mod time;

pub use table::{Call, definition, names, resolve};

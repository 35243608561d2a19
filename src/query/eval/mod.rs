//! Evaluating bound expressions by walking their tree.

mod cast;
mod closure;
pub mod collection;
mod evaluator;
mod object;
mod predicate;
mod subquery;
mod visited;

pub use evaluator::{Evaluator, at};
pub use object::equal_range;

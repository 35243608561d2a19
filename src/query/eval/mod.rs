//! Evaluating bound expressions by walking their tree.

mod cast;
mod closure;
mod collection;
mod evaluator;
mod object;
mod predicate;
mod subquery;
mod visited;

pub use collection::set_operation;
pub use evaluator::{Evaluator, at};
pub use object::equal_range;
pub use subquery::row_value;

//! Evaluating bound expressions by walking their tree.

mod cast;
mod collection;
mod evaluator;
mod object;
mod predicate;
mod subquery;

pub use collection::set_operation;
pub use evaluator::{Evaluator, at};
pub use object::equal_range;
pub use subquery::row_value;

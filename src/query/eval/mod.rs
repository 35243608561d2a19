//! Evaluating bound expressions by walking their tree.

mod cast;
mod closure;
pub mod collection;
mod evaluator;
mod object;
mod predicate;
mod reverse;
mod step;
mod subquery;
mod visited;
mod walk;

pub use evaluator::{Evaluator, at};
pub use reverse::{ReverseUse, equal_range};
pub use subquery::answer;
pub use visited::Visited;
pub use walk::Walk as WalkState;

//! Compiling bound expressions to closures.

mod attribute;
mod compare;
mod compiler;
mod selection;
mod typed;

pub use attribute::Attribute;
pub use compiler::{Compiler, Datum, Floats, General, Ints, References, Row, Test, Typed, evaluate};
pub use selection::Selection;

use compiler::evaluate_truth;

//! Text to tree: one function a production of `grammar/olivine.ebnf`.

mod administration;
mod change;
mod combinators;
mod comparison;
mod expression;
mod failure;
mod input;
mod literal;
mod postfix;
mod primary;
mod query;
mod range;
mod schema;
mod script;
mod statement;
mod transaction;
mod types;

pub(crate) use primary::SPECIAL_FORMS;
pub use script::{
    needs_more, parse_expression, parse_literal, parse_method, parse_query, parse_script, parse_statement,
};
pub(crate) use statement::opens_statement;
pub(crate) use types::SCALAR_TYPES;

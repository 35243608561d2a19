//! The query street: text to tree, tree to plan, plan to operators over a reader.

pub mod ast;
mod bind;
mod cancel;
mod caret;
mod engine;
mod eval;
mod exec;
mod function;
mod nearest;
mod optimize;
mod parameters;
mod parser;
pub mod plan;
mod plan_cache;
mod prepared;
mod roomy;
mod settings;
mod token;

pub use bind::{check_method, check_query};
pub use cancel::CancelHandle;
pub use caret::caret;
pub use engine::{Engine, Run};
pub use exec::{ProfileSink, Row, Rows, Statistics as QueryStatistics, TemporaryFile, TemporaryFiles};
pub use function::names as function_names;
pub use nearest::nearest;
pub use parameters::Parameters;
pub use parser::{
    needs_more, parse_expression, parse_literal, parse_method, parse_query, parse_script, parse_statement,
};
pub use plan::{Explanation, Measures};
pub use prepared::Prepared;
pub use settings::Settings;
pub use token::RESERVED;

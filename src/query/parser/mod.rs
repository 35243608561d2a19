//! Text to tree: one function a production of `grammar/olivine.ebnf`.

mod script;

pub use script::{needs_more, parse_query, parse_script, parse_statement};

//! The query street: text to tree, tree to plan, plan to operators over a reader.

pub mod ast;
mod bind;
mod eval;
mod exec;
mod function;
mod optimize;
mod parser;
mod plan;
mod token;

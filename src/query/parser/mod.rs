//! The parser: one function a production of the grammar.

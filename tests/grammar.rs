//! The grammar, tied to the parser.

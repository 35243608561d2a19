//! Sessions: run statements of text.

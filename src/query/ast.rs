//! The syntax tree; it prints itself back as canonical text.

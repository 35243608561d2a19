//! Plans and bound expressions.

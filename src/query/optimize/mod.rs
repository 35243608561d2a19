//! The optimizer: an ordered list of small rules.

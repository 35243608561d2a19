//! The embedded API as a downstream crate sees it.

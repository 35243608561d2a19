//! Old formats.

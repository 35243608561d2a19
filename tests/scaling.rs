//! Plan shapes and visited-object counts.

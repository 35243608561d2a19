//! Owned read handles.

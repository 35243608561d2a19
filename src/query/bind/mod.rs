//! Binding: names, types and parameters of a statement, resolved against the catalog.

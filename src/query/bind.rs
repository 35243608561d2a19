//! Names, types and parameters, resolved against the catalog.

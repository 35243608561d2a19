//! The object table: where the newest version of each object lies.

//! Care of a database: check and the like.

//! The command line: shell, exec and their rendering.

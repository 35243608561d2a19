//! People: the `olivine` command. Arguments, the interactive shell, scripts, and how results are shown.

mod arguments;
mod build_meter;
mod care;
mod collect;
mod complete;
mod exec;
mod interrupt;
mod problem;
mod render;
mod repl;

pub use arguments::run;

//! The heap: a log of segments that holds every object, and the table that finds them.

mod position;
mod table;

pub use position::{Location, LogPosition};
pub use table::{Root, Table, TableVersion};

//! An open database, below its public handle: what is opened together, kept running and closed together.

mod history;
mod indexes;
mod maintenance;
mod open;
mod opened;
mod options;

pub use open::{open, open_on};
pub use opened::Instance;
pub use options::Options;

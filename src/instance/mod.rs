//! An open database, below its public handle: what is opened together, kept running and closed together.

mod indexes;
mod instance;
mod maintenance;
mod open;
mod options;

pub use instance::Instance;
pub use open::{exists, open, open_on};
pub use options::Options;

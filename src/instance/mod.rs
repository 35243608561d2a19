//! An open database, below its public handle: what is opened together, kept running and closed together.

mod build;
mod cleaning;
mod conversion;
mod history;
mod indexes;
mod ledger;
mod load;
mod maintenance;
mod open;
mod opened;
mod options;
mod query_files;
mod victims;

pub use build::{BuildProgress, BuildWatch};
pub use cleaning::{Pace, Reclaimed};
pub use conversion::{Conversions, Converted};
pub use ledger::{Held, OpenSnapshot, Opened, ReaderKind};
pub use load::Load;
pub use open::{open, open_on};
pub use opened::Instance;
pub use options::Options;

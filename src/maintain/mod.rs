//! Care of a database: finding what is wrong with it, and reclaiming space.

mod backup;
mod check;
mod cleaner;
mod collector;
mod progress;
mod salvage;

pub use backup::{BackupReport, Restore, RestoreReport, backup};
#[doc(hidden)]
pub use backup::{backup_on, restore_on};
pub use check::{CheckReport, Finding, check};
pub use cleaner::{CompactOptions, CompactProgress, CompactReport, compact};
pub use collector::{ClassGarbage, CollectOptions, CollectReport, Collection, Deletion, RootReach, Until};
pub use progress::{Progress, Watch};
pub use salvage::{SalvageReport, salvage};

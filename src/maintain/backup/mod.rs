//! Backups: copies of the log, and databases made of them.
//!
//! A backup directory holds copies of segment files, and *manifests* that say which of them make up which *moment* of
//! which database. A backup copies what is not there yet, compares every block with its checksum on the way and reads
//! back what it wrote, makes all of it durable, and only then writes a new manifest, under a new number. The newest sound
//! manifest counts, and what only older ones need is removed last: a backup that is killed, or finds the disk full,
//! leaves the one before as it was.
//!
//! Copies of one directory are an archive: earlier moments stay restorable, and so does every commit between two
//! moments, as long as the cleaner has not freed a segment in between that no backup has seen.

mod copying;
mod manifest;
mod report;
mod restore;

pub use copying::backup;
pub use report::{BackupReport, RestoreReport};
pub use restore::Restore;

#[doc(hidden)]
pub use copying::backup_on;
#[doc(hidden)]
pub use restore::restore_on;

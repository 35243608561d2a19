//! The only door to the disk.
//!
//! Everything the heap writes goes through [`Disk`] and [`File`]. Three disks exist: the real one, one in memory, and
//! a faulty one that keeps a live and a durable image, so that a test can cut the power at any operation.

mod anonymous;
mod disk;
mod faulty;
mod faulty_image;
mod map;
mod memory;
pub mod place;
mod positional;
mod real;

pub use disk::{Disk, File};
pub use faulty::{Fault, FaultyDisk};
pub use map::Map;
pub use memory::MemoryDisk;
pub use real::RealDisk;

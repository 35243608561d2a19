//! Files without a name: they can be written, read and mapped like any other, and vanish with their last handle.

use std::fs::File;
use std::io;

/// A new empty file that no directory lists.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn anonymous_file() -> io::Result<File> {
    let descriptor = rustix::fs::memfd_create("olivine", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(File::from(descriptor))
}

/// A new empty file that no directory lists for long: created among the temporary files and removed at once.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn anonymous_file() -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("olivine-{}-{number}", std::process::id()));
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

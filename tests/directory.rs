//! Database directories: what is in them, and copies.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file and directory below `path` with its bytes.
pub fn contents(path: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut left = vec![path.to_path_buf()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            found.insert(path, None);
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, Some(bytes));
        }
    }
    found
}

/// Copies a directory as a copying tool would, also while the database in it is open.
pub fn copy(from: &Path, to: &Path) {
    for (path, bytes) in contents(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        match bytes {
            None => fs::create_dir_all(target).unwrap(),
            Some(bytes) => {
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::write(target, bytes).unwrap();
            }
        }
    }
}

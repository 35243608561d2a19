//! The directory that is searched.

use serde::{Deserialize, Serialize};

/// One entry of a directory, about 300 bytes. `uid` is searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub uid: String,
    pub number: u32,
    pub name: String,
    pub mail: String,
    pub telephone: String,
    pub department: String,
    pub title: String,
    pub description: String,
}

/// The value of the searched attribute that stands for a number.
pub fn uid(number: u32) -> String {
    format!("user.{number:08}")
}

impl Entry {
    /// The entry that has this number for good, and its `uid` until a writer gives it another.
    pub fn new(number: u32) -> Entry {
        Entry {
            uid: uid(number),
            number,
            name: format!("Person Number {number}"),
            mail: format!("user.{number:08}@directory.example"),
            telephone: format!("+1 555 {number:08}"),
            department: format!("Department of Matter {}", number % 97),
            title: format!("Keeper of {} Things", number % 13),
            description: format!(
                "This is the description of the entry with number {number}, as searches return it."
            ),
        }
    }

    /// Whether all but the searched attribute is as [`Entry::new`] made it.
    pub fn is_whole(&self) -> bool {
        let mut made = Entry::new(self.number);
        made.uid.clone_from(&self.uid);
        *self == made
    }
}

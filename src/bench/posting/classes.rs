//! The object model that is posted into.

use serde::{Deserialize, Serialize};

use crate::Ref;

/// Latest entries that an account refers to, and so the most that a request reads of it.
pub const LATEST: usize = 8;

/// An account. Its size is fixed once it has [`LATEST`] entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Account {
    pub number: u32,
    pub owner: String,
    pub balance: i64,
    pub entries: u64,
    pub latest: Vec<Ref<Entry>>,
}

/// A posted record; never changed again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    pub account: Ref<Account>,
    pub number: u64,
    pub amount: i64,
    pub text: String,
}

//! The accounts: all that is known of account `n` follows from `n`.

use serde::{Deserialize, Serialize};

use crate::random::scramble;

/// Balances lie below this.
pub const BALANCES: i64 = 1_000_000;

/// A small object; `code` is unique, `balance` ordered, both in no order of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// 16 hexadecimal digits.
    pub code: String,
    /// Any of a million.
    pub balance: i64,
    /// Which account it is, from 0.
    pub number: i64,
}

/// Account `number`.
pub fn account(number: u64) -> Account {
    Account {
        code: code(number),
        balance: balance(number),
        number: number as i64,
    }
}

/// The code of account `number`: no other has it.
pub fn code(number: u64) -> String {
    format!("{:016x}", scramble(number + 1))
}

/// The balance of account `number`.
pub fn balance(number: u64) -> i64 {
    (scramble(number ^ 0xba1a_4ce0_0000_0000) % BALANCES as u64) as i64
}

/// What an account adds to the digest of all: every attribute takes part.
pub fn digest(account: &Account) -> u64 {
    let code = u64::from_str_radix(&account.code, 16).unwrap_or_default();
    scramble(code ^ scramble(account.number as u64)).wrapping_add(scramble(account.balance as u64))
}

/// The digest of the first `count` accounts.
pub fn digest_of_first(count: u64) -> u64 {
    (0..count)
        .map(|number| digest(&account(number)))
        .fold(0, u64::wrapping_add)
}

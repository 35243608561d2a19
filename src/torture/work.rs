//! What workers write, and what must always hold of it.
//!
//! *Pairs*: a [`Left`] and a [`Right`] of the same key and value, written and deleted together. *Accounts*: a fixed number,
//! whose balances always add up to the same, whatever is moved between them by whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::catalog::IndexDefinition;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::object::Ref;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;

/// Accounts, and what is in each at the start.
pub(super) const ACCOUNTS: i64 = 40;
const BALANCE: i64 = 1_000;

/// Half of a pair.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename = "TortureLeft")]
pub(super) struct Left {
    key: i64,
    value: i64,
    padding: String,
}

/// The other half.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename = "TortureRight")]
pub(super) struct Right {
    key: i64,
    value: i64,
    left: Option<Ref<Left>>,
}

/// Something to move between.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename = "TortureAccount")]
pub(super) struct Account {
    number: i64,
    balance: i64,
}

/// Defines the classes, and makes the accounts; harmless to repeat after a kill.
pub(super) fn define(database: &Database) -> Result<()> {
    database.define_all::<(Left, Right, Account)>()?;
    super::evolve::define(database)?;
    let unique = |attribute: &str| IndexDefinition {
        unique: true,
        ..IndexDefinition::on(attribute)
    };
    for (class, attribute) in [
        ("TortureLeft", "key"),
        ("TortureRight", "key"),
        ("TortureAccount", "number"),
    ] {
        match database.create_index(class, &unique(attribute)) {
            Err(Error::Schema(message)) if message.contains("exists already") => {}
            outcome => outcome?,
        }
    }
    database.transact(|tx| {
        if tx.extent::<Account>()?.next().is_none() {
            for number in 0..ACCOUNTS {
                let balance = BALANCE;
                tx.insert(&Account { number, balance })?;
            }
        }
        Ok(())
    })
}

/// Writes both halves of a pair, or deletes them.
pub(super) fn write_pair(tx: &mut Transaction, key: i64, value: Option<i64>, padding: usize) -> Result<()> {
    let left = find::<Left>(tx, "select l from TortureLeft l where l.key = $1", key)?;
    let right = find::<Right>(tx, "select r from TortureRight r where r.key = $1", key)?;
    let padding = "p".repeat(padding);
    match (left, right, value) {
        (None, None, None) => {}
        (Some((left, _)), Some((right, _)), None) => {
            tx.delete(left)?;
            tx.delete(right)?;
        }
        (None, None, Some(value)) => {
            let left = Some(tx.insert(&Left { key, value, padding })?);
            tx.insert(&Right { key, value, left })?;
        }
        (Some((left, _)), Some((right, _)), Some(value)) => {
            tx.update(left, &Left { key, value, padding })?;
            let left = Some(left);
            tx.update(right, &Right { key, value, left })?;
        }
        _ => return Err(finding(format!("the key {key} has half of a pair"))),
    }
    Ok(())
}

fn find<T: serde::de::DeserializeOwned>(
    tx: &Transaction,
    query: &str,
    key: i64,
) -> Result<Option<(Ref<T>, T)>> {
    tx.query(query, (key,))?.objects::<T>().next().transpose()
}

/// Moves an amount from one account to another.
pub(super) fn transfer(tx: &mut Transaction, from: i64, to: i64, amount: i64) -> Result<()> {
    let query = "select a from TortureAccount a where a.number = $1";
    let (Some((from, mut source)), Some((to, mut target))) =
        (find::<Account>(tx, query, from)?, find::<Account>(tx, query, to)?)
    else {
        return Err(finding("an account is gone"));
    };
    source.balance = source.balance.saturating_sub(amount);
    target.balance = target.balance.saturating_add(amount);
    tx.update(from, &source)?;
    tx.update(to, &target)
}

/// A finding of the torture, as an error.
pub(super) fn finding(sentence: impl Into<String>) -> Error {
    Error::other(std::io::Error::other(sentence.into()))
}

/// All pairs and shapes of a snapshot; an error where halves do not match, accounts do not add up, or an index and a scan disagree.
pub(super) fn read_all(snapshot: &Snapshot) -> Result<BTreeMap<i64, i64>> {
    let mut lefts = BTreeMap::new();
    for left in snapshot.extent::<Left>()? {
        let (_, left) = left?;
        lefts.insert(left.key, left.value);
    }
    let mut rights = 0usize;
    for right in snapshot.extent::<Right>()? {
        let (_, right) = right?;
        rights += 1;
        if lefts.get(&right.key) != Some(&right.value) {
            return Err(finding(format!("the halves of the key {} differ", right.key)));
        }
    }
    if rights != lefts.len() {
        return Err(finding("there are halves without the other"));
    }
    for query in [
        "select l.key, l.value from TortureLeft l where l.key >= 0",
        "select l.key, l.value from TortureLeft l where l.value >= 0",
        "select r.key, r.value from TortureRight r where r.left.value >= 0",
    ] {
        let mut found = BTreeMap::new();
        for row in snapshot.query(query, ())? {
            let row = row?;
            let number = |place: usize| {
                row.get(place)
                    .and_then(crate::object::Value::as_int)
                    .unwrap_or(-1)
            };
            found.insert(number(0), number(1));
        }
        if found != lefts {
            let (found, scanned) = (found.len(), lefts.len());
            return Err(finding(format!(
                "{query} found {found} pairs, the scan {scanned}"
            )));
        }
    }
    check_accounts(snapshot)?;
    lefts.extend(super::evolve::read(snapshot)?);
    Ok(lefts)
}

/// An error unless the accounts add up.
pub(super) fn check_accounts(snapshot: &Snapshot) -> Result<()> {
    let mut total = 0i64;
    let mut accounts = 0;
    for account in snapshot.extent::<Account>()? {
        total = total.saturating_add(account?.1.balance);
        accounts += 1;
    }
    // Before the accounts were made there are none.
    match (accounts, total) {
        (0, 0) => Ok(()),
        (ACCOUNTS, total) if total == ACCOUNTS * BALANCE => Ok(()),
        _ => Err(finding(format!("{accounts} accounts add up to {total}"))),
    }
}

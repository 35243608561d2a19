//! The process that opens the database again: first one look-up on each index, then everything.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use olivine::{Database, Snapshot};
use serde::{Deserialize, Serialize};

use super::accounts::{Account, BALANCES, account, balance, code, digest};
use crate::oql;
use crate::random::Random;

/// What it is told.
#[derive(Debug, clap::Args)]
pub struct LookUpOptions {
    /// The database's directory.
    #[arg(long)]
    pub path: PathBuf,
    /// Accounts that must be there.
    #[arg(long)]
    pub least: u64,
    /// Opens and looks up only.
    #[arg(long)]
    pub quick: bool,
}

/// What it found; seconds since the process began to open.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct Found {
    /// When the database was open.
    pub open: f64,
    /// When the first look-up on the unique index had its object.
    pub unique: f64,
    /// When the first look-up on the ordered index had its objects.
    pub ordered: f64,
    /// What recovery said.
    pub recovery: Option<String>,
    /// Accounts found by reading all.
    pub count: u64,
    /// Their digest.
    pub digest: u64,
    /// Look-ups on each index that were compared.
    pub looked_up: u64,
}

/// Runs it and prints what it found as one line of JSON.
pub fn look_up(options: &LookUpOptions) -> Result<()> {
    let start = Instant::now();
    let database = Database::options(&options.path).create(false).open()?;
    let mut found = Found {
        open: start.elapsed().as_secs_f64(),
        ..Found::default()
    };
    let snapshot = database.snapshot();
    let known = options.least / 2;
    check_unique(&snapshot, known)?;
    found.unique = start.elapsed().as_secs_f64();
    check_ordered(&snapshot, known)?;
    found.ordered = start.elapsed().as_secs_f64();
    found.recovery = database.statistics().recovery;
    if !options.quick {
        compare(&snapshot, options.least, &mut found)?;
    }
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

/// Look-ups on each index, besides the first.
const LOOK_UPS: u64 = 1_000;

fn compare(snapshot: &Snapshot, least: u64, found: &mut Found) -> Result<()> {
    for item in snapshot.extent::<Account>()? {
        let (_, account) = item?;
        found.count += 1;
        found.digest = found.digest.wrapping_add(digest(&account));
    }
    ensure!(
        found.count >= least,
        "{least} accounts must be there, {} are",
        found.count
    );
    let mut random = Random::new(least);
    for _ in 0..LOOK_UPS {
        check_unique(snapshot, random.below(found.count))?;
        check_ordered(snapshot, random.below(found.count))?;
    }
    found.looked_up = LOOK_UPS;
    check_range(snapshot, found.count)
}

fn check_unique(snapshot: &Snapshot, number: u64) -> Result<()> {
    let text = "select a.number from Account a where a.code = $1";
    let numbers = oql::numbers(snapshot, text, (code(number),))?;
    ensure!(
        numbers == [number as i64],
        "the code of account {number} finds {numbers:?}"
    );
    Ok(())
}

fn check_ordered(snapshot: &Snapshot, number: u64) -> Result<()> {
    let text = "select a.number from Account a where a.balance = $1";
    let numbers = oql::numbers(snapshot, text, (balance(number),))?;
    ensure!(
        numbers.contains(&(number as i64)),
        "the balance of account {number} finds {numbers:?}"
    );
    let same = |number: &i64| account(*number as u64).balance == balance(number_of(*number));
    ensure!(
        numbers.iter().all(same),
        "accounts with other balances than asked for: {numbers:?}"
    );
    Ok(())
}

fn number_of(number: i64) -> u64 {
    number.unsigned_abs()
}

/// One range of the ordered index, a hundredth of all, counted and compared with the accounts themselves.
fn check_range(snapshot: &Snapshot, count: u64) -> Result<()> {
    let bound = BALANCES / 100;
    let text = "select count(*) from Account a where a.balance < $1";
    let counted = oql::numbers(snapshot, text, (bound,))?;
    let expected = (0..count).filter(|number| balance(*number) < bound).count() as i64;
    ensure!(
        counted == [expected],
        "{expected} balances are below {bound}, the index finds {counted:?}"
    );
    Ok(())
}

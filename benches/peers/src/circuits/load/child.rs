//! The process that loads: one line on its standard output for every commit, persist and end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use olivine::Database;

use super::accounts::{Account, account};
use super::sqlite;
use crate::measure::processor_time;
use crate::peers::begin_buffered;

/// What it is told.
#[derive(Debug, clap::Args)]
pub struct ChildOptions {
    /// The database's directory.
    #[arg(long)]
    pub path: PathBuf,
    /// Accounts to make.
    #[arg(long)]
    pub accounts: u64,
    /// Accounts a transaction.
    #[arg(long)]
    pub batch: u64,
    /// Accounts between two calls that make everything durable; 0: none before the end.
    #[arg(long)]
    pub persist: u64,
    /// Loads by transactions, and not all at once.
    #[arg(long)]
    pub transactions: bool,
    /// Loads SQLite instead.
    #[arg(long)]
    pub sqlite: bool,
}

/// Tells the parent: a word and a number a line.
pub fn tell(word: &str, number: impl std::fmt::Display) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{word} {number}")?;
    Ok(output.flush()?)
}

/// Loads, persists and closes.
pub fn load(options: &ChildOptions) -> Result<()> {
    if options.batch == 0 {
        bail!("a transaction needs at least one account");
    }
    if options.sqlite {
        return sqlite::load(options);
    }
    let database = create(&options.path)?;
    match options.transactions {
        true => by_transactions(options, &database)?,
        false => at_once(options, &database)?,
    }
    let start = Instant::now();
    database.close()?;
    tell("closed", start.elapsed().as_secs_f64())?;
    tell("processor", processor_time())
}

/// As one bulk load: nothing is acknowledged before its end, and then all is durable.
fn at_once(options: &ChildOptions, database: &Database) -> Result<()> {
    database.load(|loader| {
        for number in 0..options.accounts {
            loader.insert(&account(number))?;
            if (number + 1).is_multiple_of(100_000) {
                tell("made", number + 1).map_err(olivine::Error::other)?;
            }
        }
        Ok(())
    })?;
    tell("acknowledged", options.accounts)?;
    tell("durable", options.accounts)
}

fn by_transactions(options: &ChildOptions, database: &Database) -> Result<()> {
    let mut number = 0;
    while number < options.accounts {
        let end = (number + options.batch).min(options.accounts);
        let mut transaction = begin_buffered(database)?;
        for number in number..end {
            transaction.insert(&account(number))?;
        }
        transaction.commit()?;
        number = end;
        tell("acknowledged", number)?;
        if options.persist > 0 && number % options.persist == 0 {
            database.persist()?;
            tell("durable", number)?;
        }
    }
    database.persist()?;
    tell("durable", number)
}

fn create(path: &Path) -> Result<Database> {
    let database = Database::open(path)?;
    database.define::<Account>()?.unique("code")?.index("balance")?;
    Ok(database)
}

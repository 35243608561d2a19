//! The same accounts in SQLite, with the same two indexes.

use std::time::Instant;

use anyhow::Result;

use super::accounts::account;
use super::child::{ChildOptions, tell};
use crate::measure::processor_time;
use crate::peers::open_sqlite;

/// Loads them, as [`super::child::load`] does.
pub fn load(options: &ChildOptions) -> Result<()> {
    std::fs::create_dir_all(&options.path)?;
    let connection = open_sqlite(&options.path.join("accounts.db"))?;
    connection.execute_batch(
        "create table account(id integer primary key, code text not null, balance integer not null, number integer not null);
         create unique index by_code on account(code);
         create index by_balance on account(balance);",
    )?;
    let mut number = 0;
    while number < options.accounts {
        let end = (number + options.batch).min(options.accounts);
        let transaction = connection.unchecked_transaction()?;
        {
            let mut insert = transaction
                .prepare_cached("insert into account(code, balance, number) values (?1, ?2, ?3)")?;
            for number in number..end {
                let account = account(number);
                insert.execute((account.code, account.balance, account.number))?;
            }
        }
        transaction.commit()?;
        number = end;
        tell("acknowledged", number)?;
    }
    let start = Instant::now();
    connection.close().map_err(|(_, error)| error)?;
    tell("closed", start.elapsed().as_secs_f64())?;
    tell("processor", processor_time())
}

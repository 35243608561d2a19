//! The SQL side: one connection to read, one to write, statements prepared once.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use rusqlite::{Connection, params};

use super::data::{self, DEPARTMENTS, Graph, SITES};
use crate::peers::sqlite::open_new;

/// The database.
#[derive(Debug)]
pub struct Sqlite {
    /// Reads.
    pub connection: Connection,
    path: PathBuf,
}

const SCHEMA: &str = "create table site(id integer primary key, city text not null);
create table department(id integer primary key, name text not null, site integer not null);
create table person(id integer primary key, code text not null, age integer not null, score real not null,
    balance integer not null, department integer not null, note text not null);
create table edge(source integer not null, target integer not null, primary key(source, target)) without rowid;";

const INDEXES: &str = "create unique index person_code on person(code);
create index person_balance on person(balance);
create index department_site on department(site);
create index site_city on site(city);
analyze;";

impl Sqlite {
    /// Holds `count` people and the graph.
    pub fn load(path: &Path, count: usize, graph: &Graph) -> Result<Sqlite> {
        let connection = open_new(path)?;
        connection.execute_batch(SCHEMA)?;
        let transaction = connection.unchecked_transaction()?;
        {
            let mut site = transaction.prepare("insert into site values (?1, ?2)")?;
            for number in 0..SITES {
                site.execute(params![number, format!("city {number}")])?;
            }
            let mut department = transaction.prepare("insert into department values (?1, ?2, ?3)")?;
            for number in 0..DEPARTMENTS {
                department.execute(params![
                    number,
                    format!("department {number}"),
                    data::site(number)
                ])?;
            }
            let mut person = transaction.prepare("insert into person values (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            for number in 0..count as u64 {
                let p = data::person(number);
                person.execute(params![
                    number,
                    p.code,
                    p.age,
                    p.score,
                    p.balance,
                    p.department,
                    p.note
                ])?;
            }
            let mut edge = transaction.prepare("insert or ignore into edge values (?1, ?2)")?;
            for (source, targets) in graph.targets.iter().enumerate() {
                for target in targets {
                    edge.execute(params![source as i64, target])?;
                }
            }
        }
        transaction.commit()?;
        connection.execute_batch(INDEXES)?;
        Ok(Sqlite {
            connection,
            path: path.to_path_buf(),
        })
    }

    /// A second connection, to write.
    pub fn writer(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.pragma_update(None, "synchronous", "off")?;
        Ok(connection)
    }

    /// Gives person `number` another balance.
    pub fn change(writer: &Connection, number: usize, balance: i64) -> Result<()> {
        let mut update = writer.prepare_cached("update person set balance = ?2 where id = ?1")?;
        update.execute(params![number as i64, balance])?;
        Ok(())
    }

    /// An index on the first reference.
    pub fn index_path(&self) -> Result<()> {
        let text = "create index person_department on person(department); analyze;";
        Ok(self.connection.execute_batch(text)?)
    }

    /// A statement that gives rows of numbers: their sum, floats rounded down.
    pub fn answer(&self, text: &str, parameters: impl rusqlite::Params) -> Result<u64> {
        let mut statement = self.connection.prepare_cached(text)?;
        let columns = statement.column_count();
        let mut rows = statement.query(parameters)?;
        let mut sum = 0_u64;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                sum = sum.wrapping_add(match row.get_ref(column)? {
                    rusqlite::types::ValueRef::Integer(number) => number as u64,
                    rusqlite::types::ValueRef::Real(number) => number.floor() as u64,
                    _ => 0,
                });
            }
        }
        Ok(sum)
    }

    /// The rows of a statement.
    pub fn rows(&self, text: &str, parameters: impl rusqlite::Params) -> Result<u64> {
        let mut statement = self.connection.prepare_cached(text)?;
        let mut rows = statement.query(parameters)?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            row.get_ref(0)?;
            count += 1;
        }
        Ok(count)
    }

    /// The person with this code, all columns read; the age.
    pub fn look_up(&self, code: &str) -> Result<u64> {
        let text = "select code, age, score, balance, department, note from person where code = ?1";
        let mut statement = self.connection.prepare_cached(text)?;
        let (found, age, rest) = statement.query_row([code], |row| {
            let rest: (f64, i64, i64, String) = (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, rest))
        })?;
        ensure!(
            found == code && rest.3.len() == 60,
            "{code} was asked for, {found} came"
        );
        Ok(age as u64)
    }
}

//! Posting, measured in tenths of the work.
//!
//! One request is one transaction that posts [`RECORDS`] records: for each it reads a random account with its latest
//! entries, inserts an entry, and updates the account. The model grows by one entry a record and by nothing else; an
//! account has a fixed size. Work is the bytes of all objects that requests read and wrote, as they are stored.

use std::hint::black_box;
use std::time::Instant;

use super::classes::{Account, Entry, LATEST};
use super::report::{PostingReport, Tenth};
use crate::Ref;
use crate::bench::experiment::{Findings, Settings};
use crate::bench::machine::memory;
use crate::bench::random::Random;
use crate::bench::store::Store;
use crate::error::{Error, Result};

/// Records that one request posts.
const RECORDS: u32 = 100;
/// About the bytes of an account and of an entry as stored.
const ACCOUNT_BYTES: u64 = 150;
const ENTRY_BYTES: u64 = 200;

/// How much is posted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Posting {
    /// Bytes of work.
    work: u64,
    /// Accounts.
    accounts: u32,
}

impl Posting {
    /// What was asked: the scale tiny, or gigabytes of work (4 if none are given) on a hundred thousand accounts.
    fn asked(settings: &Settings<'_>) -> Result<Posting> {
        let refused = |why: &str| Err(Error::Argument(why.to_owned()));
        match (settings.scale, settings.gigabytes.unwrap_or(4.0)) {
            (Some("tiny"), _) if settings.gigabytes.is_none() => Ok(Posting {
                work: 20_000_000,
                accounts: 500,
            }),
            (Some(_), _) => refused("posting has the scale tiny; otherwise give the gigabytes of work"),
            (None, gigabytes) if (0.01..=100_000.0).contains(&gigabytes) => Ok(Posting {
                work: (gigabytes * 1e9) as u64,
                accounts: 100_000,
            }),
            (None, _) => refused("posting takes 0.01 to 100000 gigabytes of work"),
        }
    }
}

/// What an account should hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Expected {
    balance: i64,
    entries: u64,
}

/// Posts, measures, and verifies every account and entry afterwards.
pub fn run(settings: &Settings<'_>) -> Result<Box<dyn Findings>> {
    let posting = Posting::asked(settings)?;
    let mut store = Store::create(settings.directory.join("posting.olv"), settings.durability)?;
    let database = store.database()?.clone();
    database.define_all::<(Account, Entry)>()?;
    let mut poster = Poster {
        accounts: create_accounts(&store, posting.accounts)?,
        expected: vec![Expected::default(); posting.accounts as usize],
        random: Random::new(settings.seed),
        posted: 0,
    };
    let mut report = PostingReport::new(posting.work, posting.accounts, RECORDS);
    for tenth in 1..=10u64 {
        let until = posting.work / 10 * tenth;
        let (started, before) = (Instant::now(), report.work);
        let mut requests = 0u64;
        let mut objects = 0u64;
        while report.work < until {
            let done = poster.request(&store)?;
            requests += 1;
            objects += done.objects;
            report.work += done.bytes;
            report.peak_anonymous = report.peak_anonymous.max(memory().anonymous);
            if requests.is_multiple_of(16) {
                let percent = report.work * 100 / posting.work.max(1);
                settings.progress.now(format!("posting {percent} %"))?;
            }
        }
        report.tenths.push(Tenth {
            seconds: started.elapsed().as_secs_f64(),
            requests,
            objects,
            bytes: report.work - before,
            anonymous: memory().anonymous,
        });
    }
    report.peak_resident = memory().peak_resident;
    report.entries = poster.posted;
    drop(database);
    store.reopen()?;
    report.disk = store.disk();
    poster.verify(&store, &mut report)?;
    store.close()?;
    Ok(Box::new(report))
}

fn create_accounts(store: &Store, count: u32) -> Result<Vec<Ref<Account>>> {
    let numbers: Vec<u32> = (0..count).collect();
    let mut accounts = Vec::with_capacity(numbers.len());
    for part in numbers.chunks(1000) {
        accounts.extend(store.database()?.transact(|tx| {
            let account = |number: &u32| Account {
                number: *number,
                owner: format!("the owner of account {number:08}"),
                balance: 0,
                entries: 0,
                latest: Vec::new(),
            };
            part.iter()
                .map(|number| tx.insert(&account(number)))
                .collect::<Result<Vec<_>>>()
        })?);
    }
    Ok(accounts)
}

/// What one request has done.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    objects: u64,
    bytes: u64,
}

struct Poster {
    accounts: Vec<Ref<Account>>,
    expected: Vec<Expected>,
    random: Random,
    posted: u64,
}

impl Poster {
    fn request(&mut self, store: &Store) -> Result<Done> {
        let mut done = Done::default();
        let mut tx = store.database()?.begin()?;
        for _ in 0..RECORDS {
            let at = self.random.position(self.accounts.len());
            let amount = i64::from(self.random.below(20_000)) - 10_000;
            let Some(reference) = self.accounts.get(at).copied() else {
                continue;
            };
            let Some(mut account) = tx.get(reference)? else {
                continue;
            };
            for latest in &account.latest {
                black_box(tx.get(*latest)?);
                done.bytes += ENTRY_BYTES;
            }
            done.objects += 3 + account.latest.len() as u64;
            done.bytes += 2 * ACCOUNT_BYTES + ENTRY_BYTES;
            let entry = tx.insert(&Entry {
                account: reference,
                number: self.posted,
                amount,
                text: format!("posting {:>20} to account {at:<116}", self.posted),
            })?;
            account.balance += amount;
            account.entries += 1;
            account.latest.insert(0, entry);
            account.latest.truncate(LATEST);
            tx.update(reference, &account)?;
            self.posted += 1;
            if let Some(expected) = self.expected.get_mut(at) {
                expected.balance += amount;
                expected.entries += 1;
            }
        }
        tx.commit()?;
        Ok(done)
    }

    /// Compares every account with the model, every entry with its account, and adds up what lives.
    fn verify(&self, store: &Store, report: &mut PostingReport) -> Result<()> {
        let snapshot = store.database()?.snapshot();
        let mut of_entries = vec![Expected::default(); self.expected.len()];
        let mut live = 0u64;
        let mut size = |oid: crate::Oid| -> Result<()> {
            let stored = snapshot.stored(oid)?;
            live += stored.map_or(0, |stored| stored.size() as u64);
            Ok(())
        };
        let number_of = |reference: &Ref<Account>| {
            let first = self.accounts.first().map_or(0, |first| first.oid().serial());
            usize::try_from(reference.oid().serial().saturating_sub(first)).unwrap_or(usize::MAX)
        };
        for entry in snapshot.extent::<Entry>()? {
            let (reference, entry) = entry?;
            size(reference.oid())?;
            if let Some(sum) = of_entries.get_mut(number_of(&entry.account)) {
                sum.balance += entry.amount;
                sum.entries += 1;
            }
        }
        let mut found = 0usize;
        for account in snapshot.extent::<Account>()? {
            let (reference, account) = account?;
            size(reference.oid())?;
            found += 1;
            let held = Expected {
                balance: account.balance,
                entries: account.entries,
            };
            let at = account.number as usize;
            if self.expected.get(at) != Some(&held) || of_entries.get(at) != Some(&held) {
                report.differ(format!("account {at} is not what was posted to it"));
            }
        }
        if found != self.accounts.len() {
            report.differ(format!("{found} accounts are there of {}", self.accounts.len()));
        }
        report.live = live;
        Ok(())
    }
}

//! Threads: what concurrent transactions can and cannot do to one another.

use std::sync::Barrier;
use std::thread;

use olivine::{Database, Error, Ref};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Counter {
    value: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Account {
    owner: String,
    balance: i64,
}

fn counter(db: &Database) -> Ref<Counter> {
    db.define::<Counter>().unwrap();
    db.transact(|tx| tx.insert(&Counter { value: 0 })).unwrap()
}

#[test]
fn no_increment_is_lost_among_eight_threads() {
    let db = Database::in_memory().unwrap();
    let id = counter(&db);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    while db
                        .transact(|tx| {
                            let mut counter = tx.get(id)?.unwrap();
                            counter.value += 1;
                            tx.update(id, &counter)
                        })
                        .inspect_err(|error| assert!(error.is_conflict(), "{error}"))
                        .is_err()
                    {}
                }
            });
        }
    });
    assert_eq!(db.snapshot().get(id).unwrap().unwrap().value, 400);
}

#[test]
fn one_of_four_writers_wins_each_unique_value() {
    let db = Database::in_memory().unwrap();
    db.define::<Account>().unwrap().unique("owner").unwrap();
    let barrier = Barrier::new(4);
    let wins: usize = thread::scope(|scope| {
        let writer = |number: i64| {
            let (db, barrier) = (&db, &barrier);
            move || {
                let mut wins = 0;
                for round in 0..100 {
                    barrier.wait();
                    let account = Account {
                        owner: format!("owner {round} with a name of some length"),
                        balance: number,
                    };
                    match db.transact(|tx| tx.insert(&account)) {
                        Ok(_) => wins += 1,
                        Err(Error::Constraint(_)) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
                wins
            }
        };
        let writers: Vec<_> = (0..4).map(|number| scope.spawn(writer(number))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(wins, 100);
    assert_eq!(db.snapshot().extent::<Account>().unwrap().count(), 100);
}

#[test]
fn readers_see_whole_transfers_only() {
    let db = Database::in_memory().unwrap();
    db.define::<Account>().unwrap().index("balance").unwrap();
    let accounts: Vec<Ref<Account>> = db
        .transact(|tx| {
            (0..10)
                .map(|number| {
                    tx.insert(&Account {
                        owner: number.to_string(),
                        balance: 100,
                    })
                })
                .collect()
        })
        .unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..300usize {
                let (from, to) = (accounts[round % 10], accounts[(round * 7 + 1) % 10]);
                db.transact(|tx| {
                    let mut payer = tx.get(from)?.unwrap();
                    payer.balance -= 1;
                    tx.update(from, &payer)?;
                    let mut payee = tx.get(to)?.unwrap();
                    payee.balance += 1;
                    tx.update(to, &payee)
                })
                .unwrap();
            }
        });
        while !writer.is_finished() {
            let snapshot = db.snapshot();
            let sum: i64 = snapshot
                .extent::<Account>()
                .unwrap()
                .map(|account| account.unwrap().1.balance)
                .sum();
            assert_eq!(sum, 1_000);
            let rows = snapshot
                .query("select a.balance from Account a where a.balance > -1000", ())
                .unwrap();
            let through_index: i64 = rows
                .map(|row| row.unwrap().get(0).unwrap().as_int().unwrap())
                .sum();
            assert_eq!(through_index, 1_000);
        }
    });
}

#[test]
fn unrelated_inserts_do_not_conflict() {
    let db = Database::in_memory().unwrap();
    db.define::<Counter>().unwrap().index("value").unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for number in 0..100 {
                    let mut tx = db.begin().unwrap();
                    tx.insert(&Counter {
                        value: thread * 1_000 + number,
                    })
                    .unwrap();
                    tx.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(db.snapshot().extent::<Counter>().unwrap().count(), 400);
}

#[test]
fn whoever_was_bound_to_an_older_schema_conflicts_and_reruns() {
    let db = Database::in_memory().unwrap();
    counter(&db);
    let mut tx = db.begin().unwrap();
    tx.insert(&Counter { value: 7 }).unwrap();
    db.create_index("Counter", &olivine::IndexDefinition::on("value"))
        .unwrap();
    assert!(tx.commit().unwrap_err().is_conflict());
    db.transact(|tx| tx.insert(&Counter { value: 7 })).unwrap();
    let rows = db
        .snapshot()
        .query("select c from Counter c where c.value = 7", ())
        .unwrap();
    assert_eq!(rows.count(), 1);
}

#[test]
fn a_long_reader_that_writes_gets_its_turn_among_busy_writers() {
    let db = Database::in_memory().unwrap();
    let total = counter(&db);
    db.define::<Account>().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..3 {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                while !done.load(std::sync::atomic::Ordering::Acquire) {
                    let account = Account {
                        owner: "busy".into(),
                        balance: number,
                    };
                    db.transact(|tx| tx.insert(&account)).unwrap();
                }
            });
        }
        for _ in 0..3 {
            let mut runs = 0;
            db.transact(|tx| {
                runs += 1;
                let value = tx.extent::<Account>()?.count() as i64;
                thread::sleep(std::time::Duration::from_millis(5));
                tx.update(total, &Counter { value })
            })
            .unwrap();
            assert!(runs < 32, "{runs} runs");
        }
        done.store(true, std::sync::atomic::Ordering::Release);
    });
    assert!(db.snapshot().get(total).unwrap().unwrap().value > 0);
}

//! Killed processes on the real disk, and power cuts, failed operations and full disks on the faulty one: what was
//! acknowledged is there whole, nothing is there in half, and the indexes agree with the extents.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use olivine::testing::{Fault, FaultyDisk, open_on};
use olivine::{Database, Durability, Error, IndexDefinition, Ref, Result};
use serde::{Deserialize, Serialize};

use crate::directory::copy;
use crate::random::{Random, seeds};

/// Written together with the [`Right`] of the same key and value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Left {
    key: i64,
    value: i64,
    padding: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Right {
    key: i64,
    value: i64,
    left: Option<Ref<Left>>,
}

type Pairs = BTreeMap<i64, i64>;

fn define(database: &Database) -> Result<()> {
    database.define_all::<(Left, Right)>()?;
    let unique = IndexDefinition {
        unique: true,
        ..IndexDefinition::on("key")
    };
    for class in ["Left", "Right"] {
        match database.create_index(class, &unique) {
            Err(Error::Schema(message)) if message.contains("exists already") => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

/// What one transaction does to the pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    key: i64,
    /// `None` deletes.
    value: Option<i64>,
}

/// Writes both halves of a pair, or deletes them.
fn write(database: &Database, step: Step, padding: usize, durability: Durability) -> Result<()> {
    let options = olivine::TransactionOptions {
        durability: Some(durability),
        ..Default::default()
    };
    let mut tx = database.begin_with(options)?;
    let mut rows = tx.query(
        "select l, r from Left l, Right r where l.key = $1 and r.key = $1",
        (step.key,),
    )?;
    let found = rows.next().transpose()?;
    drop(rows);
    let references = found.map(|row| {
        let oid = |place: usize| row.get(place).unwrap().as_reference().unwrap();
        (Ref::<Left>::from_oid(oid(0)), Ref::<Right>::from_oid(oid(1)))
    });
    let (key, padding) = (step.key, "p".repeat(padding));
    match (references, step.value) {
        (None, None) => {}
        (Some((left, right)), None) => {
            tx.delete(left)?;
            tx.delete(right)?;
        }
        (None, Some(value)) => {
            let left = Some(tx.insert(&Left { key, value, padding })?);
            tx.insert(&Right { key, value, left })?;
        }
        (Some((left, right)), Some(value)) => {
            tx.update(left, &Left { key, value, padding })?;
            let left = Some(left);
            tx.update(right, &Right { key, value, left })?;
        }
    }
    tx.commit().map(drop)
}

/// Reads all pairs; asserts that the halves match and that every index agrees with the extents.
fn pairs(database: &Database) -> Pairs {
    let snapshot = database.snapshot();
    let Ok(lefts) = snapshot.extent::<Left>() else {
        return Pairs::new();
    };
    let lefts: Pairs = lefts
        .map(|left| left.unwrap().1)
        .map(|left| (left.key, left.value))
        .collect();
    let rights = snapshot.extent::<Right>().unwrap().map(|right| right.unwrap().1);
    let rights: Vec<Right> = rights.collect();
    for right in &rights {
        let left = snapshot.get(right.left.unwrap()).unwrap().unwrap();
        assert_eq!((left.key, left.value), (right.key, right.value));
    }
    let of_rights: Pairs = rights.iter().map(|right| (right.key, right.value)).collect();
    assert_eq!(lefts, of_rights, "half of a commit is there");
    assert_eq!(rights.len(), of_rights.len());
    // Conditions that the indexes serve, whichever of them exist.
    for text in [
        "select l.key, l.value from Left l where l.key >= -1",
        "select l.key, l.value from Left l where l.value >= -1",
        "select r.key, r.value from Right r where r.left.value >= -1",
    ] {
        let rows = snapshot.query(text, ()).unwrap().map(Result::unwrap);
        let int = |row: &olivine::Row, place: usize| row.get(place).unwrap().as_int().unwrap();
        let rows: Vec<(i64, i64)> = rows.map(|row| (int(&row, 0), int(&row, 1))).collect();
        assert_eq!(rows.len(), lefts.len(), "{text}");
        assert_eq!(rows.into_iter().collect::<Pairs>(), lefts, "{text}");
    }
    for (key, value) in lefts.iter().take(20) {
        let row = snapshot
            .query("select l.value from Left l where l.key = $1", (*key,))
            .unwrap()
            .next();
        assert_eq!(row.unwrap().unwrap().get(0).unwrap().as_int(), Some(*value));
    }
    lefts
}

const DIRECTORY: &str = "OLIVINE_CRASH_DIRECTORY";

/// The process that gets killed: the same test binary, told by the environment where to write. Its threads commit in
/// groups, each to keys of its own.
#[test]
fn the_process_that_is_killed() {
    let Some(path) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let database = Database::open(path).unwrap();
    define(&database).unwrap();
    // What the test runner has begun to say ends here, or the first try would not begin a line.
    say("\n");
    std::thread::scope(|scope| {
        for thread in 0..WRITERS {
            let database = &database;
            scope.spawn(move || write_until_killed(database, thread));
        }
    });
}

const WRITERS: u64 = 3;

fn write_until_killed(database: &Database, thread: u64) {
    let mut random = Random::new(u64::from(std::process::id()) << 8 | thread);
    let mut indexed = database.statistics().indexes > 2;
    loop {
        let step = Step {
            key: (random.below(120) * WRITERS + thread) as i64,
            value: (!random.one_in(4)).then(|| random.below(1_000_000) as i64),
        };
        let padding = if random.one_in(10) {
            60_000
        } else {
            random.below(200) as usize
        };
        let durability = *random.pick(&[Durability::Sync, Durability::Buffer]);
        let value = step.value.map_or("-".into(), |value| value.to_string());
        say(&format!("try {} {value}\n", step.key));
        while let Err(error) = write(database, step, padding, durability) {
            // An index came or went meanwhile.
            assert!(error.is_conflict(), "{error}");
        }
        say(&format!("ack {} {value}\n", step.key));
        match random.below(60) {
            0 => database.checkpoint().unwrap(),
            2 => {
                let options = olivine::CompactOptions::new();
                let go_on = &mut |_: &_| std::ops::ControlFlow::Continue(());
                database.compact(&options, go_on).unwrap();
            }
            1 if thread == 0 => {
                toggle_indexes(database, indexed);
                indexed = !indexed;
            }
            _ => {}
        }
    }
}

/// Writes whole lines, whichever threads say them.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes()).unwrap();
    output.flush().unwrap();
}

/// Creates the indexes that come and go, or drops them. A kill may have left one of the two.
fn toggle_indexes(database: &Database, indexed: bool) {
    let mut indexes = [
        ("Left", "value", "Left_value"),
        ("Right", "left.value", "Right_left_value"),
    ];
    if indexed {
        indexes.reverse();
    }
    for (class, path, name) in indexes {
        let outcome = if indexed {
            database.transact(|tx| tx.drop_index(name))
        } else {
            database.create_index(class, &IndexDefinition::on(path))
        };
        if let Err(error) = outcome {
            assert!(matches!(error, Error::Schema(_)), "{error}");
        }
    }
}

/// The values a key may have after kills: one after an acknowledgement, more after a try that was cut short.
type Possible = BTreeMap<i64, BTreeSet<Option<i64>>>;

fn spawn(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "crash::the_process_that_is_killed",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIRECTORY, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets the process write for a while, kills it, and takes note of what it had acknowledged; gives their number.
fn write_and_kill(path: &Path, pause: Duration, possible: &mut Possible) -> usize {
    let mut child = spawn(path);
    let output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        BufReader::new(output)
            .lines()
            .map_while(std::io::Result::ok)
            .collect::<Vec<String>>()
    });
    std::thread::sleep(pause);
    child.kill().unwrap();
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.code().is_none(),
        "the writer ended by itself: {errors}"
    );
    let mut acknowledged = 0;
    for line in reader.join().unwrap() {
        let mut words = line.split(' ');
        let (Some(verb @ ("try" | "ack")), Some(key), Some(value)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let (Ok(key), value) = (key.parse::<i64>(), value.parse::<i64>().ok()) else {
            continue;
        };
        let values = possible.entry(key).or_insert_with(|| BTreeSet::from([None]));
        if verb == "ack" {
            acknowledged += 1;
            values.clear();
        }
        values.insert(value);
    }
    acknowledged
}

fn check_after_kill(path: &Path, possible: &mut Possible) {
    let database = Database::open(path).unwrap_or_else(|error| panic!("after a kill: {error}"));
    let found = pairs(&database);
    for (key, values) in possible.iter_mut() {
        let value = found.get(key).copied();
        assert!(
            values.contains(&value),
            "{key} is {value:?} and not one of {values:?}"
        );
        *values = BTreeSet::from([value]);
    }
    assert!(
        found.keys().all(|key| possible.contains_key(key)),
        "something was never written"
    );
}

fn kill_rounds(seed: u64, databases: u64, kills: u64) {
    let mut random = Random::new(seed);
    let mut acknowledged = 0;
    for _ in 0..databases {
        let directory = tempfile::tempdir().unwrap();
        let path: PathBuf = directory.path().join("db");
        let mut possible = Possible::new();
        for _ in 0..kills {
            let pause = if random.one_in(3) {
                random.below(60)
            } else {
                40 + random.below(500)
            };
            acknowledged += write_and_kill(&path, Duration::from_millis(pause), &mut possible);
            // Now and then the next process finds what two kills left.
            if !random.one_in(4) {
                check_after_kill(&path, &mut possible);
            }
        }
        check_after_kill(&path, &mut possible);
    }
    println!("{acknowledged} commits were acknowledged");
    assert!(acknowledged > 0);
}

#[test]
fn no_acknowledged_commit_is_lost_or_halved_by_a_kill() {
    for seed in seeds(1) {
        kill_rounds(seed, 3, 8);
    }
}

#[test]
#[ignore = "takes an hour"]
fn no_acknowledged_commit_is_lost_or_halved_by_thousands_of_kills() {
    for seed in seeds(100) {
        kill_rounds(seed, 2, 20);
    }
}

#[test]
fn indexes_are_replayed_past_commits_that_change_none() {
    let directory = tempfile::tempdir().unwrap();
    let (path, killed) = (directory.path().join("db"), directory.path().join("killed"));
    let database = Database::open(&path).unwrap();
    define(&database).unwrap();
    database.define_class(olivine::Class::new("Plain")).unwrap();
    database.checkpoint().unwrap();
    database
        .transact(|tx| tx.insert_object(olivine::Object::new("Plain")))
        .unwrap();
    let step = Step {
        key: 1,
        value: Some(2),
    };
    write(&database, step, 10, Durability::Sync).unwrap();
    copy(&path, &killed);
    assert_eq!(pairs(&Database::open(&killed).unwrap()), Pairs::from([(1, 2)]));
}

/// A small workload on a faulty disk: commits of all sizes, schema changes, an index over existing objects, a
/// checkpoint, a second segment. Stops at the first failure. Takes note of what was acknowledged; a step that failed
/// may have reached the disk.
#[derive(Debug, Default)]
struct Acknowledged {
    pairs: Pairs,
    /// The step that failed.
    pending: Option<Step>,
    defined: bool,
    closed: bool,
}

fn workload(database: Database, acknowledged: &mut Acknowledged) -> Result<()> {
    define(&database)?;
    acknowledged.defined = true;
    for number in 0..14i64 {
        let step = match number {
            5 | 9 => Step {
                key: number - 4,
                value: None,
            },
            _ => Step {
                key: number % 6,
                value: Some(number * 10),
            },
        };
        let padding = if number % 4 == 3 { 400_000 } else { 50 };
        acknowledged.pending = Some(step);
        write(&database, step, padding, Durability::Sync)?;
        acknowledged.pending = None;
        apply(&mut acknowledged.pairs, step);
        match number {
            4 => database.create_index("Left", &IndexDefinition::on("value"))?,
            6 => database.checkpoint()?,
            8 => database.create_index("Right", &IndexDefinition::on("left.value"))?,
            10 => database.transact(|tx| {
                tx.drop_index("Right_left_value")?;
                tx.drop_index("Left_value")
            })?,
            _ => {}
        }
    }
    database.close()?;
    acknowledged.closed = true;
    Ok(())
}

fn apply(pairs: &mut Pairs, step: Step) {
    match step.value {
        Some(value) => drop(pairs.insert(step.key, value)),
        None => drop(pairs.remove(&step.key)),
    }
}

/// Asserts that `found` is what was acknowledged, with the pending step or without.
fn assert_acknowledged(found: &Pairs, acknowledged: &Acknowledged, place: &str) {
    let mut with_pending = acknowledged.pairs.clone();
    if let Some(step) = acknowledged.pending {
        apply(&mut with_pending, step);
    }
    let sound = *found == acknowledged.pairs || *found == with_pending;
    assert!(sound, "{place}: found {found:?} after {acknowledged:?}");
}

/// The operations of the workload when nothing fails.
fn operations() -> u64 {
    let disk = FaultyDisk::new();
    workload(open_on(&disk).unwrap(), &mut Acknowledged::default()).unwrap();
    disk.operations()
}

#[test]
fn a_power_cut_at_any_operation_loses_nothing_acknowledged() {
    let operations = operations();
    for seed in seeds(1) {
        for operation in 1..=operations {
            let place = format!("power cut at operation {operation} of {operations}");
            let disk = FaultyDisk::new();
            disk.set_fault(Fault::PowerCut(operation));
            let mut acknowledged = Acknowledged::default();
            let outcome = open_on(&disk).and_then(|database| workload(database, &mut acknowledged));
            assert!(outcome.is_err() || acknowledged.closed, "{place}");
            let image = disk.after_power_cut(seed.wrapping_add(operation)).unwrap();
            let database = open_on(&image).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_acknowledged(&pairs(&database), &acknowledged, &place);
            if acknowledged.defined {
                assert!(database.statistics().indexes >= 2, "{place}");
            }
            goes_on(&database, &place);
        }
    }
}

/// Written after everything else.
const LAST: Step = Step {
    key: 77,
    value: Some(7),
};

/// Asserts that the database takes a commit, finds it, and has it after closing and opening.
fn goes_on(database: &Database, place: &str) {
    define(database).unwrap_or_else(|error| panic!("{place}: {error}"));
    write(database, LAST, 10, Durability::Sync).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(pairs(database).get(&77), Some(&7), "{place}");
}

/// Runs the workload with one operation failing; the process lives on, and then opens again. Whether a step failed, and
/// whether writing went on in the same process.
fn fail_at(fault: Fault, place: &str) -> (bool, bool) {
    let disk = FaultyDisk::new();
    disk.set_fault(fault);
    let mut acknowledged = Acknowledged::default();
    let opened = open_on(&disk);
    let Ok(database) = opened else {
        disk.set_fault(Fault::None);
        goes_on(
            &open_on(&disk).unwrap_or_else(|error| panic!("{place}: {error}")),
            place,
        );
        return (true, false);
    };
    let outcome = workload(database.clone(), &mut acknowledged);
    // The last handle is still ours, so closing is refused.
    let failed = !matches!(outcome, Err(Error::Closed(_)));
    note_failure(&outcome, &mut acknowledged);
    // Reading goes on, and shows nothing of what failed.
    assert_eq!(
        pairs(&database),
        acknowledged.pairs,
        "{place}: a failed commit shows"
    );
    let resumed = define(&database).is_ok() && acknowledged.pending.is_none() && {
        acknowledged.pending = Some(LAST);
        let outcome = write(&database, LAST, 10, Durability::Sync);
        note_failure(&outcome, &mut acknowledged);
        outcome.is_ok()
    };
    if resumed {
        acknowledged.pending = None;
        apply(&mut acknowledged.pairs, LAST);
    }
    assert_eq!(
        pairs(&database),
        acknowledged.pairs,
        "{place}: a failed commit shows"
    );
    drop(database);
    disk.set_fault(Fault::None);
    let database = open_on(&disk).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_acknowledged(&pairs(&database), &acknowledged, place);
    goes_on(&database, place);
    (failed, resumed)
}

/// The errors a failed operation may end in. A full disk says that nothing of the step was kept; the others may leave
/// it on the disk.
fn note_failure(outcome: &Result<()>, acknowledged: &mut Acknowledged) {
    match outcome {
        Err(Error::NoSpace { .. }) => acknowledged.pending = None,
        Ok(()) | Err(Error::Closed(_) | Error::Io { .. } | Error::ReadOnly(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_failed_operation_fails_its_commit_whole() {
    let operations = operations();
    let failures = (1..=operations)
        .map(|operation| {
            fail_at(
                Fault::Io(operation),
                &format!("I/O error at operation {operation} of {operations}"),
            )
        })
        .filter(|(failed, _)| *failed);
    assert!(failures.count() > 10);
}

#[test]
fn a_full_disk_fails_its_commit_whole_and_writing_resumes_where_it_can() {
    let operations = operations();
    let outcomes: Vec<(bool, bool)> = (1..=operations)
        .map(|operation| {
            fail_at(
                Fault::NoSpace(operation),
                &format!("full at operation {operation} of {operations}"),
            )
        })
        .collect();
    let resumed = outcomes
        .iter()
        .filter(|(failed, resumed)| *failed && *resumed)
        .count();
    println!("{operations} operations, {resumed} times writing resumed after a failure");
    assert!(resumed > 1);
}

#[test]
fn a_kill_between_any_two_operations_loses_nothing_acknowledged() {
    // A kill keeps what reached the operating system: the live image, as a copying tool sees it.
    let operations = operations();
    for operation in 1..=operations {
        let place = format!("kill at operation {operation} of {operations}");
        let disk = FaultyDisk::new();
        disk.set_fault(Fault::PowerCut(operation));
        let mut acknowledged = Acknowledged::default();
        let outcome = open_on(&disk).and_then(|database| workload(database, &mut acknowledged));
        assert!(outcome.is_err() || acknowledged.closed, "{place}");
        let database = open_on(&disk.copy().unwrap()).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_acknowledged(&pairs(&database), &acknowledged, &place);
        goes_on(&database, &place);
    }
}

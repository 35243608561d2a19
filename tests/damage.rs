//! Damaged files: a flipped byte, a zeroed page, two pages swapped, a file cut short, rubbish at its end. Each time the
//! database opens and answers rightly, or ends in an error that names the place; never in a panic or a wrong value.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use olivine::{Database, Error, Ref, Result};
use serde::{Deserialize, Serialize};

use crate::directory::{contents, copy};
use crate::random::{Random, seeds};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    number: i64,
    text: String,
    next: Option<Ref<Record>>,
}

type Records = BTreeMap<Ref<Record>, Record>;

/// A closed database in `path` with 1,000 records, a unique and an ordered index, superseded versions and deletions.
fn write(path: &Path) -> Records {
    let database = Database::open(path).unwrap();
    database
        .define::<Record>()
        .unwrap()
        .unique("number")
        .unwrap()
        .index("text")
        .unwrap();
    let mut records = Records::new();
    let record = |number: i64, next: Option<Ref<Record>>| Record {
        number,
        text: format!("text {} {}", number % 50, "z".repeat(number as usize % 90)),
        next,
    };
    for batch in 0..10 {
        let mut tx = database.begin().unwrap();
        for number in batch * 100..(batch + 1) * 100 {
            let next = records.keys().next_back().copied();
            let value = record(number, next);
            records.insert(tx.insert(&value).unwrap(), value);
        }
        tx.commit().unwrap();
    }
    let mut tx = database.begin().unwrap();
    for (position, reference) in records.clone().keys().enumerate() {
        if position % 7 == 0 {
            let value = record(position as i64 + 10_000, None);
            tx.update(*reference, &value).unwrap();
            records.insert(*reference, value);
        } else if position % 11 == 0 {
            tx.delete(*reference).unwrap();
            records.remove(reference);
        }
    }
    tx.commit().unwrap();
    database.close().unwrap();
    records
}

/// Reads everything, through the extent, by identifier and through both indexes.
fn read(path: &Path, expected: &Records, seed: u64) -> Result<()> {
    let database = Database::options(path).create(false).open()?;
    let snapshot = database.snapshot();
    let found = snapshot.extent::<Record>()?.collect::<Result<Records>>()?;
    assert!(found == *expected, "the extent is another");
    let mut random = Random::new(seed);
    for reference in (0..20).map(|_| {
        *expected
            .keys()
            .nth(random.below(expected.len() as u64) as usize)
            .unwrap()
    }) {
        let record = snapshot.get(reference)?;
        assert_eq!(record.as_ref(), expected.get(&reference));
        let number = expected[&reference].number;
        let rows = snapshot.query("select r from Record r where r.number = $1", (number,))?;
        let found = rows
            .map(|row| row.map(|row| row.get(0).cloned()))
            .collect::<Result<Vec<_>>>()?;
        assert_eq!(found, [Some(reference.oid().into())]);
    }
    let rows = snapshot.query("select r.number from Record r where r.text >= ''", ())?;
    let count = rows.collect::<Result<Vec<_>>>()?.len();
    assert_eq!(count, expected.len());
    drop(snapshot);
    database.transact(|tx| {
        tx.insert(&Record {
            number: -1,
            text: String::new(),
            next: None,
        })
    })?;
    database.close()
}

/// Damages one file; what was done, for messages.
fn damage(file: &Path, random: &mut Random) -> String {
    let mut bytes = fs::read(file).unwrap();
    let used = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(1, |last| last + 1) as u64;
    let place = random.below(used) as usize;
    let page = place / 4_096 * 4_096;
    let end = (page + 4_096).min(bytes.len());
    let done = match random.below(8) {
        0 => {
            bytes[page..end].fill(0);
            format!("zeroed the page at {page}")
        }
        1 => {
            let other = random.below(used) as usize / 4_096 * 4_096;
            for offset in 0..4_096.min(bytes.len() - page.max(other)) {
                bytes.swap(page + offset, other + offset);
            }
            format!("swapped the pages at {page} and {other}")
        }
        2 => {
            bytes.truncate(place);
            format!("cut at {place}")
        }
        3 => {
            bytes.extend((0..5_000).map(|_| random.below(256) as u8));
            "appended rubbish".into()
        }
        _ => {
            bytes[place] ^= 1 << random.below(8);
            format!("flipped a bit of byte {place}")
        }
    };
    fs::write(file, bytes).unwrap();
    format!("{done} of {}", file.display())
}

/// Damages files chosen by `wanted`, one at a time, and reads; gives how often it was told and how often it did no harm.
fn rounds(seed: u64, count: u64, wanted: impl Fn(&Path) -> bool) -> (u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let sound = directory.path().join("sound");
    let expected = write(&sound);
    let mut random = Random::new(seed);
    let (mut told, mut harmless) = (0, 0);
    let files: Vec<PathBuf> = contents(&sound)
        .into_iter()
        .filter(|(path, bytes)| bytes.as_ref().is_some_and(|bytes| !bytes.is_empty()) && wanted(path))
        .map(|(path, _)| path.strip_prefix(&sound).unwrap().to_path_buf())
        .collect();
    for round in 0..count {
        let path = directory.path().join(format!("damaged {round}"));
        copy(&sound, &path);
        let done = damage(&path.join(random.pick(&files)), &mut random);
        println!("{done}");
        match read(&path, &expected, seed) {
            Ok(()) => harmless += 1,
            Err(Error::Corruption(_) | Error::Format(_) | Error::ReadOnly(_)) => told += 1,
            Err(error) => panic!("{done}: {error} ({error:?})"),
        }
        fs::remove_dir_all(&path).unwrap();
    }
    println!("{told} were told, {harmless} did no harm");
    (told, harmless)
}

#[test]
fn a_damaged_log_is_told_or_read_rightly() {
    for seed in seeds(1) {
        let (told, _) = rounds(seed, 30, |path| {
            path.extension().is_some_and(|extension| extension == "seg")
        });
        assert!(told > 0);
    }
}

#[test]
fn a_damaged_table_is_built_anew_or_told() {
    for seed in seeds(1) {
        rounds(seed, 20, |path| path.ends_with("table/pages"));
    }
}

#[test]
fn damaged_indexes_never_answer_wrongly() {
    for seed in seeds(1) {
        rounds(seed, 30, |path| {
            path.components().any(|part| part.as_os_str() == "index")
        });
    }
}

#[test]
fn damaged_lists_of_index_files_are_mended_by_building_the_indexes_anew() {
    let is_version = |path: &Path| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.strip_prefix('v')
            .is_some_and(|number| number.parse::<u64>().is_ok())
    };
    for seed in seeds(1) {
        rounds(seed, 20, is_version);
    }
}

#[test]
fn a_wild_count_in_a_list_of_index_files_does_not_ask_for_all_memory() {
    let directory = tempfile::tempdir().unwrap();
    let sound = directory.path().join("sound");
    let expected = write(&sound);
    // The counts stand among the last bytes before the table of contents.
    for (file, bytes) in contents(&sound.join("index")) {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(mut bytes) = bytes.filter(|_| name.starts_with('v') && name != "version") else {
            continue;
        };
        let middle = bytes.len().min(70);
        bytes[..middle].iter_mut().skip(1).for_each(|byte| *byte |= 0xf0);
        fs::write(file, bytes).unwrap();
    }
    read(&sound, &expected, 1).unwrap();
}

/// Flips a byte in the middle of every table file of the indexes.
fn damage_tables(path: &Path) {
    let mut damaged = 0;
    for (file, bytes) in contents(&path.join("index")) {
        let Some(mut bytes) = bytes.filter(|_| file.parent().unwrap().ends_with("tables")) else {
            continue;
        };
        for at in (0..bytes.len() / 2).step_by(64) {
            bytes[at] ^= 0x55;
        }
        fs::write(file, bytes).unwrap();
        damaged += 1;
    }
    assert!(damaged > 0);
}

#[test]
fn damage_in_an_index_met_by_a_query_is_mended_without_closing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let expected = write(&path);
    damage_tables(&path);
    let database = Database::open(&path).unwrap();
    let query = || -> Result<usize> {
        let snapshot = database.snapshot();
        let rows = snapshot.query("select r.number from Record r where r.text >= ''", ())?;
        Ok(rows.collect::<Result<Vec<_>>>()?.len())
    };
    let mut told = 0;
    for _ in 0..400 {
        match query() {
            Ok(count) => {
                assert_eq!(count, expected.len());
                break;
            }
            Err(Error::Corruption(damage)) => {
                assert!(damage.to_string().contains("built anew"), "{damage}");
                told += 1;
            }
            // Between the removal of the damaged index and the new one.
            Err(Error::Schema(_)) => {}
            Err(error) => panic!("{error}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(query().unwrap(), expected.len());
    println!("told {told} times");
    // Commits to the other index meet its damage too, and go on.
    for number in 20_000..20_020 {
        let record = Record {
            number,
            text: "new".into(),
            next: None,
        };
        while let Err(error) = database.transact(|tx| tx.insert(&record)) {
            assert!(
                matches!(error, Error::Corruption(_) | Error::Schema(_)),
                "{error}"
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    database.checkpoint().unwrap();
    let report = database.check().unwrap();
    assert!(report.is_clean(), "{report}");
    database.close().unwrap();
    let report = Database::open(&path).unwrap().check().unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_flush_into_a_damaged_index_mends_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    write(&path);
    damage_tables(&path);
    let database = Database::open(&path).unwrap();
    // Deletions read nothing of an index; merging them does.
    let mut session = olivine::Session::new(database.clone());
    session
        .execute("delete from Record r where r.number + 0 > 500", ())
        .unwrap();
    let mut flushed = database.checkpoint();
    for _ in 0..200 {
        if flushed.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        flushed = database.checkpoint();
    }
    flushed.unwrap();
    // The one that no flush has touched is found by the check, mended, and clean.
    let mut report = database.check().unwrap();
    for _ in 0..100 {
        if report.is_clean() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        report = database.check().unwrap();
    }
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_damaged_table_of_contents_of_an_index_file_is_found_before_the_engine_trusts_it() {
    let directory = tempfile::tempdir().unwrap();
    let sound = directory.path().join("sound");
    let expected = write(&sound);
    for (file, bytes) in contents(&sound.join("index")) {
        let Some(mut bytes) = bytes.filter(|_| file.parent().unwrap().ends_with("tables")) else {
            continue;
        };
        // The count of entries stands right behind the mark at the beginning of the contents.
        let start = bytes.len() - 16;
        let start = u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap()) as usize;
        bytes[start + 4..start + 8].fill(0xff);
        fs::write(file, bytes).unwrap();
    }
    read(&sound, &expected, 1).unwrap();
}

#[test]
#[ignore = "takes minutes"]
fn damage_anywhere_is_told_or_does_no_harm() {
    for seed in seeds(50) {
        rounds(seed, 200, |_| true);
    }
}

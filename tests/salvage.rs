//! Salvage: whatever is damaged, everything that can still be read is in the new database, with its identifiers, and
//! everything that cannot is listed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use olivine::{Database, Error, Ref, SalvageReport};
use serde::{Deserialize, Serialize};

use crate::directory::{contents, copy};
use crate::random::Random;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Page {
    number: i64,
    text: String,
    next: Option<Ref<Page>>,
}

type Pages = BTreeMap<Ref<Page>, Page>;

fn page(number: i64, next: Option<Ref<Page>>) -> Page {
    let mut random = Random::new(number as u64);
    let length = 1_500 + random.below(3_000);
    let text = (0..length).map(|_| char::from(33 + random.below(90) as u8));
    Page {
        number,
        text: text.collect(),
        next,
    }
}

/// A closed database of several segments, with updates and deletions.
fn write(path: &Path) -> Pages {
    let database = Database::open(path).unwrap();
    let definition = database.define::<Page>().unwrap();
    definition.unique("number").unwrap();
    let mut pages = Pages::new();
    for batch in 0..30 {
        let mut tx = database.begin().unwrap();
        for number in batch * 40..(batch + 1) * 40 {
            let value = page(number, pages.keys().next_back().copied());
            pages.insert(tx.insert(&value).unwrap(), value);
        }
        tx.commit().unwrap();
    }
    let mut tx = database.begin().unwrap();
    for (position, reference) in pages.clone().keys().enumerate() {
        if position % 9 == 0 {
            let value = page(position as i64 + 10_000, None);
            tx.update(*reference, &value).unwrap();
            pages.insert(*reference, value);
        } else if position % 50 == 7 {
            tx.delete(*reference).unwrap();
            pages.remove(reference);
        }
    }
    tx.commit().unwrap();
    database.close().unwrap();
    pages
}

struct Scene {
    _directory: tempfile::TempDir,
    path: PathBuf,
    pages: Pages,
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let pages = write(&path);
        Scene {
            _directory: directory,
            path,
            pages,
        }
    }

    /// Salvages a damaged copy; gives what is in the new database, and the report. The copy must not be changed.
    fn salvage(&self, name: &str, damage: impl FnOnce(&Path)) -> (Pages, SalvageReport) {
        let damaged = self.path.with_file_name(format!("{name} damaged"));
        let out = self.path.with_file_name(format!("{name} out"));
        copy(&self.path, &damaged);
        damage(&damaged);
        let before = contents(&damaged);
        let report = Database::salvage(&damaged, &out).unwrap();
        assert!(
            contents(&damaged) == before,
            "{name}: the damaged directory was changed"
        );
        let database = Database::options(&out).create(false).open().unwrap();
        let checked = database.check().unwrap();
        assert!(checked.is_clean(), "{name}: {checked}");
        let found: Pages = match database.snapshot().extent::<Page>() {
            Ok(extent) => extent.map(Result::unwrap).collect(),
            Err(_) => Pages::new(),
        };
        assert_eq!(found.len() as u64, report.objects, "{name}");
        (found, report)
    }
}

fn segments(path: &Path) -> Vec<PathBuf> {
    let mut segments: Vec<PathBuf> = fs::read_dir(path.join("heap"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    segments.sort();
    segments
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_whole_database_is_salvaged_whole() {
    let scene = Scene::new();
    let (found, report) = scene.salvage("whole", |_| {});
    assert_eq!(report.losses, [], "{report}");
    assert!(found == scene.pages);
    assert_eq!((report.classes, report.indexes, report.timeline), (1, 1, 2));
    let (found, report) = scene.salvage("no format and no table", |path| {
        fs::remove_file(path.join("FORMAT")).unwrap();
        fs::remove_dir_all(path.join("table")).unwrap();
        fs::remove_dir_all(path.join("index")).unwrap();
    });
    assert!(found == scene.pages, "{report}");
    assert_eq!(report.losses.len(), 2, "{report}");
    let (found, report) = scene.salvage("rubbish in both", |path| {
        fs::write(path.join("FORMAT"), [9; 700]).unwrap();
        change(&path.join("table/pages"), |bytes| bytes[..8192].fill(7));
    });
    assert!(found == scene.pages, "{report}");
}

#[test]
fn objects_of_a_class_that_was_dropped_are_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let (path, salvaged) = (folder.path().join("live.olv"), folder.path().join("salvaged.olv"));
    let database = Database::options(&path).cleaner(false).open().unwrap();
    let mut session = olivine::Session::new(database.clone());
    session
        .execute(
            "create class Kept { n: int }; create class Dropped { n: int }",
            (),
        )
        .unwrap();
    session
        .execute(
            "insert into Kept (n) values (1), (2); insert into Dropped (n) values (3), (4), (5)",
            (),
        )
        .unwrap();
    session.execute("drop class Dropped", ()).unwrap();
    drop(session);
    database.close().unwrap();
    let report = Database::salvage(&path, &salvaged).unwrap();
    assert!(report.losses.is_empty(), "{report}");
    assert_eq!(report.objects, 2);
}

#[test]
fn a_flipped_byte_costs_the_objects_in_its_block_and_no_others() {
    let scene = Scene::new();
    assert!(segments(&scene.path).len() >= 3);
    for (table, name) in [(true, "with table"), (false, "without")] {
        let (found, report) = scene.salvage(name, |path| {
            let middle = &segments(path)[1];
            change(middle, |bytes| bytes[500_000] ^= 1);
            if !table {
                fs::remove_dir_all(path.join("table")).unwrap();
            }
        });
        let lost: Vec<_> = scene
            .pages
            .keys()
            .filter(|page| !found.contains_key(page))
            .collect();
        assert!(
            (1..=3).contains(&lost.len()),
            "{name}: {} lost\n{report}",
            lost.len()
        );
        for (reference, page) in &found {
            assert!(scene.pages.get(reference) == Some(page), "a wrong value");
        }
        let at = report
            .losses
            .iter()
            .filter(|loss| loss.segment == Some(2) && loss.offset.is_some());
        assert!(at.count() > 0, "{report}");
        if table {
            for reference in lost {
                let named = report.losses.iter().any(|loss| loss.oid == Some(reference.oid()));
                assert!(named, "{reference:?} was lost silently: {report}");
            }
        }
        assert!(report.dangling_references > 0);
    }
}

#[test]
fn missing_and_cut_segments_cost_what_was_in_them_and_are_named() {
    let scene = Scene::new();
    for (number, segment) in segments(&scene.path).iter().enumerate() {
        let name = segment.file_name().unwrap();
        let (found, report) = scene.salvage(&format!("missing {number}"), |path| {
            fs::remove_file(path.join("heap").join(name)).unwrap();
        });
        let missing = Some(number as u32 + 1);
        assert!(
            report.losses.iter().any(|loss| loss.segment == missing),
            "{report}"
        );
        for (reference, page) in &found {
            let newest = scene.pages.get(reference) == Some(page);
            let told = report.losses.iter().any(|loss| loss.oid == Some(reference.oid()));
            assert!(newest || told, "an older version without a word");
        }
        // The first segment has the class.
        assert!(number == 0 || found.len() > scene.pages.len() / 4);
        let (cut, report) = scene.salvage(&format!("cut {number}"), |path| {
            change(&path.join("heap").join(name), |bytes| {
                bytes.truncate(bytes.len() / 2)
            });
        });
        // Half of the last segment is what was reserved for more.
        let whole = cut.len() == scene.pages.len();
        assert!(
            cut.len() >= found.len() && (whole || !report.losses.is_empty()),
            "{report}"
        );
        let (_, report) = scene.salvage(&format!("no header {number}"), |path| {
            change(&path.join("heap").join(name), |bytes| bytes[..64].fill(3));
        });
        assert!(
            report.losses.iter().any(|loss| loss.what.contains("header")),
            "{report}"
        );
    }
}

#[test]
fn objects_of_a_lost_class_are_listed_and_an_older_class_stands_in_for_a_lost_newer_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let pages = write(&path);
    {
        let database = Database::open(&path).unwrap();
        let mut session = olivine::Session::new(database.clone());
        session
            .execute("alter class Page add attribute late: int", ())
            .unwrap();
    }
    let scene = Scene {
        path,
        pages,
        _directory: directory,
    };
    // The class is in the first frame of the log; the newer version of it in the last segment.
    let (_, report) = scene.salvage("class", |path| {
        let first = &segments(path)[0];
        change(first, |bytes| bytes[64..4_096].fill(0));
        let last = segments(path).pop().unwrap();
        change(&last, |bytes| bytes[64..].fill(0));
    });
    assert_eq!((report.classes, report.objects), (0, 0), "{report}");
    let listed = report
        .losses
        .iter()
        .filter(|loss| loss.what.contains("class number"));
    assert!(listed.count() > scene.pages.len() / 4, "{report}");
    let (found, report) = scene.salvage("newer class", |path| {
        let last = segments(path).pop().unwrap();
        let length = fs::metadata(&last).unwrap().len() as usize;
        let end = fs::read(&last)
            .unwrap()
            .iter()
            .rposition(|byte| *byte != 0)
            .unwrap();
        change(&last, |bytes| bytes[end.saturating_sub(200)..length].fill(0));
    });
    assert!(found == scene.pages, "{report}");
    assert!(!report.losses.is_empty(), "{report}");
}

#[test]
fn nonsense_is_told_and_nothing_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("letters")).unwrap();
    fs::write(at("letters").join("letter"), "text").unwrap();
    let error = Database::salvage(at("letters"), at("out")).unwrap_err();
    assert!(matches!(error, Error::Format(_)), "{error}");
    assert!(Database::salvage(at("nowhere"), at("out")).is_err());
    assert!(!at("out").exists() && !at("out.salvaging").exists());
    write(&at("db"));
    assert!(matches!(
        Database::salvage(at("db"), at("letters")),
        Err(Error::Argument(_))
    ));
    let open = Database::open(at("db")).unwrap();
    assert!(matches!(
        Database::salvage(at("db"), at("out")),
        Err(Error::Locked { .. })
    ));
    drop(open);
    // Random bytes under the name of a segment.
    let mut random = Random::new(5);
    let noise: Vec<u8> = (0..300_000).map(|_| random.below(256) as u8).collect();
    fs::write(at("db").join("heap/00000099.seg"), noise).unwrap();
    let report = Database::salvage(at("db"), at("out")).unwrap();
    assert!(report.objects > 1_000 && report.losses.iter().any(|loss| loss.segment == Some(99)));
}

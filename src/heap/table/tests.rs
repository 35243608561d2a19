//! The table against a model, against power cuts, against damage, and with threads.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::files::{Disk, Fault, FaultyDisk, MemoryDisk};
use crate::heap::{Location, LogPosition};
use crate::object::{ClassId, MAX_CLASS, MAX_SERIAL, Oid};

use super::mapped::visit;
use super::{Root, Table, TableVersion};

type Model = BTreeMap<Oid, Location>;

/// A small generator of our own: tests must not change with a dependency.
struct Random(u64);

impl Random {
    /// Seeded by the clock, or by `SEED` to repeat a run; prints it.
    fn new(test: &str) -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let given = std::env::var("SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or(now.unwrap().as_nanos() as u64);
        println!("{test}: SEED={seed}");
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Mostly small dense classes, some sparse up to the last serial and class there is.
    fn oid(&mut self) -> Oid {
        let class = match self.below(8) {
            0 => MAX_CLASS - self.below(3) as u32,
            1 => self.below(3000) as u32,
            _ => 64 + self.below(3) as u32,
        };
        let serial = match self.below(6) {
            0 => MAX_SERIAL >> self.below(44),
            1 => self.below(1 << 20),
            _ => self.below(3000),
        };
        Oid::new(ClassId(class), serial.max(1)).unwrap()
    }

    fn location(&mut self) -> Location {
        Location::new(1 + self.below(1000) as u32, self.below(1 << 20) * 8).unwrap()
    }
}

fn oid(class: u32, serial: u64) -> Oid {
    Oid::new(ClassId(class), serial).unwrap()
}

fn location(number: u64) -> Location {
    Location::new(1, number * 8).unwrap()
}

fn at(offset: u32) -> LogPosition {
    LogPosition { segment: 1, offset }
}

fn memory() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

fn scan_all(version: &TableVersion, class: ClassId, limit: usize) -> Vec<(Oid, Location)> {
    let mut found = Vec::new();
    let mut next = 0;
    loop {
        let before = found.len();
        version.scan(class, &mut next, limit, &mut found).unwrap();
        assert!(found.len() <= before + limit);
        if found.len() == before {
            return found;
        }
    }
}

/// The version shows exactly what the model holds.
fn assert_shows(version: &TableVersion, model: &Model) {
    let mut classes: Vec<ClassId> = model.keys().map(|oid| oid.class()).collect();
    classes.dedup();
    assert_eq!(version.classes(), classes);
    for class in classes {
        let expected: Vec<(Oid, Location)> = model
            .iter()
            .filter(|(oid, _)| oid.class() == class)
            .map(|(oid, location)| (*oid, *location))
            .collect();
        assert_eq!(scan_all(version, class, 77), expected);
        assert_eq!(version.last_serial(class), expected.last().unwrap().0.serial());
    }
    for (oid, location) in model {
        assert_eq!(version.get(*oid).unwrap(), Some(*location));
        // Once it was read, its leaf is near, or it is so far out that it never will be.
        for near in [
            version.near(*oid),
            version.near_objects(oid.class()).location(oid.serial()),
        ] {
            assert!(near.is_none_or(|near| near == *location));
        }
    }
}

/// The version shows nothing older than the model, which it once showed.
fn assert_not_older(version: &TableVersion, model: &Model, ages: &HashMap<(Oid, Location), u64>) {
    for (oid, then) in model {
        let now = version.get(*oid).unwrap().expect("it was there");
        assert!(ages[&(*oid, now)] >= ages[&(*oid, *then)], "{oid:?} went back");
    }
}

#[test]
fn random_sets_scans_checkpoints_and_openings_agree_with_a_map() {
    let mut random = Random::new("model");
    let disk = memory();
    let (mut table, root) = Table::open(disk.clone()).unwrap();
    assert_eq!(root, None);
    let mut model = Model::new();
    let mut durable = (Model::new(), None::<Root>);
    let mut old: Vec<(Arc<TableVersion>, Model)> = Vec::new();
    let mut ages = HashMap::new();
    for step in 1..=40_000u64 {
        let (oid, location) = (random.oid(), random.location());
        table.set(oid, location);
        model.insert(oid, location);
        ages.insert((oid, location), step);
        let probe = random.oid();
        assert_eq!(table.get(probe).unwrap(), model.get(&probe).copied());
        match random.below(1500) {
            0 | 1 => {
                table.checkpoint(at(step as u32), &step.to_le_bytes()).unwrap();
                let sequence = durable.1.map_or(1, |root: Root| root.sequence + 1);
                let metadata = step.to_le_bytes().to_vec();
                durable = (
                    model.clone(),
                    Some(Root {
                        position: at(step as u32),
                        metadata,
                        sequence,
                    }),
                );
            }
            2 => old.push((table.version(), model.clone())),
            3 if old.len() > 3 => {
                let (version, then) = old.remove(random.below(old.len() as u64) as usize);
                assert_not_older(&version, &then, &ages);
            }
            4 => {
                old.clear();
                let (opened, root) = Table::open(disk.clone()).unwrap();
                assert_eq!(root, durable.1);
                (table, model) = (opened, durable.0.clone());
                assert_shows(&table.version(), &model);
                table.version().verify().unwrap();
            }
            5 => assert_shows(&table.version(), &model),
            _ => {}
        }
    }
    assert_shows(&table.version(), &model);
}

#[test]
fn what_a_checkpoint_replaced_is_not_written_while_an_old_version_is_held() {
    let (table, _) = Table::open(memory()).unwrap();
    for serial in 1..=50_000 {
        table.set(oid(64, serial), location(serial));
    }
    table.checkpoint(at(1), b"").unwrap();
    let old = table.version();
    table.freeze(at(2), Vec::new());
    for round in 2..20 {
        for serial in (1..=50_000).step_by(100) {
            table.set(oid(64, serial), location(serial + round));
        }
        table.checkpoint(at(round as u32), b"").unwrap();
    }
    let found = scan_all(&old, ClassId(64), 1000);
    assert!(
        found
            .iter()
            .copied()
            .eq((1..=50_000).map(|serial| (oid(64, serial), location(serial))))
    );
}

#[test]
fn the_file_stops_growing_when_nobody_holds_old_versions() {
    let disk = memory();
    let (table, _) = Table::open(disk.clone()).unwrap();
    let mut lengths = Vec::new();
    for round in 1..=30 {
        for serial in 1..=200_000 {
            table.set(oid(64, serial), location(serial + round));
        }
        table.checkpoint(at(round as u32), b"").unwrap();
        lengths.push(disk.open(Path::new("table/pages")).unwrap().len().unwrap());
    }
    assert_eq!(lengths[3], lengths[29], "{lengths:?}");
    assert!(lengths[29] < 3 * 8 * 200_000 + (2 << 20), "{lengths:?}");
}

#[test]
fn memory_of_changes_is_counted_and_given_back_after_a_checkpoint() {
    let (table, _) = Table::open(memory()).unwrap();
    let empty = table.dirty_bytes();
    for serial in 1..=100_000 {
        table.set(oid(64, serial), location(serial));
    }
    assert!(table.dirty_bytes() > 800_000);
    let reader = table.version();
    table.checkpoint(at(1), b"").unwrap();
    assert_eq!(table.dirty_bytes(), empty);
    assert!(table.memory_bytes() > 800_000, "the reader still holds the layer");
    drop(reader);
    assert_eq!(table.memory_bytes(), empty);
}

#[test]
fn the_estimate_of_an_extent_is_exact_at_a_checkpoint_and_grows_with_new_serials() {
    let (table, _) = Table::open(memory()).unwrap();
    for serial in (2..=2000).step_by(2) {
        table.set(oid(64, serial), location(serial));
    }
    assert_eq!(table.version().extent_estimate(ClassId(64)), 1000);
    table.checkpoint(at(1), b"").unwrap();
    assert_eq!(table.version().extent_estimate(ClassId(64)), 1000);
    table.set(oid(64, 2), location(9));
    assert_eq!(table.version().extent_estimate(ClassId(64)), 1000);
    table.set(oid(64, 3000), location(9));
    assert_eq!(table.version().extent_estimate(ClassId(64)), 1002);
    table.checkpoint(at(2), b"").unwrap();
    assert_eq!(table.version().extent_estimate(ClassId(64)), 1001);
    assert_eq!(table.version().extent_estimate(ClassId(65)), 0);
}

#[test]
fn a_class_grows_from_one_leaf_to_the_last_serial() {
    let disk = memory();
    let (table, _) = Table::open(disk.clone()).unwrap();
    let mut model = Model::new();
    for bits in [0, 3, 8, 9, 17, 18, 19, 27, 28, 35, 36, 43] {
        let oid = oid(70, 1 << bits);
        table.set(oid, location(bits));
        model.insert(oid, location(bits));
        table.checkpoint(at(bits as u32), b"").unwrap();
        assert_shows(&table.version(), &model);
    }
    let (table, _) = Table::open(disk).unwrap();
    assert_shows(&table.version(), &model);
    assert_eq!(table.get(oid(70, MAX_SERIAL)).unwrap(), None);
}

#[test]
fn thousands_of_classes_and_much_metadata_fit_a_checkpoint() {
    let disk = memory();
    let (table, _) = Table::open(disk.clone()).unwrap();
    let model: Model = (0..5000)
        .map(|class| (oid(class * 7 + 1, 1), location(u64::from(class))))
        .collect();
    table.set_all(model.iter().map(|(oid, location)| (*oid, *location)));
    let metadata = vec![7; 100_000];
    table.checkpoint(at(5), &metadata).unwrap();
    table.checkpoint(at(6), &metadata).unwrap();
    let (table, root) = Table::open(disk).unwrap();
    assert_eq!(
        root,
        Some(Root {
            position: at(6),
            metadata,
            sequence: 2
        })
    );
    assert_shows(&table.version(), &model);
}

/// Changes in rounds with a checkpoint after each; stops at the first error. The round last known durable.
fn rounds(disk: &FaultyDisk, start: u32, rounds: u32) -> (u32, Result<()>) {
    let opened = Table::open(Arc::new(disk.clone()));
    let mut durable = 0;
    let outcome = opened.and_then(|(table, root)| {
        durable = root.map_or(0, |root| root.position.offset);
        for round in start..start + rounds {
            table.set_all(round_changes(round));
            table.checkpoint(at(round), &round.to_le_bytes())?;
            durable = round;
        }
        Ok(())
    });
    (durable, outcome)
}

fn round_changes(round: u32) -> impl Iterator<Item = (Oid, Location)> {
    let round = u64::from(round);
    let spread = (0..30).map(move |step| oid(64, 1 + (step * 997 + round * 31) % 3000));
    let others = [oid(65, round), oid(66 + round as u32 % 3, 1 << (20 + round))];
    spread.chain(others).map(move |oid| (oid, location(round)))
}

fn model_of(round: u32) -> Model {
    (1..=round).flat_map(round_changes).collect()
}

/// Opens what is on `disk`: it must be the state after some round from `least` to `most`, and go on working.
fn assert_whole(disk: &FaultyDisk, least: u32, most: u32, case: &str) {
    let (table, root) = Table::open(Arc::new(disk.clone())).unwrap_or_else(|error| panic!("{case}: {error}"));
    let round = root.as_ref().map_or(0, |root| root.position.offset);
    assert!(
        (least..=most).contains(&round),
        "{case}: round {round} of {least}..={most}"
    );
    table
        .version()
        .verify()
        .unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_shows(&table.version(), &model_of(round));
    drop(table);
    let (durable, outcome) = rounds(disk, round + 1, 3);
    outcome.unwrap_or_else(|error| panic!("{case}: {error}"));
    let (table, _) = Table::open(Arc::new(disk.clone())).unwrap();
    assert_shows(&table.version(), &model_of(durable));
}

#[test]
fn a_power_cut_at_every_operation_leaves_the_last_durable_checkpoint_or_the_next() {
    const ROUNDS: u32 = 6;
    let mut random = Random::new("power cut");
    let whole = FaultyDisk::new();
    rounds(&whole, 1, ROUNDS).1.unwrap();
    for operation in 1..=whole.operations() {
        let disk = FaultyDisk::new();
        disk.set_fault(Fault::PowerCut(operation));
        let (durable, outcome) = rounds(&disk, 1, ROUNDS);
        outcome.expect_err("the power is off");
        for _ in 0..4 {
            let seed = random.next();
            let after = disk.after_power_cut(seed).unwrap();
            assert_whole(
                &after,
                durable,
                durable + 1,
                &format!("cut at {operation}, image {seed}"),
            );
        }
    }
}

#[test]
fn power_cuts_one_after_the_other_lose_nothing_durable() {
    let mut random = Random::new("power cuts");
    let mut disk = FaultyDisk::new();
    let mut least = 0;
    for cut in 0..60 {
        disk.set_fault(Fault::PowerCut(1 + random.below(60)));
        let (table, root) = match Table::open(Arc::new(disk.clone())) {
            Ok(opened) => opened,
            Err(Error::Io { .. }) => {
                disk = disk.after_power_cut(random.next()).unwrap();
                continue;
            }
            Err(error) => panic!("cut {cut}: {error}"),
        };
        let mut round = root.map_or(0, |root| root.position.offset);
        assert!(
            round == least || round == least + 1,
            "cut {cut}: round {round} after {least}"
        );
        table.version().verify().unwrap();
        assert_shows(&table.version(), &model_of(round));
        least = round;
        while round < 20 {
            round += 1;
            table.set_all(round_changes(round));
            match table.checkpoint(at(round), b"") {
                Ok(()) => least = round,
                Err(_) => break,
            }
        }
        disk = disk.after_power_cut(random.next()).unwrap();
        if least >= 19 {
            (disk, least) = (FaultyDisk::new(), 0);
        }
    }
}

#[test]
fn a_full_disk_fails_one_checkpoint_and_the_next_one_makes_it_good() {
    let whole = FaultyDisk::new();
    rounds(&whole, 1, 4).1.unwrap();
    for operation in 1..=whole.operations() {
        let disk = FaultyDisk::new();
        let (table, _) = Table::open(Arc::new(disk.clone())).unwrap();
        disk.set_fault(Fault::NoSpace(operation));
        let mut lasting = false;
        for round in 1..=4 {
            table.set_all(round_changes(round));
            if table.checkpoint(at(round), b"").is_err() {
                lasting = table.checkpoint(at(round), b"").is_err();
            }
            assert_shows(&table.version(), &model_of(round));
        }
        drop(table);
        let least = if lasting { 0 } else { 4 };
        assert_whole(&disk, least, 4, &format!("full at {operation}"));
    }
}

#[test]
fn after_a_failed_sync_no_checkpoint_is_written_any_more() {
    for sync in 2..=9 {
        let disk = FaultyDisk::new();
        let (table, _) = Table::open(Arc::new(disk.clone())).unwrap();
        disk.set_fault(Fault::FailedSync(sync));
        let failed = (1..=6).find(|round| {
            table.set_all(round_changes(*round));
            table.checkpoint(at(*round), b"").is_err()
        });
        let failed = failed.expect("one sync failed");
        let again = table.checkpoint(at(failed), b"").unwrap_err();
        assert!(matches!(again, Error::ReadOnly(_)), "{again}");
        assert_shows(&table.version(), &model_of(failed));
        drop(table);
        assert_whole(
            &disk.after_power_cut(7).unwrap(),
            failed - 1,
            failed,
            &format!("sync {sync}"),
        );
    }
}

/// The root slots, and every page that the checkpoint of `version` refers to.
fn pages_in_use(version: &TableVersion) -> Vec<u32> {
    let mapped = version.mapped();
    let mut used = vec![0, 1];
    used.extend(mapped.stem());
    for class in mapped.roots() {
        let mut claim = |page| {
            used.push(page);
            true
        };
        visit(
            mapped.pages().unwrap(),
            class.root,
            class.height,
            true,
            &mut claim,
        )
        .unwrap();
    }
    used
}

#[test]
fn a_flipped_bit_in_any_page_is_found() {
    let mut random = Random::new("flipped bits");
    let disk = FaultyDisk::new();
    let (table, _) = Table::open(Arc::new(disk.clone())).unwrap();
    let mut model = Model::new();
    for round in 1..=3u64 {
        for serial in (1..400_000).step_by(1000 + round as usize) {
            table.set(oid(64, serial), location(round));
            model.insert(oid(64, serial), location(round));
        }
        table.checkpoint(at(round as u32), b"some metadata").unwrap();
    }
    let stem = table.version().mapped().stem().to_vec();
    let used = pages_in_use(&table.version());
    drop(table);
    for page in used {
        let damaged = disk.copy().unwrap();
        let covered = match page {
            0 | 1 => 64,
            page if stem.contains(&page) => 8 + 13 + 32,
            _ => 4096,
        };
        let offset = u64::from(page) * 4096 + random.below(covered);
        let file = damaged.open(Path::new("table/pages")).unwrap();
        let mut byte = [0];
        file.read_at(&mut byte, offset).unwrap();
        file.write_at(&[byte[0] ^ (1 << random.below(8))], offset)
            .unwrap();
        let found = Table::open(Arc::new(damaged.clone())).and_then(|(table, root)| {
            let all = table.version().verify();
            for (oid, location) in &model {
                match table.get(*oid) {
                    Ok(found) => assert!(
                        page < 2 || found == Some(*location),
                        "a wrong value from page {page}"
                    ),
                    Err(error) => assert!(matches!(error, Error::Corruption(_)), "{error}"),
                }
            }
            all.map(|()| root)
        });
        match found {
            // A root slot: the older root was torn, or the newer was, and is recognised by what replay it asks for.
            Ok(root) => assert!(page < 2, "damage of page {page} was not found: {root:?}"),
            Err(error) => assert!(error.to_string().contains("page"), "{error}"),
        }
        let rebuilt = Table::rebuild(Arc::new(damaged.clone())).unwrap();
        assert_eq!(rebuilt.version().classes(), []);
        rebuilt.set(oid(1, 1), location(1));
        rebuilt.checkpoint(at(1), b"").unwrap();
        let (_, root) = Table::open(Arc::new(damaged)).unwrap();
        assert_eq!(root.map(|root| root.sequence), Some(1));
    }
}

#[test]
fn an_older_root_counts_only_while_all_its_pages_are_whole() {
    for reused in [false, true] {
        let disk = FaultyDisk::new();
        rounds(&disk, 1, 6).1.unwrap();
        if reused {
            // The seventh checkpoint writes pages that only the fifth had, and gets no further.
            let (table, _) = Table::open(Arc::new(disk.clone())).unwrap();
            table.set_all(round_changes(7));
            disk.set_fault(Fault::FailedSync(1));
            table.checkpoint(at(7), b"").unwrap_err();
            disk.set_fault(Fault::None);
        }
        let slot_of_the_sixth = 4096;
        let file = disk.open(Path::new("table/pages")).unwrap();
        file.write_at(&[0; 4096], slot_of_the_sixth).unwrap();
        match Table::open(Arc::new(disk)) {
            Ok((table, root)) => {
                assert!(!reused);
                assert_eq!(root.map(|root| root.sequence), Some(5));
                assert_shows(&table.version(), &model_of(5));
            }
            Err(error) => assert!(reused && matches!(error, Error::Corruption(_)), "{error}"),
        }
    }
}

#[test]
fn readers_never_go_back_while_a_writer_sets_and_checkpoints_run() {
    const OBJECTS: u64 = 20_000;
    let (table, _) = Table::open(memory()).unwrap();
    table.set_all((1..=OBJECTS).map(|serial| (oid(64, serial), location(1))));
    let stop = AtomicBool::new(false);
    let round = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for reader in 0..3u64 {
            let (table, stop, round) = (&table, &stop, &round);
            scope.spawn(move || {
                let mut random = Random(reader);
                while !stop.load(Ordering::Relaxed) {
                    let least = round.load(Ordering::Acquire);
                    let version = table.version();
                    for _ in 0..500 {
                        let serial = 1 + random.below(OBJECTS);
                        let found = version.get(oid(64, serial)).unwrap().unwrap();
                        assert!(found.offset() / 8 >= least, "serial {serial}");
                    }
                    let mut found = Vec::new();
                    version
                        .scan(ClassId(64), &mut 1, OBJECTS as usize, &mut found)
                        .unwrap();
                    assert_eq!(found.len() as u64, OBJECTS);
                    assert!(found.iter().all(|(_, location)| location.offset() / 8 >= least));
                }
            });
        }
        scope.spawn(|| {
            for offset in 0.. {
                table.checkpoint(at(offset), b"").unwrap();
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for next in 2..40 {
            table.set_all((1..=OBJECTS).map(|serial| (oid(64, serial), location(next))));
            round.store(next, Ordering::Release);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

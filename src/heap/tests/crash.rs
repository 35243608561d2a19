//! Power cuts, failed operations and full disks, at every operation of a workload.
//!
//! The workload is a list of steps made from a seed. A run notes which commits were acknowledged (synced). Whatever
//! happened, what is found afterwards must be the state after some number of commits, in order: no fewer than were
//! acknowledged, no more than were begun.

use super::*;
use crate::files::Fault;

/// What the workload does, one after the other.
enum Step {
    /// Append, sync and apply one group.
    Commit(Vec<Change>),
    /// Append and apply without syncing.
    Buffer(Vec<Change>),
    Checkpoint,
    Reserve,
    /// Close, and open again.
    Reopen,
}

/// A seeded workload: small groups, some of several commits, one commit of several frames, checkpoints, a reopening.
fn workload(seed: u64) -> Vec<Step> {
    let mut random = noise(seed, 4096).into_iter();
    let mut below = |bound: u8| random.next().unwrap() % bound;
    let mut number = 0;
    let mut known = 0u64;
    let mut steps = Vec::new();
    for step in 0..14 {
        let mut group = Vec::new();
        for _ in 0..=below(3) {
            number += 1;
            let mut change = Change::new(number);
            change.deltas = noise(number, 40);
            for _ in 0..=below(4) {
                known += 1;
                change = change.create(known, &noise(seed + known, 20 + usize::from(below(200)) * 10));
            }
            let old = 1 + u64::from(below(u8::try_from(known).unwrap()));
            if change.writes.iter().all(|(serial, ..)| *serial != old) {
                let body = noise(number, 50);
                change = if below(5) == 0 {
                    change.delete(old)
                } else {
                    change.update(old, &body)
                };
            }
            if step == 7 && group.is_empty() {
                for _ in 0..4 {
                    known += 1;
                    change = change.create(known, &noise(known, 300_000));
                }
            }
            group.push(change);
        }
        steps.push(if step % 4 == 3 {
            Step::Buffer(group)
        } else {
            Step::Commit(group)
        });
        match step {
            2 | 8 => steps.push(Step::Checkpoint),
            5 => steps.push(Step::Reopen),
            1 | 10 => steps.push(Step::Reserve),
            _ => {}
        }
    }
    steps
}

/// What a run came to.
#[derive(Default)]
struct Run {
    /// The state after each commit that was begun, from none at all; the number is the index.
    states: Vec<Model>,
    /// The newest commit that was acknowledged.
    acknowledged: u64,
    /// Why it ended early.
    error: Option<Error>,
}

impl Run {
    fn begin(&mut self, group: &[Change]) {
        for change in group {
            let mut next = self.states.last().cloned().unwrap_or_default();
            apply(&mut next, change);
            self.states.push(next);
        }
    }
}

/// Does the steps until one fails.
fn run(disk: &FaultyDisk, steps: &[Step]) -> Run {
    let mut run = Run {
        states: vec![Model::new()],
        ..Run::default()
    };
    let mut heap = match open(disk) {
        Ok((heap, _)) => heap,
        Err(error) => {
            return Run {
                error: Some(error),
                ..run
            };
        }
    };
    for step in steps {
        let done = match step {
            Step::Commit(group) => {
                run.begin(group);
                commit(&heap, group).inspect(|()| run.acknowledged = group.last().unwrap().number)
            }
            Step::Buffer(group) => {
                run.begin(group);
                append(&heap, group).map(|appended| heap.apply(&appended))
            }
            Step::Checkpoint => heap.checkpoint(),
            Step::Reserve => heap.reserve(CLASS, 3).map(drop),
            Step::Reopen => heap.close().and_then(|()| {
                drop(std::mem::replace(&mut heap, in_memory()));
                run.acknowledged = run.states.len() as u64 - 1;
                open(disk).map(|(opened, _)| heap = opened)
            }),
        };
        if let Err(error) = done {
            run.error = Some(error);
            return run;
        }
    }
    run
}

fn in_memory() -> Heap {
    let disk = Arc::new(crate::files::MemoryDisk::new());
    Heap::open(disk, HeapOptions::default()).unwrap().0
}

/// Opens what is left, compares it with the run, writes to it, and opens it once more.
fn check(disk: &FaultyDisk, run: &Run, what: &str) {
    let (heap, recovered) = match open(disk) {
        Ok(opened) => opened,
        Err(error) => panic!("{what}: does not open: {error}"),
    };
    let found = recovered.last_commit.0;
    let begun = run.states.len() as u64 - 1;
    assert!(
        (run.acknowledged..=begun).contains(&found),
        "{what}: commit {found} found, {} acknowledged, {begun} begun",
        run.acknowledged
    );
    for (at, state) in run
        .states
        .iter()
        .enumerate()
        .take(found as usize + 1)
        .rev()
        .step_by(5)
    {
        assert!(
            contents(&heap, at as u64).unwrap() == *state,
            "{what}: state at commit {at} of {found}"
        );
    }
    let mut numbers = Vec::new();
    heap.replay(LogPosition::default(), &mut |commit| {
        numbers.push(commit.number.0);
        assert_eq!(commit.deltas, noise(commit.number.0, 40));
        Ok(())
    })
    .unwrap();
    assert_eq!(numbers, Vec::from_iter(1..=found), "{what}");
    assert_eq!(damages(&heap), [], "{what}");
    let serial = heap.reserve(CLASS, 1).unwrap().start;
    let newest = run.states[found as usize].keys().max().copied().unwrap_or(0);
    assert!(serial > newest, "{what}: serial {serial} was used before");
    let next = Change::new(found + 1).create(serial, b"after the fault");
    commit(&heap, std::slice::from_ref(&next)).unwrap();
    drop(heap);
    let (heap, recovered) = open(disk).unwrap();
    let mut expected = run.states[found as usize].clone();
    apply(&mut expected, &next);
    assert_eq!(recovered.last_commit.0, found + 1);
    assert!(
        contents(&heap, found + 1).unwrap() == expected,
        "{what}: after going on"
    );
}

/// The operations of a workload without faults.
fn operations(steps: &[Step]) -> u64 {
    let disk = FaultyDisk::new();
    disk.set_fault(Fault::None);
    let done = run(&disk, steps);
    assert!(done.error.is_none());
    disk.operations()
}

#[test]
fn a_power_cut_at_every_operation_loses_nothing_acknowledged_and_halves_nothing() {
    for seed in [1, 2] {
        let steps = workload(seed);
        let last = operations(&steps);
        for at in 1..=last {
            let disk = FaultyDisk::new();
            disk.set_fault(Fault::PowerCut(at));
            let run = run(&disk, &steps);
            for luck in 0..3 {
                let after = disk.after_power_cut(at * 100 + luck).unwrap();
                check(
                    &after,
                    &run,
                    &format!("seed {seed}, power cut at {at} of {last}, luck {luck}"),
                );
            }
        }
    }
}

#[test]
fn a_second_power_cut_during_recovery_is_harmless() {
    let steps = workload(3);
    let last = operations(&steps);
    for at in (1..=last).step_by(7) {
        let disk = FaultyDisk::new();
        disk.set_fault(Fault::PowerCut(at));
        let run = run(&disk, &steps);
        let again = disk.after_power_cut(at).unwrap();
        for second in 1.. {
            let disk = again.copy().unwrap();
            disk.set_fault(Fault::PowerCut(second));
            let opened = open(&disk).is_ok();
            let what = format!("power cut at {at} of {last}, then at {second} of the recovery");
            check(&disk.after_power_cut(second).unwrap(), &run, &what);
            if opened {
                break;
            }
        }
    }
}

#[test]
fn an_io_error_at_any_operation_is_an_error_and_nothing_acknowledged_is_lost() {
    for seed in [4, 5] {
        let steps = workload(seed);
        let last = operations(&steps);
        for at in 1..=last {
            let disk = FaultyDisk::new();
            disk.set_fault(Fault::Io(at));
            let run = run(&disk, &steps);
            disk.set_fault(Fault::None);
            let what = format!("seed {seed}, I/O error at {at} of {last}");
            assert!(run.error.is_some(), "{what}: nobody noticed");
            check(&disk.after_power_cut(at).unwrap(), &run, &what);
            check(&disk.copy().unwrap(), &run, &format!("{what}, process killed"));
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_written_any_more_and_reading_goes_on() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    commit(&heap, &[Change::new(1).create(1, b"a")]).unwrap();
    disk.set_fault(Fault::FailedSync(1));
    let appended = append(&heap, &[Change::new(2).update(1, b"b")]).unwrap();
    assert!(matches!(heap.sync(appended.end), Err(Error::Io { .. })));
    disk.set_fault(Fault::None);
    let before = disk.operations();
    for _ in 0..2 {
        assert!(matches!(heap.sync(appended.end), Err(Error::ReadOnly(_))));
        assert!(matches!(
            append(&heap, &[Change::new(3)]),
            Err(Error::ReadOnly(_))
        ));
        assert!(matches!(heap.reserve(CLASS, 1), Err(Error::ReadOnly(_))));
        assert!(matches!(heap.checkpoint(), Err(Error::ReadOnly(_))));
        assert!(matches!(heap.close(), Err(Error::ReadOnly(_))));
    }
    assert_eq!(disk.operations(), before);
    assert_eq!(contents(&heap, 1).unwrap(), Model::from([(1, b"a".to_vec())]));
    let (heap, recovered) = open(&disk.after_power_cut(1).unwrap()).unwrap();
    assert_eq!(recovered.last_commit, CommitNumber(1));
    assert_eq!(contents(&heap, 1).unwrap(), Model::from([(1, b"a".to_vec())]));
}

#[test]
fn a_full_disk_found_while_reserving_fails_one_group_alone() {
    let body = noise(1, 900_000);
    let mut refused = 0;
    for at in 1..12 {
        let disk = FaultyDisk::new();
        let (heap, _) = open(&disk).unwrap();
        commit(&heap, &[Change::new(1).create(1, b"a")]).unwrap();
        disk.set_fault(Fault::NoSpace(at));
        let large = Change::new(2).create(2, &body).create(3, &body).create(4, &body);
        match append(&heap, std::slice::from_ref(&large)) {
            Ok(appended) => heap.apply(&appended),
            Err(Error::NoSpace { .. }) if commit(&heap, &[Change::new(2).create(2, b"small")]).is_ok() => {
                refused += 1;
                assert_eq!(contents(&heap, 2).unwrap().len(), 2);
                commit(
                    &heap,
                    &[Change::new(3).create(3, &body).create(4, &body).create(5, &body)],
                )
                .unwrap();
                assert_eq!(damages(&heap), []);
                heap.close().unwrap();
                drop(heap);
                let (heap, recovered) = open(&disk).unwrap();
                assert!(recovered.clean);
                assert_eq!(contents(&heap, 3).unwrap().len(), 5);
            }
            // The write of a frame cannot really find the disk full; if it does, the log must be closed to writing.
            Err(_) => assert!(matches!(
                append(&heap, &[Change::new(2)]),
                Err(Error::ReadOnly(_))
            )),
        }
    }
    assert!(refused >= 2, "only {refused} operations reserved space");
}

#[test]
fn frames_buffered_and_lost_out_of_order_are_cut_back_to_a_prefix() {
    let mut cut = 0;
    for luck in 0..30 {
        let disk = FaultyDisk::new();
        let mut run = Run {
            states: vec![Model::new()],
            ..Run::default()
        };
        let (heap, _) = open(&disk).unwrap();
        for number in 1..=12 {
            let mut change = Change::new(number).create(number, &noise(number, 400_000));
            change.deltas = noise(number, 40);
            run.begin(std::slice::from_ref(&change));
            let appended = append(&heap, &[change]).unwrap();
            if number == 3 {
                heap.sync(appended.end).unwrap();
                run.acknowledged = 3;
            }
        }
        let timeline = heap.timeline();
        let after = disk.after_power_cut(luck).unwrap();
        let (heap, recovered) = open(&after.copy().unwrap()).unwrap();
        assert_eq!(recovered.cut.is_some(), heap.timeline() > timeline, "luck {luck}");
        cut += u32::from(recovered.cut.is_some());
        check(&after, &run, &format!("luck {luck}"));
    }
    assert!(cut > 5, "only {cut} tails were cut");
}

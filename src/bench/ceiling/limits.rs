//! What the machine does without a database: bare files and memory. Files lie in the page cache, so reads are hot.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::circuit::Extent;
use crate::bench::random::Random;
use crate::error::Result;
use crate::files::{Disk, File, RealDisk};

/// Bytes of one commit of one object with two index entries in the log, about.
const COMMIT_BYTES: usize = 280;
const PIECE: usize = 256 << 10;
const PAGE: usize = 4096;

/// Rates a second; bytes where they are bytes.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes appended in large pieces, without a sync.
    pub append: f64,
    /// Appends of one commit's bytes, without a sync.
    pub appends: f64,
    /// Threads, and commits made durable by all of them together: a leader writes and syncs for all that wait.
    pub synced: Vec<(usize, f64)>,
    /// Reads of 4 KiB at random places.
    pub random: f64,
    /// Bytes read in large pieces, in order.
    pub sequential: f64,
    /// Bytes copied in memory.
    pub copy: f64,
    /// Look-ups of random places of a vector of boxed slices.
    pub vector: f64,
}

/// Measures all of them in `directory`.
pub fn bare_limits(directory: &Path, extent: Extent, seed: u32) -> Result<Limits> {
    let disk = RealDisk::open(directory, false)?;
    let mut random = Random::new(seed);
    let path = Path::new("ceiling.bare");
    let file = disk.create(path, extent.bytes as u64)?;
    let append = append(&*file, extent.bytes)?;
    file.sync()?;
    let sequential = read_in_order(&*file, extent.bytes)?;
    let random_reads = read_at_random(&*file, extent.bytes, &mut random)?;
    disk.remove(path)?;
    let file = disk.create(path, extent.bytes as u64)?;
    let appends = append_small(&*file, extent.bytes.min(64 << 20))?;
    disk.remove(path)?;
    let mut synced = Vec::new();
    for threads in [1, 8, extent.threads] {
        let file = disk.create(path, extent.bytes as u64)?;
        synced.push((threads, synced_groups(file, threads, extent)?));
        disk.remove(path)?;
    }
    Ok(Limits {
        append,
        appends,
        synced,
        random: random_reads,
        sequential,
        copy: copy(extent.bytes),
        vector: vector(extent.bytes, &mut random),
    })
}

/// How often `work` is done in a second, when it was done `times`.
fn rate(times: usize, start: Instant) -> f64 {
    times as f64 / start.elapsed().as_secs_f64().max(1e-9)
}

fn append(file: &dyn File, bytes: usize) -> Result<f64> {
    let piece = vec![7; PIECE];
    let start = Instant::now();
    for number in 0..bytes / PIECE {
        file.write_at(&piece, (number * PIECE) as u64)?;
    }
    Ok(rate(bytes, start))
}

fn append_small(file: &dyn File, bytes: usize) -> Result<f64> {
    let piece = vec![7; COMMIT_BYTES];
    let count = bytes / COMMIT_BYTES;
    let start = Instant::now();
    for number in 0..count {
        file.write_at(&piece, (number * COMMIT_BYTES) as u64)?;
    }
    Ok(rate(count, start))
}

fn read_in_order(file: &dyn File, bytes: usize) -> Result<f64> {
    let mut piece = vec![0; PIECE];
    let start = Instant::now();
    for number in 0..bytes / PIECE {
        file.read_at(&mut piece, (number * PIECE) as u64)?;
        black_box(&piece);
    }
    Ok(rate(bytes, start))
}

fn read_at_random(file: &dyn File, bytes: usize, random: &mut Random) -> Result<f64> {
    let mut page = vec![0; PAGE];
    let pages = bytes / PAGE;
    let start = Instant::now();
    for _ in 0..pages {
        file.read_at(&mut page, (random.position(pages) * PAGE) as u64)?;
        black_box(&page);
    }
    Ok(rate(pages, start))
}

/// Commits of the bare file that wait for their leader.
#[derive(Debug, Default)]
struct Group {
    /// Commits asked for, and those that are durable.
    asked: usize,
    done: usize,
    /// Commits the running leader does not take.
    has_leader: bool,
    failed: bool,
}

fn synced_groups(file: Arc<dyn File>, threads: usize, extent: Extent) -> Result<f64> {
    let (group, changed) = (Mutex::new(Group::default()), Condvar::new());
    let each = extent.syncs.min(extent.bytes / COMMIT_BYTES / threads.max(1));
    let start = Instant::now();
    let ended: Vec<Result<()>> = std::thread::scope(|scope| {
        let commit = || (0..each).try_for_each(|_| commit_bare(&*file, &group, &changed));
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(commit)).collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let rate = rate(each.saturating_mul(threads), start);
    ended.into_iter().collect::<Result<Vec<()>>>()?;
    Ok(rate)
}

/// One durable commit: as a leader for all that wait, or by waiting for one.
fn commit_bare(file: &dyn File, group: &Mutex<Group>, changed: &Condvar) -> Result<()> {
    let mut state = group.lock();
    state.asked += 1;
    let mine = state.asked;
    loop {
        if state.done >= mine || state.failed {
            return Ok(());
        }
        if state.has_leader {
            changed.wait(&mut state);
            continue;
        }
        state.has_leader = true;
        let (from, to) = (state.done, state.asked);
        drop(state);
        let bytes = vec![7; (to - from) * COMMIT_BYTES];
        let written = file
            .write_at(&bytes, (from * COMMIT_BYTES) as u64)
            .and_then(|()| file.sync());
        state = group.lock();
        state.has_leader = false;
        state.done = to;
        state.failed |= written.is_err();
        changed.notify_all();
        written?;
    }
}

fn copy(bytes: usize) -> f64 {
    let from = vec![7u8; bytes];
    let mut to = vec![0u8; bytes];
    let start = Instant::now();
    to.copy_from_slice(black_box(&from));
    black_box(&to);
    rate(bytes, start)
}

fn vector(bytes: usize, random: &mut Random) -> f64 {
    let count = (bytes / COMMIT_BYTES).max(1);
    let items: Vec<Box<[u8]>> = (0..count)
        .map(|number| vec![number as u8; 160].into_boxed_slice())
        .collect();
    let places: Vec<usize> = (0..count).map(|_| random.position(count)).collect();
    let start = Instant::now();
    let firsts = places
        .iter()
        .filter_map(|place| items.get(*place)?.first())
        .map(|first| u64::from(*first));
    black_box(firsts.sum::<u64>());
    rate(count, start)
}

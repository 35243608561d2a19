//! Clocks, and what is made of their readings.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// What one stretch of work took, in seconds.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Taken {
    /// By the wall.
    pub wall: f64,
    /// Processor time of the thread that ran it.
    pub thread: f64,
    /// Processor time of the whole process: with what runs in the background.
    pub process: f64,
}

impl Taken {
    /// The same for one of `operations`.
    pub fn each(self, operations: usize) -> Taken {
        let operations = operations as f64;
        Taken {
            wall: self.wall / operations,
            thread: self.thread / operations,
            process: self.process / operations,
        }
    }
}

/// Runs `work` and says what it took.
pub fn time<R>(work: impl FnOnce() -> R) -> (R, Taken) {
    let (thread, process) = (seconds(ClockId::ThreadCPUTime), seconds(ClockId::ProcessCPUTime));
    let start = Instant::now();
    let result = work();
    let wall = start.elapsed().as_secs_f64();
    let taken = Taken {
        wall,
        thread: seconds(ClockId::ThreadCPUTime) - thread,
        process: seconds(ClockId::ProcessCPUTime) - process,
    };
    (result, taken)
}

/// Processor time this process has used, in seconds.
pub fn processor_time() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The middle one (of an even number the lower of the two); 0 of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or_default()
}

/// The smallest; 0 of none.
pub fn best(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().reduce(f64::min).unwrap_or_default()
}

/// Memory of a process, in bytes, as the kernel counts it.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Memory {
    /// Anonymous and resident: what the process itself has allocated.
    pub anonymous: u64,
    /// The most that ever was resident, mapped files included.
    pub peak_resident: u64,
}

/// The memory of the process `id` now, or `None` once it is gone.
pub fn memory_of(id: u32) -> Option<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        let number: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(number << 10)
    };
    Some(Memory {
        anonymous: field("RssAnon:")?,
        peak_resident: field("VmHWM:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_the_best_the_smallest() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.0);
        assert_eq!(best([3.0, 1.0, 2.0]), 1.0);
        assert_eq!((median([]), best([])), (0.0, 0.0));
    }

    #[test]
    fn memory_of_this_process_is_told_and_of_none_is_not() {
        let memory = memory_of(std::process::id()).unwrap();
        assert!(memory.anonymous > 0 && memory.peak_resident >= memory.anonymous);
        assert!(memory_of(u32::MAX).is_none());
    }
}

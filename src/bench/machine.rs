//! The machine a report was made on, and the memory this process takes.

use std::fs;

/// Memory of this process, bytes; zero where the operating system does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Highest resident memory so far, mapped files included.
    pub peak_resident: u64,
    /// Anonymous memory now: what cannot be dropped and read again.
    pub anonymous: u64,
}

/// The memory of this process.
pub fn memory() -> Memory {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    Memory {
        peak_resident: kibibytes(&status, "VmHWM:"),
        anonymous: kibibytes(&status, "RssAnon:"),
    }
}

/// The machine, for the head of a report.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Threads it runs at once.
    pub cores: usize,
    /// Main memory, bytes; zero where unknown.
    pub memory: u64,
    /// The operating system and its version.
    pub system: String,
}

impl Machine {
    /// This machine.
    pub fn this() -> Machine {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            processor: value(&processors, "model name")
                .unwrap_or(std::env::consts::ARCH)
                .to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: kibibytes(&memory, "MemTotal:"),
            system: format!("{} {}", std::env::consts::OS, release.trim())
                .trim_end()
                .to_owned(),
        }
    }

    /// For reports as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "processor": self.processor,
            "cores": self.cores,
            "memory_bytes": self.memory,
            "system": self.system,
        })
    }
}

/// The number after `label` in a file of the form `Label:   123 kB`, in bytes.
fn kibibytes(text: &str, label: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse::<u64>().ok())
        .map_or(0, |number| number.saturating_mul(1024))
}

/// The value of the first line `label : value`.
fn value<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let (_, value) = text
        .lines()
        .find(|line| line.starts_with(label))?
        .split_once(':')?;
    Some(value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_the_kernels_text() {
        assert_eq!(kibibytes("VmPeak: 5 kB\nVmHWM:\t  12 kB\n", "VmHWM:"), 12 * 1024);
        assert_eq!(kibibytes("", "VmHWM:"), 0);
        assert_eq!(
            value("a : b\nmodel name\t: A Processor\n", "model name"),
            Some("A Processor")
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_takes_memory() {
        let memory = memory();
        assert!(memory.anonymous > 0 && memory.peak_resident >= memory.anonymous / 2);
    }
}

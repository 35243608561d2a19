//! The report of the posting circuit.

use serde_json::{Value, json};

use crate::bench::experiment::Findings;

/// One tenth of the work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tenth {
    pub seconds: f64,
    pub requests: u64,
    pub objects: u64,
    pub bytes: u64,
    pub anonymous: u64,
}

/// What a run of the posting circuit gave.
#[derive(Debug)]
pub struct PostingReport {
    wanted: u64,
    accounts: u32,
    records: u32,
    pub work: u64,
    pub tenths: Vec<Tenth>,
    pub entries: u64,
    pub live: u64,
    pub disk: u64,
    pub peak_anonymous: u64,
    pub peak_resident: u64,
    differences: Vec<String>,
}

/// Differences listed; more are counted as one.
const MOST_DIFFERENCES: usize = 10;

impl PostingReport {
    pub(super) fn new(wanted: u64, accounts: u32, records: u32) -> PostingReport {
        PostingReport {
            wanted,
            accounts,
            records,
            work: 0,
            tenths: Vec::with_capacity(10),
            entries: 0,
            live: 0,
            disk: 0,
            peak_anonymous: 0,
            peak_resident: 0,
            differences: Vec::new(),
        }
    }

    pub(super) fn differ(&mut self, difference: String) {
        if self.differences.len() < MOST_DIFFERENCES {
            self.differences.push(difference);
        }
    }

    /// Objects a second in the last tenth, by those in the first.
    pub fn steadiness(&self) -> f64 {
        let rate = |tenth: &Tenth| tenth.objects as f64 / tenth.seconds.max(1e-9);
        let first = self.tenths.first().map_or(0.0, rate);
        self.tenths.last().map_or(0.0, rate) / first.max(1e-9)
    }

    /// Bytes on the disk by bytes of live objects.
    pub fn expansion(&self) -> f64 {
        self.disk as f64 / (self.live as f64).max(1.0)
    }
}

impl Findings for PostingReport {
    fn table(&self) -> String {
        let mut text = format!(
            "posting: {:.2} GB of work, {} accounts, {} records a request; grows by one entry a record\n\n\
             tenth   requests/s   objects/s      KB/s   anonymous MB\n",
            self.wanted as f64 / 1e9,
            self.accounts,
            self.records
        );
        for (number, tenth) in self.tenths.iter().enumerate() {
            let per_second = |value: u64| value as f64 / tenth.seconds.max(1e-9);
            text.push_str(&format!(
                "{:>5} {:>12.0} {:>11.0} {:>9.0} {:>14.0}\n",
                number + 1,
                per_second(tenth.requests),
                per_second(tenth.objects),
                per_second(tenth.bytes) / 1e3,
                tenth.anonymous as f64 / 1e6
            ));
        }
        text.push_str(&format!(
            "\nlast tenth by first {:.0} %; anonymous at most {:.0} MB, resident at most {:.0} MB\n\
             {} entries; live {:.0} MB, on the disk {:.0} MB: {:.2} times; {}\n",
            self.steadiness() * 100.0,
            self.peak_anonymous as f64 / 1e6,
            self.peak_resident as f64 / 1e6,
            self.entries,
            self.live as f64 / 1e6,
            self.disk as f64 / 1e6,
            self.expansion(),
            if self.differences.is_empty() {
                "verified"
            } else {
                "NOT as posted"
            }
        ));
        text
    }

    fn json(&self) -> Value {
        let tenths = self.tenths.iter().map(|tenth| {
            json!({
                "seconds": tenth.seconds,
                "requests": tenth.requests,
                "objects": tenth.objects,
                "bytes": tenth.bytes,
                "anonymous": tenth.anonymous,
            })
        });
        json!({
            "work": self.work,
            "accounts": self.accounts,
            "records_per_request": self.records,
            "tenths": tenths.collect::<Vec<_>>(),
            "steadiness": self.steadiness(),
            "entries": self.entries,
            "live_bytes": self.live,
            "disk_bytes": self.disk,
            "expansion": self.expansion(),
            "peak_anonymous": self.peak_anonymous,
            "peak_resident": self.peak_resident,
        })
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }
}

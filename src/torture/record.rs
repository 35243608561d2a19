//! What a worker said, kept outside the database: for each key the values it may have.

use std::collections::{BTreeMap, BTreeSet};

/// A value of a key; `None` where there is no pair.
pub(super) type Held = Option<i64>;

/// One value after an acknowledgement, more after a try that was cut short.
#[derive(Debug, Default)]
pub(super) struct Record {
    possible: BTreeMap<i64, BTreeSet<Held>>,
    /// Commits that were acknowledged.
    pub(super) acknowledged: u64,
}

impl Record {
    /// Takes in one line of a worker: `try`, `ack` or `also`, `KEY VALUE`, `-` for none. Others, and a last line that was
    /// cut short, are passed over.
    pub(super) fn hear(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (verb, key, value, end) = (words.next(), words.next(), words.next(), words.next());
        let (Some(verb), Some(key), Some(value), Some(".")) = (verb, key, value, end) else {
            return;
        };
        let Ok(key) = key.parse::<i64>() else { return };
        let value = value.parse::<i64>().ok();
        let values = self.possible.entry(key).or_insert_with(|| BTreeSet::from([None]));
        match verb {
            "try" => drop(values.insert(value)),
            // Acknowledged together with others.
            "also" => *values = BTreeSet::from([value]),
            "ack" => {
                self.acknowledged = self.acknowledged.saturating_add(1);
                *values = BTreeSet::from([value]);
            }
            _ => {}
        }
    }

    /// Compares what was found after a worker has ended; what was found counts from then on.
    pub(super) fn compare(&mut self, found: &BTreeMap<i64, i64>) -> Result<(), String> {
        for (key, values) in &mut self.possible {
            let value = found.get(key).copied();
            if !values.contains(&value) {
                return Err(format!(
                    "the key {key} has {value:?}, which is not one of what was acknowledged or tried last: {values:?}"
                ));
            }
            *values = BTreeSet::from([value]);
        }
        match found.keys().find(|key| !self.possible.contains_key(key)) {
            Some(key) => Err(format!("the key {key} was never written")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_knows_what_may_be_there() {
        let mut record = Record::default();
        for line in [
            "try 1 10 .",
            "ack 1 10 .",
            "try 1 11 .",
            "try 2 - .",
            "rubbish",
            "ack 1",
        ] {
            record.hear(line);
        }
        assert_eq!(record.acknowledged, 1);
        assert!(record.compare(&BTreeMap::from([(1, 9)])).is_err());
        assert!(record.compare(&BTreeMap::from([(1, 10), (3, 1)])).is_err());
        record.hear("try 1 11 .");
        assert!(record.compare(&BTreeMap::from([(1, 11)])).is_ok());
        assert!(record.compare(&BTreeMap::from([(1, 10)])).is_err());
    }
}

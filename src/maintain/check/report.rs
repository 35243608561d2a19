//! What a check has seen and found.

use std::fmt;

/// Something wrong with stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where: file and offset, object, or index.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// What a check has seen and found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Objects read and decoded.
    pub objects: u64,
    /// Versions and log records that table and log were compared over.
    pub versions: u64,
    /// References followed.
    pub references: u64,
    /// Index entries compared with the objects.
    pub index_entries: u64,
    /// What was found wrong; empty where all is well. At most [`CheckReport::MOST_LISTED`].
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub findings_not_listed: u64,
    /// References to objects that are gone. They are allowed (a deletion leaves them unless the attribute says
    /// otherwise), so they are no findings.
    pub dangling_references: u64,
    /// The first of them, at most [`CheckReport::MOST_LISTED`]: referrer and attribute, and the target.
    pub dangling: Vec<Finding>,
}

impl CheckReport {
    /// How many findings, and how many dangling references, are listed at most.
    pub const MOST_LISTED: usize = 10_000;

    /// Whether nothing wrong was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn find(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.findings.len() >= Self::MOST_LISTED {
            self.findings_not_listed = self.findings_not_listed.saturating_add(1);
            return;
        }
        self.findings.push(Finding {
            place: place.into(),
            what: what.into(),
        });
    }

    pub(super) fn dangles(&mut self, place: String, what: String) {
        self.dangling_references = self.dangling_references.saturating_add(1);
        if self.dangling.len() < Self::MOST_LISTED {
            self.dangling.push(Finding { place, what });
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in self.findings.iter().chain(&self.dangling) {
            writeln!(f, "{finding}")?;
        }
        let found = (self.findings.len() as u64).saturating_add(self.findings_not_listed);
        let outcome = match found {
            0 => "all is well".to_string(),
            1 => "1 finding".to_string(),
            more => format!("{more} findings"),
        };
        let dangling = match self.dangling_references {
            0 => String::new(),
            1 => "; 1 dangling reference".to_string(),
            more => format!("; {more} dangling references"),
        };
        write!(
            f,
            "{} objects, {} versions, {} references and {} index entries checked: {outcome}{dangling}",
            self.objects, self.versions, self.references, self.index_entries
        )
    }
}

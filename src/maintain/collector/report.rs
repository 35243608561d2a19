//! What collecting has found and done.

use std::fmt;
use std::sync::Arc;

use crate::object::Oid;

/// What collecting has done, or, as a dry run, would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectReport {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Whether it was stopped before its end; what was deleted until then stays deleted.
    pub interrupted: bool,
    /// Objects read while looking for what is reachable.
    pub objects_read: u64,
    /// Objects found unreachable.
    pub garbage: u64,
    /// Those of them that were deleted.
    pub deleted: u64,
    /// Those of them that someone wrote or referred to meanwhile, or that such ones reach, and that so stay.
    pub spared: u64,
    /// The dependent classes, in the order they were created.
    pub classes: Vec<ClassGarbage>,
    /// What keeps the rest alive: named roots first, then classes.
    pub roots: Vec<RootReach>,
}

/// What was found of one dependent class.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassGarbage {
    /// Its name.
    pub class: Arc<str>,
    /// Its objects, without those of classes below it.
    pub objects: u64,
    /// Those written since the search began, which so stay.
    pub young: u64,
    /// Those that nothing reaches.
    pub garbage: u64,
    /// The first few of these.
    pub samples: Vec<Oid>,
}

/// What one root keeps alive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootReach {
    /// `name n` for a named root, else the name of a class that is not dependent.
    pub root: Arc<str>,
    /// Objects of dependent classes that were reached from it and from no root before it.
    pub reached: u64,
}

impl fmt::Display for CollectReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.classes.is_empty() && !self.interrupted {
            return f.write_str("no class is dependent, so there is nothing to collect");
        }
        match self.dry_run {
            true => write!(
                f,
                "{} of {} objects of dependent classes would be deleted",
                self.garbage,
                self.objects()
            )?,
            false => write!(
                f,
                "{} of {} objects of dependent classes deleted",
                self.deleted,
                self.objects()
            )?,
        }
        if self.spared > 0 {
            write!(f, ", {} spared because they came into use meanwhile", self.spared)?;
        }
        if self.interrupted {
            f.write_str("; interrupted, run it again to go on")?;
        }
        Ok(())
    }
}

impl CollectReport {
    /// Objects of all dependent classes.
    pub fn objects(&self) -> u64 {
        self.classes.iter().map(|class| class.objects).sum()
    }
}

//! Checking every byte of every file.

use std::path::Path;

use super::cut::{last_nonzero, survey_sound};
use super::format::verify_format;
use super::object_heap::Damage;
use super::position::LogPosition;
use super::scan::Window;
use super::segment::{Found, HEAP_DIRECTORY, Segment, segment_number, segment_path};
use super::segments::SegmentDirectory;
use super::table::TableVersion;
use crate::error::{Error, Result};
use crate::files::Disk;

/// What to check.
pub(super) struct Verify<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) database: [u8; 16],
    pub(super) segments: &'a SegmentDirectory,
    pub(super) table: &'a TableVersion,
    /// The end of the log when the check began.
    pub(super) end: LogPosition,
}

impl Verify<'_> {
    /// Reports each damaged place, and goes on.
    pub(super) fn run(&self, report: &mut dyn FnMut(Damage)) -> Result<()> {
        if let Some(what) = verify_format(self.disk)? {
            report(Damage {
                place: "FORMAT".into(),
                what,
            });
        }
        let names = self.disk.list(Path::new(HEAP_DIRECTORY))?;
        let mut present: Vec<u32> = names.iter().filter_map(|name| segment_number(name)).collect();
        present.sort_unstable();
        for segment in self.segments.from(0) {
            let number = segment.number;
            if number > self.end.segment {
                break;
            }
            if present.binary_search(&number).is_err() {
                report(damage(number, "the segment file is missing"));
                continue;
            }
            if let Err(error) = self.segment(number, report) {
                report(described(error, number));
            }
        }
        if let Err(error) = self.table.verify() {
            report(described(error, 0));
        }
        Ok(())
    }

    fn segment(&self, number: u32, report: &mut dyn FnMut(Damage)) -> Result<()> {
        match Segment::open(self.disk, number, self.database)? {
            Found::Blank => report(damage(number, "the header of the segment is damaged")),
            Found::Sealed(segment) => {
                let length = segment.file.len()?;
                if segment.bytes_with_footer() != length {
                    report(damage(
                        number,
                        "there are bytes between the frames and the footer",
                    ));
                }
                segment.verify_blocks(&mut |error| report(described(error, number)));
                self.frames(&segment, segment.end(), report)?;
            }
            Found::Open(segment) if number == self.end.segment => {
                self.frames(&segment, self.end.offset, report)?;
                self.slack(&segment, report)?;
            }
            Found::Open(_) => {
                report(damage(
                    number,
                    "the footer of the segment is damaged, or the file was cut short",
                ));
            }
        }
        Ok(())
    }

    fn frames(&self, segment: &Segment, end: u32, report: &mut dyn FnMut(Damage)) -> Result<()> {
        let found = survey_sound(segment, end)?;
        if found.end != end {
            report(Damage {
                place: format!("segment {} offset {}", segment.number, found.end),
                what: "the frame here is damaged".into(),
            });
        }
        Ok(())
    }

    /// What is reserved after the end of the log must be empty. The log may have grown since the check began.
    fn slack(&self, segment: &Segment, report: &mut dyn FnMut(Damage)) -> Result<()> {
        let live = self.segments.get(segment.number);
        let Some(end) = live.map(|live| live.end()).filter(|end| *end == self.end.offset) else {
            return Ok(());
        };
        let last = last_nonzero(&mut Window::default(), segment, end, segment.end())?;
        let grown = live.is_some_and(|live| live.end() != end);
        if last > end && !grown {
            report(Damage {
                place: format!("segment {} offset {}", segment.number, last - 1),
                what: "there are bytes after the end of the log".into(),
            });
        }
        Ok(())
    }
}

fn damage(segment: u32, what: &str) -> Damage {
    Damage {
        place: segment_path(segment).display().to_string(),
        what: what.into(),
    }
}

fn described(error: Error, segment: u32) -> Damage {
    match error {
        Error::Corruption(found) => Damage {
            place: found.place.clone(),
            what: found.what.clone(),
        },
        other => damage(segment, &other.to_string()),
    }
}

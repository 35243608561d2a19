//! A commit that is written in parts, while every other committer waits.

use std::sync::Arc;

use super::footprint::Footprint;
use super::pipeline::{Pause, Pipeline, now};
use super::recent::Mark;
use crate::catalog::IndexId;
use crate::error::{Error, Result};
use crate::heap::{BulkCommit, RecordEntry};
use crate::object::{CommitNumber, Oid};
use crate::read::Reader;
use crate::view::View;

/// A commit that is being written in parts. What becomes of it is decided by [`Bulk::seal`] and [`Bulk::publish`], or by
/// dropping it, which leaves nothing of it.
#[derive(Debug)]
pub struct Bulk<'a> {
    pause: Pause<'a>,
    number: CommitNumber,
    time: i64,
    label: Option<Arc<str>>,
    /// `None` once it is applied or withdrawn.
    commit: Option<BulkCommit>,
    /// Whether it exists: its last part was written, perhaps.
    sealed: bool,
}

impl Pipeline {
    /// Begins a commit that is written in parts. Other committers wait until it is dropped; a commit of the same thread is
    /// refused, since it would wait for itself.
    pub fn begin_bulk(&self, label: Option<Arc<str>>) -> Result<Bulk<'_>> {
        self.check_bulk()?;
        let pause = self.pause();
        if let Some(reason) = self.failed.lock().clone() {
            return Err(Error::ReadOnly(reason));
        }
        let accepted = self.accepted.lock();
        let number = CommitNumber(accepted.last.0.saturating_add(1));
        let time = now().max(accepted.time);
        drop(accepted);
        let commit = self.heap.begin_bulk(number, time, label.clone())?;
        *self.bulk.lock() = Some(std::thread::current().id());
        Ok(Bulk {
            pause,
            number,
            time,
            label,
            commit: Some(commit),
            sealed: false,
        })
    }

    /// Refuses what a thread that is writing a bulk commit would wait for without end.
    pub fn check_bulk(&self) -> Result<()> {
        match *self.bulk.lock() {
            Some(loading) if loading == std::thread::current().id() => Err(Error::Argument(
                "a commit or compaction from within a bulk load would wait for the load to end; do it before or after, and write \
                 with the loader"
                    .into(),
            )),
            _ => Ok(()),
        }
    }
}

impl Bulk<'_> {
    /// Its number.
    pub fn number(&self) -> CommitNumber {
        self.number
    }

    /// The pause, for commits that follow it.
    pub fn pause(&self) -> &Pause<'_> {
        &self.pause
    }

    /// The state below it.
    pub fn view(&self) -> Arc<View> {
        self.pause.pipeline.view()
    }

    /// Writes a part.
    pub fn append(&mut self, records: &[RecordEntry<'_>]) -> Result<()> {
        match &mut self.commit {
            Some(commit) => self.pause.pipeline.heap.append_bulk(commit, records, false),
            None => Ok(()),
        }
    }

    /// Writes the last part and makes all of it durable: from here on it exists, whatever happens.
    pub fn seal(&mut self, records: &[RecordEntry<'_>]) -> Result<()> {
        let heap = &self.pause.pipeline.heap;
        let Some(commit) = &mut self.commit else {
            return Ok(());
        };
        heap.append_bulk(commit, records, true)?;
        self.sealed = true;
        heap.sync(heap.end())
    }

    /// Makes a sealed commit visible. `runs` are the objects it made, ascending; `indexes` what it changed beside them.
    pub fn publish(&mut self, runs: Vec<(Oid, u32)>, indexes: Vec<IndexId>) -> Result<()> {
        let Some(commit) = self.commit.take() else {
            return Ok(());
        };
        let pipeline = self.pause.pipeline;
        if let Err(error) = pipeline.heap.apply_bulk(commit) {
            pipeline.fail(&error);
            return Err(error);
        }
        self.accept(Footprint::of_new(runs, indexes));
        self.publish_number();
        Ok(())
    }

    fn accept(&self, footprint: Footprint) {
        let pipeline = self.pause.pipeline;
        let mut accepted = pipeline.accepted.lock();
        accepted.last = self.number;
        accepted.time = self.time;
        let mark = Mark {
            time: self.time,
            label: self.label.clone(),
        };
        let mut recent = pipeline.recent.write();
        recent.push(self.number, mark, Arc::new(footprint));
    }

    fn publish_number(&self) {
        let pipeline = self.pause.pipeline;
        let _sync = pipeline.sync.lock();
        let mut published = pipeline.published.write();
        let before = published.clone();
        *published = Arc::new(View::new(
            self.number,
            self.time,
            before.catalog().clone(),
            pipeline.heap.view(),
            pipeline.indexes.capture(self.number),
            before.secret(),
        ));
    }

    /// Leaves nothing of what was written.
    fn withdraw(&mut self) {
        let Some(commit) = self.commit.take() else { return };
        let pipeline = self.pause.pipeline;
        if self.sealed {
            pipeline.fail(&Error::ReadOnly(
                "a bulk load was made durable and could not be finished".into(),
            ));
            return;
        }
        match pipeline.heap.withdraw_bulk(commit) {
            Ok(true) => {
                self.accept(Footprint::default());
                self.publish_number();
            }
            Ok(false) => {}
            Err(error) => pipeline.fail(&error),
        }
    }
}

impl Drop for Bulk<'_> {
    fn drop(&mut self) {
        self.withdraw();
        *self.pause.pipeline.bulk.lock() = None;
    }
}

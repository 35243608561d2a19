//! States of the past: views at older commits.
//!
//! The versions an older state needs are found through the chains of previous versions, as far as they are kept. Indexes
//! know only newer states, so the catalog of an older view says that there are none, and queries scan.

use std::sync::Arc;

use super::open::load_catalog;
use super::opened::Instance;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Timestamp};
use crate::read::Reader;
use crate::view::View;

impl Instance {
    /// The state after `commit`.
    ///
    /// # Errors
    /// [`Error::Expired`] where its versions are no longer kept, or there is no such commit yet.
    pub fn view_at(&self, commit: CommitNumber) -> Result<Arc<View>> {
        let newest = self.pipeline.view();
        if commit == newest.commit() {
            return Ok(newest);
        }
        if commit > newest.commit() {
            return Err(Error::Expired(format!(
                "there is no commit {commit} yet; the newest is {}",
                newest.commit()
            )));
        }
        let heap = self.heap.view_at(commit)?;
        let time = self.heap.time_of(commit)?;
        let catalog = without_indexes(load_catalog(&heap, commit)?);
        let indexes = self.indexes.capture(newest.commit());
        Ok(Arc::new(View::new(
            commit,
            time,
            Arc::new(catalog),
            heap,
            indexes,
            newest.secret(),
        )))
    }

    /// The newest commit made at or before `time`.
    ///
    /// # Errors
    /// [`Error::Expired`] where all that is known of the past is newer.
    pub fn commit_at(&self, time: Timestamp) -> Result<CommitNumber> {
        let newest = self.pipeline.view();
        if newest.time() <= time.0 {
            return Ok(newest.commit());
        }
        self.heap.commit_at(time.0)
    }
}

/// The catalog for a state that no index knows.
fn without_indexes(mut catalog: Catalog) -> Catalog {
    for index in catalog.indexes.values_mut() {
        Arc::make_mut(index).ready = false;
    }
    catalog
}

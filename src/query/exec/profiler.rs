//! `profile`: which operator rows, reads, memory and time belong to.
//!
//! Every operator of a profiled run lies in a [`Measured`], which says when it is entered and left. Whatever is counted
//! meanwhile is counted for the innermost one; so are expressions, and subqueries have operators of their own.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::batch::Batch;
use super::context::Run;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::query::plan::{Measures, NodeId, Profile};

/// Where a profiled run leaves what it measured when it ends.
pub type Sink = Arc<Mutex<Profile>>;

/// What has been measured so far.
#[derive(Debug)]
pub struct Profiler {
    sink: Sink,
    begun: Instant,
    since: Instant,
    current: NodeId,
    nodes: FxHashMap<NodeId, Node>,
}

/// What is known of a node, and the bytes it holds now.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    measures: Measures,
    held: u64,
}

impl Profiler {
    /// A profiler that has measured nothing.
    pub fn new(sink: Sink) -> Profiler {
        let now = Instant::now();
        Profiler {
            sink,
            begun: now,
            since: now,
            current: NodeId::OUTSIDE,
            nodes: FxHashMap::default(),
        }
    }

    /// What is measured goes to `node` from now on; the node it went to before is returned.
    pub fn enter(&mut self, node: NodeId) -> NodeId {
        let now = Instant::now();
        let slice = now.saturating_duration_since(self.since);
        self.change(|measures| measures.time = measures.time.saturating_add(slice));
        self.since = now;
        std::mem::replace(&mut self.current, node)
    }

    /// Counts something for the node that is entered.
    pub fn change(&mut self, change: impl FnOnce(&mut Measures)) {
        change(&mut self.nodes.entry(self.current).or_default().measures);
    }

    /// Counts bytes that the node holds from now on.
    pub fn hold(&mut self, bytes: usize) {
        let node = self.nodes.entry(self.current).or_default();
        node.held = node.held.saturating_add(bytes as u64);
        node.measures.peak_memory = node.measures.peak_memory.max(node.held);
    }

    /// Counts bytes that the node gives back.
    pub fn release(&mut self, bytes: usize) {
        let node = self.nodes.entry(self.current).or_default();
        node.held = node.held.saturating_sub(bytes as u64);
    }

    /// Leaves what was measured, and the sums of the run, to whoever asked for the profile.
    pub fn finish(&mut self, total: Measures) {
        self.enter(NodeId::OUTSIDE);
        let mut profile = self.sink.lock();
        for (id, node) in &self.nodes {
            let kept = profile.nodes.entry(*id).or_default();
            *kept = sum(kept, &node.measures);
        }
        let total = Measures {
            time: self.begun.elapsed(),
            ..total
        };
        profile.total = sum(&profile.total, &total);
    }
}

fn sum(a: &Measures, b: &Measures) -> Measures {
    Measures {
        rows: a.rows.saturating_add(b.rows),
        objects: a.objects.saturating_add(b.objects),
        bytes: a.bytes.saturating_add(b.bytes),
        index_entries: a.index_entries.saturating_add(b.index_entries),
        spilled: a.spilled.saturating_add(b.spilled),
        peak_memory: a.peak_memory.max(b.peak_memory),
        time: a.time.saturating_add(b.time),
    }
}

/// An operator of a profiled run.
pub struct Measured<'a> {
    /// The node it is of.
    pub node: NodeId,
    /// The operator.
    pub operator: Boxed<'a>,
}

impl<'a> Operator<'a> for Measured<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let before = run.context.enter(self.node);
        let more = self.operator.next(run, output);
        if let Ok(true) = more {
            run.context.count_rows_of_node(output.len());
        }
        run.context.enter(before);
        more
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        let before = run.context.enter(self.node);
        self.operator.rewind(run);
        run.context.enter(before);
    }
}

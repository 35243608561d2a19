//! The pipeline: a queue, a leader for each group, and the two locks that keep groups in order.

use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use super::accepted::Accepted;
use super::footprint::Footprint;
use super::read_check::ReadCheck;
use super::recent::{Mark, Recent};
use super::request::{Durability, Request};
use super::turn::{ExclusiveTurn, Turn};
use super::validate::{State, names_roots};
use crate::catalog::{Catalog, Index, IndexId, IndexKind, SystemClass};
use crate::error::{Error, Result};
use crate::heap::{Appended, CommitEntry, Heap, LogPosition, RecordEntry};
use crate::index::{IndexChange, IndexStore};
use crate::object::{CommitNumber, Oid};
use crate::read::Reader;
use crate::view::View;
use crate::write_set::Write;

/// Orders all commits of a database.
#[derive(Debug)]
pub struct Pipeline {
    pub(super) heap: Arc<Heap>,
    pub(super) indexes: Arc<IndexStore>,
    queue: Mutex<Queue>,
    /// Held while a group is validated, numbered and written.
    append: Mutex<()>,
    /// Held while a group is synced, applied and published; taken before the append lock is released.
    pub(super) sync: Mutex<()>,
    pub(super) accepted: Mutex<Accepted>,
    /// What accepted and recent commits changed; written by leaders only, a commit at a time.
    pub(super) recent: RwLock<Recent>,
    /// The newest published view.
    pub(super) published: RwLock<Arc<View>>,
    turn: Turn,
    /// The thread that is writing a bulk commit.
    pub(super) bulk: Mutex<Option<ThreadId>>,
    /// Why nothing can be committed any more.
    pub(super) failed: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Arc<Ticket>>,
    /// Whether a leader waits for the append lock, and will take what is queued.
    has_leader: bool,
}

/// A request in the queue, and where its committer waits for the outcome.
#[derive(Debug)]
struct Ticket {
    request: Arc<Request>,
    footprint: Arc<Footprint>,
    /// Through which commit what it read is known to hold.
    checked: CommitNumber,
    outcome: Mutex<Option<Result<CommitNumber>>>,
    decided: Condvar,
}

/// A group that was validated and written.
#[derive(Debug)]
struct Group {
    members: Vec<Member>,
    appended: Appended,
    /// Where its first frame begins.
    start: LogPosition,
    time: i64,
}

/// A request of a group that was accepted.
#[derive(Debug)]
struct Member {
    ticket: Arc<Ticket>,
    /// What is committed: what was asked for, or what it was merged to.
    request: Arc<Request>,
    number: CommitNumber,
}

/// What one request of a group looks like in the log.
struct Encoded<'a> {
    number: CommitNumber,
    records: Vec<RecordEntry<'a>>,
    deltas: &'a [u8],
    label: Option<&'a str>,
}

impl Pipeline {
    /// A pipeline over an opened heap and its indexes, with the recovered state as the first published view. What
    /// recent commits changed is remembered in at most `memory` bytes.
    pub fn new(heap: Arc<Heap>, indexes: Arc<IndexStore>, recovered: View, memory: usize) -> Self {
        let accepted = Accepted::new(&recovered);
        Pipeline {
            heap,
            indexes,
            queue: Mutex::default(),
            append: Mutex::new(()),
            sync: Mutex::new(()),
            recent: RwLock::new(Recent::new(recovered.commit(), memory)),
            accepted: Mutex::new(accepted),
            published: RwLock::new(Arc::new(recovered)),
            turn: Turn::default(),
            bulk: Mutex::new(None),
            failed: Mutex::new(None),
        }
    }

    /// The newest published view.
    pub fn view(&self) -> Arc<View> {
        self.published.read().clone()
    }

    /// Commits a request. When it returns a number, every later view shows the commit, and it is as durable as it
    /// asked for; when it returns an error, nothing of it will ever be seen.
    pub fn commit(&self, request: Request) -> Result<CommitNumber> {
        self.check_bulk()?;
        self.turn.pass();
        let ticket = Arc::new(self.ticket(request)?);
        if self.enqueue(ticket.clone()) {
            self.lead();
        }
        ticket.wait()
    }

    /// What the committing thread does itself: it works out the footprint, and compares what was read with all that is
    /// published, so that a leader need only look at what comes after.
    fn ticket(&self, request: Request) -> Result<Ticket> {
        let footprint = Footprint::new(&request.writes, &request.entries);
        let mut checked = request.snapshot;
        if let Some(reads) = &request.reads {
            let view = self.view();
            let check = ReadCheck {
                heap: &self.heap,
                recent: &self.recent,
                accepted: None,
                base: &request.base,
                view: &view,
                since: request.snapshot,
                through: view.commit(),
            };
            if let Some(overtaken) = check.run(reads, &|_| false)? {
                let accepted = Accepted::new(&view);
                let state = self.state(&view, &accepted);
                return Err(state.overtaken(&request, &overtaken));
            }
            checked = view.commit().max(checked);
        }
        Ok(Ticket {
            request: Arc::new(request),
            footprint: Arc::new(footprint),
            checked,
            outcome: Mutex::new(None),
            decided: Condvar::new(),
        })
    }

    fn state<'a>(&'a self, view: &'a View, accepted: &'a Accepted) -> State<'a> {
        State {
            heap: &self.heap,
            view,
            accepted,
            recent: &self.recent,
        }
    }

    /// Takes the exclusive turn, with nothing in flight when it returns: other threads wait before they commit until it
    /// is dropped. `None` where it is not to be had.
    pub fn exclusive_turn(&self) -> Option<ExclusiveTurn<'_>> {
        let turn = self.turn.take();
        if turn.is_some() {
            drop(self.pause());
        }
        turn
    }

    /// Keeps every other committer waiting, with nothing in flight, until the pause is dropped.
    pub fn pause(&self) -> Pause<'_> {
        let append = self.append.lock();
        drop(self.sync.lock());
        Pause {
            pipeline: self,
            _append: append,
        }
    }

    /// Runs `work` while everything that is applied is published. If it says that it changed which segments there are,
    /// later readers see that.
    pub fn settled<R>(&self, work: impl FnOnce() -> Result<(bool, R)>) -> Result<R> {
        let _sync = self.sync.lock();
        if let Some(reason) = self.failed.lock().clone() {
            return Err(Error::ReadOnly(reason));
        }
        let (changed, outcome) = work()?;
        if changed {
            let mut published = self.published.write();
            let before = published.clone();
            let indexes = self.indexes.capture(before.commit());
            *published = Arc::new(View::new(
                before.commit(),
                before.time(),
                before.catalog().clone(),
                self.heap.view(),
                indexes,
                before.secret(),
            ));
        }
        Ok(outcome)
    }

    /// Adds a request to the queue; `true` makes the caller the next leader.
    fn enqueue(&self, ticket: Arc<Ticket>) -> bool {
        let mut queue = self.queue.lock();
        queue.waiting.push(ticket);
        !std::mem::replace(&mut queue.has_leader, true)
    }

    /// Takes what is queued, up to a bound on bytes. While something is left, the caller stays the leader.
    fn take_group(&self) -> (Vec<Arc<Ticket>>, bool) {
        let mut queue = self.queue.lock();
        let mut bytes = 0usize;
        let fits = |ticket: &Arc<Ticket>| {
            bytes = bytes.saturating_add(ticket.request.bytes());
            bytes <= MAX_GROUP_BYTES
        };
        let count = queue
            .waiting
            .iter()
            .map(fits)
            .take_while(|fits| *fits)
            .count()
            .max(1);
        let count = count.min(queue.waiting.len());
        let rest = queue.waiting.split_off(count);
        let group = std::mem::replace(&mut queue.waiting, rest);
        queue.has_leader = !queue.waiting.is_empty();
        (group, queue.has_leader)
    }

    fn lead(&self) {
        loop {
            let append = self.append.lock();
            let (tickets, more) = self.take_group();
            let group = self.write_group(tickets);
            let sync = self.sync.lock();
            drop(append);
            if let Some(group) = group {
                self.finish(group);
            }
            drop(sync);
            if !more {
                return;
            }
        }
    }

    /// Steps 3 and 4: validates, numbers and writes. Decides the requests that fail; `None` where none is left.
    fn write_group(&self, tickets: Vec<Arc<Ticket>>) -> Option<Group> {
        if let Some(reason) = self.failed.lock().clone() {
            tickets
                .iter()
                .for_each(|ticket| ticket.decide(Err(Error::ReadOnly(reason.clone()))));
            return None;
        }
        if let Err(error) = self.indexes.room() {
            tickets
                .iter()
                .for_each(|ticket| ticket.decide(Err(again(&error))));
            return None;
        }
        let mut accepted = self.accepted.lock();
        let (last, last_time) = (accepted.last, accepted.time);
        accepted.time = now().max(last_time);
        let time = accepted.time;
        let mut members = Vec::with_capacity(tickets.len());
        for ticket in tickets {
            match self.accept(&mut accepted, &ticket) {
                Ok((number, request)) => members.push(Member {
                    ticket,
                    request,
                    number,
                }),
                Err(error) => ticket.decide(Err(error)),
            }
        }
        if members.is_empty() {
            return None;
        }
        let start = self.heap.end();
        match self.append_members(&members, time) {
            Ok(appended) => Some(Group {
                members,
                appended,
                start,
                time,
            }),
            Err(error) => {
                withdraw(&mut accepted, &members, last);
                accepted.time = last_time;
                self.recent.write().withdraw(last);
                fail_all(&members, &error);
                None
            }
        }
    }

    fn accept(&self, accepted: &mut Accepted, ticket: &Ticket) -> Result<(CommitNumber, Arc<Request>)> {
        let view = self.view();
        let merged = self
            .state(&view, accepted)
            .validate(&ticket.request, ticket.checked)?;
        let (request, footprint) = match merged {
            None => (ticket.request.clone(), ticket.footprint.clone()),
            Some(merged) => {
                let footprint = Footprint::new(&merged.writes, &merged.entries);
                (Arc::new(merged), Arc::new(footprint))
            }
        };
        let number = CommitNumber(accepted.last.0.saturating_add(1));
        let is_unique = |id: IndexId| {
            request
                .catalog
                .indexes
                .get(&id)
                .is_some_and(|index| index.kind == IndexKind::Unique)
        };
        accepted.accept(number, &request, &is_unique);
        if changes_schema(&request) {
            accepted.catalog_version = number;
        }
        if names_roots(&request) {
            accepted.names_version = number;
        }
        let mark = Mark {
            time: accepted.time,
            label: request.label.clone(),
        };
        self.recent.write().push(number, mark, footprint);
        Ok((number, request))
    }

    fn append_members(&self, members: &[Member], time: i64) -> Result<Appended> {
        let encoded: Vec<Encoded<'_>> = members
            .iter()
            .map(|member| encode(&member.request, member.number))
            .collect();
        let entries: Vec<CommitEntry<'_>> = encoded
            .iter()
            .map(|commit| CommitEntry {
                number: commit.number,
                time,
                label: commit.label,
                metadata: &[],
                records: &commit.records,
                deltas: commit.deltas,
            })
            .collect();
        self.heap.append(&entries)
    }

    /// Steps 5 to 7: syncs, applies, publishes, and tells every committer.
    fn finish(&self, group: Group) {
        let wants_sync = group
            .members
            .iter()
            .any(|member| member.request.durability == Durability::Sync);
        let durable = if wants_sync {
            self.heap.sync(group.appended.end)
        } else {
            Ok(())
        };
        if let Err(error) = durable {
            self.fail(&error);
            fail_all(&group.members, &error);
            return;
        }
        self.heap.apply(&group.appended);
        match self.publish(&group) {
            Ok(()) => {
                let mut accepted = self.accepted.lock();
                for member in &group.members {
                    accepted.publish(member.number, &member.request);
                }
                drop(accepted);
                group
                    .members
                    .iter()
                    .for_each(|member| member.ticket.decide(Ok(member.number)));
            }
            Err(error) => {
                self.fail(&error);
                fail_all(&group.members, &error);
            }
        }
    }

    fn publish(&self, group: &Group) -> Result<()> {
        let before = self.view();
        let mut catalog = before.catalog().clone();
        let last = group.members.len().saturating_sub(1);
        let mut newest = before.commit();
        for (position, Member { request, number, .. }) in group.members.iter().enumerate() {
            newest = *number;
            if request.writes.changes_catalog() {
                catalog = self.change_catalog(&catalog, request, *number, group.start)?;
            }
            // An index that is flushed in the middle of a group must replay the whole group after a crash.
            let applied = if position == last {
                group.appended.end
            } else {
                group.start
            };
            let changes: Vec<&IndexChange> = known_changes(request, &catalog).collect();
            self.indexes.apply(*number, applied, &changes)?;
        }
        let mut published = self.published.write();
        let (heap, indexes) = (self.heap.view(), self.indexes.capture(newest));
        *published = Arc::new(View::new(
            newest,
            group.time,
            catalog,
            heap,
            indexes,
            before.secret(),
        ));
        Ok(())
    }

    /// Publishes the newest state once more, after a checkpoint: the view before holds the changes that the checkpoint
    /// wrote in memory, and looks there first.
    pub fn refresh(&self) {
        let mut published = self.published.write();
        *published = Arc::new(published.with_heap(self.heap.view()));
    }

    fn change_catalog(
        &self,
        catalog: &Arc<Catalog>,
        request: &Request,
        number: CommitNumber,
        start: LogPosition,
    ) -> Result<Arc<Catalog>> {
        let changes = request.writes.iter().map(|(oid, write)| (oid, write.body()));
        let next = catalog.after(number, changes)?;
        for index in catalog
            .indexes
            .values()
            .filter(|index| !next.indexes.contains_key(&index.id))
        {
            if index.steps.is_empty() {
                IndexStore::drop(&self.indexes, index.id)?;
            }
        }
        let is_new = |index: &&Arc<Index>| !index.ready && !catalog.indexes.contains_key(&index.id);
        for index in next.indexes.values().filter(is_new) {
            if index.steps.is_empty() {
                self.indexes.prepare(index.id);
            }
        }
        // One that was ready before and is absent could not be built anew: it must not come back empty.
        let was_ready = |id: &IndexId| catalog.indexes.get(id).is_some_and(|before| before.ready);
        for index in next
            .indexes
            .values()
            .filter(|index| index.ready && index.steps.is_empty() && !was_ready(&index.id))
        {
            if self.indexes.kind(index.id).is_none() {
                self.indexes.create(index.id, index.kind, start)?;
            }
        }
        Ok(Arc::new(next))
    }

    /// Refuses everything from now on.
    pub(super) fn fail(&self, error: &Error) {
        let mut failed = self.failed.lock();
        failed.get_or_insert_with(|| {
            format!("the database takes no more changes since an earlier write failed ({error}); reopen it")
        });
    }
}

/// Every other committer waits while this lives.
#[derive(Debug)]
pub struct Pause<'a> {
    pub(super) pipeline: &'a Pipeline,
    _append: MutexGuard<'a, ()>,
}

impl Pause<'_> {
    /// Commits a request of the owner of the pause.
    pub fn commit(&self, request: Request) -> Result<CommitNumber> {
        let ticket = Arc::new(self.pipeline.ticket(request)?);
        if let Some(group) = self.pipeline.write_group(vec![ticket.clone()]) {
            let _sync = self.pipeline.sync.lock();
            self.pipeline.finish(group);
        }
        ticket.wait()
    }

    /// Publishes the newest commit again, for what lies below has changed without one: an index was built anew.
    pub fn publish_again(&self) {
        let _sync = self.pipeline.sync.lock();
        let before = self.pipeline.view();
        let mut published = self.pipeline.published.write();
        *published = Arc::new(View::new(
            before.commit(),
            before.time(),
            before.catalog().clone(),
            self.pipeline.heap.view(),
            self.pipeline.indexes.capture(before.commit()),
            before.secret(),
        ));
    }
}

impl Ticket {
    fn decide(&self, outcome: Result<CommitNumber>) {
        *self.outcome.lock() = Some(outcome);
        self.decided.notify_all();
    }

    fn wait(&self) -> Result<CommitNumber> {
        let mut outcome = self.outcome.lock();
        loop {
            match outcome.take() {
                Some(outcome) => return outcome,
                None => self.decided.wait(&mut outcome),
            }
        }
    }
}

fn encode(request: &Request, number: CommitNumber) -> Encoded<'_> {
    fn record<'a>((oid, write): (Oid, Write<'a>)) -> RecordEntry<'a> {
        let fresh = matches!(write, Write::Create(_));
        let body = write.body();
        RecordEntry { oid, body, fresh }
    }
    let mut records = Vec::with_capacity(request.writes.len());
    records.extend(request.writes.iter().map(record));
    Encoded {
        number,
        records,
        deltas: &request.deltas,
        label: request.label.as_deref(),
    }
}

/// The changes of indexes that exist, built or not.
fn known_changes<'a>(request: &'a Request, catalog: &'a Catalog) -> impl Iterator<Item = &'a IndexChange> {
    // Entries come index by index, so the last answer mostly holds.
    let mut last: Option<(IndexId, bool)> = None;
    request
        .entries
        .iter()
        .map(|entry| &entry.change)
        .filter(move |change| match last {
            Some((index, known)) if index == change.index => known,
            _ => {
                let known = catalog.indexes.contains_key(&change.index);
                last = Some((change.index, known));
                known
            }
        })
}

fn changes_schema(request: &Request) -> bool {
    let name = SystemClass::Name.id();
    let mut system = request
        .writes
        .iter()
        .take_while(|(oid, _)| oid.class().is_system());
    system.any(|(oid, _)| oid.class() != name)
}

/// Takes back what was accepted but could not be written. Nothing was accepted after it: the append lock is held.
fn withdraw(accepted: &mut Accepted, members: &[Member], last: CommitNumber) {
    for member in members {
        accepted.publish(member.number, &member.request);
    }
    accepted.last = last;
    accepted.catalog_version = accepted.catalog_version.min(last);
}

fn fail_all(members: &[Member], error: &Error) {
    for Member { ticket, .. } in members {
        ticket.decide(Err(again(error)));
    }
}

/// The same failure for one more committer.
fn again(error: &Error) -> Error {
    match error {
        Error::NoSpace { doing, source } => Error::NoSpace {
            doing: doing.clone(),
            source: std::io::Error::from(source.kind()),
        },
        Error::Limit(sentence) => Error::Limit(sentence.clone()),
        Error::Argument(sentence) => Error::Argument(sentence.clone()),
        Error::ReadOnly(sentence) => Error::ReadOnly(sentence.clone()),
        other => Error::ReadOnly(format!(
            "the commit could not be made durable ({other}); reopen the database"
        )),
    }
}

/// Microseconds since 1970-01-01 UTC. Only recorded: order comes from commit numbers.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The most bytes of bodies and index entries in one group, unless a single commit has more.
const MAX_GROUP_BYTES: usize = 16 << 20;

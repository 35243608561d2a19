//! The write street: from a write set to a durable, visible commit.
//!
//! # The life of a commit
//!
//! 1. A transaction hands over a [`Request`]: its snapshot's number and catalog, its writes in OID order with encoded
//!    bodies, the index entries they change, what it read, and what it wants of durability. All of this is worked out
//!    in the committing thread, which also compares what was read with all that is published.
//! 2. The request joins the queue of the [`Pipeline`]. The first to find no leader waiting becomes the next leader,
//!    and takes everything that has queued up by the time the *append* lock is its own: that is one group.
//! 3. The leader validates each request, in order, against the accepted state: the catalog it was bound to, the
//!    heads of the objects it changes, over which its updates may be made anew ([`merge`]), what it read against the
//!    commits that came since ([`read_check`]), the holders of the unique keys it claims ([`validate`]). A request
//!    that fails leaves the group with its own error.
//! 4. It numbers the rest, writes them as one frame, takes the *sync* lock and only then releases the append lock:
//!    so groups are synced and applied in the order they were appended, and the next group is validated, encoded
//!    and written while this one waits for the disk.
//! 5. One sync makes the group durable (none, where every request asked for [`Durability::Buffer`]).
//! 6. The group is applied to the object table, the catalog and the index deltas, and a new [`View`] is published.
//! 7. Every request of the group is told its number.
//!
//! # Invariants
//!
//! * *Accepted* state (validation, unique keys) includes groups that are appended but not yet published; readers
//!   see *published* state only.
//! * If the write or sync of a group fails, the heap refuses all that follows, and every request behind fails with
//!   the same lasting error: no later commit can be acknowledged over a hole.
//! * A view is published only after everything in it is as durable as its commits asked for.
//!
//! [`View`]: crate::view::View

mod accepted;
mod bulk;
mod footprint;
mod merge;
mod pipeline;
mod read_check;
mod recent;
mod request;
mod turn;
mod validate;

pub use bulk::Bulk;
pub use pipeline::{Pause, Pipeline, now};
pub use request::{Durability, IndexEntry, Isolation, Request};

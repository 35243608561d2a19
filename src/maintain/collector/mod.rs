//! The collector: deletes the objects of dependent classes that nothing reaches.
//!
//! # The rule
//!
//! An object of a dependent class lives only as long as a chain of references leads to it that begins in a named root, in
//! an object of a class that is not dependent, or in the default of an attribute. References in collections, maps,
//! structs and `any` count, and so does a set that is an index on its inverse read backwards. What the texts of named
//! queries and methods say does not. Objects of dependent classes that only refer to one another are garbage, rings of
//! them too; so is one that was committed and that nothing refers to yet.
//!
//! # The invariants
//!
//! 1. *Nothing that is reachable is deleted*, in any state that ever is or becomes committed.
//! 2. *No object ever refers to one that the collector deleted*, not even garbage to garbage: whoever finds an object that
//!    is still there, by its extent for instance, and links it again has it whole.
//!
//! # Why they hold
//!
//! The search begins at a commit `since` and takes its time: it reads every object that is not dependent and may refer to
//! one that is, then all that is reached, in slices, each at the newest state of its moment, so it pins nothing. Garbage
//! is what it did not reach and what was not written after `since`. Say such an object `g` were reachable in a later state,
//! by a chain from a root. Some reference on the chain is newer than the search: had the search found all of them, it would
//! have reached `g`. Take the last of the newer ones, and the object `t` it is to. Whoever made that reference *held* `t`:
//! wrote it anew in the same commit (`transaction/lifetime.rs`), after `since`. (All references of an object that is itself
//! newer are new.) So `t` is not `g`; a newest version above `since` is how the search, and the deletion again, know `t`,
//! and both spare all that it reaches, `g` too.
//!
//! A deletion is an ordinary transaction. It looks at the newest version of each object it deletes, and a delete conflicts
//! with every other write: whoever holds an object meanwhile wins or reruns, whichever isolation it asked for. For the
//! second invariant garbage goes in an order (`components.rs`): what refers to an object goes with it or before it, so
//! when `t` is found to be in use, nothing it reaches is gone yet. A kill between two transactions leaves a state that obeys
//! both invariants, and needs no repair: the next run begins anew.
//!
//! An open snapshot reads the old versions of what is deleted, as of anything else. An object that a running transaction
//! has inserted is in no committed state, so the collector does not see it; one that the transaction links is held when it
//! commits. A schema change, which may make dependent objects roots or one-sided references a relationship, begins the
//! search anew; whoever was bound to the older schema conflicts, the deletion too.
//!
//! # Memory
//!
//! A bit or two for each object of a dependent class; for what is being ordered, 40 bytes for each object of garbage.

mod components;
mod frontier;
mod options;
mod report;
mod search;

pub use options::CollectOptions;
pub use report::{ClassGarbage, CollectReport, RootReach};
pub use search::{Collection, Deletion, Until};

//! Plans: what a bound statement does, as owned data that can be cached, shared and shown.

mod aggregate;
mod columns;
mod explain;
mod explanation;
mod expression;
mod measures;
mod node;
mod object_set;
mod operator;
mod pattern;
mod show;
mod statement;
mod update_reads;
mod visit;

pub use aggregate::{Aggregate, AggregateFunction};
pub use explanation::Explanation;
pub use expression::{Column, ColumnId, Expression, ExpressionKind, Slots, Subquery, SubqueryForm};
pub use measures::{Measures, NodeId, Profile};
pub use node::{Access, Equal, IndexKey, JoinKind, NullsOrder, Partition, Plan, SortKey};
pub use object_set::ObjectSet;
pub use operator::{Arithmetic, Comparison, FunctionId, SetOperator};
pub use pattern::{LikePart, LikePattern};
pub use statement::{
    Assignment, Change, ConflictUpdate, Delete, Insert, InsertSource, OnConflict, Output, Query, ResultKind,
    Returning, Statement, Update,
};

//! Plan nodes.
//!
//! A node yields rows; [`Plan::columns`] are the columns of its rows. Rows pass through `Filter`, `Iterate`, `Fetch`,
//! `Join` and the like with the columns they had, and gain some; `Group`, `Project`, `Distinct` and `SetOperation`
//! give new rows. All columns of the nodes below are visible to the expressions of a node.

use std::sync::Arc;

use super::aggregate::Aggregate;
use super::expression::{Column, Expression};
use super::object_set::ObjectSet;
use super::operator::SetOperator;
use crate::catalog::IndexId;
use crate::object::ClassId;
use crate::read::Direction;

/// A node of a plan, with the nodes below it.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// One row without columns: the input of a query without `from`.
    Unit,
    /// Constant rows: each row's expressions are evaluated as it is reached.
    Values {
        /// The columns.
        columns: Vec<Column>,
        /// One expression a column in each row.
        rows: Vec<Vec<Expression>>,
    },
    /// All objects of the classes, class by class in OID order, with their records.
    Extent {
        /// The object column.
        column: Column,
        /// The class named in the query.
        class: Arc<str>,
        /// The classes read, ascending: its family, or itself alone (`only`).
        classes: Vec<ClassId>,
        /// About how many objects there are.
        estimate: Option<u64>,
    },
    /// One row with the number of objects of the classes. The number is exact: an extent estimate is not enough.
    CountExtent {
        /// The count, an int.
        column: Column,
        /// The class named in the query.
        class: Arc<str>,
        /// The classes counted, ascending.
        classes: Vec<ClassId>,
    },
    /// The objects an index has for a range of keys, with their records, in key order (see [`Direction`]). Bounds
    /// are evaluated once when the scan starts; see [`Access`] for nil in them.
    IndexScan {
        /// The object column.
        column: Column,
        /// The class named in the query.
        class: Arc<str>,
        /// The classes wanted, ascending; objects of others that the index covers are skipped.
        classes: Vec<ClassId>,
        /// The index.
        index: IndexKey,
        /// The keys wanted.
        access: Access,
        /// Key order.
        direction: Direction,
        /// About how many objects it yields.
        estimate: Option<u64>,
    },
    /// The objects whose path ends in a range of keys: the last index of `steps` is read, and its objects are looked
    /// up in the reference index before it as targets, and so on backwards. Each object once, with its record, in
    /// OID order.
    IndexPath {
        /// The object column.
        column: Column,
        /// The class named in the query.
        class: Arc<str>,
        /// The classes wanted, ascending; others are skipped.
        classes: Vec<ClassId>,
        /// The indexes stood on, from the first reference to the attribute at the end.
        steps: Vec<IndexKey>,
        /// The keys wanted of the last.
        access: Access,
        /// About how many objects it yields.
        estimate: Option<u64>,
    },
    /// The objects in a set that indexes give, with their records. Each object once, in OID order.
    IndexSet {
        /// The object column.
        column: Column,
        /// The class named in the query.
        class: Arc<str>,
        /// The classes wanted, ascending; others are skipped.
        classes: Vec<ClassId>,
        /// The set.
        set: ObjectSet,
        /// About how many objects it yields.
        estimate: Option<u64>,
    },
    /// One row with the number of objects that the node below would yield, worked out from the indexes alone.
    IndexCount {
        /// The count, an int.
        column: Column,
        /// An `IndexScan`, `IndexPath` or `IndexSet`.
        of: Box<Plan>,
    },
    /// The objects referred to, with their records: those that exist and are of the classes wanted, each once, in
    /// the order of the references. The expressions are evaluated once when the node starts.
    Objects {
        /// The object column.
        column: Column,
        /// The class named in the query.
        class: Arc<str>,
        /// The classes wanted, ascending.
        classes: Vec<ClassId>,
        /// References and collections of references; nil gives nothing.
        references: Vec<Expression>,
    },
    /// A dependent range: for each input row, one row for each member of the collection (nil members too). A nil or
    /// empty collection gives no row. The new column holds values: a member that is a reference is not fetched.
    Iterate {
        /// The rows before.
        input: Box<Plan>,
        /// The variable.
        column: Column,
        /// The collection, over the input row.
        collection: Expression,
        /// For a `left join`: a row without any member (for which `on` holds) is kept, with nil in the column.
        outer: bool,
        /// A condition over the new row; only where `outer` is set (else it is a `Filter` above).
        on: Option<Expression>,
    },
    /// For each input row, one row for each object that a closure reaches from it, nearest first, with the least number of
    /// steps and one shortest path (a list from the start to the object) where they are wanted. The new columns hold
    /// values: the object is not fetched.
    Walk {
        /// The rows before.
        input: Box<Plan>,
        /// The object reached.
        column: Column,
        /// The number of steps, an int.
        depth: Option<Column>,
        /// The path, a list.
        path: Option<Column>,
        /// The closure, over the input row.
        closure: Expression,
        /// For a `left join`: a row that reaches nothing (for which `on` holds) is kept, with nil in the new columns.
        outer: bool,
        /// A condition over the new row.
        on: Option<Expression>,
    },
    /// Reads, for each row, the object that `reference` refers to into the new object column. nil and dangling
    /// references leave the cell without a record (attributes of it are nil); never fails, never drops a row.
    Fetch {
        /// The rows before.
        input: Box<Plan>,
        /// The object column; it has the reference as its value.
        column: Column,
        /// The reference, over the input row.
        reference: Expression,
    },
    /// The rows for which the predicate is true (not false, not unknown).
    Filter {
        /// The rows before.
        input: Box<Plan>,
        /// The predicate.
        predicate: Expression,
    },
    /// The pairs of a left and a right row for which `on` is true. The right side does not depend on the left one; it
    /// is read once and held.
    Join {
        /// The rows that are streamed.
        left: Box<Plan>,
        /// The rows that are held.
        right: Box<Plan>,
        /// What is yielded.
        kind: JoinKind,
        /// The condition over both; all pairs if absent.
        on: Option<Expression>,
    },
    /// As `Join`, by a hash table over the right rows: pairs whose keys are equal, and for which `on` is true. A key
    /// that is nil or NaN equals nothing. Keys equal across number types.
    HashJoin {
        /// The rows that are streamed; their order is kept where the right rows fit in memory.
        left: Box<Plan>,
        /// The rows that are held, in a table by key.
        right: Box<Plan>,
        /// What is yielded.
        kind: JoinKind,
        /// Expressions over a left row and over a right row that must be equal; at least one pair.
        keys: Vec<(Expression, Expression)>,
        /// A further condition over both.
        on: Option<Expression>,
    },
    /// As `Join`, but the right plan is run anew for each left row and may use its columns.
    Apply {
        /// The rows that are streamed.
        left: Box<Plan>,
        /// What is run for each of them.
        right: Box<Plan>,
        /// What is yielded.
        kind: JoinKind,
        /// The condition over both; all pairs if absent.
        on: Option<Expression>,
    },
    /// One row for each group of rows with equal keys (in the total order: nil equals nil); without keys exactly one
    /// row, also over no rows. Holds the groups.
    Group {
        /// The rows before.
        input: Box<Plan>,
        /// The keys, and the columns they are in from here on.
        keys: Vec<(Column, Expression)>,
        /// The aggregates.
        aggregates: Vec<Aggregate>,
        /// Where `partition` is used: it.
        partition: Option<Partition>,
    },
    /// The rows sorted by the keys in the total order; rows with equal keys keep their order. Holds all rows.
    Sort {
        /// The rows before.
        input: Box<Plan>,
        /// The keys, most significant first.
        keys: Vec<SortKey>,
    },
    /// What `Limit` over `Sort` gives, holding at most `limit + offset` rows.
    TopK {
        /// The rows before.
        input: Box<Plan>,
        /// The keys, most significant first.
        keys: Vec<SortKey>,
        /// The number of rows, an int evaluated once; see `Limit`.
        limit: Expression,
        /// The number of rows left out before.
        offset: Option<Expression>,
    },
    /// The rows after the first `offset`, at most `limit`. Stops reading then. nil is no limit; a negative number is
    /// an error.
    Limit {
        /// The rows before.
        input: Box<Plan>,
        /// The number of rows; all if absent.
        limit: Option<Expression>,
        /// The number of rows left out before.
        offset: Option<Expression>,
    },
    /// The first of each set of rows that are equal in these columns (in the total order). Holds the distinct rows.
    Distinct {
        /// The rows before.
        input: Box<Plan>,
        /// The columns compared; the only ones passed on.
        columns: Vec<Column>,
    },
    /// Rows of exactly these columns. What is a column of the input passes its cell whole, with its record.
    Project {
        /// The rows before.
        input: Box<Plan>,
        /// The columns and what they hold.
        columns: Vec<(Column, Expression)>,
    },
    /// `left operator right` over rows, column by column in the order given.
    SetOperation {
        /// The operator.
        operator: SetOperator,
        /// Whether duplicates are kept: `union all` yields all left rows, then all right ones; `intersect all` and
        /// `except all` count. Else each row comes once.
        all: bool,
        /// The left rows, and their columns that are meant.
        left: (Box<Plan>, Vec<Column>),
        /// The right rows, and theirs.
        right: (Box<Plan>, Vec<Column>),
        /// The columns of the result.
        columns: Vec<Column>,
    },
}

/// What a join yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and each left row without any, with nil in the right columns.
    Left,
    /// Each left row that has a right one, once, without the right columns.
    Semi,
    /// Each left row that has no right one, without the right columns.
    Anti,
}

/// An index as a plan names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexKey {
    /// The index.
    pub id: IndexId,
    /// Its name.
    pub name: Arc<str>,
    /// Its components as text (`age`, `name desc`).
    pub components: Vec<Arc<str>>,
    /// Whether an object may stand under several keys (an attribute that is a collection): the scan then yields each
    /// object once.
    pub multiple: bool,
}

/// The keys wanted of an index: those with `equal` in the first components, and in the next one what `bounds` or
/// `among` says. An expression that is nil, or NaN, matches no key.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// What the first components equal.
    pub equal: Vec<Equal>,
    /// The component after them equals one of these: expressions, each a value, or a collection of values if the
    /// flag is set. Values that are nil are left out, each other counts once. Results come in ascending or
    /// descending order of the values. Excludes bounds.
    pub among: Option<Vec<(Expression, bool)>>,
    /// The lower bound of the component after them, and whether it is itself wanted. With a bound on either side, keys with
    /// nil or NaN in that component are not wanted; without any they are.
    pub lower: Option<(Expression, bool)>,
    /// The upper bound, likewise.
    pub upper: Option<(Expression, bool)>,
    /// Whether keys with nil in the component after the equal ones are left out though there is no bound.
    pub not_nil: bool,
}

impl Access {
    /// All keys.
    pub fn all() -> Access {
        Access {
            equal: Vec::new(),
            among: None,
            lower: None,
            upper: None,
            not_nil: false,
        }
    }
}

/// What a component of an index equals.
#[derive(Debug, Clone, PartialEq)]
pub enum Equal {
    /// A value.
    Value(Expression),
    /// nil.
    Nil,
}

/// `partition`: the bag of a group's rows, each as a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Where the bag goes.
    pub column: Column,
    /// The fields of the structs, over the rows of the input.
    pub fields: Vec<(Arc<str>, Expression)>,
}

/// A key of a sort.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// The key.
    pub expression: Expression,
    /// Whether larger values come first.
    pub descending: bool,
    /// Where nil goes.
    pub nulls: NullsOrder,
}

/// Where nil goes in a sort. The default is `First` ascending and `Last` descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NullsOrder {
    /// Before all values.
    First,
    /// After all values.
    Last,
}

impl Plan {
    /// The columns of the rows this node yields.
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Plan::Unit => Vec::new(),
            Plan::Values { columns, .. }
            | Plan::Distinct { columns, .. }
            | Plan::SetOperation { columns, .. } => columns.clone(),
            Plan::Extent { column, .. }
            | Plan::CountExtent { column, .. }
            | Plan::IndexScan { column, .. }
            | Plan::IndexPath { column, .. }
            | Plan::IndexSet { column, .. }
            | Plan::IndexCount { column, .. }
            | Plan::Objects { column, .. } => vec![column.clone()],
            Plan::Iterate { input, column, .. } | Plan::Fetch { input, column, .. } => {
                let mut columns = input.columns();
                columns.push(column.clone());
                columns
            }
            Plan::Walk {
                input,
                column,
                depth,
                path,
                ..
            } => {
                let mut columns = input.columns();
                columns.push(column.clone());
                columns.extend(depth.iter().chain(path).cloned());
                columns
            }
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::TopK { input, .. }
            | Plan::Limit { input, .. } => input.columns(),
            Plan::Join {
                left, right, kind, ..
            }
            | Plan::HashJoin {
                left, right, kind, ..
            }
            | Plan::Apply {
                left, right, kind, ..
            } => {
                let mut columns = left.columns();
                if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                    columns.extend(right.columns());
                }
                columns
            }
            Plan::Group {
                keys,
                aggregates,
                partition,
                ..
            } => {
                let mut columns: Vec<Column> = keys.iter().map(|(column, _)| column.clone()).collect();
                columns.extend(aggregates.iter().map(|aggregate| aggregate.column.clone()));
                columns.extend(partition.iter().map(|partition| partition.column.clone()));
                columns
            }
            Plan::Project { columns, .. } => columns.iter().map(|(column, _)| column.clone()).collect(),
        }
    }
}

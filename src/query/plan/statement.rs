//! Bound statements.

use std::sync::Arc;

use super::expression::{Column, Expression, Slots};
use super::node::Plan;
use crate::catalog::IndexId;
use crate::object::{ClassId, Type};

/// A bound statement: owned, and free of the values of its parameters, so that it can be kept and run again over
/// the very catalog it was bound with (it holds the values of named roots).
#[derive(Debug, Clone)]
pub struct Statement {
    /// What it does.
    pub change: Change,
    /// Whether it is only to be shown (`explain`), not run: as text, see `Display`.
    pub explain: bool,
    /// Its parameters, in the order of their first use: names without `$`, and the types expected (`any` where
    /// nothing is known).
    pub parameters: Vec<(Arc<str>, Type)>,
    /// One more than the largest column number.
    pub columns: u32,
}

impl Statement {
    /// The plan it reads by; none where it inserts rows of expressions.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.change {
            Change::Query(query) => Some(&query.plan),
            Change::Insert(insert) => match &insert.source {
                InsertSource::Query(query) => Some(&query.plan),
                InsertSource::Rows(_) => None,
            },
            Change::Update(update) => Some(&update.plan),
            Change::Delete(delete) => Some(&delete.plan),
        }
    }
}

/// What a [`Statement`] does.
#[derive(Debug, Clone)]
pub enum Change {
    /// Reads.
    Query(Query),
    /// Creates objects.
    Insert(Insert),
    /// Changes objects.
    Update(Update),
    /// Deletes objects.
    Delete(Delete),
}

/// A query and what its rows mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The plan; its rows have the columns of `outputs` (and maybe more).
    pub plan: Plan,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
    /// Whether a row means the bare value of its one output; else a row with labels.
    pub bare: bool,
    /// What the rows are together.
    pub kind: ResultKind,
}

/// An output of a [`Query`].
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its label.
    pub label: Arc<str>,
    /// The column; its type is the output's.
    pub column: Column,
}

/// What the rows of a query are together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// In no order, duplicates kept.
    Bag,
    /// In no order, without duplicates.
    Set,
    /// In the order asked for.
    List,
    /// Exactly one row: a bare expression.
    Single,
}

/// `insert`: the objects are created from all rows of the source before `returning` is evaluated.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The class of the new objects.
    pub class: ClassId,
    /// Its name.
    pub class_name: Arc<str>,
    /// The slots that are given values, in the order of the source's columns; the others take their defaults.
    pub slots: Vec<usize>,
    /// Where the values come from. They have the attributes' types (or are checked at run time, where `any`).
    pub source: InsertSource,
    /// What happens where another object has the values of a unique index.
    pub on_conflict: Option<OnConflict>,
    /// What is returned of each new object, and of each that was changed instead.
    pub returning: Option<Returning>,
}

/// `on conflict` of an [`Insert`].
#[derive(Debug, Clone)]
pub struct OnConflict {
    /// The unique index.
    pub index: IndexId,
    /// The slots of its attributes, in its order.
    pub slots: Vec<usize>,
    /// What becomes of the object that is there; it is left as it is if absent.
    pub update: Option<ConflictUpdate>,
}

/// `do update` of an [`OnConflict`].
#[derive(Debug, Clone)]
pub struct ConflictUpdate {
    /// The object column the assignments are over.
    pub target: Column,
    /// The column with the struct of what was to be inserted.
    pub excluded: Column,
    /// The assignments.
    pub assignments: Vec<Assignment>,
}

/// Where an [`Insert`] takes its values from.
#[derive(Debug, Clone)]
pub enum InsertSource {
    /// Rows of expressions without columns, one expression a slot.
    Rows(Vec<Vec<Expression>>),
    /// The rows of a query, one output a slot; it is read to its end before the first object is created.
    Query(Box<Query>),
}

/// `update`: the plan is read to its end, with all new values evaluated over the old state, before the first object
/// is changed.
#[derive(Debug, Clone)]
pub struct Update {
    /// Yields the objects to change, each once.
    pub plan: Plan,
    /// The column of the plan with the object.
    pub target: Column,
    /// What becomes of it.
    pub assignments: Vec<Assignment>,
    /// What is returned of each changed object, in its new state.
    pub returning: Option<Returning>,
}

/// One assignment of an [`Update`]. `+=` and `-=` are already written out as expressions over the old value.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The attribute.
    pub attribute: Arc<str>,
    /// Where it lies, by the target's class.
    pub slots: Slots,
    /// Its type.
    pub r#type: Type,
    /// The new value, over a row of the plan.
    pub value: Expression,
}

/// `delete`: the plan is read to its end, and `returning` evaluated, before the first object goes.
#[derive(Debug, Clone)]
pub struct Delete {
    /// Yields the objects to delete, each once.
    pub plan: Plan,
    /// The column of the plan with the object.
    pub target: Column,
    /// What is returned of each deleted object, in its old state.
    pub returning: Option<Returning>,
}

/// `returning`: what is computed over a row with one object column.
#[derive(Debug, Clone)]
pub struct Returning {
    /// The object column the expressions are over.
    pub target: Column,
    /// The outputs and what they hold.
    pub outputs: Vec<(Output, Expression)>,
}

//! Bound expressions: names resolved, every node typed.
//!
//! # Columns
//! A row has one cell for each column. Column numbers are unique within a statement, its subqueries included, so
//! moving a node about in a plan changes no expression. A [`Column`] of a reference type that an `Extent`,
//! `IndexScan`, `IndexPath`, `Objects` or `Fetch` node yields holds the object with its record; any other holds a
//! value. [`ExpressionKind::Column`] finds its column, in this order: in the row the expression is evaluated over;
//! among the variables of the quantifiers, member filters and member mappings around it; in the row of the query
//! around the subquery (then the subquery lists it in `outer`).
//!
//! # nil
//! Where a variant does not say otherwise, nil in any operand gives nil, which in a predicate counts as not true.

use std::sync::Arc;

use super::aggregate::AggregateFunction;
use super::operator::{Arithmetic, Comparison, FunctionId, SetOperator};
use super::pattern::LikePattern;
use super::statement::Query;
use crate::error::Span;
use crate::object::{ClassId, Type, Value};

/// Identifies a column within one statement, its subqueries included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u32);

/// A column: a range variable, a fetched path prefix, a computed value, or the variable of a quantifier.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its number.
    pub id: ColumnId,
    /// What `explain` calls it.
    pub name: Arc<str>,
    /// The type of its cells.
    pub r#type: Type,
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.id == other.id
    }
}

impl Eq for Column {}

/// A bound expression.
#[derive(Debug, Clone)]
pub struct Expression {
    /// What it computes.
    pub kind: ExpressionKind,
    /// The type of its value; whether it can be nil is not tracked.
    pub r#type: Type,
    /// The text it came from, for errors at run time.
    pub span: Span,
}

/// Expressions are equal if they compute the same, wherever they stood in the text.
impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        self.kind == other.kind && self.r#type == other.r#type
    }
}

/// What an [`Expression`] computes.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpressionKind {
    /// A constant.
    Constant(Value),
    /// The parameter at `index` of the statement's parameters.
    Parameter {
        /// Position among the statement's parameters.
        index: usize,
        /// Its name, without `$`.
        name: Arc<str>,
    },
    /// The cell of a column; of an object column: the reference to the object.
    Column(Column),
    /// An attribute of an object. nil if the reference is nil or dangling. The record is in the cell if `base` is an
    /// object column, and is otherwise read through the reader.
    Attribute {
        /// The object: an expression of a reference type.
        base: Box<Expression>,
        /// The attribute.
        name: Arc<str>,
        /// Where it lies.
        slots: Slots,
    },
    /// The field or attribute called `name` of a value whose type is known only at run time: of an object, a struct,
    /// each member of a collection (then as [`ExpressionKind::Map`]), nil of nil, else an error.
    DynamicAttribute {
        /// An expression of type `any`.
        base: Box<Expression>,
        /// The field or attribute.
        name: Arc<str>,
    },
    /// A field of a struct.
    Field {
        /// The struct.
        base: Box<Expression>,
        /// Position of the field in the struct's type.
        index: usize,
        /// Its name.
        name: Arc<str>,
    },
    /// A member of a list by position (nil outside), or of a map by key; of `any`: as what it turns out to be.
    Index {
        /// The list, map or `any`.
        base: Box<Expression>,
        /// The position or key.
        index: Box<Expression>,
    },
    /// The members of a list (or characters of a string) from `from` up to, not including, `to`.
    Slice {
        /// The list.
        base: Box<Expression>,
        /// The first position; from the start if absent.
        from: Option<Box<Expression>>,
        /// One past the last position; to the end if absent.
        to: Option<Box<Expression>>,
    },
    /// `-e`
    Negate(Box<Expression>),
    /// `left operator right`; the operand types say which arithmetic it is.
    Arithmetic {
        /// The operator.
        operator: Arithmetic,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
    },
    /// `left || right`: of strings, bytes or lists.
    Concatenate(Box<Expression>, Box<Expression>),
    /// Three-valued `not`.
    Not(Box<Expression>),
    /// Three-valued `and` over two or more operands; stops at the first false.
    And(Vec<Expression>),
    /// Three-valued `or` over two or more operands; stops at the first true.
    Or(Vec<Expression>),
    /// A comparison.
    Compare {
        /// The operator.
        operator: Comparison,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
    },
    /// A comparison with the members of a collection: with `all`, the `and` over the members, else the `or`. A nil
    /// collection counts as empty.
    CompareMembers {
        /// The operator.
        operator: Comparison,
        /// Left operand.
        left: Box<Expression>,
        /// Whether it must hold for all members.
        all: bool,
        /// The collection.
        collection: Box<Expression>,
    },
    /// `value >= low and value <= high`, with `value` evaluated once.
    Between {
        /// The value.
        value: Box<Expression>,
        /// Its lower bound.
        low: Box<Expression>,
        /// Its upper bound.
        high: Box<Expression>,
    },
    /// Whether `value` equals a member of a constant set. Unknown if it does not, and `has_nil` or it is nil (but
    /// false if the set is empty and `has_nil` is not set).
    InSet {
        /// The value.
        value: Box<Expression>,
        /// The members: no nil, ascending in the total order, each once.
        members: Arc<[Value]>,
        /// Whether nil was among them.
        has_nil: bool,
    },
    /// Whether `value` equals one of these expressions, as `or` of comparisons; what does not compare with it is
    /// not equal to it, here as in all kinds of `in`.
    InList {
        /// The value.
        value: Box<Expression>,
        /// The members.
        members: Vec<Expression>,
    },
    /// Whether `value` equals a member of a collection. A nil collection counts as empty. If `collection` is `any`
    /// and turns out to be no collection: whether it equals it.
    InCollection {
        /// The value.
        value: Box<Expression>,
        /// The collection.
        collection: Box<Expression>,
    },
    /// Whether a string matches a constant pattern.
    Like {
        /// The string.
        value: Box<Expression>,
        /// The pattern.
        pattern: LikePattern,
        /// Whether case is ignored.
        ignore_case: bool,
    },
    /// Whether a string matches a computed pattern; see [`LikePattern::parse`].
    LikeDynamic {
        /// The string.
        value: Box<Expression>,
        /// The pattern.
        pattern: Box<Expression>,
        /// The escape character, a string of one character.
        escape: Option<Box<Expression>>,
        /// Whether case is ignored.
        ignore_case: bool,
    },
    /// The first branch whose condition is true, else `otherwise`; only that one is evaluated.
    Case {
        /// Conditions and their values.
        branches: Vec<(Expression, Expression)>,
        /// The value if none is true; nil if absent.
        otherwise: Option<Box<Expression>>,
    },
    /// As `Case` with conditions `operand = w`; the operand is evaluated once.
    CaseOf {
        /// What is compared.
        operand: Box<Expression>,
        /// Values to compare with and their results.
        branches: Vec<(Expression, Expression)>,
        /// The value if none is equal; nil if absent.
        otherwise: Option<Box<Expression>>,
    },
    /// The value converted to this expression's type; an error if it cannot be. nil stays nil.
    Cast(Box<Expression>),
    /// Whether the value is nil; never unknown.
    IsNil(Box<Expression>),
    /// Whether a collection (or string, or map) has no members; true for nil; never unknown.
    IsEmpty(Box<Expression>),
    /// Whether a reference's object is gone; false for nil; never unknown.
    IsDangling(Box<Expression>),
    /// Whether a reference is to an object of one of these classes; false for nil; never unknown. Of `any`: false if
    /// it is no reference.
    IsClass {
        /// The reference.
        value: Box<Expression>,
        /// The name of the class asked for.
        class: Arc<str>,
        /// Its family, ascending.
        classes: Vec<ClassId>,
    },
    /// The reference if it is to an object of one of these classes, else nil.
    Narrow {
        /// The reference.
        value: Box<Expression>,
        /// The name of the class asked for.
        class: Arc<str>,
        /// Its family, ascending.
        classes: Vec<ClassId>,
    },
    /// The first operand that is not nil; later ones are not evaluated.
    Coalesce(Vec<Expression>),
    /// The value; an error if it is nil (`e!`).
    Require(Box<Expression>),
    /// Whether the predicate holds for all members, or for one: the three-valued `and` or `or` over the members.
    Quantifier {
        /// Whether it must hold for all members.
        all: bool,
        /// The variable, which stands for each member in turn.
        variable: Column,
        /// The collection; nil counts as empty.
        collection: Box<Expression>,
        /// The predicate over the variable.
        predicate: Box<Expression>,
    },
    /// The members for which the predicate is true, in a collection of the same kind. nil gives nil.
    Select {
        /// The collection.
        collection: Box<Expression>,
        /// The variable, which stands for each member in turn.
        variable: Column,
        /// The predicate over the variable.
        predicate: Box<Expression>,
    },
    /// The bag of the values of `body` over the members, without nils, flattened one level where a value is a
    /// collection. nil gives nil.
    Map {
        /// The collection.
        collection: Box<Expression>,
        /// The variable, which stands for each member in turn.
        variable: Column,
        /// What is computed of each member.
        body: Box<Expression>,
    },
    /// An aggregate over the members of a collection (never `CountRows`), as [`AggregateFunction`] says: members that
    /// are nil are skipped. A nil collection counts as empty.
    Aggregate {
        /// Which aggregate.
        function: AggregateFunction,
        /// Whether equal members count once.
        distinct: bool,
        /// The collection.
        collection: Box<Expression>,
    },
    /// A list of these members (nils kept); the type says list, set or bag.
    Collection(Vec<Expression>),
    /// A map of these keys and values; a key twice, or nil, is an error.
    MapOf(Vec<(Expression, Expression)>),
    /// A struct of these fields.
    Struct(Vec<(Arc<str>, Expression)>),
    /// `left operator right` on collections; the type says the kind of the result. nil counts as empty.
    SetOperation {
        /// The operator.
        operator: SetOperator,
        /// Whether duplicates are kept (multiset semantics); else the result is a set.
        all: bool,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
    },
    /// A collection with a member, or all members of a collection, added (at the end of a list). A nil collection
    /// counts as empty; a nil member is added, a nil collection of members adds nothing.
    Include {
        /// The collection.
        collection: Box<Expression>,
        /// What is added.
        value: Box<Expression>,
        /// Whether `value` is a collection of members rather than one.
        members: bool,
    },
    /// A collection without a member, or without the members of a collection: of a list or bag, each takes away the
    /// first that equals it. A nil collection stays nil.
    Exclude {
        /// The collection.
        collection: Box<Expression>,
        /// What is taken away.
        value: Box<Expression>,
        /// Whether `value` is a collection of members rather than one.
        members: bool,
    },
    /// A function of the library.
    Call {
        /// Which function.
        function: FunctionId,
        /// Its name.
        name: Arc<str>,
        /// Its arguments, already converted to what its signature takes.
        arguments: Vec<Expression>,
    },
    /// The set of all objects of these classes whose attribute is, or contains, `base` (or a member of `base`, if
    /// that is a collection). nil gives an empty set.
    Reverse {
        /// The object or objects referred to.
        base: Box<Expression>,
        /// The name of the referring class.
        class: Arc<str>,
        /// Its family, ascending.
        classes: Vec<ClassId>,
        /// The attribute.
        attribute: Arc<str>,
        /// Where it lies.
        slots: Slots,
        /// Whether the attribute is a collection of references.
        collection: bool,
        /// An index on the attribute; without one the extent is scanned.
        index: Option<crate::catalog::IndexId>,
        /// Whether it is an attribute of the object, which one that is gone does not have.
        of_living: bool,
    },
    /// The set of distinct objects reached from `start` by a walk of `minimum..=maximum` steps.
    Closure {
        /// The object, or collection of objects, the walk starts at.
        start: Box<Expression>,
        /// The variable that stands for the object a step starts at.
        variable: Column,
        /// One step: a reference or a collection of references.
        step: Box<Expression>,
        /// The least number of steps.
        minimum: u64,
        /// The largest number of steps; unbounded if absent.
        maximum: Option<u64>,
    },
    /// `body`, in which the variable stands for `value`.
    Let {
        /// The variable.
        variable: Column,
        /// What it stands for, evaluated once.
        value: Box<Expression>,
        /// What is computed with it.
        body: Box<Expression>,
    },
    /// A query inside an expression.
    Subquery(Box<Subquery>),
}

/// Where an attribute lies in the records of a class and its subclasses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slots {
    /// In the same slot in all of them.
    Same(usize),
    /// By class, ascending. In the records of any other class the attribute does not exist: nil.
    ByClass(Vec<(ClassId, usize)>),
}

impl Slots {
    /// The slot in records of `class`; `None` if they lack the attribute.
    pub fn slot(&self, class: ClassId) -> Option<usize> {
        match self {
            Slots::Same(slot) => Some(*slot),
            Slots::ByClass(slots) => {
                let place = slots.binary_search_by_key(&class, |(class, _)| *class).ok()?;
                slots.get(place).map(|(_, slot)| *slot)
            }
        }
    }
}

/// A query inside an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// Its number within the statement, which `explain` shows.
    pub number: u32,
    /// What becomes of its rows.
    pub form: SubqueryForm,
    /// The query.
    pub query: Arc<Query>,
    /// The columns of the rows (and the variables) around it that it uses, itself or in subqueries of its own. If
    /// empty, it is evaluated at most once for a run of the statement.
    pub outer: Vec<Column>,
}

/// What becomes of the rows of a [`Subquery`].
///
/// The value of a row is its one output, if the query is `bare`, and else the struct of its outputs.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryForm {
    /// The value of its one row; nil if there is none, an error if there are several.
    Element,
    /// Whether there is a row; reading stops at the first.
    Exists,
    /// Whether the value equals that of a row; see [`ExpressionKind::InCollection`].
    In(Expression),
    /// A comparison with all or any of the rows' values; see [`ExpressionKind::CompareMembers`].
    Compare {
        /// The operator.
        operator: Comparison,
        /// Left operand.
        left: Expression,
        /// Whether it must hold for all rows.
        all: bool,
    },
    /// The rows' values as a collection of the expression's type (list, set or bag).
    Collection,
}

impl Expression {
    /// An expression of `kind` and type `type`, from the text at `span`.
    pub fn new(kind: ExpressionKind, r#type: Type, span: Span) -> Expression {
        Expression { kind, r#type, span }
    }

    /// A constant without a place in the text.
    pub fn constant(value: Value, r#type: Type) -> Expression {
        Expression::new(ExpressionKind::Constant(value), r#type, Span::default())
    }

    /// The cell of `column`.
    pub fn column(column: Column, span: Span) -> Expression {
        let r#type = column.r#type.clone();
        Expression::new(ExpressionKind::Column(column), r#type, span)
    }

    /// The value, if this is a constant.
    pub fn as_constant(&self) -> Option<&Value> {
        match &self.kind {
            ExpressionKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The column, if this is one.
    pub fn as_column(&self) -> Option<&Column> {
        match &self.kind {
            ExpressionKind::Column(column) => Some(column),
            _ => None,
        }
    }
}

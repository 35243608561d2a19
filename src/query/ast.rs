//! The syntax tree; it prints itself back as canonical text.
//!
//! A tree is what the text says, nothing more: names are not resolved, types not checked. Different spellings of one
//! thing are one tree (`<>` and `!=`, `null` and `nil`, `x in e` and `e as x`, `[1]` and `list(1)`), and brackets leave no trace: the
//! printer puts them where precedence needs them.
//!
//! **Equality ignores spans**: two trees are equal if they print the same canonical text. Literals are equal if they
//! are the same literal: `1` and `1.0` are not.
//!
//! **Height is bounded**: text nests at most [`NESTING_LIMIT`] deep, no path from the root of an expression or query to a
//! leaf passes more than [`HEIGHT_LIMIT`] operators, and `and`, `or` and lists of any length are one node. So whoever
//! walks a parsed tree may recurse.

use std::sync::Arc;

use crate::error::Span;
pub use crate::object::{Type, Value};

mod literal;
mod print;
mod print_query;
mod print_statement;
mod print_step;
mod query;
mod statement;
mod symbol;

pub use query::{
    AsOf, GroupKey, Join, Nulls, OrderItem, Projection, ProjectionItem, Query, QueryBody, Range, Select,
    SetOperation, SetOperator, Star, With,
};
pub use statement::{
    AlterClass, Assignment, AssignmentOperator, AttributeDefinition, Begin, ClassChange, ClassDefinition,
    ConflictAction, CreateClass, CreateIndex, Define, Delete, Durability, IndexComponent, IndexKind, Insert,
    InsertSource, Isolation, MergeRule, MethodDefinition, OnConflict, OnDelete, ParameterDefinition, Show,
    Statement, StatementKind, Update,
};

/// How deep brackets, subqueries, `not`, unary minus and types may nest.
pub const NESTING_LIMIT: usize = 100;

/// How many operators may lie above one another in a tree, left-associative chains included.
pub const HEIGHT_LIMIT: usize = 250;

/// An identifier where it stands in the text; equal to another if the text is.
#[derive(Debug, Clone)]
pub struct Name {
    /// The identifier, without backquotes.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

impl Name {
    /// The identifier `text` at `span`.
    pub fn new(text: impl Into<Arc<str>>, span: Span) -> Self {
        Name {
            text: text.into(),
            span,
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A literal: a scalar [`Value`] (never a collection, struct or reference); equal only to the same literal.
#[derive(Debug, Clone)]
pub struct Literal(pub Value);

/// A type where it stands in the text.
#[derive(Debug, Clone)]
pub struct TypeName {
    /// The type; classes by name.
    pub r#type: Type,
    /// Where it stands.
    pub span: Span,
}

impl PartialEq for TypeName {
    fn eq(&self, other: &Self) -> bool {
        self.r#type == other.r#type
    }
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// `$name`
    Named(Arc<str>),
    /// `$1`, counted from 1.
    Positional(u32),
}

/// An expression where it stands in the text.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands, with its own brackets if it has any.
    pub span: Span,
}

impl Expr {
    /// The expression `kind` at `span`.
    pub fn new(kind: ExprKind, span: Span) -> Self {
        Expr { kind, span }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The kinds of expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `1`, `-1`, `'text'`, `date '2026-11-30'`, `nil`: a negative number literal is one literal.
    Literal(Literal),
    /// `$name`, `$1`
    Parameter(Parameter),
    /// `Person#42`
    Object {
        /// The class.
        class: Name,
        /// The serial number within it.
        serial: u64,
    },
    /// A bare name: a range variable, an attribute of the one range, a label, a class, a named root or query, `it`.
    Name(Name),
    /// `e.attr`
    Attribute {
        /// What has the attribute: an object, a struct or a collection.
        object: Box<Expr>,
        /// The attribute.
        name: Name,
    },
    /// `e.method(..)`
    Method {
        /// What it is called on.
        object: Box<Expr>,
        /// The method.
        name: Name,
        /// The arguments.
        arguments: Vec<Expr>,
    },
    /// `e.<C.attr`: the objects of C whose `attr` is, or contains, e.
    Reverse {
        /// The target, or a collection of targets.
        object: Box<Expr>,
        /// The class of the sources.
        class: Name,
        /// The attribute of the sources.
        attribute: Name,
    },
    /// `e.attr{1,}`, `e.<C.attr{0,3}`, `e.(path){2}`: what is reached by so many repetitions of a path.
    Closure {
        /// Where the walk starts.
        start: Box<Expr>,
        /// One repetition; never empty.
        path: Vec<PathStep>,
        /// How many repetitions.
        repetitions: Repetitions,
    },
    /// `e[i]` of a list, `e[key]` of a map.
    Index {
        /// The list or map.
        collection: Box<Expr>,
        /// The position, from 0, or the key.
        index: Box<Expr>,
    },
    /// `e[a:b]`: from a up to, not including, b.
    Slice {
        /// The list.
        collection: Box<Expr>,
        /// The first position.
        from: Box<Expr>,
        /// One past the last position.
        to: Box<Expr>,
    },
    /// `e[is C]`: e if it is a C, else nil; of a collection, the members that are.
    Narrow {
        /// An object or a collection.
        operand: Box<Expr>,
        /// The class.
        class: Name,
    },
    /// `e[where p]`: the members for which p holds; `it` is the member.
    Filter {
        /// The collection.
        collection: Box<Expr>,
        /// The predicate.
        predicate: Box<Expr>,
    },
    /// `e!`: e, which must not be nil.
    NotNil(Box<Expr>),
    /// `-e`
    Negate(Box<Expr>),
    /// `not e`
    Not(Box<Expr>),
    /// `a and b and c`: two or more, none of them itself an `And`.
    And(Vec<Expr>),
    /// `a or b or c`: two or more, none of them itself an `Or`.
    Or(Vec<Expr>),
    /// Arithmetic, `||`, `??` and the set operators between collections.
    Binary {
        /// The operator.
        operator: BinaryOperator,
        /// Its left operand.
        left: Box<Expr>,
        /// Its right operand.
        right: Box<Expr>,
    },
    /// `a = b`
    Compare {
        /// The operator.
        operator: ComparisonOperator,
        /// Its left operand.
        left: Box<Expr>,
        /// Its right operand.
        right: Box<Expr>,
    },
    /// `a > all c`, `a = any c`
    CompareMembers {
        /// The operator.
        operator: ComparisonOperator,
        /// Whether all members must compare so, or any.
        all: bool,
        /// What is compared.
        left: Box<Expr>,
        /// With what.
        members: Members,
    },
    /// `e between a and b`, both ends included.
    Between {
        /// What is tested.
        operand: Box<Expr>,
        /// `not between`
        negated: bool,
        /// The lower end.
        low: Box<Expr>,
        /// The upper end.
        high: Box<Expr>,
    },
    /// `e in c`
    In {
        /// What is looked for.
        operand: Box<Expr>,
        /// `not in`
        negated: bool,
        /// Where.
        members: Members,
    },
    /// `e like p escape c`
    Like {
        /// The text.
        operand: Box<Expr>,
        /// `not like`
        negated: bool,
        /// `ilike`
        ignore_case: bool,
        /// The pattern: `%` any text, `_` any character.
        pattern: Box<Expr>,
        /// The escape character; none by default.
        escape: Option<Box<Expr>>,
    },
    /// `e is nil`, `e is not empty`, `e is C`
    Is {
        /// What is tested.
        operand: Box<Expr>,
        /// `is not`
        negated: bool,
        /// For what.
        test: IsTest,
    },
    /// `for all x in c: p`, `exists x in c: p`
    Quantified {
        /// `for all`, otherwise `exists`.
        all: bool,
        /// The variable that stands for the member.
        variable: Name,
        /// The collection.
        collection: Box<Expr>,
        /// What must hold.
        predicate: Box<Expr>,
    },
    /// `exists (query)`
    Exists(Box<Query>),
    /// `(query)`, also a query as the sole argument of a function. Its body is never an expression alone.
    Subquery(Box<Query>),
    /// `case when p then a else b end`, `case e when a then b end`
    Case {
        /// What is compared with each `when`, in the second form.
        operand: Option<Box<Expr>>,
        /// The branches; at least one.
        branches: Vec<CaseBranch>,
        /// The value if no branch is taken; nil if not given.
        otherwise: Option<Box<Expr>>,
    },
    /// `cast(e as T)`
    Cast {
        /// What is converted.
        operand: Box<Expr>,
        /// To what.
        r#type: TypeName,
    },
    /// `count(*)`
    CountRows,
    /// `f(a, b)`: a function, an aggregate or a named query. The name is as written: the functions of the language do not
    /// distinguish case, named queries do.
    Call {
        /// What is called.
        function: Name,
        /// `f(distinct e)`; then there is one argument.
        distinct: bool,
        /// The arguments; a query as sole argument is a [`ExprKind::Subquery`].
        arguments: Vec<Expr>,
    },
    /// `list(a, b)`, `set(a, b)`, `bag(a, b)`
    Collection {
        /// Which one.
        kind: CollectionKind,
        /// The members.
        members: Vec<Expr>,
    },
    /// `map(k: v, ...)`
    Map(Vec<MapEntry>),
    /// `struct(a: e, ...)`
    Struct(Vec<Field>),
}

/// What stands after `in`, or after `= any`.
#[derive(Debug, Clone, PartialEq)]
pub enum Members {
    /// `in e`: e is a collection (an expression that needs no brackets there).
    Of(Box<Expr>),
    /// `in (e)`: e if it is a collection, else that one value.
    One(Box<Expr>),
    /// `in (a, b)`: two or more, not all of them literals.
    List(Vec<Expr>),
    /// `in (1, 2)`: two or more literals, in the order of the text; up to millions, so nothing is kept but the values.
    Values(Vec<Literal>),
    /// `in (query)`: its rows.
    Query(Box<Query>),
}

/// One step of the path of a closure.
#[derive(Debug, Clone, PartialEq)]
pub enum PathStep {
    /// `.attr`
    Attribute(Name),
    /// `.method(..)`
    Method {
        /// The method.
        name: Name,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
    /// `.<C.attr`
    Reverse {
        /// The class of the sources.
        class: Name,
        /// The attribute of the sources.
        attribute: Name,
    },
    /// `[is C]`; never the first step.
    Narrow(Name),
    /// `[where p]`; never the first step.
    Filter(Box<Expr>),
    /// A closure within the path.
    Closure {
        /// One repetition.
        path: Vec<PathStep>,
        /// How many repetitions.
        repetitions: Repetitions,
    },
}

/// `{m,n}`, `{m,}` or `{n}`.
#[derive(Debug, Clone, Copy)]
pub struct Repetitions {
    /// The least number; not above the greatest.
    pub least: u32,
    /// The greatest number; `None`: without bound.
    pub greatest: Option<u32>,
    /// Where it stands.
    pub span: Span,
}

impl PartialEq for Repetitions {
    fn eq(&self, other: &Self) -> bool {
        self.least == other.least && self.greatest == other.greatest
    }
}

/// Binary operators, but for comparisons, `and` and `or`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `??`: the left operand unless it is nil.
    Coalesce,
    /// `union`, `intersect`, `except` between collections.
    Set {
        /// Which one.
        operator: SetOperator,
        /// Whether duplicates are kept.
        all: bool,
    },
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `||`
    Concatenate,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, also `mod`
    Remainder,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    /// `=`
    Equal,
    /// `!=`, also `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What `is` tests for.
#[derive(Debug, Clone, PartialEq)]
pub enum IsTest {
    /// `nil`
    Nil,
    /// `empty`
    Empty,
    /// `dangling`
    Dangling,
    /// A class.
    Class(Name),
}

/// `when a then b`
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBranch {
    /// The condition, or the value to compare with.
    pub when: Expr,
    /// The value if it holds.
    pub then: Expr,
}

/// Collections with a constructor of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CollectionKind {
    /// Ordered, duplicates kept.
    List,
    /// Each member once.
    Set,
    /// Duplicates kept.
    Bag,
}

/// `k: v` of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapEntry {
    /// The key.
    pub key: Expr,
    /// The value.
    pub value: Expr,
}

/// `a: e` of a struct, or of an `insert`.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The field or attribute.
    pub name: Name,
    /// Its value.
    pub value: Expr,
}

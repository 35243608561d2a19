//! Statements.

use super::{Expr, Field, Name, Projection, Query, TypeName};
use crate::error::Span;

/// A statement where it stands in the text, without its `;`.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

impl Statement {
    /// The statement `kind` at `span`.
    pub fn new(kind: StatementKind, span: Span) -> Self {
        Statement { kind, span }
    }
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The kinds of statement.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// `select ...`, or a bare expression.
    Query(Box<Query>),
    /// `create class ...`
    CreateClass(CreateClass),
    /// `alter class ...`
    AlterClass(AlterClass),
    /// `drop class [if exists] C`
    DropClass {
        /// Whether a missing class is no error.
        if_exists: bool,
        /// The class.
        name: Name,
    },
    /// `create index ...`
    CreateIndex(CreateIndex),
    /// `drop index [if exists] i`
    DropIndex {
        /// Whether a missing index is no error.
        if_exists: bool,
        /// The index.
        name: Name,
    },
    /// `insert ...`
    Insert(Box<Insert>),
    /// `let $a = ...`: the value of a statement or expression as a parameter from then on.
    Let {
        /// The parameter, without `$`.
        parameter: Name,
        /// A query, insert, update or delete.
        value: Box<Statement>,
    },
    /// `update ...`
    Update(Box<Update>),
    /// `delete ...`
    Delete(Box<Delete>),
    /// `name n = e`
    Name {
        /// The name of the root.
        name: Name,
        /// What it stands for.
        value: Expr,
    },
    /// `unname n`
    Unname(Name),
    /// `begin ...`
    Begin(Begin),
    /// `commit`
    Commit,
    /// `rollback`
    Rollback,
    /// `savepoint s`
    Savepoint(Name),
    /// `rollback to s`
    RollbackTo(Name),
    /// `release s`
    Release(Name),
    /// `explain q`
    Explain(Box<Statement>),
    /// `profile q`
    Profile(Box<Statement>),
    /// `analyze [C]`
    Analyze(Option<Name>),
    /// `show classes`
    Show(Show),
    /// `describe C`
    Describe(Name),
    /// `set option = e`; a bare word is a [`super::ExprKind::Name`].
    Set {
        /// The option.
        option: Name,
        /// Its value.
        value: Expr,
    },
    /// `define name(a: T) as query`
    Define(Box<Define>),
    /// `undefine name`
    Undefine(Name),
    /// `check`
    Check,
    /// `compact [cluster by path]`
    Compact {
        /// The path whose reference order objects are put in: `Person.friends`.
        cluster_by: Option<Vec<Name>>,
    },
    /// `collect garbage [dry run]`
    CollectGarbage {
        /// Whether it only reports.
        dry_run: bool,
    },
    /// `backup to 'path'`
    Backup {
        /// A string literal or a parameter.
        path: Expr,
    },
}

/// `create [dependent] class [if not exists] C { .. }, D { .. }`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateClass {
    /// Whether objects live only while reachable from a name or an independent object.
    pub dependent: bool,
    /// Whether a class that exists is no error.
    pub if_not_exists: bool,
    /// The classes; at least one.
    pub classes: Vec<ClassDefinition>,
}

/// `C extends B { .. }`
#[derive(Debug, Clone, PartialEq)]
pub struct ClassDefinition {
    /// The name.
    pub name: Name,
    /// The superclass.
    pub extends: Option<Name>,
    /// Its own attributes.
    pub attributes: Vec<AttributeDefinition>,
    /// Its own methods.
    pub methods: Vec<MethodDefinition>,
}

/// `a: type counter not null default e unique inverse b on delete clear`
#[derive(Debug, Clone, PartialEq)]
pub struct AttributeDefinition {
    /// The name.
    pub name: Name,
    /// The type.
    pub r#type: TypeName,
    /// Whether nil is refused.
    pub not_null: bool,
    /// The value where none is given.
    pub default: Option<Expr>,
    /// Whether no two objects have the same value.
    pub unique: bool,
    /// The attribute of the other class that is its inverse.
    pub inverse: Option<Name>,
    /// What becomes of the object when the one it refers to is deleted.
    pub on_delete: Option<OnDelete>,
    /// How changes that were made at the same time come together.
    pub merge: Option<MergeRule>,
}

/// How changes of an attribute that were made at the same time come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeRule {
    /// `counter`: increments add up.
    Counter,
    /// `union`: members that are added come together.
    Union,
}

/// What becomes of the holder of a reference whose object is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDelete {
    /// Nothing: the reference dangles.
    Leave,
    /// The delete is refused.
    Restrict,
    /// The reference becomes nil.
    Clear,
    /// The holder is deleted too.
    Cascade,
}

/// `method m(a: T): T as e`
#[derive(Debug, Clone, PartialEq)]
pub struct MethodDefinition {
    /// The name.
    pub name: Name,
    /// The parameters.
    pub parameters: Vec<ParameterDefinition>,
    /// The type of the result.
    pub result: TypeName,
    /// What it computes.
    pub body: Expr,
}

/// `a: T` of a method or a named query.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterDefinition {
    /// The name.
    pub name: Name,
    /// The type.
    pub r#type: TypeName,
}

/// `alter class C ...`
#[derive(Debug, Clone, PartialEq)]
pub struct AlterClass {
    /// The class.
    pub class: Name,
    /// What changes.
    pub change: ClassChange,
}

/// A change of a class.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassChange {
    /// `add attribute a: type ...`
    Add(Box<AttributeDefinition>),
    /// `add method m(..): type as e`
    AddMethod(Box<MethodDefinition>),
    /// `drop attribute a`
    Drop(Name),
    /// `drop method m`
    DropMethod(Name),
    /// `rename attribute a to b`
    Rename {
        /// The attribute.
        from: Name,
        /// Its new name.
        to: Name,
    },
    /// `retype attribute a to type using e`
    Retype {
        /// The attribute.
        attribute: Name,
        /// Its new type.
        r#type: TypeName,
        /// The new value, over the object's attributes.
        using: Option<Box<Expr>>,
    },
    /// `merge attribute a by counter`
    Merge {
        /// The attribute.
        attribute: Name,
        /// The rule; `None`: changes conflict.
        rule: Option<MergeRule>,
    },
    /// `move attribute a to D`
    Move {
        /// The attribute.
        attribute: Name,
        /// A class above or below.
        to: Name,
    },
    /// `rename to D`
    RenameClass(Name),
    /// `extends B`
    Extends(Name),
    /// `[not] dependent`
    Dependent(bool),
}

/// `create [unique|bitmap] index [if not exists] i on C(path desc, ...)`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// Its kind.
    pub kind: IndexKind,
    /// Whether an index that exists is no error.
    pub if_not_exists: bool,
    /// The name.
    pub name: Name,
    /// The class it covers, subclasses included.
    pub class: Name,
    /// What it is on; at least one.
    pub components: Vec<IndexComponent>,
}

/// The kind of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Without a word: ordered.
    Ordered,
    /// `unique`
    Unique,
    /// `bitmap`
    Bitmap,
}

/// `dept.site.city desc`
#[derive(Debug, Clone, PartialEq)]
pub struct IndexComponent {
    /// An attribute, or a path of references that ends in one.
    pub path: Vec<Name>,
    /// Whether larger values come first.
    pub descending: bool,
}

/// `insert C(..)`, `insert into C (..) values (..)`
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// The class of the new objects.
    pub class: Name,
    /// Their values.
    pub source: InsertSource,
    /// What happens if a unique attribute has the value already.
    pub on_conflict: Option<OnConflict>,
    /// What is given back for each object.
    pub returning: Option<Projection>,
}

/// Where the values of new objects come from.
#[expect(clippy::large_enum_variant, reason = "every `Insert` lies in a box already")]
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `C(a: e, ..)`: one object.
    Fields(Vec<Field>),
    /// `(a, b) values (..), (..)`: one object a row; each row has as many values as there are attributes.
    Rows {
        /// The attributes.
        attributes: Vec<Name>,
        /// The rows.
        rows: Vec<Vec<Expr>>,
    },
    /// `(a, b) query`: one object a row.
    Query {
        /// The attributes.
        attributes: Vec<Name>,
        /// The query.
        query: Query,
    },
}

/// `on conflict (a) do nothing | update set ..`
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// The unique attributes.
    pub attributes: Vec<Name>,
    /// What happens to the object that has the values already.
    pub action: ConflictAction,
}

/// What happens on a conflict.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictAction {
    /// `do nothing`
    Nothing,
    /// `update set ..`
    Update(Vec<Assignment>),
}

/// `update C x set .. where ..`
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The class.
    pub class: Name,
    /// The range variable, if one is given.
    pub variable: Option<Name>,
    /// What is set; at least one.
    pub assignments: Vec<Assignment>,
    /// Which objects.
    pub filter: Option<Expr>,
    /// What is given back for each object.
    pub returning: Option<Projection>,
}

/// `a = e`, `a += e`, `a -= e`
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The attribute.
    pub attribute: Name,
    /// How it changes.
    pub operator: AssignmentOperator,
    /// The operand, computed from the old state.
    pub value: Expr,
}

/// How an assignment changes an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssignmentOperator {
    /// `=`: replaces.
    Set,
    /// `+=`: adds a number, a member, or all members of a collection.
    Add,
    /// `-=`: subtracts a number, or takes members out.
    Remove,
}

/// `delete C x where ..`
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The class.
    pub class: Name,
    /// The range variable, if one is given.
    pub variable: Option<Name>,
    /// Which objects.
    pub filter: Option<Expr>,
    /// What is given back for each object.
    pub returning: Option<Projection>,
}

/// `begin [read only] [isolation ..] [durability ..]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Begin {
    /// Whether it only reads.
    pub read_only: bool,
    /// Its isolation; `None`: the default.
    pub isolation: Option<Isolation>,
    /// Its durability; `None`: the default.
    pub durability: Option<Durability>,
}

/// The isolation a transaction asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// As if transactions ran one after another.
    Serializable,
    /// Write conflicts only.
    Snapshot,
}

/// The durability a transaction asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// On disk when acknowledged.
    Sync,
    /// Handed to the operating system when acknowledged.
    Buffer,
}

/// What `show` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Show {
    /// `classes`
    Classes,
    /// `indexes`
    Indexes,
    /// `names`: the named roots.
    Names,
    /// `queries`: the named queries.
    Queries,
    /// `snapshots`: the ledger of open snapshots and transactions.
    Snapshots,
    /// `stats`
    Stats,
    /// `settings`
    Settings,
}

/// `define name(a: T, ..) as query`
#[derive(Debug, Clone, PartialEq)]
pub struct Define {
    /// The name.
    pub name: Name,
    /// The parameters; with none it is used without brackets.
    pub parameters: Vec<ParameterDefinition>,
    /// The query.
    pub query: Query,
}

//! The errors of Olivine, by what the caller does next.
//!
//! Plain data: nothing here knows a layer above the standard library. Each variant's `Display` is a sentence a
//! person can act on; a lower-level cause stays reachable through [`std::error::Error::source`].

use std::fmt;
use std::path::PathBuf;

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A cause kept from a lower layer, behind an opaque type so that no foreign crate shows in a signature.
pub type Cause = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What went wrong, by what the caller does next.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text of a statement is wrong, or it cannot run on this data: mend the statement.
    #[error(transparent)]
    Query(Box<QueryError>),
    /// An argument, parameter or value does not fit what the call needs: mend the call.
    #[error("{0}")]
    Argument(String),
    /// A class, attribute, index or name does not exist, or its definition does not allow this: mend the schema.
    #[error("{0}")]
    Schema(String),
    /// The object to change does not exist (any more) in this view.
    #[error("{0}")]
    NotFound(String),
    /// Another transaction committed a change to the same objects first: run the transaction again.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// The change would break a declared constraint: change the data.
    #[error(transparent)]
    Constraint(Box<Constraint>),
    /// A stated limit was passed (time, memory, size): ask for less, or raise the limit.
    #[error("{0}")]
    Limit(String),
    /// The work was cancelled, or its deadline passed.
    #[error("{0}")]
    Cancelled(String),
    /// The handle is no longer valid: its transaction has ended, or its snapshot was closed or grew too old.
    #[error("{0}")]
    Closed(String),
    /// The older state asked for is no longer kept, or was never there: ask for a newer one, or keep more of them with
    /// the option [`history`](crate::Options::history).
    #[error("{0}")]
    Expired(String),
    /// The database is open in another process.
    #[error("the database {} is open in another process; close it there, or wait", path.display())]
    Locked {
        /// The database directory.
        path: PathBuf,
    },
    /// The database cannot be written: opened read-only, or an earlier write failed.
    #[error("{0}")]
    ReadOnly(String),
    /// The disk is full; the change was not made, and reading goes on.
    #[error("no space is left on the disk while {doing}; nothing of this change was kept")]
    NoSpace {
        /// What was being done.
        doing: String,
        /// The operating system's own error.
        source: std::io::Error,
    },
    /// The directory is not an Olivine database, or its format is newer or older than this program reads.
    #[error("{0}")]
    Format(String),
    /// Stored data is damaged: restore a backup, or salvage what can be read.
    #[error(transparent)]
    Corruption(Box<Corruption>),
    /// The operating system refused a file operation.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, with the path.
        doing: String,
        /// The operating system's own error.
        source: std::io::Error,
    },
    /// The caller's own error, carried out of a [`transact`](crate::Database::transact) closure.
    #[error("{0}")]
    Other(Cause),
}

impl Error {
    /// Wraps the caller's own error, to be carried out of `transact`; get it back with [`Error::downcast_ref`].
    pub fn other(error: impl Into<Cause>) -> Self {
        Error::Other(error.into())
    }

    /// Whether running the same transaction again may succeed.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::Conflict(_))
    }

    /// The caller's own error, if this is one of type `E`.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match self {
            Error::Other(cause) => cause.downcast_ref::<E>(),
            _ => None,
        }
    }

    /// An I/O error with the sentence of what was being done; a full disk becomes [`Error::NoSpace`].
    pub fn io(doing: impl Into<String>, source: std::io::Error) -> Self {
        let doing = doing.into();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Error::NoSpace { doing, source }
            }
            _ => Error::Io { doing, source },
        }
    }

    /// Damage found in stored data.
    pub fn corruption(place: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Corruption(Box::new(Corruption {
            place: place.into(),
            what: what.into(),
        }))
    }

    /// Works out line and column of an error in a statement, where that was not done yet, from the text its span points
    /// into.
    #[must_use]
    pub fn locate(self, text: &str) -> Self {
        match self {
            Error::Query(error) if error.position.is_none() => error.locate(text).into(),
            other => other,
        }
    }

    /// PostgreSQL's SQLSTATE for this kind of error (five characters).
    pub fn code(&self) -> &'static str {
        match self {
            Error::Query(e) => e.code.sqlstate(),
            Error::Argument(_) => "22023",
            Error::Schema(_) => "42P16",
            Error::NotFound(_) => "P0002",
            Error::Conflict(_) => "40001",
            Error::Constraint(c) => c.kind.sqlstate(),
            Error::Limit(_) => "54000",
            Error::Cancelled(_) => "57014",
            Error::Closed(_) => "55000",
            Error::Expired(_) => "72000",
            Error::Locked { .. } => "55006",
            Error::ReadOnly(_) => "25006",
            Error::NoSpace { .. } => "53100",
            Error::Format(_) => "0A000",
            Error::Corruption(_) => "XX001",
            Error::Io { .. } => "58030",
            Error::Other(_) => "P0001",
        }
    }
}

/// A place in the text of a statement: bytes `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// The kind of a [`QueryError`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryErrorCode {
    /// The text does not parse.
    Syntax,
    /// No such class, named query or root.
    UnknownClass,
    /// No such attribute, range variable or label.
    UnknownName,
    /// A name that could mean two things.
    AmbiguousName,
    /// No such function, or not with these arguments.
    UnknownFunction,
    /// A parameter was not given, or an argument has no parameter.
    Parameter,
    /// Operand types do not fit.
    Type,
    /// An aggregate or group key where none may stand.
    Grouping,
    /// The name exists already.
    Duplicate,
    /// A schema change that what exists does not allow.
    Definition,
    /// Division by zero.
    DivisionByZero,
    /// A number left its range.
    OutOfRange,
    /// A value where one was needed: more than one row.
    Cardinality,
    /// A value that cannot be converted.
    InvalidValue,
    /// Nested too deeply or too long.
    TooComplex,
    /// A statement that may not stand here (such as `commit` without a transaction).
    TransactionState,
    /// Valid language that this version does not run yet.
    Unsupported,
}

impl QueryErrorCode {
    /// PostgreSQL's SQLSTATE for this kind.
    pub fn sqlstate(self) -> &'static str {
        match self {
            QueryErrorCode::Syntax => "42601",
            QueryErrorCode::UnknownClass => "42P01",
            QueryErrorCode::UnknownName => "42703",
            QueryErrorCode::AmbiguousName => "42702",
            QueryErrorCode::UnknownFunction => "42883",
            QueryErrorCode::Parameter => "42P02",
            QueryErrorCode::Type => "42804",
            QueryErrorCode::Grouping => "42803",
            QueryErrorCode::Duplicate => "42P07",
            QueryErrorCode::Definition => "42P16",
            QueryErrorCode::DivisionByZero => "22012",
            QueryErrorCode::OutOfRange => "22003",
            QueryErrorCode::Cardinality => "21000",
            QueryErrorCode::InvalidValue => "22P02",
            QueryErrorCode::TooComplex => "54001",
            QueryErrorCode::TransactionState => "25000",
            QueryErrorCode::Unsupported => "0A000",
        }
    }
}

/// A statement that is wrong, with the place in its text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QueryError {
    /// The kind.
    pub code: QueryErrorCode,
    /// One sentence, without the place.
    pub message: String,
    /// What would have been accepted, or the nearest name, as a sentence.
    pub hint: Option<String>,
    /// The bytes of the text that are meant.
    pub span: Span,
    /// One-based line and column (in characters) of the span's start, once the text is known.
    pub position: Option<(usize, usize)>,
}

impl QueryError {
    /// An error of kind `code` at `span`.
    pub fn new(code: QueryErrorCode, span: Span, message: impl Into<String>) -> Self {
        QueryError {
            code,
            message: message.into(),
            hint: None,
            span,
            position: None,
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Works out line and column from the text the span points into.
    #[must_use]
    pub fn locate(mut self, text: &str) -> Self {
        self.position = Some(line_and_column(text, self.span.start));
        self
    }
}

/// The one-based line and column (in characters) of a byte of a text.
pub(crate) fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count().saturating_add(1);
    let last = before.rsplit('\n').next().unwrap_or(before);
    (line, last.chars().count().saturating_add(1))
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some((line, column)) = self.position {
            write!(f, " (line {line}, column {column})")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for QueryError {}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        Error::Query(Box::new(error))
    }
}

/// Another transaction was faster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The objects the other commit changed that this transaction wrote or read, as text (`Person#42`); at most ten.
    pub objects: Vec<String>,
    /// Their classes.
    pub classes: Vec<String>,
    /// Attributes whose committed values differ from what this transaction started from (`Person.name`).
    pub attributes: Vec<String>,
    /// Number of the commit that was faster.
    pub commit: u64,
    /// Its time, microseconds since 1970-01-01 UTC; 0 if it is not remembered.
    pub time: i64,
    /// Its label.
    pub label: Option<String>,
    /// Set where the conflict is not about objects that both wrote: what it is about instead, such as an extent that
    /// was read.
    pub about: Option<String>,
}

impl Conflict {
    /// A conflict over `objects` with the commit `commit`.
    pub fn new(objects: Vec<String>, commit: u64) -> Self {
        Conflict {
            objects,
            classes: Vec::new(),
            attributes: Vec::new(),
            commit,
            time: 0,
            label: None,
            about: None,
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conflict with commit {}", self.commit)?;
        if let Some(label) = &self.label {
            write!(f, " ({label})")?;
        }
        if self.time > 0 {
            write!(f, " of ")?;
            write_time(self.time, f)?;
        }
        match (&self.about, self.objects.as_slice()) {
            (Some(about), []) => write!(f, " over {about}")?,
            (Some(about), objects) => write!(f, " over {about}: {}", objects.join(", "))?,
            (None, []) => {}
            (None, objects) => write!(f, " over {}", objects.join(", "))?,
        }
        if !self.attributes.is_empty() {
            write!(f, " (changed there: {})", self.attributes.join(", "))?;
        }
        f.write_str("; run the transaction again")
    }
}

/// Writes microseconds since 1970-01-01 UTC as date and time.
fn write_time(microseconds: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let seconds = microseconds.div_euclid(1_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Counted in eras of 400 years from 0000-03-01, so that leap days come last.
    let shifted = days.saturating_add(719_468);
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era.saturating_mul(400) + i64::from(month <= 2);
    write!(
        f,
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

impl std::error::Error for Conflict {}

/// The kind of a broken [`Constraint`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintKind {
    /// Two objects with one value of a unique index.
    Unique,
    /// nil in a `not null` attribute.
    NotNull,
    /// A reference to an object that is gone, or to one of another class.
    Reference,
}

impl ConstraintKind {
    /// PostgreSQL's SQLSTATE for this kind.
    pub fn sqlstate(self) -> &'static str {
        match self {
            ConstraintKind::Unique => "23505",
            ConstraintKind::NotNull => "23502",
            ConstraintKind::Reference => "23503",
        }
    }
}

/// A change that would break a declared constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constraint {
    /// The kind.
    pub kind: ConstraintKind,
    /// One sentence that names class, attribute and value.
    pub message: String,
}

impl Constraint {
    /// A broken constraint of `kind`.
    pub fn new(kind: ConstraintKind, message: impl Into<String>) -> Self {
        Constraint {
            kind,
            message: message.into(),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Constraint {}

impl From<Constraint> for Error {
    fn from(constraint: Constraint) -> Self {
        Error::Constraint(Box::new(constraint))
    }
}

impl From<Conflict> for Error {
    fn from(conflict: Conflict) -> Self {
        Error::Conflict(Box::new(conflict))
    }
}

/// Damage in stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Corruption {
    /// Where: file, offset, object.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damaged data in {}: {}", self.place, self.what)
    }
}

impl std::error::Error for Corruption {}

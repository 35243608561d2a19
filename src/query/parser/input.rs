//! What productions read from: a position among the tokens, and the state of one parse.
//!
//! The state counts how deep the text nests and how high the tree grows, so that neither passes its limit, and keeps
//! the *farthest failure*: the last token at which any production gave up, with all that would have been accepted
//! there. Productions decide by the next one or two tokens which alternative to take, and never read a stretch of
//! text twice: time is linear in the length of the text.

use std::cell::{Cell, RefCell};

use nom::error::{ErrorKind, ParseError};

use crate::error::{QueryError, QueryErrorCode, Span};
use crate::query::ast::{HEIGHT_LIMIT, NESTING_LIMIT};
use crate::query::token::{Token, TokenKind, Tokens};

/// What a production gives: the input after it, and what it read.
pub(super) type Parsed<'a, T> = nom::IResult<Input<'a>, T, Failure>;

/// Why a production gave up.
#[derive(Debug)]
pub(super) enum Failure {
    /// Something else was expected, as the state's farthest failure says; with a sentence that helps, if there is one.
    Expected(Option<&'static str>),
    /// This is wrong, whatever else might have been accepted.
    Error(Box<QueryError>),
}

impl<'a> ParseError<Input<'a>> for Failure {
    fn from_error_kind(_input: Input<'a>, _kind: ErrorKind) -> Self {
        Failure::Expected(None)
    }

    fn append(_input: Input<'a>, _kind: ErrorKind, other: Self) -> Self {
        other
    }
}

/// What would have been accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A word or symbol, as it is written.
    Text(&'static str),
    /// A rule: "a name".
    Rule(&'static str),
}

/// The last token at which a production gave up.
#[derive(Debug, Default)]
pub(super) struct Farthest {
    /// Its index.
    pub(super) at: usize,
    /// What would have been accepted.
    pub(super) expected: Vec<Expected>,
}

/// What expressions may hold where they stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Whether set operators are read: in the clauses of a `select` they end the query instead.
    pub(super) set_operators: bool,
    /// Whether the operands of a set operator may be an unbracketed `select`.
    pub(super) select_operands: bool,
}

/// The state of one parse.
pub(super) struct State<'a> {
    text: &'a str,
    tokens: &'a Tokens,
    depth: Cell<usize>,
    height: Cell<usize>,
    /// What expressions may hold now.
    pub(super) scope: Cell<Scope>,
    /// The token at which the innermost query begins.
    pub(super) query_start: Cell<usize>,
    /// Whether the innermost query had an unbracketed `select` as an operand.
    pub(super) bare_select: Cell<bool>,
    /// The token at which the statement begins.
    pub(super) statement_start: Cell<usize>,
    farthest: RefCell<Farthest>,
}

impl<'a> State<'a> {
    pub(super) fn new(text: &'a str, tokens: &'a Tokens) -> Self {
        State {
            text,
            tokens,
            depth: Cell::new(0),
            height: Cell::new(0),
            scope: Cell::new(Scope {
                set_operators: true,
                select_operands: false,
            }),
            query_start: Cell::new(usize::MAX),
            bare_select: Cell::new(false),
            statement_start: Cell::new(0),
            farthest: RefCell::default(),
        }
    }

    /// The first token.
    pub(super) fn input(&'a self) -> Input<'a> {
        Input { state: self, at: 0 }
    }

    /// The farthest failure, taken out.
    pub(super) fn take_farthest(&self) -> Farthest {
        self.farthest.take()
    }
}

/// A position among the tokens.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    /// The state of the parse.
    pub(super) state: &'a State<'a>,
    /// The index of the next token.
    pub(super) at: usize,
}

impl<'a> Input<'a> {
    /// The whole text.
    pub(super) fn whole_text(self) -> &'a str {
        self.state.text
    }

    fn token(self) -> Option<Token> {
        let tokens = &self.state.tokens.tokens;
        tokens.get(self.at).or(tokens.last()).copied()
    }

    /// The kind of the next token.
    pub(super) fn kind(self) -> TokenKind {
        self.token().map_or(TokenKind::End, |token| token.kind)
    }

    /// The place of the next token.
    pub(super) fn span(self) -> Span {
        self.token().map_or(Span::default(), Token::span)
    }

    /// The text of the next token.
    pub(super) fn text(self) -> &'a str {
        let span = self.span();
        self.state.text.get(span.start..span.end).unwrap_or_default()
    }

    /// The input after `count` tokens.
    pub(super) fn ahead(self, count: usize) -> Input<'a> {
        Input {
            state: self.state,
            at: (self.at + count).min(self.state.tokens.tokens.len().saturating_sub(1)),
        }
    }

    /// The input before the last token that was read.
    pub(super) fn back(self) -> Input<'a> {
        Input {
            state: self.state,
            at: self.at.saturating_sub(1),
        }
    }

    /// The input at token `at`.
    pub(super) fn at(self, at: usize) -> Input<'a> {
        Input {
            state: self.state,
            at,
        }
    }

    /// Whether the next token is the keyword `word`, in whatever case.
    pub(super) fn is_word(self, word: &str) -> bool {
        self.kind() == TokenKind::Word && self.text().eq_ignore_ascii_case(word)
    }

    /// Whether the next token is one of these keywords.
    pub(super) fn is_one_of(self, words: &[&str]) -> bool {
        self.kind() == TokenKind::Word && words.iter().any(|word| self.text().eq_ignore_ascii_case(word))
    }

    /// Whether the next token is of this kind.
    pub(super) fn is(self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    /// The input after the `)` that closes the `(` here; `None` if it is not closed.
    pub(super) fn after_partner(self) -> Option<Input<'a>> {
        let partner = self.state.tokens.partners.get(self.at).copied()?;
        let at = usize::try_from(partner).ok()?;
        (at > 0).then(|| self.at(at).ahead(1))
    }

    /// From this token to the last one before `rest`.
    pub(super) fn span_to(self, rest: Input<'a>) -> Span {
        if rest.at > self.at {
            self.span().to(rest.back().span())
        } else {
            self.span()
        }
    }

    /// Notes what would have been accepted here.
    pub(super) fn note(self, expected: Expected) {
        let mut farthest = self.state.farthest.borrow_mut();
        if self.at > farthest.at {
            farthest.at = self.at;
            farthest.expected.clear();
        }
        if self.at == farthest.at && !farthest.expected.contains(&expected) {
            farthest.expected.push(expected);
        }
    }

    /// Gives up: `expected` would have been accepted here.
    pub(super) fn fail<T>(self, expected: Expected) -> Parsed<'a, T> {
        self.note(expected);
        Err(nom::Err::Error(Failure::Expected(None)))
    }

    /// Gives up for good, with an error of its own.
    pub(super) fn refuse<T>(self, error: QueryError) -> Parsed<'a, T> {
        Err(nom::Err::Failure(Failure::Error(Box::new(error))))
    }

    /// Runs `parser` in `scope`.
    pub(super) fn scoped<T>(
        self,
        scope: Scope,
        parser: impl FnOnce(Input<'a>) -> Parsed<'a, T>,
    ) -> Parsed<'a, T> {
        let outer = self.state.scope.replace(scope);
        let parsed = parser(self);
        self.state.scope.set(outer);
        parsed
    }

    /// Runs `parser` one level deeper; what it reads is one level higher.
    pub(super) fn nested<T>(self, parser: impl FnOnce(Input<'a>) -> Parsed<'a, T>) -> Parsed<'a, T> {
        let state = self.state;
        let depth = state.depth.get();
        if depth > NESTING_LIMIT {
            return self.refuse(too_deep(self.span()));
        }
        state.depth.set(depth + 1);
        let parsed = self.beside(|input| {
            let (rest, parsed) = parser(input)?;
            input.raise()?;
            Ok((rest, parsed))
        });
        state.depth.set(depth);
        parsed
    }

    /// Runs `parser` for a part that lies beside the parts read before, not above them.
    pub(super) fn beside<T>(self, parser: impl FnOnce(Input<'a>) -> Parsed<'a, T>) -> Parsed<'a, T> {
        let height = self.state.height.replace(0);
        let parsed = parser(self);
        self.state.height.set(self.state.height.get().max(height));
        parsed
    }

    /// Notes one more operator above what was read.
    pub(super) fn raise(self) -> Result<(), nom::Err<Failure>> {
        let height = self.state.height.get() + 1;
        if height > HEIGHT_LIMIT {
            let error = Box::new(too_high(self.span()));
            return Err(nom::Err::Failure(Failure::Error(error)));
        }
        self.state.height.set(height);
        Ok(())
    }
}

fn too_deep(span: Span) -> QueryError {
    let message = format!("the text is nested too deeply: at most {NESTING_LIMIT} levels are read");
    QueryError::new(QueryErrorCode::TooComplex, span, message)
}

fn too_high(span: Span) -> QueryError {
    let message =
        format!("the expression is too complex: at most {HEIGHT_LIMIT} operators may build on one another");
    QueryError::new(QueryErrorCode::TooComplex, span, message)
        .hint("conditions joined by `and` or `or`, and lists, may have any length")
}

//! The lexer: text to tokens with byte spans.
//!
//! Tokens are small and hold no text: what a number, string or quoted name stands for is worked out by
//! `parser/literal.rs` when it is needed. Maximal munch, but for two cases: `.<` is one token only because no other
//! token begins so, and `Person#42` is one token only where nothing stands between its parts.

use crate::error::{QueryError, QueryErrorCode, Span};

/// The longest text that is read, in bytes.
pub const TEXT_LIMIT: usize = 16 * 1024 * 1024;

/// The reserved words, sorted: they need backquotes wherever a name may also be something else. The same list is
/// `grammar/keywords.txt`.
pub const RESERVED: [&str; 42] = [
    "all",
    "and",
    "any",
    "as",
    "between",
    "case",
    "distinct",
    "except",
    "exists",
    "false",
    "for",
    "from",
    "group",
    "having",
    "ilike",
    "in",
    "inf",
    "intersect",
    "into",
    "is",
    "join",
    "left",
    "like",
    "limit",
    "nan",
    "nil",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "returning",
    "select",
    "set",
    "some",
    "true",
    "union",
    "when",
    "where",
    "with",
];

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or keyword.
    Word,
    /// A name in backquotes.
    Quoted,
    /// `Person#42`
    Object,
    /// `$name`, `$1`
    Parameter,
    /// `'..'` or `".."`
    String,
    /// `x'00ff'`
    Bytes,
    /// `42`
    Int,
    /// `1.5`, `1e9`
    Float,
    /// `12.50d`
    Decimal,
    /// `;`
    Semicolon,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `.<`
    DotLess,
    /// `(`
    OpenParenthesis,
    /// `)`
    CloseParenthesis,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `:`
    Colon,
    /// `=`
    Equal,
    /// `!=`, `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `+`
    Plus,
    /// `+=`
    PlusEqual,
    /// `-`
    Minus,
    /// `-=`
    MinusEqual,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `||`
    Concatenate,
    /// `??`
    Coalesce,
    /// `!`
    Exclamation,
    /// The end of the text.
    End,
}

/// A token: its kind and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    start: u32,
    end: u32,
}

impl Token {
    /// The bytes it stands in.
    pub fn span(self) -> Span {
        Span::new(self.start as usize, self.end as usize)
    }
}

/// The tokens of a text; the last is [`TokenKind::End`].
#[derive(Debug)]
pub struct Tokens {
    /// In the order of the text.
    pub tokens: Vec<Token>,
    /// For each token that is a closed `(`, the index of its `)`; else 0.
    pub partners: Vec<u32>,
}

/// Why a text could not be read to its end.
#[derive(Debug)]
pub struct LexError {
    /// The error.
    pub error: QueryError,
    /// Whether more text could mend it: a string, comment or quoted name is not closed.
    pub open: bool,
}

/// Reads all tokens of `text`.
///
/// # Errors
/// The text is too long, something is not closed, or there is a character that begins no token.
pub fn tokenize(text: &str) -> Result<Tokens, LexError> {
    if text.len() > TEXT_LIMIT {
        return Err(too_long(text.len()));
    }
    let mut lexer = Lexer { text, at: 0 };
    lexer.skip_str("\u{feff}");
    let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
    loop {
        lexer.skip_blank()?;
        let start = lexer.at;
        let kind = lexer.token()?;
        tokens.push(Token {
            kind,
            start: offset(start),
            end: offset(lexer.at),
        });
        if kind == TokenKind::End {
            break;
        }
    }
    let partners = partners(&tokens);
    Ok(Tokens { tokens, partners })
}

/// Whether `word` is reserved, in whatever case.
pub fn is_reserved(word: &str) -> bool {
    word.len() <= 9
        && RESERVED
            .iter()
            .any(|reserved| reserved.eq_ignore_ascii_case(word))
}

/// Whether `text` is a word: it needs no backquotes unless it is reserved.
pub fn is_word(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(begins_word) && characters.all(unicode_ident::is_xid_continue)
}

fn begins_word(character: char) -> bool {
    character == '_' || unicode_ident::is_xid_start(character)
}

/// The position as it is kept in a token; the text limit keeps it in range.
fn offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

fn partners(tokens: &[Token]) -> Vec<u32> {
    let mut partners = vec![0; tokens.len()];
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::OpenParenthesis => open.push(index),
            TokenKind::CloseParenthesis => {
                if let Some(partner) = open.pop().and_then(|opened: usize| partners.get_mut(opened)) {
                    *partner = offset(index);
                }
            }
            TokenKind::Semicolon => open.clear(),
            _ => {}
        }
    }
    partners
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, accept: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !accept(c)).unwrap_or(rest.len());
    }

    fn skip_str(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn skip_blank(&mut self) -> Result<(), LexError> {
        loop {
            self.skip_while(char::is_whitespace);
            if self.skip_str("--") {
                self.skip_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                self.block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), LexError> {
        let start = self.at;
        self.at += 2;
        let mut depth = 1_usize;
        while depth > 0 {
            let rest = self.rest();
            let Some(next) = rest.find(['*', '/']) else {
                return Err(unclosed(start, 2, "comment", "*/"));
            };
            self.at += next;
            if self.skip_str("/*") {
                depth += 1;
            } else if self.skip_str("*/") {
                depth -= 1;
            } else {
                self.at += 1;
            }
        }
        Ok(())
    }

    fn token(&mut self) -> Result<TokenKind, LexError> {
        let Some(first) = self.peek() else {
            return Ok(TokenKind::End);
        };
        match first {
            '\'' | '"' => self.string(first),
            '`' => self.quoted(),
            '$' => self.parameter(),
            '0'..='9' => self.number(),
            'x' | 'X' if self.byte(1) == Some(b'\'') => self.bytes(),
            _ if begins_word(first) => self.word(),
            _ => self.symbol(first),
        }
    }

    fn word(&mut self) -> Result<TokenKind, LexError> {
        let start = self.at;
        self.skip_while(unicode_ident::is_xid_continue);
        self.object_or(TokenKind::Word, start)
    }

    fn object_or(&mut self, kind: TokenKind, start: usize) -> Result<TokenKind, LexError> {
        if self.byte(0) == Some(b'#') && self.byte(1).is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
            self.skip_while(|c| c.is_ascii_digit());
            self.end_of_number(start)?;
            return Ok(TokenKind::Object);
        }
        Ok(kind)
    }

    fn quoted(&mut self) -> Result<TokenKind, LexError> {
        let start = self.at;
        self.at += 1;
        loop {
            self.skip_while(|c| c != '`');
            if !self.skip_str("`") {
                return Err(unclosed(start, 1, "quoted name", "`"));
            }
            if !self.skip_str("`") {
                break;
            }
        }
        if self.at == start + 2 {
            let span = Span::new(start, self.at);
            return Err(wrong(span, "a name in backquotes is empty"));
        }
        self.object_or(TokenKind::Quoted, start)
    }

    fn string(&mut self, quote: char) -> Result<TokenKind, LexError> {
        let start = self.at;
        self.at += 1;
        loop {
            self.skip_while(|c| c != quote && c != '\\');
            if self.skip_str("\\") {
                self.at += self.peek().map_or(0, char::len_utf8);
            } else if self.peek() == Some(quote) {
                self.at += 1;
                if self.peek() != Some(quote) {
                    return Ok(TokenKind::String);
                }
                self.at += 1;
            } else {
                return Err(unclosed(start, 1, "string", &quote.to_string()));
            }
        }
    }

    fn bytes(&mut self) -> Result<TokenKind, LexError> {
        let start = self.at;
        self.at += 2;
        self.skip_while(|c| c != '\'');
        if self.skip_str("'") {
            Ok(TokenKind::Bytes)
        } else {
            Err(unclosed(start, 2, "byte string", "'"))
        }
    }

    fn parameter(&mut self) -> Result<TokenKind, LexError> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some('1'..='9') => {
                self.skip_while(|c| c.is_ascii_digit());
                self.end_of_number(start)?;
            }
            Some(first) if begins_word(first) => self.skip_while(unicode_ident::is_xid_continue),
            _ => {
                let span = Span::new(start, self.at);
                return Err(wrong(span, "a parameter is written `$name`, or `$1` and up"));
            }
        }
        Ok(TokenKind::Parameter)
    }

    fn number(&mut self) -> Result<TokenKind, LexError> {
        let start = self.at;
        self.skip_while(|c| c.is_ascii_digit());
        let mut kind = TokenKind::Int;
        if self.byte(0) == Some(b'.') && self.byte(1).is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
            self.skip_while(|c| c.is_ascii_digit());
            kind = TokenKind::Float;
        }
        if self.exponent() {
            kind = TokenKind::Float;
        } else if self.byte(0) == Some(b'd') {
            self.at += 1;
            kind = TokenKind::Decimal;
        }
        self.end_of_number(start)?;
        Ok(kind)
    }

    fn exponent(&mut self) -> bool {
        if !matches!(self.byte(0), Some(b'e' | b'E')) {
            return false;
        }
        let signed = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
        if !self.byte(1 + signed).is_some_and(|b| b.is_ascii_digit()) {
            return false;
        }
        self.at += 1 + signed;
        self.skip_while(|c| c.is_ascii_digit());
        true
    }

    /// A number must not run into a word: `12days` is a mistake, not two tokens.
    fn end_of_number(&mut self, start: usize) -> Result<(), LexError> {
        let end = self.at;
        self.skip_while(unicode_ident::is_xid_continue);
        if self.at == end {
            return Ok(());
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let message = format!("`{text}` is neither a number nor a name");
        Err(wrong(Span::new(start, self.at), message))
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind, LexError> {
        let two = self.rest().as_bytes().get(..2).and_then(two_byte_symbol);
        if let Some(kind) = two {
            self.at += 2;
            return Ok(kind);
        }
        let start = self.at;
        self.at += first.len_utf8();
        one_byte_symbol(first).ok_or_else(|| unknown_character(first, Span::new(start, self.at)))
    }
}

fn two_byte_symbol(bytes: &[u8]) -> Option<TokenKind> {
    match bytes {
        b".<" => Some(TokenKind::DotLess),
        b"!=" | b"<>" => Some(TokenKind::NotEqual),
        b"<=" => Some(TokenKind::LessOrEqual),
        b">=" => Some(TokenKind::GreaterOrEqual),
        b"+=" => Some(TokenKind::PlusEqual),
        b"-=" => Some(TokenKind::MinusEqual),
        b"||" => Some(TokenKind::Concatenate),
        b"??" => Some(TokenKind::Coalesce),
        _ => None,
    }
}

fn one_byte_symbol(character: char) -> Option<TokenKind> {
    Some(match character {
        ';' => TokenKind::Semicolon,
        ',' => TokenKind::Comma,
        '.' => TokenKind::Dot,
        '(' => TokenKind::OpenParenthesis,
        ')' => TokenKind::CloseParenthesis,
        '[' => TokenKind::OpenBracket,
        ']' => TokenKind::CloseBracket,
        '{' => TokenKind::OpenBrace,
        '}' => TokenKind::CloseBrace,
        ':' => TokenKind::Colon,
        '=' => TokenKind::Equal,
        '<' => TokenKind::Less,
        '>' => TokenKind::Greater,
        '+' => TokenKind::Plus,
        '-' => TokenKind::Minus,
        '*' => TokenKind::Star,
        '/' => TokenKind::Slash,
        '%' => TokenKind::Percent,
        '!' => TokenKind::Exclamation,
        _ => return None,
    })
}

fn too_long(length: usize) -> LexError {
    let message = format!("the text has {length} bytes; at most {TEXT_LIMIT} (16 MiB) are read at once");
    LexError {
        error: QueryError::new(QueryErrorCode::TooComplex, Span::default(), message)
            .hint("send it in parts; values can be given as parameters"),
        open: false,
    }
}

fn unclosed(start: usize, length: usize, what: &str, end: &str) -> LexError {
    let span = Span::new(start, start + length);
    let message = format!("the {what} that begins here is not closed");
    LexError {
        error: QueryError::new(QueryErrorCode::Syntax, span, message).hint(format!("it ends with `{end}`")),
        open: true,
    }
}

fn wrong(span: Span, message: impl Into<String>) -> LexError {
    LexError {
        error: QueryError::new(QueryErrorCode::Syntax, span, message),
        open: false,
    }
}

fn unknown_character(character: char, span: Span) -> LexError {
    let mut error = wrong(
        span,
        if character.is_control() {
            format!("the character U+{:04X} has no meaning here", u32::from(character))
        } else {
            format!("the character `{character}` has no meaning here")
        },
    );
    let hint = match character {
        '&' => "the conjunction is written `and`",
        '|' => "the disjunction is written `or`, and `||` joins strings",
        '?' => "a parameter is written `$name` or `$1`, and `??` gives a value in place of nil",
        '^' => "a power is written `power(a, b)`",
        '#' => "an object is written `Person#42`, without blanks",
        '\\' => "commands of the shell stand at the beginning of a line",
        '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => "strings are written with straight quotes: '..'",
        _ => return error,
    };
    error.error = error.error.hint(hint);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokenize(text)
            .unwrap()
            .tokens
            .iter()
            .map(|token| token.kind)
            .collect()
    }

    #[test]
    fn munches_the_longest_token() {
        use TokenKind::*;
        assert_eq!(kinds("a.<B.c"), [Word, DotLess, Word, Dot, Word, End]);
        assert_eq!(kinds("a.b<c"), [Word, Dot, Word, Less, Word, End]);
        assert_eq!(kinds("Person#42.x"), [Object, Dot, Word, End]);
        assert_eq!(kinds("`a b`#42"), [Object, End]);
        assert_eq!(kinds("x!=1"), [Word, NotEqual, Int, End]);
        assert_eq!(kinds("x-=1"), [Word, MinusEqual, Int, End]);
    }

    #[test]
    fn a_float_needs_a_digit_after_its_dot() {
        use TokenKind::*;
        assert_eq!(
            kinds("1.5 1.x 1 .5 1e9 1E-9 12.50d 3d"),
            [
                Float, Int, Dot, Word, Int, Dot, Int, Float, Float, Decimal, Decimal, End
            ]
        );
        assert!(tokenize("12days").is_err());
        assert!(tokenize("1e").is_err());
    }

    #[test]
    fn comments_nest_and_strings_hide_them() {
        use TokenKind::*;
        assert_eq!(
            kinds("a /* b /* c */ d */ e -- f ; g\r\n;"),
            [Word, Word, Semicolon, End]
        );
        assert_eq!(kinds("'--' \"/*\" `--`"), [String, String, Quoted, End]);
        assert_eq!(kinds("'it''s' 'it\\'s' x'00ff'"), [String, String, Bytes, End]);
        assert_eq!(kinds("\u{feff}a"), [Word, End]);
    }

    #[test]
    fn what_is_not_closed_is_named_by_its_start() {
        for (text, start) in [
            ("a 'b", 2),
            ("a /* b /* c */", 2),
            ("`a", 0),
            ("x'0", 0),
            ("'a\\", 0),
            ("\"'", 0),
        ] {
            let failed = tokenize(text).unwrap_err();
            assert!(failed.open, "{text}");
            assert_eq!(failed.error.span.start, start, "{text}");
        }
    }

    #[test]
    fn reserved_words_are_sorted_and_found_in_any_case() {
        assert!(RESERVED.is_sorted());
        assert!(RESERVED.iter().all(|word| is_word(word) && word.len() <= 9));
        assert!(is_reserved("SeLeCt") && !is_reserved("selected"));
    }
}

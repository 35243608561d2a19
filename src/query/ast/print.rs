//! Canonical text of expressions and queries.
//!
//! Keywords are lower case, one blank stands between words, brackets stand only where precedence needs them, names
//! are in backquotes only where they must be. Canonical text parses to the same tree, so it is a fixed point.

use std::fmt::{self, Write as _};

use super::{
    BinaryOperator, Expr, ExprKind, IsTest, Literal, Members, Name, Query, SetOperator, TypeName, Value,
};
use crate::object::Type;
use crate::query::parser::{SCALAR_TYPES, SPECIAL_FORMS};
use crate::query::token::{is_reserved, is_word};

/// How tightly an expression binds, loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Disjunction,
    Conjunction,
    Negation,
    Comparison,
    Coalescence,
    Union,
    Intersection,
    Additive,
    Multiplicative,
    Unary,
    Postfix,
}

/// The text so far, and what may stand at its end.
pub(super) struct Printer {
    pub(super) text: String,
    /// Whether set operators need no brackets.
    set_operators: bool,
    /// Whether no operator follows before the enclosing bracket or clause ends: a quantifier, whose body reaches as
    /// far as it can, then needs no brackets.
    last: bool,
}

impl Printer {
    pub(super) fn new() -> Self {
        Printer {
            text: String::new(),
            set_operators: true,
            last: true,
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn display(&mut self, shown: impl fmt::Display) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{shown}");
    }

    /// `items` with commas between.
    pub(super) fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            print(self, item);
        }
    }

    /// What `print` prints, in round brackets.
    pub(super) fn parenthesized(&mut self, print: impl FnOnce(&mut Self)) {
        self.push("(");
        self.scoped(true, print);
        self.push(")");
    }

    pub(super) fn scoped(&mut self, set_operators: bool, print: impl FnOnce(&mut Self)) {
        let outer = (self.set_operators, self.last);
        (self.set_operators, self.last) = (set_operators, true);
        print(self);
        (self.set_operators, self.last) = outer;
    }

    /// A name where a reserved word would be read as a keyword.
    pub(super) fn name(&mut self, name: &Name) {
        self.identifier(&name.text, is_reserved(&name.text));
    }

    fn identifier(&mut self, text: &str, quoted: bool) {
        if is_word(text) && !quoted {
            self.push(text);
        } else {
            self.push("`");
            self.push(&text.replace('`', "``"));
            self.push("`");
        }
    }

    /// A name after a dot.
    pub(super) fn attribute(&mut self, name: &Name) {
        self.identifier(&name.text, false);
    }

    pub(super) fn path(&mut self, path: &[Name]) {
        for (index, step) in path.iter().enumerate() {
            if index == 0 {
                self.name(step);
            } else {
                self.push(".");
                self.attribute(step);
            }
        }
    }

    /// An expression between delimiters of its own.
    pub(super) fn expression(&mut self, expression: &Expr) {
        self.scoped(true, |p| p.operand(expression, Level::Disjunction));
    }

    /// An expression in a clause of a `select`.
    pub(super) fn clause(&mut self, expression: &Expr) {
        self.scoped(false, |p| p.operand(expression, Level::Disjunction));
    }

    /// An expression that must bind at least as tightly as `least`.
    pub(super) fn operand(&mut self, expression: &Expr, least: Level) {
        let level = level(expression);
        let brackets = match level {
            Level::Union | Level::Intersection => level < least || !self.set_operators,
            _ if matches!(expression.kind, ExprKind::Quantified { .. }) => {
                least > Level::Negation || !self.last
            }
            _ => level < least,
        };
        if brackets {
            self.parenthesized(|p| p.kind(&expression.kind));
        } else {
            self.kind(&expression.kind);
        }
    }

    fn kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Parameter(parameter) => self.display(parameter),
            ExprKind::Object { class, serial } => {
                self.identifier(&class.text, false);
                self.display(format_args!("#{serial}"));
            }
            ExprKind::Name(name) => self.name(name),
            ExprKind::Not(operand) => self.prefix("not ", operand, Level::Negation),
            ExprKind::Negate(operand) => self.negate(operand),
            ExprKind::And(operands) => self.chain(operands, " and ", Level::Negation),
            ExprKind::Or(operands) => self.chain(operands, " or ", Level::Conjunction),
            ExprKind::Binary {
                operator,
                left,
                right,
            } => self.binary(*operator, left, right),
            ExprKind::Compare { .. }
            | ExprKind::CompareMembers { .. }
            | ExprKind::Between { .. }
            | ExprKind::In { .. }
            | ExprKind::Like { .. }
            | ExprKind::Is { .. } => self.comparison(kind),
            ExprKind::Quantified {
                all,
                variable,
                collection,
                predicate,
            } => self.quantified(*all, variable, collection, predicate),
            ExprKind::Attribute { .. }
            | ExprKind::Method { .. }
            | ExprKind::Reverse { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Index { .. }
            | ExprKind::Slice { .. }
            | ExprKind::Narrow { .. }
            | ExprKind::Filter { .. }
            | ExprKind::NotNil(_) => self.step(kind),
            _ => self.form(kind),
        }
    }

    pub(super) fn literal(&mut self, literal: &Literal) {
        match &literal.0 {
            Value::String(text) => self.string(text),
            other => self.display(other),
        }
    }

    fn string(&mut self, text: &str) {
        self.push("'");
        for character in text.chars() {
            match character {
                '\'' => self.push("''"),
                '\\' => self.push("\\\\"),
                '\n' => self.push("\\n"),
                '\t' => self.push("\\t"),
                other if other.is_control() => self.display(format_args!("\\u{{{:x}}}", u32::from(other))),
                other => self.text.push(other),
            }
        }
        self.push("'");
    }

    fn prefix(&mut self, word: &str, operand: &Expr, least: Level) {
        self.push(word);
        self.operand(operand, least);
    }

    /// Two minus signs side by side would begin a comment.
    fn negate(&mut self, operand: &Expr) {
        self.push(if level(operand) == Level::Unary { "- " } else { "-" });
        self.operand(operand, Level::Unary);
    }

    fn chain(&mut self, operands: &[Expr], word: &str, least: Level) {
        let outer = self.last;
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                self.push(word);
            }
            self.last = outer && index + 1 == operands.len();
            self.operand(operand, least);
        }
        self.last = outer;
    }

    fn binary(&mut self, operator: BinaryOperator, left: &Expr, right: &Expr) {
        let (level, tighter) = levels(operator);
        self.operand(left, level);
        self.push(" ");
        self.display(operator);
        self.push(" ");
        self.operand(right, tighter);
    }

    fn comparison(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Compare {
                operator,
                left,
                right,
            } => {
                self.operand(left, Level::Coalescence);
                self.display(format_args!(" {operator} "));
                self.operand(right, Level::Coalescence);
            }
            ExprKind::CompareMembers {
                operator,
                all,
                left,
                members,
            } => {
                self.operand(left, Level::Coalescence);
                self.display(format_args!(" {operator} {} ", if *all { "all" } else { "any" }));
                self.members(members);
            }
            ExprKind::Between {
                operand,
                negated,
                low,
                high,
            } => {
                self.tested(operand, *negated, "between");
                self.operand(low, Level::Coalescence);
                self.push(" and ");
                self.operand(high, Level::Coalescence);
            }
            ExprKind::In {
                operand,
                negated,
                members,
            } => {
                self.tested(operand, *negated, "in");
                self.members(members);
            }
            ExprKind::Like {
                operand,
                negated,
                ignore_case,
                pattern,
                escape,
            } => {
                self.tested(operand, *negated, if *ignore_case { "ilike" } else { "like" });
                self.operand(pattern, Level::Coalescence);
                if let Some(escape) = escape {
                    self.push(" escape ");
                    self.operand(escape, Level::Coalescence);
                }
            }
            ExprKind::Is {
                operand,
                negated,
                test,
            } => self.is(operand, *negated, test),
            _ => {}
        }
    }

    fn tested(&mut self, operand: &Expr, negated: bool, verb: &str) {
        self.operand(operand, Level::Coalescence);
        self.push(if negated { " not " } else { " " });
        self.push(verb);
        self.push(" ");
    }

    fn is(&mut self, operand: &Expr, negated: bool, test: &IsTest) {
        self.operand(operand, Level::Coalescence);
        self.push(if negated { " is not " } else { " is " });
        match test {
            IsTest::Nil => self.push("nil"),
            IsTest::Empty => self.push("empty"),
            IsTest::Dangling => self.push("dangling"),
            IsTest::Class(class) => {
                let word = class.text.to_ascii_lowercase();
                let taken = matches!(word.as_str(), "empty" | "dangling");
                self.identifier(&class.text, taken || is_reserved(&word));
            }
        }
    }

    fn members(&mut self, members: &Members) {
        match members {
            Members::Of(collection) => self.operand(collection, Level::Coalescence),
            Members::One(value) => self.parenthesized(|p| p.expression(value)),
            Members::List(list) => self.parenthesized(|p| p.list(list, Self::expression)),
            Members::Values(values) => self.parenthesized(|p| p.list(values, Self::literal)),
            Members::Query(query) => self.parenthesized(|p| p.query(query)),
        }
    }

    fn quantified(&mut self, all: bool, variable: &Name, collection: &Expr, predicate: &Expr) {
        self.push(if all { "for all " } else { "exists " });
        self.name(variable);
        self.push(" in ");
        self.operand(collection, Level::Coalescence);
        self.push(": ");
        self.operand(predicate, Level::Disjunction);
    }

    /// Operands with words or brackets of their own.
    fn form(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Exists(query) => {
                self.push("exists");
                self.parenthesized(|p| p.query(query));
            }
            ExprKind::Subquery(query) => self.parenthesized(|p| p.query(query)),
            ExprKind::Case { .. } => self.case(kind),
            ExprKind::Cast { operand, r#type } => {
                self.push("cast(");
                self.expression(operand);
                self.push(" as ");
                self.r#type(&r#type.r#type);
                self.push(")");
            }
            ExprKind::CountRows => self.push("count(*)"),
            ExprKind::Call {
                function,
                distinct,
                arguments,
            } => self.call(function, *distinct, arguments),
            ExprKind::Collection { kind, members } => {
                self.display(kind);
                self.parenthesized(|p| p.list(members, Self::expression));
            }
            ExprKind::Map(entries) => {
                self.push("map");
                self.parenthesized(|p| {
                    p.list(entries, |p, entry| {
                        p.expression(&entry.key);
                        p.push(": ");
                        p.expression(&entry.value);
                    });
                });
            }
            ExprKind::Struct(fields) => {
                self.push("struct");
                self.fields(fields);
            }
            _ => {}
        }
    }

    pub(super) fn fields(&mut self, fields: &[super::Field]) {
        self.parenthesized(|p| {
            p.list(fields, |p, field| {
                p.name(&field.name);
                p.push(": ");
                p.expression(&field.value);
            });
        });
    }

    fn case(&mut self, kind: &ExprKind) {
        let ExprKind::Case {
            operand,
            branches,
            otherwise,
        } = kind
        else {
            return;
        };
        self.push("case");
        if let Some(operand) = operand {
            self.push(" ");
            self.expression(operand);
        }
        for branch in branches {
            self.push(" when ");
            self.expression(&branch.when);
            self.push(" then ");
            self.expression(&branch.then);
        }
        if let Some(otherwise) = otherwise {
            self.push(" else ");
            self.expression(otherwise);
        }
        self.push(" end");
    }

    fn call(&mut self, function: &Name, distinct: bool, arguments: &[Expr]) {
        let word = function.text.to_ascii_lowercase();
        // `count(a)` is a call like any other: only `count(*)` is a form of its own.
        let special = word != "count" && SPECIAL_FORMS.contains(&word.as_str());
        self.identifier(
            &function.text,
            special || is_reserved(&word) && word != "distinct",
        );
        self.push("(");
        if distinct {
            self.push("distinct ");
        }
        let start = self.text.len();
        match arguments {
            [
                Expr {
                    kind: ExprKind::Subquery(query),
                    ..
                },
            ] if !distinct => self.scoped(true, |p| p.query(query)),
            _ => self.list(arguments, Self::expression),
        }
        self.hide_distinct(start);
        self.push(")");
    }

    /// A projection or argument that begins with a call of `distinct` would be read as the keyword.
    pub(super) fn hide_distinct(&mut self, start: usize) {
        self.hide_call(start, "distinct");
    }

    pub(super) fn r#type(&mut self, r#type: &Type) {
        match r#type {
            Type::Reference(class) => {
                let scalar = SCALAR_TYPES
                    .iter()
                    .any(|(word, _)| word.eq_ignore_ascii_case(class));
                self.identifier(class, scalar || is_reserved(class));
            }
            Type::List(member) => self.type_of("list", &[member]),
            Type::Set(member) => self.type_of("set", &[member]),
            Type::Bag(member) => self.type_of("bag", &[member]),
            Type::Map(key, value) => self.type_of("map", &[key, value]),
            Type::Struct(fields) => {
                self.push("struct");
                self.parenthesized(|p| {
                    p.list(fields, |p, (name, r#type)| {
                        p.identifier(name, is_reserved(name));
                        p.push(": ");
                        p.r#type(r#type);
                    });
                });
            }
            scalar => self.display(scalar),
        }
    }

    fn type_of(&mut self, word: &str, parameters: &[&Type]) {
        self.push(word);
        self.push("<");
        self.list(parameters, |p, parameter| p.r#type(parameter));
        self.push(">");
    }
}

fn level(expression: &Expr) -> Level {
    match &expression.kind {
        ExprKind::Or(_) | ExprKind::Quantified { .. } => Level::Disjunction,
        ExprKind::And(_) => Level::Conjunction,
        ExprKind::Not(_) => Level::Negation,
        ExprKind::Compare { .. }
        | ExprKind::CompareMembers { .. }
        | ExprKind::Between { .. }
        | ExprKind::In { .. }
        | ExprKind::Like { .. }
        | ExprKind::Is { .. } => Level::Comparison,
        ExprKind::Binary { operator, .. } => levels(*operator).0,
        ExprKind::Negate(_) => Level::Unary,
        ExprKind::Literal(literal) if is_negative(&literal.0) => Level::Unary,
        _ => Level::Postfix,
    }
}

fn is_negative(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number < 0,
        Value::Float(number) => number.is_sign_negative() && !number.is_nan(),
        Value::Decimal(number) => number.is_sign_negative(),
        _ => false,
    }
}

/// The level of an operator, which is that of its left operand, and the level of its right operand.
fn levels(operator: BinaryOperator) -> (Level, Level) {
    match operator {
        BinaryOperator::Coalesce => (Level::Coalescence, Level::Union),
        BinaryOperator::Set { operator, .. } => set_levels(operator),
        BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Concatenate => {
            (Level::Additive, Level::Multiplicative)
        }
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Remainder => {
            (Level::Multiplicative, Level::Unary)
        }
    }
}

pub(super) fn set_levels(operator: SetOperator) -> (Level, Level) {
    match operator {
        SetOperator::Union | SetOperator::Except => (Level::Union, Level::Intersection),
        SetOperator::Intersect => (Level::Intersection, Level::Additive),
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new();
        printer.expression(self);
        f.write_str(&printer.text)
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new();
        printer.query(self);
        f.write_str(&printer.text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new();
        printer.name(self);
        f.write_str(&printer.text)
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new();
        printer.r#type(&self.r#type);
        f.write_str(&printer.text)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new();
        printer.literal(self);
        f.write_str(&printer.text)
    }
}

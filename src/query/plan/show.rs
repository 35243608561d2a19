//! Expressions as text, close to OQL, for `explain` and messages.

use std::fmt;

use super::expression::{Expression, ExpressionKind, Subquery, SubqueryForm};
use crate::object::{Type, Value};

/// How tightly an expression's outermost operator binds; larger is tighter.
fn tightness(kind: &ExpressionKind) -> u8 {
    use ExpressionKind as K;
    match kind {
        K::Quantifier { .. } => 0,
        K::Or(_) => 1,
        K::And(_) => 2,
        K::Not(_) => 3,
        K::Compare { .. } | K::CompareMembers { .. } | K::Between { .. } | K::InSet { .. } => 4,
        K::InList { .. } | K::InCollection { .. } | K::Like { .. } | K::LikeDynamic { .. } => 4,
        K::IsNil(_) | K::IsEmpty(_) | K::IsDangling(_) | K::IsClass { .. } => 4,
        K::Subquery(subquery) => match subquery.form {
            SubqueryForm::In(_) | SubqueryForm::Compare { .. } => 4,
            _ => 12,
        },
        K::Coalesce(_) => 5,
        K::SetOperation { .. } | K::Include { .. } | K::Exclude { .. } => 6,
        K::Arithmetic { operator, .. } => match operator {
            super::Arithmetic::Add | super::Arithmetic::Subtract => 8,
            _ => 9,
        },
        K::Concatenate(..) => 8,
        K::Negate(_) => 10,
        _ => 12,
    }
}

/// An operand, in brackets if it binds less tightly than `least`.
struct Operand<'a>(&'a Expression, u8);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if tightness(&self.0.kind) < self.1 {
            write!(f, "({})", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// Items with a separator between them.
pub(super) struct Joined<'a, T>(pub &'a [T], pub &'static str);

impl<T: fmt::Display> fmt::Display for Joined<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, item) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(self.1)?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ExpressionKind as K;
        match &self.kind {
            K::Constant(value) => constant(f, value, &self.r#type),
            K::Parameter { name, .. } => write!(f, "${name}"),
            K::Column(column) => f.write_str(&column.name),
            K::Attribute { base, name, .. }
            | K::DynamicAttribute { base, name }
            | K::Field { base, name, .. } => write!(f, "{}.{name}", Operand(base, 12)),
            K::Index { base, index } => write!(f, "{}[{index}]", Operand(base, 12)),
            K::Slice { base, from, to } => {
                write!(
                    f,
                    "{}[{}:{}]",
                    Operand(base, 12),
                    Maybe(from.as_deref()),
                    Maybe(to.as_deref())
                )
            }
            K::Subquery(subquery) => subquery_text(f, subquery),
            K::Collection(_) | K::MapOf(_) | K::Struct(_) | K::Call { .. } | K::Aggregate { .. } => {
                bracketed(f, self)
            }
            K::Quantifier { .. }
            | K::Select { .. }
            | K::Map { .. }
            | K::Closure { .. }
            | K::Reverse { .. } => over_members(f, self),
            K::Case { .. } | K::CaseOf { .. } => case(f, self),
            K::Let {
                variable,
                value,
                body,
            } => write!(f, "(let {} = {value}: {body})", variable.name),
            _ => operator(f, self),
        }
    }
}

/// An optional expression; empty if absent.
struct Maybe<'a>(Option<&'a Expression>);

impl fmt::Display for Maybe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(expression) => write!(f, "{expression}"),
            None => Ok(()),
        }
    }
}

fn operator(f: &mut fmt::Formatter<'_>, expression: &Expression) -> fmt::Result {
    use ExpressionKind as K;
    let level = tightness(&expression.kind);
    let tighter = level.saturating_add(1);
    match &expression.kind {
        K::Negate(operand) => write!(f, "-{}", Operand(operand, 11)),
        K::Arithmetic {
            operator,
            left,
            right,
        } => {
            write!(
                f,
                "{} {operator} {}",
                Operand(left, level),
                Operand(right, tighter)
            )
        }
        K::Concatenate(left, right) => {
            write!(f, "{} || {}", Operand(left, level), Operand(right, tighter))
        }
        K::SetOperation {
            operator,
            all,
            left,
            right,
        } => {
            let all = if *all { " all" } else { "" };
            write!(
                f,
                "{} {operator}{all} {}",
                Operand(left, level),
                Operand(right, tighter)
            )
        }
        K::Include {
            collection, value, ..
        } => {
            write!(
                f,
                "{} += {}",
                Operand(collection, tighter),
                Operand(value, tighter)
            )
        }
        K::Exclude {
            collection, value, ..
        } => {
            write!(
                f,
                "{} -= {}",
                Operand(collection, tighter),
                Operand(value, tighter)
            )
        }
        K::Coalesce(operands) => chain(f, operands, " ?? ", tighter),
        K::And(operands) => chain(f, operands, " and ", tighter),
        K::Or(operands) => chain(f, operands, " or ", tighter),
        K::Not(operand) => write!(f, "not {}", Operand(operand, 4)),
        K::Require(value) => write!(f, "{}!", Operand(value, 12)),
        K::Narrow { value, class, .. } => write!(f, "{}[is {class}]", Operand(value, 12)),
        K::Cast(value) => write!(f, "cast({value} as {})", expression.r#type),
        _ => test(f, &expression.kind),
    }
}

fn chain(
    f: &mut fmt::Formatter<'_>,
    operands: &[Expression],
    separator: &'static str,
    least: u8,
) -> fmt::Result {
    let operands: Vec<Operand<'_>> = operands.iter().map(|operand| Operand(operand, least)).collect();
    write!(f, "{}", Joined(&operands, separator))
}

/// What gives true or false of one value.
fn test(f: &mut fmt::Formatter<'_>, kind: &ExpressionKind) -> fmt::Result {
    use ExpressionKind as K;
    match kind {
        K::Compare {
            operator,
            left,
            right,
        } => {
            write!(f, "{} {operator} {}", Operand(left, 5), Operand(right, 5))
        }
        K::CompareMembers {
            operator,
            left,
            all,
            collection,
        } => {
            let quantifier = if *all { "all" } else { "any" };
            write!(
                f,
                "{} {operator} {quantifier} {}",
                Operand(left, 5),
                Operand(collection, 5)
            )
        }
        K::Between { value, low, high } => {
            write!(
                f,
                "{} between {} and {}",
                Operand(value, 5),
                Operand(low, 5),
                Operand(high, 5)
            )
        }
        K::InSet {
            value,
            members,
            has_nil,
        } => set_membership(f, value, members, *has_nil),
        K::InList { value, members } => write!(f, "{} in ({})", Operand(value, 5), Joined(members, ", ")),
        K::InCollection { value, collection } => {
            write!(f, "{} in {}", Operand(value, 5), Operand(collection, 5))
        }
        K::Like { .. } | K::LikeDynamic { .. } => like(f, kind),
        K::IsNil(value) => write!(f, "{} is nil", Operand(value, 5)),
        K::IsEmpty(value) => write!(f, "{} is empty", Operand(value, 5)),
        K::IsDangling(value) => write!(f, "{} is dangling", Operand(value, 5)),
        K::IsClass { value, class, .. } => write!(f, "{} is {class}", Operand(value, 5)),
        _ => Ok(()),
    }
}

fn like(f: &mut fmt::Formatter<'_>, kind: &ExpressionKind) -> fmt::Result {
    let word = |ignore_case: bool| if ignore_case { "ilike" } else { "like" };
    match kind {
        ExpressionKind::Like {
            value,
            pattern,
            ignore_case,
        } => {
            write!(f, "{} {} {pattern}", Operand(value, 5), word(*ignore_case))
        }
        ExpressionKind::LikeDynamic {
            value,
            pattern,
            escape,
            ignore_case,
        } => {
            write!(
                f,
                "{} {} {}",
                Operand(value, 5),
                word(*ignore_case),
                Operand(pattern, 5)
            )?;
            match escape {
                Some(escape) => write!(f, " escape {}", Operand(escape, 5)),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// `x in (1, 2, ... 998 more)`: a plan stays readable with a million members.
fn set_membership(
    f: &mut fmt::Formatter<'_>,
    value: &Expression,
    members: &[Value],
    has_nil: bool,
) -> fmt::Result {
    const SHOWN: usize = 8;
    write!(f, "{} in (", Operand(value, 5))?;
    for (position, member) in members.iter().take(SHOWN).enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        constant(f, member, &value.r#type)?;
    }
    if members.len() > SHOWN {
        write!(f, ", ... {} more", members.len().saturating_sub(SHOWN))?;
    }
    if has_nil {
        f.write_str(if members.is_empty() { "nil" } else { ", nil" })?;
    }
    f.write_str(")")
}

fn bracketed(f: &mut fmt::Formatter<'_>, expression: &Expression) -> fmt::Result {
    use ExpressionKind as K;
    match &expression.kind {
        K::Collection(members) => {
            let kind = match &expression.r#type {
                Type::Set(_) => "set",
                Type::Bag(_) => "bag",
                _ => "list",
            };
            write!(f, "{kind}({})", Joined(members, ", "))
        }
        K::MapOf(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{key}: {value}"))
                .collect();
            write!(f, "map({})", Joined(&entries, ", "))
        }
        K::Struct(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            write!(f, "struct({})", Joined(&fields, ", "))
        }
        K::Call { name, arguments, .. } => write!(f, "{name}({})", Joined(arguments, ", ")),
        K::Aggregate {
            function,
            distinct,
            collection,
        } => {
            let distinct = if *distinct { "distinct " } else { "" };
            write!(f, "{function}({distinct}{collection})")
        }
        _ => Ok(()),
    }
}

fn over_members(f: &mut fmt::Formatter<'_>, expression: &Expression) -> fmt::Result {
    use ExpressionKind as K;
    match &expression.kind {
        K::Quantifier {
            all,
            variable,
            collection,
            predicate,
        } => {
            let quantifier = if *all { "for all" } else { "exists" };
            write!(
                f,
                "{quantifier} {} in {}: {predicate}",
                variable.name,
                Operand(collection, 5)
            )
        }
        K::Select {
            collection,
            predicate,
            ..
        } => {
            write!(f, "{}[where {predicate}]", Operand(collection, 12))
        }
        K::Map {
            collection,
            variable,
            body,
        } => match attribute_of(body, variable) {
            Some(name) => write!(f, "{}.{name}", Operand(collection, 12)),
            None => write!(f, "{}.({body})", Operand(collection, 12)),
        },
        K::Closure {
            start,
            step,
            minimum,
            maximum,
            ..
        } => {
            let maximum = maximum.map(|maximum| maximum.to_string()).unwrap_or_default();
            write!(f, "{}.({step}){{{minimum},{maximum}}}", Operand(start, 12))
        }
        K::Reverse {
            base,
            class,
            attribute,
            index,
            ..
        } => {
            let how = if index.is_some() { "" } else { " /* scan */" };
            write!(f, "{}.<{class}.{attribute}{how}", Operand(base, 12))
        }
        _ => Ok(()),
    }
}

/// The attribute's name, if `body` is just an attribute of `variable`.
fn attribute_of<'a>(body: &'a Expression, variable: &super::Column) -> Option<&'a str> {
    use ExpressionKind as K;
    match &body.kind {
        K::Attribute { base, name, .. }
        | K::DynamicAttribute { base, name }
        | K::Field { base, name, .. } => (base.as_column() == Some(variable)).then_some(&**name),
        _ => None,
    }
}

fn case(f: &mut fmt::Formatter<'_>, expression: &Expression) -> fmt::Result {
    use ExpressionKind as K;
    f.write_str("case")?;
    if let K::CaseOf { operand, .. } = &expression.kind {
        write!(f, " {operand}")?;
    }
    let (K::Case { branches, otherwise }
    | K::CaseOf {
        branches, otherwise, ..
    }) = &expression.kind
    else {
        return Ok(());
    };
    for (condition, value) in branches {
        write!(f, " when {condition} then {value}")?;
    }
    if let Some(otherwise) = otherwise {
        write!(f, " else {otherwise}")?;
    }
    f.write_str(" end")
}

/// A subquery is its number; the plan is shown below the node.
fn subquery_text(f: &mut fmt::Formatter<'_>, subquery: &Subquery) -> fmt::Result {
    let number = subquery.number;
    match &subquery.form {
        SubqueryForm::Element => write!(f, "(query {number})"),
        SubqueryForm::Exists => write!(f, "exists(query {number})"),
        SubqueryForm::In(value) => write!(f, "{} in (query {number})", Operand(value, 5)),
        SubqueryForm::Compare { operator, left, all } => {
            let quantifier = if *all { "all" } else { "any" };
            write!(f, "{} {operator} {quantifier} (query {number})", Operand(left, 5))
        }
        SubqueryForm::Collection => write!(f, "rows(query {number})"),
    }
}

/// A constant as a literal.
fn constant(f: &mut fmt::Formatter<'_>, value: &Value, r#type: &Type) -> fmt::Result {
    match value {
        Value::Nil => f.write_str("nil"),
        Value::Bool(value) => write!(f, "{value}"),
        Value::Int(value) => write!(f, "{value}"),
        Value::Float(value) => write!(f, "{value:?}"),
        Value::Decimal(value) => write!(f, "{value}d"),
        Value::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
        Value::Bytes(bytes) => {
            f.write_str("x'")?;
            for byte in bytes.iter() {
                write!(f, "{byte:02x}")?;
            }
            f.write_str("'")
        }
        Value::Reference(oid) => match r#type {
            Type::Reference(class) => write!(f, "{class}#{}", oid.serial()),
            _ => write!(f, "{oid:?}"),
        },
        other => write!(f, "{}", Literal(other, r#type)),
    }
}

/// A constant that is no plain literal: a collection, struct, or time.
struct Literal<'a>(&'a Value, &'a Type);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, members) = match self.0 {
            Value::List(members) => ("list", members),
            Value::Set(members) => ("set", members),
            Value::Bag(members) => ("bag", members),
            other => return write!(f, "{} {other:?}", self.1),
        };
        write!(f, "{kind}(")?;
        for (position, member) in members.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            constant(f, member, self.1.member().unwrap_or(&Type::Any))?;
        }
        f.write_str(")")
    }
}

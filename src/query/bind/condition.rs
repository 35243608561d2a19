//! What gives true, false or unknown: comparisons, `in`, `like`, `is`, `and`, `or`, `not` and quantifiers.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::scope::Scope;
use super::types::{comparable, is_collection, type_error, type_of};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::{Type, Value};
use crate::query::ast::{self, ComparisonOperator, ExprKind, IsTest, Members};
use crate::query::plan::{Comparison, Expression, ExpressionKind, LikePattern};

impl<'a> Binder<'a> {
    pub(super) fn condition(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Not(operand) => Ok(negation(self.predicate(operand)?, span)),
            ExprKind::And(operands) => Ok(truth(ExpressionKind::And(self.predicates(operands)?), span)),
            ExprKind::Or(operands) => Ok(truth(ExpressionKind::Or(self.predicates(operands)?), span)),
            ExprKind::Compare {
                operator,
                left,
                right,
            } => self.compare(*operator, left, right, span),
            ExprKind::CompareMembers {
                operator,
                all,
                left,
                members,
            } => {
                let left = self.expression(left)?;
                self.compare_members(comparison(*operator), *all, left, members, span)
            }
            ExprKind::Between {
                operand,
                negated,
                low,
                high,
            } => {
                let between = self.between(operand, low, high, span)?;
                Ok(maybe_not(between, *negated))
            }
            ExprKind::In {
                operand,
                negated,
                members,
            } => {
                let value = self.expression(operand)?;
                let within = self.in_members(value, members, span)?;
                Ok(maybe_not(within, *negated))
            }
            ExprKind::Like { negated, .. } => Ok(maybe_not(self.like(expr)?, *negated)),
            ExprKind::Is {
                operand,
                negated,
                test,
            } => Ok(maybe_not(self.is_test(operand, test, span)?, *negated)),
            ExprKind::Quantified { .. } => self.quantified(expr),
            _ => self.expression(expr),
        }
    }

    /// Binds an expression that must give true, false or unknown.
    pub(super) fn predicate(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let mut bound = self.expression(expr)?;
        self.expect(&mut bound, &Type::Bool);
        match bound.r#type {
            Type::Bool | Type::Any => Ok(bound),
            ref other => Err(type_error(
                expr.span,
                format!("a condition is needed here, but this is of type {other}"),
            )),
        }
    }

    fn predicates(&mut self, exprs: &'a [ast::Expr]) -> Bound<Vec<Expression>> {
        exprs.iter().map(|expr| self.predicate(expr)).collect()
    }

    fn compare(
        &mut self,
        operator: ComparisonOperator,
        left: &'a ast::Expr,
        right: &'a ast::Expr,
        span: Span,
    ) -> Bound<Expression> {
        let (mut left, mut right) = (self.expression(left)?, self.expression(right)?);
        let operator = comparison(operator);
        self.check_comparable(&operator.to_string(), &mut left, &mut right, span)?;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(truth(
            ExpressionKind::Compare {
                operator,
                left,
                right,
            },
            span,
        ))
    }

    /// Refuses a comparison of types that do not compare, and tells parameters what they are compared with.
    pub(super) fn check_comparable(
        &mut self,
        operator: &str,
        left: &mut Expression,
        right: &mut Expression,
        span: Span,
    ) -> Bound<()> {
        self.expect_alike(left, right);
        if comparable(&left.r#type, &right.r#type, self.catalog) {
            return Ok(());
        }
        let (a, b) = (&left.r#type, &right.r#type);
        let error = type_error(
            span,
            format!("{a} {operator} {b}: values of these types do not compare"),
        );
        Err(match (a, b) {
            (Type::String, other) | (other, Type::String) if is_literal_type(other) => {
                error.hint(format!("write the literal as {other} '..'"))
            }
            _ => error,
        })
    }

    /// Tells parameters the type of what they are compared with.
    fn expect_alike(&mut self, left: &mut Expression, right: &mut Expression) {
        self.expect(left, &right.r#type);
        self.expect(right, &left.r#type);
    }

    fn between(
        &mut self,
        operand: &'a ast::Expr,
        low: &'a ast::Expr,
        high: &'a ast::Expr,
        span: Span,
    ) -> Bound<Expression> {
        let mut value = self.expression(operand)?;
        let (mut low, mut high) = (self.expression(low)?, self.expression(high)?);
        let (low_span, high_span) = (low.span, high.span);
        self.check_comparable(">=", &mut value, &mut low, low_span)?;
        self.check_comparable("<=", &mut value, &mut high, high_span)?;
        let kind = ExpressionKind::Between {
            value: Box::new(value),
            low: Box::new(low),
            high: Box::new(high),
        };
        Ok(truth(kind, span))
    }

    /// `value in members`. Members that do not compare with the value are allowed: they do not equal it.
    fn in_members(&mut self, mut value: Expression, members: &'a Members, span: Span) -> Bound<Expression> {
        match members {
            Members::Values(literals) => self.in_set(value, literals, span),
            Members::List(exprs) => {
                let mut members = self.expressions(exprs)?;
                for member in &mut members {
                    self.expect_alike(&mut value, member);
                }
                let value = Box::new(value);
                Ok(truth(ExpressionKind::InList { value, members }, span))
            }
            Members::Query(query) => self.in_query(value, query, span),
            Members::Of(expr) => {
                let collection = self.collection(expr)?;
                self.in_collection(value, collection, span)
            }
            Members::One(expr) => {
                let mut collection = self.collection(expr)?;
                if is_collection(&collection.r#type) || collection.r#type == Type::Any {
                    return self.in_collection(value, collection, span);
                }
                self.expect_alike(&mut value, &mut collection);
                let members = vec![collection];
                let value = Box::new(value);
                Ok(truth(ExpressionKind::InList { value, members }, span))
            }
        }
    }

    /// `value in (1, 2, 3)`: the members become a sorted set at once, however many there are.
    fn in_set(&mut self, mut value: Expression, literals: &[ast::Literal], span: Span) -> Bound<Expression> {
        for literal in literals {
            self.expect(&mut value, &type_of(&literal.0, self.catalog));
        }
        let has_nil = literals.iter().any(|literal| literal.0.is_nil());
        let nan = |value: &Value| matches!(value, Value::Float(float) if float.is_nan());
        let wanted = literals
            .iter()
            .filter(|literal| !literal.0.is_nil() && !nan(&literal.0));
        let mut members: Vec<Value> = wanted.map(|literal| literal.0.clone()).collect();
        members.sort_unstable();
        members.dedup();
        let kind = ExpressionKind::InSet {
            value: Box::new(value),
            members: members.into(),
            has_nil,
        };
        Ok(truth(kind, span))
    }

    fn in_collection(
        &mut self,
        mut value: Expression,
        mut collection: Expression,
        span: Span,
    ) -> Bound<Expression> {
        if value.r#type != Type::Any {
            self.expect(&mut collection, &Type::list(value.r#type.clone()));
        }
        match collection.r#type.member() {
            Some(member) => self.expect(&mut value, &member.clone()),
            None if collection.r#type == Type::Any => {}
            None => {
                let message = format!("in needs a collection, but this is of type {}", collection.r#type);
                return Err(type_error(collection.span, message));
            }
        }
        let (value, collection) = (Box::new(value), Box::new(collection));
        Ok(truth(ExpressionKind::InCollection { value, collection }, span))
    }

    /// Refuses a value that cannot equal members of this type.
    pub(super) fn check_member(
        &mut self,
        operator: &str,
        value: &mut Expression,
        member: &Type,
        span: Span,
    ) -> Bound<()> {
        self.expect(value, member);
        if comparable(&value.r#type, member, self.catalog) {
            return Ok(());
        }
        let message = format!(
            "{} {operator} a collection of {member}: they do not compare",
            value.r#type
        );
        Err(type_error(span, message))
    }

    fn compare_members(
        &mut self,
        operator: Comparison,
        all: bool,
        mut left: Expression,
        members: &'a Members,
        span: Span,
    ) -> Bound<Expression> {
        let collection = match members {
            Members::Query(query) => return self.compare_query(operator, all, left, query, span),
            Members::Of(expr) | Members::One(expr) => self.collection(expr)?,
            Members::List(exprs) => {
                let members = self.expressions(exprs)?;
                self.collection_of(ast::CollectionKind::List, members, span)
            }
            Members::Values(literals) => {
                let members: Arc<[Value]> = literals.iter().map(|literal| literal.0.clone()).collect();
                let value = Value::List(members);
                let r#type = type_of(&value, self.catalog);
                Expression::new(ExpressionKind::Constant(value), r#type, span)
            }
        };
        match collection.r#type.member() {
            Some(member) => self.check_member(&operator.to_string(), &mut left, &member.clone(), span)?,
            None if collection.r#type == Type::Any => {}
            None => {
                let message = format!(
                    "a collection is needed here, but this is of type {}",
                    collection.r#type
                );
                return Err(type_error(collection.span, message));
            }
        }
        let kind = ExpressionKind::CompareMembers {
            operator,
            left: Box::new(left),
            all,
            collection: Box::new(collection),
        };
        Ok(truth(kind, span))
    }

    fn like(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let ExprKind::Like {
            operand,
            ignore_case,
            pattern,
            escape,
            ..
        } = &expr.kind
        else {
            return self.expression(expr);
        };
        let value = self.text(operand)?;
        let pattern = self.text(pattern)?;
        let escape = escape.as_deref().map(|escape| self.text(escape)).transpose()?;
        let ignore_case = *ignore_case;
        let value = Box::new(value);
        if let Some(parsed) = constant_pattern(&pattern, escape.as_ref())? {
            let kind = ExpressionKind::Like {
                value,
                pattern: parsed,
                ignore_case,
            };
            return Ok(truth(kind, expr.span));
        }
        let kind = ExpressionKind::LikeDynamic {
            value,
            pattern: Box::new(pattern),
            escape: escape.map(Box::new),
            ignore_case,
        };
        Ok(truth(kind, expr.span))
    }

    /// Binds an expression that must be a string.
    fn text(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let mut text = self.expression(expr)?;
        self.expect(&mut text, &Type::String);
        match text.r#type {
            Type::String | Type::Any => Ok(text),
            ref other => Err(type_error(
                expr.span,
                format!("like needs strings, but this is of type {other}"),
            )),
        }
    }

    fn is_test(&mut self, operand: &'a ast::Expr, test: &'a IsTest, span: Span) -> Bound<Expression> {
        let value = match test {
            IsTest::Empty => self.collection(operand)?,
            _ => self.expression(operand)?,
        };
        let r#type = value.r#type.clone();
        let value = Box::new(value);
        let reference = matches!(r#type, Type::Reference(_) | Type::Any);
        match test {
            IsTest::Nil => Ok(truth(ExpressionKind::IsNil(value), span)),
            IsTest::Empty => match r#type {
                Type::List(_) | Type::Set(_) | Type::Bag(_) | Type::Map(..) | Type::String | Type::Any => {
                    Ok(truth(ExpressionKind::IsEmpty(value), span))
                }
                other => Err(type_error(
                    span,
                    format!("is empty needs a collection, but this is of type {other}"),
                )),
            },
            IsTest::Dangling if reference => Ok(truth(ExpressionKind::IsDangling(value), span)),
            IsTest::Class(class) if reference => {
                let Some(found) = self.catalog.class(&class.text) else {
                    return Err(self.unknown_class(class));
                };
                let kind = ExpressionKind::IsClass {
                    value,
                    class: found.name.clone(),
                    classes: found.family.clone(),
                };
                Ok(truth(kind, span))
            }
            IsTest::Dangling | IsTest::Class(_) => Err(type_error(
                span,
                format!("an object is needed here, but this is of type {type}"),
            )),
        }
    }

    fn quantified(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let ExprKind::Quantified {
            all,
            variable,
            collection,
            predicate,
        } = &expr.kind
        else {
            return self.expression(expr);
        };
        let collection = self.collection(collection)?;
        let member = self.member_of(&collection)?;
        let column = self.column(variable.text.clone(), member);
        let scope = Scope::variable(variable.text.clone(), column.clone());
        let (predicate, _) = self.within(scope, |binder| binder.predicate(predicate))?;
        let kind = ExpressionKind::Quantifier {
            all: *all,
            variable: column,
            collection: Box::new(collection),
            predicate: Box::new(predicate),
        };
        Ok(truth(kind, expr.span))
    }

    /// The type of a collection's members.
    pub(super) fn member_of(&self, collection: &Expression) -> Bound<Type> {
        match (collection.r#type.member(), &collection.r#type) {
            (Some(member), _) => Ok(member.clone()),
            (None, Type::Any) => Ok(Type::Any),
            (None, other) => {
                let message = format!("a collection is needed here, but this is of type {other}");
                Err(type_error(collection.span, message))
            }
        }
    }
}

/// The parsed pattern, if pattern and escape character are constants.
fn constant_pattern(pattern: &Expression, escape: Option<&Expression>) -> Bound<Option<LikePattern>> {
    let Some(text) = pattern.as_constant().and_then(Value::as_str) else {
        return Ok(None);
    };
    let escape_character = match escape {
        None => None,
        Some(escape) => {
            let Some(text) = escape.as_constant().and_then(Value::as_str) else {
                return Ok(None);
            };
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (Some(character), None) => Some(character),
                _ => {
                    let message = "the escape of like must be one character";
                    return Err(QueryError::new(
                        QueryErrorCode::InvalidValue,
                        escape.span,
                        message,
                    ));
                }
            }
        }
    };
    LikePattern::parse(text, escape_character)
        .map(Some)
        .ok_or_else(|| {
            let message = "the pattern of like ends in a lone escape character";
            QueryError::new(QueryErrorCode::InvalidValue, pattern.span, message)
        })
}

/// Whether there is a literal of this type that is written with its name.
pub(super) fn is_literal_type(r#type: &Type) -> bool {
    matches!(
        r#type,
        Type::Date | Type::Time | Type::Timestamp | Type::Duration | Type::Uuid
    )
}

/// An expression of type bool.
pub(super) fn truth(kind: ExpressionKind, span: Span) -> Expression {
    Expression::new(kind, Type::Bool, span)
}

fn negation(operand: Expression, span: Span) -> Expression {
    truth(ExpressionKind::Not(Box::new(operand)), span)
}

fn maybe_not(operand: Expression, negated: bool) -> Expression {
    let span = operand.span;
    if negated { negation(operand, span) } else { operand }
}

fn comparison(operator: ComparisonOperator) -> Comparison {
    match operator {
        ComparisonOperator::Equal => Comparison::Equal,
        ComparisonOperator::NotEqual => Comparison::NotEqual,
        ComparisonOperator::Less => Comparison::Less,
        ComparisonOperator::LessOrEqual => Comparison::LessOrEqual,
        ComparisonOperator::Greater => Comparison::Greater,
        ComparisonOperator::GreaterOrEqual => Comparison::GreaterOrEqual,
    }
}

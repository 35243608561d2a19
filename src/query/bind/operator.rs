//! Arithmetic, `||`, `??`, set operators between collections, `case` and `cast`.

use super::binder::{Binder, Bound};
use super::types::{common_type, is_collection, is_nil, type_error};
use crate::error::{QueryError, Span};
use crate::object::Type;
use crate::query::ast::{self, BinaryOperator, ExprKind};
use crate::query::function::arithmetic;
use crate::query::plan::{Arithmetic, Expression, ExpressionKind, SetOperator};

impl<'a> Binder<'a> {
    pub(super) fn operator(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        match &expr.kind {
            ExprKind::Negate(operand) => self.negate(operand, expr.span),
            ExprKind::Binary {
                operator,
                left,
                right,
            } => match operator {
                BinaryOperator::Coalesce => self.coalesce(left, right, expr.span),
                BinaryOperator::Set { operator, all } => {
                    let (left, right) = (self.collection(left)?, self.collection(right)?);
                    self.set_operation(set_operator(*operator), *all, left, right, expr.span)
                }
                BinaryOperator::Concatenate => {
                    let (left, right) = (self.expression(left)?, self.expression(right)?);
                    self.concatenate(left, right, expr.span)
                }
                _ => self.arithmetic(expr),
            },
            _ => self.expression(expr),
        }
    }

    fn negate(&mut self, operand: &'a ast::Expr, span: Span) -> Bound<Expression> {
        let operand = self.expression(operand)?;
        let r#type = operand.r#type.clone();
        if !matches!(
            r#type,
            Type::Any | Type::Int | Type::Float | Type::Decimal | Type::Duration
        ) {
            return Err(type_error(
                span,
                format!("- needs a number, but this is of type {type}"),
            ));
        }
        Ok(Expression::new(
            ExpressionKind::Negate(Box::new(operand)),
            r#type,
            span,
        ))
    }

    /// Arithmetic; a chain such as `a + b + c` from its first operand on, so that a long one needs no deep stack.
    fn arithmetic(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let mut first = expr;
        let mut chain = Vec::new();
        while let ExprKind::Binary {
            operator,
            left,
            right,
        } = &first.kind
            && let Some(operator) = arithmetic_operator(*operator)
        {
            chain.push((operator, right, first.span));
            first = left;
        }
        let mut bound = self.expression(first)?;
        for (operator, right, span) in chain.into_iter().rev() {
            let right = self.expression(right)?;
            bound = self.calculation(operator, bound, right, span)?;
        }
        Ok(bound)
    }

    /// `left operator right` on numbers and times.
    fn calculation(
        &mut self,
        operator: Arithmetic,
        mut left: Expression,
        mut right: Expression,
        span: Span,
    ) -> Bound<Expression> {
        if right.r#type.is_number() {
            self.expect(&mut left, &right.r#type);
        }
        if left.r#type.is_number() {
            self.expect(&mut right, &left.r#type);
        }
        let Some(r#type) = arithmetic::result_type(operator, &left.r#type, &right.r#type) else {
            return Err(misfit(operator, &left.r#type, &right.r#type, span));
        };
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = ExpressionKind::Arithmetic {
            operator,
            left,
            right,
        };
        Ok(Expression::new(kind, r#type, span))
    }

    fn concatenate(&mut self, mut left: Expression, mut right: Expression, span: Span) -> Bound<Expression> {
        let known = |r#type: &Type| matches!(r#type, Type::String | Type::Bytes);
        if known(&right.r#type) {
            self.expect(&mut left, &right.r#type);
        }
        if known(&left.r#type) {
            self.expect(&mut right, &left.r#type);
        }
        let r#type = match (&left.r#type, &right.r#type) {
            (Type::String, Type::String) => Type::String,
            (Type::Bytes, Type::Bytes) => Type::Bytes,
            (Type::List(a), Type::List(b)) => {
                Type::list(common_type(a, b, self.catalog).unwrap_or(Type::Any))
            }
            (Type::Any, Type::Any | Type::String | Type::Bytes | Type::List(_))
            | (Type::String | Type::Bytes | Type::List(_), Type::Any) => Type::Any,
            (a, b) => {
                return Err(type_error(span, format!("{a} || {b} does not fit"))
                    .hint("|| joins two strings, two bytes or two lists; cast(e as string) makes a string"));
            }
        };
        let kind = ExpressionKind::Concatenate(Box::new(left), Box::new(right));
        Ok(Expression::new(kind, r#type, span))
    }

    fn coalesce(&mut self, left: &'a ast::Expr, right: &'a ast::Expr, span: Span) -> Bound<Expression> {
        let mut operands = vec![self.expression(left)?, self.expression(right)?];
        self.coalesce_of(&mut operands, span)
    }

    /// The first of the operands that is not nil.
    pub(super) fn coalesce_of(&mut self, operands: &mut Vec<Expression>, span: Span) -> Bound<Expression> {
        let r#type = self.unify(operands.iter_mut().collect())?;
        let operands = std::mem::take(operands);
        Ok(Expression::new(ExpressionKind::Coalesce(operands), r#type, span))
    }

    /// `left operator right` on collections.
    pub(super) fn set_operation(
        &mut self,
        operator: SetOperator,
        all: bool,
        left: Expression,
        right: Expression,
        span: Span,
    ) -> Bound<Expression> {
        for side in [&left, &right] {
            if !is_collection(&side.r#type) && side.r#type != Type::Any {
                let message = format!(
                    "{operator} needs collections, but this is of type {}",
                    side.r#type
                );
                return Err(type_error(side.span, message));
            }
        }
        let r#type = match (left.r#type.member(), right.r#type.member()) {
            (Some(a), Some(b)) => {
                let member = common_type(a, b, self.catalog);
                let member = member.unwrap_or(Type::Any);
                match (&left.r#type, &right.r#type, all) {
                    (_, _, false) => Type::set(member),
                    (Type::List(_), Type::List(_), true) => Type::list(member),
                    _ => Type::bag(member),
                }
            }
            _ if all => Type::bag(Type::Any),
            _ => Type::set(Type::Any),
        };
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = ExpressionKind::SetOperation {
            operator,
            all,
            left,
            right,
        };
        Ok(Expression::new(kind, r#type, span))
    }

    /// `case` and `cast`.
    pub(super) fn choice(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        match &expr.kind {
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => self.case(operand.as_deref(), branches, otherwise.as_deref(), expr.span),
            ExprKind::Cast { operand, r#type } => {
                let operand = self.expression(operand)?;
                self.check_type(r#type)?;
                let kind = ExpressionKind::Cast(Box::new(operand));
                Ok(Expression::new(kind, r#type.r#type.clone(), expr.span))
            }
            _ => self.expression(expr),
        }
    }

    fn case(
        &mut self,
        operand: Option<&'a ast::Expr>,
        branches: &'a [ast::CaseBranch],
        otherwise: Option<&'a ast::Expr>,
        span: Span,
    ) -> Bound<Expression> {
        let mut operand = operand.map(|operand| self.expression(operand)).transpose()?;
        let mut bound = Vec::with_capacity(branches.len());
        for branch in branches {
            let when = match &mut operand {
                Some(operand) => {
                    let mut when = self.expression(&branch.when)?;
                    let span = when.span;
                    self.check_comparable("=", operand, &mut when, span)?;
                    when
                }
                None => self.predicate(&branch.when)?,
            };
            bound.push((when, self.expression(&branch.then)?));
        }
        let mut otherwise = otherwise
            .map(|otherwise| self.expression(otherwise))
            .transpose()?;
        let values = bound
            .iter_mut()
            .map(|(_, value)| value)
            .chain(otherwise.as_mut())
            .collect();
        let r#type = self.unify(values)?;
        let otherwise = otherwise.filter(|otherwise| !is_nil(otherwise)).map(Box::new);
        let kind = match operand {
            Some(operand) => ExpressionKind::CaseOf {
                operand: Box::new(operand),
                branches: bound,
                otherwise,
            },
            None => ExpressionKind::Case {
                branches: bound,
                otherwise,
            },
        };
        Ok(Expression::new(kind, r#type, span))
    }
}

fn arithmetic_operator(operator: BinaryOperator) -> Option<Arithmetic> {
    match operator {
        BinaryOperator::Add => Some(Arithmetic::Add),
        BinaryOperator::Subtract => Some(Arithmetic::Subtract),
        BinaryOperator::Multiply => Some(Arithmetic::Multiply),
        BinaryOperator::Divide => Some(Arithmetic::Divide),
        BinaryOperator::Remainder => Some(Arithmetic::Remainder),
        BinaryOperator::Coalesce | BinaryOperator::Set { .. } | BinaryOperator::Concatenate => None,
    }
}

/// Arithmetic on types that it is not for.
fn misfit(operator: Arithmetic, left: &Type, right: &Type, span: Span) -> QueryError {
    let error = type_error(span, format!("{left} {operator} {right} does not fit"));
    match operator {
        Arithmetic::Add if *left == Type::String || *right == Type::String => {
            error.hint("strings are joined with ||")
        }
        _ => error.hint("arithmetic needs two numbers, or times and durations"),
    }
}

/// The plan's name for a set operator.
pub(super) fn set_operator(operator: ast::SetOperator) -> SetOperator {
    match operator {
        ast::SetOperator::Union => SetOperator::Union,
        ast::SetOperator::Intersect => SetOperator::Intersect,
        ast::SetOperator::Except => SetOperator::Except,
    }
}

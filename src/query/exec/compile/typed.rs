//! Ints, floats and text without a detour over values.

use super::{Compiler, Floats, Ints, evaluate};
use crate::object::{Type, ValueRef};
use crate::query::eval::at;
use crate::query::function::arithmetic;
use crate::query::plan::{Arithmetic, Expression, ExpressionKind};

impl<'a> Compiler<'a> {
    /// Compiles an expression of type int.
    pub fn int(&self, expression: &'a Expression) -> Ints<'a> {
        if let Some(value) = self.constant(expression) {
            let value = value.as_int();
            return Box::new(move |_| Ok(value));
        }
        if let Some(attribute) = self.attribute(expression) {
            return Box::new(move |row| attribute.int(row));
        }
        match &expression.kind {
            ExpressionKind::Arithmetic {
                operator,
                left,
                right,
            } if left.r#type == Type::Int && right.r#type == Type::Int => {
                self.int_arithmetic(*operator, left, right, expression)
            }
            ExpressionKind::Column(column) if self.position(column).is_some() => {
                let general = self.general(expression);
                Box::new(move |row| match general(row)?.as_ref() {
                    ValueRef::Int(number) => Ok(Some(number)),
                    _ => Ok(None),
                })
            }
            _ => Box::new(move |row| Ok(evaluate(expression, row)?.as_int())),
        }
    }

    fn int_arithmetic(
        &self,
        operator: Arithmetic,
        left: &'a Expression,
        right: &'a Expression,
        whole: &'a Expression,
    ) -> Ints<'a> {
        let left = self.int(left);
        if let Some(constant) = self.constant(right).and_then(|value| value.as_int()) {
            return Box::new(move |row| match left(row)? {
                Some(left) => arithmetic::int(operator, left, constant)
                    .map(Some)
                    .map_err(|error| at(error, whole.span)),
                None => Ok(None),
            });
        }
        let right = self.int(right);
        Box::new(move |row| match (left(row)?, right(row)?) {
            (Some(left), Some(right)) => arithmetic::int(operator, left, right)
                .map(Some)
                .map_err(|error| at(error, whole.span)),
            _ => Ok(None),
        })
    }

    /// Compiles an expression of type float.
    pub fn float(&self, expression: &'a Expression) -> Floats<'a> {
        if let Some(value) = self.constant(expression) {
            let value = value.as_float();
            return Box::new(move |_| Ok(value));
        }
        if let Some(attribute) = self.attribute(expression) {
            return Box::new(move |row| attribute.float(row));
        }
        match &expression.kind {
            ExpressionKind::Arithmetic {
                operator,
                left,
                right,
            } if is_binary(left) && is_binary(right) => {
                let operator = *operator;
                let left = self.binary_number(left);
                let right = self.binary_number(right);
                Box::new(move |row| match (left(row)?, right(row)?) {
                    (Some(left), Some(right)) => arithmetic::float(operator, left, right)
                        .map(Some)
                        .map_err(|error| at(error, expression.span)),
                    _ => Ok(None),
                })
            }
            ExpressionKind::Column(column) if self.position(column).is_some() => {
                let general = self.general(expression);
                Box::new(move |row| match general(row)?.as_ref() {
                    ValueRef::Float(number) => Ok(Some(number)),
                    _ => Ok(None),
                })
            }
            _ => Box::new(move |row| Ok(evaluate(expression, row)?.as_float())),
        }
    }

    /// An int or float as a float; only inside arithmetic, where an int meets a float as its nearest float.
    fn binary_number(&self, expression: &'a Expression) -> Floats<'a> {
        if expression.r#type == Type::Float {
            return self.float(expression);
        }
        let int = self.int(expression);
        Box::new(move |row| Ok(int(row)?.map(|number| number as f64)))
    }
}

fn is_binary(expression: &Expression) -> bool {
    matches!(expression.r#type, Type::Int | Type::Float)
}

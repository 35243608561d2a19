//! Parameters: their names and types.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Type;
use crate::query::plan::{Expression, ExpressionKind};
use crate::query::{ast, nearest};

/// What is known of the parameters when a statement is bound.
///
/// A plan bound with types serves every run whose parameters have the same types (nil has the type `any`).
#[derive(Debug, Clone, Default)]
pub enum Parameters {
    /// Nothing: types are inferred from where the parameters stand, `any` where that tells nothing.
    #[default]
    Unknown,
    /// Their names (without `$`; `1` for `$1`) and the types of their values. Any other name is an error.
    Given(Vec<(Arc<str>, Type)>),
}

impl<'a> Binder<'a> {
    pub(super) fn parameter(&mut self, parameter: &ast::Parameter, span: Span) -> Bound<Expression> {
        let name: Arc<str> = match parameter {
            ast::Parameter::Named(name) => name.clone(),
            ast::Parameter::Positional(number) => number.to_string().into(),
        };
        let known = self.parameters.iter().position(|(known, _)| *known == name);
        let index = match known {
            Some(index) => index,
            None => {
                let r#type = self.given_type(&name, span)?;
                self.parameters.push((name.clone(), r#type));
                self.parameters.len().saturating_sub(1)
            }
        };
        let r#type = self
            .parameters
            .get(index)
            .map_or(Type::Any, |(_, r#type)| r#type.clone());
        Ok(Expression::new(
            ExpressionKind::Parameter { index, name },
            r#type,
            span,
        ))
    }

    fn given_type(&self, name: &str, span: Span) -> Bound<Type> {
        let Parameters::Given(given) = self.given else {
            return Ok(Type::Any);
        };
        if let Some((_, r#type)) = given.iter().find(|(known, _)| **known == *name) {
            return Ok(r#type.clone());
        }
        let error = QueryError::new(
            QueryErrorCode::Parameter,
            span,
            format!("the parameter ${name} was not given"),
        );
        Err(match nearest(name, given.iter().map(|(known, _)| &**known)) {
            Some(near) => error.hint(format!("did you mean ${near}?")),
            None => error,
        })
    }

    /// Gives a parameter of unknown type the type its place expects.
    pub(super) fn expect(&mut self, expression: &mut Expression, expected: &Type) {
        let ExpressionKind::Parameter { index, .. } = &expression.kind else {
            return;
        };
        if expression.r#type != Type::Any || !matches!(self.given, Parameters::Unknown) {
            return;
        }
        if let Some((_, r#type)) = self.parameters.get_mut(*index)
            && *r#type == Type::Any
        {
            *r#type = expected.clone();
        }
        expression.r#type = expected.clone();
    }
}

//! Constructors of collections, maps and structs, and the types that text names.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::name::suggest;
use super::types::{common_type, is_nil};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Type;
use crate::query::ast::{self, CollectionKind, ExprKind};
use crate::query::plan::{Expression, ExpressionKind};

impl<'a> Binder<'a> {
    pub(super) fn constructor(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        match &expr.kind {
            ExprKind::Collection { kind, members } => {
                let members = self.expressions(members)?;
                Ok(self.collection_of(*kind, members, expr.span))
            }
            ExprKind::Map(entries) => self.map(entries, expr.span),
            ExprKind::Struct(fields) => self.structure(fields, expr.span),
            _ => self.expression(expr),
        }
    }

    /// A collection of these members; of different types they are `any`.
    pub(super) fn collection_of(
        &mut self,
        kind: CollectionKind,
        members: Vec<Expression>,
        span: Span,
    ) -> Expression {
        let member = self.member_type(members.iter());
        let r#type = match kind {
            CollectionKind::List => Type::list(member),
            CollectionKind::Set => Type::set(member),
            CollectionKind::Bag => Type::bag(member),
        };
        Expression::new(ExpressionKind::Collection(members), r#type, span)
    }

    fn member_type<'e>(&self, members: impl Iterator<Item = &'e Expression>) -> Type {
        let mut common: Option<Type> = None;
        for member in members.filter(|member| !is_nil(member)) {
            common = Some(match common {
                None => member.r#type.clone(),
                Some(before) => common_type(&before, &member.r#type, self.catalog).unwrap_or(Type::Any),
            });
        }
        common.unwrap_or(Type::Any)
    }

    fn map(&mut self, entries: &'a [ast::MapEntry], span: Span) -> Bound<Expression> {
        let mut bound = Vec::with_capacity(entries.len());
        for entry in entries {
            bound.push((self.expression(&entry.key)?, self.expression(&entry.value)?));
        }
        let key = self.member_type(bound.iter().map(|(key, _)| key));
        let value = self.member_type(bound.iter().map(|(_, value)| value));
        Ok(Expression::new(
            ExpressionKind::MapOf(bound),
            Type::map(key, value),
            span,
        ))
    }

    fn structure(&mut self, fields: &'a [ast::Field], span: Span) -> Bound<Expression> {
        let mut bound: Vec<(Arc<str>, Expression)> = Vec::with_capacity(fields.len());
        for field in fields {
            if bound.iter().any(|(name, _)| *name == field.name.text) {
                let message = format!("the struct has two fields {}", field.name.text);
                return Err(QueryError::new(
                    QueryErrorCode::Duplicate,
                    field.name.span,
                    message,
                ));
            }
            bound.push((field.name.text.clone(), self.expression(&field.value)?));
        }
        let r#type = Type::structure(
            bound
                .iter()
                .map(|(name, value)| (name.clone(), value.r#type.clone())),
        );
        Ok(Expression::new(ExpressionKind::Struct(bound), r#type, span))
    }

    /// Refuses a type with a class that does not exist.
    pub(super) fn check_type(&self, name: &ast::TypeName) -> Bound<()> {
        match self.missing_class(&name.r#type) {
            None => Ok(()),
            Some(class) => {
                let message = format!("there is no type or class {class}");
                let error = QueryError::new(QueryErrorCode::UnknownClass, name.span, message);
                Err(suggest(
                    error,
                    &class,
                    self.catalog.class_names.keys().map(|name| &**name),
                ))
            }
        }
    }

    fn missing_class(&self, r#type: &Type) -> Option<Arc<str>> {
        match r#type {
            Type::Reference(class) => self.catalog.class(class).is_none().then(|| class.clone()),
            Type::List(member) | Type::Set(member) | Type::Bag(member) => self.missing_class(member),
            Type::Map(key, value) => self.missing_class(key).or_else(|| self.missing_class(value)),
            Type::Struct(fields) => fields.iter().find_map(|(_, field)| self.missing_class(field)),
            _ => None,
        }
    }
}

//! What a row shows: `select` and `returning`.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::scope::RangeVariable;
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Type;
use crate::query::ast::{self, ExprKind, Projection};
use crate::query::plan::{Column, Expression, Output};

/// An output as it is bound: its label and its value.
#[derive(Debug)]
pub(super) struct Item {
    /// Its label.
    pub label: Arc<str>,
    /// Whether the label was given, or taken from an attribute; else it is `columnN`.
    pub named: bool,
    /// What it shows.
    pub value: Expression,
}

impl<'a> Binder<'a> {
    /// Binds a projection in the current scope; true if a row is the bare value of its one item.
    pub(super) fn projection(&mut self, projection: &'a Projection) -> Bound<(Vec<Item>, bool)> {
        match projection {
            Projection::All(star) => Ok((self.everything(star.0)?, false)),
            Projection::Items(items) => {
                let mut bound = Vec::with_capacity(items.len());
                for (position, item) in items.iter().enumerate() {
                    let value = self.expression(&item.value)?;
                    let given = item.label.as_ref().map(|label| label.text.clone());
                    let label = given.or_else(|| label_of(&item.value));
                    let named = label.is_some();
                    let number = position.saturating_add(1);
                    let label = label.unwrap_or_else(|| format!("column{number}").into());
                    bound.push(Item { label, named, value });
                }
                let bare = matches!(items.as_slice(), [only] if only.label.is_none());
                Ok((bound, bare))
            }
        }
    }

    /// `*`: the attributes of all ranges.
    fn everything(&mut self, span: Span) -> Bound<Vec<Item>> {
        let (grouped, ranges) = match self.innermost() {
            Some(scope) => (!scope.keys.is_empty(), scope.ranges.clone()),
            None => (false, Vec::new()),
        };
        if grouped {
            let message = "select * cannot stand with group by; name the labels";
            return Err(QueryError::new(QueryErrorCode::Grouping, span, message));
        }
        if ranges.is_empty() {
            let message = "select * needs a from";
            return Err(QueryError::new(QueryErrorCode::UnknownName, span, message));
        }
        let mut items = Vec::new();
        for range in ranges {
            self.attributes_of(&range, span, &mut items)?;
        }
        Ok(items)
    }

    fn attributes_of(&mut self, range: &RangeVariable, span: Span, items: &mut Vec<Item>) -> Bound<()> {
        let names: Vec<Arc<str>> = match &range.column.r#type {
            Type::Reference(class) => match self.catalog.class(class) {
                Some(class) => class
                    .attributes
                    .iter()
                    .map(|attribute| attribute.name.clone())
                    .collect(),
                None => Vec::new(),
            },
            Type::Struct(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
            _ => {
                let value = Expression::column(range.column.clone(), span);
                items.push(Item {
                    label: range.column.name.clone(),
                    named: true,
                    value,
                });
                return Ok(());
            }
        };
        for label in names {
            let name = ast::Name::new(label.clone(), span);
            let value = self.attribute(Expression::column(range.column.clone(), span), &name, span)?;
            items.push(Item {
                label,
                named: true,
                value,
            });
        }
        Ok(())
    }

    /// The columns of the items, and what they hold.
    pub(super) fn outputs(&mut self, items: Vec<Item>) -> (Vec<Output>, Vec<(Column, Expression)>) {
        let mut outputs = Vec::with_capacity(items.len());
        let mut columns = Vec::with_capacity(items.len());
        for item in items {
            let column = self.column(item.label.clone(), item.value.r#type.clone());
            outputs.push(Output {
                label: item.label,
                column: column.clone(),
            });
            columns.push((column, item.value));
        }
        (outputs, columns)
    }
}

/// The label an expression has by itself: its last attribute, or the name it is.
pub(super) fn label_of(expr: &ast::Expr) -> Option<Arc<str>> {
    match &expr.kind {
        ExprKind::Attribute { name, .. } | ExprKind::Name(name) => Some(name.text.clone()),
        _ => None,
    }
}

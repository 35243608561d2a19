//! Grouped queries: what is equal to a key is that key, and nothing else of a row is left.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::projection::label_of;
use super::scope::GroupKey;
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::query::ast;
use crate::query::plan::{Column, Expression, ExpressionKind};

impl<'a> Binder<'a> {
    /// Binds the keys of `group by`.
    pub(super) fn group_keys(&mut self, keys: &'a [ast::GroupKey]) -> Bound<Vec<GroupKey>> {
        let mut bound: Vec<GroupKey> = Vec::with_capacity(keys.len());
        for key in keys {
            let expression = self.expression(&key.value)?;
            let label = match &key.label {
                Some(label) => Some(label.text.clone()),
                None => label_of(&key.value),
            };
            if let Some(given) = &key.label
                && bound
                    .iter()
                    .any(|other| other.label.as_ref() == Some(&given.text))
            {
                let message = format!("group by has two labels {}", given.text);
                return Err(QueryError::new(QueryErrorCode::Duplicate, given.span, message));
            }
            let name: Arc<str> = label.clone().unwrap_or_else(|| expression.to_string().into());
            let column = self.column(name, expression.r#type.clone());
            bound.push(GroupKey {
                label,
                column,
                expression,
            });
        }
        Ok(bound)
    }
}

/// Puts columns where an expression equals what they hold, in subqueries too.
pub(super) fn replace(expression: &mut Expression, held: &[(Column, Expression)]) {
    expression.rewrite(&mut |part| {
        let Some((column, _)) = held.iter().find(|(_, value)| value == part) else {
            return false;
        };
        part.kind = ExpressionKind::Column(column.clone());
        true
    });
}

/// The place and text of what an expression still uses of these columns.
pub(super) fn leftover(expression: &Expression, ranges: &[Column]) -> Option<(Span, String)> {
    let mut found = None;
    expression.visit(&mut |part| {
        if found.is_some() {
            return false;
        }
        let used = |part: &Expression| {
            part.as_column()
                .is_some_and(|column| ranges.iter().any(|range| range.id == column.id))
        };
        // The attribute is the better place to point at than the variable it begins with.
        let attribute = match &part.kind {
            ExpressionKind::Attribute { base, .. } | ExpressionKind::Field { base, .. } => used(base),
            _ => false,
        };
        if attribute || used(part) {
            found = Some((part.span, part.to_string()));
        }
        found.is_none()
    });
    found
}

/// Makes an expression one over the groups, or refuses it.
pub(super) fn settle(
    expression: &mut Expression,
    keys: &[(Column, Expression)],
    ranges: &[Column],
) -> Bound<()> {
    replace(expression, keys);
    match leftover(expression, ranges) {
        None => Ok(()),
        Some((span, text)) => {
            let message = format!("{text} is neither a group key nor inside an aggregate");
            Err(QueryError::new(QueryErrorCode::Grouping, span, message)
                .hint("add it to group by, or put an aggregate around it"))
        }
    }
}

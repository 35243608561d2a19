//! Canonical text of queries.

use super::print::{Level, Printer, set_levels};
use super::{
    AsOf, BinaryOperator, Expr, ExprKind, GroupKey, Join, Nulls, OrderItem, Projection, ProjectionItem,
    Query, QueryBody, Range, Select, SetOperation, With,
};

impl Printer {
    pub(super) fn query(&mut self, query: &Query) {
        if !query.with.is_empty() {
            self.push("with ");
            self.list(&query.with, Self::with);
            self.push(" ");
        }
        self.scoped(true, |p| p.body(&query.body, Level::Union));
        if !query.order_by.is_empty() {
            self.push(" order by ");
            self.list(&query.order_by, Self::order_item);
        }
        self.clause_after(" limit ", query.limit.as_ref());
        self.clause_after(" offset ", query.offset.as_ref());
        match &query.as_of {
            None => {}
            Some(AsOf::Commit(number)) => self.clause_after(" as of commit ", Some(number)),
            Some(AsOf::Timestamp(time)) => self.as_of_timestamp(time),
        }
    }

    /// The word of the clause is the word of the literal.
    fn as_of_timestamp(&mut self, time: &Expr) {
        self.push(" as of ");
        if !matches!(time.kind, ExprKind::Literal(_)) {
            self.push("timestamp ");
        }
        self.clause(time);
    }

    pub(super) fn clause_after(&mut self, word: &str, clause: Option<&Expr>) {
        if let Some(clause) = clause {
            self.push(word);
            self.clause(clause);
        }
    }

    fn with(&mut self, with: &With) {
        self.name(&with.name);
        self.push(" as ");
        self.parenthesized(|p| p.query(&with.query));
    }

    fn body(&mut self, body: &QueryBody, least: Level) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Nested(query) => self.parenthesized(|p| p.query(query)),
            QueryBody::Set(operation) => {
                let (level, _) = set_levels(operation.operator);
                if level < least {
                    self.parenthesized(|p| p.set_operation(operation));
                } else {
                    self.set_operation(operation);
                }
            }
            QueryBody::Expression(expression) => self.operand(expression, Level::Disjunction),
        }
    }

    fn set_operation(&mut self, operation: &SetOperation) {
        let (level, tighter) = set_levels(operation.operator);
        self.set_operand(&operation.left, level);
        self.push(" ");
        self.display(BinaryOperator::Set {
            operator: operation.operator,
            all: operation.all,
        });
        self.push(" ");
        self.set_operand(&operation.right, tighter);
    }

    fn set_operand(&mut self, body: &QueryBody, least: Level) {
        match body {
            QueryBody::Expression(expression) => self.operand(expression, least),
            _ => self.body(body, least),
        }
    }

    fn select(&mut self, select: &Select) {
        self.push("select ");
        if select.distinct {
            self.push("distinct ");
        }
        self.scoped(false, |p| {
            p.projection(&select.projection);
            p.ranges(&select.from);
            p.clause_after(" where ", select.filter.as_ref());
            if !select.group_by.is_empty() {
                p.push(" group by ");
                p.list(&select.group_by, Self::group_key);
            }
            p.clause_after(" having ", select.having.as_ref());
        });
    }

    pub(super) fn projection(&mut self, projection: &Projection) {
        match projection {
            Projection::All(_) => self.push("*"),
            Projection::Items(items) => {
                let start = self.text.len();
                self.list(items, Self::projection_item);
                self.hide_distinct(start);
            }
        }
    }

    fn projection_item(&mut self, item: &ProjectionItem) {
        self.clause(&item.value);
        if let Some(label) = &item.label {
            self.push(" as ");
            self.name(label);
        }
    }

    fn group_key(&mut self, key: &GroupKey) {
        if let Some(label) = &key.label {
            self.name(label);
            self.push(": ");
        }
        self.clause(&key.value);
    }

    fn order_item(&mut self, item: &OrderItem) {
        self.clause(&item.value);
        if item.descending {
            self.push(" desc");
        }
        match item.nulls {
            None => {}
            Some(Nulls::First) => self.push(" nulls first"),
            Some(Nulls::Last) => self.push(" nulls last"),
        }
    }

    fn ranges(&mut self, ranges: &[Range]) {
        for (index, range) in ranges.iter().enumerate() {
            self.push(match (index, range.join) {
                (0, _) => " from ",
                (_, Join::Product) => ", ",
                (_, Join::Inner) => " join ",
                (_, Join::Left) => " left join ",
            });
            self.range(range);
        }
    }

    fn range(&mut self, range: &Range) {
        self.push(if range.only { "only " } else { "" });
        if begins_with_word(&range.source) {
            self.parenthesized(|p| p.expression(&range.source));
        } else {
            self.operand(&range.source, Level::Postfix);
        }
        for (word, name) in [
            (" as ", &range.variable),
            (" with depth ", &range.depth),
            (" with path ", &range.path),
        ] {
            if let Some(name) = name {
                self.push(word);
                self.name(name);
            }
        }
        if let Some(on) = &range.on {
            self.push(" on ");
            let start = self.text.len();
            self.clause(on);
            self.hide_conflict(start);
        }
    }

    /// A condition that begins with a call of `conflict` would be read as the `on conflict (..)` of an insert.
    fn hide_conflict(&mut self, start: usize) {
        self.hide_call(start, "conflict");
    }

    /// Puts backquotes around the word that the text from `start` on begins with, if it is `word` before a bracket.
    pub(super) fn hide_call(&mut self, start: usize, word: &str) {
        let end = start + word.len();
        let begins = self
            .text
            .get(start..end)
            .is_some_and(|text| text.eq_ignore_ascii_case(word));
        if begins && self.text.get(end..).is_some_and(|rest| rest.starts_with('(')) {
            self.text.insert(end, '`');
            self.text.insert(start, '`');
        }
    }
}

/// Whether the text begins with a word that would be read as a class at the beginning of a range.
fn begins_with_word(expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Attribute { object: inner, .. }
        | ExprKind::Method { object: inner, .. }
        | ExprKind::Reverse { object: inner, .. }
        | ExprKind::Closure { start: inner, .. }
        | ExprKind::Index {
            collection: inner, ..
        }
        | ExprKind::Slice {
            collection: inner, ..
        }
        | ExprKind::Narrow { operand: inner, .. }
        | ExprKind::Filter {
            collection: inner, ..
        }
        | ExprKind::NotNil(inner) => begins_with_word(inner),
        ExprKind::Literal(_) | ExprKind::Case { .. } => true,
        _ => false,
    }
}

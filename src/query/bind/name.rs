//! What a bare name means.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::scope::{Clause, Scope};
use super::types::type_of;
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::{Oid, Type, Value};
use crate::query::ast;
use crate::query::nearest;
use crate::query::plan::{
    Column, Expression, ExpressionKind, Output, Partition, Plan, Query, ResultKind, Subquery, SubqueryForm,
};

impl<'a> Binder<'a> {
    /// What `name` means here; see the order in `binder.rs`.
    pub(super) fn name(&mut self, name: &ast::Name) -> Bound<Expression> {
        let found = match self.local_name(name) {
            Some(found) => Some(found),
            None => match self.bare_attribute(name)? {
                Some(found) => Some(found),
                None => self.outer_label(name),
            },
        };
        if let Some(found) = found {
            return Ok(found);
        }
        if let Some(found) = self.definition_parameter(name) {
            return Ok(found);
        }
        if let Some(found) = self.with_query(name)? {
            return Ok(found);
        }
        if let Some(found) = self.named_query_use(name)? {
            return Ok(found);
        }
        if let Some(found) = self.root_or_class(name)? {
            return Ok(found);
        }
        match self.attribute_of_unknown(name) {
            Some(found) => Ok(found),
            None => Err(self.unknown_name(name)),
        }
    }

    /// A variable, or a label of the innermost query.
    fn local_name(&mut self, name: &ast::Name) -> Option<Expression> {
        let mut inside = true;
        for depth in (0..self.scopes.len()).rev() {
            let scope = self.scopes.get(depth)?;
            if inside && scope.query {
                if scope.clause == Clause::Result
                    && let Some(found) = label(scope, name)
                {
                    return Some(found);
                }
                if has_partition(scope) && *name.text == *"partition" {
                    return self.partition(depth, name.span);
                }
                inside = false;
            }
            if let Some(range) = self.scopes.get(depth)?.range(&name.text) {
                return Some(Expression::column(range.column.clone(), name.span));
            }
        }
        None
    }

    /// `partition` of the grouped query whose scope is at `depth`.
    fn partition(&mut self, depth: usize, span: Span) -> Option<Expression> {
        let scope = self.scopes.get(depth)?;
        if let Some(partition) = &scope.partition {
            return Some(Expression::column(partition.column.clone(), span));
        }
        let fields: Vec<(Arc<str>, Expression)> = scope
            .ranges
            .iter()
            .map(|range| {
                let name = range.name.clone().unwrap_or_else(|| range.column.name.clone());
                (name, Expression::column(range.column.clone(), span))
            })
            .collect();
        let row = Type::structure(
            fields
                .iter()
                .map(|(name, field)| (name.clone(), field.r#type.clone())),
        );
        let column = self.column("partition", Type::bag(row));
        let partition = Partition {
            column: column.clone(),
            fields,
        };
        self.scopes.get_mut(depth)?.partition = Some(partition);
        Some(Expression::column(column, span))
    }

    /// An attribute of the one range of the innermost query.
    fn bare_attribute(&mut self, name: &ast::Name) -> Bound<Option<Expression>> {
        let Some(column) = self.only_range() else {
            return Ok(None);
        };
        let has = match &column.r#type {
            Type::Reference(class) => self
                .catalog
                .class(class)
                .is_some_and(|class| class.attribute(&name.text).is_some()),
            Type::Struct(fields) => fields.iter().any(|(field, _)| *field == name.text),
            _ => false,
        };
        if !has {
            return Ok(None);
        }
        self.attribute(Expression::column(column, name.span), name, name.span)
            .map(Some)
    }

    /// The column of the innermost query's one range.
    pub(super) fn only_range(&mut self) -> Option<Column> {
        let scope = self.innermost()?;
        let mut ranges = scope.ranges.iter().filter(|range| !range.extra);
        let (range, second) = (ranges.next()?, ranges.next());
        (scope.single && second.is_none()).then(|| range.column.clone())
    }

    /// A label of a query further out, or of the innermost one where its rows are meant.
    fn outer_label(&mut self, name: &ast::Name) -> Option<Expression> {
        for depth in (0..self.scopes.len()).rev() {
            let scope = self.scopes.get(depth).filter(|scope| scope.query);
            let Some(scope) = scope else { continue };
            let found = match scope.clause {
                Clause::Result => label(scope, name),
                // An aggregate is over the rows before grouping: there the label is the key itself.
                Clause::Argument => {
                    let mut keys = scope.keys.iter();
                    let key = keys.find(|key| key.label.as_deref() == Some(&*name.text));
                    key.map(|key| key.expression.clone())
                }
                Clause::Rows => None,
            };
            if found.is_some() {
                return found;
            }
            if has_partition(scope) && *name.text == *"partition" {
                return self.partition(depth, name.span);
            }
        }
        None
    }

    /// A parameter of the definition that is bound.
    fn definition_parameter(&self, name: &ast::Name) -> Option<Expression> {
        let mut parameters = self.scopes.iter().flat_map(|scope| &scope.parameters);
        let (_, value) = parameters.find(|(parameter, _)| *parameter == name.text)?;
        Some(value.clone())
    }

    /// A query named by `with`, bound anew where it is used, in the scopes where it was named.
    fn with_query(&mut self, name: &ast::Name) -> Bound<Option<Expression>> {
        for depth in (0..self.scopes.len()).rev() {
            let Some(with) = self.scopes.get(depth).map(|scope| scope.with) else {
                continue;
            };
            let Some(position) = with.iter().position(|with| with.name.text == name.text) else {
                continue;
            };
            let Some((named, before)) = with.get(..=position).and_then(<[ast::With]>::split_last) else {
                continue;
            };
            let inner = self.scopes.split_off(depth);
            let scope = Scope::naming(before);
            let bound = self.within(scope, |binder| binder.subquery_rows(&named.query, name.span));
            self.scopes.extend(inner);
            return bound.map(|(expression, _)| Some(expression));
        }
        Ok(None)
    }

    /// A named root, or the extent of a class as a set.
    fn root_or_class(&mut self, name: &ast::Name) -> Bound<Option<Expression>> {
        if let Some(root) = self.catalog.names.get(&name.text) {
            let r#type = type_of(&root.value, self.catalog);
            let kind = ExpressionKind::Constant(root.value.clone());
            return Ok(Some(Expression::new(kind, r#type, name.span)));
        }
        if self.catalog.class(&name.text).is_none() {
            return Ok(None);
        }
        let (plan, column) = self.extent(name, None, false)?;
        let member = column.r#type.clone();
        let output = Output {
            label: column.name.clone(),
            column,
        };
        let query = Query {
            plan,
            outputs: vec![output],
            bare: true,
            kind: ResultKind::Set,
        };
        let subquery = Subquery {
            number: self.subquery_number(name.span)?,
            form: SubqueryForm::Collection,
            query: Arc::new(query),
            outer: Vec::new(),
        };
        let kind = ExpressionKind::Subquery(Box::new(subquery));
        Ok(Some(Expression::new(kind, Type::set(member), name.span)))
    }

    /// The plan of a class's extent, and its object column.
    pub(super) fn extent(
        &mut self,
        class: &ast::Name,
        variable: Option<&ast::Name>,
        only: bool,
    ) -> Bound<(Plan, Column)> {
        let Some(found) = self.catalog.class(&class.text).cloned() else {
            return Err(self.unknown_class(class));
        };
        let name = variable.map_or(&class.text, |variable| &variable.text);
        let column = self.column(name.clone(), Type::Reference(found.name.clone()));
        let classes = if only {
            vec![found.id]
        } else {
            found.family.clone()
        };
        let plan = Plan::Extent {
            column: column.clone(),
            class: found.name.clone(),
            classes,
            estimate: None,
        };
        Ok((plan, column))
    }

    /// The last resort: the field of the one range, whose type is known only at run time.
    fn attribute_of_unknown(&mut self, name: &ast::Name) -> Option<Expression> {
        let column = self.only_range().filter(|column| column.r#type == Type::Any)?;
        let kind = ExpressionKind::DynamicAttribute {
            base: Box::new(Expression::column(column, name.span)),
            name: name.text.clone(),
        };
        Some(Expression::new(kind, Type::Any, name.span))
    }

    /// `Person#42`.
    pub(super) fn object_literal(&mut self, class: &ast::Name, serial: u64, span: Span) -> Bound<Expression> {
        let Some(found) = self.catalog.class(&class.text) else {
            return Err(self.unknown_class(class));
        };
        let Some(oid) = Oid::new(found.id, serial) else {
            let message = format!(
                "{}#{serial} is no object identifier: the number is too large",
                class.text
            );
            return Err(QueryError::new(QueryErrorCode::OutOfRange, span, message));
        };
        let r#type = Type::Reference(found.name.clone());
        Ok(Expression::new(
            ExpressionKind::Constant(Value::Reference(oid)),
            r#type,
            span,
        ))
    }

    /// No such class.
    pub(super) fn unknown_class(&self, name: &ast::Name) -> QueryError {
        let message = format!("there is no class {}", name.text);
        let error = QueryError::new(QueryErrorCode::UnknownClass, name.span, message);
        suggest(
            error,
            &name.text,
            self.catalog.class_names.keys().map(|name| &**name),
        )
    }

    fn unknown_name(&mut self, name: &ast::Name) -> QueryError {
        if *name.text == *"partition" {
            let message = "partition can stand only in the result of a query with group by";
            return QueryError::new(QueryErrorCode::Grouping, name.span, message);
        }
        let range = self.only_range();
        let class = range.as_ref().and_then(|column| match &column.r#type {
            Type::Reference(class) => self.catalog.class(class).cloned(),
            _ => None,
        });
        if let Some(class) = &class
            && let Some(below) = self.subclass_with(class, &name.text)
        {
            let message = format!("{} has no attribute {}", class.name, name.text);
            return QueryError::new(QueryErrorCode::UnknownName, name.span, message).hint(format!(
                "its subclass {below} has it: name the range x and write x[is {below}].{}",
                name.text
            ));
        }
        if let Some(hint) = self.range_with(&name.text) {
            let message = format!("nothing here is called {}", name.text);
            return QueryError::new(QueryErrorCode::UnknownName, name.span, message).hint(hint);
        }
        let attributes = class
            .iter()
            .flat_map(|class| class.attributes.iter())
            .map(|attribute| &*attribute.name);
        let variables = self.scopes.iter().flat_map(|scope| {
            let labels = scope.keys.iter().filter_map(|key| key.label.as_deref());
            let aliases = scope.aliases.iter().map(|(alias, _)| &**alias);
            let with = scope.with.iter().map(|with| &*with.name.text);
            let parameters = scope.parameters.iter().map(|(parameter, _)| &**parameter);
            let ranges = scope.ranges.iter().filter_map(|range| range.name.as_deref());
            ranges.chain(labels).chain(aliases).chain(with).chain(parameters)
        });
        let roots = self
            .catalog
            .names
            .keys()
            .chain(self.catalog.class_names.keys())
            .chain(self.catalog.queries.keys())
            .map(|name| &**name);
        let message = match &class {
            Some(class) => {
                let name = &name.text;
                format!(
                    "{} has no attribute {name}, and nothing else is called {name}",
                    class.name
                )
            }
            None => format!("nothing here is called {}", name.text),
        };
        let error = QueryError::new(QueryErrorCode::UnknownName, name.span, message);
        suggest(error, &name.text, attributes.chain(variables).chain(roots))
    }

    /// Which of several ranges of the innermost query has the attribute, as a hint.
    fn range_with(&mut self, attribute: &str) -> Option<String> {
        let ranges = self
            .innermost()
            .map(|scope| scope.ranges.clone())
            .unwrap_or_default();
        let has = |range: &&super::scope::RangeVariable| match &range.column.r#type {
            Type::Reference(class) => self
                .catalog
                .class(class)
                .is_some_and(|class| class.attribute(attribute).is_some()),
            _ => false,
        };
        let range = ranges.iter().find(has).filter(|_| ranges.len() > 1)?;
        let variable = range.name.as_deref().unwrap_or("x");
        Some(format!(
            "with several ranges an attribute needs a variable: {variable}.{attribute}"
        ))
    }

    /// A subclass of `class` that has the attribute.
    pub(super) fn subclass_with(&self, class: &crate::catalog::Class, attribute: &str) -> Option<Arc<str>> {
        let family = class.family.iter().filter_map(|id| self.catalog.classes.get(id));
        let mut having = family.filter(|class| class.attribute(attribute).is_some());
        having.next().map(|class| class.name.clone())
    }
}

/// Whether `partition` can stand in the part of the query that is being bound.
fn has_partition(scope: &Scope<'_>) -> bool {
    scope.clause == Clause::Result && !scope.keys.is_empty()
}

/// The alias or key called `name`.
fn label(scope: &Scope<'_>, name: &ast::Name) -> Option<Expression> {
    if let Some((_, value)) = scope.aliases.iter().find(|(alias, _)| *alias == name.text) {
        let mut value = value.clone();
        value.span = name.span;
        return Some(value);
    }
    let key = scope
        .keys
        .iter()
        .find(|key| key.label.as_deref() == Some(&*name.text))?;
    Some(Expression::column(key.column.clone(), name.span))
}

/// Adds the nearest of the candidates to an error.
pub(super) fn suggest<'c>(
    error: QueryError,
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> QueryError {
    match nearest(name, candidates) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    }
}

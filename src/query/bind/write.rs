//! `insert`, `update` and `delete`.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::name::suggest;
use super::scope::{RangeVariable, Scope};
use super::types::{assignable, is_collection, type_error};
use crate::catalog::{Attribute, Class};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Type;
use crate::query::ast::{self, AssignmentOperator, ExprKind};
use crate::query::function::arithmetic;
use crate::query::plan::{
    Arithmetic, Assignment, Column, Delete, Expression, ExpressionKind, Insert, InsertSource, Plan,
    Returning, Update,
};

impl<'a> Binder<'a> {
    /// `insert`
    pub(super) fn insert(&mut self, insert: &'a ast::Insert) -> Bound<Insert> {
        let class = self.writable_class(&insert.class)?;
        let (attributes, source) = match &insert.source {
            ast::InsertSource::Fields(fields) => {
                let attributes = self.targets(&class, fields.iter().map(|field| &field.name))?;
                let row = self.row(&class, &attributes, fields.iter().map(|field| &field.value))?;
                (attributes, InsertSource::Rows(vec![row]))
            }
            ast::InsertSource::Rows { attributes, rows } => {
                let attributes = self.targets(&class, attributes)?;
                let rows = self.rows(&class, &attributes, rows)?;
                (attributes, InsertSource::Rows(rows))
            }
            ast::InsertSource::Query { attributes, query } => {
                let names = attributes;
                let attributes = self.targets(&class, names)?;
                let query = self.insert_query(&class, &attributes, query)?;
                (attributes, InsertSource::Query(Box::new(query)))
            }
        };
        let target = self.column(class.name.clone(), Type::Reference(class.name.clone()));
        let on_conflict = insert.on_conflict.as_ref();
        let on_conflict = on_conflict
            .map(|conflict| self.on_conflict(&class, &attributes, conflict))
            .transpose()?;
        Ok(Insert {
            on_conflict,
            class: class.id,
            class_name: class.name.clone(),
            slots: attributes.iter().map(|attribute| attribute.slot).collect(),
            source,
            returning: self.returning(None, target, insert.returning.as_ref())?,
        })
    }

    fn writable_class(&self, name: &ast::Name) -> Bound<Arc<Class>> {
        let Some(class) = self.catalog.class(&name.text) else {
            return Err(self.unknown_class(name));
        };
        if class.id.is_system() {
            let message = format!(
                "{} belongs to the catalog, which create, alter and drop change",
                class.name
            );
            return Err(QueryError::new(QueryErrorCode::UnknownClass, name.span, message));
        }
        Ok(class.clone())
    }

    /// The attributes that get values, each once.
    pub(super) fn targets(
        &self,
        class: &Class,
        names: impl IntoIterator<Item = &'a ast::Name>,
    ) -> Bound<Vec<Attribute>> {
        let mut targets: Vec<Attribute> = Vec::new();
        for name in names {
            let Some(attribute) = class.attribute(&name.text) else {
                let message = format!("{} has no attribute {}", class.name, name.text);
                let error = QueryError::new(QueryErrorCode::UnknownName, name.span, message);
                let names = class.attributes.iter().map(|attribute| &*attribute.name);
                return Err(suggest(error, &name.text, names));
            };
            if targets.iter().any(|other| other.name == attribute.name) {
                let message = format!("{} is given twice", name.text);
                return Err(QueryError::new(QueryErrorCode::Duplicate, name.span, message));
            }
            targets.push(attribute.clone());
        }
        Ok(targets)
    }

    fn rows(
        &mut self,
        class: &Class,
        attributes: &[Attribute],
        rows: &'a [Vec<ast::Expr>],
    ) -> Bound<Vec<Vec<Expression>>> {
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != attributes.len() {
                let message = format!("{} values for {} attributes", row.len(), attributes.len());
                let span = row.first().map(|first| first.span).unwrap_or_default();
                return Err(QueryError::new(QueryErrorCode::Syntax, span, message));
            }
            bound.push(self.row(class, attributes, row)?);
        }
        Ok(bound)
    }

    fn row(
        &mut self,
        class: &Class,
        attributes: &[Attribute],
        values: impl IntoIterator<Item = &'a ast::Expr>,
    ) -> Bound<Vec<Expression>> {
        let values = attributes.iter().zip(values);
        values
            .map(|(attribute, value)| self.value_for(class, attribute, value))
            .collect()
    }

    /// Binds what an attribute is to hold.
    fn value_for(&mut self, class: &Class, attribute: &Attribute, expr: &'a ast::Expr) -> Bound<Expression> {
        let mut value = if is_collection(&attribute.r#type) {
            self.collection(expr)?
        } else {
            self.expression(expr)?
        };
        self.expect(&mut value, &attribute.r#type);
        self.check_assignable(class, attribute, &value.r#type, expr.span)?;
        Ok(value)
    }

    fn check_assignable(&self, class: &Class, attribute: &Attribute, from: &Type, span: Span) -> Bound<()> {
        if assignable(from, &attribute.r#type, self.catalog) {
            return Ok(());
        }
        let (name, to) = (&attribute.name, &attribute.r#type);
        let error = type_error(
            span,
            format!(
                "{}.{name} is of type {to}, but this is of type {from}",
                class.name
            ),
        );
        Err(match (from.member(), to) {
            (Some(_), Type::Set(_)) => error.hint("write the collection as set(..)"),
            (Some(_), Type::Bag(_)) => error.hint("write the collection as bag(..)"),
            (Some(_), Type::List(_)) => error.hint("write the collection as list(..)"),
            _ if *from == Type::String && super::condition::is_literal_type(to) => {
                error.hint(format!("write the literal as {to} '..'"))
            }
            _ => error,
        })
    }

    fn insert_query(
        &mut self,
        class: &Class,
        attributes: &[Attribute],
        query: &'a ast::Query,
    ) -> Bound<crate::query::plan::Query> {
        let bound = self.query(query)?;
        if bound.outputs.len() != attributes.len() {
            let message = format!(
                "the query has {} columns for {} attributes",
                bound.outputs.len(),
                attributes.len()
            );
            return Err(type_error(query.span, message));
        }
        for (attribute, output) in attributes.iter().zip(&bound.outputs) {
            self.check_assignable(class, attribute, &output.column.r#type, query.span)?;
        }
        Ok(bound)
    }

    /// `update`
    pub(super) fn update(&mut self, update: &'a ast::Update) -> Bound<Update> {
        let class = self.writable_class(&update.class)?;
        let (plan, target) = self.extent(&update.class, update.variable.as_ref(), false)?;
        let targets = self.targets(
            &class,
            update.assignments.iter().map(|assignment| &assignment.attribute),
        )?;
        let scope = one_range(update.variable.as_ref(), target.clone());
        let ((plan, assignments), _) = self.within(scope, |binder| {
            let plan = binder.matching(plan, update.filter.as_ref())?;
            let mut assignments = Vec::with_capacity(targets.len());
            for (attribute, assignment) in targets.iter().zip(&update.assignments) {
                assignments.push(binder.assignment(&class, &target, attribute, assignment)?);
            }
            Ok((plan, assignments))
        })?;
        let returning = self.returning(
            update.variable.as_ref(),
            target.clone(),
            update.returning.as_ref(),
        )?;
        Ok(Update {
            plan,
            target,
            assignments,
            returning,
        })
    }

    fn matching(&mut self, plan: Plan, filter: Option<&'a ast::Expr>) -> Bound<Plan> {
        let Some(filter) = filter else {
            return Ok(plan);
        };
        let predicate = self.predicate(filter)?;
        Ok(Plan::Filter {
            input: Box::new(plan),
            predicate,
        })
    }

    pub(super) fn assignment(
        &mut self,
        class: &Class,
        target: &Column,
        attribute: &Attribute,
        assignment: &'a ast::Assignment,
    ) -> Bound<Assignment> {
        let value = match assignment.operator {
            AssignmentOperator::Set => self.value_for(class, attribute, &assignment.value)?,
            AssignmentOperator::Add => self.changed(class, target, attribute, assignment, Arithmetic::Add)?,
            AssignmentOperator::Remove => {
                self.changed(class, target, attribute, assignment, Arithmetic::Subtract)?
            }
        };
        let (slots, r#type) = self.slots(class, &attribute.name);
        Ok(Assignment {
            attribute: attribute.name.clone(),
            slots,
            r#type,
            value,
        })
    }

    /// The new value of `attribute += value` or `-= value`, over the old one.
    fn changed(
        &mut self,
        class: &Class,
        target: &Column,
        attribute: &Attribute,
        assignment: &'a ast::Assignment,
        operator: Arithmetic,
    ) -> Bound<Expression> {
        let span = assignment.attribute.span.to(assignment.value.span);
        let old = Expression::column(target.clone(), assignment.attribute.span);
        let old = Box::new(self.attribute(old, &assignment.attribute, span)?);
        let in_brackets = matches!(assignment.value.kind, ExprKind::Subquery(_));
        let collection = is_collection(&attribute.r#type);
        let mut value = if collection && in_brackets {
            self.collection(&assignment.value)?
        } else {
            self.expression(&assignment.value)?
        };
        if !collection {
            self.expect(&mut value, &attribute.r#type);
            let Some(r#type) = arithmetic::result_type(operator, &attribute.r#type, &value.r#type) else {
                let message = format!("{} {operator}= {} does not fit", attribute.r#type, value.r#type);
                return Err(type_error(span, message));
            };
            self.check_assignable(class, attribute, &r#type, span)?;
            let kind = ExpressionKind::Arithmetic {
                operator,
                left: old,
                right: Box::new(value),
            };
            return Ok(Expression::new(kind, r#type, span));
        }
        let member = attribute.r#type.member().cloned().unwrap_or(Type::Any);
        let members = is_collection(&value.r#type) && !assignable(&value.r#type, &member, self.catalog)
            || value.r#type.member().is_some_and(|_| member == Type::Any);
        let added = if members {
            value.r#type.member().unwrap_or(&Type::Any)
        } else {
            &value.r#type
        };
        if !assignable(added, &member, self.catalog) {
            let message = format!("{}.{} holds {member}, not {added}", class.name, attribute.name);
            return Err(type_error(assignment.value.span, message));
        }
        let (collection, value) = (old, Box::new(value));
        let kind = match operator {
            Arithmetic::Add => ExpressionKind::Include {
                collection,
                value,
                members,
            },
            _ => ExpressionKind::Exclude {
                collection,
                value,
                members,
            },
        };
        Ok(Expression::new(kind, attribute.r#type.clone(), span))
    }

    /// `delete`
    pub(super) fn delete(&mut self, delete: &'a ast::Delete) -> Bound<Delete> {
        self.writable_class(&delete.class)?;
        let (plan, target) = self.extent(&delete.class, delete.variable.as_ref(), false)?;
        let scope = one_range(delete.variable.as_ref(), target.clone());
        let (plan, _) = self.within(scope, |binder| binder.matching(plan, delete.filter.as_ref()))?;
        let returning = self.returning(
            delete.variable.as_ref(),
            target.clone(),
            delete.returning.as_ref(),
        )?;
        Ok(Delete {
            plan,
            target,
            returning,
        })
    }

    fn returning(
        &mut self,
        variable: Option<&ast::Name>,
        target: Column,
        projection: Option<&'a ast::Projection>,
    ) -> Bound<Option<Returning>> {
        let Some(projection) = projection else {
            return Ok(None);
        };
        let scope = one_range(variable, target.clone());
        let ((items, _), _) = self.within(scope, |binder| binder.projection(projection))?;
        let (outputs, columns) = self.outputs(items);
        let values = columns.into_iter().map(|(_, value)| value);
        let outputs = outputs.into_iter().zip(values).collect();
        Ok(Some(Returning { target, outputs }))
    }
}

/// The scope of a statement over one class.
pub(super) fn one_range<'a>(variable: Option<&ast::Name>, column: Column) -> Scope<'a> {
    let name = variable.map(|variable| variable.text.clone());
    let mut scope = Scope::query();
    scope.single = true;
    scope.ranges = vec![RangeVariable::new(name, column)];
    scope
}

//! `on conflict`: the unique index it is about, and what becomes of the object that is there.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::scope::RangeVariable;
use super::write::one_range;
use crate::catalog::{Attribute, Class, Index, IndexKind};
use crate::error::{QueryError, QueryErrorCode};
use crate::object::Type;
use crate::query::ast::{self, ConflictAction};
use crate::query::plan::{ConflictUpdate, OnConflict};

impl<'a> Binder<'a> {
    /// Binds `on conflict` of an insert that gives values to `given`.
    pub(super) fn on_conflict(
        &mut self,
        class: &Arc<Class>,
        given: &[Attribute],
        conflict: &'a ast::OnConflict,
    ) -> Bound<OnConflict> {
        let targets = self.targets(class, &conflict.attributes)?;
        let index = self.unique_index(class, &targets, conflict)?;
        let slots = index.components.iter().filter_map(|component| {
            let name = component.path.first()?;
            Some(class.attribute(name)?.slot)
        });
        let update = match &conflict.action {
            ConflictAction::Nothing => None,
            ConflictAction::Update(assignments) => Some(self.conflict_update(class, given, assignments)?),
        };
        Ok(OnConflict {
            index: index.id,
            slots: slots.collect(),
            update,
        })
    }

    /// The unique index on exactly these attributes.
    fn unique_index(
        &self,
        class: &Class,
        targets: &[Attribute],
        conflict: &ast::OnConflict,
    ) -> Bound<Arc<Index>> {
        let indexes = class.indexes.iter().filter_map(|id| self.catalog.indexes.get(id));
        let on_them = |index: &&Arc<Index>| {
            let mut components = index.components.iter();
            index.kind == IndexKind::Unique
                && index.ready
                && index.components.len() == targets.len()
                && components.all(|component| {
                    let name = component.path.first();
                    targets.iter().any(|target| Some(&target.name) == name)
                })
        };
        let mut fitting = indexes.filter(on_them);
        fitting.next().cloned().ok_or_else(|| {
            let names: Vec<&str> = targets.iter().map(|target| &*target.name).collect();
            let names = names.join(", ");
            let first = conflict.attributes.first();
            let last = conflict.attributes.last().or(first);
            let span = match (first, last) {
                (Some(first), Some(last)) => first.span.to(last.span),
                _ => Default::default(),
            };
            let message = format!("on conflict needs a unique index on {}({names})", class.name);
            QueryError::new(QueryErrorCode::Definition, span, message).hint(format!(
                "create unique index {}_{} on {0}({names})",
                class.name,
                names.replace(", ", "_")
            ))
        })
    }

    fn conflict_update(
        &mut self,
        class: &Arc<Class>,
        given: &[Attribute],
        assignments: &'a [ast::Assignment],
    ) -> Bound<ConflictUpdate> {
        let target = self.column(class.name.clone(), Type::Reference(class.name.clone()));
        let fields = given
            .iter()
            .map(|attribute| (attribute.name.clone(), attribute.r#type.clone()));
        let excluded = self.column("excluded", Type::structure(fields));
        let mut scope = one_range(None, target.clone());
        scope.ranges.push(RangeVariable {
            name: Some("excluded".into()),
            column: excluded.clone(),
            extra: true,
        });
        let targets = self.targets(class, assignments.iter().map(|assignment| &assignment.attribute))?;
        let (bound, _) = self.within(scope, |binder| {
            let mut bound = Vec::with_capacity(targets.len());
            for (attribute, assignment) in targets.iter().zip(assignments) {
                bound.push(binder.assignment(class, &target, attribute, assignment)?);
            }
            Ok(bound)
        })?;
        Ok(ConflictUpdate {
            target,
            excluded,
            assignments: bound,
        })
    }
}

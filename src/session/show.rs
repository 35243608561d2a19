//! `show` and `describe`: what there is, as rows.

use std::sync::Arc;

use super::answer::{Answer, Outcome};
use super::runner::{Session, unsupported};
use crate::catalog::{Catalog, Class, Index, IndexKind};
use crate::error::{QueryError, QueryErrorCode, Result};
use crate::instance::{BuildProgress, OpenSnapshot};
use crate::object::{Duration, Value};
use crate::query::ast::{Name, Show, Statement, StatementKind};
use crate::query::nearest;
use crate::read::Reader;

impl Session {
    /// Runs `show` or `describe`.
    pub(super) fn show(&mut self, statement: &Statement) -> Result<Outcome> {
        let reader = self.reader();
        let catalog = reader.catalog();
        let answer = match &statement.kind {
            StatementKind::Describe(name) => describe(catalog, name)?,
            StatementKind::Show(Show::Classes) => classes(catalog, reader.as_ref()),
            StatementKind::Show(Show::Indexes) => indexes(catalog, &self.database.instance().builds()),
            StatementKind::Show(Show::Names) => names(catalog),
            StatementKind::Show(Show::Snapshots) => self.snapshots(),
            StatementKind::Show(Show::Stats) => self.statistics(),
            StatementKind::Show(Show::Queries) => Session::queries(catalog),
            StatementKind::Show(Show::Settings) => self.show_settings(),
            _ => return Err(unsupported(statement, "this show").into()),
        };
        Ok(Outcome::Rows(answer))
    }

    fn snapshots(&self) -> Answer {
        let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let row = |open: OpenSnapshot| {
            let age = i64::try_from(open.age.as_micros()).unwrap_or(i64::MAX);
            vec![
                number(open.ticket),
                text(open.kind.to_string()),
                number(open.commit.0),
                Value::Duration(Duration(age)),
                open.label.map_or(Value::Nil, text),
                number(open.pinned_bytes),
                Value::Bool(open.expired),
            ]
        };
        let rows = self.database.snapshots().into_iter().map(row).collect();
        let names = [
            "ticket",
            "kind",
            "commit",
            "age",
            "label",
            "pinned bytes",
            "expired",
        ];
        Answer::held(labels(names), rows)
    }

    fn statistics(&self) -> Answer {
        let statistics = self.database.statistics();
        let figures = [
            ("timeline", u64::from(statistics.timeline)),
            ("commit", statistics.commit),
            ("classes", statistics.classes),
            ("indexes", statistics.indexes),
            ("segments", statistics.segments),
            ("log bytes", statistics.log_bytes),
            ("records", statistics.records),
            ("table bytes", statistics.table_bytes),
            ("index bytes", statistics.index_bytes),
        ];
        let row = |(name, figure): (&str, u64)| {
            vec![
                Value::from(name),
                Value::Int(i64::try_from(figure).unwrap_or(i64::MAX)),
            ]
        };
        Answer::held(labels(["name", "value"]), figures.into_iter().map(row).collect())
    }
}

fn labels<const N: usize>(labels: [&str; N]) -> [Arc<str>; N] {
    labels.map(Into::into)
}

fn text(text: impl Into<Arc<str>>) -> Value {
    Value::String(text.into())
}

fn user_classes(catalog: &Catalog) -> Vec<&Arc<Class>> {
    let mut classes: Vec<_> = catalog
        .classes
        .values()
        .filter(|class| !class.id.is_system())
        .collect();
    classes.sort_by(|a, b| a.name.cmp(&b.name));
    classes
}

fn classes(catalog: &Catalog, reader: &dyn Reader) -> Answer {
    let row = |class: &Arc<Class>| {
        let superclass = class.superclass.and_then(|id| catalog.classes.get(&id));
        let attributes: Vec<&str> = class
            .attributes
            .iter()
            .map(|attribute| &*attribute.name)
            .collect();
        let objects = i64::try_from(reader.extent_estimate(class.id)).unwrap_or(i64::MAX);
        vec![
            text(class.name.clone()),
            superclass.map_or(Value::Nil, |class| text(class.name.clone())),
            text(attributes.join(", ")),
            Value::Int(objects),
        ]
    };
    let rows = user_classes(catalog).into_iter().map(row).collect();
    Answer::held(
        labels(["class", "extends", "attributes", "objects (about)"]),
        rows,
    )
}

fn describe(catalog: &Catalog, name: &Name) -> Result<Answer> {
    let Some(class) = catalog.class(&name.text) else {
        let error = QueryError::new(
            QueryErrorCode::UnknownClass,
            name.span,
            format!("there is no class {}", name.text),
        );
        let near = nearest(&name.text, catalog.class_names.keys().map(|name| &**name));
        return Err(match near {
            Some(near) => error.hint(format!("did you mean {near}?")).into(),
            None => error.into(),
        });
    };
    let row = |attribute: &crate::catalog::Attribute| {
        let declared_in = catalog
            .classes
            .get(&attribute.declared_in)
            .map_or(Value::Nil, |class| text(class.name.clone()));
        let default = if attribute.default.is_nil() {
            Value::Nil
        } else {
            text(attribute.default.to_string())
        };
        let described = match attribute.merge {
            Some(rule) => format!("{} {}", attribute.r#type, rule.word()),
            None => attribute.r#type.to_string(),
        };
        vec![
            text(attribute.name.clone()),
            text(described),
            Value::Bool(attribute.not_null),
            default,
            declared_in,
        ]
    };
    let rows = class.attributes.iter().map(row).collect();
    Ok(Answer::held(
        labels(["attribute", "type", "not null", "default", "declared in"]),
        rows,
    ))
}

fn indexes(catalog: &Catalog, builds: &[BuildProgress]) -> Answer {
    let mut indexes: Vec<&Arc<Index>> = catalog.indexes.values().collect();
    indexes.sort_by(|a, b| a.name.cmp(&b.name));
    let row = |index: &Arc<Index>| {
        let on = index.components.iter().map(|component| {
            let direction = if component.descending { " desc" } else { "" };
            format!("{}{direction}", component.path.join("."))
        });
        let kind = match index.kind {
            _ if !index.steps.is_empty() => "path",
            IndexKind::Unique => "unique",
            IndexKind::Ordered => "ordered",
        };
        vec![
            text(index.name.clone()),
            catalog
                .classes
                .get(&index.class)
                .map_or(Value::Nil, |class| text(class.name.clone())),
            text(on.collect::<Vec<_>>().join(", ")),
            text(kind),
            Value::Bool(index.ready),
            text(progress(index, builds)),
        ]
    };
    Answer::held(
        labels(["index", "class", "on", "kind", "ready", "progress"]),
        indexes.into_iter().map(row).collect(),
    )
}

/// How far an index is: the share of its build that is done.
fn progress(index: &Index, builds: &[BuildProgress]) -> String {
    let percent = match builds.iter().find(|build| build.index == index.name) {
        _ if index.ready => 100,
        Some(build) => build
            .done
            .saturating_mul(100)
            .checked_div(build.total)
            .unwrap_or(0)
            .min(99),
        None => 0,
    };
    format!("{percent} %")
}

fn names(catalog: &Catalog) -> Answer {
    let mut names: Vec<_> = catalog.names.values().collect();
    names.sort_by(|a, b| a.name.cmp(&b.name));
    let row = |name: &Arc<crate::catalog::Name>| vec![text(name.name.clone()), name.value.clone()];
    Answer::held(labels(["name", "value"]), names.into_iter().map(row).collect())
}

//! Schema statements: classes, indexes and names.

use std::sync::Arc;

use super::answer::Outcome;
use super::definition::{check_methods, methods};
use super::runner::{Session, unsupported};
use crate::catalog::{AttributeDefinition, Catalog, ClassDefinition, IndexDefinition, MergeRule, OnDelete};
use crate::error::{Error, QueryError, QueryErrorCode, Result, Span};
use crate::object::Value;
use crate::query::ast::{
    self, ClassChange, CreateClass, CreateIndex, Expr, IndexKind, Statement, StatementKind,
};
use crate::query::{Engine, Parameters, Run, nearest};
use crate::read::Reader;
use crate::transaction::Transaction;

impl Session {
    /// Runs a statement that changes the schema or the names.
    pub(super) fn define(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Outcome> {
        let engine = self.database.instance().engine().clone();
        let run = self.run_options();
        let watch = self.build_watch();
        let defining = Defining {
            engine,
            statement,
            parameters,
            run,
        };
        match &statement.kind {
            StatementKind::CreateClass(create) => self.write(|tx| defining.create_class(create, tx)),
            StatementKind::AlterClass(alter) => self.write(|tx| defining.alter_class(alter, tx)),
            StatementKind::DropClass { if_exists, name } => {
                self.write(|tx| defining.drop_class(name, *if_exists, tx))
            }
            // Only here: a change of a class may rely on the index that it builds, and must not lose it alone.
            StatementKind::CreateIndex(create) => self.write(|tx| {
                tx.watch_builds(watch.clone());
                defining.create_index(create, tx)
            }),
            StatementKind::DropIndex { if_exists, name } => {
                self.write(|tx| defining.drop_index(name, *if_exists, tx))
            }
            StatementKind::Name { name, value } => self.write(|tx| defining.name(name, value, tx)),
            StatementKind::Unname(name) => self.write(|tx| {
                tx.remove_name(&name.text).map_err(|error| at(error, name.span))?;
                Ok(done(format!("{} is no name any more", name.text)))
            }),
            _ => Err(unsupported(statement, "this statement").into()),
        }
    }
}

/// A schema statement being run.
struct Defining<'a> {
    engine: Arc<Engine>,
    statement: &'a Statement,
    parameters: &'a Parameters,
    run: Run,
}

impl Defining<'_> {
    fn create_class(&self, create: &CreateClass, tx: &mut Transaction) -> Result<Outcome> {
        let mut created = Vec::new();
        for class in &create.classes {
            if create.if_not_exists && tx.overlay().catalog().class(&class.name.text).is_some() {
                continue;
            }
            let mut definition = ClassDefinition::new(class.name.text.clone());
            definition.dependent = create.dependent;
            definition.methods = methods(&class.methods);
            definition.superclass = class.extends.as_ref().map(|name| name.text.clone());
            for attribute in &class.attributes {
                definition.attributes.push(self.attribute(attribute, tx)?);
                if attribute.unique {
                    let index = IndexDefinition::on_attribute(attribute.name.text.clone());
                    definition.indexes.push(IndexDefinition {
                        unique: true,
                        ..index
                    });
                }
            }
            tx.create_class(&definition)
                .map_err(|error| at(error, class.name.span))?;
            created.push(class.name.text.to_string());
        }
        check_methods(&create.classes, tx)?;
        Ok(done(match created.as_slice() {
            [] => "nothing to create".into(),
            created => format!("class {} created", created.join(", ")),
        }))
    }

    fn attribute(
        &self,
        attribute: &ast::AttributeDefinition,
        tx: &Transaction,
    ) -> Result<AttributeDefinition> {
        let merge = attribute.merge.map(merge_rule);
        let default = match &attribute.default {
            Some(expression) => self.value(expression, tx)?,
            None => merge.map_or(Value::Nil, MergeRule::beginning),
        };
        Ok(AttributeDefinition {
            name: attribute.name.text.clone(),
            r#type: attribute.r#type.r#type.clone(),
            not_null: attribute.not_null,
            default,
            inverse: attribute.inverse.as_ref().map(|name| name.text.clone()),
            on_delete: match attribute.on_delete {
                None | Some(ast::OnDelete::Leave) => OnDelete::Leave,
                Some(ast::OnDelete::Restrict) => OnDelete::Restrict,
                Some(ast::OnDelete::Clear) => OnDelete::Clear,
                Some(ast::OnDelete::Cascade) => OnDelete::Cascade,
            },
            merge,
        })
    }

    fn value(&self, expression: &Expr, tx: &Transaction) -> Result<Value> {
        self.engine
            .value(expression, tx.reader(), self.parameters, &self.run)
    }

    fn alter_class(&self, alter: &ast::AlterClass, tx: &mut Transaction) -> Result<Outcome> {
        let class = &alter.class;
        known_class(tx.overlay().catalog(), class)?;
        let attribute = match &alter.change {
            ClassChange::Add(attribute) => attribute,
            change => return super::alter::alter_class(class, change, tx),
        };
        let definition = self.attribute(attribute, tx)?;
        tx.add_attributes(&class.text, &[definition])
            .map_err(|error| at(error, attribute.name.span))?;
        if attribute.unique {
            let index = IndexDefinition::on_attribute(attribute.name.text.clone());
            tx.create_index(
                &class.text,
                &IndexDefinition {
                    unique: true,
                    ..index
                },
            )?;
        }
        Ok(done(format!(
            "attribute {} added to {}",
            attribute.name.text, class.text
        )))
    }

    fn drop_class(&self, name: &ast::Name, if_exists: bool, tx: &mut Transaction) -> Result<Outcome> {
        if if_exists && tx.overlay().catalog().class(&name.text).is_none() {
            return Ok(done("nothing to drop".into()));
        }
        known_class(tx.overlay().catalog(), name)?;
        tx.drop_class(&name.text).map_err(|error| at(error, name.span))?;
        Ok(done(format!("class {} dropped", name.text)))
    }

    fn create_index(&self, create: &CreateIndex, tx: &mut Transaction) -> Result<Outcome> {
        let catalog = tx.overlay().catalog();
        if create.if_not_exists && catalog.index(&create.name.text).is_some() {
            return Ok(done("nothing to create".into()));
        }
        if create.kind == IndexKind::Bitmap {
            return Err(unsupported(self.statement, "a bitmap index").into());
        }
        known_class(catalog, &create.class)?;
        let component = |component: &ast::IndexComponent| {
            (
                component.path.iter().map(|name| name.text.clone()).collect(),
                component.descending,
            )
        };
        let definition = IndexDefinition {
            name: Some(create.name.text.clone()),
            components: create.components.iter().map(component).collect(),
            unique: create.kind == IndexKind::Unique,
        };
        tx.create_index(&create.class.text, &definition)
            .map_err(|error| at(error, create.name.span))?;
        Ok(done(format!("index {} created", create.name.text)))
    }

    fn drop_index(&self, name: &ast::Name, if_exists: bool, tx: &mut Transaction) -> Result<Outcome> {
        if if_exists && tx.overlay().catalog().index(&name.text).is_none() {
            return Ok(done("nothing to drop".into()));
        }
        tx.drop_index(&name.text).map_err(|error| at(error, name.span))?;
        Ok(done(format!("index {} dropped", name.text)))
    }

    fn name(&self, name: &ast::Name, value: &Expr, tx: &mut Transaction) -> Result<Outcome> {
        let value = self.value(value, tx)?;
        tx.set_name(&name.text, value)
            .map_err(|error| at(error, name.span))?;
        Ok(done(format!("{} named", name.text)))
    }
}

pub(super) fn merge_rule(rule: ast::MergeRule) -> MergeRule {
    match rule {
        ast::MergeRule::Counter => MergeRule::Counter,
        ast::MergeRule::Union => MergeRule::Union,
    }
}

pub(super) fn done(sentence: String) -> Outcome {
    Outcome::Done(sentence)
}

/// Refuses a class that does not exist, and suggests the nearest.
fn known_class(catalog: &Catalog, name: &ast::Name) -> Result<()> {
    if catalog.class(&name.text).is_some() {
        return Ok(());
    }
    let message = format!("there is no class {}", name.text);
    let error = QueryError::new(QueryErrorCode::UnknownClass, name.span, message);
    let near = nearest(&name.text, catalog.class_names.keys().map(|name| &**name));
    Err(match near {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    }
    .into())
}

/// Gives a schema error its place in the text.
pub(super) fn at(error: Error, span: Span) -> Error {
    match error {
        Error::Schema(message) => {
            let code = if message.contains("exists already") || message.contains("is already") {
                QueryErrorCode::Duplicate
            } else if message.contains("has no attribute") || message.starts_with("there is no") {
                QueryErrorCode::UnknownName
            } else {
                QueryErrorCode::Definition
            };
            QueryError::new(code, span, message).into()
        }
        other => other,
    }
}

pub(super) fn unsupported_at(span: Span, what: &str) -> QueryError {
    let message = format!("{what} is valid, but not supported in this version");
    QueryError::new(QueryErrorCode::Unsupported, span, message)
}

//! `define`, `undefine` and methods: queries and expressions that the catalog keeps as text.

use std::sync::Arc;

use super::answer::Outcome;
use super::define::{at, done};
use super::runner::Session;
use crate::catalog::{Catalog, Class, Method, NamedQuery};
use crate::error::{Error, QueryError, QueryErrorCode, Result};
use crate::object::Value;
use crate::query::ast::{self, Define, MethodDefinition, Name, ParameterDefinition};
use crate::query::{check_method, check_query, nearest};
use crate::read::Reader;
use crate::transaction::Transaction;

impl Session {
    /// Runs `define`.
    pub(super) fn define_query(&mut self, define: &Define) -> Result<Outcome> {
        self.write(|tx| {
            check_parameters(tx.overlay().catalog(), &define.parameters)?;
            let query = NamedQuery {
                name: define.name.text.clone(),
                parameters: define.parameters.iter().map(ParameterDefinition::kept).collect(),
                text: define.query.to_string().into(),
                object: None,
            };
            check_query(tx.overlay().catalog(), &query.parameters, &define.query)?;
            tx.define_query(&query)
                .map_err(|error| at(error, define.name.span))?;
            Ok(done(format!("query {} defined", define.name.text)))
        })
    }

    /// Runs `undefine`.
    pub(super) fn undefine_query(&mut self, name: &Name) -> Result<Outcome> {
        self.write(|tx| {
            if !tx.overlay().catalog().queries.contains_key(&name.text) {
                return Err(unknown_query(tx.overlay().catalog(), name).into());
            }
            tx.undefine_query(&name.text)
                .map_err(|error| at(error, name.span))?;
            Ok(done(format!("{} is no query any more", name.text)))
        })
    }

    /// The named queries.
    pub(super) fn queries(catalog: &Catalog) -> super::answer::Answer {
        let mut queries: Vec<_> = catalog.queries.values().collect();
        queries.sort_by(|a, b| a.name.cmp(&b.name));
        let row = |query: &Arc<NamedQuery>| {
            let parameters: Vec<String> = query
                .parameters
                .iter()
                .map(|parameter| format!("{}: {}", parameter.name, parameter.r#type))
                .collect();
            vec![
                Value::String(query.name.clone()),
                Value::from(parameters.join(", ").as_str()),
                Value::String(query.text.clone()),
            ]
        };
        super::answer::Answer::held(
            ["query", "parameters", "text"].map(Into::into),
            queries.into_iter().map(row).collect(),
        )
    }
}

/// The methods a class declares, as the catalog keeps them.
pub(super) fn methods(definitions: &[MethodDefinition]) -> Vec<Method> {
    definitions.iter().map(MethodDefinition::kept).collect()
}

/// Checks the methods of classes that have just been created, over the schema they now are part of.
pub(super) fn check_methods(classes: &[ast::ClassDefinition], tx: &Transaction) -> Result<()> {
    let catalog = tx.overlay().catalog();
    for definition in classes {
        let class = catalog.user_class(&definition.name.text)?;
        for method in &definition.methods {
            check_method_of(catalog, class, method)?;
        }
    }
    Ok(())
}

/// Checks a method over the schema it is to be part of.
pub(super) fn check_method_of(catalog: &Catalog, class: &Class, definition: &MethodDefinition) -> Result<()> {
    check_parameters(catalog, &definition.parameters)?;
    check_type(catalog, &definition.result)?;
    let method = definition.kept();
    check_override(catalog, class, &method, definition)?;
    check_method(catalog, class, &method, &definition.body)?;
    Ok(())
}

/// A method declared anew must be called as the one above it.
fn check_override(
    catalog: &Catalog,
    class: &Class,
    method: &Method,
    definition: &MethodDefinition,
) -> Result<()> {
    let above = class.superclass.and_then(|id| catalog.classes.get(&id));
    let Some((owner, inherited)) = above.and_then(|above| catalog.method(above, &method.name)) else {
        return Ok(());
    };
    if inherited.is_called_like(method) {
        return Ok(());
    }
    let message = format!(
        "{}.{} is inherited from {} with other parameters or another result, which must be the same",
        class.name, method.name, owner.name
    );
    Err(QueryError::new(QueryErrorCode::Definition, definition.name.span, message).into())
}

fn check_parameters(catalog: &Catalog, definitions: &[ParameterDefinition]) -> Result<()> {
    for (position, definition) in definitions.iter().enumerate() {
        let mut before = definitions.iter().take(position);
        if before.any(|other| other.name.text == definition.name.text) {
            let message = format!("{} is declared twice", definition.name.text);
            return Err(QueryError::new(QueryErrorCode::Duplicate, definition.name.span, message).into());
        }
        check_type(catalog, &definition.r#type)?;
    }
    Ok(())
}

/// Refuses a type that names a class that does not exist.
pub(super) fn check_type(catalog: &Catalog, r#type: &ast::TypeName) -> Result<()> {
    let mut missing = None;
    crate::catalog::visit_references(&r#type.r#type, &mut |name| {
        if catalog.class(name).is_none() {
            missing = Some(name.to_string());
        }
    });
    let Some(missing) = missing else {
        return Ok(());
    };
    let error = QueryError::new(
        QueryErrorCode::UnknownClass,
        r#type.span,
        format!("there is no class {missing}"),
    );
    let near = nearest(&missing, catalog.class_names.keys().map(|name| &**name));
    Err(Error::from(match near {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    }))
}

fn unknown_query(catalog: &Catalog, name: &Name) -> QueryError {
    let message = format!("there is no query named {}", name.text);
    let error = QueryError::new(QueryErrorCode::UnknownName, name.span, message);
    match nearest(&name.text, catalog.queries.keys().map(|name| &**name)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    }
}

//! Named queries and methods: kept as text by the catalog, bound anew where they are used.
//!
//! A use is the text of the definition in its place, with its parameters bound to the arguments; in it no name from
//! around the use means anything. In a method, `this` is the object, and a bare attribute is the object's. Methods are
//! late-bound: what a subclass declares anew is chosen by the class of the object. nil has no methods: a method of it is
//! nil.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::binder::{Binder, Bound};
use super::name::suggest;
use super::parameter::Parameters as GivenParameters;
use super::scope::{RangeVariable, Scope};
use super::types::{assignable, type_error, widen};
use crate::catalog::{Catalog, Class, Method, NamedQuery, Parameter};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::{ClassId, Type};
use crate::query::ast;
use crate::query::parser::{parse_expression, parse_query};
use crate::query::plan::{Column, Expression, ExpressionKind};

/// Definitions within definitions.
const DEEPEST_USE: usize = 16;
/// Uses of definitions in one statement, those within definitions included.
const MOST_USES: usize = 2_000;
/// Operators on one path through an expression that has used definitions.
const TALLEST: usize = 400;

/// The definitions of a catalog as trees, parsed at their first use.
#[derive(Default)]
pub(super) struct Definitions {
    queries: FxHashMap<Arc<str>, Kept<ast::Query>>,
    methods: FxHashMap<(ClassId, Arc<str>), Kept<ast::Expr>>,
}

/// A definition.
struct Kept<T> {
    text: Arc<str>,
    tree: OnceLock<Bound<T>>,
}

impl<T> Kept<T> {
    fn new(text: &Arc<str>) -> Kept<T> {
        let (text, tree) = (text.clone(), OnceLock::new());
        Kept { text, tree }
    }

    fn tree(&self, parse: fn(&str) -> Bound<T>) -> Bound<&T> {
        self.tree
            .get_or_init(|| parse(&self.text))
            .as_ref()
            .map_err(QueryError::clone)
    }
}

impl Definitions {
    /// The definitions of a catalog.
    pub fn of(catalog: &Catalog) -> Definitions {
        let queries = catalog.queries.values();
        let methods = catalog.classes.values().flat_map(|class| {
            let methods = class.stored.methods.iter();
            methods.map(|method| ((class.id, method.name.clone()), Kept::new(&method.text)))
        });
        Definitions {
            queries: queries
                .map(|query| (query.name.clone(), Kept::new(&query.text)))
                .collect(),
            methods: methods.collect(),
        }
    }
}

impl<'a> Binder<'a> {
    /// A named query without parameters, used as a name.
    pub(super) fn named_query_use(&mut self, name: &ast::Name) -> Bound<Option<Expression>> {
        let Some(query) = self.catalog.queries.get(&name.text).cloned() else {
            return Ok(None);
        };
        if !query.parameters.is_empty() {
            let message = format!(
                "{} takes arguments: {}",
                query.name,
                usage(&query.name, &query.parameters)
            );
            return Err(QueryError::new(
                QueryErrorCode::UnknownFunction,
                name.span,
                message,
            ));
        }
        self.query_use(&query, Vec::new(), name.span).map(Some)
    }

    /// `name(arguments)` of a named query.
    pub(super) fn named_query_call(
        &mut self,
        name: &ast::Name,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Bound<Option<Expression>> {
        let Some(query) = self.catalog.queries.get(&name.text).cloned() else {
            return Ok(None);
        };
        let arguments = self.arguments(&query.name, &query.parameters, arguments, name.span)?;
        self.query_use(&query, arguments, span).map(Some)
    }

    fn query_use(&mut self, query: &NamedQuery, arguments: Vec<Expression>, span: Span) -> Bound<Expression> {
        let definitions = self.definitions;
        let Some(kept) = definitions.queries.get(&query.name) else {
            return Err(QueryError::new(
                QueryErrorCode::UnknownName,
                span,
                format!("there is no query named {}", query.name),
            ));
        };
        let scope = Scope::query();
        self.used(&query.name, span, scope, &query.parameters, arguments, |binder| {
            let tree = kept.tree(parse_query)?;
            match &tree.body {
                ast::QueryBody::Expression(value) if tree.is_bare() => binder.collection(value),
                _ => binder.subquery_rows(tree, tree.span),
            }
        })
    }

    /// `base.name(arguments)`.
    pub(super) fn method_call(
        &mut self,
        base: Expression,
        name: &ast::Name,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Bound<Expression> {
        if base.r#type.member().is_some() {
            return self.over_members(base, span, |binder, member| {
                binder.method_call(member, name, arguments, span)
            });
        }
        let Type::Reference(class) = &base.r#type else {
            let message = format!("a value of type {} has no method {}", base.r#type, name.text);
            let error = type_error(name.span, message);
            return Err(match base.r#type {
                Type::Any => error.hint("say of which class it is first: x[is C].method(..)"),
                _ => error,
            });
        };
        let Some(class) = self.catalog.class(class).cloned() else {
            return Err(type_error(
                span,
                format!("the class {class} does not exist any more"),
            ));
        };
        let Some((owner, method)) = self.catalog.method(&class, &name.text) else {
            return Err(self.unknown_method(&class, name));
        };
        let (owner, method) = (owner.clone(), method.clone());
        let arguments = self.arguments(&name.text, &method.parameters, arguments, name.span)?;
        let (this, held) = self.held("this", base);
        let mut held: Vec<(Column, Expression)> = held.into_iter().collect();
        let mut given = Vec::with_capacity(arguments.len());
        for (parameter, argument) in method.parameters.iter().zip(arguments) {
            let (argument, column) = self.held(&parameter.name, argument);
            given.push(argument);
            held.extend(column);
        }
        let body = self.late_bound(&class, (&owner, &method), &this, &given, span)?;
        Ok(with_held(body, held, span))
    }

    /// The method for each class that declares it anew below `class`, the deepest classes first.
    fn late_bound(
        &mut self,
        class: &Arc<Class>,
        found: (&Arc<Class>, &Method),
        this: &Expression,
        given: &[Expression],
        span: Span,
    ) -> Bound<Expression> {
        let below = class.family.iter().filter(|id| **id != class.id);
        let below = below.filter_map(|id| self.catalog.classes.get(id));
        let mut declaring: Vec<(usize, Arc<Class>)> = below
            .filter(|class| class.own_method(&found.1.name).is_some())
            .map(|class| (self.catalog.ancestry(class.id).len(), class.clone()))
            .collect();
        declaring.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.id.cmp(&b.1.id)));
        let mut branches = Vec::with_capacity(declaring.len().saturating_add(1));
        for (_, subclass) in declaring {
            let Some(method) = subclass.own_method(&found.1.name) else {
                continue;
            };
            let this = narrowed(this.clone(), &subclass, span);
            let body = self.method_use(&subclass, method, this.clone(), given.to_vec(), span)?;
            branches.push((is_class(this, &subclass, span), body));
        }
        let body = self.method_use(found.0, found.1, this.clone(), given.to_vec(), span)?;
        branches.push((is_class(this.clone(), class, span), body));
        let r#type = found.1.result.clone();
        let otherwise = None;
        Ok(Expression::new(
            ExpressionKind::Case { branches, otherwise },
            r#type,
            span,
        ))
    }

    fn method_use(
        &mut self,
        owner: &Arc<Class>,
        method: &Method,
        this: Expression,
        given: Vec<Expression>,
        span: Span,
    ) -> Bound<Expression> {
        let definitions = self.definitions;
        let key = (owner.id, method.name.clone());
        let Some(kept) = definitions.methods.get(&key) else {
            let message = format!("there is no method {} in {}", method.name, owner.name);
            return Err(QueryError::new(QueryErrorCode::UnknownFunction, span, message));
        };
        let name = format!("{}.{}", owner.name, method.name);
        let result = method.result.clone();
        self.method_body(&name, owner, (this, &method.parameters, given), span, |binder| {
            let tree = kept.tree(parse_expression)?;
            binder.result(tree, &result)
        })
    }

    /// Binds the body of a method of `owner` over an object.
    pub(super) fn method_body(
        &mut self,
        name: &str,
        owner: &Class,
        given: (Expression, &[Parameter], Vec<Expression>),
        span: Span,
        bind: impl FnOnce(&mut Self) -> Bound<Expression>,
    ) -> Bound<Expression> {
        let (this, parameters, arguments) = given;
        let column = self.column("this", Type::Reference(owner.name.clone()));
        let mut scope = Scope::query();
        scope.single = true;
        scope.ranges = vec![RangeVariable::new(Some("this".into()), column.clone())];
        let mut body = self.used(name, span, scope, parameters, arguments, bind)?;
        // What it is called on takes the place of the column; it is a column or something as cheap.
        body.rewrite(&mut |part| {
            let own = part.as_column() == Some(&column);
            if own {
                *part = this.clone();
            }
            own
        });
        Ok(body)
    }

    /// Binds an expression that must have the type a method promises.
    pub(super) fn result(&mut self, tree: &'a ast::Expr, result: &Type) -> Bound<Expression> {
        let mut value = if super::types::is_collection(result) {
            self.collection(tree)?
        } else {
            self.expression(tree)?
        };
        self.expect(&mut value, result);
        if !assignable(&value.r#type, result, self.catalog) {
            let message = format!("the method gives {result}, but this is of type {}", value.r#type);
            return Err(type_error(tree.span, message));
        }
        widen(&mut value, result);
        Ok(value)
    }

    /// Binds a definition in a scope of its own, in which its parameters stand for the arguments.
    pub(super) fn used(
        &mut self,
        name: &str,
        span: Span,
        mut scope: Scope<'a>,
        parameters: &[Parameter],
        arguments: Vec<Expression>,
        bind: impl FnOnce(&mut Self) -> Bound<Expression>,
    ) -> Bound<Expression> {
        self.enter(name, span)?;
        let mut held = Vec::new();
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let (value, column) = self.held(&parameter.name, argument);
            held.extend(column);
            scope.parameters.push((parameter.name.clone(), value));
        }
        let around = std::mem::take(&mut self.scopes);
        self.hidden = self.hidden.saturating_add(around.len());
        let bound = self.within(scope, bind);
        self.hidden = self.hidden.saturating_sub(around.len());
        self.scopes = around;
        self.depth = self.depth.saturating_sub(1);
        let (mut body, _) = bound.map_err(|error| inside(error, name, span))?;
        body.rewrite(&mut |part| {
            part.span = span;
            false
        });
        if height(&body) > TALLEST {
            let message =
                format!("{name} is too complex: its definitions nest more than {TALLEST} operators");
            return Err(QueryError::new(QueryErrorCode::TooComplex, span, message));
        }
        Ok(with_held(body, held, span))
    }

    /// The scope of a definition that is checked: its parameters are columns.
    fn defining(&mut self, mut scope: Scope<'a>, parameters: &[Parameter]) -> Scope<'a> {
        for parameter in parameters {
            let column = self.column(parameter.name.clone(), parameter.r#type.clone());
            let value = Expression::column(column, Span::default());
            scope.parameters.push((parameter.name.clone(), value));
        }
        scope
    }

    fn enter(&mut self, name: &str, span: Span) -> Bound<()> {
        self.uses = self.uses.saturating_add(1);
        let message = if self.uses > MOST_USES {
            format!("the statement uses definitions more than {MOST_USES} times")
        } else if self.depth >= DEEPEST_USE {
            format!(
                "{name} is defined by itself, or by more than {DEEPEST_USE} definitions within one another"
            )
        } else {
            self.depth = self.depth.saturating_add(1);
            return Ok(());
        };
        Err(QueryError::new(QueryErrorCode::TooComplex, span, message))
    }

    /// Binds arguments for parameters.
    fn arguments(
        &mut self,
        name: &str,
        parameters: &[Parameter],
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Bound<Vec<Expression>> {
        if arguments.len() != parameters.len() {
            let message = format!(
                "{name} takes {} argument{}, not {}: {}",
                parameters.len(),
                if parameters.len() == 1 { "" } else { "s" },
                arguments.len(),
                usage(name, parameters)
            );
            return Err(QueryError::new(QueryErrorCode::UnknownFunction, span, message));
        }
        let mut bound = Vec::with_capacity(arguments.len());
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let mut value = if super::types::is_collection(&parameter.r#type) {
                self.collection(argument)?
            } else {
                self.expression(argument)?
            };
            self.expect(&mut value, &parameter.r#type);
            if !assignable(&value.r#type, &parameter.r#type, self.catalog) {
                let message = format!(
                    "the argument {} of {name} is of type {}, but this is of type {}",
                    parameter.name, parameter.r#type, value.r#type
                );
                return Err(type_error(argument.span, message));
            }
            widen(&mut value, &parameter.r#type);
            bound.push(value);
        }
        Ok(bound)
    }

    /// What may stand several times for a value: the value itself where it is as cheap as a column, else a column that
    /// holds it.
    fn held(&mut self, name: &str, value: Expression) -> (Expression, Option<(Column, Expression)>) {
        let cheap = matches!(
            value.kind,
            ExpressionKind::Column(_) | ExpressionKind::Constant(_) | ExpressionKind::Parameter { .. }
        );
        if cheap {
            return (value, None);
        }
        let column = self.column(name, value.r#type.clone());
        let place = Expression::column(column.clone(), value.span);
        (place, Some((column, value)))
    }

    fn unknown_method(&self, class: &Class, name: &ast::Name) -> QueryError {
        let message = format!("{} has no method {}", class.name, name.text);
        let error = QueryError::new(QueryErrorCode::UnknownFunction, name.span, message);
        if class.attribute(&name.text).is_some() {
            return error.hint(format!(
                "{0} is an attribute: write .{0} without brackets",
                name.text
            ));
        }
        let line = self.catalog.ancestry(class.id);
        let above = line.iter().filter_map(|id| self.catalog.classes.get(id));
        let methods: Vec<&str> = above
            .flat_map(|class| class.stored.methods.iter())
            .map(|method| &*method.name)
            .collect();
        suggest(error, &name.text, methods)
    }
}

/// Checks the query of a named query.
///
/// # Errors
/// What is wrong with it, at its place.
pub fn check_query(
    catalog: &Catalog,
    parameters: &[Parameter],
    query: &ast::Query,
) -> Result<(), QueryError> {
    let (definitions, none) = (Definitions::of(catalog), GivenParameters::Given(Vec::new()));
    let mut binder = Binder::new(catalog, &definitions, &none);
    let scope = binder.defining(Scope::query(), parameters);
    binder.within(scope, |binder| binder.query(query)).map(|_| ())
}

/// Checks the body of a method of `class`.
///
/// # Errors
/// What is wrong with it, at its place.
pub fn check_method(
    catalog: &Catalog,
    class: &Class,
    method: &Method,
    body: &ast::Expr,
) -> Result<(), QueryError> {
    let (definitions, none) = (Definitions::of(catalog), GivenParameters::Given(Vec::new()));
    let mut binder = Binder::new(catalog, &definitions, &none);
    let mut scope = binder.defining(Scope::query(), &method.parameters);
    scope.single = true;
    let this = binder.column("this", Type::Reference(class.name.clone()));
    scope.ranges = vec![RangeVariable::new(Some("this".into()), this)];
    binder
        .within(scope, |binder| binder.result(body, &method.result))
        .map(|_| ())
}

impl ast::MethodDefinition {
    /// As the catalog keeps it.
    pub fn kept(&self) -> Method {
        Method {
            name: self.name.text.clone(),
            parameters: self
                .parameters
                .iter()
                .map(ast::ParameterDefinition::kept)
                .collect(),
            result: self.result.r#type.clone(),
            text: self.body.to_string().into(),
        }
    }
}

impl ast::ParameterDefinition {
    /// As the catalog keeps it.
    pub fn kept(&self) -> Parameter {
        Parameter {
            name: self.name.text.clone(),
            r#type: self.r#type.r#type.clone(),
        }
    }
}

/// Whether a catalog has named queries or methods.
pub fn has_definitions(catalog: &Catalog) -> bool {
    let mut classes = catalog.classes.values();
    !catalog.queries.is_empty() || classes.any(|class| !class.stored.methods.is_empty())
}

/// An error within a definition, told where the definition is used.
fn inside(error: QueryError, name: &str, span: Span) -> QueryError {
    let message = match error.message.starts_with("in ") {
        true => error.message,
        false => format!("in {name}: {}", error.message),
    };
    QueryError {
        message,
        span,
        position: None,
        ..error
    }
}

/// `value` with these columns holding what they stand for.
fn with_held(value: Expression, held: Vec<(Column, Expression)>, span: Span) -> Expression {
    held.into_iter().rev().fold(value, |body, (variable, value)| {
        let r#type = body.r#type.clone();
        let (value, body) = (Box::new(value), Box::new(body));
        let kind = ExpressionKind::Let {
            variable,
            value,
            body,
        };
        Expression::new(kind, r#type, span)
    })
}

fn narrowed(this: Expression, class: &Class, span: Span) -> Expression {
    Expression::new(this.kind, Type::Reference(class.name.clone()), span)
}

fn is_class(this: Expression, class: &Class, span: Span) -> Expression {
    let kind = ExpressionKind::IsClass {
        value: Box::new(this),
        class: class.name.clone(),
        classes: class.family.clone(),
    };
    Expression::new(kind, Type::Bool, span)
}

/// How something is called: `near(x: Person, n: int)`.
fn usage(name: &str, parameters: &[Parameter]) -> String {
    let parameters: Vec<String> = parameters
        .iter()
        .map(|parameter| format!("{}: {}", parameter.name, parameter.r#type))
        .collect();
    format!("{name}({})", parameters.join(", "))
}

/// The operators on the longest path through an expression, the plans of subqueries left out.
fn height(expression: &Expression) -> usize {
    let below = expression.children().into_iter().map(height).max();
    below.unwrap_or(0).saturating_add(1)
}

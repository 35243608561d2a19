//! Postfix expressions: attributes, reverse steps, closures, indexes, slices, filters.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::condition::truth;
use super::name::suggest;
use super::scope::Scope;
use super::types::{common_type, comparable, type_error};
use crate::catalog::{Attribute, Class, IndexId};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::{ClassId, Type};
use crate::query::ast::{self, ExprKind};
use crate::query::plan::{Expression, ExpressionKind, Slots};

/// Which classes must have an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The class of the expression's type.
    Strict,
    /// That class or one below it: in a closure, an object whose class lacks the attribute is a leaf.
    Lenient,
}

impl<'a> Binder<'a> {
    pub(super) fn postfix(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Attribute { object, name } => {
                let base = self.collection(object)?;
                self.attribute(base, name, span)
            }
            ExprKind::Method {
                object,
                name,
                arguments,
            } => {
                let base = self.collection(object)?;
                self.method_call(base, name, arguments, span)
            }
            ExprKind::Reverse {
                object,
                class,
                attribute,
            } => {
                let base = self.collection(object)?;
                self.reverse(base, class, attribute, span)
            }
            ExprKind::Closure {
                start,
                path,
                repetitions,
            } => {
                let start = self.collection(start)?;
                self.closure(start, path, repetitions, span)
            }
            ExprKind::Index { collection, index } => {
                let base = self.collection(collection)?;
                let index = self.expression(index)?;
                self.index(base, index, span)
            }
            ExprKind::Slice { collection, from, to } => {
                let base = self.collection(collection)?;
                let (from, to) = (self.int(from)?, self.int(to)?);
                self.slice(base, from, to, span)
            }
            ExprKind::Narrow { operand, class } => {
                let base = self.collection(operand)?;
                self.narrow(base, class, span)
            }
            ExprKind::Filter {
                collection,
                predicate,
            } => {
                let base = self.collection(collection)?;
                self.filter(base, predicate, span)
            }
            ExprKind::NotNil(operand) => {
                let operand = self.expression(operand)?;
                let r#type = operand.r#type.clone();
                Ok(Expression::new(
                    ExpressionKind::Require(Box::new(operand)),
                    r#type,
                    span,
                ))
            }
            _ => self.expression(expr),
        }
    }

    /// `base.name`
    pub(super) fn attribute(&mut self, base: Expression, name: &ast::Name, span: Span) -> Bound<Expression> {
        self.attribute_of(base, name, span, Lookup::Strict)
    }

    fn attribute_of(
        &mut self,
        base: Expression,
        name: &ast::Name,
        span: Span,
        lookup: Lookup,
    ) -> Bound<Expression> {
        if base.r#type.member().is_some() {
            return self.over_members(base, span, |binder, member| {
                binder.attribute_of(member, name, span, lookup)
            });
        }
        match base.r#type.clone() {
            Type::Reference(class) => self.object_attribute(base, &class, name, span, lookup),
            Type::Struct(fields) => {
                let Some(index) = fields.iter().position(|(field, _)| *field == name.text) else {
                    let message = format!("{} has no field {}", base.r#type, name.text);
                    let error = QueryError::new(QueryErrorCode::UnknownName, name.span, message);
                    return Err(suggest(
                        error,
                        &name.text,
                        fields.iter().map(|(field, _)| &**field),
                    ));
                };
                let r#type = fields.get(index).map_or(Type::Any, |(_, r#type)| r#type.clone());
                let (base, name) = (Box::new(base), name.text.clone());
                Ok(Expression::new(
                    ExpressionKind::Field { base, index, name },
                    r#type,
                    span,
                ))
            }
            Type::Any => {
                let (base, name) = (Box::new(base), name.text.clone());
                Ok(Expression::new(
                    ExpressionKind::DynamicAttribute { base, name },
                    Type::Any,
                    span,
                ))
            }
            other => Err(type_error(
                name.span,
                format!("a value of type {other} has no attribute {}", name.text),
            )),
        }
    }

    /// What `body` makes of each member, as a bag.
    pub(super) fn over_members(
        &mut self,
        collection: Expression,
        span: Span,
        body: impl FnOnce(&mut Self, Expression) -> Bound<Expression>,
    ) -> Bound<Expression> {
        let member = collection.r#type.member().cloned().unwrap_or(Type::Any);
        let variable = self.column("it", member);
        let body = body(self, Expression::column(variable.clone(), span))?;
        let member = body.r#type.member().unwrap_or(&body.r#type).clone();
        let kind = ExpressionKind::Map {
            collection: Box::new(collection),
            variable,
            body: Box::new(body),
        };
        Ok(Expression::new(kind, Type::bag(member), span))
    }

    fn object_attribute(
        &mut self,
        base: Expression,
        class: &str,
        name: &ast::Name,
        span: Span,
        lookup: Lookup,
    ) -> Bound<Expression> {
        let Some(class) = self.catalog.class(class).cloned() else {
            let message = format!("the class {class} does not exist any more");
            return Err(QueryError::new(QueryErrorCode::UnknownClass, span, message));
        };
        let having = class.attribute(&name.text).is_some();
        let below = lookup == Lookup::Lenient && self.subclass_with(&class, &name.text).is_some();
        if !having && !below {
            return Err(self.unknown_attribute(&class, &base, name));
        }
        if let Some(derived) = self.derived(&base, &class, name, span)? {
            return Ok(derived);
        }
        let (slots, r#type) = self.slots(&class, &name.text);
        let (base, name) = (Box::new(base), name.text.clone());
        Ok(Expression::new(
            ExpressionKind::Attribute { base, name, slots },
            r#type,
            span,
        ))
    }

    /// An attribute that no object stores: the reverse step along the attribute it is the inverse of.
    fn derived(
        &mut self,
        base: &Expression,
        class: &Class,
        name: &ast::Name,
        span: Span,
    ) -> Bound<Option<Expression>> {
        let catalog = self.catalog.clone();
        let having = class.family.iter().filter_map(|id| catalog.classes.get(id));
        let having = having.filter_map(|class| class.attribute(&name.text));
        let mut backings: Vec<_> = having.map(|own| catalog.backing(own)).collect();
        backings.dedup_by(|a, b| {
            let of = |side: &Option<(&Arc<Class>, &Attribute)>| {
                side.map(|(holder, other)| (holder.id, other.name.clone()))
            };
            of(a) == of(b)
        });
        let (holder, other) = match backings.as_slice() {
            [Some(backing)] => *backing,
            [] | [None] => return Ok(None),
            _ => {
                let message = format!("{} is of several kinds below {}", name.text, class.name);
                let error = QueryError::new(QueryErrorCode::Type, name.span, message);
                return Err(error.hint(format!("name the class: {base}[is ..].{}", name.text)));
            }
        };
        self.reverse_step(base.clone(), holder, other, true, span)
            .map(Some)
    }

    fn unknown_attribute(&self, class: &Class, base: &Expression, name: &ast::Name) -> QueryError {
        let message = format!("{} has no attribute {}", class.name, name.text);
        let error = QueryError::new(QueryErrorCode::UnknownName, name.span, message);
        if let Some(below) = self.subclass_with(class, &name.text) {
            return error.hint(format!(
                "its subclass {below} has it: write {base}[is {below}].{}",
                name.text
            ));
        }
        suggest(
            error,
            &name.text,
            class.attributes.iter().map(|attribute| &*attribute.name),
        )
    }

    /// Where an attribute lies in objects of the class and of those below, and its type.
    pub(super) fn slots(&self, class: &Class, attribute: &str) -> (Slots, Type) {
        let mut slots: Vec<(ClassId, usize)> = Vec::new();
        let mut common: Option<Type> = None;
        for member in class.family.iter().filter_map(|id| self.catalog.classes.get(id)) {
            let Some(found) = member.attribute(attribute) else {
                continue;
            };
            slots.push((member.id, found.slot));
            common = Some(match common {
                None => found.r#type.clone(),
                Some(before) => common_type(&before, &found.r#type, self.catalog).unwrap_or(Type::Any),
            });
        }
        let first = slots.first().map_or(0, |(_, slot)| *slot);
        let everywhere = slots.len() == class.family.len() && slots.iter().all(|(_, slot)| *slot == first);
        let slots = if everywhere {
            Slots::Same(first)
        } else {
            Slots::ByClass(slots)
        };
        (slots, common.unwrap_or(Type::Any))
    }

    /// `base.<C.attribute`
    fn reverse(
        &mut self,
        base: Expression,
        class: &ast::Name,
        attribute: &ast::Name,
        span: Span,
    ) -> Bound<Expression> {
        let Some(found) = self.catalog.class(&class.text).cloned() else {
            return Err(self.unknown_class(class));
        };
        let Some(declared) = found.attribute(&attribute.text) else {
            let unknown = Expression::constant(crate::object::Value::Nil, Type::Any);
            return Err(self.unknown_attribute(&found, &unknown, attribute));
        };
        let target = declared.r#type.member().unwrap_or(&declared.r#type).clone();
        let source = base.r#type.member().unwrap_or(&base.r#type).clone();
        if !matches!(target, Type::Reference(_) | Type::Any) {
            let message = format!(
                "{}.{} is of type {}, and holds no references",
                class.text, attribute.text, declared.r#type
            );
            return Err(type_error(attribute.span, message));
        }
        if !matches!(source, Type::Reference(_) | Type::Any) || !comparable(&source, &target, self.catalog) {
            let message = format!(
                "{}.{} refers to {target}, not to {source}",
                class.text, attribute.text
            );
            return Err(type_error(span, message));
        }
        self.reverse_step(base, &found, declared, false, span)
    }

    fn reverse_step(
        &mut self,
        base: Expression,
        found: &Arc<Class>,
        declared: &Attribute,
        of_living: bool,
        span: Span,
    ) -> Bound<Expression> {
        let (slots, _) = self.slots(found, &declared.name);
        let kind = ExpressionKind::Reverse {
            base: Box::new(base),
            class: found.name.clone(),
            classes: found.family.clone(),
            attribute: declared.name.clone(),
            slots,
            collection: declared.r#type.member().is_some(),
            index: self.reference_index(found.id, &declared.name),
            of_living,
        };
        Ok(Expression::new(
            kind,
            Type::set(Type::Reference(found.name.clone())),
            span,
        ))
    }

    /// A usable index on exactly this attribute that covers the class.
    fn reference_index(&self, class: ClassId, attribute: &str) -> Option<IndexId> {
        let index = self.catalog.index_of_reference(class, attribute);
        index.filter(|index| index.ready).map(|index| index.id)
    }

    /// `start.path{m,n}`
    fn closure(
        &mut self,
        start: Expression,
        path: &'a [ast::PathStep],
        repetitions: &ast::Repetitions,
        span: Span,
    ) -> Bound<Expression> {
        let source = start.r#type.member().unwrap_or(&start.r#type).clone();
        if !matches!(source, Type::Reference(_) | Type::Any) {
            return Err(type_error(
                start.span,
                format!("a closure starts at objects, not at {source}"),
            ));
        }
        let mut reached = source;
        // What a step reaches may be wider than what it starts at; each round widens the type, or is the last.
        loop {
            let variable = self.column("it", reached.clone());
            let mut step = Expression::column(variable.clone(), span);
            for part in path {
                step = self.path_step(step, part)?;
            }
            let target = step.r#type.member().unwrap_or(&step.r#type).clone();
            if !matches!(target, Type::Reference(_) | Type::Any) {
                return Err(type_error(
                    span,
                    format!("a closure follows references, not values of type {target}"),
                ));
            }
            let wider = common_type(&reached, &target, self.catalog).unwrap_or(Type::Any);
            if wider != reached {
                reached = wider;
                continue;
            }
            let kind = ExpressionKind::Closure {
                start: Box::new(start),
                variable,
                step: Box::new(step),
                minimum: u64::from(repetitions.least),
                maximum: repetitions.greatest.map(u64::from),
            };
            return Ok(Expression::new(kind, Type::set(reached), span));
        }
    }

    fn path_step(&mut self, base: Expression, step: &'a ast::PathStep) -> Bound<Expression> {
        let span = base.span;
        match step {
            ast::PathStep::Attribute(name) => self.attribute_of(base, name, name.span, Lookup::Lenient),
            ast::PathStep::Method { name, arguments } => self.method_call(base, name, arguments, name.span),
            ast::PathStep::Reverse { class, attribute } => {
                self.reverse(base, class, attribute, attribute.span)
            }
            ast::PathStep::Narrow(class) => self.narrow(base, class, class.span),
            ast::PathStep::Filter(predicate) => self.filter(base, predicate, predicate.span),
            ast::PathStep::Closure { path, repetitions } => self.closure(base, path, repetitions, span),
        }
    }

    fn index(&mut self, base: Expression, mut index: Expression, span: Span) -> Bound<Expression> {
        let (key, r#type) = match &base.r#type {
            Type::List(member) => (Type::Int, (**member).clone()),
            Type::String => (Type::Int, Type::String),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Any => (Type::Any, Type::Any),
            other => {
                let message = format!("[..] needs a list or map, but this is of type {other}");
                return Err(type_error(base.span, message));
            }
        };
        let index_span = index.span;
        self.check_member("as a key of", &mut index, &key, index_span)?;
        if key == Type::Int && !matches!(index.r#type, Type::Int | Type::Any) {
            return Err(type_error(
                index_span,
                format!("a position is an int, not {}", index.r#type),
            ));
        }
        let (base, index) = (Box::new(base), Box::new(index));
        Ok(Expression::new(
            ExpressionKind::Index { base, index },
            r#type,
            span,
        ))
    }

    /// Binds an expression that must be an int.
    pub(super) fn int(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let mut bound = self.expression(expr)?;
        self.expect(&mut bound, &Type::Int);
        match bound.r#type {
            Type::Int | Type::Any => Ok(bound),
            ref other => Err(type_error(
                expr.span,
                format!("an int is needed here, but this is of type {other}"),
            )),
        }
    }

    fn slice(&mut self, base: Expression, from: Expression, to: Expression, span: Span) -> Bound<Expression> {
        if !matches!(
            base.r#type,
            Type::List(_) | Type::String | Type::Bytes | Type::Any
        ) {
            let message = format!("a slice needs a list, but this is of type {}", base.r#type);
            return Err(type_error(base.span, message));
        }
        let r#type = base.r#type.clone();
        let kind = ExpressionKind::Slice {
            base: Box::new(base),
            from: Some(Box::new(from)),
            to: Some(Box::new(to)),
        };
        Ok(Expression::new(kind, r#type, span))
    }

    /// `base[is C]`
    fn narrow(&mut self, base: Expression, class: &ast::Name, span: Span) -> Bound<Expression> {
        let Some(found) = self.catalog.class(&class.text).cloned() else {
            return Err(self.unknown_class(class));
        };
        let narrow = Type::Reference(found.name.clone());
        let source = base.r#type.member().unwrap_or(&base.r#type).clone();
        if !matches!(source, Type::Reference(_) | Type::Any) || !comparable(&source, &narrow, self.catalog) {
            let message = format!("a value of type {source} is never a {}", found.name);
            return Err(type_error(class.span, message));
        }
        let (name, classes) = (found.name.clone(), found.family.clone());
        if base.r#type.member().is_none() {
            let value = Box::new(base);
            let kind = ExpressionKind::Narrow {
                value,
                class: name,
                classes,
            };
            return Ok(Expression::new(kind, narrow, span));
        }
        let variable = self.column("it", source);
        let value = Box::new(Expression::column(variable.clone(), span));
        let predicate = truth(
            ExpressionKind::IsClass {
                value,
                class: name,
                classes,
            },
            span,
        );
        let r#type = with_member(&base.r#type, narrow);
        let kind = ExpressionKind::Select {
            collection: Box::new(base),
            variable,
            predicate: Box::new(predicate),
        };
        Ok(Expression::new(kind, r#type, span))
    }

    /// `base[where predicate]`
    fn filter(&mut self, base: Expression, predicate: &'a ast::Expr, span: Span) -> Bound<Expression> {
        let member = self.member_of(&base)?;
        let variable = self.column("it", member);
        let scope = Scope::variable(Arc::from("it"), variable.clone());
        let (predicate, _) = self.within(scope, |binder| binder.predicate(predicate))?;
        let r#type = base.r#type.clone();
        let kind = ExpressionKind::Select {
            collection: Box::new(base),
            variable,
            predicate: Box::new(predicate),
        };
        Ok(Expression::new(kind, r#type, span))
    }
}

/// The same kind of collection with other members.
pub(super) fn with_member(collection: &Type, member: Type) -> Type {
    match collection {
        Type::List(_) => Type::list(member),
        Type::Set(_) => Type::set(member),
        _ => Type::bag(member),
    }
}

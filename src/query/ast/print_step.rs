//! Canonical text of steps: what follows an operand and binds tightest.

use super::print::{Level, Printer};
use super::{Expr, ExprKind, Name, PathStep, Repetitions};

impl Printer {
    pub(super) fn step(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Attribute { object, name } => {
                self.operand(object, Level::Postfix);
                self.push(".");
                self.attribute(name);
            }
            ExprKind::Method {
                object,
                name,
                arguments,
            } => {
                self.operand(object, Level::Postfix);
                self.push(".");
                self.method_step(name, arguments);
            }
            ExprKind::Reverse {
                object,
                class,
                attribute,
            } => {
                self.operand(object, Level::Postfix);
                self.reverse(class, attribute);
            }
            ExprKind::Closure {
                start,
                path,
                repetitions,
            } => {
                self.operand(start, Level::Postfix);
                self.closure(path, *repetitions, false);
            }
            ExprKind::NotNil(operand) => {
                self.operand(operand, Level::Postfix);
                self.push("!");
            }
            _ => self.index(kind),
        }
    }

    fn index(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Index { collection, index } => {
                self.operand(collection, Level::Postfix);
                self.push("[");
                self.expression(index);
            }
            ExprKind::Slice { collection, from, to } => {
                self.operand(collection, Level::Postfix);
                self.push("[");
                self.expression(from);
                self.push(":");
                self.expression(to);
            }
            ExprKind::Narrow { operand, class } => {
                self.operand(operand, Level::Postfix);
                self.push("[is ");
                self.name(class);
            }
            ExprKind::Filter {
                collection,
                predicate,
            } => {
                self.operand(collection, Level::Postfix);
                self.push("[where ");
                self.expression(predicate);
            }
            _ => return,
        }
        self.push("]");
    }

    fn method_step(&mut self, name: &Name, arguments: &[Expr]) {
        self.attribute(name);
        self.parenthesized(|p| p.list(arguments, Self::expression));
    }

    fn reverse(&mut self, class: &Name, attribute: &Name) {
        self.push(".<");
        self.attribute(class);
        self.push(".");
        self.attribute(attribute);
    }

    /// A closure after what it starts from; `first`: it begins a path in brackets instead.
    fn closure(&mut self, path: &[PathStep], repetitions: Repetitions, first: bool) {
        match path {
            [step @ (PathStep::Attribute(_) | PathStep::Method { .. } | PathStep::Reverse { .. })] => {
                self.path_step(step, first);
            }
            _ => {
                self.push(if first { "(" } else { ".(" });
                for (index, step) in path.iter().enumerate() {
                    self.path_step(step, index == 0);
                }
                self.push(")");
            }
        }
        self.display(repetitions);
    }

    fn path_step(&mut self, step: &PathStep, first: bool) {
        match step {
            PathStep::Attribute(name) => {
                self.push(if first { "" } else { "." });
                self.attribute(name);
            }
            PathStep::Method { name, arguments } => {
                self.push(if first { "" } else { "." });
                self.method_step(name, arguments);
            }
            PathStep::Reverse { class, attribute } => self.reverse(class, attribute),
            PathStep::Narrow(class) => {
                self.push("[is ");
                self.name(class);
                self.push("]");
            }
            PathStep::Filter(predicate) => {
                self.push("[where ");
                self.expression(predicate);
                self.push("]");
            }
            PathStep::Closure { path, repetitions } => self.closure(path, *repetitions, first),
        }
    }
}

//! Canonical text of statements.

use std::fmt;

use super::print::Printer;
use super::statement::*;
use super::{Name, Projection};
use crate::query::parser::opens_statement;

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new();
        printer.statement(self);
        f.write_str(&printer.text)
    }
}

impl Printer {
    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Query(query) => {
                let start = self.text.len();
                self.query(query);
                self.hide_opening_word(start);
            }
            StatementKind::CreateClass(create) => self.create_class(create),
            StatementKind::AlterClass(alter) => self.alter_class(alter),
            StatementKind::DropClass { if_exists, name } => self.drop("class", *if_exists, name),
            StatementKind::CreateIndex(create) => self.create_index(create),
            StatementKind::DropIndex { if_exists, name } => self.drop("index", *if_exists, name),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Let { parameter, value } => {
                self.push("let $");
                self.push(&parameter.text);
                self.push(" = ");
                self.statement(value);
            }
            StatementKind::Update(update) => self.update(update),
            StatementKind::Delete(delete) => self.delete(delete),
            StatementKind::Name { name, value } => {
                self.word_and_name("name ", name);
                self.push(" = ");
                self.expression(value);
            }
            StatementKind::Unname(name) => self.word_and_name("unname ", name),
            StatementKind::Define(define) => self.define(define),
            StatementKind::Undefine(name) => self.word_and_name("undefine ", name),
            StatementKind::Explain(statement) => {
                self.push("explain ");
                self.statement(statement);
            }
            StatementKind::Profile(statement) => {
                self.push("profile ");
                self.statement(statement);
            }
            other => self.plain(other),
        }
    }

    /// Statements that hold no other tree than a name or a value.
    fn plain(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Begin(begin) => self.begin(*begin),
            StatementKind::Commit => self.push("commit"),
            StatementKind::Rollback => self.push("rollback"),
            StatementKind::Savepoint(name) => self.word_and_name("savepoint ", name),
            StatementKind::RollbackTo(name) => self.word_and_name("rollback to ", name),
            StatementKind::Release(name) => self.word_and_name("release ", name),
            StatementKind::Analyze(None) => self.push("analyze"),
            StatementKind::Analyze(Some(class)) => self.word_and_name("analyze ", class),
            StatementKind::Show(show) => self.push(show_text(*show)),
            StatementKind::Describe(class) => self.word_and_name("describe ", class),
            StatementKind::Set { option, value } => {
                self.word_and_name("set ", option);
                self.push(" = ");
                self.expression(value);
            }
            StatementKind::Check => self.push("check"),
            StatementKind::Compact { cluster_by } => {
                self.push("compact");
                if let Some(path) = cluster_by {
                    self.push(" cluster by ");
                    self.path(path);
                }
            }
            StatementKind::CollectGarbage { dry_run } => {
                self.push(if *dry_run {
                    "collect garbage dry run"
                } else {
                    "collect garbage"
                });
            }
            StatementKind::Backup { path } => {
                self.push("backup to ");
                self.expression(path);
            }
            _ => {}
        }
    }

    fn word_and_name(&mut self, word: &str, name: &Name) {
        self.push(word);
        self.name(name);
    }

    /// A query that begins with a name that would open another statement has it in backquotes.
    fn hide_opening_word(&mut self, start: usize) {
        let text = self.text.get(start..).unwrap_or_default();
        let end = text
            .find(|c| !unicode_ident::is_xid_continue(c))
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        if !rest.starts_with('#') && opens_statement(word, rest.starts_with('(')) {
            self.text.insert(start + end, '`');
            self.text.insert(start, '`');
        }
    }

    fn create_class(&mut self, create: &CreateClass) {
        self.push(if create.dependent {
            "create dependent class "
        } else {
            "create class "
        });
        self.push(if create.if_not_exists {
            "if not exists "
        } else {
            ""
        });
        self.list(&create.classes, Self::class);
    }

    fn class(&mut self, class: &ClassDefinition) {
        self.name(&class.name);
        if let Some(superclass) = &class.extends {
            self.word_and_name(" extends ", superclass);
        }
        if class.attributes.is_empty() && class.methods.is_empty() {
            self.push(" {}");
            return;
        }
        self.push(" { ");
        self.list(&class.attributes, Self::attribute_definition);
        if !class.attributes.is_empty() && !class.methods.is_empty() {
            self.push(", ");
        }
        self.list(&class.methods, Self::method);
        self.push(" }");
    }

    fn attribute_definition(&mut self, attribute: &AttributeDefinition) {
        self.name(&attribute.name);
        self.push(": ");
        self.r#type(&attribute.r#type.r#type);
        // After a default, `union` would be an operator.
        self.merge_rule(attribute.merge);
        self.push(if attribute.not_null { " not null" } else { "" });
        if let Some(default) = &attribute.default {
            self.push(" default ");
            self.expression(default);
        }
        self.push(if attribute.unique { " unique" } else { "" });
        if let Some(inverse) = &attribute.inverse {
            self.push(" inverse ");
            self.name(inverse);
        }
        self.push(match attribute.on_delete {
            None => "",
            Some(OnDelete::Leave) => " on delete leave",
            Some(OnDelete::Restrict) => " on delete restrict",
            Some(OnDelete::Clear) => " on delete clear",
            Some(OnDelete::Cascade) => " on delete cascade",
        });
    }

    fn merge_rule(&mut self, rule: Option<MergeRule>) {
        self.push(match rule {
            None => "",
            Some(MergeRule::Counter) => " counter",
            Some(MergeRule::Union) => " union",
        });
    }

    fn method(&mut self, method: &MethodDefinition) {
        self.word_and_name("method ", &method.name);
        self.parenthesized(|p| p.list(&method.parameters, Self::parameter_definition));
        self.push(": ");
        self.r#type(&method.result.r#type);
        self.push(" as ");
        self.expression(&method.body);
    }

    fn parameter_definition(&mut self, parameter: &ParameterDefinition) {
        self.name(&parameter.name);
        self.push(": ");
        self.r#type(&parameter.r#type.r#type);
    }

    fn alter_class(&mut self, alter: &AlterClass) {
        self.word_and_name("alter class ", &alter.class);
        match &alter.change {
            ClassChange::Add(attribute) => {
                self.push(" add attribute ");
                self.attribute_definition(attribute);
            }
            ClassChange::AddMethod(method) => {
                self.push(" add ");
                self.method(method);
            }
            ClassChange::Drop(name) => self.word_and_name(" drop attribute ", name),
            ClassChange::DropMethod(name) => self.word_and_name(" drop method ", name),
            ClassChange::Rename { from, to } => {
                self.word_and_name(" rename attribute ", from);
                self.word_and_name(" to ", to);
            }
            ClassChange::Merge { attribute, rule } => {
                self.word_and_name(" merge attribute ", attribute);
                self.push(" by");
                self.merge_rule(*rule);
                self.push(if rule.is_none() { " none" } else { "" });
            }
            ClassChange::Retype {
                attribute,
                r#type,
                using,
            } => {
                self.word_and_name(" retype attribute ", attribute);
                self.push(" to ");
                self.r#type(&r#type.r#type);
                if let Some(using) = using {
                    self.push(" using ");
                    self.expression(using);
                }
            }
            ClassChange::Move { attribute, to } => {
                self.word_and_name(" move attribute ", attribute);
                self.word_and_name(" to ", to);
            }
            ClassChange::RenameClass(name) => self.word_and_name(" rename to ", name),
            ClassChange::Extends(class) => self.word_and_name(" extends ", class),
            ClassChange::Dependent(true) => self.push(" dependent"),
            ClassChange::Dependent(false) => self.push(" not dependent"),
        }
    }

    fn drop(&mut self, what: &str, if_exists: bool, name: &Name) {
        self.push("drop ");
        self.push(what);
        self.word_and_name(if if_exists { " if exists " } else { " " }, name);
    }

    fn create_index(&mut self, create: &CreateIndex) {
        self.push(match create.kind {
            IndexKind::Ordered => "create index ",
            IndexKind::Unique => "create unique index ",
            IndexKind::Bitmap => "create bitmap index ",
        });
        self.word_and_name(
            if create.if_not_exists {
                "if not exists "
            } else {
                ""
            },
            &create.name,
        );
        self.word_and_name(" on ", &create.class);
        self.push("(");
        self.list(&create.components, |p, component| {
            p.path(&component.path);
            p.push(if component.descending { " desc" } else { "" });
        });
        self.push(")");
    }

    fn names(&mut self, names: &[Name]) {
        self.parenthesized(|p| p.list(names, Self::name));
    }

    fn insert(&mut self, insert: &Insert) {
        match &insert.source {
            InsertSource::Fields(fields) => {
                self.word_and_name("insert ", &insert.class);
                self.fields(fields);
            }
            InsertSource::Rows { attributes, rows } => {
                self.word_and_name("insert into ", &insert.class);
                self.push(" ");
                self.names(attributes);
                self.push(" values ");
                self.list(rows, |p, row| p.parenthesized(|p| p.list(row, Self::expression)));
            }
            InsertSource::Query { attributes, query } => {
                self.word_and_name("insert into ", &insert.class);
                self.push(" ");
                self.names(attributes);
                self.push(" ");
                let start = self.text.len();
                self.query(query);
                // It would be read as rows.
                self.hide_call(start, "values");
            }
        }
        if let Some(conflict) = &insert.on_conflict {
            self.on_conflict(conflict);
        }
        self.returning(insert.returning.as_ref());
    }

    fn on_conflict(&mut self, conflict: &OnConflict) {
        self.push(" on conflict ");
        self.names(&conflict.attributes);
        match &conflict.action {
            ConflictAction::Nothing => self.push(" do nothing"),
            ConflictAction::Update(assignments) => {
                self.push(" update set ");
                self.list(assignments, Self::assignment);
            }
        }
    }

    fn returning(&mut self, returning: Option<&Projection>) {
        if let Some(projection) = returning {
            self.push(" returning ");
            self.projection(projection);
        }
    }

    fn update(&mut self, update: &Update) {
        self.word_and_name("update ", &update.class);
        if let Some(variable) = &update.variable {
            self.word_and_name(" as ", variable);
        }
        self.push(" set ");
        self.list(&update.assignments, Self::assignment);
        self.clause_after(" where ", update.filter.as_ref());
        self.returning(update.returning.as_ref());
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.name(&assignment.attribute);
        self.push(match assignment.operator {
            AssignmentOperator::Set => " = ",
            AssignmentOperator::Add => " += ",
            AssignmentOperator::Remove => " -= ",
        });
        self.clause(&assignment.value);
    }

    fn delete(&mut self, delete: &Delete) {
        self.word_and_name("delete ", &delete.class);
        if let Some(variable) = &delete.variable {
            self.word_and_name(" as ", variable);
        }
        self.clause_after(" where ", delete.filter.as_ref());
        self.returning(delete.returning.as_ref());
    }

    fn begin(&mut self, begin: Begin) {
        self.push("begin");
        self.push(if begin.read_only { " read only" } else { "" });
        self.push(match begin.isolation {
            None => "",
            Some(Isolation::Serializable) => " isolation serializable",
            Some(Isolation::Snapshot) => " isolation snapshot",
        });
        self.push(match begin.durability {
            None => "",
            Some(Durability::Sync) => " durability sync",
            Some(Durability::Buffer) => " durability buffer",
        });
    }

    fn define(&mut self, define: &Define) {
        self.word_and_name("define ", &define.name);
        if !define.parameters.is_empty() {
            self.parenthesized(|p| p.list(&define.parameters, Self::parameter_definition));
        }
        self.push(" as ");
        self.query(&define.query);
    }
}

fn show_text(show: Show) -> &'static str {
    match show {
        Show::Classes => "show classes",
        Show::Indexes => "show indexes",
        Show::Names => "show names",
        Show::Queries => "show queries",
        Show::Snapshots => "show snapshots",
        Show::Stats => "show stats",
        Show::Settings => "show settings",
    }
}

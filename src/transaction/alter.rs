//! Changes of classes that have objects, and their dry run.
//!
//! A change that needs no new bodies is one write a class. The values of a retyped attribute are all tried, and from the
//! commit of the class on converted when they are read; the objects are written anew later, in the background. Where an
//! expression gives the new values, every object is written in the same commit as the class. Either way a reader sees all of
//! it or nothing, and a kill half-way leaves nothing.

use std::fmt;
use std::sync::Arc;

use super::handle::Transaction;
use crate::catalog::{Alteration, Attribute, Class, Direction, Index, IndexDefinition, Method};
use crate::error::{Error, Result};
use crate::object::codec::{converted, read_slot, rewrite};
use crate::object::{ClassId, Oid, Record, SlotSet, Type, Value, convert};
use crate::read::{ExtentPosition, Reader, has_objects};

/// What a change of a class does to its objects, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlterationReport {
    /// Objects whose values are converted: when they are read, or in the same commit where an expression gives the values.
    pub objects: u64,
    /// Objects whose values do not convert, or would be lost.
    pub failures: u64,
    /// The first of these, each with the reason.
    pub samples: Vec<String>,
}

impl AlterationReport {
    fn fail(&mut self, sample: impl FnOnce() -> String) {
        self.failures = self.failures.saturating_add(1);
        if self.samples.len() < SAMPLES {
            self.samples.push(sample());
        }
    }
}

impl fmt::Display for AlterationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} objects are converted, {} fail",
            self.objects, self.failures
        )?;
        match self.samples.is_empty() {
            true => Ok(()),
            false => write!(f, ": {}", self.samples.join("; ")),
        }
    }
}

/// How many failures a report names.
const SAMPLES: usize = 10;

/// New values of one attribute, by object; `None` where they are converted when they are read.
type Converted = Option<Vec<(Oid, Value)>>;

impl Transaction {
    /// Changes a class, and its objects where they must change with it.
    ///
    /// ```
    /// # use olivine::{Alteration, Class, Database, Object, Type, Value};
    /// let db = Database::in_memory()?;
    /// db.define_class(Class::new("Book").attribute("year", Type::String))?;
    /// let book = db.transact(|tx| tx.insert_object(Object::new("Book").with("year", "1961")))?;
    /// let retype = Alteration::Retype { attribute: "year".into(), r#type: Type::Int, using: None };
    /// assert_eq!(db.check_alteration("Book", &retype)?.failures, 0);
    /// db.transact(|tx| tx.alter_class("Book", &retype))?;
    /// let book = db.snapshot().object(book)?.ok_or_else(|| olivine::Error::other("gone"))?;
    /// assert_eq!(book.get("year"), Some(&Value::Int(1961)));
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] where the change does not fit the catalog, or where values do not convert or would be lost: it
    /// says how many, and names the first. Nothing is changed then.
    pub fn alter_class(&mut self, class: &str, alteration: &Alteration) -> Result<AlterationReport> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        self.refuse_snapshot_isolation(alteration)?;
        let (report, converted) = self.examine(&class, alteration)?;
        if report.failures > 0 {
            return Err(Error::Schema(format!(
                "{} of the objects of {} do not take this change: {}",
                report.failures,
                class.name,
                report.samples.join("; ")
            )));
        }
        self.apply_alteration(&class, alteration, converted)?;
        Ok(report)
    }

    /// What [`Transaction::alter_class`] would do, without doing it: how many objects it would write, how many of them
    /// fail, and the first of these.
    ///
    /// # Errors
    /// [`Error::Schema`] where the change does not fit the catalog.
    pub fn check_alteration(&self, class: &str, alteration: &Alteration) -> Result<AlterationReport> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        Ok(self.examine(&class, alteration)?.0)
    }

    /// A change that looks at every object must conflict with whoever adds one meanwhile.
    fn refuse_snapshot_isolation(&self, alteration: &Alteration) -> Result<()> {
        let looks = matches!(
            alteration,
            Alteration::Retype { .. } | Alteration::Move { .. } | Alteration::Extends(_)
        );
        match looks && !self.is_serializable() {
            true => Err(Error::Argument(
                "this change of a class looks at every object and needs a serializable transaction".into(),
            )),
            false => Ok(()),
        }
    }

    /// Works out the new values of all objects, and which objects have none.
    fn examine(&self, class: &Class, alteration: &Alteration) -> Result<(AlterationReport, Converted)> {
        let mut report = AlterationReport::default();
        let mut converted = None;
        let catalog = self.overlay().catalog();
        match alteration {
            Alteration::Retype {
                attribute,
                r#type,
                using,
            } => {
                let attribute = catalog.declared(class, attribute)?;
                self.rebuildable(&catalog.indexes_on(class, attribute))?;
                match using {
                    None => self.try_all(class, attribute, r#type, &mut report)?,
                    Some(expression) => {
                        let values = self.computed(class, attribute, r#type, expression, &mut report)?;
                        report.objects = values.len() as u64;
                        converted = Some(values);
                    }
                }
            }
            Alteration::Move { attribute, to } => {
                catalog.declared(class, attribute)?;
                let to = catalog.user_class(to)?;
                if catalog.direction(class, to)? == Direction::Down {
                    self.losing(class, attribute, to, &mut report)?;
                }
            }
            _ => {}
        }
        Ok((report, converted))
    }

    fn apply_alteration(&mut self, class: &Class, change: &Alteration, converted: Converted) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let reader = self.reader();
        let empty = |id: ClassId| !has_objects(&*reader, id);
        let changes = match change {
            Alteration::Add(attribute) => {
                drop(reader);
                return self.add_attributes(&class.name, std::slice::from_ref(attribute));
            }
            Alteration::AddMethod(method) => {
                drop(reader);
                let changes = catalog.add_method(class, method)?;
                return self.atomically(|tx| {
                    tx.change_schema(changes)?;
                    tx.check_method(class, method)
                });
            }
            Alteration::DropMethod(name) => catalog.drop_method(class, name)?,
            Alteration::Drop(attribute) => {
                drop(reader);
                self.forget_inverse(class, attribute)?;
                let class = self.overlay().catalog().class_by_id(class.id)?.clone();
                let changes = self.overlay().catalog().drop_attribute(&class, attribute)?;
                return self.change_schema(changes);
            }
            Alteration::Rename { from, to } => catalog.rename_attribute(class, from, to)?,
            Alteration::Dependent(dependent) => catalog.set_dependent(class, *dependent)?,
            Alteration::Relax(attribute) => catalog.relax_attribute(class, attribute)?,
            Alteration::Merge { attribute, rule } => catalog.set_merge_rule(class, attribute, *rule)?,
            Alteration::RenameClass(to) => catalog.rename_class(class, to)?,
            Alteration::Move { attribute, to } => {
                let to = catalog.user_class(to)?;
                match catalog.direction(class, to)? {
                    Direction::Up => catalog.move_up(class, attribute, to, &empty)?,
                    Direction::Down => catalog.move_down(class, attribute, to)?,
                }
            }
            Alteration::Extends(to) => {
                let to = to.as_ref().map(|to| catalog.user_class(to)).transpose()?;
                let changes = catalog.change_superclass(class, to.map(|to| &**to), &empty)?;
                let indexes = match class.family.iter().all(|id| empty(*id)) {
                    true => Vec::new(),
                    false => catalog.indexes_of_move(class, to.map(|to| &**to)),
                };
                drop(reader);
                return self.around_indexes(&indexes, |tx| tx.change_schema(changes));
            }
            Alteration::Retype {
                attribute, r#type, ..
            } => {
                let attribute = catalog.declared(class, attribute)?;
                drop(reader);
                return self.retype(class, attribute, r#type, converted);
            }
        };
        drop(reader);
        self.change_schema(changes)
    }

    /// Checks a method over the schema it is part of: one that calls itself ends nowhere, and is seen only so.
    fn check_method(&self, class: &Class, method: &Method) -> Result<()> {
        let body = crate::query::parse_expression(&method.text)?;
        let catalog = self.overlay().catalog();
        crate::query::check_method(catalog, catalog.class_by_id(class.id)?, method, &body)?;
        Ok(())
    }

    fn retype(
        &mut self,
        class: &Class,
        attribute: &Attribute,
        to: &Type,
        converted: Converted,
    ) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let default = convert(attribute.default.clone(), to).map_err(|why| {
            Error::Schema(format!("the default of {}.{}: {why}", class.name, attribute.name))
        })?;
        let changes = catalog.retype_attribute(class, &attribute.name, to, &default, converted.is_none())?;
        let indexes = catalog.indexes_on(class, attribute);
        self.around_indexes(&indexes, |tx| {
            tx.change_schema(changes)?;
            match converted {
                None => tx.convert_own_writes(class),
                Some(values) => tx.write_converted(attribute, values),
            }
        })
    }

    /// Writes the values of a retyped attribute.
    fn write_converted(&mut self, attribute: &Attribute, values: Vec<(Oid, Value)>) -> Result<()> {
        for (oid, value) in values {
            let class = self.overlay().catalog().class_by_id(oid.class())?.clone();
            let Some(slot) = class.layout.slot(&attribute.name) else {
                continue;
            };
            let body = match self.overlay().object(oid)? {
                Some(record) => rewrite(&class.layout, &record.body, &[(slot, value)])?,
                None => continue,
            };
            self.update_body(oid, body, SlotSet::ALL)?;
        }
        Ok(())
    }

    /// Brings what this transaction wrote before to the new types, so that its own writes always are of its own catalog.
    fn convert_own_writes(&mut self, class: &Class) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let mut anew = Vec::new();
        for (oid, write) in self.overlay().writes().iter() {
            if class.family.contains(&oid.class())
                && let Some(body) = write.body()
                && let Some(body) = converted(&catalog.class_by_id(oid.class())?.layout, body)?
            {
                anew.push((oid, body));
            }
        }
        for (oid, body) in anew {
            self.overlay_mut().write(oid, Some(&body), false)?;
        }
        Ok(())
    }

    /// Runs `work` without these indexes, and builds them again behind it.
    fn around_indexes(
        &mut self,
        indexes: &[&Arc<Index>],
        work: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.rebuildable(indexes)?;
        let catalog = self.overlay().catalog().clone();
        for index in indexes {
            self.drop_index(&index.name)?;
        }
        work(self)?;
        for index in indexes {
            let components = index.components.iter();
            let definition = IndexDefinition {
                name: Some(index.name.clone()),
                components: components
                    .map(|component| (component.path.clone(), component.descending))
                    .collect(),
                unique: index.kind == crate::catalog::IndexKind::Unique,
            };
            let class = catalog.class_by_id(index.class)?.name.clone();
            self.create_index(&class, &definition)?;
        }
        Ok(())
    }

    /// Refuses indexes on paths, whose steps other indexes may share.
    fn rebuildable(&self, indexes: &[&Arc<Index>]) -> Result<()> {
        match indexes.iter().find(|index| !index.steps.is_empty()) {
            Some(index) => Err(Error::Schema(format!(
                "the index {} is on a path through what changes; drop it first, and create it again",
                index.name
            ))),
            None => Ok(()),
        }
    }

    /// Tries to convert every object's value of an attribute, without loss.
    fn try_all(
        &self,
        class: &Class,
        attribute: &Attribute,
        to: &Type,
        report: &mut AlterationReport,
    ) -> Result<()> {
        self.each_object(&class.family, &mut |member, record| {
            let Some(slot) = member.layout.slot(&attribute.name) else {
                return Ok(());
            };
            let value = read_slot(&member.layout, &record.body, slot)?.to_value()?;
            match self.fitted(attribute, value, to) {
                Ok(_) => report.objects = report.objects.saturating_add(1),
                Err(why) => report.fail(|| format!("{}: {why}", self.describe(record.oid))),
            }
            Ok(())
        })
    }

    /// Every object's new value by an expression.
    fn computed(
        &self,
        class: &Class,
        attribute: &Attribute,
        to: &Type,
        expression: &str,
        report: &mut AlterationReport,
    ) -> Result<Vec<(Oid, Value)>> {
        let name = class.name.replace('`', "``");
        let text = format!("select this, ({expression}) from `{name}` this");
        let mut converted = Vec::new();
        let mut failure = None;
        for row in self.query(&text, ())? {
            let values = row.map(|row| row.into_values());
            match values.as_deref() {
                Ok([Value::Reference(oid), value]) => match self.fitted(attribute, value.clone(), to) {
                    Ok(value) => converted.push((*oid, value)),
                    Err(why) => report.fail(|| format!("{}: {why}", self.describe(*oid))),
                },
                Ok(_) => {}
                Err(error) => failure = Some(error.to_string()),
            }
        }
        match failure {
            None => Ok(converted),
            // A query ends at its first error; which objects it is about, only one query an object tells.
            Some(_) => {
                *report = AlterationReport::default();
                self.computed_one_by_one(class, attribute, to, expression, report)
            }
        }
    }

    fn computed_one_by_one(
        &self,
        class: &Class,
        attribute: &Attribute,
        to: &Type,
        expression: &str,
        report: &mut AlterationReport,
    ) -> Result<Vec<(Oid, Value)>> {
        let name = class.name.replace('`', "``");
        let text = format!("select ({expression}) from `{name}` this where this = $1");
        let mut converted = Vec::new();
        self.each_object(&class.family, &mut |_, record| {
            let value = self.query(&text, (record.oid,)).and_then(|mut rows| {
                let row = rows.next().transpose()?;
                Ok(row.and_then(|row| row.into_values().pop()).unwrap_or_default())
            });
            let fitted = value
                .map_err(|error| error.to_string())
                .and_then(|value| self.fitted(attribute, value, to));
            match fitted {
                Ok(value) => converted.push((record.oid, value)),
                Err(why) => report.fail(|| format!("{}: {why}", self.describe(record.oid))),
            }
            Ok(())
        })?;
        Ok(converted)
    }

    fn fitted(&self, attribute: &Attribute, value: Value, to: &Type) -> Result<Value, String> {
        let value = convert(value, to)?;
        if value.is_nil() && attribute.not_null {
            return Err("it would be nil, which it may not be".into());
        }
        if let (Value::Reference(oid), Type::Reference(class)) = (&value, to) {
            let catalog = self.overlay().catalog();
            let wanted = catalog.class(class).map(|class| class.id);
            if !wanted.is_some_and(|wanted| catalog.is_a(oid.class(), wanted)) {
                return Err(format!("{} is no {class}", self.describe(*oid)));
            }
        }
        Ok(value)
    }

    /// Finds the objects that would lose the value of an attribute that moves down to `to`.
    fn losing(
        &self,
        class: &Class,
        attribute: &str,
        to: &Class,
        report: &mut AlterationReport,
    ) -> Result<()> {
        let loses = |id: &&ClassId| !to.family.contains(*id);
        let losers: Vec<ClassId> = class.family.iter().filter(loses).copied().collect();
        self.each_object(&losers, &mut |member, record| {
            let Some(slot) = member.layout.slot(attribute) else {
                return Ok(());
            };
            if !read_slot(&member.layout, &record.body, slot)?.is_nil() {
                report.fail(|| format!("{} has a value, which would be lost", self.describe(record.oid)));
            }
            Ok(())
        })
    }

    /// Visits every object of some classes, own writes included.
    pub(super) fn each_object(
        &self,
        classes: &[ClassId],
        visit: &mut dyn FnMut(&Class, &Record<'_>) -> Result<()>,
    ) -> Result<()> {
        let reader = self.reader();
        for id in classes {
            let class = reader.catalog().class_by_id(*id)?;
            let mut position = ExtentPosition::default();
            loop {
                let mut records = Vec::new();
                reader.scan(*id, &mut position, BATCH, &mut records)?;
                if records.is_empty() {
                    break;
                }
                records.iter().try_for_each(|record| visit(class, record))?;
            }
        }
        Ok(())
    }
}

/// Objects looked at at a time.
const BATCH: usize = 1024;

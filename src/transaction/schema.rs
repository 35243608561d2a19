//! Schema changes inside a transaction: writes to catalog objects, seen by the rest of it at once.

use std::sync::Arc;

use super::handle::Transaction;
use super::overlay::Overlay;
use crate::catalog::{
    AttributeDefinition, Class, ClassDefinition, Index, IndexDefinition, IndexId, NamedQuery, SchemaChange,
    SystemClass,
};
use crate::error::{Error, Result};
use crate::object::{ClassId, CommitNumber, Oid, Value};
use crate::read::{ExtentPosition, Reader, has_objects};
use crate::write_set::Write;

/// Objects of a dropped class read between two rounds of deletes.
const DELETED_AT_ONCE: usize = 1024;

impl Transaction {
    /// Creates a class and its indexes. Classes its attributes refer to must exist when the transaction commits.
    ///
    /// # Errors
    /// [`Error::Schema`] where the definition does not fit what exists.
    pub fn create_class(&mut self, definition: &ClassDefinition) -> Result<()> {
        let instance = self.instance().clone();
        let mut reserve = |class: SystemClass| instance.new_oid(class.id());
        let changes = self.overlay().catalog().create_class(definition, &mut reserve)?;
        self.change_schema(changes)?;
        for index in &definition.indexes {
            self.create_index(&definition.name, index)?;
        }
        self.complete_inverses()?;
        self.derive_all(&definition.name)?;
        self.index_rules(&definition.name)
    }

    /// Adds attributes to a class and everything below it.
    ///
    /// # Errors
    /// [`Error::Schema`] where one exists already, or may not be nil and has no default.
    pub fn add_attributes(&mut self, class: &str, attributes: &[AttributeDefinition]) -> Result<()> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        let changes = self.overlay().catalog().add_attributes(&class, attributes)?;
        self.change_schema(changes)?;
        self.complete_inverses()?;
        self.derive_all(&class.name)?;
        self.index_rules(&class.name)
    }

    /// Drops a class with its objects and indexes.
    ///
    /// # Errors
    /// [`Error::Schema`] while other classes extend it or refer to it.
    pub fn drop_class(&mut self, class: &str) -> Result<()> {
        let class = self.overlay().catalog().user_class(class)?.clone();
        let changes = self.overlay().catalog().drop_class(&class)?;
        self.delete_indexed(&class)?;
        self.change_schema(changes)
    }

    /// Creates an index. Over existing objects it is built when the transaction commits, and used from then on.
    ///
    /// # Errors
    /// [`Error::Schema`] where an attribute is unknown or cannot be indexed.
    pub fn create_index(&mut self, class: &str, definition: &IndexDefinition) -> Result<()> {
        let instance = self.instance().clone();
        let mut reserve = |class: SystemClass| instance.new_oid(class.id());
        let overlay = self.overlay();
        let class = overlay.catalog().user_class(class)?.clone();
        let view = overlay.view().clone();
        let empty = |class: ClassId| !has_objects(&*view, class);
        let changes = overlay
            .catalog()
            .create_index(&class, definition, &empty, &mut reserve)?;
        self.change_schema(changes)
    }

    /// Drops an index.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is none of that name, or a path index stands on it.
    pub fn drop_index(&mut self, name: &str) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let index = catalog
            .index(name)
            .ok_or_else(|| Error::Schema(format!("there is no index {name}")))?;
        self.change_schema(catalog.drop_index(index)?)
    }

    /// Makes `name` stand for a value, usually a reference: a named root.
    ///
    /// # Errors
    /// [`Error::Schema`] where a class has the name.
    pub fn set_name(&mut self, name: &str, value: impl Into<Value>) -> Result<()> {
        let instance = self.instance().clone();
        let mut reserve = |class: SystemClass| instance.new_oid(class.id());
        let change = self
            .overlay()
            .catalog()
            .set_name(name, value.into(), &mut reserve)?;
        self.change_schema(vec![change])
    }

    /// What `name` stands for.
    pub fn name(&self, name: &str) -> Option<Value> {
        self.note_name(name);
        self.overlay()
            .catalog()
            .names
            .get(name)
            .map(|name| name.value.clone())
    }

    /// Takes a name away.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is no such name.
    pub fn remove_name(&mut self, name: &str) -> Result<()> {
        let change = self.overlay().catalog().remove_name(name)?;
        self.change_schema(vec![change])
    }

    /// Keeps a query under its name; one kept before under it is replaced.
    ///
    /// # Errors
    /// [`Error::Schema`] where a class or a root object has the name.
    pub(crate) fn define_query(&mut self, query: &NamedQuery) -> Result<()> {
        let instance = self.instance().clone();
        let mut reserve = |class: SystemClass| instance.new_oid(class.id());
        let change = self.overlay().catalog().define_query(query, &mut reserve)?;
        self.change_schema(vec![change])
    }

    /// Takes a named query away.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is no such query.
    pub(crate) fn undefine_query(&mut self, name: &str) -> Result<()> {
        let change = self.overlay().catalog().undefine_query(name)?;
        self.change_schema(vec![change])
    }

    /// Deletes the objects of a class that is to be dropped, where indexes of classes above it have entries of them.
    fn delete_indexed(&mut self, class: &Class) -> Result<()> {
        let catalog = self.overlay().catalog().clone();
        let of_above = |id: &IndexId| {
            catalog
                .indexes
                .get(id)
                .is_some_and(|index| index.class != class.id)
        };
        if !class.indexes.iter().any(of_above) {
            return Ok(());
        }
        let mut position = ExtentPosition::default();
        loop {
            let mut records = Vec::new();
            self.overlay()
                .scan(class.id, &mut position, DELETED_AT_ONCE, &mut records)?;
            let oids: Vec<Oid> = records.iter().map(|record| record.oid).collect();
            drop(records);
            if oids.is_empty() {
                return Ok(());
            }
            for oid in oids {
                self.overlay_mut().write(oid, None, false)?;
            }
        }
    }

    pub(super) fn change_schema(&mut self, changes: Vec<SchemaChange>) -> Result<()> {
        let own = CommitNumber(self.overlay().commit().0.saturating_add(1));
        let as_write = |change: &SchemaChange| match change {
            SchemaChange::Create(oid, body) => (*oid, Some(body.clone()), true),
            SchemaChange::Update(oid, body) => (*oid, Some(body.clone()), false),
            SchemaChange::Delete(oid) => (*oid, None, false),
        };
        let writes: Vec<(Oid, Option<Vec<u8>>, bool)> = changes.iter().map(as_write).collect();
        let changed = writes.iter().map(|(oid, body, _)| (*oid, body.as_deref()));
        let catalog = self.overlay().catalog().after(own, changed)?;
        let overlay = self.overlay_mut();
        for (oid, body, is_new) in writes {
            overlay.write(oid, body.as_deref(), is_new)?;
        }
        overlay.set_catalog(Arc::new(catalog))
    }

    /// Checks what may only be checked when all schema changes are made: that every class referred to exists.
    pub(super) fn check_schema(&self) -> Result<()> {
        let catalog = self.overlay().catalog();
        if Arc::ptr_eq(catalog, self.overlay().view().catalog()) {
            return Ok(());
        }
        for class in catalog.classes.values().filter(|class| !class.id.is_system()) {
            catalog.check_references(class)?;
            catalog.check_inverses(class)?;
        }
        Ok(())
    }
}

/// The indexes an overlay creates that must be built over existing objects, steps before paths.
pub(super) fn unbuilt_indexes(overlay: &Overlay) -> Vec<IndexId> {
    let index_class = SystemClass::Index.id();
    let created = overlay
        .writes()
        .of_class(index_class)
        .filter(|(_, write)| matches!(write, Write::Create(_)));
    let objects: Vec<Oid> = created.map(|(oid, _)| oid).collect();
    let unbuilt = |index: &&Arc<Index>| !index.ready && objects.contains(&index.object);
    let mut ids: Vec<IndexId> = overlay
        .catalog()
        .indexes
        .values()
        .filter(unbuilt)
        .map(|index| index.id)
        .collect();
    ids.sort_unstable();
    ids
}

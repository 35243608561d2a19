//! Values of retyped attributes that wait to be converted are written anew, a batch at a time.
//!
//! A class with such values is marked in the catalog; readers convert what they read, and whoever writes an object writes it
//! as the class is now. From the commit of the mark on nobody writes an older body, so one pass over the extent finds all
//! there are. It rewrites them as any transaction would: who was faster wins, and an object that was changed meanwhile needs
//! no more. When a pass has found none, the mark is taken away. Nothing depends on how far a pass has come: it begins anew
//! after a kill.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::build::commit_changes;
use super::opened::Parts;
use crate::catalog::Class;
use crate::commit::{Durability, Request};
use crate::error::Result;
use crate::object::codec::converted;
use crate::object::{ClassId, Record, SlotSet};
use crate::read::Reader;
use crate::view::View;
use crate::write_set::WriteSet;

/// Objects of a batch, at most.
const OBJECTS: usize = 1024;

/// How far a pass over each class has come.
#[derive(Debug, Default)]
pub struct Conversions {
    passes: FxHashMap<ClassId, Pass>,
}

#[derive(Debug, Default)]
struct Pass {
    next_serial: u64,
    /// What the class converted when it began; where more was retyped since, it begins anew.
    converted_slots: usize,
    /// Whether it left an object to another writer, and must be made again.
    missed: bool,
}

/// What one step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Converted {
    /// There is nothing to convert in any class.
    Nothing,
    /// So many objects were written anew; there may be more.
    Some(u64),
}

impl Parts {
    /// Converts a batch of objects of one class.
    ///
    /// # Errors
    /// Where an object cannot be read or the commit fails; a conflict is none.
    pub fn convert_some(&self, conversions: &mut Conversions) -> Result<Converted> {
        let view = self.pipeline.view();
        if !view.catalog().converts {
            conversions.passes.clear();
            return Ok(Converted::Nothing);
        }
        let marked = |class: &&Arc<Class>| class.layout.converted_slots > 0;
        let Some(class) = view
            .catalog()
            .classes
            .values()
            .filter(marked)
            .min_by_key(|class| class.id)
        else {
            return Ok(Converted::Nothing);
        };
        let converted_slots = class.layout.converted_slots;
        let pass = conversions.passes.entry(class.id).or_default();
        if pass.converted_slots != converted_slots {
            *pass = Pass {
                converted_slots,
                ..Pass::default()
            };
        }
        let mut records: Vec<Record<'_>> = Vec::with_capacity(OBJECTS);
        view.heap().scan(
            class.id,
            &mut pass.next_serial,
            view.commit(),
            OBJECTS,
            &mut records,
        )?;
        if !records.is_empty() {
            return self.write_anew(&view, class, &records, pass);
        }
        let missed = pass.missed;
        conversions.passes.remove(&class.id);
        if !missed {
            self.take_mark(class.id, converted_slots)?;
        }
        Ok(Converted::Some(0))
    }

    fn write_anew(
        &self,
        view: &Arc<View>,
        class: &Class,
        records: &[Record<'_>],
        pass: &mut Pass,
    ) -> Result<Converted> {
        let mut writes = WriteSet::default();
        for record in records {
            if let Some(body) = converted(&class.layout, &record.body)? {
                writes.update(record.oid, &body, SlotSet::ALL);
            }
        }
        let count = writes.len() as u64;
        if count == 0 {
            return Ok(Converted::Some(0));
        }
        let request = Request {
            snapshot: view.commit(),
            base: view.clone(),
            catalog: view.catalog().clone(),
            catalog_version: view.catalog().version,
            writes: Arc::new(writes),
            // Indexes have what readers see, which does not change.
            entries: Vec::new(),
            deltas: Vec::new(),
            reads: None,
            durability: Durability::Buffer,
            label: Some("conversion".into()),
        };
        match self.pipeline.commit(request) {
            Ok(_) => Ok(Converted::Some(count)),
            Err(error) if error.is_conflict() => {
                pass.missed = true;
                Ok(Converted::Some(0))
            }
            Err(error) => Err(error),
        }
    }

    /// Says that no object of a class has anything to convert any more, unless more was retyped meanwhile.
    fn take_mark(&self, class: ClassId, converted_slots: usize) -> Result<()> {
        let pause = self.pipeline.pause();
        let view = self.pipeline.view();
        let class = view.catalog().classes.get(&class);
        let changes = match class.filter(|class| class.layout.converted_slots == converted_slots) {
            Some(class) => view.catalog().end_conversion(class)?,
            None => Vec::new(),
        };
        match changes.is_empty() {
            true => Ok(()),
            false => commit_changes(&pause, &view, changes),
        }
    }
}

//! `Objects`: the objects that some references name.

use rustc_hash::FxHashSet;

use super::batch::{BATCH, Batch};
use super::compile::{Row, evaluate};
use super::context::Run;
use super::fetch::Gather;
use super::index_scan::present;
use super::operator::Operator;
use crate::error::Result;
use crate::object::{ClassId, Oid, Value};
use crate::query::plan::{ColumnId, Expression};

pub struct Objects<'a> {
    pub column: ColumnId,
    pub classes: &'a [ClassId],
    pub references: &'a [Expression],
    pub gather: Gather<'a>,
    /// The references still to read, once evaluated, in reverse order.
    pub left: Option<Vec<Oid>>,
}

impl<'a> Operator<'a> for Objects<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        run.context.check()?;
        output.reset(std::iter::once(self.column));
        if self.left.is_none() {
            self.left = Some(self.evaluate(run)?);
        }
        let left = self.left.get_or_insert_default();
        self.gather.wanted.clear();
        while let Some(oid) = left.pop() {
            self.gather.wanted.push(Some(oid));
            if self.gather.wanted.len() == BATCH {
                break;
            }
        }
        if self.gather.wanted.is_empty() {
            return Ok(false);
        }
        present(self.gather.read(run)?, output);
        Ok(true)
    }

    fn rewind(&mut self, _: &Run<'_, 'a>) {
        self.left = None;
    }
}

impl<'a> Objects<'a> {
    fn evaluate(&self, run: &Run<'_, 'a>) -> Result<Vec<Oid>> {
        let nowhere = Batch::default();
        let row = Row {
            batch: &nowhere,
            index: 0,
            run,
        };
        let mut seen = FxHashSet::default();
        let mut oids = Vec::new();
        for reference in self.references {
            let value = evaluate(reference, &row)?;
            let members = value.as_members().unwrap_or(std::slice::from_ref(&value));
            let wanted = members.iter().filter_map(Value::as_reference);
            oids.extend(
                wanted.filter(|oid| self.classes.binary_search(&oid.class()).is_ok() && seen.insert(*oid)),
            );
        }
        oids.reverse();
        Ok(oids)
    }
}

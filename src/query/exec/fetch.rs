//! `Fetch`: reads the objects that a reference of each row refers to, a batch at a time.

use super::batch::{Batch, Cells, Object};
use super::compile::{References, Row};
use super::context::Run;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::object::{Oid, Record};
use crate::query::plan::ColumnId;

pub struct Fetch<'a> {
    pub input: Boxed<'a>,
    pub column: ColumnId,
    pub reference: References<'a>,
    pub gather: Gather<'a>,
}

impl<'a> Operator<'a> for Fetch<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        if !self.input.next(run, output)? {
            return Ok(false);
        }
        run.context.check()?;
        // Rows that are not selected are not worth a read.
        output.compact();
        self.gather.wanted.clear();
        for index in 0..output.length {
            let row = Row {
                batch: output,
                index,
                run,
            };
            self.gather.wanted.push((self.reference)(&row)?);
        }
        let objects = self.gather.read(run)?;
        output.columns.push(self.column);
        output.cells.push(Cells::Objects(objects));
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.input.rewind(run);
    }
}

/// Reads many references at once.
#[derive(Default)]
pub struct Gather<'a> {
    /// The references to read; nil gives no object.
    pub wanted: Vec<Option<Oid>>,
    oids: Vec<Oid>,
    records: Vec<Option<Record<'a>>>,
}

impl<'a> Gather<'a> {
    /// The objects that `wanted` refers to, one each.
    pub fn read(&mut self, run: &Run<'_, 'a>) -> Result<Vec<Object<'a>>> {
        self.oids.clear();
        self.oids.extend(self.wanted.iter().flatten());
        self.records.clear();
        run.reader().gather(&self.oids, &mut self.records)?;
        let bytes = self
            .records
            .iter()
            .flatten()
            .map(|record| record.body.len())
            .sum();
        run.context.count_objects(self.oids.len(), bytes);
        let mut records = self.records.drain(..);
        let object = |wanted: &Option<Oid>| match wanted {
            None => Object::Nil,
            Some(oid) => match records.next().flatten() {
                Some(record) => Object::Present(record),
                None => Object::Gone(*oid),
            },
        };
        Ok(self.wanted.iter().map(object).collect())
    }
}

//! `Fetch`: reads the objects that a reference of each row refers to, a batch at a time.

use rustc_hash::FxHashMap;

use super::batch::{Batch, Cells, Object};
use super::compile::{References, Row};
use super::context::Run;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::object::{Oid, Record, RecordBody};
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
    memo: Memo<'a>,
}

/// Objects that were decompressed, kept for the batches to come: a large object that many rows refer to, such as a
/// department with the list of its people, would else be decompressed once a row.
#[derive(Default)]
struct Memo<'a> {
    records: FxHashMap<Oid, Record<'a>>,
    bytes: usize,
}

impl<'a> Memo<'a> {
    /// Keeps an object that was decompressed, while there is room.
    fn keep(&mut self, object: &Object<'a>) {
        if let Object::Present(record) = object
            && matches!(record.body, RecordBody::Shared(_))
            && self.bytes < MEMO_BYTES
            && !self.records.contains_key(&record.oid)
        {
            self.bytes = self.bytes.saturating_add(record.body.len());
            self.records.insert(record.oid, record.clone());
        }
    }
}

impl<'a> Gather<'a> {
    /// The objects that `wanted` refers to, one each.
    pub fn read(&mut self, run: &Run<'_, 'a>) -> Result<Vec<Object<'a>>> {
        let known = (!self.memo.records.is_empty()).then_some(&self.memo.records);
        let known = |oid: &Oid| known.and_then(|known| known.get(oid));
        self.oids.clear();
        self.oids
            .extend(self.wanted.iter().flatten().filter(|oid| known(oid).is_none()));
        self.records.clear();
        run.reader().gather(&self.oids, &mut self.records)?;
        let bytes = self
            .records
            .iter()
            .flatten()
            .map(|record| record.body.len())
            .sum();
        run.context.count_objects(self.oids.len(), bytes);
        let mut decompressed = false;
        let mut records = self.records.drain(..);
        let object = |wanted: &Option<Oid>| {
            let Some(oid) = wanted else {
                return Object::Nil;
            };
            if let Some(known) = known(oid) {
                return Object::Present(known.clone());
            }
            match records.next().flatten() {
                Some(record) => {
                    decompressed |= matches!(record.body, RecordBody::Shared(_));
                    Object::Present(record)
                }
                None => Object::Gone(*oid),
            }
        };
        let objects: Vec<Object<'a>> = self.wanted.iter().map(object).collect();
        drop(records);
        if decompressed {
            objects.iter().for_each(|object| self.memo.keep(object));
        }
        Ok(objects)
    }
}

/// No more is kept once this many bytes are.
const MEMO_BYTES: usize = 4 << 20;

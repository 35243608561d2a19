//! `Extent` and `CountExtent`: all objects of some classes, class by class in OID order.

use super::batch::{BATCH, Batch, Cells};
use super::context::Run;
use super::operator::Operator;
use crate::error::Result;
use crate::object::{ClassId, Record, Value};
use crate::query::plan::ColumnId;
use crate::read::ExtentPosition;

pub struct Extent<'a> {
    pub column: ColumnId,
    pub classes: &'a [ClassId],
    /// The class that is being read: its place in `classes`.
    pub current: usize,
    pub position: ExtentPosition,
}

impl<'a> Extent<'a> {
    pub fn new(column: ColumnId, classes: &'a [ClassId]) -> Extent<'a> {
        Extent {
            column,
            classes,
            current: 0,
            position: ExtentPosition::default(),
        }
    }

    /// Appends the next records, of one class or of several; none means the end.
    fn scan(&mut self, run: &Run<'_, 'a>, records: &mut Vec<Record<'a>>) -> Result<()> {
        while let Some(class) = self.classes.get(self.current) {
            let wanted = BATCH.saturating_sub(records.len());
            if wanted == 0 {
                break;
            }
            let before = records.len();
            run.reader().scan(*class, &mut self.position, wanted, records)?;
            if records.len() == before {
                self.current = self.current.saturating_add(1);
                self.position = ExtentPosition::default();
            }
        }
        let bytes = records.iter().map(|record| record.body.len()).sum();
        run.context.count_objects(records.len(), bytes);
        Ok(())
    }
}

impl<'a> Operator<'a> for Extent<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        run.context.check()?;
        output.reset(std::iter::once(self.column));
        let mut records = match output.cells.pop() {
            Some(Cells::Records(records)) => records,
            _ => Vec::with_capacity(BATCH),
        };
        self.scan(run, &mut records)?;
        output.length = records.len();
        output.cells.push(Cells::Records(records));
        Ok(output.length > 0)
    }

    fn rewind(&mut self, _: &Run<'_, 'a>) {
        self.current = 0;
        self.position = ExtentPosition::default();
    }
}

/// One row with the number of objects.
pub struct CountExtent<'a> {
    pub extent: Extent<'a>,
    pub done: bool,
}

impl<'a> Operator<'a> for CountExtent<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(std::iter::once(self.extent.column));
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        let mut records = Vec::with_capacity(BATCH);
        let mut count = 0_i64;
        loop {
            run.context.check()?;
            records.clear();
            self.extent.scan(run, &mut records)?;
            if records.is_empty() {
                break;
            }
            count = count.saturating_add(i64::try_from(records.len()).unwrap_or(i64::MAX));
        }
        output.push_values([Value::Int(count)]);
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.done = false;
        self.extent.rewind(run);
    }
}

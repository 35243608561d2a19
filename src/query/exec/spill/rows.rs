//! Rows in a temporary file, one after the other.
//!
//! # What is written
//!
//! A row is its length (4 bytes) and the cells of all its columns: a byte that says what it is, and for an object its
//! identifier, for a value its length and its bytes as they are stored under the type `any`. Records are not written:
//! reading a row back finds its objects again, in the same state, a whole batch at once.

use super::super::batch::{BATCH, Batch, Cell, Object};
use super::super::context::Run;
use super::place::TemporaryFile;
use crate::error::{Error, Result};
use crate::object::codec::{decode, put};
use crate::object::{Oid, Type};
use crate::query::plan::ColumnId;

/// The most bytes that are written or read at once.
const LARGEST_BUFFER: usize = 64 << 10;
/// The fewest.
const SMALLEST_BUFFER: usize = 1 << 10;

const NIL: u8 = 0;
const GONE: u8 = 1;
const PRESENT: u8 = 2;
const VALUE: u8 = 3;

/// Rows on their way to a file.
#[derive(Debug)]
pub struct Spilling {
    file: Box<dyn TemporaryFile>,
    columns: Vec<ColumnId>,
    buffer: Vec<u8>,
    capacity: usize,
    written: u64,
    rows: u64,
}

impl Spilling {
    /// A new file for rows with these columns; `None` where the query has no place for temporary files.
    pub fn new(run: &Run<'_, '_>, columns: &[ColumnId]) -> Result<Option<Spilling>> {
        let Some(place) = run.context.temporary() else {
            return Ok(None);
        };
        Ok(Some(Spilling {
            file: place.create()?,
            columns: columns.to_vec(),
            buffer: Vec::new(),
            capacity: (run.context.budget() / 64).clamp(SMALLEST_BUFFER, LARGEST_BUFFER),
            written: 0,
            rows: 0,
        }))
    }

    /// Adds a row of a batch with the columns of the file.
    pub fn push(&mut self, run: &Run<'_, '_>, batch: &Batch<'_>, row: usize) -> Result<()> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        for cells in &batch.cells {
            put_cell(&cells.cell(row), &mut self.buffer)?;
        }
        let length = self.buffer.len().saturating_sub(start).saturating_sub(4);
        write_length(&mut self.buffer, start, length)?;
        self.rows = self.rows.saturating_add(1);
        match self.buffer.len() >= self.capacity {
            true => self.flush(run),
            false => Ok(()),
        }
    }

    fn flush(&mut self, run: &Run<'_, '_>) -> Result<()> {
        self.file.write_at(&self.buffer, self.written)?;
        run.context.count_spilled(self.buffer.len());
        self.written = self.written.saturating_add(self.buffer.len() as u64);
        self.buffer.clear();
        Ok(())
    }

    /// All rows, to be read from the first on.
    pub fn finish(mut self, run: &Run<'_, '_>) -> Result<SpilledRows> {
        self.flush(run)?;
        Ok(SpilledRows {
            file: self.file,
            columns: self.columns,
            buffer: self.buffer,
            used: 0,
            capacity: self.capacity,
            read: 0,
            end: self.written,
            rows: self.rows,
        })
    }
}

/// Rows that come back.
#[derive(Debug)]
pub struct SpilledRows {
    file: Box<dyn TemporaryFile>,
    columns: Vec<ColumnId>,
    buffer: Vec<u8>,
    used: usize,
    capacity: usize,
    read: u64,
    end: u64,
    rows: u64,
}

impl SpilledRows {
    /// The rows still to come.
    pub fn remaining(&self) -> u64 {
        self.rows
    }

    /// Replaces `output` with the next rows, up to `limit` and a whole batch; false, and no rows, at the end.
    pub fn next<'a>(&mut self, run: &Run<'_, 'a>, limit: usize, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(self.columns.iter().copied());
        let mut columns: Vec<Vec<Cell<'a>>> = self.columns.iter().map(|_| Vec::new()).collect();
        let mut length = 0_usize;
        while length < limit.clamp(1, BATCH) && self.rows > 0 {
            let size = self.fill(4)?.try_into().map(u32::from_le_bytes).unwrap_or(0) as usize;
            let whole = self.fill(size.saturating_add(4))?;
            let mut cells = whole.get(4..).unwrap_or_default();
            for column in &mut columns {
                column.push(take_cell(&mut cells)?);
            }
            self.used = self.used.saturating_add(size).saturating_add(4);
            self.rows = self.rows.saturating_sub(1);
            length = length.saturating_add(1);
        }
        for (to, mut column) in output.cells.iter_mut().zip(columns) {
            find_objects(run, &mut column)?;
            column.into_iter().for_each(|cell| to.push(cell));
        }
        output.length = length;
        Ok(length > 0)
    }

    /// The next `wanted` bytes, read where they are not in the buffer yet.
    fn fill(&mut self, wanted: usize) -> Result<&[u8]> {
        let held = self.buffer.len().saturating_sub(self.used);
        if held < wanted {
            self.buffer.drain(..self.used.min(self.buffer.len()));
            self.used = 0;
            let left = usize::try_from(self.end.saturating_sub(self.read)).unwrap_or(usize::MAX);
            let more = wanted.saturating_sub(held).max(self.capacity).min(left);
            self.buffer.resize(held.saturating_add(more), 0);
            let tail = self.buffer.get_mut(held..).unwrap_or_default();
            self.file.read_at(tail, self.read)?;
            self.read = self.read.saturating_add(more as u64);
        }
        let end = self.used.saturating_add(wanted);
        self.buffer.get(self.used..end).ok_or_else(cut_short)
    }
}

fn put_cell(cell: &Cell<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut object = |kind: u8, oid: Oid| {
        out.push(kind);
        out.extend_from_slice(&oid.to_bits().to_le_bytes());
    };
    match cell {
        Cell::Object(Object::Nil) => out.push(NIL),
        Cell::Object(Object::Gone(oid)) => object(GONE, *oid),
        Cell::Object(Object::Present(record)) => object(PRESENT, record.oid),
        Cell::Value(value) => {
            out.push(VALUE);
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            put(&Type::Any, value, out);
            let length = out.len().saturating_sub(start).saturating_sub(4);
            write_length(out, start, length)?;
        }
    }
    Ok(())
}

/// Writes a length into the four bytes kept for it.
fn write_length(out: &mut [u8], at: usize, length: usize) -> Result<()> {
    let length = u32::try_from(length).map_err(|_| {
        Error::Limit("a row of the query has more than 4 GiB, and does not fit in memory".into())
    })?;
    if let Some(place) = out.get_mut(at..at.saturating_add(4)) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(())
}

/// Takes one cell off the front; an object that is present comes as gone, until it is found again.
fn take_cell<'a>(input: &mut &[u8]) -> Result<Cell<'a>> {
    let (kind, rest) = input.split_first().ok_or_else(cut_short)?;
    *input = rest;
    Ok(match *kind {
        NIL => Cell::Object(Object::Nil),
        VALUE => {
            let length = take(input, 4)?.try_into().map(u32::from_le_bytes).unwrap_or(0);
            let bytes = take(input, length as usize)?;
            Cell::Value(decode(&Type::Any, bytes)?.to_value()?)
        }
        GONE | PRESENT => {
            let bits = take(input, 8)?.try_into().map(u64::from_le_bytes).unwrap_or(0);
            let oid = Oid::from_bits(bits).ok_or_else(cut_short)?;
            Cell::Object(Object::Gone(oid))
        }
        _ => return Err(cut_short()),
    })
}

fn take<'b>(input: &mut &'b [u8], length: usize) -> Result<&'b [u8]> {
    let (taken, rest) = input.split_at_checked(length).ok_or_else(cut_short)?;
    *input = rest;
    Ok(taken)
}

/// Finds the records of the objects in a column again.
fn find_objects<'a>(run: &Run<'_, 'a>, column: &mut [Cell<'a>]) -> Result<()> {
    let oid = |cell: &Cell<'a>| match cell {
        Cell::Object(object) => object.oid(),
        Cell::Value(_) => None,
    };
    let oids: Vec<Oid> = column.iter().filter_map(oid).collect();
    if oids.is_empty() {
        return Ok(());
    }
    let mut records = Vec::with_capacity(oids.len());
    run.reader().gather(&oids, &mut records)?;
    let bytes = records.iter().flatten().map(|record| record.body.len()).sum();
    run.context.count_objects(oids.len(), bytes);
    let mut found = records.into_iter();
    for cell in column.iter_mut().filter(|cell| oid(cell).is_some()) {
        if let Some(record) = found.next().flatten() {
            *cell = Cell::Object(Object::Present(record));
        }
    }
    Ok(())
}

#[cold]
fn cut_short() -> Error {
    Error::corruption(
        "a temporary file of a query",
        "it does not hold what was written to it",
    )
}

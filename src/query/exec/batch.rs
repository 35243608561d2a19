//! Rows in batches, column by column.
//!
//! A [`Batch`] holds up to [`BATCH`] rows. A column holds records (as an extent yields them), objects (records that
//! may be missing, as a fetch or an outer join yields them), or values. Filters do not move rows: they shrink the
//! selection, an ascending list of row numbers. Everything borrowed lives as long as the reader (`'a`).

use crate::object::{Oid, Record, Value, ValueRef};
use crate::query::plan::{Column, ColumnId};

/// Rows of a full batch.
pub const BATCH: usize = 1024;

/// Up to [`BATCH`] rows.
#[derive(Debug, Clone, Default)]
pub struct Batch<'a> {
    /// The identifiers of the columns, in the order of `cells`.
    pub columns: Vec<ColumnId>,
    /// The columns.
    pub cells: Vec<Cells<'a>>,
    /// The number of rows, selected or not.
    pub length: usize,
    /// The rows that count, ascending; all if `None`.
    pub selection: Option<Vec<u32>>,
}

/// The cells of one column.
#[derive(Debug, Clone)]
pub enum Cells<'a> {
    /// Objects, each with its record.
    Records(Vec<Record<'a>>),
    /// Objects of which some may be nil or gone.
    Objects(Vec<Object<'a>>),
    /// Values.
    Values(Vec<Value>),
}

/// A cell of an object column.
#[derive(Debug, Clone)]
pub enum Object<'a> {
    /// No object.
    Nil,
    /// A reference whose object is gone.
    Gone(Oid),
    /// An object.
    Present(Record<'a>),
}

/// One cell, by itself.
#[derive(Debug, Clone)]
pub enum Cell<'a> {
    /// Of an object column.
    Object(Object<'a>),
    /// Of a value column.
    Value(Value),
}

impl<'a> Object<'a> {
    /// The record, if the object is there.
    pub fn record(&self) -> Option<&Record<'a>> {
        match self {
            Object::Present(record) => Some(record),
            Object::Nil | Object::Gone(_) => None,
        }
    }

    /// The reference, also to an object that is gone.
    pub fn oid(&self) -> Option<Oid> {
        match self {
            Object::Nil => None,
            Object::Gone(oid) => Some(*oid),
            Object::Present(record) => Some(record.oid),
        }
    }
}

impl<'a> Cells<'a> {
    /// The record of the object at `row`; `None` for nil, a gone object, and a value.
    #[inline]
    pub fn record(&self, row: usize) -> Option<&Record<'a>> {
        match self {
            Cells::Records(records) => records.get(row),
            Cells::Objects(objects) => objects.get(row).and_then(Object::record),
            Cells::Values(_) => None,
        }
    }

    /// The value at `row`, borrowed; an object as its reference.
    #[inline]
    pub fn value(&self, row: usize) -> ValueRef<'_> {
        match self {
            Cells::Records(records) => records
                .get(row)
                .map_or(ValueRef::Nil, |record| ValueRef::Reference(record.oid)),
            Cells::Objects(objects) => objects
                .get(row)
                .and_then(Object::oid)
                .map_or(ValueRef::Nil, ValueRef::Reference),
            Cells::Values(values) => values.get(row).map_or(ValueRef::Nil, Value::as_ref),
        }
    }

    /// The value at `row`, owned; an object as its reference.
    pub fn owned(&self, row: usize) -> Value {
        match self {
            Cells::Values(values) => values.get(row).cloned().unwrap_or_default(),
            _ => match self.value(row) {
                ValueRef::Reference(oid) => Value::Reference(oid),
                _ => Value::Nil,
            },
        }
    }

    /// The cell at `row`, with its record.
    pub fn cell(&self, row: usize) -> Cell<'a> {
        match self {
            Cells::Records(records) => {
                let record = records.get(row).cloned();
                Cell::Object(record.map_or(Object::Nil, Object::Present))
            }
            Cells::Objects(objects) => Cell::Object(objects.get(row).cloned().unwrap_or(Object::Nil)),
            Cells::Values(values) => Cell::Value(values.get(row).cloned().unwrap_or_default()),
        }
    }

    /// Appends a cell, which decides the kind of an empty column.
    pub fn push(&mut self, cell: Cell<'a>) {
        if self.is_empty() {
            *self = match &cell {
                Cell::Object(Object::Present(_)) => Cells::Records(Vec::new()),
                Cell::Object(_) => Cells::Objects(Vec::new()),
                Cell::Value(_) => Cells::Values(Vec::new()),
            };
        }
        match (&mut *self, cell) {
            (Cells::Records(records), Cell::Object(Object::Present(record))) => records.push(record),
            (Cells::Objects(objects), Cell::Object(object)) => objects.push(object),
            (Cells::Values(values), Cell::Value(value)) => values.push(value),
            (Cells::Values(values), Cell::Object(object)) => {
                values.push(object.oid().map_or(Value::Nil, Value::Reference));
            }
            (Cells::Records(records), Cell::Object(object)) => {
                let mut objects: Vec<Object<'a>> = records.drain(..).map(Object::Present).collect();
                objects.push(object);
                *self = Cells::Objects(objects);
            }
            (_, Cell::Value(value)) => {
                // A column of objects that takes nil from an outer join.
                let object = value.as_reference().map_or(Object::Nil, Object::Gone);
                self.push(Cell::Object(object));
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Cells::Records(records) => records.is_empty(),
            Cells::Objects(objects) => objects.is_empty(),
            Cells::Values(values) => values.is_empty(),
        }
    }

    fn clear(&mut self) {
        match self {
            Cells::Records(records) => records.clear(),
            Cells::Objects(objects) => objects.clear(),
            Cells::Values(values) => values.clear(),
        }
    }

    /// Keeps the rows listed, which ascend.
    fn keep(&mut self, rows: &[u32]) {
        fn keep<T>(cells: &mut Vec<T>, rows: &[u32]) {
            for (to, from) in rows.iter().enumerate() {
                cells.swap(to, *from as usize);
            }
            cells.truncate(rows.len());
        }
        match self {
            Cells::Records(records) => keep(records, rows),
            Cells::Objects(objects) => keep(objects, rows),
            Cells::Values(values) => keep(values, rows),
        }
    }

    /// Bytes of memory this column's cells hold.
    fn size(&self) -> usize {
        let record = |record: &Record<'_>| size_of::<Object<'_>>().saturating_add(record.body.held());
        match self {
            Cells::Records(records) => records.iter().map(record).sum(),
            Cells::Objects(objects) => objects
                .iter()
                .map(|object| object.record().map_or(size_of::<Object<'_>>(), record))
                .sum(),
            Cells::Values(values) => values.iter().map(value_size).sum(),
        }
    }
}

/// Bytes of memory a value holds.
pub fn value_size(value: &Value) -> usize {
    let beyond = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => {
            members.iter().map(value_size).sum()
        }
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| value_size(key).saturating_add(value_size(value)))
            .sum(),
        Value::Struct(fields) => fields
            .iter()
            .map(|(_, value)| value_size(value).saturating_add(16))
            .sum(),
        _ => return size_of::<Value>(),
    };
    size_of::<Value>().saturating_add(16).saturating_add(beyond)
}

impl<'a> Batch<'a> {
    /// An empty batch with these columns.
    pub fn new(columns: &[Column]) -> Batch<'a> {
        let mut batch = Batch::default();
        batch.reset(columns.iter().map(|column| column.id));
        batch
    }

    /// Empties the batch and gives it these columns.
    pub fn reset(&mut self, columns: impl Iterator<Item = ColumnId>) {
        self.columns.clear();
        self.columns.extend(columns);
        self.cells
            .resize_with(self.columns.len(), || Cells::Values(Vec::new()));
        for cells in &mut self.cells {
            cells.clear();
        }
        self.length = 0;
        self.selection = None;
    }

    /// The number of selected rows.
    pub fn len(&self) -> usize {
        self.selection.as_ref().map_or(self.length, Vec::len)
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is room for no further row.
    pub fn is_full(&self) -> bool {
        self.length >= BATCH
    }

    /// The numbers of the selected rows.
    pub fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        let all = if self.selection.is_none() {
            0..self.length
        } else {
            0..0
        };
        all.chain(self.selection.iter().flatten().map(|row| *row as usize))
    }

    /// The place of a column.
    pub fn position(&self, column: ColumnId) -> Option<usize> {
        self.columns.iter().position(|id| *id == column)
    }

    /// The cells of the column at `position`.
    #[inline]
    pub fn column(&self, position: usize) -> Option<&Cells<'a>> {
        self.cells.get(position)
    }

    /// Sets the selection to the rows for which `test` is true.
    pub fn select<E>(&mut self, mut test: impl FnMut(&Batch<'a>, usize) -> Result<bool, E>) -> Result<(), E> {
        // Every row is written down, and the next one over it if it does not count: which rows count is not to be
        // guessed.
        let mut kept = vec![0; self.len()];
        let mut count = 0;
        for row in self.rows() {
            let counts = test(self, row)?;
            if let Some(place) = kept.get_mut(count) {
                *place = row as u32;
            }
            count = count.saturating_add(usize::from(counts));
        }
        kept.truncate(count);
        self.selection = (kept.len() < self.length).then_some(kept);
        Ok(())
    }

    /// Leaves out the first `skip` selected rows and all after the next `take`.
    pub fn slice(&mut self, skip: usize, take: usize) {
        if skip > 0 || take < self.len() {
            self.selection = Some(self.rows().skip(skip).take(take).map(|row| row as u32).collect());
        }
    }

    /// Drops the rows that are not selected.
    pub fn compact(&mut self) {
        if let Some(rows) = self.selection.take() {
            for cells in &mut self.cells {
                cells.keep(&rows);
            }
            self.length = rows.len();
        }
    }

    /// Appends a row of another batch with the same columns.
    pub fn push_row(&mut self, other: &Batch<'a>, row: usize) {
        for (to, from) in self.cells.iter_mut().zip(&other.cells) {
            to.push(from.cell(row));
        }
        self.length = self.length.saturating_add(1);
    }

    /// Appends the columns at `positions` of a row of another batch.
    pub fn push_columns(&mut self, other: &Batch<'a>, positions: &[usize], row: usize) {
        for (to, position) in self.cells.iter_mut().zip(positions) {
            if let Some(from) = other.column(*position) {
                to.push(from.cell(row));
            }
        }
        self.length = self.length.saturating_add(1);
    }

    /// Appends a row made of a row of `left` and one of `right`, or nils in its place.
    pub fn push_pair(&mut self, left: &Batch<'a>, row: usize, right: Option<(&Batch<'a>, usize)>) {
        let mut cells = self.cells.iter_mut();
        for from in &left.cells {
            if let Some(to) = cells.next() {
                to.push(from.cell(row));
            }
        }
        match right {
            Some((right, row)) => {
                for (to, from) in cells.zip(&right.cells) {
                    to.push(from.cell(row));
                }
            }
            None => cells.for_each(|to| to.push(Cell::Object(Object::Nil))),
        }
        self.length = self.length.saturating_add(1);
    }

    /// Appends a row of values.
    pub fn push_values(&mut self, values: impl IntoIterator<Item = Value>) {
        for (to, value) in self.cells.iter_mut().zip(values) {
            to.push(Cell::Value(value));
        }
        self.length = self.length.saturating_add(1);
    }

    /// The values of the columns at `positions` in one row, owned.
    pub fn values(&self, positions: &[usize], row: usize) -> Vec<Value> {
        let value = |position: &usize| {
            self.column(*position)
                .map_or(Value::Nil, |cells| cells.owned(row))
        };
        positions.iter().map(value).collect()
    }

    /// The number of the selected row that has `place` selected ones before it.
    #[inline]
    pub fn row(&self, place: usize) -> usize {
        match &self.selection {
            None => place,
            Some(rows) => rows.get(place).map_or(self.length, |row| *row as usize),
        }
    }

    /// The values of the columns at `positions` in one row, moved out: the row is not read again.
    pub fn take_values(&mut self, positions: &[usize], row: usize) -> Vec<Value> {
        let take = |position: &usize| match self.cells.get_mut(*position) {
            Some(Cells::Values(values)) => values.get_mut(row).map(std::mem::take).unwrap_or_default(),
            Some(cells) => cells.owned(row),
            None => Value::Nil,
        };
        positions.iter().map(take).collect()
    }

    /// Bytes of memory the batch holds.
    pub fn size(&self) -> usize {
        self.cells.iter().map(Cells::size).sum()
    }
}

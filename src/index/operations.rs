//! The operations of several deltas on a range of one index, as one sorted sequence.

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::SmallVec;

use super::delta::{Operation, Rest, Table};
use crate::object::CommitNumber;

/// Entries read from a table the first time, and at most.
const FIRST_PART: usize = 16;
const LARGEST_PART: usize = 512;

/// A sequence of operations in key and object order, one for each entry: the newest up to one commit.
#[derive(Debug)]
pub(super) struct OperationCursor {
    /// The oldest first.
    tables: SmallVec<[TableCursor; 4]>,
    descending: bool,
    current: Option<Operation>,
}

impl OperationCursor {
    /// The operations of `tables` (the oldest first) in `rest` at commit `at`.
    pub(super) fn new(
        tables: impl Iterator<Item = Arc<Table>>,
        rest: &Rest,
        descending: bool,
        at: CommitNumber,
    ) -> OperationCursor {
        let tables = tables.map(|table| TableCursor::new(table, rest.clone(), descending, at));
        let mut cursor = OperationCursor {
            tables: tables.filter(|table| table.peek().is_some()).collect(),
            descending,
            current: None,
        };
        cursor.advance();
        cursor
    }

    /// No operations.
    pub(super) fn empty() -> OperationCursor {
        OperationCursor {
            tables: SmallVec::new(),
            descending: false,
            current: None,
        }
    }

    /// The operation it stands on.
    pub(super) fn current(&self) -> Option<&Operation> {
        self.current.as_ref()
    }

    /// Moves to the next one.
    pub(super) fn advance(&mut self) {
        self.current = None;
        if let [only] = self.tables.as_mut_slice() {
            self.current = only.next();
            return;
        }
        let Some(newest) = self.first_table() else { return };
        let Some(table) = self.tables.get_mut(newest) else {
            return;
        };
        let Some(operation) = table.next() else { return };
        for older in self.tables.iter_mut().take(newest) {
            if older
                .peek()
                .is_some_and(|other| in_order(other, &operation) == Ordering::Equal)
            {
                older.next();
            }
        }
        self.current = Some(operation);
    }

    /// The newest of the tables whose next operation comes first.
    fn first_table(&self) -> Option<usize> {
        let mut first: Option<(usize, &Operation)> = None;
        for (at, table) in self.tables.iter().enumerate() {
            let Some(operation) = table.peek() else { continue };
            let not_after = first.is_none_or(|(_, best)| {
                let order = in_order(operation, best);
                (if self.descending { order.reverse() } else { order }) != Ordering::Greater
            });
            if not_after {
                first = Some((at, operation));
            }
        }
        first.map(|(at, _)| at)
    }
}

fn in_order(a: &Operation, b: &Operation) -> Ordering {
    a.key.cmp(&b.key).then(a.oid.cmp(&b.oid))
}

#[derive(Debug)]
struct TableCursor {
    table: Arc<Table>,
    rest: Rest,
    descending: bool,
    at: CommitNumber,
    part: std::vec::IntoIter<Operation>,
    part_size: usize,
    more: bool,
}

impl TableCursor {
    fn new(table: Arc<Table>, rest: Rest, descending: bool, at: CommitNumber) -> TableCursor {
        let mut cursor = TableCursor {
            table,
            rest,
            descending,
            at,
            part: Vec::new().into_iter(),
            part_size: FIRST_PART,
            more: true,
        };
        cursor.fill();
        cursor
    }

    fn peek(&self) -> Option<&Operation> {
        self.part.as_slice().first()
    }

    fn next(&mut self) -> Option<Operation> {
        let operation = self.part.next();
        if self.part.as_slice().is_empty() {
            self.fill();
        }
        operation
    }

    /// Reads parts until one has an operation or the range is at its end.
    fn fill(&mut self) {
        let mut operations = Vec::new();
        while self.more && operations.is_empty() {
            self.more = self.table.read(
                &mut self.rest,
                self.descending,
                self.at,
                self.part_size,
                &mut operations,
            );
            self.part_size = (self.part_size * 2).min(LARGEST_PART);
        }
        self.part = operations.into_iter();
    }
}

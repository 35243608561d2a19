//! Predicates that select the rows of a batch all at once.
//!
//! `attribute op constant` over ints, and `between`, are ranges of ints: read in one loop over the records of a column,
//! without a closure, a value or a branch a row. Everything else is tested row by row.

use super::{Attribute, Compiler, Row, Test};
use crate::error::Result;
use crate::object::{Type, Value};
use crate::query::exec::batch::{Batch, Cells};
use crate::query::exec::context::Run;
use crate::query::exec::filter::select;
use crate::query::plan::{Comparison, Expression, ExpressionKind};

/// Keeps the rows of a batch for which a predicate is true.
pub enum Selection<'a> {
    /// Ints within ranges, all of them.
    Ranges(Vec<IntRange<'a>>),
    /// Anything else.
    Test(Test<'a>),
}

/// An attribute of type int between two numbers, both included.
pub struct IntRange<'a> {
    attribute: Attribute<'a>,
    low: i64,
    high: i64,
}

impl<'a> Compiler<'a> {
    /// Compiles a predicate that is to select rows.
    pub fn selection(&self, predicate: &'a Expression) -> Selection<'a> {
        let mut ranges = Vec::new();
        match self.ranges(predicate, &mut ranges) {
            Some(()) => Selection::Ranges(ranges),
            None => Selection::Test(self.predicate(predicate)),
        }
    }

    /// Appends the ranges that `predicate` asks for; `None` if it is something else.
    fn ranges(&self, predicate: &'a Expression, ranges: &mut Vec<IntRange<'a>>) -> Option<()> {
        match &predicate.kind {
            ExpressionKind::And(operands) => operands
                .iter()
                .try_for_each(|operand| self.ranges(operand, ranges)),
            ExpressionKind::Compare {
                operator,
                left,
                right,
            } => {
                let (operator, attribute, constant) = match (self.attribute(left), self.attribute(right)) {
                    (Some(attribute), None) => (*operator, attribute, self.constant(right)?),
                    (None, Some(attribute)) => (operator.swapped(), attribute, self.constant(left)?),
                    _ => return None,
                };
                let Value::Int(constant) = constant else {
                    return None;
                };
                let (low, high) = bounds(operator, *constant)?;
                self.range(attribute, low, high, ranges)
            }
            ExpressionKind::Between { value, low, high } => {
                let (low, high) = (self.constant(low)?.as_int()?, self.constant(high)?.as_int()?);
                self.range(self.attribute(value)?, low, high, ranges)
            }
            _ => None,
        }
    }

    fn range(
        &self,
        attribute: Attribute<'a>,
        low: i64,
        high: i64,
        ranges: &mut Vec<IntRange<'a>>,
    ) -> Option<()> {
        attribute.is(&Type::Int).then(|| {
            ranges.push(IntRange { attribute, low, high });
        })
    }
}

/// The numbers for which a comparison with `constant` is true; `None` if they are no range. A range whose end is below
/// its beginning has none.
fn bounds(operator: Comparison, constant: i64) -> Option<(i64, i64)> {
    const NONE: (i64, i64) = (1, 0);
    Some(match operator {
        Comparison::Equal => (constant, constant),
        Comparison::NotEqual => return None,
        Comparison::Less => constant.checked_sub(1).map_or(NONE, |high| (i64::MIN, high)),
        Comparison::LessOrEqual => (i64::MIN, constant),
        Comparison::Greater => constant.checked_add(1).map_or(NONE, |low| (low, i64::MAX)),
        Comparison::GreaterOrEqual => (constant, i64::MAX),
    })
}

impl<'a> Selection<'a> {
    /// Keeps the rows for which the predicate is true selected.
    pub fn apply(&self, batch: &mut Batch<'a>, run: &Run<'_, 'a>) -> Result<()> {
        match self {
            Selection::Ranges(ranges) => ranges.iter().try_for_each(|range| range.select(batch, run)),
            Selection::Test(test) => select(batch, run, test),
        }
    }
}

impl<'a> IntRange<'a> {
    fn select(&self, batch: &mut Batch<'a>, run: &Run<'_, 'a>) -> Result<()> {
        let within =
            |number: Option<i64>| number.is_some_and(|number| (self.low <= number) & (number <= self.high));
        let (position, attribute) = (self.attribute.position(), self.attribute);
        if let Some(Cells::Records(_)) = batch.column(position)
            && let Some((slot, default)) = attribute.same()
        {
            let default = within(default.as_int());
            return batch.select(|batch, index| match batch.column(position) {
                Some(Cells::Records(records)) => match records.get(index) {
                    Some(record) => Ok(record.body.int(slot)?.map_or(default, within)),
                    None => Ok(false),
                },
                _ => Ok(false),
            });
        }
        batch.select(|batch, index| Ok(within(attribute.int(&Row { batch, index, run })?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_comparison_hold_exactly_the_numbers_it_is_true_for() {
        let numbers = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        for constant in numbers {
            for number in numbers {
                let holds = |operator| {
                    let (low, high) = bounds(operator, constant).unwrap();
                    low <= number && number <= high
                };
                assert_eq!(holds(Comparison::Equal), number == constant);
                assert_eq!(holds(Comparison::Less), number < constant);
                assert_eq!(holds(Comparison::LessOrEqual), number <= constant);
                assert_eq!(holds(Comparison::Greater), number > constant);
                assert_eq!(holds(Comparison::GreaterOrEqual), number >= constant);
            }
        }
        assert_eq!(bounds(Comparison::NotEqual, 1), None);
    }
}

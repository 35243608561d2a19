//! Aggregates, over the rows of a group or over the members of a collection.

use std::fmt;

use super::expression::{Column, Expression};

/// Which aggregate. All skip nil; over nothing, the counts are 0 and the others nil.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// The number of rows, whatever they hold (`count(*)`; takes no argument).
    CountRows,
    /// The number of values that are not nil.
    Count,
    /// The sum. An int sum that leaves 64 bits is an error.
    Sum,
    /// The mean: a float for ints and floats, a decimal for decimals.
    Avg,
    /// The smallest value in the total order.
    Min,
    /// The largest value in the total order.
    Max,
}

impl fmt::Display for AggregateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AggregateFunction::CountRows | AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
        })
    }
}

/// An aggregate over the rows of each group.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Where the result goes; its type is the result's.
    pub column: Column,
    /// Which aggregate.
    pub function: AggregateFunction,
    /// Whether equal values count once.
    pub distinct: bool,
    /// What is aggregated, evaluated over the rows of the input; `None` for `CountRows` only.
    pub argument: Option<Expression>,
}

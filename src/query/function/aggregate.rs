//! Aggregates, one value at a time.

use rust_decimal::Decimal;

use crate::error::{QueryErrorCode, Result};
use crate::object::{Type, Value, ValueRef};
use crate::query::plan::{AggregateFunction, Arithmetic};

use super::arithmetic::{self, decimal_to_float, failure, out_of_range};

/// The type of an aggregate over values of type `member`; `None` if it is not defined for them.
pub fn result_type(function: AggregateFunction, member: &Type) -> Option<Type> {
    use AggregateFunction::{Avg, Count, CountRows, Max, Min, Sum};
    match (function, member) {
        (Count | CountRows, _) => Some(Type::Int),
        (Min | Max, member) => Some(member.clone()),
        (Sum | Avg, Type::Any) => Some(Type::Any),
        (Sum | Avg, Type::Duration) => Some(Type::Duration),
        (Sum, Type::Int | Type::Float | Type::Decimal) => Some(member.clone()),
        (Avg, Type::Decimal) => Some(Type::Decimal),
        (Avg, Type::Int | Type::Float) => Some(Type::Float),
        _ => None,
    }
}

/// One aggregate as it grows.
#[derive(Debug, Clone)]
pub enum Accumulator {
    /// Values seen.
    Count(i64),
    /// The sum so far.
    Sum(Total),
    /// The sum so far, and how many values are in it.
    Avg(Total, i64),
    /// The smallest so far.
    Min(Value),
    /// The largest so far.
    Max(Value),
}

/// A sum that stays exact for ints: only its end is checked against the range of an int, so that the order of the
/// values does not decide whether it overflows.
#[derive(Debug, Clone, Copy, Default)]
pub enum Total {
    /// No value yet.
    #[default]
    Empty,
    /// Ints only.
    Int(i128),
    /// Ints and decimals.
    Decimal(Decimal),
    /// Floats among the numbers.
    Float(f64),
    /// Durations, in microseconds.
    Duration(i128),
}

impl Accumulator {
    /// An accumulator that has seen nothing.
    pub fn new(function: AggregateFunction) -> Accumulator {
        match function {
            AggregateFunction::CountRows | AggregateFunction::Count => Accumulator::Count(0),
            AggregateFunction::Sum => Accumulator::Sum(Total::Empty),
            AggregateFunction::Avg => Accumulator::Avg(Total::Empty, 0),
            AggregateFunction::Min => Accumulator::Min(Value::Nil),
            AggregateFunction::Max => Accumulator::Max(Value::Nil),
        }
    }

    /// Takes one value; nil is skipped.
    pub fn add(&mut self, value: &Value) -> Result<()> {
        if matches!(value, Value::Nil) {
            return Ok(());
        }
        match self {
            Accumulator::Count(count) => *count = count.saturating_add(1),
            Accumulator::Sum(total) => total.add(value)?,
            Accumulator::Avg(total, count) => {
                total.add(value)?;
                *count = count.saturating_add(1);
            }
            Accumulator::Min(least) if matches!(least, Value::Nil) || value < least => *least = value.clone(),
            Accumulator::Max(most) if matches!(most, Value::Nil) || value > most => *most = value.clone(),
            Accumulator::Min(_) | Accumulator::Max(_) => {}
        }
        Ok(())
    }

    /// Takes one int; like [`add`](Accumulator::add), without making a value of it.
    #[inline]
    pub fn add_int(&mut self, value: i64) -> Result<()> {
        match self {
            Accumulator::Count(count) => *count = count.saturating_add(1),
            Accumulator::Sum(Total::Int(total)) => *total = total.saturating_add(i128::from(value)),
            Accumulator::Avg(Total::Int(total), count) => {
                *total = total.saturating_add(i128::from(value));
                *count = count.saturating_add(1);
            }
            Accumulator::Min(Value::Int(least)) => *least = value.min(*least),
            Accumulator::Max(Value::Int(most)) => *most = value.max(*most),
            _ => self.add(&Value::Int(value))?,
        }
        Ok(())
    }

    /// Takes one float; like [`add`](Accumulator::add), without making a value of it.
    #[inline]
    pub fn add_float(&mut self, value: f64) -> Result<()> {
        match self {
            Accumulator::Count(count) => *count = count.saturating_add(1),
            Accumulator::Sum(Total::Float(total)) => {
                *total = arithmetic::float(Arithmetic::Add, *total, value)?;
            }
            Accumulator::Avg(Total::Float(total), count) => {
                *total = arithmetic::float(Arithmetic::Add, *total, value)?;
                *count = count.saturating_add(1);
            }
            _ => self.add(&Value::Float(value))?,
        }
        Ok(())
    }

    /// Takes one borrowed value; like [`add`](Accumulator::add), with a copy made only where it is kept.
    pub fn add_ref(&mut self, value: ValueRef<'_>) -> Result<()> {
        match (&*self, value) {
            (_, value) if value.is_nil() => Ok(()),
            (_, ValueRef::Int(number)) => self.add_int(number),
            (_, ValueRef::Float(number)) => self.add_float(number),
            (Accumulator::Count(_), _) => self.add(&Value::Bool(true)),
            (Accumulator::Min(least), value) if !least.is_nil() && value.compare(least.as_ref()).is_ge() => {
                Ok(())
            }
            (Accumulator::Max(most), value) if !most.is_nil() && value.compare(most.as_ref()).is_le() => {
                Ok(())
            }
            (_, value) => self.add(&value.to_value()?),
        }
    }

    /// Counts `rows` rows, whatever their values; for `count(*)`.
    pub fn add_rows(&mut self, rows: i64) {
        if let Accumulator::Count(count) = self {
            *count = count.saturating_add(rows);
        }
    }

    /// The result.
    pub fn finish(&self) -> Result<Value> {
        match self {
            Accumulator::Count(count) => Ok(Value::Int(*count)),
            Accumulator::Sum(total) => total.finish(),
            Accumulator::Avg(total, count) => total.mean(*count),
            Accumulator::Min(value) | Accumulator::Max(value) => Ok(value.clone()),
        }
    }
}

impl Total {
    fn add(&mut self, value: &Value) -> Result<()> {
        *self = match (*self, value) {
            (Total::Empty, Value::Int(b)) => Total::Int(i128::from(*b)),
            (Total::Empty, Value::Decimal(b)) => Total::Decimal(*b),
            (Total::Empty, Value::Float(b)) => Total::Float(*b),
            (Total::Empty, Value::Duration(b)) => Total::Duration(i128::from(b.0)),
            (Total::Int(a), Value::Int(b)) => Total::Int(a.saturating_add(i128::from(*b))),
            (Total::Int(a), Value::Decimal(b)) => Total::Decimal(decimal_sum(to_decimal(a)?, *b)?),
            (Total::Int(a), Value::Float(b)) => Total::Float(float_sum(a as f64, *b)?),
            (Total::Decimal(a), Value::Int(b)) => Total::Decimal(decimal_sum(a, Decimal::from(*b))?),
            (Total::Decimal(a), Value::Decimal(b)) => Total::Decimal(decimal_sum(a, *b)?),
            (Total::Decimal(a), Value::Float(b)) => Total::Float(float_sum(decimal_to_float(a), *b)?),
            (Total::Float(a), Value::Int(b)) => Total::Float(float_sum(a, *b as f64)?),
            (Total::Float(a), Value::Decimal(b)) => Total::Float(float_sum(a, decimal_to_float(*b))?),
            (Total::Float(a), Value::Float(b)) => Total::Float(float_sum(a, *b)?),
            (Total::Duration(a), Value::Duration(b)) => Total::Duration(a.saturating_add(i128::from(b.0))),
            (_, other) => {
                return Err(failure(
                    QueryErrorCode::Type,
                    format!(
                        "sum and avg need numbers or durations, but were given {}",
                        other.type_name()
                    ),
                ));
            }
        };
        Ok(())
    }

    fn finish(self) -> Result<Value> {
        match self {
            Total::Empty => Ok(Value::Nil),
            Total::Int(sum) => i64::try_from(sum)
                .map(Value::Int)
                .map_err(|_| out_of_range("the sum of ints")),
            Total::Decimal(sum) => Ok(Value::Decimal(sum)),
            Total::Float(sum) => Ok(Value::Float(sum)),
            Total::Duration(sum) => i64::try_from(sum)
                .map(|micros| Value::Duration(crate::object::Duration(micros)))
                .map_err(|_| out_of_range("the sum of durations")),
        }
    }

    fn mean(self, count: i64) -> Result<Value> {
        match self {
            Total::Empty => Ok(Value::Nil),
            Total::Int(sum) => Ok(Value::Float(sum as f64 / count as f64)),
            Total::Decimal(sum) => {
                arithmetic::decimal(Arithmetic::Divide, sum, Decimal::from(count)).map(Value::Decimal)
            }
            Total::Float(sum) => Ok(Value::Float(sum / count as f64)),
            Total::Duration(sum) => {
                let mean = sum
                    .checked_div(i128::from(count))
                    .and_then(|mean| i64::try_from(mean).ok());
                let micros = mean.ok_or_else(|| out_of_range("the mean of durations"))?;
                Ok(Value::Duration(crate::object::Duration(micros)))
            }
        }
    }
}

fn to_decimal(sum: i128) -> Result<Decimal> {
    Decimal::try_from_i128_with_scale(sum, 0).map_err(|_| out_of_range("the sum of decimals"))
}

fn decimal_sum(a: Decimal, b: Decimal) -> Result<Decimal> {
    arithmetic::decimal(Arithmetic::Add, a, b)
}

fn float_sum(a: f64, b: f64) -> Result<f64> {
    arithmetic::float(Arithmetic::Add, a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(aggregate: AggregateFunction, values: &[Value]) -> Result<Value> {
        let mut accumulator = Accumulator::new(aggregate);
        for value in values {
            accumulator.add(value)?;
        }
        accumulator.finish()
    }

    #[test]
    fn the_mean_of_ints_is_not_cut() {
        let values = [Value::Int(1), Value::Int(2), Value::Nil, Value::Int(2)];
        assert_eq!(
            over(AggregateFunction::Avg, &values).unwrap(),
            Value::Float(5.0 / 3.0)
        );
        assert_eq!(over(AggregateFunction::Count, &values).unwrap(), Value::Int(3));
        assert_eq!(over(AggregateFunction::Sum, &values).unwrap(), Value::Int(5));
        assert_eq!(over(AggregateFunction::Min, &values).unwrap(), Value::Int(1));
    }

    #[test]
    fn nothing_gives_nil_but_a_count_of_zero() {
        assert_eq!(
            over(AggregateFunction::Count, &[Value::Nil]).unwrap(),
            Value::Int(0)
        );
        for aggregate in [
            AggregateFunction::Sum,
            AggregateFunction::Avg,
            AggregateFunction::Min,
            AggregateFunction::Max,
        ] {
            assert_eq!(over(aggregate, &[Value::Nil]).unwrap(), Value::Nil);
        }
    }

    #[test]
    fn an_int_sum_overflows_by_its_end_only() {
        let max = Value::Int(i64::MAX);
        assert!(over(AggregateFunction::Sum, &[max.clone(), Value::Int(1)]).is_err());
        assert_eq!(
            over(
                AggregateFunction::Sum,
                &[max.clone(), Value::Int(1), Value::Int(-1)]
            )
            .unwrap(),
            max
        );
    }

    #[test]
    fn nan_sorts_after_every_number() {
        let values = [Value::Float(f64::NAN), Value::Int(1)];
        assert_eq!(over(AggregateFunction::Min, &values).unwrap(), Value::Int(1));
        assert_eq!(
            over(AggregateFunction::Max, &values).unwrap(),
            Value::Float(f64::NAN)
        );
    }

    #[test]
    fn the_typed_ways_in_agree_with_the_general_one() {
        for aggregate in [
            AggregateFunction::Count,
            AggregateFunction::Sum,
            AggregateFunction::Avg,
            AggregateFunction::Min,
            AggregateFunction::Max,
        ] {
            let mut typed = Accumulator::new(aggregate);
            let mut general = Accumulator::new(aggregate);
            for number in [4_i64, -9, 7, 7] {
                typed.add_int(number).unwrap();
                general.add(&Value::Int(number)).unwrap();
            }
            for number in [0.5, 2.0] {
                typed.add_float(number).unwrap();
                general.add(&Value::Float(number)).unwrap();
            }
            assert_eq!(typed.finish().unwrap(), general.finish().unwrap());
        }
    }
}

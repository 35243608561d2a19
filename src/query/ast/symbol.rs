//! Canonical text of what is one word or symbol.

use std::fmt;

use super::{BinaryOperator, CollectionKind, ComparisonOperator, Parameter, Repetitions, SetOperator};

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parameter::Named(name) => write!(f, "${name}"),
            Parameter::Positional(number) => write!(f, "${number}"),
        }
    }
}

impl fmt::Display for Repetitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.greatest {
            Some(greatest) if greatest == self.least => write!(f, "{{{}}}", self.least),
            Some(greatest) => write!(f, "{{{},{greatest}}}", self.least),
            None => write!(f, "{{{},}}", self.least),
        }
    }
}

impl fmt::Display for SetOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetOperator::Union => "union",
            SetOperator::Intersect => "intersect",
            SetOperator::Except => "except",
        })
    }
}

impl fmt::Display for BinaryOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = match self {
            BinaryOperator::Coalesce => "??",
            BinaryOperator::Set { operator, all } => {
                return write!(f, "{operator}{}", if *all { " all" } else { "" });
            }
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Concatenate => "||",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Remainder => "%",
        };
        f.write_str(symbol)
    }
}

impl fmt::Display for ComparisonOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ComparisonOperator::Equal => "=",
            ComparisonOperator::NotEqual => "!=",
            ComparisonOperator::Less => "<",
            ComparisonOperator::LessOrEqual => "<=",
            ComparisonOperator::Greater => ">",
            ComparisonOperator::GreaterOrEqual => ">=",
        })
    }
}

impl fmt::Display for CollectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CollectionKind::List => "list",
            CollectionKind::Set => "set",
            CollectionKind::Bag => "bag",
        })
    }
}

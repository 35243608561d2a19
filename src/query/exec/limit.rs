//! `Limit`: the rows after the first few, up to a number; reading stops there.

use super::batch::Batch;
use super::compile::{Row, evaluate};
use super::context::Run;
use super::operator::{Boxed, Operator};
use crate::error::{QueryErrorCode, Result};
use crate::object::Value;
use crate::query::eval::at;
use crate::query::function::arithmetic::failure;
use crate::query::plan::Expression;

pub struct Limit<'a> {
    pub input: Boxed<'a>,
    pub limit: Option<&'a Expression>,
    pub offset: Option<&'a Expression>,
    /// Rows still to skip and to give out, once the bounds are evaluated.
    pub left: Option<(usize, usize)>,
}

impl<'a> Operator<'a> for Limit<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let (mut skip, mut take) = match self.left {
            Some(left) => left,
            None => (
                bound(self.offset, run, "offset")?.unwrap_or(0),
                bound(self.limit, run, "limit")?.unwrap_or(usize::MAX),
            ),
        };
        let mut more = false;
        while take > 0 && self.input.next(run, output)? {
            let found = output.len();
            output.slice(skip, take);
            skip = skip.saturating_sub(found);
            take = take.saturating_sub(output.len());
            more = !output.is_empty();
            if more {
                break;
            }
        }
        self.left = Some((skip, take));
        if !more {
            output.reset(std::iter::empty());
        }
        Ok(more)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.left = None;
        self.input.rewind(run);
    }
}

/// A limit or offset: an int of at least zero; `None` for nil.
pub fn bound(expression: Option<&Expression>, run: &Run<'_, '_>, what: &str) -> Result<Option<usize>> {
    let Some(expression) = expression else {
        return Ok(None);
    };
    let nowhere = Batch::default();
    let row = Row {
        batch: &nowhere,
        index: 0,
        run,
    };
    match evaluate(expression, &row)? {
        Value::Nil => Ok(None),
        Value::Int(number) if number >= 0 => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
        other => {
            let message = format!("{what} is an int of at least zero, not {other}");
            Err(at(failure(QueryErrorCode::OutOfRange, message), expression.span))
        }
    }
}

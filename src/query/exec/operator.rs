//! What every operator does.

use super::batch::Batch;
use super::context::Run;
use crate::error::Result;

/// An operator: a node of a plan as it runs, pulled a batch at a time by the one above.
pub trait Operator<'a>: Send {
    /// Replaces `output` with the next rows; false, and an empty `output`, at the end. A true may come with no row
    /// selected. After false or an error it is not called again before [`rewind`](Operator::rewind).
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool>;

    /// Goes back to the start and gives back what is held, so that the operator can run again, with other rows
    /// around it.
    fn rewind(&mut self, run: &Run<'_, 'a>);
}

/// An operator of any kind.
pub type Boxed<'a> = Box<dyn Operator<'a> + 'a>;

//! Top-k: a sort under a limit holds only the rows that the limit lets through.

use super::rule::{Context, Rule, bottom_up};
use crate::query::plan::Plan;

pub(super) struct TopK;

impl Rule for TopK {
    fn apply(&self, plan: Plan, _context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Limit {
                input,
                limit: Some(limit),
                offset,
            } => match *input {
                Plan::Sort { input, keys } => Plan::TopK {
                    input,
                    keys,
                    limit,
                    offset,
                },
                other => Plan::Limit {
                    input: Box::new(other),
                    limit: Some(limit),
                    offset,
                },
            },
            other => other,
        })
    }
}

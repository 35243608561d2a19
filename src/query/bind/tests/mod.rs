//! Tests of binding: against a catalog made by hand, by `explain`, and by the place and words of errors.

mod errors;
mod plans;
mod scopes;

//! The optimizer: an ordered list of small rules, each of which keeps what a plan means.

mod access;
mod cardinality;
mod conjunction;
mod cost;
mod count_extent;
mod estimates;
mod far_end;
mod fetch_paths;
mod fold;
mod identity;
mod index_choice;
mod index_join;
mod index_only;
mod index_order;
mod join_order;
mod pushdown;
mod reverse_join;
mod rule;
mod semi_join;
mod top_k;

#[cfg(test)]
mod tests;

pub use estimates::ReaderEstimates;
pub use rule::optimize;

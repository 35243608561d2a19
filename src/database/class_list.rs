//! Tuples of Rust types, to be defined together.

use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::object::{Shape, probe};

/// One to eight Rust types to define together, as a tuple.
pub trait ClassList {
    /// Their shapes.
    ///
    /// # Errors
    /// As [`Database::define`].
    #[doc(hidden)]
    fn shapes() -> Result<Vec<Shape>>;
}

impl<A: DeserializeOwned> ClassList for (A,) {
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned> ClassList for (A, B) {
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?, probe::<B>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned, C: DeserializeOwned> ClassList for (A, B, C) {
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?, probe::<B>()?, probe::<C>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned, C: DeserializeOwned, D: DeserializeOwned> ClassList
    for (A, B, C, D)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![probe::<A>()?, probe::<B>()?, probe::<C>()?, probe::<D>()?])
    }
}

impl<A: DeserializeOwned, B: DeserializeOwned, C: DeserializeOwned, D: DeserializeOwned, E: DeserializeOwned>
    ClassList for (A, B, C, D, E)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
        ])
    }
}

impl<
    A: DeserializeOwned,
    B: DeserializeOwned,
    C: DeserializeOwned,
    D: DeserializeOwned,
    E: DeserializeOwned,
    F: DeserializeOwned,
> ClassList for (A, B, C, D, E, F)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
            probe::<F>()?,
        ])
    }
}

impl<
    A: DeserializeOwned,
    B: DeserializeOwned,
    C: DeserializeOwned,
    D: DeserializeOwned,
    E: DeserializeOwned,
    F: DeserializeOwned,
    G: DeserializeOwned,
> ClassList for (A, B, C, D, E, F, G)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
            probe::<F>()?,
            probe::<G>()?,
        ])
    }
}

impl<
    A: DeserializeOwned,
    B: DeserializeOwned,
    C: DeserializeOwned,
    D: DeserializeOwned,
    E: DeserializeOwned,
    F: DeserializeOwned,
    G: DeserializeOwned,
    H: DeserializeOwned,
> ClassList for (A, B, C, D, E, F, G, H)
{
    fn shapes() -> Result<Vec<Shape>> {
        Ok(vec![
            probe::<A>()?,
            probe::<B>()?,
            probe::<C>()?,
            probe::<D>()?,
            probe::<E>()?,
            probe::<F>()?,
            probe::<G>()?,
            probe::<H>()?,
        ])
    }
}

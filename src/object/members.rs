//! Walking over the members of collections, maps and structs, stored or owned.

use std::sync::Arc;

use super::value_ref::ValueRef;
use crate::error::Result;

/// The members of a list, set or bag, one after another; an error is the last item.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<ValueRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

/// The entries of a map, one after another; an error is the last item.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(ValueRef<'a>, ValueRef<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

/// The fields of a struct, one after another; an error is the last item.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(&'a str, ValueRef<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

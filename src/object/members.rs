//! Walking over the members of collections, maps and structs, stored or owned.
//!
//! A stored collection is a count, a bitmap of the nil members where there are any, and the other members one after
//! another (see `codec`). A walk decodes each as it comes to it; damage is reported as an error, which ends it.

use std::slice;
use std::sync::Arc;

use super::codec::{self, Header};
use super::types::Type;
use super::value::Value;
use super::value_ref::ValueRef;
use crate::error::Result;

/// The members of a list, set or bag, one after another; an error is the last item.
#[derive(Debug, Clone)]
pub struct Members<'a>(MemberSource<'a>);

#[derive(Debug, Clone)]
enum MemberSource<'a> {
    Stored(&'a Type, Stored<'a>),
    Owned(slice::Iter<'a, Value>),
}

/// The entries of a map, one after another; an error is the last item.
#[derive(Debug, Clone)]
pub struct Entries<'a>(EntrySource<'a>);

#[derive(Debug, Clone)]
enum EntrySource<'a> {
    Stored(&'a Type, &'a Type, Stored<'a>),
    Owned(slice::Iter<'a, (Value, Value)>),
}

/// The fields of a struct, one after another; an error is the last item.
#[derive(Debug, Clone)]
pub struct Fields<'a>(FieldSource<'a>);

#[derive(Debug, Clone)]
enum FieldSource<'a> {
    /// Names and types are declared.
    Typed(slice::Iter<'a, (Arc<str>, Type)>, Stored<'a>),
    /// Names are stored before each value, types as its tag.
    Untyped(Stored<'a>),
    Owned(slice::Iter<'a, (Arc<str>, Value)>),
}

/// Where a walk over stored items stands.
#[derive(Debug, Clone)]
struct Stored<'a> {
    nils: &'a [u8],
    rest: &'a [u8],
    /// Items left.
    left: usize,
    /// The bit of the next item.
    bit: usize,
}

impl<'a> Stored<'a> {
    fn new(header: Header<'a>) -> Stored<'a> {
        Stored {
            nils: header.nils,
            rest: header.rest,
            left: header.count,
            bit: 0,
        }
    }

    /// Moves on to the next item; false at the end.
    #[inline]
    fn advance(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// The next value, which is of type `type` where its nil bit is not set. An error ends the walk.
    #[inline]
    fn take(&mut self, r#type: &'a Type) -> Result<ValueRef<'a>> {
        let bit = self.bit;
        self.bit = bit.wrapping_add(1);
        if !self.nils.is_empty() && codec::is_set(self.nils, bit) {
            return Ok(ValueRef::Nil);
        }
        let value = codec::take(r#type, &mut self.rest);
        if value.is_err() {
            self.left = 0;
        }
        value
    }
}

impl<'a> Members<'a> {
    pub(crate) fn stored(member: &'a Type, header: Header<'a>) -> Members<'a> {
        Members(MemberSource::Stored(member, Stored::new(header)))
    }

    pub(crate) fn owned(members: &'a [Value]) -> Members<'a> {
        Members(MemberSource::Owned(members.iter()))
    }

    /// How many members are left; exact unless the stored bytes are damaged.
    pub fn remaining(&self) -> usize {
        match &self.0 {
            MemberSource::Stored(_, stored) => stored.left,
            MemberSource::Owned(members) => members.len(),
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<ValueRef<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            MemberSource::Stored(member, stored) => stored.advance().then(|| stored.take(member)),
            MemberSource::Owned(members) => members.next().map(|member| Ok(member.as_ref())),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.remaining()))
    }
}

impl<'a> Entries<'a> {
    pub(crate) fn stored(key: &'a Type, value: &'a Type, header: Header<'a>) -> Entries<'a> {
        Entries(EntrySource::Stored(key, value, Stored::new(header)))
    }

    pub(crate) fn owned(entries: &'a [(Value, Value)]) -> Entries<'a> {
        Entries(EntrySource::Owned(entries.iter()))
    }

    /// How many entries are left; exact unless the stored bytes are damaged.
    pub fn remaining(&self) -> usize {
        match &self.0 {
            EntrySource::Stored(_, _, stored) => stored.left,
            EntrySource::Owned(entries) => entries.len(),
        }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(ValueRef<'a>, ValueRef<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            EntrySource::Stored(key, value, stored) => stored.advance().then(|| {
                let key = stored.take(key)?;
                Ok((key, stored.take(value)?))
            }),
            EntrySource::Owned(entries) => entries
                .next()
                .map(|(key, value)| Ok((key.as_ref(), value.as_ref()))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.remaining()))
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn typed(fields: &'a [(Arc<str>, Type)], header: Header<'a>) -> Fields<'a> {
        Fields(FieldSource::Typed(fields.iter(), Stored::new(header)))
    }

    pub(crate) fn untyped(header: Header<'a>) -> Fields<'a> {
        Fields(FieldSource::Untyped(Stored::new(header)))
    }

    pub(crate) fn owned(fields: &'a [(Arc<str>, Value)]) -> Fields<'a> {
        Fields(FieldSource::Owned(fields.iter()))
    }

    /// How many fields are left; exact unless the stored bytes are damaged.
    pub fn remaining(&self) -> usize {
        match &self.0 {
            FieldSource::Typed(_, stored) | FieldSource::Untyped(stored) => stored.left,
            FieldSource::Owned(fields) => fields.len(),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(&'a str, ValueRef<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            FieldSource::Typed(fields, stored) => {
                let (name, r#type) = fields.next().filter(|_| stored.advance())?;
                Some(stored.take(r#type).map(|value| (&**name, value)))
            }
            FieldSource::Untyped(stored) => stored.advance().then(|| {
                let name = codec::take_text(&mut stored.rest).inspect_err(|_| stored.left = 0)?;
                Ok((name, stored.take(&codec::ANY)?))
            }),
            FieldSource::Owned(fields) => fields.next().map(|(name, value)| Ok((&**name, value.as_ref()))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.remaining()))
    }
}

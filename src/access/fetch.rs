//! Fetch plans: an object and what it leads to, read together.

use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use self_cell::self_cell;
use serde::de::DeserializeOwned;

use super::typed::Follow;
use super::{decode, get};
use crate::error::{Error, Result};
use crate::object::{self, Oid, Record, Ref, Value, references};
use crate::read::{Reader, members, value_of};

type Records<'a> = FxHashMap<Oid, Option<Record<'a>>>;

self_cell!(
    struct Closure {
        owner: Arc<dyn Reader>,
        #[covariant]
        dependent: Records,
    }
);

/// A plan for reading an object together with what it leads to; made by [`Snapshot::fetch`](crate::Snapshot::fetch).
///
/// The objects of one step are read at once, in the order they lie in the store. How far a plan goes changes how fast
/// the closure is then walked, and never what is found: what it does not hold is read when it is asked for.
pub struct Fetch<T> {
    reader: Arc<dyn Reader>,
    root: Oid,
    depth: usize,
    paths: Vec<Vec<String>>,
    target: PhantomData<fn() -> T>,
}

impl<T> Fetch<T> {
    pub(crate) fn new(reader: Arc<dyn Reader>, root: Oid) -> Self {
        Fetch {
            reader,
            root,
            depth: 0,
            paths: Vec::new(),
            target: PhantomData,
        }
    }

    /// Follows every reference up to `steps` from the object.
    #[must_use]
    pub fn depth(mut self, steps: usize) -> Self {
        self.depth = steps;
        self
    }

    /// Follows these paths of attributes too, such as `"chapters.notes"`.
    #[must_use]
    pub fn paths<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let steps = |path: &str| path.split('.').map(|step| step.trim().to_owned()).collect();
        self.paths.extend(paths.into_iter().map(steps));
        self
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// [`Error::Schema`] where no object at a step of a path has such an attribute, else as reading the objects.
    pub fn read(self) -> Result<Fetched<T>> {
        let Fetch {
            reader,
            root,
            depth,
            paths,
            ..
        } = self;
        let closure = Closure::try_new(reader, |reader| {
            let mut records = Records::default();
            let mut level = vec![root];
            load(reader.as_ref(), &level, &mut records)?;
            for _ in 0..depth {
                level = every_reference(reader.as_ref(), &level, &records)?;
                level.retain(|oid| !records.contains_key(oid));
                if level.is_empty() {
                    break;
                }
                load(reader.as_ref(), &level, &mut records)?;
            }
            for path in &paths {
                let mut level = vec![root];
                for step in path {
                    level = references_by(reader.as_ref(), &level, step, &records)?;
                    load(reader.as_ref(), &level, &mut records)?;
                }
            }
            Ok::<_, Error>(records)
        })?;
        Ok(Fetched {
            closure,
            root,
            target: PhantomData,
        })
    }
}

/// Reads the objects that are not there yet, in OID order, which is the order of the store.
fn load<'a>(reader: &'a dyn Reader, oids: &[Oid], records: &mut Records<'a>) -> Result<()> {
    let mut missing: Vec<Oid> = oids
        .iter()
        .copied()
        .filter(|oid| !records.contains_key(oid))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let mut found = Vec::with_capacity(missing.len());
    reader.gather(&missing, &mut found)?;
    records.extend(missing.into_iter().zip(found));
    Ok(())
}

fn every_reference(reader: &dyn Reader, level: &[Oid], records: &Records<'_>) -> Result<Vec<Oid>> {
    let mut next = Vec::new();
    for record in level.iter().filter_map(|oid| records.get(oid)?.as_ref()) {
        let class = reader.catalog().class_by_id(record.oid.class())?;
        for oid in references(&class.layout, &record.body) {
            next.push(oid?);
        }
        for attribute in class.attributes.iter().filter(|own| own.is_derived()) {
            next.extend(members(reader, attribute, record.oid)?);
        }
    }
    next.sort_unstable();
    next.dedup();
    Ok(next)
}

fn references_by(reader: &dyn Reader, level: &[Oid], step: &str, records: &Records<'_>) -> Result<Vec<Oid>> {
    let mut next = Vec::new();
    let mut known = level.is_empty();
    for record in level.iter().filter_map(|oid| records.get(oid)?.as_ref()) {
        let class = reader.catalog().class_by_id(record.oid.class())?;
        if let Some(attribute) = class.attribute(step) {
            known = true;
            let value = value_of(reader, class, record, attribute)?;
            references_in(&value, &mut next);
        }
    }
    next.sort_unstable();
    next.dedup();
    match known || level.iter().all(|oid| matches!(records.get(oid), Some(None))) {
        true => Ok(next),
        false => Err(Error::Schema(format!(
            "no object at this step of the path has an attribute {step}"
        ))),
    }
}

fn references_in(value: &Value, found: &mut Vec<Oid>) {
    match value {
        Value::Reference(oid) => found.push(*oid),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => {
            members.iter().for_each(|member| references_in(member, found));
        }
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            references_in(key, found);
            references_in(value, found);
        }),
        Value::Struct(fields) => fields.iter().for_each(|(_, field)| references_in(field, found)),
        _ => {}
    }
}

/// An object and what it leads to, read together; keeps the state it was read from alive.
pub struct Fetched<T> {
    closure: Closure,
    root: Oid,
    target: PhantomData<fn() -> T>,
}

impl<T> Fetched<T> {
    /// The number of objects that were read.
    pub fn len(&self) -> usize {
        let records = self.closure.borrow_dependent();
        records.values().filter(|record| record.is_some()).count()
    }

    /// Whether the object itself does not exist, so that nothing was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object the plan began with; `None` if it does not exist.
    ///
    /// # Errors
    /// Where it does not fit `T`.
    pub fn root(&self) -> Result<Option<T>>
    where
        T: DeserializeOwned,
    {
        self.get(Ref::<T>::from_oid(self.root))
    }

    /// An object, from the closure or else from the store; `None` if it does not exist.
    ///
    /// # Errors
    /// Where it does not fit `U`.
    pub fn get<U: DeserializeOwned>(&self, reference: Ref<U>) -> Result<Option<U>> {
        let reader = self.closure.borrow_owner();
        let records: &FxHashMap<Oid, Option<object::Record<'_>>> = self.closure.borrow_dependent();
        match records.get(&reference.oid()) {
            None => get(reader.as_ref(), reference.oid()),
            Some(None) => Ok(None),
            Some(Some(record)) => {
                let class = reader.catalog().class_by_id(record.oid.class())?;
                decode(reader.as_ref(), class, record)
                    .map(Some)
                    .map_err(|error| super::misread::<U>(reader.as_ref(), record.oid, error))
            }
        }
    }

    /// The object a reference of another object leads to; `None` where there is no reference or its object is gone.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn follow<R: Follow>(&self, reference: &R) -> Result<Option<R::Target>>
    where
        R::Target: DeserializeOwned,
    {
        match reference.target() {
            Some(reference) => self.get(reference),
            None => Ok(None),
        }
    }
}

impl<T> std::fmt::Debug for Fetched<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetched")
            .field("root", &self.root)
            .field("objects", &self.len())
            .finish()
    }
}

impl<T> std::fmt::Debug for Fetch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetch")
            .field("root", &self.root)
            .field("depth", &self.depth)
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

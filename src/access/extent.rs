//! All objects of a class, as Rust values.

use std::marker::PhantomData;
use std::sync::Arc;

use self_cell::self_cell;
use serde::de::DeserializeOwned;

use super::{class_of, decode};
use crate::catalog::Class;
use crate::error::Result;
use crate::object::{ClassId, Record, Ref};
use crate::read::{ExtentPosition, Reader};

/// Objects located at a time.
const BATCH: usize = 256;

/// The objects of a class and its subclasses as `T`s, in the order of their identifiers; each with its reference.
///
/// Reads a state fixed when it was made. Objects are located batch by batch, so that their cache misses overlap, and
/// decoded one by one as they are asked for: a program that drops each before it takes the next is given the same
/// piece of memory again and again.
pub struct Extent<T> {
    reader: Arc<dyn Reader>,
    /// Classes still to read, next one last.
    classes: Vec<ClassId>,
    position: ExtentPosition,
    located: Option<Located>,
    /// The next of them to decode.
    next: usize,
    _type: PhantomData<fn() -> T>,
}

self_cell!(
    struct Located {
        owner: Arc<dyn Reader>,
        #[covariant]
        dependent: Batch,
    }
);

/// Objects of one class, where they lie.
struct Batch<'a> {
    reader: &'a dyn Reader,
    class: &'a Class,
    records: Vec<Record<'a>>,
}

impl Batch<'_> {
    /// The object at `at`, decoded; `None` past the last.
    #[inline]
    fn object<T: DeserializeOwned>(&self, at: usize) -> Option<Result<(Ref<T>, T)>> {
        let record = self.records.get(at)?;
        Some(match decode(self.reader, self.class, record) {
            Ok(object) => Ok((Ref::from_oid(record.oid), object)),
            Err(error) => Err(error),
        })
    }
}

impl<T: DeserializeOwned> Extent<T> {
    /// The extent of the class that `T` describes.
    pub(crate) fn new(reader: Arc<dyn Reader>) -> Result<Self> {
        let mut classes = class_of::<T>(&*reader)?.family.clone();
        classes.reverse();
        Ok(Extent {
            reader,
            classes,
            position: ExtentPosition::default(),
            located: None,
            next: 0,
            _type: PhantomData,
        })
    }

    /// Locates the next objects; false at the end.
    fn locate(&mut self) -> Result<bool> {
        (self.located, self.next) = (None, 0);
        while let Some(class) = self.classes.last().copied() {
            let position = &mut self.position;
            let located = Located::try_new(self.reader.clone(), |reader| -> Result<Batch<'_>> {
                let mut records = Vec::with_capacity(BATCH);
                reader.scan(class, position, BATCH, &mut records)?;
                let class = reader.catalog().class_by_id(class)?;
                Ok(Batch {
                    reader: reader.as_ref(),
                    class,
                    records,
                })
            })?;
            if !located.borrow_dependent().records.is_empty() {
                self.located = Some(located);
                return Ok(true);
            }
            self.classes.pop();
            self.position = ExtentPosition::default();
        }
        Ok(false)
    }
}

impl<T: DeserializeOwned> Iterator for Extent<T> {
    type Item = Result<(Ref<T>, T)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(located) = &self.located
                && let Some(object) = located.borrow_dependent().object(self.next)
            {
                self.next = self.next.saturating_add(1);
                return Some(object);
            }
            match self.locate() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.classes.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

impl<T> std::fmt::Debug for Extent<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extent")
            .field("classes", &self.classes)
            .finish_non_exhaustive()
    }
}

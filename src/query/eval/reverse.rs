//! Reverse steps: the objects whose attribute refers to given ones.
//!
//! With an index on the attribute they are looked up. Without one the extent is read: once, for all objects asked for,
//! the first time; from the second time on a map of the whole attribute is made and kept for the rest of the query, where
//! its memory allows, so that a walk of many steps, or a step for each row, reads the extent twice and not over and over.

use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::Evaluator;
use super::object::references;
use super::visited::Visited;
use crate::catalog::IndexId;
use crate::error::Result;
use crate::object::{ClassId, Oid, Value, ValueRef, codec};
use crate::query::exec::{BATCH, entries};
use crate::query::plan::{ExpressionKind, Slots};
use crate::read::{Direction, ExtentPosition, IndexRange};

/// An attribute of a class backwards: pairs of an object referred to and one that refers to it, ascending.
#[derive(Debug, Default)]
pub struct ReverseMap {
    pairs: Vec<(Oid, Oid)>,
}

/// How an attribute was asked for backwards so far.
#[derive(Debug, Clone, Default)]
pub enum ReverseUse {
    /// Not yet.
    #[default]
    Never,
    /// Once, by a scan, or more often where there is no memory for a map.
    Scanned,
    /// There is no memory for a map.
    TooLarge,
    /// The map.
    Mapped(Arc<ReverseMap>),
}

impl ReverseMap {
    /// The objects that refer to `target`, ascending.
    fn sources(&self, target: Oid) -> impl Iterator<Item = Oid> + '_ {
        let first = self.pairs.partition_point(|(to, _)| *to < target);
        let after = self.pairs.iter().skip(first);
        after
            .take_while(move |(to, _)| *to == target)
            .map(|(_, source)| *source)
    }
}

impl Evaluator<'_, '_> {
    /// How many objects' attribute refers to the base, from the counts of an index; `None` where there is none, or the
    /// base is several objects, to which one may refer more than once.
    pub(super) fn count_sources(&self, kind: &ExpressionKind) -> Result<Option<u64>> {
        let ExpressionKind::Reverse {
            base,
            classes,
            index: Some(index),
            of_living,
            ..
        } = kind
        else {
            return Ok(None);
        };
        match self.evaluate(base)? {
            Value::Reference(target) if *of_living && self.run.object(target)?.is_none() => Ok(Some(0)),
            Value::Reference(target) => {
                let range = equal_range(Value::Reference(target));
                entries(*index, &range, classes, &self.run).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// All objects whose attribute refers to the base.
    pub(super) fn reverse(&self, kind: &ExpressionKind) -> Result<Value> {
        let ExpressionKind::Reverse { base, of_living, .. } = kind else {
            return Ok(Value::Nil);
        };
        let mut targets = references(&self.evaluate(base)?);
        if *of_living {
            targets = self.living(targets)?;
            if targets.is_empty() {
                return Ok(Value::Nil);
            }
        }
        let mut sources = Visited::default();
        if !targets.is_empty() {
            self.sources(kind, &targets, &mut |_, source| {
                sources.insert(source);
            })?;
        }
        Ok(Value::set(sources.sorted().into_iter().map(Value::Reference)))
    }

    /// Those of the objects that exist.
    pub(super) fn living(&self, mut oids: Vec<Oid>) -> Result<Vec<Oid>> {
        let mut exist = Vec::with_capacity(oids.len());
        for oid in &oids {
            exist.push(self.run.object(*oid)?.is_some());
        }
        let mut exist = exist.into_iter();
        oids.retain(|_| exist.next() == Some(true));
        Ok(oids)
    }

    /// Gives `see` every pair of an object of `targets` and one that refers to it.
    pub(super) fn sources(
        &self,
        kind: &ExpressionKind,
        targets: &[Oid],
        see: &mut impl FnMut(Oid, Oid),
    ) -> Result<()> {
        let ExpressionKind::Reverse {
            classes,
            slots,
            class,
            attribute,
            index,
            ..
        } = kind
        else {
            return Ok(());
        };
        if let Some(index) = index {
            return self.sources_by_index(*index, classes, targets, see);
        }
        let context = self.run.context;
        let known = context.reverse_use(class, attribute);
        let next = match known {
            ReverseUse::Never => ReverseUse::Scanned,
            ReverseUse::Scanned => match self.reverse_map(classes, slots)? {
                Some(map) => ReverseUse::Mapped(Arc::new(map)),
                None => ReverseUse::TooLarge,
            },
            other => other,
        };
        context.set_reverse_use(class, attribute, next.clone());
        let ReverseUse::Mapped(map) = next else {
            return self.sources_by_scan(classes, slots, targets, see);
        };
        for target in targets {
            map.sources(*target).for_each(|source| see(*target, source));
        }
        Ok(())
    }

    fn sources_by_index(
        &self,
        index: IndexId,
        classes: &[ClassId],
        targets: &[Oid],
        see: &mut impl FnMut(Oid, Oid),
    ) -> Result<()> {
        let mut found = Vec::new();
        for target in targets {
            let range = equal_range(Value::Reference(*target));
            let mut postings = self.run.reader().lookup(index, &range, Direction::Ascending)?;
            self.run.context.check()?;
            loop {
                found.clear();
                postings.next(BATCH, &mut found)?;
                if found.is_empty() {
                    break;
                }
                self.run.context.check()?;
                self.run.context.count_index_entries(found.len());
                for source in &found {
                    if classes.binary_search(&source.class()).is_ok() {
                        see(*target, *source);
                    }
                }
            }
        }
        Ok(())
    }

    fn sources_by_scan(
        &self,
        classes: &[ClassId],
        slots: &Slots,
        targets: &[Oid],
        see: &mut impl FnMut(Oid, Oid),
    ) -> Result<()> {
        let targets: FxHashSet<Oid> = targets.iter().copied().collect();
        self.references_of(classes, slots, &mut |source, target| {
            if targets.contains(&target) {
                see(target, source);
            }
            Ok(())
        })
    }

    /// The whole attribute backwards; `None` where the query's memory does not hold it.
    fn reverse_map(&self, classes: &[ClassId], slots: &Slots) -> Result<Option<ReverseMap>> {
        const STEP: usize = 64 << 10;
        let (mut map, mut held, mut fits) = (ReverseMap::default(), 0_usize, true);
        self.references_of(classes, slots, &mut |source, target| {
            if map.pairs.len() == held && fits {
                fits = self.run.context.try_hold(STEP * size_of::<(Oid, Oid)>());
                held = held.saturating_add(STEP);
            }
            if fits {
                map.pairs.push((target, source));
            }
            Ok(())
        })?;
        if !fits {
            let unheld = held.saturating_sub(STEP);
            self.run
                .context
                .release(unheld.saturating_mul(size_of::<(Oid, Oid)>()));
            return Ok(None);
        }
        map.pairs.sort_unstable();
        map.pairs.dedup();
        Ok(Some(map))
    }

    /// Gives `see` every object of the classes with each object its attribute refers to.
    fn references_of(
        &self,
        classes: &[ClassId],
        slots: &Slots,
        see: &mut impl FnMut(Oid, Oid) -> Result<()>,
    ) -> Result<()> {
        let mut records = Vec::new();
        for class in classes {
            let (Some(slot), Some(layout)) = (slots.slot(*class), self.run.layout(*class)) else {
                continue;
            };
            let mut position = ExtentPosition::default();
            loop {
                records.clear();
                self.run.context.check()?;
                self.run
                    .reader()
                    .scan(*class, &mut position, BATCH, &mut records)?;
                if records.is_empty() {
                    break;
                }
                let bytes = records.iter().map(|record| record.body.len()).sum();
                self.run.context.count_objects(records.len(), bytes);
                for record in &records {
                    let value = codec::read_slot(layout, &record.body, slot)?;
                    if let ValueRef::Reference(target) = value {
                        see(record.oid, target)?;
                    } else if let Some(members) = value.members() {
                        for member in members {
                            if let ValueRef::Reference(target) = member? {
                                see(record.oid, target)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The keys equal to one value.
pub fn equal_range(value: Value) -> IndexRange {
    IndexRange {
        prefix: vec![value],
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    }
}

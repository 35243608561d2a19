//! Reference order: objects that are reached from one another lie next to one another.

use std::ops::ControlFlow;

use rustc_hash::FxHashSet;

use super::compact::{BATCH, Run};
use crate::error::{Error, Result};
use crate::heap::LiveRecord;
use crate::instance::Instance;
use crate::object::codec::read_slot;
use crate::object::{ClassId, Oid, Record, Value};
use crate::read::{ExtentPosition, Reader};
use crate::view::View;

/// Paths to lay objects along, checked against the catalog.
#[derive(Debug)]
pub(super) struct Clusters {
    paths: Vec<Path>,
}

/// A class, and the attributes that lead on from its objects.
#[derive(Debug)]
struct Path {
    /// With its subclasses.
    classes: Vec<ClassId>,
    attributes: Vec<String>,
}

impl Clusters {
    /// The paths of these texts: a class, and attributes behind it.
    ///
    /// # Errors
    /// [`Error::Schema`] where there is no such class, or no attribute behind it.
    pub(super) fn parse(instance: &Instance, texts: &[Vec<String>]) -> Result<Clusters> {
        let view = instance.pipeline().view();
        let paths = texts.iter().map(|steps| path(&view, steps));
        Ok(Clusters {
            paths: paths.collect::<Result<_>>()?,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Moves what lies in the segments of `run` along the paths.
    pub(super) fn walk(&self, run: &mut Run<'_>) -> Result<ControlFlow<()>> {
        for path in &self.paths {
            for class in &path.classes {
                if walk_class(run, path, *class)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn path(view: &View, steps: &[String]) -> Result<Path> {
    let catalog = view.catalog();
    let (name, attributes) = match steps {
        [name, attributes @ ..] if !attributes.is_empty() => (name, attributes),
        _ => {
            let written = steps.join(".");
            return Err(Error::Schema(format!(
                "objects are laid along a class and its attributes, as in Module.parts; {written} has no attribute"
            )));
        }
    };
    let Some(class) = catalog.class(name) else {
        return Err(Error::Schema(format!(
            "there is no class {name} to lay objects along"
        )));
    };
    let first = attributes.first().map_or("", String::as_str);
    let known = |id: &ClassId| {
        let class = catalog.class_by_id(*id);
        class.is_ok_and(|class| class.layout.slot(first).is_some())
    };
    if !class.family.iter().any(known) {
        return Err(Error::Schema(format!(
            "the class {name} has no attribute {first}"
        )));
    }
    Ok(Path {
        classes: class.family.to_vec(),
        attributes: attributes.to_vec(),
    })
}

/// Moves the objects of one class, each followed by what the path reaches from it.
fn walk_class(run: &mut Run<'_>, path: &Path, class: ClassId) -> Result<ControlFlow<()>> {
    let mut position = ExtentPosition::default();
    loop {
        // A view of its own for each batch, so that none holds on to segments for long.
        let view = run.instance.pipeline().view();
        let mut roots: Vec<Record<'_>> = Vec::with_capacity(ROOTS);
        view.scan(class, &mut position, ROOTS, &mut roots)?;
        if roots.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let roots: Vec<Oid> = roots.iter().map(|record| record.oid).collect();
        let mut walk = Walk {
            view: &view,
            path,
            seen: FxHashSet::default(),
            live: Vec::new(),
        };
        for root in roots {
            walk.visit(run, root, 0)?;
            if walk.live.len() >= BATCH {
                walk.seen.clear();
                if run.move_batch(std::mem::take(&mut walk.live))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        let live = walk.live;
        if run.move_batch(live)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// Roots looked at in one view.
const ROOTS: usize = 256;

/// The way along a path from a batch of roots.
struct Walk<'a> {
    view: &'a View,
    path: &'a Path,
    /// What was visited since the last move, and at which step; what was moved is out of the way by itself.
    seen: FxHashSet<(Oid, usize)>,
    live: Vec<LiveRecord>,
}

impl Walk<'_> {
    /// Takes an object, and what the path reaches from it, depth first. The depth is that of the path.
    fn visit(&mut self, run: &Run<'_>, oid: Oid, depth: usize) -> Result<()> {
        if !self.seen.insert((oid, depth)) {
            return Ok(());
        }
        let wanted = |number: u32| run.is_victim(number);
        let first_visit = (0..depth).all(|earlier| !self.seen.contains(&(oid, earlier)));
        if first_visit && let Some(live) = run.instance.heap.live_version(oid, &wanted)? {
            self.live.push(live);
        }
        let Some(attribute) = self.path.attributes.get(depth) else {
            return Ok(());
        };
        for target in self.targets(oid, attribute)? {
            self.visit(run, target, depth.saturating_add(1))?;
        }
        Ok(())
    }

    fn targets(&self, oid: Oid, attribute: &str) -> Result<Vec<Oid>> {
        let mut targets = Vec::new();
        let Some(record) = self.view.object(oid)? else {
            return Ok(targets);
        };
        let class = self.view.catalog().class_by_id(oid.class())?;
        if let Some(slot) = class.layout.slot(attribute) {
            let value = read_slot(&class.layout, &record.body, slot)?.to_value()?;
            collect_references(&value, &mut targets);
        }
        Ok(targets)
    }
}

fn collect_references(value: &Value, targets: &mut Vec<Oid>) {
    match value {
        Value::Reference(oid) => targets.push(*oid),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => {
            members
                .iter()
                .for_each(|member| collect_references(member, targets));
        }
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            collect_references(key, targets);
            collect_references(value, targets);
        }),
        Value::Struct(fields) => fields
            .iter()
            .for_each(|(_, value)| collect_references(value, targets)),
        _ => {}
    }
}

//! The reading traversals T1, T4 and T6 to T10, and the walks that the updating ones share with them.

use std::hint::black_box;

use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::{
    Above, Assembly, AtomicPart, Below, Components, CompositePart, Connection, Documented, Edge, Manual,
    Module, Node, Owned, Root, Text, Used,
};
use crate::Ref;
use crate::bench::measure::Work;
use crate::bench::store::Source;
use crate::error::Result;
use crate::object::{ClassId, Oid};

/// What a traversal starts with.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The modules in order of id.
    pub modules: Vec<Ref<Module>>,
    /// The class of base assemblies, by which an assembly is known to be one.
    pub base_class: ClassId,
}

/// T1: visits every atomic part of every private use of a composite part below the module, depth first.
pub fn traverse<S: Source>(source: &S, entry: &Entry, module: Ref<Module>) -> Result<Work> {
    let mut work = Work::default();
    let mut graph = Walk::default();
    let mut sizes: FxHashMap<Ref<CompositePart>, u64> = FxHashMap::default();
    walk_assemblies(source, entry, module, &mut work, &mut |composite, work| {
        let before = work.count;
        if let Some(root) = source.present(composite.cast::<Root>())?.root_part {
            graph.walk(source, root, work, &mut |part, work| {
                work.count += 1;
                let node = source.present(part.cast::<Node>())?;
                black_box((node.x, node.y));
                Ok(node.to)
            })?;
        }
        sizes.insert(composite, work.count - before);
        Ok(())
    })?;
    work.distinct = Some(sizes.values().sum());
    Ok(work)
}

/// T10: T1 over all modules.
pub fn traverse_all_modules<S: Source>(source: &S, entry: &Entry) -> Result<Work> {
    let mut work = Work::default();
    for module in &entry.modules {
        work.add(traverse(source, entry, *module)?);
    }
    Ok(work)
}

/// T6: T1 that visits root parts only.
pub fn traverse_roots<S: Source>(source: &S, entry: &Entry, module: Ref<Module>) -> Result<Work> {
    let mut work = Work::default();
    let mut composites = FxHashSet::default();
    walk_assemblies(source, entry, module, &mut work, &mut |composite, work| {
        composites.insert(composite);
        if let Some(root) = source.present(composite.cast::<Root>())?.root_part {
            work.count += 1;
            work.objects += 1;
            let node = source.present(root.cast::<Node>())?;
            black_box((node.x, node.y));
        }
        Ok(())
    })?;
    work.distinct = Some(count(composites.len()));
    Ok(work)
}

/// T4: counts `I` in the documents of the composite parts T1 visits.
pub fn count_in_documents<S: Source>(source: &S, entry: &Entry, module: Ref<Module>) -> Result<Work> {
    let mut work = Work::default();
    let mut composites = FxHashSet::default();
    walk_assemblies(source, entry, module, &mut work, &mut |composite, work| {
        composites.insert(composite);
        if let Some(document) = source.present(composite.cast::<Documented>())?.documentation {
            work.objects += 1;
            work.count += letters(&source.present(document.cast::<Text>())?.text);
        }
        Ok(())
    })?;
    work.distinct = Some(count(composites.len()));
    Ok(work)
}

/// T7: the assemblies above an atomic part, up to the root, each once.
pub fn traverse_up<S: Source>(source: &S, part: Ref<AtomicPart>) -> Result<Work> {
    let composite = source.present(part.cast::<Owned>())?.part_of;
    let mut seen: FxHashSet<Oid> = FxHashSet::default();
    for base in source.present(composite.cast::<Used>())?.used_in_private {
        let mut next: Option<Ref<Assembly>> = Some(base.cast());
        while let Some(assembly) = next {
            let first = seen.insert(assembly.oid());
            let above = if first {
                source.present(assembly.cast::<Above>())?.super_assembly
            } else {
                None
            };
            next = above.map(Ref::cast);
        }
    }
    let visited = count(seen.len());
    Ok(Work {
        count: visited,
        distinct: Some(visited),
        objects: visited + 2,
        ..Work::default()
    })
}

/// T8: counts `I` in the module's manual.
pub fn count_in_manual<S: Source>(source: &S, module: Ref<Module>) -> Result<Work> {
    with_manual(source, module, letters)
}

/// T9: 1 if the first and the last character of the manual are the same.
pub fn compare_manual_ends<S: Source>(source: &S, module: Ref<Module>) -> Result<Work> {
    with_manual(source, module, |text| {
        u64::from(text.as_bytes().first() == text.as_bytes().last())
    })
}

/// Decodes every composite part with its atomic parts and their connections, all attributes, following references.
pub fn materialize<S: Source>(source: &S, composites: &[Ref<CompositePart>]) -> Result<Work> {
    let mut work = Work::default();
    for composite in composites {
        let composite = black_box(source.present(*composite)?);
        work.objects += 1;
        for part in &composite.parts {
            let part: AtomicPart = black_box(source.present(*part)?);
            work.objects += 1;
            for connection in &part.to {
                black_box(source.present(*connection)?);
                work.objects += 1;
            }
        }
    }
    work.count = work.objects;
    Ok(work)
}

/// Calls `visit` for every private use of a composite part below a module's root, depth first.
pub fn walk_assemblies<S: Source>(
    source: &S,
    entry: &Entry,
    module: Ref<Module>,
    work: &mut Work,
    visit: &mut impl FnMut(Ref<CompositePart>, &mut Work) -> Result<()>,
) -> Result<()> {
    let root = source.present(module)?.design_root;
    work.objects += 1;
    let mut waiting: Vec<Ref<Assembly>> = root.map(Ref::cast).into_iter().collect();
    while let Some(assembly) = waiting.pop() {
        work.objects += 1;
        if assembly.oid().class() == entry.base_class {
            for part in source.present(assembly.cast::<Components>())?.components_private {
                work.objects += 1;
                visit(part, work)?;
            }
        } else {
            waiting.extend(source.present(assembly.cast::<Below>())?.sub_assemblies);
        }
    }
    Ok(())
}

/// A walk over the atomic parts of one composite part, its sets kept for the next walk.
#[derive(Debug, Default)]
pub struct Walk {
    seen: FxHashSet<Ref<AtomicPart>>,
    waiting: Vec<Ref<AtomicPart>>,
}

impl Walk {
    /// Calls `visit` for each part reachable from `root`, once, depth first; it answers the connections that leave
    /// the part, which are followed.
    pub fn walk<S: Source>(
        &mut self,
        source: &S,
        root: Ref<AtomicPart>,
        work: &mut Work,
        visit: &mut impl FnMut(Ref<AtomicPart>, &mut Work) -> Result<Vec<Ref<Connection>>>,
    ) -> Result<()> {
        self.seen.clear();
        self.waiting.clear();
        self.seen.insert(root);
        self.waiting.push(root);
        while let Some(part) = self.waiting.pop() {
            let connections = visit(part, work)?;
            work.objects += 1 + count(connections.len());
            for connection in connections {
                let to = source.present(connection.cast::<Edge>())?.to;
                if self.seen.insert(to) {
                    self.waiting.push(to);
                }
            }
        }
        Ok(())
    }
}

fn with_manual<S: Source>(source: &S, module: Ref<Module>, read: impl Fn(&str) -> u64) -> Result<Work> {
    let mut work = Work {
        distinct: Some(1),
        objects: 2,
        ..Work::default()
    };
    if let Some(manual) = source.present(module)?.manual {
        work.count = read(&source.present::<Manual>(manual)?.text);
    }
    Ok(work)
}

/// The number of `I` in a text.
fn letters(text: &str) -> u64 {
    count(text.bytes().filter(|byte| *byte == b'I').count())
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

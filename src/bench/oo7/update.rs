//! The traversals that change what they visit (T2, T3, T5, CU) and the structural changes S1 and S2.

use rustc_hash::FxHashSet;

use super::classes::{AtomicPart, BaseAssembly, CompositePart, Documented, Module, Node, Root, Text};
use super::expect::{Change, Extent, toggled};
use super::load::{self, Batch};
use super::traverse::{self, Entry, Walk, walk_assemblies};
use crate::bench::measure::Work;
use crate::bench::store::{Source, references};
use crate::error::Result;
use crate::{Ref, Transaction, params};

/// T2 and T3: T1 with a change at the parts that `extent` names.
pub fn change(
    tx: &mut Transaction,
    entry: &Entry,
    module: Ref<Module>,
    change: Change,
    extent: Extent,
) -> Result<Work> {
    let mut work = Work::default();
    let mut changed = FxHashSet::default();
    let mut uses = Vec::new();
    walk_assemblies(tx, entry, module, &mut work, &mut |composite, _| {
        uses.push(composite);
        Ok(())
    })?;
    let mut walk = Walk::default();
    for composite in uses {
        let Some(root) = tx.present(composite.cast::<Root>())?.root_part else {
            continue;
        };
        let mut parts = Vec::new();
        walk.walk(tx, root, &mut work, &mut |part, _| {
            if extent != Extent::Root || part == root {
                parts.push(part);
            }
            Ok(tx.present(part.cast::<Node>())?.to)
        })?;
        for part in parts {
            changed.insert(part);
            for _ in 0..extent.repetitions() {
                work.count += 1;
                apply(tx, part, change)?;
            }
        }
    }
    work.distinct = Some(u64::try_from(changed.len()).unwrap_or(u64::MAX));
    work.objects = work.count;
    Ok(work)
}

/// CU: T1, and then T2a over what it left in the caches.
pub fn change_warm(tx: &mut Transaction, entry: &Entry, module: Ref<Module>) -> Result<Work> {
    traverse::traverse(tx, entry, module)?;
    change(tx, entry, module, Change::Swap, Extent::Root)
}

fn apply(tx: &mut Transaction, reference: Ref<AtomicPart>, change: Change) -> Result<()> {
    let mut part = tx.present(reference)?;
    match change {
        Change::Swap => std::mem::swap(&mut part.x, &mut part.y),
        Change::Toggle => part.build_date = toggled(part.build_date),
    }
    tx.update(reference, &part)
}

/// T5: replaces `from` by `to` where a document that T1 would visit begins with it.
pub fn replace_in_documents(
    tx: &mut Transaction,
    entry: &Entry,
    module: Ref<Module>,
    from: &str,
    to: &str,
) -> Result<Work> {
    let mut work = Work::default();
    let mut documents = Vec::new();
    walk_assemblies(tx, entry, module, &mut work, &mut |composite, _| {
        documents.extend(tx.present(composite.cast::<Documented>())?.documentation);
        Ok(())
    })?;
    for document in documents {
        let document = document.cast::<Text>();
        let text = tx.present(document)?.text;
        if let Some(rest) = text.strip_prefix(from) {
            tx.update(
                document,
                &Text {
                    text: format!("{to}{rest}"),
                },
            )?;
            work.count += 1;
        }
    }
    work.distinct = Some(work.count);
    work.objects = work.count;
    Ok(work)
}

/// S1: inserts composite parts, and enters each in the base assembly that uses it.
pub fn insert(tx: &mut Transaction, batch: &Batch<'_>, bases: &[Ref<BaseAssembly>]) -> Result<Work> {
    let created = load::insert_composites(tx, batch, bases)?;
    for (composite, model) in created.iter().zip(batch.composites) {
        for base in model.used_private.iter().filter_map(|base| bases.get(*base)) {
            let mut assembly = tx.present(*base)?;
            assembly.components_private.push(*composite);
            tx.update(*base, &assembly)?;
        }
    }
    Ok(whole(batch.objects()))
}

/// S2: deletes the composite parts with an id above `last`, everything they own, and every use of them.
pub fn delete(tx: &mut Transaction, last: i64) -> Result<Work> {
    let text = "select c from CompositePart c where c.id > $last";
    let composites = references::<CompositePart>(tx, text, params! { last: last })?;
    let mut deleted = 0;
    for reference in &composites {
        let composite = tx.present(*reference)?;
        for base in &composite.used_in_private {
            let mut assembly = tx.present(*base)?;
            assembly.components_private.retain(|used| used != reference);
            tx.update(*base, &assembly)?;
        }
        for part in &composite.parts {
            for connection in tx.present(part.cast::<Node>())?.to {
                tx.delete(connection)?;
                deleted += 1;
            }
            tx.delete(*part)?;
            deleted += 1;
        }
        if let Some(document) = composite.documentation {
            tx.delete(document)?;
            deleted += 1;
        }
        tx.delete(*reference)?;
        deleted += 1;
    }
    Ok(whole(deleted))
}

/// The work of creating or deleting `objects` objects.
fn whole(objects: usize) -> Work {
    let objects = u64::try_from(objects).unwrap_or(u64::MAX);
    Work {
        count: objects,
        objects,
        ..Work::default()
    }
}

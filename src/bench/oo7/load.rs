//! Storing the generated design as objects.
//!
//! Assemblies and composite parts refer to one another. So modules and assemblies are created first without
//! components, then composite parts in batches, each a transaction, and last the components are entered.

use super::classes::{
    Assembly, AtomicPart, BaseAssembly, ComplexAssembly, CompositePart, Connection, Document, Manual, Module,
};
use super::model::position_to_id;
use super::model::{
    Atomic, Base, Children, Common, Complex, Composite, Connection as ModelConnection, Design,
};
use crate::bench::measure::Progress;
use crate::error::{Error, Result};
use crate::{Database, Ref, Transaction};

/// About this many objects go into one transaction.
const OBJECTS_PER_TRANSACTION: usize = 20_000;

/// A run of composite parts of the model with what they own.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Position of the first.
    pub first: usize,
    /// The composite parts.
    pub composites: &'a [Composite],
    /// Their atomic parts, all of the first, then all of the second, and so on.
    pub atomics: &'a [Atomic],
    /// The connections that leave those, in the same order.
    pub connections: &'a [ModelConnection],
}

impl<'a> Batch<'a> {
    /// The composite parts of `design` from `first`, at most `length`.
    pub fn of(design: &'a Design, first: usize, length: usize) -> Batch<'a> {
        let last = (first + length).min(design.composites.len());
        let parts = design.scale.atomic_per_composite;
        let atomics = first * parts..last * parts;
        let connections = design.scale.connections_per_atomic;
        Batch {
            first,
            composites: design.composites.get(first..last).unwrap_or_default(),
            atomics: design.atomics.get(atomics.clone()).unwrap_or_default(),
            connections: design
                .connections
                .get(atomics.start * connections..atomics.end * connections)
                .unwrap_or_default(),
        }
    }

    /// All objects of the batch, documents included.
    pub fn objects(&self) -> usize {
        2 * self.composites.len() + self.atomics.len() + self.connections.len()
    }
}

/// References to what was stored, in the order of the model.
#[derive(Debug, Clone, Default)]
struct Assemblies {
    modules: Vec<Ref<Module>>,
    manuals: Vec<Ref<Manual>>,
    complexes: Vec<Ref<ComplexAssembly>>,
    bases: Vec<Ref<BaseAssembly>>,
}

/// Stores the whole design.
pub fn load(database: &Database, design: &Design, progress: &Progress) -> Result<()> {
    let assemblies = database.transact(|tx| create_assemblies(tx, design))?;
    let scale = design.scale;
    let each = 2 + scale.atomic_per_composite * (1 + scale.connections_per_atomic);
    let length = (OBJECTS_PER_TRANSACTION / each).max(1);
    let mut composites = Vec::with_capacity(design.composites.len());
    while composites.len() < design.composites.len() {
        progress.now(format!("oo7 loading composite part {}", composites.len()))?;
        let batch = Batch::of(design, composites.len(), length);
        composites.extend(database.transact(|tx| insert_composites(tx, &batch, &assemblies.bases))?);
    }
    database.transact(|tx| complete_assemblies(tx, design, &assemblies, &composites))
}

/// Stores composite parts with what they own; they know the base assemblies that use them, not the other way round.
pub fn insert_composites(
    tx: &mut Transaction,
    batch: &Batch<'_>,
    bases: &[Ref<BaseAssembly>],
) -> Result<Vec<Ref<CompositePart>>> {
    let parts = batch.atomics.len() / batch.composites.len().max(1);
    let leaving = batch.connections.len() / batch.atomics.len().max(1);
    let atomics = batch.atomics.chunks(parts.max(1));
    let connections = batch.connections.chunks((parts * leaving).max(1));
    let mut created = Vec::with_capacity(batch.composites.len());
    for (at, ((model, atomics), connections)) in
        batch.composites.iter().zip(atomics).zip(connections).enumerate()
    {
        let one = One {
            position: batch.first + at,
            model,
            atomics,
            connections,
        };
        created.push(one.insert(tx, bases)?);
    }
    Ok(created)
}

/// One composite part of the model with what it owns.
struct One<'a> {
    position: usize,
    model: &'a Composite,
    atomics: &'a [Atomic],
    connections: &'a [ModelConnection],
}

impl One<'_> {
    fn insert(&self, tx: &mut Transaction, bases: &[Ref<BaseAssembly>]) -> Result<Ref<CompositePart>> {
        let id = position_to_id(self.position);
        let mut composite = CompositePart {
            id,
            r#type: Design::type_name(self.model.common.kind),
            build_date: self.model.common.date,
            documentation: None,
            used_in_private: pick(bases, &self.model.used_private)?,
            used_in_shared: pick(bases, &self.model.used_shared)?,
            parts: Vec::new(),
            root_part: None,
        };
        let reference = tx.insert(&composite)?;
        composite.documentation = Some(tx.insert(&Document {
            title: Design::document_title(self.position + 1),
            id,
            text: self.model.document.clone(),
            part: reference,
        })?);
        composite.parts = self.insert_graph(tx, reference)?;
        composite.root_part = composite.parts.first().copied();
        tx.update(reference, &composite)?;
        Ok(reference)
    }

    /// Stores the atomic parts, then the connections between them, then enters these in both their parts.
    fn insert_graph(
        &self,
        tx: &mut Transaction,
        part_of: Ref<CompositePart>,
    ) -> Result<Vec<Ref<AtomicPart>>> {
        let first = self.model.root;
        let mut parts: Vec<AtomicPart> = self
            .atomics
            .iter()
            .enumerate()
            .map(|(at, model)| atomic(first + at, model, part_of))
            .collect();
        let references = parts
            .iter()
            .map(|part| tx.insert(part))
            .collect::<Result<Vec<_>>>()?;
        for connection in self.connections {
            let (from, to) = (connection.from - first, connection.to - first);
            let reference = tx.insert(&Connection {
                r#type: Design::type_name(connection.kind),
                length: connection.length,
                from: *at(&references, from)?,
                to: *at(&references, to)?,
            })?;
            if let Some(part) = parts.get_mut(from) {
                part.to.push(reference);
            }
            if let Some(part) = parts.get_mut(to) {
                part.from.push(reference);
            }
        }
        for (reference, part) in references.iter().zip(&parts) {
            tx.update(*reference, part)?;
        }
        Ok(references)
    }
}

fn atomic(position: usize, model: &Atomic, part_of: Ref<CompositePart>) -> AtomicPart {
    AtomicPart {
        id: position_to_id(position),
        r#type: Design::type_name(model.common.kind),
        build_date: model.common.date,
        x: model.x,
        y: model.y,
        document_id: model.document,
        to: Vec::new(),
        from: Vec::new(),
        part_of,
    }
}

/// Stores modules, manuals and assemblies, each with what is above it.
fn create_assemblies(tx: &mut Transaction, design: &Design) -> Result<Assemblies> {
    let mut stored = Assemblies::default();
    for (position, model) in design.modules.iter().enumerate() {
        let id = position_to_id(position);
        let module = tx.insert(&module(id, model.common))?;
        stored.modules.push(module);
        stored.manuals.push(tx.insert(&Manual {
            title: format!("Module {id:08}"),
            id,
            text: model.manual.clone(),
            text_length: i64::try_from(model.manual.len()).unwrap_or(i64::MAX),
            module,
        })?);
    }
    for (position, model) in design.complexes.iter().enumerate() {
        let complex = complex(&stored, position, model)?;
        stored.complexes.push(tx.insert(&complex)?);
    }
    for (position, model) in design.bases.iter().enumerate() {
        let base = base(&stored, position, model)?;
        stored.bases.push(tx.insert(&base)?);
    }
    Ok(stored)
}

/// Enters in modules and assemblies what is below them.
fn complete_assemblies(
    tx: &mut Transaction,
    design: &Design,
    stored: &Assemblies,
    composites: &[Ref<CompositePart>],
) -> Result<()> {
    for (position, (reference, model)) in stored.complexes.iter().zip(&design.complexes).enumerate() {
        let mut complex = complex(stored, position, model)?;
        complex.sub_assemblies = match &model.children {
            Children::Complex(children) => cast(pick(&stored.complexes, children)?),
            Children::Base(children) => cast(pick(&stored.bases, children)?),
        };
        tx.update(*reference, &complex)?;
    }
    for (position, (reference, model)) in stored.bases.iter().zip(&design.bases).enumerate() {
        let mut base = base(stored, position, model)?;
        base.components_private = pick(composites, &model.private)?;
        base.components_shared = pick(composites, &model.shared)?;
        tx.update(*reference, &base)?;
    }
    for (position, (reference, model)) in stored.modules.iter().zip(&design.modules).enumerate() {
        let mut module = module(position_to_id(position), model.common);
        module.manual = stored.manuals.get(position).copied();
        module.design_root = stored.complexes.get(model.root).copied();
        let complexes = design.complexes.iter().zip(&stored.complexes);
        module.assemblies.extend(
            complexes
                .filter(|(model, _)| model.module == position)
                .map(|(_, one)| one.cast()),
        );
        let bases = design.bases.iter().zip(&stored.bases);
        module.assemblies.extend(
            bases
                .filter(|(model, _)| model.module == position)
                .map(|(_, one)| one.cast()),
        );
        tx.update(*reference, &module)?;
    }
    Ok(())
}

fn module(id: i64, common: Common) -> Module {
    Module {
        id,
        r#type: Design::type_name(common.kind),
        build_date: common.date,
        manual: None,
        assemblies: Vec::new(),
        design_root: None,
    }
}

fn complex(stored: &Assemblies, position: usize, model: &Complex) -> Result<ComplexAssembly> {
    Ok(ComplexAssembly {
        id: position_to_id(position),
        r#type: Design::type_name(model.common.kind),
        build_date: model.common.date,
        super_assembly: model
            .parent
            .and_then(|parent| stored.complexes.get(parent))
            .copied(),
        module: *at(&stored.modules, model.module)?,
        sub_assemblies: Vec::new(),
    })
}

fn base(stored: &Assemblies, position: usize, model: &Base) -> Result<BaseAssembly> {
    Ok(BaseAssembly {
        id: position_to_id(position),
        r#type: Design::type_name(model.common.kind),
        build_date: model.common.date,
        super_assembly: stored.complexes.get(model.parent).copied(),
        module: *at(&stored.modules, model.module)?,
        components_private: Vec::new(),
        components_shared: Vec::new(),
    })
}

fn cast<T>(references: Vec<Ref<T>>) -> Vec<Ref<Assembly>> {
    references.into_iter().map(Ref::cast).collect()
}

fn pick<T>(references: &[Ref<T>], positions: &[usize]) -> Result<Vec<Ref<T>>> {
    positions
        .iter()
        .map(|position| at(references, *position).copied())
        .collect()
}

fn at<T>(stored: &[T], position: usize) -> Result<&T> {
    stored.get(position).ok_or_else(|| {
        Error::NotFound(format!(
            "the design refers to position {position}, where nothing was stored"
        ))
    })
}

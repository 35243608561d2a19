//! The operations of OO7, on the database and on the model.

use super::classes::{self, AtomicPart, BaseAssembly, CompositePart, Document, Module, Placed};
use super::expect::{Change, Extent, Outcome, Q2_DATE, Q3_DATE, State};
use super::load::{self, Batch};
use super::model::{Atomic, Composite, Connection, Design, INSERTED, position_to_id};
use super::scale::Scale;
use super::traverse::{self, Entry};
use super::{expect, query, update};
use crate::bench::measure::{Circuit, Expected, Kind, Progress, Work};
use crate::bench::store::{self, Counting, Source, Store, count_of};
use crate::error::{Error, Result};
use crate::object::Oid;
use crate::{Ref, params};

/// One operation of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Records by OID in random order.
    Read,
    /// Whole composite parts as typed objects.
    Materialize,
    /// Traversal 1.
    T1,
    /// Traversals 2 and 3, variants a, b, c.
    Change(Change, Extent),
    /// Traversal 4.
    T4,
    /// Traversal 5, do.
    T5Do,
    /// Traversal 5, undo.
    T5Undo,
    /// Traversal 6.
    T6,
    /// Traversal 7.
    T7,
    /// Traversal 8.
    T8,
    /// Traversal 9.
    T9,
    /// Traversal 10.
    T10,
    /// Cached update.
    Cu,
    /// Query 1.
    Q1,
    /// Query 2.
    Q2,
    /// Query 3.
    Q3,
    /// Query 4.
    Q4,
    /// Query 4 with the ten titles of one of the ports.
    Q4Ten,
    /// Query 5.
    Q5,
    /// Query 6.
    Q6,
    /// Query 7.
    Q7,
    /// Query 8.
    Q8,
    /// Structural modification 1.
    S1,
    /// Structural modification 2.
    S2,
}

/// What S1 adds, kept apart from the model, which adds it in its own time.
#[derive(Debug)]
struct Added {
    first: usize,
    composites: Vec<Composite>,
    atomics: Vec<Atomic>,
    connections: Vec<Connection>,
}

/// The circuit on one database.
#[derive(Debug)]
pub struct Oo7 {
    store: Store,
    design: Design,
    added: Added,
    entry: Entry,
    bases: Vec<Ref<BaseAssembly>>,
    composites: Vec<Ref<CompositePart>>,
    random_part: Option<Ref<AtomicPart>>,
    shuffled: Vec<Oid>,
}

impl Oo7 {
    /// Generates the design, and stores it.
    pub fn load(mut store: Store, scale: Scale, seed: u32, progress: &Progress) -> Result<Oo7> {
        progress.now("oo7 generating")?;
        let mut design = Design::generate(scale, seed);
        let added = Added::by(&mut design);
        classes::define(store.database()?)?;
        load::load(store.database()?, &design, progress)?;
        store.reopen()?;
        let snapshot = store.database()?.snapshot();
        let modules = store::references::<Module>(&snapshot, "select m from Module m order by m.id", ())?;
        let bases =
            store::references::<BaseAssembly>(&snapshot, "select b from BaseAssembly b order by b.id", ())?;
        let composites =
            store::references::<CompositePart>(&snapshot, "select c from CompositePart c order by c.id", ())?;
        let shuffled = store::shuffled(
            &snapshot,
            &["AtomicPart", "Connection", "CompositePart", "Document"],
            seed,
        )?;
        let text = "select p from AtomicPart p where p.id = $id";
        let random_part = store::references(&snapshot, text, params! { id: design.random_part() })?
            .first()
            .copied();
        let base_class = bases.first().map(|base| base.oid().class());
        let base_class = base_class.ok_or_else(|| Error::NotFound("no base assembly was stored".into()))?;
        drop(snapshot);
        Ok(Oo7 {
            store,
            design,
            added,
            entry: Entry { modules, base_class },
            bases,
            composites,
            random_part,
            shuffled,
        })
    }

    /// All objects loaded.
    pub fn objects(&self) -> u64 {
        u64::try_from(self.design.objects()).unwrap_or(u64::MAX)
    }

    /// Bytes on the disk.
    pub fn disk(&self) -> u64 {
        self.store.disk()
    }

    fn module(&self) -> Result<Ref<Module>> {
        let module = self.entry.modules.first().copied();
        module.ok_or_else(|| Error::NotFound("no module was stored".into()))
    }

    fn read<S: Source>(&self, source: &S, operation: Operation) -> Result<Work> {
        let (entry, module) = (&self.entry, self.module()?);
        match operation {
            Operation::Read => source.records(&self.shuffled),
            Operation::Materialize => traverse::materialize(source, &self.composites),
            Operation::T1 => traverse::traverse(source, entry, module),
            Operation::T4 => traverse::count_in_documents(source, entry, module),
            Operation::T6 => traverse::traverse_roots(source, entry, module),
            Operation::T7 => match self.random_part {
                Some(part) => traverse::traverse_up(source, part),
                None => Ok(Work::default()),
            },
            Operation::T8 => traverse::count_in_manual(source, module),
            Operation::T9 => traverse::compare_manual_ends(source, module),
            Operation::T10 => traverse::traverse_all_modules(source, entry),
            Operation::Q1 => query::by_id(source, &self.design.random_part_ids()),
            Operation::Q2 => query::by_date(source, Q2_DATE),
            Operation::Q3 => query::by_date(source, Q3_DATE),
            Operation::Q4 => query::by_title(source, &self.design.random_document_ids()),
            Operation::Q4Ten => query::by_title(
                source,
                self.design.random_document_ids().get(..10).unwrap_or_default(),
            ),
            Operation::Q5 => query::younger(source),
            Operation::Q6 => query::younger_below(source, self.design.scale.levels),
            Operation::Q7 => query::all(source),
            _ => query::join(source),
        }
    }

    fn write(&self, operation: Operation) -> Result<Work> {
        let module = self.module()?;
        let entry = &self.entry;
        self.store.database()?.transact(|tx| match operation {
            Operation::Change(change, extent) => update::change(tx, entry, module, change, extent),
            Operation::T5Do => update::replace_in_documents(tx, entry, module, "I am", "This is"),
            Operation::T5Undo => update::replace_in_documents(tx, entry, module, "This is", "I am"),
            Operation::Cu => update::change_warm(tx, entry, module),
            Operation::S1 => update::insert(tx, &self.added.batch(), &self.bases),
            _ => update::delete(tx, position_to_id(self.design.scale.composites()) - 1),
        })
    }

    /// The sums over the database that the model's are compared with.
    fn state(&self) -> Result<State> {
        let snapshot = self.store.database()?.snapshot();
        let mut state = State::default();
        for part in snapshot.extent::<Placed>()? {
            let (_, part) = part?;
            state.add(part.id, part.x, part.y, part.build_date);
        }
        for document in snapshot.extent::<Document>()? {
            state.text += length(document?.1.text.len());
        }
        for base in snapshot.extent::<BaseAssembly>()? {
            let (_, base) = base?;
            state.uses += length(base.components_private.len() + base.components_shared.len());
        }
        for composite in snapshot.extent::<CompositePart>()? {
            let (_, composite) = composite?;
            state.uses_back += length(composite.used_in_private.len() + composite.used_in_shared.len());
        }
        for class in [
            "Module",
            "Manual",
            "ComplexAssembly",
            "BaseAssembly",
            "CompositePart",
            "Document",
        ] {
            state.objects += count_of(&snapshot, class)?;
        }
        state.objects += count_of(&snapshot, "AtomicPart")? + count_of(&snapshot, "Connection")?;
        Ok(state)
    }
}

impl Circuit for Oo7 {
    type Operation = Operation;

    fn groups(&self) -> Vec<Vec<Operation>> {
        use Operation::{Change as C, *};
        let mut operations = vec![Read, Materialize, T1];
        if self.design.scale.modules > 1 {
            operations.push(T10);
        }
        operations.extend([T4, T6, T7, T8, T9]);
        operations.extend([Q1, Q2, Q3, Q4, Q4Ten, Q5, Q6, Q7, Q8]);
        // What changes the data comes after all that reads it: published counts are those of the data as generated.
        for change in [expect::Change::Swap, expect::Change::Toggle] {
            operations
                .extend([Extent::Root, Extent::All, Extent::AllRepeated].map(|extent| C(change, extent)));
        }
        operations.push(Cu);
        let mut groups: Vec<Vec<Operation>> = operations.into_iter().map(|one| vec![one]).collect();
        groups.extend([vec![T5Do, T5Undo], vec![S1, S2]]);
        groups
    }

    fn name(&self, operation: Operation) -> &'static str {
        match operation {
            Operation::Read => "records by oid",
            Operation::Materialize => "whole parts",
            Operation::T1 => "T1",
            Operation::Change(Change::Swap, Extent::Root) => "T2a",
            Operation::Change(Change::Swap, Extent::All) => "T2b",
            Operation::Change(Change::Swap, Extent::AllRepeated) => "T2c",
            Operation::Change(Change::Toggle, Extent::Root) => "T3a",
            Operation::Change(Change::Toggle, Extent::All) => "T3b",
            Operation::Change(Change::Toggle, Extent::AllRepeated) => "T3c",
            Operation::T4 => "T4",
            Operation::T5Do => "T5 do",
            Operation::T5Undo => "T5 undo",
            Operation::T6 => "T6",
            Operation::T7 => "T7",
            Operation::T8 => "T8",
            Operation::T9 => "T9",
            Operation::T10 => "T10",
            Operation::Cu => "CU",
            Operation::Q1 => "Q1",
            Operation::Q2 => "Q2",
            Operation::Q3 => "Q3",
            Operation::Q4 => "Q4",
            Operation::Q4Ten => "Q4, 10 titles",
            Operation::Q5 => "Q5",
            Operation::Q6 => "Q6",
            Operation::Q7 => "Q7",
            Operation::Q8 => "Q8",
            Operation::S1 => "S1",
            Operation::S2 => "S2",
        }
    }

    fn kind(&self, operation: Operation) -> Kind {
        use Operation::*;
        match operation {
            Materialize => Kind::Materialize,
            Change(..) | T5Do | T5Undo | Cu | S1 | S2 => Kind::Write,
            Q1 | Q2 | Q3 | Q4 | Q4Ten | Q5 | Q6 | Q7 | Q8 => Kind::Query,
            Read | T1 | T4 | T6 | T7 | T8 | T9 | T10 => Kind::Read,
        }
    }

    fn reopen(&mut self) -> Result<()> {
        self.store.reopen()
    }

    fn run(&mut self, operation: Operation, _: u32) -> Result<Work> {
        match self.kind(operation) {
            Kind::Write => self.write(operation),
            _ => self.read(&self.store.database()?.snapshot(), operation),
        }
    }

    fn expect(&mut self, operation: Operation, _: u32) -> Expected {
        let design = &mut self.design;
        let outcome = match operation {
            Operation::Read => return all_of(self.shuffled.len()),
            Operation::Materialize => {
                let objects = design.composites.len() + design.atomics.len() + design.connections.len();
                return all_of(objects);
            }
            Operation::T1 => design.traverse(),
            Operation::Change(change, extent) => design.change(change, extent),
            Operation::T4 => design.count_in_documents(),
            Operation::T5Do => design.replace_in_documents("I am", "This is"),
            Operation::T5Undo => design.replace_in_documents("This is", "I am"),
            Operation::T6 => design.traverse_roots(),
            Operation::T7 => design.traverse_up(),
            Operation::T8 => design.count_in_manual(),
            Operation::T9 => design.compare_manual_ends(),
            Operation::T10 => design.traverse_all_modules(),
            Operation::Cu => design.change(Change::Swap, Extent::Root),
            Operation::Q1 => design.query_ids(),
            Operation::Q2 => design.query_dates(Q2_DATE),
            Operation::Q3 => design.query_dates(Q3_DATE),
            Operation::Q4 => design.query_titles(&design.random_document_ids()),
            Operation::Q4Ten => {
                design.query_titles(design.random_document_ids().get(..10).unwrap_or_default())
            }
            Operation::Q5 => design.query_younger(),
            Operation::Q6 => design.query_younger_below(),
            Operation::Q7 => {
                let check = Some(design.state().sum_x.cast_unsigned());
                return Expected {
                    check,
                    ..all_of(design.atomics.len())
                };
            }
            Operation::Q8 => design.query_join(),
            Operation::S1 => return all_of(design.insert()),
            Operation::S2 => return all_of(design.delete()),
        };
        expected(outcome)
    }

    fn compare_state(&mut self) -> Result<Option<String>> {
        let (found, wanted) = (self.state()?, self.design.state());
        Ok((found != wanted).then(|| format!("the database holds {found:?}, the model {wanted:?}")))
    }

    fn prepare(&mut self, _: Operation, _: u32) {}

    fn count_bytes(&mut self, operation: Operation, _: u32) -> Result<u64> {
        let counting = Counting::new(self.store.database()?.snapshot());
        self.read(&counting, operation)?;
        Ok(counting.bytes())
    }
}

impl Added {
    /// What S1 adds to `design`, which is left as it was.
    fn by(design: &mut Design) -> Added {
        let first = design.composites.len();
        design.insert();
        let batch = Batch::of(design, first, INSERTED);
        let added = Added {
            first,
            composites: batch.composites.to_vec(),
            atomics: batch.atomics.to_vec(),
            connections: batch.connections.to_vec(),
        };
        design.delete();
        added
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            first: self.first,
            composites: &self.composites,
            atomics: &self.atomics,
            connections: &self.connections,
        }
    }
}

fn expected(outcome: Outcome) -> Expected {
    Expected {
        count: outcome.count,
        distinct: Some(outcome.distinct),
        check: None,
    }
}

fn all_of(objects: usize) -> Expected {
    Expected {
        count: length(objects),
        ..Expected::default()
    }
}

fn length(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Durability;

    /// The counts that no formula gives, at seed 1; the traversals are run at the smallest scale by the test of the
    /// command.
    #[test]
    fn tiny_in_the_database_gives_the_published_counts() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("oo7.olv"), Durability::Buffer).unwrap();
        let scale = Scale::parse("tiny").unwrap();
        let mut circuit = Oo7::load(store, scale, 1, &Progress::new()).unwrap();
        let published = [
            (Operation::T5Do, 50),
            (Operation::T5Undo, 50),
            (Operation::T7, 152),
            (Operation::T8, 27),
            (Operation::T9, 0),
            (Operation::Q1, 10),
            (Operation::Q2, 7),
            (Operation::Q3, 109),
            (Operation::Q4, 4_410),
            (Operation::Q4Ten, 445),
            (Operation::Q5, 233),
            (Operation::Q6, 490),
            (Operation::Q7, 1_000),
            (Operation::Q8, 1_000),
            (Operation::S1, 820),
            (Operation::S2, 820),
        ];
        for (operation, count) in published {
            let work = circuit.run(operation, 0).unwrap();
            assert_eq!(work.count, count, "{operation:?}");
            assert_eq!(work.count, circuit.expect(operation, 0).count, "{operation:?}");
        }
        assert_eq!(circuit.compare_state().unwrap(), None);
    }
}

//! The queries Q1 to Q8 as OQL.

use rustc_hash::FxHashSet;

use super::model::Design;
use crate::bench::measure::Work;
use crate::bench::store::{Source, ask};
use crate::error::Result;
use crate::object::Value;
use crate::params;

/// Q1: atomic parts by random id.
pub fn by_id<S: Source>(source: &S, ids: &[i64]) -> Result<Work> {
    let mut found = Found::default();
    for id in ids {
        let text = "select p from AtomicPart p where p.id = $id";
        ask(source, text, params! { id: *id }, |row| found.add(row))?;
        found.queries += 1;
    }
    Ok(found.work())
}

/// Q2 and Q3: atomic parts not older than a date.
pub fn by_date<S: Source>(source: &S, date: i64) -> Result<Work> {
    let mut found = Found::default();
    let text = "select p from AtomicPart p where p.build_date >= $date";
    ask(source, text, params! { date: date }, |row| found.add(row))?;
    found.queries += 1;
    Ok(found.work())
}

/// Q4: base assemblies that use the composite parts of documents found by title.
pub fn by_title<S: Source>(source: &S, documents: &[usize]) -> Result<Work> {
    let mut found = Found::default();
    for id in documents {
        let text = "select b from Document d, b in d.part.used_in_private where d.title = $title";
        let title = Design::document_title(*id);
        ask(source, text, params! { title: title }, |row| found.add(row))?;
        found.queries += 1;
    }
    Ok(found.work())
}

/// Q5: base assemblies with a younger composite part, once for each such use.
pub fn younger<S: Source>(source: &S) -> Result<Work> {
    let mut found = Found::default();
    let text = "select b from BaseAssembly b, c in b.components_private where c.build_date > b.build_date";
    ask(source, text, (), |row| found.add(row))?;
    found.queries += 1;
    Ok(found.work())
}

/// Q6: assemblies, base or complex, with a younger composite part at or below them: one query for each level of the
/// tree, from the base assemblies up.
pub fn younger_below<S: Source>(source: &S, levels: usize) -> Result<Work> {
    let mut found = Found::default();
    let mut assembly = String::from("b");
    for _ in 0..levels {
        let text = format!(
            "select distinct {assembly} from BaseAssembly b, c in b.components_private \
             where c.build_date > {assembly}.build_date"
        );
        ask(source, &text, (), |row| found.add(row))?;
        found.queries += 1;
        assembly.push_str(".super_assembly");
    }
    Ok(found.work())
}

/// Q7: all atomic parts, with what the original hands to an empty procedure.
pub fn all<S: Source>(source: &S) -> Result<Work> {
    let mut sum = 0_i64;
    let text = "select p.x as x, p.y as y, p.type as type from AtomicPart p";
    let rows = ask(source, text, (), |row| {
        if let Some(Value::Int(x)) = row.first() {
            sum = sum.wrapping_add(*x);
        }
    })?;
    Ok(Work {
        count: rows,
        check: Some(sum.cast_unsigned()),
        queries: 1,
        rows,
        ..Work::default()
    })
}

/// Q8: pairs of an atomic part and the document whose id it holds.
pub fn join<S: Source>(source: &S) -> Result<Work> {
    let text = "select d as document, p as part from Document d, AtomicPart p where d.id = p.document_id";
    let rows = ask(source, text, (), |_| ())?;
    Ok(Work {
        count: rows,
        queries: 1,
        rows,
        ..Work::default()
    })
}

/// Objects found by queries.
#[derive(Debug, Default)]
struct Found {
    queries: u64,
    rows: u64,
    objects: FxHashSet<u64>,
}

impl Found {
    fn add(&mut self, row: &[Value]) {
        self.rows += 1;
        if let Some(Value::Reference(oid)) = row.first() {
            self.objects.insert(oid.to_bits());
        }
    }

    fn work(&self) -> Work {
        Work {
            count: self.rows,
            distinct: u64::try_from(self.objects.len()).ok(),
            queries: self.queries,
            rows: self.rows,
            ..Work::default()
        }
    }
}

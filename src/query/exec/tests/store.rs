//! A store in memory, for tests: bodies by class and serial, indexes by looking at every object.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::catalog::{Catalog, ClassDefinition, IndexDefinition, IndexId, SchemaChange, SystemClass};
use crate::error::Result;
use crate::object::{ClassId, CommitNumber, Oid, Record, Type, Value, codec};
use crate::query::exec::{Options, Row, Rows, execute};
use crate::query::plan::{Change, Column, ColumnId, Output, Plan, Query, ResultKind, Statement};
use crate::read::{Direction, ExtentPosition, IndexRange, Postings, Reader};

pub struct Store {
    pub catalog: Arc<Catalog>,
    pub objects: BTreeMap<ClassId, Vec<Option<Vec<u8>>>>,
    next: u64,
}

impl Store {
    pub fn new() -> Store {
        Store {
            catalog: Arc::new(Catalog::empty().unwrap()),
            objects: BTreeMap::new(),
            next: 0,
        }
    }

    fn change(&mut self, changes: &[SchemaChange]) {
        let writes = changes.iter().map(|change| match change {
            SchemaChange::Create(oid, body) | SchemaChange::Update(oid, body) => {
                (*oid, Some(body.as_slice()))
            }
            SchemaChange::Delete(oid) => (*oid, None),
        });
        self.catalog = Arc::new(self.catalog.after(CommitNumber(1), writes).unwrap());
    }

    pub fn define(&mut self, definition: ClassDefinition) -> ClassId {
        let mut next = self.next;
        let changes = self.catalog.create_class(&definition, &mut |class: SystemClass| {
            next += 1;
            Ok(Oid::new(class.id(), next).unwrap())
        });
        self.next = next;
        self.change(&changes.unwrap());
        let class = self.catalog.class(&definition.name).unwrap().id;
        self.objects.insert(class, vec![None]);
        class
    }

    pub fn index(&mut self, class: &str, path: &str) -> IndexId {
        let mut next = self.next;
        let class = Arc::clone(self.catalog.class(class).unwrap());
        let definition = IndexDefinition::on(path);
        let changes = self
            .catalog
            .create_index(&class, &definition, &|_| true, &mut |class: SystemClass| {
                next += 1;
                Ok(Oid::new(class.id(), next).unwrap())
            });
        self.next = next;
        self.change(&changes.unwrap());
        self.catalog.index(&definition.name_on(&class.name)).unwrap().id
    }

    pub fn insert(&mut self, class: ClassId, values: &[Value]) -> Oid {
        let body = codec::encode_body(&self.catalog.classes[&class].layout, values).unwrap();
        let bodies = self.objects.get_mut(&class).unwrap();
        bodies.push(Some(body));
        Oid::new(class, bodies.len() as u64 - 1).unwrap()
    }

    fn record(&self, oid: Oid) -> Option<Record<'_>> {
        let body = self
            .objects
            .get(&oid.class())?
            .get(oid.serial() as usize)?
            .as_ref()?;
        Some(Record {
            oid,
            commit: CommitNumber(1),
            body: body.as_slice().into(),
        })
    }
}

struct Found {
    oids: std::vec::IntoIter<Oid>,
}

impl Postings for Found {
    fn next(&mut self, limit: usize, oids: &mut Vec<Oid>) -> Result<()> {
        oids.extend(self.oids.by_ref().take(limit));
        Ok(())
    }
}

fn within(value: &Value, range: &IndexRange) -> bool {
    let above = match &range.lower {
        Bound::Unbounded => true,
        Bound::Included(bound) => value >= bound,
        Bound::Excluded(bound) => value > bound,
    };
    above
        && match &range.upper {
            Bound::Unbounded => true,
            Bound::Included(bound) => value <= bound,
            Bound::Excluded(bound) => value < bound,
        }
}

impl Reader for Store {
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    fn commit(&self) -> CommitNumber {
        CommitNumber(1)
    }

    fn object(&self, oid: Oid) -> Result<Option<Record<'_>>> {
        Ok(self.record(oid))
    }

    fn gather<'a>(&'a self, oids: &[Oid], records: &mut Vec<Option<Record<'a>>>) -> Result<()> {
        records.extend(oids.iter().map(|oid| self.record(*oid)));
        Ok(())
    }

    fn scan<'a>(
        &'a self,
        class: ClassId,
        position: &mut ExtentPosition,
        limit: usize,
        records: &mut Vec<Record<'a>>,
    ) -> Result<()> {
        let bodies = self.objects.get(&class).map_or(&[][..], Vec::as_slice);
        let mut serial = position.next_serial.max(1);
        let full = records.len() + limit;
        while records.len() < full && (serial as usize) < bodies.len() {
            records.extend(self.record(Oid::new(class, serial).unwrap()));
            serial += 1;
        }
        position.next_serial = serial;
        Ok(())
    }

    fn extent_estimate(&self, class: ClassId) -> u64 {
        self.objects
            .get(&class)
            .map_or(0, |bodies| bodies.len() as u64 - 1)
    }

    fn lookup(
        &self,
        index: IndexId,
        range: &IndexRange,
        direction: Direction,
    ) -> Result<Box<dyn Postings + '_>> {
        let index = &self.catalog.indexes[&index];
        let mut keys: Vec<(Value, Oid)> = Vec::new();
        for class in &self.catalog.classes[&index.class].family {
            let layout = &self.catalog.classes[class].layout;
            let slot = layout.slot(&index.components[0].path[0]).unwrap();
            for (serial, body) in self.objects[class].iter().enumerate() {
                let Some(body) = body else { continue };
                let value = codec::read_slot(layout, body, slot)?.to_value()?;
                let oid = Oid::new(*class, serial as u64).unwrap();
                match value.as_members() {
                    Some(members) => keys.extend(members.iter().map(|member| (member.clone(), oid))),
                    None => keys.push((value, oid)),
                }
            }
        }
        keys.retain(|(value, _)| match range.prefix.first() {
            Some(wanted) => value == wanted,
            None => within(value, range),
        });
        keys.sort();
        if direction == Direction::Descending {
            keys.reverse();
        }
        let oids: Vec<Oid> = keys.into_iter().map(|(_, oid)| oid).collect();
        Ok(Box::new(Found {
            oids: oids.into_iter(),
        }))
    }
}

/// The classes of a company.
struct Company {
    site: ClassId,
    dept: ClassId,
    person: ClassId,
    employee: ClassId,
}

fn define_company(store: &mut Store) -> Company {
    Company {
        site: store.define(ClassDefinition::new("Site").attribute("city", Type::String)),
        dept: store.define(
            ClassDefinition::new("Dept")
                .attribute("name", Type::String)
                .attribute("site", Type::reference("Site")),
        ),
        person: store.define(
            ClassDefinition::new("Person")
                .attribute("name", Type::String)
                .attribute("age", Type::Int)
                .attribute("score", Type::Float)
                .attribute("dept", Type::reference("Dept"))
                .attribute("tags", Type::list(Type::String))
                .attribute("active", Type::Bool)
                .attribute("extra", Type::Any)
                .attribute("boss", Type::reference("Person")),
        ),
        employee: store.define(
            ClassDefinition::new("Employee")
                .extends("Person")
                .attribute("salary", Type::Int),
        ),
    }
}

/// Classes Site, Dept, Person and Employee (a Person), with people that have nils, a NaN, and dangling references.
pub fn company(people: usize) -> Store {
    let mut store = Store::new();
    let classes = define_company(&mut store);
    let sites: Vec<Oid> = (0..5)
        .map(|number| store.insert(classes.site, &[Value::from(format!("city{number}"))]))
        .collect();
    let depts: Vec<Oid> = (0..20)
        .map(|number| {
            let name = Value::from(format!("dept{number}"));
            store.insert(classes.dept, &[name, Value::Reference(sites[number % 5])])
        })
        .collect();
    let gone = Oid::new(classes.dept, 999).unwrap();
    let mut boss: Option<Oid> = None;
    for number in 0..people {
        let dept = if number % 23 == 0 {
            gone
        } else {
            depts[number % 20]
        };
        let mut values = values_of_person(number, dept);
        values.push(boss.map_or(Value::Nil, Value::Reference));
        let mut class = classes.person;
        if number % 3 == 0 {
            class = classes.employee;
            values.push(Value::Int(number as i64 * 10));
        }
        let oid = store.insert(class, &values);
        if number % 10 == 0 {
            boss = Some(oid);
        }
    }
    store
}

/// The attributes of a person, without its boss.
fn values_of_person(number: usize, dept: Oid) -> Vec<Value> {
    let at = number as i64;
    let nil_or = |every: usize, value: Value| {
        if number.is_multiple_of(every) {
            Value::Nil
        } else {
            value
        }
    };
    let score = if number.is_multiple_of(19) {
        f64::NAN
    } else {
        at as f64 / 8.0
    };
    let extra = match number % 4 {
        0 => Value::Int(at % 10),
        1 => Value::from("text"),
        2 => Value::Float(0.5),
        _ => Value::Nil,
    };
    vec![
        nil_or(11, Value::from(format!("name{}", number % 97))),
        nil_or(13, Value::Int(at * 7919 % 100)),
        nil_or(17, Value::Float(score)),
        nil_or(7, Value::Reference(dept)),
        nil_or(5, Value::list((0..number % 4).map(|tag| format!("tag{tag}")))),
        nil_or(3, Value::Bool(number.is_multiple_of(2))),
        extra,
    ]
}

pub fn column(id: u32, name: &str, r#type: Type) -> Column {
    Column {
        id: ColumnId(id),
        name: name.into(),
        r#type,
    }
}

/// The column of people, which most tests range over.
pub fn person() -> Column {
    column(0, "p", Type::reference("Person"))
}

pub fn extent(store: &Store, class: &str, column: Column) -> Box<Plan> {
    Box::new(Plan::Extent {
        column,
        class: class.into(),
        classes: store.catalog.class(class).unwrap().family.clone(),
        estimate: None,
    })
}

pub fn people(store: &Store) -> Box<Plan> {
    extent(store, "Person", person())
}

pub fn statement(plan: Plan) -> Statement {
    let outputs = plan.columns().into_iter().map(|column| Output {
        label: column.name.clone(),
        column,
    });
    Statement {
        change: Change::Query(Query {
            outputs: outputs.collect(),
            plan,
            bare: false,
            kind: ResultKind::List,
        }),
        explain: false,
        parameters: Vec::new(),
        columns: 100,
    }
}

pub fn start(store: &Arc<Store>, plan: Plan, options: Options) -> Rows {
    let reader: Arc<dyn Reader> = store.clone();
    execute(Arc::new(statement(plan)), reader, Vec::new(), options).unwrap()
}

/// The values of all rows.
pub fn run(store: &Arc<Store>, plan: Plan) -> Vec<Vec<Value>> {
    let rows: Result<Vec<Row>> = start(store, plan, Options::default()).collect();
    rows.unwrap().into_iter().map(Row::into_values).collect()
}

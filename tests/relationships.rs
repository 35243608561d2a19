//! Inverses kept in step, and what a delete does to those that refer to the object.

use std::collections::BTreeSet;

use olivine::{Database, Error, OnDelete, Ref, Session};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Author {
    name: String,
    #[serde(default)]
    books: Vec<Ref<Book>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Book {
    title: String,
    author: Option<Ref<Author>>,
    #[serde(default)]
    readers: BTreeSet<Ref<Reader>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Reader {
    name: String,
    spouse: Option<Ref<Reader>>,
    #[serde(default)]
    read: BTreeSet<Ref<Book>>,
}

fn author(name: &str) -> Author {
    Author {
        name: name.into(),
        books: vec![],
    }
}

fn book(title: &str, author: Option<Ref<Author>>) -> Book {
    Book {
        title: title.into(),
        author,
        readers: BTreeSet::new(),
    }
}

fn reader(name: &str) -> Reader {
    Reader {
        name: name.into(),
        spouse: None,
        read: BTreeSet::new(),
    }
}

fn library() -> Database {
    let db = Database::in_memory().unwrap();
    db.define_all::<(Author, Book, Reader)>().unwrap();
    let books = db.define::<Book>().unwrap();
    books
        .inverse("author", "books")
        .unwrap()
        .inverse("readers", "read")
        .unwrap();
    db.define::<Reader>()
        .unwrap()
        .inverse("spouse", "spouse")
        .unwrap();
    db
}

#[test]
fn one_to_many_is_kept_from_both_sides_and_in_order() {
    let db = library();
    db.transact(|tx| {
        let (lem, dick) = (tx.insert(&author("Lem"))?, tx.insert(&author("Dick"))?);
        let books = |tx: &olivine::Transaction, author: Ref<Author>| -> olivine::Result<Vec<Ref<Book>>> {
            Ok(tx.get(author)?.unwrap().books)
        };
        let solaris = tx.insert(&book("Solaris", Some(lem)))?;
        let ubik = tx.insert(&book("Ubik", Some(lem)))?;
        assert_eq!(books(tx, lem)?, [solaris, ubik]);
        tx.update_with(ubik, |book| book.author = Some(dick))?;
        assert_eq!((books(tx, lem)?, books(tx, dick)?), (vec![solaris], vec![ubik]));
        tx.update_with(dick, |dick| dick.books = vec![solaris, ubik])?;
        assert_eq!(tx.get(solaris)?.unwrap().author, Some(dick));
        assert!(books(tx, lem)?.is_empty());
        tx.update_with(dick, |dick| dick.books.clear())?;
        assert_eq!(tx.get(ubik)?.unwrap().author, None);
        let both = tx.insert(&Author {
            books: vec![ubik, solaris],
            ..author("Both")
        })?;
        assert_eq!(tx.get(ubik)?.unwrap().author, Some(both));
        tx.delete(ubik)?;
        assert_eq!(books(tx, both)?, [solaris]);
        tx.delete(both)?;
        assert_eq!(tx.get(solaris)?.unwrap().author, None);
        Ok(())
    })
    .unwrap();
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn one_to_one_and_many_to_many_are_kept() {
    let db = library();
    db.transact(|tx| {
        let (ann, bob, cid) = (
            tx.insert(&reader("Ann"))?,
            tx.insert(&reader("Bob"))?,
            tx.insert(&reader("Cid"))?,
        );
        tx.update_with(ann, |ann| ann.spouse = Some(bob))?;
        assert_eq!(tx.get(bob)?.unwrap().spouse, Some(ann));
        tx.update_with(cid, |cid| cid.spouse = Some(bob))?;
        assert_eq!(tx.get(bob)?.unwrap().spouse, Some(cid));
        assert_eq!(tx.get(ann)?.unwrap().spouse, None);
        // Married to oneself, and not any more.
        tx.update_with(ann, |own| own.spouse = Some(ann))?;
        assert_eq!(tx.get(ann)?.unwrap().spouse, Some(ann));
        tx.update_with(ann, |own| own.spouse = Some(cid))?;
        assert_eq!(
            (tx.get(cid)?.unwrap().spouse, tx.get(bob)?.unwrap().spouse),
            (Some(ann), None)
        );
        let solaris = tx.insert(&Book {
            readers: [ann, bob].into(),
            ..book("Solaris", None)
        })?;
        let eden = tx.insert(&book("Eden", None))?;
        tx.update_with(bob, |bob| bob.read.insert(eden))?;
        assert_eq!(tx.get(bob)?.unwrap().read, [solaris, eden].into());
        assert_eq!(tx.get(eden)?.unwrap().readers, [bob].into());
        tx.delete(bob)?;
        assert_eq!(tx.get(solaris)?.unwrap().readers, [ann].into());
        assert!(tx.get(eden)?.unwrap().readers.is_empty());
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_inverse_of_objects_that_exist_is_brought_in_step() {
    let db = Database::in_memory().unwrap();
    db.define_all::<(Author, Book, Reader)>().unwrap();
    let (lem, solaris) = db
        .transact(|tx| {
            let lem = tx.insert(&author("Lem"))?;
            Ok((lem, tx.insert(&book("Solaris", Some(lem)))?))
        })
        .unwrap();
    for _ in 0..2 {
        db.define::<Book>().unwrap().inverse("author", "books").unwrap();
        assert_eq!(db.snapshot().get(lem).unwrap().unwrap().books, [solaris]);
    }
    let wrong = db
        .define::<Book>()
        .unwrap()
        .inverse("readers", "spouse")
        .unwrap_err();
    assert!(
        wrong.to_string().contains("Book.readers is to be Reader.spouse"),
        "{wrong}"
    );
    let wrong = db.define::<Book>().unwrap().inverse("title", "x").unwrap_err();
    assert!(wrong.to_string().contains("can have no inverse"), "{wrong}");
}

#[derive(Debug, Serialize, Deserialize)]
struct Node {
    next: Option<Ref<Node>>,
    #[serde(default)]
    others: Vec<Ref<Node>>,
}

fn node(next: Option<Ref<Node>>) -> Node {
    Node { next, others: vec![] }
}

fn nodes(rule: OnDelete) -> Database {
    let db = Database::in_memory().unwrap();
    let defined = db.define::<Node>().unwrap().on_delete("next", rule).unwrap();
    defined.on_delete("others", rule).unwrap();
    db
}

fn count(db: &Database) -> usize {
    db.snapshot().extent::<Node>().unwrap().count()
}

#[test]
fn leave_lets_references_dangle_and_a_step_gives_nil() {
    let db = nodes(OnDelete::Leave);
    db.transact(|tx| {
        let target = tx.insert(&node(None))?;
        tx.insert(&node(Some(target)))?;
        tx.delete(target)
    })
    .unwrap();
    let rows = db.snapshot().query(
        "select n from Node n where n.next is dangling and n.next.next is nil",
        (),
    );
    assert_eq!(rows.unwrap().count(), 1);
}

#[test]
fn restrict_refuses_until_the_holder_is_gone() {
    let db = nodes(OnDelete::Restrict);
    let (target, holder) = db
        .transact(|tx| {
            let target = tx.insert(&node(None))?;
            let mut holder = node(None);
            holder.others.push(target);
            Ok((target, tx.insert(&holder)?))
        })
        .unwrap();
    let refused = db.transact(|tx| tx.delete(target)).unwrap_err();
    assert!(matches!(refused, Error::Constraint(_)), "{refused}");
    assert_eq!(
        refused.to_string(),
        "Node#1 cannot be deleted: Node#2 refers to it by others, which is declared on delete restrict"
    );
    db.transact(|tx| {
        tx.delete(holder)?;
        tx.delete(target)
    })
    .unwrap();
    // An object that refers to itself does not hold itself.
    let own = db
        .transact(|tx| {
            let own = tx.insert(&node(None))?;
            tx.update_with(own, |node| node.next = Some(own))?;
            Ok(own)
        })
        .unwrap();
    db.transact(|tx| tx.delete(own)).unwrap();
    assert_eq!(count(&db), 0);
}

#[test]
fn clear_takes_the_reference_out_wherever_it_stands() {
    let db = nodes(OnDelete::Clear);
    let holder = db
        .transact(|tx| {
            let (gone, stays) = (tx.insert(&node(None))?, tx.insert(&node(None))?);
            let holder = tx.insert(&Node {
                next: Some(gone),
                others: vec![gone, stays, gone],
            })?;
            tx.delete(gone)?;
            Ok(holder)
        })
        .unwrap();
    let holder = db.snapshot().get(holder).unwrap().unwrap();
    assert_eq!((holder.next, holder.others.len()), (None, 1));
}

#[test]
fn cascade_goes_through_rings_and_shared_holders_and_stops() {
    let db = nodes(OnDelete::Cascade);
    let size = 3_000;
    let (ring, alone) = db
        .transact(|tx| {
            let first = tx.insert(&node(None))?;
            let mut last = first;
            for _ in 1..size {
                last = tx.insert(&node(Some(last)))?;
            }
            tx.update_with(first, |node| node.next = Some(last))?;
            let alone = tx.insert(&node(None))?;
            tx.insert(&Node {
                next: Some(alone),
                others: vec![first],
            })?;
            Ok((first, alone))
        })
        .unwrap();
    assert_eq!(count(&db), size + 2);
    db.transact(|tx| tx.delete(ring)).unwrap();
    // The holder of two references went with the first of their objects.
    assert_eq!(count(&db), 1);
    assert!(db.snapshot().get(alone).unwrap().is_some());
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn relationships_and_rules_are_declared_in_statements() {
    let db = Database::in_memory().unwrap();
    let mut session = Session::new(db.clone());
    let mut run = |text: &str| session.execute(text, ()).map(drop);
    run(
        "create class Dept { name: string, staff: set<Person> inverse dept },
                      Person { name: string, dept: Dept on delete restrict, boss: Person on delete clear,
                               desk: Desk on delete cascade },
                      Desk { nr: int };
         insert Dept(name: 'Sales'); insert Desk(nr: 1);
         insert Person(name: 'Ann', dept: Dept#1);
         insert Person(name: 'Bob', dept: Dept#1, boss: Person#1, desk: Desk#1)",
    )
    .unwrap();
    let names = |text: &str| -> Vec<String> {
        let rows = db.snapshot().query(text, ()).unwrap().decode();
        let mut names: Vec<String> = rows.map(Result::unwrap).collect();
        names.sort();
        names
    };
    assert_eq!(names("select p.name from p in Dept#1.staff"), ["Ann", "Bob"]);
    assert!(
        run("delete Dept")
            .unwrap_err()
            .to_string()
            .contains("on delete restrict")
    );
    run("delete Person where name = 'Ann'").unwrap();
    assert_eq!(names("select p.name from Dept d, p in d.staff"), ["Bob"]);
    assert_eq!(names("select name from Person where boss is nil"), ["Bob"]);
    run("delete Desk").unwrap();
    assert!(names("select name from Person").is_empty());
    run("delete Dept").unwrap();
    let bag = run("create class A { b: bag<B> inverse a }, B { a: A }").unwrap_err();
    assert!(bag.to_string().contains("can have no inverse"), "{bag}");
    let number = run("create class N { n: int on delete clear }").unwrap_err();
    assert!(number.to_string().contains("no rule for deletes"), "{number}");
    let indexed = run("alter class Person drop attribute dept").unwrap_err();
    assert!(indexed.to_string().contains("Person_dept"), "{indexed}");
    run("alter class Dept drop attribute staff").unwrap();
    run("insert Dept(name: 'x'); insert Person(name: 'y', dept: Dept#2)").unwrap();
}

#[test]
fn writers_to_one_hub_do_not_meet_where_the_relationship_is_one_sided() {
    let db = Database::in_memory().unwrap();
    db.define_all::<(Author, Book, Reader)>().unwrap();
    db.define::<Book>().unwrap().index("author").unwrap();
    let hub = db.transact(|tx| tx.insert(&author("Hub"))).unwrap();
    let members: Vec<Ref<Book>> = db
        .transact(|tx| {
            (0..2_000)
                .map(|number| tx.insert(&book(&number.to_string(), Some(hub))))
                .collect()
        })
        .unwrap();
    let (mut first, mut second, mut third) = (db.begin().unwrap(), db.begin().unwrap(), db.begin().unwrap());
    first.insert(&book("first", Some(hub))).unwrap();
    second.update_with(members[7], |book| book.author = None).unwrap();
    third.delete(members[9]).unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    third.commit().unwrap();
    let snapshot = db.snapshot();
    assert_eq!(snapshot.related::<Book>("author", hub).unwrap().count(), 1_999);
    let count: Vec<i64> = snapshot
        .query("select count(*) from Book b where b.author = $1", (hub,))
        .unwrap()
        .decode()
        .map(Result::unwrap)
        .collect();
    assert_eq!(count, [1_999]);
    assert_eq!(
        snapshot.related::<Book>("author", hub).unwrap().take(10).count(),
        10
    );
}

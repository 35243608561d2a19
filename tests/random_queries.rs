//! Random queries and changes against themselves: with the optimizer and without, with indexes and without.

use olivine::{Database, IndexDefinition, Ref, Session, Transaction};

use crate::model::{Item, Owner, Queried, define, index_definitions, random_item, random_owner, special};
use crate::random::{Random, seeds};

/// A condition on `i`, an Item.
fn condition(random: &mut Random, depth: u64) -> String {
    if depth > 0 && random.one_in(2) {
        let (left, right) = (condition(random, depth - 1), condition(random, depth - 1));
        return match random.below(5) {
            0 | 1 => format!("({left} and {right})"),
            2 | 3 => format!("({left} or {right})"),
            _ => format!("not ({left})"),
        };
    }
    let operator = *random.pick(&["=", "<>", "<", "<=", ">", ">="]);
    let (n, m) = (random.below(14) as i64 - 4, random.below(14) as i64 - 4);
    match random.below(28) {
        0..=2 => format!("i.rank {operator} {n}"),
        3 => format!("i.text {operator} 't{}'", n.abs()),
        4 => format!("i.rank between {n} and {m}"),
        5 => format!("i.rank in ({n}, {m}, 2)"),
        6 => format!("i.rank not in ({n}, nil)"),
        7 => format!("'g{}' in i.tags", n.abs()),
        8 => format!("i.owner.city {operator} 'c{}'", m.abs()),
        9 => format!("i.owner.city in ('c1', 'c{}')", m.abs()),
        10 => "i.rank is nil".into(),
        11 => "i.owner.city is nil".into(),
        12 => format!("i.text like 't{}%'", n.abs()),
        13 => format!("exists t in i.tags: t = 'g{}'", n.abs()),
        14 => format!("for all t in i.tags: t > 'g{}'", n.abs()),
        15 => format!(
            "exists (select o from Owner o where o = i.owner and o.city = 'c{}')",
            m.abs()
        ),
        16 => format!("i.key in (select j.key from Item j where j.rank = {n})"),
        17 => "i.rank = (select max(j.rank) from Item j)".into(),
        18 => format!("i.score {operator} {n}"),
        19..=26 => rarer_condition(random, operator, n, m),
        _ => format!("(i.rank ?? {n}) + 1 {operator} {m}"),
    }
}

/// Conditions that ask for less common parts of the language.
fn rarer_condition(random: &mut Random, operator: &str, n: i64, m: i64) -> String {
    match random.below(16) {
        0 => format!("i.rank {operator} all [{n}, {m}]"),
        1 => format!("i.rank {operator} any [{n}, {m}]"),
        2 => format!("i.rank {operator} {n}.5"),
        3 => format!("i.rank {operator} {n}d"),
        4 => format!("i.score {operator} {n}.5"),
        5 => format!("i.owner = Owner#{}", m.abs()),
        6 => format!("i.owner in (Owner#{}, Owner#{})", n.abs(), m.abs()),
        7 => "i.owner is dangling".into(),
        8 => "i is Special".into(),
        9 => format!("i.text between 't{}' and 't{}'", n.abs(), m.abs()),
        10 => format!(
            "count(select j from Item j where j.rank = i.rank and j.key < i.key) > {}",
            n.abs()
        ),
        11 => "exists j in Item: j.owner = i.owner and j.key > i.key".into(),
        12 => format!("i.key = {} or i.key = {}", n * 3, m * 5),
        13 => format!("i.key in ({}, {}) and i.text >= 't{}'", n, m * 2, n.abs()),
        14 => format!("i.text in ('t1', 't{}', nil)", m.abs()),
        _ => format!("i.rank {operator} {n} and i.rank {operator} {m}"),
    }
}

/// A query, and whether it gives its rows in a fixed order.
fn query(random: &mut Random) -> (String, bool) {
    let p = condition(random, 3);
    let q = condition(random, 1);
    let (limit, offset) = (random.below(12), random.below(5));
    let direction = *random.pick(&["", " desc", " nulls last", " desc nulls first"]);
    if random.one_in(3) {
        return rarer_query(random, &p, &q);
    }
    let unordered = match random.below(13) {
        0 | 1 => format!("select i.key from Item i where i.key < 1000 and {p}"),
        2 => format!("select i.key, o.name from Item i, Owner o where i.owner = o and {p}"),
        3 => format!(
            "select i.key, j.key as other from Item i, Item j where i.rank = j.rank and {p} and j.key < 9"
        ),
        4 => format!("select i.rank, count(*) as n, sum(i.key) as s from Item i where {p} group by i.rank"),
        5 => format!("select distinct i.rank, i.owner.city from Item i where i.key < 1000 and {p}"),
        6 => format!(
            "select o.name from Owner o where exists (select i from Item i where i.owner = o and {p})"
        ),
        7 => format!("select i.key, o.city from Item i left join Owner o on i.owner = o where {p}"),
        8 => format!("select count(*), min(i.rank), max(i.text) from Item i where i.key < 1000 and {p}"),
        9 => format!("(select i.key from Item i where {p}) union (select i.key from Item i where {q})"),
        10 => format!("select i.key, t from Item i, t in i.tags where {p}"),
        11 => format!("select o.name, count(o.<Item.owner) as n from Owner o where o.city <> 'c{limit}'"),
        _ => {
            let order = format!("order by i.rank{direction}, i.key limit {limit} offset {offset}");
            return (
                format!("select i.key, i.rank from Item i where {p} {order}"),
                true,
            );
        }
    };
    (unordered, false)
}

/// Queries that ask for less common parts of the language.
fn rarer_query(random: &mut Random, p: &str, q: &str) -> (String, bool) {
    let (n, limit, offset) = (random.below(9) as i64 - 2, random.below(12), random.below(5));
    let direction = *random.pick(&["", " desc", " nulls last", " desc nulls first"]);
    let page = format!("limit {limit} offset {offset}");
    match random.below(20) {
        0 => (
            format!(
                "select i.key from Item i where i.rank = {n} and {q} order by i.text{direction}, i.key {page}"
            ),
            true,
        ),
        1 => (
            format!("select i.key from Item i where {p} order by i.text{direction}, i.key desc {page}"),
            true,
        ),
        2 => (
            format!("select i.key from Item i where {p} order by i.score{direction}, i.key {page}"),
            true,
        ),
        3 => (
            format!("select i.key from Item i where {p} order by i.owner.city{direction}, i.key {page}"),
            true,
        ),
        4 => (
            format!("select i.key from Item i where {p} order by i.key{direction} {page}"),
            true,
        ),
        5 => (
            format!("select distinct i.rank from Item i where {p} order by i.rank{direction} {page}"),
            true,
        ),
        6 => (
            format!("select max(i.rank), min(i.score), avg(i.rank) from only Item i where {p}"),
            false,
        ),
        7 => (format!("select i.key from Special i where {p}"), false),
        8 => (
            format!("(select i.rank from Item i where {p}) except (select i.rank from Special i where {q})"),
            false,
        ),
        9 => (
            format!(
                "(select i.rank from Item i where {p}) intersect all (select i.rank from Item i where {q})"
            ),
            false,
        ),
        10 => (
            format!(
                "select c, count(*) as n from Item i where {p} group by c: i.owner.city having count(*) > 1"
            ),
            false,
        ),
        11 => (
            format!(
                "select i.key, (select count(*) from Item j where j.owner = i.owner) as n from Item i where i.key < 1000 and {p}"
            ),
            false,
        ),
        12 => (
            format!("select o.name, i.key from Owner o, o.<Item.owner i where {p}"),
            false,
        ),
        13 => (
            format!(
                "select i.key, j.key as other from Item i, Owner o, Item j where i.owner = o and j.owner = o and j.rank = {n} and {p}"
            ),
            false,
        ),
        15 => (format!("select count(*) from Item i where {p}"), false),
        16 => {
            let class = *random.pick(&["Item", "only Item", "Special"]);
            let condition = *random.pick(&[
                "",
                " where i.rank = 3",
                " where i.text = 't2'",
                " where i.rank > 1",
            ]);
            (
                format!("select max(i.rank), min(i.text), min(i.key), count(*) from {class} i{condition}"),
                false,
            )
        }
        17 => (
            "select o.name, count(o.<Item.owner) as n, count(o.<Special.owner) as s, o.<Item.owner is empty as e \
             from Owner o"
                .into(),
            false,
        ),
        18 => (
            format!("select o.name, i.key from Owner o left join i in o.<Item.owner on i.rank > {n}"),
            false,
        ),
        14 => (
            format!(
                "select o.name from Owner o where not exists (select i from Item i where i.owner = o and {p})"
            ),
            false,
        ),
        _ => (
            format!("select count(*) from Item i where i.key < 1000 and {p}"),
            false,
        ),
    }
}

fn answer(queried: &impl Queried, text: &str, ordered: bool) -> Vec<String> {
    let rows = queried.rows(text);
    let mut rows: Vec<String> = rows
        .map(|row| {
            format!(
                "{:?}",
                row.unwrap_or_else(|error| panic!("{text}: {error}")).values()
            )
        })
        .collect();
    if !ordered {
        rows.sort_unstable();
    }
    rows
}

/// Asserts that two answers are the same, and else shows where they differ.
fn assert_same(found: &[String], expected: &[String], text: &str) {
    let place = found
        .iter()
        .zip(expected)
        .position(|(found, expected)| found != expected);
    if found.len() == expected.len() && place.is_none() {
        return;
    }
    let place = place.unwrap_or(found.len().min(expected.len()));
    let row = |rows: &[String]| {
        rows.get(place)
            .map(|row| row.chars().take(300).collect::<String>())
    };
    panic!(
        "{text}\nfound {} rows, expected {}; at {place} found {:?}, expected {:?}",
        found.len(),
        expected.len(),
        row(found),
        row(expected)
    );
}

/// An item for queries only, whose score may be NaN.
fn wild_item(random: &mut Random, owners: &[Ref<Owner>], key: i64) -> Item {
    let mut item = random_item(random, owners, key);
    if random.one_in(8) {
        item.score = Some(f64::NAN);
    }
    item
}

/// The first objects of a database: 8 owners, 50 items.
fn fill(tx: &mut Transaction, random: &mut Random) -> olivine::Result<()> {
    let owners = (0..8).map(|_| tx.insert(&random_owner(random)));
    let owners: Vec<Ref<Owner>> = owners.collect::<Result<_, _>>()?;
    for key in 0..50 {
        let item = wild_item(random, &owners, key);
        if key % 5 == 0 {
            tx.insert(&special(item))?;
        } else {
            tx.insert(&item)?;
        }
    }
    tx.delete(owners[3])
}

/// Changes and deletes some of the objects, and adds others.
fn stir(tx: &mut Transaction, random: &mut Random, fresh_key: i64) -> olivine::Result<()> {
    let items: Vec<(Ref<Item>, Item)> = tx.extent::<Item>()?.collect::<Result<_, _>>()?;
    let owners: Vec<(Ref<Owner>, Owner)> = tx.extent::<Owner>()?.collect::<Result<_, _>>()?;
    let owners: Vec<Ref<Owner>> = owners.into_iter().map(|(reference, _)| reference).collect();
    for (reference, item) in items {
        match random.below(6) {
            0 => tx.delete(reference)?,
            1 | 2 => tx.update(reference, &wild_item(random, &owners, item.key))?,
            _ => {}
        }
    }
    for owner in &owners {
        if random.one_in(3) {
            tx.update(*owner, &random_owner(random))?;
        }
    }
    for key in fresh_key..fresh_key + 10 {
        tx.insert(&wild_item(random, &owners, key))?;
    }
    Ok(())
}

/// Two databases with the same objects, the first with all indexes. Some of it lies in their bases, some above.
fn twins(random: &mut Random) -> (Database, Database) {
    let twins = (Database::in_memory().unwrap(), Database::in_memory().unwrap());
    let seed = random.next();
    for (database, indexed) in [(&twins.0, true), (&twins.1, false)] {
        define(database);
        let mut random = Random::new(seed);
        if indexed {
            for (_, definition) in index_definitions() {
                database.create_index("Item", &definition).unwrap();
            }
            database
                .create_index("Owner", &IndexDefinition::on("name"))
                .unwrap();
        }
        database.transact(|tx| fill(tx, &mut random)).unwrap();
        database.checkpoint().unwrap();
        database.transact(|tx| stir(tx, &mut random, 60)).unwrap();
    }
    twins
}

fn compare_queries(seed: u64, count: u64) {
    let mut random = Random::new(seed);
    let (indexed, plain) = twins(&mut random);
    for round in 0..count {
        let (text, ordered) = query(&mut random);
        let compare = |plain_state: &dyn Fn() -> Vec<String>, indexed_state: &dyn Fn() -> Vec<String>| {
            plain.set_optimizer(false);
            let expected = plain_state();
            plain.set_optimizer(true);
            assert_same(&plain_state(), &expected, &format!("optimized: {text}"));
            assert_same(&indexed_state(), &expected, &format!("indexed: {text}"));
        };
        if round % 3 > 0 {
            let (plain, indexed) = (plain.snapshot(), indexed.snapshot());
            compare(&|| answer(&plain, &text, ordered), &|| {
                answer(&indexed, &text, ordered)
            });
            continue;
        }
        // In transactions that changed a good deal, and are dropped.
        let seed = random.next();
        let stirred = |database: &Database| {
            let mut tx = database.begin().unwrap();
            stir(&mut tx, &mut Random::new(seed), 80).unwrap();
            tx
        };
        let (plain, indexed) = (stirred(&plain), stirred(&indexed));
        compare(&|| answer(&plain, &text, ordered), &|| {
            answer(&indexed, &text, ordered)
        });
    }
}

/// Changes both databases by statements with random conditions; afterwards they must hold the same.
fn compare_changes(seed: u64, count: u64) {
    let mut random = Random::new(seed);
    let (indexed, plain) = twins(&mut random);
    plain.set_optimizer(false);
    for round in 0..count {
        let p = condition(&mut random, 2);
        let n = random.below(9) as i64;
        let text = match random.below(6) {
            0 => format!("delete Item i where {p} and i.key % 4 = {}", n % 4),
            1 => format!("update Item i set rank = rank + 1, text = 't{n}' where {p}"),
            2 => format!("update Item i set owner = Owner#{n} where {p}"),
            3 => format!("update Item i set tags += 'g{n}' where {p}"),
            4 => {
                // No key comes twice, and the order of keys makes identifiers agree.
                let query = format!(
                    "select i.key + {}, i.rank, 't', i.tags from Item i where i.key < 1000 and {p}",
                    100_000_000 + 1_000 * round
                );
                format!("insert into Item (key, rank, text, tags) {query} order by i.key")
            }
            _ => format!("update Special i set extra = {n}, score = {n} where {p}"),
        };
        for database in [&plain, &indexed] {
            let mut session = Session::new(database.clone());
            session
                .execute(&text, ())
                .unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        for check in [
            "select i, i.key, i.rank, i.score, i.text, i.tags, i.owner from Item i",
            "select s, s.extra from Special s",
        ] {
            let (plain, indexed) = (plain.snapshot(), indexed.snapshot());
            let expected = answer(&plain, check, false);
            assert_same(&answer(&indexed, check, false), &expected, &text);
        }
    }
}

#[test]
fn random_queries_answer_alike_with_optimizer_and_indexes_and_without() {
    for seed in seeds(3) {
        compare_queries(seed, 100);
    }
}

#[test]
fn random_changes_do_alike_with_indexes_and_without() {
    for seed in seeds(2) {
        compare_changes(seed, 25);
    }
}

#[test]
#[ignore = "takes minutes"]
fn many_random_queries_answer_alike_with_optimizer_and_indexes_and_without() {
    for seed in seeds(200) {
        compare_queries(seed, 300);
        compare_changes(seed, 50);
    }
}

/// A query gives what it gives where another condition is true, false and unknown, together.
fn compare_partitions(seed: u64, count: u64) {
    let mut random = Random::new(seed);
    let (indexed, _) = twins(&mut random);
    let snapshot = indexed.snapshot();
    for _ in 0..count {
        let (p, q) = (condition(&mut random, 2), condition(&mut random, 2));
        let class = *random.pick(&["Item", "only Item", "Special"]);
        let all = answer(
            &snapshot,
            &format!("select i.key from {class} i where {q}"),
            false,
        );
        let mut parts = Vec::new();
        for part in [format!("({p})"), format!("not ({p})"), format!("({p}) is nil")] {
            let text = format!("select i.key from {class} i where ({q}) and {part}");
            parts.extend(answer(&snapshot, &text, false));
            let counted = answer(
                &snapshot,
                &format!("select count(*) from {class} i where ({q}) and {part}"),
                false,
            );
            let rows = answer(&snapshot, &text, false).len();
            assert_eq!(counted, [format!("[Int({rows})]")], "{text}");
        }
        parts.sort_unstable();
        assert_same(&parts, &all, &format!("parts of {q} by {p}"));
    }
}

#[test]
fn a_query_is_the_union_of_its_parts() {
    for seed in seeds(4) {
        compare_partitions(seed, 60);
    }
}

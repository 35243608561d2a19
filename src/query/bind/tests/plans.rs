//! Plans as binding makes them, before any rule.

use crate::query::bind::fixture::{bind, classes};

/// Expects this plan, given with the indentation of the test.
fn plan(text: &str, expected: &str) {
    let bound = bind(text, &classes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(
        bound.to_string().trim_end(),
        expected.trim_matches('\n').trim_end(),
        "{text}"
    );
}

#[test]
fn ranges_conditions_order_and_limit() {
    plan(
        "select p from Person p, f in p.friends where f.age between 3 and 5 \
         order by p.name desc, f.age nulls last limit 10 offset 2",
        "
Project p
  Limit limit 10 offset 2
    Sort p.name desc, f.age nulls last
      Filter f.age between 3 and 5
        Iterate f in p.friends
          Extent Person as p (2 classes)",
    );
}

#[test]
fn joins() {
    plan(
        "select p.name from only Person p left join Dept d on d = p.dept join f in p.friends on f.age > 3",
        "
Project p.name
  Filter f.age > 3
    Iterate f in p.friends
      LeftJoin on d = p.dept
        Extent Person as p
        Extent Dept as d",
    );
}

#[test]
fn groups() {
    plan(
        "select d, count(*), avg(p.age) from Person p group by d: p.dept having count(*) > 3 order by count(*)",
        "
Project d, column2: count(*), column3: avg(p.age)
  Sort count(*)
    Filter count(*) > 3
      Group by d: p.dept computing count(*), avg(p.age)
        Extent Person as p (2 classes)",
    );
}

#[test]
fn subqueries() {
    plan(
        "select (select max(q.age) from Person q where q.dept = p.dept) as m from Person p where p.age in (select age from Student)",
        "
Project m: (query 2)
  query 2, for each p:
    Project column1: max(q.age)
      Group computing max(q.age)
        Filter q.dept = p.dept
          Extent Person as q (2 classes)
  Filter p.age in (query 1)
    query 1, once:
      Project Student.age
        Extent Student as Student
    Extent Person as p (2 classes)",
    );
}

#[test]
fn set_operators_and_distinct() {
    plan(
        "select distinct name from Person union all select name from Dept order by name",
        "
Sort name
  Union all
    Distinct name
      Project Person.name
        Extent Person as Person (2 classes)
    Project Dept.name
      Extent Dept as Dept",
    );
}

#[test]
fn members_of_collections() {
    plan(
        "select p.friends[where it.age > 3].name, p.tags[0], p.friends[is Student].school from Person p \
         where 'a' in p.tags and for all f in p.friends: f.age > 3",
        "
Project p.friends[where it.age > 3].name, column2: p.tags[0], p.friends[where it is Student].school
  Filter 'a' in p.tags and (for all f in p.friends: f.age > 3)
    Extent Person as p (2 classes)",
    );
}

#[test]
fn reverse_steps_and_closures() {
    plan(
        "select r.name from Dept d, r in d.<Person.dept where d in Dept",
        "
Project r.name
  Filter d in rows(query 1)
    query 1, once:
      Extent Dept as Dept
    Iterate r in d.<Person.dept /* scan */
      Extent Dept as d",
    );
    plan(
        "Node#1.(next.twigs){0,3}",
        "Iterate column1 in Node#1.(it.next.twigs){0,3}\n  Unit",
    );
}

#[test]
fn writes() {
    plan(
        "insert Person(name: 'a', age: 3) returning name",
        "Insert Person\n  Rows 1",
    );
    plan(
        "update Person p set age += 1, tags += 'x', friends -= set(Person#1) where name = 'x'",
        "
Update p set age = p.age + 1, tags = p.tags += 'x', friends = p.friends -= set(Person#1)
  Filter p.name = 'x'
    Extent Person as p (2 classes)",
    );
    plan(
        "delete Person where age < 3",
        "Delete Person\n  Filter Person.age < 3\n    Extent Person as Person (2 classes)",
    );
}

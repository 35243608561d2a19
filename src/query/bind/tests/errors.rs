//! Errors: what they say, where they point, what they suggest.

use crate::error::QueryErrorCode;
use crate::query::bind::fixture::{bind, classes};
use crate::query::bind::{Parameters, bind_statement};
use crate::query::parser::parse_statement;

/// Expects an error of this kind at the text `place`, whose message and hint contain these words.
fn refused(text: &str, code: QueryErrorCode, place: &str, message: &str, hint: &str) {
    let error = bind(text, &classes()).expect_err(text);
    assert_eq!(error.code, code, "{text}: {error}");
    assert_eq!(&text[error.span.start..error.span.end], place, "{text}: {error}");
    assert!(error.message.contains(message), "{text}: {error}");
    assert!(
        error.hint.unwrap_or_default().contains(hint),
        "{text}: {}",
        error.message
    );
}

#[test]
fn an_unknown_name_points_at_the_word_and_suggests_the_nearest() {
    use QueryErrorCode::{UnknownClass, UnknownName};
    refused(
        "select nmae from Person",
        UnknownName,
        "nmae",
        "Person has no attribute nmae",
        "did you mean name?",
    );
    refused(
        "select p.nmae from Person p",
        UnknownName,
        "nmae",
        "no attribute nmae",
        "did you mean name?",
    );
    refused(
        "select p.dept.nam from Person p",
        UnknownName,
        "nam",
        "Dept has no attribute nam",
        "name?",
    );
    refused(
        "select p from Persn p",
        UnknownClass,
        "Persn",
        "no class Persn",
        "did you mean Person?",
    );
    refused("select q.name from Person p", UnknownName, "q", "called q", "");
    refused(
        "update Person set nam = 'x'",
        UnknownName,
        "nam",
        "no attribute nam",
        "did you mean name?",
    );
    refused(
        "insert Person(nam: 'x')",
        UnknownName,
        "nam",
        "no attribute nam",
        "did you mean name?",
    );
    refused(
        "delete Persn",
        UnknownClass,
        "Persn",
        "no class Persn",
        "did you mean Person?",
    );
    refused(
        "cast(1 as Persn)",
        UnknownClass,
        "Persn",
        "no type or class Persn",
        "did you mean Person?",
    );
}

#[test]
fn an_attribute_of_a_subclass_suggests_to_narrow() {
    let message = "Person has no attribute school";
    let unknown = QueryErrorCode::UnknownName;
    refused(
        "select p.school from Person p",
        unknown,
        "school",
        message,
        "write p[is Student].school",
    );
    refused(
        "select school from Person",
        unknown,
        "school",
        message,
        "write x[is Student].school",
    );
    assert!(bind("select p[is Student].school from Person p", &classes()).is_ok());
}

#[test]
fn an_attribute_over_several_ranges_asks_for_a_variable() {
    let unknown = QueryErrorCode::UnknownName;
    refused(
        "select name from Person p, Dept d",
        unknown,
        "name",
        "nothing here",
        "needs a variable: p.name",
    );
}

#[test]
fn operands_of_wrong_types_are_refused() {
    let wrong = QueryErrorCode::Type;
    refused(
        "select p from Person p where p.age = 'x'",
        wrong,
        "p.age = 'x'",
        "int = string",
        "",
    );
    refused(
        "select p from Person p where p.born < 'x'",
        wrong,
        "p.born < 'x'",
        "date < string",
        "date '..'",
    );
    refused(
        "select p from Person p where p.dept = p",
        wrong,
        "p.dept = p",
        "Dept = Person",
        "",
    );
    refused(
        "select p.name + 'x' from Person p",
        wrong,
        "p.name + 'x'",
        "string + string",
        "||",
    );
    refused(
        "select p.name || 1 from Person p",
        wrong,
        "p.name || 1",
        "string || int",
        "cast",
    );
    refused(
        "select p from Person p where p.age",
        wrong,
        "p.age",
        "condition",
        "",
    );
    refused(
        "select p from Person p where p.age like 'x'",
        wrong,
        "p.age",
        "like needs strings",
        "",
    );
}

#[test]
fn postfix_expressions_and_results_of_wrong_types_are_refused() {
    let wrong = QueryErrorCode::Type;
    refused(
        "select f from Person p, f in p.boss",
        wrong,
        "p.boss",
        "a collection is needed",
        "",
    );
    refused(
        "select p.age.x from Person p",
        wrong,
        "x",
        "int has no attribute x",
        "",
    );
    refused(
        "select p.dept[is Person] from Person p",
        wrong,
        "Person",
        "never a Person",
        "",
    );
    refused(
        "select case when true then 1 else 'x' end",
        wrong,
        "'x'",
        "string",
        "",
    );
    refused(
        "select p from Person p limit 'x'",
        wrong,
        "'x'",
        "int is needed",
        "",
    );
    refused(
        "select sum(name) from Person",
        wrong,
        "sum(name)",
        "needs numbers",
        "",
    );
    refused("Person#1.<Dept.name", wrong, "name", "holds no references", "");
    refused(
        "Site#1.<Person.dept",
        wrong,
        "Site#1.<Person.dept",
        "refers to Dept",
        "",
    );
    refused(
        "(select name, age from Person) + 1",
        wrong,
        "(select name, age from Person)",
        "2 columns",
        "element",
    );
}

#[test]
fn what_an_attribute_cannot_hold_is_refused() {
    let wrong = QueryErrorCode::Type;
    refused(
        "insert Person(age: 'x')",
        wrong,
        "'x'",
        "Person.age is of type int",
        "",
    );
    refused(
        "insert Person(friends: [Person#1])",
        wrong,
        "[Person#1]",
        "set<Person>",
        "set(..)",
    );
    refused(
        "insert Person(born: '2020-01-01')",
        wrong,
        "'2020-01-01'",
        "date",
        "date '..'",
    );
    refused("update Person set tags += 1", wrong, "1", "holds string", "");
    refused(
        "insert into Person (name, age) select name from Dept",
        wrong,
        "select name from Dept",
        "1 columns",
        "",
    );
    let twice = QueryErrorCode::Duplicate;
    refused(
        "update Person set age = 1, age = 2",
        twice,
        "age",
        "given twice",
        "",
    );
}

#[test]
fn aggregates_and_group_keys_stand_only_where_they_may() {
    let grouping = QueryErrorCode::Grouping;
    refused(
        "select name, count(*) from Person",
        grouping,
        "name",
        "neither a group key",
        "",
    );
    refused(
        "select p.name from Person p group by p.age",
        grouping,
        "p.name",
        "p.name is neither",
        "",
    );
    refused(
        "select count(*) from Person where count(*) > 1",
        grouping,
        "count(*)",
        "where",
        "having",
    );
    refused(
        "select sum(count(*)) from Person",
        grouping,
        "count(*)",
        "argument",
        "",
    );
    refused("select * from Person group by age", grouping, "*", "select *", "");
    refused(
        "select distinct age from Person order by name",
        grouping,
        "name",
        "not projected",
        "",
    );
    refused(
        "select partition from Person",
        grouping,
        "partition",
        "group by",
        "",
    );
    refused(
        "select p.age from Person p group by p.age having exists (select d from Dept d where d = p.dept)",
        grouping,
        "p.dept",
        "p.dept is neither",
        "",
    );
}

#[test]
fn names_given_twice_are_refused() {
    let twice = QueryErrorCode::Duplicate;
    refused("select 1 from Person p, Dept p", twice, "p", "two ranges", "");
    refused("struct(a: 1, a: 2)", twice, "a", "two fields", "");
    refused(
        "select x.name from (select name, age as name from Person) x",
        twice,
        "select name, age as name from Person",
        "label name",
        "",
    );
}

#[test]
fn an_older_state_is_no_part_of_a_plan() {
    let unsupported = QueryErrorCode::Unsupported;
    let text = "select name from Person as of commit 3";
    assert_eq!(bind(text, &classes()).unwrap_err().code, unsupported);
}

#[test]
fn a_parameter_that_was_not_given_is_refused_and_a_given_one_is_checked() {
    let bind_given = |text: &str, name: &str, value: crate::object::Value| {
        let catalog = classes();
        let r#type = crate::query::bind::type_of(&value, &catalog);
        let given = Parameters::Given(vec![(name.into(), r#type)]);
        bind_statement(&parse_statement(text).unwrap(), &catalog, &given)
    };
    let text = "select p from Person p where p.age = $limit";
    let error = bind_given(text, "limt", 3.into()).unwrap_err();
    assert_eq!(error.code, QueryErrorCode::Parameter);
    assert_eq!(&text[error.span.start..error.span.end], "$limit");
    assert_eq!(error.hint.as_deref(), Some("did you mean $limt?"));
    assert_eq!(
        bind_given(text, "limit", "x".into()).unwrap_err().code,
        QueryErrorCode::Type
    );
    assert!(bind_given(text, "limit", 2.5.into()).is_ok());
    assert!(bind_given(text, "limit", crate::object::Value::Nil).is_ok());
}

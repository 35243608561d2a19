//! Situations that have brought other systems down: each ends in the right answer or a clean error, on a stack of 2 MiB,
//! which threads of tests have.

use olivine::{CancelHandle, Database, Error, Outcome, Session, Value};

fn session(setup: &str) -> Session {
    let mut session = Session::new(Database::in_memory().unwrap());
    session.execute(setup, ()).unwrap();
    session
}

fn value(session: &mut Session, query: &str) -> Result<Value, Error> {
    match session.execute(query, ())?.pop() {
        Some(Outcome::Rows(olivine::Answer::Streamed(rows))) => rows.into_value(),
        other => panic!("{other:?}"),
    }
}

fn int(session: &mut Session, query: &str) -> i64 {
    value(session, query).unwrap().as_int().unwrap()
}

fn code(session: &mut Session, query: &str) -> &'static str {
    value(session, query).unwrap_err().code()
}

fn repeated(text: impl Fn(usize) -> String, count: usize, between: &str) -> String {
    (0..count).map(text).collect::<Vec<_>>().join(between)
}

#[test]
fn what_nests_too_deeply_is_refused_by_name() {
    let mut session = session("");
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("not ", ""),
        ("- ", ""),
        ("abs(", ")"),
        ("(select ", ")"),
    ] {
        let text = format!("select {}1{}", open.repeat(100_000), close.repeat(100_000));
        let error = value(&mut session, &text).unwrap_err();
        assert_eq!(error.code(), "54001", "{open}: {error}");
        assert!(error.to_string().contains("at most 100"), "{error}");
    }
}

#[test]
fn what_is_too_wide_is_refused_and_what_is_not_is_planned_at_once() {
    let mut session = session("create class N { n: int }; insert N(n: 1)");
    let ranges = repeated(|n| format!("N a{n}"), 1_000, ", ");
    assert_eq!(code(&mut session, &format!("select 1 from {ranges}")), "54001");
    let columns = repeated(|n| n.to_string(), 100_000, ", ");
    assert_eq!(code(&mut session, &format!("select {columns}")), "54001");
    let keys = repeated(|n| format!("k{n}: n + {n}"), 5_000, ", ");
    assert_eq!(
        code(&mut session, &format!("select count(*) from N group by {keys}")),
        "54001"
    );
    let ranges = repeated(|n| format!("N a{n}"), 60, ", ");
    let joined = repeated(|n| format!("a{n}.n = a{}.n", n + 1), 59, " and ");
    assert_eq!(
        int(
            &mut session,
            &format!("element(select count(*) from {ranges} where {joined})")
        ),
        1
    );
}

#[test]
fn a_long_list_after_in_is_a_set() {
    let mut session =
        session("create class N { n: int }; insert into N (n) values (3), (500), (nil), (1000001)");
    let list = repeated(|n| n.to_string(), 100_000, ", ");
    assert_eq!(
        int(
            &mut session,
            &format!("element(select count(*) from N x where x.n in ({list}, 3, nil))")
        ),
        2
    );
    assert_eq!(
        int(
            &mut session,
            &format!("element(select count(*) from N x where x.n not in ({list}))")
        ),
        1
    );
}

/// A ladder: two objects on each rung, both referring to both of the next.
fn ladder(rungs: usize) -> String {
    let mut text = String::from("create class R { n: int, next: list<R> }; begin;");
    text.push_str("let $a = insert R(n: 0); let $b = insert R(n: 0);");
    for rung in 1..rungs {
        text.push_str(&format!("let $c = insert R(n: {rung}, next: list($a, $b));"));
        text.push_str(&format!(
            "let $b = insert R(n: {rung}, next: list($a, $b)); let $a = $c;"
        ));
    }
    text + "commit;"
}

#[test]
fn a_ladder_with_two_to_the_forty_paths_is_walked_once() {
    let mut session = session(&ladder(41));
    assert_eq!(int(&mut session, "count($a.next{1,})"), 80);
    assert_eq!(int(&mut session, "count($a.next{40})"), 2);
    let path = "select count(p) from x in $a.next{1,} with depth d with path p where d = 40";
    assert_eq!(
        value(&mut session, &format!("distinct({path})"))
            .unwrap()
            .as_members()
            .unwrap(),
        [Value::Int(41)]
    );
}

#[test]
fn a_ring_and_a_hub_end_each_object_once() {
    let mut session = session("create class N { n: int, next: N }");
    let size = 20_000;
    let rows = repeated(|n| format!("({n})"), size, ", ");
    session
        .execute(&format!("insert into N (n) values {rows}"), ())
        .unwrap();
    let link = "let $last = element(select x from N x where x.n = 19999); update N x set next = \
                coalesce((select y from N y where y.n = x.n + 1), $last)";
    session.execute("create index n on N(n)", ()).unwrap();
    session.execute(link, ()).unwrap();
    session
        .execute(
            "update N set next = (select y from N y where y.n = 0) where n = 19999",
            (),
        )
        .unwrap();
    assert_eq!(int(&mut session, "count(N#1.next{1,})"), 20_000);
    assert_eq!(int(&mut session, "count(N#1.next{1000001})"), 1);
    session
        .execute("drop index n; update N set next = N#7", ())
        .unwrap();
    assert_eq!(int(&mut session, "count(N#7.<N.next)"), 20_000);
    assert_eq!(int(&mut session, "count(N#7.<N.next{1,})"), 20_000);
    assert_eq!(int(&mut session, "count(N#8.<N.next{1,})"), 0);
}

#[test]
fn a_chain_backwards_reads_its_class_twice_without_an_index() {
    let mut session = session("create class N { n: int, next: N }");
    let rows = repeated(|n| format!("({n})"), 2_000, ", ");
    session
        .execute(&format!("insert into N (n) values {rows}"), ())
        .unwrap();
    session.execute("create index n on N(n)", ()).unwrap();
    session
        .execute(
            "update N x set next = (select y from N y where y.n = x.n - 1)",
            (),
        )
        .unwrap();
    let text = "count(N#1.<N.next{1,})";
    let Some(Outcome::Rows(olivine::Answer::Streamed(mut rows))) = session.execute(text, ()).unwrap().pop()
    else {
        panic!("no rows")
    };
    assert_eq!(rows.next().unwrap().unwrap().values(), [Value::Int(1_999)]);
    assert_eq!(rows.statistics().objects, 4_000);
}

#[test]
fn arithmetic_at_its_edges_is_an_error_and_nan_is_in_no_range() {
    let mut session = session("create class N { f: float, n: int }");
    session
        .execute(
            "insert into N (f, n) values (nan, 0), (1.0, 9223372036854775807), (nil, -9223372036854775808)",
            (),
        )
        .unwrap();
    assert_eq!(code(&mut session, "select x.n % 0 from N x"), "22012");
    assert_eq!(code(&mut session, "select 1 / x.n from N x"), "22012");
    assert_eq!(code(&mut session, "select x.n + 1 from N x"), "22003");
    assert_eq!(code(&mut session, "select abs(x.n) from N x"), "22003");
    assert_eq!(
        code(
            &mut session,
            "sum(select x.n from N x where x.n > 0 union all select 1)"
        ),
        "22003"
    );
    assert_eq!(code(&mut session, "select x.n / -1 from N x"), "22003");
    assert_eq!(
        int(
            &mut session,
            "element(select count(*) from N x where x.f >= 0.0 or x.f < 0.0)"
        ),
        1
    );
    assert_eq!(
        int(&mut session, "element(select count(*) from N x where x.f = nan)"),
        0
    );
    assert_eq!(int(&mut session, "count(distinct(list(nan, nan, 1.0, 1)))"), 2);
}

#[test]
fn a_cancelled_cross_join_and_one_past_its_time_end() {
    let mut session = session("create class N { n: int }");
    let rows = repeated(|n| format!("({n})"), 1_000, ", ");
    session
        .execute(&format!("insert into N (n) values {rows}"), ())
        .unwrap();
    let product = "element(select count(*) from N a, N b, N c where a.n + b.n + c.n < 0)";
    let handle: CancelHandle = session.cancel_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        handle.cancel();
    });
    assert!(matches!(value(&mut session, product), Err(Error::Cancelled(_))));
    stopper.join().unwrap();
    session.cancel_handle().reset();
    session.execute("set timeout = 30", ()).unwrap();
    assert!(matches!(value(&mut session, product), Err(Error::Cancelled(_))));
    session.execute("set timeout = nil", ()).unwrap();
    assert_eq!(int(&mut session, "count(N)"), 1_000);
}

#[test]
fn what_does_not_fit_in_memory_is_answered_from_temporary_files() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = || Database::open(folder.path().join("spilling.olv")).unwrap();
    for database in [Database::in_memory().unwrap(), on_disk()] {
        let mut session = Session::new(database);
        session
            .execute("create class N { n: int, text: string }", ())
            .unwrap();
        let rows = repeated(|n| format!("({}, 'text {n}')", n * 7919 % 5_000), 5_000, ", ");
        session
            .execute(&format!("insert into N (n, text) values {rows}"), ())
            .unwrap();
        session.execute("set memory = 65536", ()).unwrap();
        let ordered = value(&mut session, "select x.n from N x order by x.n desc").unwrap();
        assert_eq!(ordered, Value::list((0..5_000_i64).rev()));
        for (query, expected) in [
            ("count(select distinct x.text from N x)", 5_000),
            ("sum(select count(*) from N x group by x.n)", 5_000),
            ("max(select max(x.n) from N x group by x.text)", 4_999),
            ("count(select 1 from N x, N y where x.n = y.n)", 5_000),
            ("count(select x from N x order by x.text limit 10 offset 4995)", 5),
        ] {
            assert_eq!(int(&mut session, query), expected, "{query}");
        }
        let left = std::fs::read_dir(folder.path().join("spilling.olv"));
        let names = left.into_iter().flatten().map(|entry| entry.unwrap().file_name());
        assert!(
            names
                .into_iter()
                .all(|name| !name.to_string_lossy().starts_with("temporary"))
        );
    }
    on_disk().close().unwrap();
}

#[test]
fn what_needs_more_memory_than_it_may_have_says_which_operator() {
    let mut session = session("create class N { n: int }");
    let rows = repeated(|n| format!("({n})"), 5_000, ", ");
    session
        .execute(&format!("insert into N (n) values {rows}"), ())
        .unwrap();
    session.execute("set memory = 65536", ()).unwrap();
    // One group, and rows of one key, cannot be parted; a join without equal keys holds one side.
    let queries = [
        ("group by", "select partition from N x group by x.n >= 0"),
        ("hash join", "select 1 from N x, N y where x.n % 1 = y.n % 1"),
        ("join", "select 1 from N x, N y where x.n < y.n"),
    ];
    for (operator, query) in queries {
        let error = value(&mut session, query).unwrap_err();
        assert!(
            matches!(error, Error::Limit(_)) && error.to_string().contains(operator),
            "{error}"
        );
    }
    assert_eq!(
        int(&mut session, "element(select count(*) from N x where x.n >= 0)"),
        5_000
    );
}

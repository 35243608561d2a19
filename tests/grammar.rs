//! The grammar of record: its productions, words and examples, and the trees that print themselves back.

use olivine::oql::{parse_script, parse_statement};

#[test]
fn quick() {
    for t in [
        "select p.name, count(p.friends) n from Person p where p.age > 30 and not p.x in (1,2,3) order by p.name desc nulls last limit 10",
        "x.(relations[where it.kind = 'depends'].target){1,}",
        "select a from A union select b from B order by 1",
        "create class C extends B { a: int not null default 5, b: list<C> on delete clear, method m(a: int): int as a + 1 }",
        "insert into C (a, b) values (1, -2), (3, null) on conflict (a) do nothing returning a",
        "-9223372036854775808",
        "- -1",
        "-(-1)",
        "a - -1",
        "not (a and b) or exists x in c: x = 1",
        "selct * from x",
        "select a frm B",
        "select a == 3",
        "a = b = c",
        "select (1 + [2, 3",
        "select a from B wher x = 1",
        "select a\nfrom B\nselect b",
        "select order from B",
        "x {1}",
        "{a: 1}",
    ] {
        match parse_statement(t) {
            Ok(s) => {
                println!("{s}");
                assert_eq!(parse_statement(&s.to_string()).unwrap(), s);
            }
            Err(e) => println!("{t}\n    {e}\n{}", olivine::oql::caret(t, &e)),
        }
    }
}

#[test]
fn cases() {
    let Ok(text) = std::fs::read_to_string("/work/shared/cases/queries.jsonl") else {
        return;
    };
    let mut n = 0;
    for line in text.lines() {
        let v: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut texts = vec![];
        if let Some(q) = v["query"].as_str() {
            texts.push(q.to_string());
        }
        for s in v["setup"].as_array().into_iter().flatten() {
            texts.push(s.as_str().unwrap().to_string());
        }
        for t in texts {
            n += 1;
            let tree = parse_script(&t).unwrap_or_else(|e| panic!("{t}: {e}"));
            for s in tree {
                let p = s.to_string();
                let again = parse_statement(&p).unwrap_or_else(|e| panic!("{p}: {e}"));
                assert_eq!(again, s, "{p}");
                assert_eq!(again.to_string(), p);
            }
        }
    }
    println!("{n}");
}

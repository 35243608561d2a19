//! Rust structs as classes and objects.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ::serde::de::DeserializeOwned;
use ::serde::{Deserialize, Serialize};

use super::*;
use crate::error::Error;
use crate::object::{
    ClassId, Date, Decimal, Duration, Layout, Oid, Ref, Slot, Time, Timestamp, Type, Uuid, Value,
    encode_body, read_all, read_slot,
};

/// The body of `value` over `old`.
fn updated<T: Serialize>(value: &T, layout: &Layout, old: &[u8]) -> crate::error::Result<Vec<u8>> {
    BodyWriter::default()
        .encode(value, layout, Some(old))
        .map(<[u8]>::to_vec)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Author {
    name: String,
    born: u16,
    books: Vec<Ref<Book>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Book {
    title: String,
    author: Ref<Author>,
    second: Option<Ref<Author>>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Point {
    x: f64,
    y: Option<f32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shade {
    Plain,
    Number(i32),
    Mix(i32, String),
    Named { name: String, of: Option<i32> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Everything {
    flag: bool,
    small: i8,
    wide: u64,
    ratio: f32,
    letter: char,
    text: Box<str>,
    maybe: Option<i64>,
    date: Date,
    time: Time,
    instant: Timestamp,
    length: Option<Duration>,
    price: Decimal,
    id: Uuid,
    ids: Vec<Uuid>,
    any: Oid,
    place: Point,
    places: Vec<Option<Point>>,
    shades: Vec<Shade>,
    pair: (i32, i32),
    mixed: (i32, String),
    corners: [f64; 3],
    set: BTreeSet<String>,
    counts: HashMap<String, i64>,
    days: BTreeMap<Date, Vec<i32>>,
    wrapped: Wrapped,
    #[serde(rename = "renamed")]
    original: i32,
    #[serde(skip)]
    skipped: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wrapped(String);

/// The class that `define` would make of a type.
fn layout<T: DeserializeOwned>() -> Layout {
    let shape = probe::<T>().unwrap();
    let slot = |field: Field| Slot {
        name: field.name.into(),
        r#type: field.r#type,
        default: Value::Nil,
        not_null: !field.optional,
        dropped: false,
        converted_from: None,
    };
    let slots = shape.fields.into_iter().map(slot).collect();
    Layout::new(ClassId(64), shape.name.into(), slots, Vec::new())
}

fn oid(serial: u64) -> Oid {
    Oid::new(ClassId(64), serial).unwrap()
}

fn everything() -> Everything {
    let id = Uuid::from_u128(7);
    Everything {
        flag: true,
        small: -3,
        wide: i64::MAX as u64,
        ratio: 0.5,
        letter: 'ß',
        text: "text".into(),
        maybe: None,
        date: Date(20_000),
        time: Time(1),
        instant: Timestamp(-1),
        length: Some(Duration(5)),
        price: "12.50".parse().unwrap(),
        id,
        ids: vec![id, id],
        any: oid(9),
        place: Point { x: 1.0, y: None },
        places: vec![None, Some(Point { x: 2.0, y: Some(3.0) })],
        shades: vec![
            Shade::Plain,
            Shade::Number(4),
            Shade::Mix(5, "m".into()),
            Shade::Named {
                name: "n".into(),
                of: None,
            },
        ],
        pair: (1, 2),
        mixed: (3, "x".into()),
        corners: [0.0, 0.5, 1.0],
        set: ["b".to_string(), "a".to_string()].into(),
        counts: [("one".to_string(), 1), ("two".to_string(), 2)].into(),
        days: [(Date(2), vec![1]), (Date(1), vec![])].into(),
        wrapped: Wrapped("w".into()),
        original: 8,
        skipped: 0,
    }
}

#[test]
fn a_class_is_learned_from_the_type_alone() {
    let shape = probe::<Book>().unwrap();
    assert_eq!(shape.name, "Book");
    let fields: Vec<String> = shape
        .fields
        .iter()
        .map(|field| {
            format!(
                "{}: {}{}",
                field.name,
                field.r#type,
                if field.optional { "?" } else { "" }
            )
        })
        .collect();
    assert_eq!(
        fields,
        [
            "title: string",
            "author: Author",
            "second: Author?",
            "tags: list<string>?"
        ]
    );
    assert_eq!(class_name::<Author>().unwrap(), "Author");
}

#[test]
fn every_type_of_field_has_its_attribute_type() {
    let shape = probe::<Everything>().unwrap();
    let types: Vec<String> = shape
        .fields
        .iter()
        .map(|field| format!("{} {}", field.name, field.r#type))
        .collect();
    let expected = [
        "flag bool",
        "small int",
        "wide int",
        "ratio float",
        "letter string",
        "text string",
        "maybe int",
        "date date",
        "time time",
        "instant timestamp",
        "length duration",
        "price decimal",
        "id uuid",
        "ids list<uuid>",
        "any any",
        "place struct(x: float, y: float)",
        "places list<struct(x: float, y: float)>",
        "shades list<any>",
        "pair list<int>",
        "mixed list<any>",
        "corners list<float>",
        "set set<string>",
        "counts map<string, int>",
        "days map<date, list<int>>",
        "wrapped string",
        "renamed int",
    ];
    assert_eq!(types, expected);
}

#[test]
fn structs_come_back_as_they_were() {
    let layout = layout::<Everything>();
    let value = everything();
    let body = to_body(&value, &layout).unwrap();
    assert_eq!(from_record::<Everything>(&layout, &body).unwrap(), value);
    // The bytes are those that the values themselves have.
    let values = read_all(&layout, &body).unwrap();
    assert_eq!(encode_body(&layout, &values).unwrap(), body);
    assert_eq!(
        read_slot(&layout, &body, 17)
            .unwrap()
            .to_value()
            .unwrap()
            .to_string(),
        "list('Plain', struct(Number: 4), struct(Mix: list(5, 'm')), struct(Named: struct(name: 'n', of: nil)))"
    );
    // In JSON they are text for people.
    let json = serde_json::to_string(&value).unwrap();
    assert!(json.contains(r#""date":"2024-10-04""#), "{json}");
    assert_eq!(serde_json::from_str::<Everything>(&json).unwrap(), value);
}

#[test]
fn text_is_borrowed_from_the_record() {
    #[derive(Deserialize)]
    struct Author<'a> {
        name: &'a str,
    }
    let layout = layout::<super::tests::Author>();
    let author = super::tests::Author {
        name: "Lem".into(),
        born: 1921,
        books: vec![],
    };
    let body = to_body(&author, &layout).unwrap();
    let read: Author<'_> = from_record(&layout, &body).unwrap();
    assert_eq!(read.name, "Lem");
    assert!(body.as_ptr_range().contains(&read.name.as_ptr()));
}

#[test]
fn a_view_of_a_class_leaves_other_attributes_alone() {
    #[derive(Serialize, Deserialize)]
    #[serde(rename = "Author")]
    struct Name {
        name: String,
    }
    let layout = layout::<Author>();
    let author = Author {
        name: "Lem".into(),
        born: 1921,
        books: vec![Ref::from_oid(oid(1))],
    };
    let body = to_body(&author, &layout).unwrap();
    let changed = updated(
        &Name {
            name: "Stanisław".into(),
        },
        &layout,
        &body,
    )
    .unwrap();
    let read: Author = from_record(&layout, &changed).unwrap();
    assert_eq!(
        (read.name.as_str(), read.born, read.books),
        ("Stanisław", 1921, author.books)
    );
    let missing = to_body(&Name { name: "Lem".into() }, &layout).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "attribute Author.born is not null, and was given no value"
    );
}

#[test]
fn nil_and_absence_take_serde_defaults_only_where_they_must() {
    fn ten() -> Option<i32> {
        Some(10)
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Note {
        text: String,
        #[serde(default = "ten", skip_serializing_if = "Option::is_none")]
        size: Option<i32>,
        #[serde(default)]
        tags: Vec<String>,
    }
    let layout = layout::<Note>();
    let note = Note {
        text: "a".into(),
        size: None,
        tags: vec!["t".into()],
    };
    let body = to_body(&note, &layout).unwrap();
    assert_eq!(from_record::<Note>(&layout, &body).unwrap(), note);
    // A record that is older than the attributes.
    let mut old = layout.clone();
    old.slots.truncate(1);
    let body = encode_body(&old, &["a".into()]).unwrap();
    let expected = Note {
        text: "a".into(),
        size: Some(10),
        tags: vec![],
    };
    assert_eq!(from_record::<Note>(&layout, &body).unwrap(), expected);
    // A nil that a query wrote, in a field that is no Option.
    let body = encode_body(&layout, &["a".into(), Value::Int(1), Value::Nil]).unwrap();
    let expected = Note {
        text: "a".into(),
        size: Some(1),
        tags: vec![],
    };
    assert_eq!(from_record::<Note>(&layout, &body).unwrap(), expected);
    let mut nilable = layout.clone();
    nilable.slots[0].not_null = false;
    let body = encode_body(&nilable, &[Value::Nil]).unwrap();
    let error = from_record::<Note>(&layout, &body).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("attribute Note.text has no value here"),
        "{error}"
    );
    // Setting an Option to None through an update is not lost.
    let full = to_body(
        &Note {
            size: Some(3),
            ..note
        },
        &layout,
    )
    .unwrap();
    let none = Note {
        text: "b".into(),
        size: None,
        tags: vec![],
    };
    let body = updated(&none, &layout, &full).unwrap();
    assert_eq!(from_record::<Note>(&layout, &body).unwrap(), none);
}

#[test]
fn a_set_attribute_takes_a_list_sorted() {
    #[derive(Serialize, Deserialize)]
    struct Tagged {
        tags: Vec<String>,
    }
    let mut layout = layout::<Tagged>();
    layout.slots[0].r#type = Type::set(Type::String);
    let tags = ["b", "a", "b"].map(String::from).to_vec();
    let body = to_body(&Tagged { tags }, &layout).unwrap();
    assert_eq!(read_all(&layout, &body).unwrap(), [Value::set(["a", "b"])]);
    assert_eq!(from_record::<Tagged>(&layout, &body).unwrap().tags, ["a", "b"]);
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_attribute() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Wide {
        number: u64,
    }
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename = "Wide")]
    struct Narrow {
        number: u8,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Other {
        name: String,
    }
    let layout = layout::<Wide>();
    let error = to_body(&Wide { number: u64::MAX }, &layout).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("attribute Wide.number: 18446744073709551615 is out of"),
        "{error}"
    );
    let body = to_body(&Wide { number: 300 }, &layout).unwrap();
    let error = from_record::<Narrow>(&layout, &body).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("attribute Wide.number: invalid value"),
        "{error}"
    );
    let error = to_body(&Other { name: "x".into() }, &layout).unwrap_err();
    assert!(
        matches!(&error, Error::Schema(_)) && error.to_string().contains("no attribute name"),
        "{error}"
    );
    let error = to_body(&3, &layout).unwrap_err();
    assert!(
        error.to_string().contains("must be a struct with named fields"),
        "{error}"
    );
    assert!(from_record::<u64>(&layout, &body).is_err());
}

#[test]
fn what_cannot_come_back_as_it_was_is_refused() {
    #[derive(Deserialize)]
    struct Empty {}
    #[derive(Deserialize)]
    struct Unit;
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Twice {
        value: Option<Option<i32>>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Flat {
        #[serde(flatten)]
        rest: HashMap<String, i32>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Tree {
        children: Vec<Tree>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Nothing {
        unit: (),
    }
    fn refusal<T: DeserializeOwned>() -> String {
        probe::<T>().unwrap_err().to_string()
    }
    assert!(refusal::<Empty>().contains("no fields"));
    assert!(refusal::<Unit>().contains("a unit"));
    assert!(refusal::<Twice>().contains("Option within an Option"));
    assert!(refusal::<Flat>().contains("flattened field"));
    assert!(refusal::<Tree>().contains("Ref<Tree>"));
    assert!(refusal::<Nothing>().contains("Nothing.unit"));
    assert!(refusal::<(i32, i32)>().contains("not a struct"));
    assert!(refusal::<Shade>().contains("not a struct"));
    assert!(refusal::<i32>().contains("not a struct"));
}

#[test]
fn damaged_bytes_never_panic_and_never_become_a_struct_silently() {
    use crate::object::arbitrary_tests::Random;
    let mut random = Random::new("bridge damage");
    let layout = layout::<Everything>();
    let body = to_body(&everything(), &layout).unwrap();
    for _ in 0..3_000 {
        let mut damaged = body.clone();
        match random.below(2) {
            0 => damaged.truncate(random.below(body.len())),
            _ => {
                let place = random.below(body.len());
                damaged[place] = random.next() as u8;
            }
        }
        drop(from_record::<Everything>(&layout, &damaged));
    }
    for length in 0..body.len() {
        assert!(from_record::<Everything>(&layout, &body[..length]).is_err());
    }
}

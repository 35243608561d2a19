//! The codec on random values, on younger classes and on damaged bytes.

use std::sync::Arc;

use super::super::arbitrary_tests::{Random, a_type, int, value_of};
use super::super::layout::{Layout, Slot};
use super::super::{ClassId, Oid, Type, Value};
use super::*;
use crate::error::Error;

fn slot(name: &str, r#type: Type) -> Slot {
    Slot {
        name: name.into(),
        r#type,
        default: Value::Nil,
        not_null: false,
        dropped: false,
        converted_from: None,
    }
}

fn layout(slots: Vec<Slot>) -> Layout {
    Layout::new(ClassId(64), "Person".into(), slots, Vec::new())
}

fn random_layout(random: &mut Random) -> Layout {
    let count = random.pick(&[0, 1, 2, 5, 62, 63, 70]);
    layout(
        (0..count)
            .map(|i| slot(&format!("a{i}"), a_type(random, 3)))
            .collect(),
    )
}

fn random_values(random: &mut Random, layout: &Layout) -> Vec<Value> {
    layout
        .slots
        .iter()
        .map(|slot| value_of(random, &slot.r#type, 2))
        .collect()
}

/// Reads everything that can be read.
fn read_everything(layout: &Layout, body: &[u8]) {
    for number in 0..layout.slots.len() + 1 {
        if let Ok(value) = read_slot(layout, body, number) {
            value.compare(value);
            value.compare_operator(value);
            value.hash_into(&mut std::hash::DefaultHasher::new());
            drop((value.len(), value.type_name(), value.field("f0"), value.as_str()));
        }
    }
    drop(read_all(layout, body).map(|values| Value::list(values).to_string()));
    drop(references(layout, body).collect::<Vec<_>>());
    drop(check_not_null(layout, body));
    drop(rewrite(layout, body, &[(0, Value::Nil)]));
}

#[test]
fn bodies_give_back_what_was_put_in() {
    let mut random = Random::new("bodies");
    for _ in 0..1_000 {
        let layout = random_layout(&mut random);
        let values = random_values(&mut random, &layout);
        let body = encode_body(&layout, &values).unwrap();
        let read = read_all(&layout, &body).unwrap();
        assert_eq!(read, values);
        // Equal values of different types are equal, so the text tells more.
        assert_eq!(format!("{read:?}"), format!("{values:?}"));
        for (number, value) in values.iter().enumerate() {
            let stored = read_slot(&layout, &body, number).unwrap();
            assert!(stored.compare(value.as_ref()).is_eq());
            assert_eq!(stored.len(), value.as_ref().len());
            assert_eq!(stored.kind(), value.as_ref().kind());
        }
    }
}

#[test]
fn a_rewrite_is_the_body_of_the_changed_values() {
    let mut random = Random::new("rewrite");
    for _ in 0..500 {
        let layout = random_layout(&mut random);
        let mut values = random_values(&mut random, &layout);
        let body = encode_body(&layout, &values).unwrap();
        let changes: Vec<(usize, Value)> = (0..values.len().min(3))
            .map(|_| {
                let number = random.below(values.len());
                (number, value_of(&mut random, &layout.slots[number].r#type, 2))
            })
            .collect();
        let rewritten = rewrite(&layout, &body, &changes).unwrap();
        for (number, value) in changes {
            values[number] = value;
        }
        assert_eq!(rewritten, encode_body(&layout, &values).unwrap());
    }
}

#[test]
fn an_attribute_younger_than_the_record_has_its_default() {
    let old = layout(vec![slot("name", Type::String)]);
    let body = encode_body(&old, &["Lem".into()]).unwrap();
    let mut born = slot("born", Type::Int);
    born.default = Value::Int(1921);
    let new = layout(vec![slot("name", Type::String), born, slot("died", Type::Int)]);
    let expected: [Value; 3] = ["Lem".into(), Value::Int(1921), Value::Nil];
    assert_eq!(read_all(&new, &body).unwrap(), expected);
    let rewritten = rewrite(&new, &body, &[(2, Value::Int(2006))]).unwrap();
    let expected: [Value; 3] = ["Lem".into(), Value::Int(1921), Value::Int(2006)];
    assert_eq!(read_all(&new, &rewritten).unwrap(), expected);
    // An inserted object that leaves it out has it too; nil given is nil.
    let inserted = encode_body(&new, &["Lem".into()]).unwrap();
    assert!(
        read_slot(&new, &inserted, 1)
            .unwrap()
            .compare(Value::Int(1921).as_ref())
            .is_eq()
    );
    let given = encode_body(&new, &["Lem".into(), Value::Nil]).unwrap();
    assert!(read_slot(&new, &given, 1).unwrap().is_nil());
}

#[test]
fn damaged_bytes_never_panic() {
    let mut random = Random::new("damage");
    for _ in 0..1_500 {
        let layout = random_layout(&mut random);
        let values = random_values(&mut random, &layout);
        let mut body = encode_body(&layout, &values).unwrap();
        for _ in 0..4 {
            match random.below(3) {
                0 => body.truncate(random.below(body.len() + 1)),
                1 => body.extend((0..random.below(20)).map(|_| random.next() as u8)),
                _ => {
                    for _ in 0..random.below(4).min(body.len()) {
                        let place = random.below(body.len());
                        body[place] = random.next() as u8;
                    }
                }
            }
            read_everything(&layout, &body);
        }
        let rubbish: Vec<u8> = (0..random.below(64)).map(|_| random.next() as u8).collect();
        read_everything(&layout, &rubbish);
    }
}

#[test]
fn a_huge_count_is_refused_without_an_allocation() {
    let list = Type::list(Type::Int);
    for bytes in [
        &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01][..],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 7],
        &[0x80],
        &[10, 1, 2],
    ] {
        let error = decode(&list, bytes).unwrap().to_value().unwrap_err();
        assert!(matches!(error, Error::Corruption(_)), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let mut value = Value::Int(1);
    for _ in 0..MAX_DEPTH + 5 {
        value = Value::list([value]);
    }
    let layout = layout(vec![slot("a", Type::Any)]);
    let error = encode_body(&layout, &[value]).unwrap_err();
    assert!(error.to_string().contains("nests more than"), "{error}");
    let mut bytes = [Tag::List as u8, 2].repeat(100_000);
    bytes.push(0);
    assert!(decode(&Type::Any, &bytes).unwrap().to_value().is_err());
}

#[test]
fn values_are_in_postcard_encoding() {
    let mut random = Random::new("postcard");
    for _ in 0..2_000 {
        let number = int(&mut random);
        let mut bytes = Vec::new();
        put(&Type::Int, &Value::Int(number), &mut bytes);
        assert_eq!(bytes, postcard::to_allocvec(&number).unwrap());
        assert_eq!(decode_int(&bytes).unwrap(), Some(number));
    }
    let mut bytes = Vec::new();
    put(&Type::String, &"Łem".into(), &mut bytes);
    put(&Type::Float, &Value::Float(1.5), &mut bytes);
    put(&Type::Bool, &Value::Bool(true), &mut bytes);
    assert_eq!(bytes, postcard::to_allocvec(&("Łem", 1.5, true)).unwrap());
}

#[test]
fn typed_decoders_tell_nil_from_empty_and_refuse_leftovers() {
    assert_eq!(decode_string(&[]).unwrap(), None);
    assert_eq!(decode_string(&[0]).unwrap(), Some(&[][..]));
    assert_eq!(decode_string(&[1, b'a']).unwrap(), Some(&b"a"[..]));
    assert!(decode_string(&[1, b'a', b'b']).is_err());
    assert!(decode_string(&[2, b'a']).is_err());
    assert_eq!(decode_int(&[]).unwrap(), None);
    assert!(decode_int(&[0, 0]).is_err());
    assert!(decode_int(&[0xff; 11]).is_err());
    assert_eq!(decode_float(&1.5f64.to_le_bytes()).unwrap(), Some(1.5));
    assert!(decode_float(&[1]).is_err());
    assert_eq!(decode_bool(&[1]).unwrap(), Some(true));
    assert!(decode_bool(&[2]).is_err());
    let oid = Oid::new(ClassId(64), 42).unwrap();
    assert_eq!(decode_reference(&oid.to_bits().to_le_bytes()).unwrap(), Some(oid));
    assert!(decode_reference(&[0; 8]).is_err());
}

#[test]
fn references_are_found_wherever_they_are() {
    let oids: Vec<Oid> = (1..=6)
        .map(|serial| Oid::new(ClassId(64), serial).unwrap())
        .collect();
    let reference = Type::reference("Person");
    let layout = layout(vec![
        slot("boss", reference.clone()),
        slot("name", Type::String),
        slot("friends", Type::list(reference.clone())),
        slot(
            "roles",
            Type::map(Type::String, Type::structure([("of", reference)])),
        ),
        slot("extra", Type::Any),
    ]);
    let values = [
        Value::from(oids[0]),
        "Lem".into(),
        Value::list([Value::from(oids[1]), Value::Nil, oids[2].into()]),
        Value::map([("a", Value::structure([("of", oids[3])]))]),
        Value::set([Value::list([oids[4]]), Value::map([(1, oids[5])])]),
    ];
    let body = encode_body(&layout, &values).unwrap();
    let found: Vec<Oid> = references(&layout, &body).map(Result::unwrap).collect();
    assert_eq!(found, oids);
}

#[test]
fn errors_name_class_and_attribute() {
    let mut name = slot("name", Type::String);
    name.not_null = true;
    let mut boss = slot("boss", Type::reference("Person"));
    boss.not_null = true;
    let layout = layout(vec![name, boss, slot("age", Type::Int)]);
    let error = encode_body(&layout, &[Value::Nil]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attribute Person.name is not null, and was given no value"
    );
    let values = ["Lem".into(), Value::Nil, "old".into()];
    let error = encode_body(&layout, &values).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attribute Person.age: expected int, found string 'old'"
    );
    // A reference may be set later; at commit it must be there.
    let body = encode_body(&layout, &["Lem".into()]).unwrap();
    let error = check_not_null(&layout, &body).unwrap_err();
    assert!(matches!(&error, Error::Constraint(_)), "{error}");
    let Error::Corruption(damage) = read_slot(&layout, &[12, 200, 200, 200], 0).unwrap_err() else {
        panic!("not corruption")
    };
    assert_eq!(damage.place, "attribute Person.name");
}

#[test]
fn a_body_is_small() {
    let layout = layout(vec![
        slot("name", Type::String),
        slot("age", Type::Int),
        slot("x", Type::Bool),
    ]);
    let body = encode_body(&layout, &["Lem".into(), Value::Int(40), Value::Nil]).unwrap();
    // One byte of header, one an offset, text with its length, and the number.
    assert_eq!(body, [3 << 2, 4, 5, 5, 3, b'L', b'e', b'm', 80]);
    let long = encode_body(&layout, &["x".repeat(300).into()]).unwrap();
    assert_eq!(long.len(), 1 + 3 * 2 + 302);
    assert_eq!(Body::new(&long).unwrap().count(), 3);
}

#[test]
fn values_widen_where_that_is_exact() {
    let shared: Arc<str> = "a".into();
    let fields = Type::structure([(shared.clone(), Type::Float), ("b".into(), Type::Int)]);
    let good = [
        (Value::Int(3), Type::Float, "3.0"),
        (Value::Int(3), Type::Decimal, "3d"),
        (Value::list([2, 1, 2]), Type::set(Type::Float), "set(1.0, 2.0)"),
        (Value::list([2, 1, 2]), Type::bag(Type::Int), "bag(1, 2, 2)"),
        (
            Value::structure([("b", 1)]),
            fields.clone(),
            "struct(a: nil, b: 1)",
        ),
        (
            Value::Set([Value::Int(2), Value::Int(1)].into()),
            Type::Any,
            "set(1, 2)",
        ),
        (
            Value::map([(1, 2)]),
            Type::map(Type::Float, Type::Int),
            "map(1.0: 2)",
        ),
    ];
    for (value, to, expected) in good {
        assert_eq!(crate::object::coerce(value, &to).unwrap().to_string(), expected);
    }
    let bad = [
        (Value::Int((1 << 53) + 1), Type::Float),
        (Value::Float(1.5), Type::Int),
        (Value::Float(1.5), Type::Decimal),
        (Value::set([1]), Type::list(Type::Int)),
        (Value::structure([("c", 1)]), fields),
        (Value::Date(crate::object::Date(i32::MAX)), Type::Date),
        (Value::Time(crate::object::Time(-1)), Type::Any),
    ];
    for (value, to) in bad {
        assert!(
            crate::object::coerce(value.clone(), &to).is_err(),
            "{value} to {to}"
        );
    }
}

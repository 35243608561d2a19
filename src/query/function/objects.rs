//! Functions on objects.

use crate::catalog::Class;
use crate::error::Result;
use crate::object::{Oid, Type, Value, codec};
use crate::read::ExtentPosition;

use super::table::{Call, Function, argument, mismatch};

/// Objects read at once by `referrers`.
const BATCH: usize = 1024;

pub(super) const FUNCTIONS: &[Function] = &[
    of_object("oid", "oid(object)", |t| is_object(t).then_some(Type::Int), oid),
    of_object(
        "class",
        "class(object)",
        |t| is_object(t).then_some(Type::String),
        class,
    ),
    of_object(
        "commit",
        "commit(object)",
        |t| is_object(t).then_some(Type::Int),
        commit,
    ),
    of_object(
        "referrers",
        "referrers(object)",
        |t| is_object(t).then(|| Type::set(Type::Any)),
        referrers,
    ),
];

const fn of_object(
    name: &'static str,
    usage: &'static str,
    result: fn(&[Type]) -> Option<Type>,
    run: fn(&Call<'_>, &[Value]) -> Result<Value>,
) -> Function {
    Function {
        name,
        usage,
        strict: true,
        result,
        run,
    }
}

fn is_object(types: &[Type]) -> bool {
    matches!(types, [Type::Reference(_) | Type::Any])
}

fn reference(function: &str, arguments: &[Value]) -> Result<Oid> {
    match argument(arguments, 0) {
        Value::Reference(oid) => Ok(*oid),
        other => Err(mismatch(function, "an object", other)),
    }
}

/// The 64 bits of the identifier.
fn oid(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(Value::Int(reference("oid", arguments)?.to_bits().cast_signed()))
}

/// The name of the object's own class.
fn class(call: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let class = reference("class", arguments)?.class();
    let found = call.reader.catalog().classes.get(&class);
    Ok(found.map_or(Value::Nil, |class| Value::String(class.name.clone())))
}

/// The number of the commit that wrote the object; 0 for a write of the reading transaction, nil if it is gone.
fn commit(call: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let record = call.reader.object(reference("commit", arguments)?)?;
    Ok(record.map_or(Value::Nil, |record| {
        Value::Int(i64::try_from(record.commit.0).unwrap_or(i64::MAX))
    }))
}

/// All objects that hold a reference to this one anywhere; reads every extent whose class has references.
fn referrers(call: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let target = reference("referrers", arguments)?;
    let mut found = Vec::new();
    for class in call.reader.catalog().classes.values() {
        if !class.id.is_system() && class.attributes.iter().any(|a| holds_references(&a.r#type)) {
            referrers_in(call, class, target, &mut found)?;
        }
    }
    Ok(Value::set(found))
}

fn referrers_in(call: &Call<'_>, class: &Class, target: Oid, found: &mut Vec<Value>) -> Result<()> {
    let mut position = ExtentPosition::default();
    let mut records = Vec::new();
    loop {
        records.clear();
        (call.check)()?;
        call.reader.scan(class.id, &mut position, BATCH, &mut records)?;
        if records.is_empty() {
            return Ok(());
        }
        for record in &records {
            for reference in codec::references(&class.layout, &record.body) {
                if reference? == target {
                    found.push(Value::Reference(record.oid));
                    break;
                }
            }
        }
    }
}

fn holds_references(t: &Type) -> bool {
    match t {
        Type::Any | Type::Reference(_) => true,
        Type::List(member) | Type::Set(member) | Type::Bag(member) => holds_references(member),
        Type::Map(key, value) => holds_references(key) || holds_references(value),
        Type::Struct(fields) => fields.iter().any(|(_, t)| holds_references(t)),
        _ => false,
    }
}

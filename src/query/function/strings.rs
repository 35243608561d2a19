//! Functions on strings. Positions count characters from 1.

use crate::error::{Error, Result};
use crate::object::{Type, Value};

use super::table::{Call, Function, argument, mismatch, takes};

/// The longest string a function makes, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

pub(super) const FUNCTIONS: &[Function] = &[
    pure(
        "length",
        "length(string | bytes | collection)",
        length_type,
        length,
    ),
    pure("lower", "lower(string)", text_to_text, lower),
    pure("upper", "upper(string)", text_to_text, upper),
    pure("trim", "trim(string [, characters string])", trim_type, trim),
    pure("ltrim", "ltrim(string [, characters string])", trim_type, ltrim),
    pure("rtrim", "rtrim(string [, characters string])", trim_type, rtrim),
    pure(
        "substring",
        "substring(string, from int [, count int])",
        substring_type,
        substring,
    ),
    pure(
        "position",
        "position(string, part string)",
        position_type,
        position,
    ),
    pure(
        "replace",
        "replace(string, from string, to string)",
        replace_type,
        replace,
    ),
    pure("split", "split(string, separator string)", split_type, split),
    Function {
        strict: false,
        ..pure("concat", "concat(string, ...)", concat_type, concat)
    },
    pure(
        "starts_with",
        "starts_with(string, start string)",
        test_type,
        starts_with,
    ),
    pure("ends_with", "ends_with(string, end string)", test_type, ends_with),
    pure(
        "contains",
        "contains(string, part string)",
        contains_type,
        contains,
    ),
    pure("reverse", "reverse(string | list)", reverse_type, reverse),
    pure("repeat", "repeat(string, times int)", repeat_type, repeat),
    pure("lpad", "lpad(string, length int [, fill string])", pad_type, lpad),
    pure("rpad", "rpad(string, length int [, fill string])", pad_type, rpad),
];

const fn pure(
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

fn text<'a>(function: &str, arguments: &'a [Value], index: usize) -> Result<&'a str> {
    match argument(arguments, index) {
        Value::String(text) => Ok(text),
        other => Err(mismatch(function, "a string", other)),
    }
}

fn int(function: &str, arguments: &[Value], index: usize) -> Result<i64> {
    match argument(arguments, index) {
        Value::Int(number) => Ok(*number),
        other => Err(mismatch(function, "an int", other)),
    }
}

fn string(text: impl Into<std::sync::Arc<str>>) -> Result<Value> {
    Ok(Value::String(text.into()))
}

fn count(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn too_long(function: &str) -> Error {
    Error::Limit(format!(
        "{function} would make a string of more than {LONGEST} bytes"
    ))
}

fn text_to_text(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String], 0).then_some(Type::String)
}

fn length_type(types: &[Type]) -> Option<Type> {
    let [t] = types else { return None };
    let counted = matches!(t, Type::String | Type::Bytes | Type::Any | Type::Map(..)) || t.member().is_some();
    counted.then_some(Type::Int)
}

fn length(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(match argument(arguments, 0) {
        Value::String(text) => count(text.chars().count()),
        Value::Bytes(bytes) => count(bytes.len()),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => count(members.len()),
        Value::Map(entries) => count(entries.len()),
        other => return Err(mismatch("length", "a string, bytes or collection", other)),
    })
}

fn lower(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    string(text("lower", arguments, 0)?.to_lowercase())
}

fn upper(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    string(text("upper", arguments, 0)?.to_uppercase())
}

fn trim_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::String], 1).then_some(Type::String)
}

fn trimmed(function: &str, arguments: &[Value], start: bool, end: bool) -> Result<Value> {
    let mut rest = text(function, arguments, 0)?;
    let given = match arguments.len() {
        0 | 1 => None,
        _ => Some(text(function, arguments, 1)?),
    };
    let unwanted = |c: char| given.map_or(c.is_whitespace(), |given| given.contains(c));
    if start {
        rest = rest.trim_start_matches(unwanted);
    }
    if end {
        rest = rest.trim_end_matches(unwanted);
    }
    string(rest)
}

fn trim(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    trimmed("trim", arguments, true, true)
}

fn ltrim(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    trimmed("ltrim", arguments, true, false)
}

fn rtrim(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    trimmed("rtrim", arguments, false, true)
}

fn substring_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::Int, Type::Int], 1).then_some(Type::String)
}

/// Characters `from .. from + count`; what lies before the first character or after the last is left out, so
/// `substring('abc', 0, 2)` is `'a'`, as in SQL.
fn substring(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let whole = text("substring", arguments, 0)?;
    let from = int("substring", arguments, 1)?;
    let end = match arguments.len() {
        0..=2 => i64::MAX,
        _ => from.saturating_add(int("substring", arguments, 2)?),
    };
    let skip = usize::try_from(from.saturating_sub(1).max(0)).unwrap_or(usize::MAX);
    let take = usize::try_from(end.saturating_sub(from.max(1)).max(0)).unwrap_or(usize::MAX);
    string(whole.chars().skip(skip).take(take).collect::<String>())
}

fn position_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::String], 0).then_some(Type::Int)
}

/// The first character at which `part` begins, counted from 1; 0 if it does not occur.
fn position(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let whole = text("position", arguments, 0)?;
    let part = text("position", arguments, 1)?;
    let before = whole.find(part).and_then(|at| whole.get(..at));
    Ok(before.map_or(Value::Int(0), |before| {
        count(before.chars().count().saturating_add(1))
    }))
}

fn replace_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::String, Type::String], 0).then_some(Type::String)
}

fn replace(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let whole = text("replace", arguments, 0)?;
    let from = text("replace", arguments, 1)?;
    let to = text("replace", arguments, 2)?;
    if from.is_empty() {
        return string(whole);
    }
    let found = whole.matches(from).count();
    let longest = whole.len().saturating_add(found.saturating_mul(to.len()));
    if longest > LONGEST && to.len() > from.len() {
        return Err(too_long("replace"));
    }
    string(whole.replace(from, to))
}

fn split_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::String], 0).then(|| Type::list(Type::String))
}

/// The parts between the separators; an empty separator gives the characters.
fn split(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let whole = text("split", arguments, 0)?;
    let separator = text("split", arguments, 1)?;
    let parts = if separator.is_empty() {
        whole
            .chars()
            .map(|c| Value::String(c.to_string().into()))
            .collect()
    } else {
        whole
            .split(separator)
            .map(|part| Value::String(part.into()))
            .collect()
    };
    Ok(Value::List(parts))
}

fn concat_type(types: &[Type]) -> Option<Type> {
    let fits = types.iter().all(|t| matches!(t, Type::String | Type::Any));
    (fits && !types.is_empty()).then_some(Type::String)
}

/// All strings in one; a nil is skipped (with `||` it would make the whole nil).
fn concat(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let mut whole = String::new();
    for (index, argument) in arguments.iter().enumerate() {
        if !matches!(argument, Value::Nil) {
            whole.push_str(text("concat", arguments, index)?);
        }
        if whole.len() > LONGEST {
            return Err(too_long("concat"));
        }
    }
    string(whole)
}

fn test_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::String], 0).then_some(Type::Bool)
}

fn starts_with(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let start = text("starts_with", arguments, 1)?;
    Ok(Value::Bool(text("starts_with", arguments, 0)?.starts_with(start)))
}

fn ends_with(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let end = text("ends_with", arguments, 1)?;
    Ok(Value::Bool(text("ends_with", arguments, 0)?.ends_with(end)))
}

fn contains_type(types: &[Type]) -> Option<Type> {
    test_type(types).or_else(|| match types {
        [collection, _] => collection.member().map(|_| Type::Bool),
        _ => None,
    })
}

fn contains(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    match argument(arguments, 0) {
        Value::List(members) | Value::Set(members) | Value::Bag(members) => {
            let found = super::compare::member(argument(arguments, 1), members);
            Ok(super::compare::truth(found))
        }
        _ => {
            let part = text("contains", arguments, 1)?;
            Ok(Value::Bool(text("contains", arguments, 0)?.contains(part)))
        }
    }
}

fn reverse_type(types: &[Type]) -> Option<Type> {
    match types {
        [t @ (Type::String | Type::List(_) | Type::Any)] => Some(t.clone()),
        _ => None,
    }
}

fn reverse(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    match argument(arguments, 0) {
        Value::List(members) => Ok(Value::List(members.iter().rev().cloned().collect())),
        _ => string(text("reverse", arguments, 0)?.chars().rev().collect::<String>()),
    }
}

fn repeat_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::Int], 0).then_some(Type::String)
}

fn repeat(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let whole = text("repeat", arguments, 0)?;
    let times = usize::try_from(int("repeat", arguments, 1)?.max(0)).unwrap_or(usize::MAX);
    if whole.len().saturating_mul(times) > LONGEST {
        return Err(too_long("repeat"));
    }
    string(whole.repeat(times))
}

fn pad_type(types: &[Type]) -> Option<Type> {
    takes(types, &[Type::String, Type::Int, Type::String], 1).then_some(Type::String)
}

/// The text cut to `length` characters, and the fill that is missing.
fn padding(function: &str, arguments: &[Value]) -> Result<(String, String)> {
    let whole = text(function, arguments, 0)?;
    let wanted = usize::try_from(int(function, arguments, 1)?.max(0)).unwrap_or(usize::MAX);
    let fill = match arguments.len() {
        0..=2 => " ",
        _ => text(function, arguments, 2)?,
    };
    if wanted > LONGEST {
        return Err(too_long(function));
    }
    let kept: String = whole.chars().take(wanted).collect();
    let missing = wanted.saturating_sub(kept.chars().count());
    let padding = fill.chars().cycle().take(missing).collect();
    Ok((kept, padding))
}

fn lpad(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let (kept, padding) = padding("lpad", arguments)?;
    string(padding + &kept)
}

fn rpad(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let (kept, padding) = padding("rpad", arguments)?;
    string(kept + &padding)
}

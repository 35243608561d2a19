//! The table of functions: names, argument types, result types, and where each is implemented.

use crate::error::{QueryError, QueryErrorCode, Result, Span};
use crate::object::{Timestamp, Type, Value};
use crate::query::nearest;
use crate::query::plan::FunctionId;
use crate::read::Reader;

/// What a function may use beside its arguments.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The state that is read.
    pub reader: &'a dyn Reader,
    /// The time of the statement: every `now()` in it is the same.
    pub now: Timestamp,
    /// Fails if the query is to stop; asked by functions that read much.
    pub check: &'a dyn Fn() -> Result<()>,
}

/// A function.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How it is called, for messages.
    pub usage: &'static str,
    /// Whether any nil argument makes the result nil without a call.
    pub strict: bool,
    /// The result type for these argument types; `None` if they do not fit. `any` fits everywhere.
    pub result: fn(&[Type]) -> Option<Type>,
    /// The implementation; argument types were checked but where they are `any`.
    pub run: fn(&Call<'_>, &[Value]) -> Result<Value>,
}

const TABLES: [&[Function]; 6] = [
    super::strings::FUNCTIONS,
    super::numbers::FUNCTIONS,
    super::time::FUNCTIONS,
    super::collections::FUNCTIONS,
    super::objects::FUNCTIONS,
    super::other::FUNCTIONS,
];

fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The function that a bound call names.
pub fn definition(id: FunctionId) -> Result<&'static Function> {
    all().nth(usize::from(id.0)).ok_or_else(|| {
        super::arithmetic::failure(QueryErrorCode::UnknownFunction, "the plan is of another version")
    })
}

impl Function {
    /// Calls the function.
    pub fn call(&self, call: &Call<'_>, arguments: &[Value]) -> Result<Value> {
        if self.strict && arguments.iter().any(Value::is_nil) {
            return Ok(Value::Nil);
        }
        (self.run)(call, arguments)
    }
}

/// The names of all functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|function| function.name)
}

/// Finds the function `name` (in any case) for arguments of these types, and the type of its result.
///
/// The errors point at `span`, and suggest the nearest name or show how the function is called.
pub fn resolve(name: &str, arguments: &[Type], span: Span) -> Result<(FunctionId, Type), QueryError> {
    let Some((function, id)) = all()
        .zip(0..)
        .find(|(function, _)| function.name.eq_ignore_ascii_case(name))
    else {
        let error = QueryError::new(
            QueryErrorCode::UnknownFunction,
            span,
            format!("there is no function {name}"),
        );
        return Err(match nearest(name, names()) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error,
        });
    };
    match (function.result)(arguments) {
        Some(result) => Ok((FunctionId(id), result)),
        None => {
            let types: Vec<String> = arguments.iter().map(Type::to_string).collect();
            let message = format!("{} does not take ({})", function.name, types.join(", "));
            Err(QueryError::new(QueryErrorCode::UnknownFunction, span, message)
                .hint(format!("it is called as {}", function.usage)))
        }
    }
}

/// Whether an argument of type `given` can stand where `wanted` is.
pub(super) fn fits(given: &Type, wanted: &Type) -> bool {
    given == wanted || *given == Type::Any || *wanted == Type::Any
}

/// Whether these arguments fit the `wanted` ones, of which the last `optional` may be left out.
pub(super) fn takes(arguments: &[Type], wanted: &[Type], optional: usize) -> bool {
    arguments.len() <= wanted.len()
        && arguments.len().saturating_add(optional) >= wanted.len()
        && arguments
            .iter()
            .zip(wanted)
            .all(|(given, wanted)| fits(given, wanted))
}

/// The argument at `index`; nil where it was left out.
pub(super) fn argument(arguments: &[Value], index: usize) -> &Value {
    static NIL: Value = Value::Nil;
    arguments.get(index).unwrap_or(&NIL)
}

/// The error of an argument of type `any` that turned out to be of a wrong kind.
#[cold]
pub(super) fn mismatch(function: &str, wanted: &str, found: &Value) -> crate::error::Error {
    let found = found.type_name();
    super::arithmetic::failure(
        QueryErrorCode::Type,
        format!("{function} needs {wanted}, but was given {found}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_function_shows_its_own_call() {
        let mut seen = std::collections::HashSet::new();
        for function in all() {
            assert!(seen.insert(function.name), "{} twice", function.name);
            assert!(function.usage.starts_with(&format!("{}(", function.name)));
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let error = resolve("lenght", &[Type::String], Span::new(3, 9)).unwrap_err();
        assert_eq!(error.code, QueryErrorCode::UnknownFunction);
        assert_eq!(error.hint.as_deref(), Some("did you mean length?"));
        assert_eq!(error.span, Span::new(3, 9));
    }

    #[test]
    fn wrong_arguments_show_how_the_function_is_called() {
        let error = resolve("Substring", &[Type::Int], Span::default()).unwrap_err();
        assert!(error.hint.unwrap().contains("substring(string, from"));
        assert!(resolve("SUBSTRING", &[Type::Any, Type::Int], Span::default()).is_ok());
    }
}

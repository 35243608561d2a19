//! Compiled closures give what the tree-walking evaluator gives.

use std::sync::Arc;

use super::store::{company, people, person};
use crate::error::{Error, Span};
use crate::object::{Type, Value};
use crate::query::exec::batch::Batch;
use crate::query::exec::build;
use crate::query::exec::compile::{Compiler, Row, Typed, evaluate};
use crate::query::exec::context::{Context, Options, Run, Shared};
use crate::query::plan::{Arithmetic, Comparison, Expression, ExpressionKind, LikePattern, Plan, Slots};
use crate::read::Reader;

/// A generator of numbers that needs nothing but its seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn expression(kind: ExpressionKind, r#type: Type) -> Expression {
    Expression::new(kind, r#type, Span::new(1, 2))
}

fn attribute(name: &str, slot: usize, r#type: Type) -> Expression {
    let base = Box::new(Expression::column(person(), Span::default()));
    let slots = Slots::Same(slot);
    expression(
        ExpressionKind::Attribute {
            base,
            name: name.into(),
            slots,
        },
        r#type,
    )
}

fn constant(value: Value, r#type: Type) -> Expression {
    Expression::constant(value, r#type)
}

fn number(random: &mut Random, depth: u32, wanted: &Type) -> Expression {
    let float = *wanted == Type::Float;
    if depth == 0 || random.below(3) == 0 {
        let literal = random.below(9) as i64 - 4;
        return match (float, random.below(3)) {
            (false, 0) => constant(Value::Int(literal), Type::Int),
            (false, 1) => constant(Value::Nil, Type::Int),
            (false, _) => attribute("age", 1, Type::Int),
            (true, 0) => constant(Value::Float(literal as f64 / 2.0), Type::Float),
            (true, _) => attribute("score", 2, Type::Float),
        };
    }
    let operators = [
        Arithmetic::Add,
        Arithmetic::Subtract,
        Arithmetic::Multiply,
        Arithmetic::Divide,
        Arithmetic::Remainder,
    ];
    let other = if float && random.below(2) == 0 {
        Type::Int
    } else {
        wanted.clone()
    };
    expression(
        ExpressionKind::Arithmetic {
            operator: operators[random.below(5) as usize],
            left: Box::new(number(random, depth - 1, wanted)),
            right: Box::new(number(random, depth - 1, &other)),
        },
        wanted.clone(),
    )
}

fn comparison(random: &mut Random) -> ExpressionKind {
    let operators = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
    let text = |random: &mut Random| constant(Value::from(format!("name{}", random.below(97))), Type::String);
    let (left, right) = match random.below(7) {
        0 => (attribute("name", 0, Type::String), text(random)),
        1 => (text(random), attribute("name", 0, Type::String)),
        2 => (number(random, 1, &Type::Int), number(random, 1, &Type::Float)),
        3 => (
            attribute("score", 2, Type::Float),
            constant(Value::Float(f64::NAN), Type::Float),
        ),
        4 => (attribute("extra", 6, Type::Any), number(random, 0, &Type::Float)),
        5 => (number(random, 1, &Type::Float), number(random, 1, &Type::Float)),
        _ => (number(random, 1, &Type::Int), number(random, 1, &Type::Int)),
    };
    ExpressionKind::Compare {
        operator: operators[random.below(6) as usize],
        left: Box::new(left),
        right: Box::new(right),
    }
}

fn predicate(random: &mut Random, depth: u32) -> Expression {
    use ExpressionKind as K;
    let choice = if depth == 0 {
        3 + random.below(8)
    } else {
        random.below(11)
    };
    let mut both = |depth| vec![predicate(random, depth), predicate(random, depth)];
    let kind = match choice {
        0 => K::And(both(depth - 1)),
        1 => K::Or(both(depth - 1)),
        2 => K::Not(Box::new(predicate(random, depth - 1))),
        3 => K::IsNil(Box::new(attribute("age", 1, Type::Int))),
        4 => K::Between {
            value: Box::new(attribute("age", 1, Type::Int)),
            low: Box::new(constant(Value::Int(20), Type::Int)),
            high: Box::new(number(random, 0, &Type::Int)),
        },
        5 => K::InSet {
            value: Box::new(number(random, 1, &Type::Int)),
            members: vec![Value::Int(-3), Value::Int(7), Value::Int(50)].into(),
            has_nil: random.below(2) == 0,
        },
        6 => K::InSet {
            value: Box::new(attribute("name", 0, Type::String)),
            members: vec![Value::from("name3"), Value::from("name77")].into(),
            has_nil: random.below(2) == 0,
        },
        7 => K::Like {
            value: Box::new(attribute("name", 0, Type::String)),
            pattern: LikePattern::parse(
                ["name1%", "%7", "n_me%3", "%ME2%"][random.below(4) as usize],
                None,
            )
            .unwrap(),
            ignore_case: random.below(2) == 0,
        },
        8 => return attribute("active", 5, Type::Bool),
        _ => comparison(random),
    };
    expression(kind, Type::Bool)
}

fn show(result: Result<Value, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(Error::Query(error)) => format!("error {:?} at {:?}", error.code, error.span),
        Err(error) => format!("{error}"),
    }
}

/// Compares both ways over all people.
fn compare(expressions: &[Expression], seed: u64) {
    let reader: Arc<dyn Reader> = Arc::new(company(500));
    let shared = Shared {
        reader,
        parameters: Arc::from([]),
        now: crate::object::Timestamp(0),
        profiled: false,
    };
    let plan = Plan::clone(&people(&company(0)));
    let context = Context::new(Options::default());
    let run = Run {
        shared: &shared,
        context: &context,
        outer: None,
    };
    let mut operator = build(&plan, &shared).unwrap();
    let mut batch = Batch::default();
    let compiler = Compiler::new(&shared, &[&plan]);
    while operator.next(&run, &mut batch).unwrap() {
        for each in expressions {
            let compiled = compiler.typed(each);
            for index in batch.rows() {
                let row = Row {
                    batch: &batch,
                    index,
                    run: &run,
                };
                let fast = match &compiled {
                    Typed::Int(int) => int(&row).map(|number| number.map_or(Value::Nil, Value::Int)),
                    Typed::Float(float) => float(&row).map(|number| number.map_or(Value::Nil, Value::Float)),
                    Typed::General(general) => general(&row).and_then(|datum| datum.into_value()),
                };
                let slow = evaluate(each, &row);
                assert_eq!(show(fast), show(slow), "seed {seed}, row {index}, {each:?}");
            }
        }
    }
}

#[test]
fn generated_expressions_agree_with_the_evaluator() {
    let seed = 0x9e37_79b9_7f4a_7c15;
    let mut random = Random(seed);
    let mut expressions = Vec::new();
    for _ in 0..150 {
        expressions.push(predicate(&mut random, 3));
        expressions.push(number(&mut random, 3, &Type::Int));
        expressions.push(number(&mut random, 3, &Type::Float));
    }
    compare(&expressions, seed);
}

#[test]
fn attributes_of_every_type_agree_with_the_evaluator() {
    let all = [
        attribute("name", 0, Type::String),
        attribute("tags", 4, Type::list(Type::String)),
        attribute("extra", 6, Type::Any),
        attribute("dept", 3, Type::reference("Dept")),
        Expression::column(person(), Span::default()),
        expression(
            ExpressionKind::Attribute {
                base: Box::new(attribute("dept", 3, Type::reference("Dept"))),
                name: "name".into(),
                slots: Slots::Same(0),
            },
            Type::String,
        ),
        expression(
            ExpressionKind::Attribute {
                base: Box::new(Expression::column(person(), Span::default())),
                name: "salary".into(),
                slots: Slots::ByClass(vec![(company(0).catalog.class("Employee").unwrap().id, 8)]),
            },
            Type::Int,
        ),
        expression(
            ExpressionKind::DynamicAttribute {
                base: Box::new(attribute("boss", 7, Type::Any)),
                name: "age".into(),
            },
            Type::Any,
        ),
    ];
    compare(&all, 0);
}

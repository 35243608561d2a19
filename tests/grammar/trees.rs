//! Random trees, and random damage to texts. All of it follows from a seed.

use olivine::error::Span;
use olivine::oql::*;
use olivine::{Date, Timestamp};

/// Seeds for one run: `SEED=n` runs that one, else `count` that differ from run to run.
pub(super) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let chosen = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse::<u64>().ok());
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let first = chosen.unwrap_or(clock.as_nanos() as u64);
    let count = if chosen.is_some() { 1 } else { count };
    (0..count).map(move |index| first.wrapping_add(index))
}

/// A text damaged by what `seed` says.
pub(super) fn damaged(texts: &[String], seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut bytes = random.pick(texts).clone().into_bytes();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let other = random.pick(texts).as_bytes();
        let from = random.below(other.len() + 1);
        let to = from + random.below(other.len() - from + 1);
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => drop(bytes.splice(at..at, other[from..to].iter().copied())),
            2 => bytes.insert(at, *random.pick(b"\0'\"`\\$#-/*(){}[].,;:<>=!?1eEdx\n\xff\xe6")),
            _ => drop(bytes.drain(at..(at + random.below(4)).min(bytes.len()))),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A random statement.
pub(super) fn statement(seed: u64) -> Statement {
    let mut random = Random::new(seed);
    let kind = match random.below(8) {
        0 => StatementKind::Insert(Box::new(random.insert())),
        1 => StatementKind::Update(Box::new(Update {
            class: random.name(),
            variable: random.maybe(Random::name),
            assignments: random.some(Random::assignment),
            filter: random.maybe(|r| r.expression(3)),
            returning: random.maybe(|r| r.projection(2)),
        })),
        2 => StatementKind::CreateClass(CreateClass {
            dependent: random.flip(),
            if_not_exists: random.flip(),
            classes: random.some(Random::class),
        }),
        3 => StatementKind::Define(Box::new(Define {
            name: random.name(),
            parameters: random.some(Random::parameter_definition),
            query: random.query(3),
        })),
        4 => StatementKind::Name {
            name: random.name(),
            value: random.expression(4),
        },
        5 => StatementKind::Explain(Box::new(Statement::new(
            StatementKind::Query(Box::new(random.query(3))),
            Span::default(),
        ))),
        _ => StatementKind::Query(Box::new(random.query(4))),
    };
    Statement::new(kind, Span::default())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flip().then(|| make(self))
    }

    fn some<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..=self.below(3)).map(|_| make(self)).collect()
    }

    fn any<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(3)).map(|_| make(self)).collect()
    }

    fn name(&mut self) -> Name {
        let names = [
            "a", "b", "größe", "日本", "a b", "a`b", "order", "SELECT", "name", "check", "explain",
            "distinct", "count", "cast", "set", "list", "values", "conflict", "empty", "not", "of", "it",
            "date", "int", "mod", "only", "join", "method", "commit", "if", "exists", "--", "'", "nan",
            "true", "depth", "as", "with", "extract", "into", "1",
        ];
        Name::new(*self.pick(&names), Span::default())
    }

    fn literal(&mut self) -> Literal {
        Literal(match self.below(12) {
            0 => Value::Nil,
            1 => Value::Bool(self.flip()),
            2 => Value::Int(*self.pick(&[0, 1, -1, 42, i64::MAX, i64::MIN])),
            3 => Value::Float(*self.pick(&[
                0.5,
                -1.5,
                1e300,
                -1e-300,
                2.0,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ])),
            4 => Value::Bytes([0, 255, 16].as_slice().into()),
            5 => Value::Date(Date(*self.pick(&[0, -1, 20_000]))),
            6 => Value::Timestamp(Timestamp(*self.pick(&[0, 1, 1_700_000_000_000_000]))),
            7 => Value::Decimal("-12.50".parse().unwrap()),
            8 => Value::Decimal("3.0".parse().unwrap()),
            _ => Value::String(
                (*self.pick(&["", "it's", "a\\b", "\n\t\u{0}\u{7f}", "-- /*", "\"`", "日本"])).into(),
            ),
        })
    }

    fn expression(&mut self, depth: usize) -> Expr {
        let kind = if depth == 0 {
            self.leaf()
        } else {
            self.node(depth - 1)
        };
        Expr::new(kind, Span::default())
    }

    fn boxed(&mut self, depth: usize) -> Box<Expr> {
        Box::new(self.expression(depth))
    }

    fn leaf(&mut self) -> ExprKind {
        match self.below(6) {
            0 => ExprKind::Parameter(Parameter::Named("order".into())),
            1 => ExprKind::Parameter(Parameter::Positional(7)),
            2 => ExprKind::Object {
                class: self.name(),
                serial: 42,
            },
            3 => ExprKind::CountRows,
            4 => ExprKind::Literal(self.literal()),
            _ => ExprKind::Name(self.name()),
        }
    }

    fn node(&mut self, depth: usize) -> ExprKind {
        match self.below(8) {
            0 => self.leaf(),
            1 | 2 => self.step(depth),
            3 | 4 => self.operator(depth),
            5 => self.comparison(depth),
            6 => self.form(depth),
            _ => self.subquery(depth),
        }
    }

    fn subquery(&mut self, depth: usize) -> ExprKind {
        let query = self.query(depth.min(2));
        match query.body {
            QueryBody::Expression(_) if query.is_bare() => ExprKind::Exists(Box::new(query)),
            _ => ExprKind::Subquery(Box::new(query)),
        }
    }

    fn step(&mut self, depth: usize) -> ExprKind {
        let object = self.boxed(depth);
        match self.below(9) {
            0 => ExprKind::Method {
                object,
                name: self.name(),
                arguments: self.any(|r| r.expression(depth)),
            },
            1 => ExprKind::Reverse {
                object,
                class: self.name(),
                attribute: self.name(),
            },
            2 => ExprKind::Closure {
                start: object,
                path: self.path(depth),
                repetitions: self.repetitions(),
            },
            3 => ExprKind::Index {
                collection: object,
                index: self.boxed(depth),
            },
            4 => ExprKind::Slice {
                collection: object,
                from: self.boxed(depth),
                to: self.boxed(depth),
            },
            5 => ExprKind::Narrow {
                operand: object,
                class: self.name(),
            },
            6 => ExprKind::Filter {
                collection: object,
                predicate: self.boxed(depth),
            },
            7 => ExprKind::NotNil(object),
            _ => ExprKind::Attribute {
                object,
                name: self.name(),
            },
        }
    }

    fn path(&mut self, depth: usize) -> Vec<PathStep> {
        let mut path = vec![self.path_step(depth, true)];
        path.extend(self.any(|r| r.path_step(depth, false)));
        path
    }

    fn path_step(&mut self, depth: usize, first: bool) -> PathStep {
        match self.below(if first { 5 } else { 7 }) {
            0 if depth > 0 => PathStep::Closure {
                path: self.path(depth - 1),
                repetitions: self.repetitions(),
            },
            1 => PathStep::Reverse {
                class: self.name(),
                attribute: self.name(),
            },
            2 => PathStep::Method {
                name: self.name(),
                arguments: self.any(|r| r.expression(depth.min(1))),
            },
            5 => PathStep::Narrow(self.name()),
            6 => PathStep::Filter(self.boxed(depth.min(1))),
            _ => PathStep::Attribute(self.name()),
        }
    }

    fn repetitions(&mut self) -> Repetitions {
        let least = self.below(3) as u32;
        Repetitions {
            least,
            greatest: self.maybe(|r| least + r.below(3) as u32),
            span: Span::default(),
        }
    }

    fn operator(&mut self, depth: usize) -> ExprKind {
        match self.below(5) {
            0 => ExprKind::Not(self.boxed(depth)),
            1 => {
                let operand = self.boxed(depth);
                let number = matches!(
                    operand.kind,
                    ExprKind::Literal(Literal(Value::Int(_) | Value::Float(_) | Value::Decimal(_)))
                );
                if number {
                    ExprKind::Not(operand)
                } else {
                    ExprKind::Negate(operand)
                }
            }
            2 => {
                let mut operands = vec![self.expression(depth), self.expression(depth)];
                operands.retain(|operand| !matches!(operand.kind, ExprKind::And(_)));
                if operands.len() < 2 {
                    self.leaf()
                } else {
                    ExprKind::And(operands)
                }
            }
            3 => {
                let mut operands = vec![self.expression(depth), self.expression(depth), self.expression(0)];
                operands.retain(|operand| !matches!(operand.kind, ExprKind::Or(_)));
                if operands.len() < 2 {
                    self.leaf()
                } else {
                    ExprKind::Or(operands)
                }
            }
            _ => self.binary(depth),
        }
    }

    fn set_operator(&mut self) -> SetOperator {
        *self.pick(&[SetOperator::Union, SetOperator::Intersect, SetOperator::Except])
    }

    fn binary(&mut self, depth: usize) -> ExprKind {
        use BinaryOperator::*;
        let set = Set {
            operator: self.set_operator(),
            all: self.flip(),
        };
        let operator = *self.pick(&[
            Coalesce,
            set,
            set,
            Add,
            Subtract,
            Concatenate,
            Multiply,
            Divide,
            Remainder,
        ]);
        let (left, right) = (self.boxed(depth), self.boxed(depth));
        let queries = [&left, &right]
            .iter()
            .any(|operand| matches!(operand.kind, ExprKind::Subquery(_)));
        let operator = if queries && operator == set { Add } else { operator };
        ExprKind::Binary {
            operator,
            left,
            right,
        }
    }

    fn comparison(&mut self, depth: usize) -> ExprKind {
        use ComparisonOperator::*;
        let operator = *self.pick(&[Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual]);
        let operand = self.boxed(depth);
        let negated = self.flip();
        match self.below(6) {
            0 => ExprKind::CompareMembers {
                operator,
                all: self.flip(),
                left: operand,
                members: self.members(depth),
            },
            1 => ExprKind::Between {
                operand,
                negated,
                low: self.boxed(depth),
                high: self.boxed(depth),
            },
            2 => ExprKind::In {
                operand,
                negated,
                members: self.members(depth),
            },
            3 => ExprKind::Like {
                operand,
                negated,
                ignore_case: self.flip(),
                pattern: self.boxed(depth),
                escape: self.maybe(|r| r.boxed(0)),
            },
            4 => ExprKind::Is {
                operand,
                negated,
                test: match self.below(4) {
                    0 => IsTest::Nil,
                    1 => IsTest::Empty,
                    2 => IsTest::Dangling,
                    _ => IsTest::Class(self.name()),
                },
            },
            _ => ExprKind::Compare {
                operator,
                left: operand,
                right: self.boxed(depth),
            },
        }
    }

    fn members(&mut self, depth: usize) -> Members {
        let value = self.boxed(depth);
        match self.below(4) {
            0 => Members::Values(vec![
                self.literal_but_nan(),
                self.literal_but_nan(),
                self.literal_but_nan(),
            ]),
            1 => Members::List(vec![
                *value,
                Expr::new(ExprKind::Name(self.name()), Span::default()),
            ]),
            2 => Members::Of(Box::new(Expr::new(ExprKind::Name(self.name()), Span::default()))),
            _ => match value.kind {
                ExprKind::Subquery(query) => Members::Query(query),
                _ => Members::One(value),
            },
        }
    }

    fn literal_but_nan(&mut self) -> Literal {
        match self.literal() {
            Literal(Value::Float(number)) if number.is_nan() => Literal(Value::Nil),
            other => other,
        }
    }

    fn form(&mut self, depth: usize) -> ExprKind {
        match self.below(8) {
            0 => ExprKind::Quantified {
                all: self.flip(),
                variable: self.name(),
                collection: self.boxed(depth),
                predicate: self.boxed(depth),
            },
            1 => ExprKind::Case {
                operand: self.maybe(|r| r.boxed(depth)),
                branches: self.some(|r| CaseBranch {
                    when: r.expression(depth),
                    then: r.expression(depth),
                }),
                otherwise: self.maybe(|r| r.boxed(depth)),
            },
            2 => ExprKind::Cast {
                operand: self.boxed(depth),
                r#type: self.type_name(2),
            },
            3 => ExprKind::Collection {
                kind: *self.pick(&[CollectionKind::List, CollectionKind::Set, CollectionKind::Bag]),
                members: self.any(|r| r.expression(depth)),
            },
            4 => ExprKind::Map(self.any(|r| MapEntry {
                key: r.expression(depth),
                value: r.expression(depth),
            })),
            5 => ExprKind::Struct(self.any(|r| r.field(depth))),
            6 => ExprKind::Call {
                function: self.name(),
                distinct: true,
                arguments: vec![self.expression(depth)],
            },
            _ => ExprKind::Call {
                function: self.name(),
                distinct: false,
                arguments: self.any(|r| r.expression(depth)),
            },
        }
    }

    fn field(&mut self, depth: usize) -> Field {
        Field {
            name: self.name(),
            value: self.expression(depth),
        }
    }

    fn type_name(&mut self, depth: usize) -> TypeName {
        TypeName {
            r#type: self.any_type(depth),
            span: Span::default(),
        }
    }

    fn any_type(&mut self, depth: usize) -> Type {
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0 => Type::Int,
            1 => Type::Any,
            2 => Type::reference(&*self.name().text),
            3 => Type::list(self.any_type(depth - 1)),
            4 => Type::map(self.any_type(depth - 1), self.any_type(depth - 1)),
            _ => Type::structure([(self.name().text, self.any_type(depth - 1))]),
        }
    }

    /// A query in the one form each has: what is bracketed without need is not there.
    fn query(&mut self, depth: usize) -> Query {
        let mut query = Query::of(self.body(depth), Span::default());
        if depth > 0 && self.below(4) == 0 {
            query.with = self.some(|r| With {
                name: r.name(),
                query: r.query(depth - 1),
            });
        }
        if !matches!(query.body, QueryBody::Expression(_)) {
            query.limit = self.maybe(|r| r.expression(0));
            query.offset = self.maybe(|r| r.expression(0));
            query.order_by = self.any(|r| OrderItem {
                value: r.expression(depth.min(2)),
                descending: r.flip(),
                nulls: r.maybe(|r| *r.pick(&[Nulls::First, Nulls::Last])),
            });
        }
        query
    }

    fn body(&mut self, depth: usize) -> QueryBody {
        let depth = depth.saturating_sub(1);
        match self.below(4) {
            0 => {
                let value = self.boxed(depth);
                match value.kind {
                    ExprKind::Subquery(_) => QueryBody::Select(Box::new(self.select(depth))),
                    _ => QueryBody::Expression(value),
                }
            }
            1 if depth > 0 => self.set_operation(depth - 1),
            _ => QueryBody::Select(Box::new(self.select(depth))),
        }
    }

    fn set_operation(&mut self, depth: usize) -> QueryBody {
        let mut operands = [
            self.set_operand(depth),
            QueryBody::Select(Box::new(self.select(depth))),
        ];
        if self.flip() {
            operands.reverse();
        }
        let [left, right] = operands;
        QueryBody::Set(Box::new(SetOperation {
            operator: self.set_operator(),
            all: self.flip(),
            left,
            right,
        }))
    }

    fn set_operand(&mut self, depth: usize) -> QueryBody {
        let query = self.query(depth);
        if query.is_bare() {
            query.body
        } else {
            QueryBody::Nested(Box::new(query))
        }
    }

    fn select(&mut self, depth: usize) -> Select {
        let group_by = self.any(|r| GroupKey {
            label: r.maybe(Self::name),
            value: r.expression(depth),
        });
        let having = self
            .maybe(|r| r.expression(depth))
            .filter(|_| !group_by.is_empty());
        let mut from = self.any(|r| r.range(depth));
        if let Some(first) = from.first_mut() {
            first.join = Join::Product;
            first.on = None;
        }
        Select {
            distinct: self.flip(),
            projection: self.projection(depth),
            from,
            filter: self.maybe(|r| r.expression(depth)),
            group_by,
            having,
            span: Span::default(),
        }
    }

    fn projection(&mut self, depth: usize) -> Projection {
        if self.below(5) == 0 {
            return Projection::All(Star(Span::default()));
        }
        Projection::Items(self.some(|r| ProjectionItem {
            label: r.maybe(Self::name),
            value: r.expression(depth),
        }))
    }

    fn range(&mut self, depth: usize) -> Range {
        let source = self.expression(depth);
        let closure = matches!(source.kind, ExprKind::Closure { .. });
        let join = *self.pick(&[Join::Product, Join::Inner, Join::Left]);
        Range {
            join,
            only: matches!(source.kind, ExprKind::Name(_)) && self.flip(),
            source,
            variable: self.maybe(Self::name),
            depth: self.maybe(Self::name).filter(|_| closure),
            path: self.maybe(Self::name).filter(|_| closure),
            on: self
                .maybe(|r| r.expression(depth))
                .filter(|_| join != Join::Product),
        }
    }

    fn insert(&mut self) -> Insert {
        let attributes = self.some(Self::name);
        let width = attributes.len();
        let source = match self.below(3) {
            0 => InsertSource::Fields(self.any(|r| r.field(3))),
            1 => InsertSource::Rows {
                attributes,
                rows: self.some(|r| (0..width).map(|_| r.expression(2)).collect()),
            },
            _ => InsertSource::Query {
                attributes,
                query: self.query(3),
            },
        };
        Insert {
            class: self.name(),
            source,
            on_conflict: self.maybe(|r| OnConflict {
                attributes: r.some(Self::name),
                action: match r.flip() {
                    true => ConflictAction::Nothing,
                    false => ConflictAction::Update(r.some(Self::assignment)),
                },
            }),
            returning: self.maybe(|r| r.projection(2)),
        }
    }

    fn assignment(&mut self) -> Assignment {
        use AssignmentOperator::*;
        Assignment {
            attribute: self.name(),
            operator: *self.pick(&[Set, Add, Remove]),
            value: self.expression(3),
        }
    }

    fn class(&mut self) -> ClassDefinition {
        ClassDefinition {
            name: self.name(),
            extends: self.maybe(Self::name),
            attributes: self.any(|r| AttributeDefinition {
                name: r.name(),
                r#type: r.type_name(2),
                not_null: r.flip(),
                default: r.maybe(|r| r.expression(2)),
                unique: r.flip(),
                inverse: r.maybe(Self::name),
                merge: r.maybe(|r| *r.pick(&[MergeRule::Counter, MergeRule::Union])),
                on_delete: r.maybe(|r| *r.pick(&[OnDelete::Leave, OnDelete::Cascade])),
            }),
            methods: self.any(|r| MethodDefinition {
                name: r.name(),
                parameters: r.any(Self::parameter_definition),
                result: r.type_name(1),
                body: r.expression(3),
            }),
        }
    }

    fn parameter_definition(&mut self) -> ParameterDefinition {
        ParameterDefinition {
            name: self.name(),
            r#type: self.type_name(1),
        }
    }
}

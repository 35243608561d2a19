//! Random types and values for tests, from a printed seed.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::{Date, Duration, Oid, Time, Timestamp, Type, Value};

/// A small generator of random numbers (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    /// A generator whose seed is taken from the system and printed.
    pub fn new(test: &str) -> Random {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).unwrap();
        let seed = u64::from_le_bytes(seed);
        println!("{test}: seed {seed}");
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn short(&mut self) -> usize {
        self.pick(&[0, 0, 1, 1, 2, 3, 5, 9])
    }
}

/// An int that is likely to be near another one, or near an edge.
pub(crate) fn int(random: &mut Random) -> i64 {
    let near = random.pick(&[
        0,
        1 << 53,
        -(1 << 53),
        i64::MAX,
        i64::MIN,
        1 << 31,
        255,
        1 << 62,
        1 << 54,
    ]);
    match random.below(4) {
        0 => random.next().cast_signed(),
        1 => random.next().cast_signed() >> random.below(64),
        _ => near.wrapping_add(random.below(7) as i64 - 3),
    }
}

pub(crate) fn float(random: &mut Random) -> f64 {
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        0.1,
        0.5,
        9_007_199_254_740_992.0,
        9_223_372_036_854_775_808.0,
        7.922_816_251_426_434e28,
        1e-28,
        2f64.powi(97),
        2f64.powi(-97),
    ];
    match random.below(4) {
        0 => f64::from_bits(random.next()),
        1 => int(random) as f64,
        2 => int(random) as f64 / random.pick(&[2.0, 4.0, 1024.0, 10.0, 1e10]),
        _ => {
            let value = random.pick(&special);
            random.pick(&[value, value.next_up(), value.next_down(), -value])
        }
    }
}

pub(crate) fn decimal(random: &mut Random) -> Decimal {
    let wide =
        (u128::from(random.next()) << 32 | u128::from(random.next() >> 32)).cast_signed() >> random.below(96);
    let mantissa = match random.below(4) {
        0 => wide & ((1 << 96) - 1),
        1 => (1 << 96) - 1 - i128::from(random.below(3) as i64),
        2 => i128::from(int(random)),
        _ => {
            return Decimal::from_f64_retain(float(random))
                .unwrap_or_default()
                .normalize();
        }
    };
    let scale = random.pick(&[0, 0, 1, 2, 5, 9, 28, 27]);
    let sign = if random.below(2) == 0 { 1 } else { -1 };
    let mut value = Decimal::from_i128_with_scale(mantissa * sign, scale);
    // The same number with more digits.
    if random.below(3) == 0 {
        value.rescale((scale + 1).min(28));
    }
    // The codec knows no negative zero.
    if value.is_zero() { value.abs() } else { value }
}

fn text(random: &mut Random) -> String {
    let letters = [
        'a', 'b', '\0', '\u{1}', 'é', '\u{ffff}', '😀', '\'', '\\', '\n', 'z',
    ];
    (0..random.short()).map(|_| random.pick(&letters)).collect()
}

fn bytes(random: &mut Random) -> Vec<u8> {
    (0..random.short())
        .map(|_| random.pick(&[0, 1, 2, 254, 255, 97]))
        .collect()
}

/// A type, nested up to `depth` deep.
pub(crate) fn a_type(random: &mut Random, depth: usize) -> Type {
    let scalars = [
        Type::Any,
        Type::Bool,
        Type::Int,
        Type::Float,
        Type::Decimal,
        Type::String,
        Type::Bytes,
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::Duration,
        Type::Uuid,
        Type::reference("Person"),
    ];
    if depth == 0 || random.below(2) == 0 {
        return random.pick(&scalars);
    }
    match random.below(5) {
        0 => Type::list(a_type(random, depth - 1)),
        1 => Type::set(a_type(random, depth - 1)),
        2 => Type::bag(a_type(random, depth - 1)),
        3 => Type::map(a_type(random, depth - 1), a_type(random, depth - 1)),
        _ => {
            let fields = random.pick(&[0, 1, 2, 9]);
            Type::structure((0..fields).map(|i| (format!("f{i}"), a_type(random, depth - 1))))
        }
    }
}

/// A value of type `type`, sometimes nil.
pub(crate) fn value_of(random: &mut Random, r#type: &Type, depth: usize) -> Value {
    if random.below(8) == 0 {
        return Value::Nil;
    }
    let members = |random: &mut Random, member: &Type| -> Vec<Value> {
        (0..random.short())
            .map(|_| value_of(random, member, depth))
            .collect()
    };
    match r#type {
        Type::Any => {
            let other = a_type(random, depth);
            let deeper = depth.saturating_sub(1);
            if other == Type::Any {
                Value::Nil
            } else {
                value_of(random, &other, deeper)
            }
        }
        Type::Bool => Value::Bool(random.below(2) == 0),
        Type::Int => Value::Int(int(random)),
        Type::Float => Value::Float(float(random)),
        Type::Decimal => Value::Decimal(decimal(random)),
        Type::String => text(random).into(),
        Type::Bytes => bytes(random).as_slice().into(),
        Type::Date => Value::Date(Date(random.below(9) as i32 - 4)),
        Type::Time => Value::Time(Time(random.below(86_400_000_000) as i64)),
        Type::Timestamp => Value::Timestamp(Timestamp(int(random) >> 8)),
        Type::Duration => Value::Duration(Duration(int(random))),
        Type::Uuid => Value::Uuid(Uuid::from_u128(u128::from(random.next() >> 60) << 64)),
        Type::Reference(_) => {
            Value::Reference(Oid::from_bits(random.next() >> random.below(63) | 1).unwrap())
        }
        Type::List(member) => Value::list(members(random, member)),
        Type::Set(member) => Value::set(members(random, member)),
        Type::Bag(member) => Value::bag(members(random, member)),
        Type::Map(key, value) => {
            let entries: Vec<_> = (0..random.short())
                .map(|_| (value_of(random, key, depth), value_of(random, value, depth)))
                .collect();
            Value::map(entries)
        }
        Type::Struct(fields) => Value::structure(
            fields
                .iter()
                .map(|(name, field)| (name.clone(), value_of(random, field, depth))),
        ),
    }
}

/// Any number.
pub(crate) fn number(random: &mut Random) -> Value {
    match random.below(3) {
        0 => Value::Int(int(random)),
        1 => Value::Float(float(random)),
        _ => Value::Decimal(decimal(random)),
    }
}

/// Two numbers that are equal or near each other, of any types.
pub(crate) fn near_numbers(random: &mut Random) -> (Value, Value) {
    let a = number(random);
    let b = match (&a, random.below(4)) {
        (Value::Int(a), 0) => Value::Float(*a as f64),
        (Value::Int(a), 1) => Value::Decimal(
            Decimal::from(*a) + Decimal::new(random.below(3) as i64 - 1, 20 * random.below(2) as u32),
        ),
        (Value::Float(a), 0) => Value::Int(*a as i64),
        (Value::Float(a), 1) => Decimal::from_f64_retain(*a).map_or(Value::Nil, Value::Decimal),
        (Value::Decimal(a), 0) => Value::Float(a.to_string().parse().unwrap()),
        (Value::Decimal(a), 1) => Value::Decimal(a.normalize()),
        (Value::Decimal(a), 2) => i64::try_from(a.trunc().mantissa()).map_or(Value::Nil, Value::Int),
        _ => number(random),
    };
    if random.below(2) == 0 { (a, b) } else { (b, a) }
}

/// Any value.
pub(crate) fn value(random: &mut Random) -> Value {
    value_of(random, &Type::Any, 2)
}

//! Integers from 2^63 on, which lanes of `UInt64C` are as script numbers: a u64, where all others are i64. Operators between
//! them are exact, and what no 64 bits hold is an error.

use std::cmp::Ordering::{self, Equal, Greater, Less};
use std::ops::{Add, Div, Mul, Sub};

use porcini_core::Scalar;
use porcini_core::ir::op::Op;
use rhai::{Dynamic, Engine};

use super::registry::Registry;
use crate::fault::{Result, fault, fault_with_hint};
use crate::value::dynamic;

/// An operation, and what it makes of two numbers.
type Row<T, R> = (Op, fn(T, T) -> R);

/// 128 bits hold all results but some products.
const EXACT: [Row<i128, Option<i128>>; 8] = [
    (Op::Add, i128::checked_add),
    (Op::Sub, i128::checked_sub),
    (Op::Mul, i128::checked_mul),
    (Op::And, |a, b| Some(a & b)),
    (Op::Or, |a, b| Some(a | b)),
    (Op::Xor, |a, b| Some(a ^ b)),
    (Op::Min, |a, b| Some(a.min(b))),
    (Op::Max, |a, b| Some(a.max(b))),
];

/// `None` where the divisor is 0.
const DIVISIONS: [Row<i128, Option<i128>>; 2] =
    [(Op::Rem, i128::checked_rem), (Op::IDiv, i128::checked_div)];

const OF_FLOATS: [Row<f64, f64>; 4] =
    [(Op::Add, f64::add), (Op::Sub, f64::sub), (Op::Mul, f64::mul), (Op::Div, f64::div)];

/// Whether a comparison holds in an order of two numbers; NaN has none.
type Holds = fn(Option<Ordering>) -> bool;

const COMPARISONS: [(Op, Holds); 6] = [
    (Op::Eq, |order| order == Some(Equal)),
    (Op::Ne, |order| order != Some(Equal)),
    (Op::Lt, |order| order == Some(Less)),
    (Op::Le, |order| matches!(order, Some(Less | Equal))),
    (Op::Gt, |order| order == Some(Greater)),
    (Op::Ge, |order| matches!(order, Some(Greater | Equal))),
];

pub(super) fn register(registry: &mut Registry<'_>) {
    let engine = &mut *registry.engine;
    for name in ["to_int", "int"] {
        engine.register_fn(name, |a: u64| a);
    }
    integers(engine, |a: u64, b: i64| [a.into(), b.into()]);
    integers(engine, |a: i64, b: u64| [a.into(), b.into()]);
    integers(engine, |a: u64, b: u64| [a.into(), b.into()]);
    floats(engine, |a: u64, b: f64| [float(a.into()), b]);
    floats(engine, |a: f64, b: u64| [a, float(b.into())]);
    engine.register_fn(Op::Sub.spelling(), |a: u64| {
        number(Op::Sub, [0, a.into()], Some(-i128::from(a)))
    });
}

/// Operators of two types of integers.
fn integers<A: Clone + 'static, B: Clone + 'static>(
    engine: &mut Engine,
    widen: fn(A, B) -> [i128; 2],
) {
    for (op, exact) in EXACT {
        engine.register_fn(op.spelling(), move |a: A, b: B| {
            let [a, b] = widen(a, b);
            number(op, [a, b], exact(a, b))
        });
    }
    for (op, exact) in DIVISIONS {
        engine.register_fn(op.spelling(), move |a: A, b: B| {
            let [a, b] = widen(a, b);
            let by_zero = || fault(format!("{}: division by zero", op.spelling()));
            number(op, [a, b], Some(exact(a, b).ok_or_else(by_zero)?))
        });
    }
    for (op, holds) in COMPARISONS {
        engine.register_fn(op.spelling(), move |a: A, b: B| {
            let [a, b] = widen(a, b);
            holds(Some(a.cmp(&b)))
        });
    }
    // As of other integers a float.
    engine.register_fn(Op::Div.spelling(), move |a: A, b: B| {
        let [a, b] = widen(a, b).map(float);
        a / b
    });
}

/// Operators of an integer and a float, which meet as floats.
fn floats<A: Clone + 'static, B: Clone + 'static>(
    engine: &mut Engine,
    widen: fn(A, B) -> [f64; 2],
) {
    for (op, result) in OF_FLOATS {
        engine.register_fn(op.spelling(), move |a: A, b: B| {
            let [a, b] = widen(a, b);
            result(a, b)
        });
    }
    for (op, holds) in COMPARISONS {
        engine.register_fn(op.spelling(), move |a: A, b: B| {
            let [a, b] = widen(a, b);
            holds(a.partial_cmp(&b))
        });
    }
}

#[expect(clippy::cast_precision_loss, reason = "an integer meets a float as a float")]
fn float(integer: i128) -> f64 {
    integer as f64
}

/// The result as scripts have it.
///
/// # Errors
/// No 64 bits hold it.
fn number(op: Op, [a, b]: [i128; 2], exact: Option<i128>) -> Result<Dynamic> {
    let number = exact.and_then(|exact| {
        let signed = i64::try_from(exact).map(Scalar::Int);
        signed.or_else(|_| u64::try_from(exact).map(Scalar::UInt)).ok()
    });
    number.map(dynamic).ok_or_else(|| {
        let symbol = op.spelling();
        let message = format!("{symbol}: {a} {symbol} {b} does not fit a 64-bit integer");
        match op {
            Op::Add | Op::Sub | Op::Mul => {
                fault_with_hint(message, format!("write {a}.0 {symbol} {b} for a float"))
            }
            _ => fault(message),
        }
    })
}

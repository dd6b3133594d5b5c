//! Script numbers: true division, exact comparison, powers (S8 and the traps of plain Rhai).

use std::any::TypeId;
use std::rc::Rc;

use porcini_core::ir::op::Op;
use porcini_core::ir::scalar::Lane;
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::trace::numbers::Powers;
use rhai::{EvalAltResult, Position};

use super::registry::Registry;
use super::sizes::Sizes;
use crate::fault::{Result, fault};
use crate::value::host_array::HostRef;
use crate::value::range::Range;
use crate::value::type_name;

pub(super) fn register(registry: &mut Registry<'_>) {
    division(registry);
    comparison(registry);
    no_order(registry);
    no_likeness(registry);
    remainder_and_power(registry);
    same_meaning_as_arrays(registry);
    ranges(registry);
}

/// `7 / 2` is 3.5 in every position.
#[expect(clippy::cast_precision_loss, reason = "true division of integers gives a float")]
fn division(registry: &mut Registry<'_>) {
    let engine = &mut *registry.engine;
    engine.register_fn("/", |a: i64, b: i64| a as f64 / b as f64);
    engine.register_fn("/", |a: f64, b: f64| a / b);
    engine.register_fn("/", |a: f64, b: i64| a / b as f64);
    engine.register_fn("/", |a: i64, b: f64| a as f64 / b);
    let types = [TypeId::of::<rhai::Dynamic>(), TypeId::of::<i64>()];
    let quotient = |a: &rhai::Dynamic, b: f64| -> Result<f64> {
        let number = a.as_float().or_else(|_| a.as_int().map(|a| a as f64));
        let got = || fault(format!("/: got {}, expected a number", type_name(a)));
        Ok(number.map_err(|_| got())? / b)
    };
    engine.register_raw_fn("/=", types, move |_, args| {
        let b = args[1].as_int().map_or(f64::NAN, |b| b as f64);
        *args[0] = quotient(args[0], b)?.into();
        Ok(())
    });
    let types = [TypeId::of::<i64>(), TypeId::of::<f64>()];
    engine.register_raw_fn("/=", types, move |_, args| {
        let b = args[1].as_float().unwrap_or(f64::NAN);
        *args[0] = quotient(args[0], b)?.into();
        Ok(())
    });
}

/// Plain Rhai compares floats up to an epsilon.
#[expect(clippy::cast_precision_loss, reason = "an integer meets a float as a float")]
fn comparison(registry: &mut Registry<'_>) {
    macro_rules! compare {
        ($($symbol:literal $op:tt),*) => { $(
            registry.engine.register_fn($symbol, |a: f64, b: f64| a $op b);
            registry.engine.register_fn($symbol, |a: i64, b: f64| (a as f64) $op b);
            registry.engine.register_fn($symbol, |a: f64, b: i64| a $op b as f64);
        )* };
    }
    compare!("==" ==, "!=" !=, "<" <, "<=" <=, ">" >, ">=" >=);
}

/// Rhai calls any order of unlike values, of lists and of nothing false: a misspelt key then answers a question.
fn no_order(registry: &mut Registry<'_>) {
    let types = [
        (TypeId::of::<()>(), "()"),
        (TypeId::of::<bool>(), "bool"),
        (TypeId::of::<i64>(), "i64"),
        (TypeId::of::<f64>(), "f64"),
        (TypeId::of::<rhai::ImmutableString>(), "text"),
        (TypeId::of::<rhai::Array>(), "array"),
        (TypeId::of::<rhai::Map>(), "map"),
        (TypeId::of::<HostRef>(), "ndarray"),
    ];
    let has_order =
        |a: usize, b: usize| a == b && (1..5).contains(&a) || [a, b] == [2, 3] || [a, b] == [3, 2];
    for (i, &a) in types.iter().enumerate() {
        for (_, &b) in types.iter().enumerate().filter(|(j, _)| !has_order(i, *j)) {
            undefine(registry, &["<", "<=", ">", ">="], a, b);
        }
    }
}

/// Rhai calls a list and a text unlike, and `list == "x"` false, where others compare each item: as a mask that answers
/// for every lane; so too a host array and a number. What looks for an item among others of all types takes this error
/// as a no.
fn no_likeness(registry: &mut Registry<'_>) {
    let [list, text] =
        [(TypeId::of::<rhai::Array>(), "array"), (TypeId::of::<rhai::ImmutableString>(), "text")];
    let host = (TypeId::of::<HostRef>(), "ndarray");
    let [integer, float] = [(TypeId::of::<i64>(), "i64"), (TypeId::of::<f64>(), "f64")];
    for (a, b) in [(list, text), (host, integer), (host, float)] {
        undefine(registry, &["==", "!="], a, b);
        undefine(registry, &["==", "!="], b, a);
    }
}

/// Makes operators of two types an error, in place of what Rhai says of types that it knows nothing of.
fn undefine(
    registry: &mut Registry<'_>,
    symbols: &[&'static str],
    (a, a_name): (TypeId, &'static str),
    (b, b_name): (TypeId, &'static str),
) {
    for &symbol in symbols {
        registry.engine.register_raw_fn(symbol, [a, b], move |_, _| -> Result<bool> {
            let call = format!("{symbol} ({a_name}, {b_name})");
            Err(EvalAltResult::ErrorFunctionNotFound(call, Position::NONE).into())
        });
    }
}

fn remainder_and_power(registry: &mut Registry<'_>) {
    let engine = &mut *registry.engine;
    engine.register_fn("%", |a: i64, b: i64| -> Result<i64> {
        if b == 0 { Err(fault("%: remainder by zero")) } else { Ok(a.wrapping_rem(b)) }
    });
    engine.register_fn("idiv", |a: i64, b: i64| -> Result<i64> {
        if b == 0 { Err(fault("idiv: division by zero")) } else { Ok(a.wrapping_div(b)) }
    });
    // As of arrays of integers, and as not(7).
    engine.register_fn("!", |bits: i64| !bits);
    engine.register_fn("**", |base: i64, exponent: i64| -> Result<rhai::Dynamic> {
        power(base, exponent)
    });
}

/// Functions that plain Rhai has with another meaning: rounding halves away from zero, a sign of 0 for zeros, NaN by
/// position in `min` and `max`; and those whose digits are the system's: here they are those of arrays, everywhere.
#[expect(clippy::cast_precision_loss, reason = "an integer meets a float as a float")]
fn same_meaning_as_arrays(registry: &mut Registry<'_>) {
    let engine = &mut *registry.engine;
    let aliases = [("ln", "log"), ("atan", "atan2")];
    for function in FUNCTIONS.iter().filter(|function| function.is_of_floats()) {
        let aliases = aliases.iter().filter(|(_, name)| *name == function.name);
        for name in aliases.map(|(alias, _)| *alias).chain([function.name]) {
            let numbers = Rc::new(function.of_numbers());
            let of = numbers.clone();
            match function.arity {
                1 => {
                    engine.register_fn(name, move |x: f64| of.call(&[x]));
                    engine.register_fn(name, move |x: i64| numbers.call(&[x as f64]));
                }
                2 => {
                    engine.register_fn(name, move |x: f64, y: f64| of.call(&[x, y]));
                    let of = numbers.clone();
                    engine.register_fn(name, move |x: f64, y: i64| of.call(&[x, y as f64]));
                    let of = numbers.clone();
                    engine.register_fn(name, move |x: i64, y: f64| of.call(&[x as f64, y]));
                    engine.register_fn(name, move |x: i64, y: i64| {
                        numbers.call(&[x as f64, y as f64])
                    });
                }
                _ => {}
            }
        }
    }
    let powers = Rc::new(Powers::default());
    let (of_floats, of_float, of_integer, logarithm) =
        (powers.clone(), powers.clone(), powers.clone(), powers);
    engine.register_fn("**", move |base: f64, exponent: f64| of_floats.power(base, exponent));
    engine.register_fn("**", move |base: f64, n: i64| of_float.power(base, n as f64));
    engine.register_fn("**", move |n: i64, exponent: f64| of_integer.power(n as f64, exponent));
    let of = [logarithm.clone(), logarithm.clone(), logarithm.clone()];
    let [of_both, of_x, of_base] = of;
    engine.register_fn("log", move |x: f64, base: f64| logarithm.logarithm(x, base));
    engine.register_fn("log", move |x: i64, base: i64| of_both.logarithm(x as f64, base as f64));
    engine.register_fn("log", move |x: i64, base: f64| of_x.logarithm(x as f64, base));
    engine.register_fn("log", move |x: f64, base: i64| of_base.logarithm(x, base as f64));
    engine.register_fn("round", f64::round_ties_even);
    for name in ["to_int", "int"] {
        engine.register_fn(name, move |x: f64| to_int(name, x));
    }
    engine.register_fn("abs", i64::wrapping_abs);
    engine.register_fn("sign", |x: i64| if x < 0 { -1_i64 } else { 1 });
    engine.register_fn("sign", |x: f64| if x.is_nan() { x } else { 1_f64.copysign(x) });
    for op in [Op::Min, Op::Max] {
        engine.register_fn(op.name(), move |a: f64, b: f64| f64::apply(op, a, b, b));
    }
}

/// An integer without the fraction, as of Python.
///
/// # Errors
/// None is as large, or it is NaN.
#[expect(clippy::cast_possible_truncation, reason = "it fits")]
fn to_int(name: &str, x: f64) -> Result<i64> {
    // The bounds of an i64, of which the upper one is none.
    if (-(2_f64.powi(63))..2_f64.powi(63)).contains(&x) {
        return Ok(x as i64);
    }
    let x = if x.is_nan() { "nan".into() } else { x.to_string() };
    Err(fault(format!("{name}: {x} is no integer of 64 bits")))
}

/// An integer while it fits, a float for negative exponents.
#[expect(clippy::cast_precision_loss, reason = "negative powers are floats")]
pub(super) fn power(base: i64, exponent: i64) -> Result<rhai::Dynamic> {
    match u32::try_from(exponent) {
        Ok(exponent) => match base.checked_pow(exponent) {
            Some(power) => Ok(power.into()),
            None => Err(fault(format!(
                "**: {base} ** {exponent} does not fit a 64-bit integer; write {base}.0 ** {exponent}"
            ))),
        },
        Err(_) => Ok(Powers::default().power(base as f64, exponent as f64).into()),
    }
}

/// A list of what a function makes of each number.
fn mapped(
    call: &rhai::NativeCallContext<'_>,
    range: impl Iterator<Item = i64>,
    each: &rhai::FnPtr,
    sizes: Sizes,
) -> Result<rhai::Array> {
    let mut list = rhai::Array::new();
    for i in range {
        let item = each.call_within_context(call, (i,))?;
        sizes.make_room("map", &mut list)?;
        list.push(item);
    }
    Ok(list)
}

fn ranges(registry: &mut Registry<'_>) {
    let sizes = Sizes::of(&registry.context);
    registry.doc(
        "range",
        "(start, stop, step)",
        "Integers from start (default 0) up to but not including stop, by step (default 1): \
         `for i in range(3)`, `a[range(0, 10, 2)]`, `range(3).map(|i| i * i)`.\n\n\
         >> range(3).map(|i| i * i)\n[0, 1, 4]",
    );
    let engine = &mut *registry.engine;
    engine.register_type_with_name::<Range>("range");
    engine.register_iterator::<Range>();
    engine.register_fn("range", |stop: i64| Range { start: 0, stop, step: 1 });
    engine.register_fn("range", |start: i64, stop: i64| Range { start, stop, step: 1 });
    engine.register_fn("range", |start: i64, stop: i64, step: i64| -> Result<Range> {
        if step == 0 {
            Err(fault("range: the step is zero"))
        } else {
            Ok(Range { start, stop, step })
        }
    });
    engine.register_fn(
        "map",
        move |call: rhai::NativeCallContext<'_>, range: Range, each: rhai::FnPtr| {
            mapped(&call, range, &each, sizes)
        },
    );
    engine.register_fn(
        "map",
        move |call: rhai::NativeCallContext<'_>, range: std::ops::Range<i64>, each: rhai::FnPtr| {
            mapped(&call, range, &each, sizes)
        },
    );
    engine.register_fn("to_string", |range: &mut Range| range.to_string());
}

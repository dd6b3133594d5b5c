//! Powers, and the functions that give two arrays.

use std::any::TypeId;

use porcini_core::ir::op::Op;
use porcini_core::trace::functions;
use porcini_core::{Error, Operand};
use rhai::Dynamic;

use super::registry::Registry;
use super::{ops, script_numbers};
use crate::context::Context;
use crate::fault::{Result, fault, under_name};
use crate::value::nested;
use crate::value::{Arg, ArrayRef};

pub(super) fn register(registry: &mut Registry<'_>) {
    power(registry);
    for pair in PAIRS {
        registry.doc(pair.name, "(x)", pair.doc);
        registry.any(pair.name, 1, move |context, call, args| {
            context.at(call);
            let both = pair.functions.map(|name| ops::call(context, name, args));
            both.into_iter().collect::<Result<rhai::Array>>()
        });
    }
}

/// A function of one array that gives a list of two, each a function by itself.
struct Pair {
    name: &'static str,
    functions: [&'static str; 2],
    doc: &'static str,
}

const PAIRS: &[Pair] = &[
    Pair {
        name: "sincos",
        functions: ["sin", "cos"],
        doc: "The list `[sin(x), cos(x)]`, which costs little more than one of them.\n\n\
              >> sincos(FloatC([0, 1]))[1]\n[1, 0.540302]",
    },
    Pair {
        name: "sincosh",
        functions: ["sinh", "cosh"],
        doc: "The list `[sinh(x), cosh(x)]`, which costs little more than one of them.\n\n\
              >> sincosh(FloatC([0, 1]))[1]\n[1, 1.54308]",
    },
    Pair {
        name: "frexp",
        functions: ["mantissa", "exponent"],
        doc: "The list `[m, e]` of floats with `x = m * 2^e` and 0.5 <= |m| < 1; `[x, 0]` where x is 0, \
              infinite or NaN. Exact.\n\n\
              >> frexp(FloatC([12, -0.1]))[0]\n[0.75, -0.8]",
    },
];

const POWER: &str = "Power `a ** b`. With a script integer b of an array a by repeated squaring, exact for \
    integers; negative b takes reciprocals. Else the function of floats: at most 2 ulp; 1 for b = 0 or \
    a = 1, NaN for a negative a unless b is an integer, other special values as in C.\n\n\
    >> pow(FloatC([2, 9]), 0.5)\n[1.41421, 3]";

/// `a ** b` and `pow(a, b)`.
fn power(registry: &mut Registry<'_>) {
    registry.doc("pow", "(a, b)", POWER);
    let family = std::mem::replace(&mut registry.family, "operators");
    registry.doc(
        "**",
        "a ** b",
        "Power, as pow(a, b); of script numbers too. A minus in front applies to the power: -x ** 2 is \
         -(x ** 2). From the right: 2 ** 3 ** 2 is 2 ** 9.\n\n>> -FloatC([2, 3]) ** 2\n[-4, -9]",
    );
    registry.family = family;
    registry.any("pow", 2, |context, call, args| {
        context.at(call);
        match (args[0].as_int(), args[1].as_int()) {
            (Ok(base), Ok(exponent)) => script_numbers::power(base, exponent),
            _ => raise(context, "pow", args),
        }
    });
    let (array, any) = (TypeId::of::<ArrayRef>(), TypeId::of::<Dynamic>());
    for types in [[array, any], [any, array]] {
        let context = registry.context.clone();
        registry.engine.register_raw_fn("**", types, move |call, args| {
            context.at(&call);
            raise(&context, "**", args).map_err(|error| under_name(error, "**"))
        });
    }
    let context = registry.context.clone();
    registry.engine.register_raw_fn("**=", [array, any], move |call, args| {
        context.at(&call);
        *args[0] = raise(&context, "**", args).map_err(|error| under_name(error, "**"))?;
        Ok(())
    });
}

fn raise(context: &Context, op: &str, args: &[&mut Dynamic]) -> Result<Dynamic> {
    let base = args[0].read_lock::<ArrayRef>().map(|base| base.clone());
    match (base, args[1].as_int()) {
        (Some(base), Ok(exponent)) => {
            integer_power(context, op, &base, exponent).map(Dynamic::from)
        }
        _ => ops::call(context, "pow", args),
    }
}

/// By repeated squaring: small powers are a few products.
fn integer_power(context: &Context, op: &str, base: &ArrayRef, exponent: i64) -> Result<ArrayRef> {
    let dtype = base.dtype();
    if exponent < 0 && !dtype.is_float() {
        return Err(fault(format!(
            "{op}: a negative power of integers; convert with FloatC(..) first"
        )));
    }
    let multiply = |a: &ArrayRef, b: &ArrayRef| {
        let args = [Arg::Value(a.clone()), Arg::Value(b.clone())];
        nested::map("*", &args, &|operands| context.session.apply(Op::Mul, operands))
    };
    let mut n = exponent.unsigned_abs();
    let mut square = base.clone();
    let mut product: Option<ArrayRef> = None;
    while n > 0 {
        if n & 1 != 0 {
            product = Some(match product {
                Some(product) => multiply(&product, &square)?,
                None => square.clone(),
            });
        }
        n >>= 1;
        if n > 0 {
            square = multiply(&square, &square)?;
        }
    }
    let product = match product {
        Some(product) => product.copy(),
        None => one_like(context, base)?,
    };
    if exponent < 0 {
        return reciprocal(context, product);
    }
    Ok(product)
}

/// Of a matrix the inverse.
fn reciprocal(context: &Context, x: ArrayRef) -> Result<ArrayRef> {
    let function = functions::find("rcp").expect("internal error: a function without a row");
    nested::map("rcp", &[Arg::Value(x)], &|operands| context.session.call(function, operands))
}

/// The number 1 of the type and size of `base`: of a matrix the identity.
fn one_like(context: &Context, base: &ArrayRef) -> Result<ArrayRef> {
    let zero = nested::components("**", &[Arg::Value(base.clone())], &|operands| match operands {
        [Operand::Array(x)] => x.session().zeros(x.dtype(), x.size()),
        _ => Err(Error::Argument { op: "**", what: "one array expected".into() }),
    })?;
    let args = [Arg::Value(zero), Arg::Number(1.into())];
    nested::map("+", &args, &|operands| context.session.apply(Op::Add, operands))
}

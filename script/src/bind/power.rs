//! Powers, and the functions that give two arrays.

use std::any::TypeId;

use porcini_core::value::power;
use rhai::Dynamic;

use super::registry::Registry;
use super::{ops, script_numbers};
use crate::context::Context;
use crate::fault::{IntoFault, Result, under_name};
use crate::value::ArrayRef;

pub(super) fn register(registry: &mut Registry<'_>) {
    powers(registry);
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
fn powers(registry: &mut Registry<'_>) {
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
    let Ok(exponent) = args[1].as_int() else { return ops::call(context, "pow", args) };
    let base = args[0].read_lock::<ArrayRef>().map(|base| base.to_value());
    match base {
        Some(base) => Ok(Dynamic::from(ArrayRef::from(power(op, &base, exponent).or_fault()?))),
        None => ops::call(context, "pow", args),
    }
}

//! Powers: of integers by squaring.

use std::any::TypeId;

use porcini_core::value::power;
use rhai::Dynamic;

use super::registry::Registry;
use super::{ops, script_numbers};
use crate::context::Context;
use crate::fault::{IntoFault, Result, under_name};
use crate::value::ArrayRef;

/// `a ** b` and `pow(a, b)`.
pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "**",
        "a ** b",
        "Power, as pow(a, b); of script numbers too. A minus in front applies to the power: -x ** 2 is \
         -(x ** 2). From the right: 2 ** 3 ** 2 is 2 ** 9.\n\n>> -FloatC([2, 3]) ** 2\n[-4, -9]",
    );
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

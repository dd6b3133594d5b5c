//! Powers: of integers by squaring.

use porcini_core::value::power;
use rhai::Dynamic;

use super::registry::Registry;
use super::{operators, script_numbers};
use crate::context::Context;
use crate::fault::{IntoFault, Result};
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
    operators::binary_operator(registry, "**", |context, args| raise(context, "**", args));
}

fn raise(context: &Context, op: &str, args: &[&mut Dynamic]) -> Result<Dynamic> {
    if let Ok(exponent) = args[1].as_int()
        && let Some(base) = args[0].read_lock::<ArrayRef>()
    {
        let power = power(op, &base.to_value(), exponent).or_fault()?;
        return Ok(Dynamic::from(ArrayRef::from(power)));
    }
    operators::call(context, "pow", args)
}

//! Lengths and products of arrays over their lanes, under the names that they have for vectors.

use super::Value;
use super::argument::{Argument, operands};
use crate::array::{Array, Operand};
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::{Class, Op};
use crate::trace::nested::NestedFunction;

/// A function of arrays over their lanes; `None` for anything else.
pub(super) fn over_lanes(row: &NestedFunction, args: &[&Argument<'_>]) -> Result<Option<Value>> {
    let Some(ops) = row.over_lanes else { return Ok(None) };
    if args.iter().any(|arg| arg.is_nested()) || args.len() != row.parameters.len() {
        return Ok(None);
    }
    let Some(array) = args.iter().flat_map(|arg| arg.leaves()).next() else { return Ok(None) };
    let args = operands(row.name, args)?;
    let result = match args[..] {
        [Operand::Array(x)] if x.dtype() != DType::Mask => {
            // Squares of narrow integers, and of halves, have no room in their own type.
            let is_float = row.class == Class::Float;
            let own = if is_float { x.dtype().quotient() } else { x.dtype().accumulated() };
            let wide = x.cast(own.widened())?;
            of_products([(&wide).into(); 2], array, ops)?.cast(own)?
        }
        _ => of_products([args[0], args[args.len() - 1]], array, ops)?,
    };
    Ok(Some(Value::Array(result)))
}

/// Operations, one after the other, of the sum over the lanes of a product, in the session of an array.
fn of_products(pair: [Operand<'_>; 2], array: &Array, ops: &[Op]) -> Result<Array> {
    let sum = array.session().apply(Op::Mul, &pair)?.hsum()?;
    ops.iter().try_fold(sum, |result, &op| {
        let next = result.apply(op, &[])?;
        if op != Op::Sqrt || !result.is_followed() {
            return Ok(next);
        }
        // The derivative of a length of 0 is 0, as that of `abs` is.
        let is_zero = result.apply(Op::Eq, &[0.into()])?;
        is_zero.apply(Op::Select, &[0.into(), (&next).into()])
    })
}

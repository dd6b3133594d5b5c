//! Lengths and products of arrays over their lanes, under the names that they have for vectors.

use super::Value;
use super::argument::{Argument, operands};
use crate::array::Operand;
use crate::error::Result;
use crate::ir::op::Op;
use crate::trace::nested::NestedFunction;

/// A function of arrays over their lanes; `None` for anything else.
pub(super) fn over_lanes(row: &NestedFunction, args: &[&Argument<'_>]) -> Result<Option<Value>> {
    let Some(ops) = row.over_lanes else { return Ok(None) };
    if args.iter().any(|arg| arg.is_nested()) || args.len() != row.parameters.len() {
        return Ok(None);
    }
    let Some(array) = args.iter().flat_map(|arg| arg.leaves()).next() else { return Ok(None) };
    let args = operands(row.name, args)?;
    let pair: [Operand<'_>; 2] = [args[0], args[args.len() - 1]];
    let mut result = array.session().apply(Op::Mul, &pair)?.hsum()?;
    for &op in ops {
        result = result.apply(op, &[])?;
    }
    Ok(Some(Value::Array(result)))
}

//! Lengths and products of arrays over their lanes, under the names that they have for vectors.

use super::Value;
use super::argument::Argument;
use crate::error::Result;
use crate::ir::op::Op;
use crate::operand::Operand;

/// `dot`, `abs_dot`, `norm` and `squared_norm` of arrays, over their lanes; `None` for anything else.
pub(super) fn over_lanes(name: &str, args: &[&Argument<'_>]) -> Result<Option<Value>> {
    let pair = match (name, args) {
        ("norm" | "squared_norm", [v @ Argument::Array(_)]) => [v.operand(name)?; 2],
        ("dot" | "abs_dot", [a, b]) if !a.is_nested() && !b.is_nested() => {
            [a.operand(name)?, b.operand(name)?]
        }
        _ => return Ok(None),
    };
    let [a, b] = pair;
    let product = match (a, b) {
        (Operand::Array(a), b) => a.try_mul(b)?,
        (a, Operand::Array(b)) => b.session().apply(Op::Mul, &[a, b.into()])?,
        (Operand::Number(_), Operand::Number(_)) => return Ok(None),
    };
    let sum = product.hsum()?;
    let result = match name {
        "norm" => sum.sqrt()?,
        "abs_dot" => sum.abs()?,
        _ => sum,
    };
    Ok(Some(Value::Array(result)))
}

//! Smallest and largest components, whose derivatives tied ones share equally (S29): pair by pair the last ones had most.

use super::Value;
use super::argument::Argument;
use super::map::{apply, function};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};

/// What goes over the lanes of each component, with a reduction that it is told, or leaves lanes as they are.
pub(super) type OverLanes<'f> = dyn Fn(&Value, ReduceOp) -> Result<Value> + 'f;

/// The extreme of components, as one of them with the derivatives of all that are equal to it, equal parts of each.
///
/// # Errors
/// As [`apply`]; what `over` returns.
pub(super) fn with_equal_shares(
    extreme: Value,
    components: &[Value],
    over: &OverLanes<'_>,
) -> Result<Value> {
    let of = |op: Op, a: &Value, b: &Value| apply(op, &[&a.into(), &b.into()]);
    let dtype = extreme.dtype();
    let value = detached(&extreme)?;
    let (mut n_tied, mut moves) = (None, None);
    let mut ties = Vec::with_capacity(components.len());
    for component in components {
        let is_tied = of(Op::Eq, component, &value)?;
        let one = Argument::from(&is_tied).each("max", |mask| mask.cast(DType::U32))?;
        n_tied = Some(added(n_tied, over(&one, ReduceOp::Sum)?)?);
        ties.push(is_tied);
    }
    let Some(n_tied) = n_tied else { return Ok(extreme) };
    let n_tied = Argument::from(&n_tied).each("max", |n| n.cast(dtype))?;
    // An infinite one less itself is no number, and less its parts it stays what it is.
    let is_infinite = function("isinf", &[&(&value).into()])?;
    let start = apply(Op::Select, &[&(&is_infinite).into(), &0.into(), &(&value).into()])?;
    for (component, is_tied) in components.iter().zip(&ties) {
        // Of a finite one nothing, which has a derivative.
        let still = of(Op::Sub, &start, component)?;
        let share = of(Op::Div, &still, &n_tied)?;
        let share = apply(Op::Select, &[&is_tied.into(), &(&share).into(), &Argument::from(0)])?;
        moves = Some(added(moves, over(&share, ReduceOp::Sum)?)?);
    }
    let Some(moves) = moves else { return Ok(extreme) };
    of(Op::Sub, &value, &moves)
}

fn added(sum: Option<Value>, part: Value) -> Result<Value> {
    match sum {
        Some(sum) => apply(Op::Add, &[&(&sum).into(), &(&part).into()]),
        None => Ok(part),
    }
}

fn detached(value: &Value) -> Result<Value> {
    Argument::from(value).each("detach", Array::detach)
}

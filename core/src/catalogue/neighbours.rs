//! What neighbours along an axis make: areas between them, steps of angles.

use std::f64::consts::TAU;

use super::Call;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::{Shape, Tensor};
use crate::value::{Argument, Value, apply};

/// The upper and the lower ones of neighbours along an axis.
fn neighbours(of: &Tensor, axis: i64) -> Result<[Value; 2]> {
    Ok([of.slice(axis, 1..)?, of.slice(axis, ..-1)?].map(Value::from))
}

/// Angles without jumps along an axis.
pub(super) fn unwrapped(c: &Call<'_, '_>) -> Result<Value> {
    let (x, axis) = (c.tensor(0)?, c.axis(1, -1)?);
    let x = x.real(c.op)?.each(|part| part.cast(part.dtype().quotient()))?;
    let [upper, lower] = neighbours(&x, axis)?;
    let steps = upper.try_sub(&lower)?.try_div(TAU)?;
    let Value::Tensor(turns) = apply(Op::Round, &[&(&steps).into()])? else {
        return Err(c.unexpected(0, "a tensor"));
    };
    // Whole numbers add up exactly.
    let turned = Value::from(turns.cumsum(axis)?).try_mul(TAU)?;
    let Value::Tensor(others) = upper.try_sub(&turned)? else {
        return Err(c.unexpected(0, "a tensor"));
    };
    c.like_first(Tensor::concat(&[x.slice(axis, 0..1)?, others], axis)?)
}

/// The areas of the trapezoids between neighbours along an axis, and that axis.
pub(super) fn trapezoids(c: &Call<'_, '_>) -> Result<(Tensor, i64)> {
    let (y, axis) = (c.tensor(0)?, c.axis(2, -1)?);
    let y = y.each(|part| part.cast(part.dtype().quotient()))?;
    let place = y.shape().axis(c.op, axis)?;
    let [upper, lower] = neighbours(&y, axis)?;
    let twice = upper.try_add(&lower)?;
    let areas = match c.given(1) {
        None | Some(Argument::Number(_)) => twice.try_mul(c.number(1, 1.0)? * 0.5)?,
        Some(_) => {
            // Differences of narrow or unsigned integers would wrap.
            let wide = |part: &Array| match part.dtype().is_int() {
                true => part.cast(DType::I64),
                false => Ok(part.clone()),
            };
            let x = c.tensor(1)?.each(wide)?;
            // Places in an array are those of each line along the axis.
            let is_line = x.shape().rank() == 1;
            let along = if is_line { 0 } else { axis };
            let x = beside(&x, y.shape(), place)?;
            let given = x.shape().extents()[x.shape().axis(c.op, along)?];
            let expected = y.shape().extents()[place];
            if given != expected {
                let what = format!("got {given} places, expected {expected}, as there are entries");
                return Err(Error::Argument { op: c.op, what });
            }
            let [upper, lower] = neighbours(&x, along)?;
            let distance = upper.try_sub(&lower)?;
            let is_int = x.dtype().is_int();
            let distance = if is_int { distance.cast(y.dtype())? } else { distance };
            twice.try_mul(&distance)?.try_mul(0.5)?
        }
    };
    match areas {
        Value::Tensor(areas) => Ok((areas, axis)),
        _ => Err(c.unexpected(0, "a tensor")),
    }
}

/// A line of numbers as one that lies along an axis of a shape; what is no line stays.
pub(super) fn beside(line: &Tensor, shape: &Shape, place: usize) -> Result<Tensor> {
    let behind = if line.shape().rank() == 1 { shape.rank() - 1 - place } else { 0 };
    (0..behind).try_fold(line.clone(), |line, _| line.expand(-1))
}

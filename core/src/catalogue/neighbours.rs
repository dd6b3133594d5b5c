//! What neighbours along an axis make: windows of them, differences, areas between them, steps of angles.

use std::f64::consts::TAU;

use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::{Shape, Tensor};
use crate::value::{Argument, Value, apply};

table! {
    /// What is made of neighbours.
    pub TENSOR_NEIGHBOURS;
    /// The windows of so many neighbours along each axis, as one tensor: an entry for each place where a window fits, and
    /// the axes of the windows behind all others. With an axis, or a list of them, along these alone. A moving average is
    /// hmean(sliding_window_view(x, 3), -1), a moving median median(sliding_window_view(x, 3), -1). A view: nothing is
    /// copied or recorded. On a CPU sums, products, means, the least and the largest along one axis of windows, and windows
    /// times a vector, read them where they lie; what else is made of long ones (`median`, `argmax`, `var`, derivatives) takes
    /// memory for all of them.
    ///
    /// >> sliding_window_view(FloatC([1, 2, 3, 4]), 2)
    /// [[1, 2],
    ///  [2, 3],
    ///  [3, 4]]
    /// >> shape(sliding_window_view(zeros([4, 5]), [2, 3]))
    /// [3, 3, 2, 3]
    sliding_window_view(t: Tensor, window_shape: Integers("a window"); axis: Integers("axes")) = |c| windows(c);
    /// The windows of so many neighbours along axes; another name of sliding_window_view.
    ///
    /// >> hmax(windows(FloatC([3, 1, 2, 5]), 2), -1)
    /// [3, 2, 5]
    windows(t: Tensor, window_shape: Integers("a window"); axis: Integers("axes")) = |c| windows(c);
    /// Differences of neighbours along an axis (the last unless given): one entry less. With n those of the differences
    /// again, n times.
    ///
    /// >> diff(TensorXfC([[1, 4, 9], [2, 2, 5]]))
    /// [[3, 5],
    ///  [0, 3]]
    diff(t: Tensor; axis: Integer, n: Count("a number of times")) = |c| {
        let (tensor, axis) = (c.tensor(0)?, c.axis(1, -1)?);
        let extent = tensor.shape().extents()[tensor.shape().axis(c.op, axis)?];
        // Of nothing there is nothing.
        let n = c.size(2)?.min(extent.max(1));
        let mut value = Value::Tensor(tensor);
        for _ in 0..n {
            let Value::Tensor(tensor) = &value else { return Err(c.unexpected(0, "a tensor")) };
            let [upper, lower] = neighbours(tensor, axis)?;
            value = apply(Op::Sub, &[&(&upper).into(), &(&lower).into()])?;
        }
        Ok::<_, Error>(value)
    };
}

fn windows(c: &Call<'_, '_>) -> Result<Tensor> {
    c.tensor(0)?.sliding_window_view(&c.counts(1, "a window")?, c.axes(2)?.as_deref())
}

/// The upper and the lower ones of neighbours along an axis.
fn neighbours(of: &Tensor, axis: i64) -> Result<[Value; 2]> {
    Ok([of.slice(axis, 1..)?, of.slice(axis, ..-1)?].map(Value::from))
}

/// Angles without jumps along an axis.
pub(super) fn unwrapped(c: &Call<'_, '_>) -> Result<Value> {
    let (x, axis) = (c.tensor(0)?, c.axis(1, -1)?);
    let x = x.real(c.op)?.each(|part| part.cast(part.dtype().quotient()))?;
    let [upper, lower] = neighbours(&x, axis)?;
    let Value::Tensor(steps) = upper.try_sub(&lower)?.try_div(TAU)? else {
        return Err(c.unexpected(0, "a tensor"));
    };
    // Of half a turn one way is as short as the other: it keeps its own.
    let turns = steps.each(|step| {
        let turns = step.round()?;
        turns.try_sub(step)?.abs()?.eq(0.5)?.select(&step.trunc()?, &turns)
    })?;
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

//! Moments of tensors along axes: those of entries that are not NaN, and what shape a distribution has.

use super::along::{along, deviation_of, of_hundred, quantiles};
use super::tensors::number_or_tensor;
use super::{Answer, Call, Kind, Row, table};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::tensor::Tensor;
use crate::value::{Value, apply, function};

table! {
    /// Moments along axes, and quantiles without NaN.
    pub TENSOR_MOMENTS;
    /// Variance of the entries that are not NaN along axes, as var, of complex ones too; NaN of no more of them than ddof.
    ///
    /// >> nanvar(TensorXfC([[1, nan, 3], [2, 2, 5]]), 1)
    /// [1, 2]
    nanvar(t: Tensor; axes: Axes, keepdims: Bool("as keepdims"), ddof: Number("as ddof")) = |c| nan_variance(c);
    /// Square root of the variance of the entries that are not NaN along axes, as nanvar.
    ///
    /// >> nanstd(FloatC([1, nan, 5]))
    /// [2]
    nanstd(t: Tensor; axes: Axes, keepdims: Bool("as keepdims"), ddof: Number("as ddof")) = |c| {
        deviation_of(&nan_variance(c)?)
    };
    /// How far entries along axes, as of hsum, lie to the right more than to the left: the mean cube of their distances from
    /// the mean over the cube of the deviation that std gives. NaN where all are the same.
    ///
    /// >> skew(FloatC([0, 0, 3]))
    /// [0.707107]
    skew(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        let Moments { square, cube, own, .. } = moments(c)?;
        let deviation = apply(Op::Sqrt, &[&(&square).into()])?;
        cube.try_div(&square.try_mul(&deviation)?)?.cast(own)
    };
    /// How much of the distribution of the entries along axes, as of hsum, lies in its tails: the mean fourth power of their
    /// distances from the mean over the square of the variance, less 3, which a normal distribution has. NaN where all
    /// are the same.
    ///
    /// >> kurtosis(FloatC([1, 2, 3, 4]))
    /// [-1.36]
    kurtosis(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        let Moments { square, fourth, own, .. } = moments(c)?;
        fourth.try_div(&square.try_mul(&square)?)?.try_sub(3)?.cast(own)
    };
    /// The value below which a part p of the entries that are not NaN lies, along an axis, a list of axes, or of all, as
    /// quantile; NaN where there are none.
    ///
    /// >> nanquantile(TensorXfC([[1, nan, 2], [4, 5, 9]]), 0.75, 1)
    /// [1.75,    7]
    nanquantile(t: Tensor, p: Numbers("as a part"); axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        quantiles(c, Tensor::nanquantiles, Ok)
    };
    /// The value below which p of a hundred entries that are not NaN lie, as nanquantile(t, p / 100).
    ///
    /// >> nanpercentile(FloatC([1, nan, 2]), 75)
    /// [1.75]
    nanpercentile(t: Tensor, p: Numbers("as a part"); axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        quantiles(c, Tensor::nanquantiles, |percent| of_hundred(c, percent))
    };
}

/// A reduction along the axes, which remain.
fn kept(c: &Call<'_, '_>, x: &Value, op: ReduceOp) -> Result<Value> {
    match x {
        Value::Tensor(x) => x.reduce(op, c.axes(1)?.as_deref(), true).map(Value::Tensor),
        x => x.reduce(op),
    }
}

/// The entries in the float in which distances are taken, and the one that results have.
fn wide(c: &Call<'_, '_>) -> Result<(Tensor, DType)> {
    let t = c.tensor(0)?;
    let dtype = t.real(c.op)?.dtype();
    if dtype == DType::Mask {
        return Err(Error::UnsupportedType { op: c.op, dtype, expected: "numbers" });
    }
    Ok((t.each(|part| part.cast(dtype.averaged()))?, dtype.quotient()))
}

fn nan_variance(c: &Call<'_, '_>) -> Result<Value> {
    let (x, own) = match c.tensor(0)? {
        complex if complex.is_complex() => {
            let dtype = complex.dtype();
            (complex.each(|part| part.cast(dtype.averaged()))?, dtype.quotient())
        }
        _ => wide(c)?,
    };
    let (dtype, x) = (x.dtype(), Value::Tensor(x));
    let mean = x.mean_without_nan(|x, op| kept(c, x, op))?;
    let known = apply(Op::Not, &[&(&function("isnan", &[&(&x).into()])?).into()])?;
    // Before they are squared: the slope of a square that is NaN is none. That of an infinity stays NaN.
    let distance = x.try_sub(&mean)?;
    let distance = apply(Op::Select, &[&(&known).into(), &(&distance).into(), &0.into()])?;
    let squares = squared_lengths(&distance)?;
    let left = along(c, &known, ReduceOp::Count)?.cast(dtype)?.try_sub(c.number(3, 0.0)?)?;
    // Where as many are left as are taken off there is none.
    let is_any = apply(Op::Gt, &[&(&left).into(), &0.into()])?;
    let left = apply(Op::Select, &[&(&is_any).into(), &(&left).into(), &f64::NAN.into()])?;
    along(c, &squares, ReduceOp::Sum)?.try_div(&left)?.cast(own)
}

/// The squares of entries, of complex ones those of their lengths.
fn squared_lengths(x: &Value) -> Result<Value> {
    let Value::Tensor(tensor) = x else { return x.try_mul(x) };
    let squares =
        tensor.entries()?.iter().map(|part| part.try_mul(part)).collect::<Result<Vec<_>>>()?;
    let sum = match &squares[..] {
        [real, imag] => real.try_add(imag)?,
        squares => squares[0].clone(),
    };
    Tensor::of([sum], tensor.shape().clone()).map(Value::Tensor)
}

/// Mean powers of distances from the mean.
struct Moments {
    /// NaN where it is rounding alone.
    square: Value,
    cube: Value,
    fourth: Value,
    own: DType,
}

fn moments(c: &Call<'_, '_>) -> Result<Moments> {
    let (x, own) = wide(c)?;
    let (axes, keeps) = (c.axes(1)?, c.truth(2)?);
    let mean_of = |x: &Value, keeps| match x {
        Value::Tensor(x) => number_or_tensor(x.mean(axes.as_deref(), keeps)?),
        _ => Err(c.unexpected(0, "a tensor")),
    };
    let epsilon = if x.dtype() == DType::F64 { f64::EPSILON } else { f32::EPSILON.into() };
    let x = Value::Tensor(x);
    let distance = x.try_sub(&mean_of(&x, true)?)?;
    let squares = distance.try_mul(&distance)?;
    let square = mean_of(&squares, keeps)?;
    // What is not exact in the mean is as far from it.
    let least = mean_of(&x, keeps)?.try_mul(epsilon)?;
    let is_same = apply(Op::Le, &[&(&square).into(), &(&least.try_mul(&least)?).into()])?;
    let square = apply(Op::Select, &[&(&is_same).into(), &f64::NAN.into(), &(&square).into()])?;
    let cube = mean_of(&squares.try_mul(&distance)?, keeps)?;
    let fourth = mean_of(&squares.try_mul(&squares)?, keeps)?;
    Ok(Moments { square, cube, fourth, own })
}

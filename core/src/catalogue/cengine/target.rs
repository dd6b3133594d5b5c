//! What operations of Cengine make of their target: it keeps its form, its type and its bundles.

use super::super::{Answer, Call};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;
use crate::tensor::Tensor;
use crate::value::{Argument, Form, Value};

/// The target.
pub(super) fn r(c: &Call<'_, '_>) -> Result<Value> {
    c.value(0)
}

/// The target full of zeros.
pub(super) fn zero(c: &Call<'_, '_>) -> Result<Value> {
    r(c)?.each_array(&mut |part| c.session.full(part.dtype(), 0, part.size()))
}

/// A tensor, or its entries where the target is none.
pub(super) fn like(c: &Call<'_, '_>, x: Tensor) -> Result<Value> {
    if matches!(c.args[0], Argument::Tensor(_)) { Ok(Value::Tensor(x)) } else { x.lanes() }
}

/// A factor of tensors: of a bundle of scalars there is one for each part of the first axis.
pub(super) fn beside_tensors(c: &Call<'_, '_>, factor: Value) -> Result<Value> {
    let n = bundle(&Argument::from(&factor));
    let Argument::Tensor(place) = c.args[0] else { return Ok(factor) };
    if n == 1 || matches!(factor, Value::Tensor(_)) {
        return Ok(factor);
    }
    check_bundles(c, place, n)?;
    let mut extents = vec![1; place.shape().rank()];
    extents[0] = n.cast_signed();
    Ok(Value::Tensor(Argument::from(&factor).to_tensor(c.op)?.reshape(&extents)?))
}

/// The sum of x * conj(y) over all entries, where the target is a bundle of scalars over those of each of its tensors.
pub(super) fn inner(c: &Call<'_, '_>, x: &Tensor, y: &Tensor) -> Result<Value> {
    let n = bundle(c.args[0]);
    if n == 1 || matches!(c.args[0], Argument::Tensor(_)) {
        return like(c, x.inner(y, true)?);
    }
    if x.shape() != y.shape() {
        return Err(Error::forms(format!(
            "{}: shapes {} and {} differ",
            c.op,
            x.shape(),
            y.shape()
        )));
    }
    check_bundles(c, x, n)?;
    let product = Value::Tensor(x.clone()).try_mul(&Value::Tensor(y.conjugate()?))?;
    let axes: Vec<i64> = (1..).take(x.shape().rank() - 1).collect();
    match product {
        Value::Tensor(product) if !axes.is_empty() => {
            product.reduce(ReduceOp::Sum, Some(&axes), false)?.lanes()
        }
        Value::Tensor(product) => product.lanes(),
        product => Ok(product),
    }
}

/// How many scalars a bundle has.
fn bundle(x: &Argument<'_>) -> u64 {
    x.leaves().into_iter().map(Array::size).find(|&size| size != 1).unwrap_or(1)
}

/// Refuses a tensor that is no bundle of so many.
fn check_bundles(c: &Call<'_, '_>, of: &Tensor, n: u64) -> Result<()> {
    let own = of.shape().extents().first().copied().unwrap_or(1);
    if own == n { Ok(()) } else { Err(differ(c, own, n)) }
}

fn differ(c: &Call<'_, '_>, own: u64, other: u64) -> Error {
    Error::forms(format!("{}: bundle sizes differ: {own} vs {other}", c.op))
}

/// The first argument with a value in its place, which has its type and shape.
pub(super) fn written(c: &Call<'_, '_>, value: &Value) -> Result<Answer> {
    let old = c.args[0];
    let refuse = |own: &str, other: &str| {
        Err(Error::forms(format!("{}: r is {own} and would become {other}", c.op)))
    };
    let value = complete(c, value)?;
    let new = Argument::from(&value);
    let value = match old {
        Argument::Tensor(place) => {
            check_type(c, &new)?;
            let fitted = new.fitted_to(c.op, place)?;
            if fitted.shape() != place.shape() {
                return refuse(&place.shape().to_string(), &fitted.shape().to_string());
            }
            Value::Tensor(fitted)
        }
        _ if old.form() == new.form() => {
            check_type(c, &new)?;
            in_bundle(c, &value)?.cast(old.dtype().unwrap_or(DType::F32))?
        }
        _ => return refuse(&old.type_name(), &new.type_name()),
    };
    Ok(Answer::Written(value, None))
}

/// A real value in place of a complex number is one with an imaginary part of 0.
fn complete(c: &Call<'_, '_>, value: &Value) -> Result<Value> {
    match value {
        Value::Array(real) if c.args[0].form() == Form::Complex => {
            let imag = c.session.full(real.dtype(), 0, real.size())?;
            Ok(Value::of_known(Form::Complex, vec![real.clone().into(), imag.into()]))
        }
        value => Ok(value.clone()),
    }
}

/// Refuses what the type of the target does not hold, as a scatter does.
fn check_type(c: &Call<'_, '_>, new: &Argument<'_>) -> Result<()> {
    let (Some(own), Some(other)) = (c.args[0].dtype(), new.dtype()) else { return Ok(()) };
    if own.promote(other) == Some(own) {
        return Ok(());
    }
    Err(Error::conversion(c.op, other, own))
}

/// A scalar in as many lanes as the target: one is for all.
fn in_bundle(c: &Call<'_, '_>, value: &Value) -> Result<Value> {
    let own = bundle(c.args[0]);
    let sizes = || value.leaves().into_iter().map(Array::size);
    if let Some(other) = sizes().find(|&size| size != own && size != 1) {
        return Err(differ(c, own, other));
    }
    match own == 1 || sizes().any(|size| size == own) {
        true => Ok(value.clone()),
        false => value.each_array(&mut |part| part.resize(own)),
    }
}

//! Windows for spectra, numbers that fall towards both ends, and places as rows of zeros with a one.

use super::Call;
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::Tensor;
use crate::value::{Argument, Value, apply};

/// A window of as many numbers as the first argument says, of their places from -1 to 1; a single one is 1. Halves are
/// computed in f32.
pub(super) fn window(c: &Call<'_, '_>, of: impl Fn(&Array) -> Result<Array>) -> Result<Array> {
    let (n, dtype): (u64, DType) = (c.integer(0)?, c.dtype());
    if !dtype.is_float() {
        let (op, expected) = (c.op, "a float type (arange makes integers)");
        return Err(Error::UnsupportedType { op, dtype, expected });
    }
    if n < 2 {
        return c.session.full(dtype, 1, n);
    }
    // Integers: what is as far from one end as another from the other end has the same place.
    let last = Scalar::UInt(n - 1).to_f64();
    let lane = c.session.arange(DType::I64, 0.into(), Scalar::UInt(n), 1.into())?;
    let twice = lane.try_mul(2)?.try_sub(Scalar::UInt(n - 1))?;
    of(&twice.cast(dtype.widened())?.try_div(last)?)?.cast(dtype)
}

/// `height` cos(πx) above `floor`.
pub(super) fn raised_cosine(x: &Array, height: f64, floor: f64) -> Result<Array> {
    x.cospi()?.try_mul(height)?.try_add(floor)
}

/// 0.42 + 0.5 cos(πx) + 0.08 cos(2πx), as a product: 0 at the ends, not nearly.
pub(super) fn blackman(x: &Array) -> Result<Array> {
    let cosine = x.cospi()?;
    cosine.try_add(1)?.try_mul(&cosine.try_mul(0.16)?.try_add(0.34)?)
}

/// 1 − |x|.
pub(super) fn bartlett(x: &Array) -> Result<Array> {
    x.session().full(x.dtype(), 1, 1)?.try_sub(&x.abs()?)
}

/// I₀(beta sqrt(1 − x²)) / I₀(beta), without the exponentials in both that would overflow.
pub(super) fn kaiser(x: &Array, beta: f64) -> Result<Array> {
    let one = x.session().full(x.dtype(), 1, 1)?;
    let root = one.try_sub(x)?.try_mul(&one.try_add(x)?)?.sqrt()?;
    let bells = root.try_mul(beta)?.i0e()?.try_div(&one.try_mul(beta)?.i0e()?)?;
    // beta (sqrt(1 − x²) − 1), whose terms cancel.
    let exponent = x.try_mul(x)?.try_div(&root.try_add(1)?)?.try_mul(-beta)?;
    bells.try_mul(&exponent.exp()?)
}

/// For each index 1 at its place among n, 0 beside.
pub(super) fn one_hot(c: &Call<'_, '_>) -> Result<Tensor> {
    let (index, n): (Tensor, u64) = (c.tensor(0)?, c.integer(1)?);
    if !index.real(c.op)?.dtype().is_int() {
        return Err(c.unexpected(0, "integers"));
    }
    // All places fit; the largest numbers of 64 bits are negative then, and none.
    let index = index.each(|part| part.cast(DType::I64))?.expand(-1)?;
    let place = c.session.arange(DType::I64, 0.into(), Scalar::UInt(n), 1.into())?;
    let place = Tensor::new(&place, &[n])?;
    match apply(Op::Eq, &[&Argument::Tensor(&index), &Argument::Tensor(&place)])? {
        Value::Tensor(found) => found.each(|found| found.cast(c.dtype())),
        _ => Err(c.unexpected(0, "integers")),
    }
}

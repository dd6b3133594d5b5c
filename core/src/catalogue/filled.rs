//! What stands in the place of values that are no numbers.

use super::{Answer, Call, Kind, Row, table};
use crate::array::{Array, Operand};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::Op;
use crate::value::Argument;

/// Decimals beyond those of any float.
const MOST_DECIMALS: i64 = 400;

table! {
    /// What replaces values lane by lane.
    pub FILLED;
    /// x with numbers in the place of NaN (0 unless given) and of the infinities (the largest and the lowest value of the
    /// type). Of complex numbers both parts; integers stay.
    ///
    /// >> nan_to_num(FloatC([1, nan, -inf]), 5, 100, -100)
    /// [1, 5, -100]
    /// >> nan_to_num(Float16C([nan, inf]))
    /// [0, 65504]
    nan_to_num(
        x: Operand; nan: Number("as nan"), posinf: Number("as posinf"), neginf: Number("as neginf")
    ) = |c| match c.args[0] {
        Argument::Number(number) => finite_number(c, *number).map(Answer::from),
        x => x.each(c.op, |x| finite(c, x)).map(Answer::from),
    };
    /// x rounded to so many decimals, halves to even, floats with a negative number to tens, hundreds ..:
    /// round(x * 10^n) / 10^n in the type of x. Integers have no decimals.
    ///
    /// >> round(FloatC([1.234, 5.678]), 2)
    /// [1.23, 5.68]
    /// >> round(1234.5, -2)
    /// 1200
    round(x: Operand, decimals: Integer) = |c| match c.args[0] {
        Argument::Number(number @ Scalar::Float(_)) => {
            let rounded = rounded(c, &c.session.full(DType::F64, *number, 1)?)?.item(0)?;
            Ok(Answer::from(rounded))
        }
        Argument::Number(number) => whole(c).map(|()| Answer::from(*number)),
        x => x.each(c.op, |x| rounded(c, x)).map(Answer::from),
    };
}

/// Refuses to round integers to tens.
fn whole(c: &Call<'_, '_>) -> Result<()> {
    let decimals: i64 = c.integer(1)?;
    if decimals < 0 { Err(c.unexpected(0, "floats")) } else { Ok(()) }
}

fn rounded(c: &Call<'_, '_>, x: &Array) -> Result<Array> {
    if !x.dtype().is_float() {
        return whole(c).map(|()| x.clone());
    }
    // A half times 100 may be too large for a half.
    let wide = x.cast(x.dtype().widened())?;
    let decimals: i64 = c.integer(1)?;
    let scale = 10.0_f64.powi(exactly(decimals.clamp(-MOST_DECIMALS, MOST_DECIMALS).abs()));
    let (to, back) = if decimals < 0 { (Op::Div, Op::Mul) } else { (Op::Mul, Op::Div) };
    let rounded = if scale <= wide.dtype().largest_float() {
        wide.apply(to, &[scale.into()])?.apply(Op::Round, &[])?.apply(back, &[scale.into()])?
    } else if decimals < 0 {
        // Numbers are smaller than half of a step.
        wide.apply(Op::Mul, &[0.0.into()])?
    } else {
        return Ok(x.clone());
    };
    // What is too large to be scaled has no decimals, and infinities stay.
    let is_kept = if decimals < 0 { &wide } else { &rounded }.isfinite()?.try_not()?;
    let operands = [Operand::Array(&is_kept), (&wide).into(), (&rounded).into()];
    c.session.apply(Op::Select, &operands)?.cast(x.dtype())
}

/// What stands for NaN and the infinities of a type.
fn instead(c: &Call<'_, '_>, dtype: DType) -> Result<[f64; 3]> {
    let most = dtype.largest_float();
    Ok([c.number(1, 0.0)?, c.number(2, most)?, c.number(3, -most)?])
}

fn finite_number(c: &Call<'_, '_>, number: Scalar) -> Result<Scalar> {
    let [nan, most, least] = instead(c, DType::F64)?;
    Ok(match number {
        Scalar::Float(x) if x.is_nan() => nan.into(),
        Scalar::Float(f64::INFINITY) => most.into(),
        Scalar::Float(f64::NEG_INFINITY) => least.into(),
        other => other,
    })
}

fn finite(c: &Call<'_, '_>, x: &Array) -> Result<Array> {
    if !x.dtype().is_float() {
        return Ok(x.clone());
    }
    let is_there = [x.isnan()?, x.isposinf()?, x.isneginf()?];
    let mut filled = x.clone();
    for (is_there, number) in is_there.iter().zip(instead(c, x.dtype())?) {
        let operands = [Operand::Array(is_there), number.into(), Operand::Array(&filled)];
        filled = c.session.apply(Op::Select, &operands)?;
    }
    Ok(filled)
}

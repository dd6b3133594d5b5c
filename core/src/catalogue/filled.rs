//! What stands in the place of values that are no numbers.

use super::{Answer, Call, Kind, Row, table};
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::Op;
use crate::value::Argument;

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

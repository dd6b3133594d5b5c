//! Operations of Cengine whose examples are their own: copies, parts, slices and chunks of tensors, columns.

use super::super::along::root_of;
use super::super::{Answer, Call, Kind, Row, table};
use super::target::{like, r, written};
use super::{at, conj, parts_of, plus_product};
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::tensor::{AxisIndex, Tensor};
use crate::value::{Argument, Slice, Value};

table! {
    /// Operations of tensors whose examples are their own.
    pub CENGINE_TENSORS;
    /// A value of its own: what is written to it changes no other.
    ///
    /// >> rscalar_copy(rscalar(1))
    /// [1]
    rscalar_copy(x: Value) = |c| r(c)?.own();
    /// A value of its own: what is written to it changes no other.
    ///
    /// >> cscalar_copy(cscalar(1, 2))
    /// [1 + 2i]
    cscalar_copy(x: Value) = |c| r(c)?.own();
    /// A value of its own: what is written to it changes no other.
    ///
    /// >> ctensor_copy(ctensor([1]))
    /// [1 + 0i]
    ctensor_copy(x: Value) = |c| r(c)?.own();
    /// Conjugated.
    ///
    /// >> cscalar_conj(cscalar(1, 2))
    /// [1 - 2i]
    cscalar_conj(x: Value) = |c| conj(c, 0);
    /// Conjugated.
    ///
    /// >> ctensor_conj(ctensor([1], [2]))
    /// [1 - 2i]
    ctensor_conj(x: Value) = |c| conj(c, 0);
    /// The real part.
    ///
    /// >> cscalar_get_real(cscalar(1, 2))
    /// [1]
    cscalar_get_real(x: Value) = |c| Ok::<Value, Error>(parts_of(&r(c)?).swap_remove(0));
    /// The imaginary part.
    ///
    /// >> cscalar_get_imag(cscalar(1, 2))
    /// [2]
    cscalar_get_imag(x: Value) = |c| {
        parts_of(&r(c)?).into_iter().nth(1).ok_or_else(|| c.unexpected(0, "complex numbers"))
    };
    /// The real parts.
    ///
    /// >> ctensor_get_real(ctensor([1], [2]))
    /// [1]
    ctensor_get_real(x: Value) = |c| Ok::<Value, Error>(parts_of(&r(c)?).swap_remove(0));
    /// The imaginary parts.
    ///
    /// >> ctensor_get_imag(ctensor([1], [2]))
    /// [2]
    ctensor_get_imag(x: Value) = |c| {
        parts_of(&r(c)?).into_iter().nth(1).ok_or_else(|| c.unexpected(0, "complex numbers"))
    };
    /// The value of an object, which waits where it is read.
    ///
    /// >> rscalar_get(push("rscalar_add", rscalar(1), rscalar(2)))
    /// [3]
    rscalar_get(x: Value) = |c| r(c);
    /// The value of an object, which waits where it is read.
    ///
    /// >> cscalar_get(push("cscalar_conj", cscalar(1, 2)))
    /// [1 - 2i]
    cscalar_get(x: Value) = |c| r(c);
    /// The value of an object, which waits where it is read.
    ///
    /// >> ctensor_get(push("ctensor_conj", ctensor([1], [2])))
    /// [1 - 2i]
    ctensor_get(x: Value) = |c| r(c);
    /// A complex tensor of another tensor, in each of nbu bundles; -1 is none. On device dev, a third argument, by the numbers
    /// of to_device.
    ///
    /// >> new_ctensor_from_gtensor(TensorXfC([[1, 2]]))
    /// [[1 + 0i, 2 + 0i]]
    new_ctensor_from_gtensor(t: Tensor; nbu: Integer) = |c| {
        let complex = c.tensor(0)?.to_complex()?;
        let made = match c.axis(1, -1)? {
            -1 => complex,
            nbu => {
                let nbu = u64::try_from(nbu).map_err(|_| c.unexpected(1, "bundles, or -1"))?;
                let extents = [&[nbu], complex.shape().extents()].concat();
                complex.broadcast_to(&extents)?
            }
        };
        made.each(|part| Ok(part.own()))
    };
    /// The last two axes changed for each other.
    ///
    /// >> ctensor_transp(ctensor([[1, 2]], [[0, 1]]))
    /// [[1 + 0i],
    ///  [2 + 1i]]
    ctensor_transp(x: Tensor) = |c| c.tensor(0)?.matrix_transpose();
    /// The last two axes changed for each other, conjugated.
    ///
    /// >> ctensor_herm(ctensor([[1, 2]], [[3, 1]]))
    /// [[1 - 3i],
    ///  [2 - 1i]]
    ctensor_herm(x: Tensor) = |c| c.tensor(0)?.conjugate()?.matrix_transpose();
    /// r += an entry of a tensor. An operation of Cengine: every name of r sees the change. Recorded, not run.
    ///
    /// >> r = cscalar(1, 0); ctensor_add_element(r, ctensor([[1, 2]]), [0, 1]); r
    /// [3 + 0i]
    ctensor_add_element(r: Target, x: Tensor, place: Integers("a place")) = |c| {
        let x = c.tensor(1)?;
        let entry = x.at(&entry(c, 2, &x)?)?.lanes()?;
        written(c, &r(c)?.try_add(&entry)?)
    };
    /// An entry of a tensor += a number. An operation of Cengine: every name of r sees the change. Recorded, not run.
    ///
    /// >> r = ctensor([[1, 2]]); ctensor_add_to_element(r, cscalar(0, 1), [0, 1]); r
    /// [[1 + 0i, 2 + 1i]]
    ctensor_add_to_element(r: Target, x: Operand, place: Integers("a place")) = |c| {
        into(c, &entry(c, 2, &c.tensor(0)?)?, c.args[1].fitted_to(c.op, &c.tensor(0)?)?, true)
    };
    /// An entry of a tensor.
    ///
    /// >> ctensor_get_element(ctensor([[1, 2]]), [0, 1])
    /// [2 + 0i]
    ctensor_get_element(x: Tensor, place: Integers("a place")) = |c| {
        let x = c.tensor(0)?;
        x.at(&entry(c, 1, &x)?)?.lanes()
    };
    /// An entry of a tensor becomes a number. An operation of Cengine: every name of r sees the change. Recorded, not run.
    ///
    /// >> r = ctensor([[1, 2]]); ctensor_set_element(r, cscalar(0, 1), [0, 1]); r
    /// [[1 + 0i, 0 + 1i]]
    ctensor_set_element(r: Target, x: Operand, place: Integers("a place")) = |c| {
        into(c, &entry(c, 2, &c.tensor(0)?)?, c.args[1].fitted_to(c.op, &c.tensor(0)?)?, false)
    };
    /// The slice with number offs along axis ix += x. An operation of Cengine: every name of r sees the change. Recorded,
    /// not run.
    ///
    /// >> r = ctensor([[0, 0], [0, 0]]); ctensor_add_to_slice(r, ctensor([1, 2]), 1, 0); r
    /// [[1 + 0i, 0 + 0i],
    ///  [2 + 0i, 0 + 0i]]
    ctensor_add_to_slice(r: Target, x: Tensor, ix: Integer, offs: Integer) = |c| {
        into(c, &on_axis(c, 2, AxisIndex::Number(c.integer(3)?))?, c.tensor(1)?, true)
    };
    /// r += the slice of x with number offs along axis ix. An operation of Cengine: every name of r sees the change.
    /// Recorded, not run.
    ///
    /// >> r = ctensor([1, 1]); ctensor_add_slice(r, ctensor([[1, 2], [3, 4]]), 0, 1); r
    /// [4 + 0i, 5 + 0i]
    ctensor_add_slice(r: Target, x: Tensor, ix: Integer, offs: Integer) = |c| {
        let (x, axis) = (c.tensor(1)?, c.integer(2)?);
        let places = on_axis_of(c, &x, axis, AxisIndex::Number(c.integer(3)?))?;
        plus_part(c, x.at(&places)?)
    };
    /// The slices along axis ix += the tensors of a list, one each. An operation of Cengine: every name of r sees the change.
    /// Recorded, not run.
    ///
    /// >> r = ctensor([[0, 0], [0, 0]]); ctensor_add_to_slices(r, [ctensor([1, 2]), ctensor([3, 4])], 1); r
    /// [[1 + 0i, 3 + 0i],
    ///  [2 + 0i, 4 + 0i]]
    ctensor_add_to_slices(r: Target, list: List, ix: Integer) = |c| {
        let [_, list @ .., Argument::Number(Scalar::Int(axis))] = c.args else {
            return Err(c.unexpected(1, "a list of tensors and an axis"));
        };
        let place = c.tensor(0)?;
        let (got, own) = (list.len() as u64, place.shape().extents()[place.shape().axis(c.op, *axis)?]);
        if got != own {
            let what = format!("got a list of {got} for {own} slices along axis {axis}, expected a tensor each");
            return Err(Error::Argument { op: c.op, what });
        }
        let slices = list.iter().map(|slice| slice.to_tensor(c.op)).collect::<Result<Vec<_>>>()?;
        written(c, &r(c)?.try_add(&Value::Tensor(Tensor::stack(&slices, *axis)?))?)
    };
    /// The part of an axis ix from offs on += x, which has its length. An operation of Cengine: every name of r sees the
    /// change. Recorded, not run.
    ///
    /// >> r = ctensor([0, 0, 0]); ctensor_add_to_chunk(r, ctensor([1, 2]), 0, 1); r
    /// [0 + 0i, 1 + 0i, 2 + 0i]
    ctensor_add_to_chunk(r: Target, x: Tensor, ix: Integer, offs: Count("an offset")) = |c| {
        let x = c.tensor(1)?;
        into(c, &chunk(c, &c.tensor(0)?, extent(c, &x, 2)?)?, x, true)
    };
    /// The part of an axis ix from offs on becomes x, which has its length. An operation of Cengine: every name of r sees the
    /// change. Recorded, not run.
    ///
    /// >> r = ctensor([7, 7, 7]); ctensor_set_chunk(r, ctensor([1, 2]), 0, 1); r
    /// [7 + 0i, 1 + 0i, 2 + 0i]
    ctensor_set_chunk(r: Target, x: Tensor, ix: Integer, offs: Count("an offset")) = |c| {
        let x = c.tensor(1)?;
        into(c, &chunk(c, &c.tensor(0)?, extent(c, &x, 2)?)?, x, false)
    };
    /// r += the part of x with n entries along axis ix from offs on. An operation of Cengine: every name of r sees the change.
    /// Recorded, not run.
    ///
    /// >> r = ctensor([1, 1]); ctensor_add_chunk(r, ctensor([1, 2, 3]), 0, 1, 2); r
    /// [3 + 0i, 4 + 0i]
    ctensor_add_chunk(r: Target, x: Tensor, ix: Integer, offs: Count("an offset"), n: Count("a number")) = |c| {
        let x = c.tensor(1)?;
        plus_part(c, x.at(&chunk(c, &x, c.integer(4)?)?)?)
    };
    /// The length of each column: the square root of the sum of the squares over the last axis but one.
    ///
    /// >> ctensor_col_norms(ctensor([[3, 0], [4, 2]]))
    /// [5, 2]
    ctensor_col_norms(x: Tensor) = |c| column_norms(c, &c.tensor(0)?);
    /// r += the length of each column of x. An operation of Cengine: every name of r sees the change. Recorded, not run.
    ///
    /// >> r = ctensor([1, 1]); ctensor_add_col_norms(r, ctensor([[3, 0], [4, 2]])); r
    /// [6 + 0i, 3 + 0i]
    ctensor_add_col_norms(r: Target, x: Tensor) = |c| {
        written(c, &r(c)?.try_add(&column_norms(c, &c.tensor(1)?)?)?)
    };
    /// r += what the lengths n of the columns of x, which have g, give back to x. An operation of Cengine: every name of r
    /// sees the change. Recorded, not run.
    ///
    /// >> r = ctensor([[0], [0]]); ctensor_add_col_norms_back(r, ctensor([10]), ctensor([[3], [4]]), ctensor([5])); r
    /// [[6 + 0i],
    ///  [8 + 0i]]
    ctensor_add_col_norms_back(r: Target, g: Tensor, x: Tensor, n: Tensor) = |c| {
        let x = c.tensor(2)?;
        let factor = columns(c, 1, &x)?.try_div(&columns(c, 3, &x)?)?;
        written(c, &plus_product(c, Ok(Value::Tensor(x)), Ok(factor))?)
    };
    /// The columns of x, each divided by its number.
    ///
    /// >> ctensor_divide_cols(ctensor([[3, 0], [4, 2]]), FloatC([5, 2]))
    /// [[0.6 + 0i,   0 + 0i],
    ///  [0.8 + 0i,   1 + 0i]]
    ctensor_divide_cols(x: Tensor, n: Tensor) = |c| {
        let x = c.tensor(0)?;
        let n = columns(c, 1, &x)?;
        Value::Tensor(x).try_div(&n)
    };
    /// r += the columns of x, each divided by its number. An operation of Cengine: every name of r sees the change. Recorded,
    /// not run.
    ///
    /// >> r = ctensor([[1], [1]]); ctensor_add_divide_cols(r, ctensor([[3], [4]]), FloatC([2])); r
    /// [[2.5 + 0i],
    ///  [  3 + 0i]]
    ctensor_add_divide_cols(r: Target, x: Tensor, n: Tensor) = |c| {
        let x = c.tensor(1)?;
        let n = columns(c, 2, &x)?;
        written(c, &r(c)?.try_add(&Value::Tensor(x).try_div(&n)?)?)
    };
    /// r += the columns of g, each divided by its number: what divide_cols gives back to x. An operation of Cengine: every
    /// name of r sees the change. Recorded, not run.
    ///
    /// >> r = ctensor([[0], [0]]); ctensor_add_divide_cols_back0(r, ctensor([[2], [4]]), FloatC([2])); r
    /// [[1 + 0i],
    ///  [2 + 0i]]
    ctensor_add_divide_cols_back0(r: Target, g: Tensor, n: Tensor) = |c| {
        let g = c.tensor(1)?;
        let n = columns(c, 2, &g)?;
        written(c, &r(c)?.try_add(&Value::Tensor(g).try_div(&n)?)?)
    };
    /// r -= the sums of g * conj(x) over each column, divided by the square of its number: what divide_cols gives back to n.
    /// An operation of Cengine: every name of r sees the change. Recorded, not run.
    ///
    /// >> r = ctensor([0]); ctensor_add_divide_cols_back1(r, ctensor([[2], [4]]), ctensor([[1], [1]]), FloatC([2])); r
    /// [-1.5 + 0i]
    ctensor_add_divide_cols_back1(r: Target, g: Tensor, x: Tensor, n: Tensor) = |c| {
        check_columns(c, &c.tensor(1)?)?;
        let Value::Tensor(product) = Value::Tensor(c.tensor(1)?).try_mul(&Value::Tensor(c.tensor(2)?.conjugate()?))? else {
            return Err(c.unexpected(1, "tensors"));
        };
        let sum = Value::Tensor(product.reduce(ReduceOp::Sum, Some(&[-2]), false)?);
        let n = Value::Tensor(c.tensor(3)?);
        written(c, &r(c)?.try_sub(&sum.try_div(&n.try_mul(&n)?)?)?)
    };
    /// r += the bundles of x mixed: bundle i by the sum of m[i, j] times bundle j of x. An operation of Cengine: every name of
    /// r sees the change. Recorded, not run.
    ///
    /// >> r = rscalar([0, 0]); ctensor_mix(r, TensorXfC([[1, 2], [0, 1]]), rscalar([3, 4])); r
    /// [11, 4]
    ctensor_mix(r: Target, m: Tensor, x: Tensor) = |c| {
        let mixed = c.tensor(1)?.tensordot(&c.tensor(2)?, &[-1], &[0])?;
        written(c, &r(c)?.try_add(&like(c, mixed)?)?)
    };
}

/// The target with other entries at places, or their sum with a tensor.
fn into(c: &Call<'_, '_>, places: &[AxisIndex], x: Tensor, adds: bool) -> Result<Answer> {
    let target = c.tensor(0)?;
    let x = if adds {
        match Value::Tensor(target.at(places)?).try_add(&Value::Tensor(x))? {
            Value::Tensor(sum) => sum,
            _ => return Err(c.unexpected(1, "a tensor")),
        }
    } else {
        x
    };
    let x = Argument::Tensor(&x).fitted_to(c.op, &target)?;
    Ok(Answer::Written(Value::Tensor(target.with_at(places, &x)?), None))
}

/// The place of an entry, which integers name, one for each axis.
fn entry(c: &Call<'_, '_>, i: usize, of: &Tensor) -> Result<Vec<AxisIndex>> {
    let places = c.integers(i)?;
    let (got, expected) = (places.len(), of.shape().rank());
    if got != expected {
        let what = format!(
            "got a list of {got} as an entry of {}, expected {expected} numbers",
            of.shape()
        );
        return Err(Error::Argument { op: c.op, what });
    }
    Ok(places.into_iter().map(AxisIndex::Number).collect())
}

/// A place on the axis of the target that an argument names.
fn on_axis(c: &Call<'_, '_>, i: usize, place: AxisIndex) -> Result<Vec<AxisIndex>> {
    on_axis_of(c, &c.tensor(0)?, c.integer(i)?, place)
}

fn on_axis_of(c: &Call<'_, '_>, x: &Tensor, axis: i64, place: AxisIndex) -> Result<Vec<AxisIndex>> {
    let axis = x.shape().axis(c.op, axis)?;
    let mut places = vec![AxisIndex::Slice((..).into()); axis];
    places.push(place);
    Ok(places)
}

/// The part of a tensor along the axis of argument 2, so many entries from the offset of argument 3 on.
fn chunk(c: &Call<'_, '_>, of: &Tensor, n: u64) -> Result<Vec<AxisIndex>> {
    let (start, own): (u64, u64) = (c.integer(3)?, extent(c, of, 2)?);
    if start.saturating_add(n) > own {
        let what = format!("got {n} entries from {start} on, of {own}");
        return Err(Error::Argument { op: c.op, what });
    }
    let slice = Slice::new(start.cast_signed(), (start + n).cast_signed(), 1);
    on_axis_of(c, of, c.integer(2)?, AxisIndex::Slice(slice))
}

/// The extent of a tensor along the axis that an argument names.
fn extent(c: &Call<'_, '_>, of: &Tensor, axis: usize) -> Result<u64> {
    Ok(of.shape().extents()[of.shape().axis(c.op, c.integer(axis)?)?])
}

/// The target and a part of another tensor, which has its shape.
fn plus_part(c: &Call<'_, '_>, part: Tensor) -> Result<Answer> {
    let place = c.tensor(0)?;
    if part.shape() != place.shape() {
        let what = format!("got a part of shape {} for r of {}", part.shape(), place.shape());
        return Err(Error::Argument { op: c.op, what });
    }
    written(c, &r(c)?.try_add(&like(c, part)?)?)
}

fn column_norms(c: &Call<'_, '_>, x: &Tensor) -> Result<Value> {
    check_columns(c, x)?;
    let length = Value::Tensor(x.clone()).apply(Op::Abs, &[])?;
    match length.try_mul(&length)? {
        Value::Tensor(square) => {
            let sum = Value::Tensor(square.reduce(ReduceOp::Sum, Some(&[-2]), false)?);
            root_of(&sum, sum.apply(Op::Sqrt, &[])?)
        }
        square => Ok(square),
    }
}

/// Refuses a tensor without columns.
fn check_columns(c: &Call<'_, '_>, x: &Tensor) -> Result<()> {
    if x.shape().rank() > 1 {
        return Ok(());
    }
    Err(Error::forms(format!("{}: got {}, expected two axes or more", c.op, x.shape())))
}

/// Numbers for the columns of a tensor, as rows that broadcast.
fn columns(c: &Call<'_, '_>, i: usize, x: &Tensor) -> Result<Value> {
    let numbers = Argument::from(&at(c, i)?).to_tensor(c.op)?;
    let [got, of] = [&numbers, x].map(|x| x.shape().extents().last().copied().unwrap_or(1));
    if got != of {
        return Err(Error::forms(format!("{}: expected {of} divisors, got {got}", c.op)));
    }
    Ok(Value::Tensor(if numbers.shape().rank() > 1 { numbers.expand(-2)? } else { numbers }))
}

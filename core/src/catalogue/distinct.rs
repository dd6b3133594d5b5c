//! The different entries of arrays and tensors, and of those of two what is in either or both.

use super::statistics::flat;
use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::Tensor;
use crate::value::{Value, map};

table! {
    /// What finds different entries.
    pub TENSOR_DISTINCT;
    /// The values that occur, each once, ascending; NaN comes last, and -0 stands for zeros of both signs; complex ones by
    /// their real parts, then by the imaginary ones, the first of equals for all. Along an axis the
    /// different entries, such as the rows of a matrix (axis 0), in the order of their first column, those equal there of
    /// the second, and so on; the first of equals stands for all. Evaluates.
    ///
    /// >> unique(Int32C([3, 1, 3, 2]))
    /// [1, 2, 3]
    /// >> unique(TensorXiC([[2, 0], [1, 5], [2, 0]]), 0)
    /// [[1, 5],
    ///  [2, 0]]
    unique(x: Tensor; axis: Integer) = |c| match different(c)? {
        Some([values, ..]) => Ok(values),
        None => distinct(c, &c.tensor(0)?).map(Value::Array),
    };
    /// The values that occur, as unique, and how often each does: a list of two, the second an array. Evaluates.
    ///
    /// >> unique_counts(Int32C([3, 1, 3, 2]))
    /// [[1, 2, 3], [1, 1, 2]]
    unique_counts(x: Tensor; axis: Integer) = |c| {
        if let Some([values, _, _, counts]) = different(c)? {
            return Ok(vec![values, counts].into());
        }
        let found = real_entries(c, &c.tensor(0)?)?.unique_counts()?;
        Ok::<_, Error>(Vec::from(found.map(Value::Array)))
    };
    /// The values that occur, as unique, and of each entry the number of its value among them, in the shape of the entries:
    /// a list of two. Along an axis a number for each place of it. Evaluates.
    ///
    /// >> unique_inverse(Int32C([3, 1, 3, 2]))
    /// [[1, 2, 3], [2, 0, 2, 1]]
    unique_inverse(x: Tensor; axis: Integer) = |c| {
        if let Some([values, _, inverse, _]) = different(c)? {
            return Ok(vec![values, inverse].into());
        }
        let values = distinct(c, &c.tensor(0)?)?;
        let (last, all) = (values.size().saturating_sub(1), in_order(&values)?);
        let places = map(c.op, &c.args[..1], &|x| {
            let x = in_order(&c.as_array(x[0], values.dtype())?)?;
            let place = all.search_sorted(&x)?;
            x.neq(&x)?.select(Scalar::UInt(last), &place)
        })?;
        Ok::<_, Error>(vec![Value::Array(values), places])
    };
    /// The values that occur, as unique, the number of the first entry that has each, of each entry the number of its value
    /// among them, and how often each value occurs: a list of four. Evaluates.
    ///
    /// >> unique_all(Int32C([3, 1, 3, 2]))
    /// [[1, 2, 3], [1, 3, 0], [2, 0, 2, 1], [1, 1, 2]]
    unique_all(x: Tensor; axis: Integer) = |c| {
        if let Some(found) = different(c)? {
            return Ok(Vec::from(found).into());
        }
        let tensor = c.tensor(0)?;
        let line = tensor.reshape(&[-1])?;
        let found = line.distinct(c.op, 0)?;
        // Of zeros of both signs that one which unique gives, which need not be the first.
        let values = distinct(c, &line)?;
        let inverse = c.like_first(Tensor::new(&found.inverse, tensor.shape().extents())?)?;
        Ok::<_, Error>(vec![values.into(), found.first.into(), inverse, found.counts.into()])
    };
    /// The values that occur in either, each once, ascending, in their common type. Evaluates.
    ///
    /// >> union1d(Int32C([3, 1]), Int32C([1, 2]))
    /// [1, 2, 3]
    union1d(a: Tensor, b: Tensor) = |c| {
        let [a, b] = [flat(c, 0)?, flat(c, 1)?];
        row(values_of(c, &Tensor::concat(&[a, b], 0)?)?)
    };
    /// The values that occur in both, each once, ascending, in the type of the first. Evaluates.
    ///
    /// >> intersect1d(Int32C([3, 1, 3]), Int32C([1, 3, 4]))
    /// [1, 3]
    intersect1d(a: Tensor, b: Tensor) = |c| shared(c, true);
    /// The values that occur in the first and not in the second, each once, ascending. Evaluates.
    ///
    /// >> setdiff1d(Int32C([3, 1, 3]), Int32C([1, 4]))
    /// [3]
    setdiff1d(a: Tensor, b: Tensor) = |c| shared(c, false);
}

/// The different entries along an axis, or of all where they are complex; the numbers of the first ones, of each entry that
/// of its value, in the shape of all entries, and how often each is there. `None` of all real ones, which have an order.
fn different(c: &Call<'_, '_>) -> Result<Option<[Value; 4]>> {
    let (given, along) = (c.tensor(0)?, c.given(1).map(|_| c.integer(1)).transpose()?);
    if along.is_none() && !given.is_complex() {
        return Ok(None);
    }
    let line = if along.is_some() { given.clone() } else { given.reshape(&[-1])? };
    let axis = along.unwrap_or(0);
    let found = line.distinct(c.op, axis)?;
    let first = Tensor::new(&found.first, &[found.first.size()])?;
    let values = c.like_first(line.take(&first, axis)?)?;
    let inverse = match along {
        Some(_) => found.inverse.into(),
        None => c.like_first(Tensor::new(&found.inverse, given.shape().extents())?)?,
    };
    Ok(Some([values, found.first.into(), inverse, found.counts.into()]))
}

/// The values that occur, ascending.
fn distinct(c: &Call<'_, '_>, of: &Tensor) -> Result<Array> {
    real_entries(c, of)?.unique()
}

fn real_entries(c: &Call<'_, '_>, of: &Tensor) -> Result<Array> {
    let [all] = &of.entries()?[..] else { return Err(c.unexpected(0, "no complex numbers")) };
    Ok(all.clone())
}

/// The values that occur, ascending, complex ones too.
fn values_of(c: &Call<'_, '_>, of: &Tensor) -> Result<Tensor> {
    if !of.is_complex() {
        return distinct(c, of).map(|values| Tensor::from(&values));
    }
    let line = of.reshape(&[-1])?;
    line.take(&Tensor::from(&line.distinct(c.op, 0)?.first), 0)
}

/// Real numbers as an array.
fn row(values: Tensor) -> Result<Value> {
    if values.is_complex() { Ok(Value::Tensor(values)) } else { values.lanes() }
}

/// What numbers have an order by: truth values are 0 and 1.
fn in_order(x: &Array) -> Result<Array> {
    x.cast(if x.dtype() == DType::Mask { DType::U8 } else { x.dtype() })
}

/// The values of the first that are, or are not, among those of the second.
fn shared(c: &Call<'_, '_>, is_in_both: bool) -> Result<Value> {
    let values = values_of(c, &c.tensor(0)?)?;
    let found = values.is_among(&c.tensor(1)?)?.entries()?.swap_remove(0);
    row(values.compress(&if is_in_both { found } else { found.apply(Op::Not, &[])? }, 0)?)
}

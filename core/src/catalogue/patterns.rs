//! Matrices whose entries repeat a pattern, and orders by several keys.

use super::{Answer, Call, Kind, Row, table};
use crate::convert::exactly;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::primitive::{Order, lane_number_type};
use crate::tensor::{AxisIndex, Tensor};
use crate::value::{Argument, Value};

table! {
    /// Matrices made of arrays, and orders.
    pub TENSOR_PATTERNS;
    /// The matrix (Vandermonde's) whose rows are the powers of each lane, n of them (as many as lanes unless given), the
    /// highest first; ascending from 1 with increasing true. Products are those of cumprod.
    ///
    /// >> vander(FloatC([1, 2, 3]))
    /// [[1, 1, 1],
    ///  [4, 2, 1],
    ///  [9, 3, 1]]
    /// >> vander(FloatC([2, 3]), 3, true)
    /// [[1, 2, 4],
    ///  [1, 3, 9]]
    vander(x: Tensor; n: Count("a number of columns"), increasing: Bool("as increasing")) = |c| vander(c);
    /// The matrix (Toeplitz's) that is the same along each diagonal: its first column, and its first row but for the corner,
    /// which the column has; without a row it is symmetric.
    ///
    /// >> toeplitz(FloatC([1, 2, 3]), FloatC([1, 5, 6]))
    /// [[1, 5, 6],
    ///  [2, 1, 5],
    ///  [3, 2, 1]]
    toeplitz(column: Tensor; row: Tensor) = |c| toeplitz(c);
    /// The matrix (Hankel's) that is the same along each diagonal from the right to the left: its first column, and its last
    /// row but for the corner, which the column has; without a row zeros.
    ///
    /// >> hankel(FloatC([1, 2, 3]), FloatC([3, 8]))
    /// [[1, 2],
    ///  [2, 3],
    ///  [3, 8]]
    hankel(column: Tensor; row: Tensor) = |c| hankel(c);
    /// The square matrix whose columns are a first one, each one lane further down than the one before, and around its end.
    ///
    /// >> circulant(FloatC([1, 2, 3]))
    /// [[1, 3, 2],
    ///  [2, 1, 3],
    ///  [3, 2, 1]]
    circulant(column: Tensor) = |c| {
        let (column, _) = line(c, 0)?;
        constant_along(c, &column, &column.flip(None)?.roll(1, 0)?)
    };
    /// The matrix with others along its diagonal, each to the right of and below the one before, and zeros beside them; an
    /// array, or a list of numbers, is a row.
    ///
    /// >> block_diag([TensorXfC([[1, 2], [3, 4]]), FloatC([5, 6])])
    /// [[1, 2, 0, 0],
    ///  [3, 4, 0, 0],
    ///  [0, 0, 5, 6]]
    block_diag(blocks: List) = |c| block_diag(c);
    /// The numbers that sort by several keys, arrays or tensors of one shape, along an axis (the last unless given): by the last
    /// one of the list, where that is equal by the one before, and so on. The rows of a matrix that is alone in
    /// the list are its keys. Recorded, not run.
    ///
    /// >> lexsort([Int32C([1, 0, 2]), Int32C([5, 5, 4])])
    /// [2, 1, 0]
    /// >> lexsort([TensorXfC([[1, 2, 1], [0, 0, -1]])])
    /// [2, 0, 1]
    lexsort(keys: List; axis: Integer) = |c| lexsort(c);
}

/// A tensor of one axis.
fn line(c: &Call<'_, '_>, i: usize) -> Result<(Tensor, u64)> {
    let tensor = c.tensor(i)?;
    let tensor = tensor.atleast_1d()?;
    match *tensor.shape().extents() {
        [n] => Ok((tensor, n)),
        _ => Err(c.unexpected(i, "an array")),
    }
}

fn vander(c: &Call<'_, '_>) -> Result<Tensor> {
    let (x, rows) = line(c, 0)?;
    let n: u64 = c.given(1).map_or(Ok(rows), |_| c.integer(1))?;
    let one = Tensor::from(&c.session.full(x.dtype(), 1, 1)?);
    let one = if x.is_complex() { one.to_complex()? } else { one };
    let factors = x.expand(-1)?.broadcast_to(&[rows, n.saturating_sub(1)])?;
    let ones = one.broadcast_to(&[rows, n.min(1)])?;
    let powers = Tensor::concat(&[ones, factors], 1)?.cumprod(1)?;
    if c.truth(2)? { Ok(powers) } else { powers.flip(Some(&[1])) }
}

fn toeplitz(c: &Call<'_, '_>) -> Result<Tensor> {
    let (column, _) = line(c, 0)?;
    let row = match c.given(1) {
        None => column.conjugate()?,
        Some(_) => line(c, 1)?.0,
    };
    constant_along(c, &column, &row)
}

/// The matrix that is the same along each diagonal.
fn constant_along(c: &Call<'_, '_>, column: &Tensor, row: &Tensor) -> Result<Tensor> {
    let [m, n] = [column, row].map(|line| line.shape().n_entries());
    // From the end of the row to its start, which is the column's, and down that.
    let all = Tensor::concat(&[row.slice(0, 1..)?.flip(None)?, column.clone()], 0)?;
    let counter = lane_number_type(m.saturating_add(n));
    let count = |start: u64, n: u64| {
        let numbers =
            c.session.arange(counter, Scalar::UInt(start), Scalar::UInt(start + n), 1.into())?;
        Tensor::new(&numbers, &[n])
    };
    let down = count(n.saturating_sub(1), m)?.expand(-1)?;
    match Value::Tensor(down).try_sub(&Value::Tensor(count(0, n)?))? {
        Value::Tensor(place) => all.at(&[AxisIndex::Numbers(place)]),
        _ => Err(c.unexpected(0, "an array")),
    }
}

fn hankel(c: &Call<'_, '_>) -> Result<Tensor> {
    let (column, m) = line(c, 0)?;
    let (all, n) = match c.given(1) {
        None => (column.pad(&[[0, m.saturating_sub(1)]], Scalar::Int(0))?, m),
        Some(_) => {
            let (row, n) = line(c, 1)?;
            (Tensor::concat(&[column, row.slice(0, 1..)?], 0)?, n)
        }
    };
    if m == 0 || n == 0 {
        return all.slice(0, ..0)?.reshape(&[exactly(m), exactly(n)]);
    }
    all.sliding_window_view(&[n], None)
}

fn block_diag(c: &Call<'_, '_>) -> Result<Tensor> {
    let matrix = |arg: &&Argument<'_>| {
        let block = arg.to_tensor(c.op)?.atleast_1d()?;
        match block.shape().rank() {
            1 => block.reshape(&[1, -1]),
            2 => Ok(block),
            _ => {
                let what = format!("got a block of {}, expected matrices", block.shape());
                Err(Error::Argument { op: c.op, what })
            }
        }
    };
    if c.args.is_empty() {
        let what = "got no blocks, expected one or more".into();
        return Err(Error::Argument { op: c.op, what });
    }
    let blocks = c.args.iter().map(matrix).collect::<Result<Vec<_>>>()?;
    let columns = |block: &Tensor| block.shape().extents()[1];
    let all: u64 = blocks.iter().map(columns).sum();
    let mut first = 0;
    let rows = blocks.iter().map(|block| {
        let behind = all - first - columns(block);
        let row = block.pad(&[[0, 0], [first, behind]], Scalar::Int(0));
        first += columns(block);
        row
    });
    Tensor::concat(&rows.collect::<Result<Vec<_>>>()?, 0)
}

fn lexsort(c: &Call<'_, '_>) -> Result<Value> {
    let (args, axis) = match c.args {
        [args @ .., Argument::Number(Scalar::Int(axis))] => (args, *axis),
        args => (args, -1),
    };
    let keys = args.iter().map(|arg| arg.to_tensor(c.op)).collect::<Result<Vec<_>>>()?;
    let keys = match &keys[..] {
        [rows] if rows.shape().rank() > 1 => {
            let n = rows.shape().extents()[0];
            let rows = if n == 0 { Vec::new() } else { rows.sections(n, 0)? };
            rows.iter().map(|row| row.squeeze(0)).collect::<Result<_>>()?
        }
        _ => keys,
    };
    let [first, others @ ..] = &keys[..] else {
        let what = "got no keys, expected one or more".into();
        return Err(Error::Argument { op: c.op, what });
    };
    let order = first.argsort(Order::Ascending, axis)?;
    let order = others.iter().try_fold(order, |order, key| resorted(c, &order, key, axis))?;
    if order.shape().rank() == 1 { order.lanes() } else { Ok(Value::Tensor(order)) }
}

/// An order by another key, which leaves what is equal as it was.
fn resorted(c: &Call<'_, '_>, order: &Tensor, key: &Tensor, axis: i64) -> Result<Tensor> {
    if key.shape() != order.shape() {
        let what = format!("got keys of {} and {}, expected one shape", order.shape(), key.shape());
        return Err(Error::Argument { op: c.op, what });
    }
    let sorted = key.take_along(order, axis)?.argsort(Order::Ascending, axis)?;
    order.take_along(&sorted, axis)
}

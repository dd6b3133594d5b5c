//! What gives tensors other shapes.

use super::tensors::number_or_tensor;
use super::{Answer, Call, Kind, Row, table};
use crate::convert::exactly;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::Tensor;
use crate::value::{Argument, Value};

table! {
    /// What gives tensors other shapes; entries stay where they are in memory.
    pub TENSOR_SHAPES;
    /// Extents of a tensor as a list.
    ///
    /// >> shape(TensorXfC([[1, 2, 3], [4, 5, 6]]))
    /// [2, 3]
    shape(t: Tensor) = |c| {
        let tensor = c.tensor(0)?;
        Ok::<Vec<Scalar>, Error>(tensor.shape().extents().iter().copied().map(Scalar::UInt).collect())
    };
    /// Number of entries along the first axis of a tensor.
    ///
    /// >> len(TensorXfC([[1, 2, 3], [4, 5, 6]]))
    /// 2
    len(t: Tensor) = |c| {
        let tensor = c.tensor(0)?;
        let first = tensor.shape().extents().first().copied();
        first.map(Scalar::UInt).ok_or_else(|| c.unexpected(0, "a tensor with an axis"))
    };
    /// The entries of a tensor or array in their order with another shape, a list; one extent may be -1.
    ///
    /// >> reshape(UInt32C::arange(6), [2, -1])
    /// [[0, 1, 2],
    ///  [3, 4, 5]]
    reshape(t: Tensor, shape: Integers("a shape")) = |c| c.tensor(0)?.reshape(&c.integers(1)?);
    /// The entries of a tensor as an array, the last axis running fastest.
    ///
    /// >> ravel(TensorXfC([[1, 2], [3, 4]]))
    /// [1, 2, 3, 4]
    ravel(t: Tensor) = |c| c.tensor(0)?.lanes();
    /// The entries of a tensor as an array; another name of ravel.
    ///
    /// >> flatten(TensorXfC([[1, 2], [3, 4]]))
    /// [1, 2, 3, 4]
    flatten(t: Tensor) = |c| c.tensor(0)?.lanes();
    /// The axes of a tensor in opposite order, as t.T, or in the order of a list.
    ///
    /// >> transpose(TensorXfC([[1, 2, 3], [4, 5, 6]]))
    /// [[1, 4],
    ///  [2, 5],
    ///  [3, 6]]
    transpose(t: Tensor; axes: Integers("axes")) = |c| {
        if c.given(1).is_none() { c.tensor(0)?.transpose() } else { c.tensor(0)?.permute(&c.integers(1)?) }
    };
    /// The axes of a tensor in another order.
    ///
    /// >> shape(permute(zeros([2, 3, 4]), [2, 0, 1]))
    /// [4, 2, 3]
    permute(t: Tensor, axes: Integers("axes")) = |c| c.tensor(0)?.permute(&c.integers(1)?);
    /// An axis in another place, the others in their order.
    ///
    /// >> shape(moveaxis(zeros([2, 3, 4]), 0, -1))
    /// [3, 4, 2]
    moveaxis(t: Tensor, from: Integer, to: Integer) = |c| c.tensor(0)?.move_axis(c.integer(1)?, c.integer(2)?);
    /// Without an axis of one entry, a list of them, or all of them.
    ///
    /// >> shape(squeeze(zeros([1, 3, 1])))
    /// [3]
    squeeze(t: Tensor; axis: Integers("axis")) = |c| squeeze(c);
    /// With an axis of one entry in front of another, -1 is behind all; of a list with one in each of these places among
    /// all axes that there are then.
    ///
    /// >> shape(expand(zeros([2, 3]), -1))
    /// [2, 3, 1]
    /// >> shape(expand(zeros([2, 3]), [0, -1]))
    /// [1, 2, 3, 1]
    expand(t: Tensor, axis: Integers("axis")) = |c| expanded(c);
    /// With an axis of one entry in front of another, -1 is behind all; of a list with one in each of these places. Another
    /// name of expand.
    ///
    /// >> shape(expand_dims(zeros([2, 3]), 0))
    /// [1, 2, 3]
    expand_dims(t: Tensor, axis: Integers("axis")) = |c| expanded(c);
    /// Stretched to a shape: axes of one entry as often as needed, missing ones in front.
    ///
    /// >> broadcast_to(Int32C([1, 2]), [2, 2])
    /// [[1, 2],
    ///  [1, 2]]
    broadcast_to(t: Tensor, shape: Integers("a shape")) = |c| c.tensor(0)?.broadcast_to(&c.extents(1)?);
    /// The entries in opposite order along an axis, a list of them, or all.
    ///
    /// >> flip(TensorXfC([[1, 2], [3, 4]]), 1)
    /// [[2, 1],
    ///  [4, 3]]
    flip(t: Tensor; axes: Axes) = |c| c.tensor(0)?.flip(c.axes(1)?.as_deref());
    /// The columns of a matrix in opposite order: flip along the second axis.
    ///
    /// >> fliplr(TensorXfC([[1, 2], [3, 4]]))
    /// [[2, 1],
    ///  [4, 3]]
    fliplr(t: Tensor) = |c| c.tensor(0)?.flip(Some(&[1]));
    /// The rows of a matrix in opposite order: flip along the first axis.
    ///
    /// >> flipud(TensorXfC([[1, 2], [3, 4]]))
    /// [[3, 4],
    ///  [1, 2]]
    flipud(t: Tensor) = |c| c.tensor(0)?.flip(Some(&[0]));
    /// A matrix turned by n quarters (1 unless given) to the left, as it is printed: the first two axes.
    ///
    /// >> rot90(TensorXfC([[1, 2], [3, 4]]))
    /// [[2, 4],
    ///  [1, 3]]
    rot90(t: Tensor; n: Integer) = |c| {
        let t = c.tensor(0)?;
        match c.axis(1, 1)?.rem_euclid(4) {
            0 => t.flip(Some(&[])),
            1 => t.swap_axes(0, 1)?.flip(Some(&[0])),
            2 => t.flip(Some(&[0, 1])),
            _ => t.flip(Some(&[0]))?.swap_axes(0, 1),
        }
    };
    /// Two axes changed for each other, the others in their places.
    ///
    /// >> shape(swapaxes(zeros([2, 3, 4]), 0, -1))
    /// [4, 3, 2]
    swapaxes(t: Tensor, a: Integer, b: Integer) = |c| c.tensor(0)?.swap_axes(c.integer(1)?, c.integer(2)?);
    /// The diagonal of a matrix, or k above it (below it of a negative k), of many those of their last two axes; of an array
    /// the matrix that has it there.
    ///
    /// >> diag(TensorXfC([[1, 2], [3, 4]]))
    /// [1, 4]
    /// >> diag(FloatC([5, 6]), 1)
    /// [[0, 5, 0],
    ///  [0, 0, 6],
    ///  [0, 0, 0]]
    diag(t: Tensor; k: Integer) = |c| c.tensor(0)?.diag(c.axis(1, 0)?);
    /// The entries of a matrix, or of many, up to the diagonal, or to k above it (0 unless given); the others are 0.
    ///
    /// >> tril(TensorXfC([[1, 2], [3, 4]]))
    /// [[1, 0],
    ///  [3, 4]]
    tril(t: Tensor; k: Integer) = |c| c.tensor(0)?.triangle(c.op, Op::Le, c.axis(1, 0)?);
    /// The entries of a matrix, or of many, from the diagonal on, or from k above it (0 unless given); the others are 0.
    ///
    /// >> triu(TensorXfC([[1, 2], [3, 4]]), 1)
    /// [[0, 2],
    ///  [0, 0]]
    triu(t: Tensor; k: Integer) = |c| c.tensor(0)?.triangle(c.op, Op::Ge, c.axis(1, 0)?);
    /// As many zeros as a tensor or array has entries, with its shape and type.
    ///
    /// >> zeros_like(TensorXiC([[1, 2]]))
    /// [[0, 0]]
    zeros_like(t: Tensor) = |c| like(c, 0.into());
    /// As many ones as a tensor or array has entries, with its shape and type.
    ///
    /// >> ones_like(TensorXiC([[3, 2]]))
    /// [[1, 1]]
    ones_like(t: Tensor) = |c| like(c, 1.into());
    /// A number as often as a tensor or array has entries, with its shape and type.
    ///
    /// >> full_like(TensorXiC([[1, 2]]), 7)
    /// [[7, 7]]
    full_like(t: Tensor, x: Scalar("as a value")) = |c| like(c, c.scalar(1)?);
}

/// A number as often as the first argument has entries: an array of an array.
fn like(c: &Call<'_, '_>, number: Scalar) -> Result<Value> {
    let tensor = c.tensor(0)?;
    let one = c.session.full(tensor.dtype(), number, 1)?;
    let all = Tensor::new(&one, tensor.shape().extents())?;
    match c.args[0] {
        Argument::Array(_) => all.lanes(),
        _ if tensor.is_complex() => all.to_complex().map(Value::Tensor),
        _ => Ok(Value::Tensor(all)),
    }
}

fn squeeze(c: &Call<'_, '_>) -> Result<Value> {
    let tensor = c.tensor(0)?;
    let axes: Vec<usize> = match c.axes(1)? {
        Some(axes) => tensor.shape().axes(c.op, Some(&axes))?,
        None => {
            let axes = tensor.shape().extents().iter().enumerate();
            axes.filter(|(_, extent)| **extent == 1).map(|(axis, _)| axis).collect()
        }
    };
    // From the last on: those in front keep their numbers.
    let mut axes = axes.into_iter().rev();
    number_or_tensor(axes.try_fold(tensor, |tensor, axis| tensor.squeeze(exactly(axis)))?)
}

fn expanded(c: &Call<'_, '_>) -> Result<Tensor> {
    match c.integers(1)?[..] {
        [axis] => c.tensor(0)?.expand(axis),
        ref axes => c.tensor(0)?.expand_at(axes),
    }
}

//! Functions of tensors: entries in other places, products.
//!
//! Some have the names of functions of arrays and vectors: the first argument decides. Axes count from 0, negative ones
//! from the last; `all`, or leaving them out, is all of them.

use std::borrow::Cow;

use super::along::{along, root_of};
use super::{Answer, Call, Kind, Row, table, words};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::linear::Function;
use crate::tensor::{Edges, Tensor};
use crate::value::{Argument, Form, Value, apply, function, product};

table! {
    /// What puts tensors together, and entries in other places.
    pub TENSOR_REARRANGE;
    /// The tensors of a list behind each other along an axis (0 unless given).
    ///
    /// >> concat([TensorXfC([[1, 2]]), TensorXfC([[3, 4]])], 0)
    /// [[1, 2],
    ///  [3, 4]]
    concat(list: List; axis: Integer) = |c| {
        let (tensors, axis) = c.tensors()?;
        joined(c, Tensor::concat(&tensors, axis)?)
    };
    /// The tensors or arrays of a list along a new axis (0 unless given).
    ///
    /// >> stack([FloatC([1, 2]), FloatC([3, 4])], 1)
    /// [[1, 3],
    ///  [2, 4]]
    stack(list: List; axis: Integer) = |c| {
        let (tensors, axis) = c.tensors()?;
        Tensor::stack(&tensors, axis)
    };
    /// The tensors or arrays of a list below each other: along the first axis, an array being a row.
    ///
    /// >> vstack([FloatC([1, 2]), TensorXfC([[3, 4], [5, 6]])])
    /// [[1, 2],
    ///  [3, 4],
    ///  [5, 6]]
    vstack(list: List) = |c| {
        let rows = c.tensors()?.0.into_iter().map(|tensor| match tensor.shape().rank() {
            0 | 1 => tensor.reshape(&[1, -1]).map(Cow::Owned),
            _ => Ok(tensor),
        });
        Tensor::joined(c.op, &rows.collect::<Result<Vec<_>>>()?, 0)
    };
    /// The tensors of a list beside each other: along the second axis, those of one axis, and arrays, behind each other.
    ///
    /// >> hstack([TensorXfC([[1], [2]]), TensorXfC([[3, 4], [5, 6]])])
    /// [[1, 3, 4],
    ///  [2, 5, 6]]
    hstack(list: List) = |c| hstack(c);
    /// The list of the entries along an axis (0 unless given), each without it.
    ///
    /// >> unstack(TensorXfC([[1, 2], [3, 4]]), 1)[0]
    /// [1, 3]
    unstack(t: Tensor; axis: Integer) = |c| {
        let (tensor, axis) = (c.tensor(0)?, c.axis(1, 0)?);
        let n = tensor.shape().extents()[tensor.shape().axis(c.op, axis)?];
        let parts = if n == 0 { Vec::new() } else { tensor.sections(n, axis)? };
        let parts = parts.into_iter().map(|part| number_or_tensor(part.squeeze(axis)?));
        parts.collect::<Result<Vec<Value>>>()
    };
    /// A list of n equal parts of an axis (0 unless given), or the parts between these places: [1, 3] gives ..1, 1..3,
    /// 3..
    ///
    /// >> split(TensorXfC([[1, 2, 3, 4]]), 2, 1)[1]
    /// [[3, 4]]
    /// >> split(FloatC([1, 2, 3, 4]), [1, 3])
    /// [[1], [2, 3], [4]]
    split(t: Tensor, n: Integers("a number of parts"); axis: Integer) = |c| split(c);
    /// Entry i goes to place i + n along an axis, those beyond the end to the start; without an axis all entries in their
    /// order. Of a list of axes along each, by its own of a list of numbers.
    ///
    /// >> roll(TensorXfC([[1, 2, 3], [4, 5, 6]]), 1, 1)
    /// [[3, 1, 2],
    ///  [6, 4, 5]]
    roll(t: Tensor, n: Integers("numbers"); axis: Integers("axes")) = |c| roll(c);
    /// All of a tensor n times along an axis (0 unless given), or of a list as often as it says along each axis: of a shorter
    /// list along the last ones, of a longer one along new ones in front.
    ///
    /// >> tile(TensorXfC([[1, 2]]), 2, 0)
    /// [[1, 2],
    ///  [1, 2]]
    /// >> tile(Int32C([1, 2]), [2, 2])
    /// [[1, 2, 1, 2],
    ///  [1, 2, 1, 2]]
    tile(t: Tensor, n: Integers("numbers"); axis: Integer) = |c| tile(c);
    /// Each entry of a tensor n times along an axis (0 unless given). With an array of integers each as often as its own
    /// says, which is evaluated.
    ///
    /// >> repeat(TensorXfC([[1, 2]]), 2, 1)
    /// [[1, 1, 2, 2]]
    /// >> repeat(TensorXfC([[1, 2]]), [1, 3], 1)
    /// [[1, 2, 2, 2]]
    repeat(t: Tensor, n: Index; axis: Integer) = |c| match c.args[1] {
        Argument::Number(_) => c.tensor(0)?.repeat(c.times(1)?, c.axis(2, 0)?),
        _ => c.tensor(0)?.repeat_each(c.array(1)?, c.axis(2, 0)?),
    };
    /// A tensor with entries of a number (0 unless given) around: a list of as many before and behind, for each axis two
    /// of them, or one pair for all. With a word in place of the number entries go on: "edge" with the last one, "wrap"
    /// from the other end, "symmetric" backwards, "reflect" backwards without the last one.
    ///
    /// >> pad(TensorXfC([[1, 2]]), [0, 1, 1, 0])
    /// [[0, 1, 2],
    ///  [0, 0, 0]]
    /// >> pad(FloatC([1, 2, 3]), 2, "reflect")
    /// [3, 2, 1, 2, 3, 2, 1]
    pad(t: Tensor, widths: Integers("widths"); value: Scalar("as a value"), mode: Word(EDGES)) = |c| pad(c);
    /// The entries with these numbers along an axis (0 unless given); negative numbers count from the end.
    ///
    /// >> take(TensorXfC([[1, 2, 3], [4, 5, 6]]), UInt32C([2, 0]), 1)
    /// [[3, 1],
    ///  [6, 4]]
    take(t: Tensor, index: Array; axis: Integer) = |c| {
        c.tensor(0)?.take(&c.tensor(1)?, c.axis(2, 0)?)
    };
    /// Of each line along an axis (the last unless given) the entries with the numbers in the same line of an index, which has
    /// as many axes: what argsort gives, say. Its other extents are the tensor's, or 1.
    ///
    /// >> take_along_axis(TensorXfC([[3, 1, 2], [4, 6, 5]]), TensorXuC([[1, 2], [0, 0]]), 1)
    /// [[1, 2],
    ///  [4, 4]]
    take_along_axis(t: Tensor, index: Tensor; axis: Integer) = |c| c.tensor(0)?.take_along(&c.tensor(1)?, c.axis(2, -1)?);
}

table! {
    /// Products of matrices and vectors.
    pub TENSOR_PRODUCTS;
    /// The product of matrices, as a @ b: the last two axes; those before them broadcast. A tensor or array of one axis is a
    /// row on the left, a column on the right, and the axis goes away. By fma in one order on every device, so its bits
    /// are the same; halves are added in f32 and rounded once, integers wrap. Where an operand has one axis, products have
    /// its type and their sums that of hsum: 8- and 16-bit integers wrap in 32 bits. Recorded, not run. Of small matrices
    /// and vectors (Matrix2fC, Vector2fC) the product that * is, of two vectors dot.
    ///
    /// >> matmul(TensorXfC([[1, 2], [3, 4]]), TensorXfC([[0, 1], [1, 0]]))
    /// [[2, 1],
    ///  [4, 3]]
    matmul(a: Tensor, b: Tensor) = |c| match product(c.args[0], c.args[1])? {
        Some(product) => Ok(product),
        None => number_or_tensor(c.lent(0)?.matmul(&*c.lent(1)?)?),
    };
    /// Sum of the products of entries, the second conjugated; shapes are equal.
    ///
    /// >> inp(TensorXfC([[1, 2]]), TensorXfC([[3, 4]]))
    /// [11]
    inp(a: Tensor, b: Tensor) = |c| number_or_tensor(c.tensor(0)?.inner(&c.tensor(1)?, true)?);
    /// Sum of the products of entries, the first conjugated; shapes are equal.
    ///
    /// >> vdot(TensorXfC([[1, 2]]), TensorXfC([[3, 4]]))
    /// [11]
    vdot(a: Tensor, b: Tensor) = |c| number_or_tensor(c.tensor(0)?.inner(&c.tensor(1)?, false)?);
    /// The product of two tensors as matmul has it, or of two arrays the sum of the products of their lanes.
    ///
    /// >> dot(TensorXfC([[1, 2], [3, 4]]), FloatC([1, 1]))
    /// [3, 7]
    dot(a: Tensor, b: Tensor) = |c| number_or_tensor(c.tensor(0)?.matmul(&c.tensor(1)?)?);
    /// The square root of the sum of the squares of entries along an axis, a list of axes, or of all; of complex entries of
    /// the squares of their lengths. With another order the sum of the powers of lengths, to its root: 1 adds the lengths,
    /// inf is the largest, -inf the smallest, 0 counts those that are not 0.
    ///
    /// >> norm(TensorXfC([[3, 4], [0, 5]]), 1)
    /// [5, 5]
    /// >> norm(FloatC([3, -4]), all, false, 1)
    /// [7]
    norm(t: Tensor; axes: Axes, keepdims: Bool("as keepdims"), order: Number("as an order")) = |c| norm(c);
    /// The sum of products over the last n axes of the first and the first n of the second, or over axes of both, two lists
    /// or a list of both. The other axes of the first stand in front of those of the second.
    ///
    /// >> tensordot(TensorXfC([[1, 2], [3, 4]]), TensorXfC([[1, 0], [0, 1]]), [0, 1], [1, 0])
    /// [5]
    tensordot(a: Tensor, b: Tensor, axes: Integers("axes of both"); others: Integers("axes of the second")) = |c| tensordot(c);
    /// The sum of products over the last axis of both; of two arrays the sum of the products of their lanes.
    ///
    /// >> inner(TensorXfC([[1, 2], [3, 4]]), TensorXfC([[1, 1], [0, 1]]))
    /// [[3, 2],
    ///  [7, 4]]
    inner(a: Tensor, b: Tensor) = |c| number_or_tensor(c.tensor(0)?.dot_of_rows(&c.tensor(1)?)?);
    /// The product of a square matrix with itself, n times; of n = 0 the identity, below 0 the product of its inverse, which
    /// evaluates.
    ///
    /// >> matrix_power(TensorXfC([[1, 1], [0, 1]]), 5)
    /// [[1, 5],
    ///  [0, 1]]
    matrix_power(m: Tensor, n: Integer) = |c| {
        let (m, n): (Tensor, i64) = (c.tensor(0)?, c.integer(1)?);
        let m = if n < 0 { m.linear(c.op, Function::Inverse)?.swap_remove(0) } else { m };
        m.matrix_power(n.unsigned_abs())
    };
    /// The sum of the diagonal of a matrix, or of many, which are the last two axes.
    ///
    /// >> trace(TensorXfC([[1, 2], [3, 4]]))
    /// [5]
    trace(t: Tensor) = |c| number_or_tensor(c.tensor(0)?.diag(0)?.reduce(ReduceOp::Sum, Some(&[-1]), false)?);
    /// Each entry of a times all of b, in its place (Kronecker's product): of matrices, arrays, tensors of any axes.
    ///
    /// >> kron(TensorXfC([[1, 2]]), TensorXfC([[1, 1], [0, 1]]))
    /// [[1, 1, 2, 2],
    ///  [0, 1, 0, 2]]
    kron(a: Tensor, b: Tensor) = |c| kron(c);
    /// The cross products of vectors whose 3 components are the last axis. As of Vector3fC, which lies component by component.
    ///
    /// >> cross(TensorXfC([1, 0, 0]), TensorXfC([[0, 1, 0], [0, 0, 1]]))
    /// [[ 0,  0,  1],
    ///  [ 0, -1,  0]]
    cross(a: Tensor, b: Tensor) = |c| cross(c);
    /// Each entry of the first times each of the second: the axes of both, one behind the other.
    ///
    /// >> outer(FloatC([1, 2]), FloatC([3, 4, 5]))
    /// [[ 3,  4,  5],
    ///  [ 6,  8, 10]]
    outer(a: Tensor, b: Tensor) = |c| {
        let (a, b) = (c.tensor(0)?, c.tensor(1)?);
        let left = (0..b.shape().rank()).try_fold(a, |left, _| left.expand(-1))?;
        apply(Op::Mul, &[&Argument::Tensor(&left), &Argument::Tensor(&b)])
    };
}

impl<'a> Call<'_, 'a> {
    /// A tensor, also of an array or complex number.
    pub(super) fn tensor(&self, i: usize) -> Result<Tensor> {
        self.args[i].to_tensor(self.op)
    }

    /// As [`Self::tensor`], of a tensor itself.
    fn lent(&self, i: usize) -> Result<Cow<'a, Tensor>> {
        self.args[i].to_lent_tensor(self.op)
    }

    /// The tensors of a list, and the axis behind it, 0 if there is none.
    fn tensors(&self) -> Result<(Vec<Cow<'a, Tensor>>, i64)> {
        let (list, axis) = match self.args {
            [list @ .., Argument::Number(Scalar::Int(axis))] => (list, *axis),
            list => (list, 0),
        };
        Ok((list.iter().map(|arg| arg.to_lent_tensor(self.op)).collect::<Result<_>>()?, axis))
    }

    /// An axis; what is left out is the default.
    pub(super) fn axis(&self, i: usize, default: i64) -> Result<i64> {
        self.given(i).map_or(Ok(default), |_| self.integer(i))
    }

    /// Axes: one, several, or all.
    pub(super) fn axes(&self, i: usize) -> Result<Option<Vec<i64>>> {
        self.given(i).map(|_| self.integers(i)).transpose()
    }

    /// The numbers in a list, array or tensor, which is evaluated, and the extents that it has.
    pub(super) fn numbers_of(&self, arg: &Argument<'a>) -> Result<(Vec<f64>, Vec<u64>)> {
        if let Argument::Nested(Form::Vector(_), list) = arg {
            let numbers = list.iter().map(|item| match item {
                Argument::Number(number) => Ok(number.to_f64()),
                _ => Err(Error::forms(format!(
                    "{}: got arrays in a list, expected numbers",
                    self.op
                ))),
            });
            return Ok((numbers.collect::<Result<_>>()?, vec![list.len() as u64]));
        }
        let tensor = arg.to_tensor(self.op)?;
        let lanes = tensor.lanes()?;
        lanes.array()?.refuse_tracked(self.op)?;
        let numbers = lanes.array()?.cast(DType::F64)?.to_vec::<f64>()?;
        Ok((numbers, tensor.shape().extents().to_vec()))
    }

    /// Integers: one, or a list.
    pub(super) fn integers(&self, i: usize) -> Result<Vec<i64>> {
        let one = |arg: &Argument<'a>| match *arg {
            Argument::Number(Scalar::Int(integer)) => Ok(integer),
            Argument::Number(Scalar::UInt(integer)) if i64::try_from(integer).is_ok() => {
                Ok(integer.cast_signed())
            }
            _ => Err(self.unexpected(i, "integers")),
        };
        match self.args[i] {
            Argument::Nested(Form::Vector(_), list) => list.iter().map(one).collect(),
            arg => Ok(vec![one(arg)?]),
        }
    }

    /// Integers from 0 up that are extents.
    pub(super) fn extents(&self, i: usize) -> Result<Vec<u64>> {
        self.counts(i, "an extent")
    }

    /// Integers from 0 up, each of them what an error says.
    pub(super) fn counts(&self, i: usize, word: &str) -> Result<Vec<u64>> {
        let count = |n: i64| {
            let what = format!("got {n} as {word}, expected 0 or more");
            u64::try_from(n).map_err(|_| Error::Argument { op: self.op, what })
        };
        self.integers(i)?.into_iter().map(count).collect()
    }
}

impl From<Tensor> for Answer {
    fn from(tensor: Tensor) -> Self {
        Self::Value(Value::Tensor(tensor))
    }
}

/// A tensor; without axes the array or complex number that it is.
pub(super) fn number_or_tensor(tensor: Tensor) -> Result<Value> {
    if tensor.shape().rank() == 0 { tensor.lanes() } else { Ok(Value::Tensor(tensor)) }
}

fn roll(c: &Call<'_, '_>) -> Result<Tensor> {
    let (tensor, numbers) = (c.tensor(0)?, c.integers(1)?);
    if c.given(2).is_none() {
        let extents: Vec<i64> = tensor.shape().extents().iter().map(|n| n.cast_signed()).collect();
        let line = tensor.reshape(&[-1])?;
        let line = numbers.iter().try_fold(line, |line, &n| line.roll(n, 0))?;
        return line.reshape(&extents);
    }
    let axes = c.integers(2)?;
    let pairs: Vec<(i64, i64)> = match (&numbers[..], &axes[..]) {
        (&[n], axes) => axes.iter().map(|&axis| (n, axis)).collect(),
        (numbers, &[axis]) => numbers.iter().map(|&n| (n, axis)).collect(),
        _ if numbers.len() == axes.len() => numbers.into_iter().zip(axes).collect(),
        _ => {
            let what = format!("got {} numbers for {} axes", numbers.len(), axes.len());
            return Err(Error::Argument {
                op: c.op,
                what: format!("{what}, expected one for each"),
            });
        }
    };
    pairs.into_iter().try_fold(tensor, |tensor, (n, axis)| tensor.roll(n, axis))
}

/// The words for [`Edges`].
const EDGES: &[&str] = &words(&Edges::NAMES);

/// Parts of an axis; those of an array are arrays.
fn split(c: &Call<'_, '_>) -> Result<Vec<Value>> {
    let (tensor, axis) = (c.tensor(0)?, c.axis(2, 0)?);
    if let Argument::Number(_) = c.args[1] {
        let parts = tensor.sections(c.times(1)?, axis)?;
        return parts.into_iter().map(|part| c.like_first(part)).collect();
    }
    let extent = tensor.shape().extents()[tensor.shape().axis(c.op, axis)?];
    let ends = [vec![0], c.integers(1)?, vec![extent.cast_signed()]].concat();
    let part = |pair: &[i64]| c.like_first(tensor.slice(axis, pair[0]..pair[1])?);
    ends.windows(2).map(part).collect()
}

fn tile(c: &Call<'_, '_>) -> Result<Tensor> {
    let tensor = c.tensor(0)?;
    let count = |n: i64| {
        let what = format!("got {n}, expected a number from 0 up");
        u64::try_from(n).map_err(|_| Error::Argument { op: c.op, what })
    };
    let numbers = c.integers(1)?.into_iter().map(count).collect::<Result<Vec<u64>>>()?;
    if c.given(2).is_some() || matches!(c.args[1], Argument::Number(_)) {
        let &[n] = &numbers[..] else {
            let what = "got a list of numbers and an axis, expected one of both".into();
            return Err(Error::Argument { op: c.op, what });
        };
        return tensor.tile(n, c.axis(2, 0)?);
    }
    let rank = tensor.shape().rank().max(numbers.len());
    let wide = (tensor.shape().rank()..rank).try_fold(tensor, |tensor, _| tensor.expand(0))?;
    let last = numbers.iter().rev().zip(1..);
    last.into_iter().try_fold(wide, |tensor, (&n, from_end)| tensor.tile(n, -from_end))
}

/// Arrays behind each other are an array.
fn joined(c: &Call<'_, '_>, all: Tensor) -> Result<Value> {
    let is_array = |arg: &&Argument<'_>| matches!(arg, Argument::Array(_) | Argument::Number(_));
    if c.args.iter().all(is_array) { all.lanes() } else { Ok(Value::Tensor(all)) }
}

fn hstack(c: &Call<'_, '_>) -> Result<Value> {
    let tensors = c.tensors()?.0.into_iter().map(|tensor| match tensor.shape().rank() {
        0 => tensor.expand(0).map(Cow::Owned),
        _ => Ok(tensor),
    });
    let tensors = tensors.collect::<Result<Vec<_>>>()?;
    let is_line = tensors.first().is_none_or(|first| first.shape().rank() == 1);
    joined(c, Tensor::joined(c.op, &tensors, i64::from(!is_line))?)
}

fn norm(c: &Call<'_, '_>) -> Result<Value> {
    let tensor = c.tensor(0)?;
    tensor.shape().axes(c.op, c.axes(1)?.as_deref())?;
    // Squares of integers, and of halves, have no room in their own type.
    let own = tensor.dtype().quotient();
    let wide = tensor.each(|part| part.cast(own.widened()))?;
    let length = apply(Op::Abs, &[&Argument::Tensor(&wide)])?;
    let length = Argument::from(&length);
    let order = c.number(3, 2.0)?;
    let power = Argument::from(order);
    let (power, op) = match order {
        2.0 => {
            // The size of a real number that is 0 has no slope, the square has a second one.
            let root = if tensor.is_complex() { length.clone() } else { Argument::Tensor(&wide) };
            (apply(Op::Mul, &[&root, &root])?, ReduceOp::Sum)
        }
        1.0 => (length.to_value(c.op)?, ReduceOp::Sum),
        0.0 => (apply(Op::Ne, &[&length, &0.into()])?.cast(own.widened())?, ReduceOp::Sum),
        f64::INFINITY => (length.to_value(c.op)?, ReduceOp::Max),
        f64::NEG_INFINITY => (length.to_value(c.op)?, ReduceOp::Min),
        _ => (function("pow", &[&length, &power])?, ReduceOp::Sum),
    };
    let sum = along(c, &power, op)?;
    let norm = match order {
        2.0 => root_of(&sum, apply(Op::Sqrt, &[&(&sum).into()])?)?,
        0.0 | 1.0 => sum,
        f64::INFINITY | f64::NEG_INFINITY => {
            // Extremes ignore NaN, norms do not.
            let has_nan = along(c, &apply(Op::Ne, &[&length, &length])?, ReduceOp::Any)?;
            apply(Op::Select, &[&(&has_nan).into(), &f64::NAN.into(), &(&sum).into()])?
        }
        _ => {
            let root = function("pow", &[&(&sum).into(), &(1.0 / order).into()])?;
            if order > 0.0 { root_of(&sum, root)? } else { root }
        }
    };
    norm.cast(own)
}

fn tensordot(c: &Call<'_, '_>) -> Result<Value> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let (axes, others) = match (c.args[2], c.given(3)) {
        (_, Some(_)) => (c.integers(2)?, c.integers(3)?),
        (Argument::Number(_), _) => {
            let n: u32 = c.integer(2)?;
            ((-i64::from(n)..0).collect(), (0..i64::from(n)).collect())
        }
        // Those of the first, then as many of the second.
        _ => match c.integers(2)? {
            both if both.len().is_multiple_of(2) => {
                let (own, others) = both.split_at(both.len() / 2);
                (own.to_vec(), others.to_vec())
            }
            _ => return Err(c.unexpected(2, "a number of axes, or two lists of axes")),
        },
    };
    number_or_tensor(a.tensordot(&b, &axes, &others)?)
}

fn kron(c: &Call<'_, '_>) -> Result<Value> {
    let (mut a, mut b) = (c.tensor(0)?, c.tensor(1)?);
    let rank = a.shape().rank().max(b.shape().rank());
    for factor in [&mut a, &mut b] {
        for _ in factor.shape().rank()..rank {
            *factor = factor.expand(0)?;
        }
    }
    let extents = a.shape().extents().iter().zip(b.shape().extents());
    let extents: Vec<i64> = extents.map(|(a, b)| a.saturating_mul(*b).cast_signed()).collect();
    // Axes of the second stand behind those of the first, each one of one entry in the other.
    for axis in 0..rank {
        let axis = 2 * axis as u64;
        a = a.expand(axis.cast_signed() + 1)?;
        b = b.expand(axis.cast_signed())?;
    }
    let product = apply(Op::Mul, &[&Argument::Tensor(&a), &Argument::Tensor(&b)])?;
    let Value::Tensor(product) = product else { return Err(c.unexpected(0, "two tensors")) };
    joined(c, product.reshape(&extents)?)
}

fn cross(c: &Call<'_, '_>) -> Result<Value> {
    let part = |number: usize, k: i64| {
        let tensor = c.tensor(number)?;
        if tensor.shape().extents().last() != Some(&3) {
            return Err(c.unexpected(number, "3 entries along the last axis"));
        }
        tensor.slice(-1, k..k + 1).map(Value::from)
    };
    let components = [(1, 2), (2, 0), (0, 1)].map(|(i, j)| {
        let product = part(0, i)?.try_mul(&part(1, j)?)?;
        match product.try_sub(&part(0, j)?.try_mul(&part(1, i)?)?)? {
            Value::Tensor(component) => Ok(component),
            _ => Err(c.unexpected(0, "a tensor")),
        }
    });
    joined(c, Tensor::concat(&components.into_iter().collect::<Result<Vec<_>>>()?, -1)?)
}

fn pad(c: &Call<'_, '_>) -> Result<Tensor> {
    let (tensor, widths) = (c.tensor(0)?, c.counts(1, "a width")?);
    let pairs: Vec<[u64; 2]> = widths.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let rank = tensor.shape().rank();
    let pairs = match (&widths[..], pairs.len()) {
        (&[both], _) => vec![[both; 2]; rank],
        (&[before, behind], _) => vec![[before, behind]; rank],
        _ if widths.len() % 2 == 0 => pairs,
        _ => return Err(c.unexpected(1, "an even number of widths")),
    };
    if c.given(3).is_some() {
        let mode: usize = c.integer(3)?;
        let (_, edges) = Edges::NAMES.get(mode).ok_or_else(|| c.unexpected(3, "a mode"))?;
        return tensor.pad_with(&pairs, *edges);
    }
    // Masks are padded with true, which elsewhere stands for what is left out.
    let number = if c.args.len() > 2 { c.scalar(2)? } else { Scalar::Int(0) };
    tensor.pad(&pairs, number)
}

//! Functions that go along axes of tensors: reductions, orders, prefix sums.

use super::tensors::number_or_tensor;
use super::{Answer, Call, Kind, Row, table};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::Order;
use crate::tensor::Tensor;
use crate::value::{Argument, Value, apply};

table! {
    /// What goes along axes.
    pub TENSOR_AXES;
    /// Sum of the entries along an axis, a list of axes, or all (the default); with keepdims true axes of one entry remain.
    /// Types as of arrays. Along an axis entries are added in the order in which an array's lanes are. Recorded, not run.
    ///
    /// >> hsum(TensorXfC([[1, 2], [3, 4]]), 0)
    /// [4, 6]
    hsum(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| reduce(c, ReduceOp::Sum);
    /// Product along axes, as hsum.
    ///
    /// >> hprod(TensorXfC([[1, 2], [3, 4]]), 1)
    /// [ 2, 12]
    hprod(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| reduce(c, ReduceOp::Prod);
    /// Smallest entry along axes, as hsum; NaN is ignored.
    ///
    /// >> hmin(TensorXfC([[1, 4], [3, 2]]), 0)
    /// [1, 2]
    hmin(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| reduce(c, ReduceOp::Min);
    /// Largest entry along axes, as hsum; NaN is ignored.
    ///
    /// >> hmax(TensorXfC([[1, 4], [3, 2]]), 1, true)
    /// [[4],
    ///  [3]]
    hmax(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| reduce(c, ReduceOp::Max);
    /// From the smallest entry to the largest along axes, as hsum: their difference.
    ///
    /// >> ptp(TensorXfC([[1, 4], [3, 2]]), 1)
    /// [3, 1]
    ptp(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        check_numbers(c)?;
        c.tensor(0)?.real(c.op)?;
        let (largest, smallest) = (reduce(c, ReduceOp::Max)?, reduce(c, ReduceOp::Min)?);
        largest.try_sub(&smallest)
    };
    /// Mean along axes, as hsum.
    ///
    /// >> hmean(TensorXfC([[1, 2], [3, 4]]), 0)
    /// [2, 3]
    hmean(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        number_or_tensor(c.tensor(0)?.mean(c.axes(1)?.as_deref(), c.truth(2)?)?)
    };
    /// Sum of the entries that are not NaN along axes, as hsum; 0 of nothing.
    ///
    /// >> nansum(TensorXfC([[1, nan], [3, 4]]), 0)
    /// [4, 4]
    nansum(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        along(c, &Value::Tensor(c.tensor(0)?).without_nan(0.0)?, ReduceOp::Sum)
    };
    /// Product of the entries that are not NaN along axes, as hsum; 1 of nothing.
    ///
    /// >> nanprod(TensorXfC([[2, nan], [3, 4]]), 0)
    /// [6, 4]
    nanprod(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        along(c, &Value::Tensor(c.tensor(0)?).without_nan(1.0)?, ReduceOp::Prod)
    };
    /// Mean of the entries that are not NaN along axes, as hsum; NaN of nothing.
    ///
    /// >> nanmean(TensorXfC([[1, nan], [3, 4]]), 0)
    /// [2, 4]
    nanmean(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        Value::Tensor(c.tensor(0)?).mean_without_nan(|x, op| along(c, x, op))
    };
    /// Smallest entry that is not NaN along axes: another name of hmin.
    ///
    /// >> nanmin(TensorXfC([[1, nan], [3, 2]]), 0)
    /// [1, 2]
    nanmin(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| reduce(c, ReduceOp::Min);
    /// Largest entry that is not NaN along axes: another name of hmax.
    ///
    /// >> nanmax(TensorXfC([[1, nan], [3, 2]]), 0)
    /// [3, 2]
    nanmax(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| reduce(c, ReduceOp::Max);
    /// Mean squared distance from the mean along axes, as hsum: the sum divided by n - ddof of n entries, where ddof is 0
    /// unless given; 1 for a sample.
    ///
    /// >> var(TensorXfC([[1, 2], [3, 6]]), 1)
    /// [0.25, 2.25]
    /// >> var(FloatC([1, 2, 3, 6]), all, false, 1)
    /// [4.66667]
    var(t: Tensor; axes: Axes, keepdims: Bool("as keepdims"), ddof: Number("as ddof")) = |c| variance(c);
    /// Square root of the variance along axes, as var.
    ///
    /// >> std(TensorXfC([[1, 2], [3, 6]]), 1)
    /// [0.5, 1.5]
    std(t: Tensor; axes: Axes, keepdims: Bool("as keepdims"), ddof: Number("as ddof")) = |c| deviation(c);
    /// Logarithm of the sum of the exponentials along axes, as hsum, without overflow on the way; -inf of nothing.
    ///
    /// >> logsumexp(TensorXfC([[1, 1000], [0, 1000]]), 1)
    /// [1000, 1000]
    /// >> logsumexp(FloatC([1, 2, 3]))
    /// [3.40761]
    logsumexp(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        number_or_tensor(c.tensor(0)?.logsumexp(c.axes(1)?.as_deref(), c.truth(2)?)?)
    };
    /// The exponentials along an axis (the last unless given), each over their sum: shares of 1.
    /// Beside inf all are NaN.
    ///
    /// >> softmax(TensorXfC([[1, 1], [0, 1000]]))
    /// [[0.5, 0.5],
    ///  [  0,   1]]
    /// >> softmax(FloatC([1, 2, 3]))
    /// [0.0900306, 0.244728, 0.665241]
    softmax(t: Tensor; axis: Integer) = |c| shares(c, Tensor::softmax);
    /// The logarithms of what softmax gives, of small shares too.
    ///
    /// >> log_softmax(FloatC([0, 1000]))
    /// [-1000, 0]
    log_softmax(t: Tensor; axis: Integer) = |c| shares(c, Tensor::log_softmax);
    /// Whether any entry along an axis, or of a list of axes, is true, a tensor; of all a bool (evaluates).
    ///
    /// >> any(TensorXfC([[1, 2], [3, 4]]) > 2, 1)
    /// [0, 1]
    any(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| truth(c, c.tensor(0)?, ReduceOp::Any);
    /// Whether all entries along an axis, or of a list of axes, are true, a tensor; of all a bool (evaluates). The word by
    /// itself is every entry of an axis, `t[[all, 0]]`, or every axis, `hsum(t, all, true)`.
    ///
    /// >> all(TensorXfC([[1, 2], [3, 4]]) > 1, 0)
    /// [0, 1]
    all(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| truth(c, c.tensor(0)?, ReduceOp::All);
    /// Number of true entries along an axis, or of a list of axes, a tensor; of all an integer (evaluates).
    ///
    /// >> count(TensorXfC([[1, 2], [3, 4]]) > 1, 0)
    /// [1, 2]
    count(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| truth(c, c.tensor(0)?, ReduceOp::Count);
    /// Number of the entries that are not 0, or true, along an axis, or of a list of axes, a tensor; of all an integer
    /// (evaluates).
    ///
    /// >> count_nonzero(TensorXfC([[1, 0], [3, 4]]), 0)
    /// [2, 1]
    /// >> count_nonzero(FloatC([1, 0, 3]))
    /// 2
    count_nonzero(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        truth(c, c.tensor(0)?.is_not_zero()?, ReduceOp::Count)
    };
    /// Number of the first smallest entry along an axis, or among all; NaN is ignored.
    ///
    /// >> argmin(TensorXfC([[1, 4], [3, 2]]), 1)
    /// [0, 1]
    argmin(t: Tensor; axis: Axes, keepdims: Bool("as keepdims")) = |c| extreme(c, ReduceOp::Min);
    /// Number of the first largest entry along an axis, or among all; NaN is ignored.
    ///
    /// >> argmax(TensorXfC([[1, 4], [3, 2]]), 1)
    /// [1, 0]
    argmax(t: Tensor; axis: Axes, keepdims: Bool("as keepdims")) = |c| extreme(c, ReduceOp::Max);
    /// The middle value along an axis, a list of axes, or of all; NaN where there is one.
    ///
    /// >> median(TensorXfC([[1, 4, 9], [3, 2, 5]]), 1)
    /// [4, 3]
    median(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        number_or_tensor(c.tensor(0)?.median(c.axes(1)?.as_deref(), c.truth(2)?)?)
    };
    /// The middle value of the entries that are not NaN along an axis, a list of axes, or of all; NaN where there are none.
    ///
    /// >> nanmedian(TensorXfC([[1, nan, 9], [3, 2, 5]]), 1)
    /// [5, 3]
    nanmedian(t: Tensor; axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        number_or_tensor(c.tensor(0)?.nanmedian(c.axes(1)?.as_deref(), c.truth(2)?)?)
    };
    /// The value below which a part p of the entries along an axis, a list of axes, or of all lies; NaN where there is one.
    /// Of several parts, in a list, an array or a tensor, which is evaluated, their axes stand in front.
    ///
    /// >> quantile(TensorXfC([[1, 2, 3], [4, 5, 9]]), 0.75, 1)
    /// [2.5,   7]
    /// >> quantile(FloatC([1, 2, 3]), [0.25, 0.75])
    /// [1.5, 2.5]
    quantile(t: Tensor, p: Numbers("as a part"); axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        quantiles(c, Tensor::quantiles, Ok)
    };
    /// The value below which p of a hundred entries along an axis, a list of axes, or of all lie, as quantile(t, p / 100).
    ///
    /// >> percentile(TensorXfC([[1, 2, 3], [4, 5, 9]]), 75, 1)
    /// [2.5,   7]
    percentile(t: Tensor, p: Numbers("as a part"); axes: Axes, keepdims: Bool("as keepdims")) = |c| {
        quantiles(c, Tensor::quantiles, |percent| of_hundred(c, percent))
    };
    /// The entries in order along an axis (the last unless given), smallest first; NaN comes last. Complex ones by their real
    /// parts, where those are equal by the imaginary ones.
    ///
    /// >> sort(TensorXfC([[3, 1], [2, 4]]))
    /// [[1, 3],
    ///  [2, 4]]
    sort(t: Tensor; axis: Integer) = |c| c.tensor(0)?.sort(Order::Ascending, c.axis(1, -1)?);
    /// The entries in order along an axis (the last unless given), largest first; NaN comes last.
    ///
    /// >> sort_desc(TensorXfC([[3, 1], [2, 4]]), 0)
    /// [[3, 4],
    ///  [2, 1]]
    sort_desc(t: Tensor; axis: Integer) = |c| c.tensor(0)?.sort(Order::Descending, c.axis(1, -1)?);
    /// The numbers that sort the entries along an axis (the last unless given); equal ones keep their order.
    ///
    /// >> argsort(TensorXfC([[3, 1], [2, 4]]))
    /// [[1, 0],
    ///  [0, 1]]
    argsort(t: Tensor; axis: Integer) = |c| c.tensor(0)?.argsort(Order::Ascending, c.axis(1, -1)?);
    /// The numbers that sort the entries along an axis (the last unless given), largest first.
    ///
    /// >> argsort_desc(TensorXfC([[3, 1], [2, 4]]))
    /// [[0, 1],
    ///  [1, 0]]
    argsort_desc(t: Tensor; axis: Integer) = |c| c.tensor(0)?.argsort(Order::Descending, c.axis(1, -1)?);
    /// The k largest entries along an axis (the last unless given), the largest first, and their numbers: a list of two. Of
    /// equal ones the first come first; NaN comes last.
    ///
    /// >> topk(FloatC([3, 1, 4, 1, 5]), 2)
    /// [[5, 4], [4, 2]]
    topk(t: Tensor, k: Count("a number of entries"); axis: Integer) = |c| {
        let (tensor, k, axis): (_, u64, _) = (c.tensor(0)?, c.integer(1)?, c.axis(2, -1)?);
        let extent = tensor.shape().extents()[tensor.shape().axis(c.op, axis)?];
        if k > extent {
            let what = format!("got {k} of the {extent} entries along axis {axis} of {}", tensor.shape());
            return Err(Error::Argument { op: c.op, what });
        }
        let number = tensor.argsort(Order::Descending, axis)?.slice(axis, 0..k.cast_signed())?;
        let largest = tensor.take_along(&number, axis)?;
        Ok::<_, Error>(vec![c.like_first(largest)?, c.like_first(number)?])
    };
    /// Sums of the entries up to each along an axis; floats are added by doubling, over 1 entry before, then 2, 4, 8, but
    /// where all other axes have one entry as psum adds them. Without an axis an array: those of all entries in their order, as psum too.
    ///
    /// >> cumsum(TensorXfC([[1, 2], [3, 4]]), 0)
    /// [[1, 2],
    ///  [4, 6]]
    cumsum(t: Tensor; axis: Integer) = |c| {
        if c.given(1).is_none() { c.value(0)?.prefix(Op::Add) } else { c.tensor(0)?.cumsum(c.integer(1)?).map(Value::Tensor) }
    };
    /// Products of the entries up to each along an axis, as cumsum; without an axis of all entries in their order.
    ///
    /// >> cumprod(TensorXfC([[1, 2], [3, 4]]), 0)
    /// [[1, 2],
    ///  [3, 8]]
    cumprod(t: Tensor; axis: Integer) = |c| {
        if c.given(1).is_none() { c.value(0)?.prefix(Op::Mul) } else { c.tensor(0)?.cumprod(c.integer(1)?).map(Value::Tensor) }
    };
    /// The largest entry up to each along an axis; NaN is ignored. Without an axis an array: of all entries in their order.
    ///
    /// >> cummax(TensorXfC([[1, 3, 2], [5, 4, 6]]), 1)
    /// [[1, 3, 3],
    ///  [5, 5, 6]]
    /// >> cummax(FloatC([3, nan, 1, 4]))
    /// [3, 3, 3, 4]
    cummax(t: Tensor; axis: Integer) = |c| extremes(c, Tensor::cummax);
    /// The smallest entry up to each along an axis, as cummax.
    ///
    /// >> cummin(FloatC([3, 5, 1, 4]))
    /// [3, 3, 1, 1]
    cummin(t: Tensor; axis: Integer) = |c| extremes(c, Tensor::cummin);
}

/// The extremes up to each entry, without an axis of all as lanes.
fn extremes(c: &Call<'_, '_>, of: fn(&Tensor, i64) -> Result<Tensor>) -> Result<Value> {
    match c.given(1) {
        None => of(&c.tensor(0)?.reshape(&[-1])?, 0)?.lanes(),
        Some(_) => of(&c.tensor(0)?, c.integer(1)?).map(Value::Tensor),
    }
}

fn variance(c: &Call<'_, '_>) -> Result<Value> {
    let (axes, keeps, ddof) = (c.axes(1)?, c.truth(2)?, c.number(3, 0.0)?);
    number_or_tensor(c.tensor(0)?.variance(axes.as_deref(), keeps, ddof)?)
}

/// What is composed of others says its own name.
fn check_numbers(c: &Call<'_, '_>) -> Result<()> {
    match c.tensor(0)?.dtype() {
        DType::Mask => {
            let (op, dtype, expected) = (c.op, DType::Mask, "numbers");
            Err(Error::UnsupportedType { op, dtype, expected })
        }
        _ => Ok(()),
    }
}

fn deviation(c: &Call<'_, '_>) -> Result<Value> {
    check_numbers(c)?;
    deviation_of(&variance(c)?)
}

pub(super) fn deviation_of(variance: &Value) -> Result<Value> {
    root_of(variance, apply(Op::Sqrt, &[&variance.into()])?)
}

/// The root of a sum of powers, whose slope where all are 0 is 0, as that of `abs` is.
pub(super) fn root_of(sum: &Value, root: Value) -> Result<Value> {
    if !sum.is_tracked() {
        return Ok(root);
    }
    let (of, zero) = (Argument::from(sum), Argument::from(0));
    let is_zero = apply(Op::Eq, &[&of, &zero])?;
    apply(Op::Select, &[&(&is_zero).into(), &zero, &(&root).into()])
}

/// Shares along an axis, of an array an array.
fn shares(c: &Call<'_, '_>, of: fn(&Tensor, i64) -> Result<Tensor>) -> Result<Value> {
    c.like_first(of(&c.tensor(0)?, c.axis(1, -1)?)?)
}

fn reduce(c: &Call<'_, '_>, op: ReduceOp) -> Result<Value> {
    along(c, &Value::Tensor(c.tensor(0)?), op)
}

/// A reduction of what was made of the entries.
pub(super) fn along(c: &Call<'_, '_>, x: &Value, op: ReduceOp) -> Result<Value> {
    match x {
        Value::Tensor(x) => number_or_tensor(x.reduce(op, c.axes(1)?.as_deref(), c.truth(2)?)?),
        x => x.reduce(op),
    }
}

/// Quantiles of parts along axes, which stay or not: the first axis is that of the parts.
type Quantiles = fn(&Tensor, &[f64], Option<&[i64]>, bool) -> Result<Tensor>;

/// The quantiles of the parts that numbers mean, in the shape that these have, in front of the axes that remain.
pub(super) fn quantiles(
    c: &Call<'_, '_>,
    of: Quantiles,
    part: impl Fn(f64) -> Result<f64>,
) -> Result<Value> {
    let (tensor, axes, keeps) = (c.tensor(0)?, c.axes(2)?, c.truth(3)?);
    if let Argument::Number(number) = c.args[1] {
        let one = of(&tensor, &[part(number.to_f64())?], axes.as_deref(), keeps)?;
        return number_or_tensor(one.squeeze(0)?);
    }
    let (numbers, shape) = c.numbers_of(c.args[1])?;
    if numbers.is_empty() {
        let what = "got no parts, expected one or more".into();
        return Err(Error::Argument { op: c.op, what });
    }
    let parts = numbers.into_iter().map(part).collect::<Result<Vec<_>>>()?;
    let all = of(&tensor, &parts, axes.as_deref(), keeps)?;
    let extents = shape.iter().chain(&all.shape().extents()[1..]);
    let all = all.reshape(&extents.map(|extent| extent.cast_signed()).collect::<Vec<_>>())?;
    let is_array = matches!(c.args[0], Argument::Array(_)) && all.shape().rank() == 1;
    if is_array { all.lanes() } else { number_or_tensor(all) }
}

/// The part that so many of a hundred are.
pub(super) fn of_hundred(c: &Call<'_, '_>, percent: f64) -> Result<f64> {
    match percent {
        0.0..=100.0 => Ok(percent / 100.0),
        _ => {
            let what = format!("got {percent} of a hundred, expected 0 to 100");
            Err(Error::Argument { op: c.op, what })
        }
    }
}

/// Of all entries a number, along axes a tensor.
fn truth(c: &Call<'_, '_>, of: Tensor, op: ReduceOp) -> Result<Answer> {
    match along(c, &Value::Tensor(of), op)? {
        Value::Array(one) if c.axes(1)?.is_none() => one.item(0).map(Answer::from),
        along => Ok(along.into()),
    }
}

fn extreme(c: &Call<'_, '_>, op: ReduceOp) -> Result<Value> {
    let axes = c.axes(1)?;
    let axis = match axes.as_deref() {
        None => None,
        Some(&[axis]) => Some(axis),
        Some(_) => return Err(c.unexpected(1, "one axis")),
    };
    number_or_tensor(c.tensor(0)?.arg_extreme(op, axis, c.truth(2)?)?)
}

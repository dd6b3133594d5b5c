//! Entries that masks, numbers and keys choose, and statistics of tensors; of arrays too.

use super::neighbours::{beside, trapezoids, unwrapped};
use super::tensors::number_or_tensor;
use super::{Answer, Call, Kind, Row, table};
use crate::array::{Array, Operand};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp, ScatterOp};
use crate::ir::primitive::lane_number_type;
use crate::tensor::{Shape, Tensor};
use crate::value::{Argument, Form, Value, apply, map};

table! {
    /// What chooses entries by masks, numbers and keys.
    pub TENSOR_CHOICES;
    /// Entries of the first where the mask is true, else of the second; another name of select.
    ///
    /// >> where(TensorXfC([[1, -2], [-3, 4]]) > 0, 1, 0)
    /// [[1, 0],
    ///  [0, 1]]
    where(mask: Tensor, a: Operand, b: Operand) = |c| apply(Op::Select, c.args);
    /// The numbers of the entries that are not 0, or true, along each axis: a list of arrays, one an axis. Evaluates.
    ///
    /// >> nonzero(TensorXfC([[1, 0], [2, 3]]))
    /// [[0, 1, 1], [0, 0, 1]]
    nonzero(t: Tensor) = |c| c.tensor(0)?.nonzero();
    /// The numbers of the entries that are not 0, or true, as rows: one for each of them, a column for each axis. Evaluates.
    ///
    /// >> argwhere(TensorXfC([[1, 0], [2, 3]]))
    /// [[0, 0],
    ///  [1, 0],
    ///  [1, 1]]
    argwhere(t: Tensor) = |c| {
        let tensor = c.tensor(0)?.atleast_1d()?;
        let column = |numbers: &Array| Tensor::new(numbers, &[numbers.size()]);
        let columns = tensor.nonzero()?.iter().map(column).collect::<Result<Vec<_>>>()?;
        Tensor::stack(&columns, 1)
    };
    /// The numbers of the entries that are not 0, or true, in the order in which entries lie. Evaluates.
    ///
    /// >> flatnonzero(TensorXfC([[1, 0], [2, 3]]))
    /// [0, 2, 3]
    flatnonzero(t: Tensor) = |c| {
        let numbers = flat(c, 0)?.nonzero()?;
        numbers.into_iter().next().ok_or_else(|| c.unexpected(0, "an array or a tensor"))
    };
    /// The numbers along each axis of a shape of the entries with these numbers, counted from 0 in the order in which they
    /// lie: a list of as many arrays as the shape has axes, UInt32C, of integers of 64 bits UInt64C. A number below
    /// 0 or beyond the last entry gives one beyond the first axis. Recorded, not run.
    ///
    /// >> unravel_index(UInt32C([5, 2]), [2, 3])
    /// [[1, 0], [2, 2]]
    unravel_index(index: Operand, shape: Integers("a shape")) = |c| {
        let shape = Shape::new(c.op, c.extents(1)?)?;
        let counter = lane_number_type(shape.n_entries());
        let along = |axis| {
            map(c.op, &c.args[..1], &|x| {
                let index = c.as_array(x[0], counter)?;
                if !index.dtype().is_int() {
                    return Err(c.unexpected(0, "integers"));
                }
                let counter = if index.dtype().bytes() == 8 { DType::U64 } else { counter };
                shape.number_along(&index.cast(counter)?, axis)
            })
        };
        (0..shape.rank()).map(along).collect::<Result<Vec<Value>>>()
    };
    /// Which entries are among values: a list, an array or a tensor. NaN is among none. Recorded, not run; complex ones are
    /// evaluated.
    ///
    /// >> isin(TensorXiC([[1, 2], [3, 4]]), [4, 1])
    /// [[1, 0],
    ///  [0, 1]]
    isin(t: Tensor, values: Operand) = |c| {
        let tensor = c.tensor(0)?;
        let values = match c.args[1] {
            Argument::Number(number) => Tensor::from(&c.session.full(tensor.dtype().meet(*number), *number, 1)?),
            _ => c.tensor(1)?,
        };
        let found = tensor.is_among(&values)?;
        if matches!(c.args[0], Argument::Nested(Form::Complex, _)) { found.lanes() } else { c.like_first(found) }
    };
    /// Whether two arrays or tensors have the same shape and equal entries; NaN equals nothing. Evaluates.
    ///
    /// >> array_equal([[1, 2]], TensorXfC([[1, 2]]))
    /// true
    /// >> array_equal(FloatC([1, 1]), FloatC([1]))
    /// false
    array_equal(a: Tensor, b: Tensor) = |c| {
        let (a, b) = (c.tensor(0)?, c.tensor(1)?);
        if a.shape() != b.shape() {
            return Ok(Scalar::Bool(false).into());
        }
        let equal = apply(Op::Eq, &[&Argument::Tensor(&a), &Argument::Tensor(&b)])?;
        equal.reduce_all(ReduceOp::All)?.item(0)
    };
    /// The entries along an axis where a mask is true; without an axis an array of those where a mask of the tensor's shape
    /// is. The mask is evaluated.
    ///
    /// >> compress(TensorXfC([[1, 2, 3], [4, 5, 6]]), MaskC([true, false, true]), 1)
    /// [[1, 3],
    ///  [4, 6]]
    compress(t: Tensor, mask: Tensor; axis: Integer) = |c| {
        let (tensor, mask) = (c.tensor(0)?, c.tensor(1)?);
        if mask.dtype() != DType::Mask {
            return Err(Error::UnsupportedType { op: c.op, dtype: mask.dtype(), expected: "a mask" });
        }
        if c.given(2).is_some() {
            return tensor.compress(&mask.entries()?[0], c.integer(2)?).map(Answer::from);
        }
        if mask.shape() != tensor.shape() {
            let (mask, own) = (mask.shape(), tensor.shape());
            let what = format!("{}: got a mask of {mask} for {own}", c.op);
            return Err(Error::Forms { what, remedy: Some("with an axis, compress(t, mask, 0), a mask of its length") });
        }
        let mask = mask.reshape(&[-1])?.entries()?;
        tensor.reshape(&[-1])?.compress(&mask[0], 0)?.lanes()
    };
    /// The tensor with other entries at these numbers along an axis (0 unless given); negative numbers count from the end.
    /// t[[i, j]] = value changes those of several axes.
    ///
    /// >> put(TensorXfC([[1, 2], [3, 4]]), Int32C([1]), 0)
    /// [[1, 2],
    ///  [0, 0]]
    put(t: Tensor, index: Array, value: Operand; axis: Integer) = |c| {
        let tensor = c.tensor(0)?;
        let value = c.args[2].fitted_to("put", &tensor)?;
        tensor.put(&c.tensor(1)?, &value, c.axis(3, 0)?)
    };
    /// Sums of segments: of the lanes, or entries along the first axis, that have the same key, a number from 0 up to and
    /// not including n; or of segments that lie behind each other, segment i from offsets[i] up to and not including
    /// offsets[i + 1]. In lane order on every device. Types as of hsum. Recorded, not run, but for
    /// offsets, which are read.
    ///
    /// >> segment_sum(FloatC([1, 2, 3, 4]), UInt32C([0, 1, 0, 1]), 2)
    /// [4, 6]
    /// >> segment_sum(FloatC([1, 2, 3, 4]), UInt32C([0, 1, 4]))
    /// [1, 9]
    segment_sum(x: Tensor, keys: Array; n: Count("a number of keys")) = |c| segments(c, ReduceOp::Sum);
    /// The smallest of each segment, as segment_sum; of one without lanes NaN, or the largest integer.
    ///
    /// >> segment_min(FloatC([1, 2, 3, 4]), UInt32C([0, 1, 0, 1]), 2)
    /// [1, 2]
    segment_min(x: Tensor, keys: Array; n: Count("a number of keys")) = |c| segments(c, ReduceOp::Min);
    /// The largest of each segment, as segment_sum; of one without lanes NaN, or the smallest integer.
    ///
    /// >> segment_max(FloatC([1, 2, 3, 4]), UInt32C([0, 1, 0, 1]), 2)
    /// [3, 4]
    segment_max(x: Tensor, keys: Array; n: Count("a number of keys")) = |c| segments(c, ReduceOp::Max);
    /// How many lanes each segment has, as segment_sum.
    ///
    /// >> segment_count(UInt32C([0, 1, 0, 0]), 3)
    /// [3, 1, 0]
    segment_count(keys: Array, n: Count("a number of keys")) = |c| c.array(0)?.key_counts(c.integer(1)?);
    /// How often each integer occurs among the lanes, from 0 up to the largest, or of so many integers if that is more;
    /// with weights, a lane for each or one for all, the sums of theirs, as segment_sum. bincount(x, 10) counts at least
    /// ten integers, bincount(x, 2, 10) weighs each lane twice. Evaluates.
    ///
    /// >> bincount(UInt32C([0, 1, 3, 1]))
    /// [1, 2, 0, 1]
    /// >> bincount(UInt32C([0, 1, 1]), 4)
    /// [1, 2, 0, 0]
    /// >> bincount(UInt32C([0, 1, 1]), FloatC([0.5, 1, 2]), 3)
    /// [0.5, 3, 0]
    bincount(x: Array; weights: Index, minlength: Count("a number of integers")) = |c| occurrences(c);
}

table! {
    /// Statistics of tensors.
    pub TENSOR_STATISTICS;
    /// How many entries along an axis fall into each of the bins: the bins are the last axis. Without an axis an array of
    /// all. Bins as of arrays.
    ///
    /// >> histogram(TensorXfC([[0, 1, 1], [0, 0, 0]]), 2, 0, 2, 1)
    /// [[1, 2],
    ///  [3, 0]]
    histogram(
        t: Tensor; bins: Numbers("as bins"), low: Number("as a bound"), high: Number("as a bound"), axis: Integer
    ) = |c| {
        let tensor = c.tensor(0)?;
        if c.given(4).is_some() {
            if [1, 2, 3].iter().any(|&i| c.given(i).is_none()) {
                let what = "got an axis, expected bins and both bounds with it".into();
                return Err(Error::Argument { op: c.op, what });
            }
            let (low, high) = (c.number(2, 0.0)?, c.number(3, 0.0)?);
            return tensor.histogram(c.integer(1)?, low, high, c.integer(4)?).map(Answer::from);
        }
        let entries = tensor.reshape(&[-1])?.real(c.op)?.entries()?;
        histogram(c, &entries[0]).map(Answer::from)
    };
    /// How many pairs of entries fall into each rectangle: bins of x are rows, bins of y columns, as histogram has them.
    ///
    /// >> histogram2d(FloatC([0, 1, 1]), FloatC([0, 0, 1]), [2, 2], 0, 2, 0, 2)
    /// [[1, 0],
    ///  [1, 1]]
    histogram2d(
        x: Tensor, y: Tensor, bins: Integers("numbers of bins"), x_low: Number("as a bound"), x_high: Number("as a bound"),
        y_low: Number("as a bound"), y_high: Number("as a bound")
    ) = |c| {
        let bins = match c.counts(2, "a number of bins")?[..] {
            [both] => [both; 2],
            [x, y] => [x, y],
            _ => return Err(c.unexpected(2, "one number of bins or two")),
        };
        let [a, b, d, e] = [3, 4, 5, 6].map(|i| c.number(i, 0.0));
        c.tensor(0)?.histogram_2d(&c.tensor(1)?, bins, [[a?, b?], [d?, e?]])
    };
    /// The covariance matrix of the rows of a matrix, each the values of one variable; of one row the variance. Divided by
    /// n - 1, as NumPy has it, where var divides by n. Two arrays are two rows.
    ///
    /// >> cov(TensorXfC([[1, 2, 3], [2, 4, 9]]))
    /// [[  1, 3.5],
    ///  [3.5,  13]]
    cov(rows: Tensor; other: Tensor) = |c| covariance(c)?.cast(of_rows(c)?);
    /// The correlation matrix of the rows of a matrix, each the values of one variable, from -1 to 1. Two arrays are two
    /// rows.
    ///
    /// >> corrcoef(TensorXfC([[1, 2, 3], [3, 2, 1]]))
    /// [[ 1, -1],
    ///  [-1,  1]]
    corrcoef(rows: Tensor; other: Tensor) = |c| {
        let (cov, own) = (covariance(c)?, of_rows(c)?);
        let Value::Tensor(matrix) = &cov else {
            return apply(Op::Div, &[&(&cov).into(), &(&cov).into()])?.cast(own).map(Answer::from);
        };
        let deviation = apply(Op::Sqrt, &[&Argument::Tensor(&matrix.diag(0)?)])?;
        let Value::Tensor(deviation) = deviation else { return Err(c.unexpected(0, "a matrix")) };
        let [column, row] = [deviation.expand(1)?, deviation.expand(0)?].map(Value::from);
        cov.try_div(&column)?.try_div(&row)?.cast(own).map(Answer::from)
    };
    /// Slopes along an axis (the last unless given) of entries that are dx apart (1 unless given): half the difference of
    /// the neighbours on both sides, at the ends the difference to the one there is.
    ///
    /// >> gradient_of(FloatC([1, 2, 4, 7]))
    /// [  1, 1.5, 2.5,   3]
    gradient_of(y: Tensor; dx: Number("as a distance"), axis: Integer) = |c| {
        let axis = c.axis(2, -1)?;
        let y = c.tensor(0)?;
        // Differences of integers would wrap.
        let y = y.each(|part| part.cast(part.dtype().quotient()))?;
        let n = y.shape().extents()[y.shape().axis(c.op, axis)?];
        if n < 2 {
            return Err(c.unexpected(0, "two entries or more along the axis"));
        }
        let step = |upper: Tensor, lower: Tensor, distance: f64| {
            let difference = Value::from(upper).try_sub(&Value::from(lower))?;
            match difference.try_div(c.number(1, 1.0)? * distance)? {
                Value::Tensor(slope) => Ok(slope),
                _ => Err(c.unexpected(0, "a tensor")),
            }
        };
        let first = step(y.slice(axis, 1..2)?, y.slice(axis, 0..1)?, 1.0)?;
        let middle = step(y.slice(axis, 2..)?, y.slice(axis, ..-2)?, 2.0)?;
        let last = step(y.slice(axis, -1..)?, y.slice(axis, -2..-1)?, 1.0)?;
        Tensor::concat(&[first, middle, last], axis)
    };
    /// The integral along an axis (the last unless given) of entries at places x, an array or a tensor, or a distance apart (1
    /// unless given): the sum of the trapezoids between neighbours.
    ///
    /// >> trapezoid(FloatC([0, 1, 4]))
    /// [3]
    /// >> trapezoid(FloatC([0, 1, 4]), FloatC([0, 1, 3]))
    /// [5.5]
    trapezoid(y: Tensor; x: Operand, axis: Integer) = |c| {
        let (areas, axis) = trapezoids(c)?;
        number_or_tensor(areas.reduce(ReduceOp::Sum, Some(&[axis]), false)?)
    };
    /// The integrals from the first entry along an axis to each of the others, as trapezoid: one entry less.
    ///
    /// >> cumulative_trapezoid(FloatC([0, 1, 4]))
    /// [0.5, 3]
    cumulative_trapezoid(y: Tensor; x: Operand, axis: Integer) = |c| {
        let (areas, axis) = trapezoids(c)?;
        c.like_first(areas.cumsum(axis)?)
    };
    /// Angles along an axis (the last unless given) without jumps: whole turns are added or taken away, so that neighbours
    /// are at most half a turn apart.
    ///
    /// >> unwrap(FloatC([3, -3, 3.2]))
    /// [3, 3.28319, 3.2]
    unwrap(x: Tensor; axis: Integer) = |c| unwrapped(c);
    /// The mean along axes (all unless given) of entries that count as much as their weights: an array or a tensor that
    /// broadcasts, or one weight for each place along the axes that are given; 1 unless given.
    ///
    /// >> average(FloatC([1, 2, 6]), FloatC([1, 1, 2]))
    /// [3.75]
    /// >> average(TensorXfC([[1, 2], [3, 4]]), FloatC([3, 1]), 0)
    /// [1.5, 2.5]
    average(t: Tensor; weights: Operand, axes: Axes, keepdims: Bool("as keepdims")) = |c| average(c);
    /// Sums of products of an array and another that is turned around and moved along it: full (the default) wherever
    /// they meet, same as many as the longer one has, valid where the shorter one lies in the longer one.
    ///
    /// >> convolve(FloatC([1, 2, 3]), FloatC([0, 1, 0.5]))
    /// [0, 1, 2.5, 4, 1.5]
    convolve(a: Tensor, b: Tensor; mode: Word(MODES)) = |c| {
        let (a, b) = (c.tensor(0)?, c.tensor(1)?);
        slid(c, &a, &b.flip(None)?, mode(c, "full")?, false)
    };
    /// Sums of products of an array and another, conjugated, that is moved along it: valid (the default) where the shorter
    /// one lies in the longer one, same as many as the longer one has, full wherever they meet.
    ///
    /// >> correlate(FloatC([1, 2, 3, 4]), FloatC([1, 0, -1]))
    /// [-2, -2]
    correlate(a: Tensor, b: Tensor; mode: Word(MODES)) = |c| {
        let (a, b) = (c.tensor(0)?, c.tensor(1)?);
        let is_longer = b.shape().n_entries() > a.shape().n_entries();
        slid(c, &a, &b.conjugate()?, mode(c, "valid")?, is_longer)
    };
    /// The polynomial with these coefficients at x, the highest power first, by Horner's rule.
    ///
    /// >> polyval(FloatC([1, 0, -2]), FloatC([0, 1, 2]))
    /// [-2, -1, 2]
    polyval(p: Tensor, x: Operand) = |c| {
        let p = c.tensor(0)?;
        let &[n] = p.shape().extents() else { return Err(c.unexpected(0, "an array of coefficients")) };
        let number = match c.args[1] {
            Argument::Number(number) => Some(c.as_array(Operand::Number(*number), p.dtype())?),
            _ => None,
        };
        let number = number.as_ref().map(Argument::from);
        let x = number.as_ref().unwrap_or(c.args[1]);
        let mut value = apply(Op::Mul, &[x, &0.into()])?;
        for i in 0..n {
            let i = i.cast_signed();
            let coefficient = p.slice(0, i..i + 1)?.lanes()?;
            let product = apply(Op::Mul, &[&(&value).into(), x])?;
            value = apply(Op::Add, &[&(&product).into(), &(&coefficient).into()])?;
        }
        Ok::<Value, Error>(value)
    };
}

/// How many lanes fall into bins: of equal width, from the least to the largest unless bounds are given, or between bounds
/// that are given one by one.
pub(super) fn histogram(c: &Call<'_, '_>, of: &Array) -> Result<Array> {
    let wrong = |what: &str| Err(Error::Argument { op: c.op, what: what.into() });
    match c.given(1) {
        None | Some(Argument::Number(_)) => {}
        Some(bounds) if c.args.len() == 2 => return between(c, of, &c.numbers_of(bounds)?.0),
        Some(_) => return wrong("got a list of bounds, and more of them behind it"),
    }
    let bins = c.given(1).map_or(Ok(10), |_| c.integer(1))?;
    let extreme = |op| Ok::<_, Error>(of.reduce(op)?.item(0)?.to_f64());
    let (low, high) = match [2, 3].map(|i| c.given(i).is_some()) {
        [true, true] => (c.number(2, 0.0)?, c.number(3, 0.0)?),
        [false, false] if of.size() == 0 => (0.0, 1.0),
        [true, false] | [false, true] => {
            return wrong("got one bound, expected both: histogram(x, bins, low, high)");
        }
        [false, false] => match (extreme(ReduceOp::Min)?, extreme(ReduceOp::Max)?) {
            (low, high) if low == high => (low - 0.5, high + 0.5),
            range => range,
        },
    };
    of.histogram(bins, low, high)
}

/// How many entries lie between each two bounds that ascend, the lower one included, of the last two the upper one too.
fn between(c: &Call<'_, '_>, of: &Array, bounds: &[f64]) -> Result<Array> {
    let n_bins = bounds.len().saturating_sub(1) as u64;
    if n_bins == 0 || !bounds.windows(2).all(|pair| pair[0] < pair[1]) {
        let what = "got bounds that do not ascend, expected two or more that do".into();
        return Err(Error::Argument { op: c.op, what });
    }
    let x = of.cast(DType::F64)?;
    let last = bounds[bounds.len() - 1];
    let found = c.session.array(bounds)?.search_sorted_right(&x)?;
    let is_last = x.eq(last)?;
    let bin = found.try_sub(&is_last.cast(found.dtype())?)?.try_sub(1)?;
    let is_inside = bin.lt(Scalar::UInt(n_bins))?.try_and(&x.le(last)?)?;
    let mut counts = c.session.zeros(lane_number_type(x.size()), n_bins)?;
    counts.scatter(ScatterOp::Add, 1, &bin, Some(&is_inside))?;
    Ok(counts)
}

/// The entries as one axis.
pub(super) fn flat(c: &Call<'_, '_>, i: usize) -> Result<Tensor> {
    c.tensor(i)?.reshape(&[-1])
}

/// How much of a sum of products is given.
pub(super) const MODES: &[&str] = &["full", "same", "valid"];

/// Arrays give an array.
fn segments(c: &Call<'_, '_>, op: ReduceOp) -> Result<Value> {
    let (x, keys) = (c.tensor(0)?, c.array(1)?);
    let result = if c.given(2).is_some() {
        x.segments(op, keys, c.integer(2)?, None)?
    } else {
        x.segments_between(op, keys)?
    };
    if result.shape().rank() == 1 { result.lanes() } else { Ok(Value::Tensor(result)) }
}

fn occurrences(c: &Call<'_, '_>) -> Result<Array> {
    let keys = c.array(0)?;
    let is_length = c.args.len() == 2 && matches!(c.args[1], Argument::Number(Scalar::Int(_)));
    let (weights, length) = if is_length { (None, c.given(1)) } else { (c.given(1), c.given(2)) };
    let mut n = length.map_or(Ok(0), |_| c.times(c.args.len() - 1))?;
    if !keys.dtype().is_int() {
        return Err(c.unexpected(0, "integers"));
    }
    if keys.size() > 0 {
        if let number @ Scalar::Int(..0) = keys.reduce(ReduceOp::Min)?.item(0)? {
            let what = format!("got {number} among the integers, expected 0 or more");
            return Err(Error::Argument { op: c.op, what });
        }
        let largest = keys.reduce(ReduceOp::Max)?.cast(DType::U64)?.item(0)?;
        let Scalar::UInt(largest) = largest else { return Err(c.unexpected(0, "integers")) };
        n = n.max(largest.saturating_add(1));
    }
    match weights {
        None => keys.key_counts(n),
        Some(weights) => {
            c.as_array(weights.operand(c.op)?, keys.dtype())?.segments(ReduceOp::Sum, keys, n, None)
        }
    }
}

/// The float that covariances of all rows have.
fn of_rows(c: &Call<'_, '_>) -> Result<DType> {
    let own = c.tensor(0)?.dtype().quotient();
    let other = if c.given(1).is_some() { c.tensor(1)?.dtype().quotient() } else { own };
    Ok(own.promote(other).unwrap_or(own))
}

/// In the type in which distances are taken.
fn covariance(c: &Call<'_, '_>) -> Result<Value> {
    let given = c.tensor(0)?;
    let given = match c.given(1) {
        None => given,
        Some(_) => {
            let both = [given, c.tensor(1)?];
            if both.iter().any(|one| one.shape().rank() != 1) {
                return Err(c.unexpected(0, "two arrays, or one matrix"));
            }
            Tensor::stack(&both, 0)?
        }
    };
    let given = given.each(|part| part.cast(part.dtype().averaged()))?;
    let rows = match given.shape().extents() {
        [_] => given.expand(0)?,
        [_, _] => given.clone(),
        _ => return Err(c.unexpected(0, "a matrix or an array")),
    };
    let (n_rows, n) = (rows.shape().extents()[0], rows.shape().extents()[1]);
    let mean = rows.mean(Some(&[1]), true)?;
    let Value::Tensor(distance) = Value::from(rows).try_sub(&Value::from(mean))? else {
        return Err(c.unexpected(0, "a matrix"));
    };
    let product = distance.matmul(&distance.conjugate()?.matrix_transpose()?)?;
    // Of nothing it is NaN, as of one.
    let cov = Value::from(product).try_div(Scalar::UInt(n.saturating_sub(1)).to_f64())?;
    match cov {
        Value::Tensor(cov) if n_rows == 1 => number_or_tensor(cov.squeeze(0)?.squeeze(0)?),
        cov => Ok(cov),
    }
}

fn average(c: &Call<'_, '_>) -> Result<Value> {
    let (t, axes, keeps) = (c.tensor(0)?, c.axes(2)?, c.truth(3)?);
    if c.given(1).is_none() {
        return number_or_tensor(t.mean(axes.as_deref(), keeps)?);
    }
    // Halves and weights of integers are added in a wider type, and rounded once.
    let own = t.dtype().quotient();
    let wider = t.dtype().averaged();
    let wide = |t: &Tensor| t.each(|part| part.cast(wider));
    let weights = wide(&c.tensor(1)?)?;
    let weights = match axes.as_deref() {
        Some(&[axis]) if weights.shape().rank() == 1 => {
            let place = t.shape().axis(c.op, axis)?;
            let [given, expected] = [weights.shape().extents()[0], t.shape().extents()[place]];
            if given != expected {
                let what = format!("got {given} weights, expected {expected} along axis {axis}");
                return Err(Error::Argument { op: c.op, what });
            }
            beside(&weights, t.shape(), place)?
        }
        Some(axes) if weights.shape().rank() == axes.len() && axes.len() < t.shape().rank() => {
            along_axes(c, &weights, t.shape(), axes)?
        }
        _ => weights,
    };
    let weights = weights.broadcast_to(t.shape().extents())?;
    let weighted = Value::from(wide(&t)?).try_mul(&Value::from(weights.clone()))?;
    let Value::Tensor(weighted) = weighted else { return Err(c.unexpected(1, "weights")) };
    let sum = |of: &Tensor| of.reduce(ReduceOp::Sum, axes.as_deref(), keeps).map(Value::from);
    let Value::Tensor(average) = sum(&weighted)?.try_div(&sum(&weights)?)? else {
        return Err(c.unexpected(1, "weights"));
    };
    number_or_tensor(average.each(|part| part.cast(own))?)
}

/// Weights of the places along several axes of a shape, beside its other ones.
fn along_axes(c: &Call<'_, '_>, weights: &Tensor, of: &Shape, axes: &[i64]) -> Result<Tensor> {
    let places = axes.iter().map(|&axis| of.axis(c.op, axis)).collect::<Result<Vec<_>>>()?;
    let (own, given) = (of.extents(), weights.shape());
    let expected: Vec<u64> = places.iter().map(|&place| own[place]).collect();
    if given.extents() != expected {
        let what = format!("got weights of {given}, expected {expected:?} along the axes {axes:?}");
        return Err(Error::Argument { op: c.op, what });
    }
    let mut order: Vec<i64> = (0..exactly(places.len())).collect();
    order.sort_by_key(|&i| places[exactly::<usize>(i)]);
    let extent = |place| if places.contains(&place) { own[place].cast_signed() } else { 1 };
    weights.permute(&order)?.reshape(&(0..own.len()).map(extent).collect::<Vec<_>>())
}

/// One of [`MODES`]; what is left out is the default.
pub(super) fn mode(c: &Call<'_, '_>, default: &'static str) -> Result<&'static str> {
    if c.given(2).is_none() {
        return Ok(default);
    }
    let place: usize = c.integer(2)?;
    MODES.get(place).copied().ok_or_else(|| c.unexpected(2, "full, same or valid"))
}

/// Sums of products of an array and another, which is moved along it from behind its first lane; an even one, for as many
/// as the longer one has, begins one lane further in if `starts_late`.
fn slid(c: &Call<'_, '_>, a: &Tensor, b: &Tensor, mode: &str, starts_late: bool) -> Result<Value> {
    // One complex lane is a tensor of no axis.
    let (a, b) = (&a.atleast_1d()?, &b.atleast_1d()?);
    let (&[n], &[m]) = (a.shape().extents(), b.shape().extents()) else {
        let what = format!("got {} and {}, expected two arrays", a.shape(), b.shape());
        return Err(Error::Argument { op: c.op, what });
    };
    let short = n.min(m);
    if short == 0 {
        return Err(c.unexpected(usize::from(n != 0), "an array with lanes"));
    }
    // The shorter one is moved: turned around, it gives the same sums.
    let (a, b) = if m > n { (b.flip(None)?, a.flip(None)?) } else { (a.clone(), b.clone()) };
    // Of all places where they meet, those in front and behind that are left out.
    let (front, behind) = match mode {
        "full" => (0, 0),
        "same" => {
            let front = (short - u64::from(!starts_late)) / 2;
            (front, short - 1 - front)
        }
        _ => (short - 1, short - 1),
    };
    let padded = a.pad(&[[short - 1 - front, short - 1 - behind]], Scalar::Int(0))?;
    padded.slid(c.op, &b)?.lanes()
}

//! Functions of the types, which make arrays: `FloatC::arange(n)`.

use super::windows::{bartlett, blackman, kaiser, one_hot, raised_cosine, window};
use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::tensor::{AxisIndex, Tensor};
use crate::value::{Argument, Value};

table! {
    /// What makes an array of a type, see [`Row::call_of`]. A size that is left out is 1.
    pub MAKERS;
    /// n lanes of 0 (default 1), a literal.
    ///
    /// >> FloatC::zero(3)
    /// [0, 0, 0]
    zero(; n: Count("a size")) = |c| full(c, 0, 0);
    /// n lanes of 0 (default 1), a literal.
    ///
    /// >> UInt32C::zeros(2)
    /// [0, 0]
    zeros(; n: Count("a size")) = |c| full(c, 0, 0);
    /// n lanes of 1 (default 1), a literal.
    ///
    /// >> FloatC::ones(3)
    /// [1, 1, 1]
    ones(; n: Count("a size")) = |c| full(c, 1, 0);
    /// n lanes to be written later; they read 0.
    ///
    /// >> FloatC::empty(2)
    /// [0, 0]
    empty(; n: Count("a size")) = |c| full(c, 0, 0);
    /// n lanes of a number, a literal.
    ///
    /// >> FloatC::full(0.5, 3)
    /// [0.5, 0.5, 0.5]
    full(value: Scalar("as a value"); n: Count("a size")) = |c| full(c, c.scalar(0)?, 1);
    /// n lanes of a number as data in memory, so that kernels do not depend on its value.
    ///
    /// >> FloatC::opaque(0.5, 2)
    /// [0.5, 0.5]
    opaque(value: Scalar("as a value"); n: Count("a size")) = |c| {
        c.session.opaque(c.dtype(), c.scalar(0)?, c.size(1)?)
    };
    /// start, start + step (default 1) and so on up to but not including stop. What does not fit an integer type is an
    /// error. Recorded.
    ///
    /// >> Int32C::arange(2, 11, 3)
    /// [2, 5, 8]
    arange(start: Number("as a start"), stop: Number("as a stop"); step: Number("as a step")) = |c| counted(c);
    /// Counts from 0 up to but not including n.
    ///
    /// >> Int32C::arange(3)
    /// [0, 1, 2]
    arange(n: Number("as a stop")) = |c| counted(c);
    /// n numbers at equal distances, both ends exact; one is first. With endpoint false (optional) the last of n + 1 is
    /// left out. Recorded.
    ///
    /// >> FloatC::linspace(0, 1, 5)
    /// [0, 0.25, 0.5, 0.75, 1]
    linspace(
        first: Number("as a first number"), last: Number("as a last one"), n: Count("a size"); endpoint: Bool("as endpoint")
    ) = |c| spaced(c);
    /// The same bits as another type of the same width; a NaN shows as the quiet NaN, whatever its bits were.
    ///
    /// >> UInt32C::reinterpret(FloatC([1]))
    /// [1065353216]
    reinterpret(x: Array) = |c| c.array(0)?.reinterpret(c.dtype());
}

/// From a start to a stop by a step, or up to a stop.
fn counted(c: &Call<'_, '_>) -> Result<Array> {
    let (start, stop) =
        if c.args.len() > 1 { (c.scalar(0)?, c.scalar(1)?) } else { (0.into(), c.scalar(0)?) };
    let step = c.given(2).map_or(Ok(1.into()), |_| c.scalar(2))?;
    c.session.arange(c.dtype(), start, stop, step)
}

/// Numbers at equal distances.
fn spaced(c: &Call<'_, '_>) -> Result<Array> {
    let (first, last, n) = (c.scalar(0)?, c.scalar(1)?, c.size(2)?);
    if n == 0 || c.args.len() < 4 || c.truth(3)? {
        return c.session.linspace(c.dtype(), first, last, n);
    }
    c.session.linspace(c.dtype(), first, last, n.saturating_add(1))?.resize(n)
}

/// Numbers in equal ratios: the powers of two of numbers at equal distances.
fn in_ratio(c: &Call<'_, '_>) -> Result<Array> {
    let (first, last, n) = (c.number(0, 1.0)?, c.number(1, 1.0)?, c.size(2)?);
    let is_size = |end: f64| end != 0.0 && end.is_finite();
    if !is_size(first) || !is_size(last) || first.signum() != last.signum() {
        let what = format!("got {first} and {last}, expected two numbers of one sign, not 0");
        return Err(Error::Argument { op: c.op, what });
    }
    let [from, to] = [first, last].map(|end| Scalar::Float(end.abs().log2()));
    let numbers = c.session.linspace(c.dtype(), from, to, n)?.exp2()?.try_mul(first.signum())?;
    let lane = c.session.arange(DType::U64, 0.into(), Scalar::UInt(n), 1.into())?;
    let is_last = lane.eq(Scalar::UInt(n.saturating_sub(1)))?;
    let numbers = is_last.select(last, &numbers)?;
    lane.eq(Scalar::UInt(0))?.select(first, &numbers)
}

/// The frequencies of a transform of n entries, those of real ones or all: of entry k its number, from the middle on n less,
/// over n times a distance.
fn frequencies(c: &Call<'_, '_>, is_real: bool) -> Result<Array> {
    let n: u64 = c.integer(0)?;
    let distance = c.number(1, 1.0)?;
    let count = |n| c.session.arange(DType::I64, 0.into(), Scalar::UInt(n), 1.into());
    let numbers = if is_real {
        count(n / 2 + 1)?
    } else {
        let k = count(n)?;
        let is_below = k.lt(Scalar::UInt(n.div_ceil(2)))?;
        is_below.select(&k, &k.try_sub(Scalar::UInt(n))?)?
    };
    numbers.cast(c.dtype())?.try_div(n as f64 * distance)
}

/// Lanes of a number, as many as argument `i` says.
fn full(c: &Call<'_, '_>, number: impl Into<Scalar>, i: usize) -> Result<Array> {
    c.session.full(c.dtype(), number, c.size(i)?)
}

table! {
    /// What makes a tensor of a type, see [`Row::call_of`].
    pub TENSOR_MAKERS;
    /// A tensor of zeros, its shape a list of extents; for an integer an array.
    ///
    /// >> zeros([2, 3])
    /// [[0, 0, 0],
    ///  [0, 0, 0]]
    zeros(shape: Integers("a shape")) = |c| filled(c, 0.into());
    /// A tensor of ones, its shape a list of extents; for an integer an array.
    ///
    /// >> ones([1, 3])
    /// [[1, 1, 1]]
    ones(shape: Integers("a shape")) = |c| filled(c, 1.into());
    /// A tensor of a shape, a list of extents, with a number in every entry; for an integer an array.
    ///
    /// >> full([1, 3], 0.5)
    /// [[0.5, 0.5, 0.5]]
    full(shape: Integers("a shape"), value: Scalar("as a value")) = |c| filled(c, c.scalar(1)?);
    /// start, start + step (default 1) and so on up to but not including stop; from 0 up to a stop that stands alone.
    ///
    /// >> arange(1, 10, 3)
    /// [1, 4, 7]
    arange(start: Number("as a start"), stop: Number("as a stop"); step: Number("as a step")) = |c| counted(c);
    /// Counts from 0 up to but not including n.
    ///
    /// >> reshape(arange(4), [2, 2])
    /// [[0, 1],
    ///  [2, 3]]
    arange(n: Number("as a stop")) = |c| counted(c);
    /// n numbers at equal distances, both ends exact. With endpoint false (optional) the last of n + 1 is left out.
    ///
    /// >> linspace(0, 1, 5)
    /// [0, 0.25, 0.5, 0.75, 1]
    linspace(
        first: Number("as a first number"), last: Number("as a last one"), n: Count("a size"); endpoint: Bool("as endpoint")
    ) = |c| spaced(c);
    /// base (10 unless given) to the power of n numbers at equal distances, as linspace has them.
    ///
    /// >> logspace(0, 3, 4)
    /// [1, 10, 100, 1000]
    logspace(
        first: Number("as a first power"), last: Number("as a last one"), n: Count("a size"); base: Number("as a base")
    ) = |c| {
        let powers = c.session.linspace(c.dtype(), c.scalar(0)?, c.scalar(1)?, c.size(2)?)?;
        c.session.full(c.dtype(), c.number(3, 10.0)?, 1)?.pow(&powers)
    };
    /// n numbers in equal ratios, both ends exact; both have one sign.
    ///
    /// >> geomspace(1, 8, 4)
    /// [1, 2, 4, 8]
    geomspace(first: Number("as a first number"), last: Number("as a last one"), n: Count("a size")) = |c| in_ratio(c);
    /// The frequencies of the entries of fft of n samples at a distance (1 unless given): 0 up, then the negative ones.
    ///
    /// >> fftfreq(4, 0.5)
    /// [0, 0.5, -1, -0.5]
    fftfreq(n: Count("a size"); distance: Number("as a distance")) = |c| frequencies(c, false);
    /// The frequencies of the entries of rfft of n samples.
    ///
    /// >> rfftfreq(4)
    /// [0, 0.25, 0.5]
    rfftfreq(n: Count("a size"); distance: Number("as a distance")) = |c| frequencies(c, true);
    /// Hann's window of n numbers, as NumPy calls it: half a cosine's wave above 0, which it is at both ends.
    ///
    /// >> hanning(5)
    /// [0, 0.5, 1, 0.5, 0]
    hanning(n: Count("a size")) = |c| window(c, |x| raised_cosine(x, 0.5, 0.5));
    /// Hamming's window of n numbers, 0.08 at both ends.
    ///
    /// >> hamming(5)
    /// [0.08, 0.54, 1, 0.54, 0.08]
    hamming(n: Count("a size")) = |c| window(c, |x| raised_cosine(x, 0.46, 0.54));
    /// Blackman's window of n numbers, of two cosines; 0 at both ends.
    ///
    /// >> blackman(5)
    /// [0, 0.34, 1, 0.34, 0]
    blackman(n: Count("a size")) = |c| window(c, blackman);
    /// Bartlett's window of n numbers, a triangle: 0 at both ends.
    ///
    /// >> bartlett(5)
    /// [0, 0.5, 1, 0.5, 0]
    bartlett(n: Count("a size")) = |c| window(c, bartlett);
    /// Kaiser's window of n numbers: 1 everywhere for beta 0, the narrower the larger beta is.
    ///
    /// >> kaiser(5, 2)
    /// [0.438676, 0.834761, 1, 0.834761, 0.438676]
    kaiser(n: Count("a size"), beta: Number("as beta")) = |c| {
        let beta = c.number(1, 0.0)?.abs();
        window(c, |x| kaiser(x, beta))
    };
    /// Of each index, integers, n numbers along a new last axis: 1 at its place, 0 beside; of one that is no place all are 0.
    ///
    /// >> one_hot(UInt32C([0, 2]), 3)
    /// [[1, 0, 0],
    ///  [0, 0, 1]]
    one_hot(index: Tensor, n: Count("a number of places")) = |c| one_hot(c);
    /// A matrix of n rows (and m columns) with ones on a diagonal, and zeros beside: where row and column are the same, or k
    /// above it, below it for a negative k.
    ///
    /// >> eye(2)
    /// [[1, 0],
    ///  [0, 1]]
    /// >> eye(2, 3, 1)
    /// [[0, 1, 0],
    ///  [0, 0, 1]]
    eye(n: Count("a number of rows"); m: Count("a number of columns"), k: Integer) = |c| {
        let rows: u64 = c.integer(0)?;
        let columns: u64 = c.given(1).map_or(Ok(rows), |_| c.integer(1))?;
        let k = c.axis(2, 0)?;
        let zero = c.session.zeros(c.dtype(), 1)?;
        let zeros = Tensor::new(&zero, &[rows, columns])?;
        let above = u64::try_from(k).unwrap_or(0);
        let below = if k < 0 { k.unsigned_abs() } else { 0 };
        let n = rows.saturating_sub(below).min(columns.saturating_sub(above));
        let from = |start: u64| {
            let (start, stop) = (Scalar::UInt(start), Scalar::UInt(start.saturating_add(n)));
            let lane = c.session.arange(DType::U64, start, stop, 1.into())?;
            Ok::<_, Error>(AxisIndex::Numbers(Tensor::new(&lane, &[lane.size()])?))
        };
        let one = Tensor::from(&c.session.full(c.dtype(), 1, 1)?);
        zeros.with_at(&[from(below)?, from(above)?], &one)
    };
}

/// A tensor with a number in every entry, of the shape that the first argument is; an array of as many lanes.
fn filled(c: &Call<'_, '_>, number: Scalar) -> Result<Value> {
    let extents = c.extents(0)?;
    if let (&[n], Argument::Number(_)) = (&extents[..], c.args[0]) {
        return c.session.full(c.dtype(), number, n).map(Value::Array);
    }
    Tensor::new(&c.session.full(c.dtype(), number, 1)?, &extents).map(Value::Tensor)
}

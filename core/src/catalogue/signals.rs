//! Signals along an axis: filters, trends, peaks.

use super::{Answer, Call, Kind, Row, table};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;
use crate::linear::fourier::Transform;
use crate::linear::{Function, Matrix, run};
use crate::tensor::Tensor;
use crate::value::{Argument, Value};

table! {
    /// Filters of signals, and what is found in them.
    pub TENSOR_SIGNALS;
    /// y of a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + .. - a[1] y[n - 1] - a[2] y[n - 2] - .. along an axis (the last unless
    /// given), SciPy's: what lies in front of the first entry is 0. With a state zi in front of it, as many entries as the
    /// longer one of b and a less one, a list of y and the state behind the last entry, which the next piece of a
    /// signal begins with. In double precision, rounded once to the float of x; where a has more than one coefficient
    /// entries come one after the other, on the host: evaluates.
    ///
    /// >> lfilter(FloatC([1]), FloatC([1, -0.5]), FloatC([1, 0, 0, 2]))
    /// [1, 0.5, 0.25, 2.125]
    /// >> let [y, state] = lfilter(FloatC([0.5, 0.5]), 1, FloatC([1, 3]), all, FloatC([0])); y
    /// [0.5, 2]
    lfilter(b: Tensor, a: Operand, x: Tensor; axis: Integer, zi: Tensor) = |c| filtered(c);
    /// The entries along an axis (the last unless given) in the middle of polynomials (Savitzky's and Golay's) of a degree
    /// that fit as many neighbours as the window has, an odd number; at both ends those of the first and the last window.
    /// With deriv the derivatives of that order of the polynomials, of entries that are delta (1 unless given) apart.
    ///
    /// >> savgol_filter(FloatC([2, 2, 5, 2, 1]), 5, 2)
    /// [1.65714, 3.17143, 3.54286, 2.77143, 0.857143]
    savgol_filter(
        x: Tensor, window_length: Count("a window"), polyorder: Count("a degree");
        deriv: Count("an order"), delta: Number("as a distance"), axis: Integer
    ) = |c| smoothed(c);
    /// Each entry as the median of its neighbours, so many along every axis (3 unless given), an odd number, or a list of one
    /// for each; beyond the ends there are zeros.
    ///
    /// >> medfilt(FloatC([2, 9, 3, 4]))
    /// [2, 3, 4, 3]
    medfilt(x: Tensor; kernel_size: Integers("a window")) = |c| medians(c);
    /// The entries along an axis (the last unless given) without the line that fits them best, by least squares; with
    /// "constant" without their mean.
    ///
    /// >> detrend(FloatC([1, 2, 3.5, 4]))
    /// [-0.05, -0.1, 0.35, -0.2]
    /// >> detrend(FloatC([1, 2, 6]), all, "constant")
    /// [-2, -1, 3]
    detrend(x: Tensor; axis: Integer, type: Word(TRENDS)) = |c| detrended(c);
    /// Real entries along an axis (the last unless given) as a signal without negative frequencies: complex entries whose
    /// imaginary parts are the Hilbert transform. abs of it is the envelope, arg the phase. By fft: evaluates.
    ///
    /// >> abs(hilbert(FloatC([1, 0, -1, 0])))
    /// [1, 1, 1, 1]
    hilbert(x: Tensor; n: Count("a length"), axis: Integer) = |c| hilbert(c);
    /// The numbers of the entries that are larger than both neighbours, of a plateau its middle. Of these those of a height
    /// or more, then, the highest first, those that are at least so far from each other, then those of a prominence:
    /// how far they stand out of the higher one of the lowest places on the way to something higher on both sides.
    /// What is not given is not asked for. On the host: evaluates.
    ///
    /// >> find_peaks(FloatC([0, 2, 1, 3, 3, 3, 0, 1, 0]))
    /// [1, 4, 7]
    /// >> find_peaks(FloatC([0, 2, 1, 3, 3, 3, 0, 1, 0]), 1.5, all, 2)
    /// [4]
    find_peaks(x: Tensor; height: Number("as a height"), distance: Number("as a distance"), prominence: Number("as a prominence")) = |c| {
        super::peaks::found(c)
    };
    /// The sums of products that convolve gives, through Fourier transforms: of two long arrays in less time, and rounded
    /// by them. Evaluates.
    ///
    /// >> round(fftconvolve(FloatC([1, 2, 3]), FloatC([0, 1, 2]), "same"))
    /// [1, 4, 7]
    fftconvolve(a: Tensor, b: Tensor; mode: Word(super::statistics::MODES)) = |c| convolved(c);
}

/// What is taken away.
const TRENDS: &[&str] = &["linear", "constant"];

/// Coefficients in double precision: a number is one.
fn coefficients(c: &Call<'_, '_>, i: usize) -> Result<Tensor> {
    let given = match c.args[i] {
        Argument::Number(number) => Tensor::from(&c.session.full(DType::F64, *number, 1)?),
        _ => wide(&c.tensor(i)?)?,
    };
    let given = if given.shape().rank() == 0 { given.reshape(&[1])? } else { given };
    match *given.shape().extents() {
        [n] if n > 0 => Ok(given),
        _ => Err(c.unexpected(i, "an array of coefficients")),
    }
}

fn wide(x: &Tensor) -> Result<Tensor> {
    x.each(|part| part.cast(DType::F64))
}

/// A signal in double precision along the last axis, where it was, and the float that results have.
struct Signal {
    x: Tensor,
    axis: i64,
    own: DType,
}

impl Signal {
    fn new(c: &Call<'_, '_>, i: usize, axis: usize) -> Result<Self> {
        let x = c.tensor(i)?;
        let (dtype, axis) = (x.dtype(), c.axis(axis, -1)?);
        if dtype == DType::Mask {
            return Err(Error::UnsupportedType { op: c.op, dtype, expected: "numbers" });
        }
        let x = if x.shape().rank() == 0 { x.reshape(&[1])? } else { x };
        let place = exactly(x.shape().axis(c.op, axis)?);
        Ok(Self { x: wide(&x)?.move_axis(place, -1)?, axis: place, own: dtype.quotient() })
    }

    /// What came of it, where it was: an array of one axis, unless it is complex.
    fn like(&self, found: &Tensor) -> Result<Value> {
        let found = found.each(|part| part.cast(self.own))?.move_axis(-1, self.axis)?;
        let is_array = found.shape().rank() == 1 && !found.is_complex();
        if is_array { found.lanes() } else { Ok(Value::Tensor(found)) }
    }

    fn length(&self) -> u64 {
        self.x.shape().extents().last().copied().unwrap_or(1)
    }
}

fn tensor(c: &Call<'_, '_>, value: Value) -> Result<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        _ => Err(c.unexpected(0, "an array")),
    }
}

fn plus(c: &Call<'_, '_>, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    tensor(c, Value::from(a.clone()).try_add(&Value::from(b.clone()))?)
}

fn filtered(c: &Call<'_, '_>) -> Result<Answer> {
    let (b, a) = (coefficients(c, 0)?, coefficients(c, 1)?);
    let a = a.real(c.op)?;
    let first = Value::from(a.slice(0, ..1)?);
    let [b, a] = [&b, a].map(|all| tensor(c, Value::from(all.clone()).try_div(&first)?));
    let (b, a) = (b?, a?);
    let signal = Signal::new(c, 2, 3)?;
    let (x, n) = (&signal.x, signal.length());
    let kept = b.shape().n_entries().max(a.shape().n_entries()) - 1;
    let state = c.given(4).map(|_| state(c, &signal, kept)).transpose()?;
    let summed = |x: &Tensor, by: &Tensor| {
        if x.shape().n_entries() == 0 { Ok(x.clone()) } else { x.weighed(c.op, by) }
    };
    let mut sums = summed(x, &b)?;
    if let Some(state) = &state {
        sums = plus(c, &sums, &state.padded_last([0, n])?.slice(-1, ..exactly::<i64>(n))?)?;
    }
    let back = a.slice(0, 1..)?;
    let y = match back.shape().n_entries() {
        0 => sums,
        _ => sums.fed_back(c.op, &back.entries()?[0])?,
    };
    let Some(state) = state else { return signal.like(&y).map(Answer::from) };
    // What the entries and results would still bring, if there were zeros behind them.
    let behind = |of: &Tensor, by: &Tensor| {
        let left = kept.min(n);
        let last = of.slice(-1, exactly::<i64>(n - left)..)?.padded_last([0, kept])?;
        summed(&last, by)?.slice(-1, exactly::<i64>(left)..)
    };
    let taken = back.padded_last([1, 0])?;
    let rest = tensor(c, Value::from(behind(x, &b)?).try_sub(&Value::from(behind(&y, &taken)?))?)?;
    let left = state.padded_last([0, n])?.slice(-1, exactly::<i64>(n)..)?;
    Ok(Answer::from(vec![signal.like(&y)?, signal.like(&plus(c, &rest, &left)?)?]))
}

/// The state in front of a signal: along its axis as many entries as a filter keeps.
fn state(c: &Call<'_, '_>, signal: &Signal, kept: u64) -> Result<Tensor> {
    let given = c.tensor(4)?;
    let given = if given.shape().rank() == 0 { given.reshape(&[1])? } else { given };
    let mut expected = signal.x.shape().extents().to_vec();
    if let Some(last) = expected.last_mut() {
        *last = kept;
    }
    let place = signal.axis.min(exactly::<i64>(given.shape().rank()) - 1);
    let lying = wide(&given)?.move_axis(place, -1)?;
    if lying.shape().extents() != expected {
        let what = format!(
            "got a state of {}, expected {kept} entries along axis {} of {}",
            given.shape(),
            signal.axis,
            c.tensor(2)?.shape()
        );
        return Err(Error::Argument { op: c.op, what });
    }
    Ok(lying)
}

fn smoothed(c: &Call<'_, '_>) -> Result<Value> {
    let (window, degree): (u64, u64) = (c.integer(1)?, c.integer(2)?);
    let order: u64 = c.given(3).map_or(Ok(0), |_| c.integer(3))?;
    let signal = Signal::new(c, 0, 5)?;
    let n = signal.length();
    let wrong = |what: String| Err(Error::Argument { op: c.op, what });
    if window % 2 == 0 || window > n {
        return wrong(format!(
            "got a window of {window} for {n} entries, expected an odd number up to {n}"
        ));
    }
    if degree >= window {
        return wrong(format!("got degree {degree} for a window of {window}, expected less"));
    }
    let rows = polynomials(c, window, degree, order, c.number(4, 1.0)?)?;
    let rows = |of: std::ops::Range<i64>| rows.slice(0, of);
    let (half, window) = (exactly::<i64>(window / 2), exactly::<i64>(window));
    let ends = |x: Tensor, rows: Tensor| x.matmul(&rows.matrix_transpose()?);
    let first = ends(signal.x.slice(-1, ..window)?, rows(0..half)?)?;
    let last = ends(signal.x.slice(-1, -window..)?, rows(half + 1..window)?)?;
    // The last entry of a window comes first in what it is weighed by.
    let row = rows(half..half + 1)?.reshape(&[-1])?.flip(None)?;
    let middle = signal.x.weighed(c.op, &row)?.slice(-1, window - 1..)?;
    signal.like(&Tensor::concat(&[first, middle, last], -1)?)
}

/// For each place in a window the weights of its entries in the polynomial that fits them there, or in a derivative of it.
fn polynomials(
    c: &Call<'_, '_>,
    window: u64,
    degree: u64,
    order: u64,
    delta: f64,
) -> Result<Tensor> {
    let (rows, columns) = (exactly::<usize>(window), exactly::<usize>(degree + 1));
    let number = |n: usize| Scalar::UInt(n as u64).to_f64();
    let half = number(rows / 2).max(1.0);
    let power = |x: f64, n: usize| (0..n).fold(1.0, |power, _| power * x);
    let entries = |entry: &dyn Fn(f64, usize) -> f64| {
        let places = (0..rows).map(|i| (number(i) - number(rows / 2)) / half);
        places.flat_map(|x| (0..columns).map(move |j| entry(x, j))).collect::<Vec<f64>>()
    };
    let powers = Matrix { rows, columns, real: entries(&power), imag: None };
    let fits = run(Function::PseudoInverse, &powers, None, f64::EPSILON);
    let Ok(fit) = fits.map(|mut fit| fit.swap_remove(0)) else {
        return Err(c.unexpected(1, "a shorter window"));
    };
    let order = exactly::<usize>(order.min(degree + 1));
    let slopes = entries(&|x, j| {
        let falling = (0..order).fold(1.0, |product, k| product * (number(j) - number(k)));
        if j < order { 0.0 } else { falling * power(x, j - order) }
    });
    let scale = power(half * delta, order);
    let weight = |i: usize, k: usize| {
        let products = (0..columns).map(|j| slopes[i * columns + j] * fit.real[j * rows + k]);
        products.sum::<f64>() / scale
    };
    let weights: Vec<f64> = (0..rows * rows).map(|at| weight(at / rows, at % rows)).collect();
    Tensor::new(&c.session.array(&weights)?, &[window, window])
}

fn medians(c: &Call<'_, '_>) -> Result<Value> {
    let x = c.tensor(0)?;
    let x = if x.shape().rank() == 0 { x.reshape(&[1])? } else { x };
    let rank = x.shape().rank();
    let mut sizes = c.given(1).map_or(Ok(vec![3]), |_| c.counts(1, "a window"))?;
    if let [size] = sizes[..] {
        sizes.resize(rank, size);
    }
    if sizes.len() != rank || sizes.iter().any(|size| size % 2 == 0) {
        let what =
            format!("got {sizes:?} neighbours for {rank} axes, expected an odd number for each");
        return Err(Error::Argument { op: c.op, what });
    }
    let widths: Vec<[u64; 2]> = sizes.iter().map(|size| [size / 2; 2]).collect();
    let windows = x.pad(&widths, Scalar::Int(0))?.sliding_window_view(&sizes, None)?;
    let axes: Vec<i64> =
        (0..exactly::<i64>(rank)).map(|axis| axis - exactly::<i64>(rank)).collect();
    let found = windows.median(Some(&axes), false)?.each(|part| part.cast(x.dtype()))?;
    if rank == 1 { found.lanes() } else { Ok(Value::Tensor(found)) }
}

fn detrended(c: &Call<'_, '_>) -> Result<Value> {
    let signal = Signal::new(c, 0, 1)?;
    let kind: usize = c.given(2).map_or(Ok(0), |_| c.integer(2))?;
    let n = signal.length();
    let mean = Value::from(signal.x.mean(Some(&[-1]), true)?);
    let x = Value::from(signal.x.clone()).try_sub(&mean)?;
    if kind == 1 || n < 2 {
        return signal.like(&tensor(c, x)?);
    }
    // From the middle on, in halves.
    let middle = Scalar::UInt(n - 1).to_f64() / 2.0;
    let places = c.session.arange(DType::F64, 0.into(), Scalar::UInt(n), 1.into())?;
    let places = Value::from(Tensor::new(&places.try_sub(middle)?, &[n])?);
    let along =
        |x: &Value| tensor(c, x.try_mul(&places)?)?.reduce(ReduceOp::Sum, Some(&[-1]), true);
    let slope = Value::from(along(&x)?).try_div(&Value::from(along(&places)?))?;
    signal.like(&tensor(c, x.try_sub(&slope.try_mul(&places)?)?)?)
}

fn hilbert(c: &Call<'_, '_>) -> Result<Tensor> {
    let axis = c.axis(2, -1)?;
    let x = c.tensor(0)?.real(c.op)?.clone();
    let n = c.given(1).map(|_| c.integer(1)).transpose()?;
    let all = x.transformed(c.op, Transform::Forward, axis, n)?.move_axis(axis, -1)?;
    let n: u64 = all.shape().extents().last().copied().unwrap_or(1);
    // What is neither positive nor negative stays.
    let factor = |k: u64| match k {
        0 => 1.0,
        k if 2 * k == n => 1.0,
        k if 2 * k < n => 2.0,
        _ => 0.0,
    };
    let factors = c.session.array(&(0..n).map(factor).collect::<Vec<f64>>())?;
    let factors = Value::from(Tensor::new(&factors.cast(all.dtype())?, &[n])?);
    let half = tensor(c, Value::from(all).try_mul(&factors)?)?;
    half.transformed(c.op, Transform::Inverse, -1, None)?.move_axis(-1, axis)
}

fn convolved(c: &Call<'_, '_>) -> Result<Value> {
    let line = |i: usize| match c.tensor(i)? {
        x if x.shape().rank() == 0 => x.reshape(&[1]),
        x if x.shape().rank() == 1 && x.shape().n_entries() > 0 => Ok(x),
        _ => Err(c.unexpected(i, "an array with lanes")),
    };
    let (a, b) = (line(0)?, line(1)?);
    let [n, m] = [&a, &b].map(|x| x.shape().n_entries());
    let (all, is_complex) = (n + m - 1, a.is_complex() || b.is_complex());
    let [there, back] = if is_complex {
        [Transform::Forward, Transform::Inverse]
    } else {
        [Transform::Real, Transform::RealInverse]
    };
    let [a, b] = [a, b].map(|x| x.transformed(c.op, there, -1, Some(all)).map(Value::from));
    let sums = tensor(c, a?.try_mul(&b?)?)?.transformed(c.op, back, -1, Some(all))?;
    let (longer, shorter) = (n.max(m), n.min(m));
    let (first, count) = match super::statistics::mode(c, "full")? {
        "full" => (0, all),
        "same" => ((shorter - 1) / 2, longer),
        _ => (shorter - 1, longer - shorter + 1),
    };
    let found = sums.slice(-1, exactly::<i64>(first)..exactly::<i64>(first + count))?;
    if is_complex { Ok(Value::Tensor(found)) } else { found.lanes() }
}

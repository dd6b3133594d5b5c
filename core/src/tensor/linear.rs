//! Linear algebra and Fourier transforms of tensors: on the host, whatever the device, in double precision. They are run
//! when they are called: what they are made of is evaluated and read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::fourier_derivatives::OfTransform;
use super::matrix_derivatives::with_derivatives;
use super::rearrange::alike;
use super::{Shape, Tensor};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Element, Scalar};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::op::Op;
use crate::linear::fourier::{Length, Real, Rows, Transform};
use crate::linear::{Entries, Failure, Function, Matrix, Outline, in_pieces, run};

/// Between two looks at the interrupt flag.
const PATIENCE: Duration = Duration::from_millis(2);

/// Entries of work that are worth a thread.
pub(super) const PIECE: usize = 1 << 14;
/// Entries whose transforms take less than the time that an interrupt may.
const FEW: u64 = 1 << 16;

/// Which entries of a matrix are those of a triangle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    pub(crate) is_lower: bool,
    /// Whether its diagonal is 1, whatever stands there.
    pub(crate) has_ones: bool,
    /// Whether the transpose of it is meant.
    pub(crate) is_turned: bool,
}

impl Tensor {
    /// A function of matrices, which are the last two axes; those before them are many matrices, which all threads share.
    /// Results are float tensors of the tensor's precision; rounded once from double precision. Evaluates.
    ///
    /// # Errors
    /// `Forms` for other shapes; `Argument` where a matrix has no result, naming it; `UnsupportedType` for masks;
    /// `OutOfMemory`; `Interrupted`.
    #[doc(hidden)]
    pub fn linear(&self, op: &'static str, function: Function) -> Result<Vec<Self>> {
        let (before, [rows, columns]) = self.matrices(op)?;
        if function.needs_square() && rows != columns {
            let what = format!("{op}: got matrices of {rows} x {columns}, expected square ones");
            let remedy = "lstsq(a, b), pinv(a), qr(a) and svd(a) take any shape";
            return Err(Error::Forms { what, remedy: Some(remedy) });
        }
        if !self.parts.iter().any(Array::is_followed) {
            return self.each_matrix(op, function, None, before);
        }
        // What has a derivative together with vectors only.
        Ok(match function {
            Function::EigenvaluesSymmetric => {
                vec![self.linear(op, Function::EigenSymmetric)?.swap_remove(0)]
            }
            Function::SingularValues => vec![self.linear(op, Function::Svd)?.swap_remove(1)],
            Function::Condition => {
                let (plain, one) = (self.each(Array::detach)?, Function::ConditionOfFactors);
                let mut factors = plain.linear(op, one)?;
                let condition = factors.pop().expect("internal error: no condition number");
                let values = with_derivatives(op, Function::Svd, &[self], factors)?.swap_remove(1);
                let [largest, smallest] = [values.slice(-1, ..1)?, values.slice(-1, -1..)?];
                let ratio = largest.divided_by(&smallest)?.squeeze(-1)?;
                // Singular values are rounded; the quotient is of those that are not, as without a derivative.
                let parts = condition.entries()?.into_iter().zip(ratio.entries()?);
                let parts = parts.map(|(condition, ratio)| condition.replace_grad(&ratio));
                vec![Self::of(parts.collect::<Result<Vec<_>>>()?, condition.shape().clone())?]
            }
            _ => self.each_matrix(op, function, None, before)?,
        })
    }

    /// X of A X = B, or where `function` is `LeastSquares` of the least sum of squares of A X - B. Of one axis B is a
    /// column, whose axis goes away.
    ///
    /// # Errors
    /// As [`Tensor::linear`].
    #[doc(hidden)]
    pub fn solved(&self, op: &'static str, function: Function, other: &Self) -> Result<Self> {
        let (before, [rows, columns]) = self.matrices(op)?;
        let is_vector = other.shape().rank() == 1;
        let b = if is_vector { other.expand(1)? } else { other.clone() };
        let (other_before, [height, width]) = b.matrices(op)?;
        if height != rows || function.needs_square() && rows != columns {
            let (own, other) = (self.shape(), other.shape());
            let got = format!("{op}: got {own} and {other}");
            let (what, remedy) = if function.needs_square() && rows != columns {
                (
                    format!("{got}, expected a square matrix"),
                    "solve takes square matrices; lstsq(a, b) any",
                )
            } else {
                (
                    format!("{got}, expected a right side of {rows} rows"),
                    "b is a vector, or a matrix of columns, one x for each",
                )
            };
            return Err(Error::Forms { what, remedy: Some(remedy) });
        }
        let before = before.broadcast_in_front(op, &other_before, [self.shape(), b.shape()])?;
        let with = |matrix: [u64; 2]| Shape::new(op, [before.extents(), &matrix].concat());
        let a = self.broadcast(op, &with([rows, columns])?)?;
        let b = b.broadcast(op, &with([height, width])?)?;
        let both = alike(op, &[&a, &b])?;
        let x = both[0].each_matrix(op, function, Some(&both[1]), before)?.swap_remove(0);
        if is_vector { x.squeeze(-1) } else { Ok(x) }
    }

    /// X of A X = B, as [`Tensor::solved`], of the lower or upper triangle of A, which alone is read.
    ///
    /// # Errors
    /// As [`Tensor::linear`].
    pub(crate) fn triangle_solved(
        &self,
        op: &'static str,
        triangle: Triangle,
        other: &Self,
    ) -> Result<Self> {
        let Triangle { is_lower, has_ones, is_turned } = triangle;
        let a = if has_ones {
            let beside = self.half(op, is_lower, 1)?;
            beside.plus(&beside.on_diagonal_ones()?)?
        } else {
            self.half(op, is_lower, 0)?
        };
        let a = if is_turned { a.matrix_transpose()? } else { a };
        let is_below = is_lower != is_turned;
        let function = if is_below { Function::SolveLower } else { Function::SolveUpper };
        a.solved(op, function, other)
    }

    /// The entries of the lower or upper half that are so far from the diagonal, or farther; the others are 0.
    fn half(&self, op: &'static str, is_lower: bool, distance: i64) -> Result<Self> {
        if is_lower {
            self.triangle(op, Op::Le, -distance)
        } else {
            self.triangle(op, Op::Ge, distance)
        }
    }

    /// A Fourier transform along an axis; `n` entries of it, the last ones left out or zeros behind them. Of real entries
    /// `Real` gives half of it, and `RealInverse` goes back to `n` real ones. Evaluates.
    ///
    /// **Accuracy**: that of the lane type, f32 or f64.
    ///
    /// # Errors
    /// `Argument` if there is no such axis, or it has no entries; `Forms` where real entries are expected; as
    /// [`Tensor::linear`].
    #[doc(hidden)]
    pub fn transformed(
        &self,
        op: &'static str,
        kind: Transform,
        axis: i64,
        n: Option<u64>,
    ) -> Result<Self> {
        if self.dtype() == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype: DType::Mask, expected: "numbers" });
        }
        let given =
            if kind == Transform::Real { self.real(op)?.clone() } else { self.to_complex()? };
        let extent = given.shape().extents()[given.shape().axis(op, axis)?];
        let length = Length { n: n.unwrap_or_else(|| kind.length(extent)), kind };
        if n == Some(0) {
            return Err(Error::Argument { op, what: "got 0 as n, expected 1 or more".into() });
        }
        if length.n == 0 {
            let what =
                format!("got {}, expected one entry or more along axis {axis}", self.shape());
            return Err(Error::Argument { op, what });
        }
        let rows = given.of_extent(axis, length.of_input())?.move_axis(axis, -1)?;
        let mut extents = rows.shape().extents().to_vec();
        if let Some(last) = extents.last_mut() {
            *last = length.of_output();
        }
        let shape = Shape::new(op, extents)?;
        let float = given.dtype().quotient().widened();
        let lanes = rows.each(|part| part.cast(float))?;
        Self::of(lanes.transform(op, length, &shape)?, shape)?.move_axis(-1, axis)
    }

    /// The powers of the entries along one axis as rows, the highest first, in double precision. Recorded, not run.
    ///
    /// # Errors
    /// `Argument` for other shapes.
    pub(crate) fn vandermonde(&self, op: &'static str, degree: u32) -> Result<Self> {
        if self.shape().rank() != 1 || self.is_complex() {
            let what = format!("got {} {}, expected a real array", self.type_name(), self.shape());
            return Err(Error::Argument { op, what });
        }
        let entries = self.entries()?[0].cast(DType::F64)?;
        let x = Self::of([entries], self.shape().clone())?;
        let mut powers = vec![x.each(|part| part.session().full(DType::F64, 1, part.size()))?];
        for _ in 0..degree {
            let [last] = &powers[powers.len() - 1].parts[..] else { break };
            let next = last.try_mul(&x.entries()?[0])?;
            powers.push(Self::of([next], self.shape().clone())?);
        }
        powers.reverse();
        Self::stack(&powers, 1)
    }

    /// The parts of the transform of rows, which know their derivatives if the rows are tracked.
    pub(super) fn transform(
        &self,
        op: &'static str,
        length: Length,
        shape: &Shape,
    ) -> Result<Vec<Array>> {
        let n_parts = if length.kind == Transform::RealInverse { 1 } else { 2 };
        let parts = match self.dtype() {
            dtype if shape.n_entries() == 0 => {
                vec![self.parts[0].session().zeros(dtype, 0)?; n_parts]
            }
            DType::F32 => self.transform_as::<f32>(op, length, shape)?,
            _ => self.transform_as::<f64>(op, length, shape)?,
        };
        let rows = self.entries()?;
        if !rows.iter().any(Array::is_followed) {
            return Ok(parts);
        }
        let with = |(part, lanes): (usize, &Array)| {
            let shapes = [self.shape().clone(), shape.clone()];
            let rule = OfTransform { op, length, shapes, n_parts: [rows.len(), parts.len()], part };
            lanes.with_derivative(op, &rows.iter().collect::<Vec<_>>(), rule)
        };
        parts.iter().enumerate().map(with).collect()
    }

    fn transform_as<T: Element + Real>(
        &self,
        op: &'static str,
        length: Length,
        shape: &Shape,
    ) -> Result<Vec<Array>> {
        let session = self.parts[0].session();
        let mut planes = self.read::<T>(op)?.into_iter();
        let real = planes.next().unwrap_or_default();
        let rows = Rows { real, imag: planes.next().unwrap_or_default() };
        let n_rows = shape.n_entries() / length.of_output();
        let workspace = length.workspace(n_rows.min(session.threads() as u64));
        let room = shape.n_entries().saturating_add(workspace);
        session.check_host_memory(room.saturating_mul(2 * size_of::<T>() as u64))?;
        let (plans, threads) = (session.plans(), session.threads());
        let work = move |stop: &AtomicBool| T::transform_all(&rows, length, &plans, threads, stop);
        let Some(done) = interruptible(op, room, work)? else { return Err(Error::Interrupted) };
        let planes = [done.real, done.imag].into_iter().filter(|plane| !plane.is_empty());
        planes.map(|plane| session.array(&plane)).collect()
    }

    /// So many entries along an axis: the first ones, or all and zeros.
    fn of_extent(&self, axis: i64, n: u64) -> Result<Self> {
        let place = self.shape().axis("fft", axis)?;
        let extent = self.shape().extents()[place];
        if n <= extent {
            return Ok(self.range(place, 0, n));
        }
        let mut widths = vec![[0, 0]; self.shape().rank()];
        widths[place] = [0, n - extent];
        self.pad(&widths, 0.into())
    }

    /// The axes in front of the last two, and how many rows and columns there are.
    fn matrices(&self, op: &'static str) -> Result<(Shape, [u64; 2])> {
        if self.dtype() == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype: DType::Mask, expected: "numbers" });
        }
        let Some((before, &[rows, columns])) = self.shape().extents().split_last_chunk() else {
            let what = format!("{op}: got {}, expected matrices", self.shape());
            return Err(Error::Forms {
                what,
                remedy: Some("a matrix has two axes: reshape(x, [2, -1])"),
            });
        };
        Ok((Shape::new(op, before)?, [rows, columns]))
    }

    /// The lanes of the parts, evaluated and read together.
    fn read<T: Element>(&self, op: &'static str) -> Result<Vec<Vec<T>>> {
        let parts = self.entries()?;
        self.parts[0].session().eval_for(op, &parts.iter().collect::<Vec<_>>())?;
        parts.iter().map(Array::to_vec).collect()
    }

    /// A function of matrices of the same extents, and of right sides. Those without entries reach no library.
    fn each_matrix(
        &self,
        op: &'static str,
        function: Function,
        other: Option<&Self>,
        before: Shape,
    ) -> Result<Vec<Self>> {
        let (_, extents) = self.matrices(op)?;
        let width = other.and_then(|other| other.shape().extents().last()).map_or(0, |&n| n);
        let is_complex = self.is_complex() || other.is_some_and(Self::is_complex);
        let outlines = function.results(extents, width, is_complex);
        let results = if self.shape().n_entries() == 0 {
            let known = |outline| self.of_nothing(op, function, outline, &before);
            outlines.iter().map(known).collect()
        } else {
            self.computed(op, function, other, &before, &outlines)
        };
        let inputs: Vec<&Self> = std::iter::once(self).chain(other).collect();
        with_derivatives(op, function, &inputs, results?)
    }

    /// A result where there are no matrices, or they have no entries.
    fn of_nothing(
        &self,
        op: &'static str,
        function: Function,
        outline: &Outline,
        before: &Shape,
    ) -> Result<Self> {
        let shape = Shape::new(op, [before.extents(), &outline.extents].concat())?;
        let session = self.parts[0].session();
        let (dtype, n) = (self.result_type(function), shape.n_entries());
        let number = u64::from(outline.entries == Entries::Ones);
        let mut parts = vec![session.full(dtype, Scalar::UInt(number), n)?];
        if outline.is_complex {
            parts.push(session.zeros(dtype, n)?);
        }
        let result = Self::of(parts, shape)?;
        let has_ones = outline.entries == Entries::Identity && n > 0;
        if has_ones { result.matrix_power(0)?.whole() } else { Ok(result) }
    }

    /// The lane type of results.
    fn result_type(&self, function: Function) -> DType {
        let float = self.dtype().quotient().widened();
        if function == Function::Rank { DType::U32 } else { float }
    }

    /// The results for matrices with entries.
    fn computed(
        &self,
        op: &'static str,
        function: Function,
        other: Option<&Self>,
        before: &Shape,
        outlines: &[Outline],
    ) -> Result<Vec<Self>> {
        let session = self.parts[0].session().clone();
        let dtype = self.result_type(function);
        let is_single = self.dtype().quotient().widened() == DType::F32;
        let precision = if is_single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let inputs = || std::iter::once(self).chain(other);
        let read = |tensor: &Self| tensor.each(|part| part.cast(DType::F64))?.read::<f64>(op);
        let planes = inputs().map(read).collect::<Result<Vec<_>>>()?;
        let given = inputs().map(|input| input.shape().n_entries()).sum();
        session.check_host_memory(room_of(given, before.n_entries(), outlines))?;
        let n = exactly::<usize>(before.n_entries());
        let mut all = inputs().zip(&planes).map(|(tensor, planes)| tensor.split(planes, n));
        let (matrices, others) = (all.next().unwrap_or_default(), all.next());
        drop(all);
        drop(planes);
        let threads = session.threads();
        let length = matrices.iter().map(|matrix| matrix.real.len() + 1).sum::<usize>();
        let is_small = length < PIECE / 8;
        let work = move |stop: &AtomicBool| {
            in_pieces(matrices.len(), threads.min(length.div_ceil(PIECE)), stop, |k| {
                run(function, &matrices[k], others.as_ref().map(|others| &others[k]), precision)
                    .map_err(|failure| (k, failure))
            })
        };
        let results = if is_small { work(&AtomicBool::new(false)) } else { off_thread(op, work)? };
        let results = results.map_err(|(k, failure)| refusal(op, k, n, failure))?;
        let Some(results) = results else { return Err(Error::Interrupted) };
        let joined = |(i, outline): (usize, &Outline)| {
            let shape = Shape::new(op, [before.extents(), &outline.extents].concat())?;
            let plane = |of: &dyn Fn(&Matrix) -> Vec<f64>| {
                let lanes: Vec<f64> = results.iter().flat_map(|result| of(&result[i])).collect();
                session.array(&lanes)?.cast(dtype)
            };
            let mut parts = vec![plane(&|matrix| matrix.real.clone())?];
            if outline.is_complex {
                parts.push(plane(&|matrix| matrix.imag.clone().unwrap_or_default())?);
            }
            Self::of(parts, shape)
        };
        outlines.iter().enumerate().map(joined).collect()
    }

    /// The n matrices of lanes that were read.
    fn split(&self, planes: &[Vec<f64>], n: usize) -> Vec<Matrix> {
        let Some(&[rows, columns]) = self.shape().extents().last_chunk() else { return Vec::new() };
        let [rows, columns] = [rows, columns].map(exactly::<usize>);
        let plane =
            |k: usize, plane: &[f64]| plane[k * rows * columns..(k + 1) * rows * columns].to_vec();
        let matrix = |k: usize| Matrix {
            rows,
            columns,
            real: plane(k, &planes[0]),
            imag: planes.get(1).map(|imag| plane(k, imag)),
        };
        (0..n).map(matrix).collect()
    }
}

/// Bytes that n matrices of so many entries in all take, their copies as libraries hold them, and the results.
fn room_of(given: u64, n: u64, outlines: &[Outline]) -> u64 {
    let entries = |outline: &Outline| {
        let parts = 1 + u64::from(outline.is_complex);
        outline.extents.iter().fold(parts, |n, &extent| n.saturating_mul(extent))
    };
    let results = outlines.iter().map(entries).fold(0, u64::saturating_add);
    let each = results.saturating_mul(32).saturating_add(256);
    given.saturating_mul(64).saturating_add(n.saturating_mul(each))
}

/// Does work on so many entries, on a thread of its own unless it takes less than an interrupt may.
///
/// # Errors
/// `Interrupted`.
pub(crate) fn interruptible<R: Send + 'static>(
    op: &'static str,
    entries: u64,
    work: impl FnOnce(&AtomicBool) -> R + Send + 'static,
) -> Result<R> {
    if entries < FEW { Ok(work(&AtomicBool::new(false))) } else { off_thread(op, work) }
}

/// Does work on a thread of its own, and waits: an interrupt is answered at once, and the result is dropped when it comes.
/// Where the system refuses the thread it is done here, and an interrupt waits.
fn off_thread<R: Send + 'static>(
    op: &'static str,
    work: impl FnOnce(&AtomicBool) -> R + Send + 'static,
) -> Result<R> {
    let stop = Arc::new(AtomicBool::new(false));
    let (done, result) = sync_channel(1);
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (flag, given) = (stop.clone(), work.clone());
    let thread = thread::Builder::new().name("linear algebra".into()).spawn(move || {
        // Nobody waits any more after an interrupt.
        let _sent = take(&given).map(|work| done.send(work(&flag)));
    });
    if thread.is_err()
        && let Some(work) = take(&work)
    {
        return Ok(work(&stop));
    }
    loop {
        match result.recv_timeout(PATIENCE) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Argument { op, what: "the library failed".into() });
            }
            Err(RecvTimeoutError::Timeout) if interrupt::is_requested() => {
                stop.store(true, Ordering::Relaxed);
                return Err(Error::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Why matrix k of n has no result.
fn refusal(op: &'static str, k: usize, n: usize, failure: Failure) -> Error {
    let which = if n == 1 { "the matrix".into() } else { format!("matrix {k} of {n}") };
    let (what, remedy) = match failure {
        Failure::Singular => (
            format!("{which} is singular: a pivot is 0, the condition infinite"),
            "lstsq(a, b) and pinv(a) take singular matrices; matrix_rank(a) tells the rank",
        ),
        Failure::NotPositiveDefinite(n) => (
            format!("{which} is not positive definite: its first {n} rows and columns are not"),
            "eigh(a) takes any symmetric matrix; only the lower half is read",
        ),
        Failure::NotFinite => (
            format!("{which} has NaN or infinity among its entries"),
            "any(isnan(a)) finds NaN, select(isnan(a), 0, a) replaces it",
        ),
        Failure::NoConvergence => {
            (format!("the iteration for {which} found no end"), "scale its entries to about 1")
        }
    };
    Error::Forms { what: format!("{op}: {what}"), remedy: Some(remedy) }
}

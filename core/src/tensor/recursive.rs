//! Filters along the last axis: what comes of an entry and those before it, and of what came of those before it (S26).

use std::sync::atomic::{AtomicBool, Ordering};

use super::linear::{PIECE, interruptible};
use super::{Shape, Tensor};
use crate::array::Array;
use crate::array::rules::Derivative;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;
use crate::linear::in_pieces;

/// Entries of a row between looks at whether to stop.
const AT_ONCE: usize = 1 << 12;

impl Tensor {
    /// Sums of an entry times the first coefficient, the one before times the second, and so on, as [`Tensor::slid`] adds
    /// them up; in front of the first entry there are zeros. Recorded, not run.
    ///
    /// # Errors
    /// As [`Tensor::slid`].
    pub(crate) fn weighed(&self, op: &'static str, b: &Self) -> Result<Self> {
        let (n, taps) = (self.last_extent(), b.shape().n_entries());
        if self.shape().n_entries() == 0 {
            // None, of the type that sums have.
            return self.times(&b.slice(0, ..1)?);
        }
        let in_front = self.padded_last([taps - 1, 0])?;
        // One line, in which each row has as many places as it has entries now; those at its end are none of its sums.
        let places = in_front.shape().clone();
        let line = in_front.reshape(&[-1])?.pad(&[[0, taps - 1]], Scalar::Int(0))?;
        let sums = line.slid(op, &b.flip(None)?)?;
        let extents: Vec<i64> = places.extents().iter().map(|&extent| exactly(extent)).collect();
        sums.reshape(&extents)?.slice(-1, ..exactly::<i64>(n))
    }

    /// y of `y[n] = x[n] - a[0] y[n - 1] - a[1] y[n - 2] - ..`, both in double precision; the products are taken away one by
    /// one, the one of the oldest entry first. Evaluates, on the host.
    ///
    /// # Errors
    /// `Argument` if a coefficient is not finite; `OutOfMemory`; `Interrupted`.
    pub(crate) fn fed_back(&self, op: &'static str, a: &Array) -> Result<Self> {
        let shape = self.shape().clone();
        let length = self.last_extent();
        let of = |x: &Array| {
            let y = recursion(op, x, a, length)?;
            y.with_derivative(op, &[x, a], FedBack { op, shape: shape.clone() })
        };
        let parts = self.entries()?.iter().map(of).collect::<Result<Vec<_>>>()?;
        Self::of(parts, shape.clone())
    }

    /// The entries so many places further along the last axis, behind zeros.
    pub(crate) fn delayed(&self, places: u64) -> Result<Self> {
        let n = self.last_extent();
        let places = places.min(n);
        self.slice(-1, ..exactly::<i64>(n - places))?.padded_last([places, 0])
    }

    /// With zeros in front of the entries along the last axis, and behind them.
    pub(crate) fn padded_last(&self, widths: [u64; 2]) -> Result<Self> {
        let mut all = vec![[0, 0]; self.shape().rank()];
        if let Some(last) = all.last_mut() {
            *last = widths;
        }
        self.pad(&all, Scalar::Int(0))
    }

    /// How many entries there are along the last axis.
    pub(crate) fn last_extent(&self) -> u64 {
        self.shape().extents().last().copied().unwrap_or(1)
    }
}

/// The rows of such a length one after the other.
fn recursion(op: &'static str, x: &Array, a: &Array, length: u64) -> Result<Array> {
    let session = x.session();
    if x.size() == 0 {
        return session.zeros(DType::F64, 0);
    }
    session.eval_for(op, &[x, a])?;
    session.check_host_memory(x.size().saturating_mul(24))?;
    let (lanes, a) = (x.to_vec::<f64>()?, a.to_vec::<f64>()?);
    if a.iter().any(|a| !a.is_finite()) {
        let what = "got coefficients that are not finite by a[0], expected finite ones, and an a[0] that is not 0";
        return Err(Error::Argument { op, what: what.into() });
    }
    let (length, threads, n_back) = (exactly::<usize>(length), session.threads(), a.len() as u64);
    let work = move |stop: &AtomicBool| {
        let rows: Vec<&[f64]> = lanes.chunks_exact(length).collect();
        let pieces = threads.min(lanes.len().div_ceil(PIECE));
        in_pieces(rows.len(), pieces, stop, |k| fed(rows[k], &a, stop))
    };
    let Some(rows) = interruptible(op, x.size().saturating_mul(n_back), work)?? else {
        return Err(Error::Interrupted);
    };
    session.array(&rows.concat())
}

fn fed(row: &[f64], a: &[f64], stop: &AtomicBool) -> Result<Vec<f64>> {
    let mut y: Vec<f64> = Vec::with_capacity(row.len());
    for piece in row.chunks(AT_ONCE) {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        match *a {
            [a] => with_few([a], piece, &mut y),
            [a, b] => with_few([a, b], piece, &mut y),
            [a, b, c] => with_few([a, b, c], piece, &mut y),
            [a, b, c, d] => with_few([a, b, c, d], piece, &mut y),
            _ => with_any(a, piece, &mut y),
        }
    }
    Ok(y)
}

/// What comes of the next entries.
fn with_any(a: &[f64], entries: &[f64], y: &mut Vec<f64>) {
    for &x in entries {
        let known = a.len().min(y.len());
        let oldest = y[y.len() - known..].iter().zip(a[..known].iter().rev());
        // The newest, which is waited for, comes last.
        y.push(oldest.fold(x, |rest, (y, a)| rest - a * y));
    }
}

/// As [`with_any`]: what came last stays in registers.
fn with_few<const N: usize>(a: [f64; N], entries: &[f64], y: &mut Vec<f64>) {
    let (first, others) = entries.split_at(N.saturating_sub(y.len()).min(entries.len()));
    with_any(&a, first, y);
    let Some(&(mut last)) = y.last_chunk::<N>() else { return };
    y.extend(others.iter().map(|&x| {
        let rest = (0..N).fold(x, |rest, i| rest - a[N - 1 - i] * last[i]);
        last.copy_within(1.., 0);
        last[N - 1] = rest;
        rest
    }));
}

/// The derivative of [`Tensor::fed_back`]. With the linear map L that makes y of x, a change of x and a changes y by
/// `L (dx - da[0] y[n - 1] - ..)`; the adjoint of L goes through the rows backwards.
struct FedBack {
    op: &'static str,
    shape: Shape,
}

impl FedBack {
    fn tensor(&self, lanes: &Array) -> Result<Tensor> {
        Tensor::of([lanes.clone()], self.shape.clone())
    }

    /// What came of the entries, computed again where derivatives of derivatives may be asked for.
    fn result(&self, args: &[Array], value: &Array) -> Result<Tensor> {
        if args.iter().any(Array::is_followed) {
            return self.tensor(&args[0])?.fed_back(self.op, &args[1]);
        }
        self.tensor(value)
    }
}

impl Derivative for FedBack {
    fn pull(&self, args: &[Array], value: &Array, v: &Array) -> Result<Vec<Option<Array>>> {
        let turned = |x: &Tensor| x.flip(Some(&[-1]));
        let of_x = turned(&turned(&self.tensor(v)?)?.fed_back(self.op, &args[1])?)?;
        let y = self.result(args, value)?;
        let slope = |place: u64| {
            of_x.times(&y.delayed(place)?)?.minus()?.reduce(ReduceOp::Sum, None, false)
        };
        let slopes = (1..=args[1].size()).map(slope).collect::<Result<Vec<_>>>()?;
        let of_a = Tensor::stack(&slopes, 0)?;
        [of_x, of_a].iter().map(|x| Ok(x.entries()?.into_iter().next())).collect()
    }

    fn push(&self, args: &[Array], value: &Array, tangents: &[Option<Array>]) -> Result<Array> {
        let y = self.result(args, value)?;
        let mut change = match &tangents[0] {
            Some(tangent) => self.tensor(tangent)?,
            None => self.tensor(&value.session().zeros(value.dtype(), 1)?)?,
        };
        if let Some(tangent) = &tangents[1] {
            let tangent = Tensor::of([tangent.clone()], Shape::line(args[1].size()))?;
            for (place, i) in (1..=args[1].size()).zip(0..) {
                let factor = tangent.slice(0, i..i + 1)?;
                change = change.less(&y.delayed(place)?.times(&factor)?)?;
            }
        }
        Ok(change.fed_back(self.op, &args[1])?.entries()?.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_coefficients_give_the_same_bits_as_any() {
        let entries: Vec<f64> = (0..9000_u32).map(|i| f64::from(i * i % 97) - 40.5).collect();
        let coefficients = [-0.9, 0.3, 0.1, 0.05, 0.01];
        for n_back in 1..=coefficients.len() {
            let a = &coefficients[..n_back];
            for n in [0, 1, n_back, n_back + 1, AT_ONCE, AT_ONCE + 1, entries.len()] {
                let mut expected = Vec::new();
                with_any(a, &entries[..n], &mut expected);
                let found = fed(&entries[..n], a, &AtomicBool::new(false)).unwrap();
                let bits = |y: &[f64]| y.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found), bits(&expected), "{n_back} {n}");
            }
        }
    }
}

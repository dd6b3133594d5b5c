//! Sums of exponentials along axes, and shares of them, without overflow on the way.

use super::Tensor;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};

/// Entries less the largest along axes, and that.
struct Shifted {
    entries: Array,
    largest: Array,
    /// The exponentials of the entries, added up along the axes, which remain.
    sum: Tensor,
    own: DType,
}

impl Tensor {
    /// The logarithm of the sum of the exponentials along axes, as [`Tensor::reduce`]; −∞ of nothing, or of
    /// nothing but −∞.
    ///
    /// # Errors
    /// As [`Tensor::reduce`]; `UnsupportedType` for masks.
    pub fn logsumexp(&self, axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        let op = "logsumexp";
        if self.shape().n_entries() == 0 {
            // There is no largest entry; the sum is 0.
            let own = self.real(op)?.dtype().quotient();
            let sum = self.each(|x| x.cast(own))?.reduce(ReduceOp::Sum, axes, keeps)?;
            return sum.each(Array::log);
        }
        // An infinite one is added up as it is.
        let finite = |largest: &Array| {
            let is_finite = largest.abs()?.lt(f64::INFINITY)?;
            is_finite.apply(Op::Select, &[largest.into(), 0.into()])
        };
        let shifted = self.shifted(op, axes, &finite)?;
        let (largest, own) = (&shifted.largest, shifted.own);
        let all = shifted.sum.each(|sum| sum.log()?.try_add(largest)?.cast(own))?;
        if keeps { Ok(all) } else { all.reduce(ReduceOp::Max, axes, false) }
    }

    /// The exponentials along an axis, each over their sum: shares that are 1 in all. Beside inf all are NaN.
    ///
    /// # Errors
    /// As [`Tensor::logsumexp`].
    pub fn softmax(&self, axis: i64) -> Result<Self> {
        let op = "softmax";
        if self.shape().n_entries() == 0 {
            return self.each(|x| x.cast(self.dtype().quotient()));
        }
        let shifted = self.shifted(op, Some(&[axis]), &|largest| Ok(largest.clone()))?;
        let sum = shifted.sum.broadcast(op, self.shape())?.entries()?;
        let share = shifted.entries.exp()?.try_div(&sum[0])?.cast(shifted.own)?;
        Self::of([share], self.shape().clone())
    }

    /// The logarithms of [`Tensor::softmax`], without the loss that small shares have.
    ///
    /// # Errors
    /// As [`Tensor::logsumexp`].
    pub fn log_softmax(&self, axis: i64) -> Result<Self> {
        let op = "log_softmax";
        if self.shape().n_entries() == 0 {
            return self.each(|x| x.cast(self.dtype().quotient()));
        }
        let shifted = self.shifted(op, Some(&[axis]), &|largest| Ok(largest.clone()))?;
        let logs = shifted.sum.each(Array::log)?.broadcast(op, self.shape())?.entries()?;
        let log = shifted.entries.try_sub(&logs[0])?.cast(shifted.own)?;
        Self::of([log], self.shape().clone())
    }

    /// `shift` makes of the largest entry what is taken from all.
    fn shifted(
        &self,
        op: &'static str,
        axes: Option<&[i64]>,
        shift: &dyn Fn(&Array) -> Result<Array>,
    ) -> Result<Shifted> {
        let dtype = self.real(op)?.dtype();
        if dtype == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype, expected: "numbers" });
        }
        // A half is added in f32, and rounded once.
        let (own, wide) = (dtype.quotient(), dtype.quotient().widened());
        let x = self.each(|x| x.cast(wide))?;
        let session = self.parts()[0].session();
        // What is subtracted changes no result, and no derivative.
        let largest = session.no_grad(|| x.reduce(ReduceOp::Max, axes, true)?.each(shift))?;
        let (entries, wide) = (x.entries()?, largest.broadcast(op, self.shape())?.entries()?);
        let entries = entries[0].try_sub(&wide[0])?;
        let exponentials = Self::of([entries.exp()?], self.shape().clone())?;
        let sum = exponentials.reduce(ReduceOp::Sum, axes, true)?;
        let largest = largest.entries()?[0].clone();
        Ok(Shifted { entries, largest, sum, own })
    }
}

//! Statistics of all lanes, composed of reductions and sorts: arrays of one lane that stay lazy.

use super::Recorder;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Class, Op, ReduceOp};
use crate::ir::primitive::Order;
use crate::ir::scalar::quiet_nan;
use crate::ir::var::VarId;

impl Recorder<'_> {
    /// The number of the first lane that holds the smallest (`ReduceOp::Min`) or largest value, bit for
    /// bit what `hmin` or `hmax` gives: NaN is ignored unless all are, and −0 is below +0.
    ///
    /// **Dtypes**: u32, beyond 2³² lanes u64.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `EmptyReduction`.
    pub fn arg_extreme(&mut self, x: VarId, op: ReduceOp) -> Result<VarId> {
        let name = if op == ReduceOp::Min { "argmin" } else { "argmax" };
        self.require(name, Class::Number, x)?;
        let (dtype, size) = (self.dtype(x), self.size(x));
        if size == 0 {
            return Err(Error::EmptyReduction { op: name });
        }
        let extreme = self.reduce(op, x)?;
        let bits = dtype.unsigned();
        let (x, extreme) = (self.reinterpret(x, bits)?, self.reinterpret(extreme, bits)?);
        let found = self.same(Op::Eq, &[x, extreme])?;
        let lane = self.lane_numbers(size);
        let beyond = self.constant(self.dtype(lane), u64::MAX >> (64 - self.dtype(lane).bits()));
        let lane = self.select(found, lane, beyond)?;
        self.reduce(ReduceOp::Min, lane)
    }

    /// The mean of the squared distances from the mean, in two passes (S11); NaN for an empty array.
    ///
    /// **Dtypes**: floats keep theirs (f16 by way of f32), integers give f32 (64-bit ones f64).
    ///
    /// # Errors
    /// `UnsupportedType` for masks.
    pub fn variance(&mut self, x: VarId) -> Result<VarId> {
        self.require("var", Class::Number, x)?;
        if self.dtype(x).is_half() {
            return self.in_single(x, Self::variance);
        }
        let x = self.cast(x, self.dtype(x).quotient())?;
        let mean = self.mean(x)?;
        let distance = self.same(Op::Sub, &[x, mean])?;
        let square = self.same(Op::Mul, &[distance, distance])?;
        self.mean(square)
    }

    /// The square root of the variance.
    ///
    /// # Errors
    /// `UnsupportedType` for masks.
    pub fn standard_deviation(&mut self, x: VarId) -> Result<VarId> {
        self.require("std", Class::Number, x)?;
        if self.dtype(x).is_half() {
            return self.in_single(x, Self::standard_deviation);
        }
        let variance = self.variance(x)?;
        self.same(Op::Sqrt, &[variance])
    }

    /// The middle lane in order, of an even number half the sum of the two; NaN if any lane is NaN, or
    /// there is none.
    ///
    /// **Dtypes**: as [`Recorder::variance`].
    ///
    /// # Errors
    /// `UnsupportedType` for masks.
    pub fn median(&mut self, x: VarId) -> Result<VarId> {
        self.require("median", Class::Number, x)?;
        let (size, dtype) = (self.size(x), self.dtype(x).quotient());
        if size == 0 {
            return Ok(self.constant(dtype, quiet_nan(dtype)));
        }
        let sorted = self.sort(x, Order::Ascending)?;
        let at = |recorder: &mut Self, lane: u64| {
            let lane = recorder.literal(DType::U64, lane, 1);
            let lane = recorder.pick(sorted, lane, None)?;
            recorder.cast(lane, dtype)
        };
        let upper = at(self, size / 2)?;
        let middle = if size.is_multiple_of(2) {
            let lower = at(self, size / 2 - 1)?;
            // Halves first: the sum of large values would overflow.
            let half = self.constant(dtype, dtype.encode(Scalar::Float(0.5))?);
            let upper = self.same(Op::Mul, &[upper, half])?;
            self.same(Op::Fma, &[lower, half, upper])?
        } else {
            upper
        };
        let last = at(self, size - 1)?;
        let broken = self.same(Op::Ne, &[last, last])?;
        self.select(broken, last, middle)
    }
}

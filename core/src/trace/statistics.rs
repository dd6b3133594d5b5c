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
    /// bit what `hmin` or `hmax` gives: NaN is ignored unless all are, and −0 is below +0, as false is below true.
    ///
    /// **Dtypes**: u32, beyond 2³² lanes u64.
    ///
    /// # Errors
    /// `EmptyReduction`.
    pub fn arg_extreme(&mut self, x: VarId, op: ReduceOp) -> Result<VarId> {
        let name = if op == ReduceOp::Min { "argmin" } else { "argmax" };
        let x = if self.dtype(x) == DType::Mask { self.cast(x, DType::U8)? } else { x };
        let (dtype, size) = (self.dtype(x), self.size(x));
        if size == 0 {
            return Err(Error::EmptyReduction { op: name });
        }
        if dtype.bytes() <= 4 && u32::try_from(size).is_ok() {
            return self.arg_extreme_at_once(x, op);
        }
        let extreme = self.reduce(op, x)?;
        let bits = dtype.unsigned();
        let (x, extreme) = (self.reinterpret(x, bits)?, self.reinterpret(extreme, bits)?);
        let found = self.same(Op::Eq, &[x, extreme])?;
        let lane = self.lane_numbers(size);
        let beyond = self.constant(self.dtype(lane), u64::MAX >> (64 - self.dtype(lane).bits()));
        let lane = self.select(found, lane, beyond)?;
        let least = self.reduce(ReduceOp::Min, lane)?;
        // Of NaN alone, of any bits, the first one.
        let is_none = self.same(Op::Eq, &[least, beyond])?;
        let first = self.constant(self.dtype(least), 0);
        self.select(is_none, first, least)
    }

    /// The same, reading once: the least of words whose upper half orders values, and whose lower half is the lane.
    fn arg_extreme_at_once(&mut self, x: VarId, op: ReduceOp) -> Result<VarId> {
        let key = self.order_key(x, op)?;
        let wide = if self.dtype(key).is_signed() { DType::I64 } else { DType::U64 };
        let lane = self.lane_index(DType::U32, self.size(x));
        let [key, lane] = [self.cast(key, wide)?, self.cast(lane, wide)?];
        let half = self.constant(wide, 32);
        let key = self.same(Op::Shl, &[key, half])?;
        let word = self.same(Op::Or, &[key, lane])?;
        let least = self.reduce(ReduceOp::Min, word)?;
        self.cast(least, DType::U32)
    }

    /// An integer of 32 bits that is the smaller the earlier a value of at most as many bits stands in order, by
    /// `ReduceOp::Max` the larger ones first; NaN comes last.
    fn order_key(&mut self, x: VarId, op: ReduceOp) -> Result<VarId> {
        let dtype = self.dtype(x);
        let is_float = dtype.is_float();
        let x = self.cast(x, if is_float { DType::F32 } else { dtype })?;
        let integer = if dtype.is_signed() { DType::I32 } else { DType::U32 };
        let mut key = if is_float { self.reinterpret(x, integer)? } else { self.cast(x, integer)? };
        let [all, digits] =
            [u32::MAX, u32::MAX >> 1].map(|bits| self.constant(integer, bits.into()));
        if is_float {
            // Of negative numbers all bits but the sign count down.
            let places = self.constant(integer, 31);
            let signs = self.same(Op::Shr, &[key, places])?;
            let down = self.same(Op::And, &[signs, digits])?;
            key = self.same(Op::Xor, &[key, down])?;
        }
        if op == ReduceOp::Max {
            key = self.same(Op::Xor, &[key, all])?;
        }
        if !is_float {
            return Ok(key);
        }
        let is_nan = self.same(Op::Ne, &[x, x])?;
        self.select(is_nan, digits, key)
    }

    /// The mean of the squared distances from the mean, in two passes (S11); NaN for an empty array.
    ///
    /// **Dtypes**: floats keep theirs (f16 by way of f32), integers give f32 by way of f64 (64-bit ones f64).
    ///
    /// # Errors
    /// `UnsupportedType` for masks.
    pub fn variance(&mut self, x: VarId) -> Result<VarId> {
        self.require("var", Class::Number, x)?;
        let (dtype, own) = (self.dtype(x), self.dtype(x).quotient());
        let x = self.cast(x, dtype.averaged())?;
        let mean = self.mean(x)?;
        let distance = self.same(Op::Sub, &[x, mean])?;
        let square = self.same(Op::Mul, &[distance, distance])?;
        let variance = self.mean(square)?;
        self.cast(variance, own)
    }

    /// The square root of the variance.
    ///
    /// # Errors
    /// `UnsupportedType` for masks.
    pub fn standard_deviation(&mut self, x: VarId) -> Result<VarId> {
        self.require("std", Class::Number, x)?;
        let (dtype, own) = (self.dtype(x), self.dtype(x).quotient());
        let x = self.cast(x, dtype.averaged())?;
        let variance = self.variance(x)?;
        let root = self.same(Op::Sqrt, &[variance])?;
        if !self.var(variance).tracked {
            return self.cast(root, own);
        }
        // The slope where all are equal is 0, as that of a norm of 0 is.
        let zero = self.constant(self.dtype(variance), 0);
        let are_equal = self.same(Op::Eq, &[variance, zero])?;
        let deviation = self.select(are_equal, zero, root)?;
        self.cast(deviation, own)
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
        let upper = self.lane_as(sorted, size / 2, dtype)?;
        let middle = if size.is_multiple_of(2) {
            let lower = self.lane_as(sorted, size / 2 - 1, dtype)?;
            // Halves first: the sum of large values would overflow.
            let half = self.constant(dtype, dtype.encode(Scalar::Float(0.5))?);
            let upper = self.same(Op::Mul, &[upper, half])?;
            self.same(Op::Fma, &[lower, half, upper])?
        } else {
            upper
        };
        self.unless_nan(sorted, middle)
    }

    /// The value below which a part `p` of the lanes lies, between two of them by linear interpolation; NaN if any lane
    /// is NaN, or there is none.
    ///
    /// **Dtypes**: as [`Recorder::variance`].
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` if `p` is not from 0 to 1.
    pub fn quantile(&mut self, x: VarId, p: f64) -> Result<VarId> {
        self.require("quantile", Class::Number, x)?;
        if !(0.0..=1.0).contains(&p) {
            let what = format!("got the part {p}, expected 0 to 1");
            return Err(Error::Argument { op: "quantile", what });
        }
        if self.dtype(x).is_half() {
            return self.in_single(x, |recorder, x| recorder.quantile(x, p));
        }
        let (size, dtype) = (self.size(x), self.dtype(x).quotient());
        if size == 0 {
            return Ok(self.constant(dtype, quiet_nan(dtype)));
        }
        let sorted = self.sort(x, Order::Ascending)?;
        #[expect(clippy::cast_precision_loss, reason = "a place among so many lanes is a float")]
        let place = p * (size - 1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a lane")]
        let lower = (place as u64).min(size - 1);
        let mut value = self.lane_as(sorted, lower, dtype)?;
        if place.fract() > 0.0 && lower + 1 < size {
            let upper = self.lane_as(sorted, lower + 1, dtype)?;
            // A literal: other parts take the same kernel.
            let part = self.literal(dtype, dtype.encode(Scalar::Float(place.fract()))?, 1);
            value = self.on_the_way(value, upper, part)?;
        }
        self.unless_nan(sorted, value)
    }

    /// The value at a part of the way from one to another. Beside an infinity it is that one, which the sum of both is too.
    fn on_the_way(&mut self, lower: VarId, upper: VarId, part: VarId) -> Result<VarId> {
        let step = self.same(Op::Sub, &[upper, lower])?;
        let between = self.same(Op::Fma, &[part, step, lower])?;
        let is_known = self.same(Op::Eq, &[between, between])?;
        let sum = self.same(Op::Add, &[lower, upper])?;
        self.select(is_known, between, sum)
    }

    /// One lane as a type.
    fn lane_as(&mut self, x: VarId, lane: u64, dtype: DType) -> Result<VarId> {
        let lane = self.literal(DType::U64, lane, 1);
        let lane = self.pick(x, lane, None)?;
        self.cast(lane, dtype)
    }

    /// A value, or the last of sorted lanes if that is NaN: there is one.
    fn unless_nan(&mut self, sorted: VarId, value: VarId) -> Result<VarId> {
        let last = self.lane_as(sorted, self.size(sorted) - 1, self.dtype(value))?;
        let broken = self.same(Op::Ne, &[last, last])?;
        self.select(broken, last, value)
    }
}

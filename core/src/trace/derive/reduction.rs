//! Reductions, over all lanes and along an axis: the slope by each lane.

use super::Recorder;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::Along;
use crate::ir::var::VarId;

impl Recorder<'_> {
    /// Each lane of `v`, or its only one, times the derivative of a reduction by that lane of `x`.
    pub(super) fn times_slope_of_reduction(
        &mut self,
        op: ReduceOp,
        id: VarId,
        x: VarId,
        v: VarId,
    ) -> Result<VarId> {
        let v = self.cast(v, self.dtype(x))?;
        match op {
            ReduceOp::Sum => self.widen(v, self.size(x)),
            ReduceOp::Prod => {
                let others = self.products_of_others(x)?;
                self.same(Op::Mul, &[v, others])
            }
            ReduceOp::Min | ReduceOp::Max => {
                let chosen = self.same(Op::Eq, &[x, id])?;
                let n = self.reduce(ReduceOp::Count, chosen)?;
                self.shared(chosen, n, v)
            }
            ReduceOp::Count | ReduceOp::Any | ReduceOp::All => Err(self.no_derivative(id)),
        }
    }

    /// `v / n` in chosen lanes.
    fn shared(&mut self, chosen: VarId, n: VarId, v: VarId) -> Result<VarId> {
        let dtype = self.dtype(v);
        let n = self.cast(n, dtype)?;
        let share = self.same(Op::Div, &[v, n])?;
        let zero = self.constant(dtype, 0);
        self.select(chosen, share, zero)
    }

    /// Each lane of `v`, as many as of `x` or as of the result, times the derivative by that lane of `x`.
    pub(super) fn times_slope_along(
        &mut self,
        along: Along,
        id: VarId,
        x: VarId,
        v: VarId,
    ) -> Result<VarId> {
        let size = self.size(x);
        let is_narrow = self.size(v) != size;
        let v = if is_narrow { self.spread(v, along, size)? } else { v };
        match along.op {
            ReduceOp::Sum => Ok(v),
            ReduceOp::Min | ReduceOp::Max => {
                let extremes = self.spread(id, along, size)?;
                let chosen = self.same(Op::Eq, &[x, extremes])?;
                let (one, zero) = (self.constant(DType::U32, 1), self.constant(DType::U32, 0));
                let ones = self.select(chosen, one, zero)?;
                let n = self.along(ReduceOp::Sum, ones, along.extent, along.inner)?;
                let n = self.spread(n, along, size)?;
                self.shared(chosen, n, v)
            }
            // One lane is divided out, unless it is 0: then it is the product of those that are not, if it is alone.
            ReduceOp::Prod => {
                let (one, zero) = (self.one(self.dtype(x)), self.constant(self.dtype(x), 0));
                let is_zero = self.same(Op::Eq, &[x, zero])?;
                let others = self.select(is_zero, one, x)?;
                let product = self.along(ReduceOp::Prod, others, along.extent, along.inner)?;
                let product = self.spread(product, along, size)?;
                let (yes, no) = (self.constant(DType::U32, 1), self.constant(DType::U32, 0));
                let zeros = self.select(is_zero, yes, no)?;
                let n = self.along(ReduceOp::Sum, zeros, along.extent, along.inner)?;
                let n = self.spread(n, along, size)?;
                let divided = self.same(Op::Div, &[product, others])?;
                let (none, alone) = (self.same(Op::Eq, &[n, no])?, self.same(Op::Eq, &[n, yes])?);
                let is_alone = self.same(Op::And, &[alone, is_zero])?;
                let mut slope = self.select(is_alone, product, zero)?;
                if self.var(x).tracked {
                    // Beside zeros it is 0, but not for who changes them.
                    let zeros = self.select(is_zero, x, zero)?;
                    let all = self.along(ReduceOp::Sum, zeros, along.extent, along.inner)?;
                    let all = self.spread(all, along, size)?;
                    let beside = self.same(Op::Mul, &[all, divided])?;
                    let beside = self.where_finite(divided, beside)?;
                    slope = self.select(is_alone, slope, beside)?;
                    let other = self.same(Op::Sub, &[all, x])?;
                    let of_pair = self.same(Op::Mul, &[other, product])?;
                    let of_pair = self.where_finite(product, of_pair)?;
                    let two = self.constant(DType::U32, 2);
                    let is_pair = self.same(Op::Eq, &[n, two])?;
                    let is_pair = self.same(Op::And, &[is_pair, is_zero])?;
                    let of_pair = self.select(is_pair, of_pair, zero)?;
                    slope = self.select(alone, slope, of_pair)?;
                }
                let slope = self.select(none, divided, slope)?;
                self.same(Op::Mul, &[v, slope])
            }
            ReduceOp::Count | ReduceOp::Any | ReduceOp::All => Err(self.no_derivative(id)),
        }
    }

    /// `v` where `x` is finite, else 0.
    fn where_finite(&mut self, x: VarId, v: VarId) -> Result<VarId> {
        let zero = self.constant(self.dtype(x), 0);
        let nothing = self.same(Op::Sub, &[x, x])?;
        let is_finite = self.same(Op::Eq, &[nothing, zero])?;
        self.select(is_finite, v, zero)
    }

    /// A result along an axis in every lane that it came from.
    pub(super) fn spread(&mut self, v: VarId, along: Along, size: u64) -> Result<VarId> {
        if self.size(v) == 1 {
            return self.widen(v, size);
        }
        let lane = self.lane_numbers(size);
        let dtype = self.dtype(lane);
        let n = along.extent * along.inner;
        let [whole, inner] = [n, along.inner].map(|n| self.literal(dtype, n, 1));
        let place = if n == size {
            self.same(Op::Rem, &[lane, inner])?
        } else if along.inner == 1 {
            self.same(Op::IDiv, &[lane, whole])?
        } else {
            let outer = self.same(Op::IDiv, &[lane, whole])?;
            let within = self.same(Op::Rem, &[lane, inner])?;
            let first = self.same(Op::Mul, &[outer, inner])?;
            self.same(Op::Add, &[first, within])?
        };
        self.pick(v, place, None)
    }

    /// Factors along an axis in every lane that they multiply.
    pub(super) fn repeated(&mut self, factors: VarId, along: Along, size: u64) -> Result<VarId> {
        let place = self.place_along(along, size)?;
        self.pick(factors, place, None)
    }

    /// The cotangent of the factors of weighted sums of `x`, `[outer, extent, inner]`: at each place the sum of the lanes there,
    /// each times the cotangent `v` of the sum that it is in.
    pub(super) fn pull_factors(&mut self, along: Along, x: VarId, v: VarId) -> Result<VarId> {
        let size = self.size(x);
        let outer = size / (along.extent * along.inner);
        // Of one matrix cotangents are factors along its other axis: it is read once, where it lies.
        if outer == 1 || along.inner == 1 {
            let v = self.widen(v, outer * along.inner)?;
            return self.weighted_sums(x, v, if along.inner == 1 { along.extent } else { 1 });
        }
        let lanes = self.spread(v, along, size)?;
        let products = self.same(Op::Mul, &[lanes, x])?;
        self.sums_by_place(products, along)
    }

    /// The place along an axis of each lane.
    fn place_along(&mut self, along: Along, size: u64) -> Result<VarId> {
        let lane = self.lane_numbers(size);
        let dtype = self.dtype(lane);
        let [extent, inner] = [along.extent, along.inner].map(|n| self.literal(dtype, n, 1));
        let place = self.same(Op::IDiv, &[lane, inner])?;
        self.same(Op::Rem, &[place, extent])
    }

    /// The sums over all lanes at the same place along an axis: along the inner axis, then along the outer one.
    fn sums_by_place(&mut self, x: VarId, along: Along) -> Result<VarId> {
        let rows = self.along(ReduceOp::Sum, x, along.inner, 1)?;
        let outer = self.size(rows) / along.extent;
        self.along(ReduceOp::Sum, rows, outer, along.extent)
    }
}

//! Lanes at even distances along several axes: what views of tensors are made of.

use super::Recorder;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::lane_number_type;
use crate::ir::var::VarId;

impl Recorder<'_> {
    /// The lanes start + i s₀ + j s₁ + .. of `x`, which has them, for all numbers i, j, .. below the extents, the last
    /// running fastest; `runs` are extents and steps. One lane of `x` stands in all of them.
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    pub fn strided(&mut self, x: VarId, start: u64, runs: &[(u64, i64)]) -> Result<VarId> {
        let n: u64 = runs.iter().map(|(extent, _)| extent).product();
        let (dtype, size) = (self.dtype(x), self.size(x));
        if n == 0 {
            return Ok(self.literal(dtype, 0, 0));
        }
        if size == 1 {
            return self.widen(x, n);
        }
        let index = self.strided_lanes(lane_number_type(n.max(size)), start, runs)?;
        self.pick(x, index, None)
    }

    /// The numbers start + i s₀ + j s₁ + .. themselves, which wrap.
    ///
    /// # Errors
    /// None at present.
    pub fn strided_lanes(
        &mut self,
        counter: DType,
        start: u64,
        runs: &[(u64, i64)],
    ) -> Result<VarId> {
        let n: u64 = runs.iter().map(|(extent, _)| extent).product();
        // What is beyond the type wraps, as the sums do: of a negative step the lower bits remain.
        let bits = |number: u64| number & (u64::MAX >> (64 - counter.bits()));
        if n == 0 {
            return Ok(self.literal(counter, 0, 0));
        }
        let lane = self.lane_index(counter, n);
        // The start comes last: views that differ in it alone share the rest.
        let mut distance = None;
        let mut inner = n;
        for (i, &(extent, step)) in runs.iter().enumerate() {
            inner /= extent;
            if step == 0 {
                continue;
            }
            let mut along = lane;
            if inner > 1 {
                let by = self.literal(counter, inner, 1);
                along = self.same(Op::IDiv, &[along, by])?;
            }
            if i > 0 {
                let by = self.literal(counter, extent, 1);
                along = self.same(Op::Rem, &[along, by])?;
            }
            if step != 1 {
                let by = self.literal(counter, bits(step.cast_unsigned()), 1);
                along = self.same(Op::Mul, &[along, by])?;
            }
            distance = Some(match distance {
                Some(distance) => self.same(Op::Add, &[distance, along])?,
                None => along,
            });
        }
        let Some(distance) = distance else { return Ok(self.literal(counter, bits(start), n)) };
        if start == 0 {
            return Ok(distance);
        }
        let start = self.literal(counter, bits(start), 1);
        self.same(Op::Add, &[distance, start])
    }
}

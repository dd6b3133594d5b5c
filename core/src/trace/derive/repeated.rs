//! What stands in several lanes, as broadcast entries do: their cotangents are added along an axis, in the order of S11.
//!
//! Sums by index, which gathers have otherwise, take memory that is filled before, and a lane after the other.

use smallvec::{SmallVec, smallvec};

use super::Recorder;
use super::across_lanes::Operands;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::var::{Kind, VarId};

/// Axes along which lanes are the same, one after the other: how many, and how many lanes are behind each.
type Axes = SmallVec<[(u64, u64); 2]>;

impl Recorder<'_> {
    /// The cotangent of the source of a gather, whose own is `v`, if it repeats all of that along axes.
    pub(super) fn pull_repeated(
        &mut self,
        id: VarId,
        x: &Operands,
        v: VarId,
    ) -> Result<Option<VarId>> {
        // Indices of users are added by those.
        let Kind::Gather { checked: None } = self.var(id).made_by() else { return Ok(None) };
        let &[source, index] = &x[..] else { return Ok(None) };
        let is_outside = [id, source, index, v].iter().all(|&id| self.var(id).scope == 0);
        if !is_outside || self.dtype(v).widened() != self.dtype(v) {
            return Ok(None);
        }
        let n = self.size(id);
        let Some(axes) = self.axes_repeated(n, self.size(source), index) else { return Ok(None) };
        let mut sums = self.widen(v, n)?;
        for (extent, inner) in axes {
            sums = self.sums_along(sums, extent, inner)?;
        }
        Ok(Some(sums))
    }

    fn sums_along(&mut self, x: VarId, extent: u64, inner: u64) -> Result<VarId> {
        if extent == 1 {
            return Ok(x);
        }
        let (dtype, n) = (self.dtype(x), self.size(x) / extent);
        match self.var(x).kind.number().filter(|_| !self.var(x).tracked) {
            // All results are one.
            Some(bits) => {
                let line = self.literal(dtype, bits, extent);
                let sum = self.reduce(ReduceOp::Sum, line)?;
                self.widen(sum, n)
            }
            None => self.along(ReduceOp::Sum, x, extent, inner),
        }
    }

    /// The axes along which an index of `n` lanes, as broadcasting records it, repeats the lanes of a source.
    fn axes_repeated(&self, n: u64, size: u64, index: VarId) -> Option<Axes> {
        let is_lane = |&(of, _): &(VarId, u64)| self.var(of).kind == Kind::Index;
        let lane_by = |op: Op, of: VarId| self.by_number(op, of).filter(is_lane).map(|(_, by)| by);
        let axes: Axes = if let Some(inner) = lane_by(Op::Rem, index) {
            smallvec![(n / inner, inner)]
        } else if let Some(extent) = lane_by(Op::IDiv, index) {
            smallvec![(extent, 1)]
        } else if let Some((places, inner)) = self.by_number(Op::Rem, index) {
            let extent = lane_by(Op::IDiv, places)?;
            smallvec![(extent, 1), (n / extent.checked_mul(inner)?, inner)]
        } else {
            let [first, within] = self.pair(Op::Add, index)?;
            let (outer, step) = self.by_number(Op::Mul, first)?;
            let (whole, inner) = (lane_by(Op::IDiv, outer)?, lane_by(Op::Rem, within)?);
            (step == inner && whole.is_multiple_of(inner)).then_some(())?;
            smallvec![(whole / inner, inner)]
        };
        // All lanes are read, and as often.
        let lanes = axes.iter().fold(size, |lanes, &(extent, _)| lanes.saturating_mul(extent));
        let &(_, inner) = axes.last()?;
        (n > 0 && lanes == n && size.is_multiple_of(inner)).then_some(axes)
    }

    /// What an operation takes beside a number that is not 0.
    fn by_number(&self, op: Op, id: VarId) -> Option<(VarId, u64)> {
        let [of, by] = self.pair(op, id)?;
        self.var(by).kind.number().filter(|&by| by > 0).map(|by| (of, by))
    }

    /// What an operation takes.
    fn pair(&self, op: Op, id: VarId) -> Option<[VarId; 2]> {
        let variable = self.var(id);
        match variable.operands {
            [Some(a), Some(b), ..] if variable.kind == Kind::Op(op) => Some([a, b]),
            _ => None,
        }
    }
}

//! Scatters: which values are there in the end.

use super::Recorder;
use super::across_lanes::Operands;
use crate::error::Result;
use crate::ir::op::{Op, ScatterMode, ScatterOp, Writer};
use crate::ir::var::VarId;

impl Recorder<'_> {
    /// A plain scatter: what was overwritten passes nothing, and of several values for one place the last lands.
    pub(super) fn pull_set(
        &mut self,
        x: &Operands,
        mode: ScatterMode,
        v: VarId,
    ) -> Result<[VarId; 2]> {
        let (index, active) = (x[2], x.get(3).copied());
        let zero = self.constant(self.dtype(v), 0);
        let kept = self.write(
            ScatterOp::Set,
            ScatterMode::Fast,
            Writer::Scatter,
            [v, zero, index],
            active,
        )?;
        let landed = if mode == ScatterMode::Apart { active } else { Some(self.landed(x)?) };
        let value = self.pick(v, index, landed)?;
        Ok([kept, value])
    }

    /// The lanes of a plain scatter whose values are there in the end.
    fn landed(&mut self, x: &Operands) -> Result<VarId> {
        let (index, active) = (x[2], x.get(3).copied());
        let lanes = [x[1], index].into_iter().chain(active).map(|id| self.size(id)).max();
        let lane = self.lane_numbers(lanes.unwrap_or(1));
        let dtype = self.dtype(lane);
        let none = self.literal(dtype, u64::MAX >> (64 - dtype.bits()), self.size(x[0]));
        let (set, last) = (ScatterOp::Set, ScatterMode::Exact);
        let lasts = self.write(set, last, Writer::Scatter, [none, lane, index], active)?;
        let found = self.pick(lasts, index, active)?;
        let is_last = self.same(Op::Eq, &[found, lane])?;
        match active {
            Some(active) => self.same(Op::And, &[is_last, active]),
            None => Ok(is_last),
        }
    }

    /// For a scatter of extremes, the parts of the target and of the values that were chosen, as 1 over their number at
    /// that place.
    fn shares_at(&mut self, id: VarId, x: &Operands) -> Result<[VarId; 2]> {
        let (index, active, dtype) = (x[2], x.get(3).copied(), self.dtype(id));
        let (one, zero) = (self.one(dtype), self.constant(dtype, 0));
        let is_kept = self.same(Op::Eq, &[x[0], id])?;
        let kept = self.select(is_kept, one, zero)?;
        let found = self.pick(id, index, active)?;
        let mut is_chosen = self.same(Op::Eq, &[x[1], found])?;
        if let Some(active) = active {
            is_chosen = self.same(Op::And, &[is_chosen, active])?;
        }
        let chosen = self.select(is_chosen, one, zero)?;
        let n = self.add_at(kept, chosen, index, active)?;
        let n_there = self.pick(n, index, active)?;
        let target = self.same(Op::Div, &[kept, n])?;
        let target = self.select(is_kept, target, zero)?;
        let value = self.same(Op::Div, &[chosen, n_there])?;
        Ok([target, self.select(is_chosen, value, zero)?])
    }

    pub(super) fn pull_extreme_at(
        &mut self,
        id: VarId,
        x: &Operands,
        v: VarId,
    ) -> Result<[VarId; 2]> {
        let [target, value] = self.shares_at(id, x)?;
        let there = self.pick(v, x[2], x.get(3).copied())?;
        Ok([self.same(Op::Mul, &[v, target])?, self.same(Op::Mul, &[there, value])?])
    }

    pub(super) fn push_extreme_at(
        &mut self,
        id: VarId,
        x: &Operands,
        t: [VarId; 2],
    ) -> Result<VarId> {
        let [target, value] = self.shares_at(id, x)?;
        let target = self.same(Op::Mul, &[t[0], target])?;
        let value = self.same(Op::Mul, &[t[1], value])?;
        let target = self.widen(target, self.size(id))?;
        self.add_at(target, value, x[2], x.get(3).copied())
    }

    /// A scatter that adds.
    pub(super) fn add_at(
        &mut self,
        target: VarId,
        value: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<VarId> {
        let (add, mode) = (ScatterOp::Add, ScatterMode::Fast);
        self.write(add, mode, Writer::Scatter, [target, value, index], active)
    }
}

//! Forward mode: from tangents of inputs to those of outputs.

use super::{Cone, Of, Turn};
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::var::{Kind, VarId};
use crate::trace::Recorder;

/// A way forward through a cone, which halts where somebody else has the derivative.
pub(crate) struct PushForward {
    cone: Cone,
    tangents: Of<VarId>,
    /// Of loops, the tangents of the values behind them by position.
    loops: Of<Vec<Option<VarId>>>,
    /// Variables that were gone through.
    done: usize,
}

impl Recorder<'_> {
    /// Begins to go forward from inputs, each with its tangent.
    ///
    /// # Errors
    /// `SizeMismatch` if a tangent does not fit.
    pub(crate) fn begin_push(
        &mut self,
        cone: Cone,
        inputs: &[(VarId, VarId)],
    ) -> Result<PushForward> {
        let mut way = PushForward { cone, tangents: Of::default(), loops: Of::default(), done: 0 };
        for &(input, tangent) in inputs {
            self.push_told(&mut way, input, tangent)?;
        }
        Ok(way)
    }

    /// Goes to the outputs, or to a variable whose derivative somebody else has.
    ///
    /// # Errors
    /// `Interrupted`; `Argument` for what has no derivative.
    pub(crate) fn push_on(&mut self, way: &mut PushForward) -> Result<Turn> {
        while let Some(&id) = way.cone.order.get(way.done) {
            way.done += 1;
            self.poll(way.done)?;
            if way.tangents.contains_key(&id) {
                continue;
            }
            if let Kind::Region { .. } = self.var(id).kind {
                let moves = self.push_loop(&way.tangents, id)?;
                way.loops.insert(id, moves);
                continue;
            }
            let tangent = match way.cone.expanded.get(&id) {
                None if matches!(self.var(id).made_by(), Kind::Result { .. }) => {
                    way.behind(self, id)
                }
                Some(expansion) => way.tangents.get(expansion).copied(),
                None if self.has_rule_of_its_own(id) => {
                    let moves = self.var(id).made_of().into_iter();
                    let moves = moves.map(|operand| way.tangents.get(&operand).copied()).collect();
                    return Ok(Turn::Asks { id, moves });
                }
                None => self.push_through(&way.tangents, id)?,
            };
            if let Some(tangent) = tangent {
                self.push_told(way, id, tangent)?;
            }
        }
        Ok(Turn::Done)
    }

    /// Gives a variable its tangent.
    ///
    /// # Errors
    /// `SizeMismatch`.
    pub(crate) fn push_told(
        &mut self,
        way: &mut PushForward,
        id: VarId,
        tangent: VarId,
    ) -> Result<()> {
        let tangent = self.cast(tangent, self.dtype(id))?;
        way.tangents.insert(id, self.widen(tangent, self.size(id))?);
        Ok(())
    }

    /// The tangent of a variable from those of its operands.
    fn push_through(&mut self, tangents: &Of<VarId>, id: VarId) -> Result<Option<VarId>> {
        let mut sum = None;
        if let Some(rule) = self.complex_rule(id) {
            for (i, argument) in self.complex_arguments(rule).chunks_exact(2).enumerate() {
                if argument.iter().any(|part| tangents.contains_key(part)) {
                    let moves = [argument[0], argument[1]].map(|part| {
                        tangents.get(&part).copied().unwrap_or_else(|| self.zeros_like(part))
                    });
                    let part = self.push_complex(rule, moves, i)?;
                    sum = Some(self.added(sum, part)?);
                }
            }
            return Ok(sum);
        }
        if !matches!(self.var(id).made_by(), Kind::Op(_) | Kind::Call(_)) {
            return self.push_across(tangents, id);
        }
        for (i, operand) in self.var(id).made_of().into_iter().enumerate() {
            let Some(&tangent) = tangents.get(&operand) else { continue };
            let part = self.times_partial(id, tangent, i)?;
            sum = Some(self.added(sum, part)?);
        }
        Ok(sum)
    }

    /// A sum with one more part.
    pub(super) fn added(&mut self, sum: Option<VarId>, part: VarId) -> Result<VarId> {
        sum.map_or(Ok(part), |sum| self.same(Op::Add, &[sum, part]))
    }
}

impl PushForward {
    /// The tangent of a value behind a loop.
    fn behind(&self, recorder: &Recorder<'_>, id: VarId) -> Option<VarId> {
        let Kind::Result { position, .. } = recorder.var(id).made_by() else { return None };
        let region = recorder.var(id).made_of()[0];
        *self.loops.get(&region)?.get(position as usize)?
    }

    /// The tangent of a variable that was gone through.
    pub(crate) fn tangent(&self, id: VarId) -> Option<VarId> {
        self.tangents.get(&id).copied()
    }
}

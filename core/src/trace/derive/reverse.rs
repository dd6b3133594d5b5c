//! Reverse mode: from cotangents of outputs to those of inputs.

use super::{Cone, Of};
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::var::{Kind, VarId};
use crate::trace::Recorder;

/// Cotangents that were passed on.
pub(super) struct Cotangents<'c> {
    cone: &'c Of<()>,
    of: Of<VarId>,
}

impl Recorder<'_> {
    /// The gradients of the outputs, each times its cotangent, by the inputs in their order; `None` where no output
    /// depends on one.
    ///
    /// **Sizes**: those of the inputs. **Dtypes**: theirs. **Evaluation**: traced.
    ///
    /// # Errors
    /// As [`Recorder::cone`]; `SizeMismatch` if a cotangent does not fit.
    pub(crate) fn pull_back(
        &mut self,
        cone: &Cone,
        outputs: &[(VarId, VarId)],
        inputs: &[VarId],
    ) -> Result<Vec<Option<VarId>>> {
        let members: Of<()> = cone.order.iter().map(|&id| (id, ())).collect();
        let mut cotangents = Cotangents { cone: &members, of: Of::default() };
        for &(output, cotangent) in outputs {
            self.pass(&mut cotangents, output, cotangent)?;
        }
        for (n, &id) in cone.order.iter().rev().enumerate() {
            self.poll(n + 1)?;
            if inputs.contains(&id) {
                continue;
            }
            let Some(cotangent) = cotangents.of.remove(&id) else { continue };
            let cotangent = self.widen(cotangent, self.size(id))?;
            match cone.expanded.get(&id) {
                Some(&expansion) => self.pass(&mut cotangents, expansion, cotangent)?,
                None => self.pull_through(&mut cotangents, id, cotangent)?,
            }
        }
        let gradient = |input: &VarId| {
            let gradient = cotangents.of.get(input);
            gradient.map(|&gradient| self.widen(gradient, self.size(*input))).transpose()
        };
        inputs.iter().map(gradient).collect()
    }

    /// Passes the cotangent of a variable to its operands.
    fn pull_through(
        &mut self,
        cotangents: &mut Cotangents<'_>,
        id: VarId,
        cotangent: VarId,
    ) -> Result<()> {
        let is_of_lanes = matches!(self.var(id).made_by(), Kind::Op(_) | Kind::Call(_));
        if !is_of_lanes {
            return self.pull_across(cotangents, id, cotangent);
        }
        for (i, operand) in self.var(id).made_of().into_iter().enumerate() {
            if cotangents.wants(operand) {
                let part = self.times_partial(id, cotangent, i)?;
                self.pass(cotangents, operand, part)?;
            }
        }
        Ok(())
    }

    /// Adds to the cotangent of a variable.
    pub(super) fn pass(
        &mut self,
        cotangents: &mut Cotangents<'_>,
        id: VarId,
        part: VarId,
    ) -> Result<()> {
        if !cotangents.wants(id) {
            return Ok(());
        }
        // What is the same in every lane has the sum over them.
        let part = if self.size(id) == 1 { self.reduce(ReduceOp::Sum, part)? } else { part };
        let part = self.cast(part, self.dtype(id))?;
        let sum = match cotangents.of.get(&id) {
            Some(&known) => self.same(Op::Add, &[known, part])?,
            None => part,
        };
        cotangents.of.insert(id, sum);
        Ok(())
    }
}

impl Cotangents<'_> {
    /// Whether an input depends on the variable.
    pub(super) fn wants(&self, id: VarId) -> bool {
        self.cone.contains_key(&id)
    }
}

//! Forward mode: from tangents of inputs to those of outputs.

use super::{Cone, Of};
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::var::{Kind, VarId};
use crate::trace::Recorder;

impl Recorder<'_> {
    /// The tangents of the outputs, from inputs with theirs; `None` where an output depends on no input.
    ///
    /// **Sizes**: those of the outputs. **Dtypes**: theirs. **Evaluation**: traced.
    ///
    /// # Errors
    /// As [`Recorder::cone`]; `SizeMismatch` if a tangent does not fit.
    pub(crate) fn push_forward(
        &mut self,
        cone: &Cone,
        inputs: &[(VarId, VarId)],
        outputs: &[VarId],
    ) -> Result<Vec<Option<VarId>>> {
        let mut tangents: Of<VarId> = Of::default();
        for &(input, tangent) in inputs {
            let tangent = self.cast(tangent, self.dtype(input))?;
            tangents.insert(input, self.widen(tangent, self.size(input))?);
        }
        for (n, &id) in cone.order.iter().enumerate() {
            self.poll(n + 1)?;
            if tangents.contains_key(&id) {
                continue;
            }
            let tangent = match cone.expanded.get(&id) {
                Some(expansion) => tangents.get(expansion).copied(),
                None => self.push_through(&tangents, id)?,
            };
            if let Some(tangent) = tangent {
                let tangent = self.cast(tangent, self.dtype(id))?;
                tangents.insert(id, self.widen(tangent, self.size(id))?);
            }
        }
        Ok(outputs.iter().map(|output| tangents.get(output).copied()).collect())
    }

    /// The tangent of a variable from those of its operands.
    fn push_through(&mut self, tangents: &Of<VarId>, id: VarId) -> Result<Option<VarId>> {
        if !matches!(self.var(id).made_by(), Kind::Op(_) | Kind::Call(_)) {
            return self.push_across(tangents, id);
        }
        let mut sum = None;
        for (i, operand) in self.var(id).made_of().into_iter().enumerate() {
            let Some(&tangent) = tangents.get(&operand) else { continue };
            let part = self.times_partial(id, tangent, i)?;
            sum = Some(match sum {
                Some(sum) => self.same(Op::Add, &[sum, part])?,
                None => part,
            });
        }
        Ok(sum)
    }
}

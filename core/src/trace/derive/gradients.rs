//! Gradients as they are asked for: of marks, of inputs, in a direction.

use super::Recorder;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::var::VarId;

impl Recorder<'_> {
    /// The gradients of the outputs, each times its cotangent, by the inputs; zeros where there is none.
    ///
    /// # Errors
    /// As [`Recorder::pull_back`].
    pub(crate) fn gradients(
        &mut self,
        outputs: &[(VarId, VarId)],
        inputs: &[VarId],
    ) -> Result<Vec<VarId>> {
        let ends: Vec<VarId> = outputs.iter().map(|&(output, _)| output).collect();
        let cone = self.cone(&ends, Some(inputs))?;
        let gradients = self.pull_back(&cone, outputs, inputs)?;
        let pairs = gradients.into_iter().zip(inputs);
        Ok(pairs.map(|(found, &input)| found.unwrap_or_else(|| self.zeros_like(input))).collect())
    }

    /// The tangents of the outputs, from inputs with theirs; zeros where there is none.
    ///
    /// # Errors
    /// As [`Recorder::push_forward`].
    pub(crate) fn tangents(
        &mut self,
        inputs: &[(VarId, VarId)],
        outputs: &[VarId],
    ) -> Result<Vec<VarId>> {
        let starts: Vec<VarId> = inputs.iter().map(|&(input, _)| input).collect();
        let cone = self.cone(outputs, Some(&starts))?;
        let tangents = self.push_forward(&cone, inputs, outputs)?;
        let pairs = tangents.into_iter().zip(outputs);
        Ok(pairs.map(|(found, &output)| found.unwrap_or_else(|| self.zeros_like(output))).collect())
    }

    /// Adds to the gradients of all marks that `output` was computed from.
    ///
    /// # Errors
    /// As [`Recorder::pull_back`].
    pub(crate) fn add_to_gradients(&mut self, output: VarId, cotangent: VarId) -> Result<()> {
        let cone = self.cone(&[output], None)?;
        let marks: Vec<VarId> =
            cone.order().iter().copied().filter(|&id| self.is_mark(id)).collect();
        let gradients = self.untracked(|recorder| {
            let mut gradients = recorder.pull_back(&cone, &[(output, cotangent)], &marks)?;
            for (gradient, &mark) in gradients.iter_mut().zip(&marks) {
                if let (Some(gradient), Some(before)) = (gradient, recorder.gradient_of(mark)) {
                    // Of a mark that is the output the gradient was the cotangent.
                    if mark != output {
                        *gradient = recorder.same(Op::Add, &[before, *gradient])?;
                    }
                }
            }
            Ok(gradients)
        })?;
        for (&mark, gradient) in marks.iter().zip(gradients) {
            if let Some(gradient) = gradient {
                self.keep_gradient(mark, gradient);
            }
        }
        Ok(())
    }

    /// The gradient that a variable was given, else the one in the direction of the marks' tangents, else zeros.
    ///
    /// # Errors
    /// As [`Recorder::push_forward`].
    pub(crate) fn gradient(&mut self, id: VarId) -> Result<VarId> {
        if let Some(gradient) = self.gradient_of(id) {
            return Ok(gradient);
        }
        let cone = self.cone(&[id], None)?;
        let tangent = |&id: &VarId| Some((id, self.var(id).cold.as_ref()?.tangent?));
        let inputs: Vec<(VarId, VarId)> = cone.order().iter().filter_map(tangent).collect();
        if inputs.is_empty() {
            return Ok(self.zeros_like(id));
        }
        let tangents = self.untracked(|recorder| recorder.push_forward(&cone, &inputs, &[id]))?;
        Ok(tangents[0].unwrap_or_else(|| self.zeros_like(id)))
    }

    /// Whether gradients end at a variable: it was marked, and is not behind another mark.
    fn is_mark(&self, id: VarId) -> bool {
        let variable = self.var(id);
        variable.tracked && !variable.made_of().iter().any(|&operand| self.var(operand).tracked)
    }

    /// The gradient that a variable was given.
    pub(crate) fn gradient_of(&self, id: VarId) -> Option<VarId> {
        self.var(id).cold.as_ref()?.gradient
    }

    /// Gives a variable a gradient.
    pub(crate) fn keep_gradient(&mut self, id: VarId, gradient: VarId) {
        let gradient = self.table.detached(gradient);
        self.table.set_gradient(id, Some(gradient));
    }

    /// Gives a variable a tangent.
    pub(crate) fn keep_tangent(&mut self, id: VarId, tangent: VarId) {
        let tangent = self.table.detached(tangent);
        self.table.set_tangent(id, Some(tangent));
    }

    /// Ones, as many as a variable has lanes.
    pub(crate) fn ones_like(&mut self, id: VarId) -> VarId {
        let one = self.one(self.dtype(id));
        let (kind, dtype, size) = (self.var(one).kind, self.dtype(id), self.size(id));
        let bits = kind.number().unwrap_or_default();
        self.literal(dtype, bits, size)
    }

    pub(super) fn zeros_like(&mut self, id: VarId) -> VarId {
        let (dtype, size) = (self.dtype(id), self.size(id));
        self.literal(dtype, 0, size)
    }

    /// A gradient or tangent with the type and lanes of what it is one of.
    ///
    /// # Errors
    /// `SizeMismatch`, `TypeMismatch`.
    pub(crate) fn fitted(&mut self, op: &'static str, x: VarId, of: VarId) -> Result<VarId> {
        let x = self.writable(op, x, self.dtype(of))?;
        let size = crate::trace::broadcast_size(op, self.size(x), self.size(of))?;
        if size != self.size(of) {
            let (lhs, rhs) = (self.size(x), self.size(of));
            return Err(crate::error::Error::SizeMismatch { op, lhs, rhs });
        }
        self.widen(x, size)
    }

    /// Records what is not tracked.
    pub(crate) fn untracked<R>(&mut self, record: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.table.untracked, true);
        let result = record(self);
        self.table.untracked = before;
        result
    }
}

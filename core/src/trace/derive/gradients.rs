//! What is kept with variables for their derivatives: gradients, directions.

use super::{Cone, Recorder};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::ir::var::VarId;

impl Recorder<'_> {
    /// The marks among what lies behind outputs, and what is before an isolated part of the tape.
    pub(crate) fn marks_of(&self, cone: &Cone) -> Vec<VarId> {
        let ends = |id: VarId| self.is_mark(id) || self.var(id).serial < cone.from;
        cone.order.iter().copied().filter(|&id| ends(id)).collect()
    }

    fn is_mark(&self, id: VarId) -> bool {
        !self.var(id).made_of().iter().any(|&operand| self.var(operand).tracked)
    }

    /// Adds to the gradient of a mark that is none of the outputs, whose gradients were their cotangents; or to what is
    /// before an isolated part.
    ///
    /// # Errors
    /// None at present.
    pub(crate) fn add_to_gradient(
        &mut self,
        mark: VarId,
        part: VarId,
        outputs: &[VarId],
    ) -> Result<()> {
        let is_mark = self.is_mark(mark);
        // Nobody could ask for it.
        if is_mark && self.var(mark).external == 0 {
            return Ok(());
        }
        let before = if is_mark { self.gradient_of(mark) } else { self.table.border(mark) };
        let sum = match before {
            Some(before) if !is_mark || !outputs.contains(&mark) => {
                self.same(Op::Add, &[before, part])?
            }
            _ => part,
        };
        if is_mark {
            self.keep_gradient(mark, sum);
        } else {
            let sum = self.table.detached(sum);
            self.table.set_border(mark, sum);
        }
        Ok(())
    }

    /// The gradient that a variable was given.
    pub(crate) fn gradient_of(&self, id: VarId) -> Option<VarId> {
        self.var(id).cold.as_ref()?.gradient
    }

    /// The direction that a variable was given.
    pub(crate) fn tangent_of(&self, id: VarId) -> Option<VarId> {
        self.var(id).cold.as_ref()?.tangent
    }

    /// Gives a variable a gradient.
    pub(crate) fn keep_gradient(&mut self, id: VarId, gradient: VarId) {
        let gradient = self.table.detached(gradient);
        self.table.set_gradient(id, Some(gradient));
    }

    /// Gives a variable a direction.
    pub(crate) fn keep_tangent(&mut self, id: VarId, tangent: VarId) {
        let tangent = self.table.detached(tangent);
        self.table.set_tangent(id, Some(tangent));
    }

    /// What a variable's gradient is multiplied with, or its direction: the gradient that it was given, else ones.
    pub(crate) fn seed(&mut self, id: VarId) -> VarId {
        self.gradient_of(id).unwrap_or_else(|| self.ones_like(id))
    }

    /// Ones, as many as a variable has lanes.
    pub(crate) fn ones_like(&mut self, id: VarId) -> VarId {
        let one = self.one(self.dtype(id));
        let bits = self.var(one).kind.number().unwrap_or_default();
        let (dtype, size) = (self.dtype(id), self.size(id));
        self.literal(dtype, bits, size)
    }

    /// Zeros, as many as a variable has lanes.
    pub(crate) fn zeros_like(&mut self, id: VarId) -> VarId {
        let (dtype, size) = (self.dtype(id), self.size(id));
        self.literal(dtype, 0, size)
    }

    /// A gradient or tangent with the type and lanes of what it is one of.
    ///
    /// # Errors
    /// `SizeMismatch`, `TypeMismatch`.
    pub(crate) fn fitted(&mut self, op: &'static str, x: VarId, of: VarId) -> Result<VarId> {
        let x = self.writable(op, x, self.dtype(of))?;
        let (lhs, rhs) = (self.size(x), self.size(of));
        if lhs != 1 && lhs != rhs {
            return Err(Error::SizeMismatch { op, lhs, rhs });
        }
        self.widen(x, rhs)
    }
}

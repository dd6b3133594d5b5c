//! Derivatives of arrays (S29).

use super::Array;
use crate::error::{Error, Result};
use crate::ir::var::VarId;
use crate::session::Session;

impl Array {
    /// The same lanes as a variable that is marked: derivatives of what is computed from it may be asked for. One that is
    /// tracked already is given back.
    ///
    /// **Evaluation**: traced; what is in memory is shared.
    ///
    /// # Errors
    /// `UnsupportedType` for what is no float; `Recording` in the body of a loop.
    pub fn enable_grad(&self) -> Result<Self> {
        if self.is_tracked() { Ok(self.clone()) } else { self.marked("enable_grad") }
    }

    /// The same lanes behind a mark of its own.
    pub(crate) fn marked(&self, op: &'static str) -> Result<Self> {
        let dtype = self.dtype();
        if !dtype.is_float() {
            let expected = "an array of floats";
            return Err(Error::UnsupportedType { op, dtype, expected });
        }
        self.record_as(op, |table, id| table.marked(id))
    }

    /// Whether it is marked, or computed from what is: [`Session::grad`] and its like know what it is made of.
    pub fn is_tracked(&self) -> bool {
        self.session().with_table(|table| table.get(self.id()).tracked)
    }

    /// The same lanes without what they are made of.
    ///
    /// # Errors
    /// `Recording` in the body of a loop.
    pub fn detach(&self) -> Result<Self> {
        self.record_as("detach", |table, id| table.detached(id))
    }

    fn record_as(
        &self,
        op: &'static str,
        record: impl FnOnce(&mut crate::ir::table::Table, VarId) -> VarId,
    ) -> Result<Self> {
        let handle = self.session().with_table(|table| {
            let scope = table.get(self.id()).scope;
            if scope != 0 {
                return Err(table.inside(op, scope));
            }
            let id = record(table, self.id());
            Ok((id, table.get(id).generation))
        })?;
        Ok(Self::adopt(self.session().clone(), handle))
    }

    /// Adds to the gradients of all marks it was computed from those of its lanes, each times 1 or its gradient if that
    /// was set. Recorded, not run.
    ///
    /// # Errors
    /// `Argument` if it is not tracked, or was made by what has no derivative.
    pub fn backward(&self) -> Result<()> {
        self.check_tracked("backward")?;
        self.session().with_recorder(|recorder| {
            let id = self.id();
            let cotangent = match recorder.gradient_of(id) {
                Some(gradient) => gradient,
                None => recorder.ones_like(id),
            };
            recorder.add_to_gradients(id, cotangent)
        })
    }

    /// Gives it the tangent 1, or its gradient if that was set: [`Array::gradient`] of what is computed from it then is
    /// the derivative in that direction.
    ///
    /// # Errors
    /// `Argument` if it is not tracked.
    pub fn forward(&self) -> Result<()> {
        self.check_tracked("forward")?;
        self.session().with_recorder(|recorder| {
            let id = self.id();
            let tangent = match recorder.gradient_of(id) {
                Some(gradient) => gradient,
                None => recorder.ones_like(id),
            };
            recorder.keep_tangent(id, tangent);
            Ok(())
        })
    }

    /// Its gradient: what [`Array::backward`] added or [`Array::set_gradient`] set, else the derivative in the direction
    /// that [`Array::forward`] gave, else 0. It has as many lanes and is not tracked.
    ///
    /// # Errors
    /// `Argument` if it is not tracked.
    pub fn gradient(&self) -> Result<Self> {
        self.check_tracked("gradient")?;
        self.session().record(|recorder| recorder.gradient(self.id()))
    }

    /// Sets its gradient, which has its type and as many lanes, or one.
    ///
    /// # Errors
    /// `Argument` if it is not tracked; `SizeMismatch`, `TypeMismatch`, `ForeignArray`.
    pub fn set_gradient(&self, gradient: &Self) -> Result<()> {
        let op = "set_gradient";
        self.check_tracked(op)?;
        self.check_session(op, gradient)?;
        self.session().with_recorder(|recorder| {
            let gradient = recorder.fitted(op, gradient.id(), self.id())?;
            recorder.keep_gradient(self.id(), gradient);
            Ok(())
        })
    }

    /// Forgets its gradient and tangent.
    pub fn clear_gradient(&self) {
        self.session().with_table(|table| {
            table.set_gradient(self.id(), None);
            table.set_tangent(self.id(), None);
        });
    }

    fn check_tracked(&self, op: &'static str) -> Result<()> {
        if self.is_tracked() {
            return Ok(());
        }
        let what = "got what is computed from no marked array; enable_grad(x) marks x before".into();
        Err(Error::Argument { op, what })
    }
}

impl Session {
    /// The gradients of the outputs, each times its cotangent (or 1 in every lane), by the inputs in their order; zeros
    /// where no output depends on one. They are tracked: derivatives of them may be asked for.
    ///
    /// **Sizes**, **dtypes**: those of the inputs. **Evaluation**: traced.
    ///
    /// # Errors
    /// `Argument` if what was computed has no derivative; `SizeMismatch`, `ForeignArray`.
    pub fn grad(
        &self,
        outputs: &[(&Array, Option<&Array>)],
        inputs: &[&Array],
    ) -> Result<Vec<Array>> {
        let op = "grad";
        let input_ids = self.ids(op, inputs)?;
        let arrays: Vec<&Array> = outputs.iter().map(|(output, _)| *output).collect();
        let output_ids = self.ids(op, &arrays)?;
        self.record_all(|recorder| {
            let mut pairs = Vec::with_capacity(outputs.len());
            for (&id, (_, cotangent)) in output_ids.iter().zip(outputs) {
                let cotangent = match cotangent {
                    Some(cotangent) => {
                        recorder.fitted(op, self.ids(op, &[cotangent])?[0], id)?
                    }
                    None => recorder.ones_like(id),
                };
                pairs.push((id, cotangent));
            }
            recorder.gradients(&pairs, &input_ids)
        })
    }

    /// The derivatives of the outputs in the direction of the inputs' tangents (or 1 in every lane); zeros where an output
    /// depends on no input. They are tracked.
    ///
    /// **Sizes**, **dtypes**: those of the outputs. **Evaluation**: traced.
    ///
    /// # Errors
    /// As [`Session::grad`].
    pub fn jvp(
        &self,
        outputs: &[&Array],
        inputs: &[(&Array, Option<&Array>)],
    ) -> Result<Vec<Array>> {
        let op = "jvp";
        let output_ids = self.ids(op, outputs)?;
        let arrays: Vec<&Array> = inputs.iter().map(|(input, _)| *input).collect();
        let input_ids = self.ids(op, &arrays)?;
        self.record_all(|recorder| {
            let mut pairs = Vec::with_capacity(inputs.len());
            for (&id, (_, tangent)) in input_ids.iter().zip(inputs) {
                let tangent = match tangent {
                    Some(tangent) => recorder.fitted(op, self.ids(op, &[tangent])?[0], id)?,
                    None => recorder.ones_like(id),
                };
                pairs.push((id, tangent));
            }
            recorder.tangents(&pairs, &output_ids)
        })
    }

    /// Runs `work`, of which nothing is tracked.
    ///
    /// # Errors
    /// What `work` returns.
    pub fn no_grad<R>(&self, work: impl FnOnce() -> R) -> R {
        /// What was before comes back, whatever happens.
        struct Before<'s>(&'s Session, bool);
        impl Drop for Before<'_> {
            fn drop(&mut self) {
                self.0.with_table(|table| table.untracked = self.1);
            }
        }
        let before = self.with_table(|table| std::mem::replace(&mut table.untracked, true));
        let _before = Before(self, before);
        work()
    }

    /// Takes marks back: what was computed from them is no longer tracked for their sake.
    pub(crate) fn unmark(&self, marks: &[&Array], outputs: &[&Array]) {
        let [marks, outputs] =
            [marks, outputs].map(|arrays| arrays.iter().map(|array| array.id()).collect::<Vec<_>>());
        self.with_table(|table| table.unmark(&marks, &outputs));
    }
}

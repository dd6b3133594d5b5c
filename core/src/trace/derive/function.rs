//! Calls of functions: their rule, or what they are made of.

use super::Recorder;
use crate::error::Result;
use crate::ir::body::StepCode;
use crate::ir::var::{Kind, MAX_OPERANDS, VarId, Variable};
use crate::trace::functions::{self, Function};
use crate::trace::nested::NestedCall;

impl Recorder<'_> {
    /// The row with the partial derivatives of the function that `id` is a call of.
    pub(super) fn rule(&self, id: VarId) -> Option<&'static Function> {
        let Kind::Call(body) = self.var(id).made_by() else { return None };
        let body = self.table.body(body);
        // The operator has no row of its own.
        let name = if body.name == "%" { "fmod" } else { body.name };
        let function = functions::find(name)?;
        // Functions of complex numbers and vectors share names with those of arrays.
        let is_row = body.shape.is_empty() && function.arity == body.n_arguments;
        (is_row && function.has_partials()).then_some(function)
    }

    /// The value of a call, recorded step by step.
    pub(super) fn steps_of(&mut self, id: VarId) -> Result<VarId> {
        let variable = self.var(id);
        let (call, position) = match variable.made_by() {
            Kind::Output { position } => (variable.made_of()[0], position as usize),
            _ => (id, 0),
        };
        let Kind::Call(body) = self.var(call).made_by() else {
            unreachable!("internal error: a result of no call")
        };
        let mut values = self.var(call).made_of().into_vec();
        let n_arguments = values.len();
        let body = self.table.body(body);
        // Functions in its recipe have rules; of operations on bits there is none.
        if let Some(nested) = NestedCall::of_shape(body.name, &body.shape) {
            let name = body.name;
            return Ok(self.expand_calls(name, &values, |x| nested.expand(x))?[position]);
        }
        let output = &body.results[position];
        let (result, wanted) = (output.value.index(), output.steps.clone());
        let steps = body.steps.clone();
        values.resize(n_arguments + steps.len(), id);
        for position in wanted {
            let step = &steps[position];
            values[n_arguments + position] = match step.code {
                StepCode::Constant(bits) => self.constant(step.dtype, bits),
                StepCode::Op(op) => {
                    let mut operands = [None; MAX_OPERANDS];
                    let mut size = 1;
                    for (operand, arg) in operands.iter_mut().zip(step.args.iter().flatten()) {
                        let arg = values[arg.index()];
                        *operand = Some(arg);
                        size = crate::trace::broadcast_size(op.name(), size, self.size(arg))?;
                    }
                    self.add(Variable::new(Kind::Op(op), step.dtype, size, operands))
                }
            };
        }
        Ok(values[result])
    }

    /// The value of a composite, recorded as what it is made of.
    pub(super) fn spelled_out(&mut self, id: VarId) -> Result<VarId> {
        let variable = self.var(id);
        let composite = variable.called_composite().cloned();
        let composite = composite.expect("internal error: a composite without a recipe");
        let (line, arguments) = (variable.line, variable.made_of());
        let results = self.table.record_composite(&composite, line, &arguments)?;
        self.owned.extend(&results);
        Ok(results[composite.position()])
    }
}

//! Functions in a trace: bodies from what recipes record, and what the values of calls need.

use std::collections::HashMap;
use std::sync::Arc;

use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::body::{Body, Callee, Output, Step, StepCode};
use crate::ir::composite::Composite;
use crate::ir::kernel::Reg;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId, Variable};

impl Body {
    /// The body of `results`, recorded into `table` from `arguments`.
    pub(crate) fn new(
        callee: &Callee<'_>,
        table: &Table,
        arguments: &[VarId],
        results: &[VarId],
    ) -> Self {
        let (name, shape, n_arguments) = (callee.name, callee.shape.into(), arguments.len());
        let mut body = Self { name, shape, n_arguments, steps: Vec::new(), results: Vec::new() };
        let known = (0..).zip(arguments).map(|(i, &id)| (id, Reg(i)));
        let mut known: HashMap<VarId, Reg> = known.collect();
        for &result in results {
            body.add_steps(table, result, &mut known);
            let output = body.output(known[&result], table.get(result).dtype);
            body.results.push(output);
        }
        body
    }

    /// Adds the steps that compute `result` and are not there yet.
    fn add_steps(&mut self, table: &Table, result: VarId, known: &mut HashMap<VarId, Reg>) {
        let mut path = vec![result];
        while let Some(&id) = path.last() {
            let variable = table.get(id);
            if let Some(operand) = variable.operands().find(|id| !known.contains_key(id)) {
                path.push(operand);
                continue;
            }
            path.pop();
            if known.contains_key(&id) {
                continue;
            }
            let value = Reg(exactly(self.n_arguments + self.steps.len()));
            self.steps.push(step(self.name, variable, known));
            known.insert(id, value);
        }
    }

    /// Finds what a result needs, from it back to the arguments.
    fn output(&self, value: Reg, dtype: DType) -> Output {
        let mut needed = vec![false; self.n_arguments + self.steps.len()];
        needed[value.index()] = true;
        let mut steps = Vec::new();
        let mut n_operations = 0;
        for (position, step) in self.steps.iter().enumerate().rev() {
            if needed[self.n_arguments + position] {
                step.args.iter().flatten().for_each(|arg| needed[arg.index()] = true);
                steps.push(position);
                n_operations += u32::from(matches!(step.code, StepCode::Op(_)));
            }
        }
        steps.reverse();
        let arguments = (0..self.n_arguments).filter(|&argument| needed[argument]).collect();
        Output { value, dtype, arguments, steps, n_operations }
    }
}

/// The instruction of a variable of a body.
fn step(name: &str, variable: &Variable, known: &HashMap<VarId, Reg>) -> Step {
    let code = match variable.kind {
        Kind::Constant(bits) => StepCode::Constant(bits),
        Kind::Op(op) => StepCode::Op(op),
        kind @ (Kind::Literal(_)
        | Kind::Index
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Composite
        | Kind::Gather { .. }
        | Kind::Fetch
        | Kind::Scatter { .. }
        | Kind::Reduce(_)
        | Kind::Primitive(_)
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { .. }
        | Kind::Region { .. }
        | Kind::Result { .. }
        | Kind::Data) => unreachable!("internal error: {} in the body of {name}", kind.name()),
    };
    let [first, second, third, _] = variable.operands.map(|operand| Some(known[&operand?]));
    Step { code, dtype: variable.dtype, args: [first, second, third] }
}

/// A function's result in a trace: the call, and what the result needs of the body.
#[derive(Clone, Copy)]
pub(crate) struct Application<'t> {
    /// The call.
    pub(crate) id: VarId,
    /// Its variable.
    pub(crate) call: &'t Variable,
    /// The function's body.
    pub(crate) body: &'t Body,
    /// The result.
    pub(crate) output: &'t Output,
}

impl Table {
    /// The name of a variable's operation, or of its function.
    pub(crate) fn name(&self, variable: &Variable) -> &'static str {
        self.named(variable.kind, variable.composite())
    }

    /// The same of what made a variable, which may be in memory.
    pub(crate) fn name_of_maker(&self, variable: &Variable) -> &'static str {
        self.named(variable.made_by(), variable.called_composite())
    }

    fn named(&self, kind: Kind, composite: Option<&Arc<Composite>>) -> &'static str {
        match (kind, composite) {
            (Kind::Call(body), _) => self.body(body).name,
            (_, Some(composite)) => composite.name,
            (kind, None) => kind.name(),
        }
    }

    /// The call that gives a variable its value, if one does.
    #[inline]
    pub(crate) fn application<'t>(
        &'t self,
        id: VarId,
        variable: &'t Variable,
    ) -> Option<Application<'t>> {
        let (id, call, position) = if let Kind::Output { position } = variable.kind {
            let id = variable.operands[0].expect("internal error: a result of no call");
            (id, self.get(id), position as usize)
        } else {
            (id, variable, 0)
        };
        let Kind::Call(body) = call.kind else { return None };
        let body = self.body(body);
        Some(Application { id, call, body, output: &body.results[position] })
    }

    /// The variables that the value of `id` needs.
    #[inline]
    pub(crate) fn needs<'t>(&'t self, id: VarId, variable: &'t Variable) -> Needs<'t> {
        match self.application(id, variable) {
            None => Needs { of: variable, chosen: None },
            Some(function) => Needs { of: function.call, chosen: Some(&function.output.arguments) },
        }
    }
}

/// The variables that a value needs: its operands, or the arguments of a function on which the result depends.
#[derive(Clone, Copy)]
pub(crate) struct Needs<'t> {
    of: &'t Variable,
    /// Positions among the operands, if not all are needed.
    chosen: Option<&'t [usize]>,
}

impl<'t> Needs<'t> {
    /// The variable at a position.
    #[inline]
    pub(crate) fn get(self, position: usize) -> Option<VarId> {
        match self.chosen {
            None => self.of.operand(position),
            Some(chosen) => self.of.operand(*chosen.get(position)?),
        }
    }

    /// All of them.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = VarId> + 't {
        (0..).map_while(move |position| self.get(position))
    }
}

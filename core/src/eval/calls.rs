//! Functions in kernels: those instructions of their bodies that are needed, each once.

use std::hash::{Hash, Hasher};

use super::build::Builder;
use super::kernel_registers::{Frame, Registers};
use crate::ir::body::{Step, StepCode};
use crate::ir::call::Application;
use crate::ir::kernel::{Inst, Reg};
use crate::ir::mix::Mix;
use crate::ir::var::{VarId, Variable};

impl Builder<'_, '_> {
    /// Gives a variable the value of a function.
    pub(super) fn call(&mut self, id: VarId, variable: &Variable, function: Application<'_>) {
        let mut frame = self.known.calls.frame(function);
        self.load_arguments(&mut frame, function, |_| true);
        self.run_steps(&mut frame, function, variable.scope);
        let value = frame[function.output.value.index()];
        self.alias(id, value.expect("internal error: a body without its result"));
        if function.body.results.len() == 1 {
            self.known.calls.single = frame;
        } else {
            self.known.calls.frames.insert(function.id, frame);
        }
    }

    /// Whether a function inside the region of `scope` takes arguments from outside, besides numbers.
    pub(super) fn has_outside(&self, id: VarId, scope: u32) -> bool {
        let needs = self.table.needs(id, self.table.get(id));
        needs
            .iter()
            .map(|need| self.table.get(need))
            .any(|need| need.scope < scope && need.kind.number().is_none())
    }

    /// Computes before the region of `scope`, in the code of the region `around` it, what a function inside makes of
    /// arguments from outside.
    pub(super) fn call_outside(&mut self, id: VarId, scope: u32, around: u32) {
        let variable = self.table.get(id);
        let function = self.table.application(id, variable);
        let function = function.expect("internal error: a call of nothing");
        let mut frame = self.known.calls.frame(function);
        self.load_arguments(&mut frame, function, |argument| argument.scope < scope);
        self.run_steps(&mut frame, function, around);
        self.known.calls.frames.insert(function.id, frame);
    }

    fn load_arguments(
        &mut self,
        frame: &mut Frame,
        function: Application<'_>,
        is_there: impl Fn(&Variable) -> bool,
    ) {
        for &argument in &function.output.arguments {
            let id =
                function.call.operand(argument).expect("internal error: an argument is missing");
            if frame[argument].is_none() && is_there(self.table.get(id)) {
                frame[argument] = self.known(id);
            }
        }
    }

    /// Emits the steps that a result needs and whose operands are there.
    fn run_steps(&mut self, frame: &mut Frame, function: Application<'_>, scope: u32) {
        let Application { call, body, output, .. } = function;
        self.steps += output.steps.len();
        for &position in &output.steps {
            let Step { code, dtype, args } = body.steps[position];
            let place = body.n_arguments + position;
            let regs = args.map(|arg| frame[arg?.index()]);
            let is_ready = args.iter().zip(regs).all(|(arg, reg)| arg.is_some() == reg.is_some());
            if frame[place].is_some() || !is_ready {
                continue;
            }
            let is_uniform = match code {
                StepCode::Constant(_) => true,
                StepCode::Op(_) => {
                    self.size != 1 && regs.into_iter().flatten().all(Registers::is_uniform)
                }
            };
            let inst = Inst { code: code.into(), dtype, args: regs, serial: call.serial };
            // Outside of regions, uniform values are there before all others.
            let scope = if is_uniform { 0 } else { scope };
            frame[place] = Some(self.step(code, inst, scope, is_uniform));
        }
    }

    /// The register of an instruction of a body: that of an equal one of the same scope, if there is.
    fn step(&mut self, code: StepCode, inst: Inst, scope: u32, is_uniform: bool) -> Reg {
        // One call alone has none: its body has each instruction once.
        if self.walk.n_calls == 1 || !self.table.numbering.enabled {
            self.draft.n_ops += 1;
            return self.known.push(inst, is_uniform);
        }
        let hash = hash(code, &inst, scope);
        let equal = |&(other, at, reg): &(u64, u32, Reg)| {
            let known = self.known.inst(reg);
            let same_value = known.code == inst.code && known.args == inst.args;
            other == hash && at == scope && same_value && known.dtype == inst.dtype
        };
        if let Some(&(_, _, reg)) = self.known.calls.known.find(hash, equal) {
            return reg;
        }
        self.draft.n_ops += 1;
        let reg = self.known.push(inst, is_uniform);
        self.known.calls.known.insert_unique(hash, (hash, scope, reg), |&(hash, _, _)| hash);
        reg
    }
}

fn hash(code: StepCode, inst: &Inst, scope: u32) -> u64 {
    let arg = |i: usize| inst.args[i].map_or(0, |reg: Reg| u64::from(reg.0) + 1);
    let mut hasher = Mix::default();
    code.hash(&mut hasher);
    hasher.write_u64(inst.dtype as u64 | u64::from(scope) << 32);
    hasher.write_u64(arg(0) | arg(1) << 32);
    hasher.write_u64(arg(2));
    hasher.finish()
}

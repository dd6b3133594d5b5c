//! Functions in kernels: the instructions of their bodies, each once.

use std::hash::Hasher;

use hashbrown::HashTable;

use super::build::Builder;
use crate::ir::body::{Body, StepCode};
use crate::ir::kernel::{Inst, Reg};
use crate::ir::mix::Mix;
use crate::ir::var::{VarId, Variable};

/// Room for what calls have in common.
#[derive(Default)]
pub(super) struct Calls {
    /// Registers of a body's arguments and steps.
    regs: Vec<Reg>,
    /// Instructions of bodies with their hashes and scopes: a sine and a cosine share a good part.
    known: HashTable<(u64, u32, Reg)>,
}

impl Calls {
    /// Forgets the last kernel, in the time that it took and not in that of the largest one.
    pub(super) fn clear(&mut self) {
        if self.known.len() < self.known.capacity() / 8 {
            self.known = HashTable::new();
        } else {
            self.known.clear();
        }
    }
}

impl Builder<'_, '_> {
    /// Gives a variable the value of `body` of the arguments in `args`.
    pub(super) fn call(
        &mut self,
        id: VarId,
        variable: &Variable,
        body: &Body,
        args: [Option<Reg>; 3],
    ) {
        // Arguments whose values each lane has of its own.
        let own = variable.operands().enumerate().fold(0, |own, (i, operand)| {
            own | u8::from(!self.is_uniform(self.table.get(operand))) << i
        });
        self.steps += body.steps.len();
        let mut regs = std::mem::take(&mut self.known.calls.regs);
        regs.clear();
        regs.extend(args.into_iter().flatten());
        for step in &body.steps {
            let args = step.args.map(|arg| arg.map(|arg| regs[arg.index()]));
            let code = step.code.into();
            let inst = Inst { code, dtype: step.dtype, args, serial: variable.serial };
            let is_uniform = step.depends & own == 0;
            // Outside of regions, uniform values are there before all others.
            let scope = if is_uniform { 0 } else { variable.scope };
            regs.push(self.step(step.code, inst, scope, is_uniform));
        }
        let result = regs.last().copied().expect("internal error: an empty body");
        self.known.calls.regs = regs;
        self.alias(id, result);
    }

    /// The register of an instruction of a body: that of an equal one of the same scope, if there is.
    fn step(&mut self, code: StepCode, inst: Inst, scope: u32, is_uniform: bool) -> Reg {
        // One call alone has none: its body has each instruction once.
        if self.walk.n_calls == 1 || !self.table.value_numbering {
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
    let (tag, payload) = match code {
        StepCode::Constant(bits) => (0, bits),
        StepCode::Op(op) => (1, op as u64),
    };
    let arg = |i: usize| inst.args[i].map_or(0, |reg: Reg| u64::from(reg.0) + 1);
    let mut hasher = Mix::default();
    hasher.write_u64(payload);
    hasher.write_u64(tag | (inst.dtype as u64) << 8 | u64::from(scope) << 32);
    hasher.write_u64(arg(0) | arg(1) << 32);
    hasher.write_u64(arg(2));
    hasher.finish()
}

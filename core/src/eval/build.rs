//! Builds the kernel of a group: from its writes back to what is in memory.

use std::sync::Arc;

use super::alike::{Alike, Group};
use super::consecutive::run;
use super::draft::{Draft, Finished};
use super::kernel_registers::Registers;
use super::launches::{Binding, Check, Launch};
use super::regions::Regions;
use super::walk::{POLL_INTERVAL, Walk, is_memory_operand};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{Access, BufferIndex, BufferParam, Code, Inst, Reg, Target};
use crate::ir::op::ScatterMode;
use crate::ir::sections::Section;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId, Variable};
use crate::ir::verify;

/// Builds kernels one after the other, reusing its maps.
pub(super) struct Builder<'w, 't> {
    pub(super) table: &'t Table,
    pub(super) walk: &'w Walk<'t>,
    target: Target,
    stage: u32,
    pub(super) size: u64,
    pub(super) known: &'w mut Registers,
    pub(super) regions: Regions,
    pub(super) draft: Draft,
    /// Of which variables the draft's literals are.
    literals: Vec<VarId>,
    /// Steps taken, to look at the interrupt flag now and then.
    pub(super) steps: usize,
    is_interrupted: bool,
}

impl<'w, 't> Builder<'w, 't> {
    pub(super) fn new(
        table: &'t Table,
        walk: &'w Walk<'t>,
        target: Target,
        known: &'w mut Registers,
    ) -> Self {
        Self {
            table,
            walk,
            target,
            stage: 0,
            size: 0,
            known,
            regions: Regions::default(),
            draft: Draft::default(),
            literals: Vec::new(),
            steps: 0,
            is_interrupted: false,
        }
    }

    /// The launch of one group.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn build(&mut self, group: Group) -> Result<Launch> {
        self.known.clear();
        self.regions.clear();
        self.literals.clear();
        self.stage = group.stage;
        self.size = group.size;
        for &node in &group.writes {
            self.bind_written(self.walk.nodes[node].id);
        }
        for &node in &group.writes {
            self.write(self.walk.nodes[node].id);
        }
        let draft = std::mem::take(&mut self.draft);
        if self.is_interrupted {
            return Err(Error::Interrupted);
        }
        let literals = std::mem::take(&mut self.literals);
        let n_members = group.alike.as_ref().map_or(1, Alike::n_members);
        let Finished { kernel, bindings, accesses } =
            draft.finish(self.known, self.target, self.size, n_members);
        if cfg!(debug_assertions)
            && let Err(rule) = verify::verify(&kernel)
        {
            panic!("internal error: bad kernel: {rule}\n{kernel}");
        }
        let checks = accesses.iter().map(|&id| Check::of(self.table, id)).collect();
        let kernel = Arc::new(kernel);
        let (size, together, others) = (self.size, group.together, Vec::new());
        let mut launch = Launch { kernel, size, bindings, checks, others, together };
        if let Some(alike) = group.alike {
            launch.others = alike.members(&launch, &literals, &accesses, self.walk);
        }
        Ok(launch)
    }

    /// Computes a value, and writes it.
    fn write(&mut self, id: VarId) {
        let variable = self.table.get(id);
        let (code, args) = match variable.kind {
            Kind::Reduce(op) => {
                let value = self.operand(variable, 0);
                let buffer = self.bind(Binding::Write(id), variable.dtype, true);
                (Code::Reduce { op, buffer }, [value, None, None])
            }
            Kind::Scatter { .. } => {
                let args = [1, 2, 3].map(|position| self.operand(variable, position));
                let target = variable.operands[0].expect("internal error: scatter without target");
                let binding = Binding::Update { result: id, target };
                let buffer = self.bind(binding, variable.dtype, true);
                self.draft.give_length(buffer);
                (self.scatter(id, buffer), args)
            }
            // The region writes it.
            Kind::Result { memory: true, .. } => {
                self.operand(variable, 0);
                return;
            }
            Kind::Literal(_)
            | Kind::Constant(_)
            | Kind::Index
            | Kind::Op(_)
            | Kind::Call(_)
            | Kind::Output { .. }
            | Kind::Composite
            | Kind::Gather { .. }
            | Kind::Fetch
            | Kind::Primitive(_)
            | Kind::ActiveMask
            | Kind::RunningMask
            | Kind::Phi { .. }
            | Kind::Region { .. }
            | Kind::Result { memory: false, .. }
            | Kind::Data => {
                let value = self.value(id);
                let buffer = self.bind(Binding::Write(id), variable.dtype, true);
                (Code::Store(buffer), [Some(value), None, None])
            }
        };
        self.draft.n_ops += usize::from(!matches!(code, Code::Store(_)));
        let inst = Inst { code, dtype: variable.dtype, args, serial: variable.serial };
        self.known.insts.push(Section::Writes, inst);
    }

    /// The instruction of a scatter, which numbers its access.
    fn scatter(&mut self, id: VarId, target: BufferIndex) -> Code {
        let variable = self.table.get(id);
        let Kind::Scatter { op, mode, checked, writer } = variable.kind else {
            unreachable!("internal error: {} as a scatter", variable.kind.name())
        };
        let name = op.function(writer);
        let access = checked.then(|| self.access(id, Access { op: name, ..Access::of(target) }, 2));
        let is_slower = self.target.lane_order && mode == ScatterMode::Fast;
        let mode = if is_slower { ScatterMode::Exact } else { mode };
        Code::Scatter { op, target, access, mode }
    }

    /// Binds the arrays that regions write, before anything is computed.
    fn bind_written(&mut self, id: VarId) {
        let variable = self.table.get(id);
        if !matches!(variable.kind, Kind::Result { memory: true, .. }) {
            return;
        }
        if let Some((state, target)) = self.array_of(id) {
            let buffer = self.bind(Binding::Update { result: id, target }, variable.dtype, true);
            self.draft.give_length(buffer);
            self.regions.write(state, buffer);
        }
    }

    fn operand(&mut self, variable: &Variable, position: usize) -> Option<Reg> {
        variable.operands[position].map(|operand| self.value(operand))
    }

    /// The register of a variable, computing first what it needs.
    pub(super) fn value(&mut self, id: VarId) -> Reg {
        if let Some(reg) = self.known(id) {
            return reg;
        }
        let base = self.known.path.len();
        self.known.path.push((id, 0));
        'values: while self.known.path.len() > base {
            self.steps += 1;
            // A region, which is built on top of the path, is finished.
            if base == 0 && self.steps >= POLL_INTERVAL {
                self.steps = 0;
                self.is_interrupted |= interrupt::is_requested();
            }
            if base == 0 && self.is_interrupted {
                // Any register will do: the draft is thrown away.
                self.known.path.clear();
                return Reg(0);
            }
            let Some((id, next)) = self.known.path.pop() else { break };
            let variable = self.table.get(id);
            let needs = self.table.needs(id, variable);
            for position in next.. {
                let need = match variable.region() {
                    Some(region) => self.region_need(id, region, position),
                    None => needs.get(position),
                };
                let Some(operand) = need else { break };
                if !is_memory_operand(self.table, variable, position) && self.is_to_compute(operand)
                {
                    self.known.path.extend([(id, position + 1), (operand, 0)]);
                    continue 'values;
                }
            }
            self.compute(id, variable);
        }
        self.known.reg_of.get(id).expect("internal error: a value was not computed")
    }

    /// Whether a variable must be computed in this kernel and is not yet.
    fn is_to_compute(&self, id: VarId) -> bool {
        let variable = self.table.get(id);
        self.known.reg_of.get(id).is_none()
            && variable.kind.number().is_none()
            && !self.is_in_memory(id)
            && run(self.table, variable, self.size).is_none()
    }

    /// Whether a variable's value is there before this kernel runs.
    fn is_in_memory(&self, id: VarId) -> bool {
        self.walk.node(id).is_none_or(|node| node.stored && node.stage < self.stage)
    }

    /// The register of a variable that needs no operands here: computed already, a number, or loaded.
    pub(super) fn known(&mut self, id: VarId) -> Option<Reg> {
        let variable = self.table.get(id);
        let seen = self.known.reg_of.get(id);
        // Each use of a literal has its own place in the key (S3).
        if let Kind::Literal(bits) = variable.kind {
            let number = exactly(self.draft.literals.len());
            self.draft.literals.push((variable.dtype, bits));
            self.literals.push(id);
            self.draft.n_ops += usize::from(seen.is_none());
            return Some(self.emit(id, variable, Code::Literal(number), [None; 3], true));
        }
        if seen.is_some() {
            return seen;
        }
        if let Kind::Constant(bits) = variable.kind {
            self.draft.n_ops += 1;
            return Some(self.emit(id, variable, Code::Constant(bits), [None; 3], true));
        }
        if self.is_in_memory(id) {
            let buffer = self.bind(Binding::Read(id), variable.dtype, false);
            let uniform = self.is_uniform(variable);
            return Some(self.emit(id, variable, Code::Load(buffer), [None; 3], uniform));
        }
        let (source, first) = run(self.table, variable, self.size)?;
        let binding = Binding::Run { lanes: id, source, first };
        let buffer = self.bind(binding, variable.dtype, false);
        self.draft.n_ops += 1;
        Some(self.emit(id, variable, Code::Load(buffer), [None; 3], false))
    }

    /// Adds the instruction of a variable whose operands are known.
    fn compute(&mut self, id: VarId, variable: &Variable) {
        let is_plain = matches!(variable.kind, Kind::Op(_));
        if !is_plain && self.is_region_part(id, variable) {
            return;
        }
        if !is_plain && let Some(function) = self.table.application(id, variable) {
            return self.call(id, variable, function);
        }
        let mut args = [None; 3];
        let indexed =
            matches!(variable.kind, Kind::Gather { .. } | Kind::Fetch | Kind::Scatter { .. });
        let [memory, first, second, third] = variable.operands;
        let operands = if indexed { [first, second, third] } else { [memory, first, second] };
        for (arg, operand) in args.iter_mut().zip(operands) {
            *arg = operand.and_then(|operand| self.known(operand));
        }
        let code = match variable.kind {
            Kind::Index => Code::Index,
            Kind::Op(op) => Code::Op(op),
            Kind::Gather { checked } => {
                let source = variable.operands[0].expect("internal error: gather without source");
                let dtype = self.table.get(source).dtype;
                let buffer = self.bind(Binding::Read(source), dtype, false);
                self.draft.give_length(buffer);
                let access = checked.map(|reader| {
                    let (op, axis) = (reader.name(), reader.axis());
                    self.access(id, Access { op, axis, ..Access::of(buffer) }, 1)
                });
                Code::Gather { source: buffer, access }
            }
            Kind::Fetch => {
                let memory = variable.operands[0].and_then(|memory| self.written(memory));
                let source = memory.expect("internal error: a fetch from what is not written");
                Code::Gather { source, access: None }
            }
            Kind::RunningMask => Code::RunningMask,
            Kind::Scatter { .. } => {
                let target = self.written(id).expect("internal error: a write that nobody wants");
                self.scatter(id, target)
            }
            Kind::Literal(_)
            | Kind::Constant(_)
            | Kind::Call(_)
            | Kind::Output { .. }
            | Kind::Composite
            | Kind::Reduce(_)
            | Kind::Primitive(_)
            | Kind::ActiveMask
            | Kind::Phi { .. }
            | Kind::Region { .. }
            | Kind::Result { .. }
            | Kind::Data => {
                unreachable!("internal error: {} inside a kernel", variable.kind.name())
            }
        };
        self.draft.n_ops += 1;
        let uniform = self.is_uniform(variable);
        self.emit(id, variable, code, args, uniform);
    }

    pub(super) fn is_uniform(&self, variable: &Variable) -> bool {
        variable.size == 1 && self.size != 1 && variable.scope == 0
    }

    /// Gives a variable the register of another.
    pub(super) fn alias(&mut self, id: VarId, reg: Reg) {
        self.known.reg_of.insert(id, reg);
    }

    /// Adds an instruction of every lane.
    pub(super) fn emit_lane(&mut self, id: VarId, code: Code, args: [Option<Reg>; 3]) -> Reg {
        self.draft.n_ops += usize::from(code.has_value());
        let variable = self.table.get(id);
        let dtype = variable.dtype;
        self.known.push(Inst { code, dtype, args, serial: variable.serial }, false)
    }

    #[inline]
    fn emit(
        &mut self,
        id: VarId,
        variable: &Variable,
        code: Code,
        args: [Option<Reg>; 3],
        uniform: bool,
    ) -> Reg {
        let inst = Inst { code, dtype: variable.dtype, args, serial: variable.serial };
        let reg = self.known.push(inst, uniform);
        self.known.reg_of.insert(id, reg);
        reg
    }

    pub(super) fn give_length(&mut self, buffer: BufferIndex) {
        self.draft.give_length(buffer);
    }

    /// The buffer parameter of a binding; a variable that is read twice has one.
    pub(super) fn bind(&mut self, binding: Binding, dtype: DType, written: bool) -> BufferIndex {
        let read = match binding {
            Binding::Read(id) => Some(id),
            Binding::Run { .. }
            | Binding::Write(_)
            | Binding::Update { .. }
            | Binding::Scratch(_) => None,
        };
        if let Some(buffer) = read.and_then(|id| self.known.buffer_of.get(id)) {
            return buffer;
        }
        let buffer = BufferIndex(exactly(self.draft.buffers.len()));
        let anywhere = matches!(binding, Binding::Run { .. });
        self.draft.buffers.push(BufferParam { dtype, written, length: None, anywhere });
        self.draft.bindings.push(binding);
        if let Some(id) = read {
            self.known.buffer_of.insert(id, buffer);
        }
        buffer
    }

    fn access(&mut self, id: VarId, access: Access, index: usize) -> u32 {
        let variable = self.table.get(id);
        let index = variable.operands[index].expect("internal error: an access without an index");
        let index = self.table.get(index).dtype;
        let access = Access { index, line: variable.line, ..access };
        self.draft.accesses.push((variable.serial, id, access));
        exactly(self.draft.accesses.len() - 1)
    }
}

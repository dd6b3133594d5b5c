//! Operands of one instruction: which are in registers, which stay in memory, where the result goes.

use super::instructions::{Form, Opcode};
use super::machine::{Machine, Memory, Operand, Physical};
use super::program::{Home, Inst, Location, MachineOp, Special, VReg};
use super::register_allocation::{Allocator, NEVER, NO_SLOT, NOWHERE};

impl<T: Machine> Allocator<'_, T> {
    fn resident(&self, v: VReg) -> bool {
        self.assigned[v.index()] != NOWHERE
    }

    /// Whether an operand can be used where it is in memory.
    fn folds(&self, v: VReg, memory: Memory) -> bool {
        if memory == Memory::None || self.program.virtuals[v.index()].mask {
            return false;
        }
        let repeats = self.lowered.packet.target.repeats;
        match self.program.virtuals[v.index()].home {
            Home::Vector(_) => true,
            Home::Repeat4(_) => repeats && memory == Memory::Repeat4,
            Home::Repeat8(_) => repeats && memory == Memory::Repeat8,
            Home::Mask(_) | Home::Carried(_) => false,
            Home::Computed => self.slot[v.index()] != NO_SLOT,
        }
    }

    /// Whether a value in memory is used again soon enough to be worth a register; a constant is not.
    fn is_worth_a_register(&self, v: VReg, next: u32) -> bool {
        let home = self.program.virtuals[v.index()].home;
        let again =
            matches!(home, Home::Computed | Home::Vector(Location::Lanes { .. })) && next != NEVER;
        again && self.vectors.free != 0
    }

    /// The last operand: in its register, in memory where that is as good, or loaded.
    fn last_operand(
        &mut self,
        v: VReg,
        next: u32,
        memory: Memory,
        pinned: u32,
    ) -> Operand<T::Address> {
        let stays = !self.resident(v) && self.folds(v, memory);
        if stays && !self.is_worth_a_register(v, next) {
            return Operand::Memory(self.in_memory(v));
        }
        let register = self.ensure(v, pinned);
        Operand::Register(self.physical(v, register))
    }

    /// A value's home or slot as an operand.
    fn in_memory(&mut self, v: VReg) -> T::Address {
        self.fetch(v);
        let stored = self.stored(v);
        self.machine.address(stored)
    }

    fn pin(&self, v: VReg, register: u8) -> u32 {
        if self.program.virtuals[v.index()].mask { 0 } else { 1 << register }
    }

    pub(super) fn instruction(&mut self, i: usize, inst: &Inst, m: Opcode, immediate: Option<u8>) {
        let memory = self.machine.folds(m);
        match m.form() {
            Form::Unary => {
                let last = self.last_operand(inst.src[0], self.next[i][0], memory, 0);
                let dst = self.result(i, inst);
                self.machine.encode(m, immediate, dst, &[], last);
            }
            Form::Commutative if self.should_swap(inst.src, memory) => {
                self.binary(i, inst, m, memory, (1, 0), immediate);
            }
            Form::Binary | Form::Commutative | Form::Keep => {
                self.binary(i, inst, m, memory, (0, 1), immediate);
            }
            Form::Blend => self.blend(i, inst, m, memory),
            Form::Tied => {
                let b = self.ensure(inst.src[1], 0);
                let last = self.last_operand(inst.src[2], self.next[i][2], memory, 1 << b);
                let pin = if let Operand::Register(c) = last { 1 << c.number } else { 0 };
                let dst = self.tied(i, inst, 0, 1 << b | pin);
                let (dst, b) = (Physical::vector(dst), Physical::vector(b));
                self.machine.encode(m, immediate, dst, &[b], last);
            }
            Form::Fma => self.fma(i, inst, m, memory),
        }
    }

    /// A register for the result, which may be that of a source.
    fn result(&mut self, i: usize, inst: &Inst) -> Physical {
        self.release_all(i);
        if let Some(register) = self.carried_next(i, inst.dst) {
            self.assigned[inst.dst.index()] = register;
            return Physical::vector(register);
        }
        let register = self.take(inst.dst, 0);
        self.physical(inst.dst, register)
    }

    /// Whether a commutative operation is better off with its operands swapped: what is in no register
    /// belongs last, where it may stay in memory.
    fn should_swap(&self, [a, b, _]: [VReg; 3], memory: Memory) -> bool {
        match (self.resident(a), self.resident(b)) {
            (false, true) => true,
            (false, false) => self.folds(a, memory) && !self.folds(b, memory),
            (true, _) => false,
        }
    }

    fn binary(
        &mut self,
        i: usize,
        inst: &Inst,
        m: Opcode,
        memory: Memory,
        (a, b): (usize, usize),
        immediate: Option<u8>,
    ) {
        let (x, y) = (inst.src[a], inst.src[b]);
        let first = self.ensure(x, 0);
        let first = self.physical(x, first);
        let pinned = if first.mask == self.is_mask(y) { 1 << first.number } else { 0 };
        let last = self.last_operand(y, self.next[i][b], memory, pinned);
        let dst = self.result(i, inst);
        self.machine.encode(m, immediate, dst, &[first], last);
    }

    fn blend(&mut self, i: usize, inst: &Inst, m: Opcode, memory: Memory) {
        let [mask, no, yes] = inst.src;
        let register = self.ensure(mask, 0);
        let pinned = self.pin(mask, register);
        let mask = self.physical(mask, register);
        let first = self.ensure(no, pinned);
        let pinned = pinned | 1 << first;
        let last = self.last_operand(yes, self.next[i][2], memory, pinned);
        let dst = match self.ending(inst, self.lowered.packet.target.blend_replaces, i) {
            Some(k) => Physical::vector(self.tied(i, inst, k, 0)),
            None => self.result(i, inst),
        };
        self.machine.encode(m, None, dst, &[mask, Physical::vector(first)], last);
    }

    /// Where a result stays from packet to packet, if that is all that it is for.
    fn carried_next(&self, i: usize, v: VReg) -> Option<u8> {
        let next = self.program.insts.get(i + 1)?;
        let is_carried = matches!(next.op, MachineOp::Carry) && next.src[0] == v;
        let only = is_carried && self.program.virtuals[v.index()].uses == 1;
        let in_place = only && self.lowered.packet.target.carries_in_place;
        in_place.then(|| self.assigned[next.dst.index()])
    }

    /// The first of these sources whose register is free behind the instruction.
    fn ending(&self, inst: &Inst, sources: &[usize], i: usize) -> Option<usize> {
        let ends = |k: &usize| {
            let v = inst.src[*k];
            let register = self.assigned[v.index()];
            let hoisted = register != NOWHERE && self.vectors.hoisted & 1 << register != 0;
            let once = inst.src.iter().filter(|&&other| other == v).count() == 1;
            register != NOWHERE && self.next[i][*k] == NEVER && once && !hoisted
        };
        sources.iter().copied().find(ends)
    }

    /// Gives the result the register of source `k`, whose value is copied first if it is used again;
    /// ends all uses.
    fn tied(&mut self, i: usize, inst: &Inst, k: usize, pinned: u32) -> u8 {
        let v = inst.src[k];
        let twice = inst.src.iter().filter(|&&other| other == v).count() > 1;
        let register = self.assigned[v.index()];
        let hoisted = register != NOWHERE && self.vectors.hoisted & 1 << register != 0;
        if register != NOWHERE && self.next[i][k] == NEVER && !twice && !hoisted {
            self.release_all(i);
            self.assigned[inst.dst.index()] = register;
            self.vectors.free &= !(1 << register);
            self.vectors.owner[usize::from(register)] = inst.dst;
            return register;
        }
        let keep = if register == NOWHERE { 0 } else { 1 << register };
        let dst = self.take(inst.dst, pinned | keep);
        if register == NOWHERE {
            self.fill(v, dst);
        } else {
            self.machine.copy(Physical::vector(dst), Physical::vector(register));
        }
        self.release_all(i);
        dst
    }

    /// `a * b + c`: the destination replaces an operand, best one that ends here; another may be in
    /// memory.
    fn fma(&mut self, i: usize, inst: &Inst, m: Opcode, memory: Memory) {
        let src = inst.src;
        let foldable = |this: &Self, k: usize| {
            let once = src.iter().filter(|&&other| other == src[k]).count() == 1;
            let stays = !this.resident(src[k]) && this.folds(src[k], memory);
            once && stays && !this.is_worth_a_register(src[k], this.next[i][k])
        };
        let mut in_memory = [2, 1, 0].into_iter().find(|&k| foldable(self, k));
        let ends = |this: &Self, k: usize| {
            let register = this.assigned[src[k].index()];
            let hoisted = register != NOWHERE && this.vectors.hoisted & 1 << register != 0;
            let once = src.iter().filter(|&&other| other == src[k]).count() == 1;
            this.next[i][k] == NEVER && once && !hoisted
        };
        let mut replaceable = self.lowered.packet.target.fma_replaces.iter().copied();
        let mut replaced = replaceable.find(|&k| Some(k) != in_memory && ends(self, k));
        if replaced.is_none() && in_memory == Some(2) {
            // Loading the summand where the result goes costs no more than a copy of a factor.
            in_memory = None;
            replaced = Some(2);
        }
        let replaced = replaced.unwrap_or(if in_memory == Some(2) { 0 } else { 2 });
        let mut registers = [0; 3];
        let mut pinned = 0;
        for k in 0..3 {
            if Some(k) != in_memory && (k != replaced || self.resident(src[k])) {
                registers[k] = self.ensure(src[k], pinned);
                pinned |= 1 << registers[k];
            }
        }
        let address = in_memory.map(|k| (k, self.in_memory(src[k])));
        let dst = self.tied(i, inst, replaced, pinned);
        let operand = |k| match address {
            Some((in_memory, address)) if k == in_memory => Operand::Memory(address),
            _ => Operand::Register(Physical::vector(registers[k])),
        };
        self.machine.fma(m, dst, replaced, [operand(0), operand(1), operand(2)]);
    }

    /// An instruction with all its sources in registers.
    pub(super) fn with_registers(&mut self, i: usize, inst: &Inst) {
        let mut registers = [NOWHERE; 3];
        let mut pinned = 0;
        let sources = inst.src.iter().zip(&mut registers);
        for (&source, register) in sources.filter(|(source, _)| source.is_some()) {
            *register = self.ensure(source, pinned);
            pinned |= self.pin(source, *register);
        }
        let dst = if matches!(
            inst.op,
            MachineOp::Special(Special::Gather(_) | Special::GatherWithin(..))
        ) {
            // Its sources are read again after the result's register is written.
            let dst = self.take(inst.dst, pinned);
            self.release_all(i);
            dst
        } else {
            self.release_all(i);
            if matches!(inst.op, MachineOp::Carry) {
                self.assigned[inst.dst.index()]
            } else if inst.dst.is_some() {
                self.take(inst.dst, pinned)
            } else {
                NOWHERE
            }
        };
        let [source, data, _] = registers;
        match inst.op {
            MachineOp::Copy { mask } => {
                let register = |number| Physical { mask, number };
                self.machine.copy(register(dst), register(source));
            }
            MachineOp::Carry => self.machine.copy(Physical::vector(dst), Physical::vector(source)),
            MachineOp::LeaveIfNone { region } => {
                let mask = self.physical(inst.src[0], source);
                self.leave_if_none(region, mask);
            }
            MachineOp::Special(special) => {
                let spare = matches!(special, Special::Scatter(_))
                    .then(|| self.spare_vector(1 << source | 1 << data));
                self.machine.special(special, dst, registers, spare.flatten());
            }
            MachineOp::Simple(..)
            | MachineOp::Assign
            | MachineOp::Begin { .. }
            | MachineOp::End { .. } => unreachable!("internal error: {:?} here", inst.op),
        }
    }
}

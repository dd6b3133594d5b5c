//! Operands of one instruction: which are in registers, which stay in memory, where the result goes.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::allocate::{Allocator, NEVER, NO_SLOT, NOWHERE};
use super::encode::{Encoder, Operand, SCRATCH, Width};
use super::machine::{Form, M, Memory, fma_codes};
use super::program::{Home, Inst, Place, V, What};

impl Allocator<'_> {
    fn resident(&self, v: V) -> bool {
        self.place[v.index()] != NOWHERE
    }

    /// Whether an operand can be used where it is in memory.
    fn folds(&self, v: V, memory: Memory) -> bool {
        if memory == Memory::None || self.program.virtuals[v.index()].mask {
            return false;
        }
        match self.program.virtuals[v.index()].home {
            Home::Vector(_) => true,
            Home::Repeat4(_) => self.avx512() && memory == Memory::Repeat4,
            Home::Repeat8(_) => self.avx512() && memory == Memory::Repeat8,
            Home::Mask(_) | Home::Carried(_) => false,
            Home::Computed => self.slot[v.index()] != NO_SLOT,
        }
    }

    /// The last operand: in its register, in memory where that is as good, or loaded.
    fn last_operand(
        &mut self,
        v: V,
        next: u32,
        memory: Memory,
        width: Width,
        pinned: u32,
    ) -> (Operand, u32) {
        if !self.resident(v) && self.folds(v, memory) {
            let home = self.program.virtuals[v.index()].home;
            // What is used again soon is worth a register, a constant is not.
            let again =
                matches!(home, Home::Computed | Home::Vector(Place::Lanes { .. })) && next != NEVER;
            if !again || self.vectors.free == 0 {
                return (Operand::Memory(self.in_memory(v)), 0);
            }
        }
        let register = self.ensure(v, pinned);
        if self.program.virtuals[v.index()].mask {
            return (Operand::Register(Encoder::mask(register)), 0);
        }
        (Operand::Register(self.code.vector(register, width)), 1 << register)
    }

    /// A value's home or slot as an operand.
    fn in_memory(&mut self, v: V) -> MemoryOperand {
        match self.program.virtuals[v.index()].home {
            Home::Vector(place) => {
                self.fetch(v, place);
                self.memory(place, SCRATCH)
            }
            Home::Repeat4(place) | Home::Repeat8(place) => {
                let mut memory = self.memory(place, SCRATCH);
                memory.is_broadcast = true;
                memory
            }
            Home::Mask(place) | Home::Carried(place) => self.memory(place, SCRATCH),
            Home::Computed => self.spilled(self.slot[v.index()]),
        }
    }

    fn register(&self, v: V, number: u8, width: Width) -> Register {
        if self.program.virtuals[v.index()].mask {
            Encoder::mask(number)
        } else {
            self.code.vector(number, width)
        }
    }

    fn pin(&self, v: V, register: u8) -> u32 {
        if self.program.virtuals[v.index()].mask { 0 } else { 1 << register }
    }

    pub(super) fn machine(&mut self, i: usize, inst: &Inst, m: M, immediate: Option<u8>) {
        let row = m.row();
        let (code, memory) = if self.avx512() { row.avx512 } else { row.avx2 };
        let (to, from, last) = row.sizes.widths();
        match row.form {
            Form::Unary => {
                let (operand, _) = self.last_operand(inst.src[0], self.next[i][0], memory, last, 0);
                self.release_all(i);
                let dst = self.take(inst.dst, 0);
                let dst = self.register(inst.dst, dst, to);
                self.code.vector_op(code, dst, None, operand, immediate, None);
            }
            Form::Binary | Form::Commutative => {
                let (mut a, mut b) = (0, 1);
                if row.form == Form::Commutative && self.should_swap(inst.src, memory) {
                    (a, b) = (1, 0);
                }
                self.binary(i, inst, (code, memory), (a, b), (to, from, last), immediate);
            }
            Form::Keep if !self.avx512() => {
                self.binary(i, inst, (code, memory), (0, 1), (to, from, last), immediate);
            }
            Form::Keep => {
                let mask = self.ensure_mask(inst.src[0], 0);
                let (operand, _) = self.last_operand(inst.src[1], self.next[i][1], memory, last, 0);
                self.release_all(i);
                let dst = self.take(inst.dst, 0);
                let dst = self.register(inst.dst, dst, to);
                self.code.vector_op(code, dst, None, operand, None, Some((mask, true)));
            }
            Form::Blend => self.blend(i, inst, (code, memory)),
            Form::Tied => {
                let b = self.ensure(inst.src[1], 0);
                let pinned = 1 << b;
                let (operand, pin) =
                    self.last_operand(inst.src[2], self.next[i][2], memory, last, pinned);
                let dst = self.tied(i, inst, 0, pinned | pin);
                let (dst, b) = (self.code.vector(dst, to), self.code.vector(b, from));
                self.code.vector_op(code, dst, Some(b), operand, immediate, None);
            }
            Form::Fma => self.fma(i, inst, m, memory),
        }
    }

    /// Whether a commutative operation is better off with its operands swapped: what is in no register
    /// belongs last, where it may stay in memory.
    fn should_swap(&self, [a, b, _]: [V; 3], memory: Memory) -> bool {
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
        (code, memory): (Code, Memory),
        (a, b): (usize, usize),
        (to, from, last): (Width, Width, Width),
        immediate: Option<u8>,
    ) {
        let (x, y) = (inst.src[a], inst.src[b]);
        let first = self.ensure(x, 0);
        // Both operands of a mask operation are masks, so the pins are of one class.
        let pinned = 1 << first;
        let (operand, _) = self.last_operand(y, self.next[i][b], memory, last, pinned);
        self.release_all(i);
        let dst = self.take(inst.dst, 0);
        let dst = self.register(inst.dst, dst, to);
        let first = self.register(x, first, from);
        self.code.vector_op(code, dst, Some(first), operand, immediate, None);
    }

    fn ensure_mask(&mut self, v: V, pinned: u32) -> Register {
        Encoder::mask(self.ensure(v, pinned))
    }

    fn blend(&mut self, i: usize, inst: &Inst, (code, memory): (Code, Memory)) {
        let [mask, no, yes] = inst.src;
        let mask_register = self.ensure(mask, 0);
        let pinned = self.pin(mask, mask_register);
        let first = self.ensure(no, pinned);
        let pinned = pinned | 1 << first;
        let (operand, _) = self.last_operand(yes, self.next[i][2], memory, Width::Whole, pinned);
        self.release_all(i);
        let dst = self.take(inst.dst, 0);
        let dst = self.code.vector(dst, Width::Whole);
        let first = self.code.vector(first, Width::Whole);
        if self.avx512() {
            let mask = Some((Encoder::mask(mask_register), false));
            self.code.vector_op(code, dst, Some(first), operand, None, mask);
            return;
        }
        let mask = self.code.vector(mask_register, Width::Whole);
        self.code.put(match operand {
            Operand::Register(yes) => Instruction::with4(code, dst, first, yes, mask),
            Operand::Memory(yes) => Instruction::with4(code, dst, first, yes, mask),
        });
    }

    /// Gives the result the register of source `k`, whose value is copied first if it is used again;
    /// ends all uses.
    fn tied(&mut self, i: usize, inst: &Inst, k: usize, pinned: u32) -> u8 {
        let v = inst.src[k];
        let twice = inst.src.iter().filter(|&&other| other == v).count() > 1;
        let register = self.place[v.index()];
        let hoisted = register != NOWHERE && self.vectors.hoisted & 1 << register != 0;
        if register != NOWHERE && self.next[i][k] == NEVER && !twice && !hoisted {
            self.release_all(i);
            self.place[inst.dst.index()] = register;
            self.vectors.free &= !(1 << register);
            self.vectors.owner[usize::from(register)] = inst.dst;
            return register;
        }
        let keep = if register == NOWHERE { 0 } else { 1 << register };
        let dst = self.take(inst.dst, pinned | keep);
        if register == NOWHERE {
            self.fill(v, dst);
        } else {
            let (to, from) =
                (self.code.vector(dst, Width::Whole), self.code.vector(register, Width::Whole));
            let code = if self.avx512() {
                Code::EVEX_Vmovaps_zmm_k1z_zmmm512
            } else {
                Code::VEX_Vmovaps_ymm_ymmm256
            };
            self.code.registers(code, to, from);
        }
        self.release_all(i);
        dst
    }

    /// `a * b + c`: the destination replaces an operand, best one that ends here; another may be in
    /// memory.
    fn fma(&mut self, i: usize, inst: &Inst, m: M, memory: Memory) {
        let codes = fma_codes(m, self.avx512());
        let src = inst.src;
        let foldable = |this: &Self, k: usize| {
            let home = this.program.virtuals[src[k].index()].home;
            let again = matches!(home, Home::Computed | Home::Vector(Place::Lanes { .. }))
                && this.next[i][k] != NEVER
                && this.vectors.free != 0;
            let once = src.iter().filter(|&&other| other == src[k]).count() == 1;
            once && !this.resident(src[k]) && this.folds(src[k], memory) && !again
        };
        let mut in_memory = [2, 1, 0].into_iter().find(|&k| foldable(self, k));
        let ends = |this: &Self, k: usize| {
            let register = this.place[src[k].index()];
            let hoisted = register != NOWHERE && this.vectors.hoisted & 1 << register != 0;
            let once = src.iter().filter(|&&other| other == src[k]).count() == 1;
            this.next[i][k] == NEVER && once && !hoisted
        };
        let mut replaced = [2, 0, 1].into_iter().find(|&k| Some(k) != in_memory && ends(self, k));
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
        let operand = in_memory.map(|k| Operand::Memory(self.in_memory(src[k])));
        let dst = self.tied(i, inst, replaced, pinned);
        let register = |this: &Self, k: usize| this.code.vector(registers[k], Width::Whole);
        // The factor beside the one named.
        let other = |k: usize| 1 - k;
        let (code, middle, last) = match (replaced, in_memory) {
            (2, Some(k)) => (codes.f231, other(k), k),
            (2, None) => (codes.f231, 0, 1),
            (k, Some(memory)) if memory == other(k) => (codes.f132, 2, memory),
            (k, _) => (codes.f213, other(k), 2),
        };
        let operand = operand.unwrap_or(Operand::Register(register(self, last)));
        let middle = register(self, middle);
        let dst = self.code.vector(dst, Width::Whole);
        self.code.vector_op(code, dst, Some(middle), operand, None, None);
    }

    pub(super) fn special(&mut self, i: usize, inst: &Inst) {
        let mut registers = [NOWHERE; 3];
        let mut pinned = 0;
        let sources = inst.src.iter().zip(&mut registers);
        for (&source, register) in sources.filter(|(source, _)| source.is_some()) {
            *register = self.ensure(source, pinned);
            pinned |= self.pin(source, *register);
        }
        let dst = if matches!(inst.what, What::Gather(_)) {
            // Its sources are read again after the result's register is written.
            let dst = self.take(inst.dst, pinned);
            self.release_all(i);
            dst
        } else {
            self.release_all(i);
            if matches!(inst.what, What::Carry) {
                self.place[inst.dst.index()]
            } else if inst.dst.is_some() {
                self.take(inst.dst, pinned)
            } else {
                NOWHERE
            }
        };
        self.emit_special(inst.what, dst, registers);
    }
}

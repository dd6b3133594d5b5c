//! A kernel on the way, and how instructions, constants and masks are added to the program being made.

use std::collections::HashMap;

use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::program::{
    Frame, Home, Inst, MachineOp, Nan, Packet, Pool, Program, Reduction, VReg, Virtual,
};
use crate::convert::exactly;
use crate::ir::kernel::{Kernel, LiteralMode};

/// The parts of every instruction's value.
pub(super) struct Values {
    pub(super) stride: usize,
    pub(super) parts: Vec<VReg>,
}

impl Values {
    pub(super) fn new(n: usize, stride: usize) -> Self {
        Self { stride, parts: vec![VReg::NONE; n * stride] }
    }

    pub(super) fn get(&self, reg: usize, part: usize) -> VReg {
        self.parts[reg * self.stride + part]
    }

    pub(super) fn set(&mut self, reg: usize, part: usize, value: VReg) {
        self.parts[reg * self.stride + part] = value;
    }
}

/// A kernel on the way.
pub(super) struct Lowering<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) mode: LiteralMode,
    pub(super) far: bool,
    pub(super) packet: Packet,
    /// Whether the prologue is being made.
    pub(super) uniform: bool,
    pub(super) program: Program,
    pub(super) pool: Pool,
    pub(super) frame: Frame,
    pub(super) reductions: Vec<Reduction>,
    /// Offset in the frame of the reduction into each buffer.
    pub(super) offsets: Vec<u32>,
    /// Word of the first literal.
    pub(super) first_literal: usize,
    /// Numbers, and masks beside 32-bit parts.
    pub(super) values: Values,
    /// Masks beside 64-bit parts.
    pub(super) wide_masks: Values,
    /// Whether accumulators stay in registers.
    pub(super) carries: bool,
    /// Registers of constants in the pool.
    pub(super) constants: HashMap<(u64, u8), VReg>,
    /// Where the body finds each uniform value, or `u32::MAX`.
    pub(super) uniforms: Vec<u32>,
    pub(super) uniform_bytes: u32,
    pub(super) origin: u32,
    /// Regions on the way.
    pub(super) regions: Vec<OpenRegion>,
    pub(super) n_regions: u32,
    /// Masks given a second form inside regions: whether the wide one, instruction, part.
    pub(super) forms: Vec<(bool, u32, u8)>,
    /// Registers of halves whose packed form is in another one.
    pub(super) packed_halves: HashMap<VReg, VReg>,
}

/// A region on the way.
pub(super) struct OpenRegion {
    /// Position of its start.
    pub(super) start: usize,
    pub(super) number: u32,
    pub(super) repeat: bool,
    /// Whether the place was marked to which a loop goes back.
    pub(super) begun: bool,
    /// Masks in a second form made before it.
    pub(super) n_forms: usize,
}

impl Lowering<'_> {
    /// Whether the machine has an instruction.
    pub(super) fn has(&self, m: Opcode) -> bool {
        self.packet.target.has(m)
    }

    /// Whether masks have registers of their own.
    pub(super) fn has_mask_registers(&self) -> bool {
        self.packet.target.has_mask_registers()
    }

    pub(super) fn constant(&mut self, bits: u64, bytes: u8) -> VReg {
        if let Some(&known) = self.constants.get(&(bits, bytes)) {
            return known;
        }
        let home = self.pool.constant(bits, bytes);
        let value = self.at_home(home);
        self.constants.insert((bits, bytes), value);
        value
    }

    /// The bits of a constant.
    pub(super) fn bits_of(&self, value: VReg, bytes: u8) -> Option<u64> {
        self.pool.bits(self.program.virtuals[value.index()].home, bytes)
    }

    /// Which NaN the lanes of a float may be.
    pub(super) fn nan(&self, value: VReg) -> Nan {
        self.program.virtuals[value.index()].nan
    }

    pub(super) fn set_nan(&mut self, value: VReg, nan: Nan) {
        self.program.virtuals[value.index()].nan = nan;
    }

    pub(super) fn at_home(&mut self, home: Home) -> VReg {
        self.fresh(home, matches!(home, Home::Mask(_)))
    }

    pub(super) fn fresh(&mut self, home: Home, mask: bool) -> VReg {
        self.program.virtuals.push(Virtual { home, mask, nan: Nan::Any, uses: 0 });
        VReg(exactly(self.program.virtuals.len() - 1))
    }

    pub(super) fn make<const N: usize>(
        &mut self,
        op: impl Into<MachineOp>,
        src: [VReg; N],
    ) -> VReg {
        let op = op.into();
        let is =
            |property: fn(Opcode) -> bool| matches!(op, MachineOp::Simple(m, _) if property(m));
        let mask = is(Opcode::makes_mask) && self.has_mask_registers();
        let dst = self.fresh(Home::Computed, mask);
        if is(Opcode::quiets) {
            self.set_nan(dst, Nan::Quiet);
        }
        self.push(op, dst, src);
        dst
    }

    pub(super) fn effect<const N: usize>(&mut self, op: impl Into<MachineOp>, src: [VReg; N]) {
        self.push(op.into(), VReg::NONE, src);
    }

    pub(super) fn push<const N: usize>(&mut self, op: MachineOp, dst: VReg, src: [VReg; N]) {
        let src = std::array::from_fn(|k| src.get(k).copied().unwrap_or(VReg::NONE));
        for source in src.into_iter().filter(|source| source.is_some()) {
            self.program.virtuals[source.index()].uses += 1;
        }
        self.program.insts.push(Inst { op, dst, src, origin: self.origin });
    }

    pub(super) fn unary(&mut self, m: Opcode, a: VReg) -> VReg {
        self.make(MachineOp::Simple(m, None), [a])
    }

    pub(super) fn unary_by(&mut self, m: Opcode, a: VReg, immediate: u8) -> VReg {
        self.make(MachineOp::Simple(m, Some(immediate)), [a])
    }

    pub(super) fn binary(&mut self, m: Opcode, a: VReg, b: VReg) -> VReg {
        self.make(MachineOp::Simple(m, None), [a, b])
    }

    pub(super) fn binary_by(&mut self, m: Opcode, a: VReg, b: VReg, immediate: u8) -> VReg {
        self.make(MachineOp::Simple(m, Some(immediate)), [a, b])
    }

    pub(super) fn ternary(&mut self, m: Opcode, a: VReg, b: VReg, c: VReg) -> VReg {
        self.make(MachineOp::Simple(m, None), [a, b, c])
    }

    /// `mask ? yes : no` on 4- or 8-byte lanes.
    pub(super) fn blend(&mut self, bytes: usize, mask: VReg, yes: VReg, no: VReg) -> VReg {
        if self.bits_of(no, exactly(bytes)) == Some(0) {
            return self.keep(bytes, mask, yes);
        }
        self.ternary(if bytes == 8 { Opcode::Blend64 } else { Opcode::Blend32 }, mask, no, yes)
    }

    /// `mask ? value : 0` on 4- or 8-byte lanes.
    pub(super) fn keep(&mut self, bytes: usize, mask: VReg, value: VReg) -> VReg {
        self.binary(if bytes == 8 { Opcode::Keep64 } else { Opcode::Keep32 }, mask, value)
    }

    /// The low halves of the 64-bit lanes of two wide parts, as a narrow part.
    pub(super) fn low_dwords(&mut self, low: VReg, high: VReg) -> VReg {
        if self.has(Opcode::LowHalves) {
            return self.binary(Opcode::LowHalves, low, high);
        }
        if self.has(Opcode::Pick32) {
            return self.pick(low, high, |lane| 2 * lane);
        }
        let mixed = self.binary_by(Opcode::Shuffle32, low, high, 0x88);
        self.unary_by(Opcode::Permute64, mixed, 0xd8)
    }

    /// The high halves of the 64-bit lanes of two parts, by turns.
    pub(super) fn high_dwords(&mut self, even: VReg, odd: VReg) -> VReg {
        if self.has(Opcode::HighHalves) {
            return self.binary(Opcode::HighHalves, even, odd);
        }
        if self.has(Opcode::Pick32) {
            return self.pick(even, odd, |lane| lane / 2 * 2 + 1 + lane % 2 * 16);
        }
        let even = self.unary_by(Opcode::ShrBy64, even, 32);
        let upper = self.constant(0xffff_ffff_0000_0000, 8);
        let odd = self.binary(Opcode::And64, odd, upper);
        self.binary(Opcode::Or64, even, odd)
    }

    /// The lanes of a register that have the given numbers among those of `low` and `high`.
    fn pick(&mut self, low: VReg, high: VReg, number: fn(u64) -> u64) -> VReg {
        let numbers = (0..16).map(number);
        // The second lane's number tells the lists apart.
        let key = (number(1), 64);
        let picks = self.constants.get(&key).copied().unwrap_or_else(|| {
            let bytes: Vec<u8> = numbers.flat_map(|n| exactly::<u32>(n).to_le_bytes()).collect();
            let home = self.pool.vector(&bytes);
            let value = self.at_home(home);
            self.constants.insert(key, value);
            value
        });
        self.ternary(Opcode::Pick32, low, picks, high)
    }
}

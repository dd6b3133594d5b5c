//! A kernel on the way, and how instructions, constants and masks are added to the program being made.

use std::collections::HashMap;

use crate::backend::cpu::instructions::M;
use crate::backend::cpu::program::{
    Frame, Home, Inst, Nan, Packet, Pool, Program, Reduction, V, Virtual, What,
};
use crate::convert::exactly;
use crate::ir::kernel::{Kernel, LiteralMode};

/// The parts of every instruction's value.
pub(super) struct Values {
    pub(super) stride: usize,
    pub(super) parts: Vec<V>,
}

impl Values {
    pub(super) fn new(n: usize, stride: usize) -> Self {
        Self { stride, parts: vec![V::NONE; n * stride] }
    }

    pub(super) fn get(&self, reg: usize, part: usize) -> V {
        self.parts[reg * self.stride + part]
    }

    pub(super) fn set(&mut self, reg: usize, part: usize, value: V) {
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
    /// Offset in the frame of each end that is a reduction.
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
    pub(super) constants: HashMap<(u64, u8), V>,
    /// Where the body finds each uniform value, or `u32::MAX`.
    pub(super) uniforms: Vec<u32>,
    pub(super) uniform_bytes: u32,
    pub(super) origin: u32,
    /// Regions on the way.
    pub(super) regions: Vec<OpenRegion>,
    pub(super) n_regions: u32,
    /// Masks given a second form inside regions: whether the wide one, instruction, part.
    pub(super) forms: Vec<(bool, u32, u8)>,
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
    pub(super) fn has(&self, m: M) -> bool {
        self.packet.target.has(m)
    }

    /// Whether masks have registers of their own.
    pub(super) fn has_mask_registers(&self) -> bool {
        self.packet.target.has_mask_registers()
    }

    pub(super) fn constant(&mut self, bits: u64, bytes: u8) -> V {
        if let Some(&known) = self.constants.get(&(bits, bytes)) {
            return known;
        }
        let home = self.pool.constant(bits, bytes);
        let value = self.at_home(home);
        self.constants.insert((bits, bytes), value);
        value
    }

    /// The bits of a constant.
    pub(super) fn bits_of(&self, value: V, bytes: u8) -> Option<u64> {
        self.pool.bits(self.program.virtuals[value.index()].home, bytes)
    }

    /// Which NaN the lanes of a float may be.
    pub(super) fn nan(&self, value: V) -> Nan {
        self.program.virtuals[value.index()].nan
    }

    pub(super) fn set_nan(&mut self, value: V, nan: Nan) {
        self.program.virtuals[value.index()].nan = nan;
    }

    pub(super) fn at_home(&mut self, home: Home) -> V {
        self.fresh(home, matches!(home, Home::Mask(_)))
    }

    pub(super) fn fresh(&mut self, home: Home, mask: bool) -> V {
        self.program.virtuals.push(Virtual { home, mask, nan: Nan::Any, uses: 0 });
        V(exactly(self.program.virtuals.len() - 1))
    }

    pub(super) fn make(&mut self, what: What, src: [V; 3]) -> V {
        let mask =
            matches!(what, What::Machine(m, _) if m.makes_mask()) && self.has_mask_registers();
        let dst = self.fresh(Home::Computed, mask);
        if matches!(what, What::Machine(m, _) if m.quiets()) {
            self.set_nan(dst, Nan::Quiet);
        }
        self.push(what, dst, src);
        dst
    }

    pub(super) fn effect(&mut self, what: What, src: [V; 3]) {
        self.push(what, V::NONE, src);
    }

    pub(super) fn push(&mut self, what: What, dst: V, src: [V; 3]) {
        for source in src.into_iter().filter(|source| source.is_some()) {
            self.program.virtuals[source.index()].uses += 1;
        }
        self.program.insts.push(Inst { what, dst, src, origin: self.origin });
    }

    pub(super) fn unary(&mut self, m: M, a: V) -> V {
        self.make(What::Machine(m, None), [a, V::NONE, V::NONE])
    }

    pub(super) fn unary_by(&mut self, m: M, a: V, immediate: u8) -> V {
        self.make(What::Machine(m, Some(immediate)), [a, V::NONE, V::NONE])
    }

    pub(super) fn binary(&mut self, m: M, a: V, b: V) -> V {
        self.make(What::Machine(m, None), [a, b, V::NONE])
    }

    pub(super) fn binary_by(&mut self, m: M, a: V, b: V, immediate: u8) -> V {
        self.make(What::Machine(m, Some(immediate)), [a, b, V::NONE])
    }

    pub(super) fn ternary(&mut self, m: M, a: V, b: V, c: V) -> V {
        self.make(What::Machine(m, None), [a, b, c])
    }

    /// `mask ? yes : no` on 4- or 8-byte lanes.
    pub(super) fn blend(&mut self, bytes: usize, mask: V, yes: V, no: V) -> V {
        if self.bits_of(no, exactly(bytes)) == Some(0) {
            return self.keep(bytes, mask, yes);
        }
        self.ternary(if bytes == 8 { M::Blend64 } else { M::Blend32 }, mask, no, yes)
    }

    /// `mask ? value : 0` on 4- or 8-byte lanes.
    pub(super) fn keep(&mut self, bytes: usize, mask: V, value: V) -> V {
        self.binary(if bytes == 8 { M::Keep64 } else { M::Keep32 }, mask, value)
    }

    /// The low halves of the 64-bit lanes of two wide parts, as a narrow part.
    pub(super) fn low_dwords(&mut self, low: V, high: V) -> V {
        if self.has(M::Pick32) {
            let mut picks = Vec::new();
            (0..16_u32).for_each(|lane| picks.extend_from_slice(&(2 * lane).to_le_bytes()));
            let key = (0, 64);
            let picks = match self.constants.get(&key) {
                Some(&known) => known,
                None => {
                    let home = self.pool.vector(&picks);
                    let value = self.at_home(home);
                    self.constants.insert(key, value);
                    value
                }
            };
            return self.ternary(M::Pick32, low, picks, high);
        }
        let mixed = self.binary_by(M::Shuffle32, low, high, 0x88);
        self.unary_by(M::Permute64, mixed, 0xd8)
    }
}

//! Adds instructions, constants and masks to the program being made.

use super::Lowering;
use crate::backend::cpu::machine::M;
use crate::backend::cpu::program::{Home, Inst, Nan, V, Virtual, What};
use crate::convert::exactly;

impl Lowering<'_> {
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
        let mask = matches!(what, What::Machine(m, _) if m.row().mask) && self.avx512();
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
        if self.avx512() {
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

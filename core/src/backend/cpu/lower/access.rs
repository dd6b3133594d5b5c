//! Gathers and scatters with their bounds (S13).

use super::build::Lowering;
use crate::backend::cpu::instructions::{Compare, Opcode};
use crate::backend::cpu::program::{Access, Beside, Bounds, Home, Location, Special, VReg};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Inst, Reg};
use crate::ir::op::ScatterOp;

/// The indices of a narrow part with the lanes that may use them.
struct Indices {
    /// One narrow register, or two wide ones.
    index: [VReg; 2],
    /// Beside `index`: active and in bounds.
    ok: [VReg; 2],
    wide: bool,
    /// What keeps in bounds instead of `ok`: the length, what is beside it, and how.
    within: Option<(VReg, VReg, Bounds)>,
}

/// Registers of a packet from which on it is worth looking whether all indices count up.
const WORTH_LOOKING: usize = 4;

impl Indices {
    fn count(&self) -> usize {
        if self.wide { 2 } else { 1 }
    }
}

impl Lowering<'_> {
    pub(super) fn gather(&mut self, i: usize, source: BufferIndex, access: Option<u32>) {
        let inst = &self.kernel.insts[i];
        let (dtype, index, active) = (inst.dtype, inst.args[0], inst.args[1]);
        let index = index.expect("internal error: a gather without an index");
        let word = exactly(self.kernel.address_word(source));
        let by_lane = dtype.bytes() <= 4 && self.goes_by_lane(index);
        let near = (by_lane && active.is_none() && dtype.bytes() == 4)
            .then(|| self.near(source, index))
            .flatten();
        for part in 0..self.packet.narrow {
            let indices = if by_lane {
                self.within(source, index, (active, near), part, access)
            } else {
                self.indices(source, index, active, part, access, false)
            };
            if dtype == DType::Mask {
                let mask = self.gather_mask(word, &indices);
                self.values.set(i, part, mask);
            } else if dtype.is_narrow() {
                let words = self.gather_in_words(word, &indices, dtype.bytes());
                let value = self.of_word(dtype, words);
                self.values.set(i, part, value);
            } else if dtype.bytes() == 8 {
                for half in 0..2 {
                    let value = self.gather64(word, &indices, half);
                    self.values.set(i, 2 * part + half, value);
                }
            } else {
                let access = self.access(word, 4, indices.wide);
                let value = self.gather32(access, &indices);
                self.values.set(i, part, value);
            }
        }
    }

    /// Whether lanes of narrow indices are accessed one by one, by instructions that look at bounds themselves.
    fn goes_by_lane(&self, index: Reg) -> bool {
        let wide = self.far || self.kernel.dtype(index).bytes() == 8;
        self.packet.target.gathers_lanes && !wide && !self.uniform
    }

    /// The length of a buffer in all lanes, and whether lanes are wide.
    fn length(&mut self, buffer: BufferIndex, wide: bool) -> VReg {
        let word = self.kernel.length_word(buffer);
        let word = exactly(word.expect("internal error: an accessed buffer has a length"));
        // Without `far` no length is above 2^31.
        let home = if wide { Home::Repeat8 } else { Home::Repeat4 };
        self.word_constant(home(Location::Word(word)), word, wide)
    }

    /// Where the packet's first element is if all the others lie behind it, as they do in stencils.
    fn near(&mut self, source: BufferIndex, index: Reg) -> Option<VReg> {
        if self.packet.narrow < WORTH_LOOKING {
            return None;
        }
        let parts = (0..self.packet.narrow).map(|part| self.values.get(index.index(), part));
        let parts: Vec<VReg> = parts.collect();
        let lanes = self.constant(self.packet.part_lanes() as u64, 4);
        let mut all = None;
        for pair in parts.windows(2) {
            let step = self.binary(Opcode::Sub32, pair[1], pair[0]);
            let counts = self.compare(Compare::Eq, DType::U32, step, lanes);
            all = Some(all.map_or(counts, |all| self.binary(Opcode::MaskAnd, all, counts)));
        }
        let word = exactly(self.kernel.address_word(source));
        let access = self.access(word, 4, false);
        let length = self.length(source, false);
        Some(self.make(Special::Near(access), [all?, parts[0], length]))
    }

    /// One narrow part for an instruction that looks at bounds itself.
    fn within(
        &mut self,
        buffer: BufferIndex,
        index: Reg,
        (active, near): (Option<Reg>, Option<VReg>),
        part: usize,
        access: Option<u32>,
    ) -> Indices {
        let (beside, register) = match (active, near) {
            (Some(active), _) => (Beside::Wanted, self.narrow_mask(active.index(), part)),
            (None, Some(near)) => (Beside::Near, near),
            (None, None) => (Beside::Nothing, VReg::NONE),
        };
        let bounds = Bounds {
            report: access.map(|access| self.frame.errors + 16 * access),
            part: exactly(part),
            signed: self.kernel.dtype(index).is_signed(),
            beside,
        };
        let value = self.values.get(index.index(), part);
        Indices {
            index: [value, VReg::NONE],
            ok: [VReg::NONE; 2],
            wide: false,
            within: Some((self.length(buffer, false), register, bounds)),
        }
    }

    /// Bounds of one narrow part; reports lanes outside if the access is checked. With `exact`, lanes
    /// beyond the launch are left out.
    fn indices(
        &mut self,
        buffer: BufferIndex,
        index: Reg,
        active: Option<Reg>,
        part: usize,
        access: Option<u32>,
        exact: bool,
    ) -> Indices {
        let dtype = self.kernel.dtype(index);
        let wide = self.far || dtype.bytes() == 8;
        let mut indices =
            Indices { index: [VReg::NONE; 2], ok: [VReg::NONE; 2], wide, within: None };
        for half in 0..indices.count() {
            let value = if dtype.bytes() == 8 {
                self.values.get(index.index(), 2 * part + half)
            } else {
                let narrow = self.values.get(index.index(), part);
                if wide { self.extend(dtype, narrow, half == 1) } else { narrow }
            };
            let unsigned = if wide { DType::U64 } else { DType::U32 };
            let limit = self.length(buffer, wide);
            let inside = self.compare(Compare::Lt, unsigned, value, limit);
            let wanted = active.map(|active| {
                if wide {
                    self.wide_mask(active.index(), 2 * part + half)
                } else {
                    self.narrow_mask(active.index(), part)
                }
            });
            let existing = if access.is_some() || exact {
                let lanes = self.active(part);
                let lanes = if wide { self.widen_mask(lanes, half == 1) } else { lanes };
                Some(match wanted {
                    Some(wanted) => self.binary(Opcode::MaskAnd, wanted, lanes),
                    None => lanes,
                })
            } else {
                None
            };
            if let (Some(access), Some(existing)) = (access, existing) {
                let outside = self.binary(Opcode::MaskAndNot, inside, existing);
                self.effect(
                    Special::Check {
                        offset: self.frame.errors + 16 * access,
                        part: exactly(if wide { 2 * part + half } else { part }),
                        wide,
                        signed: dtype.is_signed(),
                    },
                    [outside, value],
                );
            }
            let used = if exact { existing } else { wanted };
            indices.index[half] = value;
            indices.ok[half] = match used {
                Some(used) => self.binary(Opcode::MaskAnd, inside, used),
                None => inside,
            };
        }
        indices
    }

    /// A word of the parameter block in all lanes.
    fn word_constant(&mut self, home: Home, word: u32, wide: bool) -> VReg {
        let key = (u64::from(word), if wide { 128 } else { 129 });
        if let Some(&known) = self.constants.get(&key) {
            return known;
        }
        let value = self.at_home(home);
        self.constants.insert(key, value);
        value
    }

    /// How elements of `bytes` bytes lie.
    fn access(&mut self, word: u32, bytes: usize, wide_index: bool) -> Access {
        let counting = Some(self.pool.counting(0, if wide_index { 8 } else { 4 }));
        let bytes = exactly(bytes);
        Access { word, wide: bytes == 8, wide_index, scale: bytes, bytes, counting }
    }

    fn gather_with(&mut self, access: Access, index: VReg, mask: VReg) -> VReg {
        self.make(Special::Gather(access), [VReg::NONE, index, mask])
    }

    /// 32-bit lanes.
    fn gather32(&mut self, access: Access, indices: &Indices) -> VReg {
        if let Some((length, beside, bounds)) = indices.within {
            let gather = Special::GatherWithin(access, bounds);
            return self.make(gather, [length, indices.index[0], beside]);
        }
        if !indices.wide {
            return self.gather_with(access, indices.index[0], indices.ok[0]);
        }
        let masks = if self.has_mask_registers() || self.packet.target.gathers_lanes {
            indices.ok
        } else {
            // Half a vector of data wants half a vector of 32-bit masks.
            let narrow = self.low_dwords(indices.ok[0], indices.ok[1]);
            [narrow, self.half(narrow, true)]
        };
        let low = self.gather_with(access, indices.index[0], masks[0]);
        let high = self.gather_with(access, indices.index[1], masks[1]);
        self.binary_by(Opcode::JoinHalves, low, high, 1)
    }

    /// One half of a narrow part's lanes as 64-bit lanes.
    fn gather64(&mut self, word: u32, indices: &Indices, half: usize) -> VReg {
        let access = self.access(word, 8, indices.wide);
        if indices.wide {
            return self.gather_with(access, indices.index[half], indices.ok[half]);
        }
        let mask = self.widen_mask(indices.ok[0], half == 1);
        let index = self.half(indices.index[0], half == 1);
        self.gather_with(access, index, mask)
    }

    fn gather_mask(&mut self, word: u32, indices: &Indices) -> VReg {
        let bytes = self.gather_in_words(word, indices, 1);
        let one = self.constant(1, 4);
        let bits = self.binary(Opcode::And32, bytes, one);
        self.mask_from_ones(bits)
    }

    /// Elements of one or two bytes, in the low bits of 32-bit lanes with others above.
    fn gather_in_words(&mut self, word: u32, indices: &Indices, bytes: usize) -> VReg {
        let access = self.access(word, bytes, indices.wide);
        if !indices.wide || self.packet.target.gathers_lanes {
            return self.gather32(access, indices);
        }
        // The aligned 4 bytes around each are gathered, so that none is read across a page.
        let mut aligned = Indices { wide: true, within: None, ..*indices };
        let beside = self.constant(!(4 / bytes as u64 - 1), 8);
        for (aligned, index) in aligned.index.iter_mut().zip(indices.index) {
            *aligned = self.binary(Opcode::And64, index, beside);
        }
        let words = self.gather32(Access { counting: None, ..access }, &aligned);
        let index = self.low_dwords(indices.index[0], indices.index[1]);
        let shift = self.shift_in_word(index, bytes);
        self.binary(Opcode::Shr32, words, shift)
    }

    pub(super) fn scatter(
        &mut self,
        op: ScatterOp,
        inst: &Inst,
        target: BufferIndex,
        access: Option<u32>,
    ) {
        let (value, index, active) = (inst.arg(0), inst.arg(1), inst.args[2]);
        let dtype = self.kernel.dtype(value);
        let word = exactly(self.kernel.address_word(target));
        let by_lane = self.goes_by_lane(index);
        for part in 0..self.packet.narrow {
            let indices = if by_lane {
                self.within(target, index, (active, None), part, access)
            } else {
                self.indices(target, index, active, part, access, true)
            };
            let whole = op == ScatterOp::Set && dtype.bytes() >= 4;
            if self.packet.target.scatters && whole {
                self.scatter_vectors(word, dtype, value, &indices, part);
            } else {
                self.scatter_lanes(word, op, dtype, value, &indices, part);
            }
        }
    }

    /// Of lanes with equal indices the highest one's value stays.
    fn scatter_vectors(
        &mut self,
        word: u32,
        dtype: DType,
        value: Reg,
        indices: &Indices,
        part: usize,
    ) {
        let wide = dtype.bytes() == 8;
        let scatter = Special::Scatter(self.access(word, dtype.bytes(), indices.wide));
        if !wide && !indices.wide {
            let lanes = self.values.get(value.index(), part);
            return self.effect(scatter, [indices.index[0], lanes, indices.ok[0]]);
        }
        for half in 0..2 {
            let upper = half == 1;
            let lanes = if wide {
                self.values.get(value.index(), 2 * part + half)
            } else {
                let narrow = self.values.get(value.index(), part);
                self.half(narrow, upper)
            };
            let (index, mask) = if indices.wide {
                (indices.index[half], indices.ok[half])
            } else {
                (self.half(indices.index[0], upper), self.widen_mask(indices.ok[0], upper))
            };
            self.effect(scatter, [index, lanes, mask]);
        }
    }

    fn scatter_lanes(
        &mut self,
        word: u32,
        op: ScatterOp,
        dtype: DType,
        value: Reg,
        indices: &Indices,
        part: usize,
    ) {
        let vector = exactly::<u32>(self.packet.vector());
        let scratch = self.frame.scratch;
        let in_scratch = if indices.within.is_some() { 0 } else { indices.count() };
        for half in 0..in_scratch {
            let offset = scratch + exactly::<u32>(half) * vector;
            self.effect(Special::StoreScratch { offset }, [indices.index[half]]);
        }
        let values = if dtype == DType::Mask {
            let mask = self.narrow_mask(value.index(), part);
            vec![self.bytes_of_mask(mask)]
        } else if dtype.is_narrow() {
            let lanes = self.values.get(value.index(), part);
            // A half is combined as the f32 that it is in its register.
            let combines = dtype.is_half() && op != ScatterOp::Set;
            vec![if combines { lanes } else { self.packed(dtype, lanes) }]
        } else {
            let n = dtype.bytes() / 4;
            (0..n).map(|half| self.values.get(value.index(), n * part + half)).collect()
        };
        for (half, value) in values.into_iter().enumerate() {
            self.effect(
                Special::StoreScratch { offset: scratch + (2 + exactly::<u32>(half)) * vector },
                [value],
            );
        }
        if let Some((length, beside, bounds)) = indices.within {
            let scatter = Special::ScatterWithin { word, op, dtype, bounds };
            return self.effect(scatter, [length, indices.index[0], beside]);
        }
        let mask = match (indices.wide, self.has(Opcode::MaskJoin)) {
            (false, _) => indices.ok[0],
            (true, true) => self.binary(Opcode::MaskJoin, indices.ok[1], indices.ok[0]),
            (true, false) => self.low_dwords(indices.ok[0], indices.ok[1]),
        };
        self.effect(Special::ScatterLanes { word, op, dtype, wide_index: indices.wide }, [mask]);
    }
}

//! Gathers, lane by lane: there is no instruction for them.

use super::emitter::{Arm, VECTOR};
use super::encode::{At, FRAME, SCRATCH, SECOND, T0, Transfer, V, X};
use super::encodings::{AND, XTN_2S};
use crate::backend::cpu::program::Access;
use crate::convert::exactly;

impl Arm {
    /// Lanes gathered where the mask is set, zeros elsewhere. The result shares no register with a source.
    ///
    /// The mask has lanes as wide as the wider of data and index; with two different widths there are two lanes.
    pub(super) fn gather(&mut self, access: Access, dst: V, [_, index, mask]: [V; 3]) {
        let Access { word, wide, wide_index, bytes, .. } = access;
        let base = self.base(word, SECOND);
        // Lanes outside read element 0, which every buffer has.
        let narrow_mask = |this: &mut Self| {
            this.code.unary(XTN_2S, T0, mask);
            T0
        };
        let beside = if wide && !wide_index { narrow_mask(self) } else { mask };
        self.code.binary(AND, T0, index, beside);
        let lanes = if wide || wide_index { 2 } else { 4 };
        for lane in 0..lanes {
            self.code.lane(SCRATCH, T0, lane, wide_index);
            self.gather_lane(usize::from(bytes), base, dst, lane);
        }
        let beside = if wide_index && !wide { narrow_mask(self) } else { mask };
        self.code.binary(AND, dst, dst, beside);
    }

    /// One lane by the index in the scratch register. The first one clears the others.
    fn gather_lane(&mut self, bytes: usize, base: X, dst: V, lane: u32) {
        let wide = bytes == 8;
        if bytes < 4 {
            let load = Transfer::number(bytes, false).load_indexed();
            self.code.three(load, SCRATCH, base, SCRATCH);
            return match lane {
                0 => self.code.registers(0x1e27_0000, dst.0, SCRATCH.0), // fmov
                _ => self.code.registers(0x4e04_1c00 | lane << 19, dst.0, SCRATCH.0), // ins
            };
        }
        if lane == 0 {
            let word = Transfer::vector(bytes).load_indexed();
            return self.code.three(word, X(dst.0), base, SCRATCH);
        }
        self.code.add(SCRATCH, base, SCRATCH, bytes.ilog2());
        self.code.load_lane(dst, lane, SCRATCH, wide);
    }

    /// Where a lane in the frame's scratch is.
    pub(super) fn in_scratch(&self, vector: u32, lane: u32, bytes: usize) -> At {
        let offset = vector * VECTOR + lane * exactly::<u32>(bytes);
        At { base: FRAME, offset: self.frame.scratch + offset }
    }
}

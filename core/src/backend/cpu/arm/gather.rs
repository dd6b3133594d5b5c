//! Gathers, lane by lane: there is no instruction for them.

use super::emitter::{Arm, ColdCode, VECTOR, Within};
use super::encode::{
    At, Condition, FOURTH, FRAME, POOL, SCRATCH, SECOND, T0, T1, T2, THIRD, Transfer, V, X, ZERO,
};
use super::encodings::{ADD, AND, CMEQ, CMHI, XTN_2S};
use crate::backend::cpu::program::{ACTIVE_VECTORS, Access, Beside};
use crate::convert::exactly;

impl Arm {
    /// Lanes gathered where the mask is set, zeros elsewhere. The result shares no register with a source.
    ///
    /// The mask has lanes as wide as the wider of data and index; with two different widths there are two lanes.
    pub(super) fn gather(&mut self, access: Access, dst: V, index: V, mask: V) {
        let Access { wide, wide_index, .. } = access;
        let narrow_mask = |this: &mut Self| {
            this.code.unary(XTN_2S, T0, mask);
            T0
        };
        let beside = if wide && !wide_index { narrow_mask(self) } else { mask };
        // Lanes outside read element 0, which every buffer has.
        self.code.binary(AND, T0, index, beside);
        self.gather_all(access, dst, T0);
        let beside = if wide_index && !wide { narrow_mask(self) } else { mask };
        self.code.binary(AND, dst, dst, beside);
    }

    /// Lanes gathered.
    fn gather_all(&mut self, access: Access, dst: V, index: V) {
        let Access { word, wide, wide_index, bytes, .. } = access;
        let base = self.base(word, SECOND);
        for lane in 0..if wide || wide_index { 2 } else { 4 } {
            self.code.lane(SCRATCH, index, lane, wide_index);
            self.gather_lane(usize::from(bytes), base, dst, lane);
        }
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

    /// Lanes gathered where they are in bounds and wanted, zeros elsewhere. That all of them are is what is fast.
    pub(super) fn gather_within(&mut self, access: Access, dst: V, lanes: Within) {
        if lanes.bounds.beside == Beside::Near {
            self.code.registers(0x9e66_0000, SCRATCH.0, lanes.beside.0); // fmov
            let entry = self.code.jump_behind_if(true, SCRATCH, true, self.segmented);
            let at = At { base: SCRATCH, offset: u32::from(lanes.bounds.part) * VECTOR };
            self.load_vector(dst, at, SCRATCH);
            return self.rarely(entry, ColdCode::Gather { access, dst, lanes });
        }
        self.inside(T0, &lanes, false);
        self.all_of(T0);
        let entry = self.code.jump_behind_if(true, SCRATCH, false, self.segmented);
        self.gather_all(access, dst, lanes.index);
        self.rarely(entry, ColdCode::GatherSome { access, dst, lanes });
    }

    /// Which lanes are in bounds and wanted; of those of the launch only, if need be.
    pub(super) fn inside(&mut self, to: V, lanes: &Within, launched: bool) {
        self.code.binary(CMHI, to, lanes.length, lanes.index);
        if lanes.bounds.beside == Beside::Wanted {
            self.code.binary(AND, to, to, lanes.beside);
        }
        if launched {
            self.load_vector(T1, Self::active(lanes.bounds.part), SCRATCH);
            self.code.binary(AND, to, to, T1);
        }
    }

    /// Where the vector of a part's active lanes is.
    pub(super) fn active(part: u8) -> At {
        At { base: FRAME, offset: ACTIVE_VECTORS + u32::from(part) * VECTOR }
    }

    pub(super) fn gather_some(&mut self, access: Access, dst: V, lanes: &Within, back: u64) {
        self.inside(T2, lanes, false);
        self.gather(access, dst, lanes.index, T2);
        self.report_outside(lanes, back);
    }

    /// Where the packet's first element is, if all of its indices count up within bounds; else 0.
    pub(super) fn near(&mut self, access: Access, dst: V, [parts, index, length]: [V; 3]) {
        let counting = access.counting.expect("internal error: lanes that are no neighbours");
        self.load_vector(T0, At { base: POOL, offset: counting }, SCRATCH);
        self.code.unary(0x4e04_0400, T1, index); // dup, lane 0
        self.code.binary(ADD, T0, T0, T1);
        self.code.binary(CMEQ, T0, T0, index);
        self.code.binary(AND, T0, T0, parts);
        self.all_of(T0);
        self.code.lane(THIRD, index, 0, false);
        self.code.lane(FOURTH, length, 0, false);
        self.code.add_number(SECOND, THIRD, exactly(self.packet.lanes()));
        self.code.compare(FOURTH, SECOND, true);
        self.code.select(FOURTH, SCRATCH, ZERO, Condition::HigherOrSame);
        let base = self.base(access.word, SECOND);
        self.code.add(THIRD, base, THIRD, access.bytes.ilog2());
        self.code.compare(FOURTH, ZERO, false);
        self.code.select(SCRATCH, THIRD, ZERO, Condition::Higher);
        self.code.registers(0x9e67_0000, dst.0, SCRATCH.0); // fmov
    }

    /// Where a lane in the frame's scratch is.
    pub(super) fn in_scratch(&self, vector: u32, lane: u32, bytes: usize) -> At {
        let offset = vector * VECTOR + lane * exactly::<u32>(bytes);
        At { base: FRAME, offset: self.frame.scratch + offset }
    }
}

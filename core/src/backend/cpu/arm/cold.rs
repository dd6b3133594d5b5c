//! Machine code of what is rare, behind the function: lanes out of bounds.

use super::emitter::{Arm, Cold, ColdCode, Report, VECTOR, Within};
use super::encode::{
    At, Condition, FILL, FOURTH, FRAME, LANE, SCRATCH, SECOND, T0, T1, THIRD, Transfer,
};
use super::encodings::{AND, BIC, CMHI};
use super::scatter::LANE_BITS;
use crate::backend::cpu::machine::Machine;
use crate::backend::cpu::program::Beside;

impl Arm {
    /// The code of what is rare.
    pub(super) fn emit_cold(&mut self) {
        // Such code may have some of its own.
        while let Some(Cold { entry, back, code }) = self.cold.pop() {
            self.land(entry);
            match code {
                ColdCode::Report(report) => self.report(report, back),
                ColdCode::Gather { access, dst, mut lanes } => {
                    lanes.bounds.beside = Beside::Nothing;
                    self.gather_within(access, dst, lanes);
                    self.code.jump_back(back);
                }
                ColdCode::GatherSome { access, dst, lanes } => {
                    self.gather_some(access, dst, &lanes, back);
                }
                ColdCode::ScatterSome { to, lanes } => self.scatter_some(to, &lanes, back),
            }
        }
    }

    /// Reports the first of the lanes that are out of bounds, if any is to be reported, and goes back.
    pub(super) fn report_outside(&mut self, lanes: &Within, back: u64) {
        let Within { bounds, index, .. } = *lanes;
        let Some(offset) = bounds.report else { return self.code.jump_back(back) };
        self.load_vector(T1, Self::active(bounds.part), SCRATCH);
        if bounds.beside == Beside::Wanted {
            self.code.binary(AND, T1, T1, lanes.beside);
        }
        self.code.binary(CMHI, T0, lanes.length, index);
        self.code.binary(BIC, T1, T1, T0);
        self.any_of(T1);
        let some = self.code.jump_ahead_if(false, SCRATCH);
        self.code.jump_back(back);
        self.land(some);
        let lane = u32::from(bounds.part) * VECTOR / 4;
        let signed = bounds.signed;
        self.report(Report { mask: T1, index, offset, lane, wide: false, signed }, back);
    }

    fn report(&mut self, report: Report, back: u64) {
        let Report { mask, index, offset, lane, wide, signed } = report;
        self.bits_of_mask(mask, wide);
        self.code.registers(0xdac0_0000, SCRATCH.0, SCRATCH.0); // rbit
        self.code.registers(0xdac0_1000, SCRATCH.0, SCRATCH.0); // clz
        let bits = if wide { 2 * LANE_BITS } else { LANE_BITS };
        let shift = bits.ilog2();
        self.code.registers(0xd340_fc00 | shift << 16, SCRATCH.0, SCRATCH.0); // lsr
        let scratch = At { base: FRAME, offset: self.frame.scratch + 4 * VECTOR };
        self.store_vector(scratch, index, FILL);
        self.code.add_number(FILL, FRAME, scratch.offset);
        self.code.add(FILL, FILL, SCRATCH, if wide { 3 } else { 2 });
        let how = match (wide, signed) {
            (true, _) => Transfer::LONG,
            (false, true) => Transfer::SIGNED_WORD,
            (false, false) => Transfer::WORD,
        };
        self.code.load(how, SECOND.0, At { base: FILL, offset: 0 }, FILL);
        // The lane in its packet is small; the packet's first lane is a 64-bit number.
        self.code.add_number(SCRATCH, SCRATCH, lane);
        self.code.add(SCRATCH, SCRATCH, LANE, 0);
        let [known_lane, known_index] = [0, 8].map(|at| At { base: FRAME, offset: offset + at });
        self.code.load_long(THIRD, known_lane);
        self.code.compare(SCRATCH, THIRD, true);
        self.code.jump_back_if(Condition::Higher, back);
        // The same lane in another turn of a loop: the lowest index stays.
        self.code.load_long(FOURTH, known_index);
        let lower = self.code.branch_ahead(0x5400_0003); // b.lo
        self.code.compare(SECOND, FOURTH, true);
        self.code.jump_back_if(Condition::HigherOrSame, back);
        self.land(lower);
        self.code.store(Transfer::LONG, SCRATCH.0, known_lane, FILL);
        self.code.store(Transfer::LONG, SECOND.0, known_index, FILL);
        self.code.jump_back(back);
    }
}

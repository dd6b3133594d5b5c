//! Machine code of what is rare, behind the function: lanes out of bounds.

use super::emitter::{Arm, Cold, Report, VECTOR};
use super::encode::{At, Condition, FILL, FOURTH, FRAME, LANE, SCRATCH, SECOND, THIRD, Transfer};
use super::scatter::LANE_BITS;
use crate::backend::cpu::machine::Machine;

impl Arm {
    /// The code of what is rare.
    pub(super) fn emit_cold(&mut self) {
        for Cold { entry, back, report } in std::mem::take(&mut self.cold) {
            self.land(entry);
            self.report(report, back);
        }
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

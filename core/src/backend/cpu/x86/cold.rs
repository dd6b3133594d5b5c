//! Machine code of what is rare, behind the program: lanes out of bounds, indices that do not count up.

use iced_x86::{Code, Register};

use super::emitter::{Cold, ColdCode, Report, SECOND, X86};
use super::encode::{FRAME, LANE, SCRATCH, at, indexed};
use crate::backend::cpu::machine::Machine;

impl X86 {
    /// The code of what is rare, behind the program.
    pub(super) fn emit_cold(&mut self) {
        for Cold { entry, back, code } in std::mem::take(&mut self.cold) {
            self.land(entry);
            match code {
                ColdCode::Report(report) => self.report(report, back),
                ColdCode::Gather(indexed) => {
                    self.gather_same(indexed, back);
                    self.gather_any(indexed);
                }
                ColdCode::Scatter(indexed) => self.scatter_any(indexed),
            }
            if !matches!(code, ColdCode::Report(_)) {
                self.code.jump_back(Code::Jmp_rel32_64, back);
            }
        }
    }

    fn report(&mut self, report: Report, back: u64) {
        let Report { mask, index, offset, lane, wide, signed } = report;
        let scratch = self.frame.scratch + 4 * self.vector_bytes();
        self.bits_of_mask(mask, wide);
        self.code.registers(Code::Tzcnt_r32_rm32, Register::EAX, Register::EAX);
        self.store_vector(at(FRAME, scratch), index);
        let place = indexed(FRAME, SCRATCH, if wide { 8 } else { 4 }, scratch);
        match (wide, signed) {
            (true, _) => self.code.load(Code::Mov_r64_rm64, SECOND, place),
            (false, true) => self.code.load(Code::Movsxd_r64_rm32, SECOND, place),
            (false, false) => self.code.load(Code::Mov_r32_rm32, Register::R9D, place),
        }
        // The lane in its packet is small; the packet's first lane is a 64-bit number.
        let lane = at(SCRATCH, lane);
        self.code.load(Code::Lea_r64_m, SCRATCH, lane);
        self.code.registers(Code::Add_r64_rm64, SCRATCH, LANE);
        self.code.load(Code::Cmp_r64_rm64, SCRATCH, at(FRAME, offset));
        self.code.jump_back(Code::Ja_rel32_64, back);
        let lower = self.code.jump_ahead(Code::Jb_rel32_64);
        // The same lane in another turn of a loop: the lowest index stays.
        self.code.load(Code::Cmp_r64_rm64, SECOND, at(FRAME, offset + 8));
        self.code.jump_back(Code::Jae_rel32_64, back);
        self.land(lower);
        self.code.store(Code::Mov_rm64_r64, at(FRAME, offset), SCRATCH);
        self.code.store(Code::Mov_rm64_r64, at(FRAME, offset + 8), SECOND);
        self.code.jump_back(Code::Jmp_rel32_64, back);
    }
}

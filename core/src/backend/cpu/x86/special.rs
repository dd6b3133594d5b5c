//! Code of the instructions that are more than one machine instruction or that touch general registers.

use iced_x86::{Code, Register};

use super::emitter::{Cold, ColdCode, Report, X86};
use super::encode::{Encoder, FRAME, LANE, SCRATCH, UNIFORMS, WORDS, at, indexed};
use super::encodings::Width;
use crate::backend::cpu::program::Special;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::WORD_LANE_BASE;

impl X86 {
    /// Encodes an instruction with the registers of its result and sources.
    pub(super) fn emit_special(
        &mut self,
        special: Special,
        dst: u8,
        src: [u8; 3],
        spare: Option<u8>,
    ) {
        match special {
            Special::LaneNumber { wide } => {
                let base = 8 * exactly::<u32>(WORD_LANE_BASE);
                self.code.load(Code::Mov_r64_rm64, SCRATCH, at(WORDS, base));
                self.code.registers(Code::Add_r64_rm64, SCRATCH, LANE);
                self.repeat_scratch(dst, wide);
            }
            Special::LoadBytes { buffer, part } => {
                let lanes = self.vector_bytes() / 4;
                let memory = self.lanes(buffer, 1, u32::from(part) * lanes, SCRATCH);
                let (code, width) = if self.avx512() {
                    (Code::EVEX_Vmovdqu8_xmm_k1z_xmmm128, Width::Quarter)
                } else {
                    (Code::VEX_Vpmovzxbd_ymm_xmmm64, Width::Whole)
                };
                let dst = self.code.vector(dst, width);
                self.code.load(code, dst, memory);
            }
            Special::LoadNarrow { buffer, dtype, part } => {
                self.load_narrow(buffer, dtype, part, dst);
            }
            Special::RepeatElement { word, dtype } => {
                let code = match (dtype.bytes(), dtype.is_int() && dtype.is_signed()) {
                    (1, true) => Code::Movsx_r32_rm8,
                    (1, false) => Code::Movzx_r32_rm8,
                    (_, true) => Code::Movsx_r32_rm16,
                    (_, false) => Code::Movzx_r32_rm16,
                };
                self.code.load(Code::Mov_r64_rm64, SCRATCH, at(WORDS, 8 * word));
                self.code.load(code, Register::EAX, at(SCRATCH, 0));
                self.repeat_scratch(dst, false);
            }
            Special::Store { buffer, bytes, part } => {
                let displacement = u32::from(part) * self.vector_bytes();
                let memory = self.lanes(buffer, bytes, displacement, SCRATCH);
                if self.style.nontemporal {
                    let code = if self.avx512() {
                        Code::EVEX_Vmovntps_m512_zmm
                    } else {
                        Code::VEX_Vmovntps_m256_ymm
                    };
                    let source = self.code.vector(src[0], Width::Whole);
                    self.code.store(code, memory, source);
                } else {
                    self.store_vector(memory, src[0]);
                }
            }
            Special::StorePacked { buffer, bytes, part } => {
                self.store_packed(buffer, bytes, part, src[0]);
            }
            Special::StoreUniform { offset, bytes, mask } => {
                let memory = at(UNIFORMS, offset);
                if !self.avx512() {
                    self.store_vector(memory, src[0]);
                } else if mask {
                    self.code.store(Code::VEX_Kmovw_m16_kr, memory, Encoder::mask(src[0]));
                } else {
                    let code = if bytes == 8 {
                        Code::EVEX_Vmovq_xmmm64_xmm
                    } else {
                        Code::EVEX_Vmovd_rm32_xmm
                    };
                    let source = self.code.vector(src[0], Width::Quarter);
                    self.code.store(code, memory, source);
                }
            }
            Special::LoadAccumulator { offset, bytes, part } => {
                let memory = self.accumulator(offset, bytes, part);
                self.load_vector(dst, memory);
            }
            Special::StoreAccumulator { offset, bytes, part } => {
                let memory = self.accumulator(offset, bytes, part);
                self.store_vector(memory, src[0]);
            }
            Special::Count { offset, part } => {
                self.bits_of_mask(src[0], false);
                let part = u32::from(part);
                let (code, location) = if self.avx512() {
                    (Code::Movzx_r32_rm16, 2 * part)
                } else {
                    (Code::Movzx_r32_rm8, part)
                };
                self.code.load(code, Register::R9D, at(FRAME, location));
                self.code.registers(Code::And_r32_rm32, Register::EAX, Register::R9D);
                self.code.registers(Code::Popcnt_r32_rm32, Register::EAX, Register::EAX);
                self.code.store(Code::Add_rm64_r64, at(FRAME, offset), SCRATCH);
            }
            Special::Check { offset, part, wide, signed } => {
                if self.avx512() {
                    let mask = Encoder::mask(src[0]);
                    let code =
                        if wide { Code::VEX_Kortestb_kr_kr } else { Code::VEX_Kortestw_kr_kr };
                    self.code.registers(code, mask, mask);
                } else {
                    self.bits_of_mask(src[0], wide);
                    self.code.registers(Code::Test_rm32_r32, Register::EAX, Register::EAX);
                }
                let entry = self.code.jump_ahead(Code::Jne_rel32_64);
                let lanes = self.vector_bytes() / if wide { 8 } else { 4 };
                let lane = u32::from(part) * lanes;
                let report = Report { mask: src[0], index: src[1], offset, lane, wide, signed };
                let code = ColdCode::Report(report);
                self.cold.push(Cold { entry, back: self.code.position(), code });
            }
            Special::Gather(access) => self.gather(access, dst, src),
            Special::Scatter(access) => self.scatter(access, src, spare),
            Special::GatherWithin(..)
            | Special::Near(_)
            | Special::ScatterWithin { .. }
            | Special::LoadHalves { .. } => {
                unreachable!("internal error: {special:?} is of another machine")
            }
            Special::StoreScratch { offset } => self.store_vector(at(FRAME, offset), src[0]),
            Special::ScatterLanes { word, op, dtype, wide_index } => {
                self.scatter_lanes(word, op, dtype, wide_index, src[0]);
            }
        }
    }

    /// Lanes of a narrow type, extended as they are loaded.
    fn load_narrow(&mut self, buffer: u32, dtype: DType, part: u8, dst: u8) {
        let bytes = exactly::<u8>(dtype.bytes());
        let size = u32::from(bytes) * self.vector_bytes() / 4;
        let memory = self.lanes(buffer, bytes, u32::from(part) * size, SCRATCH);
        if self.style.prefetch {
            self.fetch(memory);
        }
        let signed = dtype.is_signed();
        let code = match (self.avx512(), bytes) {
            (true, _) if dtype == DType::F16 => Code::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae,
            (true, 1) if signed => Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
            (true, 1) => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
            (true, _) if signed => Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
            (true, _) => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
            (false, _) if dtype == DType::F16 => Code::VEX_Vcvtph2ps_ymm_xmmm128,
            (false, 1) if signed => Code::VEX_Vpmovsxbd_ymm_xmmm64,
            (false, 1) => Code::VEX_Vpmovzxbd_ymm_xmmm64,
            (false, _) if signed => Code::VEX_Vpmovsxwd_ymm_xmmm128,
            (false, _) => Code::VEX_Vpmovzxwd_ymm_xmmm128,
        };
        let dst = self.code.vector(dst, Width::Whole);
        self.code.load(code, dst, memory);
    }

    /// A part's elements of one or two bytes, packed in the low bytes of a register.
    fn store_packed(&mut self, buffer: u32, bytes: u8, part: u8, source: u8) {
        let size = u32::from(bytes) * self.vector_bytes() / 4;
        let memory = self.lanes(buffer, bytes, u32::from(part) * size, SCRATCH);
        let (code, width) = match (size, self.avx512(), self.style.nontemporal) {
            (32, _, true) => (Code::EVEX_Vmovntps_m256_ymm, Width::Half),
            (32, _, false) => (Code::EVEX_Vmovdqu8_ymmm256_k1z_ymm, Width::Half),
            (16, true, true) => (Code::EVEX_Vmovntps_m128_xmm, Width::Quarter),
            (16, true, false) => (Code::EVEX_Vmovdqu8_xmmm128_k1z_xmm, Width::Quarter),
            (16, false, true) => (Code::VEX_Vmovntps_m128_xmm, Width::Quarter),
            (16, false, false) => (Code::VEX_Vmovups_xmmm128_xmm, Width::Quarter),
            _ => (Code::VEX_Vmovq_xmmm64_xmm, Width::Quarter),
        };
        let source = self.code.vector(source, width);
        self.code.store(code, memory, source);
    }

    /// The scratch register in every lane.
    fn repeat_scratch(&mut self, dst: u8, wide: bool) {
        let whole = self.code.vector(dst, Width::Whole);
        if self.avx512() {
            let (code, source) = if wide {
                (Code::EVEX_Vpbroadcastq_zmm_k1z_r64, SCRATCH)
            } else {
                (Code::EVEX_Vpbroadcastd_zmm_k1z_r32, Register::EAX)
            };
            return self.code.registers(code, whole, source);
        }
        let low = self.code.vector(dst, Width::Quarter);
        let repeat = if wide {
            self.code.registers(Code::VEX_Vmovq_xmm_rm64, low, SCRATCH);
            Code::VEX_Vpbroadcastq_ymm_xmmm64
        } else {
            self.code.registers(Code::VEX_Vmovd_xmm_rm32, low, Register::EAX);
            Code::VEX_Vpbroadcastd_ymm_xmmm32
        };
        self.code.registers(repeat, whole, low);
    }

    /// The accumulators of a part's lanes: of 32, those from the packet's first lane on.
    fn accumulator(&mut self, offset: u32, bytes: u8, part: u8) -> iced_x86::MemoryOperand {
        let offset = offset + u32::from(part) * self.vector_bytes();
        if self.packet.lanes().is_multiple_of(32) {
            return at(FRAME, offset);
        }
        self.code.registers(Code::Mov_r32_rm32, Register::EAX, Register::ESI);
        self.code.number(Code::And_rm32_imm8, Register::EAX, 31);
        indexed(FRAME, SCRATCH, bytes, offset)
    }

    /// One bit a lane of a mask in the scratch register.
    pub(super) fn bits_of_mask(&mut self, mask: u8, wide: bool) {
        if self.avx512() {
            let code = if wide { Code::VEX_Kmovb_r32_kr } else { Code::VEX_Kmovw_r32_kr };
            return self.code.registers(code, Register::EAX, Encoder::mask(mask));
        }
        let code = if wide { Code::VEX_Vmovmskpd_r32_ymm } else { Code::VEX_Vmovmskps_r32_ymm };
        let mask = self.code.vector(mask, Width::Whole);
        self.code.registers(code, Register::EAX, mask);
    }
}

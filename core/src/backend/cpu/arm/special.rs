//! Code of the instructions that are more than one machine instruction or that touch general registers.

use super::emitter::{Arm, ColdCode, Report, VECTOR, Within};
use super::encode::{At, FILL, FRAME, LANE, SCRATCH, SECOND, T0, Transfer, UNIFORMS, V, X};
use super::encodings::{AND, FCVTL_4S, SXTL_4S, SXTL_8H, UXTL_4S, UXTL_8H};
use super::scatter::{Lane, ScatterTo};
use crate::backend::cpu::program::Special;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::WORD_LANE_BASE;

impl Arm {
    /// Encodes an instruction with the registers of its result and sources.
    pub(super) fn emit_special(&mut self, special: Special, dst: V, src: [V; 3]) {
        match special {
            Special::LaneNumber { wide } => {
                self.code.load_long(SCRATCH, Self::word_of(WORD_LANE_BASE));
                self.code.add(SCRATCH, SCRATCH, LANE, 0);
                self.code.repeat(dst, SCRATCH, wide);
            }
            Special::LoadBytes { buffer, part } => {
                self.load_narrow(buffer, DType::U8, part, dst);
            }
            Special::LoadNarrow { buffer, dtype, part } => {
                self.load_narrow(buffer, dtype, part, dst);
            }
            Special::LoadHalves { buffer, part } => self.load_packed(buffer, 2, part, dst),
            Special::RepeatElement { word, dtype } => {
                self.code.load_long(SCRATCH, Self::word_of(word as usize));
                let how = Transfer::number(dtype.bytes(), dtype.is_int() && dtype.is_signed());
                self.code.load(how, SCRATCH.0, At { base: SCRATCH, offset: 0 }, SCRATCH);
                self.code.repeat(dst, SCRATCH, false);
            }
            Special::Store { buffer, bytes, part } => {
                let at = self.lanes(buffer, bytes, u32::from(part) * VECTOR, SCRATCH);
                self.store_vector(at, src[0], SCRATCH);
            }
            Special::StorePacked { buffer, bytes, part } => {
                let size = u32::from(bytes) * VECTOR / 4;
                let at = self.lanes(buffer, bytes, u32::from(part) * size, SCRATCH);
                self.code.store(Transfer::vector(size as usize), src[0].0, at, SCRATCH);
            }
            Special::StoreUniform { offset, .. } => {
                self.store_vector(At { base: UNIFORMS, offset }, src[0], SCRATCH);
            }
            Special::LoadAccumulator { offset, bytes, part } => {
                let at = self.accumulator(offset, bytes, part);
                self.load_vector(dst, at, SCRATCH);
            }
            Special::StoreAccumulator { offset, bytes, part } => {
                let at = self.accumulator(offset, bytes, part);
                self.store_vector(at, src[0], SCRATCH);
            }
            Special::Count { offset, part } => {
                self.load_vector(T0, Self::active(part), SCRATCH);
                self.code.binary(AND, T0, T0, src[0]);
                // Each true lane is -1.
                self.code.unary(0x4eb1_b800, T0, T0); // addv
                self.code.registers(0x1e26_0000, SCRATCH.0, T0.0); // fmov
                let counter = At { base: FRAME, offset };
                self.code.load_long(SECOND, counter);
                self.code.three(0xcb20_c000, SECOND, SECOND, SCRATCH); // sub, sxtw
                self.code.store(Transfer::LONG, SECOND.0, counter, FILL);
            }
            Special::Check { offset, part, wide, signed } => {
                self.any_of(src[0]);
                let entry = self.code.jump_behind_if(false, SCRATCH, false, self.segmented);
                let lane = u32::from(part) * VECTOR / if wide { 8 } else { 4 };
                let report = Report { mask: src[0], index: src[1], offset, lane, wide, signed };
                self.rarely(entry, ColdCode::Report(report));
            }
            Special::Gather(access) => self.gather(access, dst, src[1], src[2]),
            Special::GatherWithin(access, bounds) => {
                let [length, index, beside] = src;
                self.gather_within(access, dst, Within { bounds, length, index, beside });
            }
            Special::Near(access) => self.near(access, dst, src),
            Special::Scatter(_) => unreachable!("internal error: lanes are scattered one by one"),
            Special::StoreScratch { offset } => {
                self.store_vector(At { base: FRAME, offset }, src[0], SCRATCH);
            }
            Special::ScatterLanes { word, op, dtype, wide_index } => {
                let to = ScatterTo { word, op, dtype };
                self.scatter_lanes(to, Lane::InScratch { wide: wide_index }, Some(src[0]));
            }
            Special::ScatterWithin { word, op, dtype, bounds } => {
                let [length, index, beside] = src;
                let lanes = Within { bounds, length, index, beside };
                self.scatter_within(ScatterTo { word, op, dtype }, lanes);
            }
        }
    }

    /// A part's lanes of a buffer of a narrow type, one beside the other.
    fn load_packed(&mut self, buffer: u32, bytes: u8, part: u8, dst: V) {
        let size = u32::from(bytes) * VECTOR / 4;
        let at = self.lanes(buffer, bytes, u32::from(part) * size, SCRATCH);
        if self.style.prefetch {
            self.fetch(at);
        }
        self.code.load(Transfer::vector(size as usize), dst.0, at, SCRATCH);
    }

    /// The same, extended behind the load.
    fn load_narrow(&mut self, buffer: u32, dtype: DType, part: u8, dst: V) {
        let bytes = exactly::<u8>(dtype.bytes());
        self.load_packed(buffer, bytes, part, dst);
        let (to_16, to_32) = match dtype.is_signed() {
            _ if dtype == DType::F16 => return self.code.unary(FCVTL_4S, dst, dst),
            true => (SXTL_8H, SXTL_4S),
            false => (UXTL_8H, UXTL_4S),
        };
        if bytes == 1 {
            self.code.unary(to_16, dst, dst);
        }
        self.code.unary(to_32, dst, dst);
    }

    /// The accumulators of a part's lanes: of 32, those from the packet's first lane on.
    fn accumulator(&mut self, offset: u32, bytes: u8, part: u8) -> At {
        let offset = offset + u32::from(part) * VECTOR;
        if self.packet.lanes().is_multiple_of(32) {
            return At { base: FRAME, offset };
        }
        let X(lane) = LANE;
        self.code.registers(0x9240_1000, SCRATCH.0, lane); // and, 31
        self.code.add(SCRATCH, FRAME, SCRATCH, bytes.ilog2());
        At { base: SCRATCH, offset }
    }
}

//! Shifts: counts of the width or more shift everything out (S9).

use super::build::Lowering;
use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::program::VReg;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::Op;
use crate::ir::scalar::apply_bits;

impl Lowering<'_> {
    pub(super) fn shift_left(&mut self, dtype: DType, a: VReg, count: VReg) -> VReg {
        let wide = dtype.bytes() == 8;
        if let Some(count) = self.bits_of(count, exactly(dtype.bytes())) {
            return self.shift_left_by(dtype, a, count);
        }
        let m = if wide { Opcode::Shl64 } else { Opcode::Shl32 };
        if self.has(m) {
            return self.binary(m, a, count);
        }
        let count = self.byte_count(dtype, count);
        self.binary(if wide { Opcode::ShiftU64 } else { Opcode::ShiftU32 }, a, count)
    }

    /// A shift count for the instructions that take it from a byte with a sign: all from the width on are the width.
    fn byte_count(&mut self, dtype: DType, count: VReg) -> VReg {
        let width = self.number(dtype, 8 * dtype.bytes() as u64);
        self.int_extreme(true, dtype.unsigned(), count, width)
    }

    fn shift_right_by_byte(&mut self, dtype: DType, a: VReg, count: VReg) -> VReg {
        let count = self.byte_count(dtype, count);
        let zero = self.zero(dtype);
        let left = self.sub(dtype.unsigned(), zero, count);
        let m = match (dtype.is_signed(), dtype.bytes()) {
            (true, 8) => Opcode::ShiftI64,
            (false, 8) => Opcode::ShiftU64,
            (true, _) => Opcode::ShiftI32,
            (false, _) => Opcode::ShiftU32,
        };
        self.binary(m, a, left)
    }

    pub(super) fn shift_left_by(&mut self, dtype: DType, a: VReg, count: u64) -> VReg {
        let m = if dtype.bytes() == 8 { Opcode::ShlBy64 } else { Opcode::ShlBy32 };
        self.unary_by(m, a, clamp_count(dtype, count, 0))
    }

    /// A logical shift by a constant.
    pub(super) fn shift_right_by(&mut self, dtype: DType, a: VReg, count: u64) -> VReg {
        if let Some(bits) = self.bits_of(a, exactly(dtype.bytes())) {
            let unsigned = if dtype.bytes() == 8 { DType::U64 } else { DType::U32 };
            return self
                .number(dtype, apply_bits(Op::Shr, unsigned, unsigned, [bits, count, count]));
        }
        let m = if dtype.bytes() == 8 { Opcode::ShrBy64 } else { Opcode::ShrBy32 };
        self.unary_by(m, a, clamp_count(dtype, count, 0))
    }

    pub(super) fn shift_right(&mut self, dtype: DType, a: VReg, count: VReg) -> VReg {
        let known = self.bits_of(count, exactly(dtype.bytes()));
        if known.is_none() && !self.has(Opcode::Shr32) {
            return self.shift_right_by_byte(dtype, a, count);
        }
        match (dtype, known) {
            (DType::I32, Some(count)) => {
                self.unary_by(Opcode::SarBy32, a, clamp_count(dtype, count, 1))
            }
            (DType::I64, Some(count)) if self.has(Opcode::SarBy64) => {
                self.unary_by(Opcode::SarBy64, a, clamp_count(dtype, count, 1))
            }
            (DType::I32, None) => self.binary(Opcode::Sar32, a, count),
            (DType::I64, None) if self.has(Opcode::Sar64) => self.binary(Opcode::Sar64, a, count),
            (DType::I64, _) => {
                // Complementing negative lanes before and after makes the zeros shifted in their sign.
                let sign = self.sign_mask(a);
                let positive = self.xor(dtype, a, sign);
                let shifted = match known {
                    Some(count) => self.shift_right_by(dtype, positive, count),
                    None => self.binary(Opcode::Shr64, positive, count),
                };
                self.xor(dtype, shifted, sign)
            }
            (_, Some(count)) => self.shift_right_by(dtype, a, count),
            (_, None) => self.binary(
                if dtype.bytes() == 8 { Opcode::Shr64 } else { Opcode::Shr32 },
                a,
                count,
            ),
        }
    }
}

/// A shift count as an immediate: counts of the width or more shift everything out, or (arithmetic
/// shifts) all but the sign.
fn clamp_count(dtype: DType, count: u64, keep: u64) -> u8 {
    let width = 8 * dtype.bytes() as u64;
    exactly(exactly::<usize>(count.min(width - keep)))
}

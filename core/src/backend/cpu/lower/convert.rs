//! Conversions between number types: saturating, NaN to 0, nearest even, integers wrap (S9).

use super::build::Lowering;
use crate::backend::cpu::instructions::{Compare, Opcode, Rounding};
use crate::backend::cpu::program::VReg;
use crate::dtype::DType;

/// 2^52 and 2^84 as f64: adding them to a number below moves its bits to the end of the mantissa.
const TWO_52: u64 = 0x4330_0000_0000_0000;
const TWO_84: u64 = 0x4530_0000_0000_0000;

impl Lowering<'_> {
    pub(super) fn cast(&mut self, i: usize, a: usize) {
        let (from, to) = (self.kernel.insts[a].dtype, self.kernel.insts[i].dtype);
        let parts: Vec<VReg> =
            (0..self.packet.parts(from.bytes())).map(|part| self.values.get(a, part)).collect();
        if !from.is_narrow() && !to.is_narrow() {
            return self.convert_parts(i, from, to, &parts);
        }
        for (part, &value) in parts.iter().enumerate() {
            let rounded = (to == DType::F16).then(|| self.in_halves(a, part)).flatten();
            let value = match rounded {
                Some(value) => value,
                None if to.is_narrow() => self.wrapped(to, value),
                None => value,
            };
            self.values.set(i, part, value);
        }
    }

    /// Sets the parts of instruction `i` to `parts` of type `from` converted to `to`.
    pub(super) fn convert_parts(&mut self, i: usize, from: DType, to: DType, parts: &[VReg]) {
        match (from.bytes(), to.bytes()) {
            (4, 8) => {
                for part in 0..2 * parts.len() {
                    let value = self.widen(from, to, parts[part / 2], part % 2 == 1);
                    self.values.set(i, part, value);
                }
            }
            (8, 4) => {
                for part in 0..parts.len() / 2 {
                    let halves = [parts[2 * part], parts[2 * part + 1]];
                    let value = self.narrow(from, to, halves);
                    self.values.set(i, part, value);
                }
            }
            (bytes, _) => {
                for (part, &value) in parts.iter().enumerate() {
                    let value = if bytes == 8 {
                        self.convert64(from, to, value)
                    } else {
                        self.convert32(from, to, value)
                    };
                    self.values.set(i, part, value);
                }
            }
        }
    }

    /// One half of a 32-bit part as a 64-bit part.
    fn widen(&mut self, from: DType, to: DType, value: VReg, upper: bool) -> VReg {
        match (from, to) {
            (DType::F32, DType::F64) => self.widened(Opcode::F64FromF32, value, upper),
            (DType::F32, _) => {
                let float = self.widened(Opcode::F64FromF32, value, upper);
                self.convert64(DType::F64, to, float)
            }
            (_, DType::F64) => self.f64_of_half(from, value, upper),
            (_, _) => self.extend(from, value, upper),
        }
    }

    /// One half of a 32-bit integer part in 64-bit lanes.
    pub(super) fn extend(&mut self, dtype: DType, narrow: VReg, upper: bool) -> VReg {
        let m = if dtype.is_signed() { Opcode::SignExtend } else { Opcode::ZeroExtend };
        self.widened(m, narrow, upper)
    }

    /// What an instruction that widens makes of one half of a register.
    pub(super) fn widened(&mut self, m: Opcode, value: VReg, upper: bool) -> VReg {
        if self.packet.target.widens_upper && upper && self.varies(value) {
            return self.unary_by(m, value, 1);
        }
        let half = self.half(value, upper);
        self.unary(m, half)
    }

    /// Two 64-bit parts as a 32-bit part.
    fn narrow(&mut self, from: DType, to: DType, halves: [VReg; 2]) -> VReg {
        match (from, to) {
            (DType::F64, DType::F32) => self.joined(Opcode::F32FromF64, halves),
            (DType::F64, _) if self.packet.target.saturates => self.int32_of_halves(to, halves),
            (DType::F64, _) => {
                let clamped = halves.map(|half| self.clamp_to_int32(to, half));
                self.int32_of_halves(to, clamped)
            }
            (_, DType::F32) => self.f32_of_int64(from, halves),
            (_, _) => self.low_dwords(halves[0], halves[1]),
        }
    }

    /// Applies a narrowing instruction to two halves and joins the results.
    fn joined(&mut self, m: Opcode, [low, high]: [VReg; 2]) -> VReg {
        let low = self.unary(m, low);
        let high = self.unary(m, high);
        self.binary_by(Opcode::JoinHalves, low, high, 1)
    }

    fn convert32(&mut self, from: DType, to: DType, value: VReg) -> VReg {
        match (from, to) {
            (DType::I32, DType::F32) => self.unary(Opcode::F32FromI32, value),
            (DType::U32, DType::F32) => self.f32_of_u32(value),
            (DType::F32, DType::I32) => self.i32_of_f32(value),
            (DType::F32, DType::U32) => self.u32_of_f32(value),
            (_, _) => value,
        }
    }

    fn convert64(&mut self, from: DType, to: DType, value: VReg) -> VReg {
        match (from, to) {
            (DType::I64, DType::F64) => self.f64_of_i64(value),
            (DType::U64, DType::F64) => self.f64_of_u64(value),
            (DType::F64, DType::I64) => self.i64_of_f64(value),
            (DType::F64, DType::U64) => self.u64_of_f64_saturating(value),
            (_, _) => value,
        }
    }

    fn f32_of_u32(&mut self, value: VReg) -> VReg {
        if self.has(Opcode::F32FromU32) {
            return self.unary(Opcode::F32FromU32, value);
        }
        // The 16-bit halves behind 2^23 and 2^39; their difference from those is exact, the sum rounds.
        let low_mask = self.constant(0xffff, 4);
        let two_23 = self.constant(0x4b00_0000, 4);
        let two_39 = self.constant(0x5300_0000, 4);
        let low = self.binary(Opcode::And32, value, low_mask);
        let low = self.binary(Opcode::Or32, low, two_23);
        let high = self.unary_by(Opcode::ShrBy32, value, 16);
        let high = self.binary(Opcode::Or32, high, two_39);
        let both = self.constant(u64::from((2f32.powi(39) + 2f32.powi(23)).to_bits()), 4);
        let high = self.binary(Opcode::SubF32, high, both);
        self.binary(Opcode::AddF32, high, low)
    }

    fn i32_of_f32(&mut self, value: VReg) -> VReg {
        let number = self.unary(Opcode::I32FromF32, value);
        if self.packet.target.saturates {
            return number;
        }
        let limit = self.constant(u64::from(2f32.powi(31).to_bits()), 4);
        let above = self.compare(Compare::Ge, DType::F32, value, limit);
        let most = self.constant(0x7fff_ffff, 4);
        let number = self.blend(4, above, most, number);
        let nan = self.compare(Compare::Unordered, DType::F32, value, value);
        let ordered = self.not_mask(nan);
        self.keep(4, ordered, number)
    }

    fn u32_of_f32(&mut self, value: VReg) -> VReg {
        if self.packet.target.saturates {
            return self.unary(Opcode::U32FromF32, value);
        }
        let zero = self.constant(0, 4);
        // The maximum is its second operand where the first is NaN.
        let value = self.binary(Opcode::MaxF32, value, zero);
        if self.has(Opcode::U32FromF32) {
            return self.unary(Opcode::U32FromF32, value);
        }
        let half = self.constant(u64::from(2f32.powi(31).to_bits()), 4);
        let big = self.compare(Compare::Ge, DType::F32, value, half);
        let excess = self.binary(Opcode::And32, big, half);
        let rest = self.binary(Opcode::SubF32, value, excess);
        let number = self.unary(Opcode::I32FromF32, rest);
        let top = self.constant(0x8000_0000, 4);
        let top = self.binary(Opcode::And32, big, top);
        let number = self.binary(Opcode::Xor32, number, top);
        let limit = self.constant(u64::from(2f32.powi(32).to_bits()), 4);
        let above = self.compare(Compare::Ge, DType::F32, value, limit);
        self.binary(Opcode::Or32, number, above)
    }

    /// One half of a 32-bit integer part as f64, exactly.
    pub(super) fn f64_of_half(&mut self, dtype: DType, value: VReg, upper: bool) -> VReg {
        if dtype == DType::I32 {
            return self.widened(Opcode::F64FromI32, value, upper);
        }
        if self.has(Opcode::F64FromU32) {
            return self.widened(Opcode::F64FromU32, value, upper);
        }
        let wide = self.widened(Opcode::ZeroExtend, value, upper);
        let magic = self.constant(TWO_52, 8);
        let behind = self.binary(Opcode::Or64, wide, magic);
        self.binary(Opcode::SubF64, behind, magic)
    }

    /// Two f64 parts, in range or quotients of integers, truncated to a 32-bit part.
    pub(super) fn int32_of_halves(&mut self, dtype: DType, halves: [VReg; 2]) -> VReg {
        if dtype == DType::I32 {
            return self.joined(Opcode::I32FromF64, halves);
        }
        if self.has(Opcode::U32FromF64) {
            return self.joined(Opcode::U32FromF64, halves);
        }
        let [low, high] = halves.map(|half| {
            let whole = self.round(DType::F64, half, Rounding::TowardsZero);
            let magic = self.constant(TWO_52, 8);
            self.binary(Opcode::AddF64, whole, magic)
        });
        self.low_dwords(low, high)
    }

    /// An f64 part limited to what a 32-bit integer type holds, NaN as 0.
    fn clamp_to_int32(&mut self, to: DType, value: VReg) -> VReg {
        let (least, most) = if to == DType::I32 {
            (f64::from(i32::MIN), f64::from(i32::MAX))
        } else {
            (0.0, f64::from(u32::MAX))
        };
        let low = self.constant(least.to_bits(), 8);
        let high = self.constant(most.to_bits(), 8);
        let clamped = self.binary(Opcode::MaxF64, value, low);
        let clamped = self.binary(Opcode::MinF64, clamped, high);
        if to == DType::U32 {
            // The maximum of NaN and 0 was 0.
            return clamped;
        }
        let nan = self.compare(Compare::Unordered, DType::F64, value, value);
        let ordered = self.not_mask(nan);
        self.keep(8, ordered, clamped)
    }

    pub(super) fn f64_of_u64(&mut self, value: VReg) -> VReg {
        if self.has(Opcode::F64FromU64) {
            return self.unary(Opcode::F64FromU64, value);
        }
        self.f64_of_int64(value, 0)
    }

    fn f64_of_i64(&mut self, value: VReg) -> VReg {
        if self.has(Opcode::F64FromI64) {
            return self.unary(Opcode::F64FromI64, value);
        }
        self.f64_of_int64(value, 1 << 31)
    }

    /// The 32-bit halves behind 2^52 and 2^84 (the upper one with its sign as an offset): one rounding,
    /// in the last sum.
    fn f64_of_int64(&mut self, value: VReg, sign: u64) -> VReg {
        let low_mask = self.constant(0xffff_ffff, 8);
        let low = self.binary(Opcode::And64, value, low_mask);
        let two_52 = self.constant(TWO_52, 8);
        let low = self.binary(Opcode::Or64, low, two_52);
        let high = self.shift_right_by(DType::U64, value, 32);
        let two_84 = self.constant(TWO_84 | sign, 8);
        let high = self.binary(Opcode::Xor64, high, two_84);
        // 2^84 + 2^52, and 2^63 for a signed number.
        let all = self.constant(TWO_84 | sign | 1 << 20, 8);
        let high = self.binary(Opcode::SubF64, high, all);
        self.binary(Opcode::AddF64, high, low)
    }

    fn f32_of_int64(&mut self, from: DType, halves: [VReg; 2]) -> VReg {
        let signed = from == DType::I64;
        let m = if signed { Opcode::F32FromI64 } else { Opcode::F32FromU64 };
        if self.has(m) {
            return self.joined(m, halves);
        }
        let floats = halves.map(|half| {
            let odd = self.round_to_odd(signed, half);
            if signed { self.f64_of_i64(odd) } else { self.f64_of_u64(odd) }
        });
        self.joined(Opcode::F32FromF64, floats)
    }

    /// Numbers that f64 would round get their last 11 bits folded into one, so that the rounding to f32
    /// is the only one.
    fn round_to_odd(&mut self, signed: bool, value: VReg) -> VReg {
        let tail = self.constant(0x7ff, 8);
        let low = self.binary(Opcode::And64, value, tail);
        let carried = self.binary(Opcode::Add64, low, tail);
        let folded = self.binary(Opcode::Or64, value, carried);
        let rest = self.constant(!0x7ff, 8);
        let folded = self.binary(Opcode::And64, folded, rest);
        // `carried` has bit 11 set only if a tail bit was; the tail itself is cleared.
        let magnitude = if signed {
            let sign = self.sign_mask(value);
            self.binary(Opcode::Xor64, value, sign)
        } else {
            value
        };
        let top = self.shift_right_by(DType::U64, magnitude, 53);
        let zero = self.constant(0, 8);
        let small = self.binary(Opcode::Equal64, top, zero);
        self.blend(8, small, value, folded)
    }

    fn i64_of_f64(&mut self, value: VReg) -> VReg {
        if self.packet.target.saturates {
            return self.unary(Opcode::I64FromF64, value);
        }
        let limit = self.constant(2f64.powi(63).to_bits(), 8);
        let above = self.compare(Compare::Ge, DType::F64, value, limit);
        let most = self.constant(i64::MAX.cast_unsigned(), 8);
        if self.has(Opcode::I64FromF64) {
            let number = self.unary(Opcode::I64FromF64, value);
            let number = self.blend(8, above, most, number);
            let nan = self.compare(Compare::Unordered, DType::F64, value, value);
            let ordered = self.not_mask(nan);
            return self.keep(8, ordered, number);
        }
        let magnitude = self.magnitude_of_f64(value);
        let sign = self.sign_mask(value);
        let number = self.negate_where(magnitude, sign);
        let number = self.blend(8, above, most, number);
        let lowest = self.constant((-(2f64.powi(63))).to_bits(), 8);
        let below = self.compare(Compare::Lt, DType::F64, value, lowest);
        let least = self.constant(i64::MIN.cast_unsigned(), 8);
        self.blend(8, below, least, number)
    }

    fn u64_of_f64_saturating(&mut self, value: VReg) -> VReg {
        if self.packet.target.saturates {
            return self.u64_of_f64(value);
        }
        let zero = self.constant(0, 8);
        let value = self.binary(Opcode::MaxF64, value, zero);
        let number = self.u64_of_f64(value);
        if self.has(Opcode::U64FromF64) {
            return number;
        }
        let limit = self.constant(2f64.powi(64).to_bits(), 8);
        let above = self.compare(Compare::Ge, DType::F64, value, limit);
        self.binary(Opcode::Or64, number, above)
    }

    /// A number that is not negative, truncated; the instruction saturates.
    pub(super) fn u64_of_f64(&mut self, value: VReg) -> VReg {
        if self.has(Opcode::U64FromF64) {
            return self.unary(Opcode::U64FromF64, value);
        }
        self.magnitude_of_f64(value)
    }

    /// The mantissa shifted to its place; a shift of 64 or more (and of less than none) gives 0, as
    /// do infinities and NaN.
    fn magnitude_of_f64(&mut self, value: VReg) -> VReg {
        let mantissa_bits = self.constant((1 << 52) - 1, 8);
        let implied = self.constant(1 << 52, 8);
        let mantissa = self.binary(Opcode::And64, value, mantissa_bits);
        let mantissa = self.binary(Opcode::Or64, mantissa, implied);
        let exponent = self.unary_by(Opcode::ShrBy64, value, 52);
        let exponent_bits = self.constant(0x7ff, 8);
        let exponent = self.binary(Opcode::And64, exponent, exponent_bits);
        let bias = self.constant(1075, 8);
        let up = self.binary(Opcode::Sub64, exponent, bias);
        let down = self.binary(Opcode::Sub64, bias, exponent);
        let left = self.binary(Opcode::Shl64, mantissa, up);
        let right = self.binary(Opcode::Shr64, mantissa, down);
        self.binary(Opcode::Or64, left, right)
    }
}

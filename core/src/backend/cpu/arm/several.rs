//! Instructions of the table that take more than one of the processor, or whose word depends on their operands.

use super::emitter::Arm;
use super::encode::{T0, T1, T2, V};
use super::encodings::{
    AND, CMEQ, CMHI, Encoding, FCVTZS, FCVTZU, MVN, SCVTF, SXTL_2D, UCVTF, UPPER, UXTL_2D, WIDE,
    XTN_2S, XTN_4H, XTN_8B, encoding,
};
use crate::backend::cpu::instructions::{Compare, Opcode};

const UMULL: u32 = 0x2ea0_c000;
const SMULL: u32 = 0x0ea0_c000;
const UADDLP_8H: u32 = 0x6e20_2800;
const UADDLP_4S: u32 = 0x6e60_2800;
const UADDLP_2D: u32 = 0x6ea0_2800;
const SHL: u32 = 0x4f00_5400;
/// A vector of zeros.
const ZEROS: u32 = 0x4f00_0400;
/// Rounding to an integral float, by [`Rounding`](crate::backend::cpu::instructions::Rounding).
const FRINT: [u32; 4] = [0x4e21_8800, 0x4e21_9800, 0x4ea1_8800, 0x4ea1_9800];
/// The lesser and the greater, by [`Extreme`](crate::backend::cpu::instructions::Extreme).
const EXTREMES: [u32; 2] = [0x4ea0_c400, 0x4e20_c400];

/// Equal, greater or equal, greater, of some type.
struct Comparisons {
    eq: u32,
    ge: u32,
    gt: u32,
}

const FLOATS: Comparisons = Comparisons { eq: 0x4e20_e400, ge: 0x6e20_e400, gt: 0x6ea0_e400 };
const SIGNED: Comparisons = Comparisons { eq: CMEQ, ge: 0x4ea0_3c00, gt: 0x4ea0_3400 };
const UNSIGNED: Comparisons = Comparisons { eq: CMEQ, ge: 0x6ea0_3c00, gt: CMHI };

impl Arm {
    /// Encodes an instruction of the table; `a` is the first source, `b` the last.
    pub(super) fn simple(&mut self, m: Opcode, number: Option<u8>, dst: V, first: &[V], b: V) {
        let a = first.first().copied().unwrap_or(b);
        let number = u32::from(number.unwrap_or(0));
        match encoding(m) {
            Encoding::Unary(word) => self.code.unary(word, dst, b),
            Encoding::Binary(word) => self.code.binary(word, dst, a, b),
            Encoding::Reversed(word) => self.code.binary(word, dst, b, a),
            Encoding::Widening(word) => self.code.unary(word | (number * UPPER), dst, b),
            Encoding::Several => match *first {
                [mask, no] => self.blend(dst, mask, no, b),
                _ => self.several(m, number, dst, a, b),
            },
            Encoding::Lacks => unreachable!("internal error: {m:?} was not asked for"),
        }
    }

    /// `mask ? yes : no`, over whichever of them the result replaces.
    fn blend(&mut self, dst: V, mask: V, no: V, yes: V) {
        match dst {
            _ if dst == no => self.code.binary(0x6ea0_1c00, dst, yes, mask), // bit
            _ if dst == yes => self.code.binary(0x6ee0_1c00, dst, no, mask), // bif
            _ => {
                self.code.copy(dst, mask);
                self.code.binary(0x6e60_1c00, dst, yes, no); // bsl
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the table says which come here")]
    fn several(&mut self, m: Opcode, number: u32, dst: V, a: V, b: V) {
        let code = &mut self.code;
        let wide_if = |wide: bool| if wide { WIDE } else { 0 };
        match m {
            Opcode::RangeF32 | Opcode::RangeF64 => {
                let word = EXTREMES[number as usize] + wide_if(m == Opcode::RangeF64);
                code.binary(word, dst, a, b);
            }
            Opcode::RoundF32 | Opcode::RoundF64 => {
                let word = FRINT[number as usize] + wide_if(m == Opcode::RoundF64);
                code.unary(word, dst, b);
            }
            Opcode::CompareF32 => self.compare(&FLOATS, 0, number, dst, a, b),
            Opcode::CompareF64 => self.compare(&FLOATS, WIDE, number, dst, a, b),
            Opcode::CompareI32 => self.compare(&SIGNED, 0, number, dst, a, b),
            Opcode::CompareU32 => self.compare(&UNSIGNED, 0, number, dst, a, b),
            Opcode::CompareI64 => self.compare(&SIGNED, WIDE, number, dst, a, b),
            Opcode::CompareU64 => self.compare(&UNSIGNED, WIDE, number, dst, a, b),
            Opcode::ShlBy32 | Opcode::ShlBy64 => {
                let width = if m == Opcode::ShlBy64 { 64 } else { 32 };
                if number >= width {
                    code.unary(ZEROS, dst, V(0));
                } else {
                    code.shift(SHL, dst, b, width + number);
                }
            }
            Opcode::ShrBy32 => self.shift_right(0x6f00_0400, 32, dst, b, number),
            Opcode::ShrBy64 => self.shift_right(0x6f00_0400, 64, dst, b, number),
            Opcode::SarBy32 => self.shift_right(0x4f00_0400, 32, dst, b, number),
            Opcode::SarBy64 => self.shift_right(0x4f00_0400, 64, dst, b, number),
            Opcode::MulWideU32 | Opcode::MulWideI32 => {
                code.unary(XTN_2S, T0, a);
                code.unary(XTN_2S, T1, b);
                code.binary(if m == Opcode::MulWideU32 { UMULL } else { SMULL }, dst, T0, T1);
            }
            Opcode::MulHighU32 | Opcode::MulHighI32 => {
                let word = if m == Opcode::MulHighU32 { UMULL } else { SMULL };
                code.binary(word, T0, a, b);
                code.binary(word | UPPER, T1, a, b);
                code.binary(0x4e80_5800, dst, T0, T1); // uzp2
            }
            Opcode::Mul64 => {
                // The crossed products of the halves, above the product of the low ones.
                code.unary(0x4ea0_0800, T0, b); // rev64
                code.binary(0x4ea0_9c00, T0, T0, a); // mul
                code.unary(XTN_2S, T1, a);
                code.unary(XTN_2S, T2, b);
                code.unary(UADDLP_2D, dst, T0);
                code.shift(SHL, dst, dst, 64 + 32);
                code.binary(0x2ea0_8000, dst, T1, T2); // umlal
            }
            Opcode::Popcnt32 | Opcode::Popcnt64 => {
                code.unary(0x4e20_5800, dst, b); // cnt
                code.unary(UADDLP_8H, dst, dst);
                code.unary(UADDLP_4S, dst, dst);
                if m == Opcode::Popcnt64 {
                    code.unary(UADDLP_2D, dst, dst);
                }
            }
            Opcode::Reverse32 | Opcode::Reverse64 => {
                code.unary(0x6e60_5800, dst, b); // rbit
                let bytes = if m == Opcode::Reverse64 { 0x4e20_0800 } else { 0x6e20_0800 };
                code.unary(bytes, dst, dst); // rev64, rev32
            }
            Opcode::KeepBytes => {
                code.unary(XTN_4H, T0, a);
                code.unary(XTN_8B, T0, T0);
                code.binary(AND, dst, T0, b);
            }
            Opcode::Bytes => {
                code.unary(XTN_4H, dst, b);
                code.unary(XTN_8B, dst, dst);
            }
            Opcode::F64FromI32 | Opcode::F64FromU32 => {
                let signed = m == Opcode::F64FromI32;
                let (extend, convert) = if signed { (SXTL_2D, SCVTF) } else { (UXTL_2D, UCVTF) };
                code.unary(extend | (number * UPPER), dst, b);
                code.unary(convert + WIDE, dst, dst);
            }
            Opcode::I32FromF64 | Opcode::U32FromF64 => {
                // Both saturate.
                let (convert, narrow) = match m {
                    Opcode::I32FromF64 => (FCVTZS, 0x0ea1_4800), // sqxtn
                    _ => (FCVTZU, 0x2ea1_4800),                  // uqxtn
                };
                code.unary(convert + WIDE, dst, b);
                code.unary(narrow, dst, dst);
            }
            _ => unreachable!("internal error: {m:?} is one instruction"),
        }
    }

    fn shift_right(&mut self, word: u32, width: u32, dst: V, a: V, number: u32) {
        if number == 0 {
            self.code.copy(dst, a);
        } else {
            self.code.shift(word, dst, a, 2 * width - number);
        }
    }

    fn compare(&mut self, of: &Comparisons, wide: u32, number: u32, dst: V, a: V, b: V) {
        let code = &mut self.code;
        if number == Compare::Unordered as u32 {
            code.binary(of.eq + wide, T0, a, a);
            if a != b {
                code.binary(of.eq + wide, T1, b, b);
                code.binary(AND, T0, T0, T1);
            }
            return code.unary(MVN, dst, T0);
        }
        let (word, a, b, negate) = match number {
            _ if number == Compare::Eq as u32 => (of.eq, a, b, false),
            _ if number == Compare::Ne as u32 => (of.eq, a, b, true),
            _ if number == Compare::Lt as u32 => (of.gt, b, a, false),
            _ if number == Compare::Le as u32 => (of.ge, b, a, false),
            _ if number == Compare::Gt as u32 => (of.gt, a, b, false),
            _ => (of.ge, a, b, false),
        };
        code.binary(word + wide, dst, a, b);
        if negate {
            code.unary(MVN, dst, dst);
        }
    }
}

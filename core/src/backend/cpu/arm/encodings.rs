//! How the machine instructions are encoded: the words of those that are one instruction, without their registers.
//!
//! A word has the destination's number in its lowest five bits, the first source's from bit 5 on and the second's from
//! bit 16 on. All but those with a `d` or `2d` in a comment work on 16 bytes as lanes of 32 bits; [`WIDE`] makes it 64.

use crate::backend::cpu::instructions::Opcode;

/// Added to a word for 32-bit lanes: the same for 64-bit lanes.
pub(super) const WIDE: u32 = 0x0040_0000;
/// Added to a word that takes the lower half of its source: the same for the upper half.
pub(super) const UPPER: u32 = 0x4000_0000;

/// An instruction of the table as instructions of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// There is none.
    Lacks,
    /// `dst = word(last)`.
    Unary(u32),
    /// `dst = word(first, last)`.
    Binary(u32),
    /// `dst = word(last, first)`.
    Reversed(u32),
    /// `dst = word(the lower half of last)`, or the upper one.
    Widening(u32),
    /// More than one, or one whose word depends on a number or on where the operands are.
    Several,
}

pub(super) const ADD: u32 = 0x4ea0_8400;
pub(super) const CMEQ: u32 = 0x6ea0_8c00;
pub(super) const CMHI: u32 = 0x6ea0_3400;
pub(super) const AND: u32 = 0x4e20_1c00;
pub(super) const BIC: u32 = 0x4e60_1c00;
pub(super) const ORR: u32 = 0x4ea0_1c00;
pub(super) const MVN: u32 = 0x6e20_5800;
pub(super) const XTN_2S: u32 = 0x0ea1_2800;
pub(super) const XTN_4H: u32 = 0x0e61_2800;
pub(super) const XTN_8B: u32 = 0x0e21_2800;
pub(super) const SXTL_2D: u32 = 0x0f20_a400;
pub(super) const UXTL_2D: u32 = 0x2f20_a400;
pub(super) const SXTL_4S: u32 = 0x0f10_a400;
pub(super) const UXTL_4S: u32 = 0x2f10_a400;
pub(super) const SXTL_8H: u32 = 0x0f08_a400;
pub(super) const UXTL_8H: u32 = 0x2f08_a400;
pub(super) const FCVTL_4S: u32 = 0x0e21_7800;
pub(super) const SCVTF: u32 = 0x4e21_d800;
pub(super) const UCVTF: u32 = 0x6e21_d800;
pub(super) const FCVTZS: u32 = 0x4ea1_b800;
pub(super) const FCVTZU: u32 = 0x6ea1_b800;
pub(super) const FMLA: u32 = 0x4e20_cc00;

/// The encoding of an instruction.
#[rustfmt::skip]
pub(super) const fn encoding(m: Opcode) -> Encoding {
    use Encoding::{Binary, Lacks, Reversed, Several, Unary, Widening};
    match m {
        Opcode::AddF32 => Binary(0x4e20_d400), // fadd
        Opcode::AddF64 => Binary(0x4e20_d400 + WIDE),
        Opcode::SubF32 => Binary(0x4ea0_d400), // fsub
        Opcode::SubF64 => Binary(0x4ea0_d400 + WIDE),
        Opcode::MulF32 => Binary(0x6e20_dc00), // fmul
        Opcode::MulF64 => Binary(0x6e20_dc00 + WIDE),
        Opcode::DivF32 => Binary(0x6e20_fc00), // fdiv
        Opcode::DivF64 => Binary(0x6e20_fc00 + WIDE),
        Opcode::AddF16 => Binary(0x0e40_1400), // fadd 4h
        Opcode::SubF16 => Binary(0x0ec0_1400), // fsub 4h
        Opcode::MulF16 => Binary(0x2e40_1c00), // fmul 4h
        Opcode::DivF16 => Binary(0x2e40_3c00), // fdiv 4h
        Opcode::SqrtF16 => Unary(0x2ef9_f800), // fsqrt 4h
        Opcode::MinimumF32 => Binary(0x4ea0_f400), // fmin
        Opcode::MinimumF64 => Binary(0x4ea0_f400 + WIDE),
        Opcode::MaximumF32 => Binary(0x4e20_f400), // fmax
        Opcode::MaximumF64 => Binary(0x4e20_f400 + WIDE),
        Opcode::ReciprocalF32 => Unary(0x4ea1_d800), // frecpe
        Opcode::ReciprocalRootF32 => Unary(0x6ea1_d800), // frsqrte
        Opcode::SqrtF32 => Unary(0x6ea1_f800), // fsqrt
        Opcode::SqrtF64 => Unary(0x6ea1_f800 + WIDE),

        Opcode::And32 | Opcode::And64 | Opcode::MaskAnd | Opcode::Keep32 | Opcode::Keep64 => Binary(AND),
        Opcode::AndNot32 | Opcode::AndNot64 | Opcode::MaskAndNot => Reversed(BIC),
        Opcode::Or32 | Opcode::Or64 | Opcode::MaskOr => Binary(ORR),
        Opcode::Xor32 | Opcode::Xor64 | Opcode::MaskXor => Binary(0x6e20_1c00), // eor
        Opcode::MaskNot => Unary(MVN),

        Opcode::Add32 => Binary(ADD),
        Opcode::Add64 => Binary(ADD + WIDE),
        Opcode::Add8 => Binary(0x4e20_8400), // add 16b
        Opcode::Sub32 => Binary(0x6ea0_8400), // sub
        Opcode::Sub64 => Binary(0x6ea0_8400 + WIDE),
        Opcode::Mul32 => Binary(0x4ea0_9c00), // mul
        Opcode::MinI32 => Binary(0x4ea0_6c00), // smin
        Opcode::MinU32 => Binary(0x6ea0_6c00), // umin
        Opcode::MaxI32 => Binary(0x4ea0_6400), // smax
        Opcode::MaxU32 => Binary(0x6ea0_6400), // umax
        Opcode::Abs32 => Unary(0x4ea0_b800), // abs
        Opcode::Abs64 => Unary(0x4ea0_b800 + WIDE),
        Opcode::ShiftU32 => Binary(0x6ea0_4400), // ushl
        Opcode::ShiftU64 => Binary(0x6ea0_4400 + WIDE),
        Opcode::ShiftI32 => Binary(0x4ea0_4400), // sshl
        Opcode::ShiftI64 => Binary(0x4ea0_4400 + WIDE),
        Opcode::Lzcnt32 => Unary(0x6ea0_4800), // clz

        Opcode::Equal32 => Binary(0x6ea0_8c00), // cmeq
        Opcode::Equal64 => Binary(0x6ea0_8c00 + WIDE),
        Opcode::Greater32 => Binary(0x4ea0_3400), // cmgt
        Opcode::Greater64 => Binary(0x4ea0_3400 + WIDE),
        Opcode::Test32 => Binary(0x4ea0_8c00), // cmtst

        Opcode::SignExtend => Widening(SXTL_2D),
        Opcode::ZeroExtend => Widening(UXTL_2D),
        Opcode::F64FromF32 => Widening(0x0e61_7800), // fcvtl 2d
        Opcode::UpperHalf => Unary(0x4e18_0400), // dup d[1]
        Opcode::JoinHalves => Binary(0x4ec0_3800), // zip1 2d
        Opcode::LowHalves => Binary(0x4e80_1800), // uzp1
        Opcode::HighHalves => Binary(0x4e80_6800), // trn2
        Opcode::Words => Unary(XTN_4H),
        Opcode::ZeroExtendWords => Unary(UXTL_4S),
        Opcode::F16FromF32 => Unary(0x0e21_6800), // fcvtn 4h
        Opcode::F32FromF16 => Unary(FCVTL_4S),
        Opcode::F32FromF64 => Unary(0x0e61_6800), // fcvtn 2s

        Opcode::F32FromI32 => Unary(SCVTF),
        Opcode::F32FromU32 => Unary(UCVTF),
        Opcode::F64FromI64 => Unary(SCVTF + WIDE),
        Opcode::F64FromU64 => Unary(UCVTF + WIDE),
        Opcode::I32FromF32 => Unary(FCVTZS),
        Opcode::U32FromF32 => Unary(FCVTZU),
        Opcode::I64FromF64 => Unary(FCVTZS + WIDE),
        Opcode::U64FromF64 => Unary(FCVTZU + WIDE),

        Opcode::RangeF32 | Opcode::RangeF64 | Opcode::RoundF32 | Opcode::RoundF64
        | Opcode::FmaF32 | Opcode::FmaF64 | Opcode::Blend32 | Opcode::Blend64 | Opcode::KeepBytes
        | Opcode::Mul64 | Opcode::MulWideU32 | Opcode::MulWideI32 | Opcode::MulHighU32 | Opcode::MulHighI32
        | Opcode::ShlBy32 | Opcode::ShlBy64 | Opcode::ShrBy32 | Opcode::ShrBy64 | Opcode::SarBy32 | Opcode::SarBy64
        | Opcode::Popcnt32 | Opcode::Popcnt64 | Opcode::Reverse32 | Opcode::Reverse64
        | Opcode::CompareF32 | Opcode::CompareF64 | Opcode::CompareI32 | Opcode::CompareU32
        | Opcode::CompareI64 | Opcode::CompareU64 | Opcode::Bytes
        | Opcode::F64FromI32 | Opcode::F64FromU32 | Opcode::I32FromF64 | Opcode::U32FromF64 => Several,

        Opcode::MinF32 | Opcode::MinF64 | Opcode::MaxF32 | Opcode::MaxF64
        | Opcode::SubSaturating16 | Opcode::Min16 | Opcode::SumBytes64 | Opcode::SumBytes16 | Opcode::SumWords32
        | Opcode::Shuffle8 | Opcode::MinI64 | Opcode::MinU64 | Opcode::MaxI64 | Opcode::MaxU64
        | Opcode::Shl32 | Opcode::Shl64 | Opcode::Shr32 | Opcode::Shr64 | Opcode::Sar32 | Opcode::Sar64
        | Opcode::Lzcnt64 | Opcode::TestBytes | Opcode::MaskShr | Opcode::MaskJoin
        | Opcode::Pick32 | Opcode::Shuffle32 | Opcode::Permute64 | Opcode::PackWords | Opcode::PackBytes
        | Opcode::AndHalf | Opcode::OrHalf | Opcode::F32FromI64 | Opcode::F32FromU64 => Lacks,
    }
}

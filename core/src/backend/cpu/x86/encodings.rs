//! How the machine instructions are encoded: one row each, for AVX-512 and AVX2.
//!
//! A row gives the widths of the operands, and for both instruction sets the encoding with the memory operand
//! that it takes. `INVALID` is an instruction that AVX-512 lacks, `-` one that AVX2 lacks.

use iced_x86::Code;

use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::machine::Memory;

/// A vector register's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Whole,
    Half,
    Quarter,
}

/// Widths of destination and sources, in vectors of the instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// All whole.
    Whole,
    /// A half from a whole.
    Narrowing,
    /// A quarter from a whole (AVX-512).
    Quartering,
    /// A whole from a half.
    Widening,
    /// A whole from a whole and a half.
    Inserting,
    /// All halves.
    Halves,
    /// All quarters (at least 16 bytes).
    Quarters,
}

impl Sizes {
    /// Widths of the destination, the first source and the last source.
    pub(super) fn widths(self) -> (Width, Width, Width) {
        match self {
            Self::Whole => (Width::Whole, Width::Whole, Width::Whole),
            Self::Narrowing => (Width::Half, Width::Whole, Width::Whole),
            Self::Widening => (Width::Whole, Width::Half, Width::Half),
            Self::Quartering => (Width::Quarter, Width::Whole, Width::Whole),
            Self::Inserting => (Width::Whole, Width::Whole, Width::Half),
            Self::Halves => (Width::Half, Width::Half, Width::Half),
            Self::Quarters => (Width::Quarter, Width::Quarter, Width::Quarter),
        }
    }
}

/// Every row, in the order of [`Opcode`].
pub(super) static ROWS: [Row; Opcode::ALL.len()] = {
    let mut rows = [make(Opcode::ALL[0]); Opcode::ALL.len()];
    let mut i = 0;
    while i < rows.len() {
        rows[i] = make(Opcode::ALL[i]);
        i += 1;
    }
    rows
};

/// The row of an instruction.
pub(super) fn row(m: Opcode) -> &'static Row {
    &ROWS[m as usize]
}

/// An encoding, and what its last operand may be.
pub(super) type Encoding = (Code, Memory);

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) sizes: Sizes,
    pub(super) avx512: Encoding,
    pub(super) avx2: Encoding,
}

macro_rules! rows {
    ($($name:ident = $sizes:ident $evex:ident $emem:ident, $vex:tt $($vmem:ident)?;)*) => {
        /// The row of an instruction; the compiler names those that are missing.
        const fn make(m: Opcode) -> Row {
            match m {
                $(Opcode::$name => Row {
                    sizes: Sizes::$sizes,
                    avx512: (Code::$evex, Memory::$emem),
                    avx2: rows!(@vex $vex $($vmem)?),
                },)*
            }
        }
    };
    (@vex -) => { (Code::INVALID, Memory::None) };
    (@vex $vex:ident $vmem:ident) => { (Code::$vex, Memory::$vmem) };
}

rows! {
    AddF32 = Whole EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vaddps_ymm_ymm_ymmm256 Vector;
    AddF64 = Whole EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vaddpd_ymm_ymm_ymmm256 Vector;
    SubF32 = Whole EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vsubps_ymm_ymm_ymmm256 Vector;
    SubF64 = Whole EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vsubpd_ymm_ymm_ymmm256 Vector;
    MulF32 = Whole EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vmulps_ymm_ymm_ymmm256 Vector;
    MulF64 = Whole EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vmulpd_ymm_ymm_ymmm256 Vector;
    DivF32 = Whole EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vdivps_ymm_ymm_ymmm256 Vector;
    DivF64 = Whole EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vdivpd_ymm_ymm_ymmm256 Vector;
    AddF16 = Whole INVALID None, -;
    SubF16 = Whole INVALID None, -;
    MulF16 = Whole INVALID None, -;
    DivF16 = Whole INVALID None, -;
    SqrtF16 = Whole INVALID None, -;
    MinF32 = Whole EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae Repeat4, VEX_Vminps_ymm_ymm_ymmm256 Vector;
    MinF64 = Whole EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae Repeat8, VEX_Vminpd_ymm_ymm_ymmm256 Vector;
    MaxF32 = Whole EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae Repeat4, VEX_Vmaxps_ymm_ymm_ymmm256 Vector;
    MaxF64 = Whole EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae Repeat8, VEX_Vmaxpd_ymm_ymm_ymmm256 Vector;
    RangeF32 = Whole EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae Repeat4, -;
    RangeF64 = Whole EVEX_Vrangepd_zmm_k1z_zmm_zmmm512b64_imm8_sae Repeat8, -;
    MinimumF32 = Whole INVALID None, -;
    MinimumF64 = Whole INVALID None, -;
    MaximumF32 = Whole INVALID None, -;
    MaximumF64 = Whole INVALID None, -;
    ReciprocalF32 = Whole EVEX_Vrcp14ps_zmm_k1z_zmmm512b32 Repeat4, VEX_Vrcpps_ymm_ymmm256 Vector;
    ReciprocalRootF32 = Whole EVEX_Vrsqrt14ps_zmm_k1z_zmmm512b32 Repeat4, VEX_Vrsqrtps_ymm_ymmm256 Vector;
    SqrtF32 = Whole EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er Repeat4, VEX_Vsqrtps_ymm_ymmm256 Vector;
    SqrtF64 = Whole EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er Repeat8, VEX_Vsqrtpd_ymm_ymmm256 Vector;
    RoundF32 = Whole EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae Repeat4, VEX_Vroundps_ymm_ymmm256_imm8 Vector;
    RoundF64 = Whole EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae Repeat8, VEX_Vroundpd_ymm_ymmm256_imm8 Vector;
    FmaF32 = Whole EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vfmadd213ps_ymm_ymm_ymmm256 Vector;
    FmaF64 = Whole EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vfmadd213pd_ymm_ymm_ymmm256 Vector;

    And32 = Whole EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpand_ymm_ymm_ymmm256 Vector;
    And64 = Whole EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpand_ymm_ymm_ymmm256 Vector;
    AndNot32 = Whole EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpandn_ymm_ymm_ymmm256 Vector;
    AndNot64 = Whole EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpandn_ymm_ymm_ymmm256 Vector;
    Or32 = Whole EVEX_Vpord_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpor_ymm_ymm_ymmm256 Vector;
    Or64 = Whole EVEX_Vporq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpor_ymm_ymm_ymmm256 Vector;
    Xor32 = Whole EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpxor_ymm_ymm_ymmm256 Vector;
    Xor64 = Whole EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpxor_ymm_ymm_ymmm256 Vector;

    Add32 = Whole EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpaddd_ymm_ymm_ymmm256 Vector;
    Add64 = Whole EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpaddq_ymm_ymm_ymmm256 Vector;
    Add8 = Whole EVEX_Vpaddb_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpaddb_ymm_ymm_ymmm256 Vector;
    Sub32 = Whole EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsubd_ymm_ymm_ymmm256 Vector;
    Sub64 = Whole EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpsubq_ymm_ymm_ymmm256 Vector;
    SubSaturating16 = Whole EVEX_Vpsubusw_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpsubusw_ymm_ymm_ymmm256 Vector;
    Mul32 = Whole EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpmulld_ymm_ymm_ymmm256 Vector;
    Mul64 = Whole EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    MulWideU32 = Whole EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpmuludq_ymm_ymm_ymmm256 Vector;
    MulWideI32 = Whole EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpmuldq_ymm_ymm_ymmm256 Vector;
    MulHighU32 = Whole INVALID None, -;
    MulHighI32 = Whole INVALID None, -;
    MinI32 = Whole EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpminsd_ymm_ymm_ymmm256 Vector;
    MinU32 = Whole EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpminud_ymm_ymm_ymmm256 Vector;
    MinI64 = Whole EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    MinU64 = Whole EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    MaxI32 = Whole EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpmaxsd_ymm_ymm_ymmm256 Vector;
    MaxU32 = Whole EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpmaxud_ymm_ymm_ymmm256 Vector;
    MaxI64 = Whole EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    MaxU64 = Whole EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    Abs32 = Whole EVEX_Vpabsd_zmm_k1z_zmmm512b32 Repeat4, VEX_Vpabsd_ymm_ymmm256 Vector;
    Abs64 = Whole EVEX_Vpabsq_zmm_k1z_zmmm512b64 Repeat8, -;
    Shl32 = Whole EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsllvd_ymm_ymm_ymmm256 Vector;
    Shl64 = Whole EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpsllvq_ymm_ymm_ymmm256 Vector;
    Shr32 = Whole EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsrlvd_ymm_ymm_ymmm256 Vector;
    Shr64 = Whole EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpsrlvq_ymm_ymm_ymmm256 Vector;
    Sar32 = Whole EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsravd_ymm_ymm_ymmm256 Vector;
    Sar64 = Whole EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    ShiftU32 = Whole INVALID None, -;
    ShiftI32 = Whole INVALID None, -;
    ShiftU64 = Whole INVALID None, -;
    ShiftI64 = Whole INVALID None, -;
    ShlBy32 = Whole EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8 Repeat4, VEX_Vpslld_ymm_ymm_imm8 None;
    ShlBy64 = Whole EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8 Repeat8, VEX_Vpsllq_ymm_ymm_imm8 None;
    ShrBy32 = Whole EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8 Repeat4, VEX_Vpsrld_ymm_ymm_imm8 None;
    ShrBy64 = Whole EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8 Repeat8, VEX_Vpsrlq_ymm_ymm_imm8 None;
    SarBy32 = Whole EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8 Repeat4, VEX_Vpsrad_ymm_ymm_imm8 None;
    SarBy64 = Whole EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8 Repeat8, -;
    Lzcnt32 = Whole EVEX_Vplzcntd_zmm_k1z_zmmm512b32 Repeat4, -;
    Lzcnt64 = Whole EVEX_Vplzcntq_zmm_k1z_zmmm512b64 Repeat8, -;
    Popcnt32 = Whole INVALID None, -;
    Popcnt64 = Whole INVALID None, -;
    Reverse32 = Whole INVALID None, -;
    Reverse64 = Whole INVALID None, -;
    Shuffle8 = Whole EVEX_Vpshufb_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpshufb_ymm_ymm_ymmm256 Vector;
    SumBytes64 = Whole EVEX_Vpsadbw_zmm_zmm_zmmm512 Vector, VEX_Vpsadbw_ymm_ymm_ymmm256 Vector;
    SumBytes16 = Whole EVEX_Vpmaddubsw_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpmaddubsw_ymm_ymm_ymmm256 Vector;
    SumWords32 = Whole EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpmaddwd_ymm_ymm_ymmm256 Vector;
    Min16 = Whole EVEX_Vpminsw_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpminsw_ymm_ymm_ymmm256 Vector;

    CompareF32 = Whole EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae Repeat4, VEX_Vcmpps_ymm_ymm_ymmm256_imm8 Vector;
    CompareF64 = Whole EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae Repeat8, VEX_Vcmppd_ymm_ymm_ymmm256_imm8 Vector;
    CompareI32 = Whole EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8 Repeat4, -;
    CompareU32 = Whole EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8 Repeat4, -;
    CompareI64 = Whole EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8 Repeat8, -;
    CompareU64 = Whole EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8 Repeat8, -;
    Equal32 = Whole EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32 Repeat4, VEX_Vpcmpeqd_ymm_ymm_ymmm256 Vector;
    Equal64 = Whole EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64 Repeat8, VEX_Vpcmpeqq_ymm_ymm_ymmm256 Vector;
    Greater32 = Whole EVEX_Vpcmpgtd_kr_k1_zmm_zmmm512b32 Repeat4, VEX_Vpcmpgtd_ymm_ymm_ymmm256 Vector;
    Greater64 = Whole EVEX_Vpcmpgtq_kr_k1_zmm_zmmm512b64 Repeat8, VEX_Vpcmpgtq_ymm_ymm_ymmm256 Vector;
    TestBytes = Quarters EVEX_Vptestmb_kr_k1_xmm_xmmm128 None, -;
    Test32 = Whole EVEX_Vptestmd_kr_k1_zmm_zmmm512b32 None, -;

    Blend32 = Whole EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vblendvps_ymm_ymm_ymmm256_ymm Vector;
    Blend64 = Whole EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vblendvpd_ymm_ymm_ymmm256_ymm Vector;
    Keep32 = Whole EVEX_Vmovaps_zmm_k1z_zmmm512 None, VEX_Vpand_ymm_ymm_ymmm256 None;
    Keep64 = Whole EVEX_Vmovapd_zmm_k1z_zmmm512 None, VEX_Vpand_ymm_ymm_ymmm256 None;
    KeepBytes = Quarters EVEX_Vmovdqu8_xmm_k1z_xmmm128 None, -;

    MaskAnd = Whole VEX_Kandw_kr_kr_kr None, VEX_Vpand_ymm_ymm_ymmm256 Vector;
    MaskAndNot = Whole VEX_Kandnw_kr_kr_kr None, VEX_Vpandn_ymm_ymm_ymmm256 Vector;
    MaskOr = Whole VEX_Korw_kr_kr_kr None, VEX_Vpor_ymm_ymm_ymmm256 Vector;
    MaskXor = Whole VEX_Kxorw_kr_kr_kr None, VEX_Vpxor_ymm_ymm_ymmm256 Vector;
    MaskNot = Whole VEX_Knotw_kr_kr None, -;
    MaskShr = Whole VEX_Kshiftrw_kr_kr_imm8 None, -;
    MaskJoin = Whole VEX_Kunpckbw_kr_kr_kr None, -;

    SignExtend = Widening EVEX_Vpmovsxdq_zmm_k1z_ymmm256 Vector, VEX_Vpmovsxdq_ymm_xmmm128 Vector;
    ZeroExtend = Widening EVEX_Vpmovzxdq_zmm_k1z_ymmm256 Vector, VEX_Vpmovzxdq_ymm_xmmm128 Vector;
    UpperHalf = Narrowing EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8 None, VEX_Vextracti128_xmmm128_ymm_imm8 None;
    JoinHalves = Inserting EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8 None, VEX_Vinserti128_ymm_ymm_xmmm128_imm8 None;
    LowHalves = Whole INVALID None, -;
    HighHalves = Whole INVALID None, -;
    Pick32 = Whole EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32 Vector, -;
    Shuffle32 = Whole EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8 None, VEX_Vshufps_ymm_ymm_ymmm256_imm8 Vector;
    Permute64 = Whole EVEX_Vpermq_zmm_k1z_zmmm512b64_imm8 None, VEX_Vpermq_ymm_ymmm256_imm8 Vector;
    PackWords = Halves EVEX_Vpackssdw_ymm_k1z_ymm_ymmm256b32 None, VEX_Vpackssdw_xmm_xmm_xmmm128 None;
    PackBytes = Halves EVEX_Vpacksswb_ymm_k1z_ymm_ymmm256 None, VEX_Vpacksswb_xmm_xmm_xmmm128 None;
    AndHalf = Halves EVEX_Vpandd_ymm_k1z_ymm_ymmm256b32 None, VEX_Vpand_xmm_xmm_xmmm128 None;

    OrHalf = Halves EVEX_Vpord_ymm_k1z_ymm_ymmm256b32 None, VEX_Vpor_xmm_xmm_xmmm128 None;
    Words = Narrowing EVEX_Vpmovdw_ymmm256_k1z_zmm None, -;
    Bytes = Quartering EVEX_Vpmovdb_xmmm128_k1z_zmm None, -;
    ZeroExtendWords = Widening EVEX_Vpmovzxwd_zmm_k1z_ymmm256 Vector, VEX_Vpmovzxwd_ymm_xmmm128 Vector;
    F16FromF32 = Narrowing EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae None, VEX_Vcvtps2ph_xmmm128_ymm_imm8 None;
    F32FromF16 = Widening EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae Vector, VEX_Vcvtph2ps_ymm_xmmm128 Vector;

    F32FromI32 = Whole EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er Repeat4, VEX_Vcvtdq2ps_ymm_ymmm256 Vector;
    F32FromU32 = Whole EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er Repeat4, -;
    I32FromF32 = Whole EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae Repeat4, VEX_Vcvttps2dq_ymm_ymmm256 Vector;
    U32FromF32 = Whole EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae Repeat4, -;
    F64FromI32 = Widening EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er Vector, VEX_Vcvtdq2pd_ymm_xmmm128 Vector;
    F64FromU32 = Widening EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er Vector, -;
    F64FromF32 = Widening EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae Vector, VEX_Vcvtps2pd_ymm_xmmm128 Vector;
    F32FromF64 = Narrowing EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er Repeat8, VEX_Vcvtpd2ps_xmm_ymmm256 Vector;
    I32FromF64 = Narrowing EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae Repeat8, VEX_Vcvttpd2dq_xmm_ymmm256 Vector;
    U32FromF64 = Narrowing EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae Repeat8, -;
    F64FromI64 = Whole EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er Repeat8, -;
    F64FromU64 = Whole EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er Repeat8, -;
    F32FromI64 = Narrowing EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er Repeat8, -;
    F32FromU64 = Narrowing EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er Repeat8, -;
    I64FromF64 = Whole EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae Repeat8, -;
    U64FromF64 = Whole EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae Repeat8, -;
}

/// The three encodings of `dst = a * b + c`, by the operand that the destination replaces and the one
/// that may be in memory.
pub(super) struct FmaCodes {
    /// `dst = dst * memory + x`.
    pub(super) f132: Code,
    /// `dst = x * dst + memory`.
    pub(super) f213: Code,
    /// `dst = x * memory + dst`.
    pub(super) f231: Code,
}

/// The encodings of `m`, for AVX-512 or AVX2.
pub(super) fn fma_codes(m: Opcode, avx512: bool) -> FmaCodes {
    match (m == Opcode::FmaF64, avx512) {
        (false, true) => FmaCodes {
            f132: Code::EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
            f213: Code::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
            f231: Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
        },
        (true, true) => FmaCodes {
            f132: Code::EVEX_Vfmadd132pd_zmm_k1z_zmm_zmmm512b64_er,
            f213: Code::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
            f231: Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
        },
        (false, false) => FmaCodes {
            f132: Code::VEX_Vfmadd132ps_ymm_ymm_ymmm256,
            f213: Code::VEX_Vfmadd213ps_ymm_ymm_ymmm256,
            f231: Code::VEX_Vfmadd231ps_ymm_ymm_ymmm256,
        },
        (true, false) => FmaCodes {
            f132: Code::VEX_Vfmadd132pd_ymm_ymm_ymmm256,
            f213: Code::VEX_Vfmadd213pd_ymm_ymm_ymmm256,
            f231: Code::VEX_Vfmadd231pd_ymm_ymm_ymmm256,
        },
    }
}

/// Predicates of `vcmpps` by [`Compare`]: quiet, so that no NaN raises a flag.
const FLOAT_PREDICATES: [u8; 7] = [0x00, 0x04, 0x11, 0x12, 0x1e, 0x1d, 0x03];
/// Predicates of `vpcmpd`.
const INT_PREDICATES: [u8; 7] = [0, 4, 1, 2, 6, 5, 3];
/// Modes of `vroundps` by [`Rounding`], exceptions suppressed.
const ROUNDINGS: [u8; 4] = [0x08, 0x09, 0x0a, 0x0b];
/// Immediates of `vrangeps` by [`Extreme`]: the sign is that of the comparison's result.
const EXTREMES: [u8; 2] = [0x04, 0x05];

/// The number in the encoding of an instruction, from the one that lowering gave it.
pub(super) fn immediate(m: Opcode, given: u8) -> u8 {
    let of = |table: &[u8]| table[usize::from(given)];
    match m {
        Opcode::CompareF32 | Opcode::CompareF64 => of(&FLOAT_PREDICATES),
        Opcode::CompareI32 | Opcode::CompareU32 | Opcode::CompareI64 | Opcode::CompareU64 => {
            of(&INT_PREDICATES)
        }
        Opcode::RoundF32 | Opcode::RoundF64 => of(&ROUNDINGS),
        Opcode::RangeF32 | Opcode::RangeF64 => of(&EXTREMES),
        _ => given,
    }
}

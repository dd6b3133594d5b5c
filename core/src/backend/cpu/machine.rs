//! The machine instructions that lowering chooses from: one row each, for both instruction sets.
//!
//! A row gives the form (how operands are used), the widths of the operands, and for AVX-512 and AVX2
//! the encoding with the memory operand that it takes. `-` is an instruction that AVX2 lacks; lowering
//! never asks for it there.

use iced_x86::Code;

/// How an instruction uses its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `dst = op(a)`.
    Unary,
    /// `dst = op(a, b)`.
    Binary,
    /// `dst = op(a, b) = op(b, a)`.
    Commutative,
    /// `dst = op(dst = a, b, c)`.
    Tied,
    /// `dst = a * b + c`.
    Fma,
    /// `dst = a ? c : b` with a mask `a`.
    Blend,
    /// `dst = a ? b : 0` with a mask `a`.
    Keep,
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

/// What the last operand may be besides a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Nothing.
    None,
    /// A vector in memory.
    Vector,
    /// A vector, or 4 bytes repeated.
    Repeat4,
    /// A vector, or 8 bytes repeated.
    Repeat8,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) form: Form,
    pub(super) sizes: Sizes,
    /// Whether the result is a mask register on AVX-512.
    pub(super) mask: bool,
    pub(super) avx512: (Code, Memory),
    pub(super) avx2: (Code, Memory),
}

macro_rules! machine {
    ($($name:ident = $form:ident $sizes:ident $class:ident $evex:ident $emem:ident, $vex:tt $($vmem:ident)?;)*) => {
        /// A machine instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum M { $($name,)* }

        /// Every instruction, in the order of [`M`].
        pub(super) static ROWS: &[Row] = &[$(Row {
            form: Form::$form,
            sizes: Sizes::$sizes,
            mask: machine!(@mask $class),
            avx512: (Code::$evex, Memory::$emem),
            avx2: machine!(@vex $vex $($vmem)?),
        },)*];
    };
    (@mask K) => { true };
    (@mask V) => { false };
    (@vex -) => { (Code::INVALID, Memory::None) };
    (@vex $vex:ident $vmem:ident) => { (Code::$vex, Memory::$vmem) };
}

machine! {
    AddF32 = Commutative Whole V EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vaddps_ymm_ymm_ymmm256 Vector;
    AddF64 = Commutative Whole V EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vaddpd_ymm_ymm_ymmm256 Vector;
    SubF32 = Binary Whole V EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vsubps_ymm_ymm_ymmm256 Vector;
    SubF64 = Binary Whole V EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vsubpd_ymm_ymm_ymmm256 Vector;
    MulF32 = Commutative Whole V EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vmulps_ymm_ymm_ymmm256 Vector;
    MulF64 = Commutative Whole V EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vmulpd_ymm_ymm_ymmm256 Vector;
    DivF32 = Binary Whole V EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vdivps_ymm_ymm_ymmm256 Vector;
    DivF64 = Binary Whole V EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vdivpd_ymm_ymm_ymmm256 Vector;
    // The second operand if either is NaN or both are zero.
    MinF32 = Binary Whole V EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae Repeat4, VEX_Vminps_ymm_ymm_ymmm256 Vector;
    MinF64 = Binary Whole V EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae Repeat8, VEX_Vminpd_ymm_ymm_ymmm256 Vector;
    MaxF32 = Binary Whole V EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae Repeat4, VEX_Vmaxps_ymm_ymm_ymmm256 Vector;
    MaxF64 = Binary Whole V EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae Repeat8, VEX_Vmaxpd_ymm_ymm_ymmm256 Vector;
    // Orders zeros; a quiet NaN gives the other operand, a signalling one a NaN.
    RangeF32 = Binary Whole V EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae Repeat4, -;
    RangeF64 = Binary Whole V EVEX_Vrangepd_zmm_k1z_zmm_zmmm512b64_imm8_sae Repeat8, -;
    // Estimates: relative errors of 2^-14, and of 1.5 * 2^-12 on AVX2.
    ReciprocalF32 = Unary Whole V EVEX_Vrcp14ps_zmm_k1z_zmmm512b32 Repeat4, VEX_Vrcpps_ymm_ymmm256 Vector;
    ReciprocalRootF32 = Unary Whole V EVEX_Vrsqrt14ps_zmm_k1z_zmmm512b32 Repeat4, VEX_Vrsqrtps_ymm_ymmm256 Vector;
    SqrtF32 = Unary Whole V EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er Repeat4, VEX_Vsqrtps_ymm_ymmm256 Vector;
    SqrtF64 = Unary Whole V EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er Repeat8, VEX_Vsqrtpd_ymm_ymmm256 Vector;
    RoundF32 = Unary Whole V EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae Repeat4, VEX_Vroundps_ymm_ymmm256_imm8 Vector;
    RoundF64 = Unary Whole V EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae Repeat8, VEX_Vroundpd_ymm_ymmm256_imm8 Vector;
    FmaF32 = Fma Whole V EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er Repeat4, VEX_Vfmadd213ps_ymm_ymm_ymmm256 Vector;
    FmaF64 = Fma Whole V EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er Repeat8, VEX_Vfmadd213pd_ymm_ymm_ymmm256 Vector;

    And32 = Commutative Whole V EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpand_ymm_ymm_ymmm256 Vector;
    And64 = Commutative Whole V EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpand_ymm_ymm_ymmm256 Vector;
    // `!a & b`.
    AndNot32 = Binary Whole V EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpandn_ymm_ymm_ymmm256 Vector;
    AndNot64 = Binary Whole V EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpandn_ymm_ymm_ymmm256 Vector;
    Or32 = Commutative Whole V EVEX_Vpord_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpor_ymm_ymm_ymmm256 Vector;
    Or64 = Commutative Whole V EVEX_Vporq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpor_ymm_ymm_ymmm256 Vector;
    Xor32 = Commutative Whole V EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpxor_ymm_ymm_ymmm256 Vector;
    Xor64 = Commutative Whole V EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpxor_ymm_ymm_ymmm256 Vector;

    Add32 = Commutative Whole V EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpaddd_ymm_ymm_ymmm256 Vector;
    Add64 = Commutative Whole V EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpaddq_ymm_ymm_ymmm256 Vector;
    Add8 = Commutative Whole V EVEX_Vpaddb_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpaddb_ymm_ymm_ymmm256 Vector;
    Sub32 = Binary Whole V EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsubd_ymm_ymm_ymmm256 Vector;
    Sub64 = Binary Whole V EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpsubq_ymm_ymm_ymmm256 Vector;
    SubSaturating16 = Binary Whole V EVEX_Vpsubusw_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpsubusw_ymm_ymm_ymmm256 Vector;
    Mul32 = Commutative Whole V EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpmulld_ymm_ymm_ymmm256 Vector;
    Mul64 = Commutative Whole V EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    // 64-bit products of the low halves of 64-bit lanes.
    MulWideU32 = Commutative Whole V EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpmuludq_ymm_ymm_ymmm256 Vector;
    MulWideI32 = Commutative Whole V EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpmuldq_ymm_ymm_ymmm256 Vector;
    MinI32 = Commutative Whole V EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpminsd_ymm_ymm_ymmm256 Vector;
    MinU32 = Commutative Whole V EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpminud_ymm_ymm_ymmm256 Vector;
    MinI64 = Commutative Whole V EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    MinU64 = Commutative Whole V EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    MaxI32 = Commutative Whole V EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpmaxsd_ymm_ymm_ymmm256 Vector;
    MaxU32 = Commutative Whole V EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpmaxud_ymm_ymm_ymmm256 Vector;
    MaxI64 = Commutative Whole V EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    MaxU64 = Commutative Whole V EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    Abs32 = Unary Whole V EVEX_Vpabsd_zmm_k1z_zmmm512b32 Repeat4, VEX_Vpabsd_ymm_ymmm256 Vector;
    Abs64 = Unary Whole V EVEX_Vpabsq_zmm_k1z_zmmm512b64 Repeat8, -;
    Shl32 = Binary Whole V EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsllvd_ymm_ymm_ymmm256 Vector;
    Shl64 = Binary Whole V EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpsllvq_ymm_ymm_ymmm256 Vector;
    Shr32 = Binary Whole V EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsrlvd_ymm_ymm_ymmm256 Vector;
    Shr64 = Binary Whole V EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vpsrlvq_ymm_ymm_ymmm256 Vector;
    Sar32 = Binary Whole V EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vpsravd_ymm_ymm_ymmm256 Vector;
    Sar64 = Binary Whole V EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64 Repeat8, -;
    ShlBy32 = Unary Whole V EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8 Repeat4, VEX_Vpslld_ymm_ymm_imm8 None;
    ShlBy64 = Unary Whole V EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8 Repeat8, VEX_Vpsllq_ymm_ymm_imm8 None;
    ShrBy32 = Unary Whole V EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8 Repeat4, VEX_Vpsrld_ymm_ymm_imm8 None;
    ShrBy64 = Unary Whole V EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8 Repeat8, VEX_Vpsrlq_ymm_ymm_imm8 None;
    SarBy32 = Unary Whole V EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8 Repeat4, VEX_Vpsrad_ymm_ymm_imm8 None;
    SarBy64 = Unary Whole V EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8 Repeat8, -;
    Lzcnt32 = Unary Whole V EVEX_Vplzcntd_zmm_k1z_zmmm512b32 Repeat4, -;
    Lzcnt64 = Unary Whole V EVEX_Vplzcntq_zmm_k1z_zmmm512b64 Repeat8, -;
    // Bytes of `a` picked by the bytes of `b`, in 16-byte groups.
    Shuffle8 = Binary Whole V EVEX_Vpshufb_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpshufb_ymm_ymm_ymmm256 Vector;
    SumBytes64 = Binary Whole V EVEX_Vpsadbw_zmm_zmm_zmmm512 Vector, VEX_Vpsadbw_ymm_ymm_ymmm256 Vector;
    SumBytes16 = Binary Whole V EVEX_Vpmaddubsw_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpmaddubsw_ymm_ymm_ymmm256 Vector;
    SumWords32 = Binary Whole V EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpmaddwd_ymm_ymm_ymmm256 Vector;
    Min16 = Commutative Whole V EVEX_Vpminsw_zmm_k1z_zmm_zmmm512 Vector, VEX_Vpminsw_ymm_ymm_ymmm256 Vector;

    // The immediate is the predicate.
    CompareF32 = Binary Whole K EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae Repeat4, VEX_Vcmpps_ymm_ymm_ymmm256_imm8 Vector;
    CompareF64 = Binary Whole K EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae Repeat8, VEX_Vcmppd_ymm_ymm_ymmm256_imm8 Vector;
    CompareI32 = Binary Whole K EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8 Repeat4, -;
    CompareU32 = Binary Whole K EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8 Repeat4, -;
    CompareI64 = Binary Whole K EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8 Repeat8, -;
    CompareU64 = Binary Whole K EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8 Repeat8, -;
    Equal32 = Commutative Whole K EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32 Repeat4, VEX_Vpcmpeqd_ymm_ymm_ymmm256 Vector;
    Equal64 = Commutative Whole K EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64 Repeat8, VEX_Vpcmpeqq_ymm_ymm_ymmm256 Vector;
    Greater32 = Binary Whole K EVEX_Vpcmpgtd_kr_k1_zmm_zmmm512b32 Repeat4, VEX_Vpcmpgtd_ymm_ymm_ymmm256 Vector;
    Greater64 = Binary Whole K EVEX_Vpcmpgtq_kr_k1_zmm_zmmm512b64 Repeat8, VEX_Vpcmpgtq_ymm_ymm_ymmm256 Vector;
    TestBytes = Binary Quarters K EVEX_Vptestmb_kr_k1_xmm_xmmm128 None, -;
    Test32 = Binary Whole K EVEX_Vptestmd_kr_k1_zmm_zmmm512b32 None, -;

    Blend32 = Blend Whole V EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32 Repeat4, VEX_Vblendvps_ymm_ymm_ymmm256_ymm Vector;
    Blend64 = Blend Whole V EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64 Repeat8, VEX_Vblendvpd_ymm_ymm_ymmm256_ymm Vector;
    Keep32 = Keep Whole V EVEX_Vmovaps_zmm_k1z_zmmm512 None, VEX_Vpand_ymm_ymm_ymmm256 None;
    Keep64 = Keep Whole V EVEX_Vmovapd_zmm_k1z_zmmm512 None, VEX_Vpand_ymm_ymm_ymmm256 None;
    KeepBytes = Keep Quarters V EVEX_Vmovdqu8_xmm_k1z_xmmm128 None, -;

    MaskAnd = Commutative Whole K VEX_Kandw_kr_kr_kr None, VEX_Vpand_ymm_ymm_ymmm256 Vector;
    // `!a & b`.
    MaskAndNot = Binary Whole K VEX_Kandnw_kr_kr_kr None, VEX_Vpandn_ymm_ymm_ymmm256 Vector;
    MaskOr = Commutative Whole K VEX_Korw_kr_kr_kr None, VEX_Vpor_ymm_ymm_ymmm256 Vector;
    MaskXor = Commutative Whole K VEX_Kxorw_kr_kr_kr None, VEX_Vpxor_ymm_ymm_ymmm256 Vector;
    MaskNot = Unary Whole K VEX_Knotw_kr_kr None, -;
    MaskShr = Unary Whole K VEX_Kshiftrw_kr_kr_imm8 None, -;
    // The low 8 lanes of `b`, above them those of `a`.
    MaskJoin = Binary Whole K VEX_Kunpckbw_kr_kr_kr None, -;

    SignExtend = Unary Widening V EVEX_Vpmovsxdq_zmm_k1z_ymmm256 Vector, VEX_Vpmovsxdq_ymm_xmmm128 Vector;
    ZeroExtend = Unary Widening V EVEX_Vpmovzxdq_zmm_k1z_ymmm256 Vector, VEX_Vpmovzxdq_ymm_xmmm128 Vector;
    UpperHalf = Unary Narrowing V EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8 None, VEX_Vextracti128_xmmm128_ymm_imm8 None;
    JoinHalves = Binary Inserting V EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8 None, VEX_Vinserti128_ymm_ymm_xmmm128_imm8 None;
    // Lanes of `a` and `c` picked by the numbers in `b`.
    Pick32 = Tied Whole V EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32 Vector, -;
    Shuffle32 = Binary Whole V EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8 None, VEX_Vshufps_ymm_ymm_ymmm256_imm8 Vector;
    Permute64 = Unary Whole V EVEX_Vpermq_zmm_k1z_zmmm512b64_imm8 None, VEX_Vpermq_ymm_ymmm256_imm8 Vector;
    // For masks as bytes on AVX2.
    PackWords = Binary Halves V EVEX_Vpackssdw_ymm_k1z_ymm_ymmm256b32 None, VEX_Vpackssdw_xmm_xmm_xmmm128 None;
    PackBytes = Binary Halves V EVEX_Vpacksswb_ymm_k1z_ymm_ymmm256 None, VEX_Vpacksswb_xmm_xmm_xmmm128 None;
    AndHalf = Binary Halves V EVEX_Vpandd_ymm_k1z_ymm_ymmm256b32 None, VEX_Vpand_xmm_xmm_xmmm128 None;

    OrHalf = Commutative Halves V EVEX_Vpord_ymm_k1z_ymm_ymmm256b32 None, VEX_Vpor_xmm_xmm_xmmm128 None;
    // The low halves and quarters of 32-bit lanes, packed.
    Words = Unary Narrowing V EVEX_Vpmovdw_ymmm256_k1z_zmm None, -;
    Bytes = Unary Quartering V EVEX_Vpmovdb_xmmm128_k1z_zmm None, -;
    ZeroExtendWords = Unary Widening V EVEX_Vpmovzxwd_zmm_k1z_ymmm256 Vector, VEX_Vpmovzxwd_ymm_xmmm128 Vector;
    F16FromF32 = Unary Narrowing V EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae None, VEX_Vcvtps2ph_xmmm128_ymm_imm8 None;
    F32FromF16 = Unary Widening V EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae Vector, VEX_Vcvtph2ps_ymm_xmmm128 Vector;

    F32FromI32 = Unary Whole V EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er Repeat4, VEX_Vcvtdq2ps_ymm_ymmm256 Vector;
    F32FromU32 = Unary Whole V EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er Repeat4, -;
    I32FromF32 = Unary Whole V EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae Repeat4, VEX_Vcvttps2dq_ymm_ymmm256 Vector;
    U32FromF32 = Unary Whole V EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae Repeat4, -;
    F64FromI32 = Unary Widening V EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er Vector, VEX_Vcvtdq2pd_ymm_xmmm128 Vector;
    F64FromU32 = Unary Widening V EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er Vector, -;
    F64FromF32 = Unary Widening V EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae Vector, VEX_Vcvtps2pd_ymm_xmmm128 Vector;
    F32FromF64 = Unary Narrowing V EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er Repeat8, VEX_Vcvtpd2ps_xmm_ymmm256 Vector;
    I32FromF64 = Unary Narrowing V EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae Repeat8, VEX_Vcvttpd2dq_xmm_ymmm256 Vector;
    U32FromF64 = Unary Narrowing V EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae Repeat8, -;
    F64FromI64 = Unary Whole V EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er Repeat8, -;
    F64FromU64 = Unary Whole V EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er Repeat8, -;
    F32FromI64 = Unary Narrowing V EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er Repeat8, -;
    F32FromU64 = Unary Narrowing V EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er Repeat8, -;
    I64FromF64 = Unary Whole V EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae Repeat8, -;
    U64FromF64 = Unary Whole V EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae Repeat8, -;
}

impl M {
    /// Whether a NaN in the result is a quiet one.
    pub(super) fn quiets(self) -> bool {
        matches!(
            self,
            Self::AddF32
                | Self::AddF64
                | Self::SubF32
                | Self::SubF64
                | Self::MulF32
                | Self::MulF64
                | Self::DivF32
                | Self::DivF64
                | Self::ReciprocalF32
                | Self::ReciprocalRootF32
                | Self::SqrtF32
                | Self::SqrtF64
                | Self::RoundF32
                | Self::RoundF64
                | Self::FmaF32
                | Self::FmaF64
                | Self::RangeF32
                | Self::RangeF64
                | Self::F64FromF32
                | Self::F32FromF64
                | Self::F32FromF16
                | Self::F32FromI32
                | Self::F32FromU32
                | Self::F64FromI64
                | Self::F64FromU64
        )
    }

    /// The instruction's row.
    pub(super) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
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
pub(super) fn fma_codes(m: M, avx512: bool) -> FmaCodes {
    match (m == M::FmaF64, avx512) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commutative_rows_take_any_order() {
        // A row whose operands may be swapped must not be one that x86 defines by position.
        for m in [M::MinF32, M::MaxF64, M::SubF32, M::Greater32, M::MaskAndNot] {
            assert_ne!(m.row().form, Form::Commutative, "{m:?}");
        }
    }
}

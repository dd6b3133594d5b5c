//! Exponential functions: `2^n p(r)`, p a polynomial. 23 operations in f32, 28 or 29 in f64.

use super::{format, horner, pick, power_of_two, scale};
use crate::trace::expr::Expr;

/// Constants of `b^x` for a base b.
pub(super) struct Exponential {
    /// 1 / log_b 2.
    pub(super) per_octave: u64,
    /// −log_b 2 in two parts.
    pub(super) minus_octave: [u64; 2],
    /// Polynomial for `b^r`, |r| ≤ log_b 2 / 2.
    pub(super) polynomial: &'static [u64],
}

/// `x = n log_b 2 + r` as r, and n in the low bits of an unsigned integer (above them: bits that a shift
/// into the exponent field drops). Cody & Waite 1980, in two steps with fma.
pub(super) fn octaves<'r>(x: Expr<'r>, constants: &Exponential) -> (Expr<'r>, Expr<'r>) {
    let format = format(x);
    let shifted = x.fma(x.bits(constants.per_octave), x.bits(format.round));
    let n = shifted - x.bits(format.round);
    let [high, low] = constants.minus_octave;
    let r = n.fma(x.bits(low), n.fma(x.bits(high), x));
    (r, shifted.bits_any_nan())
}

/// `b^x = p · 2^n`: p, and n as [`octaves`] gives it.
pub(super) fn split<'r>(x: Expr<'r>, constants: &Exponential) -> (Expr<'r>, Expr<'r>) {
    let (r, n) = octaves(x, constants);
    (horner(r, constants.polynomial), n)
}

/// x between two numbers; a NaN stays.
pub(super) fn within(x: Expr<'_>, [least, most]: [f64; 2]) -> Expr<'_> {
    x.minimum(x.constant(most)).maximum(x.constant(least))
}

pub(super) const EXP_SINGLE: Exponential = Exponential {
    per_octave: 0x3fb8_aa3b,
    minus_octave: [0xbf31_7218, 0x3102_e308],
    polynomial: &[
        0x3f80_0000,
        0x3f80_0000,
        0x3eff_fffc,
        0x3e2a_aa47,
        0x3d2a_adcd,
        0x3c09_1df8,
        0x3ab4_27f2,
    ],
};

pub(super) const EXP_DOUBLE: Exponential = Exponential {
    per_octave: 0x3ff7_1547_652b_82fe,
    minus_octave: [0xbfe6_2e42_fefa_39ef, 0xbc7a_bc9e_3b39_803f],
    polynomial: &[
        0x3ff0_0000_0000_0000,
        0x3ff0_0000_0000_0000,
        0x3fe0_0000_0000_000c,
        0x3fc5_5555_5555_5515,
        0x3fa5_5555_5554_fe40,
        0x3f81_1111_1112_119b,
        0x3f56_c16c_185f_760f,
        0x3f2a_01a0_14db_c99e,
        0x3efa_0199_5e46_0d9d,
        0x3ec7_1ded_720e_da62,
        0x3e92_8b0d_4566_b2bb,
        0x3e5a_dfa4_5d22_1166,
    ],
};

/// `e^x`, as `2^n · p(r)` with `x = n ln 2 + r`, p of degree 6 (f32) or 11 (f64).
///
/// At most 0.90 ulp (f32) and 0.88 ulp (f64). Rounding by adding a large number as in ARM's optimized
/// routines. exp(±0) = 1, exp(∞) = ∞, exp(−∞) = +0, exp(NaN) = NaN.
pub(in crate::trace) fn exp(x: Expr<'_>) -> Expr<'_> {
    let range = pick(x, [-104.0, 89.0], [-746.0, 710.0]);
    let (p, n) = split(within(x, range), pick(x, &EXP_SINGLE, &EXP_DOUBLE));
    scale(p, n)
}

/// `2^r`, |r| ≤ 1/2.
const EXP2_SINGLE: [u64; 7] =
    [0x3f80_0000, 0x3f31_7219, 0x3e75_fdf3, 0x3d63_56d3, 0x3c1d_90e4, 0x3aaf_e0d7, 0x3925_d0d0];

const EXP2_DOUBLE: [u64; 12] = [
    0x3ff0_0000_0000_0000,
    0x3fe6_2e42_fefa_39f3,
    0x3fce_bfbd_ff82_c5a0,
    0x3fac_6b08_d704_969c,
    0x3f83_b2ab_6fb9_f809,
    0x3f55_d87f_e797_4e21,
    0x3f24_3091_3136_c3d2,
    0x3eef_fcbf_bc50_d618,
    0x3eb6_2bfb_75ac_b873,
    0x3e7b_5219_9e82_f021,
    0x3e3e_63d1_0bd0_697f,
    0x3dff_4180_3048_33f0,
];

/// `2^x`, exact for integers.
///
/// At most 0.81 ulp (f32) and 0.95 ulp (f64). Special values as [`exp`].
pub(in crate::trace) fn exp2(x: Expr<'_>) -> Expr<'_> {
    let x = within(x, exp2_range(x));
    exp2_of_sum(x, x.constant(0.0))
}

/// Beyond these, powers of two are 0 and ∞, also with a factor of about 2.
pub(super) fn exp2_range(x: Expr<'_>) -> [f64; 2] {
    pick(x, [-160.0, 136.0], [-1090.0, 1040.0])
}

/// `2^(x + rest)` for x in [`exp2_range`] and a rest far below 1.
pub(super) fn exp2_of_sum<'r>(x: Expr<'r>, rest: Expr<'r>) -> Expr<'r> {
    let format = format(x);
    let shifted = x + x.bits(format.round);
    let r = (x - (shifted - x.bits(format.round))) + rest;
    scale(horner(r, pick(x, &EXP2_SINGLE, &EXP2_DOUBLE)), shifted.bits_any_nan())
}

const EXP10_SINGLE: Exponential = Exponential {
    per_octave: 0x4054_9a78,
    minus_octave: [0xbe9a_209b, 0x3276_0860],
    polynomial: &[
        0x3f80_0000,
        0x4013_5d8e,
        0x4029_a925,
        0x4002_37cc,
        0x3f95_ecdc,
        0x3f0a_b6ac,
        0x3e53_542b,
    ],
};

const EXP10_DOUBLE: Exponential = Exponential {
    per_octave: 0x400a_934f_0979_a371,
    minus_octave: [0xbfd3_4413_509f_79ff, 0x3c49_dc1d_a994_fd21],
    polynomial: &[
        0x3ff0_0000_0000_0000,
        0x4002_6bb1_bbb5_5518,
        0x4005_3524_c73c_ea6e,
        0x4000_4705_91de_232e,
        0x3ff2_bd76_09fd_6e7d,
        0x3fe1_429f_fd43_47b8,
        0x3fca_7ed7_099c_f2ab,
        0x3fb1_6e4d_8226_6250,
        0x3f94_1166_b99a_741e,
        0x3f74_8acf_cc8e_2bac,
        0x3f52_f657_d28e_48d1,
        0x3f2d_086a_7a3b_fa10,
    ],
};

/// `10^x`, as [`exp`].
///
/// At most 0.88 ulp (f32) and 0.98 ulp (f64). Special values as [`exp`].
pub(in crate::trace) fn exp10(x: Expr<'_>) -> Expr<'_> {
    let range = pick(x, [-46.0, 39.0], [-325.0, 309.0]);
    let (p, n) = split(within(x, range), pick(x, &EXP10_SINGLE, &EXP10_DOUBLE));
    scale(p, n)
}

/// `(e^r − 1 − r) / r²`, |r| ≤ ln 2 / 2.
const EXPM1_SINGLE: [u64; 5] = [0x3eff_ffff, 0x3e2a_aa55, 0x3d2a_abce, 0x3c09_164d, 0x3ab5_5a59];

const EXPM1_DOUBLE: [u64; 11] = [
    0x3fe0_0000_0000_0000,
    0x3fc5_5555_5555_5559,
    0x3fa5_5555_5555_5558,
    0x3f81_1111_1110_f71c,
    0x3f56_c16c_16c1_7638,
    0x3f2a_01a0_1af9_8cdf,
    0x3efa_01a0_198d_e37d,
    0x3ec7_1ddf_9376_e59b,
    0x3e92_7e50_555c_8865,
    0x3e5a_f5d1_6e1a_fdfe,
    0x3e21_f24e_b94d_01ca,
];

/// `e^x − 1`, as `2^n p + (2^n − 1)` with p for `e^r − 1`; tiny x stay.
///
/// At most 1.56 ulp (f32) and 1.80 ulp (f64).
/// expm1(±0) = ±0, expm1(∞) = ∞, expm1(−∞) = −1, expm1(NaN) = NaN.
pub(in crate::trace) fn expm1(x: Expr<'_>) -> Expr<'_> {
    let (half, tiny) = (x.constant(0.5), x.constant(pick(x, 1e-9, 1e-18)));
    let range = pick(x, [-30.0, 89.0], [-50.0, 710.0]);
    let (r, n) = octaves(within(x, range), pick(x, &EXP_SINGLE, &EXP_DOUBLE));
    let p = (r * r).fma(horner(r, pick(x, &EXPM1_SINGLE[..], &EXPM1_DOUBLE)), r);
    // Half the result: its power of two is normal for the largest x too.
    let power = power_of_two(n - n.bits(1));
    let y = p.fma(power, power - half);
    x.abs().lt(tiny).select(x, y + y)
}

//! Inverse circular functions: 20 to 25 operations in f32, 27 to 33 in f64; atan2 36 and 48.

use super::exponential::within;
use super::{flip, format, horner, pick, sign_of, with_sign_of};
use crate::trace::expr::Expr;

/// `(asin s − s) / s³` in s², s ≤ 1/2.
const ASIN_SINGLE: [u64; 5] = [0x3e2a_aae4, 0x3d99_80fe, 0x3d3a_3e83, 0x3cc6_16c1, 0x3d2c_b6b2];

const ASIN_DOUBLE: [u64; 12] = [
    0x3fc5_5555_5555_538e,
    0x3fb3_3333_3336_ec3c,
    0x3fa6_db6d_b424_ab9c,
    0x3f9f_1c72_c49b_279e,
    0x3f96_e89f_28c5_9693,
    0x3f91_c6bf_d52a_2bdc,
    0x3f8c_6fb7_bad3_67d2,
    0x3f88_ed2a_a3c5_9808,
    0x3f7a_b42b_7243_e110,
    0x3f94_0575_c6e2_cdd8,
    0xbf90_a708_a4ef_1820,
    0x3fa0_5a3d_0e74_f3e9,
];

/// `asin x`; beyond 1/2 as `π/2 − 2 asin √((1 − x) / 2)`, as in fdlibm.
///
/// At most 2.35 ulp (f32) and 2.23 ulp (f64).
/// asin(±0) = ±0, NaN for |x| > 1 and for NaN.
pub(in crate::trace) fn asin(x: Expr<'_>) -> Expr<'_> {
    let (big, r) = half_range_asin(x.abs());
    let y = big.select(r.fma(x.constant(-2.0), half_pi(x)), r);
    with_sign_of(y, x)
}

/// `acos x`, as `π/2 − asin x` or `2 asin √((1 − |x|) / 2)`, the latter taken from π for x < 0.
///
/// At most 1.25 ulp (f32) and 1.18 ulp (f64).
/// acos(1) = +0, NaN for |x| > 1 and for NaN.
pub(in crate::trace) fn acos(x: Expr<'_>) -> Expr<'_> {
    let zero = x.constant(0.0);
    let (big, r) = half_range_asin(x.abs());
    let negative = x.lt(zero);
    let far = r + r;
    let term = with_sign_of(big.select(far, -r), x);
    let whole = negative.select(x.pi_times(1.0), zero);
    big.select(whole, half_pi(x)) + term
}

/// x limited to −1 … 1; NaN stays.
pub(in crate::trace) fn unit_range(x: Expr<'_>) -> Expr<'_> {
    within(x, [-1.0, 1.0])
}

fn half_pi(x: Expr<'_>) -> Expr<'_> {
    x.pi_times(0.5)
}

/// For x ≥ 0: whether x > 1/2, and asin of √((1 − x) / 2) then, else of x.
fn half_range_asin(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let half = x.constant(0.5);
    let big = x.gt(half);
    let square = big.select(x.fma(x.constant(-0.5), half), x * x);
    let s = big.select(square.sqrt(), x);
    let p = horner(square, pick(x, &ASIN_SINGLE[..], &ASIN_DOUBLE));
    (big, p.fma(square * s, s))
}

/// `(atan q − q) / q³` in q², q ≤ 1.
const ATAN_SINGLE: [u64; 8] = [
    0xbeaa_aa6e,
    0x3e4c_bc76,
    0xbe11_854a,
    0x3dda_6f57,
    0xbd9a_a867,
    0x3d30_f741,
    0xbc86_0bc8,
    0x3b3f_5309,
];

const ATAN_DOUBLE: [u64; 20] = [
    0xbfd5_5555_5555_5526,
    0x3fc9_9999_9999_55b1,
    0xbfc2_4924_9237_ef3a,
    0x3fbc_71c7_17fa_3beb,
    0xbfb7_45d1_1aa1_419d,
    0x3fb3_b136_6581_2484,
    0xbfb1_10e4_e9b5_3cfe,
    0x3fae_1bb8_3a99_55a7,
    0xbfaa_e5dc_7f0f_26e0,
    0x3fa8_2d86_b171_6e6e,
    0xbfa5_99d5_dfe6_6abf,
    0x3fa2_c208_df81_d294,
    0xbf9e_9ce0_613e_aecf,
    0x3f96_8071_ac55_7fdf,
    0xbf8c_72c8_15c2_8b2c,
    0x3f7d_7303_cfd2_f476,
    0xbf67_9b13_a246_ea65,
    0x3f4b_3414_72a6_d3c9,
    0xbf23_e9bf_c9a2_6c8d,
    0x3eeb_b009_5699_e158,
];

/// atan q, 0 ≤ q ≤ 1.
fn unit_atan(q: Expr<'_>) -> Expr<'_> {
    let square = q * q;
    let p = horner(square, pick(q, &ATAN_SINGLE[..], &ATAN_DOUBLE));
    p.fma(square * q, q)
}

/// `atan x`; beyond 1 as `π/2 − atan(1 / x)`.
///
/// At most 2.01 ulp (f32) and 1.61 ulp (f64).
/// atan(±0) = ±0, atan(±∞) = ±π/2, atan(NaN) = NaN.
pub(in crate::trace) fn atan(x: Expr<'_>) -> Expr<'_> {
    let (size, one) = (x.abs(), x.constant(1.0));
    let big = size.gt(one);
    let r = unit_atan(big.select(one / size, size));
    with_sign_of(big.select(half_pi(x) - r, r), x)
}

/// The angle of the point (x, y), −π to π.
///
/// At most 1.87 ulp (f32) and 1.56 ulp (f64).
/// The sign is y's; where both are zeros or both infinite, the quotient counts as 0 or 1: atan2(±0, −0)
/// = ±π, atan2(±∞, −∞) = ±3π/4. A NaN makes NaN.
pub(in crate::trace) fn atan2<'r>(y: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let (zero, one) = (x.constant(0.0), x.constant(1.0));
    let (height, width) = (y.abs(), x.abs());
    let (most, least) = (height.maximum(width), height.minimum(width));
    let q = least / most;
    // 0 / 0 and ∞ / ∞.
    let q = least.eq(most).select(most.eq(zero).select(zero, one), q);
    let r = unit_atan(q);
    let sign = sign_of(x);
    let steep = height.gt(width);
    let whole = sign.eq(sign.bits(0)).select(zero, x.pi_times(1.0));
    let flipped = sign ^ steep.select(sign.bits(format(x).sign), sign.bits(0));
    with_sign_of(steep.select(half_pi(x), whole) + flip(r, flipped), y)
}

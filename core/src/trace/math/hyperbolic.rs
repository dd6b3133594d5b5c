//! Hyperbolic functions and their inverses, from the exponential function and the logarithm: 21 to 43
//! operations in f32, 26 to 56 in f64.

use super::exponential::{EXP_DOUBLE, EXP_SINGLE, Exponential, exp, split};
use super::logarithm::{at_borders, natural, split_one_plus};
use super::{horner, pick, power_of_two, with_sign_of};
use crate::trace::expr::Expr;

/// `(sinh x − x) / x³` in x², |x| ≤ 1.
const SINH_SINGLE: [u64; 3] = [0x3e2a_aacc, 0x3c08_7bb0, 0x3955_a14a];

const SINH_DOUBLE: [u64; 7] = [
    0x3fc5_5555_5555_5556,
    0x3f81_1111_1111_101e,
    0x3f2a_01a0_1a03_726c,
    0x3ec7_1de3_a3b0_63cf,
    0x3e5a_e646_ff5f_3f72,
    0x3de6_116f_4019_48c1,
    0x3d6b_5c8d_f577_94dc,
];

/// `sinh x`, as `x + x³ p(x²)` for |x| < 1 and `e^|x| / 2 − 1 / (2 e^|x|)` beyond.
///
/// At most 1.83 ulp (f32) and 1.59 ulp (f64).
/// sinh(±0) = ±0, sinh(±∞) = ±∞, sinh(NaN) = NaN.
pub(in crate::trace) fn sinh(x: Expr<'_>) -> Expr<'_> {
    let half = half_exp(x.abs());
    let far = with_sign_of(half - x.constant(0.25) / half, x);
    // NaN fails the comparison and comes out of the first formula.
    x.abs().ge(x.constant(1.0)).select(far, near_sinh(x))
}

/// `cosh x`, as `e^|x| / 2 + 1 / (2 e^|x|)`.
///
/// At most 1.28 ulp (f32) and 1.29 ulp (f64). cosh(±0) = 1, cosh(±∞) = ∞, cosh(NaN) = NaN.
pub(in crate::trace) fn cosh(x: Expr<'_>) -> Expr<'_> {
    let half = half_exp(x.abs());
    half + x.constant(0.25) / half
}

/// sinh x for |x| ≤ 1; −0 stays.
fn near_sinh(x: Expr<'_>) -> Expr<'_> {
    let square = x * x;
    horner(square, pick(x, &SINH_SINGLE[..], &SINH_DOUBLE)).fma(square, x.constant(1.0)) * x
}

/// `e^x / 2` for x ≥ 0, which is finite where `e^x` no longer is.
fn half_exp(x: Expr<'_>) -> Expr<'_> {
    // A NaN stays. At the bound the power of two is an infinity.
    let x = x.minimum(x.constant(pick(x, 90.0, 711.0)));
    let (p, n) = split(x, pick(x, &EXP_SINGLE, &EXP_DOUBLE));
    let p = p + p;
    p * power_of_two(n - n.bits(2))
}

/// `e^(2x)`.
const EXP_TWICE_SINGLE: Exponential = Exponential {
    per_octave: 0x4038_aa3b,
    minus_octave: [0xbeb1_7218, 0x3082_e308],
    polynomial: &[
        0x3f80_0000,
        0x4000_0000,
        0x3fff_fffc,
        0x3faa_aa47,
        0x3f2a_adcd,
        0x3e89_1df8,
        0x3db4_27f2,
    ],
};

const EXP_TWICE_DOUBLE: Exponential = Exponential {
    per_octave: 0x4007_1547_652b_82fe,
    minus_octave: [0xbfd6_2e42_fefa_39ef, 0xbc6a_bc9e_3b39_803f],
    polynomial: &[
        0x3ff0_0000_0000_0000,
        0x4000_0000_0000_0000,
        0x4000_0000_0000_000c,
        0x3ff5_5555_5555_5515,
        0x3fe5_5555_5554_fe40,
        0x3fd1_1111_1112_119b,
        0x3fb6_c16c_185f_760f,
        0x3f9a_01a0_14db_c99e,
        0x3f7a_0199_5e46_0d9d,
        0x3f57_1ded_720e_da62,
        0x3f32_8b0d_4566_b2bb,
        0x3f0a_dfa4_5d22_1166,
    ],
};

/// `(tanh x − x) / x³` in x², |x| < 0.625.
const TANH_SINGLE: [u64; 5] = [0xbeaa_aa98, 0x3e08_8354, 0xbd5c_16f4, 0x3ca8_e8bb, 0xbbba_4152];

const TANH_DOUBLE: [u64; 11] = [
    0xbfd5_5555_5555_54f8,
    0x3fc1_1111_1110_a66f,
    0xbfab_a1ba_1b4c_5104,
    0x3f96_64f4_7704_76ab,
    0xbf82_26e1_52c7_6e4c,
    0x3f6d_6cf0_9fd7_de1b,
    0xbf57_d678_0251_e724,
    0x3f43_35f0_002a_9ad1,
    0xbf2d_f1ec_9245_633a,
    0x3f14_3199_b336_6d13,
    0xbef0_cc57_a840_0138,
];

/// `tanh x`, as `x + x³ p(x²)` for |x| < 0.625 and as `1 − 2 / (e^(2|x|) + 1)` beyond.
///
/// At most 1.38 ulp (f32) and 1.36 ulp (f64). The two ranges are those of Cephes (`tanh.c`): where
/// tanh is below 1/2, the second formula would lose bits. One division.
/// tanh(±0) = ±0, tanh(±∞) = ±1, tanh(NaN) = NaN.
pub(in crate::trace) fn tanh(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    let (p, power) = exp_twice(size);
    let (one, two) = (x.constant(1.0), x.constant(2.0));
    let far = one - two.bounded_div(p.fma(power, one));
    let far = x.lt(x.constant(0)).select(-far, far);
    // NaN fails the comparison and comes out of the first formula.
    size.ge(x.constant(0.625)).select(far, near_tanh(x))
}

/// tanh x for |x| < 0.625.
fn near_tanh(x: Expr<'_>) -> Expr<'_> {
    let square = x * x;
    // A product, not a sum: the sum of zeros would lose the sign of -0.
    horner(square, pick(x, &TANH_SINGLE[..], &TANH_DOUBLE)).fma(square, x.constant(1)) * x
}

/// `e^(2x)` for x ≥ 0 as two factors; beyond 10 (f32) or 20 (f64), where tanh and coth are 1, of that
/// bound. What becomes of a NaN is not used.
fn exp_twice(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let x = x.min(x.constant(pick(x, 10.0, 20.0)));
    let (p, n) = split(x, pick(x, &EXP_TWICE_SINGLE, &EXP_TWICE_DOUBLE));
    (p, power_of_two(n))
}

/// `coth x = 1 / tanh x`; beyond 0.625 as `1 + 2 / (e^(2|x|) − 1)`. One division.
///
/// At most 2.14 ulp (f32) and 2.07 ulp (f64). coth(±0) = ±∞, coth(±∞) = ±1, coth(NaN) = NaN.
pub(in crate::trace) fn coth(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    let (p, power) = exp_twice(size);
    let (one, two) = (x.constant(1.0), x.constant(2.0));
    let far = size.ge(x.constant(0.625));
    let divisor = far.select(p.fma(power, x.constant(-1.0)), near_tanh(size));
    let quotient = far.select(two, one) / divisor;
    with_sign_of(far.select(quotient + one, quotient), x)
}

/// `sech x = 1 / cosh x`, as `2e / (1 + e²)` with `e = e^-|x|`.
///
/// At most 2.37 ulp (f32) and 2.30 ulp (f64). sech(±0) = 1, sech(±∞) = +0, sech(NaN) = NaN.
pub(in crate::trace) fn sech(x: Expr<'_>) -> Expr<'_> {
    let e = exp(-x.abs());
    (e + e) / e.fma(e, x.constant(1.0))
}

/// `csch x = 1 / sinh x`; beyond 1 as `2e / (1 − e²)` with `e = e^-|x|`.
///
/// At most 2.78 ulp (f32) and 2.43 ulp (f64). csch(±0) = ±∞, csch(±∞) = ±0, csch(NaN) = NaN.
pub(in crate::trace) fn csch(x: Expr<'_>) -> Expr<'_> {
    let (size, one) = (x.abs(), x.constant(1.0));
    let far = size.ge(one);
    let e = exp(-size);
    let divisor = far.select((-e).fma(e, one), near_sinh(size));
    with_sign_of(far.select(e + e, one) / divisor, x)
}

// ---- inverse functions ----

/// Where adding 1 to the square no longer matters, so that asinh and acosh are log(2x).
fn large(x: Expr<'_>) -> Expr<'_> {
    x.constant(pick(x, 1e8, 1e16))
}

/// `log(1 + x)`, or log(2x) where `big`, for x > −1.
fn log_one_plus<'r>(x: Expr<'r>, big: Expr<'r>) -> Expr<'r> {
    let (k, f) = split_one_plus(x);
    natural(k + big.select(x.constant(1.0), x.constant(0.0)), f)
}

/// `asinh x`, as `log(1 + t)` with `t = |x| + x² / (1 + √(x² + 1))`.
///
/// At most 1.94 ulp (f32) and 1.98 ulp (f64). asinh(±0) = ±0, asinh(±∞) = ±∞, asinh(NaN) = NaN.
pub(in crate::trace) fn asinh(x: Expr<'_>) -> Expr<'_> {
    let (size, one) = (x.abs(), x.constant(1.0));
    let big = size.gt(large(x));
    let square = size * size;
    let t = size + square / (one + size.fma(size, one).sqrt());
    let y = log_one_plus(big.select(size, t), big);
    let finite = size.lt(x.constant(f64::INFINITY));
    finite.select(with_sign_of(y, x), x)
}

/// `acosh x`, as `log(1 + t)` with `t = (x − 1) + √((x − 1)² + 2 (x − 1))`.
///
/// At most 2.11 ulp (f32) and 1.99 ulp (f64). acosh(1) = +0, acosh(∞) = ∞, NaN below 1 and for NaN.
pub(in crate::trace) fn acosh(x: Expr<'_>) -> Expr<'_> {
    let beyond = x - x.constant(1.0);
    let big = x.gt(large(x));
    let t = beyond + beyond.fma(beyond, beyond + beyond).sqrt();
    let y = log_one_plus(big.select(x, t), big);
    let finite = x.lt(x.constant(f64::INFINITY));
    let y = finite.select(y, x);
    x.lt(x.constant(1.0)).select(x.constant(f64::NAN), y)
}

/// `atanh x`, as `log(1 + 2|x| / (1 − |x|)) / 2`.
///
/// At most 2.19 ulp (f32) and 2.06 ulp (f64).
/// atanh(±0) = ±0, atanh(±1) = ±∞, NaN beyond ±1 and for NaN.
pub(in crate::trace) fn atanh(x: Expr<'_>) -> Expr<'_> {
    let (size, one) = (x.abs(), x.constant(1.0));
    let t = (size + size) / (one - size);
    let (k, f) = split_one_plus(t);
    let y = at_borders(t + one, natural(k, f));
    with_sign_of(y * x.constant(0.5), x)
}

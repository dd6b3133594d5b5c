//! Sine, cosine and their quotients: of angles in radians with 34 to 44 operations in f32 (most of them in
//! f64) and 132 to 137 in f64, most of which reduce the angle; of half turns with about 35.

use super::reduction::{reduce, turns};
use super::{flip, format, horner, pick, with_sign_of};
use crate::dtype::DType;
use crate::trace::expr::Expr;

/// `sin x`.
///
/// At most 0.66 ulp over all of f32. f64: at most 0.77 ulp for |x| ≤ 2^30 and 1.18 ulp
/// beyond, worst near multiples of π/2. See [`turns`] for f32 and [`reduce`] for f64.
/// sin(±0) = ±0, sin(±∞) = NaN, sin(NaN) = NaN.
pub(in crate::trace) fn sin(x: Expr<'_>) -> Expr<'_> {
    if x.dtype() == DType::F32 {
        return sin_single(x);
    }
    let (quadrant, r, rest) = reduce(x.abs());
    let (sine, cosine) = kernel(r, rest);
    let y = is_odd(quadrant).select(cosine, sine);
    // By magnitude and sign, as the reduction would make +0 of -0.
    with_sign_of(flip(y, second_bit_as_sign(quadrant)), x)
}

/// `cos x`; accuracy and method as [`sin`]. cos(±0) = 1, cos(±∞) = NaN, cos(NaN) = NaN.
pub(in crate::trace) fn cos(x: Expr<'_>) -> Expr<'_> {
    if x.dtype() == DType::F32 {
        return cos_single(x);
    }
    let (quadrant, r, rest) = reduce(x.abs());
    let (sine, cosine) = kernel(r, rest);
    let y = is_odd(quadrant).select(sine, cosine);
    flip(y, second_bit_as_sign(quadrant + quadrant.bits(1)))
}

/// `tan x`, the quotient of sine and cosine on |r| ≤ π/4.
///
/// At most 1.97 ulp over all of f32. f64: at most 2.12 ulp.
/// tan(±0) = ±0, tan(±∞) = NaN, tan(NaN) = NaN.
pub(in crate::trace) fn tan(x: Expr<'_>) -> Expr<'_> {
    let (numerator, denominator) = tangent(x);
    with_sign_of(numerator / denominator, x)
}

/// `cot x = 1 / tan x`; accuracy and method as [`tan`]. cot(±0) = ±∞, cot(±∞) = NaN.
pub(in crate::trace) fn cot(x: Expr<'_>) -> Expr<'_> {
    let (numerator, denominator) = tangent(x);
    with_sign_of(denominator / numerator, x)
}

/// `sec x = 1 / cos x`. At most 1.48 ulp (f32) and 1.56 ulp (f64).
pub(in crate::trace) fn sec(x: Expr<'_>) -> Expr<'_> {
    x.constant(1.0) / cos(x)
}

/// `csc x = 1 / sin x`. At most 1.49 ulp (f32) and 1.56 ulp (f64). csc(±0) = ±∞.
pub(in crate::trace) fn csc(x: Expr<'_>) -> Expr<'_> {
    x.constant(1.0) / sin(x)
}

/// `sin(π x)`, from the remainder of x in quarter turns, which is exact.
///
/// At most 0.95 ulp (f32) and 0.88 ulp (f64).
/// sinpi(±n) = ±0 for integers n, sinpi(±∞) = NaN, sinpi(NaN) = NaN.
pub(in crate::trace) fn sinpi(x: Expr<'_>) -> Expr<'_> {
    let (quadrant, sine, cosine) = of_half_turns(x.abs());
    let y = flip(is_odd(quadrant).select(cosine, sine), second_bit_as_sign(quadrant));
    with_sign_of(positive_zero(y), x)
}

/// `sin(π x) / (π x)`, 1 where the next terms of the series are too small to see. sinc(±∞) = NaN.
pub(in crate::trace) fn sinc(x: Expr<'_>) -> Expr<'_> {
    let near = x.abs().lt(x.constant(pick(x, 1e-4, 5e-9)));
    near.select(x.constant(1.0), sinpi(x) / (x * x.pi_times(1.0)))
}

/// `cos(π x)`; accuracy and method as [`sinpi`]. cospi(n + 1/2) = +0, cospi(±∞) = NaN.
pub(in crate::trace) fn cospi(x: Expr<'_>) -> Expr<'_> {
    let (quadrant, sine, cosine) = of_half_turns(x);
    let y = is_odd(quadrant).select(sine, cosine);
    positive_zero(flip(y, second_bit_as_sign(quadrant + quadrant.bits(1))))
}

fn is_odd(n: Expr<'_>) -> Expr<'_> {
    (n & n.bits(1)).neq(n.bits(0))
}

fn second_bit_as_sign(n: Expr<'_>) -> Expr<'_> {
    (n >> 1) << (n.dtype().bits() - 1)
}

fn positive_zero(x: Expr<'_>) -> Expr<'_> {
    x + x.constant(0.0)
}

// ---- f32, in f64 ----

/// `sin(π g) / g` in g², relative error 2^-33 for |g| ≤ 9/16, and 2^-25 at 5/8, which is only reached at
/// the end of a window of [`turns`].
const SIN_PI: [u64; 6] = [
    0x4009_21fb_5439_b6cf,
    0xc014_abbc_e1e9_c043,
    0x4004_66bb_43dc_f911,
    0xbfe3_2cf2_8074_9fba,
    0x3fb4_fcd8_af1b_26fd,
    0xbf7c_5e71_4af3_b74d,
];

/// `(−1)^n sin(π g)` in f32, n in the lowest bit of `count`'s fraction; g and count in f64.
fn sin_pi<'r>(g: Expr<'r>, count: Expr<'r>) -> Expr<'r> {
    let negative = count.bits_any_nan() << 63;
    flip(horner(g * g, &SIN_PI) * g, negative).cast(DType::F32)
}

fn sin_single(x: Expr<'_>) -> Expr<'_> {
    let (p, t) = turns(x.abs());
    let round = p.bits(format(p).round);
    let count = p + round;
    let g = (p - (count - round)) + t;
    with_sign_of(sin_pi(g, count), x)
}

/// `cos(π (n + 1/2 − g)) = (−1)^n sin(π g)`.
fn cos_single(x: Expr<'_>) -> Expr<'_> {
    let (p, t) = turns(x.abs());
    let (round, half) = (p.bits(format(p).round), p.constant(0.5));
    let count = (p - half) + round;
    let g = (half - (p - (count - round))) - t;
    sin_pi(g, count)
}

/// `sin(π g) / g` in g², |g| ≤ 1/4, relative error 2^-28.
const SIN_QUARTER: [u64; 4] =
    [0x4009_21fb_52e2_1dfb, 0xc014_abbb_8ca2_e9f9, 0x4004_65e7_c057_8511, 0xbfe2_d8eb_335e_e442];

/// `cos(π g)` in g², |g| ≤ 1/4, relative error 2^-34.
const COS_QUARTER: [u64; 5] = [
    0x3fef_ffff_fff8_2aa4,
    0xc013_bd3c_c6de_0e10,
    0x4010_3c1d_a74e_a38b,
    0xbff5_5c4d_0684_3f0b,
    0x3fcd_9984_45dd_6686,
];

/// Numerator and denominator of `tan |x|`.
fn tangent(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let float = x.dtype();
    let (quadrant, sine, cosine) = if float == DType::F32 {
        let (p, t) = turns(x.abs());
        let round = p.bits(format(p).round);
        // Whole turns do not count; p alone is too coarse for quarters.
        let half_turn = (p - p.round()) + t;
        let count = half_turn.fma(p.constant(2.0), round);
        let g = (count - round).fma(p.constant(-0.5), half_turn);
        let square = g * g;
        let (sine, cosine) = (horner(square, &SIN_QUARTER) * g, horner(square, &COS_QUARTER));
        (count.bits_any_nan(), sine, cosine)
    } else {
        let (quadrant, r, rest) = reduce(x.abs());
        let (sine, cosine) = kernel(r, rest);
        (quadrant, sine, cosine)
    };
    let odd = is_odd(quadrant);
    (odd.select(-cosine, sine).cast(float), odd.select(sine, cosine).cast(float))
}

// ---- half turns ----

/// π in two parts, then `(sin(π r) / r − π) / r²` and `(cos(π r) − 1) / r²` in r², |r| ≤ 1/4.
struct HalfTurns {
    pi: [u64; 2],
    sine: &'static [u64],
    cosine: &'static [u64],
}

const HALF_TURNS_SINGLE: HalfTurns = HalfTurns {
    pi: [0x4049_0fdb, 0xb3bb_bd2e],
    sine: &[0xc0a5_5de7, 0x4023_35bc, 0xbf19_56e6, 0x3da2_28a5],
    cosine: &[0xc09d_e9e6, 0x4081_e0d7, 0xbfaa_d8a3, 0x3e6a_3eb7],
};

const HALF_TURNS_DOUBLE: HalfTurns = HalfTurns {
    pi: [0x4009_21fb_5444_2d18, 0x3ca1_a626_3314_5c07],
    sine: &[
        0xc014_abbc_e625_be53,
        0x4004_66bc_6775_ab7e,
        0xbfe3_2d2c_ce63_b514,
        0x3fb5_0783_49e4_d569,
        0xbf7e_3077_0039_0ede,
        0x3f3e_909d_f032_0a5d,
        0xbef7_4287_d46e_6bbd,
    ],
    cosine: &[
        0xc013_bd3c_c9be_45de,
        0x4010_3c1f_081b_5a4f,
        0xbff5_5d3c_7e3b_f5c5,
        0x3fce_1f50_674a_03fc,
        0xbf9a_6d1e_1407_f562,
        0x3f5f_9c3d_c158_7c3c,
        0xbf1a_ff17_d932_a841,
    ],
};

/// x half turns as quarter turns (the low two bits count), and the sine and cosine of what is left.
fn of_half_turns(x: Expr<'_>) -> (Expr<'_>, Expr<'_>, Expr<'_>) {
    let constants = pick(x, &HALF_TURNS_SINGLE, &HALF_TURNS_DOUBLE);
    let round = x.bits(format(x).round);
    // Without whole turns; ∞ becomes NaN.
    let x = (x * x.constant(0.5)).round().fma(x.constant(-2.0), x);
    let count = x.fma(x.constant(2.0), round);
    let r = (count - round).fma(x.constant(-0.5), x);
    let square = r * r;
    let [pi, pi_low] = constants.pi.map(|bits| x.bits(bits));
    let sine = r.fma(pi, r * square.fma(horner(square, constants.sine), pi_low));
    let cosine = square.fma(horner(square, constants.cosine), x.constant(1.0));
    (count.bits_any_nan(), sine, cosine)
}

// ---- f64 ----

/// `(sin r − r) / r³` in r², |r| ≤ π/4.
const SIN: [u64; 6] = [
    0xbfc5_5555_5555_5548,
    0x3f81_1111_1110_f730,
    0xbf2a_01a0_19be_9218,
    0x3ec7_1de3_5552_b47e,
    0xbe5a_e5e4_b83b_aeaa,
    0x3de5_d8b5_57e8_1015,
];

/// `(cos r − 1 + r²/2) / r⁴` in r², |r| ≤ π/4.
const COS: [u64; 6] = [
    0x3fa5_5555_5555_554b,
    0xbf56_c16c_16c1_5014,
    0x3efa_01a0_19c8_ef72,
    0xbe92_7e4f_7f16_31b8,
    0x3e21_ee9d_ba82_22fb,
    0xbda8_fa66_d0e7_2560,
];

/// (sin, cos) of `r + rest`, |r| ≤ π/4; arranged as in fdlibm (`k_sin.c`, `k_cos.c`).
fn kernel<'r>(r: Expr<'r>, rest: Expr<'r>) -> (Expr<'r>, Expr<'r>) {
    let one = r.constant(1.0);
    let square = r * r;
    let half = square * r.constant(0.5);
    let most = one - half;
    // d sin = cos · rest, and 1 − r²/2 is cosine enough.
    let sine = r + rest.fma(most, (square * r) * horner(square, &SIN));
    // What 1 − r²/2 lost in rounding, and d cos = −sin · rest.
    let lost = ((one - most) - half) - r * rest;
    let cosine = most + (square * square).fma(horner(square, &COS), lost);
    (sine, cosine)
}

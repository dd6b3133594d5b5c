//! The inverses of the error function and of the normal distribution.

use super::super::expr::Expr;
use super::super::math;
use super::error::scaled;
use super::{horner, is_single, negate_if};

/// `erfinv x / x` in w − 2, w = −log(1 − x²) < 5. These four are good to 2^-26; the use of w and √w
/// is that of M. Giles, Approximating the erfinv function, GPU Computing Gems (2011).
const ERFINV_NEAR: &[f64] = &[
    1.377215206,
    0.2497680917,
    -0.001968092705,
    -0.001692214821,
    0.0002158644447,
    7.64030892e-6,
    -4.839373829e-6,
    2.941204912e-7,
    6.279314022e-8,
    -8.791168895e-9,
];

/// The same in √w − 3, √w < 4.1.
const ERFINV_TAIL: &[f64] = &[
    2.832976803,
    1.001674947,
    0.009445193294,
    -0.007636954618,
    0.005687805451,
    -0.003598991563,
    0.001482858422,
    -5.375852108e-5,
    -0.0003077497446,
    0.0001136385941,
];

/// The same in √w − 7, √w < 10.3: all that f32 has.
const ERFINV_FAR: &[f64] = &[
    6.869019704,
    1.008595576,
    -0.0005129227438,
    6.345652634e-6,
    6.272640975e-6,
    -1.648575383e-6,
    2.533708806e-7,
    -4.684949495e-8,
    1.526549982e-8,
    -2.14235974e-9,
];

/// The same in √w − 19, √w < 27.5.
const ERFINV_FARTHER: &[f64] = &[
    18.92561428,
    1.002534824,
    -9.722270485e-5,
    3.848321371e-6,
    -1.516954953e-7,
    5.996023724e-9,
    -2.481003454e-10,
    6.801010344e-12,
    5.411324934e-14,
];

/// `erfinv x / x` in x², |x| ≤ 5/8, for f64.
const ERFINV_CENTRE: &[u64] = &[
    0x3fec_5bf8_91b4_ef6b,
    0x3fcd_b29f_b2fe_e5e5,
    0x3fc0_53c2_c0ab_8ffd,
    0x3fb6_2847_c47f_ae20,
    0x3fb0_a131_8948_0744,
    0x3faa_7c85_f29f_976b,
    0x3fa5_eead_3500_ce4c,
    0x3fa2_ac05_0a12_41ca,
    0x3fa0_3461_d916_48ba,
    0x3f9d_166d_55d5_e3f5,
    0x3f96_0a63_d484_8656,
    0x3fa6_ea89_18b2_2e56,
    0xbfb6_7b26_b5c0_1967,
    0x3fdb_7211_9fd3_a374,
    0xbff2_b8e2_2d83_55ca,
    0x4004_e103_6cc8_6e61,
    0xc010_85c1_2ae9_5a56,
    0x4012_7791_0b35_7c5a,
    0xc009_8612_b689_2a0b,
    0x3ff1_7aaa_9a9e_f4bf,
];

/// The number whose `erf` is x.
///
/// erfinv(±0) = ±0, erfinv(±1) = ±∞, NaN outside.
pub(in super::super) fn erfinv(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    let y = inverse(size, x.constant(1) - size);
    // Zeros keep their sign; a NaN does not fit either way.
    x.eq(x.constant(0)).select(x, negate_if(x.lt(x.constant(0)), y))
}

/// The number whose `erfc` is x: relative accuracy down to the smallest x.
///
/// erfcinv(0) = ∞, erfcinv(2) = −∞, NaN outside.
pub(in super::super) fn erfcinv(x: Expr<'_>) -> Expr<'_> {
    negate_if(x.gt(x.constant(1)), folded(x))
}

/// The number where the normal distribution is p: `−√2 erfcinv(2p)`.
///
/// ±∞ at 0 and 1, NaN outside.
pub(in super::super) fn norm_ppf(p: Expr<'_>) -> Expr<'_> {
    let twice = p + p;
    negate_if(twice.lt(p.constant(1)), folded(twice) * p.constant(std::f64::consts::SQRT_2))
}

/// `|erfcinv x|`.
fn folded(x: Expr<'_>) -> Expr<'_> {
    let rest = x.min(x.constant(2) - x);
    inverse(x.constant(1) - rest, rest)
}

/// `erfinv x ≥ 0` for x in [0, 1] and rest = 1 − x, of which the one below 1/2 is exact.
fn inverse<'r>(x: Expr<'r>, rest: Expr<'r>) -> Expr<'r> {
    let product = rest * (x.constant(2) - rest);
    let w = -math::log(product);
    let y = ratio(w) * x;
    let y = if is_single(x) { y } else { refined(x, rest, w, y) };
    rest.eq(x.constant(0)).select(x.constant(f64::INFINITY), y)
}

/// `erfinv x / x` of w to about 2^-26.
fn ratio(w: Expr<'_>) -> Expr<'_> {
    let root = w.sqrt();
    let tail = about(root, 3.0, ERFINV_TAIL);
    let far = about(root, 7.0, ERFINV_FAR);
    let far = if is_single(w) {
        far
    } else {
        root.gt(w.constant(10.3)).select(about(root, 19.0, ERFINV_FARTHER), far)
    };
    let beyond = root.gt(w.constant(4.1)).select(far, tail);
    w.lt(w.constant(5)).select(about(w, 2.0, ERFINV_NEAR), beyond)
}

/// A polynomial in x − centre.
fn about<'r>(x: Expr<'r>, centre: f64, polynomial: &[f64]) -> Expr<'r> {
    horner(x - x.constant(centre), polynomial, Expr::constant)
}

/// The f64 result from one of 26 bits: a polynomial below 5/8, beyond it a step of Halley's method
/// for `log erfc y = log(1 − x)`, in which nothing underflows.
fn refined<'r>(x: Expr<'r>, rest: Expr<'r>, w: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let centre = x * horner(x * x, ERFINV_CENTRE, Expr::bits);
    let erfcx = scaled(y);
    // −log(1 − x) = w + log(2 − rest).
    let off = math::log(erfcx * (x.constant(2) - rest)) + (-y).fma(y, w);
    let newton = off * erfcx * x.constant(0.886_226_925_452_758);
    let curved = newton.fma(y, off * x.constant(-0.5));
    let halley = y + newton.fma(curved, newton);
    x.lt(x.constant(0.625)).select(centre, halley)
}

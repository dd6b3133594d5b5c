//! The error function, its complement and the normal distribution.

use super::super::expr::Expr;
use super::super::math;
use super::{Fit, is_single};

/// `erf x / x` in x², |x| ≤ 1.
pub(super) const ERF_NEAR: Fit = Fit {
    single: &[
        0x3f90_6eba,
        0xbec0_939f,
        0x3de7_167c,
        0xbcdb_fc85,
        0x3baa_02ce,
        0xba51_fb30,
        0x38a4_b437,
    ],
    double: &[
        0x3ff2_0dd7_5042_9b6d,
        0xbfd8_1274_6b03_79e6,
        0x3fbc_e2f2_1a04_2b20,
        0xbf9b_82ce_3128_499c,
        0x3f75_65bc_d0db_02d6,
        0xbf4c_02db_3d8e_cf19,
        0x3f1f_9a32_1a11_6c0d,
        0xbeef_4d1d_f38a_c8cf,
        0x3ebb_9def_194d_cf38,
        0xbe85_f1d3_66b7_1022,
        0x3e4f_7a40_e1a6_9b96,
        0xbe13_86ab_2c80_157d,
        0x3dd0_5798_0fee_86e2,
    ],
};

/// `(3 + x) e^(x²) erfc x` in `(x − 3) / (x + 3)`, x ≥ 0.47; the variable is that of
/// Shepherd & Laframboise, Math. Comp. 36 (1981).
const ERFC_FAR: Fit = Fit {
    single: &[
        0x3f89_790f,
        0xbf62_2624,
        0x3f17_192e,
        0xbe9e_f575,
        0x3df4_cde3,
        0xbcdb_d3f0,
        0xbaa3_4f5a,
        0x3b48_4a09,
        0xb9ed_f633,
        0xb997_5658,
    ],
    double: &[
        0x3ff1_2f21_ddd9_f5e2,
        0xbfec_44c4_71ba_a377,
        0x3fe2_e326_945d_e24d,
        0xbfd3_deb2_1415_dba0,
        0x3fbe_995f_11b1_f1e1,
        0xbf9b_7899_3d6d_fa3f,
        0xbf53_dd3e_7346_b5ff,
        0x3f68_dae3_a41f_c4a2,
        0xbf41_f78d_e86b_d9ed,
        0xbf32_2390_699b_5a6d,
        0x3f1c_324b_7976_57a2,
        0x3eff_e02e_08cd_5f8a,
        0xbef2_513d_6749_d130,
        0xbed3_ef03_1459_4fed,
        0x3ec7_2ae3_de7a_29c1,
        0x3eb0_e404_2b78_e0bc,
        0xbe9b_2598_2a39_fe04,
        0xbe90_6b34_e0ee_eee5,
        0x3e68_f723_7054_f686,
        0x3e6f_948f_6680_fa25,
        0xbe34_c4d2_1677_8199,
        0xbe45_ac2f_f4f0_2e20,
        0x3e1a_17e0_7949_4f3e,
    ],
};

/// `erf x`, as `x p(x²)` for |x| < 1 and as `1 − erfc |x|` beyond.
///
/// erf(±0) = ±0, erf(±∞) = ±1, erf(NaN) = NaN.
pub(in super::super) fn erf(x: Expr<'_>) -> Expr<'_> {
    let (size, zero, one) = (x.abs(), x.constant(0), x.constant(1));
    let near = x * ERF_NEAR.at(x * x);
    let most = size.minimum(size.constant(10));
    let far = one - math::exp(-(most * most)) * scaled(most);
    let far = x.lt(zero).select(-far, far);
    size.lt(one).select(near, far)
}

/// `erfc x`: relative accuracy down to subnormal results.
///
/// erfc(±0) = 1, erfc(∞) = +0, erfc(−∞) = 2, erfc(NaN) = NaN.
pub(in super::super) fn erfc(x: Expr<'_>) -> Expr<'_> {
    complement(x, x.constant(0), 2.0)
}

/// The normal distribution `erfc(−x / √2) / 2`.
///
/// The quotient keeps what it loses in rounding, which erfc would enlarge by x².
/// 0 at −∞, 1 at ∞, NaN stays.
pub(in super::super) fn norm_cdf(x: Expr<'_>) -> Expr<'_> {
    let (scaled, rest) = over_root_two(within_cdf(x));
    complement(scaled, rest, 1.0)
}

/// `x norm_cdf(x)`: below zero the tail times x, which is scaled before it is as small as it gets; above zero what that
/// lacks to x.
///
/// gelu_erf(±0) = ±0, gelu_erf(∞) = ∞, gelu_erf(−∞) = −0, NaN stays.
pub(in super::super) fn gelu_erf(x: Expr<'_>) -> Expr<'_> {
    let (zero, half) = (x.constant(0), x.constant(0.5));
    let most = within_cdf(x);
    let (scaled, rest) = over_root_two(most);
    let near = most * (scaled * -half).fma(ERF_NEAR.at(scaled * scaled), half);
    let (size, positive) = (scaled.abs(), x.gt(zero));
    let far = tail(size, positive.select(-rest, rest), most.abs() * half);
    let far = positive.select(x, x.constant(-0.0)) - far;
    size.lt(x.constant(0.47)).select(near, far)
}

/// x where the normal distribution is neither 0 nor 1; NaN stays.
fn within_cdf(x: Expr<'_>) -> Expr<'_> {
    let most = x.constant(40);
    x.minimum(most).maximum(-most)
}

/// `−x / √2`, and what that loses in rounding.
fn over_root_two(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let [high, low] = if is_single(x) {
        [x.bits(0xbf35_04f3), x.bits(0xb24f_e77a)]
    } else {
        [x.bits(0xbfe6_a09e_667f_3bcd), x.bits(0x3c8b_dd34_13b2_6456)]
    };
    let scaled = x * high;
    (scaled, x.fma(low, x.fma(high, -scaled)))
}

/// `most/2 · erfc(x + rest)`, |rest| no larger than an ulp of x.
fn complement<'r>(x: Expr<'r>, rest: Expr<'r>, most: f64) -> Expr<'r> {
    let (size, zero, half) = (x.abs(), x.constant(0), x.constant(most / 2.0));
    let near = (x * -half).fma(ERF_NEAR.at(x * x), half);
    let negative = x.lt(zero);
    let far = tail(size, negative.select(-rest, rest), half);
    let far = negative.select(x.constant(most) - far, far);
    size.lt(x.constant(0.47)).select(near, far)
}

/// `factor · erfc(x + rest)`, x ≥ 0.47; NaN stays. The factor is a power of two, or its rounding counts too.
///
/// `e^(−x²) · f(x)` with `f(x) = e^(x²) erfc x`: what each step loses in rounding is added up in `low`, so that
/// only the exponential, the polynomial and the last step count.
fn tail<'r>(x: Expr<'r>, rest: Expr<'r>, factor: Expr<'r>) -> Expr<'r> {
    // From `most` on the result is 0. Beyond `shift`, e^(−x²) is taken apart, so that subnormal results
    // round once; e^(−shift) is very near a number of the type.
    let (most, shift) = if is_single(x) { (10.5, 50.75_f64) } else { (27.5, 359.375) };
    let x = x.minimum(x.constant(most));
    let (one, three) = (x.constant(1), x.constant(3));
    let square = x * x;
    let lost = (x + x).fma(rest, x.fma(x, -square));
    let shifted = square.gt(x.constant(shift));
    let power = math::exp(shifted.select(x.constant(shift) - square, -square)) * factor;

    let divisor = x + three;
    let inverse = one / divisor;
    let (polynomial, rounded) = ERFC_FAR.at_exactly(inverse.fma(x.constant(-6), one));
    let f = polynomial * inverse;
    // The inverse is that of another x, a little beyond; f' = 2x f − 2/√π leads back.
    let added = divisor - x;
    let cut = (x - (divisor - added)) + (three - added);
    let beyond = (divisor * inverse.fma(-divisor, one)) - cut;
    let slope = (x + x).fma(-f, x.constant(std::f64::consts::FRAC_2_SQRT_PI));
    let f_low = rounded.fma(inverse, polynomial.fma(inverse, -f));
    let f_low = slope.fma(beyond - rest, f_low);

    let y = power * f;
    let low = power.fma(f_low, y.fma(-lost, power.fma(f, -y)));
    let scale = shifted.select(x.constant((-shift).exp()), one);
    y.fma(scale, low * scale)
}

/// `e^(x²) erfc x`, x ≥ 0.47.
pub(super) fn scaled(x: Expr<'_>) -> Expr<'_> {
    let three = x.constant(3);
    let inverse = x.constant(1) / (x + three);
    ERFC_FAR.at((x - three) * inverse) * inverse
}

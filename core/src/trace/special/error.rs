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
        0x3f17_1932,
        0xbe9e_f57e,
        0x3df4_cca2,
        0xbcdb_d1cc,
        0xbaa2_1f8c,
        0x3b48_5ae6,
        0xb9f4_3284,
        0xb99a_a512,
    ],
    double: &[
        0x3ff1_2f21_ddd9_f5e2,
        0xbfec_44c4_71ba_a376,
        0x3fe2_e326_945d_e2bb,
        0xbfd3_deb2_1415_dc65,
        0x3fbe_995f_11b1_66cd,
        0xbf9b_7899_3d6b_e0ea,
        0xbf53_dd3e_70c5_2220,
        0x3f68_dae3_a2d6_f25a,
        0xbf41_f78e_1b00_c8c9,
        0xbf32_238f_fc29_497d,
        0x3f1c_3254_ffcc_28ea,
        0x3eff_e002_87a1_06eb,
        0xbef2_51cb_dacc_edf1,
        0xbed3_ec50_a782_aa21,
        0x3ec7_3537_3959_0319,
        0x3eb0_c916_7859_175b,
        0xbe9b_96b8_f18c_398e,
        0xbe8f_8dac_5e57_70c0,
        0x3e6b_6400_42c0_6758,
        0x3e6b_3438_9a58_b9a0,
        0xbe37_3389_07f1_af7b,
        0xbe3e_9662_a1f5_9c58,
        0x3e0d_b6e7_250a_d30e,
    ],
};

/// `erf x`, as `x p(x²)` for |x| < 1 and as `1 − erfc |x|` beyond.
///
/// erf(±0) = ±0, erf(±∞) = ±1, erf(NaN) = NaN.
pub(in super::super) fn erf(x: Expr<'_>) -> Expr<'_> {
    let (size, zero, one) = (x.abs(), x.constant(0), x.constant(1));
    let near = x * ERF_NEAR.at(x * x);
    let far = one - tail(size, zero, one);
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
    let most = x.constant(40);
    let x = x.minimum(most).maximum(-most);
    let [high, low] = if is_single(x) {
        [x.bits(0xbf35_04f3), x.bits(0xb24f_e77a)]
    } else {
        [x.bits(0xbfe6_a09e_667f_3bcd), x.bits(0x3c8b_dd34_13b2_6456)]
    };
    let scaled = x * high;
    complement(scaled, x.fma(low, x.fma(high, -scaled)), 1.0)
}

/// `most/2 · erfc(x + rest)`, |rest| no larger than an ulp of x.
fn complement<'r>(x: Expr<'r>, rest: Expr<'r>, most: f64) -> Expr<'r> {
    let (size, zero, half) = (x.abs(), x.constant(0), x.constant(most / 2.0));
    let near = (x * -half).fma(ERF_NEAR.at(x * x), half);
    let negative = x.lt(zero);
    let far = tail(size, negative.select(-rest, rest), half);
    let far = negative.select(x.constant(most) - far, far);
    size.lt(x.constant(0.75)).select(near, far)
}

/// `factor · erfc(x + rest)`, x ≥ 0.47; NaN stays.
fn tail<'r>(x: Expr<'r>, rest: Expr<'r>, factor: Expr<'r>) -> Expr<'r> {
    // From `most` on the result is 0. Beyond `shift`, e^(−x²) is taken apart, so that subnormal results
    // round once; e^(−shift) is very near a number of the type.
    let (most, shift) = if is_single(x) { (10.5, 50.75_f64) } else { (27.5, 359.375) };
    let x = x.minimum(x.constant(most));
    let square = x * x;
    let lost = (x + x).fma(rest, x.fma(x, -square));
    let shifted = square.gt(x.constant(shift));
    let y = math::exp(shifted.select(x.constant(shift) - square, -square));
    let y = y * (scaled(x) * factor);
    let y = y.fma(-lost, y);
    shifted.select(y * x.constant((-shift).exp()), y)
}

/// `e^(x²) erfc x`, x ≥ 0.47.
pub(super) fn scaled(x: Expr<'_>) -> Expr<'_> {
    let three = x.constant(3);
    let inverse = x.constant(1) / (x + three);
    ERFC_FAR.at((x - three) * inverse) * inverse
}

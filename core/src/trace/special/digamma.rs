//! The digamma function, and its derivative.

use std::f64::consts::FRAC_1_PI;

use super::super::expr::Expr;
use super::super::math;
use super::{Fit, is_single};

/// `ψ(x) / (x − z)` in x − 7/4, 5/4 ≤ x ≤ 9/4, z its zero there.
const PSI_NEAR: Fit = Fit {
    single: &[
        0x3f5b_b1e5,
        0xbea7_0aca,
        0x3e20_e3f4,
        0xbda8_913a,
        0x3d37_938f,
        0xbcc9_4770,
        0x3c61_89fb,
        0xbc1c_6c33,
        0x3bb4_3b1c,
    ],
    double: &[
        0x3feb_763c_a671_12a0,
        0xbfd4_e15b_1737_2db2,
        0x3fc4_1c83_0a32_0899,
        0xbfb5_10ab_0e54_910d,
        0x3fa6_effa_f57a_df68,
        0xbf99_7cc6_e0fd_d445,
        0x3f8c_a494_74ef_c1d1,
        0xbf80_335d_284d_c541,
        0x3f72_6601_7f57_2c2d,
        0xbf64_f1c1_a27b_a7a4,
        0x3f57_e0cd_7eb3_0461,
        0xbf4b_3f4f_4710_67e1,
        0x3f3f_1728_1786_acb1,
        0xbf31_c0bb_2da0_c0e2,
        0x3f24_7e8c_4bbe_69b6,
        0xbf17_72a9_134f_1510,
        0x3f07_e4a7_69be_25e9,
        0xbefb_0d13_8550_dac2,
        0x3efa_5fbd_4a09_3aeb,
        0xbeee_90de_2c8d_2fa5,
    ],
};

/// `x² (log x − 1/(2x) − ψ(x))` in 1/x², x ≥ 9/4; the series of DLMF 5.11.2 as a fit.
const PSI_FAR: Fit = Fit {
    single: &[0x3daa_aaaa, 0xbc08_853d, 0x3b80_dfd5, 0xbb6a_9322, 0x3b40_6d6c],
    double: &[
        0x3fb5_5555_5555_5555,
        0xbf81_1111_1110_f192,
        0x3f70_4104_0fbd_c18d,
        0xbf71_1110_a430_6144,
        0x3f7f_0791_e7a6_96c8,
        0xbf95_9615_0e08_6bf1,
        0x3fb5_2edc_98ba_c65d,
        0xbfdb_1773_c2de_0412,
        0x4004_4c01_296d_cf9b,
        0xc02f_60d4_8892_5180,
        0x4056_53f4_4453_7487,
        0xc07a_ddd3_dd53_556f,
        0x4099_a434_6bbc_8f01,
        0xc0b2_4eaf_847d_38a2,
        0x40c2_31a2_0c04_2306,
        0xc0c6_517d_4317_a964,
        0x40b9_5b0f_1e10_64d2,
    ],
};

/// `πr cot(πr) (1 − r²) / (1 − 4r²)` in r², |r| ≤ 1/2: without the nearest poles and zeros.
const COTANGENT: Fit = Fit {
    single: &[0x3f80_0001, 0xbe94_6a96, 0xbd0b_b0e9, 0xbc02_3013],
    double: &[
        0x3fef_ffff_ffff_ffff,
        0xbfd2_8d33_1298_3bbe,
        0xbfa1_8954_7045_55e4,
        0xbf7c_d941_ed0b_72dc,
        0xbf5a_e355_134e_86b2,
        0xbf3a_2371_8e55_efc7,
        0xbf19_e733_0f67_30b4,
        0xbef8_a281_d496_ba0c,
        0xbee1_1e57_e15f_07e1,
    ],
};

/// The positive zero as a sum of two.
const ZERO_SINGLE: [u64; 2] = [0x3fbb_16c3, 0x3255_af90];
const ZERO_DOUBLE: [u64; 2] = [0x3ff7_62d8_6356_be3f, 0x3c9b_86a7_2219_7829];

/// `ψ(x)`, the derivative of `log Γ(x)`.
///
/// Below 1/2 `ψ(1 − x) − π cot(πx)`, whose terms cancel near zeros; below 5/4 `ψ(x + 1) − 1/x`. Near the positive zero
/// relative accuracy stays. Formulas: DLMF 5.5.2, 5.5.4.
/// digamma(±0) = ∓∞, digamma(∞) = ∞, digamma(−n) = digamma(−∞) = NaN.
pub(in super::super) fn digamma(x: Expr<'_>) -> Expr<'_> {
    let one = x.constant(1);
    let reflected = x.lt(x.constant(0.5));
    let y = reflected.select(one - x, x);
    let inverse = one / y;

    let low = y.lt(x.constant(1.25));
    let near = low.select(y + one, y);
    let [high, rest] =
        (if is_single(x) { ZERO_SINGLE } else { ZERO_DOUBLE }).map(|part| x.bits(part));
    // What 1 − x and y + 1 lose would be enlarged where ψ is small.
    let zero = x.constant(0);
    let lost = reflected.select((one - y) - x, zero) + low.select(y - (near - one), zero);
    let distance = (near - high) + (lost - rest);
    let near = distance * PSI_NEAR.at(near - x.constant(1.75));
    let near = low.select(near - inverse, near);

    let square = inverse * inverse;
    let correction = square.fma(PSI_FAR.at(square), inverse * x.constant(0.5));
    let far = math::log(y) - correction;
    let psi = y.ge(x.constant(2.25)).select(far, near);
    reflected.select(psi - cotangent(x), psi)
}

/// `π cot(πx)`; NaN at integers but 0.
fn cotangent(x: Expr<'_>) -> Expr<'_> {
    let (zero, one) = (x.constant(0), x.constant(1));
    // The difference of −0 has another sign.
    let r = x.eq(zero).select(x, x - x.round());
    let twice = r + r;
    let fit = COTANGENT.at(r * r);
    let value = (one - twice) * (one + twice) * fit / (r * ((one - r) * (one + r)));
    let pole = r.eq(zero) & x.neq(zero);
    pole.select(x.constant(f64::NAN), value)
}

/// Bernoulli numbers `B_2k`, of the series of the derivatives below.
const BERNOULLI: [f64; 8] =
    [1. / 6., -1. / 30., 1. / 42., -1. / 30., 5. / 66., -691. / 2730., 7. / 6., -3617. / 510.];

/// `ψ′(x)`, by recurrence to where the series of DLMF 5.15.8 holds, below 1/2 by reflection (5.15.6).
///
/// trigamma(±0) = ∞, trigamma(∞) = 0, trigamma(−n) = ∞, trigamma(−∞) = NaN.
pub(in super::super) fn trigamma(x: Expr<'_>) -> Expr<'_> {
    let one = x.constant(1);
    let reflected = x.lt(x.constant(0.5));
    let (z, sum) = far_from(reflected.select(one - x, x), |z| one / (z * z));
    let (inverse, square) = (one / z, one / (z * z));
    let series = super::horner(square, &BERNOULLI, Expr::constant);
    let there = sum + (inverse + square * x.constant(0.5) + series * square * inverse);
    let sine = math::sinpi(reflected.select(x, x.constant(0.5))) * x.constant(FRAC_1_PI);
    reflected.select(one / (sine * sine) - there, there)
}

/// `ψ″(x)`, likewise; its functions are calls, which have derivatives.
pub(in super::super) fn trigamma_slope(x: Expr<'_>) -> Expr<'_> {
    let (one, two) = (x.constant(1), x.constant(2));
    let reflected = x.lt(x.constant(0.5));
    let (z, sum) = far_from(reflected.select(one - x, x), |z| two / (z * z * z));
    let (inverse, square) = (one / z, one / (z * z));
    let factors: Vec<f64> =
        BERNOULLI.iter().zip([3, 5, 7, 9, 11, 13, 15, 17]).map(|(b, n)| b * f64::from(n)).collect();
    let series = super::horner(square, &factors, Expr::constant);
    let there = sum + (square + square * inverse + series * square * square);
    let angle = reflected.select(x, x.constant(0.5));
    let sine = angle.call("sinpi", &[]) * x.constant(FRAC_1_PI);
    let mirrored = two * angle.call("cospi", &[]) / (sine * sine * sine);
    reflected.select(-(mirrored + there), -there)
}

/// A number ten further than one from 1/2 up, where the series hold, and the sum of what `term` is of those on the way. What
/// is far stays: beside large numbers 1 would be lost.
fn far_from<'r>(x: Expr<'r>, term: impl Fn(Expr<'r>) -> Expr<'r>) -> (Expr<'r>, Expr<'r>) {
    let is_far = x.ge(x.constant(16));
    let (mut z, mut sum) = (x, x.constant(0));
    for _ in 0..10 {
        sum = sum + term(z);
        z = z + x.constant(1);
    }
    (is_far.select(x, z), is_far.select(x.constant(0), sum))
}

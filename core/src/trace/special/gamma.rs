//! The gamma function and its logarithm.

use super::super::expr::Expr;
use super::super::math;
use super::{Fit, horner, negate_if};
use crate::dtype::DType;

/// `log Γ(2 + d) / d`, |d| ≤ 1/2.
pub(super) const LGAMMA_NEAR: Fit = Fit {
    single: &[
        0x3ed8_7730,
        0x3ea5_1a66,
        0xbd89_effe,
        0x3ca8_98ee,
        0xbbf2_0797,
        0x3b3d_833a,
        0xba9b_7229,
        0x3a03_782a,
        0xb984_f861,
        0x3900_4f3c,
    ],
    double: &[
        0x3fdb_0ee6_0720_93ce,
        0x3fd4_a34c_c4a6_0fa7,
        0xbfb1_3e00_1a55_7616,
        0x3f95_1322_ac7d_8009,
        0xbf7e_404f_c218_88bf,
        0x3f67_add6_eae5_5859,
        0xbf53_8ac5_c309_bc6d,
        0x3f40_b36a_f368_30f8,
        0xbf2d_3fd4_9440_b27c,
        0x3f1a_127d_c26e_6647,
        0xbf07_8def_d970_1c94,
        0x3ef5_806f_53d2_04e4,
        0xbee3_ca94_188b_f2a0,
        0x3ed2_63ea_58fa_9306,
        0xbec1_31cd_f7cf_1267,
        0x3eae_e17a_7269_8bee,
        0xbe9c_3070_e189_e843,
        0x3e92_b06e_da67_f17a,
        0xbe83_3b4e_9d88_8f0b,
    ],
};

/// `x (log Γ x − Stirling's formula)` in 1/x², x ≥ 5/2.
pub(super) const STIRLING: Fit = Fit {
    single: &[0x3daa_aaab, 0xbb36_0b4c, 0x3a4f_f321, 0xba19_098f, 0x3a31_a68c, 0xba25_f1f3],
    double: &[
        0x3fb5_5555_5555_5555,
        0xbf66_c16c_16c1_5e56,
        0x3f4a_01a0_1994_da61,
        0xbf43_8137_be24_2008,
        0x3f4b_94fa_b9d7_7005,
        0xbf5f_662f_f525_70ac,
        0x3f7a_109e_a638_3813,
        0xbf9c_c61e_6716_962c,
        0x3fc2_a96c_ee08_4269,
        0xbfe8_82fc_0bce_fda7,
        0x400c_7557_b45e_7df6,
        0xc02a_2c9c_b0e2_ebe9,
        0x4041_39d1_b1d1_777a,
        0xc04c_5330_b75e_b768,
        0x4045_a672_1408_b35e,
    ],
};

/// `sin(πr) / (πr)` in r², |r| ≤ 1/2.
const SINC: Fit = Fit {
    single: &[0x3f80_0000, 0xbfd2_8d2b, 0x3f4f_cc62, 0xbe42_ff26, 0x3cca_3f2e],
    double: &[
        0x3ff0_0000_0000_0000,
        0xbffa_51a6_6253_07d2,
        0x3fe9_f9cb_402b_c3d9,
        0xbfc8_6a8e_4720_7f67,
        0x3f9a_c680_5cb9_9702,
        0xbf63_3816_95d8_6ae3,
        0x3f23_7469_19d9_8417,
        0xbedd_3e20_e26d_7499,
        0x3e90_6fe0_c503_022a,
    ],
};

/// `(2 artanh s − 2s) / s³` in s², |s| ≤ 1/5.
pub(super) const ATANH: &[u64] = &[
    0x3fe5_5555_5555_5555,
    0x3fd9_9999_9999_9989,
    0x3fd2_4924_9249_5036,
    0x3fcc_71c7_1c1a_c016,
    0x3fc7_45d1_9fc7_13e7,
    0x3fc3_b12e_ef43_f2b7,
    0x3fc1_130e_18b0_76aa,
    0x3fbd_bd93_e8f8_0858,
    0x3fbf_ce17_c076_c517,
];

/// log √(2π) − 1/2.
const OFFSET: f64 = 0.418_938_533_204_672_7;

/// An argument folded to x ≥ −1/2 and what belongs to it.
struct Folded<'r> {
    /// Whether the argument was below −1/2; x is its negative then.
    reflected: Expr<'r>,
    x: Expr<'r>,
    /// Whether x ≥ 5/2.
    large: Expr<'r>,
    /// `log Γ(2 + d)`, for x < 5/2: d is x, x − 1 or x − 2.
    near: Expr<'r>,
    /// `Γ(2 + d) / Γ(x)`: 1 from 3/2 on.
    shift: Expr<'r>,
}

impl<'r> Folded<'r> {
    fn new(x: Expr<'r>) -> Self {
        let [one, two] = [1, 2].map(|number| x.constant(number));
        let reflected = x.lt(x.constant(-0.5));
        let x = negate_if(reflected, x);
        let (first, second) = (x.lt(x.constant(0.5)), x.lt(x.constant(1.5)));
        let d = first.select(x, second.select(x - one, x - two));
        let near = d * LGAMMA_NEAR.at(d);
        let shift = first.select(x * (x + one), second.select(x, one));
        Self { reflected, x, large: x.ge(x.constant(2.5)), near, shift }
    }

    /// `x sin(πx) / π` without its sign, by way of the distance from the nearest integer; that distance.
    fn sine(&self) -> (Expr<'r>, Expr<'r>) {
        let r = self.x - self.x.round();
        ((self.x * r * SINC.at(r * r)).abs(), r)
    }
}

/// `log |Γ(x)|`.
///
/// Near 1 and 2 relative accuracy stays. Below −1/2 `log(π / |x sin πx|) − log Γ(−x)`, whose terms
/// cancel near zeros. lgamma(1) = lgamma(2) = +0, lgamma(±0) = lgamma(−n) = lgamma(±∞) = ∞.
pub(in super::super) fn lgamma(x: Expr<'_>) -> Expr<'_> {
    let folded = Folded::new(x);
    let a = folded.x;
    let log = math::log(folded.large.select(a, folded.shift.abs()));
    let near = folded.near - log;
    let inverse = a.constant(1) / a;
    let rest = inverse.fma(STIRLING.at(inverse * inverse), a.constant(OFFSET));
    let far = (a - a.constant(0.5)).fma(log - a.constant(1), rest);
    let y = folded.large.select(far, near);
    let (sine, r) = folded.sine();
    let y = folded.reflected.select(-(math::log(sine) + y), y);
    let infinity = x.constant(f64::INFINITY);
    let pole = folded.reflected & r.eq(x.constant(0));
    (pole | x.abs().eq(infinity)).select(infinity, y)
}

/// `Γ(x)`, in f64 for f32 too.
///
/// tgamma(±0) = ±∞, tgamma(∞) = ∞; NaN at negative integers and −∞.
pub(in super::super) fn tgamma(x: Expr<'_>) -> Expr<'_> {
    tgamma_double(x.cast(DType::F64)).cast(x.dtype())
}

fn tgamma_double(x: Expr<'_>) -> Expr<'_> {
    let (one, half) = (x.constant(1), x.constant(0.5));
    let folded = Folded::new(x);
    let (high, low) = stirling(folded.x.minimum(x.constant(190)));
    let high = folded.large.select(high, folded.near);
    let low = folded.large.select(low, x.constant(0));
    let shift = folded.large.select(one, folded.shift);
    // Γ(x) = −π / (x sin(πx) Γ(−x)), by the square of a root that neither overflows nor underflows.
    let (sine, r) = folded.sine();
    let odd = (folded.x.round() * half).round() * x.constant(2);
    let sine =
        negate_if(odd.eq(folded.x.round()).select(r.gt(x.constant(0)), r.lt(x.constant(0))), sine);
    let half = negate_if(folded.reflected, half);
    let root = math::exp(high * half);
    let root = root.fma(low * half, root);
    let quotient =
        root * folded.reflected.select(shift, one) / folded.reflected.select(sine, shift);
    let pole = folded.reflected & r.eq(x.constant(0));
    pole.select(x.constant(f64::NAN), quotient * root)
}

/// `log Γ(x)` for 5/2 ≤ x ≤ 190 as a sum of two: its error is 2^-60, as e^y would enlarge it.
fn stirling(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let one = x.constant(1);
    let inverse = one / x;
    let rest = inverse.fma(STIRLING.at(inverse * inverse), x.constant(OFFSET));
    let (log, log_rest) = logarithm(x);
    // Exact: 0.9 < log x < 6.
    let (factor, log) = (x - x.constant(0.5), log - one);
    let product = factor * log;
    let rest = factor.fma(log_rest, factor.fma(log, -product) + rest);
    let sum = product + rest;
    // `product` may be the smaller one near 5/2, but then no digit of the result is lost.
    (sum, rest - (sum - product))
}

/// `log x` as a sum of two, 5/2 ≤ x ≤ 190: `k log 2 + 2 artanh((m − 1) / (m + 1))`, 2/3 ≤ m < 4/3.
fn logarithm(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let (one, two) = (x.constant(1), x.constant(2));
    let bits = x.bits_any_nan();
    let exponent = (bits - bits.bits(0x3fe5_5555_5555_5555)) & bits.bits(0xfff0_0000_0000_0000);
    let m = (bits - exponent).reinterpret(DType::F64);
    let k = (exponent >> 52).cast(DType::F64);
    let (n, d) = (m - one, m + one);
    let s = n / d;
    // What the quotient lost, by its own rounding and by that of m + 1.
    let lost = (-s).fma(m - (d - one), (-s).fma(d, n)) / d;
    let square = s * s;
    let series = (square * s).fma(horner(square, ATANH, Expr::bits), lost * two);
    // 11 zeros end the first part of log 2: its products are exact.
    let leading = k * k.bits(0x3fe6_2e42_fefa_3800);
    let twice = s * two;
    let sum = leading + twice;
    let rest = (twice - (sum - leading)) + k.fma(k.bits(0x3d2e_f357_93c7_6730), series);
    (sum, rest)
}

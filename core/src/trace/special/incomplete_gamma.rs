//! The incomplete gamma functions, divided by Γ(a), in f64 for f32 too.
//!
//! One of the two is the tail, computed without a difference, the other 1 less it. Below x = a (or 1) the tail is the lower
//! one, by its series (DLMF 8.11.4), above the upper one, by its continued fraction (8.9.2); where x is near to a large a, it
//! is Temme's uniform expansion (8.12), its terms by the recurrence of Gil, Segura & Temme, SIAM J. Sci. Comput. 34 (2012).
//! All three have the factor `x^a e^(−x) / Γ(a + 1)`, whose exponent is a pair: digits that it lacks, the result would.

use super::super::expr::Expr;
use super::super::math::{self, Pair};
use super::gamma::{ATANH, LGAMMA_NEAR, STIRLING};
use super::{horner, negate_if};
use crate::dtype::DType;

/// `(3 + y) e^(y²) erfc y` in `(y − 3) / (y + 3)`, y ≥ 0.
const ERFCX: &[u64] = &[
    0x3ff1_2f21_ddd9_f5e2,
    0xbfec_44c4_71ba_a375,
    0x3fe2_e326_945d_e2a4,
    0xbfd3_deb2_1415_dd4f,
    0x3fbe_995f_11b1_920a,
    0xbf9b_7899_3d69_fd2b,
    0xbf53_dd3e_71c5_1dac,
    0x3f68_dae3_a1e8_6efb,
    0xbf41_f78e_0298_1140,
    0xbf32_238f_b916_861f,
    0x3f1c_324f_82fe_105e,
    0x3eff_dfeb_1ecb_7f88,
    0xbef2_5168_00ff_d828,
    0xbed3_eb00_a84d_d878,
    0x3ec7_2bf2_3254_f60a,
    0x3eb0_bcf9_ec03_37fe,
    0xbe9b_069d_fc0f_5d1a,
    0xbe8f_02eb_9ae5_0b49,
    0x3e65_daf9_4874_fc5b,
    0x3e69_73bf_6c93_474c,
    0x3e20_3c2e_7b42_0b2d,
    0xbe39_b55a_76fc_ed2e,
    0xbe18_0ed6_1125_2054,
];

/// `η / μ` in η, where `η² / 2 = μ − log(1 + μ)`: the first coefficients of its series.
const TEMME: &[u64] = &[
    0x3ff0_0000_0000_0000,
    0xbfd5_5555_5555_5555,
    0x3fb5_5555_5555_5555,
    0xbf8e_573a_c901_e574,
    0x3f52_f684_bda1_2f68,
    0x3f37_1de3_a556_c734,
    0xbf27_6e06_fec7_273b,
    0x3f04_8c58_92f7_cd83,
    0xbec2_5537_0652_afc1,
    0xbebf_1b22_f594_c6b5,
    0x3eab_d6d2_1e4b_4109,
    0xbe87_b5f9_a2d0_465c,
    0x3e3c_cf5c_eb7f_0d9f,
    0x3e46_097d_55c3_7c1c,
    0xbe32_d219_7c7a_2faa,
    0x3e0f_6e66_d24d_5c8a,
    0xbdbc_0d9b_6edf_2b0b,
    0xbdd0_070a_8734_0428,
    0x3dba_c947_5c46_3659,
    0xbd96_1ca7_01fd_754a,
    0x3d3e_f980_08f5_eec2,
    0x3d57_ba07_5976_9d7c,
    0xbd43_989b_ebb1_93c0,
    0x3d20_104f_c436_9a3c,
    0xbcc2_83fe_7950_ad7b,
    0xbce1_ca91_4d71_a27c,
    0x3ccd_2e7d_5ca4_8b90,
    0xbca7_cfbc_f3db_9bfc,
    0x3c47_5713_641c_d216,
];

/// Terms of the series, for x ≤ a ≤ 12 and x ≤ 0.45 a.
const SERIES: i32 = 50;
/// Steps of the fraction, for x ≥ 1.
const FRACTION: i32 = 96;
/// Terms of the series of [`upper_of_small`], for x ≤ 1.
const SMALL: i32 = 19;
/// Beyond this exponent nothing is left of f64.
pub(super) const FAINT: f64 = 760.0;

/// `γ(a, x) / Γ(a)`, f32 and f64.
///
/// At most 13 ulp for a and x up to 10^6. gammainc(a, 0) = 0, gammainc(a, ∞) = 1, gammainc(0, x) = 1, gammainc(∞, x) = 0;
/// NaN below 0, for a = x = 0 and a = x = ∞.
pub(in super::super) fn gammainc<'r>(a: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    in_double(a, x, |a, x| {
        let tail = Tail::of(a, x);
        tail.is_lower.select(tail.value, x.constant(1) - tail.value)
    })
}

/// `Γ(a, x) / Γ(a)`, likewise.
pub(in super::super) fn gammaincc<'r>(a: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    in_double(a, x, |a, x| {
        let (tail, one) = (Tail::of(a, x), x.constant(1));
        let is_small = a.lt(one) & a.gt(a.constant(0)) & x.lt(one);
        let rest = is_small.select(upper_of_small(a, x), one - tail.value);
        tail.is_lower.select(rest, tail.value)
    })
}

/// A function of f64, where it has a number.
fn in_double<'r>(
    a: Expr<'r>,
    x: Expr<'r>,
    function: impl Fn(Expr<'r>, Expr<'r>) -> Expr<'r>,
) -> Expr<'r> {
    let (wide, zero) = ([a, x].map(|x| x.cast(DType::F64)), a.constant(0));
    let y = function(wide[0], wide[1]).cast(x.dtype());
    // Of a NaN none of these holds; 0 and ∞ have no ratio to themselves.
    let infinity = a.constant(f64::INFINITY);
    let is_defined = a.ge(zero) & x.ge(zero) & (a.neq(x) | (a.gt(zero) & a.lt(infinity)));
    is_defined.select(y, y.constant(f64::NAN))
}

/// The one of both that is computed.
struct Tail<'r> {
    is_lower: Expr<'r>,
    value: Expr<'r>,
}

impl<'r> Tail<'r> {
    fn of(a: Expr<'r>, x: Expr<'r>) -> Self {
        let (zero, one) = (a.constant(0), a.constant(1));
        let power = Power::of(a, x);
        let is_lower = x.lt(a.maximum(one)) & a.neq(zero);
        let far = is_lower.select(power.value * series(a, x), power.value * a / fraction(a, x));
        let is_near = a.ge(a.constant(12)) & power.within(0.45, 2.0);
        let series: Vec<_> = TEMME.iter().map(|&bits| a.bits(bits)).collect();
        let near = power.value * near_saddle(a, power.exponent, is_lower, &series);
        let value = is_near.select(near, far);
        let is_some = power.exponent.lt(a.constant(FAINT)) & a.neq(zero) & x.neq(zero);
        Self { is_lower, value: is_some.select(value, zero) }
    }
}

/// `x^a e^(−x) / Γ(a + 1)`, and what it is made of.
struct Power<'r> {
    /// x / a, of a large a.
    ratio: Expr<'r>,
    /// `x − a − a log(x / a)`, of a large a.
    exponent: Expr<'r>,
    value: Expr<'r>,
}

impl<'r> Power<'r> {
    fn of(a: Expr<'r>, x: Expr<'r>) -> Self {
        let is_large = a.ge(a.constant(2.5));
        let (ratio, far) = exponent(a, x, is_large);
        let (is_near, near) = near_exponent(a, x);
        let exponent = near.where_or(is_large & is_near, far);
        let (inverse, [log, factor]) = (a.constant(1) / a, gamma_of_small(a));
        let stirling = inverse * horner(inverse * inverse, STIRLING.double, Expr::bits);
        let Pair(high, low) = exponent.plus(Pair(is_large.select(stirling, log), a.constant(0)));
        let power = math::exp(-high);
        let power = power.fma(-low, power);
        // 1 / √(2π).
        let root = a.constant(0.398_942_280_401_432_7) / a.sqrt();
        let value = power * is_large.select(root, factor);
        Self { ratio, exponent: exponent.0, value }
    }

    /// Whether x / a, of a large a, lies between two numbers.
    fn within(&self, low: f64, high: f64) -> Expr<'r> {
        let [low, high] = [low, high].map(|x| self.ratio.constant(x));
        self.ratio.ge(low) & self.ratio.le(high)
    }
}

/// A tail near a saddle point over its power, `√(πa/2) Γ* e^(y²) erfc y ± Σ β_n η^n`, of what is left of the largest power
/// and the series of `η / μ`.
pub(super) fn near_saddle<'r>(
    a: Expr<'r>,
    exponent: Expr<'r>,
    is_lower: Expr<'r>,
    series: &[Expr<'r>],
) -> Expr<'r> {
    let (one, zero) = (a.constant(1), a.constant(0));
    let (inverse, square) = (one / a, exponent.maximum(zero));
    let y = square.sqrt();
    let eta = negate_if(is_lower, (square * inverse * a.constant(2)).sqrt());
    // β_(n−1) = (n + 1) β_(n+1) / a + d_n; Γ* = 1 + β_1 / a.
    let (mut next, mut beta, mut sum) = (zero, zero, zero);
    for (n, &d) in (2..).zip(&series[1..]).collect::<Vec<(i32, _)>>().into_iter().rev() {
        let factor = inverse * a.constant(n);
        (next, beta) = (beta, factor.fma(next, d));
        sum = sum.fma(eta, beta);
    }
    let three = y.constant(3);
    let scaled = horner((y - three) / (y + three), ERFCX, Expr::bits) / (y + three);
    // √(π/2).
    let root = a.sqrt() * a.constant(1.253_314_137_315_500_3);
    root * next.fma(inverse, one) * scaled + negate_if(is_lower, sum)
}

/// The ratio x / a and `x − a − a log(x / a)` of a large a, x and `x − a log x` of others.
fn exponent<'r>(a: Expr<'r>, x: Expr<'r>, is_large: Expr<'r>) -> (Expr<'r>, Pair<'r>) {
    let base = is_large.select(a, a.constant(1));
    let ratio = x / base;
    let log = math::log_pair(ratio);
    // What the quotient lost.
    let log = Pair::sum(log.0, Pair((-ratio).fma(base, x) / x, log.1));
    let distance = Pair::exact_sum(x, is_large.select(-a, a.constant(0)));
    (ratio, distance.plus(log.times(-a)))
}

/// Whether x is near to a, and the same exponent there, with `z = (x − a) / (x + a)`: `z (x − a) − a (2 artanh z − 2z)`.
fn near_exponent<'r>(a: Expr<'r>, x: Expr<'r>) -> (Expr<'r>, Pair<'r>) {
    let half = a.constant(0.5);
    // Exact near to a; the sum does not overflow.
    let distance = x * half - a * half;
    let Pair(sum, lost) = Pair::exact_sum(x * half, a * half);
    let z = distance / sum;
    let z = Pair(z, (-z).fma(lost, (-z).fma(sum, distance)) / sum);
    let square = z.0 * z.0;
    let cube = Pair::product(Pair::product(z, z), z).times(a);
    // 2/3 less its first 53 bits.
    let third = a.constant(3.700_743_415_417_188e-17);
    let rest = square.fma(horner(square, &ATANH[1..], Expr::bits), third);
    let Pair(high, low) = cube.times(a.bits(ATANH[0]));
    let cubic = Pair::sum(high, Pair(cube.0 * rest, low));
    let exponent = z.times(distance + distance).plus(cubic.negated());
    (z.0.abs().le(a.constant(0.2)), exponent)
}

/// `1 / Γ(a + 1)` as `e^(−log) factor`, a < 5/2: the logarithm, the factor.
pub(super) fn gamma_of_small(a: Expr<'_>) -> [Expr<'_>; 2] {
    let one = a.constant(1);
    let (first, second) = (a.lt(a.constant(0.5)), a.lt(a.constant(1.5)));
    let d = first.select(a, second.select(a - one, a - one - one));
    let factor = first.select(a + one, second.select(one, one / a));
    [d * LGAMMA_NEAR.at(d), factor]
}

/// `1 + x / (a + 1) + x² / ((a + 1)(a + 2)) + …`, innermost first.
fn series<'r>(a: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let one = a.constant(1);
    (1..=SERIES).rev().fold(one, |sum, n| (x / (a + a.constant(n))).fma(sum, one))
}

/// `x + 1 − a − 1 (1 − a) / (x + 3 − a − 2 (2 − a) / (x + 5 − a − …))`, innermost first.
fn fraction<'r>(a: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let distance = x - a;
    let last = distance + a.constant(2 * FRACTION + 1);
    (1..=FRACTION).rev().fold(last, |below, k| {
        let k_minus_a = a.constant(k) - a;
        (distance + a.constant(2 * k - 1)) - k_minus_a * a.constant(k) / below
    })
}

/// The upper one of a < 1 and x < 1, which may be far below the lower one: `1 − p + a p (x / (a + 1) − x² / (2 (a + 2)) + …)`
/// with `p = x^a / Γ(a + 1)`.
fn upper_of_small<'r>(a: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let one = a.constant(1);
    let [log, _] = gamma_of_small(a);
    let log = a.lt(a.constant(0.5)).select(log - math::log1p(a), log);
    let gap = -math::expm1(a.fma(math::log(x), -log));
    let sum = (1..=SMALL).rev().fold(a.constant(0), |sum, n| {
        let n = a.constant(n);
        x / n * (one / (a + n) - sum)
    });
    gap + (one - gap) * a * sum
}

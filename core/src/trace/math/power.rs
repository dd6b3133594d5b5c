//! Powers and roots. Operations in f32 and f64: pow 115 and 125, cbrt 37 and 43, hypot 21.

use super::exponential::{exp2_of_sum, exp2_range, within};
use super::pair::Pair;
use super::{flip, format, horner, logarithm, pick, sign_of, with_sign_of};
use crate::trace::expr::Expr;

/// Constants of `log2((1+z)/(1-z)) = z (c1 + z² (c2 + z² q(z²)))`, |z| ≤ 0.172.
struct Log2 {
    /// Bits of √½: fractions become √½ ≤ m < √2.
    split: u64,
    /// 2 / ln 2 in two parts.
    first: [u64; 2],
    /// 2/3 / ln 2 in two parts.
    second: [u64; 2],
    tail: &'static [u64],
}

const SINGLE: Log2 = Log2 {
    split: 0x3f35_04f3,
    first: [0x4038_aa3b, 0x3325_7060],
    second: [0x3f76_384f, 0xb1f1_7f01],
    tail: &[0x3f13_bb87, 0x3ed2_ddf8, 0x3eac_f7cf],
};

const DOUBLE: Log2 = Log2 {
    split: 0x3fe6_a09e_667f_3bcd,
    first: [0x4007_1547_652b_82fe, 0x3c87_77d0_ffda_0d24],
    second: [0x3fee_c709_dc3a_03fd, 0x3c8d_27f0_5548_af0c],
    tail: &[
        0x3fe2_776c_50ef_9bfc,
        0x3fda_6176_2a7a_ede3,
        0x3fd4_84b1_3d6a_c686,
        0x3fd0_c9a8_53b4_529e,
        0x3fcc_68ee_92d6_0a39,
        0x3fc8_a09c_039c_51e7,
        0x3fc5_8fc1_3b33_1b6b,
        0x3fc6_1f73_f1e9_eaab,
    ],
};

/// `log2 x` for positive finite x, relative error below 2^-43 (f32) and 2^-67 (f64).
///
/// With `m = 1 + f` and `z = f / (2 + f)`, log m is 2 artanh z; of its series, the first two terms are
/// summed in pairs. The method is that of fdlibm's `e_pow.c`, with fma instead of split numbers.
fn log2(x: Expr<'_>) -> Pair<'_> {
    let constants = pick(x, &SINGLE, &DOUBLE);
    let (k, f) = logarithm::split(x, constants.split);
    let two = x.constant(2.0);
    let divisor = f + two;
    let inverse = x.constant(1.0) / divisor;
    let ratio = f * inverse;
    // What the quotient lost, and what the sum 2 + f lost.
    let left = ratio.fma(-(f - (divisor - two)), ratio.fma(-divisor, f));
    let z = Pair(ratio, left * inverse);
    let square = Pair::product(z, z);
    let [first, second] = [constants.first, constants.second].map(|bits| Pair::of(x, bits));
    let tail = square.0 * horner(square.0, constants.tail);
    let inner = Pair::sum(second.0, Pair(tail, second.1));
    let inner = Pair::product(square, inner);
    let outer = Pair::sum(first.0, Pair(inner.0, inner.1 + first.1));
    Pair::sum(k, Pair::product(z, outer))
}

/// `log x` of positive finite f64 as a pair, relative error below 2^-66.
pub(in crate::trace) fn log_pair(x: Expr<'_>) -> Pair<'_> {
    let ln2 = Pair::of(x, [0x3fe6_2e42_fefa_39ef, 0x3c7a_bc9e_3b39_803f]);
    Pair::product(log2(x), ln2)
}

/// `x^y`, as 2 to the power of y log2 x, a pair; signs and special values as in C99.
///
/// At most 0.92 ulp (f32) and 1.15 ulp (f64). pow(x, ±0) = 1 and pow(1, y) = 1 even for NaN; a negative
/// x takes integers y only, else NaN; pow(±0, y < 0) = ∞ with the sign of x for odd y;
/// pow(−1, ±∞) = 1.
pub(in crate::trace) fn pow<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let (zero, one) = (x.constant(0.0), x.constant(1.0));
    let (size, log) = (x.abs(), log2(x.abs()));
    // Where x is 0, infinite or NaN, its logarithm is what makes the power.
    let finite = size.lt(x.constant(f64::INFINITY));
    let high = finite.select(log.0, size);
    let high = x.eq(zero).select(x.constant(f64::NEG_INFINITY), high);
    // Beyond the bound results are 0, 1 or ∞, and the product could not be split.
    let most = pick(x, 1e12, 1e24);
    let bounded = within(y, [-most, most]);
    let product = high * bounded;
    // Where the product is out of range its rest may be anything, even NaN: `min` makes it a number.
    let rest = bounded.fma(log.1, bounded.fma(high, -product)).min(one).max(x.constant(-1.0));
    let power = exp2_of_sum(within(product, exp2_range(x)), rest);

    let half = y * x.constant(0.5);
    let integer = y.trunc().eq(y);
    let odd = integer & half.trunc().neq(half);
    let sign = sign_of(x);
    let power = flip(power, odd.select(sign, sign.bits(0)));

    let undefined = x.lt(zero) & finite & !integer;
    let power = undefined.select(x.constant(f64::NAN), power);
    (x.eq(one) | y.eq(zero)).select(one, power)
}

/// Cube root, with one step of Newton's for what [`Root`] gives.
///
/// At most 1.07 ulp (f32) and 0.99 ulp (f64). cbrt(±0) = ±0, cbrt(±∞) = ±∞, cbrt(NaN) = NaN.
pub(in crate::trace) fn cbrt(x: Expr<'_>) -> Expr<'_> {
    let Root { normal, subnormal, down, square, root } = Root::of(x);
    let error = (root * root).fma(-root, normal);
    let root = (error * x.constant(1.0 / 3.0)).fma(square, root);
    let root = with_sign_of(subnormal.select(root * down, root), x);
    x.abs().lt(x.bits(format(x).infinity)).select(root, x)
}

/// `1 / cbrt(x)`: the quotient of [`Root`], improved by what that and the quotient itself lack.
///
/// Residues of numbers that are hardly normal lose their digits. rcbrt(±0) = ±∞, rcbrt(±∞) = ±0, rcbrt(NaN) = NaN.
pub(in crate::trace) fn rcbrt(x: Expr<'_>) -> Expr<'_> {
    let Root { normal, subnormal, square, root, .. } = Root::of(x);
    let (one, third) = (x.constant(1.0), x.constant(1.0 / 3.0));
    let (high, inverse) = (root * root, one / root);
    let low = root.fma(root, -high);
    let error = low.fma(-root, high.fma(-root, normal));
    let rest = inverse.fma(-root, one) - error * third * square * inverse;
    let inverse = inverse.fma(rest, inverse);
    let up = x.constant(pick(x, 256.0, 262_144.0));
    let inverse = subnormal.select(inverse * up, inverse);
    let size = x.abs();
    let ordinary = size.lt(x.bits(format(x).infinity)) & size.gt(x.constant(0.0));
    with_sign_of(ordinary.select(inverse, one / size), x)
}

/// A cube root that still lacks a step, by way of r for `x^(-1/3)`: the bits divided by 3, improved by one or two steps
/// of the series of `r (1 - e)^(-1/3)` with `e = 1 - x r³`; then `x r²`.
struct Root<'r> {
    /// The size, if subnormal times a cube, so that the root's factor is exact.
    normal: Expr<'r>,
    subnormal: Expr<'r>,
    /// The root's factor for subnormal numbers.
    down: Expr<'r>,
    /// r².
    square: Expr<'r>,
    root: Expr<'r>,
}

impl<'r> Root<'r> {
    fn of(x: Expr<'r>) -> Self {
        let one = x.constant(1.0);
        let size = x.abs();
        let [up, down] = pick(x, [24, -8], [54, -18]).map(|n| x.constant(2.0_f64.powi(n)));
        let subnormal = size.lt(x.bits(format(x).least_normal));
        let normal = subnormal.select(size * up, size);

        let mut r = inverse_cube_root_guess(normal);
        let series: [&[f64]; 2] = [&[1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0], &[1.0 / 3.0]];
        for terms in &series[..pick(x, 1, 2)] {
            let e = (normal * r).fma(-(r * r), one);
            let sum = terms.iter().rev().map(|&term| x.constant(term));
            let sum = sum.reduce(|sum, term| sum.fma(e, term)).unwrap_or(one);
            r = (r * e).fma(sum, r);
        }
        let square = r * r;
        Self { normal, subnormal, down, square, root: normal * square }
    }
}

/// About `x^(-1/3)`, within 4 %: a constant (W. Kahan's) less a third of the bits, of which the highest,
/// a number below 2^(fraction - 1), are divided in the fraction of a float.
fn inverse_cube_root_guess(x: Expr<'_>) -> Expr<'_> {
    let format = format(x);
    let below = format.float.bits() - format.fraction;
    let magic = pick(x, 0x54a2_1d2a_u64, 0x553e_f0ff_289d_d796) >> below;
    // 2^fraction: its last bit counts ones.
    let unit = format.round - (1 << (format.fraction - 1));
    let bits = x.bits_any_nan() >> below;
    let number = (bits + bits.bits(unit)).reinterpret(x.dtype()) - x.bits(unit);
    let guess = number.fma(x.constant(-1.0 / 3.0), x.bits(unit + magic));
    (guess.bits_any_nan() << below).reinterpret(x.dtype())
}

/// `√(x² + y²)` without overflow on the way: both are multiplied by a power of two.
///
/// At most 0.95 ulp (f32) and 0.94 ulp (f64). hypot(±∞, y) = ∞ even for NaN, else a NaN makes NaN.
pub(in crate::trace) fn hypot<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let format = format(x);
    let (x, y) = (x.abs(), y.abs());
    let (most, least) = (x.maximum(y), x.minimum(y));
    // 2^e ≤ the larger one, e normal, and 2^(1-e).
    let field = most.max(x.bits(format.least_normal)).bits_any_nan();
    let field = field & field.bits(format.infinity);
    let up = field.reinterpret(x.dtype());
    let down = (field.bits(2 * format.one + (1 << format.fraction)) - field).reinterpret(x.dtype());
    let (most, least) = (most * down, least * down);
    let root = most.fma(most, least * least).sqrt();
    let infinity = x.bits(format.infinity);
    let infinite = x.eq(infinity) | y.eq(infinity);
    infinite.select(infinity, root * x.constant(0.5) * up)
}

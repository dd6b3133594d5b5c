//! The beta function, and the incomplete one divided by it, in f64 for f32 too.
//!
//! Exchanged so that a ≤ b. One of `I_x(a, b)` and `1 − I_x(a, b)` is the tail, computed without a difference: the lower one
//! below x = a / (a + b), or a little above for a < 1, by its series (DLMF 8.17.8), else the upper one, by the same series
//! or the continued fraction (8.17.22, contracted as by DiDonato & Morris, ACM TOMS 18 (1992)); both where x is near to it
//! and a is large by Temme's uniform expansion, Special Functions (1996), 11.3. All have the factor `x^a (1 − x)^b / B(a, b)`,
//! whose exponent is a pair.

use super::super::expr::Expr;
use super::super::math::{self, Pair};
use super::gamma::STIRLING;
use super::horner;
use super::incomplete_gamma::{FAINT, gamma_of_small, near_saddle};
use crate::dtype::DType;

/// Terms of the series, and of that of [`Beta::upper_of_small`].
const SERIES: i32 = 84;
const SMALL: i32 = 54;
/// Steps of the fraction.
const FRACTION: i32 = 96;
/// Terms of the uniform expansion.
const TERMS: usize = 28;

/// `I_x(a, b)`, f32 and f64.
///
/// At most 10 ulp for a and b up to 10^6. 0 at x = 0, 1 at x = 1; between them 1 for a = 0 and 0 for b = 0. NaN beyond, for
/// a = b = 0 and a = b = ∞.
pub(in super::super) fn betainc<'r>(a: Expr<'r>, b: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let (zero, one, infinity) = (x.constant(0), x.constant(1), x.constant(f64::INFINITY));
    let [wide_a, wide_b, wide_x] = [a, b, x].map(|x| x.cast(DType::F64));
    let y = in_double(wide_a, wide_b, wide_x).cast(x.dtype());
    let is_nothing = x.eq(zero) | (b.eq(zero) & x.lt(one));
    let is_all = x.eq(one) | (a.eq(zero) & x.gt(zero));
    let y = is_nothing.select(zero, is_all.select(one, y));
    // Of a NaN none of these holds.
    let is_inside = a.ge(zero) & b.ge(zero) & x.ge(zero) & x.le(one);
    let is_defined = is_inside & (a.neq(b) | (a.gt(zero) & a.lt(infinity)));
    is_defined.select(y, x.constant(f64::NAN))
}

fn in_double<'r>(a: Expr<'r>, b: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let (zero, one) = (x.constant(0), x.constant(1));
    let is_exchanged = a.gt(b);
    let (x_pair, y_pair) = (Pair(x, zero), Pair::exact_sum(one, -x));
    let beta = Beta::of(
        [is_exchanged.select(b, a), is_exchanged.select(a, b)],
        [y_pair.where_or(is_exchanged, x_pair), x_pair.where_or(is_exchanged, y_pair)],
    );
    let (is_lower, tail) = beta.tail();
    let is_small = beta.a.lt(one) & is_lower;
    let other = is_small.select(beta.upper_of_small(), one - tail);
    (is_lower ^ is_exchanged).select(tail, is_exchanged.select(other, one - tail))
}

/// `B(a, b)`, f32 and f64.
///
/// At most 8.2 ulp for a and b up to 10^6. ∞ at 0, 0 at ∞, NaN below 0.
pub(in super::super) fn beta<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    of_complete(a, b, [f64::INFINITY, 0.0], |complete, a| {
        // By the square of a root, which neither overflows nor underflows.
        let half = a.constant(0.5);
        let Pair(high, low) = complete.exponent;
        let root = math::exp(high * half);
        let root = root.fma(low * half, root);
        root / complete.factor * root / a
    })
}

/// `log B(a, b)`, likewise; 0 at B = 1, where digits are lost.
pub(in super::super) fn betaln<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    of_complete(a, b, [f64::INFINITY, f64::NEG_INFINITY], |complete, a| {
        let Pair(high, low) = complete.exponent;
        let log = math::log_pair(complete.factor * a);
        Pair(high, low).plus(log.negated()).0
    })
}

/// A function of the parts of `B(a, b)`, a ≤ b, in f64, with its values for a = 0 and for b = ∞.
fn of_complete<'r>(
    a: Expr<'r>,
    b: Expr<'r>,
    ends: [f64; 2],
    function: impl Fn(Complete<'r>, Expr<'r>) -> Expr<'r>,
) -> Expr<'r> {
    let zero = a.constant(0);
    let [least, most] = [a.minimum(b), a.maximum(b)].map(|x| x.cast(DType::F64));
    let one = Pair(least.constant(1), least.constant(0));
    let complete = Complete::of([least, most], [one, one]);
    let y = function(complete, least).cast(a.dtype());
    let [at_zero, at_infinity] = ends.map(|end| a.constant(end));
    let is_infinite = (least + most).eq(least.constant(f64::INFINITY));
    let y = is_infinite.select(at_infinity, y);
    let y = (a.eq(zero) | b.eq(zero)).select(at_zero, y);
    (a.ge(zero) & b.ge(zero)).select(y, a.constant(f64::NAN))
}

/// `x^a y^b / (a B(a, b))` for a ≤ b, in parts.
struct Complete<'r> {
    /// Of b < 5/2 three more, for Stirling's series, and a more.
    far_b: Expr<'r>,
    far_sum: Expr<'r>,
    /// x and y over what they are in the middle, a / (a + b) and b / (a + b), of large a.
    ratios: [Expr<'r>; 2],
    /// How far the power is from its largest, as a logarithm, of large a.
    distance: Expr<'r>,
    /// The whole is `factor e^(−exponent)`.
    exponent: Pair<'r>,
    factor: Expr<'r>,
}

impl<'r> Complete<'r> {
    fn of([a, b]: [Expr<'r>; 2], [x, y]: [Pair<'r>; 2]) -> Self {
        let (zero, one, limit) = (a.constant(0), a.constant(1), a.constant(2.5));
        let (is_large, is_small) = (a.ge(limit), b.lt(limit));
        let far_b = is_small.select(b + a.constant(3), b);
        let sum = Pair::exact_sum(a, far_b);
        let (ratio_x, log_x) = logarithm(Pair::product(x, sum), is_large.select(a, one));
        let (ratio_y, log_y) = logarithm(Pair::product(y, sum), far_b);
        let distance = log_x.times(-a).plus(log_y.times(-b));
        let distance = distance.plus(Pair(is_large.select(zero, a), zero));
        let [log, factor] = gamma_of_small(a);
        let rest = stirling(far_b) - stirling(sum.0) + is_large.select(stirling(a), log);
        let raised = is_small.select(math::log(sum.0 / far_b) * a.constant(3), zero);
        // 1 / √(2π).
        let root = a.constant(0.398_942_280_401_432_7) / a.sqrt();
        let [numerator, denominator] = [b, a + b].map(|z| z * (z + one) * (z + one + one));
        let risen = is_small.select(numerator / denominator, one);
        let factor = is_large.select(root, factor * risen) * (far_b / sum.0).sqrt();
        Self {
            far_b,
            far_sum: sum.0,
            ratios: [ratio_x, ratio_y],
            distance: distance.0,
            exponent: distance.plus(Pair(rest - raised, zero)),
            factor,
        }
    }
}

/// Arguments with a ≤ b, and what is made of them.
struct Beta<'r> {
    a: Expr<'r>,
    b: Expr<'r>,
    x: Expr<'r>,
    /// 1 − x.
    y: Expr<'r>,
    sum: Expr<'r>,
    complete: Complete<'r>,
    /// `x^a y^b / (a B(a, b))`.
    power: Expr<'r>,
}

impl<'r> Beta<'r> {
    fn of([a, b]: [Expr<'r>; 2], [x, y]: [Pair<'r>; 2]) -> Self {
        let complete = Complete::of([a, b], [x, y]);
        let Pair(high, low) = complete.exponent;
        let power = math::exp(-high);
        let power = power.fma(-low, power) * complete.factor;
        Self { a, b, x: x.0, y: y.0, sum: a + b, complete, power }
    }

    /// Whether the tail is the lower one, and the tail.
    fn tail(&self) -> (Expr<'r>, Expr<'r>) {
        let (zero, one) = (self.a.constant(0), self.a.constant(1));
        let c = |number: f64| self.a.constant(number);
        let is_large = self.a.ge(c(12.0));
        let middle = (self.a.maximum(one) / self.sum).minimum(c(0.5));
        let is_lower = is_large.select(self.complete.ratios[0].lt(one), self.x.lt(middle));
        let [over_x, over_y] = self.complete.ratios;
        let is_near = is_large & over_x.ge(c(0.47)) & over_x.le(c(2.0)) & over_y.ge(c(0.6));
        let is_series =
            is_lower | (self.y.le(c(0.55)) & over_y.le(c(0.47))) | (!is_large & self.y.le(c(0.5)));
        let (p, z) = (is_lower.select(self.a, self.b), is_lower.select(self.x, self.y));
        let series = self.series(p, z) * (self.a / p);
        let far = is_series.select(series, self.a / self.fraction());
        let near = self.expansion(is_lower) * self.sum / self.b;
        let tail = self.power * is_near.select(near, far);
        (is_lower, self.complete.distance.lt(c(FAINT)).select(tail.max(zero).min(one), zero))
    }

    /// `F(a + b, 1; p + 1; z)`, innermost first.
    fn series(&self, p: Expr<'r>, z: Expr<'r>) -> Expr<'r> {
        let one = p.constant(1);
        (1..=SERIES).rev().fold(one, |sum, n| {
            let n = p.constant(n);
            ((self.sum + n - one) * z / (p + n)).fma(sum, one)
        })
    }

    /// `x^a y^b / B` over the upper tail.
    fn fraction(&self) -> Expr<'r> {
        let Self { a, b, x, y, sum, .. } = *self;
        let one = a.constant(1);
        let (start, step) = (b.fma(x, one - a * y), x + one);
        let inverse = |m: i32| one / (b + a.constant(2 * m + 1));
        let mut next = inverse(FRACTION);
        let mut below = None;
        for m in (0..=FRACTION).rev() {
            let (count, last) = (a.constant(m), inverse(m - 1));
            let part = (a - count) * y * last * count;
            let term = ((b + count) * next).fma(count.fma(step, start), count + part);
            let whole = below.map_or(term, |quotient: Expr<'r>| term + quotient);
            if m == 0 {
                return whole;
            }
            let product = ((b + count - one) * last) * ((sum + count - one) * y);
            below = Some(part * product / whole);
            next = last;
        }
        unreachable!("internal error: a fraction without steps")
    }

    /// The tail of large a and b near x = a / (a + b), over `x^a y^b / B` and their harmonic sum A.
    ///
    /// As that of the gamma function, but the coefficients depend on a / b: those of `ζ / v`, where
    /// `v dv/dζ = ζ (1 + q v − p v²)`, from those of v and of its square.
    fn expansion(&self, is_lower: Expr<'r>) -> Expr<'r> {
        let (a, b, one) = (self.a, self.b, self.a.constant(1));
        let p = (a / self.sum) * (b / self.sum);
        let q = (b - a) / self.sum;
        let (zero, half) = (a.constant(0), a.constant(0.5));
        // From the power 1 on: v; from 0 on: its square, of which two are 0, and ζ / v.
        let (mut v, mut square) = (vec![zero, one], vec![zero, zero, one]);
        for (m, count) in (3..=TERMS + 2).zip((3_u32..).map(f64::from)) {
            square.push((q * v[m - 2] - p * square[m - 2]) * a.constant(2.0 / count));
            // Of the sum of v[j] v[m − j] each product but the middle one comes twice.
            let pairs = (2..=(m - 1) / 2).fold(zero, |sum, j| v[j].fma(v[m - j], sum));
            let middle = if m.is_multiple_of(2) { v[m / 2] * v[m / 2] } else { zero };
            v.push((square[m] - middle) * half - pairs);
        }
        let mut series = vec![one];
        for k in 1..=TERMS {
            let sum = (1..=k).fold(zero, |sum, j| v[j + 1].fma(series[k - j], sum));
            series.push(-sum);
        }
        near_saddle(a * (b / self.sum), self.complete.distance, is_lower, &series)
    }

    /// The upper tail of a < 1 and small x, which may be far below the lower one: `1 − p (1 + a Σ (1 − b)_n x^n / (n! (a + n)))`
    /// with `p = x^a / (a B(a, b))`.
    fn upper_of_small(&self) -> Expr<'r> {
        let Self { a, b, x, .. } = *self;
        let Complete { far_b, far_sum, .. } = self.complete;
        let one = a.constant(1);
        let [log, _] = gamma_of_small(a);
        let log = a.lt(a.constant(0.5)).select(log - math::log1p(a), log);
        // log Γ(a + b) − log Γ(b), every part of which is as small as a.
        let grown =
            (far_b - a.constant(0.5)).fma(math::log1p(a / far_b), stirling_gap(far_b, a) - a);
        let more = (0..3).fold(a.constant(0), |more, k| {
            let part = a / (b + a.constant(k));
            part.fma(more + one, more)
        });
        let risen = b.lt(a.constant(2.5)).select(math::log1p(more), a.constant(0));
        let gap = -math::expm1(a.fma(math::log(x * far_sum), grown - risen - log));
        let sum = (1..=SMALL).rev().fold(a.constant(0), |sum, n| {
            let factor = (a.constant(n) - b) * x * a.constant(1.0 / f64::from(n));
            factor * (one / (a + a.constant(n)) + sum)
        });
        gap - (one - gap) * a * sum
    }
}

/// The quotient of a pair by a number, and its logarithm.
fn logarithm<'r>(numerator: Pair<'r>, base: Expr<'r>) -> (Expr<'r>, Pair<'r>) {
    let ratio = numerator.0 / base;
    let log = math::log_pair(ratio);
    let rest = ((-ratio).fma(base, numerator.0) + numerator.1) / numerator.0;
    (ratio, log.plus(Pair(rest, rest.constant(0))))
}

/// What Stirling's formula lacks to log Γ(z), z ≥ 5/2.
fn stirling(z: Expr<'_>) -> Expr<'_> {
    let inverse = z.constant(1) / z;
    inverse * horner(inverse * inverse, STIRLING.double, Expr::bits)
}

/// `stirling(z + a) − stirling(z)`, without a difference: by the divided differences of the polynomial.
fn stirling_gap<'r>(z: Expr<'r>, a: Expr<'r>) -> Expr<'r> {
    let one = z.constant(1);
    let (u, v) = (one / (z + a), one / z);
    let [square_u, square_v] = [u, v].map(|x| x * x);
    let mut coefficients = STIRLING.double.iter().rev().map(|&bits| z.bits(bits));
    let highest = coefficients.next().expect("internal error: a polynomial without coefficients");
    let (slope, value) = coefficients.fold((z.constant(0), highest), |(slope, value), c| {
        (slope.fma(square_u, value), value.fma(square_v, c))
    });
    // u − v and u² − v².
    let gap = -(a * u * v);
    gap * (u * (u + v)).fma(slope, value)
}

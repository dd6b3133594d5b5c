//! Partial derivatives of functions that need more than a line.
//!
//! They are made of operations and calls of functions, so that they have derivatives themselves.

use std::f64::consts::FRAC_1_PI;

use crate::dtype::DType;
use crate::trace::expr::Expr;

/// `2 / sqrt(pi)`.
const TWO_BY_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
/// `1 / sqrt(2 pi)`.
const NORMAL: f64 = 0.398_942_280_401_432_7;

/// `a^b` by a: `b a^(b − 1)`, and 0 for a = b = 0.
pub(super) fn power<'r>(x: &[Expr<'r>]) -> Expr<'r> {
    let [base, exponent, zero, one] = [x[0], x[1], x[0].constant(0), x[0].constant(1)];
    let (is_flat, is_zero) = (exponent.eq(zero), base.eq(zero));
    // Complex recipes have no and.
    let both =
        |there, otherwise: Expr<'r>| is_flat.select(is_zero.select(there, otherwise), otherwise);
    both(zero, exponent) * both(one, base).call("pow", &[exponent - one])
}

/// `a^b` by b: `a^b log a`, and 0 for a = 0.
pub(super) fn exponent<'r>(x: &[Expr<'r>], y: Expr<'r>) -> Expr<'r> {
    let (zero, one) = (x[0].constant(0), x[0].constant(1));
    let is_zero = x[0].eq(zero);
    is_zero.select(zero, y * is_zero.select(one, x[0]).call("log", &[]))
}

/// The legs of a right triangle over its hypotenuse; 0 at the origin. Of the ratio of the legs alone: what a leg over
/// the hypotenuse itself has as its slope cancels where that leg is the long one.
pub(super) fn legs<'r>(x: &[Expr<'r>]) -> [Expr<'r>; 2] {
    let (zero, one) = (x[0].constant(0), x[0].constant(1));
    let is_steep = x[0].abs().lt(x[1].abs());
    let (short, long) = (is_steep.select(x[0], x[1]), is_steep.select(x[1], x[0]));
    let is_origin = long.eq(zero);
    let ratio = short / is_origin.select(one, long);
    let unit = is_origin.select(zero, one.call("mulsign", &[long])) / ratio.fma(ratio, one).sqrt();
    let other = ratio * unit;
    [is_steep.select(other, unit), is_steep.select(unit, other)]
}

/// The whole number of divisors between a dividend and its remainder, which may differ from the rounded quotient.
pub(super) fn n_divisors<'r>(x: &[Expr<'r>], remainder: Expr<'r>) -> Expr<'r> {
    let n = (x[0] / x[1] - remainder / x[1]).round();
    // Rounded up to the divisor, or that is infinite.
    remainder.eq(x[1]).select(n.constant(-1), n)
}

/// A coordinate over the squared distance from the origin, without overflow on the way.
pub(super) fn turn<'r>(coordinate: Expr<'r>, x: &[Expr<'r>]) -> Expr<'r> {
    let distance = x[0].call("hypot", &[x[1]]);
    coordinate / distance / distance
}

/// `1 − x²`. Its slope has no factor that is 0 at 1: where a cotangent is infinite that would make no number.
pub(super) fn complement(x: Expr<'_>) -> Expr<'_> {
    let one = x.constant(1);
    if x.is_complex() { (one - x) * (one + x) } else { (-x).fma(x, one) }
}

/// The cosine of the angle whose sine is `x`.
pub(super) fn cosine(x: Expr<'_>) -> Expr<'_> {
    complement(x).sqrt()
}

/// `v / (1 + x²)`, scaled so that the slope of the square is finite too.
pub(super) fn over_square<'r>(v: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let (scaled, least) = (x * x.constant(1.0 / 16.0), x.constant(1.0 / 256.0));
    v * least / (scaled * scaled + least)
}

/// `sqrt(1 + x²)`, and `|x|` where that is the same and the square might overflow.
pub(super) fn secant(x: Expr<'_>) -> Expr<'_> {
    let root = (x * x + x.constant(1)).sqrt();
    if x.is_complex() {
        return root;
    }
    x.abs().gt(x.constant(1e10)).select(x.abs(), root)
}

/// `1 − tanh²`, with all digits in the tails, and a slope that has them.
pub(super) fn tanh<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let one = x.constant(1);
    if x.is_complex() { (one - y) * (one + y) } else { squared(x.call("sech", &[])) }
}

/// The derivative of the logistic function, likewise.
pub(super) fn sigmoid(x: Expr<'_>) -> Expr<'_> {
    squared((x * x.constant(0.5)).call("sech", &[])) * x.constant(0.25)
}

fn squared(x: Expr<'_>) -> Expr<'_> {
    x * x
}

/// A slope where `x` lies between −1 and 1, else 0: of a number that is harmless there, so that its own slope is 0 too.
pub(super) fn inside<'r>(x: Expr<'r>, slope: impl Fn(Expr<'r>) -> Expr<'r>) -> Expr<'r> {
    let (is_inside, zero) = (x.abs().lt(x.constant(1)), x.constant(0));
    is_inside.select(slope(is_inside.select(x, zero)), zero)
}

/// A slope where `x` is above 0, else 0, likewise.
pub(super) fn safe<'r>(x: Expr<'r>, slope: impl Fn(Expr<'r>) -> Expr<'r>) -> Expr<'r> {
    let is_above = x.gt(x.constant(0));
    is_above.select(slope(is_above.select(x, x.constant(1))), x.constant(0))
}

/// `v` where `x` is above 0, else 0.
pub(super) fn above_zero<'r>(x: Expr<'r>, v: Expr<'r>) -> Expr<'r> {
    x.gt(x.constant(0)).select(v, v.constant(0))
}

/// `(cos(πx) − sinc(x)) / x`, by its series near 0, where the terms cancel.
pub(super) fn sinc<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let t = x * x.pi_times(1.0);
    let square = t * t;
    // Terms (−1)^k 2k t^(2k − 1) / (2k + 1)!, the last one first.
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let term = |k: u32| {
        let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * f64::from(2 * k) / factorial(2 * k + 1)
    };
    let series =
        (1..9).rev().fold(x.constant(term(9)), |sum, k| sum.fma(square, x.constant(term(k))));
    let near = series * t * x.pi_times(1.0);
    let is_near = t.abs().lt(t.constant(1));
    let far = (x.call("cospi", &[]) - y) / is_near.select(x.constant(1), x);
    is_near.select(near, far)
}

/// `1 / (1 + |x|)²`; the size with its sign as a factor, so that what is no number has no slope.
pub(super) fn softsign(x: Expr<'_>) -> Expr<'_> {
    let (zero, one) = (x.constant(0), x.constant(1));
    let size = x.eq(zero).select(zero, x.call("mulsign", &[x]));
    squared(one / (size + one))
}

/// The derivative of `x sigmoid(x)`, of terms whose slopes have all digits in the tails.
pub(super) fn silu<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    x.call("sigmoid", &[]) + y * (-x).call("sigmoid", &[])
}

/// The derivative of `x tanh(log(1 + exp(x)))`.
pub(super) fn mish(x: Expr<'_>) -> Expr<'_> {
    let inner = x.call("softrelu", &[]);
    inner.call("tanh", &[]) + x * squared(inner.call("sech", &[])) * x.call("sigmoid", &[])
}

/// The derivative of `x` times the normal distribution.
pub(super) fn gelu(x: Expr<'_>) -> Expr<'_> {
    x.call("norm_cdf", &[]) + x * normal(x)
}

/// `2 exp(−x²) / sqrt(π)`.
pub(super) fn bell(x: Expr<'_>) -> Expr<'_> {
    let x = within_bells(x);
    (-(x * x)).call("exp", &[]) * x.constant(TWO_BY_ROOT_PI)
}

/// `1 / bell(x)`, whose slope where that is infinite is so, too.
pub(super) fn over_bell(x: Expr<'_>) -> Expr<'_> {
    (x * x).call("exp", &[]) * x.constant(1.0 / TWO_BY_ROOT_PI)
}

/// `1 / normal(x)`, likewise.
pub(super) fn over_normal(x: Expr<'_>) -> Expr<'_> {
    (x * x * x.constant(0.5)).call("exp", &[]) * x.constant(1.0 / NORMAL)
}

/// `1 / (3 y²)`, by way of `1 / y`: the square has no slope at 0.
pub(super) fn over_square_of_root(y: Expr<'_>) -> Expr<'_> {
    squared(y.constant(1) / y) / y.constant(3)
}

/// `x`, or a number beyond which both bells are 0: there the slope of the square may be infinite.
fn within_bells(x: Expr<'_>) -> Expr<'_> {
    let bound = x.constant(40);
    x.abs().gt(bound).select(bound, x)
}

/// The density of the normal distribution.
pub(super) fn normal(x: Expr<'_>) -> Expr<'_> {
    let x = within_bells(x);
    (x * x * x.constant(-0.5)).call("exp", &[]) * x.constant(NORMAL)
}

/// `v` times the density of the gamma distribution of shape a at x, in f64 for f32 too.
pub(super) fn of_gamma<'r>(v: Expr<'r>, x: &[Expr<'r>]) -> Expr<'r> {
    let [a, x] = [0, 1].map(|i| x[i].cast(DType::F64));
    (v.cast(DType::F64) * gamma_density(a, x)).cast(v.dtype())
}

/// `x^(a − 1) e^(−x) / Γ(a)`; of a large a by way of `x − a − a log(x / a)`, and Stirling's series for the rest.
fn gamma_density<'r>(a: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let (zero, one) = (a.constant(0), a.constant(1));
    let is_large = a.gt(a.constant(30));
    // Below, the distance from a large a is a itself, whose logarithm is infinite, and the density 0.
    let is_inside = x.gt(a * a.constant(1e-15)) & x.lt(x.constant(1e300));
    // What is not taken must have a slope that is a number.
    let shape = is_large.select(one, a);
    let near = x.minimum(x.constant(1e4));
    let power = near.call("pow", &[shape - one]);
    let small = power * (-near).call("exp", &[]) / shape.call("tgamma", &[]);
    let is_defined = a.ge(zero) & x.ge(zero);
    let a = is_large.select(a, one);
    let inside = is_inside.select(x, one);
    let distance = inside - a;
    // Far below a the distance has lost the digits of x.
    let is_far = inside.lt(a * a.constant(0.5));
    let log = (inside / a).call("log", &[]);
    let log = is_far.select(log, is_far.select(zero, distance / a).call("log1p", &[]));
    let exponent = distance - a * log;
    let root = (a * a.constant(0.5 * FRAC_1_PI)).sqrt();
    let large = (-exponent - stirling_series(a)).call("exp", &[]) * root / inside;
    let density = is_large.select(is_inside.select(large, zero), small);
    is_defined.select(density, x.constant(f64::NAN))
}

/// `v` times the derivative of log B(a, b) by a, in f64 for f32 too: both parts may be nearly the same.
pub(super) fn of_log_beta<'r>(v: Expr<'r>, a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    let [wide, a, b] = [v, a, b].map(|z| z.cast(DType::F64));
    (wide * (a.call("digamma", &[]) - (a + b).call("digamma", &[]))).cast(v.dtype())
}

/// `v` times the density of the beta distribution of a and b at x, in f64 for f32 too.
pub(super) fn of_beta<'r>(v: Expr<'r>, x: &[Expr<'r>]) -> Expr<'r> {
    let [a, b, x] = [0, 1, 2].map(|i| x[i].cast(DType::F64));
    let (zero, one) = (x.constant(0), x.constant(1));
    let is_shape = a.gt(zero) & b.gt(zero);
    let is_inside = is_shape & x.gt(zero) & x.lt(one);
    let is_end = is_shape & (x.eq(zero) | x.eq(one));
    // What is not taken must have a slope that is a number.
    let [p, q, inside] = [a, b, x].map(|z| is_inside.select(z, z.constant(0.5)));
    let [r, s, end] = [a, b, x].map(|z| is_end.select(z, one));
    let outside = is_end.select(beta_density_at_end(r, s, end), x.constant(f64::NAN));
    let density = beta_density(p, q, inside) * steepness(p, q, inside);
    let density = is_inside.select(density, outside);
    (v.cast(DType::F64) * density).cast(v.dtype())
}

/// `x^(a − 1) (1 − x)^(b − 1) / B(a, b)` at 0 and 1, where logarithms have no slopes; of powers, which are finite in their
/// own.
fn beta_density_at_end<'r>(a: Expr<'r>, b: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let (zero, one) = (x.constant(0), x.constant(1));
    let [of_a, of_b] = [(x, a), (one - x, b)].map(|(z, a)| z.call("pow", &[a - one]));
    // Beside a power that is infinite its own slope is all that counts.
    let (first, second) = (a.lt(one) & x.eq(zero), b.lt(one) & x.eq(one));
    let powers = second.select(still(of_a) * of_b, of_a * of_b);
    let powers = first.select(of_a * still(of_b), powers);
    // Where B underflows a power is 0.
    let inverse = (one / a.call("beta", &[b])).minimum(x.constant(1e300));
    powers * inverse
}

/// 1, whose slope over itself is that of a density inside: what the density is computed by has parts that cancel.
fn steepness<'r>(a: Expr<'r>, b: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let one = x.constant(1);
    let (log, log_of_rest) = (x.call("log", &[]), (-x).call("log1p", &[]));
    let moved = (a - one) * (log - still(log)) + (b - one) * (log_of_rest - still(log_of_rest));
    moved.call("exp", &[])
}

/// The same number without a derivative.
fn still(x: Expr<'_>) -> Expr<'_> {
    x.bits_any_nan().reinterpret(x.dtype())
}

/// `x^(a − 1) (1 − x)^(b − 1) / B(a, b)` by way of the logarithms of x and 1 − x over what they are in the middle; without a slope
/// by x.
fn beta_density<'r>(a: Expr<'r>, b: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let (x, one, sum) = (still(x), x.constant(1), a + b);
    let (y, distance) = (one - x, x.fma(b, -(a * (one - x))));
    let log = |part: Expr<'r>, ratio: Expr<'r>| {
        let is_near = part.abs().lt(x.constant(0.5));
        let near = is_near.select(part, x.constant(0)).call("log1p", &[]);
        is_near.select(near, is_near.select(one, ratio).call("log", &[]))
    };
    let exponent = a * log(distance / a, x * (sum / a)) + b * log(-(distance / b), y * (sum / b));
    let rest = stirling_rest(sum) - stirling_rest(a) - stirling_rest(b);
    let root = (a * (b / sum) * x.constant(0.5 * FRAC_1_PI)).sqrt();
    // In halves: the whole may be below the range of the type where this is not.
    let half = ((exponent + rest) * x.constant(0.5)).call("exp", &[]);
    half / x * root / y * half
}

/// What Stirling's formula lacks to log Γ(z).
fn stirling_rest(z: Expr<'_>) -> Expr<'_> {
    let is_large = z.gt(z.constant(30));
    let near = is_large.select(z.constant(1), z);
    let half = z.constant(0.5);
    // log √(2π).
    let offset = z.constant(0.918_938_533_204_672_8);
    let small = near.call("lgamma", &[]) - (near - half) * near.call("log", &[]) + near - offset;
    is_large.select(stirling_series(is_large.select(z, z.constant(31))), small)
}

/// Stirling's series, z ≥ 30.
fn stirling_series(z: Expr<'_>) -> Expr<'_> {
    let inverse = z.constant(1) / z;
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0];
    let terms = series.iter().rev();
    inverse * terms.fold(z.constant(0), |sum, &c| sum.fma(inverse * inverse, z.constant(c)))
}

/// `log y`, and 0 where `x log y` is 0 whatever y is: at x = 0, where that has no number.
pub(super) fn logarithm<'r>(x: &[Expr<'r>]) -> Expr<'r> {
    let zero = x[0].constant(0);
    let is_flat = x[0].eq(zero) & x[1].le(zero);
    is_flat.select(x[0].constant(1), x[1]).call("log", &[])
}

/// `x / y`, and 0 for x = 0, where the slope is `1 / y` if y is above 0.
pub(super) fn over<'r>(x: &[Expr<'r>]) -> Expr<'r> {
    let (zero, one) = (x[0].constant(0), x[0].constant(1));
    let is_defined = x[0].neq(zero) | x[1].gt(zero);
    x[0] / is_defined.select(x[1], one)
}

/// `sqrt(1 − k² sin² φ)`.
pub(super) fn elliptic_delta<'r>(phi: Expr<'r>, k: Expr<'r>) -> Expr<'r> {
    let s = k * phi.call("sin", &[]);
    cosine(s)
}

/// `(1 + ν sin² φ) sqrt(1 − k² sin² φ)`, of φ, k and ν.
pub(super) fn elliptic_3<'r>(x: &[Expr<'r>]) -> Expr<'r> {
    let s = x[0].call("sin", &[]);
    (x[2] * (s * s) + s.constant(1)) * elliptic_delta(x[0], x[1])
}

/// The slope of the curve from light to sRGB.
pub(super) fn to_srgb(x: Expr<'_>) -> Expr<'_> {
    let is_curved = x.gt(x.constant(0.003_130_8));
    let base = is_curved.select(x, x.constant(1));
    let curve = base.call("pow", &[x.constant(1.0 / 2.4 - 1.0)]) * x.constant(1.055 / 2.4);
    is_curved.select(curve, x.constant(12.92))
}

/// The slope of the curve from sRGB to light.
pub(super) fn from_srgb(x: Expr<'_>) -> Expr<'_> {
    let is_curved = x.gt(x.constant(0.040_45));
    let base = (x + x.constant(0.055)) * x.constant(1.0 / 1.055);
    let base = is_curved.select(base, x.constant(1));
    let curve = base.call("pow", &[x.constant(1.4)]) * x.constant(2.4 / 1.055);
    is_curved.select(curve, x.constant(1.0 / 12.92))
}

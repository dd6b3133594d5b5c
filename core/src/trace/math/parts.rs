//! Functions that take floats apart and put them together: mantissa and exponent, the fractional part.

use super::bits::copysign;
use super::exponential::within;
use super::logarithm::as_number;
use super::{format, normal, pick, scale};
use crate::trace::expr::Expr;

/// The m of `x = m 2^e` with 1/2 ≤ |m| < 1; x itself if it is 0, infinite or NaN.
pub(in crate::trace) fn mantissa(x: Expr<'_>) -> Expr<'_> {
    let format = format(x);
    let bits = normal(x).0.bits_any_nan();
    let fraction = bits & !bits.bits(format.infinity);
    let below_one = bits.bits(format.one - (1 << format.fraction));
    is_ordinary(x).select((fraction | below_one).reinterpret(x.dtype()), x)
}

/// The e that belongs to [`mantissa`], as a float; 0 if x is 0, infinite or NaN.
pub(in crate::trace) fn exponent(x: Expr<'_>) -> Expr<'_> {
    let format = format(x);
    let (normal, lifted) = normal(x);
    let bits = normal.bits_any_nan();
    let field = as_number(bits & bits.bits(format.infinity), format);
    let bias = x.constant(pick(x, -126.0, -1022.0));
    let e = field.fma(x.constant(1.0 / format.lift), lifted + bias);
    is_ordinary(x).select(e, x.constant(0.0))
}

/// `x · 2^n` for the integer part of n, rounded once.
pub(in crate::trace) fn ldexp<'r>(x: Expr<'r>, n: Expr<'r>) -> Expr<'r> {
    let format = format(x);
    let range = pick(x, [-152.0, 130.0], [-1080.0, 1030.0]);
    let n = within(exponent(x) + n.trunc(), range);
    let low_bits = (n + x.bits(format.round)).bits_any_nan();
    let y = is_ordinary(x).select(scale(mantissa(x), low_bits), x);
    n.neq(n).select(n, y)
}

/// The nearest integer, halves away from zero: what is cut off is exact, as is the step by 1. Any float type.
pub(in crate::trace) fn round_away(x: Expr<'_>) -> Expr<'_> {
    let whole = x.trunc();
    let far = (x - whole).abs().ge(x.constant(0.5));
    whole + copysign(far.select(x.constant(1), x.constant(0)), x)
}

/// `x − floor(x)`, kept below 1 where it would round to 1; NaN for ±∞. Any float type.
pub(in crate::trace) fn fract(x: Expr<'_>) -> Expr<'_> {
    let digits = x.dtype().significand_digits();
    (x - x.floor()).minimum(x.constant(1.0 - 2.0_f64.powi(-digits)))
}

/// Whether x is neither 0 nor normal, infinite or NaN. Any float type.
pub(in crate::trace) fn is_subnormal(x: Expr<'_>) -> Expr<'_> {
    let (size, least_normal) = (x.abs(), 2.0_f64.powi(x.dtype().least_exponent()));
    size.gt(x.constant(0.0)) & size.lt(x.constant(least_normal))
}

fn is_ordinary(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    size.gt(x.constant(0.0)) & size.lt(x.bits(format(x).infinity))
}

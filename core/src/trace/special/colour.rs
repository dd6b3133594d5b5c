//! The transfer curve of sRGB (IEC 61966-2-1).

use super::super::expr::Expr;
use super::super::math;

/// Light to signal: `12.92 x`, from 0.0031308 on `1.055 x^(5/12) − 0.055`.
pub(in super::super) fn linear_to_srgb(x: Expr<'_>) -> Expr<'_> {
    let power = power_above_three_eighths(x, 1.0 / 24.0);
    let curve = power.fma(x.constant(1.055), x.constant(-0.055));
    x.le(x.constant(0.003_130_8)).select(x * x.constant(12.92), curve)
}

/// Signal to light: `x / 12.92`, from 0.04045 on `((x + 0.055) / 1.055)^2.4`.
pub(in super::super) fn srgb_to_linear(x: Expr<'_>) -> Expr<'_> {
    let y = (x + x.constant(0.055)) / x.constant(1.055);
    let curve = y * y * power_above_three_eighths(y, 1.0 / 40.0);
    x.le(x.constant(0.040_45)).select(x / x.constant(12.92), curve)
}

/// `x^(3/8 + rest)` by roots: only the small rest of the exponent goes through a logarithm, whose error
/// shrinks with it.
fn power_above_three_eighths(x: Expr<'_>, rest: f64) -> Expr<'_> {
    let fourth = x.sqrt().sqrt();
    fourth * fourth.sqrt() * math::exp(math::log(x) * x.constant(rest))
}

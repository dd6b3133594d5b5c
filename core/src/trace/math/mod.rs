//! Elementary functions in our own IR: straight-line sequences of exact operations.
//!
//! Every backend executes exactly these operations, so a function has the same bits everywhere.
//! There are no branches: where the method differs between ranges, both results are computed and
//! selected. The polynomials are our own fits of least relative error (in 220-bit arithmetic,
//! rounded coefficient by coefficient, lowest first, the others fitted again), as bit patterns.
//! Errors are measured (`tests/it/accuracy.rs`, and 113-bit arithmetic over millions of points, every f32
//! of the worst binades among them): what a function's doc states is the largest one seen. Special values are those of C99's annex F. How many
//! operations each records: `tests/it/operations.rs`.

mod activation;
pub(super) mod bits;
mod circular;
mod exponential;
pub(super) mod half;
mod hyperbolic;
mod inverse;
mod logarithm;
mod pair;
mod parts;
mod power;
mod reduction;

pub(super) use activation::{
    elu, hard_sigmoid, log_sigmoid, logaddexp, logit, mish, sigmoid, silu, smooth_l1, softrelu,
    softsign,
};
pub(super) use circular::{cos, cospi, cot, csc, sec, sin, sinc, sinpi, tan};
pub(super) use exponential::{exp, exp2, exp10, expm1};
pub(super) use hyperbolic::{acosh, asinh, atanh, cosh, coth, csch, sech, sinh, tanh};
pub(super) use inverse::{acos, asin, atan, atan2, unit_range};
pub(super) use logarithm::{log, log1p, log2, log10};
pub(super) use pair::Pair;
pub(super) use parts::{exponent, fract, is_subnormal, ldexp, mantissa, round_away};
pub(super) use power::{cbrt, hypot, log_pair, pow, rcbrt};

use super::expr::Expr;
use crate::dtype::DType;

/// Properties of a float type that the functions need.
pub(super) struct Format {
    float: DType,
    /// The unsigned and signed integers of the same width.
    signed: DType,
    /// Bits of the fraction.
    fraction: u32,
    /// 1.0; as an integer, the exponent bias in place.
    one: u64,
    sign: u64,
    /// 1.5 · 2^fraction: adding it rounds to an integer, which then stands in the low bits.
    round: u64,
    pub(super) infinity: u64,
    pub(super) nan: u64,
    least_normal: u64,
    /// 2^fraction and minus `fraction`: make subnormal arguments normal.
    lift: f64,
    lifted: f64,
}

const SINGLE: Format = Format {
    float: DType::F32,
    signed: DType::I32,
    fraction: 23,
    one: 0x3f80_0000,
    sign: 0x8000_0000,
    round: 0x4b40_0000,
    infinity: 0x7f80_0000,
    nan: 0x7fc0_0000,
    least_normal: 0x0080_0000,
    lift: 8_388_608.0,
    lifted: -23.0,
};

pub(super) const DOUBLE: Format = Format {
    float: DType::F64,
    signed: DType::I64,
    fraction: 52,
    one: 0x3ff0_0000_0000_0000,
    sign: 0x8000_0000_0000_0000,
    round: 0x4338_0000_0000_0000,
    infinity: 0x7ff0_0000_0000_0000,
    nan: 0x7ff8_0000_0000_0000,
    least_normal: 0x0010_0000_0000_0000,
    lift: 4_503_599_627_370_496.0,
    lifted: -52.0,
};

/// Chooses between the values for f32 and f64 by x's type.
fn pick<T>(x: Expr<'_>, single: T, double: T) -> T {
    if x.dtype().bits() == 32 { single } else { double }
}

/// The format of x, or of the float as wide as the integer x.
fn format(x: Expr<'_>) -> &'static Format {
    pick(x, &SINGLE, &DOUBLE)
}

/// `c[0] + x c[1] + x² c[2] + …`, innermost first.
fn horner<'r>(x: Expr<'r>, coefficients: &[u64]) -> Expr<'r> {
    let mut terms = coefficients.iter().rev().map(|&bits| x.bits(bits));
    let highest = terms.next().expect("internal error: a polynomial without coefficients");
    terms.fold(highest, |sum, term| sum.fma(x, term))
}

/// The sign bit of x; of a NaN any.
fn sign_of(x: Expr<'_>) -> Expr<'_> {
    let format = format(x);
    let bits = x.bits_any_nan();
    bits & bits.bits(format.sign)
}

/// x with its sign changed where the sign bit `sign` is set.
fn flip<'r>(x: Expr<'r>, sign: Expr<'r>) -> Expr<'r> {
    (x.bits_any_nan() ^ sign).reinterpret(x.dtype())
}

/// `y` times the sign of `x`: for y ≥ 0, y with that sign; y is NaN where x is.
pub(super) fn with_sign_of<'r>(y: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    flip(y, sign_of(x))
}

/// 2^n for n in the low bits of an unsigned integer; n within the normal exponents.
fn power_of_two(n: Expr<'_>) -> Expr<'_> {
    let format = format(n);
    ((n << format.fraction) + n.bits(format.one)).reinterpret(format.float)
}

/// `p · 2^n`, n in the low bits of an unsigned integer, in two halves: results that overflow or are
/// subnormal round once, at the end.
fn scale<'r>(p: Expr<'r>, n: Expr<'r>) -> Expr<'r> {
    // A logical shift will do: what stands above n is dropped by the shift into the exponent field.
    let half = n >> 1;
    p * power_of_two(half) * power_of_two(n - half)
}

/// A subnormal x as a normal number, and what that adds to the exponent.
fn normal(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let format = format(x);
    let subnormal = x.abs().lt(x.bits(format.least_normal));
    let normal = subnormal.select(x * x.constant(format.lift), x);
    (normal, subnormal.select(x.constant(format.lifted), x.constant(0.0)))
}

//! C's fmod in straight-line IR: exact for all finite arguments, as no rounding ever happens.
//!
//! With `x = X·2^d` and `y = Y` in units of y's last bit, the result is `(X·2^d) mod Y`. The quotient
//! has up to 277 bits (f32) or 2098 bits (f64), far more than a float holds, so it is taken off in
//! pieces: each piece q is a rounded quotient, and `s − q·y` is exact with one fma, because it is a
//! multiple of the operands' units and not larger than y. Remainders may be negative on the way.
//!
//! f32 computes in f64 and takes off 47 bits at a time: 40 operations in all, one division. f64 would
//! need 41 such pieces; instead 2^d mod Y comes from 2^(d / 8) by three squarings modulo Y, whose
//! products of 106 bits are pairs of floats: 119 operations in all, 14 of them divisions.
//!
//! Tested against Rust's `%`, bit for bit, in `tests/it/fmod.rs`.

use super::expr::Expr;
use super::math::{DOUBLE, with_sign_of};
use crate::dtype::DType;

/// Remainder of `x / y` with the sign of x.
///
/// fmod(±0, y) = ±0 for y ≠ 0, fmod(x, ±∞) = x for finite x, fmod(x, ±0) = fmod(±∞, y) = NaN.
pub(super) fn fmod<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let (size, divisor) = (x.abs(), y.abs());
    let single = x.dtype() == DType::F32;
    let far = if single { single_remainder(size, divisor) } else { remainder(size, divisor) };
    let far = with_sign_of(far, x);
    // This is also the way of an infinite y.
    size.lt(divisor).select(x, far)
}

/// Bits of the quotient taken off at a time, and how often: 6 · 47 ≥ 128 + 149.
const PIECE: f64 = (1_u64 << 47) as f64;
const PIECES: i32 = 6;

/// For f32 0 ≤ y ≤ x: y's multiples times 2^235, 2^188, .. 1 are subtracted, x being scaled instead of
/// y. An f64 has 29 bits more than s needs, so the quotient's three roundings do no harm. NaN where y
/// is 0 (0 · ∞) or x infinite (∞ − ∞).
fn single_remainder<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let (x, y) = (x.cast(DType::F64), y.cast(DType::F64));
    let minus_inverse = y.constant(-1.0) / y;
    let mut s = x * x.constant(PIECE.powi(1 - PIECES));
    for piece in 0..PIECES {
        if piece > 0 {
            s = s * s.constant(PIECE);
        }
        s = (s * minus_inverse).round().fma(y, s);
    }
    not_negative(s, y).cast(DType::F32)
}

/// Adds y to a remainder −y < s < y if it is negative.
fn not_negative<'r>(s: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    s.lt(s.constant(0.0)).select(s + y, s)
}

/// Squarings modulo Y, each of which doubles the exponent.
const SQUARINGS: u32 = 3;
/// Steps that reduce 2^(2098 >> SQUARINGS): 53 bits each, the last one brings |s| down to Y / 2.
const STEPS: u32 = 5;
/// Exponent field of 2^52, whose unit in the last place is 1.
const UNIT_EXPONENT: u64 = 0x433;

/// For f64 0 ≤ y ≤ x.
fn remainder<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let ((mx, ex), (my, ey)) = (decode(x), decode(y));
    let modulus = Modulus { y: my, minus_y: -my };
    let d = ex - ey;
    let mut power = power_of_two(d >> SQUARINGS);
    for _ in 0..STEPS {
        power = modulus.reduce(power);
    }
    for _ in 0..SQUARINGS {
        power = modulus.reduce(modulus.product(power, power));
    }
    let product = modulus.product(power, modulus.reduce(mx));
    // What is left of d; a product below Y times this power is exact.
    let rest = power_of_two(d & d.bits((1 << SQUARINGS) - 1));
    let r = not_negative(modulus.reduce(product * rest), my);
    // By halves: the power itself may be too small for a float. Exact, as the result is a multiple
    // of the smallest float.
    let exponent = (ey - ey.bits(UNIT_EXPONENT)).reinterpret(DType::I64);
    let half = exponent >> 1;
    let halves = [half, exponent - half].map(|e| power_of_two(e.reinterpret(DType::U64)));
    let r = r * halves[0] * halves[1];
    let valid = x.lt(x.bits(DOUBLE.infinity)) & y.gt(y.constant(0.0));
    valid.select(r, r.bits(DOUBLE.nan))
}

/// A positive float as `m · 2^(e − 1075)`: m a float with 2^52 ≤ m < 2^53, e an u64 (it may wrap).
fn decode(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let subnormal = x.lt(x.bits(1 << 52));
    let normal = subnormal.select(x * x.constant((1_u64 << 52) as f64), x);
    let bits = normal.reinterpret(DType::U64);
    let field = bits >> 52;
    let e = subnormal.select(field - field.bits(52), field);
    let fraction = bits & bits.bits((1 << 52) - 1);
    ((fraction | bits.bits(UNIT_EXPONENT << 52)).reinterpret(DType::F64), e)
}

/// 2^n for an u64 n, which may be a wrapped negative number; garbage beyond the normal exponents.
fn power_of_two(n: Expr<'_>) -> Expr<'_> {
    ((n + n.bits(1023)) << 52).reinterpret(DType::F64)
}

/// Arithmetic modulo an integer 2^52 ≤ Y < 2^53, in floats.
struct Modulus<'r> {
    y: Expr<'r>,
    minus_y: Expr<'r>,
}

impl<'r> Modulus<'r> {
    /// s less a multiple of Y, exact: at most Y (1/2 + 2^-53 |s| / Y), so 53 bits less than before and
    /// finally Y / 2. An s beyond 2^53 must be a multiple of its unit in the last place.
    ///
    /// A true division: an approximate one could take Y off an s just below Y / 2, and that needs one
    /// bit more.
    fn reduce(&self, s: Expr<'r>) -> Expr<'r> {
        (s / self.minus_y).round().fma(self.y, s)
    }

    /// a b less a multiple of Y, for |a|, |b| ≤ (Y + 1) / 2; at most 7/8 Y.
    ///
    /// a b = p + e exactly, with |e| ≤ 2^50. p / Y is below 2^51, so its rounding is at most 1/8, and
    /// p less the multiple at most 5/8 Y: the sum is an integer below 2^53.
    fn product(&self, a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
        let p = a * b;
        let e = a.fma(b, -p);
        self.reduce(p) + e
    }
}

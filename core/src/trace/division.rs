//! Division that rounds down, as Python's `//` and `%`, and common divisors.

use super::expr::Expr;
use super::fmod::fmod;
use super::math::with_sign_of;

/// Remainder of `a / b` with the sign of b.
///
/// Integers: 0 for b = 0. Floats: what [`fmod`] gives, and b added if the signs differ; a zero has b's sign.
pub(super) fn modulo<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    if a.dtype().is_float() {
        return in_wide(a, b, |a, b| {
            let rest = fmod(a, b);
            let zero = a.constant(0);
            let shifted = (rest.lt(zero) ^ b.lt(zero)).select(rest + b, rest);
            rest.eq(zero).select(with_sign_of(zero, b), shifted)
        });
    }
    let rest = a % b;
    if a.dtype().is_signed() { differs(rest, b).select(rest + b, rest) } else { rest }
}

/// `a / b` rounded down.
///
/// Integers: 0 for b = 0, MIN / −1 = MIN. Floats: `(a − mod(a, b)) / b`, rounded to the integer that it is near, as
/// NumPy has it: `floor(a / b)` is one too large where the quotient is rounded up to an integer. For b = 0 it is
/// `a / b`; a zero has the sign of the quotient.
pub(super) fn floor_divide<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    if a.dtype().is_float() {
        return in_wide(a, b, floor_divide_floats);
    }
    let quotient = a.idiv(b);
    if !a.dtype().is_signed() {
        return quotient;
    }
    let one = a.constant(1);
    let below = differs(a - quotient * b, b) & b.neq(a.constant(0));
    below.select(quotient - one, quotient)
}

fn floor_divide_floats<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    let (zero, one) = (a.constant(0), a.constant(1));
    let (rest, plain) = (fmod(a, b), a / b);
    let below = rest.neq(zero) & (rest.lt(zero) ^ b.lt(zero));
    let quotient = (a - rest) / b;
    let quotient = below.select(quotient - one, quotient);
    let floor = quotient.floor();
    let near = (quotient - floor).gt(a.constant(0.5)).select(floor + one, floor);
    let near = quotient.eq(zero).select(with_sign_of(zero, plain), near);
    b.eq(zero).select(plain, near)
}

/// Whether an integer remainder is not 0 and has not the sign of the divisor.
fn differs<'r>(rest: Expr<'r>, divisor: Expr<'r>) -> Expr<'r> {
    let zero = rest.constant(0);
    rest.neq(zero) & (rest ^ divisor).lt(zero)
}

/// f16 by way of f32, which is exact enough: it has more than twice the digits.
fn in_wide<'r>(
    a: Expr<'r>,
    b: Expr<'r>,
    compute: impl Fn(Expr<'r>, Expr<'r>) -> Expr<'r>,
) -> Expr<'r> {
    let own = a.dtype();
    if own.is_half() {
        return compute(a.cast(own.widened()), b.cast(own.widened())).cast(own);
    }
    compute(a, b)
}

/// The greatest common divisor; gcd(0, 0) = 0, and gcd(MIN, 0) = gcd(MIN, MIN) = MIN of signed types.
pub(super) fn gcd<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    common_divisor(magnitude(a), magnitude(b)).reinterpret(a.dtype())
}

/// The least common multiple, which wraps; lcm(x, 0) = 0.
pub(super) fn lcm<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    let (x, y) = (magnitude(a), magnitude(b));
    (x.idiv(common_divisor(x, y)) * y).reinterpret(a.dtype())
}

fn magnitude(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_signed() { x.abs().reinterpret(x.dtype().unsigned()) } else { x }
}

/// J. Stein's binary algorithm on unsigned numbers, in a fixed number of steps of five operations: 63 of them for
/// 64 bits, 31 for 32. Lanes would wait for the one with most steps in a loop too, and a loop is no part of kernels that
/// call functions.
///
/// Of odd u ≠ v a step makes min(u, v) and an odd part of their difference, whose sum is at most half of u + v < 2^65:
/// after `bits − 1` steps they are equal. From there on one is 0 and the other stays, as zeros do from the start.
fn common_divisor<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    // A shift by all bits gives 0.
    let odd = |x: Expr<'r>| x.shr_by(x.tzcnt());
    let (mut u, mut v) = (odd(a), odd(b));
    for _ in 1..a.dtype().bits() {
        (u, v) = (u.min(v), odd(u.max(v) - u.min(v)));
    }
    u.max(v).shl_by((a | b).tzcnt())
}

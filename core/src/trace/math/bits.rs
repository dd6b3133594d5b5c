//! Functions of a few operations on bits: signs, neighbours, rotations.

use crate::trace::expr::Expr;

fn sign_bit(x: Expr<'_>) -> Expr<'_> {
    let bits = x.dtype().unsigned();
    x.reinterpret(bits) & x.constant_of(bits, 1 << (x.dtype().bits() - 1))
}

pub(in crate::trace) fn sign(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_float() {
        let one = copysign(x.constant(1), x);
        return x.neq(x).select(x, one);
    }
    let negative = x.lt(x.constant(0));
    // An unsigned value is never negative, so the all-ones pattern is never chosen there.
    negative.select(!x.constant(0), x.constant(1))
}

/// −1, 0 or 1; NaN stays.
pub(in crate::trace) fn sgn(x: Expr<'_>) -> Expr<'_> {
    let (zero, one) = (x.constant(0), x.constant(1));
    if x.dtype().is_int() && !x.dtype().is_signed() {
        return x.min(one);
    }
    let sign = x.gt(zero).select(one, x.lt(zero).select(x.constant(-1), zero));
    if x.dtype().is_float() { x.neq(x).select(x, sign) } else { sign }
}

pub(in crate::trace) fn copysign<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    let magnitude = a.abs().reinterpret(a.dtype().unsigned());
    (magnitude | sign_bit(b)).reinterpret(a.dtype())
}

pub(in crate::trace) fn mulsign<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    (a.reinterpret(a.dtype().unsigned()) ^ sign_bit(b)).reinterpret(a.dtype())
}

/// Floats of one sign are ordered like their bits: step the bits up if positive, down if negative.
pub(in crate::trace) fn next_float(x: Expr<'_>) -> Expr<'_> {
    let bits = x.reinterpret(x.dtype().unsigned());
    let one = bits.constant(1);
    let stepped = x.gt(x.constant(0)).select(bits + one, bits - one).reinterpret(x.dtype());
    let from_zero = x.bits(1);
    let next = x.eq(x.constant(0)).select(from_zero, stepped);
    let stays = x.neq(x) | x.eq(x.constant(f64::INFINITY));
    stays.select(x, next)
}

/// The float after `a` on the way to `b`; `b`, with its sign, where there is no way.
pub(in crate::trace) fn nextafter<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    let bits = a.reinterpret(a.dtype().unsigned());
    let (zero, one) = (a.constant(0), bits.constant(1));
    let is_away = a.gt(zero).select(a.lt(b), a.gt(b));
    let stepped = is_away.select(bits + one, bits - one);
    let from_zero = one | sign_bit(b);
    let next = a.eq(zero).select(from_zero, stepped).reinterpret(a.dtype());
    let is_there = a.eq(b) | b.neq(b);
    a.neq(a).select(a, is_there.select(b, next))
}

/// Whether the sign is negative; of NaN, whose sign nobody promises, it is not.
pub(in crate::trace) fn has_sign_bit(x: Expr<'_>) -> Expr<'_> {
    let sign = sign_bit(x);
    sign.neq(sign.constant(0)) & x.eq(x)
}

pub(in crate::trace) fn rotate_left<'r>(a: Expr<'r>, count: Expr<'r>) -> Expr<'r> {
    let bits = a.dtype().unsigned();
    let width = a.constant_of(bits, u64::from(a.dtype().bits()));
    let last = a.constant_of(bits, u64::from(a.dtype().bits() - 1));
    let (value, left) = (a.reinterpret(bits), count.reinterpret(bits) & last);
    let right = (width - left) & last;
    (value.shl_by(left) | value.shr_by(right)).reinterpret(a.dtype())
}

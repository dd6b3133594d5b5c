//! Functions of the logistic family, from the exponential function of `−|x|`, which neither overflows nor loses digits.

use super::exponential::{EXP_DOUBLE, EXP_SINGLE, exp, split};
use super::logarithm::{log, log1p};
use super::{pick, scale};
use crate::trace::expr::Expr;

/// `1 / (1 + e^−x)`.
///
/// sigmoid(±0) = 1/2, sigmoid(∞) = 1, sigmoid(−∞) = +0, sigmoid(NaN) = NaN.
pub(in crate::trace) fn sigmoid(x: Expr<'_>) -> Expr<'_> {
    let (e, one) = (exp(-x.abs()), x.constant(1));
    x.lt(x.constant(0)).select(e, one) / (one + e)
}

/// `log(1 + e^−|x|)`, which the logarithms below add to a maximum.
fn excess(size: Expr<'_>) -> Expr<'_> {
    log1p(exp(-size))
}

/// `log(1 / (1 + e^−x))`.
///
/// log_sigmoid(∞) = 0, log_sigmoid(−∞) = −∞, log_sigmoid(NaN) = NaN.
pub(in crate::trace) fn log_sigmoid(x: Expr<'_>) -> Expr<'_> {
    x.minimum(x.constant(0)) - excess(x.abs())
}

/// `log(1 + e^x)`.
///
/// softrelu(∞) = ∞, softrelu(−∞) = +0, softrelu(NaN) = NaN.
pub(in crate::trace) fn softrelu(x: Expr<'_>) -> Expr<'_> {
    x.maximum(x.constant(0)) + excess(x.abs())
}

/// `log(x / (1 − x))`, the inverse of [`sigmoid`]: ±log(1 + t), t the distance from 1 − x over the smaller of both, which has
/// all its digits at 1/2 too.
///
/// logit(±0) = −∞, logit(1/2) = +0, logit(1) = ∞, NaN beyond and for NaN.
pub(in crate::trace) fn logit(x: Expr<'_>) -> Expr<'_> {
    let (half, rest) = (x.constant(0.5), x.constant(1) - x);
    let t = (x + x - x.constant(1)).abs() / x.minimum(rest);
    let y = log1p(t);
    // Over the least numbers the quotient would be infinite.
    let is_least = x.lt(x.constant(1e-30));
    is_least.select(log(x), x.lt(half).select(-y, y))
}

/// `log(e^a + e^b)`.
///
/// Of equal arguments, infinities too, `a + log 2`; logaddexp(x, −∞) = x, logaddexp(x, ∞) = ∞; NaN for NaN.
pub(in crate::trace) fn logaddexp<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    let distance = a.eq(b).select(a.constant(0), (a - b).abs());
    a.maximum(b) + excess(distance)
}

/// `x / (1 + |x|)`, ±1 at ±∞.
pub(in crate::trace) fn softsign(x: Expr<'_>) -> Expr<'_> {
    let (size, one) = (x.abs(), x.constant(1));
    let at_end = super::bits::copysign(one, x);
    size.eq(x.constant(f64::INFINITY)).select(at_end, x / (one + size))
}

/// What products of x and a sigmoid are made of: where x is negative `e^x`, which may be too small for the type where
/// the product is not, stays `p · 2^n` to the end.
struct Gate<'r> {
    negative: Expr<'r>,
    /// x, but no less than where the products are 0.
    x: Expr<'r>,
    p: Expr<'r>,
    n: Expr<'r>,
    /// `e^−|x|`.
    e: Expr<'r>,
}

impl<'r> Gate<'r> {
    fn new(x: Expr<'r>) -> Self {
        let bound = x.constant(pick(x, 120.0, 760.0));
        let (p, n) = split(-x.abs().minimum(bound), pick(x, &EXP_SINGLE, &EXP_DOUBLE));
        let negative = x.lt(x.constant(0));
        Self { negative, x: x.maximum(-bound), p, n, e: scale(p, n) }
    }

    /// `y` times the power of two that `p` lacks, where x is negative.
    fn scaled(&self, y: Expr<'r>) -> Expr<'r> {
        scale(y, self.negative.select(self.n, self.n.bits(0)))
    }
}

/// `x / (1 + e^−x)`.
///
/// silu(±0) = ±0, silu(∞) = ∞, silu(−∞) = −0, silu(NaN) = NaN.
pub(in crate::trace) fn silu(x: Expr<'_>) -> Expr<'_> {
    let gate = Gate::new(x);
    let dividend = gate.negative.select(gate.x * gate.p, gate.x);
    gate.scaled(dividend / (x.constant(1) + gate.e))
}

/// `x tanh(log(1 + e^x))`, whose tanh is `n / (n + 2)` with `n = e^x (e^x + 2)`, for positive x over `e^2x`.
///
/// mish(±0) = ±0, mish(∞) = ∞, mish(−∞) = −0, mish(NaN) = NaN.
pub(in crate::trace) fn mish(x: Expr<'_>) -> Expr<'_> {
    let gate = Gate::new(x);
    let (e, two) = (gate.e, x.constant(2));
    let (above, most) = (e + two, (e + e) + x.constant(1));
    let dividend = gate.negative.select(gate.p * above, most);
    let divisor = gate.negative.select(e.fma(above, two), (e + e).fma(e, most));
    gate.scaled(gate.x * (dividend / divisor))
}

/// `x` from 0 up, below `alpha (e^x − 1)`; NaN stays.
pub(in crate::trace) fn elu<'r>(x: Expr<'r>, alpha: Expr<'r>) -> Expr<'r> {
    x.lt(x.constant(0)).select(alpha * super::expm1(x), x)
}

/// `x alpha + beta`, no less than 0 and no more than 1; NaN stays.
pub(in crate::trace) fn hard_sigmoid<'r>(x: Expr<'r>, alpha: Expr<'r>, beta: Expr<'r>) -> Expr<'r> {
    (x * alpha + beta).maximum(x.constant(0)).minimum(x.constant(1))
}

/// Huber's loss: `(s x)² / 2` where `|x| < 1 / s²`, beyond `|x| − 1 / (2 s²)`.
pub(in crate::trace) fn smooth_l1<'r>(x: Expr<'r>, s: Expr<'r>) -> Expr<'r> {
    let (size, half) = (x.abs(), x.constant(0.5));
    let border = x.constant(1) / (s * s);
    let scaled = s * x;
    size.lt(border).select(half * (scaled * scaled), size - half * border)
}

//! Numbers with twice the digits, for steps whose errors a later one would enlarge.

use crate::trace::expr::Expr;

/// A number as an unevaluated sum of two floats, the second far below the first.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Pair<'r>(pub(in crate::trace) Expr<'r>, pub(in crate::trace) Expr<'r>);

impl<'r> Pair<'r> {
    pub(super) fn of(x: Expr<'r>, [high, low]: [u64; 2]) -> Self {
        Self(x.bits(high), x.bits(low))
    }

    /// `a + b`, where a is 0 or not below b in magnitude (Dekker 1971).
    pub(in crate::trace) fn sum(a: Expr<'r>, b: Self) -> Self {
        let high = a + b.0;
        Self(high, ((a - high) + b.0) + b.1)
    }

    /// `a + b`, whichever is larger (Knuth).
    pub(in crate::trace) fn exact_sum(a: Expr<'r>, b: Expr<'r>) -> Self {
        let high = a + b;
        let of_b = high - a;
        Self(high, (a - (high - of_b)) + (b - of_b))
    }

    /// `self + b`, whichever is larger.
    pub(in crate::trace) fn plus(self, b: Self) -> Self {
        let sum = Self::exact_sum(self.0, b.0);
        // What cancels leaves a rest that belongs to the first part.
        let rest = sum.1 + (self.1 + b.1);
        let high = sum.0 + rest;
        Self(high, (sum.0 - high) + rest)
    }

    pub(in crate::trace) fn product(a: Self, b: Self) -> Self {
        let high = a.0 * b.0;
        Self(high, a.0.fma(b.0, -high) + a.0.fma(b.1, a.1 * b.0))
    }

    pub(in crate::trace) fn times(self, b: Expr<'r>) -> Self {
        let high = self.0 * b;
        Self(high, self.1.fma(b, self.0.fma(b, -high)))
    }

    pub(in crate::trace) fn negated(self) -> Self {
        Self(-self.0, -self.1)
    }

    /// `condition ? self : other`.
    pub(in crate::trace) fn where_or(self, condition: Expr<'r>, other: Self) -> Self {
        Self(condition.select(self.0, other.0), condition.select(self.1, other.1))
    }
}

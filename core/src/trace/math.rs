//! Elementary functions in our own IR.

use super::expr::Expr;

/// placeholder until the port lands
pub(super) fn exp(x: Expr<'_>) -> Expr<'_> {
    x
}

//! What recipes make of the entries of vectors.

use crate::trace::expr::Expr;

/// Functions of real numbers: those of the table, so that derivatives find them.
pub(super) mod real {
    use crate::trace::expr::Expr;

    macro_rules! functions {
        ($($name:ident),*; $($of_two:ident),*) => {
            $(pub(crate) fn $name(x: Expr<'_>) -> Expr<'_> {
                x.call(stringify!($name), &[])
            })*
            $(pub(crate) fn $of_two<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
                x.call(stringify!($of_two), &[y])
            })*
        };
    }
    functions!(asin, asinh, cos, cosh, exp, exp10, exp2, expm1, log, log1p, sin, sinh, tanh; atan2, hypot, mulsign);
}

/// `a[0] * b[0] + a[1] * b[1] + …`, from left to right.
pub(super) fn dot<'r>(a: &[Expr<'r>], b: &[Expr<'r>]) -> Expr<'r> {
    let products = a.iter().zip(b).map(|(&a, &b)| a * b);
    products
        .reduce(|sum, product| sum + product)
        .expect("internal error: a vector without components")
}

/// Every entry of `v` times `factor`.
pub(super) fn scaled<'r>(v: &[Expr<'r>], factor: Expr<'r>) -> Vec<Expr<'r>> {
    v.iter().map(|&entry| entry * factor).collect()
}

/// Every entry of `v` divided by `divisor`.
pub(super) fn divided<'r>(v: &[Expr<'r>], divisor: Expr<'r>) -> Vec<Expr<'r>> {
    v.iter().map(|&entry| entry / divisor).collect()
}

/// Its derivative at 0 is 0, as that of `abs` is.
pub(super) fn norm<'r>(v: &[Expr<'r>]) -> Expr<'r> {
    let squared = dot(v, v);
    let root = squared.sqrt();
    if root.is_differentiated() {
        let zero = squared.constant(0);
        return squared.eq(zero).select(zero, root);
    }
    root
}

pub(super) fn cross<'r>(a: &[Expr<'r>], b: &[Expr<'r>]) -> Vec<Expr<'r>> {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| a[i] * b[j] - a[j] * b[i]).to_vec()
}

//! Special functions in our own IR, as the elementary ones in `math`: straight-line, without tables.
//!
//! The polynomials are fits of least relative error by `tests/accuracy/fit.py`; the names of its fits
//! are those of the constants here. Measured errors stand in `docs/accuracy.md`.

mod bessel;
mod carlson;
mod colour;
mod dawson;
mod digamma;
mod dual;
mod elliptic;
mod entropy;
mod error;
mod gamma;
mod incomplete_beta;
mod incomplete_gamma;
mod inverse_error;
mod oscillating;

pub(super) use bessel::{i0, i0e, i0e_slope, i1, i1_slope, i1e, i1e_slope};
pub(super) use colour::{linear_to_srgb, srgb_to_linear};
pub(super) use dawson::{dawson, dawson_slope};
pub(super) use digamma::{digamma, trigamma, trigamma_slope};
pub(super) use elliptic::{
    comp_ellint_1, comp_ellint_2, comp_ellint_3, ellint_1, ellint_2, ellint_3, slopes_of_third,
    squares_of_sine,
};
pub(super) use entropy::{entr, xlogy};
pub(super) use error::{erf, erfc, gelu_erf, norm_cdf};
pub(super) use gamma::{lgamma, tgamma};
pub(super) use incomplete_beta::{beta, betainc, betaln};
pub(super) use incomplete_gamma::{gammainc, gammaincc};
pub(super) use inverse_error::{erfcinv, erfinv, norm_ppf};
pub(super) use oscillating::{j0, j1, j1_slope, y0, y1, y1_slope};

use super::expr::Expr;
use crate::dtype::DType;

fn is_single(x: Expr<'_>) -> bool {
    x.dtype() == DType::F32
}

/// A polynomial fitted for each type: bit patterns, the constant term first.
struct Fit {
    single: &'static [u64],
    double: &'static [u64],
}

impl Fit {
    /// The value at `x`.
    fn at<'r>(&self, x: Expr<'r>) -> Expr<'r> {
        horner(x, if is_single(x) { self.single } else { self.double }, Expr::bits)
    }

    /// The value at `x`, and what its last step lost in rounding.
    fn at_exactly<'r>(&self, x: Expr<'r>) -> (Expr<'r>, Expr<'r>) {
        let (first, slope) = if is_single(x) {
            (self.single[0], horner(x, &self.single[1..], Expr::bits))
        } else {
            (self.double[0], horner(x, &self.double[1..], Expr::bits))
        };
        let first = x.bits(first);
        let value = slope.fma(x, first);
        (value, slope.fma(x, first - value))
    }
}

/// `c[0] + x c[1] + x² c[2] + …`, innermost first.
fn horner<'r, T: Copy>(
    x: Expr<'r>,
    coefficients: &[T],
    constant: impl Fn(Expr<'r>, T) -> Expr<'r>,
) -> Expr<'r> {
    let (&highest, others) =
        coefficients.split_last().expect("internal error: a polynomial without coefficients");
    let highest = constant(x, highest);
    others.iter().rev().fold(highest, |sum, &c| sum.fma(x, constant(x, c)))
}

/// The value with its sign flipped where `condition` holds.
fn negate_if<'r>(condition: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    condition.select(-x, x)
}

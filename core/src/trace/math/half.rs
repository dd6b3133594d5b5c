//! Functions of f16, computed in f32 and rounded once: of what f32 needs, half is enough. At most 0.51 ulp
//! of f16, for every argument.

use super::exponential::within;
use super::{SINGLE, horner, power_of_two};
use crate::trace::expr::Expr;

/// A function's operations.
type Recipe = for<'r> fn(&[Expr<'r>]) -> Expr<'r>;

/// What a function does with f16 arguments, which come as f32, if that is less than with others.
pub(in crate::trace) fn short(name: &str) -> Option<Recipe> {
    match name {
        "exp" => Some(|x| exp(x[0])),
        "exp2" => Some(|x| exp2(x[0])),
        "tanh" => Some(|x| tanh(x[0])),
        _ => None,
    }
}

/// `2^r`, |r| ≤ 1/2, to 2.6e-6.
const EXP2: [u64; 5] = [0x3f7f_fff4, 0x3f31_706e, 0x3e76_036d, 0x3d65_0a21, 0x3c1c_cbeb];

/// `2^x`, by a polynomial of degree 4.
fn exp2(x: Expr<'_>) -> Expr<'_> {
    // Beyond, 0 and infinity after rounding.
    let x = within(x, [-26.0, 17.0]);
    let shifted = x + x.bits(SINGLE.round);
    let r = x - (shifted - x.bits(SINGLE.round));
    horner(r, &EXP2) * power_of_two(shifted.raw_bits())
}

/// `e^x = 2^(x log2 e)`.
fn exp(x: Expr<'_>) -> Expr<'_> {
    exp2(x * x.constant(std::f64::consts::LOG2_E))
}

/// `tanh x / x` in x², |x| ≤ 4.6, to 1.1e-6: numerator and denominator.
const TANH: [&[u64]; 2] = [
    &[0x3f7f_ffee, 0x3df0_2bcd, 0x3adc_e269],
    &[0x3f80_0000, 0x3ee6_b465, 0x3c98_12ca, 0x388e_5eaa],
];

/// `tanh x` by a quotient of polynomials. Beyond 4.6 it rounds to ±1; −0 stays.
fn tanh(x: Expr<'_>) -> Expr<'_> {
    let x = within(x, [-4.6, 4.6]);
    let square = x * x;
    let [numerator, denominator] = TANH.map(|polynomial| horner(square, polynomial));
    x * numerator.tame_div(denominator)
}

//! Functions of f16, computed in f32 and rounded once: of what f32 needs, half is enough. At most 0.51 ulp
//! of f16, for every argument.

use super::exponential::within;
use super::logarithm::{TWO_THIRDS, as_number, at_borders, split_normal};
use super::{SINGLE, flip, horner, power_of_two};
use crate::trace::expr::Expr;

/// `2^r`, |r| ≤ 1/2, to 2.6e-6.
const EXP2: [u64; 5] = [0x3f7f_fff4, 0x3f31_706e, 0x3e76_036d, 0x3d65_0a21, 0x3c1c_cbeb];

/// `2^x`, by a polynomial of degree 4.
pub(in crate::trace) fn exp2(x: Expr<'_>) -> Expr<'_> {
    // Beyond, 0 and infinity after rounding.
    let x = within(x, [-26.0, 17.0]);
    let shifted = x + x.bits(SINGLE.round);
    let r = x - (shifted - x.bits(SINGLE.round));
    horner(r, &EXP2) * power_of_two(shifted.bits_any_nan())
}

/// `e^x = 2^(x log2 e)`.
pub(in crate::trace) fn exp(x: Expr<'_>) -> Expr<'_> {
    exp2(x * x.constant(std::f64::consts::LOG2_E))
}

/// `10^x = 2^(x log2 10)`.
pub(in crate::trace) fn exp10(x: Expr<'_>) -> Expr<'_> {
    exp2(x * x.constant(std::f64::consts::LOG2_10))
}

/// Constants of the logarithm to some base.
struct Logarithm {
    /// The logarithm of 2, times 2^-23.
    octave: u64,
    /// The logarithm of 1 + f divided by f, |f| ≤ 1/3, to 1.1e-6.
    polynomial: [u64; 7],
}

const LOG: Logarithm = Logarithm {
    octave: 0x33b1_7218,
    polynomial: [
        0x3f7f_fffe,
        0xbf00_0175,
        0x3eaa_b030,
        0xbe7e_6256,
        0x3e4a_cc61,
        0xbe46_b314,
        0x3e2e_a9bb,
    ],
};

const LOG2: Logarithm = Logarithm {
    octave: 0x3400_0000,
    polynomial: [
        0x3fb8_aa39,
        0xbf38_ac51,
        0x3ef6_40bc,
        0xbeb7_80c2,
        0x3e92_4407,
        0xbe8f_4f10,
        0x3e7c_28c2,
    ],
};

const LOG10: Logarithm = Logarithm {
    octave: 0x331a_209b,
    polynomial: [
        0x3ede_5bd7,
        0xbe5e_5e5f,
        0x3e14_41ff,
        0xbddc_f4e7,
        0x3db0_26e5,
        0xbdac_944a,
        0x3d97_b1b9,
    ],
};

pub(in crate::trace) fn log(x: Expr<'_>) -> Expr<'_> {
    logarithm(x, &LOG)
}

pub(in crate::trace) fn log2(x: Expr<'_>) -> Expr<'_> {
    logarithm(x, &LOG2)
}

pub(in crate::trace) fn log10(x: Expr<'_>) -> Expr<'_> {
    logarithm(x, &LOG10)
}

/// A logarithm by a polynomial of degree 6. No f16 is subnormal in f32.
fn logarithm<'r>(x: Expr<'r>, constants: &Logarithm) -> Expr<'r> {
    let (exponent, f) = split_normal(x, TWO_THIRDS);
    let octaves = as_number(exponent, &SINGLE);
    let near = horner(f, &constants.polynomial) * f;
    at_borders(x, octaves.fma(x.bits(constants.octave), near))
}

/// −π in two parts of the same sign: the sine of −0 keeps its sign.
const MINUS_PI: [u64; 2] = [0xc049_0fda, 0xb422_2169];
/// `sin r / r` in r², |r| ≤ π/2, to 9.6e-7.
const SIN: [u64; 4] = [0x3f7f_fff0, 0xbe2a_a7bc, 0x3c08_2e68, 0xb941_d912];

/// `sin x = (−1)^n sin(x − n π)`. An f16 has at most 2^15 half turns and is no nearer than 10^-5 to any of them.
pub(in crate::trace) fn sin(x: Expr<'_>) -> Expr<'_> {
    let round = x.bits(SINGLE.round);
    let count = x.fma(x.constant(std::f64::consts::FRAC_1_PI), round);
    alternating_sin(x, count - round, count)
}

/// `cos x = (−1)^n sin(x − (n − 1/2) π)`.
pub(in crate::trace) fn cos(x: Expr<'_>) -> Expr<'_> {
    let (round, half) = (x.bits(SINGLE.round), x.constant(0.5));
    let count = x.fma(x.constant(std::f64::consts::FRAC_1_PI), half) + round;
    alternating_sin(x, (count - round) - half, count)
}

/// `(−1)^n sin(x − turns π)`, n in the lowest bit of `count`'s fraction.
fn alternating_sin<'r>(x: Expr<'r>, turns: Expr<'r>, count: Expr<'r>) -> Expr<'r> {
    let [high, low] = MINUS_PI.map(|part| x.bits(part));
    let r = turns.fma(low, turns.fma(high, x));
    flip(horner(r * r, &SIN) * r, count.bits_any_nan() << 31)
}

/// `tanh x / x` in x², |x| ≤ 4.6, to 1.1e-6: numerator and denominator.
const TANH: [&[u64]; 2] = [
    &[0x3f7f_ffee, 0x3df0_2bcd, 0x3adc_e269],
    &[0x3f80_0000, 0x3ee6_b465, 0x3c98_12ca, 0x388e_5eaa],
];

/// `tanh x` by a quotient of polynomials. Beyond 4.6 it rounds to ±1; −0 stays.
pub(in crate::trace) fn tanh(x: Expr<'_>) -> Expr<'_> {
    let x = within(x, [-4.6, 4.6]);
    let square = x * x;
    let [numerator, denominator] = TANH.map(|polynomial| horner(square, polynomial));
    x * numerator.bounded_div(denominator)
}

//! Logarithms: `x = 2^k (1 + f)`, then a polynomial in f. 31 to 35 operations in f32, 44 to 46 in f64.

use super::{Format, format, horner, normal, pick};
use crate::trace::expr::Expr;

/// Polynomials for `(log(1+f) − f) / f²`, |f| ≤ 1/3, split by parity.
struct Logarithm {
    /// Bits of 2/3: fractions become 2/3 ≤ m < 4/3.
    split: u64,
    ln2: [u64; 2],
    even: &'static [u64],
    odd: &'static [u64],
}

/// 2/3 in f32.
pub(super) const TWO_THIRDS: u64 = 0x3f2a_aaab;

const LOG_SINGLE: Logarithm = Logarithm {
    split: TWO_THIRDS,
    ln2: [0x3f31_7218, 0],
    even: &[0xbf00_0000, 0xbe7f_ffb5, 0xbe2a_c428, 0xbdfa_b107, 0xbe01_8285],
    odd: &[0x3eaa_aa80, 0x3e4c_e935, 0x3e0f_5c51, 0x3e0f_7412],
};

const LOG_DOUBLE: Logarithm = Logarithm {
    split: 0x3fe5_5555_5555_5555,
    ln2: [0x3fe6_2e42_fefa_39ef, 0x3c7a_bc9e_3b39_803f],
    even: &[
        0xbfdf_ffff_ffff_fff8,
        0xbfd0_0000_0000_14de,
        0xbfc5_5555_5535_935e,
        0xbfc0_0000_0b07_575b,
        0xbfb9_9995_67fc_b301,
        0xbfb5_55cf_7ad9_c229,
        0xbfb2_407c_e44b_0cad,
        0xbfb0_621a_f764_b142,
        0xbfa7_3986_ab76_c3ec,
        0xbfb6_40ba_30a1_a60f,
    ],
    odd: &[
        0x3fd5_5555_5555_554f,
        0x3fc9_9999_9999_be21,
        0x3fc2_4924_922c_4fa6,
        0x3fbc_71c7_30d8_3565,
        0x3fb7_45cd_8855_a2f0,
        0x3fb3_b1ae_259e_da35,
        0x3fb1_08de_f094_e881,
        0x3fae_d8a0_9bc3_44be,
        0x3fa5_f8ac_4a45_4f28,
        0x3fb5_38b1_8b2f_844d,
    ],
};

fn constants(x: Expr<'_>) -> &'static Logarithm {
    pick(x, &LOG_SINGLE, &LOG_DOUBLE)
}

/// `log x`, as `k ln 2 + f + f² p(f)` with `x = 2^k (1 + f)`, p of degree 8 (f32) or 19 (f64).
///
/// At most 0.99 ulp (f32) and 0.99 ulp (f64). The split at 2/3 by integer subtraction
/// is that of N. Juffa's logf; a polynomial in f itself avoids fdlibm's division `f / (2 + f)`.
/// log(1) = +0, log(±0) = −∞, log(x < 0) = NaN, log(∞) = ∞, log(NaN) = NaN.
pub(in crate::trace) fn log(x: Expr<'_>) -> Expr<'_> {
    let (k, f) = split(x, constants(x).split);
    at_borders(x, natural(k, f))
}

/// Parts of log2 e and log10 e.
const LOG2_E: [[u64; 2]; 2] =
    [[0x3fb8_aa3b, 0x32a5_7060], [0x3ff7_1547_652b_82fe, 0x3c77_77d0_ffda_0d24]];
const LOG10_E: [[u64; 2]; 2] =
    [[0x3ede_5bd9, 0xb22d_91af], [0x3fdb_cb7b_1526_e50e, 0x3c69_5355_baaa_fad3]];
/// Parts of log10 2.
const LOG10_2: [[u64; 2]; 2] =
    [[0x3e9a_209b, 0xb276_0860], [0x3fd3_4413_509f_79ff, 0xbc49_dc1d_a994_fd21]];

/// `log2 x`, exact for powers of two; method as [`log`].
///
/// At most 1.65 ulp (f32) and 1.58 ulp (f64). Special values as [`log`].
pub(in crate::trace) fn log2(x: Expr<'_>) -> Expr<'_> {
    let (k, f) = split(x, constants(x).split);
    let [high, low] = parts(x, LOG2_E);
    let y = f.fma(high, beyond_first_order(f).fma(high, f * low)) + k;
    at_borders(x, y)
}

/// `log10 x`; method as [`log`].
///
/// At most 0.99 ulp (f32) and 1.21 ulp (f64). Special values as [`log`].
pub(in crate::trace) fn log10(x: Expr<'_>) -> Expr<'_> {
    let (k, f) = split(x, constants(x).split);
    let [high, low] = parts(x, LOG10_E);
    let [octave, octave_low] = parts(x, LOG10_2);
    let rest = k.fma(octave_low, beyond_first_order(f).fma(high, f * low));
    at_borders(x, k.fma(octave, f.fma(high, rest)))
}

fn parts(x: Expr<'_>, [single, double]: [[u64; 2]; 2]) -> [Expr<'_>; 2] {
    pick(x, single, double).map(|bits| x.bits(bits))
}

/// `log(1 + x)`; tiny x stay.
///
/// At most 1.67 ulp (f32) and 1.68 ulp (f64).
/// log1p(±0) = ±0, log1p(−1) = −∞, log1p(x < −1) = NaN, log1p(∞) = ∞, log1p(NaN) = NaN.
pub(in crate::trace) fn log1p(x: Expr<'_>) -> Expr<'_> {
    let (k, f) = split_one_plus(x);
    let y = at_borders(x + x.constant(1.0), natural(k, f));
    // -0 stays.
    x.eq(x.constant(0.0)).select(x, y)
}

/// `k ln 2 + log(1 + f)`.
pub(super) fn natural<'r>(k: Expr<'r>, f: Expr<'r>) -> Expr<'r> {
    let [high, low] = constants(f).ln2.map(|part| f.bits(part));
    let square = f * f;
    // ln 2 rounded to f32 is good to 2^-28: no second part is needed there.
    let p = polynomial(f, square);
    let near = if pick(f, true, false) { p.fma(square, f) } else { k.fma(low, p * square) + f };
    k.fma(high, near)
}

/// `log(1 + f) − f`.
fn beyond_first_order(f: Expr<'_>) -> Expr<'_> {
    let square = f * f;
    polynomial(f, square) * square
}

fn polynomial<'r>(f: Expr<'r>, square: Expr<'r>) -> Expr<'r> {
    let constants = constants(f);
    horner(square, constants.odd).fma(f, horner(square, constants.even))
}

/// A logarithm's values at 0, below 0, at ∞ and at NaN.
pub(super) fn at_borders<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let format = format(x);
    let (zero, infinity) = (x.constant(0.0), x.bits(format.infinity));
    let y = x.eq(infinity).select(infinity, y);
    // Also NaN fails this comparison.
    let y = x.ge(zero).select(y, x.bits(format.nan));
    x.eq(zero).select(x.bits(format.infinity | format.sign), y)
}

/// The exponent k that brings `2^-k x` into [split, 2 split), in its field.
fn exponent_of<'r>(bits: Expr<'r>, split: u64, format: &Format) -> Expr<'r> {
    (bits - bits.bits(split)) & bits.bits(format.infinity | format.sign)
}

/// The exponent in its field as a float times 2^fraction: the conversion is exact.
pub(super) fn as_number<'r>(exponent: Expr<'r>, format: &Format) -> Expr<'r> {
    exponent.reinterpret(format.signed).cast(format.float)
}

/// `x = 2^k (1 + f)` for positive normal x, as k in the exponent's field, and f; split ≤ 1 + f < 2 split.
pub(super) fn split_normal(x: Expr<'_>, split: u64) -> (Expr<'_>, Expr<'_>) {
    let (bits, format) = (x.bits_any_nan(), format(x));
    let exponent = exponent_of(bits, split, format);
    let f = (bits - exponent).reinterpret(x.dtype()) - x.bits(format.one);
    (exponent, f)
}

/// `x = 2^k (1 + f)` for positive finite x, as (k, f), with split ≤ 1 + f < 2 split.
pub(super) fn split(x: Expr<'_>, split: u64) -> (Expr<'_>, Expr<'_>) {
    let format = format(x);
    let (normal, lifted) = normal(x);
    let (exponent, f) = split_normal(normal, split);
    (as_number(exponent, format).fma(x.constant(1.0 / format.lift), lifted), f)
}

/// `1 + x = 2^k (1 + f)` for x > −1, as (k, f), |f| ≤ 1/3 but for rounding: `f = 2^-k x − (1 − 2^-k)`
/// loses nothing that counts. The method is that of N. Juffa's log1pf.
pub(super) fn split_one_plus(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let format = format(x);
    let one = x.constant(1.0);
    let exponent = exponent_of((x + one).bits_any_nan(), constants(x).split, format);
    let scaled = (x.bits_any_nan() - exponent).reinterpret(x.dtype());
    // 4 · 2^-k is normal for the largest k too.
    let four = exponent.bits(format.one + (2 << format.fraction));
    let power = (four - exponent).reinterpret(x.dtype());
    let f = scaled - power.fma(x.constant(-0.25), one);
    (as_number(exponent, format) * x.constant(1.0 / format.lift), f)
}

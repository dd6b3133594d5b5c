//! Elementary functions in our own IR: straight-line sequences of exact operations.
//!
//! Every backend executes exactly these operations, so a function has the same bits everywhere.
//! There are no branches: where the method differs between ranges, both results are computed and
//! selected. The polynomials are our own fits of least relative error (in 220-bit arithmetic,
//! rounded coefficient by coefficient, lowest first, the others fitted again), as bit patterns.
//! Errors are measured: f32 over all 2^32 inputs, f64 over about two million points per function,
//! hard cases among them, against MPFR.

use super::expr::Expr;
use crate::dtype::DType;

/// What the functions need to know of a float type.
pub(super) struct Format {
    /// The unsigned and signed integers of the same width.
    unsigned: DType,
    signed: DType,
    /// Bits of the fraction.
    fraction: u32,
    /// 1.0; as an integer, the exponent bias in place.
    one: u64,
    sign: u64,
    /// 1.5 · 2^fraction: adding it rounds to an integer, which then stands in the low bits.
    round: u64,
    pub(super) infinity: u64,
    pub(super) nan: u64,
}

pub(super) const SINGLE: Format = Format {
    unsigned: DType::U32,
    signed: DType::I32,
    fraction: 23,
    one: 0x3f80_0000,
    sign: 0x8000_0000,
    round: 0x4b40_0000,
    infinity: 0x7f80_0000,
    nan: 0x7fc0_0000,
};

pub(super) const DOUBLE: Format = Format {
    unsigned: DType::U64,
    signed: DType::I64,
    fraction: 52,
    one: 0x3ff0_0000_0000_0000,
    sign: 0x8000_0000_0000_0000,
    round: 0x4338_0000_0000_0000,
    infinity: 0x7ff0_0000_0000_0000,
    nan: 0x7ff8_0000_0000_0000,
};

fn is_single(x: Expr<'_>) -> bool {
    x.dtype() == DType::F32
}

/// `c[0] + x c[1] + x² c[2] + …`, innermost first.
fn horner<'r>(x: Expr<'r>, coefficients: &[u64]) -> Expr<'r> {
    let mut terms = coefficients.iter().rev().map(|&bits| x.bits(bits));
    let highest = terms.next().expect("internal error: a polynomial without coefficients");
    terms.fold(highest, |sum, term| sum.fma(x, term))
}

/// `magnitude` (not negative) with the sign of `x`; both floats.
pub(super) fn with_sign_of<'r>(magnitude: Expr<'r>, x: Expr<'r>, format: &Format) -> Expr<'r> {
    let bits = x.reinterpret(format.unsigned);
    let sign = bits & bits.bits(format.sign);
    (magnitude.reinterpret(format.unsigned) ^ sign).reinterpret(x.dtype())
}

// ---- exp ----

/// Constants of `e^(scale·x)`.
struct Exponential {
    /// scale / ln 2.
    per_octave: u64,
    /// −ln 2 / scale in two parts.
    minus_octave: [u64; 2],
    /// Polynomial for `e^(scale·r)`, |scale·r| ≤ ln 2 / 2.
    polynomial: &'static [u64],
}

const EXP_SINGLE: Exponential = Exponential {
    per_octave: 0x3fb8_aa3b,
    minus_octave: [0xbf31_7218, 0x3102_e308],
    polynomial: &[
        0x3f80_0000,
        0x3f80_0000,
        0x3eff_fffc,
        0x3e2a_aa47,
        0x3d2a_adcd,
        0x3c09_1df8,
        0x3ab4_27f2,
    ],
};

const EXP_DOUBLE: Exponential = Exponential {
    per_octave: 0x3ff7_1547_652b_82fe,
    minus_octave: [0xbfe6_2e42_fefa_39ef, 0xbc7a_bc9e_3b39_803f],
    polynomial: &[
        0x3ff0_0000_0000_0000,
        0x3ff0_0000_0000_0000,
        0x3fe0_0000_0000_000c,
        0x3fc5_5555_5555_5515,
        0x3fa5_5555_5554_fe40,
        0x3f81_1111_1112_119b,
        0x3f56_c16c_185f_760f,
        0x3f2a_01a0_14db_c99e,
        0x3efa_0199_5e46_0d9d,
        0x3ec7_1ded_720e_da62,
        0x3e92_8b0d_4566_b2bb,
        0x3e5a_dfa4_5d22_1166,
    ],
};

/// `e^(scale·x) = p · 2^n`: p, and n in the low bits of an unsigned integer (above them: bits that
/// a shift into the exponent field drops). Cody–Waite: r = x − n ln 2 / scale, in two steps.
fn split_exponential<'r>(
    x: Expr<'r>,
    constants: &Exponential,
    format: &Format,
) -> (Expr<'r>, Expr<'r>) {
    let shifted = x.fma(x.bits(constants.per_octave), x.bits(format.round));
    let n = shifted - x.bits(format.round);
    let [high, low] = constants.minus_octave;
    let r = n.fma(x.bits(low), n.fma(x.bits(high), x));
    (horner(r, constants.polynomial), shifted.reinterpret(format.unsigned))
}

/// 2^n for n in the low bits of an unsigned integer; n within the normal exponents.
fn power_of_two<'r>(n: Expr<'r>, float: DType, format: &Format) -> Expr<'r> {
    ((n << format.fraction) + n.bits(format.one)).reinterpret(float)
}

/// `e^x`, as `2^n · p(r)` with `x = n ln 2 + r`, p of degree 6 (f32) or 11 (f64).
///
/// At most 0.90 ulp (f32) and 0.88 ulp (f64). Method: Cody & Waite 1980; rounding by adding a large
/// number as in ARM's optimized routines. 2^n is applied in two halves, so that results that
/// overflow or are subnormal round once, at the end.
/// exp(±0) = 1, exp(∞) = ∞, exp(−∞) = +0, exp(NaN) = NaN.
pub(super) fn exp(x: Expr<'_>) -> Expr<'_> {
    let (constants, format, [least, most]) = if is_single(x) {
        (&EXP_SINGLE, &SINGLE, [-104.0, 89.0])
    } else {
        (&EXP_DOUBLE, &DOUBLE, [-746.0, 710.0])
    };
    // A NaN stays.
    let x = x.minimum(x.constant(most)).maximum(x.constant(least));
    let (p, n) = split_exponential(x, constants, format);
    // A logical shift will do: the rounding constant above n keeps the whole positive.
    let half = n >> 1;
    let rest = n - half;
    p * power_of_two(half, x.dtype(), format) * power_of_two(rest, x.dtype(), format)
}

// ---- log ----

/// Constants of `log`; polynomials for `(log(1+f) − f) / f²`, |f| ≤ 1/3, split by parity.
struct Logarithm {
    least_normal: u64,
    /// 2^(number of fraction bits) and minus that number: make subnormal arguments normal.
    lift: f64,
    lifted: f64,
    /// Bits of 2/3: fractions become 2/3 ≤ m < 4/3.
    split: u64,
    exponent_field: u64,
    /// 2^−fraction: undoes the position of the exponent field.
    unit: u64,
    ln2: [u64; 2],
    even: &'static [u64],
    odd: &'static [u64],
}

const LOG_SINGLE: Logarithm = Logarithm {
    least_normal: 0x0080_0000,
    lift: 8_388_608.0,
    lifted: -23.0,
    split: 0x3f2a_aaab,
    exponent_field: 0xff80_0000,
    unit: 0x3400_0000,
    ln2: [0x3f31_7218, 0],
    even: &[0xbf00_0000, 0xbe7f_ffb5, 0xbe2a_c428, 0xbdfa_b107, 0xbe01_8285],
    odd: &[0x3eaa_aa80, 0x3e4c_e935, 0x3e0f_5c51, 0x3e0f_7412],
};

const LOG_DOUBLE: Logarithm = Logarithm {
    least_normal: 0x0010_0000_0000_0000,
    lift: 4_503_599_627_370_496.0,
    lifted: -52.0,
    split: 0x3fe5_5555_5555_5555,
    exponent_field: 0xfff0_0000_0000_0000,
    unit: 0x3cb0_0000_0000_0000,
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

/// `log x`, as `k ln 2 + f + f² p(f)` with `x = 2^k (1 + f)`, p of degree 8 (f32) or 19 (f64).
///
/// At most 0.99 ulp (f32) and 0.99 ulp (f64). The split at 2/3 by integer subtraction
/// is that of N. Juffa's logf; a polynomial in f itself avoids fdlibm's division `f / (2 + f)`.
/// log(1) = +0, log(±0) = −∞, log(x < 0) = NaN, log(∞) = ∞, log(NaN) = NaN.
pub(super) fn log(x: Expr<'_>) -> Expr<'_> {
    let (constants, format) =
        if is_single(x) { (&LOG_SINGLE, &SINGLE) } else { (&LOG_DOUBLE, &DOUBLE) };
    let (k, f) = split_logarithm(x, constants, format);
    let square = f * f;
    let p = horner(square, constants.odd).fma(f, horner(square, constants.even));
    let [high, low] = constants.ln2.map(|part| x.bits(part));
    // ln 2 rounded to f32 is good to 2^-28: no second part is needed there.
    let near = if is_single(x) { p.fma(square, f) } else { k.fma(low, p * square) + f };
    let y = k.fma(high, near);
    let (zero, infinity) = (x.constant(0.0), x.bits(format.infinity));
    let y = x.equals(infinity).select(infinity, y);
    // Also NaN fails this comparison.
    let y = x.ge(zero).select(y, x.bits(format.nan));
    x.equals(zero).select(x.bits(format.infinity | format.sign), y)
}

/// `x = 2^k (1 + f)` for positive finite x, as (k, f).
fn split_logarithm<'r>(
    x: Expr<'r>,
    constants: &Logarithm,
    format: &Format,
) -> (Expr<'r>, Expr<'r>) {
    let subnormal = x.lt(x.bits(constants.least_normal));
    let normal = subnormal.select(x * x.constant(constants.lift), x);
    let lifted = subnormal.select(x.constant(constants.lifted), x.constant(0.0));
    let bits = normal.reinterpret(format.unsigned);
    let exponent = (bits - bits.bits(constants.split)) & bits.bits(constants.exponent_field);
    let f = (bits - exponent).reinterpret(x.dtype()) - x.bits(format.one);
    // The exponent stays in its field: the conversion is exact and the fma shifts it down.
    let k = exponent.reinterpret(format.signed).cast(x.dtype());
    (k.fma(x.bits(constants.unit), lifted), f)
}

// ---- sin and cos ----

/// `sin x`.
///
/// At most 0.66 ulp over all of f32. f64: at most 0.77 ulp for |x| ≤ 2^30 and 1.18 ulp
/// beyond, worst near multiples of π/2. See [`turns`] for f32 and [`reduce`] for f64.
/// sin(±0) = ±0, sin(±∞) = NaN, sin(NaN) = NaN.
pub(super) fn sin(x: Expr<'_>) -> Expr<'_> {
    if is_single(x) {
        return sin_single(x);
    }
    let (quadrant, r, rest) = reduce(x.abs());
    let (sine, cosine) = kernel(r, rest);
    let odd = (quadrant & quadrant.bits(1)).differs(quadrant.bits(0));
    let y = odd.select(cosine, sine).reinterpret(DType::U64);
    let negative = (quadrant >> 1) << 63;
    with_sign_of((y ^ negative).reinterpret(DType::F64), x, &DOUBLE)
}

/// `cos x`; accuracy and method as [`sin`]. cos(±0) = 1, cos(±∞) = NaN, cos(NaN) = NaN.
pub(super) fn cos(x: Expr<'_>) -> Expr<'_> {
    if is_single(x) {
        return cos_single(x);
    }
    let (quadrant, r, rest) = reduce(x.abs());
    let (sine, cosine) = kernel(r, rest);
    let odd = (quadrant & quadrant.bits(1)).differs(quadrant.bits(0));
    let y = odd.select(sine, cosine).reinterpret(DType::U64);
    let negative = ((quadrant + quadrant.bits(1)) >> 1) << 63;
    (y ^ negative).reinterpret(DType::F64)
}

/// Where the next window of 1/π begins to serve: 2^50, 2^76, 2^102 as f32.
const WINDOW_STARTS: [u64; 3] = [0x5880_0000, 0x6580_0000, 0x7280_0000];

/// 1/π from its bit 1, 27, 53, 79 after the point on, each in two parts of 53 bits.
const INVERSE_PI: [[u64; 2]; 4] = [
    [0x3fd4_5f30_6dc9_c883, 0xbc76_b01e_c541_7056],
    [0x3e4b_9391_054a_7f0a, 0xbad5_05c1_5964_47e5],
    [0x3ca5_29fc_2757_d1f5, 0x393a_6ee0_6db1_4acd],
    [0x3b0d_5f47_d4d3_7703, 0x37ab_6295_993c_4390],
];

/// `x / π` modulo 2 as an unevaluated sum p + t, |p| < 2^50, |t| ≤ 2^-4, for f32 x ≥ 0, in f64.
///
/// Payne & Hanek's idea in floating point: an x ≥ 2^50 is a multiple of 2^27, so bits of 1/π before
/// the 27th make only even multiples of π and are left out. The product of 24 and 53 bits is p
/// exactly with its fma remainder. Twice the width is cheaper here than integers: the f32 nearest
/// to a multiple of π/2 is about 2^-30 away, and the error is 2^-56. ∞ becomes NaN on the way.
fn turns(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let wide = x.cast(DType::F64);
    let [mut high, mut low] = INVERSE_PI[0].map(|bits| wide.bits(bits));
    for (&start, window) in WINDOW_STARTS.iter().zip(&INVERSE_PI[1..]) {
        let beyond = x.ge(x.bits(start));
        high = beyond.select(wide.bits(window[0]), high);
        low = beyond.select(wide.bits(window[1]), low);
    }
    let p = wide * high;
    (p, wide.fma(low, wide.fma(high, -p)))
}

/// `sin(π g) / g` in g², |g| ≤ 9/16, relative error 2^-33.
const SIN_PI: [u64; 6] = [
    0x4009_21fb_5439_b6cf,
    0xc014_abbc_e1e9_c043,
    0x4004_66bb_43dc_f911,
    0xbfe3_2cf2_8074_9fba,
    0x3fb4_fcd8_af1b_26fd,
    0xbf7c_5e71_4af3_b74d,
];

/// `(−1)^n sin(π g)` in f32, n in the lowest bit of `count`'s fraction; g and count in f64.
fn sin_pi<'r>(g: Expr<'r>, count: Expr<'r>) -> Expr<'r> {
    let y = horner(g * g, &SIN_PI) * g;
    let negative = count.reinterpret(DType::U64) << 63;
    (y.reinterpret(DType::U64) ^ negative).reinterpret(DType::F64).cast(DType::F32)
}

fn sin_single(x: Expr<'_>) -> Expr<'_> {
    let (p, t) = turns(x.abs());
    let round = p.bits(DOUBLE.round);
    let count = p + round;
    let g = (p - (count - round)) + t;
    // By magnitude and sign, as p + t would make +0 of -0.
    with_sign_of(sin_pi(g, count), x, &SINGLE)
}

/// `cos(π (n + 1/2 − g)) = (−1)^n sin(π g)`.
fn cos_single(x: Expr<'_>) -> Expr<'_> {
    let (p, t) = turns(x.abs());
    let (round, half) = (p.bits(DOUBLE.round), p.constant(0.5));
    let count = (p - half) + round;
    let g = (half - (p - (count - round))) - t;
    sin_pi(g, count)
}

/// −π/2's first 53 bits, then π/2's second and third (negative) part: the signs of their use.
const HALF_PI: [u64; 3] = [0xbff9_21fb_5444_2d18, 0x3c91_a626_3314_5c07, 0xb91f_1976_b7ed_8fbc];

/// f64 x ≥ 0 as quadrant (its low two bits count) and remainder `r + rest`, |r| ≤ π/4.
///
/// Up to 2^30 Cody & Waite with fma; beyond, Payne & Hanek. Both are computed.
fn reduce(x: Expr<'_>) -> (Expr<'_>, Expr<'_>, Expr<'_>) {
    let (near, r, rest) = cody_waite(x);
    let (far, far_r, far_rest) = payne_hanek(x);
    // ∞ and NaN take the first way, on which they become NaN.
    let big = x.gt(x.constant(1_073_741_824.0)) & x.lt(x.bits(DOUBLE.infinity));
    (big.select(far, near), big.select(far_r, r), big.select(far_rest, rest))
}

/// [`reduce`] for x ≤ 2^30: `x − n π/2` with π/2 to 159 bits, absolute error 2^-130.
fn cody_waite(x: Expr<'_>) -> (Expr<'_>, Expr<'_>, Expr<'_>) {
    let round = x.bits(DOUBLE.round);
    let shifted = x.fma(x.bits(0x3fe4_5f30_6dc9_c883), round); // 2/π
    let n = shifted - round;
    let [minus_high, middle, low] = HALF_PI.map(|bits| x.bits(bits));
    // Exact: a multiple of 2^-53 below 1.
    let first = n.fma(minus_high, x);
    let product = n * middle;
    let r = first - product;
    // What n·middle lost, and the third part.
    let lost = n.fma(low, n.fma(middle, -product));
    (shifted.reinterpret(DType::U64), r, ((first - r) - product) - lost)
}

/// Bits of 2/π, the first word's highest bit being that of weight 2^34.
const TWO_OVER_PI: [u64; 19] = [
    0x0000_0000_145f_306d,
    0xc9c8_82a5_3f84_eafa,
    0x3ea6_9bb8_1b6c_52b3,
    0x2788_7208_3fca_2c75,
    0x7bd7_78ac_36e4_8dc7,
    0x4849_ba5c_00c9_25dd,
    0x413a_3243_9fc3_bd63,
    0x9625_34e7_dd10_46be,
    0xa5d7_6890_9d33_8e04,
    0xd68b_efc8_2732_3ac7,
    0x306a_673e_9390_8bf1,
    0x77bf_2507_63ff_12ff,
    0xfbc0_b301_fde5_e231,
    0x6b41_4da3_eda6_cfd9,
    0xe4f9_6136_e9e8_c7ec,
    0xd3cb_fd45_aea4_f758,
    0xfd7c_be2f_67a0_e73e,
    0xf14a_525d_4d7f_6bf6,
    0x23f1_aba1_0ac0_6608,
];

/// Four words of [`TWO_OVER_PI`] from word `position / 64` on: a barrel of selections.
fn window(position: Expr<'_>) -> [Expr<'_>; 4] {
    let mut words = TWO_OVER_PI.map(|word| position.bits(word));
    for (step, bit) in [(8, 1 << 9), (4, 1 << 8), (2, 1 << 7), (1, 1 << 6)] {
        let ahead = (position & position.bits(bit)).differs(position.bits(0));
        for k in 0..step + 3 {
            words[k] = ahead.select(words[k + step], words[k]);
        }
    }
    [words[0], words[1], words[2], words[3]]
}

/// `x · 2/π` modulo 4 as a fixed-point number of 2 + 126 bits, high word first; 2^30 ≤ x < ∞.
///
/// Payne & Hanek 1983: with a 64-bit significand m, x = m·2^(e−63). Bits of 2/π that times x are
/// multiples of 4 are not loaded; the 192 that follow determine the result to 2^-126.
fn quarter_turns(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
    let bits = x.reinterpret(DType::U64);
    let position = (bits >> 52) - bits.bits(1023 + 30);
    let significand = (bits << 11) | bits.bits(1 << 63);
    let words = window(position);
    let shift = position & position.bits(63);
    let back = position.bits(64) - shift;
    // A shift by 64 gives 0: shift = 0 needs no care.
    let part = |k: usize| words[k].shl_by(shift) | words[k + 1].shr_by(back);
    let (w0, w1, w2) = (part(0), part(1), part(2));
    let middle = significand * w1;
    let low = middle + significand.mulhi(w2);
    let high = significand * w0 + significand.mulhi(w1);
    let carry = low.lt(middle);
    (carry.select(high + high.bits(1), high), low)
}

fn signed_to_float(bits: Expr<'_>) -> Expr<'_> {
    bits.reinterpret(DType::I64).cast(DType::F64)
}

/// [`reduce`] for finite x ≥ 2^30.
fn payne_hanek(x: Expr<'_>) -> (Expr<'_>, Expr<'_>, Expr<'_>) {
    let (high, low) = quarter_turns(x);
    // The signed fraction as a + l·2^-53: a its nearest 53-bit number, l the signed 64 bits below.
    // The same rounding decides the quadrant, so that a cannot overflow.
    let up = high + high.bits(1 << 8);
    let quadrant = (up + up.bits(1 << 61)) >> 62;
    let a = signed_to_float((up >> 9) << 11);
    let l = signed_to_float((high << 55) | (low >> 9));
    let scale = x.bits(0x3bf9_21fb_5444_2d18); // π/2 · 2^-64
    let scale_low = x.bits(0x3891_a626_3314_5c07);
    let scale_l = x.bits(0x38a9_21fb_5444_2d18); // π/2 · 2^-117
    let product = a * scale;
    let rest = l.fma(scale_l, a.fma(scale_low, a.fma(scale, -product)));
    // Near a multiple of π/2, a is 0 and the rest is all there is.
    let r = product + rest;
    (quadrant, r, rest - (r - product))
}

/// `(sin r − r) / r³` in r², |r| ≤ π/4.
const SIN: [u64; 6] = [
    0xbfc5_5555_5555_5548,
    0x3f81_1111_1110_f730,
    0xbf2a_01a0_19be_9218,
    0x3ec7_1de3_5552_b47e,
    0xbe5a_e5e4_b83b_aeaa,
    0x3de5_d8b5_57e8_1015,
];

/// `(cos r − 1 + r²/2) / r⁴` in r², |r| ≤ π/4.
const COS: [u64; 6] = [
    0x3fa5_5555_5555_554b,
    0xbf56_c16c_16c1_5014,
    0x3efa_01a0_19c8_ef72,
    0xbe92_7e4f_7f16_31b8,
    0x3e21_ee9d_ba82_22fb,
    0xbda8_fa66_d0e7_2560,
];

/// (sin, cos) of `r + rest`, |r| ≤ π/4; arranged as in fdlibm (`k_sin.c`, `k_cos.c`).
fn kernel<'r>(r: Expr<'r>, rest: Expr<'r>) -> (Expr<'r>, Expr<'r>) {
    let one = r.constant(1.0);
    let square = r * r;
    let half = square * r.constant(0.5);
    let most = one - half;
    // d sin = cos · rest, and 1 − r²/2 is cosine enough.
    let sine = r + rest.fma(most, (square * r) * horner(square, &SIN));
    // What 1 − r²/2 lost in rounding, and d cos = −sin · rest.
    let lost = ((one - most) - half) - r * rest;
    let cosine = most + (square * square).fma(horner(square, &COS), lost);
    (sine, cosine)
}

// ---- tanh ----

/// `e^(2x)`.
const EXP_TWICE_SINGLE: Exponential = Exponential {
    per_octave: 0x4038_aa3b,
    minus_octave: [0xbeb1_7218, 0x3082_e308],
    polynomial: &[
        0x3f80_0000,
        0x4000_0000,
        0x3fff_fffc,
        0x3faa_aa47,
        0x3f2a_adcd,
        0x3e89_1df8,
        0x3db4_27f2,
    ],
};

const EXP_TWICE_DOUBLE: Exponential = Exponential {
    per_octave: 0x4007_1547_652b_82fe,
    minus_octave: [0xbfd6_2e42_fefa_39ef, 0xbc6a_bc9e_3b39_803f],
    polynomial: &[
        0x3ff0_0000_0000_0000,
        0x4000_0000_0000_0000,
        0x4000_0000_0000_000c,
        0x3ff5_5555_5555_5515,
        0x3fe5_5555_5554_fe40,
        0x3fd1_1111_1112_119b,
        0x3fb6_c16c_185f_760f,
        0x3f9a_01a0_14db_c99e,
        0x3f7a_0199_5e46_0d9d,
        0x3f57_1ded_720e_da62,
        0x3f32_8b0d_4566_b2bb,
        0x3f0a_dfa4_5d22_1166,
    ],
};

/// `(tanh x − x) / x³` in x², |x| < 0.625.
const TANH_SINGLE: [u64; 5] = [0xbeaa_aa98, 0x3e08_8354, 0xbd5c_16f4, 0x3ca8_e8bb, 0xbbba_4152];

const TANH_DOUBLE: [u64; 11] = [
    0xbfd5_5555_5555_54f8,
    0x3fc1_1111_1110_a66f,
    0xbfab_a1ba_1b4c_5104,
    0x3f96_64f4_7704_76ab,
    0xbf82_26e1_52c7_6e4c,
    0x3f6d_6cf0_9fd7_de1b,
    0xbf57_d678_0251_e724,
    0x3f43_35f0_002a_9ad1,
    0xbf2d_f1ec_9245_633a,
    0x3f14_3199_b336_6d13,
    0xbef0_cc57_a840_0138,
];

/// `tanh x`, as `x + x³ p(x²)` for |x| < 0.625 and as `1 − 2 / (e^(2|x|) + 1)` beyond.
///
/// At most 1.38 ulp (f32) and 1.36 ulp (f64). The two ranges are those of Cephes (`tanh.c`): where
/// tanh is below 1/2, the second formula would lose bits. One division.
/// tanh(±0) = ±0, tanh(±∞) = ±1, tanh(NaN) = NaN.
pub(super) fn tanh(x: Expr<'_>) -> Expr<'_> {
    let (constants, format, polynomial, most) = if is_single(x) {
        (&EXP_TWICE_SINGLE, &SINGLE, &TANH_SINGLE[..], 10.0)
    } else {
        (&EXP_TWICE_DOUBLE, &DOUBLE, &TANH_DOUBLE[..], 20.0)
    };
    let size = x.abs();
    let square = size * size;
    // A product, not a sum: the sum of zeros would lose the sign of -0.
    let near = horner(square, polynomial).fma(square, x.constant(1)) * x;
    // From `most` on the result is 1. What becomes of a NaN here is not used.
    let (p, n) = split_exponential(size.min(x.constant(most)), constants, format);
    let (one, two) = (x.constant(1.0), x.constant(2.0));
    let far = one - two / p.fma(power_of_two(n, x.dtype(), format), one);
    let far = x.lt(x.constant(0)).select(-far, far);
    // NaN fails the comparison and comes out of the first formula.
    size.ge(x.constant(0.625)).select(far, near)
}

//! Angles without their whole turns, for arguments of any size.

use super::DOUBLE;
use crate::dtype::DType;
use crate::trace::expr::Expr;

/// Where the next window of 1/π begins to serve: 2^50, 2^76, 2^102 as f32.
const WINDOW_STARTS: [u64; 3] = [0x5880_0000, 0x6580_0000, 0x7280_0000];

/// 1/π from its bit 1, 27, 53, 79 after the point on, each in two parts of 53 bits.
const INVERSE_PI: [[u64; 2]; 4] = [
    [0x3fd4_5f30_6dc9_c883, 0xbc76_b01e_c541_7056],
    [0x3e4b_9391_054a_7f0a, 0xbad5_05c1_5964_47e5],
    [0x3ca5_29fc_2757_d1f5, 0x393a_6ee0_6db1_4acd],
    [0x3b0d_5f47_d4d3_7703, 0x37ab_6295_993c_4390],
];

/// `x / π` modulo 2 as an unevaluated sum p + t, |p| < 2^50, |t| ≤ 2^-3, for f32 x ≥ 0, in f64.
///
/// Payne & Hanek's idea in floating point: an x ≥ 2^50 is a multiple of 2^27, so bits of 1/π before
/// the 27th make only even multiples of π and are left out. The product of 24 and 53 bits is p
/// exactly with its fma remainder. Twice the width is cheaper here than integers: the f32 nearest
/// to a multiple of π/2 is about 2^-30 away, and the error is 2^-56. ∞ becomes NaN on the way.
pub(super) fn turns(x: Expr<'_>) -> (Expr<'_>, Expr<'_>) {
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

/// −π/2's first 53 bits, then π/2's second and third (negative) part: the signs of their use.
const HALF_PI: [u64; 3] = [0xbff9_21fb_5444_2d18, 0x3c91_a626_3314_5c07, 0xb91f_1976_b7ed_8fbc];

/// f64 x ≥ 0 as quadrant (its low two bits count) and remainder `r + rest`, |r| ≤ π/4.
///
/// Up to 2^30 Cody & Waite with fma; beyond, Payne & Hanek. Both are computed.
pub(super) fn reduce(x: Expr<'_>) -> (Expr<'_>, Expr<'_>, Expr<'_>) {
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
    (shifted.bits_any_nan(), r, ((first - r) - product) - lost)
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
        let ahead = (position & position.bits(bit)).neq(position.bits(0));
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
    let bits = x.bits_any_nan();
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

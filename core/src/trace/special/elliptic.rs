//! Elliptic integrals in Legendre's form, with Enoki's arguments: amplitude φ, modulus k, and ν with
//! the sign that makes the third kind `∫ dθ / ((1 + ν sin² θ) √(1 − k² sin² θ))`.

use super::super::expr::Expr;
use super::super::math;
use super::carlson::{rc, rf, with_rd, with_rj};
use super::dual::Dual;
use super::{Fit, negate_if};

/// K as `p(m) − q(m) log m` in m = 1 − k²: p, then q.
const COMPLETE_1: [Fit; 2] = [
    Fit {
        single: &[0x3fb1_7218, 0x3dc6_1b6d, 0x3d17_5b46, 0x3d19_b57f, 0x3c59_c28d],
        double: &[
            0x3ff6_2e42_fefa_39ef,
            0x3fb8_b90b_fbeb_5a04,
            0x3f9f_a05b_2c89_9edc,
            0x3f8e_97ee_0458_1d74,
            0x3f82_0458_4d64_101e,
            0x3f79_a6df_e6d9_e2ef,
            0x3f7d_2f10_dd68_7232,
            0x3f84_7833_a783_0c78,
            0x3f7f_90fd_713a_a372,
            0x3f61_2e88_23d9_d092,
            0x3f1f_c0a7_cbae_14ec,
        ],
    },
    Fit {
        single: &[0x3f00_0000, 0x3dff_f173, 0x3d8b_f406, 0x3d02_3dc4, 0x3b82_3939],
        double: &[
            0x3fe0_0000_0000_0000,
            0x3fbf_ffff_ffff_ba87,
            0x3fb1_ffff_fde8_bf69,
            0x3fa8_fffb_af59_97c5,
            0x3fa3_22e0_7974_43ba,
            0x3f9e_cf6e_45d6_a560,
            0x3f98_4915_a180_f125,
            0x3f8e_d386_eff3_fded,
            0x3f76_e4ea_6f81_227b,
            0x3f4b_2029_2344_229d,
            0x3efa_d8c1_f3dd_6e0a,
        ],
    },
];

/// E as `p(m) − m q(m) log m`; the form of both is Hastings' (Approximations for Digital Computers,
/// 1955).
const COMPLETE_2: [Fit; 2] = [
    Fit {
        single: &[0x3f80_0000, 0x3ee2_e4fc, 0x3d6b_c2e4, 0x3d01_876f, 0x3cfb_4eeb, 0x3bff_0d76],
        double: &[
            0x3ff0_0000_0000_0000,
            0x3fdc_5c85_fdf4_ba01,
            0x3fad_1592_093f_aad7,
            0x3f96_5b12_9adb_3fd9,
            0x3f87_b136_2cc1_2550,
            0x3f7f_0c32_2631_afed,
            0x3f7f_cad9_a205_c53f,
            0x3f85_f9ff_9dbe_2670,
            0x3f81_d1d3_409f_c0c4,
            0x3f64_9c8e_bca2_5b4a,
            0x3f24_329a_99b0_bfbd,
        ],
    },
    Fit {
        single: &[0x3e7f_ffc5, 0x3dbf_9f34, 0x3d5e_81f9, 0x3cb4_5092, 0x3b0e_3ab5],
        double: &[
            0x3fcf_ffff_ffff_f10d,
            0x3fb7_ffff_fed6_860b,
            0x3fad_fffd_2afc_3f51,
            0x3fa5_df29_129c_c3ef,
            0x3fa1_24f7_b8bf_acd3,
            0x3f9a_d0be_5919_375a,
            0x3f91_4ffa_32dc_f165,
            0x3f7a_b5a0_3842_0c30,
            0x3f50_97f1_77d2_9bb9,
            0x3f01_418c_48e6_203d,
        ],
    },
];

/// `1 − k²`; negative or NaN outside |k| ≤ 1.
fn complement(k: Expr<'_>) -> Expr<'_> {
    let one = k.constant(1);
    // The slope of the product is 1 − k less 1 + k, which has few digits where k is small.
    if k.is_differentiated() { (-k).fma(k, one) } else { (one - k) * (one + k) }
}

/// `K(k)`: ∞ at ±1, NaN beyond.
pub(in super::super) fn comp_ellint_1(k: Expr<'_>) -> Expr<'_> {
    let m = complement(k);
    let [p, q] = COMPLETE_1.map(|fit| fit.at(m));
    (-math::log(m)).fma(q, p)
}

/// `E(k)`: 1 at ±1, NaN beyond.
pub(in super::super) fn comp_ellint_2(k: Expr<'_>) -> Expr<'_> {
    let m = complement(k);
    let [p, q] = COMPLETE_2.map(|fit| fit.at(m));
    let y = (-math::log(m) * m).fma(q, p);
    m.eq(m.constant(0)).select(m.constant(1), y)
}

/// `Π(ν, k)`: ∞ at k = ±1 and at ν = −1, NaN beyond.
pub(in super::super) fn comp_ellint_3<'r>(k: Expr<'r>, nu: Expr<'r>) -> Expr<'r> {
    Amplitude::quarter(k).third(nu)
}

/// An amplitude as half turns and a rest in [−π/2, π/2], and a modulus.
struct Amplitude<'r> {
    k: Expr<'r>,
    /// Half turns of the amplitude.
    turns: Expr<'r>,
    /// Sine and cosine (not negative) of the rest.
    sine: Expr<'r>,
    cosine: Expr<'r>,
    /// 1 − k², and 1 − k² sin² of the rest.
    complement: Expr<'r>,
    delta: Expr<'r>,
}

impl<'r> Amplitude<'r> {
    fn new(phi: Expr<'r>, k: Expr<'r>) -> Self {
        let (sine, cosine) = (math::sin(phi), math::cos(phi));
        let (odd, turns) = half_turns(phi, cosine);
        Self::of(k, turns, negate_if(odd, sine), cosine.abs())
    }

    /// The same of which derivatives are asked.
    fn differentiated(phi: Expr<'r>, k: Expr<'r>) -> Self {
        let (sine, cosine) = (phi.call("sin", &[]), phi.call("cos", &[]));
        let (odd, turns) = half_turns(phi, cosine);
        Self::of(k, turns, odd.select(-sine, sine), odd.select(-cosine, cosine))
    }

    /// The amplitude π/2.
    fn quarter(k: Expr<'r>) -> Self {
        Self::of(k, k.constant(0), k.constant(1), k.constant(0))
    }

    fn of(k: Expr<'r>, turns: Expr<'r>, sine: Expr<'r>, cosine: Expr<'r>) -> Self {
        let complement = complement(k);
        let delta = (cosine * cosine) + complement * (sine * sine);
        Self { k, turns, sine, cosine, complement, delta }
    }

    /// The integral over the rest, and twice the complete one for each half turn.
    fn whole(&self, rest: Expr<'r>, complete: Expr<'r>) -> Expr<'r> {
        let zero = rest.constant(0);
        let turned = (self.turns + self.turns).fma(complete, rest);
        self.turns.eq(zero).select(rest, turned)
    }

    /// The same of slopes: what is no number has none either, whichever way that is looked for.
    fn whole_slope(&self, rest: Expr<'r>, complete: Expr<'r>) -> Expr<'r> {
        let is_none = complete.neq(complete) & self.turns.neq(rest.constant(0));
        is_none.select(rest * complete, self.whole(rest, complete))
    }

    /// The integral of the third kind over the rest.
    ///
    /// With ν > 0 by DLMF 19.7.9, which has the rest of a ν ≤ 0 and only positive terms.
    fn third(&self, nu: Expr<'r>) -> Expr<'r> {
        let (zero, one) = (nu.constant(0), nu.constant(1));
        let (square, positive) = (self.k * self.k, nu.gt(zero));
        let (denominator, next) = (square + nu, one + nu);
        // −ν of the integral to compute, and one less it.
        let n = positive.select(denominator / next, -nu);
        let rest = positive.select(self.complement / next, next);
        let (sine, cosine) = (self.sine * self.sine, self.cosine * self.cosine);
        let p = cosine + rest * sine;
        let pair = with_rj(cosine, self.delta, one, p);
        let first = self.sine * pair.first;
        let third = (self.sine * sine * n).fma(pair.other / nu.constant(3), first);
        // √c arctan(√c t) / (k² + ν) with c = ν n and t = sin cos / √(1 − k² sin²).
        let t = self.sine * self.cosine / self.delta.sqrt();
        let arc = nu / next * t * rc((nu * n * t).fma(t, one), 9);
        let mixed = (square / denominator).fma(first, (nu * rest / denominator).fma(third, arc));
        let y = positive.select(mixed, third);
        self.at_poles(p, y)
    }

    /// Infinite where 1 − k² sin² or p is 0, unless the other is negative.
    fn at_poles(&self, p: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
        let zero = p.constant(0);
        let y = self.delta.eq(zero).select(self.sine / self.delta + p.sqrt(), y);
        p.eq(zero).select(self.sine / p + self.delta.sqrt(), y)
    }

    /// The derivatives of that by k and ν, for ν sin² up to 1.
    ///
    /// Those by m = k² and by n = −ν of `s R_F + s³ n / 3 R_J` go through the duplications, which have only terms of
    /// one sign. That m and n may be equal, or n be 0, makes no difference here.
    fn slopes_of_third(&self, nu: Expr<'r>) -> [Expr<'r>; 2] {
        let (one, n) = (nu.constant(1), -nu);
        let (sine, cosine) = (self.sine * self.sine, self.cosine * self.cosine);
        let p = cosine + (one + nu) * sine;
        let of = |delta, p| with_rj(Dual::fixed(cosine), delta, Dual::fixed(one), p);
        let by_m = of(Dual::moving(self.delta, -sine), Dual::fixed(p));
        let by_n = of(Dual::fixed(self.delta), Dual::moving(p, -sine)).other;
        let third = self.sine * sine / nu.constant(3);
        let by_m = (third * n).fma(by_m.other.slope(), self.sine * by_m.first.slope());
        let by_n = third * n.fma(by_n.slope(), by_n.value);
        [(self.k + self.k) * self.at_poles(p, by_m), -self.at_poles(p, by_n)]
    }
}

/// Whether an amplitude with this cosine has an odd number of half turns, and how many.
fn half_turns<'r>(phi: Expr<'r>, cosine: Expr<'r>) -> (Expr<'r>, Expr<'r>) {
    // The sign of the cosine says whether they are odd: rounding cannot miss them.
    let odd = cosine.lt(phi.constant(0));
    let full = phi * phi.constant(0.5 / std::f64::consts::PI);
    let two = phi.constant(2);
    let even = full.round() * two;
    (odd, odd.select(full.floor().fma(two, phi.constant(1)), even))
}

/// The integrals of `sin² / Δ` and of `sin² / Δ³`, `Δ² = 1 − k² sin²`, up to φ, or π/2: E and F have the derivatives
/// `−k` times the first and `k` times the second by k. Nothing cancels where k is small.
///
/// `k² ∫ sin² / Δ = F − E` (DLMF 19.25.9), and the derivative of R_F by an argument is `−R_D / 6` (19.18.1).
pub(in super::super) fn squares_of_sine<'r>(phi: Option<Expr<'r>>, k: Expr<'r>) -> [Expr<'r>; 2] {
    let (zero, one) = (k.constant(0), k.constant(1));
    let third = |x: Expr<'r>| x / x.constant(3);
    let of = |square, delta| [with_rd(square, delta, one), with_rd(square, one, delta)];
    // The one apart is the last argument of R_D.
    let complement = complement(k);
    let [apart_delta, apart_one] = of(zero, complement).map(|pair| third(pair.other));
    // So many steps do not see that it has no bound.
    let apart_one = complement.eq(zero).select(k.constant(f64::INFINITY), apart_one);
    let complete = [apart_one, apart_delta];
    let Some(phi) = phi else { return complete };
    let at = Amplitude::differentiated(phi, k);
    let [apart_delta, apart_one] =
        of(at.cosine * at.cosine, at.delta).map(|pair| third(pair.other));
    let cubed = at.sine * at.sine * at.sine;
    let rest = [cubed * apart_one, cubed * apart_delta];
    [0, 1].map(|i| at.whole_slope(rest[i], complete[i]))
}

/// The derivatives of the integral of the third kind, y, up to φ, or π/2, by k and by ν.
pub(in super::super) fn slopes_of_third<'r>(
    phi: Option<Expr<'r>>,
    k: Expr<'r>,
    nu: Expr<'r>,
    y: Expr<'r>,
) -> [Expr<'r>; 2] {
    let quarter = Amplitude::quarter(k);
    let of_quarter = quarter.slopes_of_third(nu);
    let Some(phi) = phi else {
        let large = large_slopes(None, k, nu, [k.call("comp_ellint_1", &[]), y, k.constant(0)]);
        let is_large = nu.gt(nu.constant(1)) & quarter.complement.neq(k.constant(0));
        return [0, 1].map(|i| is_large.select(large[i], of_quarter[i]));
    };
    let complete = slopes_of_third(None, k, nu, k.call("comp_ellint_3", &[nu]));
    let at = Amplitude::differentiated(phi, k);
    let of_rest = at.slopes_of_third(nu);
    let weight = nu * (at.sine * at.sine);
    let over = at.sine * at.cosine * at.delta.sqrt() / (weight + k.constant(1));
    let large = large_slopes(Some(phi), k, nu, [phi.call("ellint_1", &[k]), y, over]);
    let is_large = weight.gt(nu.constant(1)) & at.complement.neq(k.constant(0));
    [0, 1].map(|i| is_large.select(large[i], at.whole_slope(of_rest[i], complete[i])))
}

/// The same where ν sin² is above 1, from F, Π and what the end of the interval adds: DLMF 19.4.6 and its like for ν,
/// written so that nothing cancels.
fn large_slopes<'r>(
    phi: Option<Expr<'r>>,
    k: Expr<'r>,
    nu: Expr<'r>,
    [first, third, over]: [Expr<'r>; 3],
) -> [Expr<'r>; 2] {
    let (m, one, two) = (k * k, k.constant(1), k.constant(2));
    let [square, cube] = squares_of_sine(phi, k);
    let gap = first - third;
    let sum = m * square + m / nu * gap + nu * (third - over);
    [k * (m * cube + gap) / (nu + m), -(sum / (two * (nu + m)) / (nu + one))]
}

/// `F(φ, k)` for every φ; NaN where k² sin² exceeds 1.
pub(in super::super) fn ellint_1<'r>(phi: Expr<'r>, k: Expr<'r>) -> Expr<'r> {
    let at = Amplitude::new(phi, k);
    let rest = at.sine * rf(at.cosine * at.cosine, at.delta, k.constant(1));
    at.whole(rest, comp_ellint_1(k))
}

/// `E(φ, k)` for every φ; NaN where k² sin² exceeds 1.
///
/// For |k| ≤ 1 by DLMF 19.25.10, a sum of positive terms; by 19.25.9 well beyond.
pub(in super::super) fn ellint_2<'r>(phi: Expr<'r>, k: Expr<'r>) -> Expr<'r> {
    let at = Amplitude::new(phi, k);
    let one = k.constant(1);
    let (square, beyond) = (k * k, at.complement.lt(k.constant(-0.25)));
    let apart = beyond.select(one, at.delta);
    let other = beyond.select(at.delta, one);
    let pair = with_rd(at.cosine * at.cosine, apart, other);
    let factor = square * (at.sine * at.sine) / k.constant(3);
    let integrals = negate_if(beyond, factor).fma(pair.other, pair.first);
    let sum = at.complement * integrals + square * at.cosine / at.delta.sqrt();
    at.whole(at.sine * beyond.select(integrals, sum), comp_ellint_2(k))
}

/// `Π(φ, k, ν)` for every φ; ∞ at a pole, NaN beyond it.
pub(in super::super) fn ellint_3<'r>(phi: Expr<'r>, k: Expr<'r>, nu: Expr<'r>) -> Expr<'r> {
    let at = Amplitude::new(phi, k);
    at.whole(at.third(nu), comp_ellint_3(k, nu))
}

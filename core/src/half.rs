//! IEEE binary16: 16 bits in memory, widened to compute, rounded once to store. The crate `half` has the same type:
//! `F16::from_bits(x.to_bits())`.

use std::cmp::Ordering;
use std::fmt;
use std::num::ParseFloatError;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::str::FromStr;

/// A half-precision float: 11 significant bits, magnitudes from 2^-24 to 65504.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct F16(u16);

const SIGN: u16 = 0x8000;
const INFINITY: u16 = 0x7c00;
const NAN: u16 = 0x7e00;

impl F16 {
    /// The float with these bits.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The float nearest to `x`, ties to even; from 65520 on infinity. A NaN becomes the quiet NaN.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the bits in question are the low ones")]
    pub fn from_f64(x: f64) -> Self {
        let size = x.abs();
        // Subnormals are multiples of 2^-24, the last bit of 2^28: the sum rounds to them.
        let shift = (1_u64 << 28) as f64;
        let subnormal = (size + shift).to_bits().wrapping_sub(shift.to_bits()) as u16;
        // Others lose 42 bits, half of the last one rounding up unless the tie is at an even number.
        let bits = size.to_bits();
        let rounded = bits.wrapping_add((1 << 41) - 1 + (bits >> 42 & 1));
        let normal = ((rounded >> 42) as u16).wrapping_sub((1023 - 15) << 10);
        let number = if size < f64::from_bits((1023 - 14) << 52) { subnormal } else { normal };
        let number = if size >= 65520.0 { INFINITY } else { number };
        let sign = (x.to_bits() >> 48) as u16 & SIGN;
        Self(if x.is_nan() { NAN } else { number | sign })
    }

    /// The float nearest to `x`, as [`F16::from_f64`].
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        Self::from_f64(f64::from(x))
    }

    /// The same number as f32, exactly.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        let size = u32::from(self.0 & !SIGN);
        // The exponent's bias differs by 112; the product makes subnormals normal.
        let number = f32::from_bits(size << 13) * f32::from_bits((127 + 112) << 23);
        let special = f32::from_bits(size << 13 | 0x7f80_0000);
        let number = if size >= u32::from(INFINITY) { special } else { number };
        f32::from_bits(number.to_bits() | u32::from(self.0 & SIGN) << 16)
    }
}

impl From<f32> for F16 {
    fn from(x: f32) -> Self {
        Self::from_f32(x)
    }
}

impl From<F16> for f32 {
    fn from(x: F16) -> Self {
        x.to_f32()
    }
}

impl From<F16> for f64 {
    fn from(x: F16) -> Self {
        x.to_f32().into()
    }
}

/// By way of f64.
impl FromStr for F16 {
    type Err = ParseFloatError;

    fn from_str(text: &str) -> Result<Self, ParseFloatError> {
        text.parse().map(Self::from_f64)
    }
}

impl Neg for F16 {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0 ^ SIGN)
    }
}

/// f32 has more than twice the digits and two more: what it rounds to rounds to the nearest half as the exact result does.
macro_rules! arithmetic {
    ($($trait:ident $method:ident;)*) => { $(
        impl $trait for F16 {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self::from_f32(self.to_f32().$method(other.to_f32()))
            }
        }
    )* };
}
arithmetic! { Add add; Sub sub; Mul mul; Div div; }

impl PartialEq for F16 {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl PartialOrd for F16 {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

impl fmt::Debug for F16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f32(), f)
    }
}

impl fmt::Display for F16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f32(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = F16> {
        (0..=u16::MAX).map(F16::from_bits)
    }

    /// The meaning of the format, from its definition.
    fn value(bits: u16) -> f64 {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
        let size = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
        };
        if bits & SIGN == 0 { size } else { -size }
    }

    #[test]
    fn every_half_widens_to_its_value_and_comes_back() {
        for half in all() {
            let wide = f64::from(half.to_f32());
            let want = value(half.to_bits());
            assert!(wide.to_bits() == want.to_bits() || wide.is_nan() && want.is_nan(), "{half:?}");
            if !want.is_nan() {
                assert_eq!(F16::from_f64(wide).to_bits(), half.to_bits());
                assert_eq!(F16::from_f32(half.to_f32()).to_bits(), half.to_bits());
            }
        }
        assert_eq!(F16::from_f64(-f64::NAN).to_bits(), NAN);
    }

    #[test]
    fn halves_are_numbers() {
        let [a, b] = [1.5_f32, -0.25].map(F16::from);
        assert_eq!([a + b, a - b, a * b, a / b].map(f32::from), [1.25, 1.75, -0.375, -6.0]);
        assert_eq!((f64::from(-a), "0.1".parse::<F16>().unwrap().to_bits()), (-1.5, 0x2e66));
        assert_eq!((-F16::from(0.0)).to_bits(), SIGN);
    }

    #[test]
    fn what_lies_between_rounds_to_the_nearer_one_and_to_even() {
        for low in 0..INFINITY {
            let (a, b) = (value(low), if low + 1 == INFINITY { 65536.0 } else { value(low + 1) });
            let middle = a + (b - a) / 2.0;
            let even = if low & 1 == 0 { low } else { low + 1 };
            for sign in [0, SIGN] {
                let of = |x: f64| F16::from_f64(if sign == 0 { x } else { -x }).to_bits();
                assert_eq!(of(middle), even | sign);
                assert_eq!(of(middle.next_down()), low | sign);
                assert_eq!(of(middle.next_up()), (low + 1) | sign);
            }
        }
        assert_eq!(F16::from_f64(f64::MAX).to_bits(), INFINITY);
        assert_eq!(F16::from_f64(f64::MIN_POSITIVE / 4.0).to_bits(), 0);
    }
}

//! Complex numbers.

use std::ops::{Add, Div, Mul, Sub};

use super::Form::{self, Scalar};
use super::{NestedFunction, divided, nested_functions, norm, scaled};
use crate::ir::op::Class;
use crate::trace::expr::Expr;
use crate::trace::math;

const C: Form = Form::Complex;

nested_functions! {
    /// Product of complex numbers, without fma.
    ///
    /// >> Complex2fC(1, 2) * Complex2fC(-4, 3)
    /// [-10 - 5i]
    "*" (C, C) -> (C), Float = |x, _| two(x, |a, b| a * b);
    /// Product of a complex number and a real one.
    ///
    /// >> Complex2fC(1, 2) * 3
    /// [3 + 6i]
    "*" (C, Scalar) -> (C), Float = |x, _| scaled(&x[..2], x[2]);
    /// Product of a real number and a complex one.
    ///
    /// >> 3 * Complex2fC(1, 2)
    /// [3 + 6i]
    "*" (Scalar, C) -> (C), Float = |x, _| scaled(&x[1..], x[0]);
    /// Quotient of complex numbers by Smith's method, which overflows only where the result does; each part
    /// of a division by zero is infinite or NaN.
    ///
    /// >> Complex2fC(5, 5) / Complex2fC(1, 2)
    /// [3 - 1i]
    "/" (C, C) -> (C), Float = |x, _| two(x, |a, b| a / b);
    /// Complex number divided by a real one, part by part.
    ///
    /// >> Complex2fC(1, 2) / 2
    /// [0.5 + 1i]
    "/" (C, Scalar) -> (C), Float = |x, _| divided(&x[..2], x[2]);
    /// Reciprocal of a complex number by Smith's method.
    ///
    /// >> rcp(Complex2fC(2, 1))
    /// [0.4 - 0.2i]
    "rcp" (C) -> (C), Float = |x, _| one(x, |z| z.real(1) / z);
    /// Complex conjugate.
    ///
    /// >> conj(Complex2fC(1, 2))
    /// [1 - 2i]
    "conj" (C) -> (C), Float = |x, _| one(x, Complex::conj);
    /// Real part of a complex number; `z.real` names the part itself.
    ///
    /// >> real(Complex2fC(1, 2))
    /// [1]
    "real" (C) -> (Scalar), Float = |x, _| vec![x[0]];
    /// Imaginary part of a complex number; `z.imag` names the part itself.
    ///
    /// >> imag(Complex2fC(1, 2))
    /// [2]
    "imag" (C) -> (Scalar), Float = |x, _| vec![x[1]];
    /// Squared absolute value of a complex number.
    ///
    /// >> squared_norm(Complex2fC(3, 4))
    /// [25]
    "squared_norm" (C) -> (Scalar), Float = |x, _| vec![x[0] * x[0] + x[1] * x[1]];
    /// Complex number divided by its absolute value.
    ///
    /// >> normalize(Complex2fC(3, 4))
    /// [0.6 + 0.8i]
    "normalize" (C) -> (C), Float = |x, _| divided(x, norm(x));
    /// Complex exponential function. The relative error of each part is at most 4 ulp.
    ///
    /// >> exp(Complex2fC(1, 2))
    /// [-1.1312 + 2.47173i]
    "exp" (C) -> (C), Float = |x, _| one(x, Complex::exp);
    /// Whether a part is not a number.
    ///
    /// >> isnan(Complex2fC(nan, 0))
    /// [1]
    "isnan" (C) -> (Scalar), Float = |x, _| vec![x[0].differs(x[0]) | x[1].differs(x[1])];
}

/// A complex number under construction.
#[derive(Clone, Copy)]
pub(super) struct Complex<'r> {
    pub(super) re: Expr<'r>,
    pub(super) im: Expr<'r>,
}

fn one<'r>(x: &[Expr<'r>], function: impl FnOnce(Complex<'r>) -> Complex<'r>) -> Vec<Expr<'r>> {
    function(Complex::of(x)).parts()
}

fn two<'r>(
    x: &[Expr<'r>],
    function: impl FnOnce(Complex<'r>, Complex<'r>) -> Complex<'r>,
) -> Vec<Expr<'r>> {
    function(Complex::of(&x[..2]), Complex::of(&x[2..])).parts()
}

impl<'r> Complex<'r> {
    fn of(parts: &[Expr<'r>]) -> Self {
        Self { re: parts[0], im: parts[1] }
    }

    fn parts(self) -> Vec<Expr<'r>> {
        vec![self.re, self.im]
    }

    /// A real constant.
    fn real(self, number: i32) -> Self {
        Self { re: self.re.constant(number), im: self.re.constant(0) }
    }

    fn conj(self) -> Self {
        Self { im: -self.im, ..self }
    }

    /// A real number stays real, also where `e^re` is infinite.
    fn exp(self) -> Self {
        let size = math::exp(self.re);
        let sine = math::sin(self.im) * size;
        let is_real = self.im.equals(self.im.constant(0));
        Self { re: math::cos(self.im) * size, im: is_real.select(self.im, sine) }
    }
}

impl Add for Complex<'_> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex<'_> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex<'_> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// Smith's method: divides by the larger part of the divisor first.
impl Div for Complex<'_> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let real_is_larger = other.re.abs().ge(other.im.abs());
        let pick = |a, b| real_is_larger.select(a, b);
        let (larger, smaller) = (pick(other.re, other.im), pick(other.im, other.re));
        let zero = smaller.constant(0);
        let ratio = smaller.equals(zero).select(zero, smaller / larger);
        let divisor = larger + smaller * ratio;
        let (along, across) = (pick(self.re, self.im), pick(self.im, self.re));
        let difference = across - along * ratio;
        Self { re: (along + across * ratio) / divisor, im: pick(difference, -difference) / divisor }
    }
}

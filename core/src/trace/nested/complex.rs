//! Complex numbers.
//!
//! Inverse functions and branch cuts follow Kahan, Branch Cuts for Complex Elementary Functions (1987): a point
//! on a cut belongs to the side that the sign of its zero part says. Errors are a few ulp of the result's
//! absolute value; a part much smaller than the other may have less accurate digits.

use std::f64::consts::{LN_2, LN_10};
use std::ops::{Div, Mul, Neg};

use super::entries::{divided, norm, real, scaled};
use super::row::Form::{self, Scalar};
use super::row::{NestedFunction, nested_functions};
use crate::dtype::DType;
use crate::ir::op::Class;
use crate::trace::expr::Expr;

const C: Form = Form::Complex;

nested_functions! { $ complex_rows;
    /// Sum of a complex number and a real one; the imaginary part keeps every bit.
    ///
    /// >> Complex2fC(1, 2) + 3
    /// [4 + 2i]
    "+" (C, Scalar) -> (C), Float = |x, _| vec![x[0] + x[2], x[1]];
    /// Sum of a real number and a complex one.
    ///
    /// >> 3 + Complex2fC(1, 2)
    /// [4 + 2i]
    "+" (Scalar, C) -> (C), Float = |x, _| vec![x[0] + x[1], x[2]];
    /// Difference of a complex number and a real one; the imaginary part keeps every bit.
    ///
    /// >> Complex2fC(1, 2) - 3
    /// [-2 + 2i]
    "-" (C, Scalar) -> (C), Float = |x, _| vec![x[0] - x[2], x[1]];
    /// Difference of a real number and a complex one.
    ///
    /// >> 3 - Complex2fC(1, 2)
    /// [2 - 2i]
    "-" (Scalar, C) -> (C), Float = |x, _| vec![x[0] - x[1], -x[2]];
    /// Product of complex numbers, without fma: `(a + ib) * (c + id)` is `ac - bd`, `ad + bc`.
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
    /// of a division by zero is infinite or NaN. `(a + ib) / (c + id)` with |c| >= |d|, `r = d / c` (0 for d = 0) and
    /// `s = c + dr` is `(a + br) / s`, `(b - ar) / s`; else with `r = c / d` and `s = d + cr` it is `(b + ar) / s`,
    /// `-(a - br) / s`.
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
    /// Square of a complex number, `z * z`.
    ///
    /// >> sqr(Complex2fC(1, 2))
    /// [-3 + 4i]
    "sqr" (C) -> (C), Float = |x, _| one(x, |z| z * z);
    /// Complex conjugate; a real array is its own.
    ///
    /// >> conj(Complex2fC(1, 2))
    /// [1 - 2i]
    conj (C) -> (C), Float (Itself) = |x, _| one(x, Complex::conj);
    /// Real part of a complex number; `z.real` names the part itself.
    ///
    /// >> real(Complex2fC(1, 2))
    /// [1]
    real (C) -> (Scalar), Float = |x, _| vec![x[0]];
    /// Imaginary part of a complex number; `z.imag` names the part itself.
    ///
    /// >> imag(Complex2fC(1, 2))
    /// [2]
    imag (C) -> (Scalar), Float = |x, _| vec![x[1]];
    /// Squared absolute value of a complex number, `x * x + y * y`.
    ///
    /// >> squared_norm(Complex2fC(3, 4))
    /// [25]
    "squared_norm" (C) -> (Scalar), Float = |x, _| vec![x[0] * x[0] + x[1] * x[1]];
    /// Complex number divided by `sqrt(squared_norm(z))`, part by part.
    ///
    /// >> normalize(Complex2fC(3, 4))
    /// [0.6 + 0.8i]
    "normalize" (C) -> (C), Float = |x, _| divided(x, norm(x));
    /// Absolute value of a complex number, `hypot(x, y)`, without overflow on the way.
    ///
    /// >> abs(Complex2fC(3, 4))
    /// [5]
    "abs" (C) -> (Scalar), Float = |x, _| vec![real::hypot(x[0], x[1])];
    /// Absolute value of a complex number, `hypot(x, y)`, without overflow on the way.
    ///
    /// >> norm(Complex2fC(3, 4))
    /// [5]
    "norm" (C) -> (Scalar), Float = |x, _| vec![real::hypot(x[0], x[1])];
    /// Angle of a complex number, `atan2(y, x)`, from -pi to pi; a negative number has that of its imaginary zero's sign.
    ///
    /// >> arg(Complex2fC(0, 1))
    /// [1.5708]
    arg (C) -> (Scalar), Float = |x, _| vec![real::atan2(x[1], x[0])];
    /// Square root with a real part that is not negative; the branch cut is the negative real axis. Its parts are
    /// `m = sqrt(|x| * 0.5 + |z| * 0.5)` and `n = |y| / (m + m)` (0 for m = 0), for x >= 0 in this order, the second with
    /// the sign of y; |y| and y for an infinite y. The largest and smallest numbers are scaled by a power of 4 before.
    ///
    /// >> sqrt(Complex2fC(1, 2))
    /// [1.27202 + 0.786151i]
    "sqrt" (C) -> (C), Float = |x, _| one(x, Complex::sqrt);
    /// Reciprocal square root of a complex number, `rcp(sqrt(z))`.
    ///
    /// >> rsqrt(Complex2fC(0, 2))
    /// [0.5 - 0.5i]
    "rsqrt" (C) -> (C), Float = |x, _| one(x, |z| z.real(1) / z.sqrt());
    /// Natural logarithm of a complex number; the branch cut is the negative real axis. Its parts are `log(|z|)` and
    /// `atan2(y, x)`; for 0.5 < |z| < 2 the first is `log1p(fma(l - 1, l + 1, s * s)) * 0.5` of the larger and the
    /// smaller of |x| and |y|.
    ///
    /// >> log(Complex2fC(1, 2))
    /// [0.804719 + 1.10715i]
    "log" (C) -> (C), Float = |x, _| one(x, Complex::log);
    /// Logarithm of a complex number to the base 2: the parts of `log(z)`, each divided by `log(2)`.
    ///
    /// >> log2(Complex2fC(0, 2))
    /// [1 + 2.26618i]
    "log2" (C) -> (C), Float = |x, _| divided(&Complex::of(x).log().parts(), x[0].constant(LN_2));
    /// Logarithm of a complex number to the base 10: the parts of `log(z)`, each divided by `log(10)`.
    ///
    /// >> log10(Complex2fC(0, 100))
    /// [2 + 0.682188i]
    "log10" (C) -> (C), Float = |x, _| divided(&Complex::of(x).log().parts(), x[0].constant(LN_10));
    /// Complex power `exp(b * log(a))`; of 0 it is 0 where the real part of b is positive, and 1 for b = 0.
    ///
    /// >> pow(Complex2fC(1, 2), Complex2fC(2, 1))
    /// [-1.6401 + 0.20205i]
    "pow" (C, C) -> (C), Float = |x, _| two(x, Complex::pow);
    /// Sine of a complex number, `-i * sinh(iz)`.
    ///
    /// >> sin(Complex2fC(1, 2))
    /// [3.16578 + 1.9596i]
    "sin" (C) -> (C), Float = |x, _| one(x, |z| z.times_i().sinh().over_i());
    /// Cosine of a complex number, `cosh(iz)`.
    ///
    /// >> cos(Complex2fC(1, 2))
    /// [2.03272 - 3.0519i]
    "cos" (C) -> (C), Float = |x, _| one(x, |z| z.times_i().cosh());
    /// Tangent of a complex number, `-i * tanh(iz)`.
    ///
    /// >> tan(Complex2fC(1, 2))
    /// [0.0338128 + 1.01479i]
    "tan" (C) -> (C), Float = |x, _| one(x, |z| z.times_i().tanh().over_i());
    /// Hyperbolic sine of a complex number: `sinh(x) * cos(y)`, `cosh(x) * sin(y)`; y = 0 stays as it is.
    ///
    /// >> sinh(Complex2fC(1, 2))
    /// [-0.489056 + 1.40312i]
    "sinh" (C) -> (C), Float = |x, _| one(x, Complex::sinh);
    /// Hyperbolic cosine of a complex number: `cosh(x) * cos(y)`, `sinh(x) * sin(y)`, the latter 0 for y = 0.
    ///
    /// >> cosh(Complex2fC(1, 2))
    /// [-0.642148 + 1.06861i]
    "cosh" (C) -> (C), Float = |x, _| one(x, Complex::cosh);
    /// Hyperbolic tangent of a complex number: with `r = 1 / cosh(x)`, `q = r * r`, `t = tanh(x)` and
    /// `d = t * t + cos(y) * cos(y) * q` it is `t / d`, `sin(y) * cos(y) * q / d`.
    ///
    /// >> tanh(Complex2fC(1, 2))
    /// [1.16674 - 0.243458i]
    "tanh" (C) -> (C), Float = |x, _| one(x, Complex::tanh);
    /// Arc sine of a complex number; the branch cuts are the real axis beyond -1 and 1. With `b = sqrt(1 - z)` and
    /// `a = sqrt(1 + z)`: `atan2(x, re(b * a))`, `asinh(im(conj(b) * a))`.
    ///
    /// >> asin(Complex2fC(1, 2))
    /// [0.427079 + 1.52857i]
    "asin" (C) -> (C), Float = |x, _| one(x, |z| z.times_i().asinh().over_i());
    /// Arc cosine of a complex number; the branch cuts are the real axis beyond -1 and 1. With `b = sqrt(1 - z)` and
    /// `a = sqrt(1 + z)`: `2 * atan2(re(b), re(a))`, `asinh(im(conj(a) * b))`.
    ///
    /// >> acos(Complex2fC(1, 2))
    /// [1.14372 - 1.52857i]
    "acos" (C) -> (C), Float = |x, _| one(x, Complex::acos);
    /// Arc tangent of a complex number, `-i * atanh(iz)`; the branch cuts are the imaginary axis beyond -i and i.
    ///
    /// >> atan(Complex2fC(1, 2))
    /// [1.33897 + 0.402359i]
    "atan" (C) -> (C), Float = |x, _| one(x, |z| z.times_i().atanh().over_i());
    /// Inverse hyperbolic sine of a complex number, `i * asin(-iz)`; the branch cuts are the imaginary axis beyond -i
    /// and i.
    ///
    /// >> asinh(Complex2fC(1, 2))
    /// [1.46935 + 1.06344i]
    "asinh" (C) -> (C), Float = |x, _| one(x, Complex::asinh);
    /// Inverse hyperbolic cosine of a complex number; the branch cut is the real axis below 1. With `b = sqrt(z - 1)` and
    /// `a = sqrt(z + 1)`: `asinh(re(conj(b) * a))`, `2 * atan2(im(b), re(a))`.
    ///
    /// >> acosh(Complex2fC(1, 2))
    /// [1.52857 + 1.14372i]
    "acosh" (C) -> (C), Float = |x, _| one(x, Complex::acosh);
    /// Inverse hyperbolic tangent of a complex number; the branch cuts are the real axis beyond -1 and 1. With
    /// `b = 1 - |x|`: `log1p(|x| * 4 / (b * b + y * y)) * 0.25` with the sign of x, and
    /// `atan2(y + y, b * (1 + |x|) - y * y) * 0.5`; where squares leave the range of the type by numbers scaled before, and
    /// for |x| = 1 and smallest y the first is `log(2 / |y|) * 0.5`. Infinite parts, zeros and NaN as in C99.
    ///
    /// >> atanh(Complex2fC(1, 2))
    /// [0.173287 + 1.1781i]
    "atanh" (C) -> (C), Float = |x, _| one(x, Complex::atanh);
    /// Complex exponential function: `cos(y) * exp(x)`, `sin(y) * exp(x)`; y = 0 stays as it is, and of x = -inf it is 0
    /// for any y.
    ///
    /// >> exp(Complex2fC(1, 2))
    /// [-1.1312 + 2.47173i]
    "exp" (C) -> (C), Float = |x, _| one(x, Complex::exp);
    /// exp(z) - 1 of a complex number, accurate near 0: `fma(expm1(x), cos(y), -2 * sqr(sin(y / 2)))`, `sin(y) * exp(x)`;
    /// y = 0 stays as it is, and of x = -inf it is -1 for any y.
    ///
    /// >> expm1(Complex2fC(1, 2))
    /// [-2.1312 + 2.47173i]
    "expm1" (C) -> (C), Float = |x, _| one(x, Complex::expm1);
    /// log(1 + z) of a complex number, accurate near 0: for 0.5 < |1 + z| < 2 the real part is
    /// `log1p(fma(x, x + 2, y * y)) * 0.5`. The branch cut is the real axis below -1.
    ///
    /// >> log1p(Complex2fC(0, 2))
    /// [0.804719 + 1.10715i]
    "log1p" (C) -> (C), Float = |x, _| one(x, Complex::log1p);
    /// 2 to the power of a complex number: with `a = y * log(2)`, `cos(a) * exp2(x)`, `sin(a) * exp2(x)`; y = 0 stays
    /// as it is.
    ///
    /// >> exp2(Complex2fC(3, 1))
    /// [6.15391 + 5.11169i]
    "exp2" (C) -> (C), Float = |x, _| {
        let z = Complex::of(x);
        z.power(real::exp2(z.re), z.im * z.im.constant(LN_2)).parts()
    };
    /// 10 to the power of a complex number: with `a = y * log(10)`, `cos(a) * exp10(x)`, `sin(a) * exp10(x)`; y = 0
    /// stays as it is.
    ///
    /// >> exp10(Complex2fC(1, 1))
    /// [-6.68201 + 7.4398i]
    "exp10" (C) -> (C), Float = |x, _| {
        let z = Complex::of(x);
        z.power(real::exp10(z.re), z.im * z.im.constant(LN_10)).parts()
    };
    /// Whether a part is not a number.
    ///
    /// >> isnan(Complex2fC(nan, 0))
    /// [1]
    "isnan" (C) -> (Scalar), Float = |x, _| vec![x[0].neq(x[0]) | x[1].neq(x[1])];
    /// Whether a part is infinite.
    ///
    /// >> isinf(Complex2fC(0, inf))
    /// [1]
    "isinf" (C) -> (Scalar), Float = |x, _| {
        let infinity = x[0].constant(f64::INFINITY);
        vec![x[0].abs().eq(infinity) | x[1].abs().eq(infinity)]
    };
    /// Whether both parts are finite.
    ///
    /// >> isfinite(Complex2fC(0, inf))
    /// [0]
    "isfinite" (C) -> (Scalar), Float = |x, _| {
        let infinity = x[0].constant(f64::INFINITY);
        vec![x[0].abs().lt(infinity) & x[1].abs().lt(infinity)]
    };
}
pub(crate) use complex_rows;

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

    pub(super) fn conj(self) -> Self {
        Self { im: -self.im, ..self }
    }

    fn times_i(self) -> Self {
        Self { re: -self.im, im: self.re }
    }

    fn over_i(self) -> Self {
        Self { re: self.im, im: -self.re }
    }

    /// `number + self`.
    fn plus(self, number: i32) -> Self {
        Self { re: self.re + self.re.constant(number), ..self }
    }

    /// The larger part of the root comes from the sum of magnitudes, the other by division.
    pub(super) fn sqrt(self) -> Self {
        let (half, zero) = (self.re.constant(0.5), self.re.constant(0));
        let (scale, back) = self.root_scale();
        let (x, y) = (self.re.abs() * scale, self.im.abs() * scale);
        let larger = (x * half + real::hypot(x, y) * half).sqrt();
        let smaller = y / (larger + larger);
        let smaller = larger.eq(zero).select(zero, smaller);
        let (larger, smaller) = (larger * back, smaller * back);
        let positive = self.re.ge(zero);
        let (re, im) = (positive.select(larger, smaller), positive.select(smaller, larger));
        // An infinite imaginary part wins over anything.
        let infinite = self.im.abs().eq(self.im.constant(f64::INFINITY));
        Self {
            re: infinite.select(self.im.abs(), re),
            im: infinite.select(self.im, real::mulsign(im, self.im)),
        }
    }

    /// What keeps magnitudes in the range of the type, and halves of the smallest exact; and the root of its reciprocal.
    fn root_scale(self) -> (Expr<'r>, Expr<'r>) {
        let (huge, tiny, up) = match self.re.dtype() {
            DType::F32 => (126, -100, 24),
            _ => (1022, -900, 60),
        };
        let power = |exponent: i32| self.re.constant(2_f64.powi(exponent));
        let most = self.re.abs().max(self.im.abs());
        let (is_huge, is_tiny) = (most.gt(power(huge)), most.lt(power(tiny)));
        let scale = is_huge.select(power(-2), is_tiny.select(power(2 * up), power(0)));
        (scale, is_huge.select(power(1), is_tiny.select(power(-up), power(0))))
    }

    /// Near the unit circle by `log1p` of `|z|² - 1`, which is exact to the last bits of the parts.
    pub(super) fn log(self) -> Self {
        let (re, im) = (self.re.abs(), self.im.abs());
        let (larger, smaller) = (re.max(im), re.min(im));
        let one = re.constant(1);
        // A quarter of the largest numbers has an absolute value.
        let limit = if re.dtype() == DType::F32 { 126 } else { 1022 };
        let huge = larger.gt(re.constant(2_f64.powi(limit)));
        let scale = huge.select(re.constant(0.25), one);
        let size = real::hypot(re * scale, im * scale);
        let rest = huge.select(re.constant(2.0 * LN_2), re.constant(0));
        let excess = (larger - one).fma(larger + one, smaller * smaller);
        let near = size.gt(size.constant(0.5)) & size.lt(size.constant(2));
        let log = near.select(real::log1p(excess) * size.constant(0.5), real::log(size) + rest);
        Self { re: log, im: real::atan2(self.im, self.re) }
    }

    /// As [`Complex::log`] of 1 + z, but for the digits that 1 + x has no room for.
    fn log1p(self) -> Self {
        let sum = self.plus(1);
        let log = sum.log();
        let size = real::hypot(sum.re, sum.im);
        let near = size.gt(size.constant(0.5)) & size.lt(size.constant(2));
        let excess = self.re.fma(self.re + self.re.constant(2), self.im * self.im);
        Self { re: near.select(real::log1p(excess) * size.constant(0.5), log.re), im: log.im }
    }

    fn pow(self, exponent: Self) -> Self {
        let power = (self.log() * exponent).exp();
        let zero = self.re.constant(0);
        let of_zero = self.re.eq(zero) & self.im.eq(zero);
        let no_exponent = exponent.re.eq(zero) & exponent.im.eq(zero);
        let vanishes = of_zero & exponent.re.gt(zero);
        let re = no_exponent.select(zero.constant(1), vanishes.select(zero, power.re));
        Self { re, im: (no_exponent | vanishes).select(zero, power.im) }
    }

    fn sinh(self) -> Self {
        let (sine, cosine) = (real::sin(self.im), real::cos(self.im));
        let im = Self::at_angle(self.im, self.im, real::cosh(self.re) * sine);
        Self { re: real::sinh(self.re) * cosine, im }
    }

    fn cosh(self) -> Self {
        let (sine, cosine) = (real::sin(self.im), real::cos(self.im));
        let zero = real::mulsign(self.im, self.re);
        let im = Self::at_angle(self.im, zero, real::sinh(self.re) * sine);
        Self { re: real::cosh(self.re) * cosine, im }
    }

    /// With `q = 1 / cosh² x` nothing overflows, and the divisor is a sum of squares.
    fn tanh(self) -> Self {
        let (sine, cosine) = (real::sin(self.im), real::cos(self.im));
        let tanh = real::tanh(self.re);
        let sech = self.re.constant(1) / real::cosh(self.re);
        let q = sech * sech;
        let divisor = tanh * tanh + cosine * cosine * q;
        Self { re: tanh / divisor, im: sine * cosine * q / divisor }
    }

    fn acos(self) -> Self {
        let (below, above) = ((-self).plus(1).sqrt(), self.plus(1).sqrt());
        let re = real::atan2(below.re, above.re);
        Self { re: re + re, im: real::asinh((above.conj() * below).im) }
    }

    fn acosh(self) -> Self {
        let (below, above) = (self.plus(-1).sqrt(), self.plus(1).sqrt());
        let im = real::atan2(below.im, above.re);
        Self { re: real::asinh((below.conj() * above).re), im: im + im }
    }

    /// `asin(w) = atan(re w / re(√(1-w) √(1+w))) + i asinh(im(conj(√(1-w)) √(1+w)))`, of `w = -iz`.
    fn asinh(self) -> Self {
        let w = self.over_i();
        let (below, above) = ((-w).plus(1).sqrt(), w.plus(1).sqrt());
        let asin = Self {
            re: real::atan2(w.re, (below * above).re),
            im: real::asinh((below.conj() * above).im),
        };
        asin.times_i()
    }

    /// No square on the way overflows, or is 0 below a logarithm. As C99 has it, an infinite part decides whatever the
    /// other is, and a real part of 0 stays.
    fn atanh(self) -> Self {
        let (x, y) = (self.re.abs(), self.im.abs());
        let number = |number: f64| x.constant(number);
        let range = AtanhRange::of(x.dtype());
        // From 2^60 on the angle is a right one to the last bit, and squares are those of numbers made smaller.
        let upright = y.eq(number(f64::INFINITY));
        let far = (x + y).gt(number(2_f64.powi(60))) | upright;
        let scale = far.select(number(2_f64.powi(range.far)), number(1.0));
        let doubled = scale + scale;
        let squared = (y * scale) * (y * scale);
        let below = scale - x * scale;
        // Just beside 1, `log(2 / y) / 2` by the quotient of a smaller number: 1 / y may be infinite.
        let beside = below.eq(number(0.0)) & y.lt(number(2_f64.powi(range.beside)));
        let dividend = beside.select(number(2_f64.powi(range.dividend)), x);
        let divisor = beside.select(y, below * below + squared);
        let quotient = dividend / divisor * doubled * doubled;
        let rest = f64::from(-1 - range.dividend) * 0.5 * LN_2;
        let log = real::log1p(quotient) * beside.select(number(0.5), number(0.25))
            + beside.select(number(rest), number(0.0));
        let vanishes = upright | x.eq(number(f64::INFINITY)) | x.eq(number(0.0));
        let log = vanishes.select(number(0.0), log);
        let angle =
            real::atan2(self.im * doubled, below * (number(1.0) + x) - squared) * number(0.5);
        let right = real::mulsign(x.pi_times(0.5), self.im);
        Self { re: real::mulsign(log, self.re), im: far.select(right, angle) }
    }

    /// A real number stays real, also where `e^re` is infinite.
    fn exp(self) -> Self {
        self.power(real::exp(self.re), self.im)
    }

    fn expm1(self) -> Self {
        let power = self.exp();
        let sine = real::sin(self.im * self.im.constant(0.5));
        let near = real::expm1(self.re).fma(real::cos(self.im), sine * sine * sine.constant(-2));
        // What overflows, or is no number, is the power itself.
        let limit = self.re.constant(16);
        let is_near = self.re.abs().lt(limit) & self.im.abs().lt(self.im.constant(f64::INFINITY));
        Self { re: is_near.select(near, power.re - power.re.constant(1)), im: power.im }
    }

    /// A power with this exponent, by absolute value and angle: of -inf 0, also where the angle is no number.
    fn power(self, absolute: Expr<'r>, angle: Expr<'r>) -> Self {
        let infinity = |sign: f64| self.re.constant(sign * f64::INFINITY);
        let vanishes = self.re.eq(infinity(-1.0)) & !angle.abs().lt(infinity(1.0));
        let Self { re, im } = Self::polar(absolute, angle);
        let zero = self.re.constant(0);
        Self { re: vanishes.select(zero, re), im: vanishes.select(zero, im) }
    }

    /// By absolute value and angle.
    fn polar(size: Expr<'r>, angle: Expr<'r>) -> Self {
        let im = Self::at_angle(angle, angle, real::sin(angle) * size);
        Self { re: real::cos(angle) * size, im }
    }

    /// `product`, with the sine of an angle: the zero where the angle is one, though the other factor may be infinite.
    fn at_angle(angle: Expr<'r>, zero: Expr<'r>, product: Expr<'r>) -> Expr<'r> {
        angle.eq(angle.constant(0)).select(zero, product)
    }
}

/// Powers of two between which [`Complex::atanh`] squares.
struct AtanhRange {
    /// What far numbers are made smaller by.
    far: i32,
    /// Below it, an imaginary part beside 1 is not squared.
    beside: i32,
    /// What such a part divides.
    dividend: i32,
}

impl AtanhRange {
    fn of(dtype: DType) -> Self {
        if dtype == DType::F32 {
            Self { far: -70, beside: -60, dividend: -32 }
        } else {
            Self { far: -540, beside: -120, dividend: -62 }
        }
    }
}

impl Neg for Complex<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
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
        let ratio = smaller.eq(zero).select(zero, smaller / larger);
        let divisor = larger + smaller * ratio;
        let (along, across) = (pick(self.re, self.im), pick(self.im, self.re));
        let difference = across - along * ratio;
        Self { re: (along + across * ratio) / divisor, im: pick(difference, -difference) / divisor }
    }
}

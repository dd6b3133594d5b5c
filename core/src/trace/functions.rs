//! Functions made of several operations: one row each, with the recipe in our own IR.
//!
//! A row is to functions what a row of `ir/op.rs` is to operations: script functions, help and tests
//! read it. Backends never see these; they see what the recipe records.

use super::expr::Expr;
use super::{Recorder, fmod, math, special};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::Class;
use crate::ir::var::VarId;

/// One row of the function table.
pub struct Function {
    /// Name of the script function.
    pub name: &'static str,
    /// Number of arguments.
    pub arity: usize,
    /// Types it computes in; [`Class::Float`] takes integers as their float.
    pub class: Class,
    /// Help text.
    pub doc: &'static str,
    recipe: for<'r> fn(&[Expr<'r>]) -> Expr<'r>,
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])+ $name:literal / $arity:literal, $class:ident = $recipe:expr;)*) => {
        /// Every function, by name.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            name: $name,
            arity: $arity,
            class: Class::$class,
            doc: concat!($($doc, "\n"),+),
            recipe: $recipe,
        },)*];
    };
}

functions! {
    /// Exponential function. At most 1.5 ulp.
    ///
    /// >> exp(FloatC([0, 1]))
    /// [1, 2.71828]
    "exp" / 1, Float = |x| math::exp(x[0]);
    /// Natural logarithm; -inf at 0, NaN below. At most 1.5 ulp.
    ///
    /// >> log(FloatC([1, 10]))
    /// [0, 2.30259]
    "log" / 1, Float = |x| math::log(x[0]);
    /// Sine of an angle in radians. At most 1.5 ulp for every finite angle.
    ///
    /// >> sin(FloatC([0, 1]))
    /// [0, 0.841471]
    "sin" / 1, Float = |x| math::sin(x[0]);
    /// Cosine of an angle in radians. At most 1.5 ulp for every finite angle.
    ///
    /// >> cos(FloatC([0, 1]))
    /// [1, 0.540302]
    "cos" / 1, Float = |x| math::cos(x[0]);
    /// Hyperbolic tangent. At most 2.5 ulp.
    ///
    /// >> tanh(FloatC([0, 2]))
    /// [0, 0.964028]
    "tanh" / 1, Float = |x| math::tanh(x[0]);
    /// Remainder of `a / b` with the sign of `a`, exact, as C's fmod; NaN if b is 0 or a is infinite.
    ///
    /// >> fmod(FloatC([5.5, -5.5]), 3)
    /// [2.5, -2.5]
    "fmod" / 2, Float = |x| fmod::fmod(x[0], x[1]);

    /// Error function: 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x. At most 3 ulp.
    ///
    /// >> erf(FloatC([0, 0.5, inf]))
    /// [0, 0.5205, 1]
    "erf" / 1, Float = |x| special::erf(x[0]);
    /// Complementary error function `1 - erf(x)`, accurate for large x too. At most 6 ulp.
    ///
    /// >> erfc(FloatC([0, 1, 9]))
    /// [1, 0.157299, 4.13703e-37]
    "erfc" / 1, Float = |x| special::erfc(x[0]);
    /// The number whose `erf` is x; infinite at -1 and 1, NaN beyond. At most 4 ulp.
    ///
    /// >> erfinv(FloatC([0, 0.5, 1]))
    /// [0, 0.476936, inf]
    "erfinv" / 1, Float = |x| special::erfinv(x[0]);
    /// The number whose `erfc` is x, accurate for small x too; infinite at 0 and 2, NaN beyond. At most 4 ulp.
    ///
    /// >> erfcinv(FloatC([1e-30, 0.5, 1]))
    /// [8.14862, 0.476936, 0]
    "erfcinv" / 1, Float = |x| special::erfcinv(x[0]);
    /// Normal distribution: the probability of a standard normal number below x. At most 6 ulp.
    ///
    /// >> norm_cdf(FloatC([-10, 0, 1]))
    /// [7.61985e-24, 0.5, 0.841345]
    "norm_cdf" / 1, Float = |x| special::norm_cdf(x[0]);
    /// Quantile of the normal distribution: the x with `norm_cdf(x) == p`; infinite at 0 and 1, NaN beyond.
    /// At most 5 ulp.
    ///
    /// >> norm_ppf(FloatC([0, 0.5, 0.975]))
    /// [-inf, 0, 1.95996]
    "norm_ppf" / 1, Float = |x| special::norm_ppf(x[0]);
    /// Logarithm of `|gamma(x)|`; inf at 0 and negative integers. At most 8 ulp, below -0.5 of
    /// `lgamma(2 - x)`.
    ///
    /// >> lgamma(FloatC([0, 0.5, 1, 100]))
    /// [inf, 0.572365, 0, 359.134]
    "lgamma" / 1, Float = |x| special::lgamma(x[0]);
    /// Gamma function, `(x - 1)!` for integers; NaN at negative integers. At most 10 ulp.
    ///
    /// >> tgamma(FloatC([5, 0.5, -0.5]))
    /// [24, 1.77245, -3.54491]
    "tgamma" / 1, Float = |x| special::tgamma(x[0]);
    /// Modified Bessel function of order 0, times exp(-|x|). At most 4 ulp.
    ///
    /// >> i0e(FloatC([0, 1, 100]))
    /// [1, 0.46576, 0.0399444]
    "i0e" / 1, Float = |x| special::i0e(x[0]);
    /// Modified Bessel function of order 1, times exp(-|x|). At most 4 ulp.
    ///
    /// >> i1e(FloatC([0, 1, 100]))
    /// [0, 0.20791, 0.0397442]
    "i1e" / 1, Float = |x| special::i1e(x[0]);
    /// Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x. At most 8 ulp.
    ///
    /// >> dawson(FloatC([0, 1, 10]))
    /// [0, 0.53808, 0.0502538]
    "dawson" / 1, Float = |x| special::dawson(x[0]);
    /// Complete elliptic integral of the first kind K, of the modulus k; inf at -1 and 1, NaN beyond.
    /// At most 3 ulp.
    ///
    /// >> comp_ellint_1(FloatC([0, 0.5, 1]))
    /// [1.5708, 1.68575, inf]
    "comp_ellint_1" / 1, Float = |x| special::comp_ellint_1(x[0]);
    /// Complete elliptic integral of the second kind E, of the modulus k; NaN beyond -1 and 1. At most 3 ulp.
    ///
    /// >> comp_ellint_2(FloatC([0, 0.5, 1]))
    /// [1.5708, 1.46746, 1]
    "comp_ellint_2" / 1, Float = |x| special::comp_ellint_2(x[0]);
    /// Complete elliptic integral of the third kind: `comp_ellint_3(k, nu)` is `ellint_3(pi / 2, k, nu)`;
    /// inf at nu = -1, NaN below. At most 8 ulp.
    ///
    /// >> comp_ellint_3(FloatC(0.5), FloatC([0, 0.5]))
    /// [1.68575, 1.36647]
    "comp_ellint_3" / 2, Float = |x| special::comp_ellint_3(x[0], x[1]);
    /// Elliptic integral of the first kind: `ellint_1(phi, k)` is that of 1 / sqrt(1 - k^2 sin^2) from 0 to
    /// phi; any phi for |k| <= 1. At most 8 ulp.
    ///
    /// >> ellint_1(FloatC([0, 1, 10]), 0.9)
    /// [0, 1.15966, 14.2857]
    "ellint_1" / 2, Float = |x| special::ellint_1(x[0], x[1]);
    /// Elliptic integral of the second kind: `ellint_2(phi, k)` is that of sqrt(1 - k^2 sin^2) from 0 to
    /// phi; any phi for |k| <= 1. At most 10 ulp.
    ///
    /// >> ellint_2(FloatC([0, 1, 10]), 0.9)
    /// [0, 0.876262, 7.58039]
    "ellint_2" / 2, Float = |x| special::ellint_2(x[0], x[1]);
    /// Elliptic integral of the third kind: `ellint_3(phi, k, nu)` is that of
    /// 1 / ((1 + nu sin^2) sqrt(1 - k^2 sin^2)) from 0 to phi, NaN beyond a pole. The sign of nu is Enoki's.
    /// At most 16 ulp.
    ///
    /// >> ellint_3(FloatC(1), 0.5, FloatC([0, 0.1]))
    /// [1.03736, 1.00963]
    "ellint_3" / 3, Float = |x| special::ellint_3(x[0], x[1], x[2]);
    /// Light intensity to the value stored in an sRGB image. At most 10 ulp from 0 to 1.
    ///
    /// >> linear_to_srgb(FloatC([0, 0.5, 1]))
    /// [0, 0.735357, 1]
    "linear_to_srgb" / 1, Float = |x| special::linear_to_srgb(x[0]);
    /// Value stored in an sRGB image to light intensity. At most 10 ulp from 0 to 1.
    ///
    /// >> srgb_to_linear(FloatC([0, 0.5, 1]))
    /// [0, 0.214041, 1]
    "srgb_to_linear" / 1, Float = |x| special::srgb_to_linear(x[0]);

    /// Square: `x * x`.
    ///
    /// >> sqr(FloatC([2, 3]))
    /// [4, 9]
    "sqr" / 1, Number = |x| x[0] * x[0];
    /// Reciprocal `1 / x`, correctly rounded.
    ///
    /// >> rcp(FloatC([2, 4]))
    /// [0.5, 0.25]
    "rcp" / 1, Float = |x| x[0].constant(1) / x[0];
    /// Reciprocal square root `1 / sqrt(x)`, both steps correctly rounded.
    ///
    /// >> rsqrt(FloatC([4, 16]))
    /// [0.5, 0.25]
    "rsqrt" / 1, Float = |x| x[0].constant(1) / x[0].sqrt();
    /// Square root of `max(x, 0)`.
    ///
    /// >> safe_sqrt(FloatC([-1, 4]))
    /// [0, 2]
    "safe_sqrt" / 1, Float = |x| x[0].max(x[0].constant(0)).sqrt();
    /// 1 with the sign of `x`, that of zeros included; NaN stays NaN. Integers: 1 from 0 up, else -1.
    ///
    /// >> sign(FloatC([-2, 0, 3]))
    /// [-1, 1, 1]
    "sign" / 1, Number = |x| sign(x[0]);
    /// `|a|` with the sign of `b`.
    ///
    /// >> copysign(FloatC([1, 2]), FloatC([-1, 1]))
    /// [-1, 2]
    "copysign" / 2, Float = |x| copysign(x[0], x[1]);
    /// `|a|` with the opposite sign of `b`.
    ///
    /// >> copysign_neg(FloatC([1, 2]), FloatC([-1, 1]))
    /// [1, -2]
    "copysign_neg" / 2, Float = |x| copysign(x[0], -x[1]);
    /// `a` times the sign of `b`.
    ///
    /// >> mulsign(FloatC([-1, 2]), FloatC([-1, 1]))
    /// [1, 2]
    "mulsign" / 2, Float = |x| mulsign(x[0], x[1]);
    /// `a` times the opposite sign of `b`.
    ///
    /// >> mulsign_neg(FloatC([-1, 2]), FloatC([-1, 1]))
    /// [-1, -2]
    "mulsign_neg" / 2, Float = |x| mulsign(x[0], -x[1]);
    /// `fma(t, b - a, a)`: `a` at t = 0, near `b` at t = 1.
    ///
    /// >> lerp(FloatC([0, 10]), FloatC([1, 20]), 0.5)
    /// [0.5, 15]
    "lerp" / 3, Float = |x| x[2].fma(x[1] - x[0], x[0]);
    /// `min(max(x, low), high)`.
    ///
    /// >> clamp(FloatC([-1, 0.5, 2]), 0, 1)
    /// [0, 0.5, 1]
    "clamp" / 3, Number = |x| x[0].max(x[1]).min(x[2]);
    /// `a * b + c`, rounded once.
    ///
    /// >> fmadd(FloatC([1, 2]), 3, 4)
    /// [7, 10]
    "fmadd" / 3, Number = |x| x[0].fma(x[1], x[2]);
    /// `a * b - c`, rounded once.
    ///
    /// >> fmsub(FloatC([1, 2]), 3, 4)
    /// [-1, 2]
    "fmsub" / 3, Number = |x| x[0].fma(x[1], -x[2]);
    /// `c - a * b`, rounded once.
    ///
    /// >> fnmadd(FloatC([1, 2]), 3, 4)
    /// [1, -2]
    "fnmadd" / 3, Number = |x| (-x[0]).fma(x[1], x[2]);
    /// `-(a * b) - c`, rounded once.
    ///
    /// >> fnmsub(FloatC([1, 2]), 3, 4)
    /// [-7, -10]
    "fnmsub" / 3, Number = |x| (-x[0]).fma(x[1], -x[2]);
    /// Whether the value is not a number.
    ///
    /// >> isnan(FloatC([1, inf, nan]))
    /// [0, 0, 1]
    "isnan" / 1, Float = |x| x[0].differs(x[0]);
    /// Whether the value is infinite.
    ///
    /// >> isinf(FloatC([1, inf, nan]))
    /// [0, 1, 0]
    "isinf" / 1, Float = |x| x[0].abs().equals(x[0].constant(f64::INFINITY));
    /// Whether the value is neither infinite nor NaN.
    ///
    /// >> isfinite(FloatC([1, inf, nan]))
    /// [1, 0, 0]
    "isfinite" / 1, Float = |x| x[0].abs().lt(x[0].constant(f64::INFINITY));
    /// The next float above; the smallest positive one above either zero.
    ///
    /// >> next_float(FloatC([0, 1])) > FloatC([0, 1])
    /// [1, 1]
    "next_float" / 1, Float = |x| next_float(x[0]);
    /// The next float below.
    ///
    /// >> prev_float(FloatC([0, 1])) < FloatC([0, 1])
    /// [1, 1]
    "prev_float" / 1, Float = |x| -next_float(-x[0]);
    /// Degrees to radians: `x * (pi / 180)`.
    ///
    /// >> deg_to_rad(FloatC([90, 180]))
    /// [1.5708, 3.14159]
    "deg_to_rad" / 1, Float = |x| x[0] * x[0].constant(std::f64::consts::PI / 180.0);
    /// Radians to degrees: `x * (180 / pi)`.
    ///
    /// >> rad_to_deg(FloatC([0, pi]))
    /// [0, 180]
    "rad_to_deg" / 1, Float = |x| x[0] * x[0].constant(180.0 / std::f64::consts::PI);

    /// Bits of `a` rotated left by `b[i]`, modulo the width; the result has `a`'s type.
    ///
    /// >> rol(UInt32C([0x80000001]), 4)
    /// [24]
    "rol" / 2, Int = |x| rotate_left(x[0], x[1]);
    /// Bits of `a` rotated right by `b[i]`, modulo the width; the result has `a`'s type.
    ///
    /// >> ror(UInt32C([24]), 4)
    /// [2147483649]
    "ror" / 2, Int = |x| rotate_left(x[0], -x[1]);
    /// Position of the highest one bit, `floor(log2(x))` of the bits as unsigned; -1 for 0.
    ///
    /// >> log2i(UInt32C([1, 7, 8]))
    /// [0, 2, 3]
    "log2i" / 1, Int = |x| x[0].constant(i64::from(x[0].dtype().bits()) - 1) - x[0].lzcnt();
}

/// The row called `name`.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

impl Function {
    /// Whether the second argument is a count, whose type is no part of the result's. Its low bits are all
    /// that matters, so it may be converted to any integer type.
    fn takes_count(&self) -> bool {
        matches!(self.name, "rol" | "ror")
    }

    /// Whether the result depends on the format of its argument, not only on the number: such functions of
    /// f16 are computed in f16, others in f32 and rounded once.
    fn is_of_the_format(&self) -> bool {
        self.class != Class::Float || matches!(self.name, "next_float" | "prev_float")
    }
}

impl Recorder<'_> {
    /// Records a function of `args`, promoted to their common type (S7); counts take the type of the value.
    ///
    /// # Errors
    /// `TypeMismatch`, `UnsupportedType`, `SizeMismatch`.
    pub fn function(&mut self, function: &Function, args: &[VarId]) -> Result<VarId> {
        let op = function.name;
        let mut dtype = self.dtype(args[0]);
        for &arg in &args[1..] {
            let other = self.dtype(arg);
            if function.takes_count() && other.is_int() {
                continue;
            }
            dtype =
                dtype.promote(other).ok_or(Error::TypeMismatch { op, lhs: dtype, rhs: other })?;
        }
        if function.class == Class::Float && dtype.is_int() {
            dtype = dtype.quotient();
        }
        if !function.class.contains(dtype) {
            let expected = function.class.describe();
            return Err(Error::UnsupportedType { op, dtype, expected });
        }
        let through_single = dtype == DType::F16 && !function.is_of_the_format();
        let computed = if through_single { DType::F32 } else { dtype };
        let mut converted = Vec::with_capacity(args.len());
        for &arg in args {
            let arg = self.cast(arg, dtype)?;
            converted.push(self.cast(arg, computed)?);
        }
        let result = self.expand(op, &converted, function.recipe)?;
        if through_single && self.dtype(result) == computed {
            self.cast(result, dtype)
        } else {
            Ok(result)
        }
    }
}

fn sign_bit(x: Expr<'_>) -> Expr<'_> {
    let bits = x.dtype().unsigned();
    x.reinterpret(bits) & x.constant_of(bits, 1 << (x.dtype().bits() - 1))
}

fn sign(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_float() {
        let one = copysign(x.constant(1), x);
        return x.differs(x).select(x, one);
    }
    let negative = x.lt(x.constant(0));
    // An unsigned value is never negative, so the all-ones pattern is never chosen there.
    negative.select(!x.constant(0), x.constant(1))
}

fn copysign<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    let magnitude = a.abs().reinterpret(a.dtype().unsigned());
    (magnitude | sign_bit(b)).reinterpret(a.dtype())
}

fn mulsign<'r>(a: Expr<'r>, b: Expr<'r>) -> Expr<'r> {
    (a.reinterpret(a.dtype().unsigned()) ^ sign_bit(b)).reinterpret(a.dtype())
}

/// Floats of one sign are ordered like their bits: step the bits up if positive, down if negative.
fn next_float(x: Expr<'_>) -> Expr<'_> {
    let bits = x.reinterpret(x.dtype().unsigned());
    let one = bits.constant(1);
    let stepped = x.gt(x.constant(0)).select(bits + one, bits - one).reinterpret(x.dtype());
    let from_zero = x.bits(1);
    let next = x.equals(x.constant(0)).select(from_zero, stepped);
    let stays = x.differs(x) | x.equals(x.constant(f64::INFINITY));
    stays.select(x, next)
}

fn rotate_left<'r>(a: Expr<'r>, count: Expr<'r>) -> Expr<'r> {
    let bits = a.dtype().unsigned();
    let width = a.constant_of(bits, u64::from(a.dtype().bits()));
    let last = a.constant_of(bits, u64::from(a.dtype().bits() - 1));
    let (value, left) = (a.reinterpret(bits), count.reinterpret(bits) & last);
    let right = (width - left) & last;
    (value.shl_by(left) | value.shr_by(right)).reinterpret(a.dtype())
}

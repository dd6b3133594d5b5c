//! Functions made of several operations: one row each, with the recipe in our own IR.
//!
//! A row is to functions what a row of `ir/op.rs` is to operations: script functions, help and tests
//! read it. Backends never see these; they see what the recipe records.

mod activation;
mod circular;
mod masks;
mod other_names;
mod partials;
mod special;

use super::expr::Expr;
use super::math::bits::{
    copysign, has_sign_bit, mulsign, next_float, nextafter, rotate_left, sgn, sign,
};
use super::math::half;
use super::numbers::NumberFunction;
use super::{Recorder, division, fmod, math, special as recipes};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Class, Op, Parts};
use crate::ir::var::VarId;
use std::f64::consts::{LN_2, LN_10};

pub use other_names::OTHER_NAMES;

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
    columns: &'static [Column],
    recipe: Recipe,
    /// A number times the partial derivative by each argument, or by the last ones: those before have none yet. Empty of a
    /// function whose recipe tells.
    pub(super) partials: &'static [Partial],
    /// The cheaper recipe for f16 arguments, which come as f32, if there is one.
    half: Option<Recipe>,
    /// What the last arguments are where scripts and texts leave them out.
    pub defaults: &'static [f64],
}

/// A property that few functions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The second argument is a count, whose type is no part of the result's. Its low bits are all that matters,
    /// so it may be converted to any integer type.
    Count,
    /// The result depends on the format of the argument, not only on the number: for f16 it is computed in f16,
    /// others are in f32 and rounded once.
    Format,
    /// The result is a mask.
    Mask,
    /// Of integers it is their remainder, an integer.
    Remainder,
    /// What it means for numbers of several parts, if that is not [`Parts::Entries`].
    Of(Parts),
}

/// Records the body of a function.
pub(super) type Recipe = for<'r> fn(&[Expr<'r>]) -> Expr<'r>;

/// A number times a partial derivative, from the number, the arguments and the function's value.
pub(super) type Partial = for<'r> fn(Expr<'r>, &[Expr<'r>], Expr<'r>) -> Expr<'r>;

macro_rules! functions {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident $(as $text:literal)? / $arity:literal, $class:ident $(($($column:ident $(($parts:ident))?),+))? = $recipe:expr $(, half = $half:expr)? $(, defaults = [$($default:expr),+])? $(, partials = [$($partial:expr),+ $(,)?])?;
    )*) => {
        /// Every function, by name.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            name: functions!(@name $name $($text)?),
            arity: $arity,
            class: Class::$class,
            doc: concat!($($doc, "\n"),+),
            columns: &[$($(Column::$column $((Parts::$parts))?),+)?],
            recipe: $recipe,
            partials: &[$($($partial),+)?],
            half: functions!(@half $($half)?),
            defaults: &[$($($default),+)?],
        },)*];
    };
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $text:literal) => { $text };
    (@half $half:expr) => { Some($half) };
    (@half) => { None };
}

/// Calls the macro `$with` with what else is given, and all rows: the doc comment, `name / arity, class (columns) = recipe, half = recipe, defaults = [of the last arguments], partials = [one for each of the last arguments]`;
/// `method as "name"` where the name is a word of Rust. Those of some families stand in files of their own.
macro_rules! function_rows {
    ($with:ident $($context:tt)*) => {
        $crate::trace::functions::special_rows! { $with [$($context)*]
            /// Exponential function `e^x`. At most 1.5 ulp.
            ///
            /// >> exp(FloatC([0, 1, -inf]))
            /// [1, 2.71828, 0]
            exp / 1, Float = |x| math::exp(x[0]), half = |x| half::exp(x[0]),
                partials = [|v, _, y| v * y];
            /// Power of two `2^x`, exact for integers. At most 1.5 ulp.
            ///
            /// >> exp2(FloatC([3, 0.5]))
            /// [8, 1.41421]
            exp2 / 1, Float = |x| math::exp2(x[0]), half = |x| half::exp2(x[0]),
                partials = [|v, _, y| v * (y * y.constant(LN_2))];
            /// Power of ten `10^x`. At most 1.5 ulp.
            ///
            /// >> exp10(FloatC([3, -1]))
            /// [1000, 0.1]
            exp10 / 1, Float = |x| math::exp10(x[0]), half = |x| half::exp10(x[0]),
                partials = [|v, _, y| v * (y * y.constant(LN_10))];
            /// `e^x - 1`, accurate near 0 too. At most 2 ulp.
            ///
            /// >> expm1(FloatC([1e-6, 1]))
            /// [1e-06, 1.71828]
            expm1 / 1, Float = |x| math::expm1(x[0]),
                partials = [|v, x, _| v * x[0].call("exp", &[])];
            /// Natural logarithm; -inf at 0, NaN below. At most 1.5 ulp.
            ///
            /// >> log(FloatC([1, 10, 0]))
            /// [0, 2.30259, -inf]
            log / 1, Float = |x| math::log(x[0]), half = |x| half::log(x[0]),
                partials = [|v, x, _| v / x[0]];
            /// Logarithm to base 2, exact for powers of two; -inf at 0, NaN below. At most 2 ulp.
            ///
            /// >> log2(FloatC([8, 10]))
            /// [3, 3.32193]
            log2 / 1, Float = |x| math::log2(x[0]), half = |x| half::log2(x[0]),
                partials = [|v, x, y| v / (x[0] * y.constant(LN_2))];
            /// Logarithm to base 10; -inf at 0, NaN below. At most 1.5 ulp.
            ///
            /// >> log10(FloatC([1000, 2]))
            /// [3, 0.30103]
            log10 / 1, Float = |x| math::log10(x[0]), half = |x| half::log10(x[0]),
                partials = [|v, x, y| v / (x[0] * y.constant(LN_10))];
            /// `log(1 + x)`, accurate near 0 too; -inf at -1, NaN below. At most 2 ulp.
            ///
            /// >> log1p(FloatC([1e-6, 1]))
            /// [1e-06, 0.693147]
            log1p / 1, Float = |x| math::log1p(x[0]),
                partials = [|v, x, y| v / (x[0] + y.constant(1))];
            /// Power `a ** b`. With a script integer b of an array a by repeated squaring, exact for integers; negative b
            /// takes reciprocals. Else the function of floats, which integers become: 1 for b = 0 or a = 1, NaN for a negative a
            /// unless b is an integer, other special values as in C. At most 2 ulp. Int64C(a) ** b, of doubles, keeps 15 digits.
            ///
            /// >> pow(FloatC([2, 9]), 0.5)
            /// [1.41421, 3]
            pow / 2, Float (Of(Whole)) = |x| math::pow(x[0], x[1]), partials = [
                |v, x, _| v * partials::power(x),
                |v, x, y| v * partials::exponent(x, y),
            ];
            /// Cube root. At most 1.5 ulp.
            ///
            /// >> cbrt(FloatC([27, -8]))
            /// [3, -2]
            cbrt / 1, Float = |x| math::cbrt(x[0]),
                partials = [|v, _, y| v * partials::over_square_of_root(y)];
            /// Reciprocal cube root `1 / cbrt(x)`; infinite at 0. At most 1.5 ulp.
            ///
            /// >> rcbrt(FloatC([8, -0.001]))
            /// [0.5, -10]
            rcbrt / 1, Float = |x| math::rcbrt(x[0]),
                partials = [|v, _, y| v * (y * y * (y * y)) / y.constant(-3)];
            /// `log(exp(a) + exp(b))` without overflow on the way. At most 2.5 ulp of the largest of `|a|`, `|b|` and the result.
            ///
            /// >> logaddexp(FloatC([0, 1000]), FloatC([0, -inf]))
            /// [0.693147, 1000]
            logaddexp / 2, Float = |x| math::logaddexp(x[0], x[1]), partials = [
                |v, x, _| v * (x[0] - x[1]).call("sigmoid", &[]),
                |v, x, _| v * (x[1] - x[0]).call("sigmoid", &[]),
            ];
            /// `sqrt(a * a + b * b)` without overflow on the way; inf if either is infinite. At most 1.5
            /// ulp.
            ///
            /// >> hypot(FloatC(3), FloatC([4, inf]))
            /// [5, inf]
            hypot / 2, Float = |x| math::hypot(x[0], x[1]), partials = [
                |v, x, _| v * partials::legs(x)[0],
                |v, x, _| v * partials::legs(x)[1],
            ];
            /// The m of `x = m * 2^e` with 0.5 <= |m| < 1; x itself if it is 0, infinite or NaN. Exact.
            ///
            /// >> mantissa(FloatC([12, -0.1]))
            /// [0.75, -0.8]
            mantissa / 1, Float = |x| math::mantissa(x[0]),
                partials = [|v, x, y| x[0].eq(x[0].constant(0)).select(v, v * (y / x[0]))];
            /// The e of `x = m * 2^e` with 0.5 <= |m| < 1, as a float; 0 if x is 0, infinite or NaN. Exact.
            ///
            /// >> exponent(FloatC([12, -0.1]))
            /// [4, -3]
            exponent / 1, Float = |x| math::exponent(x[0]),
                partials = [|v, _, _| v.constant(0)];
            /// `a * 2^b` for the integer part of b, rounded once.
            ///
            /// >> ldexp(FloatC([0.75, 1]), Int32C([4, -3]))
            /// [12, 0.125]
            ldexp / 2, Float = |x| math::ldexp(x[0], x[1]), partials = [
                |v, x, _| v.call("ldexp", &[x[1]]),
                |v, _, _| v.constant(0),
            ];
            /// Fractional part `x - floor(x)`, kept below 1; NaN for infinities.
            ///
            /// >> fract(FloatC([2.75, -0.25]))
            /// [0.75, 0.75]
            fract / 1, Float (Format) = |x| math::fract(x[0]),
                partials = [|v, _, _| v];
            /// Nearest integer, halves away from zero (`round` has halves to even).
            ///
            /// >> round_away(FloatC([2.5, -2.5, 0.5]))
            /// [3, -3, 1]
            round_away / 1, Float = |x| math::round_away(x[0]),
                partials = [|v, _, _| v.constant(0)];
            /// Remainder of `a / b` with the sign of `a`, exact, as C's fmod; NaN if b is 0 or a is
            /// infinite. Of arrays of integers `a % b`, by zero 0.
            ///
            /// >> fmod(FloatC([5.5, -5.5]), 3)
            /// [2.5, -2.5]
            fmod / 2, Float (Remainder) = |x| fmod::fmod(x[0], x[1]), partials = [
                |v, _, _| v,
                |v, x, y| -(v * partials::n_divisors(x, y)),
            ];
            /// Remainder of `a / b` with the sign of `b`, as Python's and NumPy's `%`; by zero 0 of integers, NaN of floats.
            ///
            /// >> mod(Int32C([-7, 7, 5]), Int32C([3, -3, 0]))
            /// [2, -2, 0]
            modulo as "mod" / 2, Number = |x| division::modulo(x[0], x[1]), partials = [
                |v, _, _| v,
                |v, x, y| -(v * partials::n_divisors(x, y)),
            ];
            /// `a / b` rounded down, as Python's and NumPy's `//`; integers stay integers. By zero 0 of integers, `a / b` of floats.
            ///
            /// >> floor_divide(Int32C([-7, 7]), 2)
            /// [-4, 3]
            floor_divide / 2, Number = |x| division::floor_divide(x[0], x[1]), partials = [
                |v, _, _| v.constant(0),
                |v, _, _| v.constant(0),
            ];

            /// Square: `x * x`, of a matrix the matrix product.
            ///
            /// >> sqr(FloatC([2, 3]))
            /// [4, 9]
            sqr / 1, Number = |x| x[0] * x[0];
            /// Reciprocal `1 / x`, correctly rounded; of a matrix the inverse.
            ///
            /// >> rcp(FloatC([2, 4]))
            /// [0.5, 0.25]
            rcp / 1, Float = |x| x[0].constant(1) / x[0],
                partials = [|v, _, y| -(v * (y * y))];
            /// Reciprocal square root `1 / sqrt(x)`, both steps correctly rounded; of Float16C rounded once.
            ///
            /// >> rsqrt(FloatC([4, 16]))
            /// [0.5, 0.25]
            rsqrt / 1, Float = |x| x[0].constant(1) / x[0].sqrt(),
                partials = [|v, _, y| v * (y * y * y) * y.constant(-0.5)];
            /// Square root of `max(x, 0)`.
            ///
            /// >> safe_sqrt(FloatC([-1, 4]))
            /// [0, 2]
            safe_sqrt / 1, Float = |x| not_negative(x[0]).sqrt(),
                partials = [|v, x, _| partials::safe(x[0], |x| v * v.constant(0.5) / x.sqrt())];
            /// Reciprocal square root of `max(x, 0)`: inf from 0 down.
            ///
            /// >> safe_rsqrt(FloatC([4, -4]))
            /// [0.5, inf]
            safe_rsqrt / 1, Float = |x| x[0].constant(1) / not_negative(x[0]).sqrt(),
                partials = [|v, x, _| partials::safe(x[0], |x| v * v.constant(-0.5) / (x * x.sqrt()))];
            /// 1 with the sign of `x`, that of zeros included; NaN stays NaN. Integers: 1 from 0 up, else -1.
            ///
            /// >> sign(FloatC([-2, 0, 3]))
            /// [-1, 1, 1]
            sign / 1, Number = |x| sign(x[0]),
                partials = [|v, _, _| v.constant(0)];
            /// -1, 0 or 1 as `x` is below, at or above 0 (`sign` has no 0); NaN stays NaN.
            ///
            /// >> sgn(FloatC([-2, 0, 3]))
            /// [-1, 0, 1]
            sgn / 1, Number = |x| sgn(x[0]),
                partials = [|v, _, _| v.constant(0)];
            /// `|a|` with the sign of `b`.
            ///
            /// >> copysign(FloatC([1, 2]), FloatC([-1, 1]))
            /// [-1, 2]
            copysign / 2, Float = |x| copysign(x[0], x[1]), partials = [
                |v, x, _| v.call("mulsign", &[x[0]]).call("mulsign", &[x[1]]),
                |v, _, _| v.constant(0),
            ];
            /// `|a|` with the opposite sign of `b`.
            ///
            /// >> copysign_neg(FloatC([1, 2]), FloatC([-1, 1]))
            /// [1, -2]
            copysign_neg / 2, Float = |x| copysign(x[0], -x[1]), partials = [
                |v, x, _| -v.call("mulsign", &[x[0]]).call("mulsign", &[x[1]]),
                |v, _, _| v.constant(0),
            ];
            /// `a` times the sign of `b`.
            ///
            /// >> mulsign(FloatC([-1, 2]), FloatC([-1, 1]))
            /// [1, 2]
            mulsign / 2, Float = |x| mulsign(x[0], x[1]), partials = [
                |v, x, _| v.call("mulsign", &[x[1]]),
                |v, _, _| v.constant(0),
            ];
            /// `a` times the opposite sign of `b`.
            ///
            /// >> mulsign_neg(FloatC([-1, 2]), FloatC([-1, 1]))
            /// [-1, -2]
            mulsign_neg / 2, Float = |x| mulsign(x[0], -x[1]), partials = [
                |v, x, _| -v.call("mulsign", &[x[1]]),
                |v, _, _| v.constant(0),
            ];
            /// Step function: `heaviside(x, h0)` is 0 below 0, h0 at 0, 1 above; NaN stays.
            ///
            /// >> heaviside(FloatC([-2, 0, 3]), 0.5)
            /// [0, 0.5, 1]
            heaviside / 2, Float = |x| heaviside(x), partials = [
                |v, _, _| v.constant(0),
                |v, x, _| x[0].eq(x[0].constant(0)).select(v, v.constant(0)),
            ];
            /// The first of two arguments, in their common type and size.
            ///
            /// >> left(Int32C(1), FloatC([2, 3]))
            /// [1, 1]
            left / 2, Number = |x| x[0];
            /// The second of two arguments, in their common type and size.
            ///
            /// >> right(FloatC([2, 3]), Int32C(1))
            /// [1, 1]
            right / 2, Number = |x| x[1];
            /// `fma(t, b - a, a)`: `a` at t = 0, near `b` at t = 1; of Float16C rounded once. Of numbers of several parts as `fma`.
            ///
            /// >> lerp(FloatC([0, 10]), FloatC([1, 20]), 0.5)
            /// [0.5, 15]
            lerp / 3, Float (Of(Lerp)) = |x| x[2].fma(x[1] - x[0], x[0]);
            /// `min(max(x, low), high)`; a NaN x gives low.
            ///
            /// >> clamp(FloatC([-1, 0.5, 7]), 0, 1)
            /// [0, 0.5, 1]
            clamp / 3, Number = |x| clamp(x);
            /// `clamp`, but a NaN stays, and a bound that is NaN bounds nothing.
            ///
            /// >> clip(FloatC([-1, 5, nan]), 0, 3)
            /// [0, 3, nan]
            clip / 3, Number = |x| clip(x), partials = [
                |v, x, _| clip_share(v, x, 0),
                |v, x, _| clip_share(v, x, 1),
                |v, x, _| clip_share(v, x, 2),
            ];
            /// `a * b + c`, rounded once; of numbers of several parts as `fma`.
            ///
            /// >> fmadd(FloatC([1, 2]), 3, 4)
            /// [7, 10]
            fmadd / 3, Number (Of(MulAdd)) = |x| x[0].fma(x[1], x[2]);
            /// `a * b - c`, rounded once; of numbers of several parts as `fma`.
            ///
            /// >> fmsub(FloatC([1, 2]), 3, 4)
            /// [-1, 2]
            fmsub / 3, Number (Of(MulSub)) = |x| x[0].fma(x[1], -x[2]);
            /// `c - a * b`, rounded once; of numbers of several parts as `fma`.
            ///
            /// >> fnmadd(FloatC([1, 2]), 3, 4)
            /// [1, -2]
            fnmadd / 3, Number (Of(NegMulAdd)) = |x| (-x[0]).fma(x[1], x[2]);
            /// `-(a * b) - c`, rounded once; of numbers of several parts as `fma`.
            ///
            /// >> fnmsub(FloatC([1, 2]), 3, 4)
            /// [-7, -10]
            fnmsub / 3, Number (Of(NegMulSub)) = |x| (-x[0]).fma(x[1], -x[2]);
            /// The next float above; the smallest positive one above either zero.
            ///
            /// >> next_float(FloatC([0, 1])) > FloatC([0, 1])
            /// [1, 1]
            next_float / 1, Float (Format) = |x| next_float(x[0]),
                partials = [|v, _, _| v];
            /// The next float below.
            ///
            /// >> prev_float(FloatC([0, 1])) < FloatC([0, 1])
            /// [1, 1]
            prev_float / 1, Float (Format) = |x| -next_float(-x[0]),
                partials = [|v, _, _| v];
            /// The next float after a towards b, as C has it: b if they are equal, NaN if either is.
            ///
            /// >> nextafter(FloatC([1, 1, 0]), FloatC([2, 1, -1])) > 1
            /// [1, 0, 0]
            nextafter / 2, Float (Format) = |x| nextafter(x[0], x[1]), partials = [
                |v, _, _| v,
                |v, _, _| v.constant(0),
            ];
            /// Degrees to radians: `x * (pi / 180)`.
            ///
            /// >> deg_to_rad(FloatC([90, 180]))
            /// [1.5708, 3.14159]
            deg_to_rad / 1, Float = |x| x[0] * x[0].constant(std::f64::consts::PI / 180.0);
            /// Radians to degrees: `x * (180 / pi)`.
            ///
            /// >> rad_to_deg(FloatC([0, pi]))
            /// [0, 180]
            rad_to_deg / 1, Float = |x| x[0] * x[0].constant(180.0 / std::f64::consts::PI);

            /// Greatest common divisor, not negative; 0 of zeros. What has no positive number in the type is MIN.
            ///
            /// >> gcd(Int32C([12, -12, 0]), Int32C([18, 18, 5]))
            /// [6, 6, 5]
            gcd / 2, Int = |x| division::gcd(x[0], x[1]);
            /// Least common multiple, 0 if either is 0; what is beyond the type wraps.
            ///
            /// >> lcm(Int32C([4, -4, 0]), 6)
            /// [12, 12, 0]
            lcm / 2, Int = |x| division::lcm(x[0], x[1]);
            /// Bits of `a` rotated left by `b[i]`, modulo the width; the result has `a`'s type.
            ///
            /// >> rol(UInt32C([0x80000001]), 4)
            /// [24]
            rol / 2, Int (Count) = |x| rotate_left(x[0], x[1]);
            /// Bits of `a` rotated right by `b[i]`, modulo the width; the result has `a`'s type.
            ///
            /// >> ror(UInt32C([24]), 4)
            /// [2147483649]
            ror / 2, Int (Count) = |x| rotate_left(x[0], -x[1]);
            /// Position of the highest one bit, `floor(log2(x))` of the bits as unsigned; of 0 it is -1, in unsigned types
            /// all bits.
            ///
            /// >> log2i(UInt32C([1, 7, 8]))
            /// [0, 2, 3]
            log2i / 1, Int = |x| x[0].constant(i64::from(x[0].dtype().bits()) - 1) - x[0].lzcnt();
        }
    };
}
pub(crate) use activation::activation_rows;
pub(crate) use circular::circular_rows;
pub(crate) use function_rows;
pub(crate) use masks::mask_rows;
pub(crate) use special::special_rows;

function_rows!(functions);

/// The row called `name`.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

impl Function {
    /// Whether the function has a property.
    pub fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// What it means for numbers of several parts.
    pub fn parts(&self) -> Parts {
        let of = |column: &Column| if let Column::Of(parts) = column { Some(*parts) } else { None };
        self.columns.iter().find_map(of).unwrap_or(Parts::Entries)
    }

    /// Whether it makes floats of floats.
    pub fn is_of_floats(&self) -> bool {
        self.class == Class::Float && !self.has(Column::Mask)
    }

    /// The same function of plain numbers, by the recipe of f64 with twice the digits. For functions of floats that give
    /// floats.
    pub fn of_numbers(&self) -> NumberFunction {
        NumberFunction::new(self.recipe)
    }

    /// How many arguments must be given.
    pub fn n_required(&self) -> usize {
        self.arity - self.defaults.len()
    }

    /// Whether f16 has operations of its own.
    pub fn has_half_recipe(&self) -> bool {
        self.half.is_some()
    }

    /// What it is made of.
    pub(super) fn recipe(&self) -> Recipe {
        self.recipe
    }

    /// Whether partial derivatives stand in the row.
    pub(super) fn has_partials(&self) -> bool {
        !self.partials.is_empty()
    }

    /// Whether it can be differentiated by the i-th argument.
    pub fn has_partial(&self, i: usize) -> bool {
        self.partials.is_empty() || i + self.partials.len() >= self.arity
    }

    /// `v` times the partial derivative by the i-th argument.
    pub(super) fn times_partial<'r>(
        &self,
        i: usize,
        v: Expr<'r>,
        x: &[Expr<'r>],
        y: Expr<'r>,
    ) -> Expr<'r> {
        (self.partials[i + self.partials.len() - self.arity])(v, x, y)
    }

    fn is_of_the_format(&self) -> bool {
        self.class != Class::Float || self.has(Column::Format)
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
            if function.has(Column::Count) && other.is_int() {
                continue;
            }
            dtype =
                dtype.promote(other).ok_or(Error::TypeMismatch { op, lhs: dtype, rhs: other })?;
        }
        if function.has(Column::Remainder) && dtype.is_int() {
            return self.elementwise(Op::Rem, args);
        }
        if function.class == Class::Float && dtype.is_int() {
            dtype = dtype.quotient();
        }
        if !function.class.contains(dtype) {
            let is_remainder = function.has(Column::Remainder);
            let class = if is_remainder { Class::Number } else { function.class };
            let expected = class.describe();
            return Err(Error::UnsupportedType { op, dtype, expected });
        }
        let mut converted = Vec::with_capacity(args.len());
        for &arg in args {
            converted.push(self.cast(arg, dtype)?);
        }
        let result = self.call(op, &converted, |recorder, args| recorder.inline(function, args))?;
        // One of the arguments, of which others may have more lanes.
        if converted.contains(&result) {
            let size = self.broadcast(|| op, &converted)?;
            return self.widen(result, size);
        }
        Ok(result)
    }

    /// Records what a function of `args` is made of; they have a type that it takes, all the same.
    ///
    /// # Errors
    /// `SizeMismatch`.
    pub fn inline(&mut self, function: &Function, args: &[VarId]) -> Result<VarId> {
        let dtype = self.dtype(args[0]);
        if !dtype.is_half() || function.is_of_the_format() {
            return self.expand(function.name, args, function.recipe);
        }
        let mut wide = Vec::with_capacity(args.len());
        for &arg in args {
            wide.push(self.cast(arg, DType::F32)?);
        }
        let recipe = function.half.unwrap_or(function.recipe);
        let result = self.expand(function.name, &wide, recipe)?;
        // Masks stay what they are.
        if self.dtype(result) == DType::F32 { self.cast(result, dtype) } else { Ok(result) }
    }
}

fn clamp<'r>(x: &[Expr<'r>]) -> Expr<'r> {
    x[0].max(x[1]).min(x[2])
}

fn clip<'r>(x: &[Expr<'r>]) -> Expr<'r> {
    let least = x[0].lt(x[1]).select(x[1], x[0]);
    least.gt(x[2]).select(x[2], least)
}

/// What of `v` goes to an operand of `clip`: all to the one that is the result, half each where the number is a bound.
fn clip_share<'r>(v: Expr<'r>, x: &[Expr<'r>], i: usize) -> Expr<'r> {
    let (half, zero) = (v * v.constant(0.5), v.constant(0));
    let least = x[0].lt(x[1]).select(x[1], x[0]);
    let beyond = least.gt(x[2]);
    if i == 2 {
        return least.eq(x[2]).select(half, beyond.select(v, zero));
    }
    let v = least.eq(x[2]).select(half, beyond.select(zero, v));
    let half = v * v.constant(0.5);
    let (below, zero) = (x[0].lt(x[1]), v.constant(0));
    let share = if i == 0 { below.select(zero, v) } else { below.select(v, zero) };
    x[0].eq(x[1]).select(half, share)
}

/// Whether a value is true, or not 0.
fn truth(x: Expr<'_>) -> Expr<'_> {
    if x.dtype() == DType::Mask { x } else { x.neq(x.constant(0)) }
}

fn heaviside<'r>(x: &[Expr<'r>]) -> Expr<'r> {
    let (x, h0, zero, one) = (x[0], x[1], x[0].constant(0), x[0].constant(1));
    let step = x.gt(zero).select(one, x.lt(zero).select(zero, h0));
    x.neq(x).select(x, step)
}

/// `max(x, 0)`, and +0 for −0.
fn not_negative(x: Expr<'_>) -> Expr<'_> {
    x.max(x.constant(0))
}

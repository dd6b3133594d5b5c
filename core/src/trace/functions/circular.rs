//! Rows of the circular and hyperbolic functions and their inverses.

/// Puts these rows behind those given, as [`function_rows`](super::function_rows) gives them.
macro_rules! circular_rows {
    ($with:ident [$($context:tt)*] $($rows:tt)*) => {
        $crate::trace::functions::mask_rows! { $with [$($context)*] $($rows)*
            /// Sine of an angle in radians. At most 1.5 ulp for every finite angle.
            ///
            /// >> sin(FloatC([0, 1]))
            /// [0, 0.841471]
            sin / 1, Float = |x| math::sin(x[0]), half = |x| half::sin(x[0]),
                partials = [|v, x, _| v * x[0].call("cos", &[])];
            /// Cosine of an angle in radians. At most 1.5 ulp for every finite angle.
            ///
            /// >> cos(FloatC([0, 1]))
            /// [1, 0.540302]
            cos / 1, Float = |x| math::cos(x[0]), half = |x| half::cos(x[0]),
                partials = [|v, x, _| -(v * x[0].call("sin", &[]))];
            /// Tangent of an angle in radians. At most 2.5 ulp for every finite angle.
            ///
            /// >> tan(FloatC([0, 1]))
            /// [0, 1.55741]
            tan / 1, Float = |x| math::tan(x[0]), half = |x| half::sin(x[0]) / half::cos(x[0]),
                partials = [|v, _, y| v * (y * y + y.constant(1))];
            /// Cotangent `1 / tan(x)`. At most 2.5 ulp for every finite angle.
            ///
            /// >> cot(FloatC(1))
            /// [0.642093]
            cot / 1, Float = |x| math::cot(x[0]),
                partials = [|v, _, y| -(v * (y * y + y.constant(1)))];
            /// Secant `1 / cos(x)`. At most 2 ulp for every finite angle.
            ///
            /// >> sec(FloatC(1))
            /// [1.85082]
            sec / 1, Float = |x| math::sec(x[0]),
                partials = [|v, x, y| v * (y * x[0].call("tan", &[]))];
            /// Cosecant `1 / sin(x)`. At most 2 ulp for every finite angle.
            ///
            /// >> csc(FloatC(1))
            /// [1.1884]
            csc / 1, Float = |x| math::csc(x[0]),
                partials = [|v, x, y| -(v * (y * x[0].call("cot", &[])))];
            /// Sine of an angle in half turns, `sin(pi * x)`: exactly 0 at integers. At most 1.5 ulp.
            ///
            /// >> sinpi(FloatC([0.5, 1]))
            /// [1, 0]
            sinpi / 1, Float = |x| math::sinpi(x[0]),
                partials = [|v, x, y| v * (y.pi_times(1.0) * x[0].call("cospi", &[]))];
            /// `sin(pi * x) / (pi * x)`, 1 at 0: the spectrum of a box, as NumPy and Julia define it. At most 3 ulp.
            ///
            /// >> sinc(FloatC([0, 0.5, 1]))
            /// [1, 0.63662, 0]
            sinc / 1, Float = |x| math::sinc(x[0]),
                partials = [|v, x, y| v * partials::sinc(x[0], y)];
            /// Cosine of an angle in half turns, `cos(pi * x)`: exactly 0 halfway between integers. At most
            /// 1.5 ulp.
            ///
            /// >> cospi(FloatC([0.5, 1]))
            /// [0, -1]
            cospi / 1, Float = |x| math::cospi(x[0]),
                partials = [|v, x, y| -(v * (y.pi_times(1.0) * x[0].call("sinpi", &[])))];
            /// Inverse sine, -pi/2 to pi/2; NaN beyond -1 and 1. At most 2.5 ulp.
            ///
            /// >> asin(FloatC([0.5, 2]))
            /// [0.523599, nan]
            asin / 1, Float = |x| math::asin(x[0]),
                partials = [|v, x, _| v / partials::cosine(x[0])];
            /// Inverse cosine, 0 to pi; NaN beyond -1 and 1. At most 1.5 ulp.
            ///
            /// >> acos(FloatC([0.5, 2]))
            /// [1.0472, nan]
            acos / 1, Float = |x| math::acos(x[0]),
                partials = [|v, x, _| -(v / partials::cosine(x[0]))];
            /// Inverse sine of x limited to -1 .. 1; NaN stays NaN. At most 2.5 ulp.
            ///
            /// >> safe_asin(FloatC([0.5, 2]))
            /// [0.523599, 1.5708]
            safe_asin / 1, Float = |x| math::asin(math::unit_range(x[0])),
                partials = [|v, x, _| partials::inside(x[0], |x| v / partials::cosine(x))];
            /// Inverse cosine of x limited to -1 .. 1; NaN stays NaN. At most 1.5 ulp.
            ///
            /// >> safe_acos(FloatC([0.5, 2]))
            /// [1.0472, 0]
            safe_acos / 1, Float = |x| math::acos(math::unit_range(x[0])),
                partials = [|v, x, _| -partials::inside(x[0], |x| v / partials::cosine(x))];
            /// Inverse tangent, -pi/2 to pi/2. At most 2.5 ulp.
            ///
            /// >> atan(FloatC([1, inf]))
            /// [0.785398, 1.5708]
            atan / 1, Float = |x| math::atan(x[0]),
                partials = [|v, x, _| partials::over_square(v, x[0])];
            /// Angle of the point (b, a), -pi to pi: `atan2(y, x)`. Zeros count with their signs. At most
            /// 2.5 ulp.
            ///
            /// >> atan2(FloatC([1, 0]), FloatC([1, -1]))
            /// [0.785398, 3.14159]
            atan2 / 2, Float = |x| math::atan2(x[0], x[1]), partials = [
                |v, x, _| v * partials::turn(x[1], x),
                |v, x, _| -(v * partials::turn(x[0], x)),
            ];
            /// Hyperbolic sine. At most 2.5 ulp.
            ///
            /// >> sinh(FloatC([0, 1]))
            /// [0, 1.1752]
            sinh / 1, Float = |x| math::sinh(x[0]),
                partials = [|v, x, _| v * x[0].call("cosh", &[])];
            /// Hyperbolic cosine. At most 2 ulp.
            ///
            /// >> cosh(FloatC([0, 1]))
            /// [1, 1.54308]
            cosh / 1, Float = |x| math::cosh(x[0]),
                partials = [|v, x, _| v * x[0].call("sinh", &[])];
            /// Hyperbolic tangent. At most 2.5 ulp.
            ///
            /// >> tanh(FloatC([0, 1]))
            /// [0, 0.761594]
            tanh / 1, Float = |x| math::tanh(x[0]), half = |x| half::tanh(x[0]),
                partials = [|v, x, y| v * partials::tanh(x[0], y)];
            /// Hyperbolic cotangent `1 / tanh(x)`. At most 2.5 ulp.
            ///
            /// >> coth(FloatC(1))
            /// [1.31304]
            coth / 1, Float = |x| math::coth(x[0]),
                partials = [|v, x, _| -(v * x[0].call("csch", &[]).call("sqr", &[]))];
            /// Hyperbolic secant `1 / cosh(x)`. At most 3 ulp.
            ///
            /// >> sech(FloatC(1))
            /// [0.648054]
            sech / 1, Float = |x| math::sech(x[0]),
                partials = [|v, x, y| -(v * (y * x[0].call("tanh", &[])))];
            /// Hyperbolic cosecant `1 / sinh(x)`. At most 3 ulp.
            ///
            /// >> csch(FloatC(1))
            /// [0.850918]
            csch / 1, Float = |x| math::csch(x[0]),
                partials = [|v, x, y| -(v * (y * x[0].call("coth", &[])))];
            /// Inverse hyperbolic sine. At most 2.5 ulp.
            ///
            /// >> asinh(FloatC(1))
            /// [0.881374]
            asinh / 1, Float = |x| math::asinh(x[0]),
                partials = [|v, x, _| v / partials::secant(x[0])];
            /// Inverse hyperbolic cosine; NaN below 1. At most 2.5 ulp.
            ///
            /// >> acosh(FloatC(2))
            /// [1.31696]
            acosh / 1, Float = |x| math::acosh(x[0]),
                partials = [|v, x, y| v / (x[0] - y.constant(1)).sqrt() / (x[0] + y.constant(1)).sqrt()];
            /// Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond. At most 2.5 ulp.
            ///
            /// >> atanh(FloatC(0.5))
            /// [0.549306]
            atanh / 1, Float = |x| math::atanh(x[0]),
                partials = [|v, x, _| v / partials::complement(x[0])];
        }
    };
}
pub(crate) use circular_rows;

//! Rows of the special functions.

/// Puts these rows behind those given, as [`function_rows`](super::function_rows) gives them.
macro_rules! special_rows {
    ($with:ident [$($context:tt)*] $($rows:tt)*) => {
        $crate::trace::functions::activation_rows! { $with [$($context)*] $($rows)*
            /// Error function: 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x. At most 3 ulp.
            ///
            /// >> erf(FloatC([0, 0.5, inf]))
            /// [0, 0.5205, 1]
            erf / 1, Float = |x| recipes::erf(x[0]),
                partials = [|v, x, _| v * partials::bell(x[0])];
            /// Complementary error function `1 - erf(x)`, accurate for large x too. At most 2.5 ulp.
            ///
            /// >> erfc(FloatC([0, 1, 9]))
            /// [1, 0.157299, 4.13703e-37]
            erfc / 1, Float = |x| recipes::erfc(x[0]),
                partials = [|v, x, _| -(v * partials::bell(x[0]))];
            /// The number whose `erf` is x; infinite at -1 and 1, NaN beyond. At most 4 ulp.
            ///
            /// >> erfinv(FloatC([0, 0.5, 1]))
            /// [0, 0.476936, inf]
            erfinv / 1, Float = |x| recipes::erfinv(x[0]),
                partials = [|v, _, y| v * partials::over_bell(y)];
            /// The number whose `erfc` is x, accurate for small x too; infinite at 0 and 2, NaN beyond. At most 4 ulp.
            ///
            /// >> erfcinv(FloatC([1e-30, 0.5, 1]))
            /// [8.14862, 0.476936, 0]
            erfcinv / 1, Float = |x| recipes::erfcinv(x[0]),
                partials = [|v, _, y| -(v * partials::over_bell(y))];
            /// Normal distribution: the probability of a standard normal number below x. At most 3 ulp.
            ///
            /// >> norm_cdf(FloatC([-10, 0, 1]))
            /// [7.61985e-24, 0.5, 0.841345]
            norm_cdf / 1, Float = |x| recipes::norm_cdf(x[0]),
                partials = [|v, x, _| v * partials::normal(x[0])];
            /// Quantile of the normal distribution: the x with `norm_cdf(x) == p`; infinite at 0 and 1, NaN beyond.
            /// At most 6 ulp.
            ///
            /// >> norm_ppf(FloatC([0, 0.5, 0.975]))
            /// [-inf, 0, 1.95996]
            norm_ppf / 1, Float = |x| recipes::norm_ppf(x[0]),
                partials = [|v, _, y| v * partials::over_normal(y)];
            /// Logarithm of `|gamma(x)|`; inf at 0 and negative integers. At most 10 ulp, below -0.5 of the
            /// larger of it and `lgamma(2 - x)`.
            ///
            /// >> lgamma(FloatC([0, 0.5, 1, 100]))
            /// [inf, 0.572365, 0, 359.134]
            lgamma / 1, Float = |x| recipes::lgamma(x[0]),
                partials = [|v, x, _| v * x[0].call("digamma", &[])];
            /// Gamma function, `(x - 1)!` for integers; NaN at negative integers. At most 10 ulp.
            ///
            /// >> tgamma(FloatC([5, 0.5, -0.5]))
            /// [24, 1.77245, -3.54491]
            tgamma / 1, Float = |x| recipes::tgamma(x[0]),
                partials = [|v, x, y| v * (y * x[0].call("digamma", &[]))];
            /// Digamma function, the derivative of `lgamma`; -inf at 0 (inf at -0), NaN at negative integers and -inf.
            /// At most 8 ulp, below 0.5 of the larger of `digamma(1 - x)` and `pi * cot(pi * x)`.
            ///
            /// >> digamma(FloatC([0.5, 1, 10, -1]))
            /// [-1.96351, -0.577216, 2.25175, nan]
            digamma / 1, Float = |x| recipes::digamma(x[0]),
                partials = [|v, x, _| v * x[0].call("trigamma", &[])];
            /// Trigamma function, the derivative of `digamma`; inf at 0 and negative integers, NaN at -inf. At most 10 ulp.
            ///
            /// >> trigamma(FloatC([0.5, 1, 10, -1]))
            /// [4.9348, 1.64493, 0.105166, inf]
            trigamma / 1, Float = |x| recipes::trigamma(x[0]),
                partials = [|v, x, _| v * recipes::trigamma_slope(x[0])];
            /// `x * log(y)`, but 0 where x is 0, unless y is NaN. At most 2.5 ulp.
            ///
            /// >> xlogy(FloatC([2, 0, 0]), FloatC([3, 0, inf]))
            /// [2.19722, 0, 0]
            xlogy / 2, Float = |x| recipes::xlogy(x[0], x[1]), partials = [
                |v, x, _| v * partials::logarithm(x),
                |v, x, _| v * partials::over(x),
            ];
            /// Entropy `-x * log(x)` of a share: 0 at 0, -inf below. At most 2.5 ulp.
            ///
            /// >> entr(FloatC([0, 0.25, 1, -1]))
            /// [0, 0.346574, 0, -inf]
            entr / 1, Float = |x| recipes::entr(x[0]),
                partials = [|v, x, _| -(v * (x[0].call("log", &[]) + x[0].constant(1)))];
            /// Regularised lower incomplete gamma function: `gammainc(a, x)` is the probability that a gamma distribution of
            /// shape a is below the last argument x. NaN for negative a or x; a derivative by x only. At most 16 ulp for a and x
            /// up to 1e6.
            ///
            /// >> gammainc(FloatC([0.5, 1, 10]), 1)
            /// [0.842701, 0.632121, 1.11425e-07]
            gammainc / 2, Float = |x| recipes::gammainc(x[0], x[1]),
                partials = [|v, x, _| partials::of_gamma(v, x)];
            /// Regularised upper incomplete gamma function: `gammaincc(a, x)` is `1 - gammainc(a, x)`, accurate where that
            /// is small too; a derivative by the last argument x only. At most 16 ulp for a and x up to 1e6.
            ///
            /// >> gammaincc(FloatC([0.5, 1, 10]), 10)
            /// [7.74422e-06, 4.53999e-05, 0.45793]
            gammaincc / 2, Float = |x| recipes::gammaincc(x[0], x[1]),
                partials = [|v, x, _| -partials::of_gamma(v, x)];
            /// Beta function `gamma(a) * gamma(b) / gamma(a + b)`; inf at 0, NaN for negative a or b. At most 12 ulp for a
            /// and b up to 1e6.
            ///
            /// >> beta(FloatC([0.5, 2, 30]), FloatC([0.5, 3, 40]))
            /// [3.14159, 0.0833333, 1.05394e-21]
            beta / 2, Float = |x| recipes::beta(x[0], x[1]), partials = [
                |v, x, y| partials::of_log_beta(v * y, x[0], x[1]),
                |v, x, y| partials::of_log_beta(v * y, x[1], x[0]),
            ];
            /// Logarithm of `beta(a, b)`, which neither overflows nor underflows. At most 10 ulp, of 1 where that is more,
            /// for a and b up to 1e6.
            ///
            /// >> betaln(FloatC([0.5, 2, 3000]), FloatC([0.5, 3, 4000]))
            /// [1.14473, -2.48491, -4783.16]
            betaln / 2, Float = |x| recipes::betaln(x[0], x[1]), partials = [
                |v, x, _| partials::of_log_beta(v, x[0], x[1]),
                |v, x, _| partials::of_log_beta(v, x[1], x[0]),
            ];
            /// Regularised incomplete beta function: `betainc(a, b, x)` is the probability that a beta distribution of a and b
            /// is below the last argument x; the upper one is `betainc(b, a, 1 - x)`. NaN for negative a or b and beyond 0 and 1;
            /// a derivative by x only. At most 16 ulp for a and b up to 1e6.
            ///
            /// >> betainc(FloatC([0.5, 1, 2]), 3, 0.25)
            /// [0.792969, 0.578125, 0.261719]
            betainc / 3, Float = |x| recipes::betainc(x[0], x[1], x[2]),
                partials = [|v, x, _| partials::of_beta(v, x)];
            /// Modified Bessel function of order 0, times exp(-|x|). At most 5 ulp.
            ///
            /// >> i0e(FloatC([0, 1, 100]))
            /// [1, 0.46576, 0.0399444]
            i0e / 1, Float = |x| recipes::i0e(x[0]),
                partials = [|v, x, y| v * recipes::i0e_slope(x[0], y)];
            /// Modified Bessel function of order 1, times exp(-|x|). At most 5 ulp.
            ///
            /// >> i1e(FloatC([0, 1, 100]))
            /// [0, 0.20791, 0.0397442]
            i1e / 1, Float = |x| recipes::i1e(x[0]),
                partials = [|v, x, y| v * recipes::i1e_slope(x[0], y)];
            /// Modified Bessel function of the first kind of order 0. At most 6 ulp.
            ///
            /// >> i0(FloatC([0, 1, 10, 100]))
            /// [1, 1.26607, 2815.72, inf]
            i0 / 1, Float = |x| recipes::i0(x[0]),
                partials = [|v, x, _| v * x[0].call("i1", &[])];
            /// Modified Bessel function of the first kind of order 1. At most 6 ulp.
            ///
            /// >> i1(FloatC([0, 1, 10, -100]))
            /// [0, 0.565159, 2670.99, -inf]
            i1 / 1, Float = |x| recipes::i1(x[0]),
                partials = [|v, x, _| v * recipes::i1_slope(x[0])];
            /// Bessel function of the first kind of order 0. At most 8 ulp, for |x| > 8 of its amplitude
            /// `sqrt(2 / (pi * |x|))`, for |x| up to 1e9.
            ///
            /// >> j0(FloatC([0, 1, 10, inf]))
            /// [1, 0.765198, -0.245936, 0]
            j0 / 1, Float = |x| recipes::j0(x[0]),
                partials = [|v, x, _| -(v * x[0].call("j1", &[]))];
            /// Bessel function of the first kind of order 1. At most 8 ulp, for |x| > 8 of its amplitude
            /// `sqrt(2 / (pi * |x|))`, for |x| up to 1e9.
            ///
            /// >> j1(FloatC([0, 1, 10, inf]))
            /// [0, 0.440051, 0.0434727, 0]
            j1 / 1, Float = |x| recipes::j1(x[0]),
                partials = [|v, x, _| v * recipes::j1_slope(x[0])];
            /// Bessel function of the second kind of order 0; -inf at 0, NaN below. At most 12 ulp, for x > 0.4 of its
            /// amplitude `sqrt(2 / (pi * x))`, for x up to 1e9.
            ///
            /// >> y0(FloatC([0, 1, 10, inf]))
            /// [-inf, 0.088257, 0.0556712, 0]
            y0 / 1, Float = |x| recipes::y0(x[0]),
                partials = [|v, x, _| -(v * x[0].call("y1", &[]))];
            /// Bessel function of the second kind of order 1; -inf at 0, NaN below. At most 12 ulp, for x > 1/2 of its
            /// amplitude `sqrt(2 / (pi * x))`, for x up to 1e9.
            ///
            /// >> y1(FloatC([0, 1, 10, inf]))
            /// [-inf, -0.781213, 0.249015, 0]
            y1 / 1, Float = |x| recipes::y1(x[0]),
                partials = [|v, x, _| v * recipes::y1_slope(x[0])];
            /// Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x. At most 10 ulp.
            ///
            /// >> dawson(FloatC([0, 1, 10]))
            /// [0, 0.53808, 0.0502538]
            dawson / 1, Float = |x| recipes::dawson(x[0]),
                partials = [|v, x, y| v * recipes::dawson_slope(x[0], y)];
            /// Complete elliptic integral of the first kind K, of the modulus k; inf at -1 and 1, NaN beyond.
            /// At most 3 ulp.
            ///
            /// >> comp_ellint_1(FloatC([0, 0.5, 1]))
            /// [1.5708, 1.68575, inf]
            comp_ellint_1 / 1, Float = |x| recipes::comp_ellint_1(x[0]),
                partials = [|v, x, _| v * x[0] * recipes::squares_of_sine(None, x[0])[1]];
            /// Complete elliptic integral of the second kind E, of the modulus k; NaN beyond -1 and 1. At most 3 ulp.
            ///
            /// >> comp_ellint_2(FloatC([0, 0.5, 1]))
            /// [1.5708, 1.46746, 1]
            comp_ellint_2 / 1, Float = |x| recipes::comp_ellint_2(x[0]),
                partials = [|v, x, _| -(v * x[0] * recipes::squares_of_sine(None, x[0])[0])];
            /// Complete elliptic integral of the third kind: `comp_ellint_3(k, nu)` is `ellint_3(pi / 2, k, nu)`;
            /// inf at nu = -1, NaN below. At most 8 ulp.
            ///
            /// >> comp_ellint_3(FloatC(0.5), FloatC([0, 0.5]))
            /// [1.68575, 1.36647]
            comp_ellint_3 / 2, Float = |x| recipes::comp_ellint_3(x[0], x[1]), partials = [
                |v, x, y| v * recipes::slopes_of_third(None, x[0], x[1], y)[0],
                |v, x, y| v * recipes::slopes_of_third(None, x[0], x[1], y)[1],
            ];
            /// Elliptic integral of the first kind: `ellint_1(phi, k)` is that of 1 / sqrt(1 - k^2 sin^2) from 0 to
            /// phi; any phi for |k| <= 1. At most 8 ulp there; beyond, digits are lost where k^2 sin^2 nears 1.
            ///
            /// >> ellint_1(FloatC([0, 1, 10]), 0.9)
            /// [0, 1.15966, 14.2857]
            ellint_1 / 2, Float = |x| recipes::ellint_1(x[0], x[1]), partials = [
                |v, x, _| v / partials::elliptic_delta(x[0], x[1]),
                |v, x, _| v * x[1] * recipes::squares_of_sine(Some(x[0]), x[1])[1],
            ];
            /// Elliptic integral of the second kind: `ellint_2(phi, k)` is that of sqrt(1 - k^2 sin^2) from 0 to
            /// phi; any phi for |k| <= 1. At most 10 ulp there; beyond, digits are lost where k^2 sin^2 nears 1.
            ///
            /// >> ellint_2(FloatC([0, 1, 10]), 0.9)
            /// [0, 0.876262, 7.58039]
            ellint_2 / 2, Float = |x| recipes::ellint_2(x[0], x[1]), partials = [
                |v, x, _| v * partials::elliptic_delta(x[0], x[1]),
                |v, x, _| -(v * x[1] * recipes::squares_of_sine(Some(x[0]), x[1])[0]),
            ];
            /// Elliptic integral of the third kind: `ellint_3(phi, k, nu)` is that of
            /// 1 / ((1 + nu sin^2) sqrt(1 - k^2 sin^2)) from 0 to phi, NaN beyond a pole. The sign of nu is Enoki's.
            /// At most 16 ulp for |k| <= 1; beyond, digits are lost where k^2 sin^2 nears 1.
            ///
            /// >> ellint_3(FloatC(1), 0.5, FloatC([0, 0.1]))
            /// [1.03736, 1.00963]
            ellint_3 / 3, Float = |x| recipes::ellint_3(x[0], x[1], x[2]), partials = [
                |v, x, _| v / partials::elliptic_3(x),
                |v, x, y| v * recipes::slopes_of_third(Some(x[0]), x[1], x[2], y)[0],
                |v, x, y| v * recipes::slopes_of_third(Some(x[0]), x[1], x[2], y)[1],
            ];
            /// Light intensity to the value stored in an sRGB image. At most 10 ulp from 0 to 1.
            ///
            /// >> linear_to_srgb(FloatC([0, 0.5, 1]))
            /// [0, 0.735357, 1]
            linear_to_srgb / 1, Float = |x| recipes::linear_to_srgb(x[0]),
                partials = [|v, x, _| v * partials::to_srgb(x[0])];
            /// Value stored in an sRGB image to light intensity. At most 10 ulp from 0 to 1.
            ///
            /// >> srgb_to_linear(FloatC([0, 0.5, 1]))
            /// [0, 0.214041, 1]
            srgb_to_linear / 1, Float = |x| recipes::srgb_to_linear(x[0]),
                partials = [|v, x, _| v * partials::from_srgb(x[0])];
        }
    };
}
pub(crate) use special_rows;

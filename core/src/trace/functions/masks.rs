//! Rows of the functions whose result is a mask.

/// Puts these rows behind those given, as [`function_rows`](super::function_rows) gives them.
macro_rules! mask_rows {
    ($with:ident [$($context:tt)*] $($rows:tt)*) => {
        $with! { $($context)* $($rows)*
            /// Whether the sign is negative, that of -0 too; not of NaN.
            ///
            /// >> signbit(FloatC([-2, -0.0, 0, nan]))
            /// [1, 1, 0, 0]
            signbit / 1, Float (Mask) = |x| has_sign_bit(x[0]);
            /// Whether the value is not a number.
            ///
            /// >> isnan(FloatC([1, inf, nan]))
            /// [0, 0, 1]
            isnan / 1, Float (Mask) = |x| x[0].neq(x[0]);
            /// Whether the value is infinite.
            ///
            /// >> isinf(FloatC([1, inf, nan]))
            /// [0, 1, 0]
            isinf / 1, Float (Mask) = |x| x[0].abs().eq(x[0].constant(f64::INFINITY));
            /// Whether the value is positive infinity.
            ///
            /// >> isposinf(FloatC([1, inf, -inf]))
            /// [0, 1, 0]
            isposinf / 1, Float (Mask) = |x| x[0].eq(x[0].constant(f64::INFINITY));
            /// Whether the value is negative infinity.
            ///
            /// >> isneginf(FloatC([1, inf, -inf]))
            /// [0, 0, 1]
            isneginf / 1, Float (Mask) = |x| x[0].eq(x[0].constant(f64::NEG_INFINITY));
            /// Whether the value is subnormal: not 0, but below the smallest normal number.
            ///
            /// >> isdenormal(FloatC([1, 1e-40, 0]))
            /// [0, 1, 0]
            isdenormal / 1, Float (Format, Mask) = |x| math::is_subnormal(x[0]);
            /// Whether the value is neither infinite nor NaN.
            ///
            /// >> isfinite(FloatC([1, inf, nan]))
            /// [1, 0, 0]
            isfinite / 1, Float (Mask) = |x| x[0].abs().lt(x[0].constant(f64::INFINITY));
            /// `a == b`, under NumPy's name.
            ///
            /// >> equal(FloatC([1, 2, 3]), 2)
            /// [0, 1, 0]
            equal / 2, Number (Mask) = |x| x[0].eq(x[1]);
            /// `a != b`, under NumPy's name.
            ///
            /// >> not_equal(FloatC([1, 2, 3]), 2)
            /// [1, 0, 1]
            not_equal / 2, Number (Mask) = |x| x[0].neq(x[1]);
            /// `a < b`, under NumPy's name.
            ///
            /// >> less(FloatC([1, 2, 3]), 2)
            /// [1, 0, 0]
            less / 2, Number (Mask) = |x| x[0].lt(x[1]);
            /// `a <= b`, under NumPy's name.
            ///
            /// >> less_equal(FloatC([1, 2, 3]), 2)
            /// [1, 1, 0]
            less_equal / 2, Number (Mask) = |x| x[0].le(x[1]);
            /// `a > b`, under NumPy's name.
            ///
            /// >> greater(FloatC([1, 2, 3]), 2)
            /// [0, 0, 1]
            greater / 2, Number (Mask) = |x| x[0].gt(x[1]);
            /// `a >= b`, under NumPy's name.
            ///
            /// >> greater_equal(FloatC([1, 2, 3]), 2)
            /// [0, 1, 1]
            greater_equal / 2, Number (Mask) = |x| x[0].ge(x[1]);
            /// Whether both are true, or not 0.
            ///
            /// >> logical_and(Int32C([0, 2, 5]), Int32C([1, 1, 0]))
            /// [0, 1, 0]
            logical_and / 2, Any (Mask) = |x| truth(x[0]) & truth(x[1]);
            /// Whether one of two is true, or not 0.
            ///
            /// >> logical_or(Int32C([0, 2, 0]), Int32C([1, 1, 0]))
            /// [1, 1, 0]
            logical_or / 2, Any (Mask) = |x| truth(x[0]) | truth(x[1]);
            /// Whether one of two is true, or not 0, and the other is not.
            ///
            /// >> logical_xor(Int32C([0, 2, 0]), Int32C([1, 1, 0]))
            /// [1, 0, 0]
            logical_xor / 2, Any (Mask) = |x| truth(x[0]) ^ truth(x[1]);
            /// Whether the value is false, or 0.
            ///
            /// >> logical_not(FloatC([0, 2]))
            /// [1, 0]
            logical_not / 1, Any (Mask) = |x| !truth(x[0]);
        }
    };
}
pub(crate) use mask_rows;

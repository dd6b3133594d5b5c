//! Rows of the functions between the layers of neural networks.

/// Puts these rows behind those given, as [`function_rows`](super::function_rows) gives them.
macro_rules! activation_rows {
    ($with:ident [$($context:tt)*] $($rows:tt)*) => {
        $crate::trace::functions::circular_rows! { $with [$($context)*] $($rows)*
            /// Rectifier `maximum(x, 0)`; NaN stays.
            ///
            /// >> relu(FloatC([-2, 0, 3, nan]))
            /// [0, 0, 3, nan]
            relu / 1, Number = |x| x[0].maximum(x[0].constant(0)),
                partials = [|v, x, _| partials::above_zero(x[0], v)];
            /// Logistic function `1 / (1 + exp(-x))`, accurate in both tails. At most 2.5 ulp.
            ///
            /// >> sigmoid(FloatC([-100, 0, 1]))
            /// [3.78351e-44, 0.5, 0.731059]
            sigmoid / 1, Float = |x| math::sigmoid(x[0]),
                partials = [|v, x, _| v * partials::sigmoid(x[0])];
            /// Logarithm of `sigmoid(x)`, accurate in both tails. At most 2 ulp.
            ///
            /// >> log_sigmoid(FloatC([-100, 0, 20]))
            /// [-100, -0.693147, -2.06115e-09]
            log_sigmoid / 1, Float = |x| math::log_sigmoid(x[0]),
                partials = [|v, x, _| v * (-x[0]).call("sigmoid", &[])];
            /// Logarithm of the odds `x / (1 - x)`, the inverse of `sigmoid`; -inf at 0, inf at 1, NaN beyond. At most 2.5 ulp.
            ///
            /// >> logit(FloatC([0, 0.25, 0.5, 1]))
            /// [-inf, -1.09861, 0, inf]
            logit / 1, Float = |x| math::logit(x[0]),
                partials = [|v, x, _| v / x[0] + v / (x[0].constant(1) - x[0])];
            /// Smooth rectifier `log(1 + exp(x))`, also called softplus; accurate in both tails. At most 2 ulp.
            ///
            /// >> softrelu(FloatC([-20, 0, 100]))
            /// [2.06115e-09, 0.693147, 100]
            softrelu / 1, Float = |x| math::softrelu(x[0]),
                partials = [|v, x, _| v * x[0].call("sigmoid", &[])];
            /// `x / (1 + |x|)`, in two rounded steps; -1 and 1 at -inf and inf.
            ///
            /// >> softsign(FloatC([-3, 1, inf]))
            /// [-0.75, 0.5, 1]
            softsign / 1, Float = |x| math::softsign(x[0]),
                partials = [|v, x, _| v * partials::softsign(x[0])];
            /// `x * sigmoid(x)`, also called swish; 0 at -inf. At most 3 ulp.
            ///
            /// >> silu(FloatC([-inf, -1, 1]))
            /// [-0, -0.268941, 0.731059]
            silu / 1, Float = |x| math::silu(x[0]),
                partials = [|v, x, y| v * partials::silu(x[0], y)];
            /// `x * tanh(softrelu(x))`; 0 at -inf. At most 4 ulp.
            ///
            /// >> mish(FloatC([-inf, -1, 1]))
            /// [-0, -0.303401, 0.865098]
            mish / 1, Float = |x| math::mish(x[0]),
                partials = [|v, x, _| v * partials::mish(x[0])];
            /// Gaussian error linear unit `x * norm_cdf(x)`; 0 at -inf. At most 3.5 ulp.
            ///
            /// >> gelu_erf(FloatC([-inf, -1, 1]))
            /// [-0, -0.158655, 0.841345]
            gelu_erf / 1, Float = |x| recipes::gelu_erf(x[0]),
                partials = [|v, x, _| v * partials::gelu(x[0])];
            /// `elu(x, alpha)` is x from 0 up, `alpha * expm1(x)` below; NaN stays. alpha is 1 where it is left out. At most
            /// 2 ulp.
            ///
            /// >> elu(FloatC([-1, 2]), 0.5)
            /// [-0.31606, 2]
            elu / 2, Float = |x| math::elu(x[0], x[1]), defaults = [1.0], partials = [
                |v, x, _| x[0].gt(x[0].constant(0)).select(v, v * (x[1] * x[0].call("exp", &[]))),
                |v, x, _| partials::above_zero(-x[0], v * x[0].call("expm1", &[])),
            ];
            /// `leaky_relu(x, slope)` is x from 0 up, `x * slope` below; NaN stays. slope is 0.01 where it is left out.
            ///
            /// >> leaky_relu(FloatC([-1, 2]), 0.25)
            /// [-0.25, 2]
            leaky_relu / 2, Float = |x| x[0].lt(x[0].constant(0)).select(x[0] * x[1], x[0]), defaults = [0.01];
            /// `hard_sigmoid(x, alpha, beta)` is `x * alpha + beta` between 0 and 1, in rounded steps; NaN stays. alpha is 0.2 and
            /// beta 0.5 where they are left out.
            ///
            /// >> hard_sigmoid(FloatC([-3, 0, 1, 4]))
            /// [0, 0.5, 0.7, 1]
            hard_sigmoid / 3, Float = |x| math::hard_sigmoid(x[0], x[1], x[2]), defaults = [0.2, 0.5];
            /// `smooth_l1(x, s)` is `0.5 * (s * x)^2` where `|x| < 1 / s^2`, beyond `|x| - 0.5 / s^2`: each step rounded.
            ///
            /// >> smooth_l1(FloatC([-2, 0.5]), 1)
            /// [1.5, 0.125]
            smooth_l1 / 2, Float = |x| math::smooth_l1(x[0], x[1]);
        }
    };
}
pub(crate) use activation_rows;

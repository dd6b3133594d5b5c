//! Names that NumPy, SciPy, JAX, PyTorch and Dr.Jit have for functions of the tables.

use porcini_core::trace::functions::OTHER_NAMES;

/// Names that others have for rows, and those of Python's words; beside [`OTHER_NAMES`].
const ALIASES: [(&str, &str); 30] = [
    ("not_", "not"),
    ("sum", "hsum"),
    ("prod", "hprod"),
    ("mean", "hmean"),
    ("prefix_sum", "psum"),
    ("concatenate", "concat"),
    ("remainder", "mod"),
    ("set_requires_gradient", "enable_grad"),
    ("grad_enabled", "requires_grad"),
    ("set_grad", "set_gradient"),
    ("amax", "hmax"),
    ("amin", "hmin"),
    ("around", "round"),
    ("conjugate", "conj"),
    ("trapz", "trapezoid"),
    ("in1d", "isin"),
    ("row_stack", "vstack"),
    ("nanargmax", "argmax"),
    ("nanargmin", "argmin"),
    ("permute_dims", "permute"),
    ("unique_values", "unique"),
    ("cumulative_sum", "cumsum"),
    ("cumulative_prod", "cumprod"),
    ("bitwise_count", "popcnt"),
    ("bitwise_invert", "not"),
    ("gelu", "gelu_erf"),
    ("ndtr", "norm_cdf"),
    ("ndtri", "norm_ppf"),
    ("svdvals", "singular_values"),
    ("clear_grad", "clear_gradient"),
];

/// All aliases, and the names of their rows.
pub(crate) fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    OTHER_NAMES.into_iter().chain(ALIASES)
}

/// The alias that a name is, and the name of its row.
pub(crate) fn alias(name: &str) -> Option<(&'static str, &'static str)> {
    aliases().find(|(alias, _)| *alias == name)
}

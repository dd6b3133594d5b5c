//! The functions that texts may call: those of scripts, under C's names too.

use crate::catalogue::{self, Row};
use crate::ir::op::{self, OPS, OpInfo, Shape};
use crate::spelling::similar;
use crate::trace::functions::{self, FUNCTIONS, Function};

/// A function of the tables.
#[derive(Clone, Copy)]
pub(super) enum Known {
    Operation(&'static OpInfo),
    Function(&'static Function),
    Row(&'static Row),
}

/// Names that C and NumPy have for functions of ours.
const ALSO: [(&str, &str); 61] = [
    ("fabs", "abs"),
    ("fdivide", "div"),
    ("fmin", "min"),
    ("fmax", "max"),
    ("rint", "round"),
    ("nearbyint", "round"),
    ("roundf", "round_away"),
    ("fix", "trunc"),
    ("power", "pow"),
    ("square", "sqr"),
    ("reciprocal", "rcp"),
    ("degrees", "rad_to_deg"),
    ("radians", "deg_to_rad"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("gamma", "tgamma"),
    ("gammaln", "lgamma"),
    ("bitwise_not", "not"),
    ("bitwise_and", "and"),
    ("bitwise_or", "or"),
    ("bitwise_xor", "xor"),
    ("invert", "not"),
    ("left_shift", "shl"),
    ("right_shift", "shr"),
    ("bitwise_left_shift", "shl"),
    ("bitwise_right_shift", "shr"),
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("divide", "div"),
    ("true_divide", "div"),
    ("negative", "neg"),
    ("negation", "neg"),
    ("absolute", "abs"),
    ("deg2rad", "deg_to_rad"),
    ("rad2deg", "rad_to_deg"),
    ("softplus", "softrelu"),
    ("expit", "sigmoid"),
    ("swish", "silu"),
    ("huber", "smooth_l1"),
    ("psi", "digamma"),
    ("scalbn", "ldexp"),
    ("normcdf", "norm_cdf"),
    ("normcdfinv", "norm_ppf"),
    ("popc", "popcnt"),
    ("popcll", "popcnt"),
    ("clz", "lzcnt"),
    ("clzll", "lzcnt"),
    ("brevll", "brev"),
    ("fmaf_rn", "fma"),
    ("fadd_rn", "add"),
    ("fsub_rn", "sub"),
    ("fmul_rn", "mul"),
    ("fdiv_rn", "div"),
    ("fsqrt_rn", "sqrt"),
    ("fdividef", "div"),
    ("frcp_rn", "rcp"),
];

/// The function that a text means by a name: ours, C's for `float` (`expf`), CUDA's that is fast there (`__expf`) or of
/// half floats (`__hadd`), or another name of one.
pub(super) fn find(name: &str) -> Option<Known> {
    let name = name.strip_prefix("__").unwrap_or(name);
    let also = |name: &str| ALSO.iter().find(|(known, _)| *known == name).map(|(_, ours)| *ours);
    let single = name.strip_suffix('f');
    table(name)
        .or_else(|| table(also(name)?))
        .or_else(|| single.and_then(table))
        .or_else(|| table(also(single?)?))
        .or_else(|| table(name.strip_prefix('h')?))
}

fn table(name: &str) -> Option<Known> {
    let operation = op::find(name).filter(|info| info.shape != Shape::Special);
    operation
        .map(Known::Operation)
        .or_else(|| functions::find(name).map(Known::Function))
        .or_else(|| catalogue::rows().find(|row| row.name == name).map(Known::Row))
}

impl Known {
    /// How many arguments it takes: at least, at most.
    pub(super) fn arity(self) -> (usize, usize) {
        match self {
            Self::Operation(info) => (info.arity, info.arity),
            Self::Function(function) => (function.n_required(), function.arity),
            Self::Row(row) => (row.n_required, row.parameters.len()),
        }
    }
}

/// What may have been meant by a name, of the functions and of others.
pub(super) fn meant<'n>(name: &str, others: impl Iterator<Item = &'n str>) -> Option<String> {
    let operations = OPS.iter().filter(|info| info.shape != Shape::Special).map(|info| info.name);
    let functions = FUNCTIONS.iter().map(|function| function.name);
    let rows = catalogue::rows().map(|row| row.name);
    let also = ALSO.iter().map(|(name, _)| *name);
    let known: Vec<&str> =
        operations.chain(functions).chain(rows).chain(also).chain(others).collect();
    let near = similar(name, known.iter());
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

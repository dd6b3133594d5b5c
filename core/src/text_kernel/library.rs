//! The functions that texts may call: those of scripts, under C's names too.

use crate::catalogue::{self, Row};
use crate::ir::op::{self, OPS, OpInfo, Shape};
use crate::spelling::similar;
use crate::trace::functions::{self, FUNCTIONS, Function, OTHER_NAMES};

/// A function of the tables.
#[derive(Clone, Copy)]
pub(super) enum Known {
    Operation(&'static OpInfo),
    Function(&'static Function),
    Row(&'static Row),
}

/// Other names in C and CUDA, and of operators that Python writes by itself; beside [`OTHER_NAMES`].
const ALSO: [(&str, &str); 32] = [
    ("fdivide", "div"),
    ("nearbyint", "round"),
    ("roundf", "round_away"),
    ("bitwise_and", "and"),
    ("bitwise_or", "or"),
    ("bitwise_xor", "xor"),
    ("left_shift", "shl"),
    ("right_shift", "shr"),
    ("bitwise_left_shift", "shl"),
    ("bitwise_right_shift", "shr"),
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("divide", "div"),
    ("true_divide", "div"),
    ("negation", "neg"),
    ("huber", "smooth_l1"),
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
    let also = |name: &str| also().find(|(known, _)| *known == name).map(|(_, ours)| ours);
    let single = name.strip_suffix('f');
    table(name)
        .or_else(|| table(also(name)?))
        .or_else(|| single.and_then(table))
        .or_else(|| table(also(single?)?))
        .or_else(|| table(name.strip_prefix('h')?))
}

fn also() -> impl Iterator<Item = (&'static str, &'static str)> {
    OTHER_NAMES.into_iter().chain(ALSO)
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
    let also = also().map(|(name, _)| name);
    let known: Vec<&str> =
        operations.chain(functions).chain(rows).chain(also).chain(others).collect();
    let near = similar(name, known.iter());
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

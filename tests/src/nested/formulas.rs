//! The functions of vectors, matrices, complex numbers and quaternions, one lane at a time.
//!
//! What is exact in the components, or rounds in an order that the help texts state (sums from left to
//! right, products without fma, Smith's division, minors), is written here again. The elementary functions
//! of complex numbers and quaternions and what iterates have no such form: their recipe is recorded into a
//! table of its own and computed operation by operation, as for functions of plain arrays
//! (`it/complex.rs` and the golden sessions check what they mean).

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Sub};

use porcini_core::DType;
use porcini_core::ir::op::{Class, Op, Shape};
use porcini_core::ir::scalar::apply_bits;
use porcini_core::nested::Form;
use porcini_core::trace::nested::NestedCall;

use crate::oracle::functions::Recipe;
use crate::oracle::{Value, at, cast, promote};

/// The entries of the results, from the entries of all arguments; `n` is what the row's `N` stands for.
/// `None` if the function does not take their types.
pub(super) fn apply(call: NestedCall, n: usize, entries: &[Value]) -> Option<Vec<Value>> {
    let function = call.function();
    if entries.iter().any(|entry| entry.dtype == DType::Mask) {
        return None;
    }
    let common = entries.iter().map(|entry| entry.dtype).reduce(promote)?;
    let dtype = if function.class == Class::Float { common.quotient() } else { common };
    // f16 goes through f32 and is rounded once.
    let computed = if dtype == DType::F16 { DType::F32 } else { dtype };
    let converted = entries.iter().map(|entry| {
        let lane = |&bits: &u64| cast(computed, dtype, cast(dtype, entry.dtype, bits));
        Value { dtype: computed, lanes: entry.lanes.iter().map(lane).collect() }
    });
    let converted: Vec<Value> = converted.collect();
    let mut results = match formula(call) {
        Some(formula) => by_lane(&converted, |lane| formula(lane, n)),
        None => {
            let recipe = Recipe::of(converted.len(), computed, |recorder, entries| {
                recorder.nested(call, entries).expect("a function of its own type")
            });
            let wide: Vec<bool> = converted.iter().map(|entry| entry.lanes.len() != 1).collect();
            let wide = recipe.wide(&wide);
            by_lane(&converted, |lane| recipe_lane(&recipe, &wide, lane))
        }
    };
    for result in results.iter_mut().filter(|result| result.dtype == computed) {
        result.lanes.iter_mut().for_each(|bits| *bits = cast(dtype, computed, *bits));
        result.dtype = dtype;
    }
    Some(results)
}

/// A result that depends on entries of one lane only has one lane.
fn by_lane(entries: &[Value], function: impl Fn(&[Lane]) -> Vec<Lane>) -> Vec<Value> {
    let n = entries.iter().map(|entry| entry.lanes.len()).find(|&n| n != 1).unwrap_or(1);
    let lane = |bits: &dyn Fn(&Value) -> u64| {
        let lane = |entry: &Value| Lane {
            dtype: entry.dtype,
            bits: bits(entry),
            wide: entry.lanes.len() != 1,
        };
        function(&entries.iter().map(lane).collect::<Vec<_>>())
    };
    let first = lane(&|entry| entry.lanes.first().copied().unwrap_or(0));
    let mut results: Vec<Value> = first
        .iter()
        .map(|lane| Value { dtype: lane.dtype, lanes: vec![lane.bits; usize::from(!lane.wide)] })
        .collect();
    let any_wide = first.iter().any(|lane| lane.wide);
    for i in 0..if any_wide { n } else { 0 } {
        for (result, lane) in results.iter_mut().zip(lane(&|entry| at(entry, i))) {
            if lane.wide {
                result.lanes.push(lane.bits);
            }
        }
    }
    results
}

fn recipe_lane(recipe: &Recipe, wide: &[bool], lane: &[Lane]) -> Vec<Lane> {
    let arguments: Vec<u64> = lane.iter().map(|entry| entry.bits).collect();
    let values = recipe.values(&arguments);
    let result =
        |&step: &usize| Lane { dtype: lane[0].dtype, bits: values[step], wide: wide[step] };
    recipe.results.iter().map(result).collect()
}

/// A number.
#[derive(Clone, Copy, Debug)]
struct Lane {
    dtype: DType,
    bits: u64,
    /// Whether it depends on an array of other than one lane.
    wide: bool,
}

impl Lane {
    fn op(self, op: Op, other: Self) -> Self {
        let bits = apply_bits(op, self.dtype, self.dtype, [self.bits, other.bits, 0]);
        let dtype = if op.info().shape == Shape::Compare { DType::Mask } else { self.dtype };
        Self { dtype, bits, wide: self.wide || other.wide }
    }

    fn abs(self) -> Self {
        self.op(Op::Abs, self)
    }

    fn sqrt(self) -> Self {
        self.op(Op::Sqrt, self)
    }

    fn number(self, number: f64) -> Self {
        let bits = cast(self.dtype, DType::F64, number.to_bits());
        Self { bits, wide: false, ..self }
    }

    fn select(self, a: Self, b: Self) -> Self {
        let chosen = if self.bits & 1 != 0 { a } else { b };
        Self { wide: self.wide || a.wide || b.wide, ..chosen }
    }

    fn is_nan(self) -> Self {
        self.op(Op::Ne, self)
    }

    fn is_infinite(self) -> Self {
        self.abs().op(Op::Eq, self.number(f64::INFINITY))
    }

    fn is_finite(self) -> Self {
        self.abs().op(Op::Lt, self.number(f64::INFINITY))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => { $(
        impl $trait for Lane {
            type Output = Self;
            fn $method(self, other: Self) -> Self { self.op(Op::$trait, other) }
        }
    )* };
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl BitAnd for Lane {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.op(Op::And, other)
    }
}

impl BitOr for Lane {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.op(Op::Or, other)
    }
}

impl Neg for Lane {
    type Output = Self;
    fn neg(self) -> Self {
        self.op(Op::Neg, self)
    }
}

type Formula = fn(&[Lane], usize) -> Vec<Lane>;

fn formula(call: NestedCall) -> Option<Formula> {
    use Form::{Complex as C, Matrix as M, Quaternion as Q, Scalar as S, Vector as V};
    let function = call.function();
    Some(match (function.name, function.parameters) {
        ("dot", [V(_), V(_)]) => |x, n| vec![dot(&x[..n], &x[n..])],
        ("abs_dot", [V(_), V(_)]) => |x, n| vec![dot(&x[..n], &x[n..]).abs()],
        ("cross", [V(3), V(3)]) => |x, _| cross(&x[..3], &x[3..]),
        ("squared_norm", [V(_) | C | Q]) | ("frob", [M(_)]) => |x, _| vec![dot(x, x)],
        ("norm", [V(_) | Q]) | ("abs", [Q]) => |x, _| vec![dot(x, x).sqrt()],
        ("normalize", [V(_) | C | Q]) => |x, _| over(x, dot(x, x).sqrt()),
        ("dot", [Q, Q]) => |x, _| vec![dot(&x[..4], &x[4..])],

        ("+", [C, S]) => |x, _| vec![x[0] + x[2], x[1]],
        ("+", [S, C]) => |x, _| vec![x[0] + x[1], x[2]],
        ("-", [C, S]) => |x, _| vec![x[0] - x[2], x[1]],
        ("-", [S, C]) => |x, _| vec![x[0] - x[1], -x[2]],
        ("*", [C, C]) => |x, _| vec![x[0] * x[2] - x[1] * x[3], x[0] * x[3] + x[1] * x[2]],
        ("*", [C, S]) => |x, _| times(&x[..2], x[2]),
        ("*", [S, C | Q | M(_)]) => |x, _| times(&x[1..], x[0]),
        ("/", [C, C]) => |x, _| smith(x[0], x[1], x[2], x[3]),
        ("/", [C, S]) => |x, _| over(&x[..2], x[2]),
        ("rcp", [C]) => |x, _| smith(x[0].number(1.0), x[0].number(0.0), x[0], x[1]),
        ("conj", [C]) => |x, _| vec![x[0], -x[1]],
        ("real", [C]) => |x, _| vec![x[0]],
        ("imag", [C]) => |x, _| vec![x[1]],
        ("isnan", [C | Q]) => |x, _| any(x, Lane::is_nan),
        ("isinf", [C]) => |x, _| any(x, Lane::is_infinite),
        ("isfinite", [C]) => |x, _| vec![x[0].is_finite() & x[1].is_finite()],

        ("+", [Q, S]) => |x, _| vec![x[0], x[1], x[2], x[3] + x[4]],
        ("+", [S, Q]) => |x, _| vec![x[1], x[2], x[3], x[0] + x[4]],
        ("-", [Q, S]) => |x, _| vec![x[0], x[1], x[2], x[3] - x[4]],
        ("-", [S, Q]) => |x, _| vec![-x[1], -x[2], -x[3], x[0] - x[4]],
        ("*", [Q, Q]) => |x, _| hamilton(&x[..4], &x[4..]),
        ("*", [Q, S]) => |x, _| times(&x[..4], x[4]),
        ("/", [Q, Q]) => |x, _| hamilton(&x[..4], &quaternion_reciprocal(&x[4..])),
        ("/", [Q, S]) => |x, _| over(&x[..4], x[4]),
        ("rcp" | "inverse", [Q]) => |x, _| quaternion_reciprocal(x),
        ("conj", [Q]) => |x, _| vec![-x[0], -x[1], -x[2], x[3]],
        ("real", [Q]) => |x, _| vec![x[3]],
        ("imag", [Q]) => |x, _| x[..3].to_vec(),
        ("rotate" | "*", [Q, V(3)]) => |x, _| rotated(&x[..4], &x[4..]),

        ("*", [M(_), M(_) | V(_)]) => |x, n| matrix_product(&x[..n * n], &x[n * n..], n),
        ("*", [M(_), S]) => |x, n| times(&x[..n * n], x[n * n]),
        ("/", [M(_), S]) => |x, n| over(&x[..n * n], x[n * n]),
        ("+", [M(_), S]) => |x, n| diagonal_changed(&x[..n * n], n, |entry| entry + x[n * n]),
        ("+", [S, M(_)]) => |x, n| diagonal_changed(&x[1..], n, |entry| x[0] + entry),
        ("-", [M(_), S]) => |x, n| diagonal_changed(&x[..n * n], n, |entry| entry - x[n * n]),
        ("-", [S, M(_)]) => |x, n| {
            let negated: Vec<Lane> = x[1..].iter().map(|&entry| -entry).collect();
            diagonal_changed(&negated, n, |entry| x[0] + entry)
        },
        ("mul_elem", [M(_), M(_)]) => |x, n| (0..n * n).map(|k| x[k] * x[n * n + k]).collect(),
        ("transpose", [M(_)]) => transposed,
        ("det" | "determinant", [M(_)]) => |x, n| vec![determinant(x, n)],
        ("inverse_transpose", [M(_)]) => |x, n| over(&cofactors(x, n), determinant(x, n)),
        ("inverse", [M(_)]) => |x, n| transposed(&over(&cofactors(x, n), determinant(x, n)), n),
        ("trace", [M(_)]) => {
            |x, n| (1..n).map(|i| x[i * n + i]).fold(vec![x[0]], |sum, entry| vec![sum[0] + entry])
        }
        ("diag", [M(_)]) => |x, n| (0..n).map(|i| x[i * n + i]).collect(),
        ("diag", [V(_)]) => |x, n| with_diagonal(x, n),
        ("Matrix::scale", [V(2 | 3)]) => |x, _| {
            let entries: Vec<Lane> = x.iter().copied().chain([x[0].number(1.0)]).collect();
            with_diagonal(&entries, entries.len())
        },
        ("Matrix::translate", [V(2 | 3)]) => |x, _| {
            let n = x.len() + 1;
            let mut m = with_diagonal(&vec![x[0].number(1.0); n], n);
            m[n * (n - 1)..n * n - 1].copy_from_slice(x);
            m
        },
        _ => return None,
    })
}

/// `a[0] * b[0] + a[1] * b[1] + …`
fn dot(a: &[Lane], b: &[Lane]) -> Lane {
    let mut sum = a[0] * b[0];
    for i in 1..a.len() {
        sum = sum + a[i] * b[i];
    }
    sum
}

fn cross(a: &[Lane], b: &[Lane]) -> Vec<Lane> {
    vec![a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn times(x: &[Lane], factor: Lane) -> Vec<Lane> {
    x.iter().map(|&entry| entry * factor).collect()
}

fn over(x: &[Lane], divisor: Lane) -> Vec<Lane> {
    x.iter().map(|&entry| entry / divisor).collect()
}

fn any(x: &[Lane], test: fn(Lane) -> Lane) -> Vec<Lane> {
    let first = test(x[0]);
    vec![x[1..].iter().fold(first, |any, &entry| any | test(entry))]
}

/// `(a + ib) / (c + id)`: with `|c| >= |d|` numerator and denominator are divided by c, else by d.
fn smith(a: Lane, b: Lane, c: Lane, d: Lane) -> Vec<Lane> {
    let by_c = c.abs().op(Op::Ge, d.abs());
    let (large, small) = (by_c.select(c, d), by_c.select(d, c));
    let zero = c.number(0.0);
    let ratio = small.op(Op::Eq, zero).select(zero, small / large);
    let denominator = large + small * ratio;
    let real = by_c.select(a + b * ratio, b + a * ratio);
    let imaginary = by_c.select(b - a * ratio, -(a - b * ratio));
    vec![real / denominator, imaginary / denominator]
}

/// Hamilton's product of x y z w: `(w v' + v w' + v × v', w w' - v · v')`.
fn hamilton(p: &[Lane], q: &[Lane]) -> Vec<Lane> {
    let across = cross(p, q);
    let mut product: Vec<Lane> = (0..3).map(|i| p[3] * q[i] + p[i] * q[3] + across[i]).collect();
    product.push(p[3] * q[3] - dot(&p[..3], &q[..3]));
    product
}

fn quaternion_reciprocal(q: &[Lane]) -> Vec<Lane> {
    over(&[-q[0], -q[1], -q[2], q[3]], dot(q, q))
}

/// `v + 2 w (u × v) + 2 u × (u × v)`, where u is the imaginary part of q.
fn rotated(q: &[Lane], v: &[Lane]) -> Vec<Lane> {
    let twice: Vec<Lane> = cross(q, v).into_iter().map(|part| part + part).collect();
    let again = cross(q, &twice);
    (0..3).map(|i| v[i] + twice[i] * q[3] + again[i]).collect()
}

/// Row i of `m`, which holds columns.
fn row(m: &[Lane], n: usize, i: usize) -> Vec<Lane> {
    (0..n).map(|j| m[j * n + i]).collect()
}

/// Of a matrix and the columns `b`.
fn matrix_product(a: &[Lane], b: &[Lane], n: usize) -> Vec<Lane> {
    let mut product = Vec::new();
    for column in b.chunks(n) {
        product.extend((0..n).map(|i| dot(&row(a, n, i), column)));
    }
    product
}

fn transposed(m: &[Lane], n: usize) -> Vec<Lane> {
    (0..n).flat_map(|i| row(m, n, i)).collect()
}

fn diagonal_changed(m: &[Lane], n: usize, change: impl Fn(Lane) -> Lane) -> Vec<Lane> {
    let mut m = m.to_vec();
    for i in 0..n {
        m[i * n + i] = change(m[i * n + i]);
    }
    m
}

fn with_diagonal(entries: &[Lane], n: usize) -> Vec<Lane> {
    let mut m = vec![entries[0].number(0.0); n * n];
    for (i, &entry) in entries.iter().enumerate() {
        m[i * n + i] = entry;
    }
    m
}

/// Along the first column.
fn determinant(m: &[Lane], n: usize) -> Lane {
    dot(&m[..n], &cofactors(m, n)[..n])
}

/// Cofactors in the places of their entries: of 2 by their definition, of 3 by cross products of columns, of
/// 4 along the other column of the same half, by the minors of two rows in the columns of the other half.
fn cofactors(m: &[Lane], n: usize) -> Vec<Lane> {
    if n == 2 {
        return vec![m[3], -m[2], -m[1], m[0]];
    }
    let column = |j: usize| &m[j * n..(j + 1) * n];
    if n == 3 {
        let pairs = [(1, 2), (2, 0), (0, 1)];
        return pairs.iter().flat_map(|&(a, b)| cross(column(a), column(b))).collect();
    }
    let mut cofactors = Vec::new();
    for j in 0..4 {
        let partner = column([1, 0, 3, 2][j]);
        let (left, right) = if j < 2 { (column(2), column(3)) } else { (column(0), column(1)) };
        let minor = |a: usize, b: usize| left[a] * right[b] - left[b] * right[a];
        for i in 0..4 {
            let rows: Vec<usize> = (0..4).filter(|&row| row != i).collect();
            let (a, b, c) = (rows[0], rows[1], rows[2]);
            let sum =
                partner[a] * minor(b, c) - partner[b] * minor(a, c) + partner[c] * minor(a, b);
            cofactors.push(if (i + j) % 2 == 0 { sum } else { -sum });
        }
    }
    cofactors
}

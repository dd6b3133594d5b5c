//! The functions of complex numbers and quaternions, one lane at a time, in the order of operations that their
//! help texts state.

use std::f64::consts::{LN_2, LN_10};

use porcini_core::ir::op::Op;
use porcini_core::nested::Form;

use super::algebra::{Formula, cross, dot, over, times};
use super::lane::Lane;

/// Real and imaginary part.
type Pair<'f> = [Lane<'f>; 2];

pub(super) fn formula<'f>(name: &str, parameters: &[Form]) -> Option<Formula<Lane<'f>>> {
    use Form::{Complex as C, Matrix as M, Quaternion as Q, Scalar as S, Vector as V};
    Some(match (name, parameters) {
        ("+", [C, S]) => |x, _| vec![x[0] + x[2], x[1]],
        ("+", [S, C]) => |x, _| vec![x[0] + x[1], x[2]],
        ("-", [C, S]) => |x, _| vec![x[0] - x[2], x[1]],
        ("-", [S, C]) => |x, _| vec![x[0] - x[1], -x[2]],
        ("*", [C, C]) => |x, _| product([x[0], x[1]], [x[2], x[3]]).to_vec(),
        ("*", [C, S]) => |x, _| times(&x[..2], x[2]),
        ("*", [S, C | Q]) => |x, _| times(&x[1..], x[0]),
        ("/", [C, C]) => |x, _| quotient([x[0], x[1]], [x[2], x[3]]).to_vec(),
        ("/", [C, S]) => |x, _| over(&x[..2], x[2]),
        ("rcp", [C]) => |x, _| quotient([x[0].number(1.0), x[0].number(0.0)], pair(x)).to_vec(),
        ("rsqrt", [C]) => {
            |x, _| quotient([x[0].number(1.0), x[0].number(0.0)], sqrt(pair(x))).to_vec()
        }
        ("sqr", [C]) => |x, _| product(pair(x), pair(x)).to_vec(),
        ("conj", [C]) => |x, _| vec![x[0], -x[1]],
        ("real", [C]) => |x, _| vec![x[0]],
        ("imag", [C]) => |x, _| vec![x[1]],
        ("isnan", [C | Q]) => |x, _| any(x, Lane::is_nan),
        ("isinf", [C]) => |x, _| any(x, Lane::is_infinite),
        ("isfinite", [C]) => |x, _| vec![x[0].is_finite() & x[1].is_finite()],
        ("abs" | "norm", [C]) => |x, _| vec![hypot(x[0], x[1])],
        ("arg", [C]) => |x, _| vec![x[1].call("atan2", &[x[0]])],
        ("exp", [C]) => |x, _| exp(pair(x)).to_vec(),
        ("exp2", [C]) => |x, _| polar(x[0].call("exp2", &[]), x[1] * x[1].number(LN_2)).to_vec(),
        ("exp10", [C]) => |x, _| polar(x[0].call("exp10", &[]), x[1] * x[1].number(LN_10)).to_vec(),
        ("log", [C]) => |x, _| log(pair(x)).to_vec(),
        ("log2", [C]) => |x, _| over(&log(pair(x)), x[0].number(LN_2)),
        ("log10", [C]) => |x, _| over(&log(pair(x)), x[0].number(LN_10)),
        ("sqrt", [C]) => |x, _| sqrt(pair(x)).to_vec(),
        ("pow", [C, C]) => |x, _| pow(pair(x), pair(&x[2..])).to_vec(),
        ("sinh", [C]) => |x, _| sinh(pair(x)).to_vec(),
        ("cosh", [C]) => |x, _| cosh(pair(x)).to_vec(),
        ("tanh", [C]) => |x, _| tanh(pair(x)).to_vec(),
        ("sin", [C]) => |x, _| over_i(sinh(times_i(pair(x)))).to_vec(),
        ("cos", [C]) => |x, _| cosh(times_i(pair(x))).to_vec(),
        ("tan", [C]) => |x, _| over_i(tanh(times_i(pair(x)))).to_vec(),
        ("asin", [C]) => |x, _| asin(pair(x)).to_vec(),
        ("acos", [C]) => |x, _| acos(pair(x)).to_vec(),
        ("atan", [C]) => |x, _| over_i(atanh(times_i(pair(x)))).to_vec(),
        ("asinh", [C]) => |x, _| times_i(asin(over_i(pair(x)))).to_vec(),
        ("acosh", [C]) => |x, _| acosh(pair(x)).to_vec(),
        ("atanh", [C]) => |x, _| atanh(pair(x)).to_vec(),

        ("squared_norm", [V(_) | C | Q]) | ("frob", [M(_)]) => |x, _| vec![dot(x, x)],
        ("norm", [V(_) | Q]) | ("abs", [Q]) => |x, _| vec![norm(x)],
        ("normalize", [V(_) | C | Q]) => |x, _| over(x, norm(x)),

        ("dot", [Q, Q]) => |x, _| vec![dot(&x[..4], &x[4..])],
        ("abs_dot", [Q, Q]) => |x, _| vec![dot(&x[..4], &x[4..]).abs()],
        ("+", [Q, S]) => |x, _| vec![x[0], x[1], x[2], x[3] + x[4]],
        ("+", [S, Q]) => |x, _| vec![x[1], x[2], x[3], x[0] + x[4]],
        ("-", [Q, S]) => |x, _| vec![x[0], x[1], x[2], x[3] - x[4]],
        ("-", [S, Q]) => |x, _| vec![-x[1], -x[2], -x[3], x[0] - x[4]],
        ("*", [Q, Q]) => |x, _| hamilton(&x[..4], &x[4..]),
        ("*", [Q, S]) => |x, _| times(&x[..4], x[4]),
        ("/", [Q, Q]) => |x, _| hamilton(&x[..4], &reciprocal(&x[4..])),
        ("/", [Q, S]) => |x, _| over(&x[..4], x[4]),
        ("rcp" | "inverse", [Q]) => |x, _| reciprocal(x),
        ("rsqrt", [Q]) => |x, _| reciprocal(&along(x, sqrt)),
        ("sqr", [Q]) => |x, _| hamilton(x, x),
        ("conj", [Q]) => |x, _| vec![-x[0], -x[1], -x[2], x[3]],
        ("real", [Q]) => |x, _| vec![x[3]],
        ("imag", [Q]) => |x, _| x[..3].to_vec(),
        ("rotate" | "*", [Q, V(3)]) => |x, _| rotated(&x[..4], &x[4..]),
        ("exp", [Q]) => |x, _| quaternion_exp(x),
        ("exp2", [Q]) => {
            |x, _| quaternion_polar(x[3].call("exp2", &[]), &times(&x[..3], x[3].number(LN_2)))
        }
        ("exp10", [Q]) => {
            |x, _| quaternion_polar(x[3].call("exp10", &[]), &times(&x[..3], x[3].number(LN_10)))
        }
        ("log", [Q]) => |x, _| along(x, log),
        ("log2", [Q]) => |x, _| over(&along(x, log), x[3].number(LN_2)),
        ("log10", [Q]) => |x, _| over(&along(x, log), x[3].number(LN_10)),
        ("sqrt", [Q]) => |x, _| along(x, sqrt),
        ("pow", [Q, Q]) => |x, _| quaternion_exp(&hamilton(&along(&x[..4], log), &x[4..])),
        ("slerp", [Q, Q, S]) => |x, _| slerp(&x[..4], &x[4..8], x[8]),
        ("Quaternion::rotate", [V(3), S]) => |x, _| {
            let half = x[3] * x[3].number(0.5);
            let sine = half.call("sin", &[]);
            vec![x[0] * sine, x[1] * sine, x[2] * sine, half.call("cos", &[])]
        },
        ("Matrix::from_quat", [Q]) => |x, _| rotation(x),
        ("quat_to_matrix", [Q]) => |x, _| {
            let (r, zero, one) = (rotation(x), x[0].number(0.0), x[0].number(1.0));
            let column = |j: usize| [r[3 * j], r[3 * j + 1], r[3 * j + 2], zero];
            let last = [zero, zero, zero, one];
            [column(0), column(1), column(2), last].concat()
        },
        ("matrix_to_quat", [M(3)]) => |x, _| of_rotation(|i, j| x[j * 3 + i]),
        ("matrix_to_quat", [M(4)]) => |x, _| of_rotation(|i, j| x[j * 4 + i]),
        ("quat_to_euler", [Q]) => |x, _| euler(x[0], x[1], x[2], x[3]),
        _ => return None,
    })
}

fn pair<'f>(x: &[Lane<'f>]) -> Pair<'f> {
    [x[0], x[1]]
}

fn any<'f>(x: &[Lane<'f>], test: fn(Lane<'f>) -> Lane<'f>) -> Vec<Lane<'f>> {
    let first = test(x[0]);
    vec![x[1..].iter().fold(first, |any, &entry| any | test(entry))]
}

fn norm<'f>(x: &[Lane<'f>]) -> Lane<'f> {
    dot(x, x).sqrt()
}

/// `x` with its sign changed where that of `y` is negative.
fn mulsign<'f>(x: Lane<'f>, y: Lane<'f>) -> Lane<'f> {
    x.call("mulsign", &[y])
}

// ---- complex numbers ----

pub(super) fn hypot<'f>(x: Lane<'f>, y: Lane<'f>) -> Lane<'f> {
    x.call("hypot", &[y])
}

pub(super) fn product<'f>([a, b]: Pair<'f>, [c, d]: Pair<'f>) -> Pair<'f> {
    [a * c - b * d, a * d + b * c]
}

/// `(a + ib) / (c + id)`: with `|c| >= |d|` numerator and denominator are divided by c, else by d.
pub(super) fn quotient<'f>([a, b]: Pair<'f>, [c, d]: Pair<'f>) -> Pair<'f> {
    let by_c = c.abs().op(Op::Ge, &[d.abs()]);
    let (large, small) = (by_c.select(c, d), by_c.select(d, c));
    let ratio = small.is(0.0).select(c.number(0.0), small / large);
    let denominator = large + small * ratio;
    let real = by_c.select(a + b * ratio, b + a * ratio);
    let imaginary = by_c.select(b - a * ratio, -(a - b * ratio));
    [real / denominator, imaginary / denominator]
}

fn times_i([x, y]: Pair<'_>) -> Pair<'_> {
    [-y, x]
}

fn over_i([x, y]: Pair<'_>) -> Pair<'_> {
    [y, -x]
}

fn conj([x, y]: Pair<'_>) -> Pair<'_> {
    [x, -y]
}

fn exp([x, y]: Pair<'_>) -> Pair<'_> {
    polar(x.call("exp", &[]), y)
}

fn polar<'f>(size: Lane<'f>, angle: Lane<'f>) -> Pair<'f> {
    let imaginary = angle.call("sin", &[]) * size;
    [angle.call("cos", &[]) * size, angle.is(0.0).select(angle, imaginary)]
}

fn log([x, y]: Pair<'_>) -> Pair<'_> {
    let size = hypot(x, y);
    let large = x.abs().op(Op::Max, &[y.abs()]);
    let small = x.abs().op(Op::Min, &[y.abs()]);
    let one = x.number(1.0);
    let excess = (large - one).op(Op::Fma, &[large + one, small * small]);
    let near = size.is_above(0.5) & size.is_below(2.0);
    let real = near.select(excess.call("log1p", &[]) * x.number(0.5), size.call("log", &[]));
    [real, y.call("atan2", &[x])]
}

fn sqrt([x, y]: Pair<'_>) -> Pair<'_> {
    let half = x.number(0.5);
    let m = (x.abs() * half + hypot(x, y) * half).sqrt();
    let n = m.is(0.0).select(x.number(0.0), y.abs() / (m + m));
    let right = x.op(Op::Ge, &[x.number(0.0)]);
    let (real, imaginary) = (right.select(m, n), right.select(n, m));
    let far = y.is_infinite();
    [far.select(y.abs(), real), far.select(y, mulsign(imaginary, y))]
}

fn pow<'f>(a: Pair<'f>, b: Pair<'f>) -> Pair<'f> {
    let [real, imaginary] = exp(product(log(a), b));
    let is_zero = |[x, y]: Pair<'f>| x.is(0.0) & y.is(0.0);
    let to_zero = is_zero(b);
    let of_zero = is_zero(a) & b[0].is_above(0.0);
    let zero = real.number(0.0);
    [
        to_zero.select(zero.number(1.0), of_zero.select(zero, real)),
        (to_zero | of_zero).select(zero, imaginary),
    ]
}

fn sinh([x, y]: Pair<'_>) -> Pair<'_> {
    let (sine, cosine) = (y.call("sin", &[]), y.call("cos", &[]));
    [x.call("sinh", &[]) * cosine, x.call("cosh", &[]) * sine]
}

fn cosh([x, y]: Pair<'_>) -> Pair<'_> {
    let (sine, cosine) = (y.call("sin", &[]), y.call("cos", &[]));
    [x.call("cosh", &[]) * cosine, x.call("sinh", &[]) * sine]
}

fn tanh([x, y]: Pair<'_>) -> Pair<'_> {
    let (sine, cosine) = (y.call("sin", &[]), y.call("cos", &[]));
    let t = x.call("tanh", &[]);
    let reciprocal = x.number(1.0) / x.call("cosh", &[]);
    let q = reciprocal * reciprocal;
    let divisor = t * t + cosine * cosine * q;
    [t / divisor, sine * cosine * q / divisor]
}

/// `sqrt(1 - z)` and `sqrt(1 + z)`.
fn roots([x, y]: Pair<'_>) -> [Pair<'_>; 2] {
    let one = x.number(1.0);
    [sqrt([-x + one, -y]), sqrt([x + one, y])]
}

fn asin(z: Pair<'_>) -> Pair<'_> {
    let [below, above] = roots(z);
    let real = z[0].call("atan2", &[product(below, above)[0]]);
    [real, product(conj(below), above)[1].call("asinh", &[])]
}

fn acos(z: Pair<'_>) -> Pair<'_> {
    let [below, above] = roots(z);
    let half = below[0].call("atan2", &[above[0]]);
    [half + half, product(conj(above), below)[1].call("asinh", &[])]
}

fn acosh([x, y]: Pair<'_>) -> Pair<'_> {
    let (one, minus_one) = (x.number(1.0), x.number(-1.0));
    let (below, above) = (sqrt([x + minus_one, y]), sqrt([x + one, y]));
    let half = below[1].call("atan2", &[above[0]]);
    [product(conj(below), above)[0].call("asinh", &[]), half + half]
}

fn atanh([x, y]: Pair<'_>) -> Pair<'_> {
    let (size, one) = (x.abs(), x.number(1.0));
    let (below, squared) = (one - size, y * y);
    let ratio = size * x.number(4.0) / (below * below + squared);
    let real = ratio.call("log1p", &[]) * x.number(0.25);
    let angle = (y + y).call("atan2", &[below * (one + size) - squared]);
    [mulsign(real, x), angle * x.number(0.5)]
}

// ---- quaternions x y z w ----

/// Hamilton's product: `(w v' + v w' + v × v', w w' - v · v')`.
fn hamilton<'f>(p: &[Lane<'f>], q: &[Lane<'f>]) -> Vec<Lane<'f>> {
    let across = cross(p, q);
    let mut product: Vec<Lane<'f>> =
        (0..3).map(|i| p[3] * q[i] + p[i] * q[3] + across[i]).collect();
    product.push(p[3] * q[3] - dot(&p[..3], &q[..3]));
    product
}

fn reciprocal<'f>(q: &[Lane<'f>]) -> Vec<Lane<'f>> {
    over(&[-q[0], -q[1], -q[2], q[3]], dot(q, q))
}

/// `v + 2 w (u × v) + 2 u × (u × v)`, where u is the imaginary part of q.
fn rotated<'f>(q: &[Lane<'f>], v: &[Lane<'f>]) -> Vec<Lane<'f>> {
    let twice: Vec<Lane<'f>> = cross(q, v).into_iter().map(|part| part + part).collect();
    let again = cross(q, &twice);
    (0..3).map(|i| v[i] + twice[i] * q[3] + again[i]).collect()
}

/// The quaternion with another real part and another length of the imaginary part.
fn with_length<'f>(q: &[Lane<'f>], old: Lane<'f>, new: Lane<'f>, real: Lane<'f>) -> Vec<Lane<'f>> {
    let factor = old.is(0.0).select(old.number(0.0), new / old);
    let mut result = times(&q[..3], factor);
    result.push(real);
    result
}

fn quaternion_exp<'f>(q: &[Lane<'f>]) -> Vec<Lane<'f>> {
    quaternion_polar(q[3].call("exp", &[]), &q[..3])
}

/// `size` turned by the imaginary part.
fn quaternion_polar<'f>(size: Lane<'f>, imaginary: &[Lane<'f>]) -> Vec<Lane<'f>> {
    let angle = norm(imaginary);
    let [sine, cosine] = ["sin", "cos"].map(|name| angle.call(name, &[]) * size);
    with_length(imaginary, angle, sine, cosine)
}

/// A function of the complex number of the real part and the length of the imaginary one.
fn along<'f>(q: &[Lane<'f>], function: fn(Pair<'f>) -> Pair<'f>) -> Vec<Lane<'f>> {
    let length = norm(&q[..3]);
    let [real, imaginary] = function([q[3], length]);
    with_length(q, length, imaginary, real)
}

fn slerp<'f>(a: &[Lane<'f>], b: &[Lane<'f>], t: Lane<'f>) -> Vec<Lane<'f>> {
    let cosine = dot(a, b);
    let b: Vec<Lane<'f>> = b.iter().map(|&part| mulsign(part, cosine)).collect();
    let cosine = cosine.abs();
    let across: Vec<Lane<'f>> = (0..4).map(|i| b[i] - a[i] * cosine).collect();
    let sine = norm(&across);
    let angle = sine.call("atan2", &[cosine]) * t;
    let (along, over_sine) = (angle.call("cos", &[]), angle.call("sin", &[]) / sine);
    let rest = t.number(1.0) - t;
    let line: Vec<Lane<'f>> = (0..4).map(|i| a[i] * rest + b[i] * t).collect();
    let line = over(&line, norm(&line));
    let close = cosine.is_above(0.9995);
    let arc = |i: usize| a[i] * along + across[i] * over_sine;
    (0..4).map(|i| close.select(line[i], arc(i))).collect()
}

/// The columns of the matrix `1 - 2 (y² + z²), 2 (xy + zw), …`
fn rotation<'f>(q: &[Lane<'f>]) -> Vec<Lane<'f>> {
    let (x, y, z, w) = (q[0], q[1], q[2], q[3]);
    let twice = |a: Lane<'f>| a + a;
    let on = |a: Lane<'f>, b: Lane<'f>| w.number(1.0) - twice(a * a + b * b);
    vec![
        on(y, z),
        twice(x * y + z * w),
        twice(x * z - y * w),
        twice(x * y - z * w),
        on(x, z),
        twice(y * z + x * w),
        twice(x * z + y * w),
        twice(y * z - x * w),
        on(x, y),
    ]
}

/// Of the parts x, y, z, w the one that is certainly not small has its square on the diagonal; the others come
/// from sums and differences across it.
fn of_rotation<'f>(m: impl Fn(usize, usize) -> Lane<'f>) -> Vec<Lane<'f>> {
    let one = m(0, 0).number(1.0);
    let (x, y, z) = (m(0, 0), m(1, 1), m(2, 2));
    let sum = |i: usize, j: usize| m(i, j) + m(j, i);
    let difference = |i: usize, j: usize| m(i, j) - m(j, i);
    let by_x = [one + x - y - z, sum(1, 0), sum(0, 2), difference(2, 1)];
    let by_y = [sum(1, 0), one - x + y - z, sum(2, 1), difference(0, 2)];
    let by_z = [sum(0, 2), sum(2, 1), one - x - y + z, difference(1, 0)];
    let by_w = [difference(2, 1), difference(0, 2), difference(1, 0), one + x + y + z];
    let low = z.is_below(0.0);
    let x_above_y = x.op(Op::Gt, &[y]);
    let x_below_minus_y = x.op(Op::Lt, &[-y]);
    let chosen = |i: usize| {
        low.select(x_above_y.select(by_x[i], by_y[i]), x_below_minus_y.select(by_z[i], by_w[i]))
    };
    let square =
        low.select(x_above_y.select(by_x[0], by_y[1]), x_below_minus_y.select(by_z[2], by_w[3]));
    let scale = one.number(0.5) / square.sqrt();
    (0..4).map(|i| chosen(i) * scale).collect()
}

fn euler<'f>(x: Lane<'f>, y: Lane<'f>, z: Lane<'f>, w: Lane<'f>) -> Vec<Lane<'f>> {
    let one = x.number(1.0);
    let twice = |a: Lane<'f>| a + a;
    let turn = |a: Lane<'f>, b: Lane<'f>| twice(a).call("atan2", &[one - twice(b)]);
    let sine = twice(w * y - z * x).op(Op::Max, &[-one]).op(Op::Min, &[one]);
    vec![
        turn(w * x + y * z, x * x + y * y),
        sine.call("asin", &[]),
        turn(w * z + x * y, y * y + z * z),
    ]
}

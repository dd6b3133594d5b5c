//! Quaternions x y z w: `w + xi + yj + zk`.

use std::f64::consts::{LN_2, LN_10};
use std::ops::Mul;

use super::complex::Complex;
use super::entries::{cross, divided, dot, norm, real, scaled};
use super::row::Form::{self, Matrix, Scalar, Vector};
use super::row::{NestedFunction, nested_functions};
use crate::ir::op::Class;
use crate::trace::expr::Expr;

const Q: Form = Form::Quaternion;

nested_functions! { $ quaternion_rows;
    /// Sum of a quaternion and a real number.
    ///
    /// >> Quaternion4fC(1, 2, 3, 4) + 1
    /// [5 + 1i + 2j + 3k]
    "+" (Q, Scalar) -> (Q), Float = |x, _| vec![x[0], x[1], x[2], x[3] + x[4]];
    /// Sum of a real number and a quaternion.
    ///
    /// >> 1 + Quaternion4fC(1, 2, 3, 4)
    /// [5 + 1i + 2j + 3k]
    "+" (Scalar, Q) -> (Q), Float = |x, _| vec![x[1], x[2], x[3], x[0] + x[4]];
    /// Difference of a quaternion and a real number.
    ///
    /// >> Quaternion4fC(1, 2, 3, 4) - 1
    /// [3 + 1i + 2j + 3k]
    "-" (Q, Scalar) -> (Q), Float = |x, _| vec![x[0], x[1], x[2], x[3] - x[4]];
    /// Difference of a real number and a quaternion.
    ///
    /// >> 1 - Quaternion4fC(1, 2, 3, 4)
    /// [-3 - 1i - 2j - 3k]
    "-" (Scalar, Q) -> (Q), Float = |x, _| vec![-x[1], -x[2], -x[3], x[0] - x[4]];
    /// Product of quaternions, without fma: of p with imaginary part u and q with v it is `p.w * v + u * q.w + cross(u, v)`
    /// and `p.w * q.w - dot(u, v)`.
    ///
    /// >> Quaternion4fC(1, 2, -1, 3) * Quaternion4fC(-4, 3, 5, -2)
    /// [-3 - 1i + 4j + 28k]
    "*" (Q, Q) -> (Q), Float = |x, _| (Quaternion::of(x) * Quaternion::of(&x[4..])).parts();
    /// Product of a quaternion and a real number.
    ///
    /// >> Quaternion4fC(1, 2, 3, 4) * 2
    /// [8 + 2i + 4j + 6k]
    "*" (Q, Scalar) -> (Q), Float = |x, _| scaled(&x[..4], x[4]);
    /// Product of a real number and a quaternion.
    ///
    /// >> 2 * Quaternion4fC(1, 2, 3, 4)
    /// [8 + 2i + 4j + 6k]
    "*" (Scalar, Q) -> (Q), Float = |x, _| scaled(&x[1..], x[0]);
    /// The vector turned by a unit quaternion, as `rotate(q, v)`.
    ///
    /// >> Quaternion4fC(0, 0, 1, 0) * Vector3fC(1, 2, 3)
    /// [[-1, -2, 3]]
    "*" (Q, Vector(3)) -> (Vector(3)), Float = |x, _| Quaternion::of(x).rotate(&x[4..]);
    /// `a * rcp(b)`.
    ///
    /// >> Quaternion4fC(0, 0, 0, 6) / Quaternion4fC(0, 0, 2, 0)
    /// [0 + 0i + 0j - 3k]
    "/" (Q, Q) -> (Q), Float = |x, _| (Quaternion::of(x) * Quaternion::of(&x[4..]).rcp()).parts();
    /// Quaternion divided by a real number, part by part.
    ///
    /// >> Quaternion4fC(2, 4, 6, 8) / 2
    /// [4 + 1i + 2j + 3k]
    "/" (Q, Scalar) -> (Q), Float = |x, _| divided(&x[..4], x[4]);
    /// Reciprocal of a quaternion: its conjugate divided by its squared norm.
    ///
    /// >> rcp(Quaternion4fC(0, 0, 2, 0))
    /// [0 - 0i - 0j - 0.5k]
    "rcp" (Q) -> (Q), Float = |x, _| Quaternion::of(x).rcp().parts();
    /// Inverse of a quaternion, `rcp` by another name: `q * inverse(q)` is 1.
    ///
    /// >> inverse(Quaternion4fC(0, 0, 2, 0))
    /// [0 - 0i - 0j - 0.5k]
    "inverse" (Q) -> (Q), Float = |x, _| Quaternion::of(x).rcp().parts();
    /// Square of a quaternion, `q * q`.
    ///
    /// >> sqr(Quaternion4fC(1, 0, 0, 2))
    /// [3 + 4i + 0j + 0k]
    "sqr" (Q) -> (Q), Float = |x, _| (Quaternion::of(x) * Quaternion::of(x)).parts();
    /// Reciprocal square root of a quaternion, `rcp(sqrt(q))`.
    ///
    /// >> rsqrt(Quaternion4fC(0, 0, 2, 0))
    /// [0.5 - 0i - 0j - 0.5k]
    "rsqrt" (Q) -> (Q), Float = |x, _| Quaternion::of(x).sqrt().rcp().parts();
    /// Conjugate of a quaternion: the imaginary parts change sign.
    ///
    /// >> conj(Quaternion4fC(2, 3, 4, 1))
    /// [1 - 2i - 3j - 4k]
    "conj" (Q) -> (Q), Float = |x, _| Quaternion::of(x).conj().parts();
    /// Real part w of a quaternion.
    ///
    /// >> real(Quaternion4fC(1, 2, 3, 4))
    /// [4]
    "real" (Q) -> (Scalar), Float = |x, _| vec![x[3]];
    /// Imaginary parts x, y, z of a quaternion as a vector.
    ///
    /// >> imag(Quaternion4fC(1, 2, 3, 4))
    /// [[1, 2, 3]]
    "imag" (Q) -> (Vector(3)), Float = |x, _| x[..3].to_vec();
    /// Length of a quaternion.
    ///
    /// >> abs(Quaternion4fC(1, 3, 1, 5))
    /// [6]
    "abs" (Q) -> (Scalar), Float = |x, _| vec![norm(x)];
    /// Length of a quaternion.
    ///
    /// >> norm(Quaternion4fC(1, 3, 1, 5))
    /// [6]
    "norm" (Q) -> (Scalar), Float = |x, _| vec![norm(x)];
    /// Squared length of a quaternion.
    ///
    /// >> squared_norm(Quaternion4fC(1, 3, 1, 5))
    /// [36]
    "squared_norm" (Q) -> (Scalar), Float = |x, _| vec![dot(x, x)];
    /// The quaternion divided by its length.
    ///
    /// >> normalize(Quaternion4fC(3, 0, 0, 4))
    /// [0.8 + 0.6i + 0j + 0k]
    "normalize" (Q) -> (Q), Float = |x, _| divided(x, norm(x));
    /// The vector turned by a unit quaternion: with its imaginary part u and `t = 2 * cross(u, v)`,
    /// `v + t * q.w + cross(u, t)`.
    ///
    /// >> rotate(Quaternion4fC(0, 0, 1, 0), Vector3fC(1, 2, 3))
    /// [[-1, -2, 3]]
    rotate (Q, Vector(3)) -> (Vector(3)), Float = |x, _| Quaternion::of(x).rotate(&x[4..]);
    /// The unit quaternion that turns by an angle in radians about a unit axis: `axis * sin(angle * 0.5)` and
    /// `cos(angle * 0.5)`.
    ///
    /// >> Quaternion4fC::rotate(Vector3fC(0, 0, 1), pi)
    /// [-4.37114e-08 + 0i + 0j + 1k]
    "Quaternion::rotate" (Vector(3), Scalar) -> (Q), Float = |x, _| about(&x[..3], x[3]).parts();
    /// Rotation by a unit quaternion as a matrix of homogeneous coordinates.
    ///
    /// >> quat_to_matrix(Quaternion4fC(0, 0, 1, 0))
    /// [[[-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]]
    quat_to_matrix (Q) -> (Matrix(4)), Float = |x, _| {
        let rotation = Quaternion::of(x).matrix();
        super::transform::homogeneous(&rotation, None)
    };
    /// Rotation by a unit quaternion: `1 - 2 * (y * y + z * z)` and so on the diagonal, `2 * (x * y - z * w)`,
    /// `2 * (x * y + z * w)` and so on across it.
    ///
    /// >> Matrix3fC::from_quat(Quaternion4fC(0, 0, 1, 0))
    /// [[[-1, 0, 0], [0, -1, 0], [0, 0, 1]]]
    "Matrix::from_quat" (Q) -> (Matrix(3)), Float = |x, _| Quaternion::of(x).matrix();
    /// The unit quaternion of a rotation matrix. After Mike Day, Converting a Rotation Matrix to a Quaternion: four times
    /// the square of one part that is not small, such as `t = 1 + m00 - m11 - m22`, the products of that part with the
    /// others, such as `m10 + m01`, all times `0.5 / sqrt(t)`.
    ///
    /// >> matrix_to_quat(Matrix3fC([[-1, 0, 0], [0, -1, 0], [0, 0, 1]]))
    /// [0 + 0i + 0j + 1k]
    matrix_to_quat (Matrix(3)) -> (Q), Float = |x, _| from_matrix(|i, j| x[j * 3 + i]).parts();
    /// The unit quaternion of the rotation in a matrix of homogeneous coordinates.
    ///
    /// >> matrix_to_quat(Matrix4fC::identity())
    /// [1 + 0i + 0j + 0k]
    "matrix_to_quat" (Matrix(4)) -> (Q), Float = |x, _| from_matrix(|i, j| x[j * 4 + i]).parts();
    /// Exponential function of a quaternion: with the length `l` of the imaginary part u,
    /// `u * (sin(l) * exp(w) / l)` (0 for l = 0) and `cos(l) * exp(w)`.
    ///
    /// >> exp(Quaternion4fC(2, 3, 4, 1))
    /// [1.69392 - 0.78956i - 1.18434j - 1.57912k]
    "exp" (Q) -> (Q), Float = |x, _| Quaternion::of(x).exp().parts();
    /// 2 to the power of a quaternion: as `exp`, of `u * log(2)` and with `exp2(w)`.
    ///
    /// >> exp2(Quaternion4fC(0, 0, 1, 3))
    /// [6.15391 + 0i + 0j + 5.11169k]
    "exp2" (Q) -> (Q), Float = |x, _| {
        Quaternion::of(x).turned_by(LN_2).with_size(real::exp2(x[3])).parts()
    };
    /// 10 to the power of a quaternion: as `exp`, of `u * log(10)` and with `exp10(w)`.
    ///
    /// >> exp10(Quaternion4fC(0, 0, 1, 1))
    /// [-6.68201 + 0i + 0j + 7.4398k]
    "exp10" (Q) -> (Q), Float = |x, _| {
        Quaternion::of(x).turned_by(LN_10).with_size(real::exp10(x[3])).parts()
    };
    /// Natural logarithm of a quaternion; the imaginary part has a length up to pi, and is 0 for real numbers. With the
    /// length `l` of the imaginary part u and `z = log(w + il)`: `u * (im(z) / l)` and `re(z)`.
    ///
    /// >> log(Quaternion4fC(2, 3, 4, 1))
    /// [1.7006 + 0.51519i + 0.772785j + 1.03038k]
    "log" (Q) -> (Q), Float = |x, _| Quaternion::of(x).log().parts();
    /// Logarithm of a quaternion to the base 2: the parts of `log(q)`, each divided by `log(2)`.
    ///
    /// >> log2(Quaternion4fC(0, 0, 2, 0))
    /// [1 + 0i + 0j + 2.26618k]
    "log2" (Q) -> (Q), Float = |x, _| divided(&Quaternion::of(x).log().parts(), x[3].constant(LN_2));
    /// Logarithm of a quaternion to the base 10: the parts of `log(q)`, each divided by `log(10)`.
    ///
    /// >> log10(Quaternion4fC(0, 0, 100, 0))
    /// [2 + 0i + 0j + 0.682188k]
    "log10" (Q) -> (Q), Float = |x, _| divided(&Quaternion::of(x).log().parts(), x[3].constant(LN_10));
    /// Square root of a quaternion, with a real part that is not negative: as `log`, with `z = sqrt(w + il)`.
    ///
    /// >> sqrt(Quaternion4dC(2, 3, 4, 1))
    /// [1.79961 + 0.555675i + 0.833512j + 1.11135k]
    "sqrt" (Q) -> (Q), Float = |x, _| Quaternion::of(x).sqrt().parts();
    /// Power of quaternions: `exp(log(a) * b)`.
    ///
    /// >> pow(Quaternion4fC(0, 0, 1, 0), 0.5)
    /// [0.707107 + 0i + 0j + 0.707107k]
    "pow" (Q, Q) -> (Q), Float = |x, _| (Quaternion::of(x).log() * Quaternion::of(&x[4..])).exp().parts();
    /// Spherical interpolation between unit quaternions, the shorter way: a at t = 0, b (or -b) at t = 1. With
    /// `c = |dot(a, b)|`, `p = b - a * c` of length s and `f = atan2(s, c) * t`: `a * cos(f) + p * (sin(f) / s)`; for
    /// c > 0.9995 `normalize(a * (1 - t) + b * t)`.
    ///
    /// >> slerp(Quaternion4fC(0, 0, 0, 1), Quaternion4fC(0, 0, 1, 0), 0.5)
    /// [0.707107 + 0i + 0j + 0.707107k]
    slerp (Q, Q, Scalar) -> (Q), Float = |x, _| slerp(&x[..4], &x[4..8], x[8]);
    /// The angles about the axes x, y, z (roll, pitch, yaw) of a rotation by a unit quaternion:
    /// `atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))`, `asin(2 * (w * y - z * x))` of at most 1, and
    /// `atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))`.
    ///
    /// >> quat_to_euler(Quaternion4fC::rotate([0, 0, 1], 0.5))
    /// [[0, 0, 0.5]]
    quat_to_euler (Q) -> (Vector(3)), Float = |x, _| euler(x);
    /// The unit quaternion of a rotation about the axes x, then y, then z by the angles of a vector (roll, pitch, yaw).
    ///
    /// >> euler_to_quat(Vector3fC(0, 0, pi))
    /// [-4.37114e-08 + 0i + 0j + 1k]
    euler_to_quat (Vector(3)) -> (Q), Float = |x, _| from_euler(x);
    /// Whether a part is not a number.
    ///
    /// >> isnan(Quaternion4fC(0, nan, 0, 0))
    /// [1]
    "isnan" (Q) -> (Scalar), Float = |x, _| {
        let nan = |i: usize| x[i].neq(x[i]);
        vec![nan(0) | nan(1) | nan(2) | nan(3)]
    };
    /// Whether a part is infinite.
    ///
    /// >> isinf(Quaternion4fC(0, inf, 0, 0))
    /// [1]
    "isinf" (Q) -> (Scalar), Float = |x, _| {
        let infinite = |i: usize| x[i].abs().eq(x[i].constant(f64::INFINITY));
        vec![infinite(0) | infinite(1) | infinite(2) | infinite(3)]
    };
    /// Whether all parts are finite.
    ///
    /// >> isfinite(Quaternion4fC(0, inf, 0, 0))
    /// [0]
    "isfinite" (Q) -> (Scalar), Float = |x, _| {
        let finite = |i: usize| x[i].abs().lt(x[i].constant(f64::INFINITY));
        vec![finite(0) & finite(1) & finite(2) & finite(3)]
    };
}
pub(crate) use quaternion_rows;

/// A quaternion under construction.
#[derive(Clone, Copy)]
pub(super) struct Quaternion<'r> {
    im: [Expr<'r>; 3],
    re: Expr<'r>,
}

impl<'r> Quaternion<'r> {
    pub(super) fn of(parts: &[Expr<'r>]) -> Self {
        Self { im: [parts[0], parts[1], parts[2]], re: parts[3] }
    }

    pub(super) fn parts(self) -> Vec<Expr<'r>> {
        let [x, y, z] = self.im;
        vec![x, y, z, self.re]
    }

    fn conj(self) -> Self {
        Self { im: self.im.map(|part| -part), ..self }
    }

    fn rcp(self) -> Self {
        let parts = self.parts();
        Self::of(&divided(&self.conj().parts(), dot(&parts, &parts)))
    }

    /// The imaginary part with another length; 0 stays 0, with the derivative that a length of next to 0 has.
    fn with_length(self, length: Expr<'r>, old: Expr<'r>, slope: Expr<'r>) -> [Expr<'r>; 3] {
        let zero = old.constant(0);
        let of_zero = if old.is_differentiated() { slope } else { zero };
        let scale = old.eq(zero).select(of_zero, length / old);
        self.im.map(|part| part * scale)
    }

    fn exp(self) -> Self {
        self.with_size(real::exp(self.re))
    }

    fn turned_by(self, factor: f64) -> Self {
        Self { im: self.im.map(|part| part * part.constant(factor)), ..self }
    }

    /// `size` turned by the imaginary part.
    fn with_size(self, size: Expr<'r>) -> Self {
        let angle = norm(&self.im);
        let im = self.with_length(real::sin(angle) * size, angle, size);
        Self { im, re: real::cos(angle) * size }
    }

    fn log(self) -> Self {
        let length = norm(&self.im);
        let log = Complex { re: self.re, im: length }.log();
        // Across the negative numbers it jumps.
        let infinite = self.re.constant(f64::INFINITY);
        let is_right = self.re.gt(self.re.constant(0));
        let slope = is_right.select(self.re.constant(1) / self.re, infinite);
        Self { im: self.with_length(log.im, length, slope), re: log.re }
    }

    fn sqrt(self) -> Self {
        let length = norm(&self.im);
        let root = Complex { re: self.re, im: length }.sqrt();
        let slope = self.re.constant(0.5) / root.re;
        Self { im: self.with_length(root.im, length, slope), re: root.re }
    }

    /// `v + 2 w (u × v) + 2 u × (u × v)` for the imaginary part u: 15 products instead of 32.
    fn rotate(self, v: &[Expr<'r>]) -> Vec<Expr<'r>> {
        let twice: Vec<Expr<'r>> = cross(&self.im, v).into_iter().map(|part| part + part).collect();
        let turned = cross(&self.im, &twice);
        (0..3).map(|i| v[i] + twice[i] * self.re + turned[i]).collect()
    }

    /// The columns of its rotation matrix.
    pub(super) fn matrix(self) -> Vec<Expr<'r>> {
        let ([x, y, z], w) = (self.im, self.re);
        let one = w.constant(1);
        let twice = |x: Expr<'r>| x + x;
        let diagonal = |a: Expr<'r>, b: Expr<'r>| one - twice(a * a + b * b);
        let (plus, minus) =
            (|a: Expr<'r>, b| twice(a + b), |a: Expr<'r>, b: Expr<'r>| twice(a - b));
        vec![
            diagonal(y, z),
            plus(x * y, z * w),
            minus(x * z, y * w),
            minus(x * y, z * w),
            diagonal(x, z),
            plus(y * z, x * w),
            plus(x * z, y * w),
            minus(y * z, x * w),
            diagonal(x, y),
        ]
    }
}

impl Mul for Quaternion<'_> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let across = cross(&self.im, &other.im);
        let part = |i: usize| self.re * other.im[i] + self.im[i] * other.re + across[i];
        Self { im: [part(0), part(1), part(2)], re: self.re * other.re - dot(&self.im, &other.im) }
    }
}

fn about<'r>(axis: &[Expr<'r>], angle: Expr<'r>) -> Quaternion<'r> {
    let half = angle * angle.constant(0.5);
    let sine = real::sin(half);
    Quaternion { im: [axis[0] * sine, axis[1] * sine, axis[2] * sine], re: real::cos(half) }
}

/// By the part of `b` that is perpendicular to `a`; where there is next to none the line between them is as good.
fn slerp<'r>(a: &[Expr<'r>], b: &[Expr<'r>], t: Expr<'r>) -> Vec<Expr<'r>> {
    let cosine = dot(a, b);
    let one = t.constant(1);
    let b: Vec<Expr<'r>> = b.iter().map(|&part| real::mulsign(part, cosine)).collect();
    let cosine = cosine.abs();
    let across: Vec<Expr<'r>> = a.iter().zip(&b).map(|(&a, &b)| b - a * cosine).collect();
    let sine = norm(&across);
    let angle = real::atan2(sine, cosine) * t;
    let (along, over) = (real::cos(angle), real::sin(angle) / sine);
    let close = cosine.gt(t.constant(0.9995));
    let line: Vec<Expr<'r>> = a.iter().zip(&b).map(|(&a, &b)| a * (one - t) + b * t).collect();
    let line = divided(&line, norm(&line));
    let arc = a.iter().zip(&across).map(|(&a, &across)| a * along + across * over);
    arc.zip(line).map(|(arc, line)| close.select(line, arc)).collect()
}

fn euler<'r>(q: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let &[x, y, z, w] = q else { panic!("internal error: four parts expected") };
    let twice = |x: Expr<'r>| x + x;
    let one = w.constant(1);
    let roll = real::atan2(twice(w * x + y * z), one - twice(x * x + y * y));
    let pitch = real::asin(twice(w * y - z * x).max(-one).min(one));
    let yaw = real::atan2(twice(w * z + x * y), one - twice(y * y + z * z));
    vec![roll, pitch, yaw]
}

/// The product of the quaternions of the three rotations, that about x last.
fn from_euler<'r>(angles: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let half = |i: usize| angles[i] * angles[i].constant(0.5);
    let zero = angles[0].constant(0);
    let turn = |i: usize| {
        let (sine, cosine) = (real::sin(half(i)), real::cos(half(i)));
        let mut parts = [zero, zero, zero, cosine];
        parts[i] = sine;
        Quaternion::of(&parts)
    };
    (turn(2) * turn(1) * turn(0)).parts()
}

/// Four formulas, each good where its own part is large; `m(i, j)` is row i, column j.
pub(super) fn from_matrix<'r>(m: impl Fn(usize, usize) -> Expr<'r>) -> Quaternion<'r> {
    let (zero, one) = (m(0, 0).constant(0), m(0, 0).constant(1));
    let (xy, xz, yz) = (m(1, 0) + m(0, 1), m(0, 2) + m(2, 0), m(2, 1) + m(1, 2));
    let (wx, wy, wz) = (m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1));
    let t = [
        one + m(0, 0) - m(1, 1) - m(2, 2),
        one - m(0, 0) + m(1, 1) - m(2, 2),
        one - m(0, 0) - m(1, 1) + m(2, 2),
        one + m(0, 0) + m(1, 1) + m(2, 2),
    ];
    let rows = [[t[0], xy, xz, wx], [xy, t[1], yz, wy], [xz, yz, t[2], wz], [wx, wy, wz, t[3]]];
    let select = |mask: Expr<'r>, a: usize, b: usize| {
        let part = |i: usize| mask.select(rows[a][i], rows[b][i]);
        ([part(0), part(1), part(2), part(3)], mask.select(t[a], t[b]))
    };
    let (low, t_low) = select(m(0, 0).gt(m(1, 1)), 0, 1);
    let (high, t_high) = select(m(0, 0).lt(-m(1, 1)), 2, 3);
    let use_low = m(2, 2).lt(zero);
    let scale = one.constant(0.5) / use_low.select(t_low, t_high).sqrt();
    let part = |i: usize| use_low.select(low[i], high[i]) * scale;
    Quaternion { im: [part(0), part(1), part(2)], re: part(3) }
}

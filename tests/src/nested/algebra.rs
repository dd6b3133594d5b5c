//! Vectors and matrices of numbers, real or complex, one lane at a time: sums from left to right, products
//! without fma, inverses by minors.

use std::ops::{Add, Div, Mul, Neg, Sub};

use porcini_core::ir::op::Op;
use porcini_core::nested::Form;

use super::elementary::{hypot, product, quotient};
use super::lane::Lane;

/// An entry of a vector or matrix.
pub(super) trait Entry<'f>:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn number(self, number: f64) -> Self;
    fn abs(self) -> Self;
    fn conj(self) -> Self;
    fn scaled(self, factor: Lane<'f>) -> Self;
    fn divided(self, divisor: Lane<'f>) -> Self;
    /// Real part, and imaginary part if there is one.
    fn parts(self) -> Vec<Lane<'f>>;
}

impl<'f> Entry<'f> for Lane<'f> {
    fn number(self, number: f64) -> Self {
        Lane::number(self, number)
    }

    fn abs(self) -> Self {
        Lane::abs(self)
    }

    fn conj(self) -> Self {
        self
    }

    fn scaled(self, factor: Self) -> Self {
        self * factor
    }

    fn divided(self, divisor: Self) -> Self {
        self / divisor
    }

    fn parts(self) -> Vec<Self> {
        vec![self]
    }
}

/// A real number, or a complex one. What is real stays so: `x + z` keeps the imaginary part of z, `x * z` and
/// `z / x` go part by part.
#[derive(Clone, Copy)]
pub(super) struct Number<'f> {
    pub(super) re: Lane<'f>,
    pub(super) im: Option<Lane<'f>>,
}

impl<'f> Number<'f> {
    fn pair(self) -> [Lane<'f>; 2] {
        [self.re, self.im.unwrap_or(self.re.number(0.0))]
    }
}

impl Add for Number<'_> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let im = match (self.im, other.im) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        Self { re: self.re + other.re, im }
    }
}

impl Neg for Number<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { re: -self.re, im: self.im.map(Neg::neg) }
    }
}

impl Sub for Number<'_> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        let im = match (self.im, other.im) {
            (Some(a), Some(b)) => Some(a - b),
            (a, b) => a.or(b.map(Neg::neg)),
        };
        Self { re: self.re - other.re, im }
    }
}

impl Mul for Number<'_> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        match (self.im, other.im) {
            (Some(_), Some(_)) => {
                let [re, im] = product(self.pair(), other.pair());
                Self { re, im: Some(im) }
            }
            (None, _) => other.scaled(self.re),
            (_, None) => self.scaled(other.re),
        }
    }
}

impl Div for Number<'_> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        if other.im.is_none() {
            return self.divided(other.re);
        }
        let [re, im] = quotient(self.pair(), other.pair());
        Self { re, im: Some(im) }
    }
}

impl<'f> Entry<'f> for Number<'f> {
    fn number(self, number: f64) -> Self {
        Self { re: self.re.number(number), im: None }
    }

    fn abs(self) -> Self {
        let re = self.im.map_or(self.re.abs(), |im| hypot(self.re, im));
        Self { re, im: None }
    }

    fn conj(self) -> Self {
        Self { im: self.im.map(Neg::neg), ..self }
    }

    fn scaled(self, factor: Lane<'f>) -> Self {
        Self { re: self.re * factor, im: self.im.map(|im| im * factor) }
    }

    fn divided(self, divisor: Lane<'f>) -> Self {
        Self { re: self.re / divisor, im: self.im.map(|im| im / divisor) }
    }

    fn parts(self) -> Vec<Lane<'f>> {
        [Some(self.re), self.im].into_iter().flatten().collect()
    }
}

/// From the entries of the arguments, and what a row's `N` stands for, to the entries of the results.
pub(super) type Formula<E> = fn(&[E], usize) -> Vec<E>;

/// The functions that entries of any kind have.
pub(super) fn formula<'f, E: Entry<'f>>(name: &str, parameters: &[Form]) -> Option<Formula<E>> {
    use Form::{Matrix as M, Scalar as S, Vector as V};
    Some(match (name, parameters) {
        ("dot", [V(_), V(_)]) => |x, n| vec![dot(&x[..n], &x[n..])],
        ("abs_dot", [V(_), V(_)]) => |x, n| vec![dot(&x[..n], &x[n..]).abs()],
        ("cross", [V(3), V(3)]) => |x, _| cross(&x[..3], &x[3..]),
        ("*", [M(_), M(_) | V(_)]) => |x, n| matrix_product(&x[..n * n], &x[n * n..], n),
        ("*", [M(_), S]) => |x, n| times(&x[..n * n], x[n * n]),
        ("*", [S, M(_)]) => |x, _| times(&x[1..], x[0]),
        ("/", [M(_), S]) => |x, n| over(&x[..n * n], x[n * n]),
        ("+", [M(_), S]) => |x, n| diagonal_changed(&x[..n * n], n, |entry| entry + x[n * n]),
        ("+", [S, M(_)]) => |x, n| diagonal_changed(&x[1..], n, |entry| x[0] + entry),
        ("-", [M(_), S]) => |x, n| diagonal_changed(&x[..n * n], n, |entry| entry - x[n * n]),
        ("-", [S, M(_)]) => |x, n| {
            let negated: Vec<E> = x[1..].iter().map(|&entry| -entry).collect();
            diagonal_changed(&negated, n, |entry| x[0] + entry)
        },
        ("sqr", [M(_)]) => |x, n| matrix_product(x, x, n),
        ("mul_elem", [M(_), M(_)]) => |x, n| (0..n * n).map(|k| x[k] * x[n * n + k]).collect(),
        ("transpose", [M(_)]) => transposed,
        ("det" | "determinant", [M(_)]) => |x, n| vec![determinant(x, n)],
        ("inverse_transpose", [M(_)]) => inverse_transpose,
        ("inverse" | "rcp", [M(_)]) => |x, n| transposed(&inverse_transpose(x, n), n),
        ("trace", [M(_)]) => {
            |x, n| (1..n).map(|i| x[i * n + i]).fold(vec![x[0]], |sum, entry| vec![sum[0] + entry])
        }
        ("diag", [M(_)]) => |x, n| (0..n).map(|i| x[i * n + i]).collect(),
        ("diag", [V(_)]) => with_diagonal,
        ("polar_decomp", [M(_)]) => polar,
        _ => return None,
    })
}

/// `a[0] * b[0] + a[1] * b[1] + …`
pub(super) fn dot<'f, E: Entry<'f>>(a: &[E], b: &[E]) -> E {
    let mut sum = a[0] * b[0];
    for i in 1..a.len() {
        sum = sum + a[i] * b[i];
    }
    sum
}

pub(super) fn cross<'f, E: Entry<'f>>(a: &[E], b: &[E]) -> Vec<E> {
    vec![a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn times<'f, E: Entry<'f>>(x: &[E], factor: E) -> Vec<E> {
    x.iter().map(|&entry| entry * factor).collect()
}

pub(super) fn over<'f, E: Entry<'f>>(x: &[E], divisor: E) -> Vec<E> {
    x.iter().map(|&entry| entry / divisor).collect()
}

/// Row i of `m`, which holds columns.
fn row<'f, E: Entry<'f>>(m: &[E], n: usize, i: usize) -> Vec<E> {
    (0..n).map(|j| m[j * n + i]).collect()
}

/// Of a matrix and the columns `b`.
fn matrix_product<'f, E: Entry<'f>>(a: &[E], b: &[E], n: usize) -> Vec<E> {
    let mut product = Vec::new();
    for column in b.chunks(n) {
        product.extend((0..n).map(|i| dot(&row(a, n, i), column)));
    }
    product
}

fn transposed<'f, E: Entry<'f>>(m: &[E], n: usize) -> Vec<E> {
    (0..n).flat_map(|i| row(m, n, i)).collect()
}

fn diagonal_changed<'f, E: Entry<'f>>(m: &[E], n: usize, change: impl Fn(E) -> E) -> Vec<E> {
    let mut m = m.to_vec();
    for i in 0..n {
        m[i * n + i] = change(m[i * n + i]);
    }
    m
}

pub(super) fn with_diagonal<'f, E: Entry<'f>>(entries: &[E], n: usize) -> Vec<E> {
    let mut m = vec![entries[0].number(0.0); n * n];
    for (i, &entry) in entries.iter().enumerate() {
        m[i * n + i] = entry;
    }
    m
}

fn inverse_transpose<'f, E: Entry<'f>>(m: &[E], n: usize) -> Vec<E> {
    over(&cofactors(m, n), determinant(m, n))
}

/// Along the first column.
fn determinant<'f, E: Entry<'f>>(m: &[E], n: usize) -> E {
    dot(&m[..n], &cofactors(m, n)[..n])
}

/// Cofactors in the places of their entries: of 2 by their definition, of 3 by cross products of columns, of
/// 4 along the other column of the same half, by the minors of two rows in the columns of the other half.
fn cofactors<'f, E: Entry<'f>>(m: &[E], n: usize) -> Vec<E> {
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

/// Ten steps of Higham's iteration, as the help says them.
fn polar<'f, E: Entry<'f>>(m: &[E], n: usize) -> Vec<E> {
    let conjugates = |m: Vec<E>| -> Vec<E> { m.into_iter().map(Entry::conj).collect() };
    let parts = |m: &[E]| m.iter().flat_map(|entry| entry.parts()).collect::<Vec<Lane<'f>>>();
    let squares = |m: &[E]| dot(&parts(m), &parts(m));
    let sizes = parts(m).into_iter().map(Lane::abs);
    let largest = sizes.reduce(|a, b| a.op(Op::Max, &[b])).expect("an entry");
    let mut q: Vec<E> = m.iter().map(|entry| entry.divided(largest)).collect();
    for _ in 0..10 {
        let inverse = conjugates(inverse_transpose(&q, n));
        let g = (squares(&inverse) / squares(&q)).sqrt().sqrt();
        let half = g.number(0.5);
        let (own, other) = (g * half, half / g);
        q = q.iter().zip(&inverse).map(|(q, i)| q.scaled(own) + i.scaled(other)).collect();
    }
    let p = matrix_product(&conjugates(transposed(&q, n)), m, n);
    q.extend(p);
    q
}

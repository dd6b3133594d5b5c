//! Square matrices of two to four rows and columns, column by column.

use super::entries::{cross, divided, dot, scaled};
use super::row::Form::{self, Matrix, Scalar, Vector};
use super::row::{N, NestedFunction, nested_functions};
use crate::ir::op::Class;
use crate::trace::expr::Expr;

const M: Form = Matrix(N);

nested_functions! { $ matrix_rows;
    /// Product of matrices.
    ///
    /// >> Matrix2fC([[1, 2], [3, 4]]) * Matrix2fC([[0, 1], [1, 0]])
    /// [[[2, 1], [4, 3]]]
    "*" (M, M) -> (M), Float (Rational) = |x, n| product(&x[..n * n], &x[n * n..], n);
    /// Product of a matrix and a vector.
    ///
    /// >> Matrix2fC([[1, 2], [3, 4]]) * Vector2fC(5, 6)
    /// [[17, 39]]
    "*" (M, Vector(N)) -> (Vector(N)), Float (Rational) = |x, n| product(&x[..n * n], &x[n * n..], n);
    /// Every entry of a matrix times a number.
    ///
    /// >> Matrix2fC([[1, 2], [3, 4]]) * 2
    /// [[[2, 4], [6, 8]]]
    "*" (M, Scalar) -> (M), Float (Rational) = |x, n| scaled(&x[..n * n], x[n * n]);
    /// A number times every entry of a matrix.
    ///
    /// >> 2 * Matrix2fC([[1, 2], [3, 4]])
    /// [[[2, 4], [6, 8]]]
    "*" (Scalar, M) -> (M), Float (Rational) = |x, _| scaled(&x[1..], x[0]);
    /// Every entry of a matrix divided by a number.
    ///
    /// >> Matrix2fC([[1, 2], [3, 4]]) / 2
    /// [[[0.5, 1], [1.5, 2]]]
    "/" (M, Scalar) -> (M), Float (Rational) = |x, n| divided(&x[..n * n], x[n * n]);
    /// A number added to the diagonal of a matrix.
    ///
    /// >> Matrix2fC([[1, 2], [3, 4]]) + 1
    /// [[[2, 2], [3, 5]]]
    "+" (M, Scalar) -> (M), Float (Rational) = |x, n| on_diagonal(&x[..n * n], n, |entry| entry + x[n * n]);
    /// A number added to the diagonal of a matrix.
    ///
    /// >> 1 + Matrix2fC([[1, 2], [3, 4]])
    /// [[[2, 2], [3, 5]]]
    "+" (Scalar, M) -> (M), Float (Rational) = |x, n| on_diagonal(&x[1..], n, |entry| x[0] + entry);
    /// A number taken from the diagonal of a matrix.
    ///
    /// >> Matrix2fC([[1, 2], [3, 4]]) - 1
    /// [[[0, 2], [3, 3]]]
    "-" (M, Scalar) -> (M), Float (Rational) = |x, n| on_diagonal(&x[..n * n], n, |entry| entry - x[n * n]);
    /// A multiple of the identity less a matrix.
    ///
    /// >> 1 - Matrix2fC([[1, 2], [3, 4]])
    /// [[[0, -2], [-3, -3]]]
    "-" (Scalar, M) -> (M), Float (Rational) = |x, n| {
        let negated: Vec<Expr<'_>> = x[1..].iter().map(|&entry| -entry).collect();
        on_diagonal(&negated, n, |entry| x[0] + entry)
    };
    /// Product of two matrices entry by entry; `a * b` is the matrix product.
    ///
    /// >> mul_elem(Matrix2fC([[1, 2], [3, 4]]), Matrix2fC([[0, 1], [1, 0]]))
    /// [[[0, 2], [3, 0]]]
    mul_elem (M, M) -> (M), Float (Rational) = |x, n| (0..n * n).map(|k| x[k] * x[n * n + k]).collect();
    /// Square of a matrix: the matrix product `m * m`.
    ///
    /// >> sqr(Matrix2fC([[1, 2], [3, 4]]))
    /// [[[7, 10], [15, 22]]]
    "sqr" (M) -> (M), Float (Rational) = |x, n| product(x, x, n);
    /// Rows and columns exchanged.
    ///
    /// >> transpose(Matrix2fC([[1, 2], [3, 4]]))
    /// [[[1, 3], [2, 4]]]
    transpose (M) -> (M), Float (Rational) = transpose;
    /// Determinant, by minors.
    ///
    /// >> det(Matrix2fC([[1, 2], [3, 4]]))
    /// [-2]
    det (M) -> (Scalar), Float (Rational) = |x, n| vec![Minors::new(x, n).determinant];
    /// Determinant, by minors.
    ///
    /// >> determinant(Matrix2fC([[1, 2], [3, 4]]))
    /// [-2]
    determinant (M) -> (Scalar), Float (Rational) = |x, n| vec![Minors::new(x, n).determinant];
    /// Inverse matrix, by minors; infinities and NaN for a singular matrix.
    ///
    /// >> inverse(Matrix2fC([[1, 2], [3, 4]]))
    /// [[[-2, 1], [1.5, -0.5]]]
    inverse (M) -> (M), Float (Rational) = |x, n| transpose(&inverse_transpose(x, n), n);
    /// Reciprocal of a matrix, `inverse` by another name: `m * rcp(m)` is the identity.
    ///
    /// >> rcp(Matrix2fC([[1, 2], [3, 4]]))
    /// [[[-2, 1], [1.5, -0.5]]]
    "rcp" (M) -> (M), Float (Rational) = |x, n| transpose(&inverse_transpose(x, n), n);
    /// Transpose of the inverse matrix: it turns normals as the matrix turns points.
    ///
    /// >> inverse_transpose(Matrix2fC([[1, 2], [3, 4]]))
    /// [[[-2, 1.5], [1, -0.5]]]
    inverse_transpose (M) -> (M), Float (Rational) = inverse_transpose;
    /// Sum of the diagonal.
    ///
    /// >> trace(Matrix2fC([[1, 2], [3, 4]]))
    /// [5]
    trace (M) -> (Scalar), Float (Rational) = |x, n| {
        let diagonal = (0..n).map(|i| x[i * n + i]);
        diagonal.reduce(|sum, entry| sum + entry).into_iter().collect()
    };
    /// Sum of the squares of all entries, column by column.
    ///
    /// >> frob(Matrix2fC([[1, 2], [3, 4]]))
    /// [30]
    frob (M) -> (Scalar), Float (Parts) = |x, _| vec![dot(x, x)];
    /// The diagonal of a matrix as a vector.
    ///
    /// >> diag(Matrix2fC([[1, 2], [3, 4]]))
    /// [[1, 4]]
    diag (M) -> (Vector(N)), Float (Rational) = |x, n| (0..n).map(|i| x[i * n + i]).collect();
    /// The matrix with the components of a vector as its diagonal.
    ///
    /// >> diag(Vector2fC(1, 2))
    /// [[[1, 0], [0, 2]]]
    "diag" (Vector(N)) -> (M), Float (Rational) = diagonal;
    /// `[q, p]` with `m = q * p`: the nearest orthogonal matrix and a symmetric one, of complex entries a unitary and
    /// a Hermitian one; NaN for a singular matrix. By ten steps of Higham's iteration from `m` divided by its largest
    /// part: with the conjugate `i` of `inverse_transpose(q)` and `g = sqrt(sqrt(frob(i) / frob(q)))`,
    /// `q * (g * 0.5) + i * (0.5 / g)`; then `p` is the conjugate of `transpose(q)`, times `m`.
    ///
    /// >> polar_decomp(Matrix2fC([[0, -2], [3, 0]]))
    /// [[[[0, -1], [1, 0]]], [[[3, 0], [0, 2]]]]
    "polar_decomp" (M) -> (M, M), Float (Conjugates) = |x, n| polar(x, n);
}
pub(crate) use matrix_rows;

/// Columns of `a` combined by each column of `b`; a vector is a single column.
pub(super) fn product<'r>(a: &[Expr<'r>], b: &[Expr<'r>], n: usize) -> Vec<Expr<'r>> {
    let row = |i: usize| (0..n).map(move |k| a[k * n + i]).collect::<Vec<_>>();
    b.chunks(n).flat_map(|column| (0..n).map(move |i| dot(&row(i), column))).collect()
}

pub(super) fn transpose<'r>(x: &[Expr<'r>], n: usize) -> Vec<Expr<'r>> {
    (0..n * n).map(|k| x[k % n * n + k / n]).collect()
}

pub(super) fn diagonal<'r>(x: &[Expr<'r>], n: usize) -> Vec<Expr<'r>> {
    let zero = x[0].constant(0);
    (0..n * n).map(|k| if k / n == k % n { x[k / n] } else { zero }).collect()
}

fn on_diagonal<'r>(
    x: &[Expr<'r>],
    n: usize,
    change: impl Fn(Expr<'r>) -> Expr<'r>,
) -> Vec<Expr<'r>> {
    x.iter()
        .enumerate()
        .map(|(k, &entry)| if k / n == k % n { change(entry) } else { entry })
        .collect()
}

fn inverse_transpose<'r>(x: &[Expr<'r>], n: usize) -> Vec<Expr<'r>> {
    let minors = Minors::new(x, n);
    divided(&minors.cofactors, minors.determinant)
}

/// Cofactors, in the places of their entries, and the determinant.
pub(super) struct Minors<'r> {
    cofactors: Vec<Expr<'r>>,
    pub(super) determinant: Expr<'r>,
}

impl<'r> Minors<'r> {
    pub(super) fn new(x: &[Expr<'r>], n: usize) -> Self {
        let column = |j: usize| &x[j * n..(j + 1) * n];
        let cofactors = match n {
            1 => vec![x[0].constant(1)],
            2 => vec![x[3], -x[2], -x[1], x[0]],
            3 => [(1, 2), (2, 0), (0, 1)]
                .iter()
                .flat_map(|&(a, b)| cross(column(a), column(b)))
                .collect(),
            _ => cofactors_of_four(x),
        };
        let determinant = dot(column(0), &cofactors[..n]);
        Self { cofactors, determinant }
    }
}

/// By the determinants of two rows in the first two columns and in the last two: 12 of them serve all 16
/// cofactors.
fn cofactors_of_four<'r>(x: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let pair = |column: usize, i: usize, j: usize| {
        let (a, b) = (&x[column * 4..], &x[(column + 1) * 4..]);
        a[i] * b[j] - a[j] * b[i]
    };
    // The rows that remain without row i, in order.
    let others = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]];
    let mut cofactors = Vec::with_capacity(16);
    for j in 0..4 {
        // The other column of the same half, and the half whose pairs are used.
        let (partner, half) = (j ^ 1, if j < 2 { 2 } else { 0 });
        for (i, rows) in others.iter().enumerate() {
            let [a, b, c] = *rows;
            let entry = |row: usize| x[partner * 4 + row];
            let minor = entry(a) * pair(half, b, c) - entry(b) * pair(half, a, c)
                + entry(c) * pair(half, a, b);
            cofactors.push(if (i + j) % 2 == 0 { minor } else { -minor });
        }
    }
    cofactors
}

pub(super) fn polar<'r>(x: &[Expr<'r>], n: usize) -> Vec<Expr<'r>> {
    let half = x[0].constant(0.5);
    let mut q = divided(x, largest(x));
    for _ in 0..10 {
        let inverse = inverse_transpose(&q, n);
        let gamma = balance(&inverse, &q);
        let (own, other) = (gamma * half, half / gamma);
        q = q.iter().zip(&inverse).map(|(&q, &inverse)| q * own + inverse * other).collect();
    }
    let p = product(&transpose(&q, n), x, n);
    q.extend(p);
    q
}

/// The factor of `q` in Higham's iteration that brings it and its inverse to one size, from their parts: the square
/// root of the quotient of their Frobenius norms.
pub(super) fn balance<'r>(inverse: &[Expr<'r>], q: &[Expr<'r>]) -> Expr<'r> {
    (dot(inverse, inverse) / dot(q, q)).sqrt().sqrt()
}

/// The largest absolute value: what is divided by it has minors that neither overflow nor vanish.
pub(super) fn largest<'r>(parts: &[Expr<'r>]) -> Expr<'r> {
    let sizes = parts.iter().map(|part| part.abs());
    sizes.reduce(Expr::max).expect("internal error: a matrix without entries")
}

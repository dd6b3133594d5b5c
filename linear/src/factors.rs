//! Factors of one matrix, and what is made of them.

use std::ops::Mul;

use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;

use super::elimination::Rows;
use super::{Entry, Failure, Function, LARGE, Matrix, exponent};

/// P, L and U, by the same steps as faer's; where a pivot is 0 its column is done already, as LAPACK has it.
pub(super) fn lu<T: Entry>(matrix: &Mat<T>) -> Vec<Matrix> {
    let (m, n) = (matrix.nrows(), matrix.ncols());
    let lu = matrix.partial_piv_lu();
    let is_zero = |i: usize| lu.U()[(i, i)].length() == 0.0;
    let (order, l, u) = if (0..m.min(n)).any(is_zero) {
        eliminated(matrix)
    } else {
        (lu.P().arrays().0.to_vec(), lu.L().to_owned(), lu.U().to_owned())
    };
    let one = |is_one: bool| T::of(f64::from(u8::from(is_one)), 0.0);
    let p = Mat::from_fn(m, m, |i, j| one(order[j] == i));
    [p, l, u].iter().map(|factor| Matrix::of(factor.as_ref())).collect()
}

/// The rows in the order of their pivots, and both triangles.
fn eliminated<T: Entry>(matrix: &Mat<T>) -> (Vec<usize>, Mat<T>, Mat<T>) {
    let (m, n) = (matrix.nrows(), matrix.ncols());
    let (side, mut order) = (m.min(n), (0..m).collect::<Vec<_>>());
    let mut rest = Rows::new([m, n], |i, j| matrix[(i, j)]);
    for k in 0..side {
        if let Some(from) = rest.eliminate(k) {
            order.swap(k, from);
        }
    }
    let zero = T::of(0.0, 0.0);
    let lower = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Greater => rest.at(i, j),
        std::cmp::Ordering::Equal => T::of(1.0, 0.0),
        std::cmp::Ordering::Less => zero,
    };
    let upper = |i: usize, j: usize| if i <= j { rest.at(i, j) } else { zero };
    (order, Mat::from_fn(m, side, lower), Mat::from_fn(side, n, upper))
}

/// The sign of the permutation, and the pivots.
pub(super) fn pivots<T: Entry>(matrix: &Mat<T>) -> (f64, Vec<T>) {
    let lu = matrix.partial_piv_lu();
    let n = matrix.nrows();
    let mut seen = vec![false; n];
    let forward = lu.P().arrays().0;
    let mut sign = 1.0;
    for start in 0..n {
        let (mut i, mut length) = (start, 0);
        while !seen[i] {
            seen[i] = true;
            i = forward[i];
            length += 1;
        }
        if length > 0 && length % 2 == 0 {
            sign = -sign;
        }
    }
    let u = lu.U();
    let mut pivots: Vec<T> = (0..n).map(|i| u[(i, i)]).collect();
    // What comes behind a pivot of 0 is divided by it.
    if let Some(first) = pivots.iter().position(|pivot| pivot.length() == 0.0) {
        pivots.truncate(first + 1);
    }
    (sign, pivots)
}

/// Q and R, whose diagonal is real.
pub(super) fn qr<T: Entry>(matrix: &Mat<T>) -> [Mat<T>; 2] {
    let qr = matrix.qr();
    let (mut q, mut r) = (qr.compute_thin_Q(), qr.thin_R().to_owned());
    for i in 0..q.ncols() {
        let entry = r[(i, i)];
        let length = entry.real().signum() * entry.length();
        let Some(imag) = entry.imag().filter(|_| length != 0.0) else { continue };
        let [real, imag] = [entry.real() / length, imag / length];
        for row in 0..q.nrows() {
            q[(row, i)] *= T::of(real, imag);
        }
        for column in i + 1..r.ncols() {
            r[(i, column)] *= T::of(real, -imag);
        }
        r[(i, i)] = T::of(length, 0.0);
    }
    [q, r]
}

/// The determinant, or its sign and the logarithm of its absolute value, of the sign of a permutation and pivots.
pub(super) fn of_pivots<T: Entry>(
    function: Function,
    (sign, pivots): (f64, Vec<T>),
) -> Vec<Matrix> {
    if function == Function::Determinant {
        return vec![Matrix::number(product(sign, pivots))];
    }
    let (mut sign, mut log) = (T::of(sign, 0.0), 0.0);
    for pivot in pivots {
        let length = pivot.length();
        log += length.ln();
        sign = if length == 0.0 {
            T::of(0.0, 0.0)
        } else {
            sign * T::of(pivot.real() / length, pivot.imag().unwrap_or(0.0) / length)
        };
    }
    vec![Matrix::number(sign), Matrix::row(vec![log])]
}

fn determinant<T: Entry>(matrix: &Mat<T>) -> T {
    let (sign, pivots) = pivots(matrix);
    product(sign, pivots)
}

fn product<T: Entry>(sign: f64, pivots: Vec<T>) -> T {
    pivots.into_iter().fold(T::of(sign, 0.0), Mul::mul)
}

/// Pivots whose shortest is longer than this part of the longest are divided by.
const PIVOTS: f64 = 1e-6;

/// The determinant times the inverse, transposed; of matrices that have none, or nearly, by singular values, of whose
/// products each leaves one out.
pub(super) fn cofactors<T: Entry>(matrix: &Mat<T>) -> Result<Mat<T>, Failure> {
    let n = matrix.nrows();
    let each = |entry: f64| Mat::from_fn(n, n, |_, _| T::of(entry, 0.0));
    if n == 1 {
        return Ok(each(1.0));
    }
    if !Matrix::of(matrix.as_ref()).is_finite() {
        return Ok(each(f64::NAN));
    }
    let (sign, pivots) = pivots(matrix);
    let lengths = || pivots.iter().map(|pivot| pivot.length());
    let (longest, shortest) = (lengths().fold(0.0, f64::max), lengths().fold(f64::MAX, f64::min));
    if shortest > PIVOTS * longest {
        let (inverse, det) = (matrix.partial_piv_lu().inverse(), product(sign, pivots));
        return Ok(Mat::from_fn(n, n, |i, j| inverse[(j, i)] * det));
    }
    let ([u, v], s) = svd(matrix)?;
    let vh = v.adjoint().to_owned();
    let factor = determinant(&u) * determinant(&vh);
    let others = |i: usize| (0..n).filter(|&j| j != i).map(|j| s[j]).product::<f64>();
    let scaled = Mat::from_fn(n, n, |i, j| v[(i, j)] * T::of(others(j), 0.0) * factor);
    let adjugate = scaled * u.adjoint();
    Ok(adjugate.transpose().to_owned())
}

pub(super) fn svd<T: Entry>(matrix: &Mat<T>) -> Result<([Mat<T>; 2], Vec<f64>), Failure> {
    let svd = matrix.thin_svd().map_err(|_| Failure::NoConvergence)?;
    let s = svd.S().column_vector().iter().map(|value| value.real()).collect();
    Ok(([svd.U().to_owned(), svd.V().to_owned()], s))
}

/// U, s and Vᴴ of what [`svd`] gave.
pub(super) fn in_order<T: Entry>(([u, v], s): ([Mat<T>; 2], Vec<f64>)) -> [Matrix; 3] {
    let right = v.adjoint().to_owned();
    [Matrix::of(u.as_ref()), Matrix::row(s), Matrix::of(right.as_ref())]
}

/// The largest singular value by the smallest; infinite of zeros alone, too.
pub(super) fn condition(values: &[f64]) -> Matrix {
    let (largest, smallest) = (values[0], values[values.len() - 1]);
    Matrix::row(vec![if smallest == 0.0 { f64::INFINITY } else { largest / smallest }])
}

/// X of a triangle, in the place of its right side.
///
/// # Errors
/// `Singular` if there is a 0 on the diagonal.
pub(super) fn triangle_solved<T: Entry>(
    function: Function,
    triangle: &Mat<T>,
    x: &mut Mat<T>,
) -> Result<(), Failure> {
    let diagonal = || (0..triangle.nrows()).map(|i| triangle[(i, i)].length());
    if diagonal().any(|length| length == 0.0) {
        return Err(Failure::Singular);
    }
    let is_lower = function == Function::SolveLower;
    // faer multiplies by reciprocals, which need room.
    if !diagonal().all(|length| (-LARGE..=LARGE).contains(&exponent(length))) {
        substitute(is_lower, triangle, x);
    } else if is_lower {
        triangle.solve_lower_triangular_in_place(x);
    } else {
        triangle.solve_upper_triangular_in_place(x);
    }
    Ok(())
}

/// Divides by the diagonal, row after row.
fn substitute<T: Entry>(is_lower: bool, triangle: &Mat<T>, x: &mut Mat<T>) {
    let n = triangle.nrows();
    for step in 0..n {
        let i = if is_lower { step } else { n - 1 - step };
        let rest = if is_lower { i + 1..n } else { 0..i };
        for j in 0..x.ncols() {
            let known = x[(i, j)].over(triangle[(i, i)]);
            x[(i, j)] = known;
            for row in rest.clone() {
                x[(row, j)] -= triangle[(row, i)] * known;
            }
        }
    }
}

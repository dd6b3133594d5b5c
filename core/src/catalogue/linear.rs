//! Linear algebra and Fourier transforms of tensors: libraries on the host do them, when they are called.

use super::tensors::number_or_tensor;
use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::linear::Function;
use crate::linear::fourier::Transform;
use crate::tensor::{Tensor, Triangle};
use crate::value::Value;

/// What functions of several results give.
type Tensors = Vec<Tensor>;

table! {
    /// Solutions, factors, eigenvalues.
    pub LINEAR;
    /// X of a @ X = b, by partial pivoting; b is a vector, or a matrix of columns. The axes before the last two are many
    /// matrices. On the host in double precision, rounded once to the float that both types give, of halves and integers
    /// to f32 (64-bit ones: f64): evaluates. A singular matrix is an error.
    ///
    /// >> solve(TensorXdC([[2, 1], [1, 3]]), Float64C([3, 5]))
    /// [0.8, 1.4]
    solve(a: Tensor, b: Tensor) -> Tensor = |c| c.tensor(0)?.solved(c.op, Function::Solve, &c.tensor(1)?);
    /// X of a @ X = b of a triangle, as solve, without factors: the upper one of a, or with lower true the lower one; what
    /// stands on the other side is not read. With transposed true of a.T @ X = b, and with unit_diagonal true the diagonal
    /// counts as 1, whatever stands there. Gradients are those of the triangle alone.
    ///
    /// >> solve_triangular(TensorXdC([[2, 0], [1, 4]]), Float64C([2, 9]), true)
    /// [1, 2]
    /// >> solve_triangular(TensorXdC([[2, 0], [1, 4]]), Float64C([4, 8]), true, true)
    /// [1, 2]
    solve_triangular(
        a: Tensor, b: Tensor;
        lower: Bool("as lower"), transposed: Bool("as transposed"), unit_diagonal: Bool("as unit_diagonal")
    ) = |c| {
        let triangle =
            Triangle { is_lower: c.truth(2)?, is_turned: c.truth(3)?, has_ones: c.truth(4)? };
        c.tensor(0)?.triangle_solved(c.op, triangle, &c.tensor(1)?)
    };
    /// X of l @ l.H @ X = b: that of a @ X = b where l is cholesky(a), which is found once for many b. With lower false of
    /// u.H @ u, u an upper triangle.
    ///
    /// >> cho_solve(cholesky(TensorXdC([[4, 2], [2, 5]])), Float64C([8, 12]))
    /// [1, 2]
    cho_solve(l: Tensor, b: Tensor; lower: Bool("as lower")) = |c| {
        let (l, is_lower) = (c.tensor(0)?, c.args.len() < 3 || c.truth(2)?);
        let l = if is_lower { l } else { l.matrix_transpose()?.conjugate()? };
        let lower = Triangle { is_lower: true, is_turned: false, has_ones: false };
        let half = l.triangle_solved(c.op, lower, &c.tensor(1)?)?;
        l.conjugate()?.triangle_solved(c.op, Triangle { is_turned: true, ..lower }, &half)
    };
    /// The inverse of a square matrix, or of many, as solve. solve(a, b) is more accurate than inv(a) @ b.
    ///
    /// >> inv(TensorXdC([[2, 0], [0, 4]]))
    /// [[ 0.5,    0],
    ///  [   0, 0.25]]
    inv(a: Tensor) -> Tensor = |c| first(c, Function::Inverse);
    /// The determinant of a square matrix, or of many, as solve.
    ///
    /// >> det(TensorXdC([[1, 2], [3, 4]]))
    /// [-2]
    det(a: Tensor) -> Tensor = |c| first(c, Function::Determinant);
    /// Sign of the determinant, and logarithm of its absolute value, which overflow does not reach: a list of two.
    ///
    /// >> let [sign, log] = slogdet(TensorXdC([[0, 2], [2, 0]])); print(sign); print(log)
    /// [-1]
    /// [1.38629]
    slogdet(a: Tensor) -> Tensors = |c| all(c, Function::SignAndLog);
    /// [p, l, u] of a = p @ l @ u: a permutation, a lower and an upper triangle, by partial pivoting. Evaluates, as solve.
    ///
    /// >> let [p, l, u] = lu(TensorXdC([[1, 2], [4, 4]])); p @ l @ u
    /// [[1, 2],
    ///  [4, 4]]
    lu(a: Tensor) -> Tensors = |c| all(c, Function::Lu);
    /// l of a = l @ l.H, a lower triangle; a is symmetric or Hermitian, and positive definite. Its lower half is read;
    /// gradients are shared by both halves, as of a symmetric matrix. Evaluates, as solve.
    ///
    /// >> cholesky(TensorXdC([[4, 2], [2, 5]]))
    /// [[2, 0],
    ///  [1, 2]]
    cholesky(a: Tensor) -> Tensor = |c| first(c, Function::Cholesky);
    /// [q, r] of a = q @ r: orthonormal columns and an upper triangle, with as many rows as the shorter side of a.
    /// Evaluates, as solve.
    ///
    /// >> let [q, r] = qr(TensorXdC([[3, 1], [4, 2]])); q @ r
    /// [[3, 1],
    ///  [4, 2]]
    qr(a: Tensor) -> Tensors = |c| all(c, Function::Qr);
    /// [u, s, vh] of a = u @ diag(s) @ vh: orthonormal columns, the singular values, largest first, orthonormal rows; as many
    /// as the shorter side of a (NumPy's full_matrices=False). Evaluates, as solve.
    ///
    /// >> svd(TensorXdC([[3, 0], [0, -4]]))[1]
    /// [4, 3]
    svd(a: Tensor) -> Tensors = |c| all(c, Function::Svd);
    /// The singular values of a matrix, largest first. Evaluates, as solve.
    ///
    /// >> singular_values(TensorXdC([[3, 0], [0, -4]]))
    /// [4, 3]
    singular_values(a: Tensor) -> Tensor = |c| first(c, Function::SingularValues);
    /// [w, v] of a symmetric or Hermitian matrix: its eigenvalues, smallest first, and the eigenvectors as columns. The lower
    /// half is read; gradients are shared by both halves, as of a symmetric matrix. Evaluates, as solve.
    ///
    /// >> eigh(TensorXdC([[2, 1], [1, 2]]))[0]
    /// [1, 3]
    eigh(a: Tensor) -> Tensors = |c| all(c, Function::EigenSymmetric);
    /// The eigenvalues of a symmetric or Hermitian matrix, smallest first. Evaluates, as solve.
    ///
    /// >> eigvalsh(TensorXdC([[2, 1], [1, 2]]))
    /// [1, 3]
    eigvalsh(a: Tensor) -> Tensor = |c| first(c, Function::EigenvaluesSymmetric);
    /// [w, v] of any square matrix: its complex eigenvalues, and the eigenvectors of length 1 as columns. Evaluates, as
    /// solve.
    ///
    /// >> let [w, v] = eig(TensorXdC([[0, -1], [1, 0]])); sort(w.imag)
    /// [-1,  1]
    eig(a: Tensor) -> Tensors = |c| all(c, Function::Eigen);
    /// The complex eigenvalues of any square matrix. Evaluates, as solve.
    ///
    /// >> sort(eigvals(TensorXdC([[0, 1], [-2, -3]])).real)
    /// [-2, -1]
    eigvals(a: Tensor) -> Tensor = |c| first(c, Function::Eigen);
    /// x of the least sum of squares of a @ x - b, of several the shortest, by singular values: those up to the longer side
    /// times the precision of the type times the largest count as 0. Evaluates, as solve.
    ///
    /// >> lstsq(TensorXdC([[1, 0], [1, 1], [1, 2]]), Float64C([1, 3, 5]))
    /// [1, 2]
    lstsq(a: Tensor, b: Tensor) -> Tensor = |c| c.tensor(0)?.solved(c.op, Function::LeastSquares, &c.tensor(1)?);
    /// The inverse of what is not 0 in a matrix of any shape (Moore's and Penrose's), by singular values, as lstsq.
    ///
    /// >> pinv(TensorXdC([[2, 0], [0, 0]]))
    /// [[0.5,   0],
    ///  [  0,   0]]
    pinv(a: Tensor) -> Tensor = |c| first(c, Function::PseudoInverse);
    /// How many singular values of a matrix are not 0, as lstsq counts. Evaluates.
    ///
    /// >> matrix_rank(TensorXdC([[1, 2], [2, 4]]))
    /// [1]
    matrix_rank(a: Tensor) -> Tensor = |c| first(c, Function::Rank);
    /// The condition number of a matrix: the largest singular value by the smallest; inf of one without full rank. Evaluates.
    ///
    /// >> cond(TensorXdC([[4, 0], [0, 0.5]]))
    /// [8]
    cond(a: Tensor) -> Tensor = |c| {
        let tensor = c.tensor(0)?;
        if tensor.shape().extents().iter().rev().take(2).any(|&extent| extent == 0) {
            return Err(c.unexpected(0, "a matrix with entries"));
        }
        first(c, Function::Condition)
    };
    /// The exponential of a square matrix, or of many: the sum of its powers, each divided by its factorial, by squares of
    /// Padé's approximation of degree 13. In double precision, rounded once as solve: an error is about 3e-14 of the
    /// largest entry at most where columns of a have sums of absolute values up to 100. What overflows is infinite, or NaN.
    /// Evaluates.
    ///
    /// >> expm(TensorXdC([[0, 1], [0, 0]]))
    /// [[1, 1],
    ///  [0, 1]]
    expm(a: Tensor) -> Tensor = |c| first(c, Function::Exponential);
    /// The coefficients of the polynomial of a degree with the least sum of squares at the points (x, y), the highest power
    /// first, as polyval takes them; of fewer points than coefficients the least ones, the powers taken as of one length. In
    /// double precision. Evaluates.
    ///
    /// >> polyfit(Float64C([0, 1, 2, 3]), Float64C([1, 3, 7, 13]), 2)
    /// [1, 1, 1]
    polyfit(x: Tensor, y: Tensor, degree: Count("a degree")) = |c| polyfit(c);
    /// The complex roots of the polynomial with these coefficients, the highest power first, in no particular order: the
    /// eigenvalues of its companion matrix. Evaluates.
    ///
    /// >> sort(roots(Float64C([1, -3, 2])).real)
    /// [1, 2]
    roots(p: Tensor) -> Tensor = |c| roots(c);
}

table! {
    /// Fourier transforms.
    pub FOURIER;
    /// The Fourier transform along an axis (the last unless given): of entry k the sum of entry j times exp(-2 pi i j k / n).
    /// With n the first n entries, or zeros behind them. On the host, in the precision of the type: evaluates.
    ///
    /// >> fft(FloatC([1, 0, 0, 0]))
    /// [1 + 0i, 1 + 0i, 1 + 0i, 1 + 0i]
    /// >> fft(TensorXfC([[1, 2], [3, 5]]), all, 0).real
    /// [[ 4,  7],
    ///  [-2, -3]]
    fft(x: Tensor; n: Count("a length"), axis: Integer) = |c| along(c, Transform::Forward);
    /// The inverse of fft, divided by n.
    ///
    /// >> ifft(fft(FloatC([1, 2, 4]))).real
    /// [1, 2, 4]
    ifft(x: Tensor; n: Count("a length"), axis: Integer) = |c| along(c, Transform::Inverse);
    /// The first n / 2 + 1 entries of fft of real entries; the others are their conjugates.
    ///
    /// >> rfft(FloatC([1, 0, 0, 0]))
    /// [1 + 0i, 1 - 0i, 1 + 0i]
    rfft(x: Tensor; n: Count("a length"), axis: Integer) = |c| along(c, Transform::Real);
    /// The n real entries whose rfft this is, an even number unless n is given.
    ///
    /// >> irfft(rfft(FloatC([1, 2, 4])), 3)
    /// [1, 2, 4]
    irfft(x: Tensor; n: Count("a length"), axis: Integer) = |c| along(c, Transform::RealInverse);
    /// fft along the last two axes.
    ///
    /// >> fft2(TensorXfC([[1, 0], [0, 0]]))
    /// [[1 + 0i, 1 + 0i],
    ///  [1 + 0i, 1 + 0i]]
    fft2(x: Tensor) -> Tensor = |c| over(c, c.tensor(0)?, Transform::Forward, &[-2, -1]);
    /// The inverse of fft2.
    ///
    /// >> ifft2(fft2(TensorXfC([[1, 2], [3, 4]]))).real
    /// [[1, 2],
    ///  [3, 4]]
    ifft2(x: Tensor) -> Tensor = |c| over(c, c.tensor(0)?, Transform::Inverse, &[-2, -1]);
    /// fft along axes, or all.
    ///
    /// >> fftn(TensorXfC([[1, 0], [0, 0]]), 0)
    /// [[1 + 0i, 0 + 0i],
    ///  [1 + 0i, 0 + 0i]]
    fftn(x: Tensor; axes: Axes) = |c| over(c, c.tensor(0)?, Transform::Forward, &chosen(c)?);
    /// The inverse of fftn.
    ///
    /// >> ifftn(fftn(TensorXfC([[1, 2], [3, 4]]))).real
    /// [[1, 2],
    ///  [3, 4]]
    ifftn(x: Tensor; axes: Axes) = |c| over(c, c.tensor(0)?, Transform::Inverse, &chosen(c)?);
    /// The first half of fft2 of real entries: rfft along the last axis, then fft along the one before.
    ///
    /// >> rfft2(TensorXfC([[1, 2, 3], [4, 5, 6]])).shape
    /// [2, 2]
    rfft2(x: Tensor) -> Tensor = |c| of_real(c, &[-2, -1]);
    /// The real entries whose rfft2 this is, an even number along the last axis unless n is given.
    ///
    /// >> irfft2(rfft2(TensorXfC([[1, 2, 3], [4, 5, 6]])), 3)
    /// [[1, 2, 3],
    ///  [4, 5, 6]]
    irfft2(x: Tensor; n: Count("a length")) = |c| to_real(c, &[-2, -1], 1);
    /// The first half of fftn of real entries along axes, or all: rfft along the last of them, then fft along the others.
    ///
    /// >> rfftn(TensorXfC([[1, 2, 3], [4, 5, 6]]), 1)
    /// [[          6 + 0i, -1.5 + 0.866025i],
    ///  [         15 + 0i, -1.5 + 0.866025i]]
    rfftn(x: Tensor; axes: Axes) = |c| of_real(c, &in_turn(c)?);
    /// The real entries whose rfftn this is, an even number along the last of the axes unless n is given.
    ///
    /// >> irfftn(rfftn(TensorXfC([[1, 2], [3, 4]])))
    /// [[1, 2],
    ///  [3, 4]]
    irfftn(x: Tensor; axes: Axes, n: Count("a length")) = |c| to_real(c, &in_turn(c)?, 2);
    /// The entries with that of number 0 in the middle, along axes, or all.
    ///
    /// >> fftshift(FloatC([0, 1, 2, -2, -1]))
    /// [-2, -1,  0,  1,  2]
    fftshift(x: Tensor; axes: Axes) = |c| shifted(c, false);
    /// The inverse of fftshift.
    ///
    /// >> ifftshift(FloatC([-2, -1, 0, 1, 2]))
    /// [ 0,  1,  2, -2, -1]
    ifftshift(x: Tensor; axes: Axes) = |c| shifted(c, true);
}

/// The one result of a function of matrices.
fn first(c: &Call<'_, '_>, function: Function) -> Result<Value> {
    number_or_tensor(c.tensor(0)?.linear(c.op, function)?.swap_remove(0))
}

/// The results of a function of matrices as a list.
fn all(c: &Call<'_, '_>, function: Function) -> Result<Vec<Value>> {
    c.tensor(0)?.linear(c.op, function)?.into_iter().map(number_or_tensor).collect()
}

fn polyfit(c: &Call<'_, '_>) -> Result<Value> {
    let (x, y, degree): (Tensor, Tensor, u32) = (c.tensor(0)?, c.tensor(1)?, c.integer(2)?);
    if x.shape().rank() != 1 || y.shape() != x.shape() {
        let what = format!("{}: got the shapes {} and {}", c.op, x.shape(), y.shape());
        let remedy = Some("x and y are arrays of one length, a point for each lane");
        return Err(Error::Forms {
            what: format!("{what}, expected one axis, as long in both"),
            remedy,
        });
    }
    if x.shape().n_entries() == 0 {
        let what = "got no points, expected at least one".into();
        return Err(Error::Argument { op: c.op, what });
    }
    let own = x.dtype().quotient().widened();
    let powers = x.vandermonde(c.op, degree)?;
    let y = y.each(|part| part.cast(powers.dtype()))?;
    // Powers of one length: where points are too few, the coefficients of these are the least ones, as NumPy has it.
    let length = lengths(&powers)?;
    let powers = Tensor::elementwise(Op::Div, &[&powers, &length])?;
    let fitted = powers.solved(c.op, Function::LeastSquares, &y)?;
    let fitted = Tensor::elementwise(Op::Div, &[&fitted, &length])?;
    fitted.each(|part| part.cast(own))?.lanes()
}

/// The lengths of the columns of a matrix; 1 of zeros.
fn lengths(of: &Tensor) -> Result<Tensor> {
    let squares = of.times(of)?.reduce(ReduceOp::Sum, Some(&[0]), false)?;
    squares.each(|sum| sum.eq(0)?.select(1, sum)?.sqrt())
}

/// Zeros of the polynomial: one for each coefficient that is 0 at the end, and the eigenvalues of what is between.
fn roots(c: &Call<'_, '_>) -> Result<Value> {
    let given = c.tensor(0)?;
    let own = given.dtype().quotient().widened();
    let p = given.each(|part| part.cast(DType::F64))?;
    let &[n] = p.shape().extents() else {
        return Err(c.unexpected(0, "an array of coefficients"));
    };
    let parts = p.entries()?.iter().map(Array::to_vec::<f64>).collect::<Result<Vec<_>>>()?;
    if let Some(other) = parts.iter().flatten().find(|number| !number.is_finite()) {
        let what = format!("got {other} among the coefficients, expected finite ones");
        return Err(Error::Argument { op: c.op, what });
    }
    let is_zero = |i: &i64| parts.iter().all(|part| part[exactly::<usize>(*i)] == 0.0);
    let n = exactly::<i64>(n);
    let first = (0..n).find(|i| !is_zero(i)).unwrap_or(n);
    let behind = (0..n).rev().find(|i| !is_zero(i)).map_or(first, |last| last + 1);
    let n_zeros = exactly::<u64>(n - behind);
    let zeros = Tensor::new(&c.session.zeros(own, n_zeros)?, &[n_zeros])?.to_complex()?;
    if behind - first < 2 {
        return zeros.lanes();
    }
    let highest = Value::from(p.slice(0, first..first + 1)?);
    let others = Value::from(p.slice(0, first + 1..behind)?);
    let Value::Tensor(row) = others.try_div(&highest)?.try_mul(-1.0)? else {
        return Err(c.unexpected(0, "an array of coefficients"));
    };
    let n_ones = exactly::<u64>(behind - first - 2);
    let ones = Tensor::new(&c.session.full(DType::F64, 1, n_ones)?, &[n_ones])?;
    let companion = Tensor::concat(&[row.expand(0)?, ones.diag(-1)?.slice(0, 1..)?], 0)?;
    let found = companion.linear(c.op, Function::Eigen)?.swap_remove(0);
    Tensor::concat(&[found.each(|part| part.cast(own))?, zeros], 0)?.lanes()
}

/// A transform along the axis that is given behind a length, or the last.
fn along(c: &Call<'_, '_>, kind: Transform) -> Result<Tensor> {
    c.tensor(0)?.transformed(c.op, kind, c.axis(2, -1)?, length(c, 1)?)
}

/// How many entries a transform has, unless as many as there are.
fn length(c: &Call<'_, '_>, i: usize) -> Result<Option<u64>> {
    c.given(i).map(|_| c.integer(i)).transpose()
}

/// A transform along axes, one after the other.
fn over(c: &Call<'_, '_>, x: Tensor, kind: Transform, axes: &[i64]) -> Result<Tensor> {
    axes.iter().try_fold(x, |x, &axis| x.transformed(c.op, kind, axis, None))
}

/// The half of a transform of real entries: along the last of the axes, then whole ones along the others.
fn of_real(c: &Call<'_, '_>, axes: &[i64]) -> Result<Tensor> {
    let (&last, others) = axes.split_last().ok_or_else(|| no_axis(c))?;
    let half = c.tensor(0)?.transformed(c.op, Transform::Real, last, None)?;
    over(c, half, Transform::Forward, others)
}

/// The way back from [`of_real`], to as many entries along the last axis as the argument `n` says.
fn to_real(c: &Call<'_, '_>, axes: &[i64], n: usize) -> Result<Tensor> {
    let (&last, others) = axes.split_last().ok_or_else(|| no_axis(c))?;
    let n = length(c, n)?;
    let half = over(c, c.tensor(0)?, Transform::Inverse, others)?;
    half.transformed(c.op, Transform::RealInverse, last, n)
}

fn no_axis(c: &Call<'_, '_>) -> Error {
    let what = "got no axis, expected one or several".into();
    Error::Argument { op: c.op, what }
}

/// The axes in the order in which they are given, or all.
fn in_turn(c: &Call<'_, '_>) -> Result<Vec<i64>> {
    let all = chosen(c)?;
    Ok(c.axes(1)?.unwrap_or(all))
}

/// The axes that are given, or all.
fn chosen(c: &Call<'_, '_>) -> Result<Vec<i64>> {
    let axes = c.axes(1)?;
    let axes = c.tensor(0)?.shape().axes(c.op, axes.as_deref())?;
    Ok(axes.into_iter().map(exactly).collect())
}

fn shifted(c: &Call<'_, '_>, back: bool) -> Result<Tensor> {
    let roll = |x: Tensor, &axis: &i64| {
        let n = x.shape().extents()[x.shape().axis(c.op, axis)?].cast_signed();
        x.roll(if back { n - n / 2 } else { n / 2 }, axis)
    };
    chosen(c)?.iter().try_fold(c.tensor(0)?, roll)
}

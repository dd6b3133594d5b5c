//! Linear algebra of one matrix on the host, through faer: in double precision, by one thread, so that the bits of a matrix
//! depend on the machine alone. Fourier transforms of rows are in [`fourier`].
//!
//! A package of its own, because what others wrote for all types is compiled for ours here, once.

mod elimination;
mod factors;
pub mod fourier;

use std::ops::{Add, Div, Mul, Sub};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use faer::linalg::solvers::{DenseSolveCore, Eigen, EvdError, Solve};
use faer::traits::ComplexField;
use faer::{Mat, MatRef, Par, Side, c64};

use factors::{cofactors, condition, in_order, lu, of_pivots, pivots, qr, svd, triangle_solved};

/// A function of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// X of A X = B.
    Solve,
    /// X of L X = B; what stands above the diagonal of L is not read.
    SolveLower,
    /// X of U X = B; what stands below the diagonal of U is not read.
    SolveUpper,
    /// The inverse.
    Inverse,
    /// The determinant.
    Determinant,
    /// Sign of the determinant, and logarithm of its absolute value.
    SignAndLog,
    /// P, L and U of A = P L U, by partial pivoting.
    Lu,
    /// L of A = L Lᴴ, of which the lower half is read.
    Cholesky,
    /// Q and R of A = Q R, reduced.
    Qr,
    /// U, s and Vᴴ of A = U diag(s) Vᴴ, reduced; s descends.
    Svd,
    /// s alone.
    SingularValues,
    /// Eigenvalues, ascending, and eigenvectors as columns, of a symmetric or Hermitian matrix, of which the lower half is
    /// read.
    EigenSymmetric,
    /// The eigenvalues alone.
    EigenvaluesSymmetric,
    /// Complex eigenvalues, and eigenvectors of length 1 as columns.
    Eigen,
    /// X of the least sum of squares of A X - B; of several the shortest.
    LeastSquares,
    /// The inverse of what is not 0, by singular values.
    PseudoInverse,
    /// How many singular values are not 0.
    Rank,
    /// The largest singular value by the smallest.
    Condition,
    /// U, s and Vᴴ, and the condition number: that of what is differentiated, whose slopes are made of the others.
    ConditionOfFactors,
    /// The sum of the powers, each divided by its factorial.
    Exponential,
    /// The slopes of the determinant by the entries.
    Cofactors,
}

impl Function {
    /// Whether it is one of square matrices.
    pub const fn needs_square(self) -> bool {
        !matches!(
            self,
            Self::Lu
                | Self::Qr
                | Self::Svd
                | Self::SingularValues
                | Self::LeastSquares
                | Self::PseudoInverse
                | Self::Rank
                | Self::Condition
                | Self::ConditionOfFactors
        )
    }

    /// Whether it is one of Hermitian matrices, of which the lower half is read.
    const fn is_hermitian(self) -> bool {
        matches!(self, Self::Cholesky | Self::EigenSymmetric | Self::EigenvaluesSymmetric)
    }

    /// Which result changes if the matrix is multiplied by a square, and as which power of its root.
    const fn scale(self) -> Option<(usize, i32)> {
        Some(match self {
            Self::Solve | Self::LeastSquares | Self::Inverse | Self::PseudoInverse => (0, -2),
            Self::Lu => (2, 2),
            Self::Qr | Self::Svd | Self::ConditionOfFactors => (1, 2),
            Self::Cholesky => (0, 1),
            Self::SingularValues
            | Self::EigenSymmetric
            | Self::EigenvaluesSymmetric
            | Self::Eigen => (0, 2),
            Self::SolveLower
            | Self::SolveUpper
            | Self::Determinant
            | Self::SignAndLog
            | Self::Rank
            | Self::Condition
            | Self::Exponential
            | Self::Cofactors => return None,
        })
    }

    /// The results for a matrix of so many rows and columns, and a right side of so many columns.
    pub fn results(self, [m, n]: [u64; 2], width: u64, is_complex: bool) -> Vec<Outline> {
        let side = m.min(n);
        let outline = |extents: &[u64], is_complex: bool, entries: Entries| Outline {
            extents: extents.to_vec(),
            is_complex,
            entries,
        };
        let alike = |extents: &[u64]| outline(extents, is_complex, Entries::Zeros);
        let real = |extents: &[u64]| outline(extents, false, Entries::Zeros);
        let complex = |extents: &[u64]| outline(extents, true, Entries::Zeros);
        let one = outline(&[], is_complex, Entries::Ones);
        match self {
            Self::Solve | Self::SolveLower | Self::SolveUpper | Self::LeastSquares => {
                vec![alike(&[n, width])]
            }
            Self::Inverse | Self::PseudoInverse => vec![alike(&[n, m])],
            Self::Determinant => vec![one],
            Self::SignAndLog => vec![one, real(&[])],
            Self::Lu => {
                let order = outline(&[m, m], is_complex, Entries::Identity);
                vec![order, alike(&[m, side]), alike(&[side, n])]
            }
            Self::Cholesky | Self::Exponential | Self::Cofactors => vec![alike(&[n, n])],
            Self::Qr => vec![alike(&[m, side]), alike(&[side, n])],
            Self::Svd => vec![alike(&[m, side]), real(&[side]), alike(&[side, n])],
            Self::ConditionOfFactors => {
                vec![alike(&[m, side]), real(&[side]), alike(&[side, n]), real(&[])]
            }
            Self::SingularValues | Self::EigenvaluesSymmetric => vec![real(&[side])],
            Self::EigenSymmetric => vec![real(&[n]), alike(&[n, n])],
            Self::Eigen => vec![complex(&[n]), complex(&[n, n])],
            Self::Rank | Self::Condition => vec![real(&[])],
        }
    }
}

/// One result of a function, known before it is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its extents.
    pub extents: Vec<u64>,
    /// Whether it has imaginary parts.
    pub is_complex: bool,
    /// Its entries where the matrix has none.
    pub entries: Entries,
}

/// The entries of a result of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// All are 0.
    Zeros,
    /// All are 1.
    Ones,
    /// Those of the diagonal are 1.
    Identity,
}

/// Does a piece of work n times, on so many threads as the system gives of these, each a run of neighbours; nothing is left of it where it is stopped.
/// Of several errors that of the first piece is told.
///
/// # Errors
/// Those of `work`.
///
/// # Panics
/// As `work`.
pub fn in_pieces<R: Send, E: Send>(
    n: usize,
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Option<Vec<R>>, E> {
    let run = &|range: std::ops::Range<usize>| {
        let one = |k| (!stop.load(Ordering::Relaxed)).then(|| work(k)).transpose();
        range.map(one).collect::<Result<Option<Vec<R>>, E>>()
    };
    let length = n.div_ceil(threads.max(1)).max(1);
    if length >= n {
        return run(0..n);
    }
    thread::scope(|scope| {
        let start = |start| {
            let range = start..n.min(start + length);
            let beside = range.clone();
            let thread = thread::Builder::new().spawn_scoped(scope, move || run(beside));
            thread.map_err(|_| range)
        };
        let threads: Vec<_> = (0..n).step_by(length).map(start).collect();
        let mut all = Some(Vec::with_capacity(n));
        for thread in threads {
            // What the system refuses a thread is done here.
            match thread.map_or_else(|range| Ok(run(range)), thread::ScopedJoinHandle::join) {
                Ok(Ok(Some(part))) => {
                    all = all.map(|mut all| {
                        all.extend(part);
                        all
                    });
                }
                Ok(Ok(None)) => all = None,
                Ok(Err(error)) => return Err(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

/// Entries row by row: real parts, and imaginary ones of complex matrices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// How many rows.
    pub rows: usize,
    /// Entries of a row.
    pub columns: usize,
    /// Real parts.
    pub real: Vec<f64>,
    /// Imaginary parts, unless it is real.
    pub imag: Option<Vec<f64>>,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// A pivot is exactly 0.
    Singular,
    /// The first leading rows and columns that are not positive definite, so many.
    NotPositiveDefinite(usize),
    /// NaN or infinity among the entries.
    NotFinite,
    /// An iteration found no end.
    NoConvergence,
}

/// Binary exponents of the largest entry beyond which a matrix is scaled to there: squares of entries within have room.
const LARGE: i32 = 400;
/// Of eigenvectors, the largest distance of A V from V diag(w) by the length of A.
const RESIDUAL: f64 = 1e-10;

/// A function of `a`, which has entries, and, where it takes two, of a right side; singular values count as 0 up to the largest times
/// `precision` times the longer side.
///
/// # Errors
/// Why it has no result.
pub fn run(
    function: Function,
    a: &Matrix,
    b: Option<&Matrix>,
    precision: f64,
) -> Result<Vec<Matrix>, Failure> {
    let largest = a.exponent();
    // No farther than that: small entries may count where large ones do not, and are not to be lost.
    let beyond = largest - largest.clamp(-LARGE, LARGE);
    // The product of pivots overflows where the determinant does; an exponential scales by itself; each row of a triangle
    // has what it is divided by.
    let is_scaled = !matches!(
        function,
        Function::Determinant
            | Function::SignAndLog
            | Function::Exponential
            | Function::Cofactors
            | Function::SolveLower
            | Function::SolveUpper
    );
    if beyond != 0 && is_scaled {
        // Even, so that it has a root.
        let exponent = beyond / 2 * 2;
        let mut results = run_near_one(function, &a.scaled(-exponent), b, precision)?;
        if let Some((i, power)) = function.scale() {
            results[i] = results[i].scaled(exponent / 2 * power);
        }
        return Ok(results);
    }
    run_near_one(function, a, b, precision)
}

/// The same for entries whose squares have room.
fn run_near_one(
    function: Function,
    a: &Matrix,
    b: Option<&Matrix>,
    precision: f64,
) -> Result<Vec<Matrix>, Failure> {
    let is_complex = a.imag.is_some() || b.is_some_and(|b| b.imag.is_some());
    if is_complex {
        return of_type::<c64>(function, a, b, precision);
    }
    let results = of_type::<f64>(function, a, b, precision)?;
    // The real iteration finds no eigenvectors of some matrices that have too few of them; the complex one does.
    if function == Function::Eigen && !a.has_eigenvectors(&results[0], &results[1]) {
        return of_type::<c64>(function, &a.clone().complex(), b, precision);
    }
    Ok(results)
}

/// The binary exponent of a length; 0 of 0 and NaN.
fn exponent(length: f64) -> i32 {
    if length == 0.0 {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "exponents are from -1074 to 1023")]
    let exponent = length.log2().floor() as i32;
    exponent
}

trait Entry:
    ComplexField<Real = f64>
    + Copy
    + Add<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Sub<Output = Self>
{
    fn of(real: f64, imag: f64) -> Self;
    fn real(self) -> f64;
    fn imag(self) -> Option<f64>;
    fn length(self) -> f64;
    /// The quotient, also where squares of the divisor have no room.
    fn over(self, by: Self) -> Self;
    fn eigen(matrix: MatRef<'_, Self>) -> Result<Eigen<f64>, EvdError>;
}

impl Entry for f64 {
    fn of(real: f64, _: f64) -> Self {
        real
    }
    fn real(self) -> f64 {
        self
    }
    fn imag(self) -> Option<f64> {
        None
    }
    fn length(self) -> f64 {
        self.abs()
    }
    fn over(self, by: Self) -> Self {
        self / by
    }
    fn eigen(matrix: MatRef<'_, Self>) -> Result<Eigen<f64>, EvdError> {
        Eigen::new_from_real(matrix)
    }
}

impl Entry for c64 {
    fn of(real: f64, imag: f64) -> Self {
        Self::new(real, imag)
    }
    fn real(self) -> f64 {
        self.re
    }
    fn imag(self) -> Option<f64> {
        Some(self.im)
    }
    fn length(self) -> f64 {
        self.re.hypot(self.im)
    }
    fn over(self, by: Self) -> Self {
        let length = by.length();
        let unit = Self::new(by.re / length, -by.im / length);
        Self::new(self.re / length, self.im / length) * unit
    }
    fn eigen(matrix: MatRef<'_, Self>) -> Result<Eigen<f64>, EvdError> {
        Eigen::new(matrix)
    }
}

impl Matrix {
    fn at<T: Entry>(&self, i: usize, j: usize) -> T {
        let place = i * self.columns + j;
        T::of(self.real[place], self.imag.as_ref().map_or(0.0, |imag| imag[place]))
    }

    fn faer<T: Entry>(&self) -> Mat<T> {
        Mat::from_fn(self.rows, self.columns, |i, j| self.at(i, j))
    }

    fn of<T: Entry>(matrix: MatRef<'_, T>) -> Self {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        let entries = || (0..rows).flat_map(move |i| (0..columns).map(move |j| matrix[(i, j)]));
        let imag: Vec<f64> = entries().filter_map(Entry::imag).collect();
        let imag = (T::of(0.0, 0.0).imag().is_some()).then_some(imag);
        Self { rows, columns, real: entries().map(Entry::real).collect(), imag }
    }

    /// Real numbers in one row.
    fn row(real: Vec<f64>) -> Self {
        Self { rows: 1, columns: real.len(), real, imag: None }
    }

    fn number<T: Entry>(number: T) -> Self {
        let imag = number.imag().map(|imag| vec![imag]);
        Self { rows: 1, columns: 1, real: vec![number.real()], imag }
    }

    /// With imaginary parts of 0.
    fn complex(self) -> Self {
        Self { imag: Some(vec![0.0; self.real.len()]), ..self }
    }

    /// The binary exponent of the largest finite entry, 0 if there is none.
    fn exponent(&self) -> i32 {
        let entries = self.real.iter().chain(self.imag.iter().flatten());
        let largest = entries.map(|entry| entry.abs()).filter(|entry| entry.is_finite());
        exponent(largest.fold(0.0, f64::max))
    }

    /// Times a power of two, in two steps, so that the power itself has room.
    fn scaled(&self, exponent: i32) -> Self {
        let half = exponent / 2;
        let factors = [half, exponent - half].map(|exponent| 2.0_f64.powi(exponent));
        let scale = |plane: &Vec<f64>| plane.iter().map(|x| x * factors[0] * factors[1]).collect();
        Self { real: scale(&self.real), imag: self.imag.as_ref().map(scale), ..*self }
    }

    /// Whether complex columns are what the matrix stretches by complex values.
    fn has_eigenvectors(&self, values: &Self, vectors: &Self) -> bool {
        let [a, w, v]: [Mat<c64>; 3] = [self.faer(), values.faer(), vectors.faer()];
        let product = &a * &v;
        let distance = |i, j| product[(i, j)] - w[(0, j)] * v[(i, j)];
        // False of NaN.
        Mat::from_fn(self.rows, self.rows, distance).norm_l2() <= RESIDUAL * a.norm_l2()
    }

    fn is_finite(&self) -> bool {
        let mut all = self.real.iter().chain(self.imag.iter().flatten());
        all.all(|entry| entry.is_finite())
    }
}

fn of_type<T: Entry>(
    function: Function,
    a: &Matrix,
    b: Option<&Matrix>,
    precision: f64,
) -> Result<Vec<Matrix>, Failure> {
    // Unless told, faer takes as many threads as there are, and the bits depend on them.
    faer::set_global_parallelism(Par::Seq);
    // Iterations find no end, and reflections make finite numbers of infinity; what comes of pivots shows them.
    let needs_finite = !matches!(
        function,
        Function::Solve
            | Function::SolveLower
            | Function::SolveUpper
            | Function::Inverse
            | Function::Determinant
            | Function::SignAndLog
            | Function::Lu
            | Function::Cofactors
    );
    if needs_finite && !a.is_finite() {
        return Err(Failure::NotFinite);
    }
    let (m, n) = (a.rows, a.columns);
    let is_small = m == n && n <= elimination::MOST_ROWS;
    match function {
        Function::Solve | Function::Inverse if is_small => {
            return Ok(vec![elimination::solve::<T>(a, b)?]);
        }
        Function::Determinant | Function::SignAndLog if is_small => {
            return Ok(of_pivots(function, elimination::pivots::<T>(a)));
        }
        _ => {}
    }
    let mut matrix: Mat<T> = a.faer();
    if function.is_hermitian() {
        // Its diagonal is real; faer would count what else stands there, LAPACK does not.
        for i in 0..n {
            matrix[(i, i)] = T::of(matrix[(i, i)].real(), 0.0);
        }
    }
    let cut = |values: &[f64]| {
        let longer = f64::from(u32::try_from(m.max(n)).unwrap_or(u32::MAX));
        values.iter().copied().fold(0.0, f64::max) * precision * longer
    };
    Ok(match function {
        Function::Solve | Function::Inverse => {
            let lu = matrix.partial_piv_lu();
            let u = lu.U();
            if (0..n).any(|i| u[(i, i)].length() == 0.0) {
                return Err(Failure::Singular);
            }
            let solution = match b {
                Some(b) => lu.solve(b.faer::<T>()),
                None => lu.inverse(),
            };
            vec![Matrix::of(solution.as_ref())]
        }
        Function::SolveLower | Function::SolveUpper => {
            let mut x: Mat<T> = b.map_or_else(|| Mat::identity(n, n), Matrix::faer);
            triangle_solved(function, &matrix, &mut x)?;
            vec![Matrix::of(x.as_ref())]
        }
        Function::Determinant | Function::SignAndLog => of_pivots(function, pivots(&matrix)),
        Function::Lu => lu(&matrix),
        Function::Cholesky => {
            let is_definite = |k: usize| matrix.submatrix(0, 0, k, k).llt(Side::Lower).is_ok();
            match matrix.llt(Side::Lower) {
                Ok(cholesky) => vec![Matrix::of(cholesky.L())],
                Err(_) => {
                    let (mut good, mut bad) = (0, n);
                    while good + 1 < bad {
                        let middle = good.midpoint(bad);
                        if is_definite(middle) { good = middle } else { bad = middle }
                    }
                    return Err(Failure::NotPositiveDefinite(bad));
                }
            }
        }
        Function::Qr => qr(&matrix).map(|factor| Matrix::of(factor.as_ref())).into(),
        Function::Cofactors => vec![Matrix::of(cofactors(&matrix)?.as_ref())],
        Function::Svd => in_order(svd(&matrix)?).into(),
        Function::ConditionOfFactors => {
            let found = svd(&matrix)?;
            let condition = condition(&found.1);
            in_order(found).into_iter().chain([condition]).collect()
        }
        Function::SingularValues => {
            vec![Matrix::row(matrix.singular_values().map_err(|_| Failure::NoConvergence)?)]
        }
        Function::Rank => {
            let values = matrix.singular_values().map_err(|_| Failure::NoConvergence)?;
            let cut = cut(&values);
            let rank = values.iter().filter(|&&value| value > cut).count();
            vec![Matrix::row(vec![f64::from(u32::try_from(rank).unwrap_or(u32::MAX))])]
        }
        Function::Condition => {
            let values = matrix.singular_values().map_err(|_| Failure::NoConvergence)?;
            vec![condition(&values)]
        }
        Function::Exponential => vec![Matrix::of(exponential(&matrix).as_ref())],
        Function::PseudoInverse | Function::LeastSquares => {
            let ([u, v], s) = svd(&matrix)?;
            let cut = cut(&s);
            // A row of the second for each singular value.
            let second = match b {
                Some(b) => u.adjoint() * b.faer::<T>(),
                None => u.adjoint().to_owned(),
            };
            let scaled = Mat::from_fn(second.nrows(), second.ncols(), |i, j| {
                let factor = if s[i] > cut { 1.0 / s[i] } else { 0.0 };
                second[(i, j)] * T::of(factor, 0.0)
            });
            vec![Matrix::of((v * scaled).as_ref())]
        }
        Function::EigenSymmetric => {
            let eigen =
                matrix.self_adjoint_eigen(Side::Lower).map_err(|_| Failure::NoConvergence)?;
            let values = eigen.S().column_vector();
            vec![
                Matrix::row(values.iter().map(|value| value.real()).collect()),
                Matrix::of(eigen.U()),
            ]
        }
        Function::EigenvaluesSymmetric => {
            let values = matrix.self_adjoint_eigenvalues(Side::Lower);
            vec![Matrix::row(values.map_err(|_| Failure::NoConvergence)?)]
        }
        Function::Eigen => {
            let eigen = T::eigen(matrix.as_ref()).map_err(|_| Failure::NoConvergence)?;
            let values = eigen.S().column_vector();
            let mut row = Matrix::of(values.as_mat());
            (row.rows, row.columns) = (1, n);
            let vectors = eigen.U();
            let lengths: Vec<f64> = (0..n).map(|j| vectors.col(j).norm_l2()).collect();
            let vectors = Mat::from_fn(n, n, |i, j| vectors[(i, j)] / lengths[j]);
            vec![row, Matrix::of(vectors.as_ref())]
        }
    })
}

/// Coefficients of the numerator of Padé's approximation of exp with two polynomials of degree 13.
const PADE: [f64; 14] = [
    64_764_752_532_480_000.0,
    32_382_376_266_240_000.0,
    7_771_770_303_897_600.0,
    1_187_353_796_428_800.0,
    129_060_195_264_000.0,
    10_559_470_521_600.0,
    670_442_572_800.0,
    33_522_128_640.0,
    1_323_241_920.0,
    40_840_800.0,
    960_960.0,
    16_380.0,
    182.0,
    1.0,
];

/// The largest length of a matrix, its columns' largest sum, for which it is exact to double precision.
const PADE_RANGE: f64 = 5.371_920_351_148_152;

/// By Padé's approximation of a part of the matrix, 1 / 2ˢ, squared s times: Higham, The Scaling and Squaring Method for the
/// Matrix Exponential Revisited (2005).
fn exponential<T: Entry>(matrix: &Mat<T>) -> Mat<T> {
    let n = matrix.nrows();
    let part = |s: i32| 0.5_f64.powi(s);
    let length = |s: i32| {
        let column = |j: usize| (0..n).map(|i| matrix[(i, j)].length() * part(s)).sum();
        (0..n).map(column).fold(0.0, f64::max)
    };
    let most = 1074;
    let steps = (0..most).find(|&s| length(s) <= PADE_RANGE).unwrap_or(most);
    let a = Mat::from_fn(n, n, |i, j| matrix[(i, j)] * T::of(part(steps), 0.0));
    let square = &a * &a;
    let fourth = &square * &square;
    let sixth = &fourth * &square;
    let sum = |[one, two, four, six]: [f64; 4]| {
        let number = |number: f64| T::of(number, 0.0);
        Mat::from_fn(n, n, |i, j| {
            let powers = sixth[(i, j)] * number(six)
                + fourth[(i, j)] * number(four)
                + square[(i, j)] * number(two);
            if i == j { powers + number(one) } else { powers }
        })
    };
    // Of the powers from the first one, with a step of two.
    let half = |first: usize| {
        let c = |i: usize| PADE[first + 2 * i];
        &sixth * &sum([0.0, c(4), c(5), c(6)]) + sum([c(0), c(1), c(2), c(3)])
    };
    let (odd, even) = (&a * &half(1), half(0));
    let quotient = (&even - &odd).partial_piv_lu().solve(&even + &odd);
    (0..steps).fold(quotient, |power, _| &power * &power)
}

//! Carlson's symmetric integrals by duplication, with a fixed number of steps.
//!
//! B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numer. Algorithms 10
//! (1995); the series are those of DLMF 19.36.1 and 19.36.2. Every step is a sum of positive terms.

use super::dual::Term;

/// `R_F(x, y, z)` and, with the same steps, another integral.
pub(super) struct Pair<T> {
    pub(super) first: T,
    /// `R_D(x, z, y)` of [`with_rd`], `R_J(x, y, z, p)` of [`with_rj`].
    pub(super) other: T,
}

/// Each step divides the distances by 4; that many bring the series of order 7 below half an ulp,
/// arguments down to the square of an ulp included.
fn n_steps(x: impl Term) -> i32 {
    if x.is_single() { 6 } else { 9 }
}

/// Duplications of the R_C in each step of [`with_rj`].
const RC_STEPS: [i32; 9] = [9, 8, 6, 5, 4, 3, 2, 1, 0];

/// `R_F(x, y, z)`.
pub(super) fn rf<T: Term>(x: T, y: T, z: T) -> T {
    let mut at = [x, y, z];
    for _ in 0..n_steps(x) {
        at = duplicated(at, &roots(at));
    }
    rf_series(at)
}

/// `R_F(x, y, z)` and `R_D(x, z, y)`: the second argument is the one apart.
pub(super) fn with_rd<T: Term>(x: T, y: T, z: T) -> Pair<T> {
    let (mut at, mut sum) = ([x, y, z], x.constant(0.0));
    let steps = n_steps(x);
    for step in 0..steps {
        let roots = roots(at);
        let next = duplicated(at, &roots);
        // y + λ is four times the next y.
        let term = x.constant(3.0 / 4.0 * 0.25_f64.powi(step)) / (roots[1] * next[1]);
        (at, sum) = (next, sum + term);
    }
    let [x, y, z] = at;
    let series = rj_series([x, z, y], y, 0.25_f64.powi(steps));
    Pair { first: rf_series(at), other: sum + series }
}

/// `R_F(x, y, z)` and `R_J(x, y, z, p)`, p > 0.
pub(super) fn with_rj<T: Term>(x: T, y: T, z: T, p: T) -> Pair<T> {
    let (mut at, mut p, mut sum) = ([x, y, z], p, x.constant(0.0));
    let steps = n_steps(x);
    for (index, step) in (0..steps).enumerate() {
        let roots = roots(at);
        let root = p.sqrt();
        let [a, b, c] = roots.map(|other| root + other);
        let (d, sum_p) = (a * b * c, p + lambda(&roots));
        // Carlson's 1 + e, here without his difference.
        let rc = rc((root + root) * sum_p / d, RC_STEPS[index]);
        sum = sum + x.constant(6.0 * 0.25_f64.powi(step)) / d * rc;
        (at, p) = (duplicated(at, &roots), quarter(sum_p));
    }
    Pair { first: rf_series(at), other: sum + rj_series(at, p, 0.25_f64.powi(steps)) }
}

/// `R_C(1, y)`, by `steps` duplications: `arctan √(y − 1) / √(y − 1)` for y > 1.
pub(super) fn rc<T: Term>(y: T, steps: i32) -> T {
    let (mut x, mut y) = (y.constant(1.0), y);
    for _ in 0..steps {
        let root = (x * y).sqrt();
        let lambda = root + root + y;
        (x, y) = (quarter(x + lambda), quarter(y + lambda));
    }
    let mean = (x + y + y) / x.constant(3.0);
    let s = (y - mean) / mean;
    let series = polynomial(s, &[9.0 / 8.0, 159.0 / 208.0, 9.0 / 22.0, 3.0 / 8.0, 1.0 / 7.0, 0.3]);
    (series * s).fma(s, s.constant(1.0)) / mean.sqrt()
}

fn roots<T: Term>(at: [T; 3]) -> [T; 3] {
    at.map(T::sqrt)
}

fn lambda<T: Term>([a, b, c]: &[T; 3]) -> T {
    a.fma(*b, *c * (*a + *b))
}

fn quarter<T: Term>(x: T) -> T {
    x * x.constant(0.25)
}

fn duplicated<T: Term>(at: [T; 3], roots: &[T; 3]) -> [T; 3] {
    let lambda = lambda(roots);
    at.map(|x| quarter(x + lambda))
}

/// A polynomial, the highest coefficient first.
fn polynomial<T: Term>(x: T, coefficients: &[f64]) -> T {
    let mut terms = coefficients.iter().map(|&c| x.constant(c));
    let highest = terms.next().expect("internal error: a polynomial without coefficients");
    terms.fold(highest, |sum, term| sum.fma(x, term))
}

/// The series of R_F for nearly equal arguments.
fn rf_series<T: Term>(at: [T; 3]) -> T {
    let [x, y, z] = at;
    let mean = (x + y + z) / x.constant(3.0);
    let [x, y] = [x, y].map(|x| (mean - x) / mean);
    let z = -(x + y);
    let e2 = x * y - z * z;
    let e3 = x * y * z;
    let c = |number: f64| x.constant(number);
    let without = polynomial(e2, &[-5.0 / 208.0, 1.0 / 24.0, -0.1]) * e2;
    let with = polynomial(e2, &[1.0 / 16.0, -3.0 / 44.0, 1.0 / 14.0]) + e3 * c(3.0 / 104.0);
    (with.fma(e3, without) + c(1.0)) / mean.sqrt()
}

/// `scale` times the series of R_J for nearly equal arguments; of R_D if p is one of them.
fn rj_series<T: Term>([x, y, z]: [T; 3], p: T, scale: f64) -> T {
    let mean = (x + y + z + p + p) / x.constant(5.0);
    let [x, y, z] = [x, y, z].map(|x| (mean - x) / mean);
    let p = (x + y + z) * x.constant(-0.5);
    let c = |number: f64| x.constant(number);
    let (product, square) = (x * y * z, p * p);
    let e2 = x * y + z * (x + y) - square * c(3.0);
    let e3 = product + (e2 + square * c(2.0)) * p * c(2.0);
    let e4 = (product * c(2.0) + (e2 + square * c(3.0)) * p) * p;
    let e5 = product * square;
    let powers = polynomial(e2, &[-1.0 / 16.0, 9.0 / 88.0, -3.0 / 14.0]) * e2;
    let thirds =
        (polynomial(e2, &[45.0 / 272.0, -9.0 / 52.0, 1.0 / 6.0]) + e3 * c(3.0 / 40.0)) * e3;
    let fourths = (e2 * c(0.15) - e3 * c(9.0 / 68.0) - c(3.0 / 22.0)) * e4;
    let fifths = (c(3.0 / 26.0) - e2 * c(9.0 / 68.0)) * e5;
    let series = powers + thirds + fourths + fifths + c(1.0);
    c(scale) / (mean * mean.sqrt()) * series
}

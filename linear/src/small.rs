//! Square matrices of a few rows: elimination in one piece of memory, where a library takes longer to begin than to end.

use super::{Entry, Failure, Matrix};

/// Most rows of a small matrix.
pub(super) const MOST_ROWS: usize = 8;

/// Rows of a matrix, each with its row of the right side behind it.
struct Rows<T> {
    n: usize,
    length: usize,
    entries: Vec<T>,
}

/// X of A X = B, B the identity where there is none, by Gaussian elimination with partial pivoting.
///
/// # Errors
/// `Singular` if a pivot is 0.
pub(super) fn solve<T: Entry>(a: &Matrix, b: Option<&Matrix>) -> Result<Matrix, Failure> {
    let (n, width) = (a.rows, b.map_or(a.rows, |b| b.columns));
    let one = |is_one: bool| T::of(f64::from(u8::from(is_one)), 0.0);
    let mut rows = Rows::new(a, width, |i, j| b.map_or_else(|| one(i == j), |b| b.at(i, j)));
    for k in 0..n {
        rows.eliminate(k).ok_or(Failure::Singular)?;
    }
    for k in (0..n).rev() {
        let pivot = rows.entries[k * rows.length + k];
        let (above, row) = rows.entries.split_at_mut(k * rows.length);
        row[n..rows.length].iter_mut().for_each(|x| *x = x.over(pivot));
        for upper in above.chunks_exact_mut(rows.length) {
            let factor = upper[k];
            for (x, &known) in upper[n..].iter_mut().zip(&row[n..rows.length]) {
                *x -= factor * known;
            }
        }
    }
    let solution = || rows.entries.chunks_exact(rows.length).flat_map(|row| &row[n..]).copied();
    let is_complex = T::of(0.0, 0.0).imag().is_some();
    let imag = is_complex.then(|| solution().filter_map(T::imag).collect());
    Ok(Matrix { rows: n, columns: width, real: solution().map(T::real).collect(), imag })
}

/// The sign of the permutation, and the pivots up to the first 0.
pub(super) fn pivots<T: Entry>(a: &Matrix) -> (f64, Vec<T>) {
    let mut rows = Rows::new(a, 0, |_, _| T::of(0.0, 0.0));
    let (mut sign, mut pivots) = (1.0, Vec::with_capacity(a.rows));
    for k in 0..a.rows {
        let Some((pivot, is_swapped)) = rows.eliminate(k) else {
            pivots.push(T::of(0.0, 0.0));
            break;
        };
        pivots.push(pivot);
        sign = if is_swapped { -sign } else { sign };
    }
    (sign, pivots)
}

impl<T: Entry> Rows<T> {
    fn new(a: &Matrix, width: usize, right: impl Fn(usize, usize) -> T) -> Self {
        let (n, length) = (a.rows, a.rows + width);
        let mut entries = Vec::with_capacity(n * length);
        for i in 0..n {
            entries.extend((0..n).map(|j| a.at::<T>(i, j)));
            entries.extend((0..width).map(|j| right(i, j)));
        }
        Self { n, length, entries }
    }

    /// Brings the longest entry of a column at or below the diagonal to it, and subtracts its row from those below. The
    /// pivot, and whether rows were swapped; `None` if it is 0.
    fn eliminate(&mut self, k: usize) -> Option<(T, bool)> {
        // NaN, of any sign, is the longest: it shows in what it meets.
        let length = |i: usize| self.entries[i * self.length + k].length().abs();
        let (mut pivot, mut longest) = (k, length(k));
        for (i, length) in (k + 1..self.n).map(|i| (i, length(i))) {
            if length.total_cmp(&longest).is_gt() {
                (pivot, longest) = (i, length);
            }
        }
        if longest == 0.0 {
            return None;
        }
        let (upper, below) = self.entries.split_at_mut((k + 1) * self.length);
        let row = &mut upper[k * self.length..];
        if pivot != k {
            row.swap_with_slice(&mut below[(pivot - k - 1) * self.length..][..self.length]);
        }
        for other in below.chunks_exact_mut(self.length) {
            let factor = other[k].over(row[k]);
            for (x, &known) in other[k + 1..].iter_mut().zip(&row[k + 1..]) {
                *x -= factor * known;
            }
        }
        Some((row[k], pivot != k))
    }
}

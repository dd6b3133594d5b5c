//! Gaussian elimination with partial pivoting in one piece of memory: of square matrices of a few rows, where a library
//! takes longer to begin than to end, and of those whose pivots a library divides by though they are 0.

use super::{Entry, Failure, Matrix};

/// Most rows of a small matrix.
pub(super) const MOST_ROWS: usize = 8;

/// Rows of a matrix, each with its row of the right side behind it.
pub(super) struct Rows<T> {
    /// Entries of a row, and of the right side.
    length: usize,
    entries: Vec<T>,
}

/// X of A X = B, B the identity where there is none.
///
/// # Errors
/// `Singular` if a pivot is 0.
pub(super) fn solve<T: Entry>(a: &Matrix, b: Option<&Matrix>) -> Result<Matrix, Failure> {
    let (n, width) = (a.rows, b.map_or(a.rows, |b| b.columns));
    let one = |is_one: bool| T::of(f64::from(u8::from(is_one)), 0.0);
    let right = |i, j| b.map_or_else(|| one(i == j), |b| b.at(i, j));
    let entry = |i, j| if j < n { a.at(i, j) } else { right(i, j - n) };
    let mut rows = Rows::new([n, n + width], entry);
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
    let mut rows = Rows::new([a.rows, a.rows], |i, j| a.at(i, j));
    let (mut sign, mut pivots) = (1.0, Vec::with_capacity(a.rows));
    for k in 0..a.rows {
        let Some(from) = rows.eliminate(k) else {
            pivots.push(T::of(0.0, 0.0));
            break;
        };
        pivots.push(rows.at(k, k));
        sign = if from == k { sign } else { -sign };
    }
    (sign, pivots)
}

impl<T: Entry> Rows<T> {
    pub(super) fn new([n, length]: [usize; 2], entry: impl Fn(usize, usize) -> T) -> Self {
        let row = |i| (0..length).map(move |j| (i, j));
        Self { length, entries: (0..n).flat_map(row).map(|(i, j)| entry(i, j)).collect() }
    }

    pub(super) fn at(&self, i: usize, j: usize) -> T {
        self.entries[i * self.length + j]
    }

    /// Brings the longest entry of a column at or below the diagonal to it, and subtracts its row from those below, where
    /// its factors stay. The row that it came from; `None` if it is 0, and the column done.
    pub(super) fn eliminate(&mut self, k: usize) -> Option<usize> {
        // NaN, of any sign, is the longest: it shows in what it meets.
        let length = |i: usize| self.at(i, k).length().abs();
        let (mut from, mut longest) = (k, length(k));
        for (i, length) in (k + 1..self.entries.len() / self.length).map(|i| (i, length(i))) {
            if length.total_cmp(&longest).is_gt() {
                (from, longest) = (i, length);
            }
        }
        if longest == 0.0 {
            return None;
        }
        let (upper, below) = self.entries.split_at_mut((k + 1) * self.length);
        let row = &mut upper[k * self.length..];
        if from != k {
            row.swap_with_slice(&mut below[(from - k - 1) * self.length..][..self.length]);
        }
        for other in below.chunks_exact_mut(self.length) {
            let factor = other[k].over(row[k]);
            other[k] = factor;
            for (x, &known) in other[k + 1..].iter_mut().zip(&row[k + 1..]) {
                *x -= factor * known;
            }
        }
        Some(from)
    }
}

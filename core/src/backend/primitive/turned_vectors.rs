//! Matrices turned with AVX-512: as many rows as a vector has lanes are turned in registers.
//!
//! A line of memory that is written past the caches is written as a whole, and rows of the result begin anywhere in
//! a line. So what a register holds of a row is joined with what the one before held of it, and goes out line by line;
//! only at the ends of rows are parts of lines written.
#![expect(unsafe_code, reason = "instructions that not every processor has, lanes by pointer")]
#![expect(clippy::multiple_unsafe_ops_per_block, reason = "every operation on vectors is one")]

use std::arch::x86_64::_mm_sfence;

use super::lanes::Lanes;
use super::pieces::Workers;
use super::vectors::{Vector, VectorKey, Vectors};
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::primitive::Turned;

/// Columns of a matrix that a task turns: what it holds of them fits a second cache.
const WIDTH: usize = 1024;
/// Lanes of a task.
const TASK: usize = 1 << 19;
/// Bytes of a matrix from which on it pays that the result is written past the caches, and its least rows and columns: smaller
/// ones, and those of few, are faster tile by tile (1000 x 1000 0.43 ms instead of 0.83, 4000 x 4000 14 instead of 10).
const LARGE: usize = 32 << 20;
const LONG: usize = 1024;

/// Whether this is the faster way.
pub(super) fn pays(Turned { rows, columns }: Turned, bytes: usize) -> bool {
    let [rows, columns] = [rows, columns].map(exactly::<usize>);
    rows * columns * bytes >= LARGE && rows.min(columns) >= LONG
}

/// Matrices one behind the other, of words of 4 or 8 bytes: `N` of them are a vector.
///
/// # Errors
/// `Interrupted`.
pub(super) fn turn<K: VectorKey + Send + 'static, const N: usize>(
    workers: &Workers<'_>,
    _: Vectors,
    Turned { rows, columns }: Turned,
    x: Lanes<K>,
    result: Lanes<K>,
) -> Result<()> {
    let [rows, columns] = [rows, columns].map(exactly::<usize>);
    let width = columns.min(WIDTH);
    let height = (TASK / width).next_multiple_of(N).min(rows);
    let (across, down) = (columns.div_ceil(width), rows.div_ceil(height));
    let n_parts = x.len() / (rows * columns) * across * down;
    let held = workers.scratch::<K>(workers.pool.threads() * width * N)?;
    let places = held.places(width * N);
    let turn = move |part: usize, held: Lanes<K>| {
        let (matrix, part) = (part / (across * down) * rows * columns, part % (across * down));
        let (row, column) = (part % down * height, part / down * width);
        let from = x.range(matrix, rows * columns).pointer(row * columns + column);
        let to = result.range(matrix, rows * columns).pointer(column * rows + row);
        let (height, width) = (height.min(rows - row), width.min(columns - column));
        let part = Part { from: from.cast_const(), columns, to, rows, height, width };
        // SAFETY: AVX-512 is there, the lanes of the part are in both arrays, and a vector is held for each column.
        unsafe { part.stream::<N>(held.pointer(0)) }
    };
    workers.tasks(n_parts, true, move |part, goes_on| {
        if goes_on() {
            places.with(|_, held| turn(part, held));
        }
    })
}

/// Some rows and columns of a matrix, and where they go.
struct Part<K> {
    from: *const K,
    /// Lanes from a row to the next.
    columns: usize,
    to: *mut K,
    /// Lanes from a row of the result to the next.
    rows: usize,
    height: usize,
    width: usize,
}

impl<K: VectorKey> Part<K> {
    /// Writes line by line past the caches; `held` is room for a vector for each column.
    ///
    /// # Safety
    /// Needs AVX-512, and the lanes of the part in both arrays.
    #[target_feature(enable = "avx512f")]
    unsafe fn stream<const N: usize>(&self, held: *mut K) {
        for i in (0..self.height).step_by(N) {
            let n = N.min(self.height - i);
            for j in (0..self.width).step_by(N) {
                // SAFETY: passed on to the caller; lines and parts of them are within the part.
                unsafe {
                    let turned = self.block::<N>(i, j);
                    for (k, &row) in turned[..N.min(self.width - j)].iter().enumerate() {
                        let to = self.to.add((j + k) * self.rows);
                        // Lanes of a line before the row begins, and of this vector in the line in which it begins.
                        let ahead = to.addr() / size_of::<K>() % N;
                        let in_line = n.min(N - ahead);
                        let held = held.add((j + k) * N);
                        if ahead == 0 && n == N {
                            row.stream(to.add(i));
                        } else if i == 0 {
                            row.store_first(to, in_line);
                        } else if ahead + in_line == N {
                            K::Vector::load(held).join(row, ahead).stream(to.add(i - ahead));
                        } else {
                            row.store_first(to.add(i), in_line);
                            K::Vector::load(held)
                                .join(row, ahead)
                                .store_first(to.add(i - ahead), ahead);
                        }
                        if i + N < self.height {
                            row.store(held);
                        } else {
                            row.join(row, ahead).store_first(to.add(i + in_line), n - in_line);
                        }
                    }
                }
            }
        }
        _mm_sfence();
    }

    /// The rows from `i` and the columns from `j` on, turned; what is beyond the part is anything.
    ///
    /// # Safety
    /// As [`Part::stream`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn block<const N: usize>(&self, i: usize, j: usize) -> [K::Vector; N] {
        let (n, width) = (N.min(self.height - i), N.min(self.width - j));
        // SAFETY: passed on to the caller; no lane beyond the part is read.
        unsafe {
            let from = self.from.add(i * self.columns + j);
            let mut rows = [K::Vector::load_first(from, 0); N];
            for (k, row) in rows[..n].iter_mut().enumerate() {
                let from = from.add(k * self.columns);
                *row = if width == N {
                    K::Vector::load(from)
                } else {
                    K::Vector::load_first(from, width)
                };
            }
            if N > 8 {
                exchange::<K::Vector, N, 8>(&mut rows);
            }
            exchange::<K::Vector, N, 4>(&mut rows);
            exchange::<K::Vector, N, 2>(&mut rows);
            exchange::<K::Vector, N, 1>(&mut rows);
            rows
        }
    }
}

/// Turns squares of `2 D` rows and columns whose quarters of `D` are turned.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn exchange<V: Vector, const N: usize, const D: usize>(rows: &mut [V; N]) {
    for i in (0..N).filter(|i| i & D == 0) {
        // SAFETY: passed on to the caller.
        (rows[i], rows[i + D]) = unsafe { rows[i].transpose::<D>(rows[i + D]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::isa::Isa;

    fn check<K: VectorKey + PartialEq, const N: usize>(of: impl Fn(usize) -> K) {
        for [rows, columns] in [[1, 1], [5, 40], [33, 31], [64, 100], [100, 64], [300, 257]] {
            let x: Vec<K> = (0..rows * columns).map(&of).collect();
            let mut result = vec![of(0); rows * columns];
            let mut held = vec![of(0); columns * N];
            // Parts of any height, whose rows begin anywhere in a line.
            let mut row = 0;
            for height in [rows / 3, rows / 4, rows - rows / 3 - rows / 4] {
                let from = x[row * columns..].as_ptr();
                let to = result[row..].as_mut_ptr();
                let part = Part { from, columns, to, rows, height, width: columns };
                // SAFETY: callers have AVX-512; the part is within both arrays, and a vector is held for each column.
                unsafe { part.stream::<N>(held.as_mut_ptr()) }
                row += height;
            }
            let turned = |i: usize| x[i % rows * columns + i / rows];
            assert!((0..x.len()).all(|i| result[i] == turned(i)), "{rows} x {columns}");
        }
    }

    #[test]
    fn parts_of_any_size_are_turned() {
        if Vectors::of(Isa::detect()).is_some() {
            check::<u32, 16>(|i| exactly(i));
            check::<u64, 8>(|i| exactly(i));
        }
    }
}

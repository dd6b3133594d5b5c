//! Products of few entries and many terms, as `x.T @ x` of many rows: the chunks of terms are products of their own, made
//! side by side, whose results are added in order.

use super::matrices::{Factor, Matrices};
use super::small::{self, Parts};
use super::tiles;
use crate::backend::primitive::lanes::Lanes;
use crate::backend::primitive::pieces::Workers;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::Product;
use crate::ir::scalar::Lane;

/// Chunks that are worth adding.
const FEWEST: usize = 4;
/// Most rows, and columns: with more there is work for all threads at one chunk.
const MOST: usize = 240;
/// Most rows that meet a right matrix where it lies, so that it comes from memory once.
const FEW_ROWS: usize = 8;

impl<T: Lane> Matrices<T> {
    pub(super) fn are_deep(&self) -> bool {
        let n_outer = 1..=MOST;
        self.depth >= FEWEST * Product::CHUNK
            && n_outer.contains(&self.rows)
            && n_outer.contains(&self.columns)
    }

    /// Of one product `n` times so many terms from one of them on, as products that go where `result` is.
    fn of_terms(
        &self,
        matrix: usize,
        first: usize,
        [n, depth]: [usize; 2],
        result: Lanes<T>,
    ) -> Self {
        let [left, right] =
            [self.left, self.right].map(|factor| factor.of_terms(matrix, first, depth));
        Self { left, right, result, n, depth, is_shared: false, ..*self }
    }

    fn multiply(self, workers: &Workers<'_>) -> Result<()> {
        if self.rows <= FEW_ROWS || self.are_small() {
            return small::multiply(workers, Parts { first: self, second: None });
        }
        tiles::multiply(workers, self)
    }
}

impl<T: Lane> Factor<T> {
    /// Matrices of so many terms of one of these, from a term on.
    fn of_terms(self, matrix: usize, first: usize, depth: usize) -> Self {
        let start = matrix * self.matrix + first * self.along;
        let planes = self.planes.map(|plane| plane.range(start, plane.len() - start));
        Self { planes, matrix: depth * self.along, ..self }
    }
}

pub(super) fn multiply<T: Lane>(workers: &Workers<'_>, matrices: Matrices<T>) -> Result<()> {
    const CHUNK: usize = Product::CHUNK;
    let n_entries = matrices.rows * matrices.columns;
    let (n_whole, rest) = (matrices.depth / CHUNK, matrices.depth % CHUNK);
    let n_chunks = matrices.depth.div_ceil(CHUNK);
    let sums = workers.scratch::<T>(n_chunks * n_entries)?.lanes;
    for matrix in 0..matrices.n {
        let chunks = |first: usize, [n, depth]: [usize; 2]| {
            let result = sums.range(first * n_entries, n * n_entries);
            matrices.of_terms(matrix, first * CHUNK, [n, depth], result).multiply(workers)
        };
        chunks(0, [n_whole, CHUNK])?;
        if rest > 0 {
            chunks(n_whole, [1, rest])?;
        }
        let to = matrices.result.slice_mut(matrix * n_entries, (matrix + 1) * n_entries);
        let (first, others) = sums.slice(0, n_chunks * n_entries).split_at(n_entries);
        to.copy_from_slice(first);
        for chunk in others.chunks_exact(n_entries) {
            for (sum, &more) in to.iter_mut().zip(chunk) {
                *sum = T::apply(Op::Add, *sum, more, more);
            }
        }
    }
    Ok(())
}

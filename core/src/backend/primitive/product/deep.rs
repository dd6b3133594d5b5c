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
/// Entries of products whose factors are read where they lie: one task reads them, and so once.
const FEW: usize = small::TASK / Product::CHUNK;
/// Entries whose chunks a task adds.
const PIECE: usize = 1 << 12;

impl<T: Lane> Matrices<T> {
    /// Whether there are more chunks of terms to share among threads than matrices or rows.
    pub(super) fn are_deep(&self, threads: usize) -> bool {
        let n_outer = 1..=MOST;
        self.n < threads.max(2)
            && self.depth >= FEWEST * Product::CHUNK
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
        if self.rows * self.columns <= FEW || self.are_small() {
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
    let scratch = workers.scratch::<T>(n_chunks * n_entries)?;
    let sums = scratch.lanes;
    for matrix in 0..matrices.n {
        let chunks = |first: usize, [n, depth]: [usize; 2]| {
            let result = sums.range(first * n_entries, n * n_entries);
            matrices.of_terms(matrix, first * CHUNK, [n, depth], result).multiply(workers)
        };
        chunks(0, [n_whole, CHUNK])?;
        if rest > 0 {
            chunks(n_whole, [1, rest])?;
        }
        let result = matrices.result.range(matrix * n_entries, n_entries);
        workers.tasks(n_entries.div_ceil(PIECE), true, move |task, goes_on| {
            let entries = task * PIECE..n_entries.min((task + 1) * PIECE);
            let to = result.slice_mut(entries.start, entries.end);
            for chunk in 0..n_chunks {
                let first = chunk * n_entries;
                let from = sums.slice(first + entries.start, first + entries.end);
                if chunk == 0 {
                    to.copy_from_slice(from);
                    continue;
                }
                if !goes_on() {
                    return;
                }
                for (sum, &more) in to.iter_mut().zip(from) {
                    *sum = T::apply(Op::Add, *sum, more, more);
                }
            }
        })?;
    }
    Ok(())
}

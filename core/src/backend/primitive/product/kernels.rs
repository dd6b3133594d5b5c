//! What kernels are given: a tile of sums and the panels that are added to it, or a run of small matrices where they lie.

use crate::ir::op::Op;
use crate::ir::scalar::Lane;

/// Adds the products of terms to a tile of sums, row by row: `rows` terms of the left panel and `columns` of the right one
/// belong together.
pub(super) struct Kernel<T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) add: fn(tile: Tile<'_, T>),
}

/// A tile and what is added to it.
pub(super) struct Tile<'a, T> {
    pub(super) sums: &'a mut [T],
    /// Lanes from a row of sums to the next.
    pub(super) stride: usize,
    /// Whether sums begin at zero, whatever stands in their place.
    pub(super) begins: bool,
    pub(super) left: &'a [T],
    pub(super) right: &'a [T],
    /// What is read soon after.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for vectors only"))]
    pub(super) ahead: &'a [T],
}

impl<T> Clone for Kernel<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Kernel<T> {}

/// The kernel of a type.
pub(super) struct Small<T>(pub(super) fn(Run<'_, T>));

impl<T> Clone for Small<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Small<T> {}

/// Products that lie behind each other.
pub(super) struct Run<'a, T> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for vectors only"))]
    pub(super) n: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    /// Terms of a lane, for each of them what the left and the right one come from, and whether it is subtracted.
    pub(super) n_terms: usize,
    pub(super) left: [&'a [T]; 2],
    pub(super) right: [&'a [T]; 2],
    pub(super) is_negative: [bool; 2],
    /// Lanes of the left factor from row to row, from term to term, from matrix to matrix.
    pub(super) across: usize,
    pub(super) along: usize,
    pub(super) left_matrix: usize,
    /// Lanes of the right factor from row to row, from matrix to matrix.
    pub(super) right_row: usize,
    pub(super) right_matrix: usize,
    /// Rows of results.
    pub(super) result: &'a mut [T],
}

impl<T: Lane> Run<'_, T> {
    /// Everything that is named is there.
    ///
    /// # Panics
    /// If not.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for vectors only"))]
    pub(super) fn check(&self) {
        let last = |n: usize, step: usize| (n - 1) * step;
        let left = last(self.n, self.left_matrix)
            + last(self.rows, self.across)
            + last(self.depth, self.along);
        let right =
            last(self.n, self.right_matrix) + last(self.depth, self.right_row) + self.columns;
        let is_there = (0..self.n_terms)
            .all(|parity| left < self.left[parity].len() && right <= self.right[parity].len());
        let is_whole = self.result.len() == self.n * self.rows * self.columns;
        assert!(
            self.n_terms <= 2 && is_there && is_whole,
            "internal error: matrices beyond their lanes"
        );
    }

    /// For processors without vectors, and types without instructions for them.
    pub(super) fn multiply(self) {
        for (number, sums) in self.result.chunks_exact_mut(self.columns).enumerate() {
            let (matrix, row) = (number / self.rows, number % self.rows);
            sums.fill(T::default());
            for k in 0..self.depth {
                for parity in 0..self.n_terms {
                    let place = matrix * self.left_matrix + row * self.across + k * self.along;
                    let left = self.left[parity][place];
                    let left = if self.is_negative[parity] {
                        T::apply(Op::Neg, left, left, left)
                    } else {
                        left
                    };
                    let start = matrix * self.right_matrix + k * self.right_row;
                    let right = &self.right[parity][start..start + self.columns];
                    for (sum, &right) in sums.iter_mut().zip(right) {
                        *sum = T::apply(Op::Fma, left, right, *sum);
                    }
                }
            }
        }
    }
}

//! What a product multiplies: how many matrices of which extents, and where their terms lie.

use super::super::MemoryArray;
use super::super::lanes::Lanes;
use crate::convert::exactly;
use crate::ir::primitive::{Product, Terms};
use crate::ir::scalar::Lane;

/// Multiplications below which a second thread does not pay.
pub(super) const WORTH_A_THREAD: usize = 1 << 16;

/// What is multiplied, and how often.
#[derive(Clone, Copy)]
pub(super) struct Matrices<T> {
    pub(super) left: Factor<T>,
    pub(super) right: Factor<T>,
    pub(super) result: Lanes<T>,
    /// Products.
    pub(super) n: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    /// Whether all have the same right factor.
    pub(super) is_shared: bool,
}

/// One factor: where its terms are, see [`Terms`].
#[derive(Clone, Copy)]
pub(super) struct Factor<T> {
    /// Real lanes, and imaginary ones.
    pub(super) planes: [Lanes<T>; 2],
    pub(super) signs: [(bool, bool); 2],
    pub(super) n: usize,
    pub(super) across: usize,
    pub(super) along: usize,
    pub(super) matrix: usize,
}

impl<T: Lane> Matrices<T> {
    pub(super) fn new(product: Product, operands: &[MemoryArray], result: Lanes<T>) -> Self {
        let half = operands.len() / 2;
        let (n, rows) = product.extents(operands[0].size, operands[half].size);
        let [left, right] = product.terms(rows);
        let factor = |first: usize, terms: Terms| {
            let planes = [first, first + half - 1].map(|i| Lanes::of(operands[i]));
            let [across, along, matrix] =
                [terms.across, terms.along, terms.matrix].map(exactly::<usize>);
            Factor { planes, signs: terms.signs, n: terms.n, across, along, matrix }
        };
        Self {
            left: factor(0, left),
            right: factor(half, right),
            result,
            n: exactly::<usize>(n),
            rows: exactly::<usize>(rows),
            columns: exactly::<usize>(product.columns),
            depth: exactly::<usize>(product.depth),
            is_shared: product.right.is_shared(),
        }
    }

    /// Terms of an entry.
    pub(super) fn n_terms(&self) -> usize {
        self.depth * self.left.n
    }

    pub(super) fn is_worth_a_thread(&self) -> bool {
        self.n * self.rows * self.columns * self.n_terms() >= WORTH_A_THREAD
    }
}

impl<T: Lane> Factor<T> {
    /// The lanes that the terms of a pair come from.
    pub(super) fn plane(&self, parity: usize) -> Lanes<T> {
        self.planes[usize::from(self.signs[parity].0)]
    }
}

//! Products of matrices in the order of S26.
//!
//! Where a right matrix is small, results are made of the matrices as they lie ([`small`]). Otherwise both factors are copied
//! into panels and multiplied tile by tile ([`tiles`]). A complex product is one of twice as many terms. How it is cut never
//! shows: every entry adds its terms in one order.

mod pack;
mod small;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod vectors;

use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::Workers;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::primitive::{Part, Product, Terms};
use crate::ir::scalar::{Lane, with_lane};

/// Multiplications below which a second thread does not pay.
const WORTH_A_THREAD: usize = 1 << 16;

/// Operands are left and right, of complex products the real and imaginary parts of each; `imag` is where the imaginary part
/// goes beside a real one.
pub(super) fn multiply(
    workers: &Workers<'_>,
    product: Product,
    operands: &[MemoryArray],
    result: MemoryArray,
    imag: Option<MemoryArray>,
) -> Result<()> {
    with_lane!(result.dtype,
        T => {
            let of = |product, result| Matrices::<T>::new(product, operands, Lanes::of(result));
            let first = of(product, result);
            let second = imag.map(|imag| of(Product { part: Part::Imag, ..product }, imag));
            if first.are_small() {
                return small::multiply(workers, first, second);
            }
            tiles::multiply(workers, first)?;
            second.map_or(Ok(()), |second| tiles::multiply(workers, second))
        },
        mask => unreachable!("internal error: a product of truth values"))
}

/// What is multiplied, and how often.
#[derive(Clone, Copy)]
struct Matrices<T> {
    left: Factor<T>,
    right: Factor<T>,
    result: Lanes<T>,
    /// Products.
    n: usize,
    rows: usize,
    columns: usize,
    depth: usize,
    /// Whether all have the same right factor.
    is_shared: bool,
}

/// One factor: where its terms are, see [`Terms`].
#[derive(Clone, Copy)]
struct Factor<T> {
    /// Real lanes, and imaginary ones.
    planes: [Lanes<T>; 2],
    signs: [(bool, bool); 2],
    n: usize,
    across: usize,
    along: usize,
    matrix: usize,
}

impl<T: Lane> Matrices<T> {
    fn new(product: Product, operands: &[MemoryArray], result: Lanes<T>) -> Self {
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
    fn n_terms(&self) -> usize {
        self.depth * self.left.n
    }

    fn is_worth_a_thread(&self) -> bool {
        self.n * self.rows * self.columns * self.n_terms() >= WORTH_A_THREAD
    }
}

impl<T: Lane> Factor<T> {
    /// The lanes that the terms of a pair come from.
    fn plane(&self, parity: usize) -> Lanes<T> {
        self.planes[usize::from(self.signs[parity].0)]
    }
}

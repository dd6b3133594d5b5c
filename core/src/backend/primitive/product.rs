//! Products of matrices in the order of S26.
//!
//! Both factors are copied into panels, in which the terms of one tile of the result lie behind each other whichever way
//! they lay before; a complex product is one of twice as many terms. A tile is held in registers while its terms go
//! by, so many at once that the panels stay in the caches. How it is cut never shows: a sum that is put down and taken
//! up again goes on where it was.

use std::ops::Range;

use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::Workers;
#[cfg(target_arch = "x86_64")]
use super::product_vectors;
use crate::backend::isa::Isa;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::{Product, Terms};
use crate::ir::scalar::{Lane, with_lane};

/// Terms that go by at once: a panel of them stays in the cache next to the processor.
const TERMS: usize = 256;
/// Most rows of a task.
const MOST_ROWS: usize = 240;
/// Multiplications below which a second thread does not pay.
const WORTH_A_THREAD: usize = 1 << 16;

/// Adds the products of terms to a tile of sums, row by row: `rows` terms of the left panel and `columns` of the right one
/// belong together.
pub(super) struct Kernel<T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) add: fn(sums: &mut [T], left: &[T], right: &[T]),
}

impl<T> Clone for Kernel<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Kernel<T> {}

/// Operands are left and right, of complex products the real and imaginary parts of each.
pub(super) fn multiply(
    workers: &Workers<'_>,
    product: Product,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    with_lane!(result.dtype,
        T => multiply_lanes::<T>(workers, kernel(workers.isa), product, operands, Lanes::of(result)),
        mask => unreachable!("internal error: a product of truth values"))
}

/// The fastest kernel of an instruction set.
fn kernel<T: Lane>(isa: Isa) -> Kernel<T> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = product_vectors::kernel(isa) {
        return kernel;
    }
    let _ = isa;
    Kernel { rows: ROWS, columns: COLUMNS, add: add_products }
}

/// The tile of processors without vectors, and of types without instructions for them.
const ROWS: usize = 4;
const COLUMNS: usize = 16;

fn add_products<T: Lane>(sums: &mut [T], left: &[T], right: &[T]) {
    for (left, right) in left.chunks_exact(ROWS).zip(right.chunks_exact(COLUMNS)) {
        for (sums, &left) in sums.chunks_exact_mut(COLUMNS).zip(left) {
            for (sum, &right) in sums.iter_mut().zip(right) {
                *sum = T::apply(Op::Fma, left, right, *sum);
            }
        }
    }
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

impl<T: Lane> Factor<T> {
    /// Copies terms of rows or columns into a panel of so many; what is missing is the type's zero. Pairs stay whole.
    fn pack(
        &self,
        panel: &mut [T],
        width: usize,
        matrix: usize,
        outer: Range<usize>,
        terms: Range<usize>,
    ) {
        if outer.len() < width {
            panel.fill(T::default());
        }
        let (across, along) = (self.across, self.along);
        let first = matrix * self.matrix + outer.start * across;
        let depth = terms.start / self.n..terms.end / self.n;
        for (parity, &(is_imag, is_negative)) in self.signs[..self.n].iter().enumerate() {
            let plane = self.planes[usize::from(is_imag)];
            let sign = |value: T| {
                if is_negative { T::apply(Op::Neg, value, value, value) } else { value }
            };
            let places = panel.chunks_exact_mut(width).skip(parity).step_by(self.n);
            if across == 1 {
                for (to, k) in places.zip(depth.clone()) {
                    let start = first + k * along;
                    let from = plane.slice(start, start + outer.len());
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = sign(from));
                }
                continue;
            }
            for i in 0..outer.len() {
                let start = first + i * across;
                let from = plane.slice(start + depth.start, start + depth.end);
                let to = panel[parity * width + i..].iter_mut().step_by(width * self.n);
                to.zip(from).for_each(|(to, &from)| *to = sign(from));
            }
        }
    }
}

/// The factors of a product of so many rows, left and right.
fn factors<T: Lane>(product: Product, operands: &[MemoryArray], rows: usize) -> [Factor<T>; 2] {
    let half = operands.len() / 2;
    let [left, right] = product.terms(rows as u64);
    let factor = |first: usize, terms: Terms| {
        let planes = [first, first + half - 1].map(|i| Lanes::of(operands[i]));
        let [across, along, matrix] =
            [terms.across, terms.along, terms.matrix].map(exactly::<usize>);
        Factor { planes, signs: terms.signs, n: terms.n, across, along, matrix }
    };
    [factor(0, left), factor(half, right)]
}

fn multiply_lanes<T: Lane>(
    workers: &Workers<'_>,
    kernel: Kernel<T>,
    product: Product,
    operands: &[MemoryArray],
    result: Lanes<T>,
) -> Result<()> {
    let (n, rows) = product.extents(operands[0].size, operands[operands.len() / 2].size);
    let [n, rows] = [n, rows].map(exactly::<usize>);
    let columns = exactly::<usize>(product.columns);
    let [left, right] = factors::<T>(product, operands, rows);
    let n_terms = exactly::<usize>(product.depth) * left.n;
    let n_panels = columns.div_ceil(kernel.columns);
    let n_right = if product.right.is_shared() { 1 } else { n };
    let is_worth = n * rows * columns * n_terms >= WORTH_A_THREAD;
    let panel = kernel.columns * n_terms;
    let packed = workers.scratch::<T>(n_right * n_panels * panel)?;
    let panels = packed.lanes;
    workers.tasks(n_right * n_panels, is_worth, move |task, _| {
        let (matrix, number) = (task / n_panels, task % n_panels);
        let start = number * kernel.columns;
        let outer = start..columns.min(start + kernel.columns);
        let to = panels.slice_mut(task * panel, (task + 1) * panel);
        right.pack(to, kernel.columns, matrix, outer, 0..n_terms);
    })?;
    let share = rows.div_ceil(2 * workers.pool.threads()).next_multiple_of(kernel.rows);
    let most_rows = (MOST_ROWS / kernel.rows * kernel.rows).min(share);
    let n_blocks = rows.div_ceil(most_rows);
    let chunk = Product::CHUNK * left.n;
    let is_shared = product.right.is_shared();
    workers.tasks(n * n_blocks, is_worth, move |task, goes_on| {
        let (matrix, first) = (task / n_blocks, task % n_blocks * most_rows);
        let matrix_of_right = if is_shared { 0 } else { matrix };
        let own = panels.range(matrix_of_right * n_panels * panel, n_panels * panel);
        let rows_here = first..rows.min(first + most_rows);
        let to = result.range((matrix * rows + first) * columns, rows_here.len() * columns);
        let block = Block { kernel, left, matrix, rows: rows_here, right: own, columns, n_terms };
        block.multiply(to, chunk, goes_on);
    })
}

/// Some rows of a product.
struct Block<T> {
    kernel: Kernel<T>,
    left: Factor<T>,
    matrix: usize,
    rows: Range<usize>,
    /// The panels of the right matrix.
    right: Lanes<T>,
    columns: usize,
    n_terms: usize,
}

impl<T: Lane> Block<T> {
    /// Writes the rows, chunk after chunk of terms; ends early if it shall not go on.
    fn multiply(&self, to: Lanes<T>, chunk: usize, goes_on: &dyn Fn() -> bool) {
        let n = to.len();
        let mut sums = Vec::new();
        let width = self.kernel.rows;
        let most = TERMS.min(self.n_terms);
        let mut packed = vec![T::default(); self.rows.len().next_multiple_of(width) * most];
        for start in (0..self.n_terms).step_by(chunk) {
            let end = self.n_terms.min(start + chunk);
            // The sums of later chunks are added to those of the first.
            let target = if start == 0 {
                to.slice_mut(0, n)
            } else {
                sums.resize(n, T::default());
                sums.as_mut_slice()
            };
            for from in (start..end).step_by(TERMS) {
                if !goes_on() {
                    return;
                }
                let terms = from..end.min(from + TERMS);
                for (number, panel) in packed.chunks_exact_mut(width * most).enumerate() {
                    let first = self.rows.start + number * width;
                    let rows = first..self.rows.end.min(first + width);
                    self.left.pack(panel, width, self.matrix, rows, terms.clone());
                }
                self.add(target, &packed, terms, from == start);
            }
            if start > 0 {
                for (sum, &more) in to.slice_mut(0, n).iter_mut().zip(&sums) {
                    *sum = T::apply(Op::Add, *sum, more, more);
                }
            }
        }
    }

    /// Adds the products of some terms, or begins with them.
    fn add(&self, to: &mut [T], left: &[T], terms: Range<usize>, begins: bool) {
        let (height, width) = (self.kernel.rows, self.kernel.columns);
        let mut tile = vec![T::default(); height * width];
        let n_panels = self.columns.div_ceil(width);
        for number in 0..n_panels {
            let start = number * width;
            let columns = start..self.columns.min(start + width);
            let panel = number * width * self.n_terms;
            let right = self.right.slice(panel + terms.start * width, panel + terms.end * width);
            for (k, left) in left.chunks_exact(height * TERMS.min(self.n_terms)).enumerate() {
                let rows = k * height..self.rows.len().min((k + 1) * height);
                let place =
                    |row: usize| row * self.columns + start..row * self.columns + columns.end;
                if begins {
                    tile.fill(T::default());
                } else {
                    for (sums, row) in tile.chunks_exact_mut(width).zip(rows.clone()) {
                        sums[..columns.len()].copy_from_slice(&to[place(row)]);
                    }
                }
                (self.kernel.add)(&mut tile, &left[..height * terms.len()], right);
                for (sums, row) in tile.chunks_exact(width).zip(rows) {
                    to[place(row)].copy_from_slice(&sums[..columns.len()]);
                }
            }
        }
    }
}

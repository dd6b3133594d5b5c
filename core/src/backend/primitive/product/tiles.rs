//! Products by tiles, each held in registers while its terms go by, so many at once that the panels stay in the caches. A
//! sum that is put down and taken up again goes on where it was.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::kernels::{Kernel, Tile};
use super::matrices::Matrices;
use crate::backend::isa::Isa;
use crate::backend::primitive::lanes::Lanes;
use crate::backend::primitive::pieces::Workers;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::Product;
use crate::ir::scalar::Lane;

/// Terms that go by at once: a panel of them stays in the cache next to the processor.
const TERMS: usize = 256;
/// Most rows of a task.
const MOST_ROWS: usize = 240;
/// Terms of a task that copies rows of the right factor.
const PACKED_TERMS: usize = 64;
/// Bytes of a right matrix that each thread copies for itself: memory that another one had takes longer to come than the
/// copy, and nobody waits.
const MOST_COPIED: usize = 1 << 19;

/// The fastest kernel of an instruction set.
fn kernel<T: Lane>(isa: Isa) -> Kernel<T> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = super::vectors::tiles(isa) {
        return kernel;
    }
    let _ = isa;
    Kernel { rows: ROWS, columns: COLUMNS, add: add_products }
}

/// The tile of processors without vectors, and of types without instructions for them.
const ROWS: usize = 4;
const COLUMNS: usize = 16;

fn add_products<T: Lane>(tile: Tile<'_, T>) {
    let mut sums = [[T::default(); COLUMNS]; ROWS];
    if !tile.begins {
        for (sums, row) in sums.iter_mut().zip(tile.sums.chunks(tile.stride)) {
            sums.copy_from_slice(&row[..COLUMNS]);
        }
    }
    for (left, right) in tile.left.chunks_exact(ROWS).zip(tile.right.chunks_exact(COLUMNS)) {
        for (sums, &left) in sums.iter_mut().zip(left) {
            for (sum, &right) in sums.iter_mut().zip(right) {
                *sum = T::apply(Op::Fma, left, right, *sum);
            }
        }
    }
    for (sums, row) in sums.iter().zip(tile.sums.chunks_mut(tile.stride)) {
        row[..COLUMNS].copy_from_slice(sums);
    }
}

/// The panels of right matrices, one behind the other.
#[derive(Clone, Copy)]
struct Panels<T> {
    lanes: Lanes<T>,
    /// The number of the first of them.
    first: usize,
    /// Columns of a panel.
    width: usize,
    /// Panels of a matrix.
    n: usize,
    /// Terms of a panel.
    n_terms: usize,
}

impl<T: Lane> Panels<T> {
    /// Some terms of a panel.
    fn range(self, matrix: usize, number: usize, terms: Range<usize>) -> Range<usize> {
        let start = ((matrix - self.first) * self.n + number) * self.n_terms * self.width;
        start + terms.start * self.width..start + terms.end * self.width
    }

    fn terms<'a>(self, matrix: usize, number: usize, terms: Range<usize>) -> &'a [T] {
        let range = self.range(matrix, number, terms);
        self.lanes.slice(range.start, range.end)
    }

    fn terms_mut<'a>(self, matrix: usize, number: usize, terms: Range<usize>) -> &'a mut [T] {
        let range = self.range(matrix, number, terms);
        self.lanes.slice_mut(range.start, range.end)
    }

    /// In how many tasks a right matrix is copied.
    fn n_tasks(self, matrices: &Matrices<T>) -> usize {
        let is_turned = matrices.right.across != 1;
        if is_turned { self.n } else { self.n_terms.div_ceil(PACKED_TERMS) }
    }

    /// A task of copying a right matrix: a panel, or terms of all of them.
    fn copy(self, matrices: &Matrices<T>, matrix: usize, task: usize) {
        let Matrices { right, columns, .. } = *matrices;
        let width = self.width;
        if right.across != 1 {
            let outer = task * width..columns.min((task + 1) * width);
            let to = self.terms_mut(matrix, task, 0..self.n_terms);
            return right.pack(to, width, matrix, outer, 0..self.n_terms);
        }
        let terms = task * PACKED_TERMS..self.n_terms.min((task + 1) * PACKED_TERMS);
        let to = |number| self.terms_mut(matrix, number, terms.clone());
        let mut to: Vec<&mut [T]> = (0..self.n).map(to).collect();
        right.pack_rows(&mut to, width, matrix, columns, terms);
    }
}

pub(super) fn multiply<T: Lane>(workers: &Workers<'_>, matrices: Matrices<T>) -> Result<()> {
    let kernel = kernel::<T>(workers.isa);
    let is_worth = matrices.is_worth_a_thread();
    let threads = if is_worth { workers.pool.threads() } else { 1 };
    // Rows in units of tiles, as many blocks a thread as all have.
    let n_units = matrices.rows.div_ceil(kernel.rows);
    let n_blocks = matrices.rows.div_ceil(MOST_ROWS);
    let is_many = matrices.n >= 4 * threads;
    let n_blocks =
        if is_many { n_blocks } else { n_blocks.max(2 * threads).next_multiple_of(threads) };
    let n_blocks = n_blocks.min(n_units);
    let n_right = if matrices.is_shared { 1 } else { matrices.n };
    let (width, n_terms) = (kernel.columns, matrices.n_terms());
    let n = matrices.columns.div_ceil(width);
    let length = n * width * n_terms;
    // Each thread packs left rows, and small right matrices, into a place of its own, kept from call to call by the allocator
    // of blocks.
    let most_rows = n_units.div_ceil(n_blocks) * kernel.rows;
    let left_length = most_rows * TERMS.min(n_terms);
    // Right matrices that one task needs are copied by it.
    let are_own = n_right > 1 && n_blocks == 1 && n_right >= threads;
    let is_copied_often =
        n_right == 1 && matrices.n * n_blocks >= threads && length * size_of::<T>() <= MOST_COPIED;
    let has_copies = are_own || is_copied_often;
    let [shared, own] = if has_copies { [0, length] } else { [n_right * length, 0] };
    let packed = workers.scratch::<T>(shared)?;
    let panels = Panels { lanes: packed.lanes, first: 0, width, n, n_terms };
    if !has_copies {
        let n_tasks = panels.n_tasks(&matrices);
        workers.tasks(n_right * n_tasks, is_worth, move |task, _| {
            panels.copy(&matrices, task / n_tasks, task % n_tasks);
        })?;
    }
    let scratch = workers.scratch::<T>(threads * (left_length + own))?;
    let places = scratch.places(left_length + own);
    let is_copied: Vec<_> = (0..threads).map(|_| AtomicBool::new(false)).collect();
    workers.tasks(matrices.n * n_blocks, is_worth, move |task, goes_on| {
        let (matrix, number) = (task / n_blocks, task % n_blocks);
        let [start, end] = [number, number + 1].map(|i| i * n_units / n_blocks * kernel.rows);
        let rows = start..end.min(matrices.rows);
        places.with(|number, place| {
            let mut panels = panels;
            if has_copies {
                panels.lanes = place.range(left_length, own);
                panels.first = if are_own { matrix } else { 0 };
                // Nobody else has the place.
                if !is_copied[number].swap(true, Ordering::Relaxed) || are_own {
                    let tasks = (0..panels.n_tasks(&matrices)).take_while(|_| goes_on());
                    tasks.for_each(|task| panels.copy(&matrices, panels.first, task));
                }
            }
            let packed = place.slice_mut(0, left_length);
            Block { kernel, matrices, panels, matrix, rows }.multiply(packed, goes_on);
        });
    })
}

/// Some rows of a product.
struct Block<T> {
    kernel: Kernel<T>,
    matrices: Matrices<T>,
    panels: Panels<T>,
    matrix: usize,
    rows: Range<usize>,
}

impl<T: Lane> Block<T> {
    /// Writes the rows, chunk after chunk of terms; ends early if it shall not go on.
    fn multiply(&self, packed: &mut [T], goes_on: &dyn Fn() -> bool) {
        let Matrices { left, columns, rows, .. } = self.matrices;
        let n_terms = self.panels.n_terms;
        let first = (self.matrix * rows + self.rows.start) * columns;
        let to = self.matrices.result.slice_mut(first, first + self.rows.len() * columns);
        let width = self.kernel.rows;
        let mut sums = Vec::new();
        for start in (0..n_terms).step_by(Product::CHUNK * left.n) {
            let end = n_terms.min(start + Product::CHUNK * left.n);
            // The sums of later chunks are added to those of the first.
            let target = if start == 0 {
                &mut *to
            } else {
                sums.resize(to.len(), T::default());
                sums.as_mut_slice()
            };
            for from in (start..end).step_by(TERMS) {
                if !goes_on() {
                    return;
                }
                let terms = from..end.min(from + TERMS);
                let panels = packed.chunks_exact_mut(width * terms.len());
                for (first, panel) in self.rows.clone().step_by(width).zip(panels) {
                    let rows = first..self.rows.end.min(first + width);
                    left.pack(panel, width, self.matrix, rows, terms.clone());
                }
                self.add(target, packed, terms, from == start, goes_on);
            }
            if start > 0 {
                for (sum, &more) in to.iter_mut().zip(&sums) {
                    *sum = T::apply(Op::Add, *sum, more, more);
                }
            }
        }
    }

    /// Adds the products of some terms, or begins with them; ends early if it shall not go on, which it asks before each
    /// panel: a million products, a millisecond where processors have no vectors for the type.
    fn add(
        &self,
        to: &mut [T],
        left: &[T],
        terms: Range<usize>,
        begins: bool,
        goes_on: &dyn Fn() -> bool,
    ) {
        let (height, width, stride) =
            (self.kernel.rows, self.kernel.columns, self.matrices.columns);
        let matrix = if self.matrices.is_shared { 0 } else { self.matrix };
        let mut edge = vec![T::default(); height * width];
        let n_tiles = self.rows.len().div_ceil(height);
        for number in 0..self.panels.n {
            if !goes_on() {
                return;
            }
            let columns = number * width..stride.min((number + 1) * width);
            let right = self.panels.terms(matrix, number, terms.clone());
            // While a panel is used the next one comes near, a share of it with each tile.
            let next =
                self.panels.terms(matrix, (number + 1).min(self.panels.n - 1), terms.clone());
            let share = next.len().div_ceil(n_tiles);
            let aheads = next.chunks(share).chain(std::iter::repeat(&[][..]));
            let lefts = left.chunks_exact(height * terms.len());
            for (k, (left, ahead)) in lefts.zip(aheads).enumerate().take(n_tiles) {
                let rows = k * height..self.rows.len().min((k + 1) * height);
                let is_whole = rows.len() == height && columns.len() == width;
                let place = |row: usize| row * stride + columns.start..row * stride + columns.end;
                if is_whole {
                    let sums = &mut to[place(rows.start).start..place(rows.end - 1).end];
                    (self.kernel.add)(Tile { sums, stride, begins, left, right, ahead });
                    continue;
                }
                if !begins {
                    for (sums, row) in edge.chunks_exact_mut(width).zip(rows.clone()) {
                        sums[..columns.len()].copy_from_slice(&to[place(row)]);
                    }
                }
                let sums = &mut edge[..];
                (self.kernel.add)(Tile { sums, stride: width, begins, left, right, ahead });
                for (sums, row) in edge.chunks_exact(width).zip(rows) {
                    to[place(row)].copy_from_slice(&sums[..columns.len()]);
                }
            }
        }
    }
}

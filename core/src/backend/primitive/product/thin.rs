//! Products of few rows with a right matrix that lies row by row: its rows are added to the sums, each times a number of the
//! left one, as they lie in memory. Panels would cost more than they save.
#![expect(unsafe_code, reason = "instructions that not every processor has")]

use std::array::from_fn;
use std::ops::Range;

use super::matrices::Matrices;
use crate::backend::isa::Isa;
use crate::backend::primitive::pieces::Workers;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::Product;
use crate::ir::scalar::Lane;

/// Most rows: with more a panel is read often enough.
const MOST_ROWS: usize = 4;
/// Bytes of a row that a task takes: their sums stay in the first cache, and memory is read in runs that are long enough for
/// it to fetch ahead (4000 x 4000 f32: 17 ms of 512 bytes, 2.3 of 4096). Fewer where threads would have nothing to do.
const MOST_BYTES: usize = 1 << 12;
const LEAST_BYTES: usize = 1 << 11;
const TASKS_A_THREAD: usize = 2;
/// Terms that are added at once: sums are read and written once for them.
const AT_ONCE: usize = 8;
/// Terms between two looks whether to go on.
const POLL: usize = 1 << 10;

impl<T: Lane> Matrices<T> {
    /// Whether real rows are so few that the right matrix is read where it lies.
    pub(super) fn are_thin(&self) -> bool {
        self.rows <= MOST_ROWS && self.left.n == 1 && self.right.across == 1
    }

    /// The terms of a row of the left factor, so many from one on.
    #[inline(always)]
    fn numbers<const N: usize>(&self, matrix: usize, row: usize, term: usize) -> [T; N] {
        let start = matrix * self.left.matrix + row * self.left.across;
        from_fn(|i| self.left.plane(0).get(start + (term + i) * self.left.along))
    }

    /// Columns of some rows of the right factor.
    #[inline(always)]
    fn right_rows<const N: usize>(
        &self,
        matrix: usize,
        columns: &Range<usize>,
        term: usize,
    ) -> [&[T]; N] {
        let first = matrix * self.right.matrix;
        from_fn(|i| {
            let row = first + (term + i) * self.right.along;
            self.right.plane(0).slice(row + columns.start, row + columns.end)
        })
    }

    /// Adds the products of some terms to rows of sums.
    #[inline(always)]
    fn add_terms(
        &self,
        sums: &mut [&mut [T]],
        matrix: usize,
        columns: &Range<usize>,
        terms: Range<usize>,
    ) {
        let whole = terms.start + terms.len() / AT_ONCE * AT_ONCE;
        for term in (terms.start..whole).step_by(AT_ONCE) {
            let rows = self.right_rows::<AT_ONCE>(matrix, columns, term);
            for (row, sums) in sums.iter_mut().enumerate() {
                add::<T, AT_ONCE>(sums, self.numbers(matrix, row, term), rows);
            }
        }
        for term in whole..terms.end {
            let rows = self.right_rows::<1>(matrix, columns, term);
            for (row, sums) in sums.iter_mut().enumerate() {
                add::<T, 1>(sums, self.numbers(matrix, row, term), rows);
            }
        }
    }

    /// Writes some columns of a product, chunk after chunk of terms; ends early if it shall not go on.
    fn make_columns(
        &self,
        add_terms: AddTerms<T>,
        matrix: usize,
        columns: &Range<usize>,
        goes_on: &dyn Fn() -> bool,
    ) {
        let width = columns.len();
        let to = |row: usize| {
            let row = (matrix * self.rows + row) * self.columns;
            self.result.slice_mut(row + columns.start, row + columns.end)
        };
        let mut sums = vec![T::default(); self.rows * width];
        for chunk in (0..self.depth).step_by(Product::CHUNK) {
            let end = self.depth.min(chunk + Product::CHUNK);
            sums.fill(T::default());
            let mut rows: Vec<&mut [T]> = sums.chunks_mut(width).collect();
            for from in (chunk..end).step_by(POLL) {
                if !goes_on() {
                    return;
                }
                let terms = from..end.min(from + POLL);
                // SAFETY: the instructions are those of the processor.
                unsafe { add_terms(self, &mut rows, matrix, columns, terms) };
            }
            for (row, sums) in rows.iter().enumerate() {
                let to = to(row);
                if chunk == 0 {
                    to.copy_from_slice(sums);
                    continue;
                }
                for (to, &sum) in to.iter_mut().zip(sums.iter()) {
                    *to = T::apply(Op::Add, *to, sum, sum);
                }
            }
        }
    }
}

/// Adds the products of terms to sums.
///
/// # Safety
/// The processor must have the instructions.
type AddTerms<T> = unsafe fn(&Matrices<T>, &mut [&mut [T]], usize, &Range<usize>, Range<usize>);

fn add_terms<T: Lane>(isa: Isa) -> AddTerms<T> {
    match isa {
        Isa::Baseline | Isa::Neon => Matrices::add_terms,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => add_terms_avx2,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => add_terms_avx512,
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::Avx512 => Matrices::add_terms,
    }
}

/// # Safety
/// Needs AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn add_terms_avx2<T: Lane>(
    matrices: &Matrices<T>,
    sums: &mut [&mut [T]],
    matrix: usize,
    columns: &Range<usize>,
    terms: Range<usize>,
) {
    matrices.add_terms(sums, matrix, columns, terms);
}

/// # Safety
/// Needs AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
unsafe fn add_terms_avx512<T: Lane>(
    matrices: &Matrices<T>,
    sums: &mut [&mut [T]],
    matrix: usize,
    columns: &Range<usize>,
    terms: Range<usize>,
) {
    matrices.add_terms(sums, matrix, columns, terms);
}

/// Adds rows, each times its number, to sums, the first one first.
#[inline(always)]
fn add<T: Lane, const N: usize>(sums: &mut [T], numbers: [T; N], rows: [&[T]; N]) {
    let rows = rows.map(|row| &row[..sums.len()]);
    for (i, place) in sums.iter_mut().enumerate() {
        let terms = numbers.iter().zip(rows);
        *place = terms.fold(*place, |sum, (&number, row)| T::apply(Op::Fma, number, row[i], sum));
    }
}

pub(super) fn multiply<T: Lane>(workers: &Workers<'_>, matrices: Matrices<T>) -> Result<()> {
    let add_terms = add_terms::<T>(workers.isa);
    let [least, most] = [LEAST_BYTES, MOST_BYTES].map(|bytes| bytes / size_of::<T>());
    let tasks = (TASKS_A_THREAD * workers.pool.threads()).div_ceil(matrices.n);
    let width = matrices.columns.div_ceil(tasks).next_multiple_of(least).min(most);
    let n_blocks = matrices.columns.div_ceil(width);
    let is_worth = matrices.is_worth_a_thread();
    workers.tasks(matrices.n * n_blocks, is_worth, move |task, goes_on| {
        let start = task % n_blocks * width;
        let columns = start..matrices.columns.min(start + width);
        matrices.make_columns(add_terms, task / n_blocks, &columns, goes_on);
    })
}

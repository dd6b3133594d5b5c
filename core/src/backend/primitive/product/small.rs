//! Products whose right matrices are small: rows are multiplied where they lie, without panels.

use super::kernels::{Run, Small};
use super::matrices::{Factor, Matrices, WORTH_A_THREAD};
use crate::backend::isa::Isa;
use crate::backend::primitive::pieces::Workers;
use crate::error::Result;
use crate::ir::primitive::Product;
use crate::ir::scalar::Lane;

/// Bytes of a right matrix that stay near the processor beside the rows that they meet.
const MOST_BYTES: usize = 1 << 15;
/// Multiplications of a task.
pub(super) const TASK: usize = 1 << 18;

/// The fastest kernel of an instruction set.
fn kernel<T: Lane>(isa: Isa) -> Small<T> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = super::vectors::small(isa) {
        return kernel;
    }
    let _ = isa;
    Small(|run| run.multiply())
}

impl<T: Lane> Matrices<T> {
    /// Whether right matrices are so small that panels would cost more than they save, and sums are one chain.
    pub(super) fn are_small(&self) -> bool {
        self.depth <= Product::CHUNK && self.n_terms() * self.columns * size_of::<T>() <= MOST_BYTES
    }

    /// The rows of some products, of one product a range of rows.
    fn run<'a>(&self, first: usize, n: usize, [start, end]: [usize; 2]) -> Run<'a, T> {
        let (left, right) = (self.left, self.right);
        let lanes = |factor: Factor<T>, from: usize| {
            [0, factor.n - 1].map(|parity| {
                let plane = factor.plane(parity);
                plane.slice(from, plane.len())
            })
        };
        let place = (first * self.rows + start) * self.columns;
        let len = ((n - 1) * self.rows + end - start) * self.columns;
        Run {
            n,
            rows: end - start,
            columns: self.columns,
            depth: self.depth,
            n_terms: left.n,
            left: lanes(left, first * left.matrix + start * left.across),
            right: lanes(right, first * right.matrix),
            is_negative: [0, 1].map(|parity| left.signs[parity].1 != right.signs[parity].1),
            across: left.across,
            along: left.along,
            left_matrix: left.matrix,
            right_row: right.along,
            right_matrix: right.matrix,
            result: self.result.slice_mut(place, place + len),
        }
    }
}

/// The results of one part, or of both while their operands are near.
#[derive(Clone, Copy)]
pub(super) struct Parts<T> {
    pub(super) first: Matrices<T>,
    pub(super) second: Option<Matrices<T>>,
}

/// Makes results.
pub(super) fn multiply<T: Lane>(workers: &Workers<'_>, parts: Parts<T>) -> Result<()> {
    let kernel = kernel::<T>(workers.isa);
    let cut = Cut::of(&parts.first);
    let is_worth = parts.first.is_worth_a_thread();
    workers.tasks(cut.n_tasks, is_worth, move |task, _| parts.make(&kernel, &cut, task))
}

/// Makes the results of several products of the same extents.
pub(super) fn multiply_all<T: Lane>(workers: &Workers<'_>, all: Vec<Parts<T>>) -> Result<()> {
    let Some(first) = all.first().map(|parts| parts.first) else { return Ok(()) };
    let kernel = kernel::<T>(workers.isa);
    let cut = Cut::of(&first);
    let terms = first.n * first.rows * first.columns * first.n_terms();
    let group = (TASK / terms.max(1)).max(1);
    let is_worth = all.len() * terms >= WORTH_A_THREAD;
    workers.tasks(all.len().div_ceil(group), is_worth, move |task, goes_on| {
        let start = task * group;
        for parts in &all[start..all.len().min(start + group)] {
            for task in 0..cut.n_tasks {
                if !goes_on() {
                    return;
                }
                parts.make(&kernel, &cut, task);
            }
        }
    })
}

/// How products are cut into tasks: some matrices each, or some rows of one.
struct Cut {
    most_rows: usize,
    n_blocks: usize,
    group: usize,
    n_tasks: usize,
}

impl Cut {
    fn of<T: Lane>(matrices: &Matrices<T>) -> Self {
        let Matrices { n, rows, columns, .. } = *matrices;
        let a_row = columns * matrices.n_terms();
        let most_rows = (TASK / a_row).clamp(1, rows);
        let n_blocks = rows.div_ceil(most_rows);
        let group = if n_blocks == 1 { (TASK / (a_row * rows)).max(1) } else { 1 };
        Self { most_rows, n_blocks, group, n_tasks: n.div_ceil(group) * n_blocks }
    }
}

impl<T: Lane> Parts<T> {
    fn make(&self, kernel: &Small<T>, cut: &Cut, task: usize) {
        let Self { first, second } = *self;
        let (matrix, start) =
            (task / cut.n_blocks * cut.group, task % cut.n_blocks * cut.most_rows);
        let block = [start, first.rows.min(start + cut.most_rows)];
        let group = cut.group.min(first.n - matrix);
        let parts = || [Some(first), second].into_iter().flatten();
        if first.right.across == 1 {
            parts().for_each(|matrices| kernel.0(matrices.run(matrix, group, block)));
            return;
        }
        // Right matrices that lie column by column are turned, one after the other.
        let mut planes = [Vec::new(), Vec::new()];
        for matrix in matrix..matrix + group {
            first.turn_right(&mut planes, matrix);
            for matrices in parts() {
                let mut run = matrices.run(matrix, 1, block);
                let right = matrices.right;
                run.right = right.signs.map(|(is_imag, _)| &planes[usize::from(is_imag)][..]);
                run.right_row = first.columns;
                kernel.0(run);
            }
        }
    }
}

impl<T: Lane> Matrices<T> {
    /// The rows of a right matrix that lies column by column: real lanes, and imaginary ones.
    fn turn_right(&self, planes: &mut [Vec<T>; 2], matrix: usize) {
        let (right, depth, columns) = (self.right, self.depth, self.columns);
        for (to, plane) in planes.iter_mut().zip(right.planes).take(right.n) {
            to.resize(depth * columns, T::default());
            for column in 0..columns {
                let start = matrix * right.matrix + column * right.across;
                let from = plane.slice(start, start + depth);
                let to = to[column..].iter_mut().step_by(columns);
                to.zip(from).for_each(|(to, &from)| *to = from);
            }
        }
    }
}

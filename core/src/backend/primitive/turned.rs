//! Matrices turned: `turned_vectors.rs` where they are large and there are vectors for it, otherwise tile by tile; each is
//! copied to a near place by rows, and from there by columns.

use std::array::from_fn;

use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::{WORTH_A_THREAD, Workers};
#[cfg(target_arch = "x86_64")]
use super::turned_vectors;
#[cfg(target_arch = "x86_64")]
use super::vectors::Vectors;
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::primitive::Turned;

/// Rows and columns of a tile: long enough runs of memory for a processor to fetch ahead.
const SIDE: usize = 256;
/// Lanes from a row of a tile to the next, so that those of a column lie in different lines of a cache.
const STEP: usize = SIDE + 4;
/// Tiles below each other that follow on each other: what is written next to each other lies in the same pages.
const STRIP: usize = 8;
/// Lanes that are worth a task.
const TASK: usize = 1 << 18;
/// Lanes of a task that puts rows side by side.
const BESIDE: usize = 1 << 15;

/// Matrices one behind the other, of lanes of any type.
///
/// # Errors
/// `Interrupted`.
pub(super) fn turn(
    workers: &Workers<'_>,
    turned: Turned,
    x: MemoryArray,
    result: MemoryArray,
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = Vectors::of(workers.isa)
        && turned_vectors::pays(turned, x.dtype.bytes())
    {
        match x.dtype.bytes() {
            4 => {
                let (x, result) = (Lanes::of(x), Lanes::of(result));
                return turned_vectors::turn::<u32, 16>(workers, vectors, turned, x, result);
            }
            8 => {
                let (x, result) = (Lanes::of(x), Lanes::of(result));
                return turned_vectors::turn::<u64, 8>(workers, vectors, turned, x, result);
            }
            _ => {}
        }
    }
    match x.dtype.bytes() {
        1 => words::<u8>(workers, turned, Lanes::of(x), Lanes::of(result)),
        2 => words::<u16>(workers, turned, Lanes::of(x), Lanes::of(result)),
        4 => words::<u32>(workers, turned, Lanes::of(x), Lanes::of(result)),
        _ => words::<u64>(workers, turned, Lanes::of(x), Lanes::of(result)),
    }
}

fn words<T: Copy + 'static>(
    workers: &Workers<'_>,
    Turned { rows, columns }: Turned,
    x: Lanes<T>,
    result: Lanes<T>,
) -> Result<()> {
    let [rows, columns] = [rows, columns].map(exactly::<usize>);
    match rows {
        2 => return beside::<T, 2>(workers, columns, x, result),
        3 => return beside::<T, 3>(workers, columns, x, result),
        4 => return beside::<T, 4>(workers, columns, x, result),
        _ => {}
    }
    let [down, across] = [rows, columns].map(|n| n.div_ceil(SIDE));
    let strip = STRIP.min(down);
    let each = down.next_multiple_of(strip) * across;
    let n_tiles = x.len() / (rows * columns) * each;
    let at_once = (TASK / (SIDE.min(rows) * SIDE.min(columns))).max(1);
    let is_worth = x.len() >= WORTH_A_THREAD;
    let near = workers.scratch::<T>(workers.pool.threads() * SIDE * STEP)?;
    let places = near.places(SIDE * STEP);
    let turn = move |tile: usize, near: &mut [[T; STEP]]| {
        let (first, tile) = (tile / each * rows * columns, tile % each);
        let row = (tile / (strip * across) * strip + tile % strip) * SIDE;
        let column = tile / strip % across * SIDE;
        let (height, width) = (rows.saturating_sub(row).min(SIDE), (columns - column).min(SIDE));
        for (i, near) in near[..height].iter_mut().enumerate() {
            let at = first + (row + i) * columns + column;
            near[..width].copy_from_slice(x.slice(at, at + width));
        }
        for j in 0..width * usize::from(height > 0) {
            let at = first + (column + j) * rows + row;
            let to = result.slice_mut(at, at + height);
            to.iter_mut().zip(&*near).for_each(|(to, row): (_, &[T; STEP])| *to = row[j]);
        }
    };
    workers.tasks(n_tiles.div_ceil(at_once), is_worth, move |task, goes_on| {
        places.with(|_, near| {
            let near = near.slice_mut(0, near.len()).as_chunks_mut().0;
            let tiles = task * at_once..n_tiles.min((task + 1) * at_once);
            tiles.take_while(|_| goes_on()).for_each(|tile| turn(tile, near));
        });
    })
}

/// Matrices of so few rows that a column is less than a vector: lanes of all of them side by side.
fn beside<T: Copy + 'static, const ROWS: usize>(
    workers: &Workers<'_>,
    columns: usize,
    x: Lanes<T>,
    result: Lanes<T>,
) -> Result<()> {
    let across = columns.div_ceil(BESIDE);
    let n_tasks = x.len() / (ROWS * columns) * across;
    workers.tasks(n_tasks, x.len() >= WORTH_A_THREAD, move |task, _| {
        let first = task / across * ROWS * columns;
        let column = task % across * BESIDE;
        let end = columns.min(column + BESIDE);
        let rows: [&[T]; ROWS] =
            from_fn(|i| x.slice(first + i * columns + column, first + i * columns + end));
        let to = result.slice_mut(first + column * ROWS, first + end * ROWS);
        let (to, _) = to.as_chunks_mut::<ROWS>();
        let rows = rows.map(|row| &row[..to.len()]);
        for (j, to) in to.iter_mut().enumerate() {
            *to = from_fn(|i| rows[i][j]);
        }
    })
}

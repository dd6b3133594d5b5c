//! Where values are along an axis: lines of neighbours are looked at from the front, others side by side. Who has found it
//! looks no further.
#![expect(unsafe_code, reason = "instructions that not every processor has")]

use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::{PIECE, WORTH_A_THREAD, Workers};
use crate::backend::isa::Isa;
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::primitive::Lines;

/// What is found where there is none.
const NOWHERE: u32 = u32::MAX;
/// Entries of a line that are compared at once.
const AT_ONCE: usize = 64;
/// Columns of a task, at least and at most, and rows after which it is seen whether all are found.
const COLUMNS: [usize; 2] = [64, 4096];
const ROWS: usize = 1024;
/// Tasks that each thread should have.
const TASKS_A_THREAD: usize = 4;

/// The places of values in lanes `[outer, extent, inner]` along the middle.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`.
pub(super) fn find(
    workers: &Workers<'_>,
    lines: Lines,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    let (x, values, result) = (operands[0], operands[1], Lanes::of(result));
    match x.dtype.bytes() {
        1 => among::<u8>(workers, lines, Lanes::of(x), Lanes::of(values), result),
        2 => among::<u16>(workers, lines, Lanes::of(x), Lanes::of(values), result),
        4 => among::<u32>(workers, lines, Lanes::of(x), Lanes::of(values), result),
        _ => among::<u64>(workers, lines, Lanes::of(x), Lanes::of(values), result),
    }
}

fn among<T: Copy + PartialEq + 'static>(
    workers: &Workers<'_>,
    lines: Lines,
    x: Lanes<T>,
    values: Lanes<T>,
    result: Lanes<u32>,
) -> Result<()> {
    let [extent, inner] = [lines.extent, lines.inner].map(exactly::<usize>);
    if inner == 1 {
        return in_lines(workers, extent, x, values, result);
    }
    let outer = result.len() / inner;
    let tasks = TASKS_A_THREAD * workers.pool.threads();
    let [least, most] = COLUMNS;
    let width = inner.div_ceil(tasks.div_ceil(outer)).clamp(least, most).min(inner);
    let n_widths = inner.div_ceil(width);
    // Where there are few columns, a task has some of the rows.
    let n_pieces = tasks.div_ceil(outer * n_widths).min(extent.div_ceil(ROWS));
    let rows = extent.div_ceil(n_pieces);
    let n_pieces = extent.div_ceil(rows);
    let scratch = match n_pieces {
        1 => None,
        _ => Some(workers.scratch::<u32>(result.len() * n_pieces)?),
    };
    let places = scratch.as_ref().map_or(result, |scratch| scratch.lanes);
    let look = by_isa(workers.isa, [in_columns::<T>, in_columns_avx2, in_columns_avx512]);
    let n_tasks = outer * n_pieces * n_widths;
    workers.tasks(n_tasks, x.len() >= WORTH_A_THREAD, move |task, goes_on| {
        let (piece, column) = (task / n_widths, task % n_widths * width);
        let (line, from) = (piece / n_pieces, piece % n_pieces * rows);
        let columns = width.min(inner - column);
        let found = places.slice_mut(piece * inner + column, piece * inner + column + columns);
        found.fill(NOWHERE);
        let own = values.slice(line * inner + column, line * inner + column + columns);
        // Rows that are one behind the other are compared at once.
        let together = if columns == inner { AT_ONCE.div_ceil(columns) } else { 1 };
        let own: Vec<T> = own.iter().copied().cycle().take(together * columns).collect();
        let to = extent.min(from + rows);
        for first in (from..to).step_by(ROWS) {
            let last = to.min(first + ROWS) - 1;
            let at = |row: usize| (line * extent + row) * inner + column;
            let lanes = x.slice(at(first), at(last) + columns);
            // SAFETY: the instructions are those of the processor.
            unsafe { look(lanes, inner, first, &own, found) };
            if !goes_on() || found.iter().all(|&place| place != NOWHERE) {
                return;
            }
        }
    })?;
    if n_pieces > 1 {
        for place in 0..result.len() {
            let (line, column) = (place / inner, place % inner);
            let of_piece = |piece: usize| places.get((line * n_pieces + piece) * inner + column);
            result.set(place, (0..n_pieces).map(of_piece).min().unwrap_or(NOWHERE));
        }
    }
    Ok(())
}

/// Of lines whose entries are neighbours; long ones in pieces, of which the first that finds it counts.
fn in_lines<T: Copy + PartialEq + 'static>(
    workers: &Workers<'_>,
    extent: usize,
    x: Lanes<T>,
    values: Lanes<T>,
    result: Lanes<u32>,
) -> Result<()> {
    let n_pieces = extent.div_ceil(PIECE);
    let scratch =
        if n_pieces > 1 { Some(workers.scratch::<u32>(result.len() * n_pieces)?) } else { None };
    let places = scratch.as_ref().map_or(result, |scratch| scratch.lanes);
    let at_once = (PIECE / extent).max(1);
    let look = by_isa(workers.isa, [in_line::<T>, in_line_avx2, in_line_avx512]);
    let n = places.len();
    workers.tasks(n.div_ceil(at_once), x.len() >= WORTH_A_THREAD, move |task, _| {
        for piece in task * at_once..n.min((task + 1) * at_once) {
            let (line, start) = (piece / n_pieces, piece % n_pieces * PIECE);
            let end = extent.min(start + PIECE);
            let lanes = x.slice(line * extent + start, line * extent + end);
            // SAFETY: the instructions are those of the processor.
            let place = unsafe { look(lanes, values.get(line)) };
            places.set(piece, place.map_or(NOWHERE, |place| exactly::<u32>(start + place)));
        }
    })?;
    if n_pieces > 1 {
        for line in 0..result.len() {
            let of_line = places.slice(line * n_pieces, (line + 1) * n_pieces);
            result.set(line, of_line.iter().copied().min().unwrap_or(NOWHERE));
        }
    }
    Ok(())
}

fn by_isa<F>(isa: Isa, [baseline, avx2, avx512]: [F; 3]) -> F {
    match isa {
        Isa::Baseline | Isa::Neon => baseline,
        Isa::Avx2 => avx2,
        Isa::Avx512 => avx512,
    }
}

/// # Safety
/// None is needed.
#[inline(always)]
unsafe fn in_line<T: Copy + PartialEq>(lanes: &[T], value: T) -> Option<usize> {
    let (blocks, rest) = lanes.as_chunks::<AT_ONCE>();
    let is_in = |block: &[T]| block.iter().fold(false, |is_in, &lane| is_in | (lane == value));
    let of = |lanes: &[T]| lanes.iter().position(|&lane| lane == value);
    match blocks.iter().position(|block| is_in(block)) {
        Some(block) => of(&blocks[block]).map(|place| block * AT_ONCE + place),
        None => of(rest).map(|place| blocks.len() * AT_ONCE + place),
    }
}

/// Rows of lanes from one of a number on, each `stride` behind the one before; values of one row, or of several that are
/// compared at once.
///
/// # Safety
/// None is needed.
#[inline(always)]
unsafe fn in_columns<T: Copy + PartialEq>(
    lanes: &[T],
    stride: usize,
    first: usize,
    values: &[T],
    found: &mut [u32],
) {
    let columns = found.len();
    let together = values.len() / columns;
    for (block, rows) in lanes.chunks(together * stride).enumerate() {
        let pairs = || rows.iter().zip(values);
        if !pairs().fold(false, |is_in, (lane, value)| is_in | (lane == value)) {
            continue;
        }
        for (place, (lane, value)) in pairs().enumerate() {
            if lane == value {
                let row = exactly::<u32>(first + block * together + place / columns);
                let found = &mut found[place % columns];
                *found = row.min(*found);
            }
        }
    }
}

/// # Safety
/// Needs AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn in_line_avx2<T: Copy + PartialEq>(lanes: &[T], value: T) -> Option<usize> {
    // SAFETY: it needs none.
    unsafe { in_line(lanes, value) }
}

/// # Safety
/// Needs AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn in_columns_avx2<T: Copy + PartialEq>(
    lanes: &[T],
    stride: usize,
    first: usize,
    values: &[T],
    found: &mut [u32],
) {
    // SAFETY: it needs none.
    unsafe { in_columns(lanes, stride, first, values, found) }
}

/// # Safety
/// Needs AVX-512.
#[cfg_attr(
    target_arch = "x86_64",
    target_feature(enable = "avx2,avx512f,avx512dq,avx512vl,avx512bw")
)]
unsafe fn in_line_avx512<T: Copy + PartialEq>(lanes: &[T], value: T) -> Option<usize> {
    // SAFETY: it needs none.
    unsafe { in_line(lanes, value) }
}

/// # Safety
/// Needs AVX-512.
#[cfg_attr(
    target_arch = "x86_64",
    target_feature(enable = "avx2,avx512f,avx512dq,avx512vl,avx512bw")
)]
unsafe fn in_columns_avx512<T: Copy + PartialEq>(
    lanes: &[T],
    stride: usize,
    first: usize,
    values: &[T],
    found: &mut [u32],
) {
    // SAFETY: it needs none.
    unsafe { in_columns(lanes, stride, first, values, found) }
}

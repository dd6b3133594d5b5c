//! Reductions along an axis, in the order of S11.
//!
//! Where few entries are beside the axis, blocks of entries along it lie one behind the other; where there are many, a task
//! has a piece of each row. Either way rows are added to 32 accumulators in turn, which lie in a cache, and every entry
//! is read once, in the order of memory.
#![expect(unsafe_code, reason = "instructions that not every processor has")]

use std::array::from_fn;
use std::ops::Range;
use std::slice;

use super::MemoryArray;
use super::lanes::{Lanes, Numbers};
use super::pieces::{WORTH_A_THREAD, Workers};
use crate::backend::isa::Isa;
use crate::backend::reduce::{ACCUMULATORS, CHUNK};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::{Along, Windows};
use crate::ir::scalar::{Lane, with_lane, with_word};

/// Bytes of a piece of a row. Accumulators of such lie in a second- or third-level cache; memory that is read in order is
/// worth more than a nearer cache for them.
const PIECE_BYTES: usize = 1 << 16;
/// The same at least, where pieces are more for the sake of threads; and how many each thread should have.
const LEAST_PIECE_BYTES: usize = 1 << 10;
const TASKS_A_THREAD: usize = 4;
/// Rows of an accumulator that are added at once.
const AT_ONCE: usize = 4;
/// Lanes that are worth a task.
const TASK: usize = 1 << 16;
/// Lines that are combined side by side, lanes of one place as a vector.
const SIDE_BY_SIDE: usize = 64;
/// Lanes of such a line at most: longer ones fill vectors by themselves.
const SHORT: usize = 20;

/// Lanes `[outer, extent, inner]`, combined along the middle, and perhaps times factors before.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`.
pub(super) fn reduce(
    workers: &Workers<'_>,
    along: Along,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    let (op, x) = (along.op, operands[0]);
    // Without factors any array will do: nobody looks.
    let factors = operands[operands.len() - 1];
    let arrays = [x, factors, result];
    with_word!(x.dtype,
        T => match along.is_weighted {
            true => weighted::<T>(workers.isa, op).reduce(workers, along, arrays.map(Lanes::of)),
            false => numbers::<T>(workers.isa, op).reduce(workers, along, arrays.map(Lanes::of)),
        },
        // Truth values are bytes.
        mask => truths(workers.isa, op).reduce(workers, along, arrays.map(Lanes::of)))
}

/// Lines of neighbours, which may share lanes, each combined where it lies: operands are lanes and where lines begin.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`.
pub(super) fn reduce_windows(
    workers: &Workers<'_>,
    windows: Windows,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    let op = windows.op;
    let (x, starts) = (operands[0], Numbers::of(operands[1]));
    // Without factors any array will do: nobody looks.
    let arrays = [x, operands.get(2).copied().unwrap_or(x), result];
    with_word!(x.dtype,
    T => {
        let step = if windows.is_weighted { weighted::<T> } else { numbers::<T> };
        step(workers.isa, op).reduce_windows(workers, windows, starts, arrays.map(Lanes::of))
    },
    mask => {
        truths(workers.isa, op).reduce_windows(workers, windows, starts, arrays.map(Lanes::of))
    })
}

/// Blocks of entries along the axis that combine to a row each.
struct Blocks<'a, T> {
    /// From the first lane of the first block to the last of the last one.
    lanes: &'a [T],
    /// Rows of a block, the last one of which may have fewer.
    rows: usize,
    /// Lanes from a row to the next, and how many of them are entries; where there are others, there is one block.
    stride: usize,
    width: usize,
    /// One for each row of a block, if there are factors.
    factors: &'a [T],
    /// Room for 32 rows.
    accumulators: &'a mut [T],
    results: &'a mut [T],
}

/// How entries combine.
struct Step<T> {
    nothing: T,
    /// # Safety
    /// The processor must have the instructions.
    blocks: unsafe fn(T, Blocks<'_, T>),
    pair: fn(T, T) -> T,
}

impl<T> Clone for Step<T>
where
    T: Copy,
{
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy> Copy for Step<T> {}

fn numbers<T: Lane>(isa: Isa, op: ReduceOp) -> Step<T> {
    match op.combine() {
        Op::Mul => step::<T, { Op::Mul as u8 }, false>(isa, op),
        Op::Min => step::<T, { Op::Min as u8 }, false>(isa, op),
        Op::Max => step::<T, { Op::Max as u8 }, false>(isa, op),
        _ => step::<T, { Op::Add as u8 }, false>(isa, op),
    }
}

fn weighted<T: Lane>(isa: Isa, op: ReduceOp) -> Step<T> {
    step::<T, { Op::Add as u8 }, true>(isa, op)
}

fn truths(isa: Isa, op: ReduceOp) -> Step<u8> {
    match op {
        ReduceOp::All => step::<u8, { Op::And as u8 }, false>(isa, op),
        _ => step::<u8, { Op::Or as u8 }, false>(isa, op),
    }
}

fn step<T: Lane, const OP: u8, const BY: bool>(isa: Isa, op: ReduceOp) -> Step<T> {
    let blocks: unsafe fn(T, Blocks<'_, T>) = match isa {
        Isa::Baseline | Isa::Neon => combine::<T, OP, BY>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => combine_avx2::<T, OP, BY>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => combine_avx512::<T, OP, BY>,
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::Avx512 => combine::<T, OP, BY>,
    };
    Step { nothing: T::identity(op), blocks, pair: pair::<T, OP> }
}

impl<T: Lane> Step<T> {
    fn reduce(self, workers: &Workers<'_>, along: Along, arrays: [Lanes<T>; 3]) -> Result<()> {
        let [x, factors, result] = arrays;
        let [extent, inner] = [along.extent, along.inner].map(exactly::<usize>);
        let outer = result.len() / inner;
        let n_chunks = extent.div_ceil(CHUNK);
        let scratch = match n_chunks {
            1 => None,
            _ => Some(workers.scratch::<T>(outer * n_chunks * inner)?),
        };
        let chunks = scratch.as_ref().map_or(result, |scratch| scratch.lanes);
        let is_worth = x.len() >= WORTH_A_THREAD;
        let pieces = (TASKS_A_THREAD * workers.pool.threads()).div_ceil(outer * n_chunks);
        let narrow = if is_worth { inner.div_ceil(pieces) } else { inner };
        let [least, most] = [LEAST_PIECE_BYTES, PIECE_BYTES].map(|bytes| bytes / size_of::<T>());
        let width = narrow.next_multiple_of(least).min(most).min(inner);
        let n_widths = inner.div_ceil(width);
        let n_blocks = outer * n_chunks * n_widths;
        let rows = extent.min(CHUNK);
        let at_once = (TASK / (rows * width)).max(1);
        // Blocks that lie one behind the other.
        let is_run = n_chunks * n_widths == 1;
        // Each thread has accumulators of its own.
        let (threads, room) = (workers.pool.threads(), ACCUMULATORS * width);
        let scratch = workers.scratch::<T>(threads * room)?;
        let places = scratch.places(room);
        let each = move |task: usize, accumulators: &mut [T], goes_on: &dyn Fn() -> bool| {
            let blocks = task * at_once..n_blocks.min((task + 1) * at_once);
            let mut reduce = |lanes: Range<usize>, results: Range<usize>, of: Range<usize>| {
                let blocks = Blocks {
                    lanes: x.slice(lanes.start, lanes.end),
                    rows,
                    stride: inner,
                    width: width.min(results.len()),
                    factors: if along.is_weighted { factors.slice(of.start, of.end) } else { &[] },
                    accumulators: &mut *accumulators,
                    results: chunks.slice_mut(results.start, results.end),
                };
                // SAFETY: the instructions are those of the processor.
                unsafe { (self.blocks)(self.nothing, blocks) };
            };
            if is_run {
                let [start, end] = [blocks.start, blocks.end].map(|block| block * inner);
                reduce(start * extent..end * extent, start..end, 0..extent);
            }
            for block in blocks {
                if is_run || !goes_on() {
                    break;
                }
                let (chunk, column) = (block / n_widths, block % n_widths * width);
                let (row, first) = (chunk / n_chunks, chunk % n_chunks * CHUNK);
                let columns = width.min(inner - column);
                let last = extent.min(first + CHUNK) - 1;
                let at = |entry: usize| (row * extent + entry) * inner + column;
                let start = chunk * inner + column;
                reduce(at(first)..at(last) + columns, start..start + columns, first..last + 1);
            }
        };
        workers.tasks(n_blocks.div_ceil(at_once), is_worth, move |task, goes_on| {
            places.with(|_, place| each(task, place.slice_mut(0, room), goes_on));
        })?;
        if n_chunks == 1 {
            return Ok(());
        }
        // The results of the chunks lie one behind the other; those of a level take the places of the first ones.
        workers.tasks(outer * n_widths, is_worth, move |task, goes_on| {
            let (row, column) = (task / n_widths, task % n_widths * width);
            let columns = column..inner.min(column + width);
            let at = |chunk: usize, column: usize| (row * n_chunks + chunk) * inner + column;
            let mut n = n_chunks;
            while n > 1 && goes_on() {
                for chunk in 0..n.div_ceil(2) {
                    for column in columns.clone() {
                        let first = chunks.get(at(2 * chunk, column));
                        let both = match 2 * chunk + 1 < n {
                            true => (self.pair)(first, chunks.get(at(2 * chunk + 1, column))),
                            false => first,
                        };
                        chunks.set(at(chunk, column), both);
                    }
                }
                n = n.div_ceil(2);
            }
            for column in columns {
                result.set(row * inner + column, chunks.get(at(0, column)));
            }
        })
    }
}

impl<T: Lane> Step<T> {
    fn reduce_windows(
        self,
        workers: &Workers<'_>,
        windows: Windows,
        starts: Numbers,
        arrays: [Lanes<T>; 3],
    ) -> Result<()> {
        let [x, factors, result] = arrays;
        let extent = exactly::<usize>(windows.extent);
        let (n, n_chunks) = (result.len(), extent.div_ceil(CHUNK));
        let at_once = (TASK / extent).max(1);
        let is_worth = n.saturating_mul(extent) >= WORTH_A_THREAD;
        // Each thread has room for the chunks of a line.
        let scratch = workers.scratch::<T>(workers.pool.threads() * n_chunks)?;
        let places = scratch.places(n_chunks);
        workers.tasks(n.div_ceil(at_once), is_worth, move |task, goes_on| {
            let factors = if windows.is_weighted { factors.slice(0, extent) } else { &[] };
            places.with(|_, place| {
                let chunks = place.slice_mut(0, n_chunks);
                for line in task * at_once..n.min((task + 1) * at_once) {
                    if !goes_on() {
                        break;
                    }
                    let start = starts.get(line);
                    let lanes = x.slice(start, start + extent);
                    result.set(line, self.line(lanes, factors, chunks));
                }
            });
        })
    }

    /// A line, combined by way of its chunks.
    fn line(self, lanes: &[T], factors: &[T], chunks: &mut [T]) -> T {
        for (i, (lanes, result)) in lanes.chunks(CHUNK).zip(&mut *chunks).enumerate() {
            let blocks = Blocks {
                lanes,
                rows: lanes.len(),
                stride: 1,
                width: 1,
                factors: factors.get(i * CHUNK..i * CHUNK + lanes.len()).unwrap_or_default(),
                accumulators: &mut [],
                results: slice::from_mut(result),
            };
            // SAFETY: the instructions are those of the processor.
            unsafe { (self.blocks)(self.nothing, blocks) };
        }
        let mut n = chunks.len();
        while n > 1 {
            for chunk in 0..n.div_ceil(2) {
                let first = chunks[2 * chunk];
                let second = chunks[..n].get(2 * chunk + 1);
                chunks[chunk] = second.map_or(first, |&second| (self.pair)(first, second));
            }
            n = n.div_ceil(2);
        }
        chunks[0]
    }
}

fn pair<T: Lane, const OP: u8>(a: T, b: T) -> T {
    T::apply(const { Op::from_number(OP) }, a, b, b)
}

/// # Safety
/// Needs AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn combine_avx2<T: Lane, const OP: u8, const BY: bool>(nothing: T, blocks: Blocks<'_, T>) {
    combine::<T, OP, BY>(nothing, blocks);
}

/// # Safety
/// Needs AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
unsafe fn combine_avx512<T: Lane, const OP: u8, const BY: bool>(nothing: T, blocks: Blocks<'_, T>) {
    combine::<T, OP, BY>(nothing, blocks);
}

/// Inlined where there are vectors.
#[inline(always)]
fn combine<T: Lane, const OP: u8, const BY: bool>(nothing: T, blocks: Blocks<'_, T>) {
    let Blocks { lanes, rows, stride, width, factors, accumulators, results } = blocks;
    if stride == 1 && rows <= SHORT {
        return combine_short_lines::<T, OP, BY>(lanes, factors, rows, results);
    }
    if stride == 1 {
        return combine_lines::<T, OP, BY>(nothing, lanes, factors, rows, results);
    }
    let each = accumulators.len() / ACCUMULATORS;
    for (block, result) in lanes.chunks(rows * stride).zip(results.chunks_exact_mut(width)) {
        // Rows that are one behind the other are taken together, if they have no factors of their own.
        let together = if stride == each && !BY { ACCUMULATORS } else { 1 };
        let n_rows = block.len().div_ceil(stride);
        let mut first = 0;
        // Of each accumulator several rows at once: it is read and written once for them.
        while first + AT_ONCE * ACCUMULATORS <= n_rows {
            for i in (0..ACCUMULATORS).step_by(together) {
                let row = |k: usize| first + k * ACCUMULATORS + i;
                let rows: [&[T]; AT_ONCE] =
                    from_fn(|k| &block[row(k) * stride..][..together * width]);
                let factors = from_fn(|k| if BY { factors[row(k)] } else { nothing });
                let sums = &mut accumulators[i * each..][..together * width];
                add_rows::<T, OP, BY, _>(sums, rows, factors, first == 0);
            }
            first += AT_ONCE * ACCUMULATORS;
        }
        for (i, rows) in
            block[(first * stride).min(block.len())..].chunks(together * stride).enumerate()
        {
            let first = first + i * together;
            let lanes = &rows[..rows.len().min(together * width)];
            let sums = &mut accumulators[first % ACCUMULATORS * each..][..lanes.len()];
            let factors = [if BY { factors[first] } else { nothing }];
            add_rows::<T, OP, BY, _>(sums, [lanes], factors, first < ACCUMULATORS);
        }
        let mut used = block.len().div_ceil(stride).min(ACCUMULATORS);
        for half in [16, 8, 4, 2, 1] {
            if used > half {
                let (first, second) = accumulators.split_at_mut(half * each);
                add::<T, OP>(first, &second[..(used - half) * each]);
                used = half;
            }
        }
        result.copy_from_slice(&accumulators[..width]);
    }
}

/// Adds rows, each times its factor if there are some, to sums, or to nothing.
#[inline(always)]
fn add_rows<T: Lane, const OP: u8, const BY: bool, const N: usize>(
    sums: &mut [T],
    rows: [&[T]; N],
    factors: [T; N],
    is_first: bool,
) {
    let op = const { Op::from_number(OP) };
    let rows = rows.map(|row| &row[..sums.len()]);
    let entry = |k: usize, i: usize| {
        let entry = rows[k][i];
        if BY { T::apply(Op::Mul, entry, factors[k], factors[k]) } else { entry }
    };
    for (i, place) in sums.iter_mut().enumerate() {
        let mut sum = entry(0, i);
        if !is_first {
            sum = T::apply(op, *place, sum, sum);
        }
        for k in 1..N {
            let next = entry(k, i);
            sum = T::apply(op, sum, next, next);
        }
        *place = sum;
    }
}

/// Blocks of so many lanes that combine to one each: the accumulators stay in registers.
#[inline(always)]
fn combine_lines<T: Lane, const OP: u8, const BY: bool>(
    nothing: T,
    lanes: &[T],
    factors: &[T],
    length: usize,
    results: &mut [T],
) {
    let op = const { Op::from_number(OP) };
    let times = |lane: T, factor: T| T::apply(Op::Mul, lane, factor, factor);
    // Without factors there are no rows of them.
    let (factor_rows, factors_left) = factors.as_chunks::<ACCUMULATORS>();
    // What is behind lanes stays nothing times one.
    let factors_left = filled(factors_left, T::identity(ReduceOp::Prod));
    let mut lanes = lanes;
    for result in results {
        let (block, others) = lanes.split_at(length.min(lanes.len()));
        let (rows, rest) = block.as_chunks::<ACCUMULATORS>();
        let mut sums = [nothing; ACCUMULATORS];
        if BY {
            for (row, factors) in rows.iter().zip(factor_rows) {
                let mut products = *row;
                for i in 0..ACCUMULATORS {
                    products[i] = times(products[i], factors[i]);
                }
                for i in 0..ACCUMULATORS {
                    sums[i] = T::apply(op, sums[i], products[i], products[i]);
                }
            }
        } else {
            // Any order gives the same least and largest, and a comparison takes longer than an addition: some rows meet
            // each other before they meet the accumulators.
            let order_matters = const { !matches!(Op::from_number(OP), Op::Min | Op::Max) };
            let (groups, single) = rows.as_chunks::<AT_ONCE>();
            let (groups, single) = if order_matters { (&[][..], rows) } else { (groups, single) };
            for [first, others @ ..] in groups {
                let mut row = *first;
                for other in others {
                    for i in 0..ACCUMULATORS {
                        row[i] = T::apply(op, row[i], other[i], other[i]);
                    }
                }
                for i in 0..ACCUMULATORS {
                    sums[i] = T::apply(op, sums[i], row[i], row[i]);
                }
            }
            for row in single {
                for i in 0..ACCUMULATORS {
                    sums[i] = T::apply(op, sums[i], row[i], row[i]);
                }
            }
        }
        if !rest.is_empty() {
            let mut row = filled(rest, nothing);
            if BY {
                for i in 0..ACCUMULATORS {
                    row[i] = times(row[i], factors_left[i]);
                }
            }
            for i in 0..ACCUMULATORS {
                sums[i] = T::apply(op, sums[i], row[i], row[i]);
            }
        }
        for half in [16, 8, 4, 2, 1] {
            for i in 0..half {
                sums[i] = T::apply(op, sums[i], sums[i + half], sums[i + half]);
            }
        }
        *result = sums[0];
        lanes = others;
    }
}

/// At most a row of lanes, and something behind them: each place by itself, which vectors have masks for.
#[inline(always)]
fn filled<T: Lane>(lanes: &[T], behind: T) -> [T; ACCUMULATORS] {
    let mut row = [behind; ACCUMULATORS];
    for (i, place) in row.iter_mut().enumerate() {
        if i < lanes.len() {
            *place = lanes[i];
        }
    }
    row
}

/// The same of so few lanes that each accumulator takes one: those of many lines side by side.
#[inline(always)]
fn combine_short_lines<T: Lane, const OP: u8, const BY: bool>(
    lanes: &[T],
    factors: &[T],
    length: usize,
    results: &mut [T],
) {
    let mut columns = [[T::default(); SIDE_BY_SIDE]; SHORT];
    let lines = lanes.chunks(length * SIDE_BY_SIDE);
    for (lines, results) in lines.zip(results.chunks_mut(SIDE_BY_SIDE)) {
        for (i, line) in lines.chunks(length).enumerate() {
            columns.iter_mut().zip(line).for_each(|(column, &lane)| column[i] = lane);
        }
        if BY {
            for (column, &factor) in columns.iter_mut().zip(factors) {
                column.iter_mut().for_each(|lane| *lane = T::apply(Op::Mul, *lane, factor, factor));
            }
        }
        let mut used = length;
        for half in [16, 8, 4, 2, 1] {
            if used > half {
                let (sums, others) = columns.split_at_mut(half);
                for (sums, others) in sums.iter_mut().zip(&others[..used - half]) {
                    add::<T, OP>(sums, others);
                }
                used = half;
            }
        }
        results.copy_from_slice(&columns[0][..results.len()]);
    }
}

/// Lane by lane, as far as there are some.
#[inline(always)]
fn add<T: Lane, const OP: u8>(sums: &mut [T], lanes: &[T]) {
    for (sum, &lane) in sums.iter_mut().zip(lanes) {
        *sum = T::apply(const { Op::from_number(OP) }, *sum, lane, lane);
    }
}

//! Sums of blocks of neighbours, each in the order of its lanes.
//!
//! An addition waits for the one before it in its block. So several blocks are added side by side, lane by lane, each in a
//! register.

use std::array::from_fn;
use std::ops::Range;

use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::{WORTH_A_THREAD, Workers};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::Lane;

/// Blocks side by side: a processor has as many additions under way, and registers for where the blocks are.
const SIDE_BY_SIDE: usize = 8;
/// Lanes of a block between two questions whether to go on.
const PATIENCE: usize = 1 << 16;
/// Lanes that are worth a task.
const TASK: usize = 1 << 16;

/// Blocks of `extent` lanes.
///
/// # Errors
/// `Interrupted`.
pub(super) fn sum(
    workers: &Workers<'_>,
    extent: u64,
    x: MemoryArray,
    result: MemoryArray,
) -> Result<()> {
    let extent = exactly::<usize>(extent);
    match x.dtype {
        DType::F64 => sum_as::<f64>(workers, extent, Lanes::of(x), Lanes::of(result)),
        _ => sum_as::<f32>(workers, extent, Lanes::of(x), Lanes::of(result)),
    }
}

fn sum_as<T: Lane>(
    workers: &Workers<'_>,
    extent: usize,
    x: Lanes<T>,
    result: Lanes<T>,
) -> Result<()> {
    let n = result.len();
    let at_once = (TASK / extent).next_multiple_of(SIDE_BY_SIDE).max(SIDE_BY_SIDE);
    let is_worth = x.len() >= WORTH_A_THREAD;
    workers.tasks(n.div_ceil(at_once), is_worth, move |task, goes_on| {
        let (first, end) = (task * at_once, n.min((task + 1) * at_once));
        let blocks = x.slice(first * extent, end * extent);
        sum_blocks(blocks, extent, result.slice_mut(first, end), goes_on);
    })
}

/// Blocks one behind the other, as many as sums.
fn sum_blocks<T: Lane>(blocks: &[T], extent: usize, sums: &mut [T], goes_on: &dyn Fn() -> bool) {
    // -0, to which a sum of negative zeros adds up.
    sums.fill(T::identity(ReduceOp::Sum));
    for first in (0..extent).step_by(PATIENCE) {
        if first > 0 && !goes_on() {
            return;
        }
        let places = first..extent.min(first + PATIENCE);
        let left = add::<T, SIDE_BY_SIDE>((blocks, sums), extent, &places);
        let left = add::<T, 4>(left, extent, &places);
        let left = add::<T, 2>(left, extent, &places);
        add::<T, 1>(left, extent, &places);
    }
}

/// Adds lanes at the same places of blocks to their sums, those of `N` blocks at a time; blocks and sums that are left.
#[expect(clippy::needless_range_loop, reason = "all lines go on together")]
fn add<'a, T: Lane, const N: usize>(
    (blocks, sums): (&'a [T], &'a mut [T]),
    extent: usize,
    places: &Range<usize>,
) -> (&'a [T], &'a mut [T]) {
    let length = places.len();
    let (groups, sums_left) = sums.as_chunks_mut::<N>();
    let (blocks, blocks_left) = blocks.split_at(groups.len() * N * extent);
    for (sums, blocks) in groups.iter_mut().zip(blocks.chunks_exact(N * extent)) {
        let lines: [&[T]; N] = from_fn(|i| &blocks[i * extent + places.start..][..length]);
        let mut own = *sums;
        for place in 0..length {
            for i in 0..N {
                let lane = lines[i][place];
                own[i] = T::apply(Op::Add, own[i], lane, lane);
            }
        }
        *sums = own;
    }
    (blocks_left, sums_left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::isa::Isa;
    use crate::backend::primitive::room_of_the_heap;
    use crate::backend::thread_pool::Pool;

    fn array<T: Lane>(lanes: &mut [T]) -> MemoryArray {
        let address = lanes.as_mut_ptr().expose_provenance() as u64;
        MemoryArray { address, size: lanes.len() as u64, dtype: T::DTYPE }
    }

    /// Blocks of numbers whose sums round differently in every order.
    fn check<T: Lane>(extent: usize, n: usize, of: impl Fn(f32) -> T) {
        let lane = |i: usize| of((i as f32 * 0.7).sin() * f32::from(1_u16 << (i % 13)));
        let mut x: Vec<T> = (0..n * extent).map(lane).collect();
        let nothing = T::identity(ReduceOp::Sum);
        let sum = |block: &[T]| {
            block.iter().fold(nothing, |sum, &lane| T::apply(Op::Add, sum, lane, lane)).to_bits64()
        };
        let want: Vec<u64> = x.chunks_exact(extent).map(sum).collect();
        let mut sums = vec![T::default(); n];
        let pool = Pool::new(2);
        let workers = Workers { pool: &pool, isa: Isa::detect(), room: &room_of_the_heap };
        super::sum(&workers, extent as u64, array(&mut x), array(&mut sums)).expect("sums");
        let got: Vec<u64> = sums.into_iter().map(T::to_bits64).collect();
        assert!(got == want, "{n} blocks of {extent} {}", T::DTYPE);
    }

    #[test]
    fn lanes_are_added_one_after_the_other() {
        let extents = [1, 2, 3, 15, 16, 17, 1023, (1 << 16) + 3];
        for (extent, n) in extents.into_iter().flat_map(|extent| (0..18).map(move |n| (extent, n)))
        {
            // Long ones in debug builds take a while.
            if extent < 2000 || n % 14 == 1 {
                check(extent, n, |x| x);
                check(extent, n, f64::from);
            }
        }
        check(5, 40_003, f64::from);
    }
}

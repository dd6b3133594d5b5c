//! The numbers of the true lanes of a mask.

use super::MemoryArray;
use super::lanes::{Lanes, Numbers};
use super::pieces::{Workers, piece_length};
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::primitive::Primitive;

/// Lanes looked at between two copies to the result.
const BLOCK: usize = 1024;

/// Writes the numbers of the true lanes of `mask`, in order; the first lane has the number `base`.
pub(super) fn find(
    workers: &Workers<'_>,
    mask: MemoryArray,
    result: MemoryArray,
    base: u64,
) -> Result<()> {
    match Numbers::of(result) {
        Numbers::U32(result) => {
            let base = exactly::<u32>(base);
            find_as(workers, Lanes::of(mask), result, move |lane| base + exactly::<u32>(lane))
        }
        Numbers::U64(result) => {
            find_as(workers, Lanes::of(mask), result, move |lane| base + lane as u64)
        }
    }
}

/// How many lanes of each chunk are true.
pub(super) fn count(workers: &Workers<'_>, mask: Lanes<u8>, counts: Lanes<u64>) -> Result<()> {
    workers.pieces(mask.len(), move |piece| {
        for first in (piece.start..piece.end).step_by(Primitive::CHUNK) {
            let lanes = mask.slice(first, piece.end.min(first + Primitive::CHUNK));
            let count = lanes.iter().map(|&lane| u64::from(lane & 1)).sum();
            counts.set(first / Primitive::CHUNK, count);
        }
    })
}

fn find_as<I: Copy + Default + Send + Sync + 'static>(
    workers: &Workers<'_>,
    mask: Lanes<u8>,
    result: Lanes<I>,
    number: impl Fn(usize) -> I + Copy + Send + Sync + 'static,
) -> Result<()> {
    let n = mask.len();
    let counts = workers.scratch::<usize>(n.div_ceil(piece_length(n)))?;
    let starts = counts.lanes;
    workers.pieces(n, move |piece| {
        let lanes = mask.slice(piece.start, piece.end);
        starts.set(piece.number, lanes.iter().map(|&lane| usize::from(lane & 1)).sum());
    })?;
    let mut n_before = 0;
    for start in starts.slice_mut(0, starts.len()) {
        n_before += std::mem::replace(start, n_before);
    }
    workers.pieces(n, move |piece| {
        let mut next = starts.get(piece.number);
        let mut found = [I::default(); BLOCK];
        for first in (piece.start..piece.end).step_by(BLOCK) {
            // Every number is written, and counted if its lane is true: no predictor knows which are.
            let mut n_found = 0;
            let lanes = mask.slice(first, piece.end.min(first + BLOCK));
            for (lane, &active) in (first..).zip(lanes) {
                found[n_found] = number(lane);
                n_found += usize::from(active & 1);
            }
            result.slice_mut(next, next + n_found).copy_from_slice(&found[..n_found]);
            next += n_found;
        }
    })
}

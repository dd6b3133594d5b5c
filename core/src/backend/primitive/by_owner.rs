//! Lanes of a scatter by the owners of the elements that they write, those of each owner in their order.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::lanes::Lanes;
use super::pieces::{Workers, lock, piece_length};
use super::{MemoryArray, PrimitiveCall};
use crate::backend::OutOfBounds;
use crate::convert::exactly;
use crate::error::Result;

/// How many lanes write to each owner, then the lowest lane whose index is out of bounds (none: the largest number) and
/// that index: operands indices, where the elements of each owner end, and perhaps which lanes are active.
///
/// # Errors
/// `Interrupted`.
pub(super) fn count(workers: &Workers<'_>, call: &PrimitiveCall) -> Result<()> {
    match call.operands[0].dtype.bytes() {
        1 => count_by::<1>(workers, call),
        2 => count_by::<2>(workers, call),
        4 => count_by::<4>(workers, call),
        _ => count_by::<8>(workers, call),
    }
}

/// Indices and values of the lanes that write, those of the first owner first: operands indices, ends, values, and perhaps
/// which lanes are active.
///
/// # Errors
/// `Interrupted`.
pub(super) fn sort(workers: &Workers<'_>, call: &PrimitiveCall) -> Result<()> {
    let place = |array: &MemoryArray| exactly::<usize>(array.dtype.bytes().trailing_zeros());
    SORTS[place(&call.operands[0])][place(&call.operands[2])](workers, call)
}

type Sort = fn(&Workers<'_>, &PrimitiveCall) -> Result<()>;

/// By the bytes of indices, then of values: 1, 2, 4, 8.
const SORTS: [[Sort; 4]; 4] = [
    [sort_by::<1, 1>, sort_by::<1, 2>, sort_by::<1, 4>, sort_by::<1, 8>],
    [sort_by::<2, 1>, sort_by::<2, 2>, sort_by::<2, 4>, sort_by::<2, 8>],
    [sort_by::<4, 1>, sort_by::<4, 2>, sort_by::<4, 4>, sort_by::<4, 8>],
    [sort_by::<8, 1>, sort_by::<8, 2>, sort_by::<8, 4>, sort_by::<8, 8>],
];

/// Indices of so many bytes, and whose elements they name.
#[derive(Clone)]
struct Indices<const BYTES: usize> {
    lanes: Lanes<[u8; BYTES]>,
    /// Whether they may have a sign.
    is_signed: bool,
    active: Option<Lanes<u8>>,
    /// Where the elements of each owner end.
    ends: Arc<[u64]>,
}

impl<const BYTES: usize> Indices<BYTES> {
    fn of(call: &PrimitiveCall, active: usize) -> Self {
        let ends = Lanes::<u64>::of(call.operands[1]);
        Self {
            lanes: Lanes::of(call.operands[0]),
            is_signed: call.operands[0].dtype.is_signed(),
            active: call.operands.get(active).map(|&active| Lanes::of(active)),
            ends: ends.slice(0, ends.len()).into(),
        }
    }

    /// Calls `each` with the number of every active lane, and the owner of its element or an index that names none.
    #[inline(always)]
    fn each(
        &self,
        lanes: Range<usize>,
        mut each: impl FnMut(usize, std::result::Result<usize, u64>),
    ) {
        let elements = self.ends.last().copied().unwrap_or(0);
        for lane in lanes {
            if self.active.is_some_and(|active| active.get(lane) & 1 == 0) {
                continue;
            }
            let index = extended(&self.lanes.get(lane), self.is_signed);
            let owner = || self.ends.partition_point(|&end| end <= index);
            each(lane, if index < elements { Ok(owner()) } else { Err(index) });
        }
    }

    /// For each piece of the lanes how many write to each owner; the lowest lane that is out of bounds.
    fn count(&self, workers: &Workers<'_>) -> Result<(Arc<[AtomicU64]>, Option<OutOfBounds>)> {
        let (n, owners) = (self.lanes.len(), self.ends.len());
        let n_counts = n.div_ceil(piece_length(n)) * owners;
        let counts: Arc<[AtomicU64]> = (0..n_counts).map(|_| AtomicU64::new(0)).collect();
        let outside = Arc::new(Mutex::new(None::<OutOfBounds>));
        let (indices, all, lowest) = (self.clone(), counts.clone(), outside.clone());
        workers.pieces(n, move |piece| {
            let (mut counts, mut outside) = (vec![0; owners], None);
            indices.each(piece.start..piece.end, |lane, owner| match owner {
                Ok(owner) => counts[owner] += 1,
                Err(index) => {
                    outside = outside.or(Some(OutOfBounds { lane: lane as u64, index }));
                }
            });
            for (to, count) in all[piece.number * owners..].iter().zip(counts) {
                to.store(count, Ordering::Relaxed);
            }
            if outside.is_some() {
                let mut lowest = lock(&lowest);
                *lowest = lowest.into_iter().chain(outside).min();
            }
        })?;
        let outside = *lock(&outside);
        Ok((counts, outside))
    }
}

fn count_by<const INDEX: usize>(workers: &Workers<'_>, call: &PrimitiveCall) -> Result<()> {
    let indices = Indices::<INDEX>::of(call, 2);
    let (counts, outside) = indices.count(workers)?;
    let (owners, result) = (indices.ends.len(), Lanes::<u64>::of(call.result));
    for owner in 0..owners {
        let counts = counts[owner..].iter().step_by(owners);
        result.set(owner, counts.map(|count| count.load(Ordering::Relaxed)).sum());
    }
    let [lane, index] =
        outside.map_or([u64::MAX, 0], |outside| [call.lane_base + outside.lane, outside.index]);
    result.set(owners, lane);
    result.set(owners + 1, index);
    Ok(())
}

fn sort_by<const INDEX: usize, const VALUE: usize>(
    workers: &Workers<'_>,
    call: &PrimitiveCall,
) -> Result<()> {
    let indices = Indices::<INDEX>::of(call, 3);
    let values = Lanes::<[u8; VALUE]>::of(call.operands[2]);
    let (counts, _) = indices.count(workers)?;
    let owners = indices.ends.len();
    // Where each piece puts its lanes.
    let mut next = 0;
    for owner in 0..owners {
        for count in counts[owner..].iter().step_by(owners) {
            next += count.swap(next, Ordering::Relaxed);
        }
    }
    let to = Lanes::<[u8; INDEX]>::of(call.result);
    let of_values = call.imag.expect("internal error: nowhere to put values");
    let values_to = Lanes::<[u8; VALUE]>::of(of_values);
    workers.pieces(indices.lanes.len(), move |piece| {
        let places = counts[piece.number * owners..].iter().take(owners);
        let mut places: Vec<usize> =
            places.map(|place| exactly(place.load(Ordering::Relaxed))).collect();
        indices.each(piece.start..piece.end, |lane, owner| {
            let Ok(owner) = owner else { return };
            to.set(places[owner], indices.lanes.get(lane));
            values_to.set(places[owner], values.get(lane));
            places[owner] += 1;
        });
    })
}

/// An index as 64 bits, with its sign if it may have one.
#[inline(always)]
fn extended<const INDEX: usize>(bytes: &[u8; INDEX], is_signed: bool) -> u64 {
    let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let unused = 64 - 8 * INDEX;
    let high = word << unused;
    if is_signed { (high.cast_signed() >> unused).cast_unsigned() } else { word }
}

//! What lanes find that change elements of an array, one lane after the other: `scatter_inc`, `scatter_exch`,
//! `scatter_cas`.

use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::{PIECE, Workers};
use crate::error::{Error, Result};
use crate::interrupt;

/// Operands target, index (u64) and perhaps active.
pub(super) fn count(
    workers: &Workers<'_>,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    // Wrapping sums have the same bits signed and unsigned.
    match result.dtype.bytes() {
        1 => count_by(workers, operands, result, u8::wrapping_add),
        2 => count_by(workers, operands, result, u16::wrapping_add),
        4 => count_by(workers, operands, result, u32::wrapping_add),
        _ => count_by(workers, operands, result, u64::wrapping_add),
    }
}

/// Operands target, index (u64), value and perhaps compare, whose bits tell.
pub(super) fn exchange(
    workers: &Workers<'_>,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    match result.dtype.bytes() {
        1 => exchange_by::<u8>(workers, operands, result),
        2 => exchange_by::<u16>(workers, operands, result),
        4 => exchange_by::<u32>(workers, operands, result),
        _ => exchange_by::<u64>(workers, operands, result),
    }
}

fn count_by<T: Copy + Default + From<bool>>(
    workers: &Workers<'_>,
    operands: &[MemoryArray],
    result: MemoryArray,
    add: impl Fn(T, T) -> T,
) -> Result<()> {
    let active = operands.get(2).map(|&active| Lanes::<u8>::of(active));
    let takes_part = |i| active.is_none_or(|active| active.get_or_only(i) & 1 != 0);
    in_turn(workers, operands, result, |i, old| takes_part(i).then(|| add(old, true.into())))
}

fn exchange_by<T: Copy + Default + PartialEq>(
    workers: &Workers<'_>,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    let value = Lanes::<T>::of(operands[2]);
    let compare = operands.get(3).map(|&compare| Lanes::<T>::of(compare));
    in_turn(workers, operands, result, |i, old| {
        let puts = compare.is_none_or(|compare| compare.get_or_only(i) == old);
        Some(if puts { value.get_or_only(i) } else { old })
    })
}

/// What each lane finds at its element of a target (operands target and index), where it leaves the `next` one; 0 where
/// it takes no part or has no element.
fn in_turn<T: Copy + Default>(
    workers: &Workers<'_>,
    operands: &[MemoryArray],
    result: MemoryArray,
    next: impl Fn(usize, T) -> Option<T>,
) -> Result<()> {
    let (target, index) = (Lanes::<T>::of(operands[0]), Lanes::<u64>::of(operands[1]));
    let result = Lanes::<T>::of(result);
    let memory = workers.scratch::<T>(target.len())?;
    let elements = memory.lanes.slice_mut(0, target.len());
    for start in (0..target.len()).step_by(PIECE) {
        poll()?;
        let end = target.len().min(start + PIECE);
        elements[start..end].copy_from_slice(target.slice(start, end));
    }
    for start in (0..result.len()).step_by(PIECE) {
        poll()?;
        for i in start..result.len().min(start + PIECE) {
            let place = usize::try_from(index.get_or_only(i)).ok();
            let element = place.and_then(|place| elements.get_mut(place));
            let old = element.and_then(|element| {
                let next = next(i, *element)?;
                Some(std::mem::replace(element, next))
            });
            result.set(i, old.unwrap_or_default());
        }
    }
    Ok(())
}

fn poll() -> Result<()> {
    if interrupt::is_requested() { Err(Error::Interrupted) } else { Ok(()) }
}

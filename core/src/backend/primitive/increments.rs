//! Results of `scatter_inc`: one lane after the other.

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

fn count_by<T: Copy + Default + From<bool>>(
    workers: &Workers<'_>,
    operands: &[MemoryArray],
    result: MemoryArray,
    add: impl Fn(T, T) -> T,
) -> Result<()> {
    let (target, index) = (Lanes::<T>::of(operands[0]), Lanes::<u64>::of(operands[1]));
    let active = operands.get(2).map(|&active| Lanes::<u8>::of(active));
    let result = Lanes::<T>::of(result);
    let memory = workers.scratch::<T>(target.len())?;
    let counters = memory.lanes.slice_mut(0, target.len());
    for start in (0..target.len()).step_by(PIECE) {
        poll()?;
        let end = target.len().min(start + PIECE);
        counters[start..end].copy_from_slice(target.slice(start, end));
    }
    for start in (0..result.len()).step_by(PIECE) {
        poll()?;
        for i in start..result.len().min(start + PIECE) {
            let wanted = active.is_none_or(|active| active.get_or_only(i) & 1 != 0);
            let place = usize::try_from(index.get_or_only(i)).ok().filter(|_| wanted);
            let counter = place.and_then(|place| counters.get_mut(place));
            let old = counter.map(|counter| std::mem::replace(counter, add(*counter, true.into())));
            result.set(i, old.unwrap_or_default());
        }
    }
    Ok(())
}

fn poll() -> Result<()> {
    if interrupt::is_requested() { Err(Error::Interrupted) } else { Ok(()) }
}

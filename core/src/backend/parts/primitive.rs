//! Primitives over parts: rows that each part has some of, true lanes that each finds among its own; all else the first
//! part runs, or where all is small every part.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::partition::Partition;
use super::shared::Shared;
use super::working::Working;
use crate::backend::primitive::{MemoryArray, PrimitiveCall, Room};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::primitive::{Along, Lines, Primitive, Sorting, Turned};

/// Bytes of a mask that are looked at together.
const BLOCK: u64 = 1 << 16;

/// A call as rows that know nothing of each other.
struct Rows {
    n: u64,
    /// Elements of a row in each operand; none if all rows share it.
    operands: SmallVec<[Option<u64>; 4]>,
    /// Elements of a row in each result.
    result: u64,
}

impl Rows {
    fn of(call: &PrimitiveCall) -> Option<Self> {
        let first = call.operands[0].size;
        let rows = |row: u64, operands: SmallVec<[Option<u64>; 4]>, result: u64| {
            Some(Self { n: first / row, operands, result })
        };
        match call.primitive {
            Primitive::Sort(Sorting { extent, .. })
            | Primitive::SortIndex(Sorting { extent, .. }) => {
                rows(extent, smallvec![Some(extent)], extent)
            }
            Primitive::Along(Along { extent, inner, is_weighted, .. }) => {
                let row = extent * inner;
                let mut operands = smallvec![Some(row)];
                operands.extend(is_weighted.then_some(None));
                rows(row, operands, inner)
            }
            Primitive::Turned(Turned { rows: n, columns }) => {
                rows(n * columns, smallvec![Some(n * columns)], n * columns)
            }
            Primitive::Place(Lines { extent, inner }) => {
                rows(extent * inner, smallvec![Some(extent * inner), Some(inner)], inner)
            }
            Primitive::Product(product) => {
                let half = call.operands.len() / 2;
                let (depth, columns) = (u64::from(product.depth), u64::from(product.columns));
                let (n, height) = product.extents(first, call.operands[half].size);
                let one = |is_shared: bool, elements: u64| (!is_shared).then_some(elements);
                let (n, left, right, result) = match n {
                    // Of one matrix rows that lie one behind the other.
                    1 if product.left.is_turned() => return None,
                    1 => (height, Some(depth), None, columns),
                    n => {
                        let left = one(product.left.is_shared(), height * depth);
                        let right = one(product.right.is_shared(), depth * columns);
                        (n, left, right, height * columns)
                    }
                };
                // Without rows of its own the number of products would not be known.
                if n > 1 && left.is_none() && right.is_none() {
                    return None;
                }
                let operands = (0..2 * half).map(|i| if i < half { left } else { right });
                Some(Self { n, operands: operands.collect(), result })
            }
            Primitive::PrefixSum | Primitive::PrefixProduct | Primitive::TrueLanes => None,
            Primitive::Increments | Primitive::Exchanges => None,
        }
    }

    /// Those of a part: they begin with its lanes of the result.
    fn of_part(&self, part: usize, parts: usize) -> Range<u64> {
        let lanes = Partition::new(self.n * self.result, parts).lanes(part);
        lanes.start.div_ceil(self.result)..lanes.end.div_ceil(self.result)
    }
}

/// Runs a primitive.
///
/// # Errors
/// As [`Backend::run_primitive`](crate::backend::Backend::run_primitive).
pub(super) fn run(shared: &Shared, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
    let is_small = arrays(call).all(|array| array.size < shared.whole);
    match Rows::of(call) {
        _ if is_small => run_whole(shared, call, shared.for_small(), room),
        Some(rows) if rows.n > 1 => run_rows(shared, call, &rows, room),
        _ if call.primitive == Primitive::TrueLanes && !shared.are_gpus() => {
            find_true_lanes(shared, call, room)
        }
        _ => run_whole(shared, call, 0..1, room),
    }
}

fn arrays(call: &PrimitiveCall) -> impl Iterator<Item = &MemoryArray> {
    call.operands.iter().chain(results(call))
}

fn results(call: &PrimitiveCall) -> impl Iterator<Item = &MemoryArray> {
    [&call.result].into_iter().chain(&call.imag)
}

/// Each of some parts runs all of it. Working memory is that of the first part, as the session knows it.
fn run_whole(
    shared: &Shared,
    call: &PrimitiveCall,
    parts: Range<usize>,
    room: Room<'_>,
) -> Result<()> {
    let memory = &shared.memory;
    for part in parts.clone() {
        for array in &call.operands {
            shared.notes.exchanged(memory.bring(part, array.address, 0..array.bytes())?);
        }
        let mut own = call.clone();
        for array in own.operands.iter_mut().chain([&mut own.result]).chain(&mut own.imag) {
            array.address = memory.place(part, array.address, 0..array.bytes())?;
        }
        let device = &shared.devices[part];
        shared.with_room(part, room, |room| device.run_primitive(&own, room))?;
    }
    for result in results(call) {
        memory.wrote(parts.clone(), result.address, result.bytes());
    }
    Ok(())
}

/// Each part runs its rows.
fn run_rows(shared: &Shared, call: &PrimitiveCall, rows: &Rows, room: Room<'_>) -> Result<()> {
    let memory = &shared.memory;
    let parts = memory.parts();
    for part in 0..parts {
        let own_rows = rows.of_part(part, parts);
        if own_rows.is_empty() {
            continue;
        }
        // The rows of an array, as the part has it.
        let own = |array: &MemoryArray, row: Option<u64>| {
            let lanes = row.map_or(0..array.size, |row| own_rows.start * row..own_rows.end * row);
            let width = array.dtype.bytes() as u64;
            let bytes = lanes.start * width..lanes.end * width;
            let address = memory.place(part, array.address, bytes.clone())? + bytes.start;
            let own = MemoryArray { address, size: lanes.end - lanes.start, ..*array };
            Ok((own, bytes.start))
        };
        let mut call = call.clone();
        for (array, &row) in call.operands.iter_mut().zip(&rows.operands) {
            let (own, start) = own(array, row)?;
            shared.notes.exchanged(memory.bring(
                part,
                array.address,
                start..start + own.bytes(),
            )?);
            *array = own;
        }
        for array in call.results_mut() {
            *array = own(array, Some(rows.result))?.0;
        }
        let device = &shared.devices[part];
        shared.with_room(part, room, |room| device.run_primitive(&call, room))?;
    }
    for result in results(call) {
        let lanes = (0..parts).map(|part| {
            let own = rows.of_part(part, parts);
            own.start * rows.result..own.end * rows.result
        });
        memory.wrote_lanes(result.address, result.dtype.bytes(), result.size, lanes);
    }
    Ok(())
}

/// Each part finds the true lanes among its own, and has them behind those of the parts before.
fn find_true_lanes(shared: &Shared, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
    let memory = &shared.memory;
    let (mask, result) = (call.operands[0], call.result);
    let partition = Partition::new(mask.size, memory.parts());
    let width = result.dtype.bytes() as u64;
    let (mut found, mut block) = (Vec::new(), Vec::new());
    let mut n_before = 0;
    for part in 0..memory.parts() {
        let lanes = partition.lanes(part);
        let n = lanes.end - lanes.start;
        if n == 0 {
            found.push(n_before..n_before);
            continue;
        }
        let device = memory.of(part);
        shared.notes.exchanged(memory.bring(part, mask.address, lanes.clone())?);
        let address = memory.place(part, mask.address, 0..0)? + lanes.start;
        let mut n_true = 0;
        in_blocks(n, &mut block, 1, |first, block| {
            device.read(address + first, block)?;
            n_true += block.iter().map(|lane| u64::from(lane & 1)).sum::<u64>();
            Ok(())
        })?;
        let numbers = Working::of(device, exactly::<usize>(n_true * width))?;
        let mut own = call.clone();
        own.operands[0] = MemoryArray { address, size: n, ..mask };
        own.result = MemoryArray { address: numbers.address, size: n_true, ..result };
        if n_true > 0 {
            shared.devices[part].run_primitive(&own, room)?;
        }
        let place = memory.place(part, result.address, 0..0)? + n_before * width;
        in_blocks(n_true, &mut block, width, |first, block| {
            device.read(numbers.address + first * width, block)?;
            for number in block.chunks_exact_mut(exactly::<usize>(width)) {
                let mut word = [0; 8];
                word[..number.len()].copy_from_slice(number);
                let lane = u64::from_le_bytes(word) + lanes.start;
                number.copy_from_slice(&lane.to_le_bytes()[..number.len()]);
            }
            device.write(place + first * width, block)
        })?;
        found.push(n_before..n_before + n_true);
        n_before += n_true;
    }
    memory.wrote_lanes(result.address, result.dtype.bytes(), result.size, found.into_iter());
    Ok(())
}

/// Calls `work` with the first element of each of some blocks of `n`, and their bytes.
fn in_blocks(
    n: u64,
    block: &mut Vec<u8>,
    width: u64,
    mut work: impl FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    for first in (0..n).step_by(exactly::<usize>(BLOCK)) {
        if interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        block.resize(exactly::<usize>((n - first).min(BLOCK) * width), 0);
        work(first, block)?;
    }
    Ok(())
}

//! Primitives over parts: rows that each part has some of; what goes from lane to lane (`scan.rs`); all else the first part
//! runs, or where all is small every part.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;
use std::time::Instant;

use smallvec::{SmallVec, smallvec};

use super::partition::Partition;
use super::scan;
use super::shared::{Shared, all};
use crate::backend::primitive::{MemoryArray, PrimitiveCall, Room};
use crate::error::Result;
use crate::ir::primitive::{Along, Lines, Primitive, Sorting, Turned};

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
            Primitive::Prefix(_) | Primitive::ChunkTotals(_) => None,
            Primitive::TrueLanes | Primitive::Increments | Primitive::Exchanges => None,
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
        _ if shared.are_gpus() => run_whole(shared, call, 0..1, room),
        _ => match call.primitive {
            Primitive::Prefix(op) => scan::prefix(shared, call, op, room),
            Primitive::TrueLanes => scan::true_lanes(shared, call, room),
            _ => run_whole(shared, call, 0..1, room),
        },
    }
}

fn arrays(call: &PrimitiveCall) -> impl Iterator<Item = &MemoryArray> {
    call.operands.iter().chain(results(call))
}

fn results(call: &PrimitiveCall) -> impl Iterator<Item = &MemoryArray> {
    [&call.result].into_iter().chain(&call.imag)
}

/// Some lanes of an array, as a part has memory for them.
pub(super) fn placed(
    shared: &Shared,
    part: usize,
    array: &MemoryArray,
    lanes: Range<u64>,
) -> Result<MemoryArray> {
    let width = array.dtype.bytes() as u64;
    let bytes = lanes.start * width..lanes.end * width;
    let address = shared.memory.place(part, array.address, bytes.clone())? + bytes.start;
    Ok(MemoryArray { address, size: lanes.end - lanes.start, ..*array })
}

/// The same, with what is in them.
pub(super) fn brought(
    shared: &Shared,
    part: usize,
    array: &MemoryArray,
    lanes: Range<u64>,
) -> Result<MemoryArray> {
    let start = lanes.start * array.dtype.bytes() as u64;
    let own = placed(shared, part, array, lanes)?;
    let bytes = start..start + own.bytes();
    shared.notes.exchanged(shared.memory.bring(part, array.address, bytes)?);
    Ok(own)
}

/// Runs calls, at most one at each part; other processes beside this one.
///
/// A thread waits for them: what runs here asks for memory, and memory may have to wait for those.
pub(super) fn run_each(
    shared: &Shared,
    calls: &[(usize, PrimitiveCall)],
    room: Room<'_>,
) -> Result<()> {
    let (own, others): (Vec<_>, Vec<_>) = calls.iter().partition(|(part, _)| shared.is_here(*part));
    let here = || {
        own.iter().try_for_each(|&&(part, ref call)| {
            let since = Instant::now();
            shared.with_room(part, room, |room| shared.devices[part].run_primitive(call, room))?;
            shared.took([(part, since, since.elapsed())]);
            Ok(())
        })
    };
    if others.is_empty() {
        return here();
    }
    let elsewhere = || {
        let asked = Instant::now();
        let begun = others.iter().map(|(part, call)| shared.devices[*part].begin_primitive(call));
        let times = all(begun)?;
        shared.took(others.iter().zip(times).map(|((part, _), time)| (*part, asked, time)));
        Ok(())
    };
    thread::scope(|scope| {
        let beside = thread::Builder::new().name("ranks".into()).spawn_scoped(scope, elsewhere);
        let done = here();
        let others = match beside {
            Ok(beside) => beside.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a thread one after the other.
            Err(_) => elsewhere(),
        };
        done.and(others)
    })
}

/// Each of some parts runs all of it. Working memory is that of the first part, as the session knows it.
fn run_whole(
    shared: &Shared,
    call: &PrimitiveCall,
    parts: Range<usize>,
    room: Room<'_>,
) -> Result<()> {
    let memory = &shared.memory;
    let own = |part: usize| {
        let mut own = call.clone();
        for array in &mut own.operands {
            *array = brought(shared, part, array, 0..array.size)?;
        }
        for array in own.results_mut() {
            *array = placed(shared, part, array, 0..array.size)?;
        }
        Ok((part, own))
    };
    let calls = parts.clone().map(own).collect::<Result<Vec<_>>>()?;
    run_each(shared, &calls, room)?;
    for result in results(call) {
        memory.wrote(parts.clone(), result.address, result.bytes());
    }
    Ok(())
}

/// Each part runs its rows.
fn run_rows(shared: &Shared, call: &PrimitiveCall, rows: &Rows, room: Room<'_>) -> Result<()> {
    let memory = &shared.memory;
    let parts = memory.parts();
    let mut calls = Vec::with_capacity(parts);
    for part in 0..parts {
        let own_rows = rows.of_part(part, parts);
        if own_rows.is_empty() {
            continue;
        }
        let lanes = |array: &MemoryArray, row: Option<u64>| {
            row.map_or(0..array.size, |row| own_rows.start * row..own_rows.end * row)
        };
        let mut call = call.clone();
        for (array, &row) in call.operands.iter_mut().zip(&rows.operands) {
            *array = brought(shared, part, array, lanes(array, row))?;
        }
        for array in call.results_mut() {
            *array = placed(shared, part, array, lanes(array, Some(rows.result)))?;
        }
        calls.push((part, call));
    }
    run_each(shared, &calls, room)?;
    for result in results(call) {
        let lanes = (0..parts).map(|part| {
            let own = rows.of_part(part, parts);
            own.start * rows.result..own.end * rows.result
        });
        memory.wrote_lanes(result.address, result.dtype.bytes(), result.size, lanes);
    }
    Ok(())
}

//! Primitives over parts: rows that each part has some of; what goes from lane to lane (`scan.rs`) and one long row that is
//! sorted (`sort.rs`); all else the first part runs, or where all is small every part.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::calls::{brought, placed, run_each};
use super::partition::Partition;
use super::shared::Shared;
use super::{scan, sort};
use crate::backend::primitive::{MemoryArray, PrimitiveCall, Room};
use crate::error::Result;
use crate::ir::primitive::{Along, Lines, PartSort, Primitive, Sorting, Turned};

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
            Primitive::BlockSums(extent) => rows(extent, smallvec![Some(extent)], 1),
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
            Primitive::Run(_) | Primitive::Merge(_) => None,
            Primitive::CountByOwner | Primitive::ByOwner => None,
            Primitive::Prefix(_) | Primitive::ChunkTotals(_) => None,
            Primitive::TrueLanes | Primitive::Increments | Primitive::Exchanges => None,
            Primitive::Windows(_) => None,
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
            Primitive::Sort(Sorting { order, .. }) if sort::pays(shared, call) => {
                sort::sort(shared, call, PartSort { order, is_index: false }, room)
            }
            Primitive::SortIndex(Sorting { order, .. }) if sort::pays(shared, call) => {
                sort::sort(shared, call, PartSort { order, is_index: true }, room)
            }
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

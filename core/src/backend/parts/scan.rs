//! Prefix sums and the like, and the numbers of true lanes, over parts. Each part totals its chunks, the leader sums what lies
//! before each, and each part goes on from there: the order of S11, in which chunks are summed by themselves, stays.

use smallvec::smallvec;

use super::calls::{brought, placed, run_each};
use super::partition::Partition;
use super::shared::Shared;
use super::working::Working;
use crate::backend::Memory;
use crate::backend::primitive::{MemoryArray, PrimitiveCall, Room};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::ReduceOp;
use crate::ir::primitive::Primitive;
use crate::ir::scalar::identity_bits;

/// Lanes of a chunk; those of a part begin with one.
const CHUNK: u64 = Primitive::CHUNK as u64;

/// Prefix sums, products or extremes.
///
/// # Errors
/// As [`Backend::run_primitive`](crate::backend::Backend::run_primitive).
pub(super) fn prefix(
    shared: &Shared,
    call: &PrimitiveCall,
    op: ReduceOp,
    room: Room<'_>,
) -> Result<()> {
    let (memory, x) = (&shared.memory, call.operands[0]);
    let partition = Partition::new(x.size, memory.parts());
    let before = before_chunks(shared, call, op, partition, room)?;
    let (mut blocks, mut calls) = (Vec::new(), Vec::new());
    for (part, lanes) in partition.all().enumerate().filter(|(_, lanes)| !lanes.is_empty()) {
        let width = x.dtype.bytes();
        let [first, end] = [lanes.start / CHUNK, lanes.end.div_ceil(CHUNK)].map(exactly::<usize>);
        let own = &before[first * width..end * width];
        let block = holding(memory.of(part), own)?;
        if part > 0 {
            shared.notes.exchanged(own.len() as u64);
        }
        let before =
            MemoryArray { address: block.address, size: (end - first) as u64, dtype: x.dtype };
        blocks.push(block);
        let operands = smallvec![brought(shared, part, &x, lanes.clone())?, before];
        let result = placed(shared, part, &call.result, lanes)?;
        calls.push((part, PrimitiveCall { operands, result, ..call.clone() }));
    }
    run_each(shared, &calls, room)?;
    let result = call.result;
    memory.wrote_lanes(result.address, result.dtype.bytes(), result.size, partition.all());
    Ok(())
}

/// What lies before each chunk: nothing, then the prefix sums of the totals of chunks.
fn before_chunks(
    shared: &Shared,
    call: &PrimitiveCall,
    op: ReduceOp,
    partition: Partition,
    room: Room<'_>,
) -> Result<Vec<u8>> {
    let dtype = call.operands[0].dtype;
    let mut totals = totals(shared, call, (op, dtype), partition, room)?.concat();
    let first = shared.memory.of(0);
    if !totals.is_empty() {
        let [of, to] = [holding(first, &totals)?, Working::of(first, totals.len())?];
        let size = (totals.len() / dtype.bytes()) as u64;
        let array = |address| MemoryArray { address, size, dtype };
        let (operands, result) = (smallvec![array(of.address)], array(to.address));
        let call = PrimitiveCall { operands, result, ..call.clone() };
        run_each(shared, &[(0, call)], room)?;
        first.read(to.address, &mut totals)?;
    }
    let nothing = identity_bits(op, dtype).to_le_bytes();
    Ok([&nothing[..dtype.bytes()], &totals].concat())
}

/// The totals of the whole chunks of each part, of a type; of truth values those of all chunks.
fn totals(
    shared: &Shared,
    call: &PrimitiveCall,
    (op, dtype): (ReduceOp, DType),
    partition: Partition,
    room: Room<'_>,
) -> Result<Vec<Vec<u8>>> {
    let (memory, x) = (&shared.memory, call.operands[0]);
    let (mut blocks, mut calls) = (Vec::new(), Vec::new());
    for (part, lanes) in partition.all().enumerate() {
        let n = lanes.end - lanes.start;
        let size = if op == ReduceOp::Count { n.div_ceil(CHUNK) } else { n / CHUNK };
        if size == 0 {
            continue;
        }
        let bytes = exactly::<usize>(size * dtype.bytes() as u64);
        let block = Working::of(memory.of(part), bytes)?;
        let operands = smallvec![brought(shared, part, &x, lanes)?];
        let result = MemoryArray { address: block.address, size, dtype };
        let primitive = Primitive::ChunkTotals(op);
        calls.push((part, PrimitiveCall { primitive, operands, result, ..call.clone() }));
        blocks.push((part, block, bytes));
    }
    run_each(shared, &calls, room)?;
    let mut totals = vec![Vec::new(); memory.parts()];
    for (part, block, bytes) in blocks {
        totals[part].resize(bytes, 0);
        memory.of(part).read(block.address, &mut totals[part])?;
        if part > 0 {
            shared.notes.exchanged(bytes as u64);
        }
    }
    Ok(totals)
}

/// Each part finds the true lanes among its own, and has them behind those of the parts before.
///
/// # Errors
/// As [`Backend::run_primitive`](crate::backend::Backend::run_primitive).
pub(super) fn true_lanes(shared: &Shared, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
    let (mask, result) = (call.operands[0], call.result);
    let partition = Partition::new(mask.size, shared.memory.parts());
    let counts = totals(shared, call, (ReduceOp::Count, DType::U64), partition, room)?;
    let (mut found, mut calls) = (Vec::new(), Vec::new());
    let mut n_before = 0;
    for (part, (lanes, counts)) in partition.all().zip(counts).enumerate() {
        let counts = counts.as_chunks::<8>().0.iter().map(|&count| u64::from_le_bytes(count));
        let own = n_before..n_before + counts.sum::<u64>();
        n_before = own.end;
        found.push(own.clone());
        if own.is_empty() {
            continue;
        }
        let lane_base = lanes.start;
        let operands = smallvec![brought(shared, part, &mask, lanes)?];
        let result = placed(shared, part, &result, own)?;
        calls.push((part, PrimitiveCall { operands, result, lane_base, ..call.clone() }));
    }
    run_each(shared, &calls, room)?;
    let width = result.dtype.bytes();
    shared.memory.wrote_lanes(result.address, width, result.size, found.into_iter());
    Ok(())
}

/// Working memory with these bytes.
fn holding<'m>(memory: &'m dyn Memory, bytes: &[u8]) -> Result<Working<'m>> {
    let block = Working::of(memory, bytes.len())?;
    memory.write(block.address, bytes)?;
    Ok(block)
}

//! Primitives in host memory, for the interpreter and the CPU compiler.
//!
//! Work is cut into pieces by lane number, never by thread, and pieces write where no other does: the
//! bits do not depend on the number of threads. Pieces are short, and the interrupt flag is looked at
//! between them.

mod along;
mod block_sums;
mod by_owner;
mod call;
mod cut;
mod in_turn;
mod lanes;
mod part_sort;
mod pieces;
mod place;
mod product;
#[cfg(target_arch = "x86_64")]
mod quicksort;
mod scan;
#[cfg(target_arch = "x86_64")]
mod scan_vectors;
mod scatter;
mod sort;
mod sort_rows;
mod true_lanes;
mod turned;
#[cfg(target_arch = "x86_64")]
mod turned_vectors;
#[cfg(target_arch = "x86_64")]
mod vectors;

use std::sync::{Arc, Mutex};

use self::lanes::Lanes;
use self::pieces::{WORTH_A_THREAD, Workers, lock};
use super::Memory as _;
use super::OutOfBounds;
use super::host::{HostMemory, exhausted};
use super::isa::Isa;
use super::thread_pool::Pool;
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::op::ReduceOp;
use crate::ir::primitive::Primitive;
use crate::memory::buffer::{Buffer, Release};

pub use call::{MemoryArray, PrimitiveCall, Room};
pub(in crate::backend) use cut::{Cut, Probe};
pub(in crate::backend) use scatter::{OfLanes, Scatter, combine_copy};

/// Runs calls of one primitive, whose operands and results have the same sizes and types.
///
/// # Errors
/// As [`run`].
pub(super) fn run_all(
    pool: &Pool,
    isa: Isa,
    calls: &[PrimitiveCall],
    room: Room<'_>,
) -> Result<()> {
    if let [PrimitiveCall { primitive: Primitive::Product(product), .. }, _, ..] = calls
        && product::multiply_all(&Workers { pool, isa, room }, *product, calls)?
    {
        return Ok(());
    }
    if calls.len() >= CALLS_PER_THREAD * pool.threads() && calls.iter().all(is_small) {
        return run_side_by_side(&Workers { pool, isa, room }, calls);
    }
    calls.iter().try_for_each(|call| run(pool, isa, call, room))
}

/// Runs a scatter whose target is cut into windows, by all threads; the lowest lane whose index is out of bounds.
///
/// # Errors
/// `OutOfMemory`, and nothing is written; `Interrupted`, and the target is undefined then.
pub(super) fn scatter_by_windows(
    pool: &Pool,
    isa: Isa,
    scatter: &Scatter,
    room: Room<'_>,
) -> Result<Option<OutOfBounds>> {
    scatter::write(&Workers { pool, isa, room }, scatter)
}

/// Calls for each thread from which on threads share calls, not what is in them.
const CALLS_PER_THREAD: usize = 8;

/// Whether a call has too little to do for several threads.
fn is_small(call: &PrimitiveCall) -> bool {
    call.operands.iter().chain([&call.result]).all(|array| array.size < WORTH_A_THREAD as u64)
}

/// Runs small calls, each on one thread.
fn run_side_by_side(workers: &Workers<'_>, calls: &[PrimitiveCall]) -> Result<()> {
    let n = calls.len();
    let arrays = calls[0].operands.iter().chain([&calls[0].result]);
    let lanes = arrays.map(|array| exactly::<usize>(array.size)).max().unwrap_or(1).max(1);
    let at_once = (LANES_AT_ONCE / lanes).clamp(1, n);
    let (calls, isa): (Arc<[PrimitiveCall]>, _) = (calls.into(), workers.isa);
    let failed = Arc::new(Mutex::new(None));
    let failure = failed.clone();
    let is_worth = n.saturating_mul(lanes) >= WORTH_A_THREAD;
    workers.tasks(n.div_ceil(at_once), is_worth, move |task, goes_on| {
        let alone = Pool::new(1);
        for call in &calls[task * at_once..n.min((task + 1) * at_once)] {
            if !goes_on() {
                return;
            }
            if let Err(error) = run(&alone, isa, call, &room_of_the_heap) {
                lock(&failure).get_or_insert(error);
            }
        }
    })?;
    let failure = lock(&failed).take();
    failure.map_or(Ok(()), Err)
}

/// Lanes that are worth a task.
const LANES_AT_ONCE: usize = 1 << 14;

/// Working memory for small calls, which a thread takes without asking the session: no more than a few of their arrays at
/// a time.
fn room_of_the_heap(bytes: u64) -> Result<Buffer> {
    let bytes = exactly::<usize>(bytes).max(1);
    let address = HostMemory.alloc_raw(bytes).ok_or_else(|| exhausted(bytes as u64))?;
    Ok(Buffer::new(address, bytes, bytes, Arc::new(OfTheHeap)))
}

/// Gives blocks of the heap back.
struct OfTheHeap;

impl Release for OfTheHeap {
    fn release(&self, address: u64, capacity: usize) {
        HostMemory.free_raw(address, capacity);
    }
}

/// Runs a primitive on host memory.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`; the result is undefined then.
pub(super) fn run(pool: &Pool, isa: Isa, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
    let workers = Workers { pool, isa, room };
    let (first, result) = (call.operands[0], call.result);
    match call.primitive {
        Primitive::ChunkTotals(ReduceOp::Count) => {
            true_lanes::count(&workers, Lanes::of(first), Lanes::of(result))
        }
        Primitive::Prefix(op) | Primitive::ChunkTotals(op) => scan::run(&workers, op, call),
        Primitive::Sort(sorting) => sort_rows::sort(&workers, sorting, first, result),
        Primitive::SortIndex(sorting) => sort_rows::sort_index(&workers, sorting, first, result),
        Primitive::Run(sort) => part_sort::run(&workers, sort, first, result, call.lane_base),
        Primitive::Merge(sort) => part_sort::merge(&workers, sort, &call.operands, result),
        Primitive::TrueLanes => true_lanes::find(&workers, first, result, call.lane_base),
        Primitive::Increments => in_turn::count(&workers, &call.operands, result),
        Primitive::Exchanges => in_turn::exchange(&workers, &call.operands, result),
        Primitive::CountByOwner => by_owner::count(&workers, call),
        Primitive::ByOwner => by_owner::sort(&workers, call),
        Primitive::Product(product) => {
            product::multiply(&workers, product, &call.operands, result, call.imag)
        }
        Primitive::Along(along) => along::reduce(&workers, along, &call.operands, result),
        Primitive::BlockSums(extent) => block_sums::sum(&workers, extent, first, result),
        Primitive::Turned(turned) => turned::turn(&workers, turned, first, result),
        Primitive::Place(lines) => place::find(&workers, lines, &call.operands, result),
        Primitive::Windows(windows) => {
            along::reduce_windows(&workers, windows, &call.operands, result)
        }
    }
}

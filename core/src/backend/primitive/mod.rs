//! Primitives in host memory, for the interpreter and the CPU compiler.
//!
//! Work is cut into pieces by lane number, never by thread, and pieces write where no other does: the
//! bits do not depend on the number of threads. Pieces are short, and the interrupt flag is looked at
//! between them.

mod increments;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod quicksort;
mod scan;
#[cfg(target_arch = "x86_64")]
mod scan_vectors;
mod sort;
mod true_lanes;
#[cfg(target_arch = "x86_64")]
mod vectors;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::lanes::Lanes;
use super::isa::Isa;
use super::pool::{Claims, Pool};
use crate::buffer::Buffer;
use crate::convert::exactly;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::primitive::Primitive;
use crate::ir::scalar::with_lane;

/// Lanes of a piece, unless there would be more than [`MAX_PIECES`].
const PIECE: usize = 1 << 16;
/// Most pieces: what is kept for each stays small beside the array.
const MAX_PIECES: usize = 1 << 14;
/// Lanes below which a second thread does not pay.
const WORTH_A_THREAD: usize = 1 << 17;

/// An array in a device's memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryArray {
    /// Address of the first element.
    pub address: u64,
    /// Number of elements.
    pub size: u64,
    /// Type of the elements.
    pub dtype: DType,
}

/// One launch of a primitive. Operands of size 1 stand for all lanes where the primitive takes several.
#[derive(Clone, Debug)]
pub struct PrimitiveCall {
    /// The primitive to run.
    pub primitive: Primitive,
    /// Arrays that it reads.
    pub operands: Vec<MemoryArray>,
    /// The array that it writes, distinct from all operands and not empty.
    pub result: MemoryArray,
}

/// Hands out working memory of a number of bytes: device memory, within the session's limit.
pub type Room<'a> = &'a dyn Fn(u64) -> Result<Buffer>;

/// Runs a primitive on host memory.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`; the result is undefined then.
pub(super) fn run(pool: &Pool, isa: Isa, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
    let workers = Workers { pool, isa, room };
    let (first, result) = (call.operands[0], call.result);
    match call.primitive {
        Primitive::PrefixSum => with_lane!(first.dtype,
            T => scan::prefix::<scan::Sum, T>(&workers, Lanes::of(first), Lanes::of(result)),
            mask => unreachable!("internal error: a prefix sum of truth values")),
        Primitive::PrefixProduct => with_lane!(first.dtype,
            T => scan::prefix::<scan::Product, T>(&workers, Lanes::of(first), Lanes::of(result)),
            mask => unreachable!("internal error: a prefix product of truth values")),
        Primitive::Sort(order) => sort::sort(&workers, order, first, result),
        Primitive::SortIndex(order) => sort::sort_index(&workers, order, first, result),
        Primitive::TrueLanes => true_lanes::find(&workers, first, result),
        Primitive::Increments => increments::count(&workers, &call.operands, result),
    }
}

/// Threads and working memory of one call.
struct Workers<'a> {
    pool: &'a Pool,
    /// Instructions that may be used.
    isa: Isa,
    room: Room<'a>,
}

/// Working memory that is freed with it.
struct Scratch<T> {
    lanes: Lanes<T>,
    _memory: Buffer,
}

impl Workers<'_> {
    /// Undefined lanes to work with.
    fn scratch<T: Copy>(&self, n: usize) -> Result<Scratch<T>> {
        let memory = (self.room)((n * size_of::<T>()) as u64)?;
        Ok(Scratch { lanes: Lanes::at(memory.address(), n), _memory: memory })
    }

    /// Calls `each` for every piece of `n` lanes, on several threads if that pays.
    ///
    /// # Errors
    /// `Interrupted`.
    fn pieces(&self, n: usize, each: impl Fn(Piece) + Send + Sync + 'static) -> Result<()> {
        let length = piece_length(n);
        let n_pieces = n.div_ceil(length);
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = stopped.clone();
        let work = move |claims: &Claims| {
            while let Some(number) = claims.take() {
                if interrupt::is_requested() {
                    stop.store(true, Ordering::Relaxed);
                    claims.stop();
                    return;
                }
                let number = exactly::<usize>(number);
                let start = number * length;
                each(Piece { number, start, end: n.min(start + length) });
            }
        };
        if n < WORTH_A_THREAD {
            work(&Claims::new(n_pieces as u64));
        } else {
            self.pool.run(n_pieces as u64, Arc::new(work));
        }
        if stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// A range of lanes.
#[derive(Clone, Copy)]
struct Piece {
    number: usize,
    start: usize,
    end: usize,
}

/// Lanes of each piece of `n` lanes but the last: a power of two.
fn piece_length(n: usize) -> usize {
    n.div_ceil(MAX_PIECES).next_power_of_two().max(PIECE)
}

/// An array of lane numbers, of either type.
#[derive(Clone, Copy)]
enum Numbers {
    U32(Lanes<u32>),
    U64(Lanes<u64>),
}

impl Numbers {
    fn of(array: MemoryArray) -> Self {
        if array.dtype == u64::DTYPE {
            Self::U64(Lanes::of(array))
        } else {
            Self::U32(Lanes::of(array))
        }
    }
}

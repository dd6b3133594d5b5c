//! Primitives in host memory, for the interpreter and the CPU compiler.
//!
//! Work is cut into pieces by lane number, never by thread, and pieces write where no other does: the
//! bits do not depend on the number of threads. Pieces are short, and the interrupt flag is looked at
//! between them.

mod along;
mod call;
mod in_turn;
mod lanes;
mod pieces;
mod product;
#[cfg(target_arch = "x86_64")]
mod quicksort;
mod scan;
#[cfg(target_arch = "x86_64")]
mod scan_vectors;
mod sort;
mod true_lanes;
mod turned;
#[cfg(target_arch = "x86_64")]
mod vectors;

use self::lanes::Lanes;
use self::pieces::Workers;
use super::isa::Isa;
use super::pool::Pool;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::primitive::Primitive;
use crate::ir::scalar::with_lane;

pub use call::{MemoryArray, PrimitiveCall, Room};

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
    calls.iter().try_for_each(|call| run(pool, isa, call, room))
}

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
        Primitive::Increments => in_turn::count(&workers, &call.operands, result),
        Primitive::Exchanges => in_turn::exchange(&workers, &call.operands, result),
        Primitive::Product(product) => {
            product::multiply(&workers, product, &call.operands, result, call.imag)
        }
        Primitive::Along(along) => along::reduce(&workers, along, first, result),
        Primitive::Turned(turned) => turned::turn(&workers, turned, first, result),
    }
}

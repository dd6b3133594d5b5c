//! The entries that primitives are made of.
#![deny(clippy::wildcard_enum_match_arm)]

use super::target::Target;
use super::writer::{Writer, ptx};
use super::{along, count, looked_up, place, product, scan, sent, sort, sort_rows, turned};
use crate::dtype::DType;
use crate::ir::op::ReduceOp;
use crate::ir::primitive::Order;

/// An entry of a primitive. What words it takes and what its blocks do, the function that writes it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The sum or product of each chunk.
    ChunkTotals(ReduceOp, DType),
    /// Prefix sums or products, on top of those of the chunks before.
    Prefix(ReduceOp, DType),
    /// The number of true lanes of each chunk.
    CountTrue,
    /// The numbers of the true lanes, of a type.
    PlaceTrue(DType),
    /// How often each digit occurs.
    CountDigits(DType, Order),
    /// Lanes, or their numbers, or both, in the order of a digit.
    MoveLanes(DType, Order),
    /// Short rows in order.
    SortRows(DType, Order),
    /// The row of each lane number.
    Rows,
    /// The number of each within its row.
    WithinRows,
    /// Lanes, of bits of a type, by their numbers.
    Picked(DType),
    /// The element that each lane counts.
    CountedElements,
    /// Values that the lanes find in counters of a type.
    Increments(DType),
    /// Products of matrices.
    Product(product::Product),
    /// Reductions of chunks along an axis, of entries times factors or not.
    Chunks(ReduceOp, DType, along::Columns, bool),
    /// What they combine to.
    FoldChunks(ReduceOp, DType),
    /// Reductions along an axis of few entries, times factors or not.
    Short(ReduceOp, DType, bool),
    /// Matrices turned, of bits of a type.
    Turned(DType),
    /// Places of values along an axis, of bits of a type, in lines whose lanes are neighbours or not.
    Places(DType, bool),
    /// Half floats by a table of all.
    LookedUp,
    /// A few bytes to the host.
    Sent,
}

impl Step {
    /// Threads of a block.
    pub fn threads(self) -> u32 {
        match self {
            Self::ChunkTotals(..) | Self::Prefix(..) | Self::CountTrue | Self::PlaceTrue(_) => {
                scan::THREADS
            }
            Self::CountDigits(..) => sort::COUNT_THREADS,
            Self::MoveLanes(..) => sort::THREADS,
            Self::SortRows(..) => sort_rows::THREADS,
            Self::Rows
            | Self::WithinRows
            | Self::Picked(_)
            | Self::CountedElements
            | Self::Increments(_)
            | Self::FoldChunks(..)
            | Self::Places(..)
            | Self::Short(..) => count::THREADS,
            Self::Chunks(_, _, columns, _) => columns.threads(),
            Self::Product(product) => product.threads(),
            Self::Turned(_) => turned::THREADS,
            Self::LookedUp => looked_up::THREADS,
            Self::Sent => sent::THREADS,
        }
    }

    /// The name of the entry.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChunkTotals(..) => "chunk_totals",
            Self::Prefix(..) => "prefix",
            Self::CountTrue => "count_true",
            Self::PlaceTrue(_) => "place_true",
            Self::CountDigits(..) => "count_digits",
            Self::MoveLanes(..) => "move_lanes",
            Self::SortRows(..) => "sort_rows",
            Self::Rows => "rows",
            Self::WithinRows => "within_rows",
            Self::Picked(_) => "picked",
            Self::CountedElements => "counted_elements",
            Self::Increments(_) => "increments",
            Self::Product(..) => "matmul",
            Self::Chunks(..) => "chunks_along",
            Self::FoldChunks(..) => "fold_chunks",
            Self::Short(..) => "short_axis",
            Self::Turned(_) => "transpose",
            Self::Places(..) => "places_along",
            Self::LookedUp => "looked_up",
            Self::Sent => "sent",
        }
    }
}

/// The name of the entry of [`lower_trap`].
pub(in super::super) const TRAP_ENTRY: &str = "trap_at_once";

/// An entry that makes the device fail, which takes one word.
pub fn lower_trap() -> String {
    let mut w = Writer::default();
    ptx!(w, "trap");
    w.finish(TRAP_ENTRY, &[scan::params(1)])
}

/// The entry of a step called `name`, with what it declares and without the header of a module.
pub fn lower_step(step: Step, target: Target, name: &str) -> String {
    match step {
        Step::ChunkTotals(op, dtype) => scan::chunk_totals(op, dtype, name),
        Step::Prefix(op, dtype) => scan::prefix(op, dtype, name),
        Step::CountTrue => scan::count_true(name),
        Step::PlaceTrue(number) => scan::place_true(number, name),
        Step::CountDigits(dtype, order) => sort::count_digits(dtype, order, name),
        Step::MoveLanes(dtype, order) => sort::move_lanes(dtype, order, target, name),
        Step::SortRows(dtype, order) => sort_rows::sort_rows(dtype, order, name),
        Step::Rows => count::by_rows("div", name),
        Step::WithinRows => count::by_rows("rem", name),
        Step::Picked(dtype) => count::picked(dtype, name),
        Step::CountedElements => count::counted_elements(name),
        Step::Increments(dtype) => count::increments(dtype, name),
        Step::Chunks(op, dtype, columns, is_weighted) => {
            along::chunks((op, dtype, is_weighted), columns, name)
        }
        Step::FoldChunks(op, dtype) => along::fold(op, dtype, name),
        Step::Short(op, dtype, is_weighted) => along::short((op, dtype, is_weighted), name),
        Step::Turned(dtype) => turned::turned(dtype, name),
        Step::Places(dtype, is_line) => place::places(dtype, is_line, name),
        Step::LookedUp => looked_up::looked_up(name),
        Step::Sent => sent::sent(name),
        Step::Product(code) => product::product(code, target, name),
    }
}

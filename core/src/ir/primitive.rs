//! Primitives: operations that read whole arrays in memory and make a whole array.
//!
//! Unlike what a kernel computes, a lane of the result depends on many lanes of the operands. A
//! primitive therefore ends a stage, like a reduction, and is a launch of its own; each backend has its
//! own code for it. What can be said by kernels is not here but composed, see `trace/rearrange.rs`.

use crate::dtype::DType;

/// Which way a sort goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// An operation over whole arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// Operand x, of numbers: `x[0] + … + x[i]` in the order of S11.
    PrefixSum,
    /// Operand x, of numbers: `x[0] · … · x[i]` in the order of S11.
    PrefixProduct,
    /// Operand x: its lanes in order; -0 is below +0, and every NaN comes last, either way.
    Sort(Order),
    /// Operand x: the lane numbers that sort it, those of equal lanes in ascending order.
    SortIndex(Order),
    /// Operand mask: the numbers of its true lanes. The result has as many lanes as are true.
    TrueLanes,
    /// Operands target, index and perhaps active: what `target[index[i]]` would be for lane i if each
    /// active lane before had added 1 to its element; 0 where inactive or out of bounds.
    Increments,
    /// Operands target, index, value and perhaps compare: what `target[index[i]]` is for lane i where each lane before
    /// has put its value, or has where it found what it compares with; 0 out of bounds.
    Exchanges,
}

impl Primitive {
    /// Name in dumps and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrefixSum => "psum",
            Self::PrefixProduct => "cumprod",
            Self::Sort(Order::Ascending) => "sort",
            Self::Sort(Order::Descending) => "sort_desc",
            Self::SortIndex(Order::Ascending) => "argsort",
            Self::SortIndex(Order::Descending) => "argsort_desc",
            Self::TrueLanes => "true_lanes",
            Self::Increments => "increments",
            Self::Exchanges => "exchanges",
        }
    }
}

/// The type of lane numbers below `size`: u32, or u64 where that is too small.
pub const fn lane_number_type(size: u64) -> DType {
    if size <= 1 << 32 { DType::U32 } else { DType::U64 }
}

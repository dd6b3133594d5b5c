//! Primitives: operations that read whole arrays in memory and make a whole array.
//!
//! Unlike what a kernel computes, a lane of the result depends on many lanes of the operands. A
//! primitive therefore ends a stage, like a reduction, and is a launch of its own; each backend has its
//! own code for it. What can be said by kernels is not here but composed, see `trace/rearrange.rs`.

use super::op::ReduceOp;
use crate::dtype::DType;

/// Which way a sort goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Order {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// An operation over whole arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Primitive {
    /// Operand x, of numbers of 32 or 64 bits: lanes 0 to i combined in the order of S11, their sum, product, least or largest.
    /// Of the lanes of a part, which begin with a chunk, there is a second operand: what the lanes before each chunk give.
    Prefix(ReduceOp),
    /// Operand x: of each chunk of a prefix its last lane, if nothing were before; of truth values how many are
    /// true, also in a last chunk that is not whole. For the lanes of a part.
    ChunkTotals(ReduceOp),
    /// Operand x: the lanes of each row in order; -0 is below +0, and every NaN comes last, either way.
    Sort(Sorting),
    /// Operand x: the numbers within its row of the lanes that sort it, those of equal lanes in ascending order.
    SortIndex(Sorting),
    /// Operand x, the lanes of a part: words with the order of the lanes, in ascending order. A word is a key as wide as a
    /// lane; where numbers are wanted the lane's stands behind it, in the low half of a u64, or in a second u64 if either is
    /// wider than 32 bits.
    Run(PartSort),
    /// Operands words, in runs one behind the other, and how many each run has: the lanes that the words of all runs stand
    /// for, in order, or their numbers. For the lanes of a part.
    Merge(PartSort),
    /// Operand mask: the numbers of its true lanes. The result has as many lanes as are true.
    TrueLanes,
    /// Operands target, index and perhaps active: what `target[index[i]]` would be for lane i if each
    /// active lane before had added 1 to its element; 0 where inactive or out of bounds.
    Increments,
    /// Operands target, index, value and perhaps compare: what `target[index[i]]` is for lane i where each lane before
    /// has put its value, or has where it found what it compares with; 0 out of bounds.
    Exchanges,
    /// Operands indices, where the elements of each owner end, and perhaps active: how many lanes write to each owner, then the
    /// lowest lane whose index is out of bounds (none: the largest number), and that index. For the lanes of a part.
    CountByOwner,
    /// Operands indices, ends, values and perhaps active: indices and values of the lanes that write, those of the first owner
    /// first, those of each in order. For the lanes of a part.
    ByOwner,
    /// Operands left and right, of a complex product the real and imaginary parts of each: matrices one behind the other,
    /// and their products in the order of S26.
    Product(Product),
    /// Operand x, of numbers of 32 or 64 bits, or truth values for [`ReduceOp::Any`] and [`ReduceOp::All`], and perhaps
    /// factors, one for each place along an axis: its lanes, times their factors, combined along the axis in the order of
    /// S11.
    Along(Along),
    /// Operand x, of floats of 32 or 64 bits: of blocks of so many lanes, one behind the other, their sums in the order of the
    /// lanes. One block has at least one.
    BlockSums(u64),
    /// Operand x, of any type: matrices one behind the other, each with rows for columns.
    Turned(Turned),
    /// Operands x and values, both of one type, a value for each line along an axis: the number along it of the first lane
    /// with the value's bits, a u32, which is the largest one if there is none.
    Place(Lines),
    /// Operands x, of types as [`Primitive::Along`] has them, the first lane of each line, a u32 or u64, and perhaps factors,
    /// one for each place in a line: the lanes of each line, times their factors, combined in the order of S11. Lines may
    /// share lanes, as windows do.
    Windows(Windows),
}

impl Primitive {
    /// Lanes of a chunk of prefixes.
    pub const CHUNK: usize = 1024;

    /// Name in dumps and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prefix(ReduceOp::Prod) => "cumprod",
            Self::Prefix(ReduceOp::Min) => "cummin",
            Self::Prefix(ReduceOp::Max) => "cummax",
            Self::Prefix(_) => "psum",
            Self::ChunkTotals(_) => "chunk_totals",
            Self::Sort(Sorting { order: Order::Ascending, .. }) => "sort",
            Self::Sort(Sorting { order: Order::Descending, .. }) => "sort_desc",
            Self::SortIndex(Sorting { order: Order::Ascending, .. }) => "argsort",
            Self::SortIndex(Sorting { order: Order::Descending, .. }) => "argsort_desc",
            Self::Run(_) => "run",
            Self::Merge(_) => "merge",
            Self::TrueLanes => "true_lanes",
            Self::Increments => "increments",
            Self::Exchanges => "exchanges",
            Self::CountByOwner => "count_by_owner",
            Self::ByOwner => "by_owner",
            Self::Product(_) => "matmul",
            Self::Along(Along { is_weighted: true, .. }) => "matvec",
            Self::Along(along) => along.op.name(),
            Self::BlockSums(_) => "block_sum",
            Self::Turned(_) => "transpose",
            Self::Place(_) => "place",
            Self::Windows(windows) => windows.op.name(),
        }
    }
}

/// A sort of rows that lie behind each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Sorting {
    /// Which way.
    pub order: Order,
    /// Lanes of a row; at least 1.
    pub extent: u64,
}

/// A sort of one row that parts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PartSort {
    /// Which way.
    pub order: Order,
    /// Whether numbers of lanes are wanted, not lanes.
    pub is_index: bool,
}

/// A reduction along the middle axis of lanes `[outer, extent, inner]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Along {
    /// How two of them combine.
    pub op: ReduceOp,
    /// Lanes along the axis; at least 1.
    pub extent: u64,
    /// Lanes from one along the axis to the next; at least 1.
    pub inner: u64,
    /// Whether there are factors.
    pub is_weighted: bool,
}

/// A reduction of lines of neighbours that begin anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Windows {
    /// How two lanes combine.
    pub op: ReduceOp,
    /// Lanes of a line; at least 1.
    pub extent: u64,
    /// Whether there are factors.
    pub is_weighted: bool,
}

/// The middle axis of lanes `[outer, extent, inner]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Lines {
    /// Lanes along the axis; at least 1, and fewer than the largest u32.
    pub extent: u64,
    /// Lanes from one along the axis to the next; at least 1.
    pub inner: u64,
}

/// Matrices of so many rows and columns, at least one each, that are turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Turned {
    /// Rows before, columns after.
    pub rows: u64,
    /// Columns before, rows after.
    pub columns: u64,
}

/// Products of matrices: of many, or of one with many.
///
/// An entry is the sum of the products along the `depth` by fma from 0 on, in ascending order, in chunks of
/// [`Product::CHUNK`] whose sums are added in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Product {
    /// Columns of left matrices, rows of right ones; at least 1.
    pub depth: u32,
    /// Columns of right matrices; at least 1.
    pub columns: u32,
    /// How left matrices lie in memory.
    pub left: Factor,
    /// How right ones do.
    pub right: Factor,
    /// What is computed.
    pub part: Part,
    /// Whether the tensor cores of a GPU compute it: in another order, f32 with factors rounded to 11 bits.
    pub on_tensor_cores: bool,
}

/// How matrices that are a factor lie in memory, row by row or otherwise.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Factor(u8);

/// The part of an entry of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Part {
    /// All of it: operands are left and right.
    Whole,
    /// The real part of complex ones: fma(re, re), then fma(-im, im).
    Real,
    /// The imaginary part: fma(re, im), then fma(im, re).
    Imag,
}

impl Factor {
    const TURNED: u8 = 1;
    const SHARED: u8 = 2;
    const CONJUGATE: u8 = 4;

    /// Whether they lie column by column; and whether one matrix is a factor of every product.
    pub const fn new(is_turned: bool, is_shared: bool) -> Self {
        let turned = if is_turned { Self::TURNED } else { 0 };
        let shared = if is_shared { Self::SHARED } else { 0 };
        Self(turned | shared)
    }

    /// With the signs of imaginary parts changed, or changed back.
    #[must_use]
    pub const fn conjugate(self) -> Self {
        Self(self.0 ^ Self::CONJUGATE)
    }

    /// Whether they lie column by column.
    pub const fn is_turned(self) -> bool {
        self.0 & Self::TURNED != 0
    }

    /// Whether one matrix is a factor of every product.
    pub const fn is_shared(self) -> bool {
        self.0 & Self::SHARED != 0
    }

    /// Whether the sign of imaginary parts is changed.
    pub const fn is_conjugate(self) -> bool {
        self.0 & Self::CONJUGATE != 0
    }
}

impl Product {
    /// Terms along the depth whose sum is one chain.
    pub const CHUNK: usize = 4096;

    /// The number of products, and of rows of each, for operands of so many lanes.
    pub fn extents(self, left: u64, right: u64) -> (u64, u64) {
        let (depth, columns) = (u64::from(self.depth), u64::from(self.columns));
        let n = if self.right.is_shared() { 1 } else { right / (depth * columns) };
        let rows = left / depth;
        (n, if self.left.is_shared() { rows } else { rows / n.max(1) })
    }
}

/// Where the terms of a factor are: a complex lane has two of them.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Terms of a lane.
    pub n: usize,
    /// For each of them whether it is in the imaginary parts, and whether its sign is changed.
    pub signs: [(bool, bool); 2],
    /// Lanes from a row of the left factor, or a column of the right one, to the next.
    pub across: u64,
    /// Lanes from a lane to the next along the depth.
    pub along: u64,
    /// Lanes from a matrix to the next.
    pub matrix: u64,
}

impl Product {
    /// The terms of the left factor, of so many rows, and those of the right one.
    pub fn terms(self, rows: u64) -> [Terms; 2] {
        let (depth, columns) = (u64::from(self.depth), u64::from(self.columns));
        let terms = |factor: Factor, outer: u64, is_left: bool| {
            // Of the left factor terms of a row lie side by side, of the right one those of a column do not.
            let is_along = is_left != factor.is_turned();
            let (across, along) = if is_along { (depth, 1) } else { (1, outer) };
            let changes = factor.is_conjugate();
            let signs = match (self.part, is_left) {
                (Part::Whole, _) => [(false, false); 2],
                (Part::Real, true) => [(false, false), (true, !changes)],
                (Part::Real, false) | (Part::Imag, true) => [(false, false), (true, changes)],
                (Part::Imag, false) => [(true, changes), (false, false)],
            };
            let matrix = if factor.is_shared() { 0 } else { depth * outer };
            Terms { n: if self.part == Part::Whole { 1 } else { 2 }, signs, across, along, matrix }
        };
        [terms(self.left, rows, true), terms(self.right, columns, false)]
    }
}

/// The type of lane numbers below `size`: u32, or u64 where that is too small.
pub const fn lane_number_type(size: u64) -> DType {
    if size <= 1 << 32 { DType::U32 } else { DType::U64 }
}

//! Reductions with the fixed tree of S11.
//!
//! Chunks of 4096 lanes by lane number; in a chunk lane j goes to accumulator j mod 32, in order;
//! accumulators combine by halves; chunk results combine pairwise, level by level, an odd last one
//! passing up unchanged. Missing lanes hold the identity, so they are skipped.
#![expect(unsafe_code, reason = "lanes are addressed by raw pointers into blocks")]

use std::marker::PhantomData;

use crate::dtype::{DType, Element};
use crate::ir::op::{Op, OpVisitor, ReduceOp};
use crate::ir::scalar::{Lane, apply_bits, identity_bits, with_lane, with_word};

/// Lanes in a chunk.
pub(crate) const CHUNK: usize = 4096;
/// Accumulators in a chunk.
pub(crate) const ACCUMULATORS: usize = 32;

/// One chunk's accumulators, as bit patterns of the result type in 64-bit words.
pub(super) type Accumulators = [u64; ACCUMULATORS];

/// Adds a block of lanes, whose first lane is a multiple of 32, to the accumulators.
///
/// # Safety
/// The lanes must be valid for `n` values of the operand type.
pub(super) type Accumulate = unsafe fn(&mut Accumulators, *const u8, usize);

/// # Safety
/// As for [`Accumulate`].
unsafe fn accumulate<S: Element, T: Lane + FromLane<S>, const OP: u8>(
    accumulators: &mut Accumulators,
    lanes: *const u8,
    n: usize,
) {
    let op = const { Op::from_number(OP) };
    // SAFETY: the caller vouches for the lanes.
    let lanes = unsafe { std::slice::from_raw_parts(lanes.cast::<S>(), n) };
    let mut values: [T; ACCUMULATORS] = accumulators.map(T::from_bits64);
    for row in lanes.chunks(ACCUMULATORS) {
        for (value, &lane) in values.iter_mut().zip(row) {
            let lane = T::from_lane(lane);
            *value = T::apply(op, *value, lane, lane);
        }
    }
    *accumulators = values.map(T::to_bits64);
}

/// A lane as the type that is accumulated: itself, or a mask as 0 or 1.
trait FromLane<S> {
    fn from_lane(lane: S) -> Self;
}

impl<T> FromLane<T> for T {
    #[inline(always)]
    fn from_lane(lane: Self) -> Self {
        lane
    }
}

impl FromLane<bool> for u64 {
    #[inline(always)]
    fn from_lane(lane: bool) -> Self {
        Self::from(lane)
    }
}

struct Pick<T>(PhantomData<T>);

impl<T: Lane> OpVisitor for Pick<T> {
    type Output = Accumulate;
    fn visit<const OP: u8>(&self) -> Accumulate {
        accumulate::<T, T, OP>
    }
}

/// The accumulation of `op` over lanes of type `operand`.
pub(super) fn accumulate_step(op: ReduceOp, operand: DType) -> Accumulate {
    if op == ReduceOp::Count {
        return accumulate::<bool, u64, { Op::Add as u8 }>;
    }
    with_word!(operand,
        T => op.combine().specialize(&Pick::<T>(PhantomData)),
        mask => op.combine().specialize(&Pick::<bool>(PhantomData)))
}

/// Accumulators before the first lane.
pub(super) fn fresh(op: ReduceOp, dtype: DType) -> Accumulators {
    [identity_bits(op, dtype); ACCUMULATORS]
}

/// The result of a chunk: accumulators combined by halves.
pub(super) fn finish_chunk(op: ReduceOp, dtype: DType, mut values: Accumulators) -> u64 {
    let mut half = ACCUMULATORS / 2;
    while half > 0 {
        for i in 0..half {
            values[i] = combine(op, dtype, values[i], values[i + half]);
        }
        half /= 2;
    }
    values[0]
}

/// The result of a chunk whose accumulators lie in memory as lanes.
///
/// # Safety
/// The pointer must be valid for [`ACCUMULATORS`] values of the type.
pub(super) type Finish = unsafe fn(*const u8) -> u64;

/// # Safety
/// As for [`Finish`].
unsafe fn finish_lanes<T: Lane, const OP: u8>(accumulators: *const u8) -> u64 {
    let op = const { Op::from_number(OP) };
    // SAFETY: passed on to the caller; no alignment is needed.
    let mut values = unsafe { accumulators.cast::<[T; ACCUMULATORS]>().read_unaligned() };
    for half in [16, 8, 4, 2, 1] {
        for i in 0..half {
            values[i] = T::apply(op, values[i], values[i + half], values[i + half]);
        }
    }
    values[0].to_bits64()
}

struct PickFinish<T>(PhantomData<T>);

impl<T: Lane> OpVisitor for PickFinish<T> {
    type Output = Finish;
    fn visit<const OP: u8>(&self) -> Finish {
        finish_lanes::<T, OP>
    }
}

/// How the accumulators of `op` over numbers of type `dtype` combine.
pub(super) fn finish_step(op: ReduceOp, dtype: DType) -> Finish {
    with_word!(dtype,
        T => op.combine().specialize(&PickFinish::<T>(PhantomData)),
        mask => op.combine().specialize(&PickFinish::<bool>(PhantomData)))
}

/// The results of chunks in order, combined as they come: a stack of complete subtrees, so memory is
/// the logarithm of their number.
pub(super) struct Fold {
    op: ReduceOp,
    dtype: DType,
    n: u64,
    /// One result per one bit of `n`, the largest subtree first.
    subtrees: Vec<u64>,
}

impl Fold {
    pub(super) fn new(op: ReduceOp, dtype: DType) -> Self {
        Self { op, dtype, n: 0, subtrees: Vec::new() }
    }

    /// Adds the next chunk's result.
    pub(super) fn push(&mut self, mut result: u64) {
        // As many subtrees end here as a carry runs through bits.
        for _ in 0..self.n.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                result = combine(self.op, self.dtype, left, result);
            }
        }
        self.subtrees.push(result);
        self.n += 1;
    }

    /// The result: what is left over passes up unchanged, so the smallest subtrees combine first.
    pub(super) fn finish(mut self) -> u64 {
        let last = self.subtrees.pop();
        let mut result = last.unwrap_or_else(|| identity_bits(self.op, self.dtype));
        while let Some(left) = self.subtrees.pop() {
            result = combine(self.op, self.dtype, left, result);
        }
        result
    }
}

/// The result of all claims, each a complete subtree but the last: combined pairwise in order, level by level.
pub(super) fn finish(op: ReduceOp, dtype: DType, mut chunks: Vec<u64>) -> u64 {
    while chunks.len() > 1 {
        let n_pairs = chunks.len().div_ceil(2);
        for i in 0..n_pairs {
            chunks[i] = match chunks.get(2 * i + 1) {
                Some(&second) => combine(op, dtype, chunks[2 * i], second),
                None => chunks[2 * i],
            };
        }
        chunks.truncate(n_pairs);
    }
    chunks.first().copied().unwrap_or_else(|| identity_bits(op, dtype))
}

/// The bytes of a result as the elements of a buffer of type `stored`: f16 rounds here, once.
pub(super) fn stored_bytes(dtype: DType, stored: DType, result: u64) -> Vec<u8> {
    let result = match dtype == stored {
        true => result,
        false => apply_bits(Op::Cast, stored, dtype, [result, 0, 0]),
    };
    result.to_le_bytes()[..stored.bytes()].to_vec()
}

pub(super) fn combine(op: ReduceOp, dtype: DType, a: u64, b: u64) -> u64 {
    apply_bits(op.combine(), dtype, dtype, [a, b, b])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_fold_as_level_by_level() {
        let chunk = |i: u32| {
            let value = (f64::from(i) * 0.7).sin() * f64::from(i % 7).exp2();
            let mut accumulators = fresh(ReduceOp::Sum, DType::F64);
            accumulators[0] = value.to_bits();
            (accumulators, value.to_bits())
        };
        for n in 0..70 {
            let mut fold = Fold::new(ReduceOp::Sum, DType::F64);
            let result = |i| finish_chunk(ReduceOp::Sum, DType::F64, chunk(i).0);
            (0..n).for_each(|i| fold.push(result(i)));
            let results = (0..n).map(|i| chunk(i).1).collect();
            assert_eq!(fold.finish(), finish(ReduceOp::Sum, DType::F64, results), "{n} chunks");
        }
    }
}

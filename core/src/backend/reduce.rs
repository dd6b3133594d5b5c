//! Reductions with the fixed tree of S11.
//!
//! Chunks of 4096 lanes by lane number; in a chunk lane j goes to accumulator j mod 32, in order;
//! accumulators combine by halves; chunk results combine pairwise, level by level, an odd last one
//! passing up unchanged. Missing lanes hold the identity, so they are skipped.
#![expect(unsafe_code, reason = "lanes are addressed by raw pointers into blocks")]

use std::marker::PhantomData;
use std::ops::Range;

use crate::dtype::{DType, Element};
use crate::ir::kernel::{ParamBlock, WORD_SIZE};
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
    pub(super) fn push(&mut self, result: u64) {
        self.push_subtree(Subtree { level: 0, number: self.n, result });
    }

    /// Adds the result of the next chunks, a complete subtree or what there is of the last one.
    pub(super) fn push_subtree(&mut self, subtree: Subtree) {
        let Subtree { level, mut result, .. } = subtree;
        // As many subtrees end here as a carry runs through bits.
        for _ in 0..(self.n >> level).trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                result = combine(self.op, self.dtype, left, result);
            }
        }
        self.subtrees.push(result);
        self.n += 1 << level;
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

/// Lanes that are claimed together at most, a power of two, where a launch has more lanes before a range or behind it: whole
/// claims begin and end where the range does.
pub(super) fn claim_within(params: &ParamBlock, lanes: &Range<u64>) -> u64 {
    let end = if lanes.end < params.words()[WORD_SIZE] { lanes.end } else { 0 };
    1 << (lanes.start | end).trailing_zeros().min(63)
}

/// The chunks `number << level .. (number + 1) << level`, or those of them that there are, and their result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Subtree {
    /// Log2 of the number of chunks.
    pub level: u32,
    /// Its number among those of its level.
    pub number: u64,
    /// The result.
    pub result: u64,
}

/// The largest subtrees that neighbouring ones of one level, given in order, make: at most two a level.
pub(super) fn cover(
    op: ReduceOp,
    dtype: DType,
    subtrees: impl Iterator<Item = Subtree>,
) -> Vec<Subtree> {
    let mut cover: Vec<Subtree> = Vec::new();
    for mut next in subtrees {
        while let Some(left) = cover.pop_if(|left| left.level == next.level && left.number % 2 == 0)
        {
            let result = combine(op, dtype, left.result, next.result);
            next = Subtree { level: left.level + 1, number: left.number / 2, result };
        }
        cover.push(next);
    }
    cover
}

/// The largest subtrees that cover some of `n_chunks` chunks, as levels and chunks: complete, or what there is of the last.
pub(super) fn subtrees(chunks: Range<u64>, n_chunks: u64) -> Vec<(u32, Range<u64>)> {
    let (mut start, mut subtrees) = (chunks.start, Vec::new());
    while start < chunks.end {
        let left = chunks.end - start;
        // Of what ends where all do, the last subtree may lack chunks.
        let level = match left.is_power_of_two() || chunks.end < n_chunks {
            true => left.ilog2(),
            false => left.ilog2() + 1,
        };
        let level = if start == 0 { level } else { level.min(start.trailing_zeros()) };
        let end = chunks.end.min(start + (1 << level));
        subtrees.push((level, start..end));
        start = end;
    }
    subtrees
}

/// The result of all chunks from those of parts, which cover them in order.
pub(super) fn finish_covers(
    op: ReduceOp,
    dtype: DType,
    covers: impl Iterator<Item = Subtree>,
) -> u64 {
    match op {
        // In whichever order.
        ReduceOp::Count | ReduceOp::Any | ReduceOp::All => {
            let first = identity_bits(op, dtype);
            covers.fold(first, |result, part| combine(op, dtype, result, part.result))
        }
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max => {
            let mut fold = Fold::new(op, dtype);
            covers.for_each(|subtree| fold.push_subtree(subtree));
            fold.finish()
        }
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

    #[test]
    fn parts_of_any_borders_cover_the_tree() {
        let word = |i: u64| ((i as f64 * 0.7).sin() * ((i % 7) as f64).exp2()).to_bits();
        let (op, dtype) = (ReduceOp::Sum, DType::F64);
        // A generator of borders, the same in every run.
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for parts in 1..=17 {
            for _ in 0..240 {
                let n = 1 + next(3000);
                let mut borders: Vec<u64> = (1..parts).map(|_| next(n + 1)).collect();
                borders.extend([0, n]);
                borders.sort_unstable();
                let covers: Vec<Vec<Subtree>> = borders
                    .windows(2)
                    .map(|ends| {
                        let chunk = |number| Subtree { level: 0, number, result: word(number) };
                        cover(op, dtype, (ends[0]..ends[1]).map(chunk))
                    })
                    .collect();
                for ends in borders.windows(2) {
                    let mut next = ends[0];
                    let subtrees = subtrees(ends[0]..ends[1], n);
                    assert!(subtrees.len() <= 2 * (n.ilog2() as usize + 1));
                    for (level, own) in subtrees {
                        let (length, size) = (own.end - own.start, 1 << level);
                        assert!(own.start == next && own.start.is_multiple_of(size));
                        assert!(length == size || length < size && own.end == n);
                        next = own.end;
                    }
                    assert_eq!(next, ends[1]);
                }
                for part in &covers {
                    assert!(part.len() <= 2 * (n.ilog2() as usize + 1), "{n} chunks, {borders:?}");
                }
                let want = finish(op, dtype, (0..n).map(word).collect());
                let got = finish_covers(op, dtype, covers.into_iter().flatten());
                assert_eq!(got, want, "{n} chunks, {borders:?}");
            }
        }
    }
}

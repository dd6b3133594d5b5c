//! Prefix sums, products and extremes in the order of S11.
//!
//! Chunks of 1024 lanes by lane number; in a chunk runs of 8 lanes are summed one after the other, run
//! totals by doubling (`t[k] += t[k - d]` for d = 1, 2, 4 …), and chunk totals are an array whose prefix
//! sums are taken the same way. A lane is the sum of the chunks before, plus (the sum of the runs
//! before in its chunk, plus the sum in its run). Others likewise.

use super::PrimitiveCall;
use super::lanes::Lanes;
use super::pieces::Workers;
#[cfg(target_arch = "x86_64")]
use super::scan_vectors;
#[cfg(target_arch = "x86_64")]
use super::vectors::Vectors;
use crate::backend::isa::Isa;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::ReduceOp;
use crate::ir::primitive::Primitive;
use crate::ir::scalar::{Lane, with_lane, with_word};

/// Lanes of a chunk.
pub(super) const CHUNK: usize = Primitive::CHUNK;
/// Lanes of a run.
pub(super) const RUN: usize = 8;
pub(super) const RUNS: usize = CHUNK / RUN;

/// An operation that combines two lanes; a type, so that each one has its own code.
pub(super) trait Combine: Send + 'static {
    const OP: ReduceOp;

    fn nothing<T: Lane>() -> T {
        T::identity(Self::OP)
    }

    #[inline(always)]
    fn combine<T: Lane>(a: T, b: T) -> T {
        T::apply(Self::OP.combine(), a, b, b)
    }
}

struct Sum;
impl Combine for Sum {
    const OP: ReduceOp = ReduceOp::Sum;
}

struct Product;
impl Combine for Product {
    const OP: ReduceOp = ReduceOp::Prod;
}

struct Least;
impl Combine for Least {
    const OP: ReduceOp = ReduceOp::Min;
}

struct Largest;
impl Combine for Largest {
    const OP: ReduceOp = ReduceOp::Max;
}

/// Runs a prefix, or the totals of its chunks.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`.
pub(super) fn run(workers: &Workers<'_>, op: ReduceOp, call: &PrimitiveCall) -> Result<()> {
    match op {
        ReduceOp::Sum => run_by::<Sum>(workers, call),
        ReduceOp::Prod => run_by::<Product>(workers, call),
        ReduceOp::Min => run_by::<Least>(workers, call),
        ReduceOp::Max => run_by::<Largest>(workers, call),
        ReduceOp::Count | ReduceOp::Any | ReduceOp::All => {
            unreachable!("internal error: prefixes of truth values")
        }
    }
}

fn run_by<C: Combine>(workers: &Workers<'_>, call: &PrimitiveCall) -> Result<()> {
    let (x, before, result) = (call.operands[0], call.operands.get(1), call.result);
    with_word!(x.dtype,
        T => {
            let (x, result) = (Lanes::<T>::of(x), Lanes::of(result));
            match (call.primitive, before) {
                (Primitive::ChunkTotals(_), _) => totals::<C, T>(workers, x, result),
                (_, Some(&before)) => prefix_behind::<C, T>(workers, x, Lanes::of(before), result),
                (_, None) => prefix::<C, T>(workers, x, result),
            }
        },
        mask => unreachable!("internal error: a prefix of truth values"))
}

/// `result[i] = x[0] + … + x[i]`, or the same with another operation.
///
/// Lanes are read twice, for the totals of chunks and for their prefix sums: block by block, so that the second time
/// they come from a cache.
fn prefix<C: Combine, T: Lane>(workers: &Workers<'_>, x: Lanes<T>, result: Lanes<T>) -> Result<()> {
    let (n, isa) = (x.len(), workers.isa);
    if n <= CHUNK {
        chunk::<C, T>(isa, x.slice(0, n), result.slice_mut(0, n), C::nothing());
        return Ok(());
    }
    // Many threads would wait for each other after every few chunks.
    let span = n.div_ceil(CHUNK).min(CHUNK * workers.pool.threads().div_ceil(2));
    let (totals, sums) = (workers.scratch::<T>(span)?, workers.scratch::<T>(span)?);
    let (to, from) = (totals.lanes, sums.lanes);
    // The totals of as many chunks as one has lanes, and the sum of all chunks before a block.
    let (mut groups, mut before) = (Vec::new(), C::nothing());
    for start in (0..n).step_by(span * CHUNK) {
        let length = (span * CHUNK).min(n - start);
        let (x, result) = (x.range(start, length), result.range(start, length));
        // A piece is a whole number of chunks.
        let n_whole = length / CHUNK;
        self::totals::<C, T>(workers, x, to.range(0, n_whole))?;
        for first in (0..n_whole).step_by(CHUNK) {
            let last = n_whole.min(first + CHUNK);
            let (totals, sums) = (to.slice(first, last), from.slice_mut(first, last));
            chunk::<C, T>(isa, totals, sums, last_sum::<C, T>(isa, &groups));
            groups.push(run_totals::<C, T>(isa, totals)[RUNS - 1]);
        }
        workers.pieces(length, move |piece| {
            for start in (piece.start..piece.end).step_by(CHUNK) {
                let end = length.min(start + CHUNK);
                let before = if start == 0 { before } else { from.get(start / CHUNK - 1) };
                chunk::<C, T>(isa, x.slice(start, end), result.slice_mut(start, end), before);
            }
        })?;
        before = if n_whole == 0 { before } else { from.get(n_whole - 1) };
    }
    Ok(())
}

/// The totals of as many chunks as `result` has lanes.
fn totals<C: Combine, T: Lane>(workers: &Workers<'_>, x: Lanes<T>, result: Lanes<T>) -> Result<()> {
    let isa = workers.isa;
    workers.pieces(result.len() * CHUNK, move |piece| {
        for start in (piece.start..piece.end).step_by(CHUNK) {
            let totals = run_totals::<C, T>(isa, x.slice(start, start + CHUNK));
            result.set(start / CHUNK, totals[RUNS - 1]);
        }
    })
}

/// As [`prefix`], of lanes that have others before: `before` says for each chunk what these sum to.
fn prefix_behind<C: Combine, T: Lane>(
    workers: &Workers<'_>,
    x: Lanes<T>,
    before: Lanes<T>,
    result: Lanes<T>,
) -> Result<()> {
    let (n, isa) = (x.len(), workers.isa);
    workers.pieces(n, move |piece| {
        for start in (piece.start..piece.end).step_by(CHUNK) {
            let end = n.min(start + CHUNK);
            let (x, result) = (x.slice(start, end), result.slice_mut(start, end));
            chunk::<C, T>(isa, x, result, before.get(start / CHUNK));
        }
    })
}

/// The last prefix sum of an array.
fn last_sum<C: Combine, T: Lane>(isa: Isa, x: &[T]) -> T {
    let Some(last) = x.len().checked_sub(1) else { return C::nothing() };
    let (before, x) = x.split_at(last / CHUNK * CHUNK);
    let total = |x: &[T]| run_totals::<C, T>(isa, x)[RUNS - 1];
    let totals: Vec<T> = before.chunks(CHUNK).map(total).collect();
    let mut sums = vec![C::nothing(); x.len()];
    chunk::<C, T>(isa, x, &mut sums, last_sum::<C, T>(isa, &totals));
    sums[x.len() - 1]
}

/// The prefix sums of up to a chunk, on top of the sum before it.
fn chunk<C: Combine, T: Lane>(isa: Isa, x: &[T], result: &mut [T], before: T) {
    #[cfg(target_arch = "x86_64")]
    if let (Some(vectors), Ok(x), Ok(result)) =
        (vectors::<T>(isa), x.try_into(), <&mut [T; CHUNK]>::try_from(&mut *result))
    {
        return scan_vectors::chunk::<C, T>(vectors, x, result, before);
    }
    let nothing = C::nothing();
    let totals = run_totals::<C, T>(isa, x);
    let sums = |number: usize, mut run: [T; RUN]| {
        let in_chunk = if number == 0 { nothing } else { totals[number - 1] };
        for j in 1..RUN {
            run[j] = C::combine(run[j - 1], run[j]);
        }
        run.map(|sum| C::combine(before, C::combine(in_chunk, sum)))
    };
    let (runs, rest) = x.as_chunks::<RUN>();
    let (results, rest_of_result) = result.as_chunks_mut::<RUN>();
    for (number, (run, result)) in runs.iter().zip(results).enumerate() {
        *result = sums(number, *run);
    }
    let mut last = [nothing; RUN];
    last[..rest.len()].copy_from_slice(rest);
    rest_of_result.copy_from_slice(&sums(runs.len(), last)[..rest.len()]);
}

/// The prefix sums of the totals of whole runs.
fn run_totals<C: Combine, T: Lane>(isa: Isa, x: &[T]) -> [T; RUNS] {
    #[cfg(target_arch = "x86_64")]
    if let (Some(vectors), Ok(x)) = (vectors::<T>(isa), x.try_into()) {
        return scan_vectors::run_totals::<C, T>(vectors, x);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = isa;
    let mut totals = [C::nothing(); RUNS];
    for (total, run) in totals.iter_mut().zip(x.as_chunks::<RUN>().0) {
        *total = run[1..].iter().fold(run[0], |sum, &x| C::combine(sum, x));
    }
    doubled::<C, T>(totals)
}

/// Vector instructions for lanes of a type, where they are there.
#[cfg(target_arch = "x86_64")]
fn vectors<T: Lane>(isa: Isa) -> Option<Vectors> {
    Vectors::of(isa).filter(|_| scan_vectors::suits::<T>())
}

/// Prefix sums by doubling; inlined where there are vectors.
#[inline(always)]
pub(super) fn doubled<C: Combine, T: Lane>(mut totals: [T; RUNS]) -> [T; RUNS] {
    let mut distance = 1;
    while distance < RUNS {
        let earlier = totals;
        for k in distance..RUNS {
            totals[k] = C::combine(earlier[k - distance], earlier[k]);
        }
        distance *= 2;
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sum_is_that_of_all() {
        let isa = Isa::detect();
        let x: Vec<f32> = (0_u16..3081).map(|i| (f32::from(i) * 0.7).sin()).collect();
        let totals: Vec<f32> =
            x.chunks_exact(CHUNK).map(|x| run_totals::<Sum, f32>(isa, x)[RUNS - 1]).collect();
        let mut before = vec![0.0; totals.len()];
        chunk::<Sum, f32>(isa, &totals, &mut before, Sum::nothing());
        let mut sums = vec![0.0; x.len()];
        for (number, (x, sums)) in x.chunks(CHUNK).zip(sums.chunks_mut(CHUNK)).enumerate() {
            let before = if number == 0 { Sum::nothing() } else { before[number - 1] };
            chunk::<Sum, f32>(isa, x, sums, before);
        }
        for n in [1, 8, 9, 1023, 1024, 1025, 2048, 3081] {
            assert_eq!(last_sum::<Sum, f32>(isa, &x[..n]).to_bits(), sums[n - 1].to_bits());
        }
    }

    /// Vectors give the bits of lanes one after the other, also of NaN and of zeros.
    #[test]
    fn extremes_are_the_same_on_vectors() {
        fn check<T: Lane>(values: [T; 7]) {
            of::<Least, T>(values);
            of::<Largest, T>(values);
        }
        fn of<C: Combine, T: Lane>(values: [T; 7]) {
            // Some runs of one value, then all of them.
            for first in 0..7 {
                let lane = |i: usize| values[if i < 90 { first } else { (i * i / 7 + i / 8) % 7 }];
                let x: Vec<T> = (0..CHUNK).map(lane).collect();
                let [scalar, vectors] = [Isa::Baseline, Isa::detect()].map(|isa| {
                    let mut result = vec![C::nothing(); CHUNK];
                    chunk::<C, T>(isa, &x, &mut result, values[first]);
                    result.into_iter().map(T::to_bits64).collect::<Vec<u64>>()
                });
                assert_eq!(scalar, vectors, "{} {:?} from {first}", T::DTYPE, C::OP);
            }
        }
        check([f32::NAN, -0.0, 0.0, 1.5, -1.5, f32::INFINITY, f32::NEG_INFINITY]);
        check([f64::NAN, 0.0, -0.0, 1.5, -1.5, f64::NEG_INFINITY, f64::INFINITY]);
        check([0_i32, 1, -1, i32::MIN, i32::MAX, 7, -7]);
        check([0_u32, 1, u32::MAX, 1 << 31, 5, 7, 9]);
        check([0_i64, 1, -1, i64::MIN, i64::MAX, 1 << 40, -7]);
        check([0_u64, 1, u64::MAX, 1 << 63, 5, 1 << 40, 9]);
    }
}

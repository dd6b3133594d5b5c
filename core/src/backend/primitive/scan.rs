//! Prefix sums and products in the order of S11.
//!
//! Chunks of 1024 lanes by lane number; in a chunk runs of 8 lanes are summed one after the other, run
//! totals by doubling (`t[k] += t[k - d]` for d = 1, 2, 4 …), and chunk totals are an array whose prefix
//! sums are taken the same way. A lane is the sum of the chunks before, plus (the sum of the runs
//! before in its chunk, plus the sum in its run). Products likewise.

#[cfg(target_arch = "x86_64")]
use super::scan_vectors;
#[cfg(target_arch = "x86_64")]
use super::vectors::Vectors;
use super::{Lanes, Workers};
use crate::backend::isa::Isa;
use crate::error::Result;
use crate::ir::op::ReduceOp;
use crate::ir::scalar::Lane;

/// Lanes of a chunk.
pub(super) const CHUNK: usize = 1024;
/// Lanes of a run.
pub(super) const RUN: usize = 8;
pub(super) const RUNS: usize = CHUNK / RUN;

/// What combines two lanes; a type, so that each one has its own code.
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

pub(super) struct Sum;
impl Combine for Sum {
    const OP: ReduceOp = ReduceOp::Sum;
}

pub(super) struct Product;
impl Combine for Product {
    const OP: ReduceOp = ReduceOp::Prod;
}

/// `result[i] = x[0] + … + x[i]`, or the product.
pub(super) fn prefix<C: Combine, T: Lane>(
    workers: &Workers<'_>,
    x: Lanes<T>,
    result: Lanes<T>,
) -> Result<()> {
    let n = x.len();
    let nothing = C::nothing();
    let isa = workers.isa;
    if n <= CHUNK {
        chunk::<C, T>(isa, x.slice(0, n), result.slice_mut(0, n), nothing);
        return Ok(());
    }
    // The total of the last chunk is nobody's concern.
    let n_before = n.div_ceil(CHUNK) - 1;
    let totals = workers.scratch::<T>(n_before)?;
    let before = workers.scratch::<T>(n_before)?;
    let (to, from) = (totals.lanes, before.lanes);
    // A piece is a whole number of chunks.
    workers.pieces(n_before * CHUNK, move |piece| {
        for start in (piece.start..piece.end).step_by(CHUNK) {
            let totals = run_totals::<C, T>(isa, x.slice(start, start + CHUNK));
            to.set(start / CHUNK, totals[RUNS - 1]);
        }
    })?;
    prefix::<C, T>(workers, totals.lanes, before.lanes)?;
    workers.pieces(n, move |piece| {
        for start in (piece.start..piece.end).step_by(CHUNK) {
            let end = n.min(start + CHUNK);
            let before = if start == 0 { nothing } else { from.get(start / CHUNK - 1) };
            chunk::<C, T>(isa, x.slice(start, end), result.slice_mut(start, end), before);
        }
    })
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

//! Prefix sums of whole chunks with AVX-512: sixteen runs of 32-bit lanes, or eight of 64-bit ones, at once.
//!
//! Eight vectors hold the lanes of as many runs one after the other. Transposed, vector `j` holds lane `j` of
//! each run, so that seven additions sum all of them in the order of S11.
#![expect(unsafe_code, reason = "instructions that not every processor has, lanes by pointer")]
#![expect(clippy::multiple_unsafe_ops_per_block, reason = "every operation on vectors is one")]

use std::arch::x86_64::{
    __m512i, _CMP_EQ_OQ, _CMP_UNORD_Q, _mm512_add_epi32, _mm512_add_epi64, _mm512_add_pd,
    _mm512_add_ps, _mm512_castpd_si512, _mm512_castps_si512, _mm512_castsi512_pd,
    _mm512_castsi512_ps, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask, _mm512_loadu_si512,
    _mm512_mask_and_epi32, _mm512_mask_and_epi64, _mm512_mask_mov_epi32, _mm512_mask_mov_epi64,
    _mm512_mask_or_epi32, _mm512_mask_or_epi64, _mm512_max_epi32, _mm512_max_epi64,
    _mm512_max_epu32, _mm512_max_epu64, _mm512_max_pd, _mm512_max_ps, _mm512_min_epi32,
    _mm512_min_epi64, _mm512_min_epu32, _mm512_min_epu64, _mm512_min_pd, _mm512_min_ps,
    _mm512_mul_pd, _mm512_mul_ps, _mm512_mullo_epi32, _mm512_mullo_epi64, _mm512_permutexvar_epi32,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
};

use super::scan::{CHUNK, Combine, RUN, RUNS, doubled};
use super::vectors::{Vector, Vector32, Vector64, Vectors};
use crate::dtype::DType;
use crate::ir::op::ReduceOp;
use crate::ir::scalar::Lane;

/// Runs that a transposed vector holds in its lanes, for 32-bit lanes: those with even numbers, then odd.
const RUNS_OF_LANES: [u32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15];
/// The way back.
const LANES_OF_RUNS: [u32; 16] = [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15];

/// Lanes of eight vectors, by run.
type Block = [__m512i; RUN];

/// Whether there is code for a type.
pub(super) fn suits<T: Lane>() -> bool {
    use DType::{F32, F64, I32, I64, U32, U64};
    matches!(T::DTYPE, F32 | F64 | I32 | I64 | U32 | U64)
}

/// The prefix sums of a chunk's run totals.
pub(super) fn run_totals<C: Combine, T: Lane>(_: Vectors, x: &[T; CHUNK]) -> [T; RUNS] {
    // SAFETY: AVX-512 is there.
    unsafe { totals::<C, T>(x, None) }
}

/// The prefix sums of a chunk, on top of the sum before it.
pub(super) fn chunk<C: Combine, T: Lane>(
    _: Vectors,
    x: &[T; CHUNK],
    result: &mut [T; CHUNK],
    before: T,
) {
    // SAFETY: AVX-512 is there.
    unsafe { sums::<C, T>(x, result, before) }
}

/// Lanes of a vector.
const fn lanes<T>() -> usize {
    64 / size_of::<T>()
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn load<T>(from: &[T], start: usize) -> Block {
    let mut block: Block = [_mm512_setzero_si512(); RUN];
    for (i, vector) in block.iter_mut().enumerate() {
        let lanes = &from[start + i * lanes::<T>()..][..lanes::<T>()];
        // SAFETY: a vector's lanes.
        *vector = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
    }
    block
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn store<T>(block: Block, to: &mut [T], start: usize) {
    for (i, vector) in block.into_iter().enumerate() {
        let lanes = &mut to[start + i * lanes::<T>()..][..lanes::<T>()];
        // SAFETY: a vector's lanes.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), vector) };
    }
}

/// The prefix sums of run totals; those in runs are kept, transposed, if there is a place for them.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn totals<C: Combine, T: Lane>(
    x: &[T; CHUNK],
    mut in_runs: Option<&mut [T; CHUNK]>,
) -> [T; RUNS] {
    let mut totals = [C::nothing::<T>(); RUNS];
    for first in (0..RUNS).step_by(lanes::<T>()) {
        // SAFETY: as the caller says.
        let mut block = unsafe { transposed::<T>(load(x, first * RUN)) };
        for j in 1..RUN {
            // SAFETY: as the caller says.
            block[j] = unsafe { combine::<C, T>(block[j - 1], block[j]) };
        }
        let totals = &mut totals[first..][..lanes::<T>()];
        // SAFETY: a vector's lanes.
        unsafe {
            let total = reordered::<T>(block[RUN - 1], &LANES_OF_RUNS);
            _mm512_storeu_si512(totals.as_mut_ptr().cast(), total);
        }
        if let Some(in_runs) = in_runs.as_deref_mut() {
            // SAFETY: as the caller says.
            unsafe { store(block, in_runs, first * RUN) };
        }
    }
    doubled::<C, T>(totals)
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn sums<C: Combine, T: Lane>(x: &[T; CHUNK], result: &mut [T; CHUNK], before: T) {
    let mut earlier = [C::nothing::<T>(); RUNS + 1];
    // SAFETY: as the caller says.
    earlier[1..].copy_from_slice(&unsafe { totals::<C, T>(x, Some(result)) });
    // SAFETY: as the caller says.
    let before = unsafe { splat(before) };
    for first in (0..RUNS).step_by(lanes::<T>()) {
        let in_chunk = &earlier[first..][..lanes::<T>()];
        // SAFETY: a vector's lanes.
        unsafe {
            let in_chunk = _mm512_loadu_si512(in_chunk.as_ptr().cast());
            let in_chunk = reordered::<T>(in_chunk, &RUNS_OF_LANES);
            let mut block = load(result, first * RUN);
            for vector in &mut block {
                *vector = combine::<C, T>(before, combine::<C, T>(in_chunk, *vector));
            }
            store(transposed::<T>(block), result, first * RUN);
        }
    }
}

/// Swaps the three bits of a vector's number with the lowest of a lane's: twice is nothing.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn transposed<T>(mut block: Block) -> Block {
    macro_rules! swap {
        ($vector:ident, $d:literal, $($i:literal)*) => { $(
            // SAFETY: as the caller says.
            let (a, b) = unsafe { $vector(block[$i]).transpose::<$d>($vector(block[$i + $d])) };
            (block[$i], block[$i + $d]) = (a.0, b.0);
        )* };
    }
    if size_of::<T>() == 4 {
        swap!(Vector32, 1, 0 2 4 6);
        swap!(Vector32, 2, 0 1 4 5);
        swap!(Vector32, 4, 0 1 2 3);
    } else {
        swap!(Vector64, 1, 0 2 4 6);
        swap!(Vector64, 2, 0 1 4 5);
        swap!(Vector64, 4, 0 1 2 3);
    }
    block
}

/// One number for each run, in another order; 64-bit lanes have one order.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn reordered<T>(vector: __m512i, order: &[u32; 16]) -> __m512i {
    if size_of::<T>() == 8 {
        return vector;
    }
    // SAFETY: a vector's bytes.
    let order = unsafe { _mm512_loadu_si512(order.as_ptr().cast()) };
    _mm512_permutexvar_epi32(order, vector)
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn splat<T: Lane>(value: T) -> __m512i {
    let address = (&raw const value).cast::<()>();
    // SAFETY: a lane has as many bytes.
    unsafe {
        if size_of::<T>() == 4 {
            _mm512_set1_epi32(address.cast::<i32>().read())
        } else {
            _mm512_set1_epi64(address.cast::<i64>().read())
        }
    }
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn combine<C: Combine, T: Lane>(a: __m512i, b: __m512i) -> __m512i {
    macro_rules! float {
        ($apply:ident, $from:ident, $to:ident) => {
            $to($apply($from(a), $from(b)))
        };
    }
    match (C::OP, T::DTYPE) {
        // SAFETY: as the caller says.
        (ReduceOp::Min | ReduceOp::Max, _) => unsafe { extreme::<C, T>(a, b) },
        (ReduceOp::Sum, DType::F32) => {
            float!(_mm512_add_ps, _mm512_castsi512_ps, _mm512_castps_si512)
        }
        (_, DType::F32) => float!(_mm512_mul_ps, _mm512_castsi512_ps, _mm512_castps_si512),
        (ReduceOp::Sum, DType::F64) => {
            float!(_mm512_add_pd, _mm512_castsi512_pd, _mm512_castpd_si512)
        }
        (_, DType::F64) => float!(_mm512_mul_pd, _mm512_castsi512_pd, _mm512_castpd_si512),
        (ReduceOp::Sum, _) if size_of::<T>() == 4 => _mm512_add_epi32(a, b),
        _ if size_of::<T>() == 4 => _mm512_mullo_epi32(a, b),
        (ReduceOp::Sum, _) => _mm512_add_epi64(a, b),
        _ => _mm512_mullo_epi64(a, b),
    }
}

/// The lesser or the larger lanes, as `Op::Min` and `Op::Max` have them.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn extreme<C: Combine, T: Lane>(a: __m512i, b: __m512i) -> __m512i {
    let is_least = C::OP == ReduceOp::Min;
    macro_rules! integer {
        ($min:ident, $max:ident) => {
            if is_least { $min(a, b) } else { $max(a, b) }
        };
    }
    macro_rules! float {
        ($from:ident, $to:ident, $min:ident, $max:ident, $is:ident, $move:ident, $or:ident, $and:ident) => {{
            let (x, y) = ($from(a), $from(b));
            // The instruction gives its second operand where one is NaN or both are zeros.
            let extreme = $to(if is_least { $min(y, x) } else { $max(y, x) });
            let extreme = $move(extreme, $is::<_CMP_UNORD_Q>(x, x), b);
            let equal = $is::<_CMP_EQ_OQ>(x, y);
            if is_least { $or(extreme, equal, a, b) } else { $and(extreme, equal, a, b) }
        }};
    }
    match T::DTYPE {
        DType::F32 => float!(
            _mm512_castsi512_ps,
            _mm512_castps_si512,
            _mm512_min_ps,
            _mm512_max_ps,
            _mm512_cmp_ps_mask,
            _mm512_mask_mov_epi32,
            _mm512_mask_or_epi32,
            _mm512_mask_and_epi32
        ),
        DType::F64 => float!(
            _mm512_castsi512_pd,
            _mm512_castpd_si512,
            _mm512_min_pd,
            _mm512_max_pd,
            _mm512_cmp_pd_mask,
            _mm512_mask_mov_epi64,
            _mm512_mask_or_epi64,
            _mm512_mask_and_epi64
        ),
        DType::I32 => integer!(_mm512_min_epi32, _mm512_max_epi32),
        DType::U32 => integer!(_mm512_min_epu32, _mm512_max_epu32),
        DType::I64 => integer!(_mm512_min_epi64, _mm512_max_epi64),
        _ => integer!(_mm512_min_epu64, _mm512_max_epu64),
    }
}

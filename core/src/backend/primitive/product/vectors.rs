//! Products with vectors: sums in registers, a vector of the right factor times each number of the left one.
#![expect(unsafe_code, reason = "instructions that not every processor has, lanes by pointer")]

use std::any::Any;
use std::arch::x86_64::{
    __m256, __m256d, __m256i, __m512, __m512d, __mmask8, __mmask16, _MM_HINT_T0, _MM_HINT_T1,
    _mm_prefetch, _mm256_cmpgt_epi32, _mm256_cmpgt_epi64, _mm256_fmadd_pd, _mm256_fmadd_ps,
    _mm256_loadu_pd, _mm256_loadu_ps, _mm256_maskload_pd, _mm256_maskload_ps, _mm256_maskstore_pd,
    _mm256_maskstore_ps, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_set1_pd, _mm256_set1_ps,
    _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_storeu_pd, _mm256_storeu_ps, _mm256_xor_pd,
    _mm256_xor_ps, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_pd, _mm512_loadu_ps,
    _mm512_mask_storeu_pd, _mm512_mask_storeu_ps, _mm512_maskz_loadu_pd, _mm512_maskz_loadu_ps,
    _mm512_set1_pd, _mm512_set1_ps, _mm512_storeu_pd, _mm512_storeu_ps, _mm512_xor_pd,
    _mm512_xor_ps,
};

use super::kernels::{Kernel, Run, Small, Tile};
use crate::backend::isa::Isa;
use crate::ir::scalar::Lane;

/// The kernel of tiles of an instruction set for a type, if it has one.
pub(super) fn tiles<T: Lane>(isa: Isa) -> Option<Kernel<T>> {
    let kernels: [&dyn Any; 2] = match isa {
        Isa::Avx512 if isa.is_available() => [&F32_AVX512, &F64_AVX512],
        Isa::Avx2 if isa.is_available() => [&F32_AVX2, &F64_AVX2],
        _ => return None,
    };
    kernels.into_iter().find_map(|kernel| kernel.downcast_ref::<Kernel<T>>()).copied()
}

/// The kernel of small matrices of an instruction set for a type, if it has one.
pub(super) fn small<T: Lane>(isa: Isa) -> Option<Small<T>> {
    let kernels: [&dyn Any; 2] = match isa {
        Isa::Avx512 if isa.is_available() => [&SMALL_F32_AVX512, &SMALL_F64_AVX512],
        Isa::Avx2 if isa.is_available() => [&SMALL_F32_AVX2, &SMALL_F64_AVX2],
        _ => return None,
    };
    kernels.into_iter().find_map(|kernel| kernel.downcast_ref::<Small<T>>()).copied()
}

/// Terms for which one line of what lies ahead is fetched.
const TERMS_A_LINE: usize = 4;
/// Bytes of a line of the caches.
const LINE: usize = 64;

/// A kernel whose tile has `$rows` rows of two vectors of `$lanes`.
macro_rules! tiles {
    ($($kernel:ident $tile:ident $add:ident: $features:literal, $t:ty, $rows:literal ($($row:literal)*), $lanes:literal,
        $load:ident $store:ident $splat:ident $fma:ident;)*) => { $(
        static $kernel: Kernel<$t> = Kernel { rows: $rows, columns: 2 * $lanes, add: $add };

        fn $add(tile: Tile<'_, $t>) {
            let Tile { sums, stride, begins, left, right, ahead } = tile;
            let [n, n_right] = [left.len() / $rows, right.len() / (2 * $lanes)];
            let is_whole = sums.len() >= ($rows - 1) * stride + 2 * $lanes;
            assert!(n == n_right && is_whole, "internal error: panels of unequal lengths");
            // Where nothing lies ahead what is here is named again.
            let [sums, left, right, ahead] = [sums.as_mut_ptr().cast_const(), left.as_ptr(), right.as_ptr(),
                if ahead.is_empty() { right.as_ptr() } else { ahead.as_ptr() }];
            // SAFETY: kernels are given out for processors that have the instructions; so many terms are in both panels,
            // and the rows are within the sums, which are borrowed to be written.
            unsafe { $tile(sums.cast_mut(), stride, begins, [left, right, ahead], n) }
        }

        /// # Safety
        /// Needs the instructions; the tile is whole, and both panels have `n` terms.
        #[target_feature(enable = $features)]
        unsafe fn $tile(sums: *mut $t, stride: usize, begins: bool, [left, right, ahead]: [*const $t; 3], n: usize) {
            let line = LINE / size_of::<$t>();
            // SAFETY: all that is read and written is in the tile and in the panels; prefetches may name any address.
            unsafe {
                // Rows are written out, so that the tile is held in registers whatever the compiler thinks of loops.
                let mut tile = [[$splat(0.0); 2]; $rows];
                $({
                    let place = sums.wrapping_add($row * stride);
                    // The tile below is next.
                    _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add($rows * stride).cast());
                    _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add($rows * stride + $lanes).cast());
                    if !begins {
                        tile[$row] = [$load(place), $load(place.add($lanes))];
                    }
                })*
                for k in 0..n {
                    if k % TERMS_A_LINE == 0 {
                        _mm_prefetch::<_MM_HINT_T1>(ahead.wrapping_add(k / TERMS_A_LINE * line).cast());
                    }
                    let right = right.add(k * 2 * $lanes);
                    let right = [$load(right), $load(right.add($lanes))];
                    let left = left.add(k * $rows);
                    $({
                        let left = $splat(*left.add($row));
                        let [first, second] = tile[$row];
                        tile[$row] = [$fma(left, right[0], first), $fma(left, right[1], second)];
                    })*
                }
                $({
                    $store(sums.add($row * stride), tile[$row][0]);
                    $store(sums.add($row * stride + $lanes), tile[$row][1]);
                })*
            }
        }
    )* };
}
tiles! {
    F32_AVX512 tile_f32_avx512 add_f32_avx512: "avx512f", f32, 12 (0 1 2 3 4 5 6 7 8 9 10 11), 16,
        _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps _mm512_fmadd_ps;
    F64_AVX512 tile_f64_avx512 add_f64_avx512: "avx512f", f64, 12 (0 1 2 3 4 5 6 7 8 9 10 11), 8,
        _mm512_loadu_pd _mm512_storeu_pd _mm512_set1_pd _mm512_fmadd_pd;
    F32_AVX2 tile_f32_avx2 add_f32_avx2: "avx2,fma", f32, 6 (0 1 2 3 4 5), 8,
        _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps _mm256_fmadd_ps;
    F64_AVX2 tile_f64_avx2 add_f64_avx2: "avx2,fma", f64, 6 (0 1 2 3 4 5), 4,
        _mm256_loadu_pd _mm256_storeu_pd _mm256_set1_pd _mm256_fmadd_pd;
}

/// Lanes of a vector by a mask, of so many first lanes.
macro_rules! masked {
    ($($mask:ident $load:ident $store:ident: $features:literal, $t:ty, $vector:ty, $of:ty,
        |$n:ident| $first:expr, |$from:ident, $by:ident| $loaded:expr, |$to:ident, $with:ident, $value:ident| $stored:expr;)*) => { $(
        #[target_feature(enable = $features)]
        #[inline]
        fn $mask($n: usize) -> $of {
            $first
        }

        /// # Safety
        /// The lanes of the mask are there.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn $load($from: *const $t, $by: $of) -> $vector {
            // SAFETY: as the caller promises.
            unsafe { $loaded }
        }

        /// # Safety
        /// The lanes of the mask are there.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn $store($to: *mut $t, $with: $of, $value: $vector) {
            // SAFETY: as the caller promises.
            unsafe { $stored }
        }
    )* };
}
masked! {
    mask16 load_f32x16 store_f32x16: "avx512f", f32, __m512, __mmask16, |n| first_bits(n, 16),
        |from, mask| _mm512_maskz_loadu_ps(mask, from), |to, mask, value| _mm512_mask_storeu_ps(to, mask, value);
    mask8 load_f64x8 store_f64x8: "avx512f", f64, __m512d, __mmask8, |n| first_bits(n, 8).to_le_bytes()[0],
        |from, mask| _mm512_maskz_loadu_pd(mask, from), |to, mask, value| _mm512_mask_storeu_pd(to, mask, value);
    mask32x8 load_f32x8 store_f32x8: "avx2", f32, __m256, __m256i,
        |n| _mm256_cmpgt_epi32(_mm256_set1_epi32(signed(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        |from, mask| _mm256_maskload_ps(from, mask), |to, mask, value| _mm256_maskstore_ps(to, mask, value);
    mask64x4 load_f64x4 store_f64x4: "avx2", f64, __m256d, __m256i,
        |n| _mm256_cmpgt_epi64(_mm256_set1_epi64x(signed(n).into()), _mm256_setr_epi64x(0, 1, 2, 3)),
        |from, mask| _mm256_maskload_pd(from, mask), |to, mask, value| _mm256_maskstore_pd(to, mask, value);
}

/// So many lowest bits of 16, at most `most`.
fn first_bits(n: usize, most: usize) -> u16 {
    u16::MAX >> (16 - n.min(most)).min(15) & if n == 0 { 0 } else { u16::MAX }
}

/// A number of lanes; more than a vector has are as many as it has.
fn signed(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// Some rows of a small product, one or two vectors of them at a time, the last by a mask.
macro_rules! rows {
    ($name:ident: $n:literal ($($row:literal)*), ($features:literal, $t:ty, $lanes:literal,
        $mask:ident $load:ident $store:ident $splat:ident $fma:ident $xor:ident)) => {
        /// # Safety
        /// Needs the instructions; the rows are there.
        #[target_feature(enable = $features)]
        unsafe fn $name(run: &Run<'_, $t>, to: *mut $t, [matrix, row]: [usize; 2]) {
            // No closures here: those of functions with features of their own are called, not inlined.
            let sign = [0.0, -0.0];
            let [first, second] = [usize::from(run.is_negative[0]), usize::from(run.is_negative[1])];
            let signs = [$splat(sign[first]), $splat(sign[second])];
            let to = to.wrapping_add((matrix * run.rows + row) * run.columns);
            let (left, right) = (matrix * run.left_matrix + row * run.across, matrix * run.right_matrix);
            let left = [run.left[0].as_ptr().wrapping_add(left), run.left[1].as_ptr().wrapping_add(left)];
            let right = [run.right[0].as_ptr().wrapping_add(right), run.right[1].as_ptr().wrapping_add(right)];
            let across = run.across;
            for column in (0..run.columns).step_by(2 * $lanes) {
                let rest = run.columns - column;
                let masks = [$mask(rest), $mask(rest.saturating_sub($lanes))];
                let is_wide = rest > $lanes;
                // Rows are written out, so that sums are held in registers whatever the compiler thinks of loops.
                let mut sums = [[$splat(0.0); 2]; $n];
                for k in 0..run.depth {
                    for parity in 0..run.n_terms {
                        let from = right[parity].wrapping_add(k * run.right_row + column);
                        let left = left[parity].wrapping_add(k * run.along);
                        // SAFETY: masks leave the lanes of this row; rows and terms are within the lanes of the run.
                        unsafe {
                            let vector = $xor($load(from, masks[0]), signs[parity]);
                            if is_wide {
                                let next = $xor($load(from.wrapping_add($lanes), masks[1]), signs[parity]);
                                $({
                                    let left = $splat(*left.add($row * across));
                                    let [first, second] = sums[$row];
                                    sums[$row] = [$fma(left, vector, first), $fma(left, next, second)];
                                })*
                            } else {
                                $(sums[$row][0] = $fma($splat(*left.add($row * across)), vector, sums[$row][0]);)*
                            }
                        }
                    }
                }
                let to = to.wrapping_add(column);
                // SAFETY: as above.
                unsafe {
                    $($store(to.wrapping_add($row * run.columns), masks[0], sums[$row][0]);)*
                    if is_wide {
                        let to = to.wrapping_add($lanes);
                        $($store(to.wrapping_add($row * run.columns), masks[1], sums[$row][1]);)*
                    }
                }
            }
        }
    };
}

/// Kernels of small matrices, from functions for so many rows, the most first.
macro_rules! small {
    ($($kernel:ident $run:ident: $features:literal, $t:ty, [$($rows:ident $n:literal $list:tt),*], $ops:tt;)*) => { $(
        static $kernel: Small<$t> = Small(|run| {
            run.check();
            // SAFETY: kernels are given out for processors that have the instructions; the lanes of the run are there.
            unsafe { $run(run) }
        });

        /// # Safety
        /// Needs the instructions; the lanes of the run are there.
        #[target_feature(enable = $features)]
        unsafe fn $run(run: Run<'_, $t>) {
            let to = run.result.as_mut_ptr();
            for matrix in 0..run.n {
                let mut row = 0;
                while row < run.rows {
                    $(if run.rows - row >= $n {
                        // SAFETY: so many rows are left.
                        unsafe { $rows(&run, to, [matrix, row]) }
                        row += $n;
                        continue;
                    })*
                }
            }
        }

        $(rows! { $rows: $n $list, $ops })*
    )* };
}
small! {
    SMALL_F32_AVX512 small_f32_avx512: "avx512f,avx512dq", f32,
        [eight_f32_avx512 8 (0 1 2 3 4 5 6 7), four_f32_avx512 4 (0 1 2 3), one_f32_avx512 1 (0)],
        ("avx512f,avx512dq", f32, 16, mask16 load_f32x16 store_f32x16 _mm512_set1_ps _mm512_fmadd_ps _mm512_xor_ps);
    SMALL_F64_AVX512 small_f64_avx512: "avx512f,avx512dq", f64,
        [eight_f64_avx512 8 (0 1 2 3 4 5 6 7), four_f64_avx512 4 (0 1 2 3), one_f64_avx512 1 (0)],
        ("avx512f,avx512dq", f64, 8, mask8 load_f64x8 store_f64x8 _mm512_set1_pd _mm512_fmadd_pd _mm512_xor_pd);
    SMALL_F32_AVX2 small_f32_avx2: "avx2,fma", f32, [four_f32_avx2 4 (0 1 2 3), one_f32_avx2 1 (0)],
        ("avx2,fma", f32, 8, mask32x8 load_f32x8 store_f32x8 _mm256_set1_ps _mm256_fmadd_ps _mm256_xor_ps);
    SMALL_F64_AVX2 small_f64_avx2: "avx2,fma", f64, [four_f64_avx2 4 (0 1 2 3), one_f64_avx2 1 (0)],
        ("avx2,fma", f64, 4, mask64x4 load_f64x4 store_f64x4 _mm256_set1_pd _mm256_fmadd_pd _mm256_xor_pd);
}

//! Tiles of products with vectors: sums in registers, a vector of the right panel times each number of the left one.
#![expect(unsafe_code, reason = "instructions that not every processor has, lanes by pointer")]

use std::any::Any;
use std::arch::x86_64::{
    _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_set1_pd,
    _mm256_set1_ps, _mm256_storeu_pd, _mm256_storeu_ps, _mm512_fmadd_pd, _mm512_fmadd_ps,
    _mm512_loadu_pd, _mm512_loadu_ps, _mm512_set1_pd, _mm512_set1_ps, _mm512_storeu_pd,
    _mm512_storeu_ps,
};

use super::product::Kernel;
use crate::backend::isa::Isa;
use crate::ir::scalar::Lane;

/// The kernel of an instruction set for a type, if it has one.
pub(super) fn kernel<T: Lane>(isa: Isa) -> Option<Kernel<T>> {
    let kernels: [&dyn Any; 2] = match isa {
        Isa::Avx512 if isa.is_available() => [&F32_AVX512, &F64_AVX512],
        Isa::Avx2 if isa.is_available() => [&F32_AVX2, &F64_AVX2],
        _ => return None,
    };
    kernels.into_iter().find_map(|kernel| kernel.downcast_ref::<Kernel<T>>()).copied()
}

/// A kernel whose tile has `$rows` rows of two vectors of `$lanes`.
macro_rules! kernels {
    ($($kernel:ident $tile:ident $add:ident: $features:literal, $t:ty, $rows:literal, $lanes:literal,
        $load:ident $store:ident $splat:ident $fma:ident;)*) => { $(
        static $kernel: Kernel<$t> = Kernel { rows: $rows, columns: 2 * $lanes, add: $add };

        fn $add(sums: &mut [$t], left: &[$t], right: &[$t]) {
            let [n, n_right] = [left.len() / $rows, right.len() / (2 * $lanes)];
            assert!(n == n_right && sums.len() == $rows * 2 * $lanes, "internal error: panels of unequal lengths");
            // SAFETY: kernels are given out for processors that have the instructions; so many terms are in both panels.
            unsafe { $tile(sums.as_mut_ptr(), left.as_ptr(), right.as_ptr(), n) }
        }

        /// # Safety
        /// Needs the instructions; the tile is whole, and both panels have `n` terms.
        #[target_feature(enable = $features)]
        unsafe fn $tile(sums: *mut $t, left: *const $t, right: *const $t, n: usize) {
            // SAFETY: all that is read and written is in the tile and in the panels.
            unsafe {
                let mut tile: [[_; 2]; $rows] = std::array::from_fn(|_| [$splat(0.0); 2]);
                for (i, row) in tile.iter_mut().enumerate() {
                    for (j, vector) in row.iter_mut().enumerate() {
                        *vector = $load(sums.add((2 * i + j) * $lanes));
                    }
                }
                for k in 0..n {
                    let right = right.add(k * 2 * $lanes);
                    let right = [$load(right), $load(right.add($lanes))];
                    let left = left.add(k * $rows);
                    for (i, row) in tile.iter_mut().enumerate() {
                        let left = $splat(*left.add(i));
                        row[0] = $fma(left, right[0], row[0]);
                        row[1] = $fma(left, right[1], row[1]);
                    }
                }
                for (i, row) in tile.iter().enumerate() {
                    for (j, vector) in row.iter().enumerate() {
                        $store(sums.add((2 * i + j) * $lanes), *vector);
                    }
                }
            }
        }
    )* };
}
kernels! {
    F32_AVX512 tile_f32_avx512 add_f32_avx512: "avx512f", f32, 12, 16,
        _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps _mm512_fmadd_ps;
    F64_AVX512 tile_f64_avx512 add_f64_avx512: "avx512f", f64, 12, 8,
        _mm512_loadu_pd _mm512_storeu_pd _mm512_set1_pd _mm512_fmadd_pd;
    F32_AVX2 tile_f32_avx2 add_f32_avx2: "avx2,fma", f32, 6, 8,
        _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps _mm256_fmadd_ps;
    F64_AVX2 tile_f64_avx2 add_f64_avx2: "avx2,fma", f64, 6, 4,
        _mm256_loadu_pd _mm256_storeu_pd _mm256_set1_pd _mm256_fmadd_pd;
}

//! Products of matrices in the order of S26.
//!
//! Where a right matrix is small, results are made of the matrices as they lie ([`small`]). Otherwise both factors are copied
//! into panels and multiplied tile by tile ([`tiles`]). A complex product is one of twice as many terms. How it is cut never
//! shows: every entry adds its terms in one order.

mod kernels;
mod matrices;
mod pack;
mod small;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod vectors;

use self::matrices::Matrices;
use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::Workers;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::primitive::{Part, Product};
use crate::ir::scalar::with_lane;

/// Operands are left and right, of complex products the real and imaginary parts of each; `imag` is where the imaginary part
/// goes beside a real one.
pub(super) fn multiply(
    workers: &Workers<'_>,
    product: Product,
    operands: &[MemoryArray],
    result: MemoryArray,
    imag: Option<MemoryArray>,
) -> Result<()> {
    with_lane!(result.dtype,
        T => {
            let of = |product, result| Matrices::<T>::new(product, operands, Lanes::of(result));
            let first = of(product, result);
            let second = imag.map(|imag| of(Product { part: Part::Imag, ..product }, imag));
            if first.are_small() {
                return small::multiply(workers, first, second);
            }
            tiles::multiply(workers, first)?;
            second.map_or(Ok(()), |second| tiles::multiply(workers, second))
        },
        mask => unreachable!("internal error: a product of truth values"))
}

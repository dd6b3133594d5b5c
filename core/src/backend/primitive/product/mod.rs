//! Products of matrices in the order of S26.
//!
//! Where a right matrix is small, results are made of the matrices as they lie ([`small`]). Otherwise both factors are copied
//! into panels and multiplied tile by tile ([`tiles`]), of few entries and many terms chunk by chunk ([`deep`]); a right matrix
//! that meets few rows is read where it lies ([`thin`]). A complex product is one of twice as many terms. How it is cut never
//! shows: every entry adds its terms in one order.

mod deep;
mod kernels;
mod matrices;
mod pack;
mod small;
mod thin;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod vectors;

use self::matrices::Matrices;
use self::small::Parts;
use super::lanes::Lanes;
use super::pieces::{Scratch, Workers};
use super::{CALLS_PER_THREAD, MemoryArray, PrimitiveCall};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::half::F16;
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
    if result.dtype == DType::F16 {
        return halves(workers, product, operands, result);
    }
    with_lane!(result.dtype,
        T => {
            let of = |product, result| Matrices::<T>::new(product, operands, Lanes::of(result));
            let first = of(product, result);
            let second = imag.map(|imag| of(Product { part: Part::Imag, ..product }, imag));
            if first.are_small() {
                return small::multiply(workers, Parts { first, second });
            }
            let multiply = match first.are_deep(workers.pool.threads()) {
                true => deep::multiply,
                false if first.are_thin() => thin::multiply,
                false => tiles::multiply,
            };
            multiply(workers, first)?;
            second.map_or(Ok(()), |second| multiply(workers, second))
        },
        mask => unreachable!("internal error: a product of truth values"))
}

/// Several products of the same extents and types; `false` if they are better made one by one.
pub(super) fn multiply_all(
    workers: &Workers<'_>,
    product: Product,
    calls: &[PrimitiveCall],
) -> Result<bool> {
    let dtype = calls[0].result.dtype;
    if dtype == DType::F16 {
        return Ok(false);
    }
    with_lane!(dtype,
        T => {
            let parts = |call: &PrimitiveCall| {
                let of = |product, result| {
                    Matrices::<T>::new(product, &call.operands, Lanes::of(result))
                };
                let second = Product { part: Part::Imag, ..product };
                Parts {
                    first: of(product, call.result),
                    second: call.imag.map(|imag| of(second, imag)),
                }
            };
            let first = parts(&calls[0]).first;
            // What is worth threads by itself has them, where there are not members enough for all of them.
            let is_few = calls.len() < CALLS_PER_THREAD * workers.pool.threads();
            if !first.are_small() || first.is_worth_a_thread() && is_few {
                return Ok(false);
            }
            small::multiply_all(workers, calls.iter().map(parts).collect())?;
            Ok(true)
        },
        mask => unreachable!("internal error: a product of truth values"))
}

/// Products of halves, which only tensor cores are asked for: for a GPU that is lost.
fn halves(
    workers: &Workers<'_>,
    product: Product,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    let wide = |array: &MemoryArray| workers.scratch::<f32>(exactly::<usize>(array.size));
    let scratch = operands.iter().chain([&result]).map(wide).collect::<Result<Vec<_>>>()?;
    let place = |(array, lanes): (&MemoryArray, &Scratch<f32>)| MemoryArray {
        address: lanes.lanes.address(),
        dtype: DType::F32,
        ..*array
    };
    let arrays: Vec<_> = operands.iter().chain([&result]).zip(&scratch).map(place).collect();
    for (array, wide) in operands.iter().zip(&scratch) {
        let lanes = Lanes::<F16>::of(*array);
        let wide = wide.lanes.slice_mut(0, lanes.len());
        for (wide, lane) in wide.iter_mut().zip(lanes.slice(0, lanes.len())) {
            *wide = lane.to_f32();
        }
    }
    multiply(workers, product, &arrays[..operands.len()], arrays[operands.len()], None)?;
    let (lanes, wide) = (Lanes::<F16>::of(result), scratch[operands.len()].lanes);
    let wide = wide.slice(0, lanes.len());
    for (lane, wide) in lanes.slice_mut(0, lanes.len()).iter_mut().zip(wide) {
        *lane = F16::from_f32(*wide);
    }
    Ok(())
}

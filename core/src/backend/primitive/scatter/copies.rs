//! Copies of a target that threads wrote to, each its own.

use super::super::MemoryArray;
use super::super::lanes::Lanes;
use crate::dtype::DType;
use crate::ir::op::{Op, ScatterOp};
use crate::ir::scalar::{Lane, with_lane};

/// Combines the elements of a target with those of a copy, by the operation of a scatter that has one.
pub(in crate::backend) fn combine_copy(op: ScatterOp, target: MemoryArray, copy: u64) {
    let copy = MemoryArray { address: copy, ..target };
    match op {
        ScatterOp::Set => unreachable!("internal error: copies of what is replaced"),
        ScatterOp::Add => combining::<{ Op::Add as u8 }>(target.dtype)(target, copy),
        ScatterOp::Min => combining::<{ Op::Min as u8 }>(target.dtype)(target, copy),
        ScatterOp::Max => combining::<{ Op::Max as u8 }>(target.dtype)(target, copy),
        ScatterOp::And => combining::<{ Op::And as u8 }>(target.dtype)(target, copy),
        ScatterOp::Or => combining::<{ Op::Or as u8 }>(target.dtype)(target, copy),
    }
}

fn combining<const OP: u8>(dtype: DType) -> fn(MemoryArray, MemoryArray) {
    with_lane!(dtype, T => combine::<T, OP>, mask => combine::<bool, OP>)
}

fn combine<T: Lane, const OP: u8>(target: MemoryArray, copy: MemoryArray) {
    let op = const { Op::from_number(OP) };
    let [target, copy] = [target, copy].map(Lanes::<T>::of);
    let pairs = target.slice_mut(0, target.len()).iter_mut().zip(copy.slice(0, copy.len()));
    pairs.for_each(|(element, &own)| *element = T::apply(op, *element, own, own));
}

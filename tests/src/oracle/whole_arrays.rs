//! Prefix sums, prefix products and orders, written from S11 and the meaning of sorting.

use std::cmp::Ordering;

use porcini_core::DType;
use porcini_core::ir::op::Op;
use porcini_core::ir::primitive::Order;
use porcini_core::ir::scalar::apply_bits;

use super::{Value, cast};
use crate::data::accumulated;

/// `x[0] + … + x[i]` ([`Op::Add`]) or `x[0] · … · x[i]`: runs of 8 lanes in order, run totals by doubling inside chunks of 1024 lanes, chunk
/// totals the same way. f16 accumulates in f32.
pub fn prefix(op: Op, x: &Value) -> Vec<u64> {
    let dtype = x.dtype;
    if dtype == DType::F16 {
        let lanes = x.lanes.iter().map(|&lane| cast(DType::F32, dtype, lane)).collect();
        let sums = prefix(op, &Value { dtype: DType::F32, lanes });
        return sums.into_iter().map(|sum| cast(dtype, DType::F32, sum)).collect();
    }
    let wide = accumulated(dtype);
    if wide != dtype {
        let lanes = x.lanes.iter().map(|&lane| cast(wide, dtype, lane)).collect();
        return prefix(op, &Value { dtype: wide, lanes });
    }
    let add = |a: u64, b: u64| apply_bits(op, dtype, dtype, [a, b, 0]);
    let mut sums = Vec::with_capacity(x.lanes.len());
    let mut totals = Vec::new();
    for chunk in x.lanes.chunks(1024) {
        let mut runs: Vec<Vec<u64>> = Vec::new();
        for run in chunk.chunks(8) {
            let mut sum: Vec<u64> = Vec::new();
            for &lane in run {
                sum.push(sum.last().map_or(lane, |&before| add(before, lane)));
            }
            runs.push(sum);
        }
        let mut doubled: Vec<u64> = runs.iter().map(|run| *run.last().unwrap_or(&0)).collect();
        for distance in [1, 2, 4, 8, 16, 32, 64] {
            let before = doubled.clone();
            for k in distance..doubled.len() {
                doubled[k] = add(before[k - distance], before[k]);
            }
        }
        for (k, run) in runs.iter().enumerate() {
            for &lane in run {
                sums.push(if k == 0 { lane } else { add(doubled[k - 1], lane) });
            }
        }
        totals.push(*doubled.last().unwrap_or(&0));
    }
    if totals.len() > 1 {
        let before = prefix(op, &Value { dtype, lanes: totals });
        for (i, sum) in sums.iter_mut().enumerate().skip(1024) {
            *sum = add(before[i / 1024 - 1], *sum);
        }
    }
    sums
}

/// The least ([`Op::Min`]) or largest ([`Op::Max`]) of the lanes up to each, of truth values all or any: one after the
/// other, as their order changes nothing.
pub fn extremes(op: Op, x: &Value) -> Vec<u64> {
    let by = match (op, x.dtype) {
        (Op::Min, DType::Mask) => Op::And,
        (_, DType::Mask) => Op::Or,
        _ => op,
    };
    let mut lanes = x.lanes.clone();
    for i in 1..lanes.len() {
        lanes[i] = apply_bits(by, x.dtype, x.dtype, [lanes[i - 1], lanes[i], 0]);
    }
    lanes
}

/// The lane numbers in the order of the lanes, equal ones ascending.
pub fn order_of(x: &Value, order: Order) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..x.lanes.len()).collect();
    numbers.sort_by(|&a, &b| compare(x.dtype, x.lanes[a], x.lanes[b], order));
    numbers
}

fn compare(dtype: DType, a: u64, b: u64, order: Order) -> Ordering {
    if dtype.is_float() {
        let [a, b] = [a, b].map(|bits| dtype.decode(bits).to_f64());
        return match (a.is_nan(), b.is_nan()) {
            (true, true) => Ordering::Equal,
            // The last, either way.
            (a, b) if a || b => a.cmp(&b),
            _ => turned(a.total_cmp(&b), order),
        };
    }
    let [a, b] = [a, b].map(|bits| match dtype {
        DType::Mask => i128::from(bits & 1),
        _ => match dtype.decode(bits) {
            porcini_core::Scalar::Int(lane) => i128::from(lane),
            porcini_core::Scalar::UInt(lane) => i128::from(lane),
            _ => unreachable!("an integer"),
        },
    });
    turned(a.cmp(&b), order)
}

fn turned(ordering: Ordering, order: Order) -> Ordering {
    if order == Order::Descending { ordering.reverse() } else { ordering }
}

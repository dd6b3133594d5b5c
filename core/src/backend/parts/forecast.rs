//! What parts will bring each other for a launch, told before it runs: from the kernel alone, as if arrays lay as launches
//! leave them, each part with its lanes.

use std::ops::Range;

use super::partition::Partition;
use super::shared::Shared;
use super::spans::Spans;
use super::stage::{Use, uses};
use super::windows::Values;
use crate::backend::{Exchange, Operand};
use crate::ir::kernel::{Code, Kernel, ParamBlock};

/// `operands` are those of the kernel's buffers.
pub(super) fn forecast(shared: &Shared, kernel: &Kernel, n: u64, operands: &[Operand]) -> Exchange {
    let mut exchange = Exchange::default();
    let sizes: Vec<(u64, u64)> = operands.iter().map(|operand| (0, operand.elements)).collect();
    let params = ParamBlock::new(kernel, n, &sizes);
    let parts = shared.devices.len();
    let uses = uses(kernel);
    for part in 0..parts {
        let lanes = own(shared, n, part);
        if lanes.is_empty() {
            continue;
        }
        let values = Values::of(kernel, params.words(), &lanes);
        for (used, operand) in uses.iter().zip(operands) {
            let mut lacks = Spans::default();
            for elements in reads(used, operand, &lanes, &values, &mut exchange.is_at_most) {
                lacks.add(elements);
            }
            lacks.remove(&own(shared, operand.elements, part));
            exchange.bytes += lacks.bytes() * used.width as u64;
        }
    }
    if n >= shared.whole {
        scattered(kernel, n, operands, parts as u64, &mut exchange);
    }
    exchange
}

/// The lanes of a launch that a part runs, and the elements of an array that it then has: of what is small all or none.
fn own(shared: &Shared, elements: u64, part: usize) -> Range<u64> {
    match elements < shared.whole {
        true if shared.for_small().contains(&part) => 0..elements,
        true => 0..0,
        false => Partition::new(elements, shared.devices.len()).lanes(part),
    }
}

/// The elements of a buffer that lanes read.
fn reads(
    used: &Use,
    operand: &Operand,
    lanes: &Range<u64>,
    values: &Values,
    is_at_most: &mut bool,
) -> Vec<Range<u64>> {
    let mut reads = Vec::new();
    if used.lanes {
        reads.push(lanes.start + operand.first..lanes.end + operand.first);
    }
    for &index in &used.gathers {
        *is_at_most |= !values.knows(index);
        reads.extend(values.elements(index, operand.elements));
    }
    let within =
        |read: Range<u64>| read.start.min(operand.elements)..read.end.min(operand.elements);
    reads.into_iter().map(within).filter(|read| !read.is_empty()).collect()
}

/// Values and indices that go to the owners of what they write, or copies of it: at most all of them.
fn scattered(kernel: &Kernel, n: u64, operands: &[Operand], parts: u64, exchange: &mut Exchange) {
    for (_, inst) in kernel.writes() {
        if let Code::Scatter { op, target, .. } = inst.code {
            let width = inst.dtype.bytes() as u64;
            let index = kernel.dtype(inst.arg(1)).bytes() as u64;
            let copies = operands[target.index()].elements.saturating_mul(width * (parts - 1));
            let routed = n.saturating_mul(width + index);
            let is_copied = op.neutral(inst.dtype).is_some();
            let most = if is_copied { copies.min(routed) } else { routed };
            exchange.bytes = exchange.bytes.saturating_add(most);
            exchange.is_at_most = true;
        }
    }
}

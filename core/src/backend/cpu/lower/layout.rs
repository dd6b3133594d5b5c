//! Where the frame has what a kernel keeps in memory: failures, counters, accumulators, addresses.

use crate::backend::cpu::program::{ACTIVE_VECTORS, Frame, Packet, Reduction};
use crate::backend::reduce::ACCUMULATORS;
use crate::convert::exactly;
use crate::ir::kernel::{Kernel, Reduction as Reduce};

/// Whether accumulators stay in registers from packet to packet: each must belong to the same lanes of
/// every packet.
pub(super) fn carries(reductions: &[Reduction], packet: Packet) -> bool {
    let numbers = reductions.iter().filter(|reduction| !reduction.counts());
    let parts: usize = numbers.map(|reduction| packet.parts(reduction.dtype.bytes())).sum();
    packet.lanes().is_multiple_of(ACCUMULATORS) && parts <= packet.target.accumulators
}

/// Places in the frame.
pub(super) struct Layout {
    pub(super) frame: Frame,
    pub(super) reductions: Vec<Reduction>,
    /// Offset of the reduction into each buffer.
    pub(super) offsets: Vec<u32>,
}

pub(super) fn lay_out(kernel: &Kernel, packet: Packet) -> Layout {
    let vector = exactly(packet.vector());
    let masks = if packet.target.has_mask_registers() { 0 } else { exactly(packet.narrow) };
    let errors = ACTIVE_VECTORS + masks * vector;
    let mut next: u32 = errors + 16 * exactly::<u32>(kernel.accesses.len());
    let mut reductions = Vec::new();
    let mut offsets = vec![0; kernel.buffers.len()];
    for Reduce { op, dtype, stored, buffer, .. } in kernel.reductions() {
        let mut reduction =
            Reduction { op, dtype, stored, address: kernel.address_word(buffer), offset: 0 };
        let (bytes, alignment) = match reduction.counts() {
            true => (8, 8),
            false => (exactly(ACCUMULATORS * dtype.bytes()), vector),
        };
        reduction.offset = next.next_multiple_of(alignment);
        next = reduction.offset + bytes;
        offsets[buffer.index()] = reduction.offset;
        reductions.push(reduction);
    }
    let pointers = next.next_multiple_of(8);
    let scratch = (pointers + 8 * exactly::<u32>(kernel.buffers.len())).next_multiple_of(vector);
    let frame = Frame { errors, pointers, scratch, spills: scratch + 5 * vector };
    Layout { frame, reductions, offsets }
}

//! Scatters whose order does not show: threads share the lanes, and each writes to copies of the targets of its own.
//!
//! Of few elements: copies stay in a cache, and to combine them takes little beside the lanes.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::frame::Aligned;
use crate::backend::Memory as _;
use crate::backend::host::HostMemory;
use crate::backend::primitive::{MemoryArray, combine_copy};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Code, Inst, Kernel, ParamBlock};
use crate::ir::op::{ScatterMode, ScatterOp};

/// Bytes of a thread's copies, at most: what a second cache has room for.
const MOST_BYTES: u64 = 1 << 19;
/// Lanes for each element of all copies from which on they pay.
const LANES_AN_ELEMENT: u64 = 4;
/// Slices of targets, which as many threads combine with their copies at a time.
const SLICES: usize = 16;

/// The targets of a kernel of which threads may have copies.
pub(super) struct Targets(Vec<Target>);

struct Target {
    op: ScatterOp,
    dtype: DType,
    buffer: BufferIndex,
    /// The word of its length.
    length: usize,
}

impl Target {
    /// The elements of a launch.
    fn elements(&self, params: &ParamBlock) -> MemoryArray {
        let words = params.words();
        let (address, size) = (words[self.buffer.word()], words[self.length]);
        MemoryArray { address, size, dtype: self.dtype }
    }
}

impl Targets {
    /// Those of a kernel, unless an order shows or lanes read what others wrote.
    pub(super) fn of(kernel: &Kernel) -> Option<Self> {
        let scatter = |inst: &Inst| match inst.code {
            Code::Scatter { op, target, mode, .. } if mode != ScatterMode::Apart => {
                Some((target, op, kernel.buffers[target.index()].dtype))
            }
            _ => None,
        };
        let scatters: Vec<_> = kernel.insts.iter().filter_map(scatter).collect();
        if !ScatterOp::may_be_copied(&scatters) {
            return None;
        }
        let mut targets: Vec<Target> = Vec::new();
        for (buffer, op, dtype) in scatters {
            if targets.iter().all(|target| target.buffer != buffer) {
                targets.push(Target { op, dtype, buffer, length: kernel.length_word(buffer)? });
            }
        }
        let is_target = |buffer| targets.iter().any(|target| target.buffer == buffer);
        let is_read = kernel.insts.iter().any(|inst| match inst.code {
            Code::Scatter { target, mode, .. } => mode == ScatterMode::Apart && is_target(target),
            mut code => code.buffer_mut().is_some_and(|&mut buffer| is_target(buffer)),
        });
        (!targets.is_empty() && !is_read).then_some(Self(targets))
    }

    /// Whether copies for so many threads pay in a launch of `n` lanes.
    pub(super) fn pay(&self, params: &ParamBlock, n: u64, threads: usize) -> bool {
        let arrays = || self.0.iter().map(|target| target.elements(params));
        let elements = arrays().map(|array| array.size).fold(0, u64::saturating_add);
        let bytes = arrays().map(|array| array.bytes()).fold(0, u64::saturating_add);
        let in_all = elements.saturating_mul(threads as u64).saturating_mul(LANES_AN_ELEMENT);
        bytes <= MOST_BYTES && in_all <= n
    }
}

/// The targets of a launch. Threads combine their copies with them slice by slice, each in its turn, and begin at different ones.
pub(super) struct Shared {
    targets: Arc<Targets>,
    turns: [Mutex<()>; SLICES],
    /// Where the next thread begins.
    next: AtomicUsize,
}

/// Copies of a thread.
pub(super) struct Copies {
    /// Of a launch with the copies as targets.
    pub(super) params: ParamBlock,
    memory: Vec<Aligned>,
}

/// The elements of a slice.
fn elements_of(slice: usize, n: u64) -> Range<u64> {
    let [start, end] = [slice, slice + 1].map(|slice| n * slice as u64 / SLICES as u64);
    start..end
}

impl Shared {
    pub(super) fn new(targets: Arc<Targets>) -> Self {
        Self { targets, turns: Default::default(), next: AtomicUsize::new(0) }
    }

    /// Copies for a thread, which begin with what changes nothing.
    pub(super) fn copies(&self, params: &ParamBlock) -> Copies {
        let mut copies = Copies { params: params.clone(), memory: Vec::new() };
        for target in &self.targets.0 {
            let array = target.elements(params);
            let mut memory = Aligned::new(exactly::<usize>(array.bytes()).max(8));
            let address = memory.pointer().expose_provenance() as u64;
            // It is zeroed.
            if let Some(bits) = target.op.neutral(target.dtype).filter(|&bits| bits != 0) {
                let filled = HostMemory.fill(address, bits, target.dtype.bytes(), array.size);
                filled.expect("internal error: memory of the host fails");
            }
            copies.params.set(target.buffer.word(), address);
            copies.memory.push(memory);
        }
        copies
    }

    /// Combines a thread's copies with the targets.
    pub(super) fn combine(&self, params: &ParamBlock, mut copies: Copies) {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        for slice in (0..SLICES).map(|number| (first + number) % SLICES) {
            let _turn = self.turns[slice].lock().unwrap_or_else(PoisonError::into_inner);
            for (target, memory) in self.targets.0.iter().zip(&mut copies.memory) {
                let copy = memory.pointer().expose_provenance() as u64;
                let array = target.elements(params);
                let own = elements_of(slice, array.size);
                let start = own.start * array.dtype.bytes() as u64;
                let (address, size) = (array.address + start, own.end - own.start);
                combine_copy(target.op, MemoryArray { address, size, ..array }, copy + start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_all_elements() {
        for n in [0, 1, 15, 16, 17, 1000] {
            let slices = (0..SLICES).map(|slice| elements_of(slice, n));
            let all: Vec<u64> = slices.flatten().collect();
            assert_eq!(all, (0..n).collect::<Vec<u64>>());
        }
    }
}

//! Scatters whose order does not show: threads share the lanes, and each writes to copies of the targets of its own.
//!
//! Of few elements: copies stay in a cache, and to combine them takes little beside the lanes.

use std::sync::{Arc, Mutex, PoisonError};

use super::frame::Aligned;
use crate::backend::host::HostMemory;
use crate::backend::primitive::{MemoryArray, combine_copy};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Code, Kernel, ParamBlock};
use crate::ir::op::{ScatterMode, ScatterOp};

/// Bytes of a thread's copies, at most: what a second cache has room for.
const MOST_BYTES: u64 = 1 << 19;
/// Lanes for each element of all copies from which on they pay.
const LANES_AN_ELEMENT: u64 = 4;

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
    /// Those of a kernel, unless an order shows: lanes read what others wrote, or what they write does not commute.
    /// Floats have NaN and zeros of two signs.
    pub(super) fn of(kernel: &Kernel) -> Option<Self> {
        let mut targets: Vec<Target> = Vec::new();
        for inst in &kernel.insts {
            let Code::Scatter { op, target: buffer, mode, .. } = inst.code else { continue };
            let dtype = kernel.buffers[buffer.index()].dtype;
            if mode == ScatterMode::Apart {
                continue;
            }
            if !op.commutes(dtype) || dtype.is_float() {
                return None;
            }
            match targets.iter().find(|target| target.buffer == buffer) {
                Some(known) if known.op != op => return None,
                Some(_) => {}
                None => {
                    targets.push(Target { op, dtype, buffer, length: kernel.length_word(buffer)? })
                }
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

/// The targets of a launch, which threads combine their copies with one after the other.
pub(super) struct Shared {
    targets: Arc<Targets>,
    turn: Mutex<()>,
}

/// Copies of a thread.
pub(super) struct Copies {
    /// Of a launch with the copies as targets.
    pub(super) params: ParamBlock,
    memory: Vec<Aligned>,
}

impl Shared {
    pub(super) fn new(targets: Arc<Targets>) -> Self {
        Self { targets, turn: Mutex::new(()) }
    }

    /// Copies for a thread. To add starts from 0; what a value may meet twice, from what is there.
    pub(super) fn copies(&self, params: &ParamBlock) -> Copies {
        let mut copies = Copies { params: params.clone(), memory: Vec::new() };
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        for target in &self.targets.0 {
            let array = target.elements(params);
            let n = exactly::<usize>(array.bytes());
            let mut memory = Aligned::new(n.max(8));
            if target.op != ScatterOp::Add {
                HostMemory.get(array.address, memory.bytes(0, n));
            }
            let address = memory.pointer().expose_provenance() as u64;
            copies.params.set(target.buffer.word(), address);
            copies.memory.push(memory);
        }
        copies
    }

    /// Combines a thread's copies with the targets.
    pub(super) fn combine(&self, params: &ParamBlock, mut copies: Copies) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        for (target, memory) in self.targets.0.iter().zip(&mut copies.memory) {
            let copy = memory.pointer().expose_provenance() as u64;
            combine_copy(target.op, target.elements(params), copy);
        }
    }
}

//! The buffers that a kernel walks through lane by lane, and those that it reaches by indices.

use crate::ir::kernel::{BufferIndex, Code, Inst, Kernel};

/// A buffer that the body reads or writes lane by lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneBuffer {
    pub(super) buffer: usize,
    pub(super) bytes: usize,
    pub(super) read: bool,
    pub(super) written: bool,
}

/// The buffers that lanes read or write, each once.
pub(super) fn lane_buffers(kernel: &Kernel) -> Vec<LaneBuffer> {
    let mut found: Vec<LaneBuffer> = Vec::new();
    let mut position = vec![usize::MAX; kernel.buffers.len()];
    let mut note = |BufferIndex(buffer): BufferIndex, read: bool| {
        let buffer = buffer as usize;
        if position[buffer] == usize::MAX {
            position[buffer] = found.len();
            let bytes = kernel.buffers[buffer].dtype.bytes();
            found.push(LaneBuffer { buffer, bytes, read: false, written: false });
        }
        let entry = &mut found[position[buffer]];
        entry.read |= read;
        entry.written |= !read;
    };
    for inst in &kernel.insts[kernel.n_uniform..] {
        if let Code::Load(buffer) | Code::Store(buffer) = inst.code {
            note(buffer, matches!(inst.code, Code::Load(_)));
        }
    }
    found
}

/// The buffers that a kernel reads or writes by 32-bit indices: it needs other code where one has more than 2^31
/// elements.
pub(super) fn indexed_buffers(kernel: &Kernel) -> impl Iterator<Item = BufferIndex> + '_ {
    let indexed = |inst: &Inst| {
        let (buffer, index) = if let Code::Gather { source, .. } = inst.code {
            (source, inst.arg(0))
        } else if let Code::Scatter { target, .. } = inst.code {
            (target, inst.arg(1))
        } else {
            return None;
        };
        (kernel.dtype(index).bytes() == 4).then_some(buffer)
    };
    kernel.insts.iter().filter_map(indexed)
}

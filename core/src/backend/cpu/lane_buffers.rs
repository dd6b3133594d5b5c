//! The buffers that a kernel walks through lane by lane.

use crate::ir::kernel::{BufferIndex, Code, End, Kernel};

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
        if let Code::Load(buffer) = inst.code {
            note(buffer, true);
        }
    }
    for end in &kernel.ends {
        if let End::Store { buffer, .. } = *end {
            note(buffer, false);
        }
    }
    found
}

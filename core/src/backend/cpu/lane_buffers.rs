//! The buffers that a kernel walks through lane by lane, and those that it reaches by indices.

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

/// The buffers that a kernel reads or writes by 32-bit indices: it needs other code where one has more than 2^31
/// elements.
pub(super) fn indexed_buffers(kernel: &Kernel) -> impl Iterator<Item = BufferIndex> + '_ {
    let gathers = kernel.insts.iter().filter_map(|inst| match inst.code {
        Code::Gather { source, .. } => Some((source, inst.args[0]?)),
        Code::Scatter { target, .. } => Some((target, inst.args[1]?)),
        Code::Literal(_)
        | Code::Constant(_)
        | Code::Index
        | Code::Op(_)
        | Code::Load(_)
        | Code::RegionStart { .. }
        | Code::Phi
        | Code::RunningMask
        | Code::BackEdge
        | Code::RegionEnd => None,
    });
    let scatters = kernel.ends.iter().filter_map(|end| match *end {
        End::Scatter { target, index, .. } => Some((target, index)),
        End::Store { .. } | End::Reduce { .. } => None,
    });
    gathers
        .chain(scatters)
        .filter(|&(_, index)| kernel.dtype(index).bytes() == 4)
        .map(|(buffer, _)| buffer)
}

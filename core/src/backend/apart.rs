//! A kernel without its scatters, which keeps what they write and where: they come afterwards, in whichever way.

use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, BufferParam, Code, Inst, Kernel, Reg};

/// The part of a kernel that computes, and what that keeps for its scatters.
pub(super) struct Apart {
    pub(super) compute: Kernel,
    /// Types of what is kept, in buffers behind those of the kernel.
    pub(super) kept: Vec<DType>,
    /// Where values are kept.
    found: Vec<Option<BufferIndex>>,
}

impl Apart {
    /// The kernel without its scatters, unless it has none, or lanes that compute need them before.
    pub(super) fn of(kernel: &Kernel) -> Option<Self> {
        if kernel.lane_insts().iter().any(scatters) || !kernel.has_scatter() {
            return None;
        }
        let mut compute = kernel.clone();
        for (_, inst) in kernel.writes() {
            if let Code::Scatter { target, .. } = inst.code {
                compute.buffers[target.index()].written = false;
            }
        }
        compute.insts.retain(|inst| !scatters(inst));
        Some(Self { compute, kept: Vec::new(), found: vec![None; kernel.first_write] })
    }

    /// Keeps a value; the buffer where it is.
    pub(super) fn keep(&mut self, value: Reg) -> BufferIndex {
        let Self { compute, kept, found } = self;
        *found[value.index()].get_or_insert_with(|| {
            let buffer = BufferIndex(exactly(compute.buffers.len()));
            let inst = *compute.inst(value);
            let dtype = inst.dtype;
            let param = BufferParam { dtype, written: true, length: None, anywhere: false };
            compute.buffers.push(param);
            kept.push(dtype);
            let args = [Some(value), None, None];
            compute.insts.push(Inst { code: Code::Store(buffer), args, ..inst });
            buffer
        })
    }
}

pub(super) fn scatters(inst: &Inst) -> bool {
    matches!(inst.code, Code::Scatter { .. })
}

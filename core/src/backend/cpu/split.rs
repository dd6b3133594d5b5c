//! A kernel that scatters as two: one that computes, and one that scatters what it finds.
//!
//! Scatters come in the order of lanes, but what they write need not be computed so. Threads run the first kernel
//! over some lanes each, which keeps values, indices and masks in the thread's own memory, and then the second one when
//! it is their turn.

use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, BufferParam, Code, Inst, Kernel, Reg};

/// Instructions a lane and scatter from which on computing may take longer than scattering.
const WORTH: usize = 8;

/// A kernel in two. Behind its buffers both have those that the first one writes for the second.
pub(super) struct Split {
    pub(super) compute: Kernel,
    pub(super) scatter: Kernel,
    /// Types of what is kept.
    pub(super) kept: Vec<DType>,
}

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

fn scatters(inst: &Inst) -> bool {
    matches!(inst.code, Code::Scatter { .. })
}

/// Takes a kernel apart, unless it has no scatters behind its values or computes little for them.
pub(super) fn split(kernel: &Kernel) -> Option<Split> {
    let mut apart = Apart::of(kernel)?;
    let n_scatters = kernel.writes().filter(|(_, inst)| scatters(inst)).count();
    let computes = kernel.lane_insts().iter().filter(|inst| matches!(inst.code, Code::Op(_)));
    if !kernel.has_regions() && computes.count() < WORTH * n_scatters {
        return None;
    }
    let mut scatter = Kernel {
        insts: kernel.insts[..kernel.n_uniform].to_vec(),
        buffers: kernel.buffers.clone(),
        literals: kernel.literals.clone(),
        accesses: kernel.accesses.clone(),
        ..*kernel
    };
    // Where the second kernel has a value.
    let mut found = vec![None; kernel.first_write];
    let mut writes = Vec::new();
    for (_, &inst) in kernel.writes().filter(|(_, inst)| scatters(inst)) {
        let mut again = inst;
        for arg in again.args.iter_mut().flatten() {
            if kernel.is_uniform(*arg) {
                continue;
            }
            let value = *kernel.inst(*arg);
            *arg = *found[arg.index()].get_or_insert_with(|| {
                let code = match value.code {
                    Code::Load(_) | Code::Index => value.code,
                    _ => Code::Load(apart.keep(*arg)),
                };
                scatter.insts.push(Inst { code, args: [None; 3], ..value });
                Reg(exactly(scatter.insts.len() - 1))
            });
        }
        writes.push(again);
    }
    let Apart { compute, kept, .. } = apart;
    let more = compute.buffers[kernel.buffers.len()..].iter();
    scatter.buffers.extend(more.map(|param| BufferParam { written: false, ..*param }));
    for (_, inst) in kernel.writes() {
        if let Code::Store(buffer) | Code::Reduce { buffer, .. } = inst.code {
            scatter.buffers[buffer.index()].written = false;
        }
    }
    scatter.first_write = scatter.insts.len();
    scatter.insts.append(&mut writes);
    for kernel in [&compute, &scatter] {
        debug_assert_eq!(crate::ir::verify::verify(kernel), Ok(()), "{kernel}");
    }
    (!kept.is_empty()).then_some(Split { compute, scatter, kept })
}

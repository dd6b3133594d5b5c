//! A kernel that scatters as two: one that computes, and one that scatters what it finds.
//!
//! Scatters come in the order of lanes, but what they write need not be computed so. Threads run the first kernel
//! over some lanes each, which keeps values, indices and masks in the thread's own memory, and then the second one when
//! it is their turn.

use crate::backend::apart::{Apart, scatters};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferParam, Code, Inst, Kernel, Reg};

/// Instructions a lane and scatter from which on computing may take longer than scattering.
const WORTH: usize = 8;

/// A kernel in two. Behind its buffers both have those that the first one writes for the second.
pub(super) struct Split {
    pub(super) compute: Kernel,
    pub(super) scatter: Kernel,
    /// Types of what is kept.
    pub(super) kept: Vec<DType>,
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

//! The kernel under construction, and how it is finished: instructions in place, accesses numbered, hashed.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::xxh3_128;

use super::kernel_registers::Registers;
use super::launches::Binding;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Access, BufferIndex, BufferParam, Code, Kernel, KernelHash, Target};
use crate::ir::var::VarId;

/// The kernel under construction.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) buffers: Vec<BufferParam>,
    pub(super) bindings: Vec<Binding>,
    pub(super) literals: Vec<(DType, u64)>,
    /// Checked accesses with the variable that recorded them, and its serial.
    pub(super) accesses: Vec<(u64, VarId, Access)>,
    pub(super) n_ops: usize,
}

/// A kernel that is finished.
pub(super) struct Finished {
    pub(super) kernel: Kernel,
    /// One per buffer of it.
    pub(super) bindings: Vec<Binding>,
    /// The variables of its accesses.
    pub(super) accesses: Vec<VarId>,
}

impl Draft {
    pub(super) fn give_length(&mut self, buffer: BufferIndex) {
        // Positions are assigned at the end, in buffer order.
        self.buffers[buffer.index()].length = Some(0);
    }

    pub(super) fn finish(
        mut self,
        known: &mut Registers,
        target: Target,
        size: u64,
        n_members: usize,
    ) -> Finished {
        let lengths = self.buffers.iter_mut().filter_map(|buffer| buffer.length.as_mut());
        for (position, length) in (0..).zip(lengths) {
            *length = position;
        }
        let (of, accesses) = self.number_accesses(known).into_iter().unzip();
        let (insts, n_uniform, first_write) = known.insts.list();
        let mut kernel = Kernel {
            insts,
            n_uniform,
            first_write,
            buffers: self.buffers,
            literals: self.literals,
            accesses,
            n_ops: self.n_ops,
            fast_math: target.fast_math,
            variant: 0,
            hash: KernelHash(0),
        };
        kernel.variant = (target.variant)(&kernel, size, n_members);
        known.hashed.clear();
        (target.device, &kernel).hash(&mut Bytes(&mut known.hashed));
        kernel.hash = KernelHash(xxh3_128(&known.hashed));
        Finished { kernel, bindings: self.bindings, accesses: of }
    }

    /// Numbers accesses in the order of recording, so that the first failing one has the lowest number.
    fn number_accesses(&mut self, known: &mut Registers) -> Vec<(VarId, Access)> {
        if self.accesses.is_empty() {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.accesses.len()).collect();
        order.sort_by_key(|&i| self.accesses[i].0);
        let mut number = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = exactly(new);
        }
        for inst in known.insts.iter_mut() {
            if let Code::Gather { access, .. } | Code::Scatter { access, .. } = &mut inst.code
                && let Some(access) = access
            {
                *access = number[*access as usize];
            }
        }
        order.into_iter().map(|i| (self.accesses[i].1, self.accesses[i].2)).collect()
    }
}

/// What is hashed, as bytes: a hash of many bytes takes less time than a hash of many words.
struct Bytes<'b>(&'b mut Vec<u8>);

impl Hasher for Bytes<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Which variant of an enumeration.
    fn write_isize(&mut self, number: isize) {
        self.0.push(exactly(number));
    }

    fn finish(&self) -> u64 {
        unreachable!("internal error: only the bytes are wanted")
    }
}

//! The kernel under construction, and how it is finished: registers in place, accesses numbered, hashed.

use xxhash_rust::xxh3::xxh3_128;

use super::plan::Binding;
use super::registers::{LANE, Registers, small};
use crate::dtype::DType;
use crate::ir::kernel::{
    Access, BufferIndex, BufferParam, Code, End, Inst, Kernel, KernelHash, Reg, Target,
};

/// The kernel under construction.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) ends: Vec<End>,
    pub(super) buffers: Vec<BufferParam>,
    pub(super) bindings: Vec<Binding>,
    pub(super) literals: Vec<(DType, u64)>,
    /// Checked accesses with the serial of the variable that recorded them.
    pub(super) accesses: Vec<(u64, Access)>,
    pub(super) n_ops: usize,
    /// Whether a scatter asks for lane order.
    pub(super) lane_order: bool,
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
    ) -> (Kernel, Vec<Binding>) {
        let n_uniform = known.uniform.len();
        let lengths = self.buffers.iter_mut().filter_map(|buffer| buffer.length.as_mut());
        for (position, length) in (0..).zip(lengths) {
            *length = position;
        }
        let accesses = self.number_accesses(known);
        let mut insts = Vec::with_capacity(n_uniform + known.lanes.len());
        insts.extend_from_slice(&known.uniform);
        insts.extend_from_slice(&known.lanes);
        let offset = small(n_uniform);
        let place = |reg: &mut Reg| {
            if reg.0 & LANE != 0 {
                reg.0 = (reg.0 & !LANE) + offset;
            }
        };
        for inst in &mut insts {
            inst.args.iter_mut().flatten().for_each(place);
        }
        for end in &mut self.ends {
            match end {
                End::Store { value, .. } | End::Reduce { value, .. } => place(value),
                End::Scatter { value, index, active, .. } => {
                    place(value);
                    place(index);
                    active.iter_mut().for_each(place);
                }
            }
        }
        let lane_order = target.lane_order || self.lane_order;
        let target = Target { lane_order, ..target };
        // How the lanes of reductions and loops are shared does not depend on their number.
        let is_shared = self.ends.iter().any(|end| matches!(end, End::Reduce { .. }))
            || insts.iter().any(|inst| matches!(inst.code, Code::RegionStart { .. }));
        let one_lane_per_thread = size < target.few_lanes && !is_shared;
        let switches = u64::from(target.lane_order)
            | u64::from(target.fast_math) << 1
            | u64::from(one_lane_per_thread) << 2;
        let seed = target.device ^ switches;
        let hash =
            structure_hash(&mut known.hashed, &insts, n_uniform, &self.ends, &self.buffers, seed);
        let kernel = Kernel {
            insts,
            n_uniform,
            ends: self.ends,
            buffers: self.buffers,
            literals: self.literals,
            accesses,
            n_ops: self.n_ops,
            lane_order,
            fast_math: target.fast_math,
            one_lane_per_thread,
            hash,
        };
        (kernel, self.bindings)
    }

    /// Numbers accesses in the order of recording, so that the first failing one has the lowest number.
    fn number_accesses(&mut self, known: &mut Registers) -> Vec<Access> {
        if self.accesses.is_empty() {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.accesses.len()).collect();
        order.sort_by_key(|&i| self.accesses[i].0);
        let mut number = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = small(new);
        }
        let renumber = |access: &mut Option<u32>| {
            if let Some(access) = access {
                *access = number[*access as usize];
            }
        };
        for inst in known.uniform.iter_mut().chain(&mut known.lanes) {
            if let Code::Gather { access, .. } | Code::Scatter { access, .. } = &mut inst.code {
                renumber(access);
            }
        }
        for end in &mut self.ends {
            if let End::Scatter { access, .. } = end {
                renumber(access);
            }
        }
        order.into_iter().map(|i| self.accesses[i].1).collect()
    }
}

/// Hashes everything that code depends on except literal values; serials and lines are left out too. The seed is of
/// what kernels are made for.
fn structure_hash(
    bytes: &mut Vec<u8>,
    insts: &[Inst],
    n_uniform: usize,
    ends: &[End],
    buffers: &[BufferParam],
    seed: u64,
) -> KernelHash {
    bytes.clear();
    bytes.reserve(size_of::<u64>() * (3 + 3 * (insts.len() + ends.len()) + buffers.len()));
    let mut add = |words: &[u64]| {
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    };
    let reg = |reg: Option<Reg>| reg.map_or(0, |reg| u64::from(reg.0) + 1);
    let flag = |access: Option<u32>| access.map_or(0, |access| u64::from(access) + 1);
    add(&[seed, n_uniform as u64, insts.len() as u64]);
    for inst in insts {
        let (tag, payload) = match inst.code {
            Code::Literal(number) => (0, u64::from(number)),
            Code::Constant(bits) => (1, bits),
            Code::Index => (2, 0),
            Code::Op(op) => (3, op as u64),
            Code::Load(buffer) => (4, u64::from(buffer.0)),
            Code::Gather { source, access } => (5, u64::from(source.0) | flag(access) << 32),
            Code::RegionStart { repeat } => (9, u64::from(repeat)),
            Code::Phi => (10, 0),
            Code::RunningMask => (11, 0),
            Code::Scatter { op, target, access } => {
                (12, u64::from(target.0) | flag(access) << 32 | (op as u64) << 56)
            }
            Code::BackEdge => (13, 0),
            Code::RegionEnd => (14, 0),
        };
        let [first, second, third] = inst.args.map(reg);
        add(&[payload, tag | (inst.dtype as u64) << 8 | first << 16, second | third << 32]);
    }
    for end in ends {
        match *end {
            End::Store { value, buffer } => {
                add(&[6, u64::from(value.0) | u64::from(buffer.0) << 32]);
            }
            End::Reduce { op, value, buffer } => {
                let head = 7 | (op as u64) << 8;
                add(&[head, u64::from(value.0) | u64::from(buffer.0) << 32]);
            }
            End::Scatter { op, value, index, active, target, access } => {
                let values = u64::from(value.0) | u64::from(index.0) << 32;
                let places = reg(active) | u64::from(target.0) << 32;
                add(&[8 | (op as u64) << 8 | flag(access) << 16, values, places]);
            }
        }
    }
    for buffer in buffers {
        let length = buffer.length.map_or(0, |length| u64::from(length) + 1);
        add(&[buffer.dtype as u64 | u64::from(buffer.written) << 8 | length << 16]);
    }
    KernelHash(xxh3_128(bytes))
}

//! The ends of a kernel: when they are due, and how values are stored and reduced.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::build::Lowering;
use crate::backend::cpu::instructions::M;
use crate::backend::cpu::program::{Home, Nan, Place, V, What};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Code, End, Kernel, Reg};
use crate::ir::op::ReduceOp;

/// Which ends can be done, scatters apart: those whose values are there, lowest first.
///
/// A store waits for some other instructions too. An output may be written over an input if none but
/// instructions before the output's value use the input, so those must have been, whatever the order is.
pub(super) struct Due {
    /// Value and number of each end, in order.
    ends: Vec<(usize, usize)>,
    /// Those whose values are there.
    waiting: BinaryHeap<Reverse<(usize, usize)>>,
    readers: Vec<bool>,
    computed: Vec<bool>,
    /// All readers before this instruction were computed.
    read: usize,
}

impl Due {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for (number, end) in kernel.ends.iter().enumerate() {
            if let End::Store { value, .. } | End::Reduce { value, .. } = end {
                ends.push((value.index(), number));
            }
        }
        ends.sort_unstable();
        let uniform = ends.iter().take_while(|&&(value, _)| value < kernel.n_uniform);
        Self {
            waiting: uniform.copied().map(Reverse).collect(),
            ends,
            readers: readers(kernel),
            computed: vec![false; kernel.insts.len()],
            read: kernel.n_uniform,
        }
    }

    /// Notes that an instruction was lowered.
    pub(super) fn computed(&mut self, i: usize) {
        self.computed[i] = true;
        let start = self.ends.partition_point(|&(value, _)| value < i);
        let ends = self.ends[start..].iter().take_while(|&&(value, _)| value == i);
        self.waiting.extend(ends.copied().map(Reverse));
    }

    /// An end that can be done.
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.read < self.readers.len()
            && (self.computed[self.read] || !self.readers[self.read])
        {
            self.read += 1;
        }
        let &Reverse((value, number)) = self.waiting.peek()?;
        (value < self.read).then(|| {
            self.waiting.pop();
            number
        })
    }

    /// What is left when all instructions were lowered.
    pub(super) fn rest(self) -> impl Iterator<Item = usize> {
        self.waiting.into_sorted_vec().into_iter().rev().map(|Reverse((_, number))| number)
    }
}

/// Which instructions read lanes of a buffer, or use such a lane as it is.
fn readers(kernel: &Kernel) -> Vec<bool> {
    let mut lane = vec![false; kernel.insts.len()];
    let mut readers = vec![false; kernel.insts.len()];
    for (i, inst) in kernel.insts.iter().enumerate().skip(kernel.n_uniform) {
        let uses = inst.args().any(|arg| lane[arg.index()]);
        let load = matches!(inst.code, Code::Load(_));
        lane[i] = load || uses && inst.may_be_its_argument();
        readers[i] = load || uses;
    }
    readers
}

impl Lowering<'_> {
    /// Does what an end wants with its value.
    pub(super) fn end(&mut self, number: usize) {
        match self.kernel.ends[number] {
            End::Store { value, buffer } => self.store(value, buffer),
            End::Reduce { op, value, .. } => {
                let offset = self.offsets[number];
                if self.kernel.dtype(value) == DType::Mask {
                    self.count(value, offset);
                } else {
                    self.accumulate(op, value, offset);
                }
            }
            End::Scatter { op, value, index, active, target, access } => {
                self.scatter(op, [value, index], active, target, access);
            }
        }
    }

    fn store(&mut self, value: Reg, buffer: BufferIndex) {
        let dtype = self.kernel.dtype(value);
        if dtype.is_narrow() {
            return self.store_narrow(value, buffer, dtype);
        }
        let buffer = buffer.0;
        for part in 0..self.packet.parts(dtype.bytes()) {
            let number = exactly(part);
            if dtype == DType::Mask {
                let mask = self.narrow_mask(value.index(), part);
                let bytes = self.bytes_of_mask(mask);
                let what = What::StorePacked { buffer, bytes: 1, part: number };
                self.effect(what, [bytes, V::NONE, V::NONE]);
            } else {
                let lanes = self.values.get(value.index(), part);
                let bytes = exactly(dtype.bytes());
                let what = What::Store { buffer, bytes, part: number };
                self.effect(what, [lanes, V::NONE, V::NONE]);
            }
        }
    }

    /// True lanes as bytes of 1 in the low bytes of a register.
    pub(super) fn bytes_of_mask(&mut self, mask: V) -> V {
        if self.has(M::KeepBytes) {
            let ones = self.constant(0x0101_0101, 4);
            return self.binary(M::KeepBytes, mask, ones);
        }
        let upper = self.unary_by(M::UpperHalf, mask, 1);
        let words = self.binary(M::PackWords, mask, upper);
        let bytes = self.binary(M::PackBytes, words, words);
        let ones = self.constant(0x0101_0101, 4);
        self.binary(M::AndHalf, bytes, ones)
    }

    fn count(&mut self, value: Reg, offset: u32) {
        for part in 0..self.packet.narrow {
            let mask = self.narrow_mask(value.index(), part);
            let what = What::Count { offset, part: exactly(part) };
            self.effect(what, [mask, V::NONE, V::NONE]);
        }
    }

    fn accumulate(&mut self, op: ReduceOp, value: Reg, offset: u32) {
        let dtype = self.kernel.dtype(value);
        let bytes = exactly(dtype.bytes());
        for part in 0..self.packet.parts(dtype.bytes()) {
            let lanes = self.values.get(value.index(), part);
            if self.carries {
                let place = offset + exactly::<u32>(part * self.packet.vector());
                let sum = self.at_home(Home::Carried(Place::Frame(place)));
                self.set_nan(sum, Nan::Quiet);
                let next = self.same(op.combine(), dtype, [sum, lanes, lanes]);
                self.push(What::Carry, sum, [next, V::NONE, V::NONE]);
                continue;
            }
            let number = exactly(part);
            let what = What::LoadAccumulator { offset, bytes, part: number };
            let before = self.make(what, [V::NONE; 3]);
            self.set_nan(before, Nan::Quiet);
            let after = self.same(op.combine(), dtype, [before, lanes, lanes]);
            let what = What::StoreAccumulator { offset, bytes, part: number };
            self.effect(what, [after, V::NONE, V::NONE]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::kernel::{BufferParam, Inst, KernelHash};
    use crate::ir::op::Op;

    #[test]
    fn a_store_waits_for_readers_before_its_value() {
        let dtype = DType::F32;
        let load = Inst { code: Code::Load(BufferIndex(0)), dtype, args: [None; 3], serial: 0 };
        let op = |op, arg: u32| {
            let args = [Some(Reg(arg)), None, None];
            Inst { code: Code::Op(op), dtype, args, serial: 0 }
        };
        let buffer = |written| BufferParam { dtype, written, length: None };
        let store = |value, buffer| End::Store { value: Reg(value), buffer: BufferIndex(buffer) };
        let kernel = Kernel {
            // The second reads the lane itself, by another name; the last comes behind the output.
            insts: vec![load, op(Op::Abs, 0), op(Op::Sqrt, 1), op(Op::Neg, 0), op(Op::Sqrt, 1)],
            n_uniform: 0,
            ends: vec![store(4, 2), store(3, 1)],
            buffers: vec![buffer(false), buffer(true), buffer(true)],
            literals: Vec::new(),
            accesses: Vec::new(),
            n_ops: 0,
            lane_order: false,
            fast_math: false,
            one_lane_per_thread: false,
            hash: KernelHash(0),
        };
        let mut due = Due::new(&kernel);
        for (i, ends) in [(0, vec![]), (1, vec![]), (3, vec![]), (2, vec![1]), (4, vec![0])] {
            due.computed(i);
            let now: Vec<usize> = std::iter::from_fn(|| due.next()).collect();
            assert_eq!(now, ends, "behind %{i}");
        }
        assert_eq!(due.rest().count(), 0);
    }
}

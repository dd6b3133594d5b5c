//! The order in which the instructions of a kernel are lowered: chains side by side.
//!
//! Kernels come depth first, one chain of operations after the other, each waiting for itself. Here the
//! instruction goes first behind which most work waits, as long as registers are free; then those that
//! free one, then depth first again. It is done window by window, so that it stays linear. A value is stored or
//! reduced as soon as it is there; scatters come last, lane by lane. No bits depend on any of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::backend::cpu::program::Packet;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Code, Inst, Kernel, Reg};

/// Instructions that are ordered together.
const WINDOW: usize = 4096;

/// The lane instructions and writes of a kernel in the order of lowering: operands precede users.
pub(super) fn order(kernel: &Kernel, packet: Packet) -> Vec<usize> {
    let lanes = kernel.n_uniform..kernel.first_write;
    if kernel.has_regions() {
        return with_writes(kernel, lanes.collect());
    }
    let mut scheduler = Scheduler::new(kernel, packet);
    for start in lanes.step_by(WINDOW) {
        scheduler.window(start, kernel.first_write.min(start + WINDOW));
    }
    with_writes(kernel, scheduler.order)
}

/// Puts the writes of a kernel between its lane instructions.
///
/// A store waits for some other instructions too. An output may be written over an input if none but
/// instructions before the output's value use the input, so those must have been, whatever the order is.
fn with_writes(kernel: &Kernel, lanes: Vec<usize>) -> Vec<usize> {
    // For each value, how many instructions come before its writes.
    let mut before = vec![1; kernel.first_write];
    for (n, &i) in (1..).zip(&lanes) {
        before[i] = n;
    }
    let mut read = 1;
    for (i, is_reader) in readers(kernel).into_iter().enumerate() {
        read = if is_reader { read.max(before[i]) } else { read };
        before[i] = before[i].max(read);
    }
    let writes = kernel.writes().filter(|(_, inst)| !is_scatter(inst));
    let mut writes: Vec<(usize, Reg, usize)> =
        writes.map(|(i, inst)| (before[inst.arg(0).index()], inst.arg(0), i)).collect();
    writes.sort_unstable();
    let mut writes = writes.into_iter().peekable();
    let mut order = Vec::with_capacity(kernel.insts.len() - kernel.n_uniform);
    let mut depth = 0;
    for (n, i) in (1..).zip(lanes) {
        order.push(i);
        let code = kernel.insts[i].code;
        depth += i32::from(matches!(code, Code::RegionStart { .. }));
        depth -= i32::from(matches!(code, Code::RegionEnd));
        // Behind a region its phis have their last values.
        while depth == 0
            && let Some((.., write)) = writes.next_if(|&(before, ..)| before <= n)
        {
            order.push(write);
        }
    }
    order.extend(writes.map(|(.., write)| write));
    order.extend(kernel.writes().filter(|(_, inst)| is_scatter(inst)).map(|(i, _)| i));
    order
}

fn is_scatter(inst: &Inst) -> bool {
    matches!(inst.code, Code::Scatter { .. })
}

/// Which instructions read lanes of a buffer, or use such a lane as it is.
fn readers(kernel: &Kernel) -> Vec<bool> {
    let mut lane = vec![false; kernel.first_write];
    let mut readers = vec![false; kernel.first_write];
    for (i, inst) in (kernel.n_uniform..).zip(kernel.lane_insts()) {
        let uses = inst.args().any(|arg| lane[arg.index()]);
        let load = matches!(inst.code, Code::Load(_));
        lane[i] = load || uses && inst.may_be_its_argument();
        readers[i] = load || uses;
    }
    readers
}

struct Scheduler<'k> {
    kernel: &'k Kernel,
    packet: Packet,
    order: Vec<usize>,
    /// Users of each value that are still to come, and the exclusive or of their numbers, which is the
    /// number of the last.
    uses: Vec<(u32, usize)>,
    /// Values in registers.
    resident: Vec<bool>,
    /// Registers taken.
    live: [usize; 2],
    done: Vec<bool>,
    /// End of the window.
    end: usize,
    /// Operands of each of its instructions that it has still to make.
    missing: Vec<u8>,
    /// Time from an instruction's start to the end of the window's work behind it.
    height: Vec<u32>,
}

impl<'k> Scheduler<'k> {
    fn new(kernel: &'k Kernel, packet: Packet) -> Self {
        let n = kernel.first_write;
        let mut uses = vec![(0, 0); n];
        for (i, inst) in (kernel.n_uniform..).zip(kernel.lane_insts()) {
            for arg in distinct(inst) {
                let (count, users) = &mut uses[arg.index()];
                (*count, *users) = (*count + 1, *users ^ i);
            }
        }
        // Scatters come last, behind every user; other writes come with their values.
        for (_, inst) in kernel.writes().filter(|(_, inst)| is_scatter(inst)) {
            inst.args().for_each(|value| uses[value.index()].0 += 2);
        }
        Self {
            kernel,
            packet,
            order: Vec::with_capacity(n),
            uses,
            resident: vec![false; n],
            live: [0; 2],
            done: vec![false; n],
            end: 0,
            missing: vec![0; n],
            height: vec![0; n],
        }
    }

    /// Orders the instructions from `start` to `end`.
    fn window(&mut self, start: usize, end: usize) {
        self.end = end;
        let (users, first_user) = self.users(start, end);
        let users = |i: usize| &users[first_user[i - start]..first_user[i - start + 1]];
        for i in (start..end).rev() {
            let behind = users(i).iter().map(|&user| self.height[user]).max();
            self.height[i] = behind.unwrap_or(0) + latency(&self.kernel.insts[i]);
        }
        let mut urgent = BinaryHeap::new();
        let mut relieving = BinaryHeap::new();
        let mut first = start;
        let mut ready: Vec<usize> = (start..end).filter(|&i| self.missing[i] == 0).collect();
        for _ in start..end {
            for i in ready.drain(..) {
                urgent.push((self.height[i], Reverse(i)));
                relieving.push(Reverse((self.pressure(i), i)));
            }
            let i = self.pick(&mut urgent, &mut relieving, &mut first);
            self.place(i, |last, pressure| relieving.push(Reverse((pressure, last))));
            for &user in users(i) {
                self.missing[user] -= 1;
                if self.missing[user] == 0 {
                    ready.push(user);
                }
            }
        }
    }

    /// Users in the window of each of its instructions, one after the other, and where they start; counts
    /// their missing operands.
    fn users(&mut self, start: usize, end: usize) -> (Vec<usize>, Vec<usize>) {
        let mut first = vec![0; end - start + 1];
        for i in start..end {
            for arg in distinct(&self.kernel.insts[i]).filter(|arg| arg.index() >= start) {
                first[arg.index() - start + 1] += 1;
                self.missing[i] += 1;
            }
        }
        for k in 1..first.len() {
            first[k] += first[k - 1];
        }
        let mut next = first.clone();
        let mut users = vec![0; first[end - start]];
        for i in start..end {
            for arg in distinct(&self.kernel.insts[i]).filter(|arg| arg.index() >= start) {
                let next = &mut next[arg.index() - start];
                users[*next] = i;
                *next += 1;
            }
        }
        (users, first)
    }

    /// The next instruction. Heaps keep what was picked from another.
    fn pick(
        &self,
        urgent: &mut BinaryHeap<(u32, Reverse<usize>)>,
        relieving: &mut BinaryHeap<Reverse<(isize, usize)>>,
        first: &mut usize,
    ) -> usize {
        let limits = self.packet.target.roomy;
        let full = self.live.iter().zip(limits).any(|(&live, limit)| live >= limit);
        if !full {
            while let Some((_, Reverse(i))) = urgent.pop() {
                if !self.done[i] {
                    return i;
                }
            }
        }
        while let Some(Reverse((pressure, i))) = relieving.peek().copied() {
            if !self.done[i] && pressure <= 0 {
                return i;
            }
            if !self.done[i] {
                break;
            }
            relieving.pop();
        }
        // The first that is not done has all its operands.
        while self.done[*first] {
            *first += 1;
        }
        *first
    }

    /// Takes an instruction; tells of each that has become the last user of a value.
    fn place(&mut self, i: usize, mut ending: impl FnMut(usize, isize)) {
        self.order.push(i);
        self.done[i] = true;
        for arg in distinct(&self.kernel.insts[i]) {
            let a = arg.index();
            let (count, users) = &mut self.uses[a];
            (*count, *users) = (*count - 1, *users ^ i);
            let (count, last) = (*count, *users);
            if a < self.kernel.n_uniform {
                continue;
            }
            let (class, size) = self.size(a);
            match (std::mem::replace(&mut self.resident[a], count > 0), count > 0) {
                (true, false) => self.live[class] -= size,
                (false, true) => self.live[class] += size,
                _ => {}
            }
            if count == 1 && self.is_ready(last) {
                ending(last, self.pressure(last));
            }
        }
        if self.uses[i].0 > 0 && !self.is_lane(i) {
            self.resident[i] = true;
            let (class, size) = self.size(i);
            self.live[class] += size;
        }
    }

    /// Whether an instruction of this window could be next.
    fn is_ready(&self, i: usize) -> bool {
        i < self.end && !self.done[i] && self.missing[i] == 0
    }

    /// Registers that an instruction takes less those that it frees.
    fn pressure(&self, i: usize) -> isize {
        let size = |i: usize| exactly::<isize>(self.size(i).1);
        let own = if self.uses[i].0 > 0 && !self.is_lane(i) { size(i) } else { 0 };
        let args = distinct(&self.kernel.insts[i]).map(Reg::index);
        let args = args.filter(|&arg| arg >= self.kernel.n_uniform).map(|arg| {
            match (self.resident[arg], self.uses[arg].0 > 1) {
                (true, false) => -size(arg),
                (false, true) => size(arg),
                _ => 0,
            }
        });
        own + args.sum::<isize>()
    }

    /// The class and number of registers of a value.
    fn size(&self, i: usize) -> (usize, usize) {
        let dtype = self.kernel.insts[i].dtype;
        if dtype == DType::Mask {
            return (usize::from(self.packet.target.has_mask_registers()), self.packet.narrow);
        }
        (0, self.packet.parts(dtype.widened().bytes()))
    }

    /// Whether a value is read from memory when it is first used.
    fn is_lane(&self, i: usize) -> bool {
        let Inst { code, dtype, .. } = self.kernel.insts[i];
        matches!(code, Code::Load(_)) && !dtype.is_narrow() && dtype != DType::Mask
    }
}

fn distinct(inst: &Inst) -> impl Iterator<Item = Reg> + '_ {
    let args = inst.args;
    inst.args()
        .enumerate()
        .filter(move |(k, arg)| !args[..*k].contains(&Some(*arg)))
        .map(|(_, a)| a)
}

/// Cycles until an instruction's value is there, about.
fn latency(inst: &Inst) -> u32 {
    match inst.code {
        Code::Gather { .. } => 20,
        Code::Op(op) => op.info().cycles,
        Code::Load(_) | Code::Index => 4,
        Code::Literal(_)
        | Code::Constant(_)
        | Code::RegionStart { .. }
        | Code::Phi
        | Code::RunningMask
        | Code::BackEdge
        | Code::RegionEnd
        | Code::Store(_)
        | Code::Reduce { .. }
        | Code::Scatter { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::machine::Machine;
    use crate::backend::cpu::native::Native;
    use crate::backend::isa::Isa;
    use crate::ir::kernel::{BufferIndex, BufferParam, KernelHash};
    use crate::ir::op::Op;

    /// A sum of `chains` chains of `length` multiplications of a loaded lane, depth first or all chains first.
    fn chains(chains: u32, length: u32, depth_first: bool) -> Kernel {
        let mut insts = Vec::new();
        let mut push = |code, args: &[u32]| {
            let args = [args.first(), args.get(1), None].map(|arg| arg.copied().map(Reg));
            insts.push(Inst { code, dtype: DType::F32, args, serial: 0 });
            u32::try_from(insts.len()).unwrap() - 1
        };
        let lane = push(Code::Load(BufferIndex(0)), &[]);
        let (mut sum, mut waiting) = (lane, Vec::new());
        for number in 1..=chains {
            waiting.push((0..length).fold(lane, |v, _| push(Code::Op(Op::Mul), &[v, v])));
            if depth_first || number == chains {
                let ends = waiting.drain(..);
                sum = ends.fold(sum, |sum, end| push(Code::Op(Op::Add), &[sum, end]));
            }
        }
        push(Code::Store(BufferIndex(1)), &[sum]);
        kernel_of(insts, 1)
    }

    /// A kernel that ends with so many stores.
    fn kernel_of(insts: Vec<Inst>, n_writes: usize) -> Kernel {
        let buffer =
            |written| BufferParam { dtype: DType::F32, written, length: None, anywhere: false };
        Kernel {
            n_uniform: 0,
            first_write: insts.len() - n_writes,
            insts,
            buffers: vec![buffer(false), buffer(true), buffer(true)],
            literals: Vec::new(),
            accesses: Vec::new(),
            n_ops: 0,
            fast_math: false,
            variant: 0,
            hash: KernelHash(0),
        }
    }

    /// The order for a packet, after a look at whether operands precede users.
    fn ordered(kernel: &Kernel, narrow: usize) -> Vec<usize> {
        // The one with most registers.
        let target = Isa::ALL.into_iter().filter_map(Native::target).next_back().unwrap();
        let order = order(kernel, Packet { target, narrow });
        let mut done = vec![false; kernel.insts.len()];
        for &i in &order {
            assert!(kernel.insts[i].args().all(|arg| done[arg.index()]), "{i}\n{kernel}");
            assert!(!std::mem::replace(&mut done[i], true), "{i}\n{kernel}");
        }
        assert!(done.into_iter().all(|done| done), "{kernel}");
        order
    }

    /// The most values that are live at once.
    fn most_live(kernel: &Kernel, order: &[usize]) -> usize {
        let mut uses = vec![0; kernel.insts.len()];
        kernel.insts.iter().flat_map(distinct).for_each(|arg| uses[arg.index()] += 1);
        let (mut live, mut most) = (0, 0);
        for &i in order {
            live += usize::from(uses[i] > 0);
            for arg in distinct(&kernel.insts[i]) {
                uses[arg.index()] -= 1;
                live -= usize::from(uses[arg.index()] == 0);
            }
            most = most.max(live);
        }
        most
    }

    #[test]
    fn chains_go_side_by_side() {
        let kernel = chains(8, 10, true);
        let order = ordered(&kernel, 1);
        let waits = order
            .windows(2)
            .filter(|pair| kernel.insts[pair[1]].args().any(|arg| arg.index() == pair[0]));
        // Depth first, nearly each of the 88 operations waits for the one before it.
        assert!(waits.count() < 25, "{order:?}");
    }

    #[test]
    fn no_more_chains_than_registers() {
        for (narrow, most) in [(1, 28), (2, 15), (4, 8)] {
            let kernel = chains(100, 10, true);
            let live = most_live(&kernel, &ordered(&kernel, narrow));
            assert!(live <= most, "{live} live, {narrow} registers each");
        }
    }

    #[test]
    fn operands_come_first_across_windows() {
        ordered(&chains(1000, 10, true), 1);
        ordered(&chains(1, 10_000, true), 1);
        // Whatever ends in another window must not be taken early.
        ordered(&chains(3000, 2, false), 1);
    }

    #[test]
    fn a_store_waits_for_readers_before_its_value() {
        let inst = |code, arg: Option<u32>| Inst {
            code,
            dtype: DType::F32,
            args: [arg.map(Reg), None, None],
            serial: 0,
        };
        let store = |buffer, value| inst(Code::Store(BufferIndex(buffer)), Some(value));
        // The second reads the lane itself, by another name; the last comes behind the output.
        let insts = vec![
            inst(Code::Load(BufferIndex(0)), None),
            inst(Code::Op(Op::Abs), Some(0)),
            inst(Code::Op(Op::Sqrt), Some(1)),
            inst(Code::Op(Op::Neg), Some(0)),
            inst(Code::Op(Op::Sqrt), Some(1)),
            store(2, 4),
            store(1, 3),
        ];
        assert_eq!(with_writes(&kernel_of(insts, 2), vec![0, 1, 3, 2, 4]), [0, 1, 3, 2, 6, 4, 5]);
    }
}

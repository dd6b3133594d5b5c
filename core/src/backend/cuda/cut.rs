//! Long kernels in parts: the driver's compiler takes more than twice as long for twice as many
//! instructions, and parts are compiled by several threads.
//!
//! The parts run one after the other over all lanes. What a part computes and a later one needs goes
//! through memory; numbers and lane numbers are rematerialised. Cuts fall where few values are alive.

use std::collections::HashMap;

use super::ptx::BATCH;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Access, BufferIndex, BufferParam, Code, Inst, Kernel, KernelHash, Reg};
use crate::ir::sections::{Section, Sections};

/// Instructions of a part, more or less.
const PART: usize = 4000;

/// A kernel in parts.
pub(super) struct Cut {
    pub(super) parts: Vec<Part>,
    /// Types of the arrays between parts, each with a lane for each lane.
    pub(super) between: Vec<DType>,
}

/// Some of the instructions of a kernel, as a kernel.
pub(super) struct Part {
    pub(super) kernel: Kernel,
    /// The sources of its buffers.
    pub(super) buffers: Vec<Source>,
}

/// A buffer of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// One of the whole kernel.
    Whole(BufferIndex),
    /// An array between parts.
    Between(usize),
}

/// The kernel in parts, if it is long enough for more than one.
pub(super) fn cut(kernel: &Kernel) -> Option<Cut> {
    if kernel.has_regions() || kernel.lane_insts().len() < 2 * PART {
        return None;
    }
    let last_uses = last_uses(kernel);
    let starts = starts(kernel, &last_uses);
    let mut cutter = Cutter {
        kernel,
        last_uses,
        places: HashMap::new(),
        between: Vec::new(),
        free: HashMap::new(),
    };
    let ends = starts[1..].iter().copied().chain([kernel.first_write]);
    let parts = starts.iter().zip(ends).map(|(&start, end)| cutter.part(start, end)).collect();
    Some(Cut { parts, between: cutter.between })
}

/// Whether a value is cheaper to rematerialise than to keep.
fn is_cheap(inst: &Inst) -> bool {
    matches!(inst.code, Code::Literal(_) | Code::Constant(_) | Code::Index)
}

/// For each instruction the last one that uses its value. Values that are only stored are stored by their own part.
fn last_uses(kernel: &Kernel) -> Vec<usize> {
    let mut last = vec![0; kernel.insts.len()];
    for (i, inst) in kernel.insts.iter().enumerate() {
        if !matches!(inst.code, Code::Store(_)) {
            inst.args().for_each(|arg| last[arg.index()] = i);
        }
    }
    last
}

/// First instructions of the parts: where the fewest values are alive, around every [`PART`].
fn starts(kernel: &Kernel, last_uses: &[usize]) -> Vec<usize> {
    let n = kernel.first_write;
    // Changes of the number of live values in front of each instruction.
    let mut changes = vec![0_i64; n + 2];
    for (i, inst) in (kernel.n_uniform..).zip(kernel.lane_insts()) {
        if !is_cheap(inst) && last_uses[i] > i {
            changes[i + 1] += 1;
            changes[last_uses[i].min(n) + 1] -= 1;
        }
    }
    let alive: Vec<i64> = changes
        .iter()
        .scan(0, |alive, change| {
            *alive += change;
            Some(*alive)
        })
        .collect();
    let mut starts = vec![kernel.n_uniform];
    let mut start = kernel.n_uniform;
    while n - start > PART + PART / 2 {
        let window = start + PART * 3 / 4..start + PART * 5 / 4;
        start = window.min_by_key(|&i| alive[i]).unwrap_or(n);
        starts.push(start);
    }
    starts
}

struct Cutter<'k> {
    kernel: &'k Kernel,
    last_uses: Vec<usize>,
    /// The array between parts that holds the value of an instruction.
    places: HashMap<usize, usize>,
    between: Vec<DType>,
    /// Arrays whose values have no further use.
    free: HashMap<DType, Vec<usize>>,
}

/// A part under construction.
struct Draft {
    insts: Sections,
    /// Where the values of the whole kernel's instructions are.
    values: HashMap<usize, Reg>,
    params: Vec<BufferParam>,
    buffers: Vec<Source>,
    n_lengths: u32,
    /// The whole kernel's, since failures are told by their numbers; those of this part name its buffers.
    accesses: Vec<Access>,
}

impl Cutter<'_> {
    /// The part with the instructions from `start` to `end`.
    fn part(&mut self, start: usize, end: usize) -> Part {
        let kernel = self.kernel;
        let is_last = end == kernel.first_write;
        let mut draft = Draft {
            insts: Sections::default(),
            values: HashMap::new(),
            params: Vec::new(),
            buffers: Vec::new(),
            n_lengths: 0,
            accesses: kernel.accesses.clone(),
        };
        for i in (0..kernel.n_uniform).chain(start..end) {
            self.copy(&mut draft, i);
        }
        for (i, inst) in kernel.writes() {
            let here = match inst.code {
                Code::Store(_) => {
                    let value = inst.arg(0).index();
                    (start..end).contains(&value) || (is_last && value < kernel.n_uniform)
                }
                _ => is_last,
            };
            if here {
                self.copy(&mut draft, i);
            }
        }
        for i in start..end {
            if self.last_uses[i] >= end && !is_cheap(&kernel.insts[i]) && !is_last {
                let dtype = kernel.insts[i].dtype;
                let slot = self.free.get_mut(&dtype).and_then(Vec::pop).unwrap_or_else(|| {
                    self.between.push(dtype);
                    self.between.len() - 1
                });
                self.places.insert(i, slot);
                let buffer = draft.between(slot, dtype, true);
                let args = [Some(draft.values[&i]), None, None];
                let serial = kernel.insts[i].serial;
                let store = Inst { code: Code::Store(buffer), dtype, args, serial };
                draft.insts.push(Section::Writes, store);
            }
        }
        self.release(end);
        let Draft { insts, params, buffers, accesses, .. } = draft;
        let (insts, n_uniform, first_write) = insts.list();
        let number = starts_hash(start);
        let kernel = Kernel {
            insts,
            n_uniform,
            first_write,
            buffers: params,
            literals: kernel.literals.clone(),
            accesses,
            n_ops: end - start,
            fast_math: kernel.fast_math,
            variant: kernel.variant & !BATCH,
            hash: KernelHash(kernel.hash.0 ^ number),
        };
        Part { kernel, buffers }
    }

    /// Arrays that no part behind `end` reads may hold other values.
    fn release(&mut self, end: usize) {
        let (kernel, last_uses, free) = (self.kernel, &self.last_uses, &mut self.free);
        self.places.retain(|&i, &mut slot| {
            let needed = last_uses[i] >= end;
            if !needed {
                free.entry(kernel.insts[i].dtype).or_default().push(slot);
            }
            needed
        });
    }

    /// Adds an instruction, and before it what brings in its arguments.
    fn copy(&mut self, draft: &mut Draft, i: usize) {
        let mut inst = self.kernel.insts[i];
        for arg in inst.args.iter_mut().flatten() {
            *arg = self.value(draft, *arg);
        }
        if let Some(buffer) = inst.code.buffer_mut() {
            let here = draft.whole(self.kernel, *buffer);
            *buffer = here;
            if let Some(access) = inst.code.access() {
                draft.accesses[access as usize].buffer = here;
            }
        }
        draft.push(self.kernel.section(i), i, inst);
    }

    /// The value of an instruction, made in an earlier part or here.
    fn value(&mut self, draft: &mut Draft, reg: Reg) -> Reg {
        let i = reg.index();
        if let Some(&known) = draft.values.get(&i) {
            return known;
        }
        let mut inst = self.kernel.insts[i];
        if !is_cheap(&inst) {
            let buffer = draft.between(self.places[&i], inst.dtype, false);
            inst = Inst { code: Code::Load(buffer), args: [None; 3], ..inst };
        }
        draft.push(Section::Lanes, i, inst)
    }
}

impl Draft {
    fn push(&mut self, section: Section, i: usize, inst: Inst) -> Reg {
        let reg = self.insts.push(section, inst);
        self.values.insert(i, reg);
        reg
    }

    /// A buffer of the whole kernel.
    fn whole(&mut self, kernel: &Kernel, buffer: BufferIndex) -> BufferIndex {
        let mut param = kernel.buffers[buffer.index()];
        let source = Source::Whole(buffer);
        if let Some(known) = self.find(source) {
            return known;
        }
        if let Some(length) = &mut param.length {
            *length = self.n_lengths;
            self.n_lengths += 1;
        }
        self.add(source, param)
    }

    /// An array between parts.
    fn between(&mut self, slot: usize, dtype: DType, written: bool) -> BufferIndex {
        let source = Source::Between(slot);
        let param = BufferParam { dtype, written, length: None, anywhere: false };
        self.find(source).unwrap_or_else(|| self.add(source, param))
    }

    fn find(&self, source: Source) -> Option<BufferIndex> {
        let position = self.buffers.iter().position(|&known| known == source)?;
        Some(BufferIndex(exactly(position)))
    }

    fn add(&mut self, source: Source, param: BufferParam) -> BufferIndex {
        self.buffers.push(source);
        self.params.push(param);
        BufferIndex(exactly(self.buffers.len() - 1))
    }
}

/// Tells the parts of a kernel apart.
fn starts_hash(start: usize) -> u128 {
    (start as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::op::{Op, ScatterMode, ScatterOp};
    use crate::ir::scalar::apply_bits;

    /// `v[i] = v[i - 1] op v[i - k]`, loads now and then, several stores and a checked scatter.
    fn long() -> Kernel {
        let mut insts = Vec::new();
        let dtype = DType::U32;
        let buffer = |written| BufferParam { dtype, written, length: None, anywhere: false };
        let inst = |code, args| Inst { code, dtype, args, serial: 0 };
        insts.push(inst(Code::Literal(0), [None; 3]));
        insts.push(inst(Code::Load(BufferIndex(0)), [None; 3]));
        insts.push(inst(Code::Index, [None; 3]));
        let part = u32::try_from(PART).unwrap();
        for i in 3..5 * part {
            let arg = |back: u32| Some(Reg(i - 1 - back.min(i - 1)));
            let distance = if i % 700 == 0 { i / 2 } else { i * 7919 % 30 };
            let op = [Op::Add, Op::Mul, Op::Xor][i as usize % 3];
            insts.push(match i % 501 {
                0 => inst(Code::Load(BufferIndex(0)), [None; 3]),
                _ => inst(Code::Op(op), [arg(0), arg(distance), None]),
            });
        }
        let last = Reg(5 * part - 1);
        let first_write = insts.len();
        for (value, buffer) in [(Reg(part), 1), (last, 2), (Reg(0), 3)] {
            insts.push(inst(Code::Store(BufferIndex(buffer)), [Some(value), None, None]));
        }
        let target = BufferIndex(4);
        let op = ScatterOp::Set;
        let scatter = Code::Scatter { op, target, access: Some(0), mode: ScatterMode::Exact };
        insts.push(inst(scatter, [Some(last), Some(Reg(2)), None]));
        let scattered = BufferParam { length: Some(0), ..buffer(true) };
        Kernel {
            insts,
            n_uniform: 1,
            first_write,
            buffers: vec![buffer(false), buffer(true), buffer(true), buffer(true), scattered],
            literals: vec![(dtype, 12345)],
            accesses: vec![Access::of(target)],
            n_ops: 0,
            fast_math: false,
            variant: 0,
            hash: KernelHash(1),
        }
    }

    /// Runs one lane of a kernel; its stores go to `memory`, by source.
    fn run(kernel: &Kernel, sources: &[Source], memory: &mut HashMap<Source, u64>) {
        let mut values = Vec::new();
        for inst in &kernel.insts {
            let args = inst.args.map(|arg| arg.map_or(0, |arg| values[arg.index()]));
            values.push(match inst.code {
                Code::Literal(literal) => kernel.literals[literal as usize].1,
                Code::Index => 77,
                Code::Load(buffer) => memory[&sources[buffer.index()]],
                Code::Op(op) => apply_bits(op, inst.dtype, inst.dtype, args),
                Code::Store(buffer) | Code::Scatter { target: buffer, .. } => {
                    memory.insert(sources[buffer.index()], args[0]);
                    0
                }
                _ => unreachable!("no other instructions here"),
            });
        }
    }

    #[test]
    fn parts_store_what_the_whole_stores() {
        let whole = long();
        let sources: Vec<Source> = (0..5).map(|i| Source::Whole(BufferIndex(i))).collect();
        let input = HashMap::from([(sources[0], 99)]);
        let mut want = input.clone();
        run(&whole, &sources, &mut want);
        let cut = cut(&whole).unwrap();
        assert!(cut.parts.len() >= 4, "{}", cut.parts.len());
        let mut got = input;
        for part in &cut.parts {
            assert_eq!(crate::ir::verify::verify(&part.kernel), Ok(()));
            run(&part.kernel, &part.buffers, &mut got);
        }
        got.retain(|source, _| matches!(source, Source::Whole(_)));
        assert_eq!(got, want);
        assert!(cut.between.len() < 100, "{} values between parts", cut.between.len());
    }
}

//! Kernels over the whole operation table, written down and random.

use std::collections::HashSet;

use porcini_core::dtype::{DType, Scalar};
use porcini_core::half::F16;
use porcini_core::ir::kernel::{
    Access, BufferIndex, BufferParam, Code, Inst, Kernel, KernelHash, Reg,
};
use porcini_core::ir::op::{OPS, Op, OpInfo, ReduceOp, ScatterMode, ScatterOp, Shape};

/// Marsaglia's xorshift64.
pub(super) struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub(super) fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from((self.next() >> 16) % n as u64).unwrap_or(0)
    }

    fn small(&mut self, dtype: DType) -> u64 {
        number(dtype, u8::try_from(self.below(10)).unwrap_or(0))
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A value of the type, often one of its edges or a small one.
    pub(super) fn bits(&mut self, dtype: DType) -> u64 {
        if self.chance(25) {
            return self.small(dtype);
        }
        let edges =
            [0, 1, 2, u64::MAX, 1 << 63, 0x7ff0_0000_0000_0000, 1 << 31, 0x7f80_0001, 0x7c01];
        let bits = if self.chance(50) { self.pick(&edges) } else { self.next() };
        truncate(dtype, bits)
    }
}

fn number(dtype: DType, value: u8) -> u64 {
    match dtype {
        DType::F16 => u64::from(F16::from_f32(f32::from(value)).to_bits()),
        DType::F32 => u64::from(f32::from(value).to_bits()),
        DType::F64 => f64::from(value).to_bits(),
        DType::Mask => u64::from(value & 1),
        _ => u64::from(value),
    }
}

fn truncate(dtype: DType, bits: u64) -> u64 {
    bits & if dtype == DType::Mask { 1 } else { u64::MAX >> (64 - dtype.bits()) }
}

const INTEGERS: [DType; 8] =
    [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];

/// A kernel under construction: uniform instructions first, then [`Builder::lanes`], then the others.
pub(super) struct Builder {
    kernel: Kernel,
    /// They come last.
    writes: Vec<Inst>,
    uniform: bool,
    /// What random programs choose from.
    checks: &'static [Check],
    /// Values of regions that were left.
    hidden: HashSet<usize>,
    /// The lanes that run the region on the way.
    running: Option<Reg>,
}

impl Builder {
    fn new() -> Self {
        let kernel = Kernel {
            insts: Vec::new(),
            n_uniform: 0,
            first_write: 0,
            buffers: Vec::new(),
            literals: Vec::new(),
            accesses: Vec::new(),
            n_ops: 0,
            fast_math: false,
            variant: 0,
            hash: KernelHash(0x0123_4567_89ab_cdef_u128 << 64),
        };
        Self {
            kernel,
            writes: Vec::new(),
            uniform: true,
            checks: &CHECKS,
            hidden: HashSet::new(),
            running: None,
        }
    }

    fn lanes(&mut self) {
        self.uniform = false;
    }

    fn inst(&mut self, code: Code, dtype: DType, args: &[Reg]) -> Reg {
        let mut packed = [None; 3];
        for (slot, &arg) in packed.iter_mut().zip(args) {
            *slot = Some(arg);
        }
        let number = self.kernel.insts.len();
        let serial = 10 + number as u64;
        self.kernel.insts.push(Inst { code, dtype, args: packed, serial });
        if self.uniform {
            self.kernel.n_uniform += 1;
        }
        Reg(u32::try_from(number).expect("kernels of tests are short"))
    }

    fn op(&mut self, op: Op, dtype: DType, args: &[Reg]) -> Reg {
        self.inst(Code::Op(op), dtype, args)
    }

    fn literal(&mut self, dtype: DType, bits: u64) -> Reg {
        let literal = u32::try_from(self.kernel.literals.len()).expect("few literals");
        self.kernel.literals.push((dtype, truncate(dtype, bits)));
        self.inst(Code::Literal(literal), dtype, &[])
    }

    fn constant(&mut self, dtype: DType, bits: u64) -> Reg {
        self.inst(Code::Constant(truncate(dtype, bits)), dtype, &[])
    }

    fn buffer(&mut self, dtype: DType, written: bool, sized: bool) -> BufferIndex {
        let n_lengths = self.kernel.n_lengths();
        let length = sized.then(|| u32::try_from(n_lengths).expect("few buffers"));
        self.kernel.buffers.push(BufferParam { dtype, written, length, anywhere: false });
        BufferIndex(u32::try_from(self.kernel.buffers.len() - 1).expect("few buffers"))
    }

    fn load(&mut self, dtype: DType) -> Reg {
        let buffer = self.buffer(dtype, false, false);
        self.inst(Code::Load(buffer), dtype, &[])
    }

    fn access(&mut self, buffer: BufferIndex, index: Reg, checked: bool) -> Option<u32> {
        let index = self.kernel.dtype(index);
        let number = u32::try_from(self.kernel.accesses.len()).expect("few accesses");
        if checked {
            self.kernel.accesses.push(Access { index, line: 1, ..Access::of(buffer) });
        }
        checked.then_some(number)
    }

    fn gather(&mut self, dtype: DType, index: Reg, active: Option<Reg>, check: Check) -> Reg {
        let source = self.buffer(dtype, false, check != Check::None);
        let access = self.access(source, index, check == Check::Report);
        let args: Vec<Reg> = [index].into_iter().chain(active).collect();
        self.inst(Code::Gather { source, access }, dtype, &args)
    }

    fn store(&mut self, value: Reg) {
        let buffer = self.buffer(self.kernel.dtype(value), true, false);
        self.write(Code::Store(buffer), buffer, [Some(value), None, None]);
    }

    fn reduce(&mut self, op: ReduceOp, value: Reg) {
        let dtype = op.result(self.kernel.dtype(value)).expect("a type that is reduced");
        let buffer = self.buffer(dtype, true, false);
        self.write(Code::Reduce { op, buffer }, buffer, [Some(value), None, None]);
    }

    fn scatter(
        &mut self,
        op: ScatterOp,
        value: Reg,
        index: Reg,
        active: Option<Reg>,
        check: Check,
    ) {
        let target = self.buffer(self.kernel.dtype(value), true, check != Check::None);
        let access = self.access(target, index, check == Check::Report);
        let code = Code::Scatter { op, target, access, mode: ScatterMode::Exact };
        self.write(code, target, [Some(value), Some(index), active]);
    }

    fn write(&mut self, code: Code, buffer: BufferIndex, args: [Option<Reg>; 3]) {
        let dtype = self.kernel.buffers[buffer.index()].dtype;
        self.writes.push(Inst { code, dtype, args, serial: 0 });
    }

    fn finish(mut self) -> Kernel {
        self.kernel.n_ops = self.kernel.insts.len();
        self.kernel.first_write = self.kernel.insts.len();
        self.kernel.insts.append(&mut self.writes);
        self.kernel
    }
}

/// How the bounds of an access are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    None,
    Silent,
    Report,
}

const CHECKS: [Check; 3] = [Check::None, Check::Silent, Check::Report];

/// Operand and result types that a row allows.
fn signatures(row: &OpInfo) -> Vec<(DType, DType)> {
    let mut all = Vec::new();
    for operand in DType::ALL.into_iter().filter(|&dtype| row.class.contains(dtype)) {
        match row.shape {
            Shape::Same | Shape::Select => all.push((operand, operand)),
            Shape::Compare => all.push((operand, DType::Mask)),
            Shape::Special if row.op == Op::BitsAnyNan => {
                all.extend((!operand.is_narrow()).then(|| (operand, operand.unsigned())));
            }
            Shape::Special if row.op == Op::BoundedDiv => {
                all.extend((!operand.is_narrow()).then_some((operand, operand)));
            }
            Shape::Special => {
                let results = DType::ALL.into_iter().filter(|&result| {
                    result.is_number() && (row.op == Op::Cast || result.bytes() == operand.bytes())
                });
                all.extend(results.map(|result| (operand, result)));
            }
        }
    }
    all
}

fn argument_type(row: &OpInfo, position: usize, operand: DType) -> DType {
    if row.shape == Shape::Select && position == 0 { DType::Mask } else { operand }
}

/// An operation, of numbers only and between 1 and 16 where others have no certain result.
fn operation(b: &mut Builder, op: Op, result: DType, args: &[Reg]) -> Reg {
    if !matches!(op, Op::BitsAnyNan | Op::BoundedDiv) {
        return b.op(op, result, args);
    }
    let operand = b.kernel.dtype(args[0]);
    let [least, most] = [1.0, 16.0].map(|bound| {
        let bits = operand.encode(Scalar::Float(bound));
        b.constant(operand, bits.expect("a float holds it"))
    });
    let tame: Vec<Reg> = args
        .iter()
        .map(|&arg| {
            let at_least = b.op(Op::Max, operand, &[arg, least]);
            b.op(Op::Min, operand, &[at_least, most])
        })
        .collect();
    b.op(op, result, &tame)
}

/// Each operation at each type, of loaded lanes and of uniform values and numbers.
pub(super) fn operations() -> Vec<(String, Kernel)> {
    let mut kernels = Vec::new();
    for row in OPS {
        for uniform in [false, true] {
            let mut b = Builder::new();
            b.uniform = uniform;
            let mut results = Vec::new();
            for (operand, result) in signatures(row) {
                let mut args = Vec::new();
                for position in 0..row.arity {
                    let dtype = argument_type(row, position, operand);
                    args.push(match (uniform, position) {
                        (true, 1) => b.literal(dtype, u64::MAX),
                        (true, 2) => b.constant(dtype, 7),
                        _ => b.load(dtype),
                    });
                }
                results.push(operation(&mut b, row.op, result, &args));
            }
            b.lanes();
            for result in results {
                b.store(result);
            }
            let kind = if uniform { "uniform" } else { "lane" };
            kernels.push((format!("{}_{kind}", row.name), b.finish()));
        }
    }
    kernels
}

/// Gathers and scatters of each type by each index type, with and without mask and checks; and the
/// lane number.
pub(super) fn accesses() -> Vec<(String, Kernel)> {
    let mut kernels = Vec::new();
    for dtype in DType::ALL {
        for uniform in [false, true] {
            kernels.push((format!("gather_{dtype}_{uniform}"), gathers(dtype, uniform)));
        }
        for op in ScatterOp::ALL {
            if op.class().contains(dtype) {
                kernels.push((format!("{}_{dtype}", op.name()), scatters(op, dtype)));
            }
        }
    }
    kernels
}

fn gathers(dtype: DType, uniform: bool) -> Kernel {
    let mut b = Builder::new();
    b.uniform = uniform;
    let mask = b.load(DType::Mask);
    let mut values = Vec::new();
    for index in INTEGERS {
        let index = b.load(index);
        for active in [None, Some(mask)] {
            for check in CHECKS {
                values.push(b.gather(dtype, index, active, check));
            }
        }
    }
    b.lanes();
    for value in values {
        b.store(value);
    }
    b.finish()
}

fn scatters(op: ScatterOp, dtype: DType) -> Kernel {
    let mut b = Builder::new();
    b.lanes();
    let (mask, value) = (b.load(DType::Mask), b.load(dtype));
    for index in INTEGERS {
        for index in [b.load(index), b.inst(Code::Index, index, &[])] {
            for active in [None, Some(mask)] {
                for check in CHECKS {
                    b.scatter(op, value, index, active, check);
                }
            }
        }
    }
    b.finish()
}

/// Whether kernels reduce lanes of a type: sums and products take them in the type that they have.
fn is_reduced(op: ReduceOp, dtype: DType) -> bool {
    let adds = matches!(op, ReduceOp::Sum | ReduceOp::Prod);
    op.result(dtype).is_some() && (!adds || dtype.accumulated() == dtype)
}

/// Each reduction of each type alone, of uniform values, and all together beside other ends.
pub(super) fn reductions() -> Vec<(String, Kernel)> {
    let mut kernels = Vec::new();
    let mut all = Builder::new();
    let uniform = DType::ALL.map(|dtype| all.literal(dtype, 3));
    all.lanes();
    let lanes = DType::ALL.map(|dtype| all.load(dtype));
    let index = all.inst(Code::Index, DType::U32, &[]);
    for op in ReduceOp::ALL {
        for (i, dtype) in DType::ALL.into_iter().enumerate() {
            if !is_reduced(op, dtype) {
                continue;
            }
            let mut b = Builder::new();
            b.lanes();
            let value = b.load(dtype);
            b.reduce(op, value);
            kernels.push((format!("{}_{dtype}", op.name()), b.finish()));
            all.reduce(op, lanes[i]);
            all.store(lanes[i]);
            all.reduce(op, uniform[i]);
            all.scatter(ScatterOp::Set, lanes[i], index, Some(lanes[0]), Check::Report);
        }
    }
    kernels.push(("reductions".into(), all.finish()));
    kernels
}

/// A kernel whose parameter block is in memory.
pub(super) fn wide() -> Kernel {
    let mut b = Builder::new();
    let mut sum = b.literal(DType::U64, 1);
    b.lanes();
    for i in 0..300 {
        let literal = b.literal(DType::U64, i);
        let value = b.load(DType::U64);
        let product = b.op(Op::Mul, DType::U64, &[value, literal]);
        sum = b.op(Op::Add, DType::U64, &[sum, product]);
    }
    let mask = b.literal(DType::Mask, 1);
    let value = b.gather(DType::F32, sum, Some(mask), Check::Report);
    b.store(value);
    b.store(sum);
    b.finish()
}

/// A verified program of up to 50 instructions with up to 5 ends.
pub(super) fn random(r: &mut Random) -> Kernel {
    random_from(Builder::new(), r)
}

/// The same without unchecked accesses, which reach any address.
pub(super) fn random_bounded(r: &mut Random) -> Kernel {
    let mut b = Builder::new();
    b.checks = &CHECKS[1..];
    random_from(b, r)
}

fn random_from(mut b: Builder, r: &mut Random) -> Kernel {
    for _ in 0..r.below(12) {
        random_inst(&mut b, r);
    }
    b.lanes();
    for _ in 0..1 + r.below(38) {
        random_inst(&mut b, r);
    }
    let reducing = r.chance(40);
    for _ in 0..1 + r.below(5) {
        random_end(&mut b, r, reducing);
    }
    b.finish()
}

fn random_inst(b: &mut Builder, r: &mut Random) {
    match r.below(20) {
        0 => {
            let dtype = r.pick(&DType::ALL);
            let bits = r.bits(dtype);
            b.constant(dtype, bits);
        }
        1 if !b.uniform => {
            let dtype = r.pick(&INTEGERS);
            b.inst(Code::Index, dtype, &[]);
        }
        2 | 3 => {
            let (dtype, check) = (r.pick(&DType::ALL), r.pick(b.checks));
            let (index, active) = random_place(b, r);
            b.gather(dtype, index, active, check);
        }
        4 if !b.uniform && b.kernel.insts.len() < 60 => random_region(b, r),
        _ => random_op(b, r),
    }
}

/// A branch, or a loop of up to seven turns; perhaps with others inside.
fn random_region(b: &mut Builder, r: &mut Random) {
    let types: Vec<DType> = (0..1 + r.below(3)).map(|_| r.pick(&DType::ALL)).collect();
    let firsts: Vec<Reg> = types.iter().map(|&dtype| random_arg(b, r, dtype)).collect();
    let (zero, one) = (b.constant(DType::I32, 0), b.constant(DType::I32, 1));
    let lane = b.inst(Code::Index, DType::I32, &[]);
    let seven = b.constant(DType::I32, 7);
    let turns = b.op(Op::And, DType::I32, &[lane, seven]);
    let outer: Vec<Reg> = b.running.into_iter().collect();
    let start = b.inst(Code::RegionStart { repeat: r.chance(70) }, DType::Mask, &outer);
    let states: Vec<Reg> = types
        .iter()
        .zip(&firsts)
        .map(|(&dtype, &first)| b.inst(Code::Phi, dtype, &[first]))
        .collect();
    let counter = b.inst(Code::Phi, DType::I32, &[zero]);
    let mut goes_on = b.op(Op::Lt, DType::Mask, &[counter, turns]);
    if r.chance(50) {
        let also = random_arg(b, r, DType::Mask);
        goes_on = b.op(Op::And, DType::Mask, &[goes_on, also]);
    }
    let run = b.inst(Code::RunningMask, DType::Mask, &[start, goes_on]);
    let outer = b.running.replace(run);
    for _ in 0..r.below(10) {
        random_inst(b, r);
    }
    let mut nexts = Vec::new();
    for (&dtype, &state) in types.iter().zip(&states) {
        let next = random_arg(b, r, dtype);
        nexts.push(b.op(Op::Select, dtype, &[run, next, state]));
    }
    let more = b.op(Op::Add, DType::I32, &[counter, one]);
    nexts.push(b.op(Op::Select, DType::I32, &[run, more, counter]));
    for (&state, next) in states.iter().chain([&counter]).zip(nexts) {
        let dtype = b.kernel.dtype(state);
        b.inst(Code::BackEdge, dtype, &[state, next]);
    }
    b.inst(Code::RegionEnd, DType::Mask, &[run]);
    b.running = outer;
    let inside = start.index()..b.kernel.insts.len();
    let own: Vec<usize> = states.iter().chain([&counter]).map(|state| state.index()).collect();
    b.hidden.extend(inside.filter(|i| !own.contains(i)));
}

fn random_op(b: &mut Builder, r: &mut Random) {
    let row = &OPS[r.below(OPS.len())];
    let (operand, result) = {
        let all = signatures(row);
        r.pick(&all)
    };
    let mut args = Vec::new();
    for position in 0..row.arity {
        args.push(random_arg(b, r, argument_type(row, position, operand)));
    }
    operation(b, row.op, result, &args);
}

/// A value of the type: mostly one there already.
fn random_arg(b: &mut Builder, r: &mut Random, dtype: DType) -> Reg {
    let there: Vec<Reg> = (0..)
        .map(Reg)
        .zip(&b.kernel.insts)
        .filter(|(reg, inst)| {
            let hidden = b.hidden.contains(&reg.index());
            inst.dtype == dtype && inst.code.has_value() && !hidden
        })
        .map(|(reg, _)| reg)
        .collect();
    if !there.is_empty() && r.chance(80) {
        // Recent values make longer chains.
        let recent = there.len().saturating_sub(1 + r.below(6));
        return there[recent];
    }
    let bits = r.bits(dtype);
    if r.chance(50) { b.literal(dtype, bits) } else { b.load(dtype) }
}

fn random_place(b: &mut Builder, r: &mut Random) -> (Reg, Option<Reg>) {
    let dtype = r.pick(&INTEGERS);
    let index = random_arg(b, r, dtype);
    let active = r.chance(50).then(|| random_arg(b, r, DType::Mask));
    (index, active)
}

fn random_end(b: &mut Builder, r: &mut Random, reducing: bool) {
    if reducing && r.chance(70) {
        let op = r.pick(&ReduceOp::ALL);
        let types: Vec<DType> =
            DType::ALL.into_iter().filter(|&dtype| is_reduced(op, dtype)).collect();
        let dtype = r.pick(&types);
        let value = random_arg(b, r, dtype);
        return b.reduce(op, value);
    }
    let op = r.pick(&ScatterOp::ALL);
    let class = op.class();
    let types: Vec<DType> = DType::ALL.into_iter().filter(|&dtype| class.contains(dtype)).collect();
    let dtype = r.pick(&types);
    let value = random_arg(b, r, dtype);
    if r.chance(50) {
        let (index, active) = random_place(b, r);
        let check = r.pick(b.checks);
        b.scatter(op, value, index, active, check);
    } else {
        b.store(value);
    }
}

/// `out[i] = select(a[i] < 2, source[i % 10], float(a[i] + 2 * 2))`, for the listing.
pub(super) fn lane_example() -> Kernel {
    let mut b = Builder::new();
    let two = b.literal(DType::F64, 2f64.to_bits());
    let again = b.literal(DType::F64, 2f64.to_bits());
    let four = b.op(Op::Mul, DType::F64, &[two, again]);
    let ten = b.literal(DType::I32, 10);
    b.lanes();
    let a = b.load(DType::F64);
    let less = b.op(Op::Lt, DType::Mask, &[a, two]);
    let lane = b.inst(Code::Index, DType::I32, &[]);
    let index = b.op(Op::Rem, DType::I32, &[lane, ten]);
    let gathered = b.gather(DType::F32, index, Some(less), Check::Report);
    let sum = b.op(Op::Add, DType::F64, &[a, four]);
    let narrow = b.op(Op::Cast, DType::F32, &[sum]);
    let result = b.op(Op::Select, DType::F32, &[less, gathered, narrow]);
    b.store(result);
    b.store(less);
    b.finish()
}

/// `hsum(a * 3)` and `count(a > 0)`, for the listing.
pub(super) fn chunk_example() -> Kernel {
    let mut b = Builder::new();
    let three = b.literal(DType::F32, u64::from(3f32.to_bits()));
    let zero = b.constant(DType::F32, 0);
    b.lanes();
    let a = b.load(DType::F32);
    let product = b.op(Op::Mul, DType::F32, &[a, three]);
    let above = b.op(Op::Gt, DType::Mask, &[a, zero]);
    b.reduce(ReduceOp::Sum, product);
    b.reduce(ReduceOp::Count, above);
    b.finish()
}

//! Runs kernels lane by lane through `ir/scalar.rs`, and their PTX through [`Program`], over one
//! memory each, and compares the memories.
#![expect(clippy::cast_possible_truncation, reason = "narrow types live in the low bits")]

use porcini_core::backend::cuda::{
    CHUNK, FOLDED, LANES_PER_WARP, Sharing, Target, lower_entry, lower_fold, lower_private,
};
use porcini_core::dtype::DType;
use porcini_core::ir::kernel::{
    BufferIndex, Code, End, Inst, Kernel, LiteralMode, MAX_DIRECT_BYTES, NO_ERROR, ParamBlock, Reg,
    WORD_ABORT, WORD_ERRORS, WORD_LANE_BASE, WORD_SCRATCH,
};
use porcini_core::ir::op::{Op, ReduceOp};
use porcini_core::ir::scalar::{apply_bits, identity_bits, quiet_nan, widened_bits};

use super::machine::{Memory, Program};
use super::programs::Random;

/// Elements of a buffer that is accessed by index.
const ACCESSED: u64 = 7;

/// One launch: the parameter block and the memory it points into.
struct Launch<'k> {
    kernel: &'k Kernel,
    n: u64,
    base: u64,
    block: ParamBlock,
    memory: Memory,
    /// Address and element type of float arrays that the launch writes.
    floats: Vec<(u64, u64, DType)>,
    /// Start and end of what lies between arrays and the ends of their blocks.
    padding: Vec<(u64, u64)>,
}

/// Compares `lower_entry` with the meaning of the kernel, over `n` lanes from `base`.
pub(super) fn check(
    kernel: &Kernel,
    mode: LiteralMode,
    target: Target,
    n: u64,
    base: u64,
    random: &mut Random,
) {
    let launch = Launch::new(kernel, n, base, random);
    let text = lower_entry(kernel, mode, target, "entry");
    let mut computed = launch.memory.clone();
    let (params, blocks, block_size) = launch.arguments(&mut computed);
    if let Some(private) = lower_private(kernel, mode, target, "private") {
        // Order shows in sums of floats, as on a GPU.
        if !kernel.writes_in_order() {
            launch.compare(&private, computed.clone(), &params, 3, block_size);
        }
    }
    launch.compare(&text, computed, &params, blocks, block_size);
}

impl Launch<'_> {
    /// Runs an entry in so many blocks and compares the memory with the kernel's meaning.
    fn compare(
        &self,
        text: &str,
        mut computed: Memory,
        params: &[u8],
        blocks: u64,
        block_size: u64,
    ) {
        let (launch, kernel) = (self, self.kernel);
        let program = Program::parse(text, &[("params", 0)]);
        let mut expected = computed.clone();
        program.launch(params, &mut computed, (blocks, 1), block_size);
        Reference::run(launch, &mut expected);
        for memory in [&mut computed, &mut expected] {
            canonicalize(memory, &launch.floats);
            for &(start, end) in &launch.padding {
                (start..end).for_each(|byte| memory.write(byte, 1, 0));
            }
        }
        if let Some(byte) = (0..expected.0.len()).find(|&i| expected.0[i] != computed.0[i]) {
            let buffers: Vec<String> = (0..kernel.buffers.len())
                .map(|i| {
                    format!("{:#x}", launch.block.words()[kernel.address_word(buffer_index(i))])
                })
                .collect();
            let n = self.n;
            panic!("byte {byte:#x} differs, n {n}, buffers {buffers:?}\n{kernel}\n{text}");
        }
    }
}

/// NaNs have no promised bits in memory.
fn canonicalize(memory: &mut Memory, floats: &[(u64, u64, DType)]) {
    for &(address, count, dtype) in floats {
        for i in 0..count {
            let at = address + i * dtype.bytes() as u64;
            let bits = memory.read(at, dtype.bytes());
            let nan = match dtype {
                DType::F16 => bits & 0x7fff > 0x7c00,
                DType::F32 => f32::from_bits(bits as u32).is_nan(),
                _ => f64::from_bits(bits).is_nan(),
            };
            if nan {
                memory.write(at, dtype.bytes(), quiet_nan(dtype));
            }
        }
    }
}

fn buffer_index(i: usize) -> BufferIndex {
    BufferIndex(u32::try_from(i).expect("few buffers"))
}

impl<'k> Launch<'k> {
    fn new(kernel: &'k Kernel, n: u64, base: u64, random: &mut Random) -> Self {
        let mut memory = Memory(vec![0x55; 64]);
        let (mut buffers, mut floats, mut padding) = (Vec::new(), Vec::new(), Vec::new());
        for param in &kernel.buffers {
            let count = if param.length.is_some() { ACCESSED } else { base + n };
            let bytes = count * param.dtype.bytes() as u64;
            let address = allocate(&mut memory, bytes.next_multiple_of(64));
            padding.push((address + bytes, address + bytes.next_multiple_of(64)));
            for i in 0..count {
                let bits = random.bits(param.dtype);
                memory.write(address + i * param.dtype.bytes() as u64, param.dtype.bytes(), bits);
            }
            if param.written && param.dtype.is_float() {
                floats.push((address, count, param.dtype));
            }
            buffers.push((address, count));
        }
        let mut block = ParamBlock::new(kernel, n, &buffers);
        block.set(WORD_LANE_BASE, base);
        let errors = allocate(&mut memory, 16 * kernel.accesses.len() as u64);
        for i in 0..2 * kernel.accesses.len() as u64 {
            memory.write(errors + 8 * i, 8, NO_ERROR);
        }
        block.set(WORD_ERRORS, errors);
        let abort = allocate(&mut memory, 8);
        memory.write(abort, 8, 0);
        block.set(WORD_ABORT, abort);
        let (reductions, n_chunks) = (reductions(kernel), (base + n).div_ceil(CHUNK));
        let scratch = allocate(&mut memory, 8 * n_chunks * reductions.len() as u64);
        block.set(WORD_SCRATCH, scratch);
        for chunk in 0..n_chunks {
            for (r, &(_, dtype)) in (0..).zip(&reductions) {
                if dtype.is_float() {
                    let word = chunk * reductions.len() as u64 + r;
                    floats.push((scratch + 8 * word, 1, dtype));
                }
            }
        }
        Self { kernel, n, base, block, memory, floats, padding }
    }

    /// Parameters, blocks and block size, with threads and warps to spare.
    fn arguments(&self, memory: &mut Memory) -> (Vec<u8>, u64, u64) {
        let mut params: Vec<u8> =
            self.block.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        if params.len() > MAX_DIRECT_BYTES {
            let address = allocate(memory, params.len() as u64);
            for (i, word) in (0..).zip(self.block.words()) {
                memory.write(address + 8 * i, 8, *word);
            }
            params = address.to_le_bytes().to_vec();
        }
        let threads = match Sharing::of(self.kernel) {
            Sharing::Chunks(_) => self.n.div_ceil(CHUNK) * LANES_PER_WARP,
            Sharing::Lanes(lanes) => self.n.div_ceil(lanes.into()),
        };
        (params, threads.div_ceil(64) + 1, 64)
    }
}

fn allocate(memory: &mut Memory, bytes: u64) -> u64 {
    let address = memory.0.len().next_multiple_of(64);
    let end = address + usize::try_from(bytes).expect("a small array");
    // The gap shows writes beyond the end.
    memory.0.resize(end + 16, 0x55);
    address as u64
}

/// Operation and type of the partial results of the `Reduce` ends: narrow types in 32 bits.
fn reductions(kernel: &Kernel) -> Vec<(ReduceOp, DType)> {
    let ends = kernel.ends.iter().filter_map(|end| match *end {
        End::Reduce { op, value, .. } => Some((op, op.result(kernel.dtype(value))?.widened())),
        End::Store { .. } | End::Scatter { .. } => None,
    });
    ends.collect()
}

fn combine(op: ReduceOp, dtype: DType, a: u64, b: u64) -> u64 {
    apply_bits(op.combine(), dtype, dtype, [a, b, 0])
}

/// The kernel's meaning.
struct Reference<'l, 'k> {
    launch: &'l Launch<'k>,
    memory: &'l mut Memory,
    values: Vec<u64>,
    /// Of the current chunk, by `Reduce` end.
    accumulators: Vec<[u64; 32]>,
}

impl<'l, 'k> Reference<'l, 'k> {
    fn run(launch: &'l Launch<'k>, memory: &'l mut Memory) {
        let values = vec![0; launch.kernel.insts.len()];
        let mut this = Self { launch, memory, values, accumulators: Vec::new() };
        this.insts(0, launch.kernel.n_uniform, 0);
        for chunk in 0..launch.n.div_ceil(CHUNK) {
            this.chunk(chunk);
        }
    }

    fn chunk(&mut self, chunk: u64) {
        let (kernel, n) = (self.launch.kernel, self.launch.n);
        let reductions = reductions(kernel);
        let identity = |&(op, dtype): &(ReduceOp, DType)| [identity_bits(op, dtype); 32];
        self.accumulators = reductions.iter().map(identity).collect();
        let mut offsets: Vec<u64> = (chunk * CHUNK..n.min((chunk + 1) * CHUNK)).collect();
        if !reductions.is_empty() {
            // The model runs one thread after the other, which duplicate scatters show.
            offsets.sort_by_key(|offset| (offset % 32, *offset));
        }
        for offset in offsets {
            self.insts(kernel.n_uniform, kernel.insts.len(), offset);
            self.ends(offset);
        }
        let n_reductions = reductions.len() as u64;
        for (r, (op, dtype)) in (0..).zip(reductions) {
            let mut sums = self.accumulators[usize::try_from(r).expect("few ends")];
            for half in [16, 8, 4, 2, 1] {
                for i in 0..half {
                    sums[i] = combine(op, dtype, sums[i], sums[i + half]);
                }
            }
            let word = (self.launch.base / CHUNK + chunk) * n_reductions + r;
            let scratch = self.launch.block.words()[WORD_SCRATCH];
            self.memory.write(scratch + 8 * word, dtype.bytes(), sums[0]);
        }
    }

    fn insts(&mut self, start: usize, end: usize, offset: u64) {
        let kernel = self.launch.kernel;
        let regions = kernel.regions();
        let mut i = start;
        while i < end {
            let inst = &kernel.insts[i];
            let arg = |k: usize| inst.args[k].map(Reg::index);
            let value_of = |k: usize| arg(k).map_or(1, |arg| self.values[arg]);
            let mut next = i + 1;
            match inst.code {
                Code::Region { .. } | Code::State => self.values[i] = value_of(0),
                Code::Run => {
                    self.values[i] = value_of(0) & value_of(1);
                    if self.values[i] == 0 {
                        let own = regions.iter().find(|region| Some(region.0) == arg(0));
                        next = own.expect("a region").1 + 1;
                    }
                }
                Code::Next => self.values[arg(0).expect("a state")] = value_of(1),
                Code::Leave => {
                    let start = regions.iter().find(|region| region.1 == i).expect("a region").0;
                    if kernel.insts[start].code == (Code::Region { repeat: true }) {
                        let states = kernel.insts[start + 1..].iter();
                        next =
                            start + 1 + states.take_while(|inst| inst.code == Code::State).count();
                    }
                }
                _ => self.values[i] = self.inst(inst, i < kernel.n_uniform, offset),
            }
            i = next;
        }
    }

    fn inst(&mut self, inst: &Inst, uniform: bool, offset: u64) -> u64 {
        let kernel = self.launch.kernel;
        let lane = if uniform { 0 } else { self.launch.base + offset };
        match inst.code {
            Code::Literal(literal) => kernel.literals[literal as usize].1,
            Code::Constant(bits) => bits,
            Code::Index => lane & (u64::MAX >> (64 - inst.dtype.bits())),
            Code::Op(op) => {
                let operand = inst.args().last().expect("operations have arguments");
                let args = inst.args.map(|arg| arg.map_or(0, |arg| self.values[arg.index()]));
                apply_bits(op, inst.dtype, kernel.dtype(operand), args)
            }
            Code::Load(buffer) => self.memory.read(self.address(buffer, lane), inst.dtype.bytes()),
            Code::Gather { source, access } => {
                let index = inst.args[0].expect("gathers have an index");
                let place = self.place(source, index, inst.args[1], access, offset);
                place.map_or(0, |place| self.memory.read(place, inst.dtype.bytes()))
            }
            _ => unreachable!("random programs have no other instructions"),
        }
    }

    fn ends(&mut self, offset: u64) {
        let kernel = self.launch.kernel;
        let mut reductions = 0;
        for end in &kernel.ends {
            match *end {
                End::Store { value, buffer } => {
                    let address = self.address(buffer, self.launch.base + offset);
                    let bytes = kernel.dtype(value).bytes();
                    self.memory.write(address, bytes, self.values[value.index()]);
                }
                End::Reduce { op, value, .. } => {
                    let dtype = op.result(kernel.dtype(value)).expect("verified").widened();
                    let lane = widened_bits(kernel.dtype(value), self.values[value.index()]);
                    let slot = usize::try_from(offset % 32).expect("below 32");
                    let sum = &mut self.accumulators[reductions][slot];
                    *sum = combine(op, dtype, *sum, lane);
                    reductions += 1;
                }
                End::Scatter { op, value, index, active, target, access } => {
                    let place = self.place(target, index, active, access, offset);
                    let (dtype, value) = (kernel.dtype(value), self.values[value.index()]);
                    let Some(place) = place else { continue };
                    let old = self.memory.read(place, dtype.bytes());
                    let new = op
                        .combine()
                        .map_or(value, |op| apply_bits(op, dtype, dtype, [old, value, value]));
                    self.memory.write(place, dtype.bytes(), new);
                }
            }
        }
    }

    /// Address of an indexed element, if the lane is active and in bounds.
    fn place(
        &mut self,
        buffer: BufferIndex,
        index: Reg,
        active: Option<Reg>,
        access: Option<u32>,
        offset: u64,
    ) -> Option<u64> {
        if active.is_some_and(|active| self.values[active.index()] == 0) {
            return None;
        }
        let bits = self.values[index.index()];
        let index = match self.launch.kernel.dtype(index) {
            DType::I8 => i64::from(bits as u8 as i8) as u64,
            DType::I16 => i64::from(bits as u16 as i16) as u64,
            DType::I32 => i64::from(bits as u32 as i32) as u64,
            _ => bits,
        };
        if index < ACCESSED {
            return Some(self.address(buffer, index));
        }
        if let Some(access) = access {
            let word = self.launch.block.words()[WORD_ERRORS] + 16 * u64::from(access);
            for (word, half) in [(word, index & 0xffff_ffff), (word + 8, index >> 32)] {
                let old = self.memory.read(word, 8);
                self.memory.write(word, 8, old.min(offset << 32 | half));
            }
        }
        None
    }

    fn address(&self, buffer: BufferIndex, index: u64) -> u64 {
        let kernel = self.launch.kernel;
        let bytes = kernel.buffers[buffer.index()].dtype.bytes() as u64;
        self.launch.block.words()[kernel.address_word(buffer)] + index * bytes
    }
}

/// Compares the tree above chunks with pairs combined here, level by level.
pub(super) fn check_fold(kernel: &Kernel, count: u64, random: &mut Random) {
    let reductions = reductions(kernel);
    let n = reductions.len() as u64;
    let mut memory = Memory(Vec::new());
    let n_blocks = count.div_ceil(FOLDED.into());
    let [source, rest] = [count, n_blocks].map(|words| allocate(&mut memory, 8 * n * words));
    for (word, &(_, dtype)) in (0..n * count).zip(reductions.iter().cycle()) {
        memory.write(source + 8 * word, dtype.bytes(), random.bits(dtype));
    }
    let mut expected = memory.clone();
    let mut params = vec![count, source, rest];
    let mut floats = Vec::new();
    let stored: Vec<DType> = kernel
        .ends
        .iter()
        .filter_map(|end| match end {
            End::Reduce { buffer, .. } => Some(kernel.buffers[buffer.index()].dtype),
            _ => None,
        })
        .collect();
    for (r, (&(op, dtype), &stored)) in (0..).zip(reductions.iter().zip(&stored)) {
        let result = allocate(&mut memory, 8);
        allocate(&mut expected, 8);
        params.push(result);
        for block in 0..n_blocks {
            let words = block * u64::from(FOLDED)..count.min((block + 1) * u64::from(FOLDED));
            let read = |word: u64| expected.read(source + 8 * (word * n + r), dtype.bytes());
            let mut level: Vec<u64> = words.map(read).collect();
            while level.len() > 1 {
                let pair = |pair: &[u64]| match *pair {
                    [a, b] => combine(op, dtype, a, b),
                    _ => pair[0],
                };
                level = level.chunks(2).map(pair).collect();
            }
            let (at, to, value) = match n_blocks {
                1 if dtype == stored => (result, stored, level[0]),
                1 => (result, stored, apply_bits(Op::Cast, stored, dtype, [level[0], 0, 0])),
                _ => (rest + 8 * (block * n + r), dtype, level[0]),
            };
            expected.write(at, to.bytes(), value);
            if to.is_float() {
                floats.push((at, 1, to));
            }
        }
    }
    let params: Vec<u8> = params.iter().flat_map(|word| word.to_le_bytes()).collect();
    let text = lower_fold(kernel, "entry");
    let program = Program::parse(&text, &[("params", 0)]);
    program.launch(&params, &mut memory, (n_blocks, n), FOLDED.into());
    for memory in [&mut memory, &mut expected] {
        canonicalize(memory, &floats);
    }
    assert!(memory == expected, "{count} words\n{kernel}\n{text}");
}

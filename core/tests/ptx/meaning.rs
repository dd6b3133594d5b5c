//! Runs kernels lane by lane through `ir/scalar.rs`, and their PTX through [`Program`], over one
//! memory each, and compares the memories.
#![expect(clippy::cast_possible_truncation, reason = "narrow types live in the low bits")]

use porcini_core::backend::cuda::{
    CHUNK, FOLDED, LANES_PER_WARP, Sharing, Target, fold_of, lower_entry, lower_fold,
    lower_private, tree_size,
};
use porcini_core::dtype::DType;
use porcini_core::ir::kernel::{
    BufferIndex, Code, Inst, Kernel, LiteralMode, MAX_DIRECT_BYTES, NO_ERROR, ParamBlock, Reg,
    WORD_ABORT, WORD_CHUNKS, WORD_ERRORS, WORD_LANE_BASE, WORD_SCRATCH,
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
    /// Start and end of what lies between arrays and the ends of their blocks, and of scratch words.
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
    let fold = lower_fold(&fold_of(kernel), target, "fold");
    let mut computed = launch.memory.clone();
    let params = [&launch.block, &launch.fold_block()].map(|block| passed(block, &mut computed));
    let (blocks, block_size) = launch.grid();
    if let Some(private) = lower_private(kernel, mode, target, "private") {
        // Order shows in sums of floats, as on a GPU.
        if !kernel.writes_in_order() {
            launch.compare([&private, &fold], computed.clone(), &params, 3, block_size);
        }
    }
    launch.compare([&text, &fold], computed, &params, blocks, block_size);
}

impl Launch<'_> {
    /// Runs an entry in so many blocks and compares the memory with the kernel's meaning.
    fn compare(
        &self,
        [text, fold]: [&str; 2],
        mut computed: Memory,
        [params, fold_params]: &[Vec<u8>; 2],
        blocks: u64,
        block_size: u64,
    ) {
        let (launch, kernel) = (self, self.kernel);
        let program = Program::parse(text, &[("params", 0)]);
        let mut expected = computed.clone();
        // Any block may come last; scatters that meet show the order.
        let mut order: Vec<u64> = (0..blocks).collect();
        if !reductions(kernel).is_empty() && !kernel.has_scatter() {
            order.reverse();
        }
        program.launch(params, &mut computed, &order, block_size);
        let n_chunks = launch.block.words()[WORD_CHUNKS];
        if !reductions(kernel).is_empty() && n_chunks > 1 {
            let fold = Program::parse(fold, &[("params", 0)]);
            // One warp to spare.
            let order: Vec<u64> = (0..=n_chunks.div_ceil(FOLDED)).rev().collect();
            fold.launch(fold_params, &mut computed, &order, LANES_PER_WARP);
        }
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
        let results: Vec<usize> = result_buffers(kernel).map(BufferIndex::index).collect();
        for param in &kernel.buffers {
            let is_result = results.contains(&buffers.len());
            // Far from lane 0, what lies before the base is not there.
            let before = if base > CHUNK { base } else { 0 };
            let (before, count) = match param.length {
                Some(_) => (0, ACCESSED),
                None if is_result => (0, 1),
                None => (before, base + n - before),
            };
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
            let before = before * param.dtype.bytes() as u64;
            buffers.push((address.wrapping_sub(before), count));
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
        let (n_words, n_counters) = tree_size(n_chunks, reductions.len() as u64);
        let start = allocate(&mut memory, 4 * n_counters + 8 * n_words);
        (0..n_counters).for_each(|i| memory.write(start + 4 * i, 4, 0));
        let words = start + 4 * n_counters;
        // The chunks before the base have been there.
        let of_chunks = (0..n_chunks * reductions.len() as u64).zip(reductions.iter().cycle());
        for (i, &(_, dtype)) in of_chunks {
            memory.write(words + 8 * i, dtype.bytes(), random.bits(dtype));
        }
        padding.push((words, words + 8 * n_words));
        block.set(WORD_SCRATCH, words);
        block.set(WORD_CHUNKS, n_chunks);
        Self { kernel, n, base, block, memory, floats, padding }
    }

    /// What the fold is launched with.
    fn fold_block(&self) -> ParamBlock {
        let words = self.block.words();
        let results: Vec<(u64, u64)> = result_buffers(self.kernel)
            .map(|buffer| (words[self.kernel.address_word(buffer)], 1))
            .collect();
        let mut block = ParamBlock::new(&fold_of(self.kernel), self.n, &results);
        for word in [WORD_SCRATCH, WORD_CHUNKS] {
            block.set(word, words[word]);
        }
        block
    }

    /// Blocks and block size, with threads and warps to spare.
    fn grid(&self) -> (u64, u64) {
        (Sharing::of(self.kernel).threads(self.n).div_ceil(64) + 1, 64)
    }
}

/// The parameters that pass a block.
fn passed(block: &ParamBlock, memory: &mut Memory) -> Vec<u8> {
    let bytes: Vec<u8> = block.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    if bytes.len() <= MAX_DIRECT_BYTES {
        return bytes;
    }
    let address = allocate(memory, bytes.len() as u64);
    for (i, word) in (0..).zip(block.words()) {
        memory.write(address + 8 * i, 8, *word);
    }
    address.to_le_bytes().to_vec()
}

fn allocate(memory: &mut Memory, bytes: u64) -> u64 {
    let address = memory.0.len().next_multiple_of(64);
    let end = address + usize::try_from(bytes).expect("a small array");
    // The gap shows writes beyond the end.
    memory.0.resize(end + 16, 0x55);
    address as u64
}

/// Where the results of the reductions go.
fn result_buffers(kernel: &Kernel) -> impl Iterator<Item = BufferIndex> + '_ {
    kernel.reductions().map(|reduction| reduction.buffer)
}

/// Operation and type of the partial results of the reductions: narrow types in 32 bits.
fn reductions(kernel: &Kernel) -> Vec<(ReduceOp, DType)> {
    kernel.reductions().map(|reduction| (reduction.op, reduction.dtype.widened())).collect()
}

fn combine(op: ReduceOp, dtype: DType, a: u64, b: u64) -> u64 {
    apply_bits(op.combine(), dtype, dtype, [a, b, 0])
}

/// The kernel's meaning.
struct Reference<'l, 'k> {
    launch: &'l Launch<'k>,
    memory: &'l mut Memory,
    values: Vec<u64>,
    /// Of the current chunk, by reduction.
    accumulators: Vec<[u64; 32]>,
}

impl<'l, 'k> Reference<'l, 'k> {
    fn run(launch: &'l Launch<'k>, memory: &'l mut Memory) {
        let values = vec![0; launch.kernel.insts.len()];
        let mut this = Self { launch, memory, values, accumulators: Vec::new() };
        this.insts(0, launch.kernel.n_uniform, 0);
        let sums: Vec<Vec<u64>> =
            (0..launch.n.div_ceil(CHUNK)).map(|chunk| this.chunk(chunk)).collect();
        this.tree(&sums);
    }

    /// The tree above the chunks, neighbours first, an odd last one as it is. What chunks before the base have left
    /// is there.
    fn tree(&mut self, sums: &[Vec<u64>]) {
        let kernel = self.launch.kernel;
        let n = reductions(kernel).len() as u64;
        let words = self.launch.block.words()[WORD_SCRATCH];
        for (r, (&(op, dtype), buffer)) in
            reductions(kernel).iter().zip(result_buffers(kernel)).enumerate()
        {
            let word = |i| words + 8 * (n * i + r as u64);
            let before = 0..self.launch.base / CHUNK;
            let mut level: Vec<u64> =
                before.map(|i| self.memory.read(word(i), dtype.bytes())).collect();
            level.extend(sums.iter().map(|sums| sums[r]));
            while level.len() > 1 {
                let pair = |pair: &[u64]| match *pair {
                    [a, b] => combine(op, dtype, a, b),
                    _ => pair[0],
                };
                level = level.chunks(2).map(pair).collect();
            }
            let stored = kernel.buffers[buffer.index()].dtype;
            let result = match stored == dtype {
                true => level[0],
                false => apply_bits(Op::Cast, stored, dtype, [level[0], 0, 0]),
            };
            self.memory.write(
                self.launch.block.words()[kernel.address_word(buffer)],
                stored.bytes(),
                result,
            );
        }
    }

    /// The result of each reduction of a chunk.
    fn chunk(&mut self, chunk: u64) -> Vec<u64> {
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
            self.insts(kernel.n_uniform, kernel.first_write, offset);
            self.writes(offset);
        }
        let results = reductions.iter().zip(&mut self.accumulators);
        results
            .map(|(&(op, dtype), sums)| {
                for half in [16, 8, 4, 2, 1] {
                    for i in 0..half {
                        sums[i] = combine(op, dtype, sums[i], sums[i + half]);
                    }
                }
                sums[0]
            })
            .collect()
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
                Code::RegionStart { .. } | Code::Phi => self.values[i] = value_of(0),
                Code::RunningMask => {
                    self.values[i] = value_of(0) & value_of(1);
                    if self.values[i] == 0 {
                        let own = regions.iter().find(|region| Some(region.0) == arg(0));
                        next = own.expect("a region").1 + 1;
                    }
                }
                Code::BackEdge => self.values[arg(0).expect("a state")] = value_of(1),
                Code::RegionEnd => {
                    let start = regions.iter().find(|region| region.1 == i).expect("a region").0;
                    if kernel.insts[start].code == (Code::RegionStart { repeat: true }) {
                        let states = kernel.insts[start + 1..].iter();
                        next = start + 1 + states.take_while(|inst| inst.code == Code::Phi).count();
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

    fn writes(&mut self, offset: u64) {
        let kernel = self.launch.kernel;
        let mut reductions = 0;
        for (_, inst) in kernel.writes() {
            let value = inst.arg(0);
            match inst.code {
                Code::Store(buffer) => {
                    let address = self.address(buffer, self.launch.base + offset);
                    let bytes = kernel.dtype(value).bytes();
                    self.memory.write(address, bytes, self.values[value.index()]);
                }
                Code::Reduce { op, .. } => {
                    let dtype = op.result(kernel.dtype(value)).expect("verified").widened();
                    let lane = widened_bits(kernel.dtype(value), self.values[value.index()]);
                    let slot = usize::try_from(offset % 32).expect("below 32");
                    let sum = &mut self.accumulators[reductions][slot];
                    *sum = combine(op, dtype, *sum, lane);
                    reductions += 1;
                }
                Code::Scatter { op, target, access, .. } => {
                    let place = self.place(target, inst.arg(1), inst.args[2], access, offset);
                    let (dtype, value) = (kernel.dtype(value), self.values[value.index()]);
                    let Some(place) = place else { continue };
                    let old = self.memory.read(place, dtype.bytes());
                    let new = op
                        .combine()
                        .map_or(value, |op| apply_bits(op, dtype, dtype, [old, value, value]));
                    self.memory.write(place, dtype.bytes(), new);
                }
                _ => unreachable!("a value among the writes"),
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
        self.launch.block.words()[kernel.address_word(buffer)].wrapping_add(index * bytes)
    }
}

//! A fused program, neutral to the backend: what every `lower` receives.
//!
//! A kernel runs once per lane `0..n`. Its instructions are one list in single-assignment form, in three parts:
//!
//! * *uniform* ones (size-1 and literal-only parts), the same in every lane, are lowered before the loop;
//! * those of every lane, where loops and branches are, with the scatters inside of them;
//! * *writes*: stores, reductions and scatters of what was computed. Each has a buffer for itself that nothing reads,
//!   so their order shows in nothing, and a backend may write a value as soon as it is there.
//!
//! # Parameter block
//!
//! One block of u64 words, the same for every backend:
//!
//! | word | content |
//! |---|---|
//! | 0 | `n`, the number of lanes of this launch |
//! | 1 | lane base: the lane number of lane 0 (launches of more than 2³¹ lanes are split) |
//! | 2 | address of the error buffer, see [`Access`] |
//! | 3 | address of the abort word, nonzero when the launch should stop |
//! | 4 | address of scratch words, with the counters of a tree before it |
//! | 5 | number of chunks (S11) of the whole launch, split or not |
//! | 6 .. 6+b | addresses of the b buffers |
//! | .. | lengths in elements of the buffers that need one, in buffer order |
//! | .. | bit patterns of the literals, in order; narrow ones widened to 32 bits |
//!
//! Blocks above [`MAX_DIRECT_BYTES`] live in memory, and the kernel receives their address.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::dtype::DType;
use crate::ir::op::{Op, ReduceOp, ScatterMode, ScatterOp};
use crate::ir::scalar::widened_bits;
use crate::ir::sections::Section;
use crate::memory::buffer::Buffer;

/// Words before the buffer addresses.
pub const HEADER_WORDS: usize = 6;
/// Word of the lane count.
pub const WORD_SIZE: usize = 0;
/// Word of the lane base.
pub const WORD_LANE_BASE: usize = 1;
/// Word of the error buffer's address.
pub const WORD_ERRORS: usize = 2;
/// Word of the abort word's address.
pub const WORD_ABORT: usize = 3;
/// Word of the scratch memory's address.
pub const WORD_SCRATCH: usize = 4;
/// Word of the number of chunks.
pub const WORD_CHUNKS: usize = 5;
/// Largest parameter block that is passed by value.
pub const MAX_DIRECT_BYTES: usize = 4000;
/// Value of an error word while no lane failed.
pub const NO_ERROR: u64 = u64::MAX;

/// The number of an instruction, and so of the value it computes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Reg(pub u32);

impl Reg {
    /// The instruction's index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// The number of a buffer parameter.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct BufferIndex(pub u32);

impl BufferIndex {
    /// Position among the buffers.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Word of its address in the parameter block.
    pub const fn word(self) -> usize {
        HEADER_WORDS + self.index()
    }
}

impl fmt::Display for BufferIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// The opcode of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Code {
    /// The literal with this number; a bit pattern or a parameter, see [`LiteralMode`].
    Literal(u32),
    /// A bit pattern.
    Constant(u64),
    /// The lane number, wrapped to the type.
    Index,
    /// An elementwise operation on the arguments.
    Op(Op),
    /// This lane of a buffer; element 0 if the instruction is uniform.
    Load(BufferIndex),
    /// Arguments index and perhaps active: the indexed element, 0 where inactive or out of bounds.
    Gather {
        /// The buffer read.
        source: BufferIndex,
        /// The access number if indices are checked.
        access: Option<u32>,
    },
    /// The start of a region: its active mask, the lanes that evaluate its condition. Those of the argument, or
    /// all; of a loop, from the second iteration on those that ran its body.
    RegionStart {
        /// Whether the end leads back here: a loop, not a branch.
        repeat: bool,
    },
    /// A phi, directly behind the region's start: a value that the region changes. The argument is its first value.
    Phi,
    /// Arguments the active mask and a condition: the running mask, the conjunction of both. If it has no
    /// lane, the region ends.
    RunningMask,
    /// Arguments a phi and its back-edge value, before the region's end. No back-edge value is a phi of the
    /// region.
    BackEdge,
    /// The end of a region; the argument is its [`Code::RunningMask`].
    RegionEnd,
    /// The argument is written to this lane of a buffer.
    Store(BufferIndex),
    /// The argument is combined with that of all other lanes into element 0 of a buffer, by the tree of S11.
    Reduce {
        /// How.
        op: ReduceOp,
        /// The buffer written.
        buffer: BufferIndex,
    },
    /// Arguments value, index and perhaps active: written to the indexed element of a buffer.
    Scatter {
        /// How.
        op: ScatterOp,
        /// The buffer written.
        target: BufferIndex,
        /// The access number if indices are checked.
        access: Option<u32>,
        /// In which order lanes write.
        mode: ScatterMode,
    },
}

impl Code {
    /// Whether the instruction has a value.
    pub const fn has_value(self) -> bool {
        !self.writes() && !matches!(self, Self::BackEdge | Self::RegionEnd)
    }

    /// Whether the instruction writes a buffer.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Store(_) | Self::Reduce { .. } | Self::Scatter { .. })
    }

    /// The buffer that the instruction reads or writes.
    pub fn buffer_mut(&mut self) -> Option<&mut BufferIndex> {
        match self {
            Self::Load(buffer) | Self::Store(buffer) | Self::Reduce { buffer, .. } => Some(buffer),
            Self::Gather { source: buffer, .. } | Self::Scatter { target: buffer, .. } => {
                Some(buffer)
            }
            Self::Literal(_) | Self::Constant(_) | Self::Index | Self::Op(_) => None,
            Self::RegionStart { .. } | Self::Phi | Self::RunningMask => None,
            Self::BackEdge | Self::RegionEnd => None,
        }
    }

    /// The checked access that it is, as a place in [`Kernel::accesses`].
    pub fn access(&self) -> Option<u32> {
        let (Self::Gather { access, .. } | Self::Scatter { access, .. }) = self else {
            return None;
        };
        *access
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Inst {
    /// The opcode.
    pub code: Code,
    /// Type of its value, or of the elements that it writes.
    pub dtype: DType,
    /// Arguments, packed to the front; unused ones are `None`.
    pub args: [Option<Reg>; 3],
    /// Serial of the variable it computes or writes, for listings.
    pub serial: u64,
}

impl Inst {
    /// The argument at a position.
    ///
    /// # Panics
    /// If there is none.
    pub fn arg(&self, position: usize) -> Reg {
        self.args[position].expect("internal error: an instruction without its argument")
    }

    /// The arguments in order.
    pub fn args(&self) -> impl Iterator<Item = Reg> + '_ {
        self.args.iter().map_while(|arg| *arg)
    }

    /// Whether the value may be that of the argument: code that changes no bits may read the same lane.
    pub fn may_be_its_argument(&self) -> bool {
        use Op::{Abs, BitsAnyNan, Cast, Reinterpret};
        matches!(self.code, Code::Op(Cast | BitsAnyNan | Reinterpret | Abs))
    }
}

/// What code depends on, without the serial.
impl Hash for Inst {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [first, second, third] = self.args.map(|arg| arg.map_or(0, |reg| u64::from(reg.0) + 1));
        self.code.hash(state);
        state.write_u64(self.dtype as u64 | first << 8);
        state.write_u64(second | third << 32);
    }
}

/// A reduction of all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// How lanes are combined.
    pub op: ReduceOp,
    /// Type of the accumulators.
    pub dtype: DType,
    /// Type of the result in memory.
    pub stored: DType,
    /// The buffer of the result.
    pub buffer: BufferIndex,
    /// Number among the writes.
    pub number: u32,
}

/// A buffer parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct BufferParam {
    /// Type of its elements.
    pub dtype: DType,
    /// Whether the kernel writes it.
    pub written: bool,
    /// Position of its length among the lengths, if the kernel needs it.
    pub length: Option<u32>,
    /// Whether its first lane may be any element of an array, aligned as elements are and no more.
    pub anywhere: bool,
}

/// A checked gather or scatter: where its bounds error would be reported.
///
/// Where a device cannot say so otherwise, two words of the error buffer start as [`NO_ERROR`] and take the
/// minima of `lane << 32 | half of the index` over all lanes that are out of bounds, first the low and then
/// the high half; the lane is counted from the lane base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Access {
    /// The function that it is a part of: `gather`, or the scatter's name. Code does not depend on it.
    #[serde(skip)]
    pub op: &'static str,
    /// The axis of a tensor along which entries are looked for.
    pub axis: Option<u8>,
    /// The buffer accessed.
    pub buffer: BufferIndex,
    /// Type of the index.
    pub index: DType,
    /// Script line, 0 if none.
    pub line: u32,
}

impl Access {
    /// An access of a buffer by `gather`, from no line.
    pub fn of(buffer: BufferIndex) -> Self {
        Self { op: "gather", axis: None, buffer, index: DType::U32, line: 0 }
    }
}

/// Whether the literals are part of the code or parameters (S3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum LiteralMode {
    /// Compiled in.
    Embedded,
    /// Read from the parameter block.
    Parameter,
}

/// 128 bits that identify a kernel's structure: everything except literal values and sizes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct KernelHash(pub u128);

impl fmt::Display for KernelHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The target that kernels are built for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Identifies the device in kernel hashes.
    pub device: u64,
    /// Whether writes come in lane order even where the device has a faster way.
    pub lane_order: bool,
    /// Whether f32 may be approximate and without subnormals where the device is faster then.
    pub fast_math: bool,
    /// Whether alike components of an evaluation are one launch.
    pub batch: bool,
    /// The [`Kernel::variant`] for a number of lanes of each of some members.
    pub variant: fn(&Kernel, u64, usize) -> u64,
    /// Whether lanes, so many of so many operations each, are computed in a launch before the one that reduces them.
    pub apart: fn(u64, u32) -> bool,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            device: 0,
            lane_order: false,
            fast_math: false,
            batch: true,
            variant: |_, _, _| 0,
            apart: |_, _| false,
        }
    }
}

/// A fused program.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Kernel {
    /// Instructions; arguments precede their users.
    pub insts: Vec<Inst>,
    /// Number of uniform instructions, which come first.
    pub n_uniform: usize,
    /// Position of the first write of what was computed; these come last.
    pub first_write: usize,
    /// Buffers, by [`BufferIndex`].
    pub buffers: Vec<BufferParam>,
    /// Type and bit pattern of each literal.
    pub literals: Vec<(DType, u64)>,
    /// Checked accesses, in recording order.
    pub accesses: Vec<Access>,
    /// Variables computed: what logs call `ops`.
    pub n_ops: usize,
    /// Whether f32 may be approximate and without subnormals where the device is faster then.
    pub fast_math: bool,
    /// Which of the device's kinds of code this is for; only the device knows what it means.
    pub variant: u64,
    /// Identity of the structure.
    pub hash: KernelHash,
}

/// Everything that code depends on, except literal values: those, sizes, serials and lines are left out.
impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.n_uniform, self.first_write, &self.insts, &self.buffers).hash(state);
        (self.fast_math, self.variant).hash(state);
    }
}

impl Kernel {
    /// Bytes that it takes.
    pub fn held_bytes(&self) -> usize {
        let lists = size_of_val(&*self.insts) + size_of_val(&*self.buffers);
        size_of::<Self>() + lists + size_of_val(&*self.literals) + size_of_val(&*self.accesses)
    }

    /// The instruction that computes `reg`.
    pub fn inst(&self, reg: Reg) -> &Inst {
        &self.insts[reg.index()]
    }

    /// Type of the value in `reg`.
    pub fn dtype(&self, reg: Reg) -> DType {
        self.inst(reg).dtype
    }

    /// Whether `reg` is the same in every lane.
    pub fn is_uniform(&self, reg: Reg) -> bool {
        reg.index() < self.n_uniform
    }

    /// The section of the instruction at a position.
    pub(crate) fn section(&self, position: usize) -> Section {
        match position {
            i if i < self.n_uniform => Section::Uniform,
            i if i < self.first_write => Section::Lanes,
            _ => Section::Writes,
        }
    }

    /// The instructions that run in every lane, in the order of the list, without the writes behind them.
    pub fn lane_insts(&self) -> &[Inst] {
        &self.insts[self.n_uniform..self.first_write]
    }

    /// The writes of what was computed, with their positions.
    pub fn writes(&self) -> impl Iterator<Item = (usize, &Inst)> {
        self.insts.iter().enumerate().skip(self.first_write)
    }

    /// The reductions, in order.
    ///
    /// # Panics
    /// If one is of a type that is not reduced.
    pub fn reductions(&self) -> impl Iterator<Item = Reduction> + '_ {
        (0..).zip(self.writes()).filter_map(|(number, (_, inst))| {
            let Code::Reduce { op, buffer } = inst.code else { return None };
            let dtype = op.result(self.dtype(inst.arg(0)));
            let dtype = dtype.expect("internal error: a type not reduced");
            Some(Reduction { op, dtype, stored: inst.dtype, buffer, number })
        })
    }

    /// Word of a buffer's address in the parameter block.
    pub fn address_word(&self, buffer: BufferIndex) -> usize {
        buffer.word()
    }

    /// Word of a buffer's length in the parameter block, if it has one.
    pub fn length_word(&self, buffer: BufferIndex) -> Option<usize> {
        let position = self.buffers[buffer.index()].length?;
        Some(HEADER_WORDS + self.buffers.len() + position as usize)
    }

    /// Number of lengths in the parameter block.
    pub fn n_lengths(&self) -> usize {
        self.buffers.iter().filter(|buffer| buffer.length.is_some()).count()
    }

    /// Word of a literal in the parameter block.
    pub fn literal_word(&self, literal: usize) -> usize {
        HEADER_WORDS + self.buffers.len() + self.n_lengths() + literal
    }

    /// Words in the parameter block.
    pub fn n_words(&self) -> usize {
        self.literal_word(self.literals.len())
    }

    /// Buffers read.
    pub fn n_inputs(&self) -> usize {
        self.buffers.iter().filter(|buffer| !buffer.written).count()
    }

    /// Whether anything is scattered.
    pub fn has_scatter(&self) -> bool {
        self.insts.iter().any(|inst| matches!(inst.code, Code::Scatter { .. }))
    }

    /// Whether lanes may write to one place, which they do in order.
    pub fn lanes_meet(&self) -> bool {
        let meets = |inst: &Inst| matches!(inst.code, Code::Scatter { mode, .. } if mode != ScatterMode::Apart);
        self.insts.iter().any(meets)
    }

    /// Whether there are regions.
    pub fn has_regions(&self) -> bool {
        self.insts.iter().any(|inst| matches!(inst.code, Code::RegionStart { .. }))
    }

    /// Start and end of each region as positions of their instructions, inner ones before the outer.
    pub fn regions(&self) -> Vec<(usize, usize)> {
        let (mut open, mut regions) = (Vec::new(), Vec::new());
        for (i, inst) in self.insts.iter().enumerate() {
            if matches!(inst.code, Code::RegionStart { .. }) {
                open.push(i);
            } else if matches!(inst.code, Code::RegionEnd) {
                regions.extend(open.pop().map(|start| (start, i)));
            }
        }
        regions
    }

    /// Whether lanes must write one after the other: an order was asked for, and the operation does not commute.
    pub fn writes_in_order(&self) -> bool {
        self.insts.iter().any(|inst| matches!(inst.code, Code::Scatter { op, mode: ScatterMode::Exact, .. } if !op.commutes(inst.dtype)))
    }

    /// The outermost regions, by their starts, whose writes must come lane by lane: elsewhere the lanes of a
    /// packet run together, and how many they are must not show.
    pub fn serial_regions(&self) -> Vec<usize> {
        let (mut starts, mut serial) = (Vec::new(), Vec::new());
        // Operations that commute with themselves do not with others.
        let mut writes: HashMap<BufferIndex, ScatterOp> = HashMap::new();
        for (i, inst) in self.insts[..self.first_write].iter().enumerate() {
            if matches!(inst.code, Code::RegionStart { .. }) {
                starts.push(i);
            } else if matches!(inst.code, Code::RegionEnd) {
                starts.pop();
            } else if let Code::Scatter { op, target, mode, .. } = inst.code
                && mode != ScatterMode::Apart
            {
                let first = *writes.entry(target).or_insert(op);
                if first != op || !op.commutes(inst.dtype) {
                    serial.extend(starts.first());
                }
            }
        }
        serial.dedup();
        serial
    }

    /// For each instruction, the last one that uses its value. What a region uses of outside, it uses to its end.
    pub fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![0; self.insts.len()];
        for (i, inst) in self.insts.iter().enumerate() {
            inst.args().for_each(|arg| last[arg.index()] = i);
        }
        for (start, end) in self.regions() {
            last[start] = last[start].max(end);
            for inst in &self.insts[start + 1..=end] {
                for arg in inst.args() {
                    let outside = arg.index() < start
                        || matches!(self.inst(arg).code, Code::Phi | Code::RegionStart { .. });
                    if outside {
                        last[arg.index()] = last[arg.index()].max(end);
                    }
                }
            }
        }
        last
    }
}

/// The parameter block of one launch; the layout is described at the top of this file.
#[derive(Clone, Debug)]
pub struct ParamBlock {
    words: Vec<u64>,
    /// Whether the session waits for each launch.
    pub at_once: bool,
    /// Memory of others that it reads, which must live until it has run.
    pub held: Vec<Arc<Buffer>>,
    /// Whether an output has the address of an input. Such a launch is not interrupted: see
    /// [`Executable::writes_in_place`](crate::backend::Executable::writes_in_place).
    pub in_place: bool,
}

impl ParamBlock {
    /// The block for `kernel` over `n` lanes; `buffers` gives each buffer's address and length in
    /// elements. Error, abort, scratch and chunk words are the backend's to set.
    pub fn new(kernel: &Kernel, n: u64, buffers: &[(u64, u64)]) -> Self {
        Self::with(kernel, n, buffers, kernel.literals.iter().map(|&(_, bits)| bits))
    }

    /// The same with other literals.
    pub fn with(
        kernel: &Kernel,
        n: u64,
        buffers: &[(u64, u64)],
        literals: impl Iterator<Item = u64>,
    ) -> Self {
        let mut words = Vec::with_capacity(kernel.n_words());
        words.extend([0; HEADER_WORDS]);
        words[WORD_SIZE] = n;
        words.extend(buffers.iter().map(|&(address, _)| address));
        // In the order of their buffers.
        let lengths =
            buffers.iter().zip(&kernel.buffers).filter(|(_, buffer)| buffer.length.is_some());
        words.extend(lengths.map(|(&(_, length), _)| length));
        let literals = kernel.literals.iter().zip(literals);
        words.extend(literals.map(|(&(dtype, _), bits)| widened_bits(dtype, bits)));
        Self { words, at_once: false, held: Vec::new(), in_place: false }
    }

    /// The block with these words.
    pub(crate) fn of_words(words: Vec<u64>) -> Self {
        Self { words, at_once: true, held: Vec::new(), in_place: false }
    }

    /// The block for the same kernel with `more` buffers behind its `n_buffers`, without their addresses.
    pub(crate) fn with_buffers(mut self, n_buffers: usize, more: usize) -> Self {
        let end = HEADER_WORDS + n_buffers;
        self.words.splice(end..end, std::iter::repeat_n(0, more));
        self
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Takes the words of another launch of the same kernel.
    pub fn take_words(&mut self, other: &Self) {
        self.words.copy_from_slice(&other.words);
    }

    /// Sets one word.
    pub fn set(&mut self, word: usize, value: u64) {
        self.words[word] = value;
    }
}

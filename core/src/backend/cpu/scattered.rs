//! A kernel that scatters as one that computes, and scatters of what that keeps, which all threads share.
//!
//! Which is faster, that or to scatter lane by lane on one thread, is measured: the bits are the same.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::launch::{Loaded, Shared};
use super::tuning::{Trial, Trials};
use crate::backend::host::HostMemory;
use crate::backend::primitive::{
    MemoryArray, OfLanes, Scatter, block_of_the_heap, scatter_by_windows,
};
use crate::backend::{Executable, Failures, Launched, Memory as _};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::kernel::{
    BufferIndex, BufferParam, Code, HEADER_WORDS, Inst, Kernel, LiteralMode, ParamBlock, Reg,
};
use crate::ir::op::ScatterOp;
use crate::memory::buffer::{Buffer, Release};

/// Bytes of what is kept for scatters, at most.
const MOST_KEPT: u64 = 1 << 28;
/// Bytes of working memory that are kept from launch to launch.
const MOST_SPARE: usize = 1 << 26;
/// Nanoseconds of a lane on one thread, into targets of at most so many bytes, about.
const ALONE: [(u64, f64); 3] = [(1 << 20, 0.8), (1 << 25, 1.5), (u64::MAX, 10.0)];
/// Nanoseconds of a lane that every thread looks at, and of one that one of them writes.
const LOOKED_AT: f64 = 0.2;
const WRITTEN: f64 = 4.0;
/// Nanoseconds that threads wait for each other.
const WAITING: f64 = 40_000.0;
/// How much slower the way that is expected to be the slower one may be, to be tried.
const DOUBT: f64 = 4.0;

/// The scatters of a kernel, if they are its last writes.
pub(super) struct Scattered {
    /// What it computes besides, and keeps.
    compute: Option<Box<Loaded>>,
    /// Bytes a lane of what is kept, by buffer.
    kept: Vec<usize>,
    steps: Vec<Step>,
    n_buffers: usize,
    n_accesses: usize,
}

/// A scatter, by the words of the parameter block with buffers for what is kept.
struct Step {
    op: ScatterOp,
    dtype: DType,
    access: Option<u32>,
    target: usize,
    length: usize,
    index: usize,
    index_type: DType,
    value: Value,
    active: Option<usize>,
}

enum Value {
    /// The word of an array.
    Array(usize),
    /// The word of a literal.
    Word(usize),
    Bits(u64),
}

/// A kernel taken apart.
struct Parts {
    compute: Kernel,
    kept: Vec<DType>,
    /// Instructions with the buffers of their arguments, or none for a value that is the same in all lanes.
    scatters: Vec<(Inst, [Option<BufferIndex>; 3])>,
}

impl Parts {
    fn of(kernel: &Kernel) -> Option<Self> {
        let scatters = |inst: &Inst| matches!(inst.code, Code::Scatter { .. });
        if kernel.lane_insts().iter().any(scatters) {
            return None;
        }
        let mut compute = kernel.clone();
        compute.insts.retain(|inst| !scatters(inst));
        let mut parts = Self { compute, kept: Vec::new(), scatters: Vec::new() };
        let mut found = vec![None; kernel.first_write];
        for (_, &inst) in kernel.writes() {
            let Code::Scatter { target, .. } = inst.code else { continue };
            parts.compute.buffers[target.index()].written = false;
            let mut buffers = [None; 3];
            for (position, arg) in inst.args.iter().enumerate() {
                let Some(arg) = *arg else { continue };
                let is_number = position == 0 && parts.number(kernel, arg).is_some();
                if !is_number {
                    let known = &mut found[arg.index()];
                    buffers[position] = Some(*known.get_or_insert_with(|| parts.keep(kernel, arg)));
                }
            }
            parts.scatters.push((inst, buffers));
        }
        (!parts.scatters.is_empty()).then_some(parts)
    }

    /// A value that is the same in all lanes, and has its own bits as a literal.
    fn number(&self, kernel: &Kernel, value: Reg) -> Option<Code> {
        let inst = kernel.inst(value);
        let is_number = matches!(inst.code, Code::Literal(_) | Code::Constant(_));
        (is_number && kernel.is_uniform(value) && !inst.dtype.is_narrow()).then_some(inst.code)
    }

    /// The buffer of a value: that which it is loaded from, or one to be kept in.
    fn keep(&mut self, kernel: &Kernel, value: Reg) -> BufferIndex {
        let inst = *kernel.inst(value);
        if let (Code::Load(buffer), false) = (inst.code, kernel.is_uniform(value)) {
            return buffer;
        }
        let buffer = BufferIndex(exactly(self.compute.buffers.len()));
        let dtype = inst.dtype;
        self.compute.buffers.push(BufferParam {
            dtype,
            written: true,
            length: None,
            anywhere: false,
        });
        self.kept.push(dtype);
        let args = [Some(value), None, None];
        self.compute.insts.push(Inst { code: Code::Store(buffer), args, ..inst });
        buffer
    }
}

impl Scattered {
    /// Takes a kernel apart, unless lanes need its scatters before.
    ///
    /// # Errors
    /// `Interrupted`.
    fn new(kernel: &Kernel, mode: LiteralMode, shared: &Arc<Shared>) -> Result<Option<Self>> {
        let Some(Parts { compute, kept, scatters }) = Parts::of(kernel) else { return Ok(None) };
        let literal = |number: u32| match mode {
            LiteralMode::Parameter => Value::Word(compute.literal_word(number as usize)),
            LiteralMode::Embedded => Value::Bits(compute.literals[number as usize].1),
        };
        let step = |(inst, [value, index, active]): &(Inst, [Option<BufferIndex>; 3])| {
            let Code::Scatter { op, target, access, .. } = inst.code else { return None };
            let arg = inst.arg(0);
            Some(Step {
                op,
                dtype: kernel.dtype(arg),
                access,
                target: target.word(),
                length: compute.length_word(target)?,
                index: (*index)?.word(),
                index_type: kernel.dtype(inst.arg(1)),
                value: match (*value, kernel.inst(arg).code) {
                    (Some(buffer), _) => Value::Array(buffer.word()),
                    (None, Code::Literal(number)) => literal(number),
                    (None, Code::Constant(bits)) => Value::Bits(bits),
                    (None, _) => return None,
                },
                active: active.map(BufferIndex::word),
            })
        };
        let Some(steps) = scatters.iter().map(step).collect() else { return Ok(None) };
        let computes = compute.writes().next().is_some();
        let (n_buffers, n_accesses) = (kernel.buffers.len(), kernel.accesses.len());
        let compute =
            if computes { Loaded::new(&compute, mode, shared)?.map(Box::new) } else { None };
        let kept = kept.iter().map(|dtype| dtype.bytes()).collect();
        let scattered = Self { compute, kept, steps, n_buffers, n_accesses };
        Ok((scattered.compute.is_some() == computes).then_some(scattered))
    }

    /// Runs the kernel; `None` if there is no memory for that, and nothing was written.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`.
    fn launch(&self, params: &ParamBlock, n: u64, shared: &Shared) -> Result<Option<Launched>> {
        let bytes: usize = self.kept.iter().sum();
        if n.saturating_mul(bytes as u64) > MOST_KEPT {
            return Ok(None);
        }
        let room = |bytes: u64| shared.spare.take(exactly(bytes));
        let mut params = params.clone().with_buffers(self.n_buffers, self.kept.len());
        let mut held = Vec::with_capacity(self.kept.len());
        for (number, &bytes) in self.kept.iter().enumerate() {
            let Ok(memory) = room(n * bytes as u64) else { return Ok(None) };
            params.set(HEADER_WORDS + self.n_buffers + number, memory.address());
            held.push(memory);
        }
        let mut failures = vec![None; self.n_accesses];
        if let Some(compute) = &self.compute {
            match compute.launch(params.clone(), n)? {
                Launched::Done { failures: outside, .. } => failures = outside,
                Launched::Running(_) | Launched::Queued(_) => {
                    unreachable!("internal error: a launch on a processor that waits")
                }
            }
        }
        let word = |word: usize| params.words()[word];
        for (number, step) in self.steps.iter().enumerate() {
            let (address, size, dtype) = (word(step.target), word(step.length), step.dtype);
            let scatter = Scatter {
                op: step.op,
                target: MemoryArray { address, size, dtype },
                lanes: n,
                index: word(step.index),
                index_type: step.index_type,
                value: match step.value {
                    Value::Array(array) => OfLanes::Array(word(array)),
                    Value::Word(literal) => OfLanes::Bits(word(literal)),
                    Value::Bits(bits) => OfLanes::Bits(bits),
                },
                active: step.active.map(word),
            };
            let outside = match scatter_by_windows(&shared.pool, shared.target.isa, &scatter, &room)
            {
                Err(Error::OutOfMemory { .. }) if number == 0 => return Ok(None),
                outside => outside?,
            };
            if let (Some(access), Some(outside)) = (step.access, outside) {
                merge(&mut failures, access, outside);
            }
        }
        Ok(Some(Launched::Done { failures, alone: None }))
    }
}

/// Notes the lowest lane out of bounds.
fn merge(failures: &mut Failures, access: u32, outside: crate::backend::OutOfBounds) {
    let lowest = &mut failures[access as usize];
    *lowest = Some(lowest.map_or(outside, |old| old.min(outside)));
}

/// The two ways of a kernel whose lanes write in order, and what is measured of them.
pub(super) struct Ways {
    scattered: OnceLock<Option<Scattered>>,
    /// By the row of [`ALONE`] that the targets belong to.
    trials: [Trials<2>; ALONE.len()],
}

/// A launch that may go either way.
pub(super) struct Choice {
    trial: Trial,
    row: usize,
    /// Whether all threads scatter.
    by_all: bool,
    started: Instant,
}

impl Ways {
    pub(super) fn new() -> Self {
        Self { scattered: OnceLock::new(), trials: Default::default() }
    }

    /// The way for a launch into targets of at most so many bytes; `None` where there is only one.
    fn choose(&self, n: u64, bytes: u64, shared: &Shared) -> Option<Choice> {
        let (from, threads) = (shared.options.scattered_from, shared.pool.threads());
        if n < from {
            return None;
        }
        let row = ALONE.iter().position(|(most, _)| bytes <= *most).unwrap_or(ALONE.len() - 1);
        let alone = ALONE[row].1 * n as f64;
        let by_all = (LOOKED_AT + WRITTEN / threads as f64) * n as f64 + WAITING;
        if by_all > DOUBT * alone && from > 0 {
            return None;
        }
        // What is expected to be faster is tried first.
        let is_first = by_all <= alone;
        let trial = self.trials[row].pick(n / from.max(1));
        let by_all = (trial.style == 0) == is_first || from == 0;
        Some(Choice { trial, row, by_all, started: Instant::now() })
    }

    /// Notes how long a launch took.
    pub(super) fn measure(&self, choice: &Choice, n: u64) {
        self.trials[choice.row].record(choice.trial, n, choice.started.elapsed());
    }

    /// Runs a launch whose scatters all threads share, if that is its way; else its other way, to be measured.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`.
    pub(super) fn launch(
        &self,
        source: &(Kernel, LiteralMode),
        params: &ParamBlock,
        n: u64,
        shared: &Arc<Shared>,
    ) -> Result<(Option<Launched>, Option<Choice>)> {
        let (kernel, mode) = source;
        if self.scattered.get().is_none() {
            let made = Scattered::new(kernel, *mode, shared)?;
            // Another thread's is as good.
            drop(self.scattered.set(made));
        }
        let Some(Some(scattered)) = self.scattered.get() else { return Ok((None, None)) };
        let bytes = |(_, inst): (usize, &Inst)| match inst.code {
            Code::Scatter { target, .. } => {
                let length = kernel.length_word(target).map_or(0, |word| params.words()[word]);
                Some(length.saturating_mul(inst.dtype.bytes() as u64))
            }
            _ => None,
        };
        let sizes = || kernel.writes().filter_map(bytes);
        // Nothing has a window of an empty target.
        if sizes().any(|bytes| bytes == 0) {
            return Ok((None, None));
        }
        let choice = self.choose(n, sizes().max().unwrap_or(0), shared);
        match choice {
            Some(choice) if choice.by_all => {
                let launched = scattered.launch(params, n, shared)?;
                launched.iter().for_each(|_| self.measure(&choice, n));
                Ok((launched, None))
            }
            choice => Ok((None, choice)),
        }
    }
}

/// Working memory that is kept from launch to launch.
#[derive(Default)]
pub(super) struct Spare {
    blocks: Arc<Blocks>,
}

/// Address and capacity of blocks that nobody uses.
#[derive(Default)]
struct Blocks(Mutex<Vec<(u64, usize)>>);

impl Spare {
    /// A block of at least so many bytes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn take(&self, bytes: usize) -> Result<Buffer> {
        let bytes = bytes.max(1);
        let known = {
            let mut blocks = self.blocks.0.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |(_, block): &(usize, &(u64, usize))| (bytes..=4 * bytes).contains(&block.1);
            let fitting = blocks.iter().enumerate().filter(fits);
            let place = fitting.min_by_key(|(_, block)| block.1).map(|(place, _)| place);
            place.map(|place| blocks.swap_remove(place))
        };
        let (address, capacity) = match known {
            Some(block) => block,
            None => (block_of_the_heap(bytes)?, bytes),
        };
        Ok(Buffer::new(address, bytes, capacity, self.blocks.clone()))
    }
}

impl Release for Blocks {
    fn release(&self, address: u64, capacity: usize) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spare: usize = blocks.iter().map(|block| block.1).sum();
        if spare + capacity <= MOST_SPARE {
            blocks.push((address, capacity));
        } else {
            HostMemory.free_raw(address, capacity);
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let blocks = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        blocks.drain(..).for_each(|(address, capacity)| HostMemory.free_raw(address, capacity));
    }
}

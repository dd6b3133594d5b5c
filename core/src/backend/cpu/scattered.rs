//! A kernel that scatters as one that computes, and scatters of what that keeps, which all threads share.
//!
//! Which is faster, that or to scatter lane by lane on one thread, is measured: the bits are the same.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::compiled::Shared;
use super::launch::Loaded;
use super::tuning::{Trial, Trials};
use crate::backend::apart::Apart;
use crate::backend::host::exhausted;
use crate::backend::primitive::{MemoryArray, OfLanes, Scatter, scatter_by_windows};
use crate::backend::{Executable, Launched};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::kernel::{
    BufferIndex, Code, HEADER_WORDS, Inst, Kernel, LiteralMode, ParamBlock, Reg,
};
use crate::ir::op::ScatterOp;

/// Bytes of what is kept for scatters, at most.
const MOST_KEPT: u64 = 1 << 28;
/// Bytes of working memory that are kept from launch to launch.
const MOST_SPARE: u64 = 1 << 26;
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
    kept: Vec<u64>,
    steps: Vec<Step>,
    n_buffers: usize,
    n_accesses: usize,
}

/// A scatter of a kernel.
struct Step {
    op: ScatterOp,
    dtype: DType,
    access: Option<u32>,
    target: BufferIndex,
    /// The word of the target's length.
    length: usize,
    index: BufferIndex,
    index_type: DType,
    value: Value,
    active: Option<BufferIndex>,
}

enum Value {
    Array(BufferIndex),
    /// The word of a literal.
    Word(usize),
    Bits(u64),
}

impl Value {
    /// A value that is the same in all lanes and has its own bits as a number, or what is kept of it.
    fn of(kernel: &Kernel, mode: LiteralMode, value: Reg, apart: &mut Apart) -> Self {
        let inst = kernel.inst(value);
        match (inst.code, mode) {
            _ if inst.dtype.is_narrow() => {}
            (Code::Constant(bits), _) => return Self::Bits(bits),
            (Code::Literal(number), LiteralMode::Parameter) => {
                return Self::Word(kernel.literal_word(number as usize));
            }
            (Code::Literal(number), LiteralMode::Embedded) => {
                return Self::Bits(kernel.literals[number as usize].1);
            }
            _ => {}
        }
        Self::Array(buffer_of(kernel, value, apart))
    }
}

/// The buffer of a value: that which it is loaded from, or one that it is kept in.
fn buffer_of(kernel: &Kernel, value: Reg, apart: &mut Apart) -> BufferIndex {
    match kernel.inst(value).code {
        Code::Load(buffer) if !kernel.is_uniform(value) => buffer,
        _ => apart.keep(value),
    }
}

impl Scattered {
    /// Takes a kernel apart, unless lanes need its scatters before.
    ///
    /// # Errors
    /// `Interrupted`.
    fn new(kernel: &Kernel, mode: LiteralMode, shared: &Arc<Shared>) -> Result<Option<Self>> {
        let Some(mut apart) = Apart::of(kernel) else { return Ok(None) };
        let mut steps = Vec::new();
        for (_, inst) in kernel.writes() {
            let Code::Scatter { op, target, access, .. } = inst.code else { continue };
            let length = kernel.length_word(target);
            steps.push(Step {
                op,
                dtype: kernel.dtype(inst.arg(0)),
                access,
                target,
                length: length.expect("internal error: an accessed buffer has a length"),
                index: buffer_of(kernel, inst.arg(1), &mut apart),
                index_type: kernel.dtype(inst.arg(1)),
                value: Value::of(kernel, mode, inst.arg(0), &mut apart),
                active: inst.args[2].map(|active| buffer_of(kernel, active, &mut apart)),
            });
        }
        let Apart { compute, kept, .. } = apart;
        let computes = compute.writes().next().is_some();
        let compute = if computes { Loaded::new(&compute, mode, shared)? } else { None };
        // There may be no executable memory.
        if computes && compute.is_none() {
            return Ok(None);
        }
        let (n_buffers, n_accesses) = (kernel.buffers.len(), kernel.accesses.len());
        let kept = kept.iter().map(|dtype| dtype.bytes() as u64).collect();
        Ok(Some(Self { compute: compute.map(Box::new), kept, steps, n_buffers, n_accesses }))
    }

    /// Runs the kernel; `None` if there is no memory for that, and nothing was written.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`.
    fn launch(&self, params: &ParamBlock, n: u64, shared: &Shared) -> Result<Option<Launched>> {
        if n.saturating_mul(self.kept.iter().sum()) > MOST_KEPT {
            return Ok(None);
        }
        let room = |bytes: u64| shared.spare.alloc(bytes).map_err(|_| exhausted(bytes));
        let kept = self.kept.iter().map(|bytes| room(n * bytes)).collect::<Result<Vec<_>>>();
        let Ok(kept) = kept else { return Ok(None) };
        let mut failures = vec![None; self.n_accesses];
        if let Some(compute) = &self.compute {
            let mut params = params.clone().with_buffers(self.n_buffers, kept.len());
            for (number, memory) in kept.iter().enumerate() {
                params.set(HEADER_WORDS + self.n_buffers + number, memory.address());
            }
            match compute.launch(params, n)? {
                Launched::Done { failures: outside, .. } => failures = outside,
                Launched::Running(_) | Launched::Queued(_) => {
                    unreachable!("internal error: a launch on a processor that waits")
                }
            }
        }
        let words = params.words();
        let address = |buffer: BufferIndex| match buffer.index().checked_sub(self.n_buffers) {
            Some(number) => kept[number].address(),
            None => words[buffer.word()],
        };
        for (number, step) in self.steps.iter().enumerate() {
            let (size, dtype) = (words[step.length], step.dtype);
            let scatter = Scatter {
                op: step.op,
                target: MemoryArray { address: address(step.target), size, dtype },
                lanes: n,
                index: address(step.index),
                index_type: step.index_type,
                value: match step.value {
                    Value::Array(array) => OfLanes::Array(address(array)),
                    Value::Word(word) => OfLanes::Bits(words[word]),
                    Value::Bits(bits) => OfLanes::Bits(bits),
                },
                active: step.active.map(address),
            };
            match scatter_by_windows(&shared.pool, shared.target.isa, &scatter, &room) {
                Err(Error::OutOfMemory { .. }) if number == 0 => return Ok(None),
                outside => {
                    if let (Some(outside), Some(access)) = (outside?, step.access) {
                        failures[access as usize] = Some(outside);
                    }
                }
            }
        }
        Ok(Some(Launched::Done { failures, alone: None }))
    }
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
        let bytes = |(_, inst): (usize, &Inst)| match inst.code {
            Code::Scatter { target, .. } => {
                let length = kernel.length_word(target).map_or(0, |word| params.words()[word]);
                Some(length.saturating_mul(inst.dtype.bytes() as u64))
            }
            _ => None,
        };
        let sizes = || kernel.writes().filter_map(bytes);
        // Nothing has a window of an empty target.
        let most = sizes().max().filter(|_| sizes().all(|bytes| bytes > 0));
        let Some(most) = most.filter(|_| n >= shared.options.scattered_from) else {
            return Ok((None, None));
        };
        if self.scattered.get().is_none() {
            let made = Scattered::new(kernel, *mode, shared)?;
            // Another thread's is as good.
            drop(self.scattered.set(made));
        }
        let Some(Some(scattered)) = self.scattered.get() else { return Ok((None, None)) };
        let choice = self.choose(n, most, shared);
        match choice {
            Some(choice) if choice.by_all => {
                let launched = scattered.launch(params, n, shared)?;
                launched.iter().for_each(|_| self.measure(&choice, n));
                if shared.spare.info().cached > MOST_SPARE {
                    shared.spare.trim();
                }
                Ok((launched, None))
            }
            choice => Ok((None, choice)),
        }
    }
}

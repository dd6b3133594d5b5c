//! Runs machine code over all lanes of a launch, in blocks that threads claim.
#![expect(unsafe_code, reason = "calls machine code and lays out the memory that it works on")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::arena::{Arena, Block};
use super::assemble::{Assembly, assemble};
use super::frame::{Aligned, error_word, pointer_word, set_active};
use super::lane_buffers::{LaneBuffer, indexed_buffers, lane_buffers};
use super::lower::{Lowered, lower};
use super::machine::Style;
use super::native::Native;
use super::options::CpuOptions;
use super::program::{ENDED_EARLY, Frame, Packet, Reduction, SPILL_STRIDE, TILE_LANES};
use super::target::Target;
use super::tuning::{STYLES, Trial, Tuning};
use crate::backend::host::HostMemory;
use crate::backend::interp::Interp;
use crate::backend::pool::{Claims, Pool};
use crate::backend::reduce::{self, ACCUMULATORS, CHUNK, Finish, Fold, finish_step};
use crate::backend::{Backend, CodeStatistics, Executable, Launched, Origin, OutOfBounds};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{HEADER_WORDS, Kernel, LiteralMode, NO_ERROR, ParamBlock, WORD_ABORT};
use crate::ir::op::ReduceOp;

/// Nanoseconds of work below which a second thread does not pay: waking it costs some.
const WORTH_A_THREAD: f64 = 40_000.0;
/// Nanoseconds between two looks at the interrupt flag, about.
const BLOCK_TIME: f64 = 500_000.0;
/// Nanoseconds of a machine instruction and of a byte moved, about; only thresholds depend on them.
const INSTRUCTION_TIME: f64 = 0.3;
const BYTE_TIME: f64 = 0.05;
/// Chunks that a thread claims at a time, unless there would be more than [`MAX_CLAIMS`] claims.
const MAX_CLAIM: u64 = 16;
/// Claims of a launch; the memory for their results stays small however many lanes there are.
const MAX_CLAIMS: u64 = 1 << 16;
/// Instructions up to which a kernel is kept, to be compiled in other styles.
const KEPT_FOR_STYLES: usize = 4096;

/// A flag that is never raised.
static NEVER: u64 = 0;

type Function = unsafe extern "C" fn(*const u64, u64, u64, *mut u8, *mut u8);

/// What all kernels of a device share.
pub(super) struct Shared {
    pub(super) target: &'static Target,
    pub(super) options: CpuOptions,
    pub(super) pool: Arc<Pool>,
    pub(super) arena: Arc<Arena>,
    /// Runs what finds no executable memory.
    pub(super) interp: Interp,
}

/// Machine code in memory, with what a launch must know of it.
struct Compiled {
    /// Frees the code when dropped.
    block: Block,
    prologue: Option<usize>,
    body: usize,
    packet: Packet,
    frame: Frame,
    frame_bytes: usize,
    uniform_bytes: usize,
    reductions: Vec<Reduction>,
    /// How each reduction's accumulators combine, and what they start with.
    finishes: Vec<(Finish, Vec<u8>)>,
    packet_cost: usize,
    tile: usize,
    spill_bytes: usize,
    statistics: CodeStatistics,
}

impl Compiled {
    fn new(assembly: Assembly, lowered: Lowered, shared: &Shared) -> Option<Arc<Self>> {
        let block = shared.arena.place(&assembly.bytes)?;
        let finishes = lowered.reductions.iter().map(|r| {
            let identity = crate::ir::scalar::identity_bits(r.op, r.dtype).to_le_bytes();
            (finish_step(r.op, r.dtype), identity[..r.dtype.bytes()].repeat(ACCUMULATORS))
        });
        Some(Arc::new(Self {
            block,
            prologue: assembly.prologue,
            body: assembly.body,
            packet: lowered.packet,
            frame_bytes: assembly.frame_bytes,
            uniform_bytes: lowered.uniform_bytes as usize,
            finishes: finishes.collect(),
            reductions: lowered.reductions,
            packet_cost: assembly.packet_cost,
            tile: assembly.tile,
            spill_bytes: assembly.usage.spill_bytes as usize,
            statistics: CodeStatistics {
                bytes: assembly.bytes.len(),
                registers: assembly.usage.registers,
                spills: assembly.usage.spills,
                origin: Origin::Own,
            },
            frame: lowered.frame,
        }))
    }

    fn function(&self, offset: usize) -> Function {
        let code = std::ptr::with_exposed_provenance::<()>(self.block.address() + offset);
        // SAFETY: the assembler put a function with this signature there.
        unsafe { std::mem::transmute::<*const (), Function>(code) }
    }
}

/// Compiles a kernel; `None` where there is no executable memory.
fn compile(
    kernel: &Kernel,
    mode: LiteralMode,
    shared: &Shared,
    far: bool,
    style: Style,
) -> Result<Option<Arc<Compiled>>> {
    let lowered = lower(kernel, mode, shared.target, far)?;
    let assembly = assemble::<Native>(&lowered, style, &shared.options)?;
    Ok(assembly.and_then(|assembly| Compiled::new(assembly, lowered, shared)))
}

/// What runs a kernel over buffers of more than 2^31 elements.
enum Far {
    Compiled(Arc<Compiled>),
    /// There was no executable memory left.
    Interpreted(Arc<dyn Executable>),
}

/// A compiled kernel and what it takes to run it.
pub(super) struct Loaded {
    code: Arc<Compiled>,
    /// The kernel, if other code for it may be wanted.
    source: Option<(Kernel, LiteralMode)>,
    shared: Arc<Shared>,
    tuning: Tuning,
    /// Code in the styles but the first, made when it is first tried.
    styled: [OnceLock<Option<Arc<Compiled>>>; STYLES],
    /// Code for buffers of more than 2^31 elements.
    far: OnceLock<Far>,
    lane_buffers: Arc<[LaneBuffer]>,
    /// Words of the lengths of buffers reached by 32-bit indices.
    lengths: Vec<usize>,
    n_buffers: usize,
    n_accesses: usize,
    in_order: bool,
    /// Bytes that a lane reads and writes.
    lane_bytes: usize,
}

impl Loaded {
    /// Compiles a kernel; `None` where there is no executable memory.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn new(
        kernel: &Kernel,
        mode: LiteralMode,
        shared: &Arc<Shared>,
    ) -> Result<Option<Self>> {
        let Some(code) = compile(kernel, mode, shared, false, Style::PLAIN)? else {
            return Ok(None);
        };
        let lane_buffers: Arc<[LaneBuffer]> = lane_buffers(kernel).into();
        let mut lengths: Vec<usize> =
            indexed_buffers(kernel).filter_map(|buffer| kernel.length_word(buffer)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let kept = !lengths.is_empty() || kernel.insts.len() <= KEPT_FOR_STYLES;
        let lane_bytes = lane_buffers.iter().map(|buffer| buffer.bytes).sum();
        Ok(Some(Self {
            code,
            source: kept.then(|| (kernel.clone(), mode)),
            shared: shared.clone(),
            tuning: Tuning::new(kernel, shared.target),
            styled: Default::default(),
            far: OnceLock::new(),
            lane_buffers,
            lengths,
            n_buffers: kernel.buffers.len(),
            n_accesses: kernel.accesses.len(),
            in_order: kernel.has_scatter(),
            lane_bytes,
        }))
    }

    /// Whether a buffer is reached by 32-bit indices that is too large for them as they are.
    fn is_far(&self, params: &ParamBlock) -> bool {
        self.lengths.iter().any(|&word| params.words()[word] > self.shared.options.near)
    }

    /// What runs launches over such buffers, made for the first of them.
    ///
    /// # Errors
    /// `Interrupted`.
    fn far(&self) -> Result<&Far> {
        if let (None, Some((kernel, mode))) = (self.far.get(), &self.source) {
            let far = match compile(kernel, *mode, &self.shared, true, Style::PLAIN)? {
                Some(code) => Far::Compiled(code),
                None => Far::Interpreted(self.shared.interp.lower(kernel, *mode)?),
            };
            return Ok(self.far.get_or_init(|| far));
        }
        Ok(self.far.get().expect("internal error: a kernel with indices was not kept"))
    }

    /// The code for a launch, and what is measured of it.
    fn choose(&self, params: &ParamBlock, n: u64) -> (Arc<Compiled>, Option<Trial>) {
        let Some((kernel, mode)) = &self.source else { return (self.code.clone(), None) };
        let options = &self.shared.options;
        let bytes = n.saturating_mul(self.lane_bytes as u64);
        let aligned =
            |buffer: &LaneBuffer| params.words()[HEADER_WORDS + buffer.buffer].is_multiple_of(64);
        let large = self.is_streaming() && bytes >= options.tuned_from;
        // Stores that pass the caches need whole cache lines.
        if !large || !self.lane_buffers.iter().filter(|buffer| buffer.written).all(aligned) {
            return (self.code.clone(), None);
        }
        let trial = self.tuning.pick(bytes / options.tuned_from.max(1));
        if trial.style == 0 {
            return (self.code.clone(), Some(trial));
        }
        let style = self.tuning.styles[trial.style];
        let make = || compile(kernel, *mode, &self.shared, false, style).ok().flatten();
        let code = self.styled[trial.style].get_or_init(make).as_ref();
        code.map_or_else(|| (self.code.clone(), None), |code| (code.clone(), Some(trial)))
    }

    fn measure(&self, trial: Option<Trial>, time: Option<Duration>, n: u64) {
        if let (Some(trial), Some(time)) = (trial, time) {
            let bytes = n.saturating_mul(self.lane_bytes as u64);
            self.tuning.record(trial, bytes, time);
        }
    }

    /// Whether memory takes a good part of the time: few instructions for each byte.
    fn is_streaming(&self) -> bool {
        let instructions = self.code.packet_cost;
        let bytes = self.lane_bytes * self.code.packet.lanes();
        bytes > 0 && instructions <= bytes
    }
}

/// One launch, shared by the threads that work on it.
struct Launch {
    code: Arc<Compiled>,
    params: ParamBlock,
    n: u64,
    /// Lanes that a thread claims at a time.
    claim: u64,
    /// Lanes between two looks at the interrupt flag.
    block: u64,
    uniforms: Aligned,
    lane_buffers: Arc<[LaneBuffer]>,
    n_buffers: usize,
    /// Lowest lane out of bounds of each access.
    failures: Vec<Mutex<Option<OutOfBounds>>>,
    /// Claim results of each reduction.
    partials: Vec<Vec<AtomicU64>>,
    stopped: AtomicBool,
}

impl Executable for Loaded {
    fn launch(&self, mut params: ParamBlock, n: u64) -> Result<Launched> {
        let (code, trial) = if self.is_far(&params) {
            match self.far()? {
                Far::Compiled(code) => (code.clone(), None),
                Far::Interpreted(interpreted) => return interpreted.launch(params, n),
            }
        } else {
            self.choose(&params, n)
        };
        // A launch that works in place runs to its end.
        let never = std::ptr::from_ref(&NEVER).expose_provenance() as u64;
        let flag = if params.in_place { never } else { interrupt::flag_address() };
        params.set(WORD_ABORT, flag);
        let started = trial.map(|_| Instant::now());
        let lanes = code.packet.lanes() as f64;
        let lane_time = code.packet_cost as f64 * INSTRUCTION_TIME / lanes;
        let lane_time = lane_time + self.lane_bytes as f64 * BYTE_TIME;
        let worth = n as f64 * lane_time >= WORTH_A_THREAD;
        let threads = if self.in_order || !worth { 1 } else { self.shared.pool.threads() };
        let n_chunks = n.div_ceil(CHUNK as u64);
        // Several claims a thread even out unequal speeds. A power of two of chunks is a subtree of S11.
        let per_claim = (n_chunks / (8 * threads as u64)).clamp(1, MAX_CLAIM);
        let per_claim = per_claim.max(n_chunks.div_ceil(MAX_CLAIMS)).next_power_of_two();
        let n_claims = n_chunks.div_ceil(per_claim);
        let packet = code.packet.lanes() as u64;
        #[expect(clippy::cast_possible_truncation, reason = "an estimate")]
        let block = (BLOCK_TIME / lane_time.max(1e-3)) as u64 / packet * packet;
        let partials = || (0..n_claims).map(|_| AtomicU64::new(0)).collect();
        let mut launch = Launch {
            uniforms: Aligned::new(code.uniform_bytes),
            params,
            n,
            claim: per_claim * CHUNK as u64,
            block: block.max(packet * code.tile as u64),
            lane_buffers: self.lane_buffers.clone(),
            n_buffers: self.n_buffers,
            failures: (0..self.n_accesses).map(|_| Mutex::default()).collect(),
            partials: code.reductions.iter().map(|_| partials()).collect(),
            stopped: AtomicBool::new(false),
            code,
        };
        launch.run_prologue();
        if threads == 1 {
            launch.work(&Claims::new(n_claims));
            let time = started.map(|started| started.elapsed());
            return launch.finish().inspect(|_| self.measure(trial, time, n));
        }
        let launch = Arc::new(launch);
        let shared = launch.clone();
        self.shared.pool.run(n_claims, Arc::new(move |claims| shared.work(claims)));
        let time = started.map(|started| started.elapsed());
        launch.finish().inspect(|_| self.measure(trial, time, n))
    }

    fn statistics(&self) -> CodeStatistics {
        self.code.statistics
    }

    /// Not where far code may turn out to be interpreted.
    fn writes_in_place(&self) -> bool {
        self.lengths.is_empty()
    }
}

/// What a thread needs to run packets.
struct Worker<'l> {
    launch: &'l Launch,
    body: Function,
    frame: Aligned,
    /// A packet of each lane buffer, for the last lanes.
    tail: Option<Aligned>,
}

impl Launch {
    fn run_prologue(&mut self) {
        let Some(offset) = self.code.prologue else { return };
        let mut frame = self.frame();
        let function = self.code.function(offset);
        let (words, uniforms) = (self.params.words().as_ptr(), self.uniforms.pointer());
        // SAFETY: the frame and the uniform values are as large as the assembler said; buffers in the
        // parameter block are alive and hold at least one element.
        unsafe { function(words, 0, 1, frame.pointer(), uniforms) };
        self.collect_failures(&mut frame);
    }

    /// A frame in which all lanes are active, nothing failed and nothing was reduced.
    fn frame(&self) -> Aligned {
        let code = &*self.code;
        let mut frame = Aligned::new(code.frame_bytes);
        set_active(&mut frame, code.packet, code.packet.lanes());
        frame.set_word(SPILL_STRIDE, code.spill_bytes as u64);
        frame.set_word(TILE_LANES, (code.tile * code.packet.lanes()) as u64);
        for access in 0..self.failures.len() {
            frame.set_word(error_word(&code.frame, access), NO_ERROR);
        }
        for buffer in 0..self.n_buffers {
            let address = self.params.words()[HEADER_WORDS + buffer];
            frame.set_word(pointer_word(&code.frame, buffer), address);
        }
        self.reset_accumulators(&mut frame);
        frame
    }

    /// A launch that works in place has no way back, and is short.
    fn is_interrupted(&self) -> bool {
        !self.params.in_place && interrupt::is_requested()
    }

    fn reset_accumulators(&self, frame: &mut Aligned) {
        for (reduction, (_, identity)) in self.code.reductions.iter().zip(&self.code.finishes) {
            if !reduction.counts() {
                let start = reduction.offset as usize;
                frame.bytes(start, identity.len()).copy_from_slice(identity);
            }
        }
    }

    fn collect_failures(&self, frame: &mut Aligned) {
        for (access, failure) in self.failures.iter().enumerate() {
            let word = error_word(&self.code.frame, access);
            let (lane, index) = (frame.word(word), frame.word(word + 8));
            if lane != NO_ERROR {
                let new = OutOfBounds { lane, index };
                let mut lowest = failure.lock().unwrap_or_else(PoisonError::into_inner);
                *lowest = Some(lowest.map_or(new, |old| old.min(new)));
            }
        }
    }

    /// One thread's share: claims until none is left or an interrupt was requested.
    fn work(&self, claims: &Claims) {
        // Made once a thread, and only by a thread that finds something to do.
        let mut worker = None;
        while let Some(claim) = claims.take() {
            let worker = worker.get_or_insert_with(|| Worker {
                launch: self,
                body: self.code.function(self.code.body),
                frame: self.frame(),
                tail: None,
            });
            if !self.run_claim(worker, claim) {
                self.stopped.store(true, Ordering::Relaxed);
                claims.stop();
            }
        }
        if let Some(mut worker) = worker {
            self.collect_failures(&mut worker.frame);
        }
    }

    /// Whether the claim was not interrupted.
    fn run_claim(&self, worker: &mut Worker<'_>, claim: u64) -> bool {
        let start = claim * self.claim;
        // Neither sum overflows for up to 2^64 - 1 lanes.
        let end = start + self.claim.min(self.n - start);
        let reductions = &self.code.reductions;
        if reductions.iter().all(Reduction::counts) {
            if !worker.run(start, end) {
                return false;
            }
        } else {
            let mut folds: Vec<Fold> =
                reductions.iter().map(|r| Fold::new(r.op, r.dtype)).collect();
            let ordered = reductions.iter().any(Reduction::is_ordered);
            let chunk = if ordered { CHUNK as u64 } else { self.claim };
            let mut first = start;
            while first < end {
                let last = first + chunk.min(end - first);
                if !worker.run(first, last) {
                    return false;
                }
                worker.fold(&mut folds);
                first = last;
            }
            for ((partials, fold), reduction) in self.partials.iter().zip(folds).zip(reductions) {
                if !reduction.counts() {
                    partials[claim_number(claim)].store(fold.finish(), Ordering::Relaxed);
                }
            }
        }
        for (partials, reduction) in self.partials.iter().zip(reductions) {
            if reduction.counts() {
                let count = worker.frame.word(reduction.offset);
                worker.frame.set_word(reduction.offset, 0);
                partials[claim_number(claim)].store(count, Ordering::Relaxed);
            }
        }
        true
    }

    fn finish(&self) -> Result<Launched> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        for (reduction, partials) in self.code.reductions.iter().zip(&self.partials) {
            let claims = partials.iter().map(|claim| claim.load(Ordering::Relaxed));
            let result = match reduction.op {
                ReduceOp::Count => claims.sum(),
                ReduceOp::Any => u64::from(claims.sum::<u64>() > 0),
                ReduceOp::All => u64::from(claims.sum::<u64>() == self.n),
                ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max => {
                    reduce::finish(reduction.op, reduction.dtype, claims.collect())
                }
            };
            let address = self.params.words()[reduction.address];
            let bytes = reduce::stored_bytes(reduction.dtype, reduction.stored, result);
            HostMemory.put(address, &bytes);
        }
        let lowest = |failure: &Mutex<_>| *failure.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Launched::Done(self.failures.iter().map(lowest).collect()))
    }
}

impl Worker<'_> {
    /// Runs lanes from `start`, a multiple of the packet; whether it was not interrupted.
    fn run(&mut self, start: u64, end: u64) -> bool {
        let packet = self.launch.code.packet.lanes() as u64;
        let whole = start + (end - start) / packet * packet;
        let mut first = start;
        while first < whole {
            if self.launch.is_interrupted() {
                return false;
            }
            let last = first + self.launch.block.min(whole - first);
            if !self.call(first, last) {
                return false;
            }
            first = last;
        }
        if whole < end {
            if self.launch.is_interrupted() {
                return false;
            }
            return self.run_tail(whole, exactly::<usize>(end - whole));
        }
        true
    }

    /// Whether the code came to its end; long code looks at the interrupt flag itself.
    fn call(&mut self, first: u64, last: u64) -> bool {
        let words = self.launch.params.words().as_ptr();
        let uniforms = self.launch.uniforms.shared();
        // SAFETY: the frame is as large as the assembler said; the pointers in it reach the lanes from
        // `first` to `last`; the body only reads the uniform values, which other threads share.
        unsafe { (self.body)(words, first, last, self.frame.pointer(), uniforms) };
        self.frame.word(ENDED_EARLY) == 0
    }

    /// Runs the last `n` lanes, fewer than a packet, on copies: no buffer is touched beyond its end. Whether
    /// the code came to its end.
    fn run_tail(&mut self, start: u64, n: usize) -> bool {
        let launch = self.launch;
        let packet = launch.code.packet;
        let lanes = packet.lanes();
        let offsets = launch.lane_buffers.iter().scan(0, |next, buffer| {
            let offset = *next;
            *next += (lanes * buffer.bytes).next_multiple_of(64);
            Some(offset)
        });
        let offsets: Vec<usize> = offsets.collect();
        let mut tail = self.tail.take().unwrap_or_else(|| {
            let bytes = |buffer: &LaneBuffer| (lanes * buffer.bytes).next_multiple_of(64);
            Aligned::new(launch.lane_buffers.iter().map(bytes).sum())
        });
        let real = |buffer: &LaneBuffer| {
            let address = launch.params.words()[HEADER_WORDS + buffer.buffer];
            address + start * buffer.bytes as u64
        };
        for (buffer, &offset) in launch.lane_buffers.iter().zip(&offsets) {
            if buffer.read {
                HostMemory.get(real(buffer), tail.bytes(offset, n * buffer.bytes));
            }
            let copy = tail.pointer().expose_provenance() as u64 + offset as u64;
            // The code adds the lane number to what it takes for the address of lane 0.
            let pointer = copy.wrapping_sub(start * buffer.bytes as u64);
            self.frame.set_word(pointer_word(&launch.code.frame, buffer.buffer), pointer);
        }
        let before = self.take_accumulators();
        set_active(&mut self.frame, packet, n);
        let complete = self.call(start, start + lanes as u64);
        set_active(&mut self.frame, packet, lanes);
        self.merge_accumulators(&before, start, n);
        for (buffer, &offset) in launch.lane_buffers.iter().zip(&offsets) {
            if buffer.written {
                HostMemory.put(real(buffer), tail.bytes(offset, n * buffer.bytes));
            }
            let address = launch.params.words()[HEADER_WORDS + buffer.buffer];
            self.frame.set_word(pointer_word(&launch.code.frame, buffer.buffer), address);
        }
        self.tail = Some(tail);
        complete
    }

    /// The accumulators so far; fresh ones take their place.
    fn take_accumulators(&mut self) -> Vec<Vec<u8>> {
        let code = &self.launch.code;
        let mut taken = Vec::new();
        for (reduction, (_, identity)) in code.reductions.iter().zip(&code.finishes) {
            if !reduction.counts() {
                let range = self.frame.bytes(reduction.offset as usize, identity.len());
                taken.push(range.to_vec());
            }
        }
        self.launch.reset_accumulators(&mut self.frame);
        taken
    }

    /// Combines the accumulators of the last lanes with those before. An accumulator that took one lane
    /// is that lane.
    fn merge_accumulators(&mut self, before: &[Vec<u8>], start: u64, n: usize) {
        let numbers = self.launch.code.reductions.iter().filter(|r| !r.counts());
        for (reduction, before) in numbers.zip(before) {
            let bytes = reduction.dtype.bytes();
            let range = self.frame.bytes(reduction.offset as usize, before.len());
            let lanes = range.to_vec();
            range.copy_from_slice(before);
            for lane in 0..n {
                let number = (start + lane as u64) % ACCUMULATORS as u64;
                let place = exactly::<usize>(number) * bytes;
                let lane_of = |from: &[u8]| {
                    let mut word = [0; 8];
                    word[..bytes].copy_from_slice(&from[place..place + bytes]);
                    u64::from_le_bytes(word)
                };
                let both = reduce::combine(
                    reduction.op,
                    reduction.dtype,
                    lane_of(before),
                    lane_of(&lanes),
                );
                range[place..place + bytes].copy_from_slice(&both.to_le_bytes()[..bytes]);
            }
        }
    }

    /// Adds the chunk that was just run to the folds.
    fn fold(&mut self, folds: &mut [Fold]) {
        let code = &self.launch.code;
        for ((fold, reduction), (finish, identity)) in
            folds.iter_mut().zip(&code.reductions).zip(&code.finishes)
        {
            if !reduction.counts() {
                let range = self.frame.bytes(reduction.offset as usize, identity.len());
                // SAFETY: the accumulators of this type are there.
                fold.push(unsafe { finish(range.as_ptr()) });
                range.copy_from_slice(identity);
            }
        }
    }
}

fn claim_number(claim: u64) -> usize {
    usize::try_from(claim).expect("internal error: more claims than allowed")
}

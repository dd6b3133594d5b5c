//! Launches of compiled kernels: which code, on how many threads, in claims of how many lanes.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::compiled::{Compiled, Shared, Walk, compile};
use super::copies::{self, Targets};
use super::lane_buffers::{LaneBuffer, indexed_buffers, lane_buffers};
use super::machine::Style;
use super::program::Reduction;
use super::scattered::Ways;
use super::split::{Split, split};
use super::tuning::{STYLES, Trial, Tuning};
use super::work::{Batch, Launch, Part, Tools};
use crate::backend::reduce::{CHUNK, claim_within};
use crate::backend::thread_pool::{Chunks, Claims};
use crate::backend::{Alone, CodeStatistics, Executable, Launched, Ran, RunsRanges, interp};
use crate::error::Result;
use crate::interrupt;
use crate::ir::kernel::{HEADER_WORDS, Kernel, LiteralMode, ParamBlock, WORD_ABORT};

/// Nanoseconds of work that a thread claims at least, about.
const WORTH_A_CLAIM: f64 = 10_000.0;
/// Nanoseconds between two looks at the interrupt flag, about.
const BLOCK_TIME: f64 = 500_000.0;
/// Nanoseconds of a byte moved, about; only thresholds depend on it.
const BYTE_TIME: f64 = 0.05;
/// Lanes that a thread claims at a time, unless there would be more than [`MAX_CLAIMS`] claims.
const MAX_CLAIM: u64 = 16 * CHUNK as u64;
/// Claims of a launch; the memory for their results stays small however many lanes there are.
const MAX_CLAIMS: u64 = 1 << 16;
/// Instructions up to which a kernel is kept, to be compiled in other styles.
const KEPT_FOR_STYLES: usize = 4096;

/// Bytes of a frame up to which it is kept for the next launch.
const KEPT_FRAME: usize = 1 << 14;

/// Members for each thread from which on threads share members, not lanes.
const MEMBERS_PER_THREAD: usize = 8;
/// Nanoseconds that a member of a batch takes besides its lanes, about.
const MEMBER_TIME: f64 = 500.0;

/// A flag that is never raised.
static NEVER: u64 = 0;

/// What runs a kernel over buffers of more than 2^31 elements.
enum Far {
    Compiled(Arc<Compiled>),
    /// There was no executable memory left.
    Interpreted(Arc<interp::Loaded>),
}

/// A kernel that scatters as two.
#[derive(Clone)]
struct Halves {
    compute: Walk,
    scatter: Walk,
    /// Bytes a lane of what the first keeps for the second, by buffer.
    kept: Arc<[usize]>,
}

/// A compiled kernel and what it takes to run it.
pub(super) struct Loaded {
    code: Arc<Compiled>,
    /// The kernel, if other code for it may be wanted.
    source: Option<(Kernel, LiteralMode)>,
    shared: Arc<Shared>,
    /// Made for the first large launch: most kernels have none, and it is as large as a small kernel.
    tuning: OnceLock<Box<Tuning>>,
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
    /// For threads, if lanes must write in order and it pays.
    halves: OnceLock<Option<Halves>>,
    /// Of what threads may write to copies of, if lanes must write in order but it does not show.
    targets: Option<Arc<Targets>>,
    /// The same for threads that share the writing.
    ways: Option<Box<Ways>>,
    /// Nanoseconds that a lane took in the last launch, as the bits of an f64, if there are loops.
    measured: AtomicU64,
    /// Bytes that a lane reads and writes.
    lane_bytes: usize,
    /// What the last small launch worked with.
    tools: Mutex<Option<Tools>>,
}

impl Loaded {
    /// Nanoseconds a lane, about, memory included.
    fn lane_time(&self) -> f64 {
        self.code.lane_time() + self.lane_bytes as f64 * BYTE_TIME
    }

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
        let lane_bytes = lane_buffers.iter().map(|buffer| buffer.bytes).sum();
        let in_order = kernel.lanes_meet();
        let has_styles = in_order || is_streaming(&code, lane_bytes);
        // A kernel is several times as large as its code.
        let kept = !lengths.is_empty() || has_styles && kernel.insts.len() <= KEPT_FOR_STYLES;
        Ok(Some(Self {
            code,
            source: kept.then(|| (kernel.clone(), mode)),
            shared: shared.clone(),
            tuning: OnceLock::new(),
            styled: Default::default(),
            far: OnceLock::new(),
            lane_buffers,
            lengths,
            n_buffers: kernel.buffers.len(),
            n_accesses: kernel.accesses.len(),
            in_order,
            halves: OnceLock::new(),
            targets: if in_order { Targets::of(kernel).map(Arc::new) } else { None },
            ways: in_order.then(|| Box::new(Ways::new())),
            measured: AtomicU64::new(0),
            lane_bytes,
            tools: Mutex::default(),
        }))
    }

    /// Where tools for a launch of this code are kept.
    fn kept_tools(&self, code: &Arc<Compiled>) -> Option<MutexGuard<'_, Option<Tools>>> {
        let are_kept = Arc::ptr_eq(code, &self.code) && code.frame_bytes <= KEPT_FRAME;
        are_kept.then(|| self.tools.lock().unwrap_or_else(PoisonError::into_inner))
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
                None => Far::Interpreted(self.shared.interp.load(kernel, *mode)?),
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
        let large = is_streaming(&self.code, self.lane_bytes) && bytes >= options.tuned_from;
        // Stores that pass the caches need whole cache lines.
        if !large || !self.lane_buffers.iter().filter(|buffer| buffer.written).all(aligned) {
            return (self.code.clone(), None);
        }
        let make = || Box::new(Tuning::new(kernel, self.shared.target));
        let tuning = self.tuning.get_or_init(make);
        let trial = tuning.trials.pick(bytes / options.tuned_from.max(1));
        if trial.style == 0 {
            return (self.code.clone(), Some(trial));
        }
        let style = tuning.styles[trial.style];
        let make = || compile(kernel, *mode, &self.shared, false, style).ok().flatten();
        let code = self.styled[trial.style].get_or_init(make).as_ref();
        code.map_or_else(|| (self.code.clone(), None), |code| (code.clone(), Some(trial)))
    }

    /// The kernel in two, if computing takes longer than scattering.
    ///
    /// # Errors
    /// `Interrupted`.
    fn halves(&self) -> Result<Option<&Halves>> {
        if self.halves.get().is_none() {
            let halves = match &self.source {
                Some((kernel, mode)) => self.make_halves(kernel, *mode)?,
                None => None,
            };
            return Ok(self.halves.get_or_init(|| halves).as_ref());
        }
        Ok(self.halves.get().and_then(Option::as_ref))
    }

    fn make_halves(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<Halves>> {
        let Some(Split { compute, scatter, kept }) = split(kernel) else { return Ok(None) };
        let compute = Walk::new(&compute, mode, &self.shared)?;
        let scatter = Walk::new(&scatter, mode, &self.shared)?;
        let (Some(compute), Some(scatter)) = (compute, scatter) else { return Ok(None) };
        let pays = compute.code.lane_time() >= scatter.code.lane_time();
        let kept = kept.iter().map(|dtype| dtype.bytes()).collect();
        Ok(pays.then_some(Halves { compute, scatter, kept }))
    }

    /// The targets of a launch of which each thread has copies, if that pays.
    fn copied(&self, params: &ParamBlock, n: u64) -> Option<&Arc<Targets>> {
        let threads = self.shared.pool.threads();
        let lane_time = self.lane_time() * n as f64;
        let is_worth =
            n > CHUNK as u64 && lane_time >= f64::from(self.shared.options.threaded_from);
        let targets = self.targets.as_ref().filter(|_| threads > 1 && is_worth);
        targets.filter(|targets| targets.pay(params, n, threads))
    }

    fn measure(&self, trial: Option<Trial>, time: Option<Duration>, n: u64) {
        if let (Some(trial), Some(time)) = (trial, time) {
            let bytes = n.saturating_mul(self.lane_bytes as u64);
            self.tuning.get().iter().for_each(|tuning| tuning.trials.record(trial, bytes, time));
        }
    }
}

/// Whether memory takes a good part of the time: few instructions for each byte.
fn is_streaming(code: &Compiled, lane_bytes: usize) -> bool {
    let bytes = lane_bytes * code.packet.lanes();
    bytes > 0 && code.packet_cost <= bytes
}

/// Lanes between two looks at the interrupt flag: whole packets of all code that runs them, of `packet` lanes at most.
/// Code that is called for less than a packet goes on to its end, into lanes of the next call.
fn block_of(code: &Compiled, packet: u64, lane_time: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "an estimate")]
    let block = (BLOCK_TIME / lane_time.max(1e-3)) as u64 / packet * packet;
    block.max(packet * code.tile as u64)
}

impl Loaded {
    /// Runs lanes, of which the first is a multiple of a chunk, by given code; `finish` makes of the launch what the
    /// caller wants.
    fn run<R>(
        &self,
        (code, mut trial): (Arc<Compiled>, Option<Trial>),
        far: bool,
        mut params: ParamBlock,
        lanes: Range<u64>,
        finish: impl Fn(&Launch, Option<Alone>) -> Result<R>,
    ) -> Result<R> {
        let n = lanes.end - lanes.start;
        let mut walk = Walk { code, lane_buffers: self.lane_buffers.clone() };
        // A launch that works in place runs to its end.
        let never = std::ptr::from_ref(&NEVER).expose_provenance() as u64;
        let flag = if params.in_place { never } else { interrupt::flag_address() };
        params.set(WORD_ABORT, flag);
        let lane_time = walk.code.lane_time() + self.lane_bytes as f64 * BYTE_TIME;
        let threaded_from = self.shared.options.threaded_from;
        let worth = |lane_time: f64| n as f64 * lane_time >= f64::from(threaded_from);
        let mut threads = self.shared.pool.threads();
        let mut scatter = None;
        let copied = self.copied(&params, n).cloned().map(copies::Shared::new);
        if self.in_order && copied.is_none() {
            let shared = !far && threads > 1 && n > CHUNK as u64 && worth(lane_time);
            if let Some(halves) = if shared { self.halves()? } else { None } {
                (walk, trial) = (halves.compute.clone(), None);
                params = params.with_buffers(self.n_buffers, halves.kept.len());
                scatter = Some((Part::new(halves.scatter.clone()), halves.kept.clone()));
            } else {
                threads = 1;
            }
        }
        let repeats = walk.code.repeats;
        // What loops take is known from launches before, or found out by one thread.
        let measured = f64::from_bits(self.measured.load(Ordering::Relaxed));
        let at_once = threads > 1 && worth(lane_time.max(measured));
        if !at_once && !repeats {
            threads = 1;
        }
        let started = (trial.is_some() || repeats).then(Instant::now);
        let alone = Duration::from_nanos(threaded_from.into());
        let deadline = started.filter(|_| threads > 1).map(|started| started + alone);
        let packet = walk.code.packet.lanes() as u64;
        let packet = scatter.as_ref().map_or(packet, |(part, _)| packet.max(part.lanes()));
        let least = if threads > 1 { least_claim(&walk.code, lane_time) } else { CHUNK as u64 };
        let least = least.max(packet);
        let units = n.div_ceil(least);
        // Several claims a thread even out unequal speeds. A power of two of chunks is a subtree of S11.
        let per_claim = (units / (8 * threads as u64)).clamp(1, MAX_CLAIM / least);
        let mut per_claim = per_claim.max(units.div_ceil(MAX_CLAIMS)).next_power_of_two();
        // Claims are subtrees of the whole launch.
        per_claim = per_claim.min(claim_within(&params, &lanes) >> least.trailing_zeros());
        let n_claims = units.div_ceil(per_claim);
        let alone = match () {
            () if self.shared.pool.threads() == 1 || scatter.is_some() => None,
            () if self.in_order && copied.is_none() && n > packet => Some(Alone::InOrder),
            () => (n_claims == 1).then_some(Alone::FewLanes),
        };
        let block = block_of(&walk.code, packet, lane_time);
        let partials = || (0..n_claims).map(|_| AtomicU64::new(0)).collect();
        let mut launch = Launch {
            n_buffers: self.n_buffers + scatter.as_ref().map_or(0, |(_, kept)| kept.len()),
            params,
            lanes,
            claim: per_claim * least,
            block,
            failures: (0..self.n_accesses).map(|_| Mutex::default()).collect(),
            partials: walk.code.reductions.iter().map(|_| partials()).collect(),
            part: Part::new(walk),
            scatter,
            copied,
            turn: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        };
        let code = launch.part.walk.code.clone();
        let mut tools = self.kept_tools(&code).and_then(|mut kept| kept.take());
        launch.run_prologues(&mut tools);
        let done = match n_claims {
            1 if launch.scatter.is_none() => {
                let tools = launch.work_alone(tools);
                if let Some(mut kept) = self.kept_tools(&code) {
                    *kept = tools;
                }
                1
            }
            _ if at_once => 0,
            _ => launch.work(&Chunks::new(n_claims).claims(0), 0, deadline),
        };
        let end = |launch: &Launch, threads: usize| {
            let time = started.map(|started| started.elapsed());
            if let (Some(time), true) = (time, repeats) {
                let lane_time = time.as_nanos() as f64 * threads as f64 / n.max(1) as f64;
                self.measured.store(lane_time.to_bits(), Ordering::Relaxed);
            }
            finish(launch, alone).inspect(|_| self.measure(trial, time, n))
        };
        if done == n_claims || launch.stopped.load(Ordering::Relaxed) {
            return end(&launch, 1);
        }
        let launch = Arc::new(launch);
        let shared = launch.clone();
        let work = move |claims: &Claims<'_>| {
            shared.work(claims, done, None);
        };
        if launch.scatter.is_some() {
            self.shared.pool.run_in_order(n_claims - done, Arc::new(work));
        } else {
            self.shared.pool.run(n_claims - done, Arc::new(work));
        }
        end(&launch, threads)
    }
}

impl Executable for Loaded {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        let far = self.is_far(&params);
        let code = match far {
            false => self.choose(&params, n),
            true => match self.far()? {
                Far::Compiled(code) => (code.clone(), None),
                Far::Interpreted(interpreted) => return interpreted.launch(params, n),
            },
        };
        let mut way = None;
        if self.in_order
            && !far
            && !params.in_place
            && self.copied(&params, n).is_none()
            && let (Some(source), Some(ways)) = (&self.source, &self.ways)
        {
            let (launched, other) = ways.launch(source, &params, n, &self.shared)?;
            if let Some(launched) = launched {
                return Ok(launched);
            }
            way = other;
        }
        let launched = self.run(code, far, params, 0..n, Launch::finish)?;
        self.ways.iter().zip(&way).for_each(|(ways, way)| ways.measure(way, n));
        Ok(launched)
    }

    fn ranges(&self) -> Option<&dyn RunsRanges> {
        Some(self)
    }

    fn statistics(&self) -> CodeStatistics {
        self.code.statistics
    }

    fn held_bytes(&self) -> usize {
        let source = self.source.as_ref().map_or(0, |(kernel, _)| kernel.held_bytes());
        let frame = Some(self.code.frame_bytes).filter(|&bytes| bytes <= KEPT_FRAME);
        size_of::<Self>() + self.code.held_bytes() + frame.unwrap_or(0) + source
    }

    fn nanoseconds(&self, n: u64) -> f64 {
        n as f64 * self.lane_time()
    }

    fn launch_all(&self, members: Arc<Vec<ParamBlock>>, n: u64) -> Result<Launched> {
        let lane_time = self.lane_time();
        // What is worth threads by itself has them, where there are not members enough for all of them; and it may
        // have code for memory.
        let options = &self.shared.options;
        let is_worth = n as f64 * lane_time >= f64::from(options.threaded_from);
        let is_few = members.len() < MEMBERS_PER_THREAD * self.shared.pool.threads();
        let is_large = n.saturating_mul(self.lane_bytes as u64) >= options.tuned_from;
        let is_alone = is_large || is_worth && is_few;
        if is_alone || self.in_order || members.iter().any(|params| self.is_far(params)) {
            return self.launch_each(&members, n);
        }
        let walk = Walk { code: self.code.clone(), lane_buffers: self.lane_buffers.clone() };
        let member_time = MEMBER_TIME + n as f64 * lane_time;
        #[expect(clippy::cast_possible_truncation, reason = "an estimate")]
        let per_claim = ((WORTH_A_CLAIM / member_time) as usize).clamp(1, members.len());
        let n_claims = members.len().div_ceil(per_claim) as u64;
        let n_buffers = self.n_buffers;
        let block = block_of(&walk.code, walk.code.packet.lanes() as u64, lane_time);
        let batch = Arc::new(Batch {
            walk,
            members,
            n_buffers,
            n,
            block,
            per_claim,
            n_accesses: self.n_accesses,
            failures: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        if n_claims > 1 && self.shared.pool.threads() > 1 {
            let shared = batch.clone();
            self.shared.pool.run(n_claims, Arc::new(move |claims| shared.work(claims)));
        } else {
            batch.work(&Chunks::new(n_claims).claims(0));
        }
        batch.finish()
    }

    /// Not where far code may turn out to be interpreted.
    fn writes_in_place(&self) -> bool {
        self.lengths.is_empty()
    }
}

impl RunsRanges for Loaded {
    fn run_range(&self, params: ParamBlock, lanes: Range<u64>) -> Result<Ran> {
        let far = self.is_far(&params);
        let code = match far {
            false => self.choose(&params, lanes.end - lanes.start),
            true => match self.far()? {
                Far::Compiled(code) => (code.clone(), None),
                Far::Interpreted(interpreted) => return interpreted.run_range(params, lanes),
            },
        };
        self.run(code, far, params, lanes, |launch, _| launch.finish_range())
    }
}

/// The fewest lanes that a thread claims: what is worth it, or all that are summed in one order.
fn least_claim(code: &Compiled, lane_time: f64) -> u64 {
    let packet = code.packet.lanes() as u64;
    if code.reductions.iter().any(Reduction::is_ordered) {
        return CHUNK as u64;
    }
    #[expect(clippy::cast_possible_truncation, reason = "an estimate")]
    let lanes = if code.repeats { packet } else { (WORTH_A_CLAIM / lane_time) as u64 };
    lanes.max(packet * code.tile as u64).next_power_of_two().clamp(packet, CHUNK as u64)
}

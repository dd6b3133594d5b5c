//! What a device is to the rest: a compiler of kernels, primitives, memory.

use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::memory::{Counts, Memory, Parcel, Piece, Reach};
use super::outside::Listener;
use super::part_notes::{Exchange, Operand, PartNotes};
use super::primitive::{PrimitiveCall, Room};
use super::ranks::Machine;
use super::reduce::Subtree;
use super::sorted_run::{Look, SortedRun};
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, LiteralMode, ParamBlock};

/// A device with its compiler.
pub trait Backend: Send + Sync {
    /// Name shown to people: `interp (AVX-512)`.
    fn name(&self) -> String;

    /// What only GPUs of this process have.
    fn gpu(&self) -> Option<&dyn GpuBackend> {
        None
    }

    /// The GPU that it computes on, here or elsewhere, by a number that no other has, as far as its driver tells; `None` on
    /// processors.
    fn gpu_id(&self) -> Option<u128> {
        self.gpu().map(|gpu| gpu.number().into())
    }

    /// Compiles a kernel. Pure: the same kernel gives the same code, and nothing is launched.
    ///
    /// # Errors
    /// A resource that the device lacks; the session stays usable.
    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>>;

    /// Begins to compile a kernel, where that is elsewhere; what waits for the code.
    fn begin_lower<'c>(
        &'c self,
        kernel: &'c Kernel,
        mode: LiteralMode,
    ) -> Begun<'c, Arc<dyn Executable>> {
        Box::new(move || self.lower(kernel, mode))
    }

    /// The machine code of a kernel as text, each instruction under the kernel's instruction that it
    /// belongs to; `None` if the device runs no machine code of ours.
    ///
    /// # Errors
    /// As for [`Backend::lower`].
    fn disassemble(&self, _kernel: &Kernel, _mode: LiteralMode) -> Result<Option<String>> {
        Ok(None)
    }

    /// Runs a primitive; `room` hands out working memory of the device.
    ///
    /// # Errors
    /// `Interrupted`, and what `room` fails with; the result is undefined then.
    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()>;

    /// Begins a primitive, with working memory of the device's own; how long it took there.
    ///
    /// # Panics
    /// Where this process would run it.
    fn begin_primitive(&self, _call: &PrimitiveCall) -> Begun<'_, Duration> {
        unreachable!("internal error: a primitive that runs here is not begun")
    }

    /// Runs calls of one primitive, whose operands and results have the same sizes and types.
    ///
    /// # Errors
    /// As [`Backend::run_primitive`].
    fn run_primitives(&self, calls: &[PrimitiveCall], room: Room<'_>) -> Result<()> {
        calls.iter().try_for_each(|call| self.run_primitive(call, room))
    }

    /// Whether a failure has made it useless: what it has of arrays is lost, and it must be opened anew.
    fn is_lost(&self) -> bool {
        self.gpu().is_some_and(GpuBackend::is_lost)
    }

    /// Lets go of what others wait for, before the process ends or another device takes its place: of those others nothing is
    /// asked any more.
    fn leave(&self) {}

    /// Tells it who counts what sessions use of its memory, where it needs some beside what it is handed.
    fn count_in(&self, _memory: Weak<dyn Counts>) {}

    /// How many parts it has, each with memory of its own.
    fn parts(&self) -> usize {
        1
    }

    /// What its parts have done since this was last asked.
    fn take_notes(&self) -> PartNotes {
        PartNotes::default()
    }

    /// What its parts will bring each other for a launch over `n` lanes, if it has parts and arrays lie as launches leave them.
    fn exchange(&self, _kernel: &Kernel, _n: u64, _operands: &[Operand]) -> Option<Exchange> {
        None
    }

    /// The machine that it is on, if that is another one.
    fn host(&self) -> Option<&Machine> {
        None
    }

    /// The process of this machine that its memory is in, where the system copies from and to that by address and this one does
    /// not have it.
    fn process(&self) -> Option<Reach> {
        None
    }

    /// Begins to copy from the memory of other processes to its own, which is in another one; whether the system could.
    fn begin_fetch(&self, _pieces: Vec<Piece>) -> Begun<'_, bool> {
        Box::new(|| Ok(false))
    }

    /// Its number among ranks that send each other messages.
    fn rank(&self) -> Option<usize> {
        None
    }

    /// Begins to send bytes of its memory to other ranks, and to receive theirs: all of them are asked for their sides.
    fn begin_exchange(&self, _sends: Vec<Parcel>, _receives: Vec<Parcel>) -> Begun<'_, ()> {
        unreachable!("internal error: messages to who is no rank")
    }

    /// Begins to look at sorted words of its memory, all at once where that is elsewhere; what waits for what there is to see.
    fn begin_look(&self, run: SortedRun, look: Look) -> Begun<'_, Vec<u128>> {
        Box::new(move || run.look(self.memory(), &look))
    }

    /// How it sends bytes to GPUs of other processes by itself, if it is one and its library may be there.
    fn communicator(&self) -> Option<&dyn Communicator> {
        None
    }

    /// Bytes that each of its parts has of those from an address on, if it has parts.
    fn held_by_parts(&self, _address: u64, _bytes: u64) -> Option<Vec<u64>> {
        None
    }

    /// The memory of the device.
    fn memory(&self) -> &dyn Memory;

    /// Waits until all launched work is done.
    ///
    /// # Errors
    /// `Interrupted`; the work goes on then. A failure of work launched earlier.
    fn sync(&self) -> Result<()>;

    /// Gets ready for a fork of the process: waits until all work is done, ends its threads, and leaves what both processes
    /// will have as it is. Whether both can go on; the other one cannot where a driver or another process is behind it.
    ///
    /// # Errors
    /// As [`Backend::sync`].
    fn before_fork(&self) -> Result<bool> {
        Ok(false)
    }
}

/// A GPU among those of other processes, to which it sends bytes by itself. Each has a number; who leads them has all of them
/// do the same, and asks when it is done: none of them waits for another that may be gone.
pub trait Communicator {
    /// What all of them need to know to meet, made by the leader's; `None` where that is not wanted.
    ///
    /// # Errors
    /// There is no library for it.
    fn invite(&self) -> Result<Option<Vec<u8>>>;

    /// Who is told that it is waited for.
    fn listener(&self) -> Listener {
        Listener::Nobody
    }

    /// Begins to meet the others, as this number of so many.
    fn begin_join(&self, invitation: Vec<u8>, place: [usize; 2]) -> Begun<'_, ()>;

    /// Begins to send bytes of its memory, and to receive, once what it was given before is done; what goes from one to another
    /// is in the same order at both.
    fn begin_exchange(&self, sends: Vec<Parcel>, receives: Vec<Parcel>) -> Begun<'_, ()>;

    /// Waits a moment for what was begun; whether it is done.
    fn begin_settle(&self) -> Begun<'_, bool>;

    /// Gives up the others, and what was begun.
    fn begin_leave(&self) -> Begun<'_, ()>;
}

/// A device whose driver has a compiler of its own, and whose failures lose its memory.
pub trait GpuBackend: Any {
    /// Its number.
    fn number(&self) -> u32;

    /// Has it and another GPU reach each other's memory, where the host is made so; else copies go over the bus.
    fn meet(&self, _other: &dyn GpuBackend) {}

    /// Begins to copy from the memory of another GPU of the same kind, behind what both were given; nobody waits for it. What
    /// comes later is behind it once this has come to its end, so copies that begin together go beside each other.
    ///
    /// # Errors
    /// A failure of either; `NoDevice` if it is of another kind.
    fn begin_bring<'g>(
        &'g self,
        _target: u64,
        _from: &'g dyn GpuBackend,
        _source: u64,
        _bytes: usize,
    ) -> Begun<'g, ()> {
        let reason = "it takes nothing of others".into();
        Box::new(|| Err(Error::NoDevice { name: "cuda".into(), reason }))
    }

    /// Waits for all work on it, that of other libraries of this process, too.
    ///
    /// # Errors
    /// A failure of the device.
    fn wait_for_everyone(&self) -> Result<()> {
        Ok(())
    }

    /// Which of its kinds of code a kernel for a number of lanes of each of some members gets.
    fn variant(&self) -> fn(&Kernel, u64, usize) -> u64 {
        |_, _, _| 0
    }

    /// Whether lanes, so many of so many operations each, are computed in a launch before the one that reduces them.
    fn apart(&self) -> fn(u64, u32) -> bool {
        |_, _| false
    }

    /// A kernel that gives the same bits, compiles in less time and runs slower, for the first launch of
    /// this one over `n` lanes; `None` if there is none, if it does not pay for so many, or if this one was
    /// compiled by an earlier process.
    fn quick_version(&self, _kernel: &Kernel, _mode: LiteralMode, _n: u64) -> Option<Kernel> {
        None
    }

    /// The text that the driver's compiler gets of a kernel; `None` if it runs on the host.
    fn source(&self, _kernel: &Kernel, _mode: LiteralMode) -> Option<String> {
        None
    }

    /// Launches what makes the device fail, to test what follows.
    ///
    /// # Errors
    /// Why it cannot be launched.
    fn fail(&self) -> Result<()> {
        Ok(())
    }

    /// What its processor can: 90 for 9.0.
    fn capability(&self) -> u32 {
        0
    }

    /// Loads machine code, or PTX, of others.
    ///
    /// # Errors
    /// It is not for this GPU.
    fn load(&self, _code: &[u8]) -> Result<Arc<dyn LoadedModule>> {
        Err(Error::NoDevice { name: "cuda".into(), reason: "it takes no code of others".into() })
    }

    /// Whether a failure has made the device useless: its memory is lost, and it must be opened anew.
    fn is_lost(&self) -> bool {
        false
    }
}

/// Code of others on a GPU.
pub trait LoadedModule: Send + Sync {
    /// An entry whose parameters have these sizes in bytes; their number is sure if it comes from the source.
    ///
    /// # Errors
    /// There is no such entry; `Kernel` if its parameters are others.
    fn entry(
        self: Arc<Self>,
        name: &str,
        sizes: &[usize],
        is_sure: bool,
    ) -> Result<Arc<dyn LoadedEntry>>;

    /// Address and bytes of a variable of the module; `None` if it has none of this name.
    fn variable(&self, name: &str) -> Option<[u64; 2]>;
}

/// An entry of code of others.
pub trait LoadedEntry: Send + Sync {
    /// Threads that a block may have at most, and that occupy the GPU best.
    fn threads(&self, shared_bytes: u32) -> [u32; 2];

    /// Bytes of shared memory that a block may have.
    fn most_shared(&self) -> u32;

    /// Registers of a thread, and bytes of its memory.
    fn resources(&self) -> [u32; 2];

    /// Queues a launch; each argument is the bytes of a parameter, lowest first. What the entry does is its author's.
    ///
    /// # Errors
    /// The driver refuses it, or one that was queued before.
    fn launch(&self, shape: LaunchShape, args: SmallVec<[u64; 8]>) -> Result<()>;
}

/// Blocks and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of each block.
    pub block: [u32; 3],
    /// Bytes of shared memory of each block, beyond what the entry declares.
    pub shared_bytes: u32,
    /// Whether all blocks run at once, so that they can wait for each other.
    pub is_cooperative: bool,
}

/// A compiled kernel.
pub trait Executable: Send + Sync {
    /// Runs `n` lanes, or sees to it that they run before what is launched or read later; error, abort and
    /// scratch words of `params` are set here.
    ///
    /// # Errors
    /// `Interrupted` if the interrupt flag was raised, unless `params` are in place; written buffers are
    /// undefined then.
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched>;

    /// Begins to run them, where that is elsewhere; what waits for their end.
    fn begin(&self, params: ParamBlock, n: u64) -> Begun<'_, Launched> {
        Box::new(move || self.launch(params, n))
    }

    /// Runs `n` lanes of each of several members, which write no other's memory. What fails is told of one member's
    /// accesses after the other's, or of none.
    ///
    /// # Errors
    /// As [`Executable::launch`].
    fn launch_all(&self, members: Arc<Vec<ParamBlock>>, n: u64) -> Result<Launched> {
        self.launch_each(&members, n)
    }

    /// The same, one after the other.
    ///
    /// # Errors
    /// As [`Executable::launch`].
    fn launch_each(&self, members: &[ParamBlock], n: u64) -> Result<Launched> {
        let launched = members.iter().map(|params| self.launch(params.clone(), n));
        Ok(Launched::together(launched.collect::<Result<_>>()?))
    }

    /// Whether a launch that fails with `OutOfMemory` has written nothing: then what it writes in place is as it was.
    fn asks_for_memory_first(&self) -> bool {
        false
    }

    /// Makes ready what a launch of `n` lanes needs beside it, so that compiling is over when it begins.
    ///
    /// # Errors
    /// As [`Backend::lower`].
    fn prepare(&self, _n: u64) -> Result<()> {
        Ok(())
    }

    /// Whether an output may have the address of an input that has no further use. By default it may not:
    /// the interpreter's loops need distinct blocks.
    ///
    /// Code that says yes promises for every launch whose parameters are marked [`ParamBlock::in_place`]:
    /// * a lane reads its element of the input before it writes its element of the output, provided that
    ///   no instruction behind the stored value uses the load, or a conversion or magnitude of it that
    ///   changes no bits (nor is the input gathered from, reduced or
    ///   scattered as it is): so instructions of a lane keep their order, values may be stored as soon as
    ///   they are computed, and a load is not repeated behind that;
    /// * no lane is computed twice, neither at a ragged end nor by two threads;
    /// * the launch ignores the interrupt flag and runs to its end, since nothing could be restored. The
    ///   evaluator sees to it that it is short.
    fn writes_in_place(&self) -> bool {
        false
    }

    /// About how many nanoseconds `n` lanes take on one thread.
    fn nanoseconds(&self, n: u64) -> f64 {
        // What the interpreter takes for a few operations.
        10.0 * n as f64
    }

    /// What runs some lanes of a launch, where the device can.
    fn ranges(&self) -> Option<&dyn RunsRanges> {
        None
    }

    /// What the compiler says of the code.
    fn statistics(&self) -> CodeStatistics;

    /// About how many bytes it takes as long as somebody holds it.
    fn held_bytes(&self) -> usize {
        self.statistics().bytes
    }
}

/// Code that runs some lanes of a launch, while others run elsewhere.
pub trait RunsRanges: Send + Sync {
    /// Runs the lanes of a range that starts at a multiple of a chunk of reductions. Lanes have the numbers that they
    /// have in the whole launch, and addresses are those of lane 0. Reductions are not stored.
    ///
    /// # Errors
    /// As [`Executable::launch`].
    fn run_range(&self, params: ParamBlock, lanes: Range<u64>) -> Result<Ran>;

    /// Begins to run them, where that is elsewhere; what waits for their end.
    fn begin_range(&self, params: ParamBlock, lanes: Range<u64>) -> Begun<'_, Ran> {
        Box::new(move || self.run_range(params, lanes))
    }
}

/// What waits for lanes that others run, or runs them; it is to be called whatever else fails, or who was asked is given up.
pub type Begun<'c, T> = Box<dyn FnOnce() -> Result<T> + 'c>;

/// What came of some lanes of a launch.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Ran {
    /// How long they took, if somebody looked where they ran.
    pub time: Option<Duration>,
    /// What was out of bounds.
    pub failures: Failures,
    /// For each reduction the subtrees that cover the lanes.
    pub covers: Vec<Vec<Subtree>>,
}

/// For each access of a kernel the lowest lane that was out of bounds, if one was.
pub type Failures = Vec<Option<OutOfBounds>>;

/// A launch, as the caller has it.
pub enum Launched {
    /// All lanes have run.
    Done {
        /// What was out of bounds.
        failures: Failures,
        /// What kept them on one thread, if there are more.
        alone: Option<Alone>,
    },
    /// The lanes run when the device comes to them.
    Running(Box<dyn Running>),
    /// The lanes run when a thread has time.
    Queued(Arc<Pending>),
}

impl Launched {
    /// All of several launches.
    fn together(launches: Vec<Self>) -> Self {
        let is_done = |launched: &Self| matches!(launched, Self::Done { .. });
        if !launches.iter().all(is_done) {
            return Self::Running(Box::new(Each(launches)));
        }
        Self::Done { failures: Each(launches).failures(), alone: None }
    }

    /// The launch, if it is in line.
    pub fn pending(&self) -> Option<Arc<Pending>> {
        match self {
            Self::Queued(pending) => Some(pending.clone()),
            Self::Done { .. } | Self::Running(_) => None,
        }
    }
}

/// Launches one after the other.
struct Each(Vec<Launched>);

impl Running for Each {
    fn failures(&self) -> Failures {
        let of = |launched: &Launched| match launched {
            Launched::Done { failures, .. } => failures.clone(),
            Launched::Running(running) => running.failures(),
            Launched::Queued(pending) => pending.failures(),
        };
        self.0.iter().flat_map(of).collect()
    }

    fn is_done(&self) -> bool {
        self.0.iter().all(|launched| match launched {
            Launched::Done { .. } => true,
            Launched::Running(running) => running.is_done(),
            Launched::Queued(pending) => pending.is_done(),
        })
    }

    fn is_waiting(&self) -> bool {
        self.0.iter().any(|launched| match launched {
            Launched::Done { .. } => false,
            Launched::Running(running) => running.is_waiting(),
            Launched::Queued(pending) => pending.is_waiting(),
        })
    }
}

/// A launch in line, or what became of it.
#[derive(Debug)]
pub struct Pending {
    since: Instant,
    outcome: OnceLock<Outcome>,
}

/// How a launch went that was in line.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was out of bounds.
    pub failures: Failures,
    /// When it began.
    pub start: Instant,
    /// How long it took.
    pub time: Duration,
    /// Who ran it: 0 is who waited for it, others are threads besides.
    pub worker: usize,
}

impl Default for Pending {
    fn default() -> Self {
        Self::since(Instant::now())
    }
}

impl Pending {
    /// Of a launch that is in line since then.
    pub(super) const fn since(since: Instant) -> Self {
        Self { since, outcome: OnceLock::new() }
    }

    pub(super) fn finish(&self, outcome: Outcome) {
        // A launch is done once.
        drop(self.outcome.set(outcome));
    }

    /// How it went, if it is done, and how long it was in line before.
    pub fn outcome(&self) -> Option<(&Outcome, Duration)> {
        let outcome = self.outcome.get()?;
        Some((outcome, outcome.start.saturating_duration_since(self.since)))
    }
}

impl Running for Arc<Pending> {
    fn failures(&self) -> Failures {
        self.outcome.get().map(|outcome| outcome.failures.clone()).unwrap_or_default()
    }

    fn is_done(&self) -> bool {
        self.outcome.get().is_some()
    }

    fn is_waiting(&self) -> bool {
        !self.is_done()
    }
}

/// Why the lanes of a launch did not share threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// They write one after the other.
    InOrder,
    /// There are no more than a thread takes at a time.
    FewLanes,
}

/// A launch under way.
pub trait Running: Send + Sync {
    /// What failed; to be asked once the device has been waited for.
    fn failures(&self) -> Failures;

    /// Whether it is known to be done, without waiting.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether it is known not to be done, though the device has been waited for: it came meanwhile.
    fn is_waiting(&self) -> bool {
        false
    }
}

/// An index outside its buffer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct OutOfBounds {
    /// Lane of the launch.
    pub lane: u64,
    /// The index, extended to 64 bits (with its sign if its type has one).
    pub index: u64,
}

/// Size and resources of compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeStatistics {
    /// Bytes of code.
    pub bytes: usize,
    /// Registers, or slots of the interpreter.
    pub registers: usize,
    /// Values kept in memory for lack of registers.
    pub spills: usize,
    /// Where it came from.
    pub origin: Origin,
}

/// Where compiled code came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Our own compiler.
    #[default]
    Own,
    /// The driver's compiler, in that time.
    Driver(Duration),
    /// The disk: an earlier process had it compiled.
    Disk,
}

impl Origin {
    /// Where code of two parts came from, which were compiled side by side: what took longest decides.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Driver(one), Self::Driver(other)) => Self::Driver(one.max(other)),
            (Self::Driver(time), _) | (_, Self::Driver(time)) => Self::Driver(time),
            (Self::Disk, _) | (_, Self::Disk) => Self::Disk,
            (Self::Own, Self::Own) => Self::Own,
        }
    }
}

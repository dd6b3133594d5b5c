//! A processor that runs launches behind the script's back (S28): they begin when what they touch is free, on any
//! thread that has time, while the script goes on.
//!
//! | file | content |
//! |---|---|
//! | `works.rs` | what waits for what: works by the blocks that they read and write |
//! | `workers.rs` | who runs them: threads that have time, and whoever waits |
//!
//! Around any device of host memory, which runs each launch as it would alone. Reading a block waits for what writes
//! it; blocks go back and forth between arrays without waiting, since who gets one next touches it later.
//!
//! An interrupted launch has left nothing behind: it is run again when somebody wants what it gives. So what could
//! not be run twice, a launch that changes what it reads, is waited for, and so is what takes long or may never end.

mod workers;
mod works;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hashbrown::HashSet;

use self::workers::{Work, Workers};
use self::works::{Load, Use};
use super::primitive::{MemoryArray, PrimitiveCall, Room};
use super::thread_pool::Pool;
use super::{Backend, Capacity, CodeStatistics, Executable, Launched, Memory, Outcome, Pending};
use crate::error::Result;
use crate::ir::kernel::{Code, HEADER_WORDS, Kernel, LiteralMode, ParamBlock};

/// What a launch must be worth, in nanoseconds on one thread.
#[derive(Clone, Copy, Debug)]
pub struct Worth {
    /// To be handed over.
    pub handing_over: f64,
    /// To share all threads.
    pub sharing: f64,
}

/// Nanoseconds on one thread from which on a launch is waited for: an interrupt then leaves its results as they were.
const LONG: f64 = 2.5e8;

/// A launch that waited longer for others tells of its own time.
const NOTED: Duration = Duration::from_millis(1);

impl Default for Worth {
    fn default() -> Self {
        Self { handing_over: 5e3, sharing: 40e3 }
    }
}

/// A processor with launches under way.
pub struct Queue {
    device: Arc<dyn Backend>,
    line: Arc<Line>,
    memory: QueuedMemory,
}

/// What the parts share.
struct Line {
    workers: Workers,
    worth: Worth,
    blocks: RwLock<Blocks>,
}

/// The blocks that were handed out.
#[derive(Default)]
struct Blocks {
    starts: HashSet<u64>,
    /// Bytes of each, by its address.
    bytes: BTreeMap<u64, u64>,
}

impl Blocks {
    fn a_use(&self, address: u64, writes: bool) -> Use {
        // Most are touched from their first byte on.
        if self.starts.contains(&address) {
            return Use { block: address, writes };
        }
        let before = self.bytes.range(..=address).next_back();
        let before = before.filter(|&(&block, &bytes)| address - block < bytes);
        // Memory of others is not written.
        Use { block: before.map_or(address, |(&block, _)| block), writes }
    }
}

fn lock<T>(locked: std::result::Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// Launches of `device`, whose memory is the host's, on the threads of `pool`.
    pub fn new(device: Arc<dyn Backend>, pool: Arc<Pool>) -> Self {
        Self::with_worth(device, pool, Worth::default())
    }

    /// The same with launches in line of other worth.
    pub fn with_worth(device: Arc<dyn Backend>, pool: Arc<Pool>, worth: Worth) -> Self {
        let workers = Workers::new(pool);
        let line = Arc::new(Line { workers, worth, blocks: RwLock::default() });
        let memory = QueuedMemory { device: device.clone(), line: line.clone() };
        Self { device, line, memory }
    }
}

impl Line {
    fn a_use(&self, address: u64, writes: bool) -> Use {
        lock(self.blocks.read()).a_use(address, writes)
    }

    /// What launches of these parameters touch, of buffers of which each is written or not.
    fn uses<'p>(
        &self,
        members: impl Iterator<Item = &'p ParamBlock>,
        written: &[bool],
    ) -> Vec<Use> {
        let blocks = lock(self.blocks.read());
        let buffers = members.flat_map(|params| params.words()[HEADER_WORDS..].iter().zip(written));
        buffers.map(|(&address, &writes)| blocks.a_use(address, writes)).collect()
    }

    /// Waits until blocks can be touched. Where nothing is under way nobody looks for them, and they are none.
    fn wait_unless_idle(&self, uses: impl FnOnce() -> Vec<Use>) -> Result<Vec<Use>> {
        if self.workers.are_idle() {
            return Ok(Vec::new());
        }
        let uses = uses();
        self.workers.wait_for(&uses)?;
        Ok(uses)
    }

    fn wait_to_read(&self, address: u64) -> Result<()> {
        self.wait_unless_idle(|| vec![self.a_use(address, false)]).map(drop)
    }

    fn wait_to_write(&self, address: u64) -> Result<()> {
        let uses = self.wait_unless_idle(|| vec![self.a_use(address, true)])?;
        self.workers.mend(&uses);
        Ok(())
    }
}

impl Backend for Queue {
    fn name(&self) -> String {
        self.device.name()
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        let may_not_end = |code| matches!(code, Code::RegionStart { repeat: true });
        let code = self.device.lower(kernel, mode)?;
        Ok(Arc::new(Queued {
            code,
            line: self.line.clone(),
            written: kernel.buffers.iter().map(|buffer| buffer.written).collect(),
            waits: kernel.has_scatter() || kernel.insts.iter().any(|inst| may_not_end(inst.code)),
        }))
    }

    fn disassemble(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<String>> {
        self.device.disassemble(kernel, mode)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        self.run_primitives(std::slice::from_ref(call), room)
    }

    fn run_primitives(&self, calls: &[PrimitiveCall], room: Room<'_>) -> Result<()> {
        let uses = |call: &PrimitiveCall| {
            let a_use = |array: &MemoryArray, writes| self.line.a_use(array.address, writes);
            let read = call.operands.iter().map(|array| a_use(array, false));
            let written = [Some(call.result), call.imag].into_iter().flatten();
            read.chain(written.map(|array| a_use(&array, true))).collect::<Vec<_>>()
        };
        let uses = self.line.wait_unless_idle(|| calls.iter().flat_map(uses).collect())?;
        self.line.workers.mend(&uses);
        // Room may be a block that a launch under way still reads.
        self.device.run_primitives(calls, &|bytes| {
            let block = room(bytes)?;
            self.line.wait_to_write(block.address())?;
            Ok(block)
        })
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        self.line.workers.finish()
    }

    fn before_fork(&self) -> Result<bool> {
        self.line.workers.finish()?;
        self.device.before_fork()
    }
}

/// Code whose launches wait in line.
struct Queued {
    code: Arc<dyn Executable>,
    line: Arc<Line>,
    /// Of each buffer, whether it is written.
    written: Vec<bool>,
    /// Whether launches are waited for: they cannot be run again, or may never end.
    waits: bool,
}

impl Queued {
    /// Runs the lanes of members now where that is better, else has them run in their turn.
    fn start(&self, lanes: Lanes) -> Result<Launched> {
        let (workers, worth) = (&self.line.workers, self.line.worth);
        let members = lanes.members();
        let time = self.code.nanoseconds(lanes.n) * members.len() as f64;
        let is_short = time < worth.handing_over;
        let must_wait = self.waits || time >= LONG || members.iter().any(|params| params.at_once);
        if (must_wait || is_short) && workers.are_idle() {
            return lanes.run();
        }
        let uses = self.line.uses(members.iter(), &self.written);
        // What it overwrites is its results' already: it must run, and nothing interrupts it when it does.
        let in_place = members.iter().any(|params| params.in_place);
        let is_now = must_wait || is_short && !workers.touch(&uses);
        if !in_place && (is_now || !workers.has_room(uses.len())) {
            let came = Instant::now();
            workers.wait_for(&uses)?;
            let start = Instant::now();
            let launched = lanes.run()?;
            workers.mend(&uses);
            return Ok(if start - came > NOTED { begun(launched, came, start) } else { launched });
        }
        let pending = Arc::new(Pending::default());
        let work = Box::new(Later { lanes, pending: pending.clone() });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate, at most LONG"
        )]
        let load = Load { time: time as u64, is_wide: time >= worth.sharing };
        match in_place {
            true => workers.add(work, uses, load),
            false => workers.push(work, uses, load)?,
        }
        Ok(Launched::Queued(pending))
    }
}

impl Executable for Queued {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        self.start(Lanes { code: self.code.clone(), n, of: Of::One(params) })
    }

    fn launch_all(&self, members: Arc<Vec<ParamBlock>>, n: u64) -> Result<Launched> {
        self.start(Lanes { code: self.code.clone(), n, of: Of::Members(members) })
    }

    fn writes_in_place(&self) -> bool {
        self.code.writes_in_place()
    }

    fn nanoseconds(&self, n: u64) -> f64 {
        self.code.nanoseconds(n)
    }

    fn statistics(&self) -> CodeStatistics {
        self.code.statistics()
    }

    fn held_bytes(&self) -> usize {
        self.code.held_bytes()
    }
}

/// A launch that waited for others and began then: the time that it took is its own. One that a single thread ran, longer
/// than it waited, stays as it is: that is told.
fn begun(launched: Launched, came: Instant, start: Instant) -> Launched {
    let Launched::Done { failures, alone } = launched else { return launched };
    if alone.is_some() && start.elapsed() > start - came {
        return Launched::Done { failures, alone };
    }
    let pending = Arc::new(Pending::since(came));
    pending.finish(Outcome { failures, start, time: start.elapsed(), worker: 0 });
    Launched::Queued(pending)
}

/// Lanes of one launch, or of each member of a batch.
#[derive(Clone)]
struct Lanes {
    code: Arc<dyn Executable>,
    n: u64,
    of: Of,
}

#[derive(Clone)]
enum Of {
    One(ParamBlock),
    Members(Arc<Vec<ParamBlock>>),
}

impl Lanes {
    fn members(&self) -> &[ParamBlock] {
        match &self.of {
            Of::One(params) => std::slice::from_ref(params),
            Of::Members(members) => members,
        }
    }

    fn run(self) -> Result<Launched> {
        match self.of {
            Of::One(params) => self.code.launch(params, self.n),
            Of::Members(members) => self.code.launch_all(members, self.n),
        }
    }
}

/// A launch in line.
struct Later {
    lanes: Lanes,
    pending: Arc<Pending>,
}

impl Work for Later {
    fn run(&mut self, worker: usize) -> Result<()> {
        let start = Instant::now();
        if let Launched::Done { failures, .. } = self.lanes.clone().run()? {
            self.pending.finish(Outcome { failures, start, time: start.elapsed(), worker });
        }
        Ok(())
    }
}

/// A block on its way back to the system.
struct Free {
    device: Arc<dyn Backend>,
    address: u64,
    bytes: usize,
}

impl Work for Free {
    fn run(&mut self, _worker: usize) -> Result<()> {
        Ok(())
    }
}

impl Drop for Free {
    /// Also where it is never its turn.
    fn drop(&mut self) {
        self.device.memory().free_raw(self.address, self.bytes);
    }
}

/// The memory of the processor, which waits for the launches that touch a block.
struct QueuedMemory {
    device: Arc<dyn Backend>,
    line: Arc<Line>,
}

impl QueuedMemory {
    fn inner(&self) -> &dyn Memory {
        self.device.memory()
    }
}

impl Memory for QueuedMemory {
    fn alloc_raw(&self, bytes: usize) -> Option<u64> {
        let address = self.inner().alloc_raw(bytes).or_else(|| {
            // Blocks may be on their way back.
            self.line.workers.finish().ok()?;
            self.inner().alloc_raw(bytes)
        })?;
        let mut blocks = lock(self.line.blocks.write());
        // The last block that the system gives must leave room for what it is found by.
        if blocks.starts.try_reserve(1).is_err() {
            self.inner().free_raw(address, bytes);
            return None;
        }
        blocks.starts.insert(address);
        blocks.bytes.insert(address, bytes as u64);
        Some(address)
    }

    fn free_raw(&self, address: u64, bytes: usize) {
        let mut blocks = lock(self.line.blocks.write());
        blocks.starts.remove(&address);
        blocks.bytes.remove(&address);
        drop(blocks);
        let uses = [Use { block: address, writes: true }];
        if self.line.workers.touch(&uses) {
            let work = Free { device: self.device.clone(), address, bytes };
            self.line.workers.add(Box::new(work), uses.into(), Load::default());
        } else {
            self.line.workers.mend(&uses);
            self.inner().free_raw(address, bytes);
        }
    }

    fn fill(&self, address: u64, pattern: u64, bytes: usize, n: u64) -> Result<()> {
        self.line.wait_to_write(address)?;
        self.inner().fill(address, pattern, bytes, n)
    }

    fn expect_writes(&self, address: u64, bytes: usize, n: u64) -> Result<()> {
        self.line.wait_to_write(address)?;
        self.inner().expect_writes(address, bytes, n)
    }

    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        self.line.wait_to_read(source)?;
        self.line.wait_to_write(target)?;
        self.inner().copy(target, source, bytes)
    }

    fn write(&self, target: u64, source: &[u8]) -> Result<()> {
        self.line.wait_to_write(target)?;
        self.inner().write(target, source)
    }

    fn read(&self, source: u64, target: &mut [u8]) -> Result<()> {
        self.line.wait_to_read(source)?;
        self.inner().read(source, target)
    }

    fn is_ready(&self, address: u64) -> bool {
        let is_ready = !self.line.workers.touch(&[self.line.a_use(address, false)]);
        if !is_ready {
            self.line.workers.nudge();
        }
        is_ready
    }

    fn wait(&self, address: u64) -> Result<()> {
        self.line.wait_to_read(address)
    }

    fn capacity(&self) -> Capacity {
        self.inner().capacity()
    }

    fn owner(&self) -> String {
        self.inner().owner()
    }

    fn is_host(&self) -> bool {
        self.inner().is_host()
    }
}

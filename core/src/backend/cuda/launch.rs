//! Compiled kernels, and how they are launched.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::compiler::{Binary, Compiler};
use super::entries::Entries;
use super::gpu::{Function, Gpu, Grid, Module, Resources, Signal, Stream};
use super::halves::{Halves, Known, Table, VALUES};
use super::order::{N_COMPUTE, Use};
use super::ptx::{self, BATCH, CHUNK, FOLDED, LANES_PER_WARP, Sharing, Step};
use super::reports::{OfMembers, ReportWords, Words, index_types};
use crate::backend::{CodeStatistics, Executable, Launched, RunsRanges};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{
    BufferIndex, Code, Kernel, LiteralMode, MAX_DIRECT_BYTES, ParamBlock, WORD_ABORT, WORD_CHUNKS,
    WORD_ERRORS, WORD_LANE_BASE, WORD_SCRATCH, WORD_SIZE,
};

/// Threads of a block.
const THREADS: u32 = 256;
/// Threads of a block of the fold, whose warps should spread over the multiprocessors.
const FOLD_THREADS: u32 = 32;
/// Lanes of one launch, which error words count in 32 bits; a whole number of chunks.
const PIECE: u64 = 1 << 31;
/// Threads of a block that has elements for itself.
const PRIVATE_THREADS: u32 = 512;
/// Threads that a multiprocessor runs at once.
const THREADS_PER_PROCESSOR: u32 = 2048;
/// Members of one launch, blocks along y.
const MOST_MEMBERS: usize = 65_535;
/// Bytes of shared memory that every block may have.
const SHARED_BYTES: u64 = 48 << 10;
/// Lanes an element from which on it pays that a block clears and adds up elements of its own.
const LANES_PER_ELEMENT: u64 = 16;
/// How long an aborted loop may take to leave.
const PATIENCE: Duration = Duration::from_secs(5);

/// State that all kernels of a GPU share.
pub(super) struct Shared {
    pub(super) gpu: Arc<Gpu>,
    pub(super) compiler: Arc<Compiler>,
    /// What combines what the chunks of reductions leave, by its text.
    folds: Entries<String>,
    /// Steps of primitives.
    pub(super) steps: Arc<Entries<Step>>,
    /// Nonzero when loops should leave.
    abort: Signal,
    pub(super) reports: ReportWords,
    /// Memory that passes values between the parts of long kernels, which are all in the first stream.
    between: Mutex<Scratch>,
    /// Of each stream: its launches follow each other.
    rooms: [Rooms; N_COMPUTE],
}

/// Memory for the launches of a stream.
#[derive(Default)]
struct Rooms {
    /// Where the chunks of reductions meet.
    tree: Mutex<Tree>,
    /// Parameters that are too long to be passed, and those of batches: written in the order of launches.
    table: Mutex<Scratch>,
    /// Where the results for all half floats are.
    halves: Mutex<Table>,
}

#[derive(Default)]
pub(super) struct Scratch {
    address: u64,
    bytes: usize,
}

/// Room for the tree above chunks: counters, which are 0 between launches, and behind them words.
#[derive(Default)]
struct Tree {
    room: Scratch,
    /// Bytes of the counters.
    counters: usize,
}

impl Shared {
    pub(super) fn new(gpu: Arc<Gpu>, compiler: Arc<Compiler>) -> Result<Self> {
        let abort = gpu.signal()?;
        Ok(Self {
            folds: Entries::new(gpu.clone(), compiler.clone()),
            steps: Arc::new(Entries::new(gpu.clone(), compiler.clone())),
            compiler,
            abort,
            reports: ReportWords::new(gpu.clone()),
            between: Mutex::default(),
            rooms: Default::default(),
            gpu,
        })
    }

    /// Allocates scratch for `n_chunks × n_results` partial results and calls `work` with its address. Nobody
    /// else gets them until `work` returns, so launches of several threads do not come between those of one.
    pub(super) fn with_tree(
        &self,
        stream: Stream,
        n_chunks: u64,
        n_results: usize,
        work: impl FnOnce(u64) -> Result<()>,
    ) -> Result<()> {
        let (n_words, n_nodes) = ptx::tree_size(n_chunks, n_results as u64);
        let bytes = |n: u64, each| exactly::<usize>(n * each);
        let (words, counters) = (bytes(n_words, 8), bytes(n_nodes, 4).next_multiple_of(256));
        let mut tree =
            self.rooms[stream.number].tree.lock().unwrap_or_else(PoisonError::into_inner);
        if tree.counters < counters || tree.room.bytes - tree.counters < words {
            let counters = counters.max(tree.counters).next_multiple_of(1 << 12);
            tree.counters = 0;
            let address = self.grow(&mut tree.room, counters.saturating_add(words))?;
            self.gpu.fill(stream, address, 0, 4, counters / 4)?;
            tree.counters = counters;
        }
        let done = work(tree.room.address + tree.counters as u64);
        if done.is_err() {
            // What was launched may have counted without the others: the next launch clears the counters.
            tree.counters = 0;
        }
        done
    }

    /// Calls `work` with the address of room for what the parts of a launch leave to each other.
    pub(super) fn with_room_between(
        &self,
        bytes: usize,
        work: impl FnOnce(u64) -> Result<()>,
    ) -> Result<()> {
        let mut between = self.between.lock().unwrap_or_else(PoisonError::into_inner);
        work(self.grow(&mut between, bytes)?)
    }

    /// As [`Table::work`], with the table of the stream.
    pub(super) fn with_table(
        &self,
        stream: Stream,
        work: impl FnOnce(&mut Option<Known>, [u64; 3]) -> Result<()>,
    ) -> Result<()> {
        let mut table =
            self.rooms[stream.number].halves.lock().unwrap_or_else(PoisonError::into_inner);
        let address = self.grow(&mut table.room, Table::BYTES)?;
        table.work(&self.gpu, stream, address, work)
    }

    fn grow(&self, scratch: &mut Scratch, bytes: usize) -> Result<u64> {
        if scratch.bytes < bytes {
            let old = std::mem::take(scratch);
            if old.bytes > 0 {
                self.gpu.free(old.address);
            }
            let bytes = bytes.next_multiple_of(1 << 20);
            let address = self.gpu.alloc(bytes).ok_or_else(|| self.exhausted(bytes))?;
            *scratch = Scratch { address, bytes };
        }
        Ok(scratch.address)
    }

    fn exhausted(&self, bytes: usize) -> Error {
        Error::DeviceFailed {
            device: self.gpu.short_name(),
            what: "making room for a launch",
            reason: format!("no {bytes} bytes are left"),
            lost: false,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let between = std::mem::take(&mut self.between);
        let of_streams = self.rooms.iter_mut().flat_map(|rooms| {
            let Rooms { tree, table, halves } = std::mem::take(rooms);
            [taken(tree).room, taken(table), taken(halves).room]
        });
        for Scratch { address, bytes } in of_streams.chain([taken(between)]) {
            if bytes > 0 {
                self.gpu.free(address);
            }
        }
    }
}

fn taken<T>(room: Mutex<T>) -> T {
    room.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A kernel that the driver has compiled and loaded.
pub(super) struct Loaded {
    pub(super) shared: Arc<Shared>,
    module: Module,
    entry: Function,
    /// Words of the addresses of its buffers, and whether these are written.
    pub(super) buffers: Vec<(usize, bool)>,
    /// Combines what the chunks of reductions leave.
    fold: Option<Fold>,
    /// The same where there are only some of the chunks.
    pub(super) cover: Option<Cover>,
    /// Adds into few elements.
    private: Option<Private>,
    /// A function of one half float.
    halves: Option<Halves>,
    sharing: Sharing,
    threads: u32,
    /// Types of the checked indices.
    index_types: Vec<DType>,
    /// Whether there are loops, which an interrupt ends.
    pub(super) has_loops: bool,
    /// Whether it runs the members of a batch.
    is_batch: bool,
    statistics: CodeStatistics,
}

/// What combines what the chunks of a launch leave.
struct Fold {
    entry: FoldEntry,
    /// Words of the addresses of its results in the parameter block of the reductions.
    results: Vec<usize>,
}

/// An entry that combines what chunks leave.
pub(super) struct FoldEntry {
    entry: Function,
    kernel: Kernel,
}

/// What combines the chunks of subtrees; made for the first launch of some lanes.
pub(super) struct Cover {
    kernel: Kernel,
    entry: OnceLock<FoldEntry>,
}

impl Cover {
    /// `None` of kernels without reductions.
    fn of(kernel: &Kernel) -> Option<Self> {
        kernel.reductions().next()?;
        Some(Self { kernel: ptx::cover_of(kernel), entry: OnceLock::new() })
    }

    pub(super) fn n_results(&self) -> usize {
        self.kernel.buffers.len()
    }

    /// # Errors
    /// What the driver says.
    pub(super) fn entry(&self, shared: &Shared) -> Result<&FoldEntry> {
        if let Some(entry) = self.entry.get() {
            return Ok(entry);
        }
        let made = FoldEntry::new(shared, self.kernel.clone())?;
        // Another thread's is as good.
        Ok(self.entry.get_or_init(|| made))
    }
}

/// An entry whose blocks add into elements of their own.
struct Private {
    entry: Function,
    threads: u32,
    /// Word of the number of elements.
    length: usize,
    /// Bytes of an element.
    bytes: u64,
}

impl Loaded {
    pub(super) fn new(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Result<Self> {
        let gpu = &shared.gpu;
        let (binary, fold) = std::thread::scope(|scope| {
            let fold = || Fold::of(shared, kernel).transpose();
            // Compiled beside the kernel, unless the system refuses a thread.
            let beside = || std::thread::Builder::new().spawn_scoped(scope, fold).ok();
            let beside = kernel.reductions().next().and_then(|_| beside());
            let binary = shared.compiler.load(&shared.compiler.source(kernel, mode));
            let fold = match beside.map(std::thread::ScopedJoinHandle::join) {
                Some(fold) => fold.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                None => fold(),
            };
            (binary, fold)
        });
        let Binary { module, bytes, origin } = binary?;
        let entry = gpu.function(&module, &ptx::entry_name(kernel))?;
        let sharing = Sharing::of(kernel);
        let private = match ptx::private_target(kernel) {
            Some(target) => Some(Private::new(gpu, &module, kernel, target)?),
            None => None,
        };
        let Resources { registers, local_bytes, most_threads } = gpu.resources(entry);
        let threads = THREADS.min(most_threads / 32 * 32).max(32);
        let repeats = |code| matches!(code, Code::RegionStart { repeat: true });
        Ok(Self {
            shared: shared.clone(),
            module,
            entry,
            buffers: address_words(kernel),
            fold: fold?,
            cover: Cover::of(kernel),
            private,
            halves: Halves::of(kernel, gpu),
            sharing,
            threads,
            index_types: index_types(kernel),
            has_loops: kernel.insts.iter().any(|inst| repeats(inst.code)),
            is_batch: kernel.variant & BATCH != 0,
            statistics: CodeStatistics {
                bytes,
                registers: registers as usize,
                spills: local_bytes as usize / 4,
                origin,
            },
        })
    }

    /// Runs lanes of a launch in pieces.
    pub(super) fn start(
        &self,
        stream: Stream,
        params: &mut ParamBlock,
        lanes: Range<u64>,
        errors: Option<&Words>,
    ) -> Result<()> {
        for piece in 0..(lanes.end - lanes.start).div_ceil(PIECE) {
            let start = lanes.start + piece * PIECE;
            let length = PIECE.min(lanes.end - start);
            if let Some(halves) = &self.halves
                && halves.run(&self.shared, stream, params, (start, length), |params| {
                    self.run_piece(stream, params, (0, VALUES))
                })?
            {
                continue;
            }
            if let Some(errors) = errors {
                params.set(WORD_ERRORS, errors.address(exactly::<usize>(piece)));
            }
            self.run_piece(stream, params, (start, length))?;
        }
        Ok(())
    }

    /// Launches the entry for lanes from one on.
    fn run_piece(
        &self,
        stream: Stream,
        params: &mut ParamBlock,
        (start, length): (u64, u64),
    ) -> Result<()> {
        params.set(WORD_SIZE, length);
        params.set(WORD_LANE_BASE, start);
        let threads = self.sharing.threads(length);
        // A small launch spreads over the multiprocessors.
        let spread = threads.div_ceil(u64::from(self.shared.gpu.multiprocessors));
        let spread = exactly::<u32>(spread.next_multiple_of(32));
        let block = self.threads.min(spread.max(64));
        let blocks = exactly::<u32>(threads.div_ceil(block.into()));
        let grid = Grid::of(blocks, block);
        let private = self.private.as_ref().and_then(|private| {
            Some((private.entry, private.grid(params, threads, length, &self.shared.gpu)?))
        });
        let (entry, grid) = private.unwrap_or((self.entry, grid));
        match self.is_batch {
            true => self.shared.launch_from_memory(stream, entry, grid, params.words()),
            false => self.shared.launch(stream, entry, grid, params.words()),
        }
    }

    /// Launches in a stream; the words of its errors, if there may be some.
    pub(super) fn launch_in(
        &self,
        stream: Stream,
        mut params: ParamBlock,
        n: u64,
    ) -> Result<Option<Words>> {
        let shared = &self.shared;
        let errors = self.prepare(&mut params, &(0..n))?;
        if let Some(fold) = &self.fold {
            let n_chunks = n.div_ceil(CHUNK);
            params.set(WORD_CHUNKS, n_chunks);
            shared.with_tree(stream, n_chunks, fold.results.len(), |words| {
                params.set(WORD_SCRATCH, words);
                self.start(stream, &mut params, 0..n, errors.as_ref())?;
                if n_chunks == 1 {
                    return Ok(());
                }
                let results = fold.results.iter().map(|&word| params.words()[word]);
                fold.entry.launch(shared, stream, (words, 0), n_chunks, results)
            })?;
        } else {
            self.start(stream, &mut params, 0..n, errors.as_ref())?;
        }
        if self.has_loops {
            shared.wait_for_loops(stream)?;
        }
        Ok(errors)
    }

    /// Sets what lanes of a launch report to; the words of their errors, if there may be some.
    pub(super) fn prepare(
        &self,
        params: &mut ParamBlock,
        lanes: &Range<u64>,
    ) -> Result<Option<Words>> {
        params.set(WORD_ABORT, self.shared.abort.address);
        if self.index_types.is_empty() {
            return Ok(None);
        }
        let pieces = exactly::<usize>((lanes.end - lanes.start).div_ceil(PIECE));
        self.shared.reports.take(&self.index_types, lanes.start, pieces, PIECE).map(Some)
    }
}

/// Words of the addresses of a kernel's buffers, and whether these are written.
pub(super) fn address_words(kernel: &Kernel) -> Vec<(usize, bool)> {
    let word = |i: usize| (kernel.address_word(BufferIndex(exactly(i))), kernel.buffers[i].written);
    (0..kernel.buffers.len()).map(word).collect()
}

/// The blocks that a launch uses.
pub(super) fn uses(buffers: &[(usize, bool)], params: &ParamBlock) -> impl Iterator<Item = Use> {
    buffers.iter().map(|&(word, written)| {
        let address = params.words()[word];
        if written { Use::Write(address) } else { Use::Read(address) }
    })
}

impl Executable for Loaded {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        let turn = self.shared.gpu.turn(uses(&self.buffers, &params), None)?;
        let errors = self.launch_in(turn.stream, params, n)?;
        let ticket = turn.end();
        Ok(match errors {
            Some(errors) => Launched::Running(Box::new(errors.of(ticket))),
            None => Launched::Done { failures: Vec::new(), alone: None },
        })
    }

    fn launch_all(&self, members: Arc<Vec<ParamBlock>>, n: u64) -> Result<Launched> {
        if !self.is_batch || n > PIECE {
            return self.launch_each(&members, n);
        }
        // Of reductions there is one chunk, which writes the results itself.
        let threads = exactly::<u32>(self.sharing.threads(n));
        let block = self.threads.min(threads.next_multiple_of(32));
        let grid = Grid::of(threads.div_ceil(block), block);
        let mut words: Vec<u64> =
            members.iter().flat_map(|params| params.words().iter().copied()).collect();
        let each = words.len() / members.len();
        if self.fold.is_some() {
            words.chunks_mut(each).for_each(|words| words[WORD_CHUNKS] = 1);
        }
        // So many blocks take longer to look up than the rest takes to run before.
        let turn = self.shared.gpu.turn_alone()?;
        if self.index_types.is_empty() {
            self.shared.launch_members(turn.stream, self.entry, grid, &words, each)?;
            return Ok(Launched::Done { failures: Vec::new(), alone: None });
        }
        let errors = self.shared.reports.take(&self.index_types, 0, members.len(), PIECE)?;
        for (member, words) in words.chunks_mut(each).enumerate() {
            words[WORD_ERRORS] = errors.address(member);
        }
        self.shared.launch_members(turn.stream, self.entry, grid, &words, each)?;
        Ok(Launched::Running(Box::new(OfMembers(errors.of(turn.end())))))
    }

    fn ranges(&self) -> Option<&dyn RunsRanges> {
        Some(self)
    }

    fn statistics(&self) -> CodeStatistics {
        self.statistics
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.shared.gpu.unload(&self.module);
    }
}

impl Shared {
    /// Launches an entry with a parameter block, in memory if it is too long to be passed.
    fn launch(&self, stream: Stream, entry: Function, grid: Grid, words: &[u64]) -> Result<()> {
        match words.len() * 8 <= MAX_DIRECT_BYTES {
            true => self.gpu.launch(stream, entry, grid, words),
            false => self.launch_from_memory(stream, entry, grid, words),
        }
    }

    /// Launches an entry for members of a batch, of which each has such a grid and so many of the words.
    pub(super) fn launch_members(
        &self,
        stream: Stream,
        entry: Function,
        grid: Grid,
        words: &[u64],
        n_words: usize,
    ) -> Result<()> {
        words.chunks(MOST_MEMBERS * n_words).try_for_each(|words| {
            let members = exactly(words.len() / n_words);
            self.launch_from_memory(stream, entry, Grid { members, ..grid }, words)
        })
    }

    /// Launches an entry that takes the address of its parameters.
    fn launch_from_memory(
        &self,
        stream: Stream,
        entry: Function,
        grid: Grid,
        words: &[u64],
    ) -> Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut table =
            self.rooms[stream.number].table.lock().unwrap_or_else(PoisonError::into_inner);
        let address = self.grow(&mut table, bytes.len())?;
        // Launches before have read theirs: copies wait for them, on the device.
        self.gpu.write(stream, address, &bytes)?;
        self.gpu.launch(stream, entry, grid, &[address])
    }

    /// Waits for a kernel with loops, which may never end; an interrupt makes them leave.
    pub(super) fn wait_for_loops(&self, stream: Stream) -> Result<()> {
        match self.gpu.wait_for(stream, interrupt::is_requested) {
            Err(Error::Interrupted) => {}
            done => return done,
        }
        self.abort.set(true)?;
        let start = Instant::now();
        let left = self.gpu.wait_for(stream, || start.elapsed() > PATIENCE);
        self.abort.set(false)?;
        match left {
            Err(Error::Interrupted) => Err(self.gpu.abandon("interrupting a loop")),
            Err(error) => Err(error),
            Ok(()) => Err(Error::Interrupted),
        }
    }
}

impl Fold {
    /// `None` of kernels without reductions.
    fn of(shared: &Shared, kernel: &Kernel) -> Option<Result<Self>> {
        let results: Vec<usize> =
            kernel.reductions().map(|it| kernel.address_word(it.buffer)).collect();
        if results.is_empty() {
            return None;
        }
        let entry = FoldEntry::new(shared, ptx::fold_of(kernel));
        Some(entry.map(|entry| Self { entry, results }))
    }
}

impl FoldEntry {
    /// # Errors
    /// What the driver says.
    pub(super) fn new(shared: &Shared, fold: Kernel) -> Result<Self> {
        let text = shared.compiler.fold(&fold);
        let entry = shared.folds.get(text.clone(), ptx::FOLD_ENTRY, |_| text)?;
        Ok(Self { entry, kernel: fold })
    }

    /// Reduces the tree above `n_chunks` chunks, whose results are at an address, so many bytes behind the counters.
    pub(super) fn launch(
        &self,
        shared: &Shared,
        stream: Stream,
        (words, before): (u64, u64),
        n_chunks: u64,
        results: impl Iterator<Item = u64>,
    ) -> Result<()> {
        let threads = n_chunks.div_ceil(FOLDED) * LANES_PER_WARP;
        let blocks = threads.div_ceil(FOLD_THREADS.into());
        let blocks = exactly::<u32>(blocks);
        let grid = Grid::of(blocks, FOLD_THREADS);
        let results: Vec<(u64, u64)> = results.map(|address| (address, 1)).collect();
        let mut fold = ParamBlock::new(&self.kernel, n_chunks, &results);
        fold.set(WORD_SCRATCH, words);
        fold.set(WORD_CHUNKS, n_chunks);
        fold.set(WORD_LANE_BASE, before);
        shared.launch(stream, self.entry, grid, fold.words())
    }
}

impl Private {
    fn new(gpu: &Gpu, module: &Module, kernel: &Kernel, target: BufferIndex) -> Result<Self> {
        let entry = gpu.function(module, ptx::PRIVATE_ENTRY)?;
        let length = kernel.length_word(target);
        Ok(Self {
            entry,
            threads: PRIVATE_THREADS.min(gpu.resources(entry).most_threads / 32 * 32).max(32),
            length: length.expect("internal error: a private target without a length"),
            bytes: kernel.buffers[target.index()].dtype.bytes() as u64,
        })
    }

    /// The grid for `n` lanes with a given number of threads, if the elements are few enough.
    fn grid(&self, params: &ParamBlock, threads: u64, n: u64, gpu: &Gpu) -> Option<Grid> {
        let length = params.words()[self.length];
        let bytes = length.saturating_mul(self.bytes);
        if bytes > SHARED_BYTES || n < LANES_PER_ELEMENT * length {
            return None;
        }
        let most = u64::from(gpu.multiprocessors) * u64::from(THREADS_PER_PROCESSOR / self.threads);
        let blocks = threads.div_ceil(self.threads.into()).min(most);
        Some(Grid {
            blocks: u32::try_from(blocks).ok()?,
            threads: self.threads,
            members: 1,
            shared_bytes: u32::try_from(bytes).ok()?,
        })
    }
}

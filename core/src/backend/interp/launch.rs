//! Runs a program over all lanes of a launch, in chunks that threads claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::block::Worker;
use super::lower::{Action, Program};
use super::reduce::{self, CHUNK};
use crate::backend::host::HostMemory;
use crate::backend::pool::Pool;
use crate::backend::{CodeStatistics, Executable, Memory};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{NO_ERROR, ParamBlock};

/// Lane-steps below which a second thread does not pay.
const WORTH_A_THREAD: u64 = 1 << 18;
/// Reduction chunks that a thread claims at a time, at most.
const MAX_CLAIM: u64 = 16;

/// A program and the pool that runs it.
pub(super) struct Loaded {
    program: Arc<Program>,
    pool: Arc<Pool>,
}

impl Loaded {
    pub(super) fn new(program: Arc<Program>, pool: Arc<Pool>) -> Self {
        Self { program, pool }
    }
}

/// One launch, shared by the threads that work on it.
struct Launch {
    program: Arc<Program>,
    words: ParamBlock,
    n: u64,
    /// Lanes that a thread claims at a time.
    claim: u64,
    errors: Vec<AtomicU64>,
    /// Chunk results of each reduction.
    partials: Vec<Vec<AtomicU64>>,
    stopped: AtomicBool,
}

impl Executable for Loaded {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Vec<u64>> {
        let program = self.program.clone();
        let n_chunks = n.div_ceil(CHUNK as u64);
        let work = n.saturating_mul(program.body.len() as u64);
        let threads =
            if program.in_order || work < WORTH_A_THREAD { 1 } else { self.pool.threads() };
        // Several claims a thread even out unequal speeds.
        let per_claim = (n_chunks / (8 * threads as u64)).clamp(1, MAX_CLAIM);
        let atomics = |n: usize, value| (0..n).map(|_| AtomicU64::new(value)).collect::<Vec<_>>();
        let chunk_results = usize::try_from(n_chunks).unwrap_or(usize::MAX);
        let launch = Arc::new(Launch {
            words: params,
            n,
            claim: per_claim * CHUNK as u64,
            errors: atomics(program.n_accesses, NO_ERROR),
            partials: program.reductions.iter().map(|_| atomics(chunk_results, 0)).collect(),
            stopped: AtomicBool::new(false),
            program,
        });
        let claims = usize::try_from(n.div_ceil(launch.claim)).unwrap_or(usize::MAX);
        if threads == 1 {
            let mut worker = launch.worker();
            for claim in 0..claims {
                launch.run_claim(&mut worker, claim as u64);
            }
        } else {
            run_on_pool(&self.pool, &launch, claims);
        }
        launch.finish()
    }

    fn statistics(&self) -> CodeStatistics {
        let actions = self.program.prologue.len() + self.program.body.len();
        CodeStatistics {
            bytes: actions * size_of::<Action>(),
            registers: self.program.bytes_per_lane as usize / 4,
            spills: 0,
        }
    }
}

fn run_on_pool(pool: &Pool, launch: &Arc<Launch>, claims: usize) {
    let launch = launch.clone();
    pool.run(
        claims,
        Arc::new(move |claim, _| {
            // Many claims may be left after an interruption.
            if launch.stopped.load(Ordering::Relaxed) {
                return;
            }
            // A worker's slots cost more to make than a claim's fixed part, but a claim is 64 K lanes.
            let mut worker = launch.worker();
            launch.run_claim(&mut worker, claim as u64);
        }),
    );
}

impl Launch {
    fn worker(&self) -> Worker<'_> {
        Worker::new(&self.program, self.words.words(), &self.errors)
    }

    fn run_claim(&self, worker: &mut Worker<'_>, claim: u64) {
        let start = claim * self.claim;
        let end = (start + self.claim).min(self.n);
        let mut chunk = start;
        while chunk < end {
            self.run_chunk(worker, chunk, (chunk + CHUNK as u64).min(end));
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            chunk += CHUNK as u64;
        }
    }

    /// Runs up to 4096 lanes, the unit of reductions; a block of them is the unit of interruption.
    fn run_chunk(&self, worker: &mut Worker<'_>, start: u64, end: u64) {
        let reductions = &self.program.reductions;
        worker.accumulators.clear();
        worker.accumulators.extend(reductions.iter().map(|r| reduce::fresh(r.op, r.dtype)));
        let block = worker.block() as u64;
        let mut first = start;
        while first < end {
            if interrupt::is_requested() {
                self.stopped.store(true, Ordering::Relaxed);
                return;
            }
            let n = block.min(end - first);
            worker.run_block(first, usize::try_from(n).unwrap_or(0));
            first += n;
        }
        let chunk = usize::try_from(start / CHUNK as u64).unwrap_or(usize::MAX);
        for (i, reduction) in reductions.iter().enumerate() {
            let result =
                reduce::finish_chunk(reduction.op, reduction.dtype, worker.accumulators[i]);
            self.partials[i][chunk].store(result, Ordering::Relaxed);
        }
    }

    fn finish(&self) -> Result<Vec<u64>> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        for (reduction, partials) in self.program.reductions.iter().zip(&self.partials) {
            let chunks = partials.iter().map(|chunk| chunk.load(Ordering::Relaxed)).collect();
            let result = reduce::finish(reduction.op, reduction.dtype, chunks);
            let address = self.words.words()[reduction.address];
            HostMemory.write(address, &result.to_le_bytes()[..reduction.dtype.bytes()]);
        }
        Ok(self.errors.iter().map(|error| error.load(Ordering::Relaxed)).collect())
    }
}

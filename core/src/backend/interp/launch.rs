//! Runs a program over all lanes of a launch, in chunks that threads claim.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use super::block::{Shared, Worker};
use super::lower::{Action, Program};
use super::memory_steps::Failure;
use crate::backend::host::HostMemory;
use crate::backend::reduce::{self, CHUNK, Fold, Subtree, claim_within, finish_chunk};
use crate::backend::thread_pool::{Chunks, Claims, Pool};
use crate::backend::{
    Alone, CodeStatistics, Executable, Failures, Launched, Origin, Ran, RunsRanges,
};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::ir::kernel::ParamBlock;

/// Lane-steps below which a second thread does not pay.
const WORTH_A_THREAD: u64 = 1 << 18;
/// Reduction chunks that a thread claims at a time, unless there would be more than [`MAX_CLAIMS`].
const MAX_CLAIM: u64 = 16;
/// Claims of a launch; the memory for their results stays small however many lanes there are.
const MAX_CLAIMS: u64 = 1 << 16;

/// A program and the pool that runs it.
pub(in crate::backend) struct Loaded {
    program: Arc<Program>,
    pool: Arc<Pool>,
}

impl Loaded {
    pub(super) fn new(program: Arc<Program>, pool: Arc<Pool>) -> Self {
        Self { program, pool }
    }

    /// Runs lanes, of which the first is a multiple of a chunk.
    fn run(&self, params: ParamBlock, lanes: Range<u64>) -> Arc<Launch> {
        let program = self.program.clone();
        let n = lanes.end - lanes.start;
        let n_chunks = n.div_ceil(CHUNK as u64);
        let work = n.saturating_mul(program.body.len() as u64);
        let few = work < WORTH_A_THREAD || n_chunks == 1;
        let threads = if program.in_order || few { 1 } else { self.pool.threads() };
        let why = if program.in_order && n > 1 { Alone::InOrder } else { Alone::FewLanes };
        let alone = (threads == 1 && self.pool.threads() > 1).then_some(why);
        // Several claims a thread even out unequal speeds. A power of two of chunks is a subtree of S11.
        let per_claim = (n_chunks / (8 * threads as u64)).clamp(1, MAX_CLAIM);
        let mut per_claim = per_claim.max(n_chunks.div_ceil(MAX_CLAIMS)).next_power_of_two();
        // Claims are subtrees of the whole launch.
        per_claim = per_claim.min(claim_within(&params, &lanes) / CHUNK as u64);
        let n_claims = n_chunks.div_ceil(per_claim);
        let partials = || (0..n_claims).map(|_| AtomicU64::new(0)).collect();
        let launch = Arc::new(Launch {
            shared: Shared::new(&program, params.words(), lanes.end),
            words: params,
            lanes,
            claim: per_claim * CHUNK as u64,
            failures: (0..program.n_accesses).map(|_| Failure::default()).collect(),
            partials: program.reductions.iter().map(|_| partials()).collect(),
            stopped: AtomicBool::new(false),
            alone,
            program,
        });
        if threads == 1 {
            launch.work(&Chunks::new(n_claims).claims(0));
        } else {
            let shared = launch.clone();
            self.pool.run(n_claims, Arc::new(move |claims| shared.work(claims)));
        }
        launch
    }
}

impl RunsRanges for Loaded {
    fn run_range(&self, params: ParamBlock, lanes: Range<u64>) -> Result<Ran> {
        self.run(params, lanes).finish_range()
    }
}

/// One launch, shared by the threads that work on it.
struct Launch {
    program: Arc<Program>,
    words: ParamBlock,
    shared: Shared,
    /// The lanes, of which the first is a multiple of those of a claim.
    lanes: Range<u64>,
    /// Lanes that a thread claims at a time.
    claim: u64,
    /// One per checked access.
    failures: Vec<Failure>,
    /// Claim results of each reduction.
    partials: Vec<Vec<AtomicU64>>,
    stopped: AtomicBool,
    /// Why one thread works, if there are more.
    alone: Option<Alone>,
}

impl Executable for Loaded {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        self.run(params, 0..n).finish()
    }

    fn ranges(&self) -> Option<&dyn RunsRanges> {
        Some(self)
    }

    fn statistics(&self) -> CodeStatistics {
        // A repeated number is an action that fills a slot; a launch may find some of them equal.
        let Program { prologue, body, repeated, bytes_per_lane, .. } = &*self.program;
        let repeated_bytes: usize = repeated.iter().map(|(dtype, _)| dtype.bytes()).sum();
        CodeStatistics {
            bytes: (prologue.len() + body.len() + repeated.len()) * size_of::<Action>(),
            registers: (*bytes_per_lane as usize + repeated_bytes) / 4,
            spills: 0,
            origin: Origin::Own,
        }
    }
}

impl Launch {
    /// One thread's share: claims until none is left or an interrupt was requested.
    fn work(&self, claims: &Claims<'_>) {
        // Made once a thread, and only by a thread that finds something to do.
        let mut worker = None;
        while let Some(claim) = claims.take() {
            let worker = worker.get_or_insert_with(|| {
                Worker::new(&self.program, &self.shared, self.words.words(), &self.failures)
            });
            if !self.run_claim(worker, claim) {
                self.stopped.store(true, Ordering::Relaxed);
                claims.stop();
            }
        }
    }

    /// Whether the claim was not interrupted.
    fn run_claim(&self, worker: &mut Worker<'_>, claim: u64) -> bool {
        let reductions = &self.program.reductions;
        let start = self.lanes.start + claim * self.claim;
        // Neither sum overflows for up to 2^64 - 1 lanes.
        let end = start + self.claim.min(self.lanes.end - start);
        let mut folds: Vec<Fold> = reductions.iter().map(|r| Fold::new(r.op, r.dtype)).collect();
        let mut first = start;
        while first < end {
            let last = first + (CHUNK as u64).min(end - first);
            if !self.run_chunk(worker, first, last) {
                return false;
            }
            for ((fold, accumulators), r) in
                folds.iter_mut().zip(&worker.accumulators).zip(reductions)
            {
                fold.push(finish_chunk(r.op, r.dtype, *accumulators));
            }
            first = last;
        }
        let claim = usize::try_from(claim).expect("internal error: more claims than allowed");
        for (partials, fold) in self.partials.iter().zip(folds) {
            partials[claim].store(fold.finish(), Ordering::Relaxed);
        }
        true
    }

    /// Runs up to 4096 lanes, the unit of reductions; whether it was not interrupted.
    fn run_chunk(&self, worker: &mut Worker<'_>, start: u64, end: u64) -> bool {
        let reductions = &self.program.reductions;
        worker.accumulators.clear();
        worker.accumulators.extend(reductions.iter().map(|r| reduce::fresh(r.op, r.dtype)));
        let block = worker.block() as u64;
        let mut first = start;
        while first < end {
            let n = block.min(end - first);
            if !worker.run_block(first, exactly::<usize>(n)) {
                return false;
            }
            first += n;
        }
        true
    }

    fn finish(&self) -> Result<Launched> {
        let failures = self.failures()?;
        for (reduction, partials) in self.program.reductions.iter().zip(&self.partials) {
            let claims = partials.iter().map(|claim| claim.load(Ordering::Relaxed)).collect();
            let result = reduce::finish(reduction.op, reduction.dtype, claims);
            let address = self.words.words()[reduction.buffer.word()];
            let bytes = reduce::stored_bytes(reduction.dtype, reduction.stored, result);
            HostMemory.put(address, &bytes);
        }
        Ok(Launched::Done { failures, alone: self.alone })
    }

    fn finish_range(&self) -> Result<Ran> {
        let failures = self.failures()?;
        let level = (self.claim / CHUNK as u64).trailing_zeros();
        let reductions = self.program.reductions.iter().zip(&self.partials);
        let covers = reductions.map(|(reduction, claims)| {
            let claims = (self.lanes.start / self.claim..).zip(claims).map(|(number, claim)| {
                Subtree { level, number, result: claim.load(Ordering::Relaxed) }
            });
            reduce::cover(reduction.op, reduction.dtype, claims)
        });
        Ok(Ran { failures, covers: covers.collect(), time: None })
    }

    fn failures(&self) -> Result<Failures> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let lowest = |failure: &Failure| *failure.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.failures.iter().map(lowest).collect())
    }
}

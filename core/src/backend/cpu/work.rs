//! The work of a launch, which threads share: claims of lanes, run in blocks; what is written in order waits its turn.
#![expect(unsafe_code, reason = "calls machine code and lays out the memory that it works on")]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::compiled::{Compiled, Function, Walk};
use super::copies::{Copies, Shared};
use super::frame::{Aligned, error_word, pointer_word, set_active};
use super::lane_buffers::LaneBuffer;
use super::machine::Machine;
use super::native::Native;
use super::program::{ENDED_EARLY, Reduction, SPILL_STRIDE, TILE_LANES};
use crate::backend::host::HostMemory;
use crate::backend::reduce::{self, ACCUMULATORS, CHUNK, Fold, Subtree};
use crate::backend::thread_pool::{Claims, OnPanic, wait_until};
use crate::backend::{Alone, Failures, Launched, OutOfBounds, Ran};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{HEADER_WORDS, NO_ERROR, ParamBlock, WORD_ABORT};
use crate::ir::op::ReduceOp;

/// Code of a launch, with the values that all its lanes share.
pub(super) struct Part {
    pub(super) walk: Walk,
    uniforms: Aligned,
}

/// One launch, shared by the threads that work on it.
pub(super) struct Launch {
    pub(super) part: Part,
    /// What writes in order, and the bytes a lane of what is kept for it.
    pub(super) scatter: Option<(Part, Arc<[usize]>)>,
    /// What each thread writes to copies of.
    pub(super) copied: Option<Shared>,
    /// The claim whose turn it is to write.
    pub(super) turn: AtomicU64,
    pub(super) params: ParamBlock,
    /// The lanes, of which the first is a multiple of those of a claim.
    pub(super) lanes: Range<u64>,
    /// Lanes that a thread claims at a time.
    pub(super) claim: u64,
    /// Lanes between two looks at the interrupt flag.
    pub(super) block: u64,
    pub(super) n_buffers: usize,
    /// Lowest lane out of bounds of each access.
    pub(super) failures: Vec<Mutex<Option<OutOfBounds>>>,
    /// Claim results of each reduction.
    pub(super) partials: Vec<Vec<AtomicU64>>,
    pub(super) stopped: AtomicBool,
}

impl Part {
    pub(super) fn new(walk: Walk) -> Self {
        Self { uniforms: Aligned::new(walk.code.uniform_bytes), walk }
    }

    /// Lanes of a packet.
    pub(super) fn lanes(&self) -> u64 {
        self.walk.code.packet.lanes() as u64
    }
}

/// Members of a batch, shared by the threads that work on it.
pub(super) struct Batch {
    pub(super) walk: Walk,
    pub(super) members: Arc<Vec<ParamBlock>>,
    pub(super) n_buffers: usize,
    /// Lanes of each.
    pub(super) n: u64,
    /// Lanes between two looks at the interrupt flag.
    pub(super) block: u64,
    /// Members that a thread claims at a time.
    pub(super) per_claim: usize,
    pub(super) n_accesses: usize,
    /// Members of which lanes were out of bounds.
    pub(super) failures: Mutex<Vec<(usize, Failures)>>,
    pub(super) stopped: AtomicBool,
}

impl Batch {
    /// One thread's share.
    pub(super) fn work(&self, claims: &Claims<'_>) {
        let _others = OnPanic(&self.stopped);
        // Made once a thread, and only by a thread that finds something to do.
        let mut hand = None;
        while let Some(claim) = claims.take() {
            let first = claim_number(claim) * self.per_claim;
            let end = self.members.len().min(first + self.per_claim);
            let all_done = (first..end).all(|number| self.run(number, &mut hand));
            if !all_done {
                self.stopped.store(true, Ordering::Relaxed);
                claims.stop();
            }
        }
    }

    /// A launch of one member, for one thread.
    fn launch(&self, params: &ParamBlock) -> Launch {
        let partials = self.walk.code.reductions.iter().map(|_| vec![AtomicU64::new(0)]).collect();
        Launch {
            part: Part::new(self.walk.clone()),
            scatter: None,
            copied: None,
            turn: AtomicU64::new(0),
            params: params.clone(),
            lanes: 0..self.n,
            claim: self.n,
            block: self.block,
            n_buffers: self.n_buffers,
            failures: (0..self.n_accesses).map(|_| Mutex::default()).collect(),
            partials,
            stopped: AtomicBool::new(false),
        }
    }

    /// Runs a member on this thread, with what is left of the one before; whether it was not interrupted.
    fn run(&self, number: usize, hand: &mut Option<(Launch, Tools)>) -> bool {
        let params = &self.members[number];
        let (mut launch, mut tools) = hand.take().unwrap_or_else(|| {
            let launch = self.launch(params);
            let tools = Tools::new(&launch.part.walk.code);
            (launch, tools)
        });
        launch.params.take_words(params);
        launch.params.set(WORD_ABORT, interrupt::flag_address());
        let uniforms = launch.part.uniforms.pointer();
        launch.prepare(&launch.part, &mut tools.frame);
        launch.run_prologue(&launch.part, uniforms, &mut tools.frame);
        let mut worker = Worker::with(&launch, &launch.part, tools);
        let is_done = launch.compute(&mut worker, 0, 0, self.n);
        launch.collect_failures(&launch.part, &mut worker.tools.frame);
        tools = worker.tools;
        if is_done {
            launch.store_reductions();
            let failures = launch.take_failures();
            if failures.iter().any(Option::is_some) {
                let mut all = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
                all.push((number, failures));
            }
        }
        *hand = Some((launch, tools));
        is_done
    }

    pub(super) fn finish(&self) -> Result<Launched> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let failed =
            std::mem::take(&mut *self.failures.lock().unwrap_or_else(PoisonError::into_inner));
        let mut failures = Vec::new();
        if !failed.is_empty() {
            failures.resize(self.members.len() * self.n_accesses, None);
        }
        for (number, of) in failed {
            failures[number * self.n_accesses..][..self.n_accesses].copy_from_slice(&of);
        }
        Ok(Launched::Done { failures, alone: None })
    }
}

/// What a thread needs to run packets of a part.
struct Worker<'l> {
    launch: &'l Launch,
    part: &'l Part,
    body: Function,
    tools: Tools,
    copies: Option<Copies>,
}

/// The memory of a worker.
pub(super) struct Tools {
    frame: Aligned,
    /// A packet of each lane buffer, for the last lanes.
    tail: Option<Aligned>,
    /// Of lane 0 of each buffer.
    addresses: Vec<u64>,
}

impl Tools {
    /// With all lanes active.
    fn new(code: &Compiled) -> Self {
        let mut frame = Aligned::new(code.frame_bytes);
        set_active(&mut frame, code.packet, code.packet.lanes());
        frame.set_word(SPILL_STRIDE, code.spill_bytes as u64);
        frame.set_word(TILE_LANES, (code.tile * code.packet.lanes()) as u64);
        Self { frame, tail: None, addresses: Vec::new() }
    }
}

/// What a thread works with.
struct Hands<'l> {
    worker: Worker<'l>,
    /// For what writes in order, with the memory of what is kept for it.
    scatter: Option<(Worker<'l>, Aligned)>,
}

impl Launch {
    /// Runs what comes before lanes, with tools of a launch before, if there are.
    pub(super) fn run_prologues(&mut self, tools: &mut Option<Tools>) {
        let uniforms = self.part.uniforms.pointer();
        self.start(&self.part, uniforms, tools);
        let uniforms = self.scatter.as_mut().map(|(part, _)| part.uniforms.pointer());
        if let (Some((part, _)), Some(uniforms)) = (&self.scatter, uniforms) {
            self.start(part, uniforms, &mut None);
        }
    }

    fn start(&self, part: &Part, uniforms: *mut u8, tools: &mut Option<Tools>) {
        if part.walk.code.prologue.is_some() {
            let tools = tools.get_or_insert_with(|| Tools::new(&part.walk.code));
            self.prepare(part, &mut tools.frame);
            self.run_prologue(part, uniforms, &mut tools.frame);
        }
    }

    /// Runs the only claim on this thread, which writes nothing in order. The tools, if another launch may have them: it was
    /// not interrupted.
    pub(super) fn work_alone(&self, tools: Option<Tools>) -> Option<Tools> {
        let mut tools = tools.unwrap_or_else(|| Tools::new(&self.part.walk.code));
        self.prepare(&self.part, &mut tools.frame);
        let mut worker = Worker::with(self, &self.part, tools);
        let is_done = self.compute(&mut worker, 0, self.lanes.start, self.lanes.end);
        self.stopped.store(!is_done, Ordering::Relaxed);
        self.collect_failures(&self.part, &mut worker.tools.frame);
        is_done.then_some(worker.tools)
    }

    fn run_prologue(&self, part: &Part, uniforms: *mut u8, frame: &mut Aligned) {
        let Some(offset) = part.walk.code.prologue else { return };
        let function = part.walk.code.function(offset);
        let words = self.params.words().as_ptr();
        Native::synchronise();
        // SAFETY: the frame and the uniform values are as large as the assembler said; buffers in the
        // parameter block are alive and hold at least one element.
        unsafe { function(words, 0, 1, frame.pointer(), uniforms) };
        self.collect_failures(part, frame);
    }

    /// Makes a frame one in which nothing failed and nothing was reduced.
    fn prepare(&self, part: &Part, frame: &mut Aligned) {
        let code = &*part.walk.code;
        for access in 0..self.failures.len() {
            frame.set_word(error_word(&code.frame, access), NO_ERROR);
        }
        for buffer in 0..self.n_buffers {
            let address = self.params.words()[HEADER_WORDS + buffer];
            frame.set_word(pointer_word(&code.frame, buffer), address);
        }
        reset_accumulators(code, frame);
    }

    /// A launch that works in place has no way back, and is short.
    fn is_interrupted(&self) -> bool {
        !self.params.in_place && interrupt::is_requested()
    }

    fn collect_failures(&self, part: &Part, frame: &mut Aligned) {
        for (access, failure) in self.failures.iter().enumerate() {
            let word = error_word(&part.walk.code.frame, access);
            let (lane, index) = (frame.word(word), frame.word(word + 8));
            if lane != NO_ERROR {
                let new = OutOfBounds { lane, index };
                let mut lowest = failure.lock().unwrap_or_else(PoisonError::into_inner);
                *lowest = Some(lowest.map_or(new, |old| old.min(new)));
            }
        }
    }

    fn hands(&self) -> Hands<'_> {
        let scatter = self.scatter.as_ref().map(|(part, kept)| {
            let lanes = exactly::<usize>(self.claim.min(self.n_lanes()));
            let bytes = kept.iter().map(|bytes| (lanes * bytes).next_multiple_of(64)).sum();
            (Worker::new(self, part), Aligned::new(bytes))
        });
        let copies = self.copied.as_ref().map(|copied| copied.copies(&self.params));
        Hands { worker: Worker { copies, ..Worker::new(self, &self.part) }, scatter }
    }

    /// One thread's share: claims, counted from `first`, until none is left, it is late or an interrupt was requested.
    /// How many it took.
    pub(super) fn work(&self, claims: &Claims<'_>, first: u64, deadline: Option<Instant>) -> u64 {
        let _others = OnPanic(&self.stopped);
        // Made once a thread, and only by a thread that finds something to do.
        let mut hands = None;
        let mut taken = 0;
        while let Some(claim) = claims.take() {
            taken += 1;
            if !self.run_claim(hands.get_or_insert_with(|| self.hands()), first + claim) {
                self.stopped.store(true, Ordering::Relaxed);
                claims.stop();
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
        }
        if let Some(Hands { mut worker, scatter }) = hands {
            self.collect_failures(worker.part, &mut worker.tools.frame);
            if let (Some(copied), Some(copies)) = (&self.copied, worker.copies) {
                copied.combine(&self.params, copies);
            }
            if let Some((mut worker, _)) = scatter {
                self.collect_failures(worker.part, &mut worker.tools.frame);
            }
        }
        taken
    }

    /// Whether the claim was not interrupted.
    fn run_claim(&self, hands: &mut Hands<'_>, claim: u64) -> bool {
        let start = self.lanes.start + claim * self.claim;
        // Neither sum overflows for up to 2^64 - 1 lanes.
        let end = start + self.claim.min(self.lanes.end - start);
        let Hands { worker, scatter } = hands;
        let Some((second, memory)) = scatter else {
            return self.compute(worker, claim, start, end);
        };
        self.keep(worker, second, memory, start);
        let complete = self.compute(worker, claim, start, end)
            && self.wait_for(claim)
            && second.run(start, end);
        self.turn.store(claim + 1, Ordering::Release);
        complete
    }

    /// Tells both workers where lanes from `start` on are kept.
    fn keep(
        &self,
        first: &mut Worker<'_>,
        second: &mut Worker<'_>,
        memory: &mut Aligned,
        start: u64,
    ) {
        let Some((_, kept)) = &self.scatter else { return };
        let lanes = exactly::<usize>(self.claim.min(self.n_lanes()));
        let mut place = memory.pointer().expose_provenance() as u64;
        for (buffer, &bytes) in (self.n_buffers - kept.len()..).zip(kept.iter()) {
            // The code adds the lane number to what it takes for the address of lane 0.
            let address = place.wrapping_sub(start * bytes as u64);
            first.set_address(buffer, address);
            second.set_address(buffer, address);
            place += (lanes * bytes).next_multiple_of(64) as u64;
        }
    }

    /// Waits until all claims before this one have written; whether they have.
    fn wait_for(&self, claim: u64) -> bool {
        let is_turn = || self.turn.load(Ordering::Acquire) == claim;
        wait_until(|| is_turn() || self.stopped.load(Ordering::Relaxed));
        is_turn()
    }

    fn compute(&self, worker: &mut Worker<'_>, claim: u64, start: u64, end: u64) -> bool {
        let reductions = &self.part.walk.code.reductions;
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
                let count = worker.tools.frame.word(reduction.offset);
                worker.tools.frame.set_word(reduction.offset, 0);
                partials[claim_number(claim)].store(count, Ordering::Relaxed);
            }
        }
        true
    }

    fn n_lanes(&self) -> u64 {
        self.lanes.end - self.lanes.start
    }

    pub(super) fn finish(&self, alone: Option<Alone>) -> Result<Launched> {
        self.check_complete()?;
        self.store_reductions();
        Ok(Launched::Done { failures: self.take_failures(), alone })
    }

    /// What came of the lanes, if others run elsewhere.
    pub(super) fn finish_range(&self) -> Result<Ran> {
        self.check_complete()?;
        let reductions = self.part.walk.code.reductions.iter();
        let covers = reductions.zip(&self.partials).map(|(reduction, claims)| {
            let claims = claims.iter().map(|claim| claim.load(Ordering::Relaxed));
            if let Some(result) = self.counted(reduction.op, claims.clone()) {
                return vec![Subtree { level: 0, number: 0, result }];
            }
            if self.claim < CHUNK as u64 {
                // Lanes are combined in any order.
                let result = reduce::finish(reduction.op, reduction.dtype, claims.collect());
                return vec![Subtree { level: 0, number: 0, result }];
            }
            let level = (self.claim / CHUNK as u64).trailing_zeros();
            let claims = (self.lanes.start / self.claim..).zip(claims);
            let claims = claims.map(|(number, result)| Subtree { level, number, result });
            reduce::cover(reduction.op, reduction.dtype, claims)
        });
        let covers = covers.collect();
        Ok(Ran { failures: self.take_failures(), covers, time: None })
    }

    fn check_complete(&self) -> Result<()> {
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// The result of a reduction that counts lanes of claims.
    fn counted(&self, op: ReduceOp, claims: impl Iterator<Item = u64>) -> Option<u64> {
        match op {
            ReduceOp::Count => Some(claims.sum()),
            ReduceOp::Any => Some(u64::from(claims.sum::<u64>() > 0)),
            ReduceOp::All => Some(u64::from(claims.sum::<u64>() == self.n_lanes())),
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max => None,
        }
    }

    fn store_reductions(&self) {
        for (reduction, partials) in self.part.walk.code.reductions.iter().zip(&self.partials) {
            let claims = partials.iter().map(|claim| claim.load(Ordering::Relaxed));
            let counted = self.counted(reduction.op, claims.clone());
            let result = counted
                .unwrap_or_else(|| reduce::finish(reduction.op, reduction.dtype, claims.collect()));
            let address = self.params.words()[reduction.address];
            let bytes = reduce::stored_bytes(reduction.dtype, reduction.stored, result);
            HostMemory.put(address, &bytes);
        }
    }

    /// What was out of bounds, which is then forgotten.
    fn take_failures(&self) -> Failures {
        let take = |failure: &Mutex<Option<_>>| {
            failure.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        self.failures.iter().map(take).collect()
    }
}

impl<'l> Worker<'l> {
    fn new(launch: &'l Launch, part: &'l Part) -> Self {
        let mut tools = Tools::new(&part.walk.code);
        launch.prepare(part, &mut tools.frame);
        Self::with(launch, part, tools)
    }

    /// With a frame that was prepared for the launch.
    fn with(launch: &'l Launch, part: &'l Part, mut tools: Tools) -> Self {
        tools.addresses.clear();
        tools.addresses.extend(&launch.params.words()[HEADER_WORDS..][..launch.n_buffers]);
        // Another thread may have made the code.
        Native::synchronise();
        let code = &part.walk.code;
        Self { launch, part, body: code.function(code.body), tools, copies: None }
    }

    fn set_address(&mut self, buffer: usize, address: u64) {
        self.tools.addresses[buffer] = address;
        self.tools.frame.set_word(pointer_word(&self.part.walk.code.frame, buffer), address);
    }

    /// Runs lanes from `start`, a multiple of the packet; whether it was not interrupted.
    fn run(&mut self, start: u64, end: u64) -> bool {
        let packet = self.part.walk.code.packet.lanes() as u64;
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
        let params = self.copies.as_ref().map_or(&self.launch.params, |copies| &copies.params);
        let words = params.words().as_ptr();
        let uniforms = self.part.uniforms.shared();
        // SAFETY: the frame is as large as the assembler said; the pointers in it reach the lanes from
        // `first` to `last`; the body only reads the uniform values, which other threads share.
        unsafe { (self.body)(words, first, last, self.tools.frame.pointer(), uniforms) };
        self.tools.frame.word(ENDED_EARLY) == 0
    }

    /// Runs the last `n` lanes, fewer than a packet, on copies: no buffer is touched beyond its end. Whether
    /// the code came to its end.
    fn run_tail(&mut self, start: u64, n: usize) -> bool {
        let Walk { code, lane_buffers } = &self.part.walk;
        let packet = code.packet;
        let lanes = packet.lanes();
        let offsets = lane_buffers.iter().scan(0, |next, buffer| {
            let offset = *next;
            *next += (lanes * buffer.bytes).next_multiple_of(64);
            Some(offset)
        });
        let offsets: Vec<usize> = offsets.collect();
        let mut tail = self.tools.tail.take().unwrap_or_else(|| {
            let bytes = |buffer: &LaneBuffer| (lanes * buffer.bytes).next_multiple_of(64);
            Aligned::new(lane_buffers.iter().map(bytes).sum())
        });
        let addresses = std::mem::take(&mut self.tools.addresses);
        let real = |buffer: &LaneBuffer| {
            addresses[buffer.buffer].wrapping_add(start * buffer.bytes as u64)
        };
        for (buffer, &offset) in lane_buffers.iter().zip(&offsets) {
            if buffer.read {
                HostMemory.get(real(buffer), tail.bytes(offset, n * buffer.bytes));
            }
            let copy = tail.pointer().expose_provenance() as u64 + offset as u64;
            // The code adds the lane number to what it takes for the address of lane 0.
            let pointer = copy.wrapping_sub(start * buffer.bytes as u64);
            self.tools.frame.set_word(pointer_word(&code.frame, buffer.buffer), pointer);
        }
        let before = self.take_accumulators();
        set_active(&mut self.tools.frame, packet, n);
        let complete = self.call(start, start + lanes as u64);
        set_active(&mut self.tools.frame, packet, lanes);
        self.merge_accumulators(&before, start, n);
        for (buffer, &offset) in lane_buffers.iter().zip(&offsets) {
            if buffer.written {
                HostMemory.put(real(buffer), tail.bytes(offset, n * buffer.bytes));
            }
            let pointer = addresses[buffer.buffer];
            self.tools.frame.set_word(pointer_word(&code.frame, buffer.buffer), pointer);
        }
        self.tools.tail = Some(tail);
        self.tools.addresses = addresses;
        complete
    }

    /// The accumulators so far; fresh ones take their place.
    fn take_accumulators(&mut self) -> Vec<Vec<u8>> {
        let code = &self.part.walk.code;
        let mut taken = Vec::new();
        for (reduction, (_, identity)) in code.reductions.iter().zip(&code.finishes) {
            if !reduction.counts() {
                let range = self.tools.frame.bytes(reduction.offset as usize, identity.len());
                taken.push(range.to_vec());
            }
        }
        reset_accumulators(code, &mut self.tools.frame);
        taken
    }

    /// Combines the accumulators of the last lanes with those before. An accumulator that took one lane
    /// is that lane.
    fn merge_accumulators(&mut self, before: &[Vec<u8>], start: u64, n: usize) {
        let numbers = self.part.walk.code.reductions.iter().filter(|r| !r.counts());
        for (reduction, before) in numbers.zip(before) {
            let bytes = reduction.dtype.bytes();
            let range = self.tools.frame.bytes(reduction.offset as usize, before.len());
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
        let code = &self.part.walk.code;
        for ((fold, reduction), (finish, identity)) in
            folds.iter_mut().zip(&code.reductions).zip(&code.finishes)
        {
            if !reduction.counts() {
                let range = self.tools.frame.bytes(reduction.offset as usize, identity.len());
                // SAFETY: the accumulators of this type are there.
                fold.push(unsafe { finish(range.as_ptr()) });
                range.copy_from_slice(identity);
            }
        }
    }
}

fn reset_accumulators(code: &Compiled, frame: &mut Aligned) {
    for (reduction, (_, identity)) in code.reductions.iter().zip(&code.finishes) {
        if !reduction.counts() {
            let start = reduction.offset as usize;
            frame.bytes(start, identity.len()).copy_from_slice(identity);
        }
    }
}

fn claim_number(claim: u64) -> usize {
    usize::try_from(claim).expect("internal error: more claims than allowed")
}

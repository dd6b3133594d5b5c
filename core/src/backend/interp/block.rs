//! Runs a program's actions over one block of lanes.
#![expect(unsafe_code, reason = "lanes are addressed by raw pointers into blocks and buffers")]

use std::collections::HashMap;

use super::lower::{Accessed, Action, Location, Number, Program};
use super::memory_steps::{Access, Failure};
use super::steps::{Lanes, Step, broadcast};
use crate::backend::host::pointer;
use crate::backend::reduce::Accumulators;
use crate::convert::exactly;
use crate::interrupt;
use crate::ir::kernel::WORD_LANE_BASE;

/// Widest block: the lanes of a few dozen values then fit the first-level cache.
const MAX_BLOCK: usize = 512;
/// Narrowest block; a multiple of the reduction's accumulators.
const MIN_BLOCK: usize = 32;
/// Block memory that a thread should not exceed by choice of a wide block.
const BLOCK_MEMORY: usize = 1 << 20;

/// Actions between two looks at the interrupt flag: about a tenth of a millisecond.
const POLL_INTERVAL: usize = 1 << 10;

/// State that the workers of a launch share: the width of blocks, and which numbers share a slot.
///
/// Every use of a literal is a number of its own in the program (S3), and a program is used again with
/// other literals; so it is only known at the launch which of them are equal.
pub(super) struct Shared {
    block: usize,
    bytes_per_lane: usize,
    /// Slot of each repeated number of the program.
    slots: Vec<u32>,
    /// Values that the slots hold.
    values: Vec<(Step, u64, u32)>,
}

impl Shared {
    /// For a launch of `n` lanes.
    pub(super) fn new(program: &Program, words: &[u64], n: u64) -> Self {
        let mut bytes_per_lane = program.bytes_per_lane;
        let mut known = HashMap::new();
        let (mut slots, mut values) = (Vec::new(), Vec::new());
        for &(dtype, source) in &program.repeated {
            let bits = match source {
                Number::Own(number) => program.numbers[number as usize],
                Number::Word(word) => words[word as usize],
            };
            let slot = known.entry((bits, dtype.bytes())).or_insert_with(|| {
                let offset = bytes_per_lane;
                bytes_per_lane += exactly::<u32>(dtype.bytes());
                values.push((broadcast(dtype), bits, offset));
                offset
            });
            slots.push(*slot);
        }
        let bytes_per_lane = bytes_per_lane as usize;
        let lanes = exactly::<usize>(n).min(MAX_BLOCK);
        let block = block_size(bytes_per_lane).min(lanes.next_multiple_of(MIN_BLOCK));
        Self { block: block.max(MIN_BLOCK), bytes_per_lane, slots, values }
    }
}

/// A thread that runs blocks: its slots, accumulators, and the launch it works for.
pub(super) struct Worker<'l> {
    program: &'l Program,
    shared: &'l Shared,
    words: &'l [u64],
    failures: &'l [Failure],
    block: usize,
    /// Start of `memory`, which nothing else refers to.
    slots: *mut u8,
    #[expect(dead_code, reason = "owns what `slots` points to")]
    memory: Vec<u64>,
    pub(super) accumulators: Vec<Accumulators>,
}

impl<'l> Worker<'l> {
    /// A worker that has run the prologue.
    pub(super) fn new(
        program: &'l Program,
        shared: &'l Shared,
        words: &'l [u64],
        failures: &'l [Failure],
    ) -> Self {
        let block = shared.block;
        let mut memory: Vec<u64> = vec![0; (shared.bytes_per_lane * block).div_ceil(8) + 8];
        let slots = memory.as_mut_ptr().cast();
        let accumulators = Vec::new();
        let mut worker =
            Self { program, shared, words, failures, block, slots, memory, accumulators };
        for (step, bits, offset) in &shared.values {
            worker.repeat(*step, std::ptr::from_ref(bits).cast(), *offset);
        }
        for action in &program.prologue {
            worker.run(action, 0, 1);
        }
        for &(step, offset) in &program.repeats {
            worker.repeat(step, worker.slot(offset).cast_const(), offset);
        }
        worker
    }

    /// Fills a slot with the value at `source`, which may be the slot's own first lane.
    fn repeat(&self, step: Step, source: *const u8, offset: u32) {
        let target = self.slot(offset);
        let sources = [source, std::ptr::null(), std::ptr::null()];
        let lanes = Lanes { target, sources, n: self.block, first: 0 };
        // SAFETY: the slot holds `block` lanes; `broadcast` reads its one source lane before it writes.
        unsafe { step(&lanes) };
    }

    /// Lanes that one block takes.
    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// Runs the body for `n` lanes from `first`, which is a multiple of the block size; whether it came to
    /// the end, or an interrupt was requested.
    pub(super) fn run_block(&mut self, first: u64, n: usize) -> bool {
        let body = &self.program.body;
        let (mut at, mut polled, mut alone) = (0, 0, 0);
        while let Some(action) = body.get(at) {
            // A long program or loop takes milliseconds a block, so blocks alone are too coarse to poll at.
            if polled == 0 {
                if interrupt::is_requested() {
                    return false;
                }
                polled = POLL_INTERVAL;
            }
            polled -= 1;
            at += 1;
            match *action {
                Action::JumpIfNone { mask, to } if !self.any(mask, first, n) => at = to,
                Action::JumpIfNone { .. } => {}
                Action::Jump { to } => at = to,
                Action::FirstLane { target } => {
                    alone = 0;
                    self.choose(target, n, alone);
                }
                Action::NextLane { target, to } => {
                    alone += 1;
                    if alone < n {
                        self.choose(target, n, alone);
                        at = to;
                    }
                }
                _ => self.run(action, first, n),
            }
        }
        true
    }

    /// Whether a mask holds in any lane.
    fn any(&self, mask: Location, first: u64, n: usize) -> bool {
        let lanes = self.address(mask, first).cast_const();
        // SAFETY: the mask's location holds `n` lanes of one byte each.
        unsafe { std::slice::from_raw_parts(lanes, n) }.iter().any(|&lane| lane != 0)
    }

    /// Makes a mask in a slot true in one lane.
    fn choose(&self, mask: Location, n: usize, lane: usize) {
        let lanes = self.address(mask, 0);
        // SAFETY: the slot holds a block of lanes of one byte each, and nothing else refers to it now.
        let lanes = unsafe { std::slice::from_raw_parts_mut(lanes, n) };
        lanes.fill(0);
        lanes[lane] = 1;
    }

    fn run(&mut self, action: &Action, first: u64, n: usize) {
        let at = |worker: &Self, place: Location| worker.address(place, first);
        match *action {
            Action::Compute { step, sources, target } => {
                let sources = sources.map(|source| at(self, source).cast_const());
                let lane = first + self.words[WORD_LANE_BASE];
                let lanes = Lanes { target: at(self, target), sources, n, first: lane };
                // SAFETY: slots hold a block of lanes, buffers hold all lanes of the launch, the
                // lowering gives target and sources their own locations, and `Isa::is_available` was asked.
                unsafe { step(&lanes) };
            }
            Action::Gather { step, sources, target, buffer } => {
                let access = self.access(sources, at(self, target), buffer, first, n);
                // SAFETY: as above; the length word is the buffer's.
                unsafe { step(&access) };
            }
            Action::Scatter { step, sources, value, buffer } => {
                let access = self.access(sources, at(self, value), buffer, first, n);
                // SAFETY: as above; kernels that scatter run on one thread and own their target.
                unsafe { step(&access) };
            }
            Action::JumpIfNone { .. }
            | Action::Jump { .. }
            | Action::FirstLane { .. }
            | Action::NextLane { .. } => {}
            Action::Reduce { step, value, reduction } => {
                let lanes = at(self, value).cast_const();
                // SAFETY: the value's location holds `n` lanes.
                unsafe { step(&mut self.accumulators[reduction], lanes, n) };
            }
        }
    }

    fn access(
        &self,
        [index, active]: [Location; 2],
        lanes: *mut u8,
        buffer: Accessed,
        first: u64,
        n: usize,
    ) -> Access<'l> {
        let active = match active {
            Location::Absent => None,
            place => Some(self.address(place, first).cast_const()),
        };
        Access {
            lanes,
            index: self.address(index, first).cast_const(),
            active,
            buffer: pointer(self.words[buffer.address]),
            length: self.words[buffer.length],
            n,
            first,
            failure: buffer.access.map(|access| &self.failures[access]),
        }
    }

    fn slot(&self, offset: u32) -> *mut u8 {
        let bytes = offset as usize * self.block;
        // SAFETY: `memory` holds `bytes_per_lane * block` bytes and the offset is below.
        unsafe { self.slots.add(bytes) }
    }

    fn address(&self, place: Location, first: u64) -> *mut u8 {
        match place {
            Location::Slot(offset) => self.slot(offset),
            Location::Repeated(number) => self.slot(self.shared.slots[number as usize]),
            Location::Buffer { word, bytes } => {
                pointer(self.words[word as usize] + first * u64::from(bytes))
            }
            Location::Scalar { word, direct: false } => pointer(self.words[word as usize]),
            Location::Scalar { word, direct: true } => {
                std::ptr::from_ref(&self.words[word as usize]).cast_mut().cast()
            }
            Location::Number(number) => {
                std::ptr::from_ref(&self.program.numbers[number as usize]).cast_mut().cast()
            }
            Location::Absent => std::ptr::null_mut(),
        }
    }
}

/// Narrow enough that a program with many live values keeps its memory small.
fn block_size(bytes_per_lane: usize) -> usize {
    let fitting = BLOCK_MEMORY / bytes_per_lane.max(1);
    (fitting / MIN_BLOCK * MIN_BLOCK).clamp(MIN_BLOCK, MAX_BLOCK)
}

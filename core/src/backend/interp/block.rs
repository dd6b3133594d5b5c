//! Runs a program's actions over one block of lanes.
#![expect(unsafe_code, reason = "lanes are addressed by raw pointers into blocks and buffers")]

use super::lower::{Accessed, Action, Place, Program};
use super::memory_steps::{Access, Failure};
use super::reduce::Accumulators;
use super::steps::Lanes;
use crate::backend::host::pointer;
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

/// What a thread needs to run blocks: slots, accumulators, and the launch it works for.
pub(super) struct Worker<'l> {
    program: &'l Program,
    words: &'l [u64],
    failures: &'l [Failure],
    block: usize,
    slots: Vec<u64>,
    pub(super) accumulators: Vec<Accumulators>,
}

impl<'l> Worker<'l> {
    /// A worker that has run the prologue.
    pub(super) fn new(program: &'l Program, words: &'l [u64], failures: &'l [Failure]) -> Self {
        let block = block_size(program);
        let slots = vec![0; (program.bytes_per_lane as usize * block).div_ceil(8) + 8];
        let mut worker = Self { program, words, failures, block, slots, accumulators: Vec::new() };
        for action in &program.prologue {
            worker.run(action, 0, 1);
        }
        for &(step, offset) in &program.repeats {
            let target = worker.slot(offset);
            // The value is read before the slot is filled, so source and target may be the same.
            let sources = [target.cast_const(), std::ptr::null(), std::ptr::null()];
            let lanes = Lanes { target, sources, n: worker.block, first: 0 };
            // SAFETY: the slot holds `block` lanes; `repeat` reads lane 0 before it writes.
            unsafe { step(&lanes) };
        }
        worker
    }

    /// Lanes that one block takes.
    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// Runs the body for `n` lanes from `first`, which is a multiple of the block size; whether it came to
    /// the end, or an interrupt was requested.
    pub(super) fn run_block(&mut self, first: u64, n: usize) -> bool {
        // A long program takes milliseconds a block, so blocks alone are too coarse to poll at.
        for actions in self.program.body.chunks(POLL_INTERVAL) {
            if interrupt::is_requested() {
                return false;
            }
            for action in actions {
                self.run(action, first, n);
            }
        }
        true
    }

    fn run(&mut self, action: &Action, first: u64, n: usize) {
        let at = |worker: &Self, place: Place| worker.address(place, first);
        match *action {
            Action::Compute { step, sources, target } => {
                let sources = sources.map(|source| at(self, source).cast_const());
                let lane = first + self.words[WORD_LANE_BASE];
                let lanes = Lanes { target: at(self, target), sources, n, first: lane };
                // SAFETY: slots hold a block of lanes, buffers hold all lanes of the launch, the
                // lowering gives target and sources their own places, and `Isa::is_available` was asked.
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
            Action::Reduce { step, value, reduction } => {
                let lanes = at(self, value).cast_const();
                // SAFETY: the value's place holds `n` lanes.
                unsafe { step(&mut self.accumulators[reduction], lanes, n) };
            }
        }
    }

    fn access(
        &self,
        [index, active]: [Place; 2],
        lanes: *mut u8,
        buffer: Accessed,
        first: u64,
        n: usize,
    ) -> Access<'l> {
        let active = match active {
            Place::Absent => None,
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
        // SAFETY: `slots` holds `bytes_per_lane * block` bytes and the offset is below.
        unsafe { self.slots.as_ptr().cast::<u8>().cast_mut().add(bytes) }
    }

    fn address(&self, place: Place, first: u64) -> *mut u8 {
        match place {
            Place::Slot(offset) => self.slot(offset),
            Place::Buffer { word, bytes } => {
                pointer(self.words[word as usize] + first * u64::from(bytes))
            }
            Place::Scalar { word, direct: false } => pointer(self.words[word as usize]),
            Place::Scalar { word, direct: true } => {
                std::ptr::from_ref(&self.words[word as usize]).cast_mut().cast()
            }
            Place::Number(number) => {
                std::ptr::from_ref(&self.program.numbers[number as usize]).cast_mut().cast()
            }
            Place::Absent => std::ptr::null_mut(),
        }
    }
}

/// Narrow enough that a program with many live values keeps its memory small.
fn block_size(program: &Program) -> usize {
    let fitting = BLOCK_MEMORY / (program.bytes_per_lane as usize).max(1);
    (fitting / MIN_BLOCK * MIN_BLOCK).clamp(MIN_BLOCK, MAX_BLOCK)
}

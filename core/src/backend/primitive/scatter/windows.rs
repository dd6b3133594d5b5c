//! Scatters of lanes that are put in the order of where they go first.
//!
//! Pieces of lanes are counted by window, then put in the order of windows, and of lanes within one; each window takes what
//! is for it. A window stays in a thread's cache.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::super::MemoryArray;
use super::super::lanes::Lanes;
use super::super::pieces::Workers;
use super::hits::{Apply, Hits, OfLanes, Scatter, Sorted, apply_of, on_own_lines};
use crate::backend::OutOfBounds;
use crate::backend::index::Index;
use crate::backend::thread_pool::{Claims, OnPanic, wait_until};
use crate::convert::exactly;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::interrupt;

/// Bytes of a window: what stays in a second cache beside what comes to it.
const WINDOW_BYTES: usize = 1 << 19;
/// Most windows: streams of writes that a thread keeps apart.
const MAX_WINDOWS: usize = 256;
/// Windows for each thread, which even out how much is for each.
const WINDOWS_PER_THREAD: usize = 2;
/// Lanes that are put in order at a time: they stay in a cache.
const BLOCK: usize = 1 << 22;
/// The same where the target does not: each time all of it is gone through.
const LARGE_BLOCK: usize = 1 << 24;
/// Bytes of a large target.
const LARGE: usize = 1 << 25;
/// Lanes of a piece.
const LEAST_PIECE: usize = 1 << 12;
const MOST_PIECE: usize = 1 << 16;

/// As [`super::write`].
///
/// # Errors
/// `OutOfMemory`, and nothing is written; `Interrupted`, and the target is undefined then.
pub(super) fn write(workers: &Workers<'_>, scatter: &Scatter) -> Result<Option<OutOfBounds>> {
    match scatter.target.dtype.bytes() {
        1 => write_in_order::<u8>(workers, scatter),
        2 => write_in_order::<u16>(workers, scatter),
        4 => write_in_order::<u32>(workers, scatter),
        _ => write_in_order::<u64>(workers, scatter),
    }
}

fn write_in_order<V: Element>(
    workers: &Workers<'_>,
    scatter: &Scatter,
) -> Result<Option<OutOfBounds>> {
    let layout = Layout::new(scatter, workers.pool.threads());
    let counts = workers.scratch::<u32>(layout.pieces_of_block() * layout.windows)?;
    let starts = workers.scratch::<u32>(layout.windows + 1)?;
    let sorted = workers.scratch::<Sorted<V>>(layout.block)?;
    let (count, fill): (PieceFn<V>, PieceFn<V>) = match scatter.index_type {
        DType::I32 => (count::<i32, V>, fill::<i32, V>),
        DType::U32 => (count::<u32, V>, fill::<u32, V>),
        DType::I64 => (count::<i64, V>, fill::<i64, V>),
        _ => (count::<u64, V>, fill::<u64, V>),
    };
    let job = Arc::new(Job {
        scatter: scatter.clone(),
        phases: Phases::new(PHASES * layout.blocks()),
        layout,
        counts: counts.lanes,
        starts: starts.lanes,
        sorted: sorted.lanes,
        lowest: AtomicU64::new(u64::MAX),
        count,
        fill,
        apply: apply_of(scatter.op, scatter.target.dtype),
    });
    let shared = job.clone();
    let threads = workers.pool.threads() as u64;
    workers.pool.run(threads, Arc::new(move |claims| shared.work(claims)));
    if job.phases.stopped.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    Ok(scatter.outside(job.lowest.load(Ordering::Relaxed)))
}

/// How lanes and elements are cut.
#[derive(Clone, Copy)]
struct Layout {
    lanes: usize,
    /// Elements of the target.
    elements: usize,
    /// Binary logarithm of the elements of a window.
    shift: u32,
    windows: usize,
    /// Lanes that are put in order at a time.
    block: usize,
    /// Lanes that are counted at a time.
    piece: usize,
}

impl Layout {
    fn new(scatter: &Scatter, threads: usize) -> Self {
        let [lanes, elements] = [scatter.lanes, scatter.target.size].map(exactly::<usize>);
        let width = scatter.target.dtype.bytes();
        let bytes = width * elements;
        let wanted = bytes.div_ceil(WINDOW_BYTES).max(WINDOWS_PER_THREAD * threads);
        let window = elements.div_ceil(wanted.min(MAX_WINDOWS)).next_power_of_two();
        let block = lanes.min(if bytes >= LARGE { LARGE_BLOCK } else { BLOCK });
        let piece = (block / (4 * threads)).clamp(LEAST_PIECE, MOST_PIECE);
        let (shift, windows) = (window.ilog2(), elements.div_ceil(window));
        Self { lanes, elements, shift, windows, block, piece }
    }

    fn blocks(&self) -> usize {
        self.lanes.div_ceil(self.block)
    }

    fn pieces_of_block(&self) -> usize {
        self.block.div_ceil(self.piece)
    }
}

/// What is done with a piece of lanes of this number.
type PieceFn<V> = fn(&Job<V>, number: usize, lanes: Range<usize>);

/// Steps of each block: counting, putting in order, writing.
const PHASES: usize = 3;

/// One scatter, shared by the threads that work on it.
struct Job<V> {
    scatter: Scatter,
    phases: Phases,
    layout: Layout,
    /// For each piece and window: how many lanes, then where the next of them goes.
    counts: Lanes<u32>,
    /// Where the lanes of each window start, and where those of the last end.
    starts: Lanes<u32>,
    sorted: Lanes<Sorted<V>>,
    /// The lowest lane out of bounds.
    lowest: AtomicU64,
    count: PieceFn<V>,
    fill: PieceFn<V>,
    apply: Apply,
}

impl<V: Element> Job<V> {
    /// One thread's share.
    fn work(&self, claims: &Claims<'_>) {
        // Whoever comes when all is over may touch nothing more.
        if claims.take().is_none() {
            return;
        }
        let _others = OnPanic(&self.phases.stopped);
        // Whoever comes late finds nothing left of the first blocks.
        let all_done = (0..self.layout.blocks()).all(|block| self.work_on(block));
        if all_done || self.phases.stopped.load(Ordering::Relaxed) {
            claims.stop();
        }
    }

    /// Whether it was not stopped.
    fn work_on(&self, block: usize) -> bool {
        let Layout { lanes, block: length, piece: piece_length, windows, .. } = self.layout;
        let end = lanes.min((block + 1) * length);
        let start = block * length;
        let piece = |number: usize| {
            let first = start + number * piece_length;
            first..end.min(first + piece_length)
        };
        let (step, pieces) = (PHASES * block, (end - start).div_ceil(piece_length));
        let count = |number| (self.count)(self, number, piece(number));
        let fill = |number| (self.fill)(self, number, piece(number));
        self.phases.run(step, pieces, count, || self.add_up(pieces))
            && self.phases.run(step + 1, pieces, fill, || ())
            && self.phases.run(step + 2, windows, |window| self.write(window), || ())
    }

    /// Makes of numbers of lanes the places where they go: by window, then by piece.
    fn add_up(&self, pieces: usize) {
        let windows = self.layout.windows;
        let counts = self.counts.slice_mut(0, pieces * windows);
        let starts = self.starts.slice_mut(0, windows + 1);
        let mut next = 0;
        for window in 0..windows {
            starts[window] = next;
            for piece in 0..pieces {
                let count = &mut counts[piece * windows + window];
                next += std::mem::replace(count, next);
            }
        }
        starts[windows] = next;
    }

    fn write(&self, window: usize) {
        let starts = self.starts.slice(window, window + 2);
        let (start, n) = (starts[0] as usize, (starts[1] - starts[0]) as usize);
        let first = window << self.layout.shift;
        let size = (self.layout.elements - first).min(1 << self.layout.shift) as u64;
        let dtype = self.scatter.target.dtype;
        let address = self.scatter.target.address + (first * dtype.bytes()) as u64;
        let sorted = self.sorted.range(start, n).address();
        on_own_lines(MemoryArray { address, size, dtype }, |elements| {
            (self.apply)(elements, Hits::Together(sorted), n);
        });
    }
}

/// Calls `each` with the places of lanes in their piece and their elements, `outside` with those out of bounds.
#[inline(always)]
fn each_element<I: Index, V: Element>(
    job: &Job<V>,
    lanes: &Range<usize>,
    mut each: impl FnMut(usize, usize),
    mut outside: impl FnMut(usize),
) {
    let indices = Lanes::<I>::at(job.scatter.index, lanes.end).slice(lanes.start, lanes.end);
    let active = job.scatter.active.map(|at| Lanes::<u8>::at(at, lanes.end));
    let active = active.map(|active| active.slice(lanes.start, lanes.end));
    let elements = job.layout.elements;
    for (place, index) in indices.iter().enumerate() {
        if active.is_some_and(|active| active[place] == 0) {
            continue;
        }
        match usize::try_from(index.position()) {
            Ok(element) if element < elements => each(place, element),
            _ => outside(place),
        }
    }
}

fn count<I: Index, V: Element>(job: &Job<V>, number: usize, lanes: Range<usize>) {
    let (windows, shift) = (job.layout.windows, job.layout.shift);
    // On lines of its own.
    let mut counts = [0; MAX_WINDOWS];
    let mut lowest = None;
    let outside = |place| {
        lowest.get_or_insert(place);
    };
    let count = |_, element: usize| counts[element >> shift] += 1;
    each_element::<I, V>(job, &lanes, count, outside);
    let row = job.counts.slice_mut(number * windows, (number + 1) * windows);
    row.copy_from_slice(&counts[..windows]);
    if let Some(place) = lowest {
        job.lowest.fetch_min((lanes.start + place) as u64, Ordering::Relaxed);
    }
}

fn fill<I: Index, V: Element>(job: &Job<V>, number: usize, lanes: Range<usize>) {
    let (windows, shift) = (job.layout.windows, job.layout.shift);
    let mut next = [0_u32; MAX_WINDOWS];
    next[..windows].copy_from_slice(job.counts.slice(number * windows, (number + 1) * windows));
    let (mask, sorted) = ((1 << shift) - 1, job.sorted);
    let mut put = |element: usize, value: V| {
        let next = &mut next[element >> shift];
        // A window has no more elements than a `u32` has numbers.
        #[expect(clippy::cast_possible_truncation, reason = "within a window")]
        let element = (element & mask) as u32;
        sorted.set(*next as usize, Sorted { element, value });
        *next += 1;
    };
    match job.scatter.value {
        OfLanes::Array(address) => {
            let values = Lanes::<V>::at(address, lanes.end).slice(lanes.start, lanes.end);
            each_element::<I, V>(job, &lanes, |place, element| put(element, values[place]), |_| ());
        }
        OfLanes::Bits(bits) => {
            let value = V::from_bits64(bits);
            each_element::<I, V>(job, &lanes, |_, element| put(element, value), |_| ());
        }
    }
}

/// Steps of work one after the other, each shared by all threads that come: a thread goes on with the next one when all
/// of this one is done.
struct Phases {
    /// Of each step, how much was claimed, and how much is done.
    steps: Vec<[AtomicU64; 2]>,
    /// Steps that have ended.
    ended: AtomicUsize,
    stopped: AtomicBool,
}

impl Phases {
    fn new(steps: usize) -> Self {
        let steps = (0..steps).map(|_| Default::default()).collect();
        Self { steps, ended: AtomicUsize::new(0), stopped: AtomicBool::new(false) }
    }

    /// This thread's share of a step of so much work; who does the last of it does `then`. Whether it was not stopped.
    fn run(&self, step: usize, n: usize, work: impl Fn(usize), then: impl FnOnce()) -> bool {
        let [claimed, done] = &self.steps[step];
        let mut then = Some(then);
        if n == 0 {
            self.ended.fetch_max(step + 1, Ordering::AcqRel);
        }
        loop {
            let number = claimed.fetch_add(1, Ordering::Relaxed);
            if number >= n as u64 {
                break;
            }
            if interrupt::is_requested() {
                self.stopped.store(true, Ordering::Relaxed);
            }
            if self.stopped.load(Ordering::Relaxed) {
                return false;
            }
            work(exactly(number));
            if done.fetch_add(1, Ordering::AcqRel) + 1 == n as u64 {
                then.take().into_iter().for_each(|then| then());
                self.ended.store(step + 1, Ordering::Release);
            }
        }
        let has_ended = || self.ended.load(Ordering::Acquire) > step;
        wait_until(|| has_ended() || self.stopped.load(Ordering::Relaxed));
        has_ended()
    }
}

//! A quicksort of keys with AVX-512.
//!
//! A part of the keys has a range in the array where it ends up, its *home*, and one as long in another
//! array; its keys lie in either. Partitioning leaves the keys below the pivot at home and the others in
//! the other array, each at the start of a range of their number, so nothing is copied back. Equal keys
//! are equal bits, so neither threads nor pivots show in the result.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::MemoryArray;
use super::lanes::Lanes;
use super::pieces::{WORTH_A_THREAD, Workers};
use super::sort::{Key, key_of, lane_of};
use super::vectors::{Stay, VectorKey, Vectors};
use crate::backend::thread_pool::{Chunks, Claims};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::primitive::Order;
use crate::ir::scalar::{Lane, with_lane, with_word};

/// Keys from which on a part is offered to other threads.
const OFFERED: usize = 1 << 15;
/// Keys from which on pivots come of larger samples.
const LARGE: usize = 1 << 13;

/// Keys of the quicksort.
pub(super) trait QuickKey: Key + VectorKey + Ord + Default {
    /// The next larger key.
    fn next(self) -> Option<Self>;
}

impl QuickKey for u32 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl QuickKey for u64 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// The lanes of `x`, of 4 or 8 bytes, in order.
pub(super) fn sort(
    workers: &Workers<'_>,
    vectors: Vectors,
    order: Order,
    x: MemoryArray,
    result: MemoryArray,
) -> Result<()> {
    with_word!(x.dtype,
        T => match x.dtype.bytes() {
            8 => sort_lanes::<T, u64>(workers, vectors, order, Lanes::of(x), Lanes::of(result)),
            _ => sort_lanes::<T, u32>(workers, vectors, order, Lanes::of(x), Lanes::of(result)),
        },
        mask => unreachable!("internal error: a mask of 4 bytes"))
}

fn sort_lanes<T: Lane, K: QuickKey>(
    workers: &Workers<'_>,
    vectors: Vectors,
    order: Order,
    x: Lanes<T>,
    result: Lanes<K>,
) -> Result<()> {
    let n = x.len();
    let other = workers.scratch::<K>(n)?;
    workers.pieces(n, move |piece| {
        let keys = result.slice_mut(piece.start, piece.end);
        let lanes = x.slice(piece.start, piece.end);
        vectors.map(lanes, keys, |lane| K::of(key_of(lane, order)));
    })?;
    quicksort(workers, vectors, result, other.lanes)?;
    workers.pieces(n, move |piece| {
        let keys = result.slice_mut(piece.start, piece.end);
        vectors.update(keys, |key| K::of(lane_of::<T>(key.bits(), order).to_bits64()));
    })
}

/// The numbers, of 4 bytes, of the lanes of `x`, of 4 bytes, in order: sorted together with their lanes.
pub(super) fn sort_index(
    workers: &Workers<'_>,
    vectors: Vectors,
    order: Order,
    x: MemoryArray,
    result: Lanes<u32>,
) -> Result<()> {
    with_word!(x.dtype,
        T => index_lanes::<T>(workers, vectors, order, Lanes::of(x), result),
        mask => unreachable!("internal error: a mask of 4 bytes"))
}

fn index_lanes<T: Lane>(
    workers: &Workers<'_>,
    vectors: Vectors,
    order: Order,
    x: Lanes<T>,
    result: Lanes<u32>,
) -> Result<()> {
    let n = x.len();
    let [keys, other] = [workers.scratch::<u64>(n)?, workers.scratch::<u64>(n)?];
    let pairs = keys.lanes;
    workers.pieces(n, move |piece| {
        let pairs = pairs.slice_mut(piece.start, piece.end);
        let lanes = x.slice(piece.start, piece.end);
        vectors.map(lanes, pairs, |lane| key_of(lane, order) << 32);
        for (number, pair) in (piece.start as u64..).zip(pairs) {
            *pair |= number;
        }
    })?;
    quicksort(workers, vectors, pairs, other.lanes)?;
    workers.pieces(n, move |piece| {
        let numbers = result.slice_mut(piece.start, piece.end);
        vectors.map(pairs.slice(piece.start, piece.end), numbers, <u32 as Key>::of);
    })
}

/// Sorts `keys`, with `other` as long to work in.
///
/// # Errors
/// `Interrupted`; the keys are undefined then.
pub(super) fn quicksort<K: QuickKey>(
    workers: &Workers<'_>,
    vectors: Vectors,
    keys: Lanes<K>,
    other: Lanes<K>,
) -> Result<()> {
    let n = keys.len();
    let threads = if n < WORTH_A_THREAD { 1 } else { workers.pool.threads() };
    let sorter = Arc::new(Sorter {
        vectors,
        offered: Mutex::new(vec![Part::whole(keys, other)]),
        unfinished: AtomicUsize::new(1),
        stopped: AtomicBool::new(false),
        shares: threads > 1,
    });
    let shared = sorter.clone();
    let work = move |claims: &Claims<'_>| {
        while claims.take().is_some() {
            shared.work();
        }
    };
    if threads == 1 {
        work(&Chunks::new(1).claims(0));
    } else {
        workers.pool.run(threads as u64, Arc::new(work));
    }
    if sorter.stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

/// Sorts `keys`, with `other` as long to work in, on this thread; if it shall not go on, they are undefined then.
pub(super) fn sort_alone<K: QuickKey>(vectors: Vectors, keys: Lanes<K>, other: Lanes<K>) {
    let sorter = Sorter {
        vectors,
        offered: Mutex::default(),
        unfinished: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        shares: false,
    };
    sorter.sort(Part::whole(keys, other));
}

/// Keys that come before or after all others.
struct Part<K> {
    home: Lanes<K>,
    other: Lanes<K>,
    /// Where the keys are.
    is_home: bool,
    /// Pivots until it is clear that they are bad ones.
    patience: u32,
}

struct Sorter<K> {
    vectors: Vectors,
    /// Parts without a worker.
    offered: Mutex<Vec<Part<K>>>,
    /// Parts offered or worked on.
    unfinished: AtomicUsize,
    stopped: AtomicBool,
    shares: bool,
}

/// Counts a part as finished, however its thread leaves it.
struct Finished<'a>(&'a AtomicUsize);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl<K: QuickKey> Sorter<K> {
    /// One thread's share: parts until none is left.
    fn work(&self) {
        while self.unfinished.load(Ordering::Acquire) > 0 {
            let part = self.offered.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match part {
                Some(part) => {
                    let _finished = Finished(&self.unfinished);
                    self.sort(part);
                }
                None => std::thread::yield_now(),
            }
        }
    }

    fn offer(&self, part: Part<K>) {
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        self.offered.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    fn goes_on(&self) -> bool {
        if interrupt::is_requested() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Sorts the keys of a part into its home. Recursion is as deep as patience is long.
    fn sort(&self, mut part: Part<K>) {
        loop {
            let n = part.home.len();
            let home = part.home.slice_mut(0, n);
            let other = part.other.slice_mut(0, n);
            if n <= Vectors::few::<K>() {
                return self.vectors.sort_few((!part.is_home).then_some(other), home);
            }
            let (from, to, stay) = match part.is_home {
                true => (&mut *home, other, Stay::Below),
                false => (other, &mut *home, Stay::Others),
            };
            if part.patience == 0 {
                from.sort_unstable();
                if !part.is_home {
                    to.copy_from_slice(from);
                }
                return;
            }
            let pivot = self.pivot(from);
            let go = || self.goes_on();
            let Some(stayed) = self.vectors.partition(from, to, pivot, stay, go) else { return };
            let below = if part.is_home { stayed } else { n - stayed };
            let patience = part.patience - 1;
            let high = part.range(below, 0, n - below, false, patience);
            if below > 0 {
                part = part.range(0, n - below, below, true, patience);
                if self.shares && n - below >= OFFERED {
                    self.offer(high);
                } else {
                    self.sort(high);
                }
                continue;
            }
            // The pivot is the smallest key. What equals it is in its place.
            let Some(next) = pivot.next() else { return home.fill(pivot) };
            let other = part.other.slice_mut(0, n);
            let Some(rest) = self.vectors.partition(other, home, next, Stay::Others, go) else {
                return;
            };
            part = high.range(n - rest, 0, rest, false, patience);
        }
    }

    /// A key of the middle: that of keys from all over.
    fn pivot(&self, keys: &[K]) -> K {
        let few = Vectors::few::<K>();
        let mut sample = [K::default(); 128];
        let size = if keys.len() > LARGE { few / 2 } else { few / 16 };
        for (i, key) in sample[..size].iter_mut().enumerate() {
            *key = keys[(2 * i + 1) * (keys.len() / (2 * size))];
        }
        self.vectors.sort_few(None, &mut sample[..size]);
        sample[size / 2]
    }
}

impl<K: Copy> Part<K> {
    /// All keys, at home.
    fn whole(home: Lanes<K>, other: Lanes<K>) -> Self {
        // Good pivots halve; an unlucky row of them is left to the standard library.
        let patience = 2 * (home.len().max(1).ilog2() + 8);
        Self { home, other, is_home: true, patience }
    }

    /// The part of `n` keys at `home` and `other` in the ranges of this one.
    fn range(&self, home: usize, other: usize, n: usize, is_home: bool, patience: u32) -> Self {
        let (home, other) = (self.home.range(home, n), self.other.range(other, n));
        Self { home, other, is_home, patience }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::isa::Isa;
    use crate::backend::thread_pool::Pool;
    use crate::memory::buffer::Buffer;

    fn check<K: QuickKey + std::fmt::Debug>(keys: &[K], vectors: Vectors, threads: usize) {
        let pool = Pool::new(threads);
        let room = |_| -> Result<Buffer> { Err(Error::Interrupted) };
        let workers = Workers { pool: &pool, room: &room, isa: Isa::Avx512 };
        let (mut sorted, mut other) = (keys.to_vec(), keys.to_vec());
        let lanes = |keys: &mut Vec<K>| {
            Lanes::<K>::at(keys.as_mut_ptr().expose_provenance() as u64, keys.len())
        };
        quicksort(&workers, vectors, lanes(&mut sorted), lanes(&mut other)).unwrap();
        let mut want = keys.to_vec();
        want.sort_unstable();
        assert!(sorted == want, "{} keys, {threads} threads: {:?}", keys.len(), keys.first());
    }

    #[test]
    fn keys_of_any_kind_and_number_are_sorted() {
        let Some(vectors) = Vectors::of(Isa::detect()) else { return };
        let random = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 ^ i << 17;
        let kinds: [&dyn Fn(u64, u64) -> u64; 7] = [
            &|i, _| random(i),
            &|i, _| random(i) % 3,
            &|_, _| u64::MAX,
            &|i, n| if i == n / 2 { 7 } else { u64::MAX },
            &|i, _| i / 5,
            &|i, n| n - i,
            &|i, _| (i % 16).min(1) * (random(i) % 100 + u64::MAX / 2),
        ];
        for kind in kinds {
            for n in (0..600).step_by(7).chain([4096, 70_001, (1 << 17) + 3]) {
                let keys: Vec<u64> = (0..n).map(|i| kind(i, n)).collect();
                for threads in [1, 3] {
                    check(&keys, vectors, threads);
                    let narrow: Vec<u32> = keys.iter().map(|&key| Key::of(key)).collect();
                    check(&narrow, vectors, threads);
                }
            }
        }
    }

    #[test]
    fn bad_pivots_end_in_another_sort() {
        let Some(vectors) = Vectors::of(Isa::detect()) else { return };
        let sorter = Sorter {
            vectors,
            offered: Mutex::default(),
            unfinished: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            shares: false,
        };
        for is_home in [true, false] {
            let mut keys: Vec<u32> = (0..1000).map(|i| i * 7919 % 1009).collect();
            let mut want = keys.clone();
            want.sort_unstable();
            let mut home = vec![0; 1000];
            if is_home {
                std::mem::swap(&mut keys, &mut home);
            }
            let lanes = |keys: &mut Vec<u32>| {
                Lanes::<u32>::at(keys.as_mut_ptr().expose_provenance() as u64, keys.len())
            };
            let (at_home, other) = (lanes(&mut home), lanes(&mut keys));
            sorter.sort(Part { home: at_home, other, is_home, patience: 1 });
            assert_eq!(home, want);
        }
    }
}

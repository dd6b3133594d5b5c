//! Sorts that parts share: each sorts its lanes as words, and merges the words that are its own in the end.
//!
//! A word is a key (`sort.rs`), behind which stands the number of the lane where numbers are wanted: equal words stand for
//! the same bits, so it does not show in which order they come.

use std::ops::Range;
use std::sync::Arc;

use super::MemoryArray;
use super::cut::{Cut, Probe};
use super::lanes::{Lanes, Numbers};
use super::pieces::{WORTH_A_THREAD, Workers};
#[cfg(target_arch = "x86_64")]
use super::quicksort::quicksort;
use super::sort::{Item, Key, key_of, lane_of, radix};
use super::sort_rows::map;
#[cfg(target_arch = "x86_64")]
use super::vectors::Vectors;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::half::F16;
use crate::ir::primitive::{Order, PartSort};
use crate::ir::scalar::{Lane, with_lane};

/// Words that a thread merges at a time: they stay near the processor.
const TASK: usize = 1 << 15;
/// Words of each run that are looked at at a time to find where it is cut.
const PROBES: u64 = 32;

/// What is sorted and merged.
trait Word: Item + Ord {
    /// In the order of words.
    fn number(self) -> u128;

    /// Sorts words by these bits of their keys, with `other` as long to work in. Words of equal bits there are in order.
    fn sort(
        workers: &Workers<'_>,
        words: Lanes<Self>,
        other: Lanes<Self>,
        bits: Range<u32>,
    ) -> Result<()> {
        by_digits(workers, words, other, bits)
    }
}

/// A key, and the number of its lane.
type Pair = [u64; 2];

impl Item for Pair {
    #[inline(always)]
    fn key(&self) -> u64 {
        self[0]
    }
}

impl Word for Pair {
    fn number(self) -> u128 {
        u128::from(self[0]) << 64 | u128::from(self[1])
    }
}

impl Word for u8 {
    fn number(self) -> u128 {
        self.into()
    }
}

impl Word for u16 {
    fn number(self) -> u128 {
        self.into()
    }
}

macro_rules! words {
    ($($word:ty)*) => { $(
        impl Word for $word {
            fn number(self) -> u128 {
                self.into()
            }

            fn sort(
                workers: &Workers<'_>,
                words: Lanes<Self>,
                other: Lanes<Self>,
                bits: Range<u32>,
            ) -> Result<()> {
                #[cfg(target_arch = "x86_64")]
                if let Some(vectors) = Vectors::of(workers.isa) {
                    return quicksort(workers, vectors, words, other);
                }
                by_digits(workers, words, other, bits)
            }
        }
    )* };
}

words! { u32 u64 }

fn by_digits<W: Item>(
    workers: &Workers<'_>,
    words: Lanes<W>,
    other: Lanes<W>,
    bits: Range<u32>,
) -> Result<()> {
    let sorted = radix(workers, words, other, bits)?;
    if sorted.address() == words.address() {
        return Ok(());
    }
    workers.pieces(words.len(), move |piece| {
        let to = words.slice_mut(piece.start, piece.end);
        to.copy_from_slice(sorted.slice(piece.start, piece.end));
    })
}

/// Lanes with a key as wide as they are.
trait Keyed: Lane {
    type Key: Key + Word;
}

macro_rules! keyed {
    ($($lane:ty: $key:ty),*) => { $(
        impl Keyed for $lane {
            type Key = $key;
        }
    )* };
}

keyed! {
    bool: u8, i8: u8, u8: u8, i16: u16, u16: u16, F16: u16, i32: u32, u32: u32, f32: u32, i64: u64, u64: u64, f64: u64
}

/// The lanes of a part as sorted words, or their numbers, which begin with `base`.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`.
pub(super) fn run(
    workers: &Workers<'_>,
    sort: PartSort,
    x: MemoryArray,
    words: MemoryArray,
    base: u64,
) -> Result<()> {
    let order = sort.order;
    if !sort.is_index {
        return with_lane!(x.dtype,
            T => keys::<T>(workers, order, x, words),
            mask => keys::<bool>(workers, order, x, words));
    }
    with_lane!(x.dtype,
        T => numbered::<T>(workers, order, x, (words, base)),
        mask => numbered::<bool>(workers, order, x, (words, base)))
}

fn keys<T: Keyed>(
    workers: &Workers<'_>,
    order: Order,
    x: MemoryArray,
    words: MemoryArray,
) -> Result<()> {
    let key = move |lane| T::Key::of(key_of::<T>(lane, order));
    sort_words(workers, Lanes::of(x), Lanes::of(words), 0..T::DTYPE.bits(), key, |_, _| {})
}

fn numbered<T: Lane>(
    workers: &Workers<'_>,
    order: Order,
    x: MemoryArray,
    (words, base): (MemoryArray, u64),
) -> Result<()> {
    let (lanes, bits) = (Lanes::<T>::of(x), 0..T::DTYPE.bits());
    if words.size == x.size {
        let key = move |lane| key_of(lane, order) << 32;
        let number = move |word: &mut u64, lane| *word |= base + lane;
        return sort_words(workers, lanes, Lanes::of(words), 32..32 + T::DTYPE.bits(), key, number);
    }
    let key = move |lane| [key_of(lane, order), 0];
    let number = move |word: &mut Pair, lane| word[1] = base + lane;
    sort_words(workers, lanes, Lanes::at(words.address, lanes.len()), bits, key, number)
}

/// Makes words of lanes, puts in their numbers, and sorts them.
fn sort_words<T: Lane, W: Word>(
    workers: &Workers<'_>,
    x: Lanes<T>,
    words: Lanes<W>,
    bits: Range<u32>,
    key: impl Fn(T) -> W + Copy + Send + Sync + 'static,
    number: impl Fn(&mut W, u64) + Send + Sync + 'static,
) -> Result<()> {
    let other = workers.scratch::<W>(x.len())?;
    let isa = workers.isa;
    workers.pieces(x.len(), move |piece| {
        let to = words.slice_mut(piece.start, piece.end);
        map(isa, x.slice(piece.start, piece.end), to, key);
        (piece.start as u64..).zip(to).for_each(|(lane, word)| number(word, lane));
    })?;
    W::sort(workers, words, other.lanes, bits)
}

/// What the words of runs stand for, in order: operands words and the length of each run.
///
/// # Errors
/// As [`run`].
pub(super) fn merge(
    workers: &Workers<'_>,
    sort: PartSort,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<()> {
    let words = operands[0];
    let lengths = Lanes::<u64>::of(operands[1]);
    let lengths: Vec<usize> = lengths.slice(0, lengths.len()).iter().map(|&n| exactly(n)).collect();
    if !sort.is_index {
        return with_lane!(result.dtype,
            T => merge_keys::<T>(workers, sort.order, (words, &lengths), result),
            mask => merge_keys::<bool>(workers, sort.order, (words, &lengths), result));
    }
    let pairs = || Lanes::<Pair>::at(words.address, exactly::<usize>(words.size / 2));
    match Numbers::of(result) {
        Numbers::U32(to) if words.size == result.size => {
            let number = |word: u64| <u32 as Key>::of(word & u64::from(u32::MAX));
            merge_runs(workers, (Lanes::of(words), &lengths), to, number)
        }
        Numbers::U32(to) => {
            let number = |[_, number]: Pair| <u32 as Key>::of(number);
            merge_runs(workers, (pairs(), &lengths), to, number)
        }
        Numbers::U64(to) => {
            merge_runs(workers, (pairs(), &lengths), to, |[_, number]: Pair| number)
        }
    }
}

fn merge_keys<T: Keyed>(
    workers: &Workers<'_>,
    order: Order,
    (words, lengths): (MemoryArray, &[usize]),
    result: MemoryArray,
) -> Result<()> {
    let lane = move |key: T::Key| lane_of::<T>(key.bits(), order);
    merge_runs(workers, (Lanes::of(words), lengths), Lanes::of(result), lane)
}

/// Merges runs, and writes what each word stands for.
fn merge_runs<W: Word, R: Copy + 'static>(
    workers: &Workers<'_>,
    (words, lengths): (Lanes<W>, &[usize]),
    result: Lanes<R>,
    meaning: impl Fn(W) -> R + Copy + Send + Sync + 'static,
) -> Result<()> {
    let mut start = 0;
    let run = |&length: &usize| {
        start += length;
        words.range(start - length, length)
    };
    let runs: Vec<Lanes<W>> = lengths.iter().map(run).collect();
    let isa = workers.isa;
    let write = move |merged: &[W], start: usize| {
        map(isa, merged, result.slice_mut(start, start + merged.len()), meaning);
    };
    in_order(workers, runs, Arc::new(write))
}

/// What takes words, and the number of the first.
type Write<W> = Arc<dyn Fn(&[W], usize) + Send + Sync>;

/// Calls `write` with the words of all runs in order, some at a time, and the number of the first of them.
fn in_order<W: Word>(workers: &Workers<'_>, runs: Vec<Lanes<W>>, write: Write<W>) -> Result<()> {
    let n: usize = runs.iter().map(|run| run.len()).sum();
    let room = workers.scratch::<W>(workers.pool.threads() * 2 * TASK)?;
    let places = room.places(2 * TASK);
    workers.tasks(n.div_ceil(TASK), n >= WORTH_A_THREAD, move |task, _| {
        let [first, end] = [task * TASK, n.min((task + 1) * TASK)];
        let [from, to] = [first, end].map(|rank| cut(&runs, rank));
        let pieces = (0..runs.len()).map(|run| runs[run].slice(from[run], to[run]));
        let pieces: Vec<&[W]> = pieces.filter(|piece| !piece.is_empty()).collect();
        places.with(|_, place| {
            let rooms = [0, TASK].map(|start| place.range(start, TASK));
            write(merged(pieces, rooms), first);
        });
    })
}

/// Where runs are cut behind a number of words.
fn cut<W: Word>(runs: &[Lanes<W>], rank: usize) -> Vec<usize> {
    let lengths: Vec<u64> = runs.iter().map(|run| run.len() as u64).collect();
    let mut cut = Cut::new(rank as u64, &lengths);
    let mut probes = Vec::new();
    while !cut.is_found() {
        for (run, words) in runs.iter().enumerate() {
            let word = |place: u64| words.get(exactly(place)).number();
            let probe = |place| Probe { word: word(place), run, place };
            probes.extend(cut.probes(run, PROBES).map(probe));
        }
        cut.narrow(&mut probes);
    }
    cut.places().into_iter().map(exactly).collect()
}

/// The words of all runs in order: in the only run, or in one of two rooms, two and two, and so on.
fn merged<W: Word>(mut runs: Vec<&[W]>, [mut to, mut from]: [Lanes<W>; 2]) -> &[W] {
    while runs.len() > 1 {
        let mut start = 0;
        let merge = |runs: &[&[W]]| {
            let n: usize = runs.iter().map(|run| run.len()).sum();
            let out = to.slice_mut(start, start + n);
            start += n;
            match runs {
                [a, b] => merge_two(a, b, out),
                one => out.copy_from_slice(one[0]),
            }
            &*out
        };
        runs = runs.chunks(2).map(merge).collect();
        (to, from) = (from, to);
    }
    runs.first().copied().unwrap_or_default()
}

/// Merges two runs into room for both: without branches that nobody could foresee.
fn merge_two<W: Word>(mut a: &[W], mut b: &[W], out: &mut [W]) {
    let mut out = out.iter_mut();
    while let ([x, ..], [y, ..]) = (a, b)
        && let Some(out) = out.next()
    {
        let is_b = y < x;
        *out = if is_b { *y } else { *x };
        (a, b) = (&a[usize::from(!is_b)..], &b[usize::from(is_b)..]);
    }
    out.zip(a.iter().chain(b)).for_each(|(out, &word)| *out = word);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::isa::Isa;
    use crate::backend::primitive::{PrimitiveCall, room_of_the_heap, run as run_primitive};
    use crate::backend::thread_pool::Pool;
    use crate::ir::primitive::{Primitive, Sorting};

    /// An array of bytes, in words of 16 as those of pairs.
    struct Block(Vec<u128>, DType, u64);

    impl Block {
        fn new(dtype: DType, size: u64) -> Self {
            let bytes = exactly::<usize>(size) * dtype.bytes();
            Self(vec![0; bytes.div_ceil(16)], dtype, size)
        }

        fn array(&mut self) -> MemoryArray {
            let address = self.0.as_mut_ptr().expose_provenance() as u64;
            MemoryArray { address, size: self.2, dtype: self.1 }
        }

        /// Some of its elements.
        fn range(&mut self, elements: Range<u64>) -> MemoryArray {
            let all = self.array();
            let address = all.address + elements.start * self.1.bytes() as u64;
            MemoryArray { address, size: elements.end - elements.start, ..all }
        }
    }

    fn copy(from: MemoryArray, to: MemoryArray) {
        let lanes =
            |array: MemoryArray| Lanes::<u8>::at(array.address, exactly::<usize>(array.bytes()));
        let n = lanes(from).len();
        lanes(to).slice_mut(0, n).copy_from_slice(lanes(from).slice(0, n));
    }

    /// Has a device run a primitive.
    fn call(
        isa: Isa,
        primitive: Primitive,
        operands: &[MemoryArray],
        result: MemoryArray,
        base: u64,
    ) {
        let (operands, imag) = (operands.iter().copied().collect(), None);
        let call = PrimitiveCall { primitive, operands, result, imag, lane_base: base };
        run_primitive(&Pool::new(2), isa, &call, &room_of_the_heap).unwrap();
    }

    /// Sorts lanes in parts of these lengths, merges them for each of these parts, and compares with one sort of all.
    fn check(isa: Isa, x: &mut Block, parts: &[u64], sort: PartSort, per_lane: u64) {
        let n = x.2;
        let sorting = Sorting { order: sort.order, extent: n };
        let (whole, result, word) = match (sort.is_index, per_lane) {
            (false, _) => (Primitive::Sort(sorting), x.1, x.1.unsigned()),
            (true, _) => (Primitive::SortIndex(sorting), DType::U32, DType::U64),
        };
        let mut want = Block::new(result, n);
        call(isa, whole, &[x.array()], want.array(), 0);
        let mut words = Block::new(word, n * per_lane);
        let mut base = 0;
        for &length in parts {
            let own = base..base + length;
            let words = words.range(own.start * per_lane..own.end * per_lane);
            call(isa, Primitive::Run(sort), &[x.range(own)], words, base);
            base += length;
        }
        let numbers: Vec<u128> = {
            let all = words.array();
            let number = |i: u64| match (all.dtype.bytes(), per_lane) {
                (1, _) => Lanes::<u8>::of(all).get(exactly(i)).number(),
                (2, _) => Lanes::<u16>::of(all).get(exactly(i)).number(),
                (4, _) => Lanes::<u32>::of(all).get(exactly(i)).number(),
                (_, 1) => Lanes::<u64>::of(all).get(exactly(i)).number(),
                _ => Lanes::<Pair>::at(all.address, exactly(n)).get(exactly(i)).number(),
            };
            (0..n).map(number).collect()
        };
        let starts =
            || parts.iter().scan(0, |next, &length| Some(std::mem::replace(next, *next + length)));
        let cut = |rank: u64| {
            let mut cut = Cut::new(rank, parts);
            while !cut.is_found() {
                let probe = |(run, start): (usize, u64)| {
                    let word = |place: u64| numbers[exactly::<usize>(start + place)];
                    cut.probes(run, 16)
                        .map(move |place| (run, place, word(place)))
                        .collect::<Vec<_>>()
                };
                let probes = starts().enumerate().flat_map(probe);
                let probe = |(run, place, word)| Probe { word, run, place };
                let mut probes = probes.map(probe).collect();
                cut.narrow(&mut probes);
            }
            cut.places()
        };
        let mut got = Block::new(result, n);
        for (start, &length) in starts().zip(parts).filter(|(_, length)| **length > 0) {
            let [from, to] = [start, start + length].map(cut);
            let mut runs = Block::new(word, length * per_lane);
            let mut lengths = Block::new(DType::U64, parts.len() as u64);
            let mut next = 0;
            for (run, first) in starts().enumerate() {
                let n = to[run] - from[run];
                Lanes::<u64>::of(lengths.array()).set(run, n);
                let moved =
                    words.range((first + from[run]) * per_lane..(first + to[run]) * per_lane);
                copy(moved, runs.range(next * per_lane..(next + n) * per_lane));
                next += n;
            }
            assert_eq!(next, length);
            let operands = [runs.array(), lengths.array()];
            call(isa, Primitive::Merge(sort), &operands, got.range(start..start + length), 0);
        }
        assert!(got.0 == want.0, "{isa:?}, {} as {parts:?}: {sort:?}, {per_lane}", x.1);
    }

    #[test]
    fn parts_sort_as_one() {
        let mut state = 3_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 13 ^ state << 31
        };
        let isas = [Isa::detect(), Isa::Baseline];
        for parts in [&[1][..], &[0, 5, 3], &[4096, 4096, 1], &[70_000, 0, 61_000, 80_000]] {
            for dtype in DType::ALL {
                let n: u64 = parts.iter().sum();
                let mut x = Block::new(dtype, n);
                // Of truth values the lowest bit.
                let mask = if dtype == DType::Mask { u64::MAX / 255 } else { u64::MAX };
                // Few kinds of lanes, among them NaNs and zeros of both signs, and many.
                let few = next() & mask;
                for word in &mut x.0 {
                    let both = match next() % 4 {
                        0 => [0, few],
                        1 => [mask, 1 << 63 & mask],
                        _ => [next() & mask, next() & mask],
                    };
                    *word = both.number();
                }
                let isas = if n < WORTH_A_THREAD as u64 { &isas[..] } else { &isas[..1] };
                for order in [Order::Ascending, Order::Descending] {
                    for &isa in isas {
                        check(isa, &mut x, parts, PartSort { order, is_index: false }, 1);
                        check(isa, &mut x, parts, PartSort { order, is_index: true }, 2);
                        if dtype.bytes() <= 4 {
                            check(isa, &mut x, parts, PartSort { order, is_index: true }, 1);
                        }
                    }
                }
            }
        }
    }
}

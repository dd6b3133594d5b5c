//! Sorts by unsigned keys that have the order of the lanes: `quicksort.rs` where vectors pay, otherwise a
//! stable radix sort in linear time.
//!
//! Digits from the lowest up; for each, every piece counts its digits, the counts of all pieces give
//! where each piece puts lanes of each digit, and the pieces move their lanes there. A digit that all
//! lanes share moves nothing.

use std::ops::Range;

use super::MemoryArray;
use super::lanes::{Lanes, Numbers};
use super::pieces::{Workers, piece_length};
#[cfg(target_arch = "x86_64")]
use super::quicksort;
#[cfg(target_arch = "x86_64")]
use super::vectors::Vectors;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::Order;
use crate::ir::scalar::{Lane, quiet_nan, with_lane};

/// Bits of a digit: as many streams of writes as the innermost cache holds lines of.
const DIGIT: u32 = 8;
const BUCKETS: usize = 1 << DIGIT;
/// Bytes of the smallest page.
const PAGE: usize = 4096;
/// Lanes up to which the standard library's merge sort is as good.
const SMALL: usize = 1 << 11;

/// The lanes of `x` in order.
pub(super) fn sort(
    workers: &Workers<'_>,
    order: Order,
    x: MemoryArray,
    result: MemoryArray,
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = Vectors::of(workers.isa)
        && x.dtype.bytes() >= 4
    {
        return quicksort::sort(workers, vectors, order, x, result);
    }
    match x.dtype.bytes() {
        8 => with_lane!(x.dtype,
            T => sort_lanes::<T, u64>(workers, order, Lanes::of(x), Lanes::of(result)),
            mask => unreachable!("internal error: a mask of 8 bytes")),
        _ => with_lane!(x.dtype,
            T => sort_lanes::<T, u32>(workers, order, Lanes::of(x), Lanes::of(result)),
            mask => sort_lanes::<bool, u32>(workers, order, Lanes::of(x), Lanes::of(result))),
    }
}

/// The numbers of the lanes of `x` in order.
pub(super) fn sort_index(
    workers: &Workers<'_>,
    order: Order,
    x: MemoryArray,
    result: MemoryArray,
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if let (Some(vectors), Numbers::U32(numbers)) = (Vectors::of(workers.isa), Numbers::of(result))
        && x.dtype.bytes() == 4
    {
        return quicksort::sort_index(workers, vectors, order, x, numbers);
    }
    with_lane!(x.dtype,
        T => index_lanes::<T>(workers, order, Lanes::of(x), Numbers::of(result)),
        mask => index_lanes::<bool>(workers, order, Lanes::of(x), Numbers::of(result)))
}

fn sort_lanes<T: Lane, K: Key>(
    workers: &Workers<'_>,
    order: Order,
    x: Lanes<T>,
    result: Lanes<T>,
) -> Result<()> {
    let n = x.len();
    let [keys, other] = [workers.scratch::<K>(n)?, workers.scratch::<K>(n)?];
    let from = keys.lanes;
    workers.pieces(n, move |piece| {
        let keys = from.slice_mut(piece.start, piece.end);
        for (key, &lane) in keys.iter_mut().zip(x.slice(piece.start, piece.end)) {
            *key = K::of(key_of(lane, order));
        }
    })?;
    let sorted = radix(workers, keys.lanes, other.lanes, 0..T::DTYPE.bits())?;
    workers.pieces(n, move |piece| {
        let lanes = result.slice_mut(piece.start, piece.end);
        for (lane, &key) in lanes.iter_mut().zip(sorted.slice(piece.start, piece.end)) {
            *lane = lane_of(key.bits(), order);
        }
    })
}

fn index_lanes<T: Lane>(
    workers: &Workers<'_>,
    order: Order,
    x: Lanes<T>,
    result: Numbers,
) -> Result<()> {
    match (T::DTYPE.bytes(), result) {
        (8, Numbers::U32(result)) => sort_pairs::<T, u64, u32>(workers, order, x, result),
        (_, Numbers::U32(result)) => sort_pairs::<T, u32, u32>(workers, order, x, result),
        (_, Numbers::U64(result)) => sort_pairs::<T, u64, u64>(workers, order, x, result),
    }
}

fn sort_pairs<T: Lane, K: Key, I: Key>(
    workers: &Workers<'_>,
    order: Order,
    x: Lanes<T>,
    result: Lanes<I>,
) -> Result<()> {
    let n = x.len();
    let [pairs, other] = [workers.scratch::<(K, I)>(n)?, workers.scratch::<(K, I)>(n)?];
    let from = pairs.lanes;
    workers.pieces(n, move |piece| {
        let pairs = from.slice_mut(piece.start, piece.end);
        let lanes = x.slice(piece.start, piece.end);
        for (number, (pair, &lane)) in (piece.start as u64..).zip(pairs.iter_mut().zip(lanes)) {
            *pair = (K::of(key_of(lane, order)), I::of(number));
        }
    })?;
    let sorted = radix(workers, pairs.lanes, other.lanes, 0..T::DTYPE.bits())?;
    workers.pieces(n, move |piece| {
        let numbers = result.slice_mut(piece.start, piece.end);
        for (number, pair) in numbers.iter_mut().zip(sorted.slice(piece.start, piece.end)) {
            *number = pair.1;
        }
    })
}

/// Sorts `from` by these bits of the keys, with `to` to work in; gives the one that holds the result.
pub(super) fn radix<E: Item>(
    workers: &Workers<'_>,
    mut from: Lanes<E>,
    mut to: Lanes<E>,
    bits: Range<u32>,
) -> Result<Lanes<E>> {
    let n = from.len();
    if n <= SMALL {
        from.slice_mut(0, n).sort_by_key(|item| item.key());
        return Ok(from);
    }
    let n_pieces = n.div_ceil(piece_length(n));
    // Each piece writes all over the target: in a fresh block, the first one would wait for all its pages. Made in
    // order, by all threads, they can be interrupted.
    workers.pieces(n, move |piece| {
        for lane in (piece.start..piece.end).step_by(PAGE / size_of::<E>()) {
            to.set(lane, from.get(lane));
        }
    })?;
    let counts = workers.scratch::<u64>(n_pieces * BUCKETS)?;
    let places = counts.lanes;
    for shift in bits.step_by(DIGIT as usize) {
        let digit = move |item: &E| item.digit(shift);
        workers.pieces(n, move |piece| {
            let start = piece.number * BUCKETS;
            let counts = places.slice_mut(start, start + BUCKETS);
            counts.fill(0);
            from.slice(piece.start, piece.end).iter().for_each(|item| counts[digit(item)] += 1);
        })?;
        if !counts_to_places(places.slice_mut(0, places.len()), n as u64) {
            continue;
        }
        workers.pieces(n, move |piece| {
            let start = piece.number * BUCKETS;
            let places = places.slice_mut(start, start + BUCKETS);
            for item in from.slice(piece.start, piece.end) {
                let place = &mut places[digit(item)];
                to.set(exactly::<usize>(*place), *item);
                *place += 1;
            }
        })?;
        (from, to) = (to, from);
    }
    Ok(from)
}

/// Turns the counts of each piece into where it puts its lanes; whether any lane moves.
fn counts_to_places(counts: &mut [u64], n: u64) -> bool {
    let mut next = 0;
    for digit in 0..BUCKETS {
        let first = next;
        for place in counts[digit..].iter_mut().step_by(BUCKETS) {
            next += std::mem::replace(place, next);
        }
        if next - first == n {
            return false;
        }
    }
    true
}

/// An unsigned integer that keys and lane numbers fit.
pub(super) trait Key: Item {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! keys {
    ($($key:ty)*) => { $(
        impl Key for $key {
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation, clippy::unnecessary_cast,
                reason = "narrow types live in the low bits"
            )]
            fn of(bits: u64) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self.into()
            }
        }

        impl Item for $key {
            #[inline(always)]
            fn key(&self) -> u64 {
                (*self).into()
            }
        }
    )* };
}

keys! { u8 u16 u32 u64 }

/// An item that a sort moves: a key, or a key with the number of its lane.
pub(super) trait Item: Copy + Send + Sync + 'static {
    fn key(&self) -> u64;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a digit is small")]
    fn digit(&self, shift: u32) -> usize {
        (self.key() >> shift) as usize & (BUCKETS - 1)
    }
}

impl<K: Key, I: Key> Item for (K, I) {
    #[inline(always)]
    fn key(&self) -> u64 {
        self.0.bits()
    }
}

/// Bits as wide as the type, all ones: the key of every NaN, either way.
#[inline(always)]
const fn last_key(dtype: DType) -> u64 {
    u64::MAX >> (64 - dtype.bits())
}

/// The highest bit of a type. A constant, as all that the conversions ask a type: they run in loops.
#[inline(always)]
fn sign_bit<T: Lane>() -> u64 {
    const { 1 << (T::DTYPE.bits() - 1) }
}

/// An unsigned integer with the order of the lanes: sign bits flipped, and negative floats, whose bits
/// grow downwards, inverted.
#[inline(always)]
pub(super) fn key_of<T: Lane>(lane: T, order: Order) -> u64 {
    let (bits, all, sign) = (lane.to_bits64(), const { last_key(T::DTYPE) }, sign_bit::<T>());
    let ascending = if const { T::DTYPE.is_float() } {
        if T::compare(Op::Ne, lane, lane) {
            return all;
        }
        if bits & sign != 0 { bits ^ all } else { bits | sign }
    } else if const { T::DTYPE.is_signed() } {
        bits ^ sign
    } else {
        bits
    };
    if order == Order::Descending { ascending ^ all } else { ascending }
}

/// The lane with a key.
#[inline(always)]
pub(super) fn lane_of<T: Lane>(key: u64, order: Order) -> T {
    let (all, sign) = (const { last_key(T::DTYPE) }, sign_bit::<T>());
    let ascending = if order == Order::Descending { key ^ all } else { key };
    T::from_bits64(if const { T::DTYPE.is_float() } {
        if key == all {
            const { quiet_nan(T::DTYPE) }
        } else if ascending & sign != 0 {
            ascending ^ sign
        } else {
            ascending ^ all
        }
    } else if const { T::DTYPE.is_signed() } {
        ascending ^ sign
    } else {
        ascending
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_the_lanes_and_lead_back() {
        let floats =
            [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-45, -0.0, 0.0, 1e-45, 2.0, f32::INFINITY];
        let integers = [i64::MIN, -5, -1, 0, 1, i64::MAX];
        for order in [Order::Ascending, Order::Descending] {
            let mut keys = floats.map(|x| key_of(x, order)).to_vec();
            let back = keys.iter().map(|&key| lane_of::<f32>(key, order).to_bits());
            assert!(back.eq(floats.iter().map(|x| x.to_bits())));
            keys.extend([f32::NAN, -f32::NAN].map(|nan| key_of(nan, order)));
            let falling = order == Order::Descending;
            if falling {
                keys[..floats.len()].reverse();
            }
            assert!(keys.is_sorted(), "{keys:x?}");
            assert!(lane_of::<f32>(keys[floats.len()], order).is_nan());
            let mut keys = integers.map(|x| key_of(x, order)).to_vec();
            assert!(keys.iter().map(|&key| lane_of::<i64>(key, order)).eq(integers));
            if falling {
                keys.reverse();
            }
            assert!(keys.is_sorted(), "{keys:x?}");
        }
    }
}

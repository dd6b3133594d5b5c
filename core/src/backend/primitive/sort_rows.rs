//! Sorts of rows: long ones by all threads, one after the other, and short ones each by one thread, near the processor.

use super::MemoryArray;
use super::lanes::{Lanes, Numbers};
use super::pieces::{WORTH_A_THREAD, Workers};
#[cfg(target_arch = "x86_64")]
use super::quicksort;
use super::sort::{self, Key, key_of, lane_of};
#[cfg(target_arch = "x86_64")]
use super::vectors::Vectors;
use crate::backend::isa::Isa;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::primitive::Sorting;
use crate::ir::scalar::{Lane, with_lane};

/// Lanes of a task.
const TASK: usize = 1 << 16;

/// The lanes of each row of `x` in order.
///
/// # Errors
/// `Interrupted`, `OutOfMemory`.
pub(super) fn sort(
    workers: &Workers<'_>,
    sorting: Sorting,
    x: MemoryArray,
    result: MemoryArray,
) -> Result<()> {
    if is_long(sorting, x) {
        let mut rows = rows(sorting, x).zip(rows(sorting, result));
        return rows.try_for_each(|(x, result)| sort::sort(workers, sorting.order, x, result));
    }
    match x.dtype.bytes() {
        8 => with_lane!(x.dtype,
            T => sort_short::<T, u64>(workers, sorting, Lanes::of(x), Lanes::of(result)),
            mask => unreachable!("internal error: a mask of 8 bytes")),
        _ => with_lane!(x.dtype,
            T => sort_short::<T, u32>(workers, sorting, Lanes::of(x), Lanes::of(result)),
            mask => sort_short::<bool, u32>(workers, sorting, Lanes::of(x), Lanes::of(result))),
    }
}

/// The numbers within its row of the lanes of each row of `x` in order.
///
/// # Errors
/// As [`sort`].
pub(super) fn sort_index(
    workers: &Workers<'_>,
    sorting: Sorting,
    x: MemoryArray,
    result: MemoryArray,
) -> Result<()> {
    if is_long(sorting, x) {
        let mut rows = rows(sorting, x).zip(rows(sorting, result));
        return rows
            .try_for_each(|(x, result)| sort::sort_index(workers, sorting.order, x, result));
    }
    with_lane!(x.dtype,
        T => index_short::<T>(workers, sorting, Lanes::of(x), Numbers::of(result)),
        mask => index_short::<bool>(workers, sorting, Lanes::of(x), Numbers::of(result)))
}

/// Whether rows are sorted one after the other.
fn is_long(sorting: Sorting, x: MemoryArray) -> bool {
    sorting.extent >= x.size.min(WORTH_A_THREAD as u64)
}

fn rows(sorting: Sorting, all: MemoryArray) -> impl Iterator<Item = MemoryArray> {
    let bytes = sorting.extent * all.dtype.bytes() as u64;
    let row =
        move |i| MemoryArray { address: all.address + i * bytes, size: sorting.extent, ..all };
    (0..all.size / sorting.extent).map(row)
}

fn sort_short<T: Lane, K: Key + Sortable>(
    workers: &Workers<'_>,
    Sorting { order, extent }: Sorting,
    x: Lanes<T>,
    result: Lanes<T>,
) -> Result<()> {
    let (extent, isa) = (exactly::<usize>(extent), workers.isa);
    in_rows(workers, x.len() / extent, extent, move |row, keys: Lanes<K>, other| {
        let (first, last) = (row * extent, (row + 1) * extent);
        let to = keys.slice_mut(0, extent);
        map(isa, x.slice(first, last), to, |lane| K::of(key_of(lane, order)));
        K::sort(isa, keys, other);
        let to = result.slice_mut(first, last);
        map(isa, keys.slice(0, extent), to, |key| lane_of(key.bits(), order));
    })
}

fn index_short<T: Lane>(
    workers: &Workers<'_>,
    sorting: Sorting,
    x: Lanes<T>,
    result: Numbers,
) -> Result<()> {
    match (T::DTYPE.bytes(), result) {
        (8, Numbers::U32(result)) => index_wide(workers, sorting, x, result),
        (8, Numbers::U64(result)) => index_wide(workers, sorting, x, result),
        (_, Numbers::U32(result)) => index_narrow(workers, sorting, x, result),
        (_, Numbers::U64(result)) => index_narrow(workers, sorting, x, result),
    }
}

/// Key and number are one word.
fn index_narrow<T: Lane, I: Key>(
    workers: &Workers<'_>,
    Sorting { order, extent }: Sorting,
    x: Lanes<T>,
    result: Lanes<I>,
) -> Result<()> {
    let (extent, isa) = (exactly::<usize>(extent), workers.isa);
    in_rows(workers, x.len() / extent, extent, move |row, pairs: Lanes<u64>, other| {
        let (first, last) = (row * extent, (row + 1) * extent);
        let to = pairs.slice_mut(0, extent);
        map(isa, x.slice(first, last), to, |lane| key_of(lane, order) << 32);
        (0..).zip(to).for_each(|(number, pair)| *pair |= number);
        u64::sort(isa, pairs, other);
        let to = result.slice_mut(first, last);
        map(isa, pairs.slice(0, extent), to, |pair| I::of(pair & u64::from(u32::MAX)));
    })
}

/// Key and number are two.
fn index_wide<T: Lane, I: Key>(
    workers: &Workers<'_>,
    Sorting { order, extent }: Sorting,
    x: Lanes<T>,
    result: Lanes<I>,
) -> Result<()> {
    let (extent, isa) = (exactly::<usize>(extent), workers.isa);
    in_rows(workers, x.len() / extent, extent, move |row, pairs: Lanes<(u64, u64)>, other| {
        let (first, last) = (row * extent, (row + 1) * extent);
        let numbered = (0..).zip(x.slice(first, last));
        let to = pairs.slice_mut(0, extent).iter_mut().zip(numbered);
        to.for_each(|(pair, (number, &lane))| *pair = (key_of(lane, order), number));
        Sortable::sort(isa, pairs, other);
        let to = result.slice_mut(first, last);
        map(isa, pairs.slice(0, extent), to, |(_, number)| I::of(number));
    })
}

/// Calls `each` with every row's number and twice room for its keys.
fn in_rows<K: Copy + Send + Sync + 'static>(
    workers: &Workers<'_>,
    n: usize,
    extent: usize,
    each: impl Fn(usize, Lanes<K>, Lanes<K>) + Send + Sync + 'static,
) -> Result<()> {
    let room = workers.scratch::<K>(workers.pool.threads() * 2 * extent)?;
    let places = room.places(2 * extent);
    let at_once = (TASK / extent).max(1);
    let is_worth = n * extent >= WORTH_A_THREAD;
    workers.tasks(n.div_ceil(at_once), is_worth, move |task, goes_on| {
        places.with(|_, place| {
            let [keys, other] = [0, extent].map(|start| place.range(start, extent));
            let rows = task * at_once..n.min((task + 1) * at_once);
            rows.take_while(|_| goes_on()).for_each(|row| each(row, keys, other));
        });
    })
}

/// What one thread sorts.
trait Sortable: Copy + Send + Sync + 'static {
    /// Sorts `keys`, with `other` as long to work in.
    fn sort(isa: Isa, keys: Lanes<Self>, other: Lanes<Self>);
}

macro_rules! sortable {
    ($($key:ty)*) => { $(
        impl Sortable for $key {
            fn sort(isa: Isa, keys: Lanes<Self>, other: Lanes<Self>) {
                #[cfg(target_arch = "x86_64")]
                if let Some(vectors) = Vectors::of(isa) {
                    return quicksort::sort_alone(vectors, keys, other);
                }
                let _ = (isa, other);
                keys.slice_mut(0, keys.len()).sort_unstable();
            }
        }
    )* };
}

sortable! { u32 u64 }

impl Sortable for (u64, u64) {
    fn sort(_: Isa, keys: Lanes<Self>, _: Lanes<Self>) {
        keys.slice_mut(0, keys.len()).sort_unstable();
    }
}

/// `to[i] = f(from[i])`.
pub(super) fn map<A: Copy, B>(isa: Isa, from: &[A], to: &mut [B], f: impl Fn(A) -> B) {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = Vectors::of(isa) {
        return vectors.map(from, to, f);
    }
    let _ = isa;
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = f(from));
}

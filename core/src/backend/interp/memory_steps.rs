//! Gathers and scatters over a block of lanes, one lane after the other.
#![expect(unsafe_code, reason = "lanes are addressed by raw pointers into blocks and buffers")]

use std::sync::{Mutex, PoisonError};

use crate::backend::OutOfBounds;
use crate::backend::index::Index;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::{Op, ScatterOp};
use crate::ir::scalar::{Lane, with_lane};

/// Where an access finds its lanes and its buffer.
pub(super) struct Access<'a> {
    /// Gather: first lane of the result. Scatter: first lane of the values.
    pub(super) lanes: *mut u8,
    /// First lane of the indices.
    pub(super) index: *const u8,
    /// First lane of the active mask; all lanes are active without one.
    pub(super) active: Option<*const u8>,
    /// The buffer.
    pub(super) buffer: *mut u8,
    /// Elements in the buffer.
    pub(super) length: u64,
    /// Number of lanes.
    pub(super) n: usize,
    /// Number of the first lane, counted from the lane base.
    pub(super) first: u64,
    /// Takes bounds errors; without it they pass silently.
    pub(super) failure: Option<&'a Failure>,
}

/// The lowest lane of a launch that was out of bounds in one access.
pub(super) type Failure = Mutex<Option<OutOfBounds>>;

/// Runs an access.
///
/// # Safety
/// Lanes, indices and mask must be valid for `n` lanes of their types, the buffer for `length` elements;
/// what is written has no other user.
pub(super) type AccessFn = unsafe fn(&Access<'_>);

impl Access<'_> {
    /// Calls `each` with lane and element of every lane; no element where inactive or out of bounds.
    ///
    /// # Safety
    /// As for [`AccessFn`].
    #[inline(always)]
    unsafe fn for_each<I: Index>(&self, mut each: impl FnMut(usize, Option<usize>)) {
        // SAFETY: the indices are valid for `n` lanes.
        let index = unsafe { std::slice::from_raw_parts(self.index.cast::<I>(), self.n) };
        // SAFETY: the mask is valid for `n` lanes.
        let active =
            self.active.map(|active| unsafe { std::slice::from_raw_parts(active, self.n) });
        let mut reported = false;
        for (lane, index) in index.iter().enumerate() {
            if active.is_some_and(|active| active[lane] == 0) {
                each(lane, None);
                continue;
            }
            let position = index.position();
            if position < self.length {
                each(lane, usize::try_from(position).ok());
            } else {
                if !std::mem::replace(&mut reported, true) {
                    self.report(lane, position);
                }
                each(lane, None);
            }
        }
    }

    /// The buffer's elements.
    ///
    /// # Safety
    /// As for [`AccessFn`]; a mutable borrow must be the only one.
    #[inline(always)]
    unsafe fn elements<'b, T>(&self) -> &'b mut [T] {
        let length = exactly::<usize>(self.length);
        // SAFETY: the buffer is valid for `length` elements.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.cast(), length) }
    }

    #[cold]
    fn report(&self, lane: usize, position: u64) {
        if let Some(failure) = self.failure {
            let new = OutOfBounds { lane: self.first + lane as u64, index: position };
            let mut lowest = failure.lock().unwrap_or_else(PoisonError::into_inner);
            *lowest = Some(lowest.map_or(new, |old| old.min(new)));
        }
    }
}

/// # Safety
/// As for [`AccessFn`].
unsafe fn gather<T: Copy + Default, I: Index>(access: &Access<'_>) {
    let length = exactly::<usize>(access.length);
    // SAFETY: the buffer is valid for `length` elements, and only read.
    let source = unsafe { std::slice::from_raw_parts(access.buffer.cast::<T>(), length) };
    // SAFETY: the result is valid for `n` lanes and overlaps nothing.
    let result = unsafe { std::slice::from_raw_parts_mut(access.lanes.cast::<T>(), access.n) };
    let each = |lane: usize, element: Option<usize>| {
        result[lane] = element.map_or_else(T::default, |element| source[element]);
    };
    // SAFETY: passed on to the caller.
    unsafe { access.for_each::<I>(each) };
}

/// # Safety
/// As for [`AccessFn`].
unsafe fn scatter<T: Copy, I: Index>(access: &Access<'_>, combine: impl Fn(T, T) -> T) {
    // SAFETY: the values are valid for `n` lanes.
    let values = unsafe { std::slice::from_raw_parts(access.lanes.cast::<T>(), access.n) };
    // SAFETY: the launch is the target's only user.
    let target = unsafe { access.elements::<T>() };
    let each = |lane: usize, element: Option<usize>| {
        if let Some(element) = element {
            target[element] = combine(target[element], values[lane]);
        }
    };
    // SAFETY: passed on to the caller.
    unsafe { access.for_each::<I>(each) };
}

/// # Safety
/// As for [`AccessFn`].
unsafe fn set<T: Copy, I: Index>(access: &Access<'_>) {
    // SAFETY: passed on to the caller.
    unsafe { scatter::<T, I>(access, |_, new| new) };
}

/// # Safety
/// As for [`AccessFn`].
unsafe fn combine<T: Lane, I: Index, const OP: u8>(access: &Access<'_>) {
    let op = const { Op::from_number(OP) };
    // SAFETY: passed on to the caller.
    unsafe { scatter::<T, I>(access, |old, new| T::apply(op, old, new, new)) };
}

/// Picks the instance of `$function` for the element type `$T`, the index type `$index` and further
/// parameters.
macro_rules! by_index {
    ($function:ident, $T:ty, $index:expr $(, $more:tt)?) => {
        match $index {
            DType::I32 => $function::<$T, i32 $(, $more)?>,
            DType::U32 => $function::<$T, u32 $(, $more)?>,
            DType::I64 => $function::<$T, i64 $(, $more)?>,
            _ => $function::<$T, u64 $(, $more)?>,
        }
    };
}

/// The gather of `dtype` elements by `index` indices.
pub(super) fn gather_step(dtype: DType, index: DType) -> AccessFn {
    match dtype.bytes() {
        1 => by_index!(gather, u8, index),
        2 => by_index!(gather, u16, index),
        4 => by_index!(gather, u32, index),
        _ => by_index!(gather, u64, index),
    }
}

/// The scatter of `dtype` elements by `index` indices.
pub(super) fn scatter_step(op: ScatterOp, dtype: DType, index: DType) -> AccessFn {
    match op {
        ScatterOp::Set => match dtype.bytes() {
            1 => by_index!(set, u8, index),
            2 => by_index!(set, u16, index),
            4 => by_index!(set, u32, index),
            _ => by_index!(set, u64, index),
        },
        ScatterOp::Add => combining::<{ Op::Add as u8 }>(dtype, index),
        ScatterOp::Min => combining::<{ Op::Min as u8 }>(dtype, index),
        ScatterOp::Max => combining::<{ Op::Max as u8 }>(dtype, index),
        ScatterOp::And => combining::<{ Op::And as u8 }>(dtype, index),
        ScatterOp::Or => combining::<{ Op::Or as u8 }>(dtype, index),
    }
}

fn combining<const OP: u8>(dtype: DType, index: DType) -> AccessFn {
    with_lane!(dtype,
        T => by_index!(combine, T, index, OP),
        mask => by_index!(combine, bool, index, OP))
}

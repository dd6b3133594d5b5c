//! Gathers and scatters over a block of lanes, one lane after the other.
#![expect(unsafe_code, reason = "lanes are addressed by raw pointers into blocks and buffers")]

use std::sync::atomic::{AtomicU64, Ordering};

use crate::dtype::DType;
use crate::ir::op::ScatterOp;

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
    /// Takes bounds errors (`ir::kernel::Access`); without it they pass silently.
    pub(super) error: Option<&'a AtomicU64>,
}

/// Runs an access.
///
/// # Safety
/// Lanes, indices and mask must be valid for `n` lanes of their types, the buffer for `length` elements;
/// nobody else may use what is written.
pub(super) type AccessFn = unsafe fn(&Access<'_>);

/// An index type: its value as a position, huge when negative.
trait Index: Copy {
    fn position(self) -> u64;
}

macro_rules! index {
    ($($t:ty => |$x:ident| $e:expr;)*) => { $(
        impl Index for $t { #[inline(always)] fn position(self) -> u64 { let $x = self; $e } }
    )* };
}
index! {
    i32 => |x| i64::from(x).cast_unsigned();
    u32 => |x| u64::from(x);
    i64 => |x| x.cast_unsigned();
    u64 => |x| x;
}

impl Access<'_> {
    /// Calls `each` with lane and element of every active lane that is in bounds.
    ///
    /// # Safety
    /// As for [`AccessFn`].
    #[inline(always)]
    unsafe fn for_each<I: Index>(&self, mut each: impl FnMut(usize, Option<usize>)) {
        let index = self.index.cast::<I>();
        for lane in 0..self.n {
            // SAFETY: the mask is valid for `n` lanes.
            if self.active.is_some_and(|active| unsafe { *active.add(lane) } == 0) {
                each(lane, None);
                continue;
            }
            // SAFETY: the indices are valid for `n` lanes.
            let position = unsafe { *index.add(lane) }.position();
            if position >= self.length {
                self.report(lane, position);
                each(lane, None);
                continue;
            }
            each(lane, usize::try_from(position).ok());
        }
    }

    #[cold]
    fn report(&self, lane: usize, position: u64) {
        if let Some(error) = self.error {
            let word = (self.first + lane as u64) << 32 | (position & 0xffff_ffff);
            error.fetch_min(word, Ordering::Relaxed);
        }
    }
}

/// # Safety
/// As for [`AccessFn`].
unsafe fn gather<T: Copy + Default, I: Index>(access: &Access<'_>) {
    let (result, source) = (access.lanes.cast::<T>(), access.buffer.cast::<T>().cast_const());
    let each = |lane, element: Option<usize>| {
        // SAFETY: the element is in bounds.
        let value = element.map_or_else(T::default, |element| unsafe { *source.add(element) });
        // SAFETY: the lane is one of `n`.
        unsafe { *result.add(lane) = value };
    };
    // SAFETY: passed on to the caller.
    unsafe { access.for_each::<I>(each) };
}

/// # Safety
/// As for [`AccessFn`].
unsafe fn scatter<T: Copy, I: Index>(access: &Access<'_>, combine: impl Fn(T, T) -> T) {
    let (values, target) = (access.lanes.cast::<T>().cast_const(), access.buffer.cast::<T>());
    let each = |lane, element: Option<usize>| {
        if let Some(element) = element {
            // SAFETY: the lane is one of `n`.
            let value = unsafe { *values.add(lane) };
            // SAFETY: the element is in bounds.
            let place = unsafe { &mut *target.add(element) };
            *place = combine(*place, value);
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
unsafe fn add32<T: Copy, I: Index>(access: &Access<'_>) {
    // SAFETY: passed on to the caller. Wrapping sums have the same bits signed and unsigned.
    unsafe { scatter::<u32, I>(access, u32::wrapping_add) };
}

/// # Safety
/// As for [`AccessFn`].
unsafe fn add64<T: Copy, I: Index>(access: &Access<'_>) {
    // SAFETY: passed on to the caller. Wrapping sums have the same bits signed and unsigned.
    unsafe { scatter::<u64, I>(access, u64::wrapping_add) };
}

/// Picks the instance of `$function` for the width of `$dtype` and the index type `$index`.
macro_rules! by_type {
    ($dtype:expr, $index:expr, $narrow:ident, $middle:ident, $wide:ident) => {
        match ($dtype.bytes(), $index) {
            (1, DType::I32) => $narrow::<u8, i32>,
            (1, DType::U32) => $narrow::<u8, u32>,
            (1, DType::I64) => $narrow::<u8, i64>,
            (1, _) => $narrow::<u8, u64>,
            (4, DType::I32) => $middle::<u32, i32>,
            (4, DType::U32) => $middle::<u32, u32>,
            (4, DType::I64) => $middle::<u32, i64>,
            (4, _) => $middle::<u32, u64>,
            (_, DType::I32) => $wide::<u64, i32>,
            (_, DType::U32) => $wide::<u64, u32>,
            (_, DType::I64) => $wide::<u64, i64>,
            _ => $wide::<u64, u64>,
        }
    };
}

/// The gather of `dtype` elements by `index` indices.
pub(super) fn gather_step(dtype: DType, index: DType) -> AccessFn {
    by_type!(dtype, index, gather, gather, gather)
}

/// The scatter of `dtype` elements by `index` indices.
pub(super) fn scatter_step(op: ScatterOp, dtype: DType, index: DType) -> AccessFn {
    match op {
        ScatterOp::Set => by_type!(dtype, index, set, set, set),
        ScatterOp::Add => by_type!(dtype, index, set, add32, add64),
    }
}

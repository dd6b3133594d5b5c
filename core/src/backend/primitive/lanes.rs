//! Arrays in host memory as lanes that several threads may write, each lane by one of them.
#![expect(unsafe_code, reason = "raw blocks; primitives reach lanes only through here")]

use std::marker::PhantomData;

use super::MemoryArray;
use crate::backend::host::pointer;
use crate::convert::exactly;
use crate::dtype::DType;

/// `len` lanes at an address.
///
/// Whoever makes one sees to it that the block outlives it and holds that many lanes. Between two joins
/// of threads, a lane that one thread writes is used by no other: primitives cut their work by lanes.
pub(super) struct Lanes<T> {
    address: u64,
    len: usize,
    lane: PhantomData<fn(T) -> T>,
}

impl<T> Clone for Lanes<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lanes<T> {}

impl<T: Copy> Lanes<T> {
    /// The lanes of an array of that type.
    pub(super) fn of(array: MemoryArray) -> Self {
        debug_assert_eq!(
            array.dtype.bytes(),
            size_of::<T>(),
            "internal error: lanes of another width"
        );
        Self::at(array.address, exactly::<usize>(array.size))
    }

    /// `len` lanes at `address`.
    pub(super) fn at(address: u64, len: usize) -> Self {
        Self { address, len, lane: PhantomData }
    }

    /// Of the first.
    pub(super) fn address(self) -> u64 {
        self.address
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.len
    }

    /// `len` lanes from `start` on.
    pub(super) fn range(self, start: usize, len: usize) -> Self {
        assert!(
            start <= self.len && len <= self.len - start,
            "internal error: lanes beyond the array"
        );
        Self::at(self.address + (start * size_of::<T>()) as u64, len)
    }

    /// A range that is not written meanwhile.
    #[inline(always)]
    pub(super) fn slice<'a>(self, start: usize, end: usize) -> &'a [T] {
        assert!(start <= end && end <= self.len, "internal error: lanes beyond the array");
        let first = pointer(self.address).cast::<T>().cast_const().wrapping_add(start);
        // SAFETY: the range is within the block, and it is not written meanwhile.
        unsafe { std::slice::from_raw_parts(first, end - start) }
    }

    /// A range without another user meanwhile.
    #[inline(always)]
    pub(super) fn slice_mut<'a>(self, start: usize, end: usize) -> &'a mut [T] {
        assert!(start <= end && end <= self.len, "internal error: lanes beyond the array");
        let first = pointer(self.address).cast::<T>().wrapping_add(start);
        // SAFETY: the range is within the block, and it has no other user meanwhile.
        unsafe { std::slice::from_raw_parts_mut(first, end - start) }
    }

    /// Where a lane is.
    #[inline(always)]
    pub(super) fn pointer(self, i: usize) -> *mut T {
        assert!(i < self.len, "internal error: a lane beyond the array");
        pointer(self.address).cast::<T>().wrapping_add(i)
    }

    /// One lane.
    #[inline(always)]
    pub(super) fn get(self, i: usize) -> T {
        // SAFETY: the lane is within the block, and it is not written meanwhile.
        unsafe { self.pointer(i).read() }
    }

    /// One lane, that of a scalar if there is only one.
    #[inline(always)]
    pub(super) fn get_or_only(self, i: usize) -> T {
        self.get(if self.len == 1 { 0 } else { i })
    }

    /// Writes one lane.
    #[inline(always)]
    pub(super) fn set(self, i: usize, value: T) {
        // SAFETY: the lane is within the block, and it has no other user meanwhile.
        unsafe { self.pointer(i).write(value) }
    }
}

/// An array of lane numbers, of either type.
#[derive(Clone, Copy)]
pub(super) enum Numbers {
    U32(Lanes<u32>),
    U64(Lanes<u64>),
}

impl Numbers {
    pub(super) fn of(array: MemoryArray) -> Self {
        if array.dtype == DType::U64 {
            Self::U64(Lanes::of(array))
        } else {
            Self::U32(Lanes::of(array))
        }
    }

    /// One of them.
    #[inline(always)]
    pub(super) fn get(self, i: usize) -> usize {
        match self {
            Self::U32(numbers) => exactly(u64::from(numbers.get(i))),
            Self::U64(numbers) => exactly(numbers.get(i)),
        }
    }
}

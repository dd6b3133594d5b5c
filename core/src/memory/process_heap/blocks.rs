//! Where blocks come from. Recording takes and gives back millions of small ones, for which the C library needs up to
//! three times as long as mimalloc; the first ones of a start lie in a row, see `early.rs`. Large ones stay with the C
//! library, which moves them by their pages where they grow. Where the system limits this process all blocks are the C
//! library's, since mimalloc takes addresses ahead.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc as _, Layout, System};
use std::ffi::c_long;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use libmimalloc_sys::{
    mi_collect, mi_free, mi_malloc, mi_malloc_aligned, mi_option_set, mi_option_t,
    mi_realloc_aligned, mi_zalloc_aligned,
};

use super::early;
use crate::backend::limits;

/// Bytes from which on a block is large; the C library maps larger ones by themselves.
const LARGE: usize = 1 << 17;
/// What mimalloc aligns blocks to that are no smaller.
const ALIGNED: usize = 16;

/// `mi_option_arena_eager_commit` of mimalloc.h: whether pages of addresses that are taken ahead may be written at once.
const ARENA_EAGER_COMMIT: mi_option_t = 4;
/// `mi_option_purge_delay`: milliseconds after which the system gets pages back that nobody uses.
const PURGE_DELAY: mi_option_t = 15;
/// Longer than a start takes, or a turn of a script's loop: pages that come back are a fault each.
const PURGED_AFTER: c_long = 1000;

/// Whether mimalloc hands out small blocks: one answer for the life of the process, found before the first of them.
static CHOICE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const MIMALLOC: u8 = 1;
const SYSTEM: u8 = 2;

#[inline]
fn is_small(layout: Layout) -> bool {
    layout.size() < LARGE && layout.align() < LARGE && has_mimalloc()
}

#[inline]
fn has_mimalloc() -> bool {
    match CHOICE.load(Ordering::Relaxed) {
        UNKNOWN => choose(),
        choice => choice == MIMALLOC,
    }
}

/// Limits may change while several threads ask: the first answer counts.
#[cold]
fn choose() -> bool {
    let choice = if limits::are_set() { SYSTEM } else { MIMALLOC };
    // Addresses that were taken ahead are no data yet, which a sandbox bounds from its start on.
    // SAFETY: it sets a number in the allocator, which has taken nothing yet.
    unsafe { mi_option_set(ARENA_EAGER_COMMIT, 0) };
    // SAFETY: as above.
    unsafe { mi_option_set(PURGE_DELAY, PURGED_AFTER) };
    let known = CHOICE.compare_exchange(UNKNOWN, choice, Ordering::Relaxed, Ordering::Relaxed);
    known.map_or_else(|known| known, |_| choice) == MIMALLOC
}

/// Whether a block of this layout needs nothing but its size to be aligned.
#[inline]
fn is_plain(layout: Layout) -> bool {
    layout.align() <= ALIGNED && layout.align() <= layout.size()
}

/// # Safety
/// As for [`std::alloc::GlobalAlloc::alloc`].
#[inline]
pub(super) unsafe fn alloc(layout: Layout) -> *mut u8 {
    if !is_small(layout) {
        // SAFETY: passed on to the caller.
        return unsafe { System.alloc(layout) };
    }
    let block = early::take(layout);
    if !block.is_null() {
        return block;
    }
    match is_plain(layout) {
        // SAFETY: any size is allowed.
        true => unsafe { mi_malloc(layout.size()) }.cast(),
        // SAFETY: a layout's alignment is a power of two.
        false => unsafe { mi_malloc_aligned(layout.size(), layout.align()) }.cast(),
    }
}

/// # Safety
/// As for [`std::alloc::GlobalAlloc::alloc_zeroed`].
#[inline]
pub(super) unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    if !is_small(layout) {
        // SAFETY: passed on to the caller.
        return unsafe { System.alloc_zeroed(layout) };
    }
    let block = early::take(layout);
    if !block.is_null() {
        // SAFETY: the block is ours and that long.
        unsafe { block.write_bytes(0, layout.size()) };
        return block;
    }
    // SAFETY: a layout's alignment is a power of two.
    unsafe { mi_zalloc_aligned(layout.size(), layout.align()) }.cast()
}

/// Null also where the new block would not come from where the old one did.
///
/// # Safety
/// As for [`std::alloc::GlobalAlloc::realloc`].
#[inline]
pub(super) unsafe fn realloc(block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
    match (is_small(layout), bytes < LARGE) {
        (true, true) if early::has(block) => {
            let is_resized = early::resize(block, layout.size(), bytes);
            if is_resized { block } else { ptr::null_mut() }
        }
        // SAFETY: the block is mimalloc's, and a layout's alignment a power of two.
        (true, true) => unsafe { mi_realloc_aligned(block.cast(), bytes, layout.align()) }.cast(),
        (true, false) => ptr::null_mut(),
        (false, true) if has_mimalloc() && layout.align() < LARGE => ptr::null_mut(),
        // SAFETY: passed on to the caller.
        (false, _) => unsafe { System.realloc(block, layout, bytes) },
    }
}

/// # Safety
/// As for [`std::alloc::GlobalAlloc::dealloc`].
#[inline]
pub(super) unsafe fn dealloc(block: *mut u8, layout: Layout) {
    if !is_small(layout) {
        // SAFETY: the block is the C library's; the rest is passed on to the caller.
        unsafe { System.dealloc(block, layout) }
    } else if early::has(block) {
        early::give_back(block, layout.size());
    } else {
        // SAFETY: the block is mimalloc's.
        unsafe { mi_free(block.cast()) }
    }
}

/// Gives the system back what no small block of this thread needs, nor of threads that ended.
pub(super) fn collect() {
    // SAFETY: it looks at this thread's blocks and at those of threads that ended.
    unsafe { mi_collect(true) };
}

//! The heap of the process: lists, texts, recorded variables. Who takes memory there cannot be refused: the process
//! ends where the system has none left. So a script is stopped before.
//!
//! Programs install [`Heap`] as their allocator. Small blocks are mimalloc's, large ones the C library's, see
//! `blocks.rs`. It has a reserve for when the system refuses, and counts what a thread takes: where the system limits
//! this process, a script must leave room for copies of all that it has, since nobody can stop it while it copies.
//! Arrays are no part of this: they are refused, and never copied.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

mod blocks;
mod early;
mod reserve;

use crate::backend::limits;
#[cfg(target_os = "linux")]
use crate::backend::pages;
use crate::interrupt::{self, Cause};

/// Taken bytes after which somebody looks again; handing them out takes the system longer than telling what it has.
const STEP: i64 = 2 << 20;
/// How many times as much as it has a script must leave: an operation copies its operands.
const COPIES: u64 = 2;
/// What errors, and all that runs until the script has stopped, may take.
const SLACK: u64 = 4 << 20;
/// Blocks from this size on are worth a call of the system.
const ADVISED: usize = 4 << 20;
/// More than anybody takes.
const NEVER: i64 = i64::MAX;

thread_local! {
    /// Bytes that this thread took, less those that it gave back.
    static TAKEN: Cell<i64> = const { Cell::new(0) };
    /// So many are worth a look.
    static DUE: Cell<i64> = const { Cell::new(NEVER) };
}

/// Small and large blocks, counted and with a reserve.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

// SAFETY: a block is the system's or one of the reserve, which knows its own, and goes back to where it came from;
// counting takes no memory.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on to the caller.
        let block = unsafe { blocks::alloc(layout) };
        if block.is_null() {
            return from_reserve(layout);
        }
        ask_for_huge_pages(block, layout.size());
        count(signed(layout.size()));
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on to the caller.
        let block = unsafe { blocks::alloc_zeroed(layout) };
        if block.is_null() {
            return from_reserve(layout);
        }
        ask_for_huge_pages(block, layout.size());
        count(signed(layout.size()));
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !reserve::has(block) {
            // SAFETY: passed on to the caller; what gives null leaves the block as it was.
            let moved = unsafe { blocks::realloc(block, layout, bytes) };
            if !moved.is_null() {
                // Pages keep what was asked for, wherever the system moves them.
                if layout.size() < ADVISED {
                    ask_for_huge_pages(moved, bytes);
                }
                count(signed(bytes) - signed(layout.size()));
                return moved;
            }
        }
        // SAFETY: passed on to the caller.
        unsafe { self.moved(block, layout, bytes) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if reserve::has(block) {
            return reserve::give_back(block, layout.size());
        }
        let taken = TAKEN.get() - signed(layout.size());
        TAKEN.set(taken);
        if signed(layout.size()) >= STEP {
            DUE.set(next_look(taken));
        }
        // SAFETY: passed on to the caller.
        unsafe { blocks::dealloc(block, layout) }
    }
}

impl Heap {
    /// Moves a block to where one of that size comes from, or from or to the reserve.
    ///
    /// # Safety
    /// As for `realloc`.
    #[cold]
    unsafe fn moved(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let Ok(larger) = Layout::from_size_align(bytes, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: a block that is moved has bytes, before and after.
        let new = unsafe { self.alloc(larger) };
        if !new.is_null() {
            // SAFETY: both blocks are live, distinct and at least that long.
            unsafe { new.copy_from_nonoverlapping(block, bytes.min(layout.size())) };
            // SAFETY: passed on to the caller, who knows only the new block from now on.
            unsafe { self.dealloc(block, layout) };
        }
        new
    }
}

/// Files, columns and long lists are touched once, page by page: huge pages make that several times cheaper.
#[inline]
fn ask_for_huge_pages(block: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    if bytes >= ADVISED {
        pages::ask_for_huge(block, bytes);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, bytes);
}

/// No block is longer than `isize` says.
#[inline]
fn signed(bytes: usize) -> i64 {
    bytes.cast_signed() as i64
}

#[inline]
fn count(bytes: i64) {
    let taken = TAKEN.get() + bytes;
    TAKEN.set(taken);
    if taken > DUE.get() {
        look();
    }
}

/// What the system refused, zeroed. The script must end: the reserve is small.
#[cold]
fn from_reserve(layout: Layout) -> *mut u8 {
    let block = reserve::take(layout);
    if !block.is_null() {
        interrupt::request_for(Cause::Spent);
    }
    block
}

/// Somebody looks after the next step, if at all.
fn next_look(taken: i64) -> i64 {
    if DUE.get() == NEVER { NEVER } else { taken + STEP }
}

/// Has the script stopped if too little is left.
#[cold]
fn look() {
    // Looking takes memory too.
    DUE.set(NEVER);
    if room() == Some(0) {
        interrupt::request_for(Cause::Short);
    }
    DUE.set(TAKEN.get() + STEP);
}

/// Lets all threads share one heap if the system limits this process: else the C library takes 64 MiB of addresses
/// for each. To be called before there are several.
pub fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if left().is_some() {
        // SAFETY: it sets a number in the allocator, which takes its own lock.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Begins to look at what this thread takes, if the system limits this process.
pub fn watch() {
    interrupt::answer(Cause::Short);
    interrupt::answer(Cause::Spent);
    DUE.set(left().map_or(NEVER, |left| {
        // Where little is left already, giving something back may take some of it.
        let little = i64::try_from(left / 8).unwrap_or(STEP);
        TAKEN.get().saturating_add(if room() == Some(0) { little.max(STEP) } else { STEP })
    }));
}

/// Gives the system back what nobody uses: it is kept for whoever asks next. All that is free is looked at, which takes
/// time.
pub fn trim() {
    blocks::collect();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes the allocator's own locks, and touches free pages only.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Tells that another thread gives back so many bytes that this one took.
pub fn gave_away(bytes: usize) {
    TAKEN.set(TAKEN.get() - signed(bytes));
}

/// So many zeros, which nothing is spent on before they are touched; `None` if there is no room.
pub fn zeroed(n: usize) -> Option<Vec<u8>> {
    let layout = Layout::array::<u8>(n).ok().filter(|layout| layout.size() > 0);
    let Some(layout) = layout else { return (n == 0).then(Vec::new) };
    // SAFETY: the layout's size is not zero.
    let block = unsafe { std::alloc::alloc_zeroed(layout) };
    // SAFETY: a block of the process's allocator with that many bytes, all of them 0.
    (!block.is_null()).then(|| unsafe { Vec::from_raw_parts(block, n, n) })
}

/// What this thread took, which another one has from now on: it counts it by [`receive`].
pub fn hand_over() -> i64 {
    TAKEN.replace(0)
}

/// Counts what another thread handed over.
pub fn receive(bytes: i64) {
    TAKEN.set(TAKEN.get().saturating_add(bytes));
}

/// Bytes of which a copy finds room; `None` if one of all that this thread took does.
pub fn room_for_copies() -> Option<u64> {
    left().filter(|&left| left < held())
}

/// Bytes that this thread may take so that copies of all that it has find room; `None` if the system sets no limit.
pub fn room() -> Option<u64> {
    Some(left()?.saturating_sub(held() * COPIES + SLACK) / (COPIES + 1))
}

/// Bytes that this thread has taken and not given back.
pub fn held() -> u64 {
    TAKEN.get().max(0).unsigned_abs()
}

/// Bytes that limits of the system leave this process.
fn left() -> Option<u64> {
    limits::left().map(|capacity| capacity.bytes)
}

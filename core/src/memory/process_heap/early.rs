//! The first small blocks of a process, one behind the other. A program that starts fills tables which live as long as it
//! does: here a block costs an addition, and their pages come many at a time, where mimalloc would ask the system for some
//! of each size and thread.
#![expect(unsafe_code, reason = "memory that is handed out")]

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a start takes.
const BYTES: usize = 3 << 20;
/// Bytes whose pages come at once.
const STEP: usize = 256 << 10;
/// What blocks begin at multiples of; those that are to begin at larger ones are few.
const ALIGNED: usize = 16;

#[repr(align(4096))]
struct Block(UnsafeCell<[u8; BYTES]>);

// SAFETY: nobody touches the bytes but those who took them, and each is handed out once.
unsafe impl Sync for Block {}

static BLOCK: Block = Block(UnsafeCell::new([0; BYTES]));
/// Where the next block begins; beyond the end once one found no room.
static NEXT: AtomicUsize = AtomicUsize::new(0);
const CLOSED: usize = usize::MAX;
/// Bytes that have their pages.
#[cfg(target_os = "linux")]
static POPULATED: AtomicUsize = AtomicUsize::new(0);

fn start() -> *mut u8 {
    BLOCK.0.get().cast()
}

/// Whether a block is one of the first.
#[inline]
pub(super) fn has(block: *mut u8) -> bool {
    block.addr().wrapping_sub(start().addr()) < BYTES
}

/// A block, whose bytes may be anything; null if there is no more room.
#[inline]
pub(super) fn take(layout: Layout) -> *mut u8 {
    let mut first = NEXT.load(Ordering::Relaxed);
    if first == CLOSED || layout.align() > ALIGNED {
        return null_mut();
    }
    while let Some(end) = end(first, layout.size()) {
        match move_next(first, end) {
            // SAFETY: the block ends within the bytes.
            Ok(_) => return unsafe { start().add(first) },
            Err(next) => first = next,
        }
    }
    NEXT.store(CLOSED, Ordering::Relaxed);
    null_mut()
}

/// Makes a block shorter, or the last one longer; whether it could.
pub(super) fn resize(block: *mut u8, bytes: usize, wanted: usize) -> bool {
    let first = block.addr() - start().addr();
    let (Some(old), Some(new)) = (end(first, bytes), end(first, wanted)) else { return false };
    move_next(old, new).is_ok() || new <= old
}

/// Takes a block back: it is used again if it is the last.
pub(super) fn give_back(block: *mut u8, bytes: usize) {
    let first = block.addr() - start().addr();
    if let Some(end) = end(first, bytes) {
        // Others stay as they are.
        let _ = move_next(end, first);
    }
}

/// The end of a block; `None` if it lies beyond that of all.
fn end(first: usize, bytes: usize) -> Option<usize> {
    let end = first.checked_add(bytes)?.checked_next_multiple_of(ALIGNED)?;
    (end <= BYTES).then_some(end)
}

/// Moves the place of the next block; where it is instead, if it is not where it was.
fn move_next(from: usize, to: usize) -> Result<usize, usize> {
    #[cfg(target_os = "linux")]
    if to > POPULATED.load(Ordering::Relaxed) {
        populate(to);
    }
    // Whoever gets bytes that another thread gave back writes behind what that wrote.
    NEXT.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
}

/// Has the system bring pages up to a place and some more. Where it cannot, they come one by one as they are touched.
#[cold]
#[cfg(target_os = "linux")]
fn populate(place: usize) {
    use rustix::mm::{Advice, madvise};
    let to = place.next_multiple_of(STEP);
    let from = POPULATED.fetch_max(to, Ordering::Relaxed);
    // SAFETY: what has its pages ends within the bytes, which are whole steps.
    let first = unsafe { start().add(from) };
    // SAFETY: the range lies within the bytes; the advice does not change what they hold.
    let _ = unsafe { madvise(first.cast(), to.saturating_sub(from), Advice::LinuxPopulateWrite) };
}

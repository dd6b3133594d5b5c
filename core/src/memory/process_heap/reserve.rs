//! Memory that is set aside for when the system has no more: part of the program, so that no limit takes it away.
#![expect(unsafe_code, reason = "memory that is handed out")]

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Enough for what runs until a script has stopped, and for its error. No page of it is there before it is used.
const BYTES: usize = 16 << 20;
/// Who wants larger blocks asks for them, and can be refused.
const LARGEST: usize = 4 << 20;

#[repr(align(64))]
struct Block(UnsafeCell<[u8; BYTES]>);

// SAFETY: nobody touches the bytes but those who took them, and the mutex hands each out once.
unsafe impl Sync for Block {}

static BLOCK: Block = Block(UnsafeCell::new([0; BYTES]));
static STATE: Mutex<State> = Mutex::new(State { used: 0, live: 0 });

struct State {
    /// Bytes handed out; they are free again when no part is live.
    used: usize,
    live: usize,
}

fn start() -> *mut u8 {
    BLOCK.0.get().cast()
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a block is part of the reserve.
#[inline]
pub(super) fn has(block: *mut u8) -> bool {
    block.addr().wrapping_sub(start().addr()) < BYTES
}

/// A zeroed part; null if it is too large, or nothing is left.
pub(super) fn take(layout: Layout) -> *mut u8 {
    let mut state = state();
    let first = (start().addr() + state.used).next_multiple_of(layout.align()) - start().addr();
    let end = first.saturating_add(layout.size());
    if layout.size() > LARGEST || end > BYTES {
        return std::ptr::null_mut();
    }
    state.used = end;
    state.live += 1;
    // SAFETY: the part ends within the block.
    let part = unsafe { start().add(first) };
    // SAFETY: nobody else has it.
    unsafe { part.write_bytes(0, layout.size()) };
    part
}

/// Takes a part back that nobody uses any more: the last one at once, others when none is left.
#[cold]
pub(super) fn give_back(part: *mut u8, bytes: usize) {
    let mut state = state();
    state.live -= 1;
    let first = part.addr() - start().addr();
    if state.live == 0 {
        state.used = 0;
    } else if first + bytes == state.used {
        state.used = first;
    }
}

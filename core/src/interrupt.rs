//! The interrupt flag (S18): the only process-wide state.
//!
//! A Ctrl-C handler calls [`request`]; kernels, compilers, copies and scripts poll [`is_requested`] and
//! end with `Error::Interrupted`; whoever returns to the prompt calls [`clear`].

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Asks whatever is running to stop. Safe to call from a signal handler.
pub fn request() {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// Forgets a request.
pub fn clear() {
    REQUESTED.store(false, Ordering::Relaxed);
}

/// Where machine code finds the flag: a byte, nonzero when something should stop.
pub fn flag_address() -> u64 {
    std::ptr::from_ref(&REQUESTED).expose_provenance() as u64
}

/// Whether something should stop.
#[inline]
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

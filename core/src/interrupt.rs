//! The interrupt flag (S18), and why it is set: with [`crate::memory::process_heap`] the only process-wide state.
//!
//! A Ctrl-C handler calls [`request`]; kernels, compilers, copies and scripts poll [`is_requested`] and
//! end with `Error::Interrupted`; whoever returns to the prompt calls [`clear`].

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};

/// One bit for each cause.
static REQUESTED: AtomicU8 = AtomicU8::new(0);

/// Why something should stop, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody asks for it.
    Asked = 1,
    /// The system had no memory left, and the reserve is used.
    Spent = 2,
    /// The system has too little memory left.
    Short = 4,
}

/// Asks whatever is running to stop. Safe to call from a signal handler.
pub fn request() {
    request_for(Cause::Asked);
}

pub(crate) fn request_for(cause: Cause) {
    REQUESTED.fetch_or(cause as u8, Ordering::Relaxed);
}

/// Fails where something should stop.
///
/// # Errors
/// `Interrupted`.
pub(crate) fn check() -> Result<()> {
    if is_requested() { Err(Error::Interrupted) } else { Ok(()) }
}

/// Forgets all requests.
pub fn clear() {
    REQUESTED.store(0, Ordering::Relaxed);
}

/// Forgets a request that was answered.
pub fn answer(cause: Cause) {
    REQUESTED.fetch_and(!(cause as u8), Ordering::Relaxed);
}

/// Why something should stop.
#[cold]
pub fn cause() -> Option<Cause> {
    let requested = REQUESTED.load(Ordering::Relaxed);
    let causes = [Cause::Asked, Cause::Spent, Cause::Short];
    causes.into_iter().find(|&cause| requested & cause as u8 != 0)
}

/// Where machine code finds the flag: a byte, nonzero when something should stop.
pub fn flag_address() -> u64 {
    std::ptr::from_ref(&REQUESTED).expose_provenance() as u64
}

/// Whether something should stop.
#[inline]
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed) != 0
}

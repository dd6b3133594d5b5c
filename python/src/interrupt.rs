//! Work for which Python's lock is given back, and which Ctrl-C ends.
//!
//! Python's own handler only notes the signal, for the interpreter to see when it runs again. While core works in the
//! main thread another one stands before it, which tells core, too.
#![expect(unsafe_code, reason = "signal handlers are the system's")]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use porcini_core::interrupt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// What was there before our handler.
static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// How much work is under way that Ctrl-C ends.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Does work of core without Python's lock; Ctrl-C ends it.
pub(crate) fn blocking<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    py.check_signals()?;
    let watch = Watch::start();
    let done = py.detach(work);
    drop(watch);
    if interrupt::is_requested() {
        interrupt::clear();
        py.check_signals()?;
        if let Err(porcini_core::Error::Interrupted) = done {
            return Err(PyKeyboardInterrupt::new_err(()));
        }
    }
    done.or_raise()
}

/// While it lives, Ctrl-C reaches core.
struct Watch;

impl Watch {
    fn start() -> Option<Self> {
        if !is_main_thread() {
            return None;
        }
        stand_before();
        UNDER_WAY.fetch_add(1, Ordering::Relaxed);
        Some(Self)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Puts our handler before the one that is there; it stays until somebody sets another one.
fn stand_before() {
    let mut before = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call only writes what is there.
    if unsafe { libc::sigaction(libc::SIGINT, ptr::null(), before.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: written above.
    let before = unsafe { before.assume_init() };
    let own = handler as extern "C" fn(libc::c_int) as usize;
    let takes_facts = before.sa_flags & libc::SA_SIGINFO != 0;
    let is_none = matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    if takes_facts || is_none || before.sa_sigaction == own {
        return;
    }
    BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
    let ours = libc::sigaction { sa_sigaction: own, ..before };
    // SAFETY: the handler only does what handlers may.
    unsafe { libc::sigaction(libc::SIGINT, &raw const ours, ptr::null_mut()) };
}

extern "C" fn handler(signal: libc::c_int) {
    if UNDER_WAY.load(Ordering::Relaxed) > 0 {
        interrupt::request();
    }
    let before = BEFORE.load(Ordering::Relaxed);
    // SAFETY: it was a handler of this form, neither default nor ignored.
    let before: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(before) };
    before(signal);
}

#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    // SAFETY: it only tells a number.
    let thread = unsafe { libc::gettid() };
    thread.unsigned_abs() == std::process::id()
}

#[cfg(target_os = "macos")]
fn is_main_thread() -> bool {
    // SAFETY: it only tells.
    unsafe { libc::pthread_main_np() != 0 }
}

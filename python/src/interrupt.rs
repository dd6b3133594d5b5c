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

/// Does work of core without Python's lock; Ctrl-C ends it.
pub(crate) fn blocking<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    py.check_signals()?;
    let _watch = Watch::start();
    let done = py.detach(work);
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
struct Watch(Option<libc::sigaction>);

impl Watch {
    fn start() -> Self {
        if !is_main_thread() {
            return Self(None);
        }
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: the call only writes what is there.
        if unsafe { libc::sigaction(libc::SIGINT, ptr::null(), before.as_mut_ptr()) } != 0 {
            return Self(None);
        }
        // SAFETY: written above.
        let before = unsafe { before.assume_init() };
        let takes_facts = before.sa_flags & libc::SA_SIGINFO != 0;
        if takes_facts || matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
            return Self(None);
        }
        BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
        let mut ours = before;
        ours.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        // SAFETY: the handler only does what handlers may.
        unsafe { libc::sigaction(libc::SIGINT, &raw const ours, ptr::null_mut()) };
        Self(Some(before))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: puts back what was there.
            unsafe { libc::sigaction(libc::SIGINT, ptr::from_ref(before), ptr::null_mut()) };
        }
    }
}

extern "C" fn handler(signal: libc::c_int) {
    interrupt::request();
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

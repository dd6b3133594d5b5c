//! Work for which Python's lock is given back, and which ends where the handler of Ctrl-C raises.
//!
//! Python's own handler only notes a signal, for the main thread to see when it runs Python again. While core works in that
//! thread, another one stands before it, which has core stop: the work is done again where the handler of Python returns.
//! Core has one flag for all threads, so what others are at stops, too, and is done again: handlers are not theirs. Other
//! signals stop nothing: a write in place that is stopped leaves its target half written.
#![expect(unsafe_code, reason = "signal handlers are the system's")]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{scope, sleep};
use std::time::Duration;

use libc::{SIGINT, c_int};
use porcini_core::Error;
use porcini_core::interrupt::{self, Cause};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::work;

/// How often who waits looks for signals.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// How often another thread looks whether it may go on.
const MOMENT: Duration = Duration::from_millis(1);

/// The handler that was there before ours.
static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// Whether Ctrl-C stops what is under way in the main thread.
static IS_STOPPING: AtomicBool = AtomicBool::new(false);

/// How many requests to stop are to be answered by who made them.
static REQUESTS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this is the main thread, once that was asked.
    static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Does work of core without Python's lock; it ends where the handler of Ctrl-C raises, and is done again where core stopped
/// for another reason.
pub(crate) fn blocking<T: Send>(
    py: Python<'_>,
    mut work: impl FnMut() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    loop {
        match attempt(py, &mut work)? {
            Err(Error::Interrupted) => {}
            done => return done.or_raise(),
        }
    }
}

/// The same for work that cannot be done again: Ctrl-C ends it, whatever its handler does.
pub(crate) fn blocking_once<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    match attempt(py, work)? {
        Err(Error::Interrupted) if !is_main_thread() => Err(PyRuntimeError::new_err(
            "porcini: Ctrl-C in the main thread stopped this, which cannot go on by itself: call it again",
        )),
        done => done.or_raise(),
    }
}

/// The same for work that any thread can do: once the handler has returned, it does not stop it again, and handlers run
/// meanwhile.
pub(crate) fn evaluating<T: Send>(
    py: Python<'_>,
    mut work: impl FnMut() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    loop {
        match attempt(py, &mut work)? {
            Err(Error::Interrupted) if is_main_thread() => return beside(py, work),
            Err(Error::Interrupted) => {}
            done => return done.or_raise(),
        }
    }
}

/// Does work once; what core said of it, unless a handler raised.
fn attempt<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> porcini_core::Result<T> + Send,
) -> PyResult<porcini_core::Result<T>> {
    py.check_signals()?;
    let under_way = work::begin(py)?;
    let watch = is_main_thread().then(Watch::start);
    let done = py.detach(work);
    drop(under_way);
    let is_interrupted = matches!(done, Err(Error::Interrupted));
    if is_interrupted || interrupt::is_requested() {
        let is_main = watch.is_some();
        drop(watch);
        let memory = check_memory(is_interrupted);
        if is_main {
            interrupt::answer(Cause::Asked);
            py.check_signals()?;
        } else if is_interrupted {
            wait_for_answer(py);
        }
        memory?;
    }
    Ok(done)
}

/// Calls a Python function for work under way. Python sees to signals by itself meanwhile.
pub(crate) fn in_python<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    let was_stopping = is_main_thread().then(|| IS_STOPPING.swap(false, Ordering::Relaxed));
    let result = Python::attach(work);
    if let Some(was_stopping) = was_stopping {
        IS_STOPPING.store(was_stopping, Ordering::Relaxed);
    }
    result
}

/// Forgets that memory was short; fails where that stopped the work.
fn check_memory(is_interrupted: bool) -> PyResult<()> {
    let is_short = matches!(interrupt::cause(), Some(Cause::Spent | Cause::Short));
    interrupt::answer(Cause::Spent);
    interrupt::answer(Cause::Short);
    match is_short && is_interrupted {
        true => Err(PyMemoryError::new_err("the system has too little memory left")),
        false => Ok(()),
    }
}

/// Waits until the main thread has seen to the signal that stopped core.
fn wait_for_answer(py: Python<'_>) {
    while interrupt::cause() == Some(Cause::Asked) {
        if !IS_STOPPING.load(Ordering::Relaxed) && REQUESTS.load(Ordering::Relaxed) == 0 {
            interrupt::answer(Cause::Asked);
        }
        py.detach(|| sleep(MOMENT));
    }
}

/// Does work of the main thread on another one, and has the handlers of signals run meanwhile.
fn beside<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    let _under_way = work::begin(py)?;
    let done = py.detach(|| {
        scope(|scope| {
            let (tell, told) = channel();
            scope.spawn(move || drop(tell.send(work())));
            let mut raised = None;
            loop {
                match told.recv_timeout(LOOK) {
                    Ok(done) => return raised.map_or(Ok(done), Request::answered),
                    Err(RecvTimeoutError::Timeout) => raised = raised.or_else(Request::if_raised),
                    // It panicked, and so does the scope.
                    Err(RecvTimeoutError::Disconnected) => return Ok(Err(Error::Interrupted)),
                }
            }
        })
    })?;
    check_memory(matches!(done, Err(Error::Interrupted)))?;
    done.or_raise()
}

/// Something to stop, and what a handler raised, until that has happened.
pub(crate) struct Request(PyErr);

impl Request {
    /// Has core stop if the handler of a signal raises.
    pub(crate) fn if_raised() -> Option<Self> {
        if !is_main_thread() {
            return None;
        }
        Python::attach(|py| py.check_signals()).err().map(Self::new)
    }

    /// Has core stop, as this was raised.
    pub(crate) fn new(raised: PyErr) -> Self {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        interrupt::request();
        Self(raised)
    }

    /// What was raised, now that core has stopped.
    pub(crate) fn answered<T>(self) -> PyResult<T> {
        interrupt::answer(Cause::Asked);
        REQUESTS.fetch_sub(1, Ordering::Relaxed);
        Err(self.0)
    }
}

/// While it lives, Ctrl-C stops core; whether it did before.
struct Watch(bool);

impl Watch {
    fn start() -> Self {
        stand_before();
        let was_stopping = IS_STOPPING.swap(true, Ordering::Relaxed);
        if !was_stopping && REQUESTS.load(Ordering::Relaxed) == 0 {
            // What was asked of work that had ended; Python has it noted.
            interrupt::answer(Cause::Asked);
        }
        Self(was_stopping)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        IS_STOPPING.store(self.0, Ordering::Relaxed);
    }
}

/// Forgets what the process that this one was forked from was at.
pub(crate) fn begin_anew() {
    interrupt::clear();
    IS_STOPPING.store(false, Ordering::Relaxed);
    REQUESTS.store(0, Ordering::Relaxed);
    IS_MAIN.set(None);
}

/// Puts our handler before the one that is there; it stays until somebody sets another one.
fn stand_before() {
    let mut before = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call only writes what is there.
    if unsafe { libc::sigaction(SIGINT, ptr::null(), before.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: written above.
    let before = unsafe { before.assume_init() };
    let own = handler as extern "C" fn(c_int) as usize;
    let takes_facts = before.sa_flags & libc::SA_SIGINFO != 0;
    let is_none = matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    if takes_facts || is_none || before.sa_sigaction == own {
        return;
    }
    BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
    let ours = libc::sigaction { sa_sigaction: own, ..before };
    // SAFETY: the handler only does what handlers may. Where it is refused nothing changes.
    let _ = unsafe { libc::sigaction(SIGINT, &raw const ours, ptr::null_mut()) };
}

extern "C" fn handler(signal: c_int) {
    let before = BEFORE.load(Ordering::Relaxed);
    // SAFETY: it was a handler of this form, neither default nor ignored.
    let before: extern "C" fn(c_int) = unsafe { std::mem::transmute(before) };
    // First: the main thread asks Python for what it noted as soon as core stops.
    before(signal);
    if IS_STOPPING.load(Ordering::Relaxed) {
        interrupt::request();
    }
}

fn is_main_thread() -> bool {
    IS_MAIN.get().unwrap_or_else(|| {
        let is_main = asks_for_main_thread();
        IS_MAIN.set(Some(is_main));
        is_main
    })
}

#[cfg(target_os = "linux")]
fn asks_for_main_thread() -> bool {
    // SAFETY: it only tells a number.
    let thread = unsafe { libc::gettid() };
    thread.unsigned_abs() == std::process::id()
}

#[cfg(target_os = "macos")]
fn asks_for_main_thread() -> bool {
    // SAFETY: it only tells.
    unsafe { libc::pthread_main_np() != 0 }
}

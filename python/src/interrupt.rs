//! Work for which Python's lock is given back, and which ends where the handler of a signal raises.
//!
//! Python's own handler only notes a signal, for the main thread to see when it runs Python again. While core works in that
//! thread, another one stands before it, which has core stop: the work is done again where the handler of Python returns.
//! Core has one flag for all threads, so what others are at stops, too, and is done again: handlers are not theirs.
#![expect(unsafe_code, reason = "signal handlers are the system's")]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope, sleep};
use std::time::Duration;

use libc::{SIGALRM, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, c_int};
use porcini_core::Error;
use porcini_core::interrupt::{self, Cause};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::fork;

/// Signals whose handlers do not wait until work is done; Ctrl-C comes first.
const SIGNALS: [c_int; 6] = [SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2];
/// How often who waits looks for signals.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// How often another thread looks whether it may go on.
const MOMENT: Duration = Duration::from_millis(1);

/// What was there before our handler, for each of the signals.
static BEFORE: [AtomicUsize; SIGNALS.len()] =
    [const { AtomicUsize::new(libc::SIG_DFL) }; SIGNALS.len()];

/// So many of the signals stop what is under way in the main thread.
static STOPPING: AtomicUsize = AtomicUsize::new(0);

/// How much work the main thread has begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread looks how long that takes.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// How many requests to stop are to be answered by who made them.
static REQUESTS: AtomicUsize = AtomicUsize::new(0);

/// Does work of core without Python's lock; it ends where the handler of a signal raises, and is done again where core stopped
/// for another reason.
pub(crate) fn blocking<T: Send>(
    py: Python<'_>,
    mut work: impl FnMut() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    let mut n_stops = 0;
    loop {
        // Signals of a clock would stop it again and again.
        let stopping = if n_stops < 2 { SIGNALS.len() } else { 1 };
        match attempt(py, stopping, &mut work)? {
            Err(Error::Interrupted) => n_stops += 1,
            done => return done.or_raise(),
        }
    }
}

/// The same for work that cannot be done again: a signal ends it.
pub(crate) fn blocking_once<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    attempt(py, 1, work)?.or_raise()
}

/// The same for work that any thread can do: once a handler has returned, later ones do not stop it, and run meanwhile.
pub(crate) fn evaluating<T: Send>(
    py: Python<'_>,
    mut work: impl FnMut() -> porcini_core::Result<T> + Send,
) -> PyResult<T> {
    loop {
        match attempt(py, SIGNALS.len(), &mut work)? {
            Err(Error::Interrupted) if is_main_thread() => return beside(py, work),
            Err(Error::Interrupted) => {}
            done => return done.or_raise(),
        }
    }
}

/// Does work once; what core said of it, unless a handler raised.
fn attempt<T: Send>(
    py: Python<'_>,
    stopping: usize,
    work: impl FnOnce() -> porcini_core::Result<T> + Send,
) -> PyResult<porcini_core::Result<T>> {
    py.check_signals()?;
    let under_way = fork::begin(py)?;
    let watch = is_main_thread().then(|| Watch::start(stopping));
    let done = py.detach(work);
    drop(under_way);
    let is_interrupted = matches!(done, Err(Error::Interrupted));
    if is_interrupted || interrupt::is_requested() {
        check_memory(is_interrupted)?;
        match watch {
            Some(watch) => {
                drop(watch);
                interrupt::answer(Cause::Asked);
                py.check_signals()?;
            }
            None if is_interrupted => wait_for_answer(py),
            None => {}
        }
    }
    Ok(done)
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
        if [&STOPPING, &REQUESTS].iter().all(|n| n.load(Ordering::Relaxed) == 0) {
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
    let _under_way = fork::begin(py)?;
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

/// While it lives, signals stop core; how many of them did before.
struct Watch(usize);

impl Watch {
    fn start(stopping: usize) -> Self {
        stand_before(SIGINT, &BEFORE[0]);
        let watch = Self(STOPPING.swap(stopping, Ordering::Relaxed));
        BEGUN.fetch_add(1, Ordering::SeqCst);
        if !IS_WATCHED.load(Ordering::SeqCst) && !IS_WATCHED.swap(true, Ordering::SeqCst) {
            let watching =
                Builder::new().name("porcini-signals".into()).spawn(stand_before_long_work);
            IS_WATCHED.store(watching.is_ok(), Ordering::SeqCst);
        }
        watch
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        STOPPING.store(self.0, Ordering::Relaxed);
    }
}

/// To look at every handler takes longer than short work: all but that of Ctrl-C are seen to once work is long. Ends when
/// none was begun for a while.
fn stand_before_long_work() {
    let mut idle = Duration::ZERO;
    loop {
        let before = BEGUN.load(Ordering::SeqCst);
        sleep(LOOK);
        let is_same = || BEGUN.load(Ordering::SeqCst) == before;
        if is_same() && STOPPING.load(Ordering::Relaxed) > 1 {
            let others = SIGNALS.iter().zip(&BEFORE).skip(1);
            let new = others.filter(|(signal, known)| stand_before(**signal, known)).count();
            // What came before was not told.
            if new > 0 && is_same() && STOPPING.load(Ordering::Relaxed) > 1 {
                interrupt::request();
            }
        }
        idle = if is_same() { idle + LOOK } else { Duration::ZERO };
        if idle > Duration::from_secs(1) {
            IS_WATCHED.store(false, Ordering::SeqCst);
            // Work that began in this moment saw it watched.
            if is_same() || IS_WATCHED.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}

/// Forgets what the process that this one was forked from was at.
pub(crate) fn begin_anew() {
    interrupt::clear();
    STOPPING.store(0, Ordering::Relaxed);
    REQUESTS.store(0, Ordering::Relaxed);
    IS_WATCHED.store(false, Ordering::SeqCst);
}

/// Puts our handler before the one that is there; it stays until somebody sets another one. Whether it was not there.
fn stand_before(signal: c_int, known: &AtomicUsize) -> bool {
    let mut before = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call only writes what is there.
    if unsafe { libc::sigaction(signal, ptr::null(), before.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: written above.
    let before = unsafe { before.assume_init() };
    let own = handler as extern "C" fn(c_int) as usize;
    let takes_facts = before.sa_flags & libc::SA_SIGINFO != 0;
    let is_none = matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    if takes_facts || is_none || before.sa_sigaction == own {
        return false;
    }
    known.store(before.sa_sigaction, Ordering::Relaxed);
    let ours = libc::sigaction { sa_sigaction: own, ..before };
    // SAFETY: the handler only does what handlers may.
    unsafe { libc::sigaction(signal, &raw const ours, ptr::null_mut()) == 0 }
}

extern "C" fn handler(signal: c_int) {
    let Some(place) = SIGNALS.iter().position(|&other| other == signal) else { return };
    let before = BEFORE[place].load(Ordering::Relaxed);
    // SAFETY: it was a handler of this form, neither default nor ignored.
    let before: extern "C" fn(c_int) = unsafe { std::mem::transmute(before) };
    // First: the main thread asks Python for what it noted as soon as core stops.
    before(signal);
    if place < STOPPING.load(Ordering::Relaxed) {
        interrupt::request();
    }
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

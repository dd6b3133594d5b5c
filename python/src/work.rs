//! Work for which Python's lock is given back, counted for forks, and whether this process can do any.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long a fork waits for other threads.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at what is waited for.
const MOMENT: Duration = Duration::from_millis(1);

/// How much work is under way without Python's lock.
pub(crate) static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// How many forks are under way: no work begins.
pub(crate) static FORKS: AtomicUsize = AtomicUsize::new(0);
/// How this process is.
pub(crate) static OWN: AtomicU8 = AtomicU8::new(WHOLE);

/// It works as any other.
pub(crate) const WHOLE: u8 = 0;
/// It was forked while another thread was at work.
pub(crate) const TORN: u8 = 1;
/// It was forked from one that had a GPU, or processes that work for it.
pub(crate) const CUT_OFF: u8 = 2;
/// It was forked by a function that core had asked for.
pub(crate) const WITHIN: u8 = 3;

thread_local! {
    /// How much work this thread is at: what it does is asked for Python functions, which may ask for more.
    pub(crate) static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Work without Python's lock, as long as it lives.
pub(crate) struct Work;

impl Drop for Work {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Begins work for which Python's lock is given back; behind a fork that is under way.
pub(crate) fn begin(py: Python<'_>) -> PyResult<Work> {
    check()?;
    if DEPTH.get() == 0 {
        wait(py, &FORKS);
    }
    AT_WORK.fetch_add(1, Ordering::Relaxed);
    DEPTH.set(DEPTH.get() + 1);
    Ok(Work)
}

/// Fails in a process that cannot work.
fn check() -> PyResult<()> {
    let what = match OWN.load(Ordering::Relaxed) {
        WHOLE => return Ok(()),
        TORN => "while another thread of it computed",
        WITHIN => "by a function that it called to compute",
        _ => "that uses a GPU, or ranks",
    };
    Err(PyRuntimeError::new_err(format!(
        "porcini: this process was forked from one {what}, and cannot compute; have multiprocessing start processes by \
         \"spawn\" or \"forkserver\""
    )))
}

/// Waits until there is none of these, with Python's lock for others meanwhile; whether that came in time.
pub(crate) fn wait(py: Python<'_>, n: &AtomicUsize) -> bool {
    let start = Instant::now();
    while n.load(Ordering::Relaxed) > 0 {
        if start.elapsed() > PATIENCE {
            return false;
        }
        py.detach(|| sleep(MOMENT));
    }
    true
}

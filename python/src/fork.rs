//! Forks of the process (`os.fork`, multiprocessing's "fork"): the child has one thread of its parent's, and every lock as
//! it was. So a fork waits until no other thread is at work, and core gets ready for it; a child of which that was not
//! so says so wherever it would have to wait.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{home, interrupt};

/// How long a fork waits for other threads.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at what is waited for.
const MOMENT: Duration = Duration::from_millis(1);

/// How much work is under way without Python's lock.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// How many forks are under way: no work begins.
static FORKS: AtomicUsize = AtomicUsize::new(0);
/// How this process is.
static OWN: AtomicU8 = AtomicU8::new(WHOLE);

/// It works as any other.
const WHOLE: u8 = 0;
/// It was forked while another thread was at work.
const TORN: u8 = 1;
/// It was forked from one that had a GPU, or processes that work for it.
const CUT_OFF: u8 = 2;
/// It was forked by a function that core had asked for.
const WITHIN: u8 = 3;

thread_local! {
    /// How a child of the fork that this thread is at would be.
    static OF_CHILD: Cell<u8> = const { Cell::new(WHOLE) };
    /// How much work this thread is at: what it does is asked for Python functions, which may ask for more.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
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
fn wait(py: Python<'_>, n: &AtomicUsize) -> bool {
    let start = Instant::now();
    while n.load(Ordering::Relaxed) > 0 {
        if start.elapsed() > PATIENCE {
            return false;
        }
        py.detach(|| sleep(MOMENT));
    }
    true
}

#[pyfunction]
fn before(py: Python<'_>) {
    FORKS.fetch_add(1, Ordering::Relaxed);
    OF_CHILD.set(prepared(py));
}

/// Gets ready for a fork; how the child will be.
fn prepared(py: Python<'_>) -> u8 {
    let own = OWN.load(Ordering::Relaxed);
    if own != WHOLE {
        return own;
    }
    // What this thread is at goes on after the fork.
    if DEPTH.get() > 0 {
        return WITHIN;
    }
    if !wait(py, &AT_WORK) {
        return TORN;
    }
    let Some(session) = home::started(py) else { return WHOLE };
    // Another fork waits for this one, or has the workers end at the same time.
    AT_WORK.fetch_add(1, Ordering::Relaxed);
    let can = py.detach(|| session.before_fork());
    let others = AT_WORK.fetch_sub(1, Ordering::Relaxed) - 1;
    match can {
        // They waited for too long.
        _ if others > 0 => TORN,
        Ok(true) => WHOLE,
        Ok(false) => CUT_OFF,
        Err(_) => TORN,
    }
}

#[pyfunction]
fn after_in_parent() {
    FORKS.fetch_sub(1, Ordering::Relaxed);
}

#[pyfunction]
fn after_in_child() {
    FORKS.store(0, Ordering::Relaxed);
    AT_WORK.store(DEPTH.get(), Ordering::Relaxed);
    OWN.store(OF_CHILD.get(), Ordering::Relaxed);
    interrupt::begin_anew();
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let os = py.import("os")?;
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before, module)?)?;
    hooks.set_item("after_in_parent", wrap_pyfunction!(after_in_parent, module)?)?;
    hooks.set_item("after_in_child", wrap_pyfunction!(after_in_child, module)?)?;
    os.call_method("register_at_fork", (), Some(&hooks)).map(drop)
}

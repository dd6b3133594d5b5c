//! Forks of the process (`os.fork`, multiprocessing's "fork"): the child has one thread of its parent's, and every lock as
//! it was. So a fork waits until no other thread is at work, and core gets ready for it; a child of which that was not
//! so says so wherever it would have to wait.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::work::{AT_WORK, CUT_OFF, DEPTH, FORKS, OWN, TORN, WHOLE, WITHIN, wait};
use crate::{home, interrupt};

thread_local! {
    /// How a child of the fork that this thread is at would be.
    static OF_CHILD: Cell<u8> = const { Cell::new(WHOLE) };
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

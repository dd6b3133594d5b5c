//! How deep objects in objects may be: what goes through them recurs, and a list may hold itself.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

/// Deeper than any form that arrays are kept in, and far from the end of a thread's stack.
const MOST: u32 = 200;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A level of objects in objects, until it is dropped.
pub(crate) struct Level(());

impl Level {
    /// One level more.
    ///
    /// # Errors
    /// `RecursionError`, as in Python's own calls; what a signal raises, as of a few lists there may be a great many ways
    /// through.
    pub(crate) fn enter(py: Python<'_>) -> PyResult<Self> {
        py.check_signals()?;
        DEPTH.with(|depth| {
            if depth.get() == MOST {
                let what =
                    format!("got lists in lists, {MOST} deep or more; does one hold itself?");
                return Err(PyRecursionError::new_err(what));
            }
            depth.set(depth.get() + 1);
            Ok(Self(()))
        })
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

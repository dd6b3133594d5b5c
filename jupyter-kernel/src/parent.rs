//! A kernel whose Jupyter is gone must not stay.

use std::os::unix::process::parent_id;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

/// How often the parent is looked for.
const PERIOD: Duration = Duration::from_millis(500);

/// Calls `end` when the process that `JPY_PARENT_PID` names is gone; does nothing without it.
pub(crate) fn watch(end: impl FnOnce()) {
    let named = std::env::var("JPY_PARENT_PID").ok().and_then(|text| text.parse::<i32>().ok());
    let Some(parent) = named.and_then(Pid::from_raw) else { return };
    let is_own = || i32::try_from(parent_id()) == Ok(parent.as_raw_nonzero().get());
    let was_own = is_own();
    // A killed parent is still listed until its own parent looks; but we have another one by then.
    while (!was_own || is_own()) && test_kill_process(parent).is_ok() {
        thread::sleep(PERIOD);
    }
    end();
}

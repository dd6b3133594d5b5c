//! What stops a cell from outside, and what ends the kernel as a shutdown does, so that nothing is left of it.

use std::thread;
use std::time::Duration;

use porcini_script::{Interpreter, programs};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;

use crate::parent;
use crate::socket::post::Outbox;
use crate::socket::{SocketError, spawn};

/// How long the end may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Ctrl-C in the terminal that Jupyter runs in reaches its kernels too: it stops a cell, not the kernel.
pub(crate) fn interrupt_on_signal() -> Result<(), SocketError> {
    let mut signals = Signals::new([SIGINT])?;
    spawn("signals", move || signals.forever().for_each(|_| Interpreter::interrupt()))?;
    Ok(())
}

/// SIGTERM and SIGHUP end the kernel, and so does the end of the Jupyter that started it.
pub(crate) fn end_when_asked(outbox: &Outbox) -> Result<(), SocketError> {
    // Whoever runs a program with nohup wants it to outlive its terminal.
    let heeded = [SIGTERM, SIGHUP].into_iter().filter(|&signal| !programs::is_ignored(signal));
    let mut signals = Signals::new(heeded)?;
    let (by_signal, by_parent) = (outbox.clone(), outbox.clone());
    spawn("endings", move || signals.forever().take(1).for_each(|_| end(&by_signal)))?;
    spawn("parent", move || parent::watch(|| end(&by_parent)))?;
    Ok(())
}

fn end(outbox: &Outbox) {
    Interpreter::interrupt();
    outbox.quit();
    // Whatever holds the others up, who may be at their own end.
    thread::sleep(PATIENCE);
    exit(0);
}

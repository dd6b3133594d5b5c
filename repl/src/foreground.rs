//! Programs that have the terminal for a while: a pager, an editor, commands of the system.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::print;

/// Whether another program has the terminal: Ctrl-C is for it then.
static AWAY: AtomicBool = AtomicBool::new(false);
/// Whether it got one.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// How long this process may take to hear of a Ctrl-C that has ended the other.
const HEARING: Duration = Duration::from_millis(200);

/// Whether a Ctrl-C is for another program.
pub(crate) fn takes_interrupt() -> bool {
    let away = AWAY.load(Ordering::SeqCst);
    INTERRUPTED.fetch_or(away, Ordering::SeqCst);
    away
}

/// Runs a program that has the terminal until it ends; `feed` gives it what it reads.
///
/// # Errors
/// It does not start.
pub(crate) fn run(command: &mut Command, feed: impl FnOnce(&mut Child)) -> io::Result<ExitStatus> {
    print::flush();
    INTERRUPTED.store(false, Ordering::SeqCst);
    AWAY.store(true, Ordering::SeqCst);
    let result = command.spawn().and_then(|mut child| {
        feed(&mut child);
        child.wait()
    });
    // The terminal tells both of Ctrl-C: the other may have died of it before this process has heard.
    #[cfg(unix)]
    if result.as_ref().is_ok_and(died_of_interrupt) {
        let end = Instant::now() + HEARING;
        while !INTERRUPTED.load(Ordering::SeqCst) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }
    AWAY.store(false, Ordering::SeqCst);
    result
}

/// Whether a program ended as those do that get a Ctrl-C: by the signal, or as shells tell of it.
#[cfg(unix)]
fn died_of_interrupt(status: &ExitStatus) -> bool {
    use signal_hook::consts::SIGINT;
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(SIGINT) || matches!(status.code(), Some(2 | 130))
}

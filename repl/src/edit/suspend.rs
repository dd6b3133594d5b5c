//! Ctrl-Z: the shell that started this process has the terminal until it is told to go on with it.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{Cmd, ConditionalEventHandler, Event, EventContext, RepeatCount};
use signal_hook::consts::SIGCONT;
use signal_hook::flag;

/// How often, and how many times, somebody looks whether the process goes on. It may have been told to stop, and run on for
/// a moment: another thread is told. One that nobody could wake does not stop.
const LOOK_AFTER: Duration = Duration::from_millis(1);
const LOOKS: usize = 300;
/// What is pasted has brackets, and none.
const PASTE: [&[u8]; 2] = [b"\x1b[?2004h", b"\x1b[?2004l"];

/// The key. The editor has one of its own, which takes the terminal back before the process has stopped: the shell then
/// changes it, and the editor goes on with a terminal that edits lines itself.
pub(super) struct Suspend {
    /// The terminal as it was before anybody typed.
    before: Option<Termios>,
    /// Whether the process was told to go on.
    goes_on: Arc<AtomicBool>,
}

impl Suspend {
    pub(super) fn new() -> Self {
        let goes_on = Arc::default();
        let is_heard = flag::register(SIGCONT, Arc::clone(&goes_on)).is_ok();
        let before = tcgetattr(io::stdin()).ok().filter(|_| is_heard);
        Self { before, goes_on }
    }

    fn stop(&self, before: &Termios) -> io::Result<()> {
        let (input, mut output) = (io::stdin(), io::stdout());
        let edited = tcgetattr(&input)?;
        output.write_all(PASTE[1]).and_then(|()| output.flush())?;
        tcsetattr(&input, OptionalActions::Drain, before)?;
        self.goes_on.store(false, Ordering::SeqCst);
        kill_current_process_group(Signal::TSTP)?;
        for _ in 0..LOOKS {
            if self.goes_on.load(Ordering::SeqCst) {
                break;
            }
            thread::sleep(LOOK_AFTER);
        }
        tcsetattr(&input, OptionalActions::Drain, &edited)?;
        output.write_all(PASTE[0]).and_then(|()| output.flush())
    }
}

impl ConditionalEventHandler for Suspend {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.stop(self.before.as_ref()?).ok()?;
        Some(Cmd::Repaint)
    }
}

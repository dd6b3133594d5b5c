//! SIGTERM and SIGHUP end the process: at once at an idle prompt, else as soon as what runs has stopped, and after a
//! second even if it has not. What whoever started the process had it ignore stays ignored.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use porcini_core::interrupt;
pub(crate) use porcini_script::programs::is_ignored;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::print;

/// How long what runs may take to stop.
const PATIENCE: Duration = Duration::from_millis(800);
/// How long a signal may be on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(200);
/// How often somebody looks whether it has.
const LOOK_AFTER: Duration = Duration::from_millis(5);
/// What programs that end by a signal add to its number.
const BY_SIGNAL: u8 = 128;

/// Whether a signal has asked the process to end: what then stops is not interrupted by a person.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// Whether a signal ends the process.
pub(crate) fn is_asked() -> bool {
    IS_ASKED.load(Ordering::SeqCst)
}

/// Why what runs has stopped, which was asked to.
pub(crate) fn why_stopped() -> &'static str {
    if is_asked() { "terminated" } else { "interrupted" }
}

/// Whether the process is to end, and what it does meanwhile.
#[derive(Default)]
pub(crate) struct Ending {
    /// The exit code; 0 while nobody asked.
    code: AtomicU8,
    /// Whether the shell waits for somebody to type.
    is_idle: AtomicBool,
}

impl Ending {
    /// Heeds the signals from now on.
    pub(crate) fn heed() -> Arc<Self> {
        let ending = Arc::new(Self::default());
        // Whoever runs a program with nohup wants it to outlive its terminal.
        let heeded = [SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
        let heard = Signals::new(heeded.clone());
        let (waiting, terminal) = (ending.clone(), terminal());
        let wait = |mut signals: Signals| {
            let builder = thread::Builder::new().name("signals".into());
            builder.spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    waiting.end(signal, terminal.as_ref());
                }
            })
        };
        if let Err(error) = heard.and_then(wait) {
            heeded.for_each(end_at_once);
            print::warn(&format!("SIGTERM will end the process without a word: {error}"));
        }
        ending
    }

    /// The exit code of a process that is to end.
    pub(crate) fn code(&self) -> Option<u8> {
        Some(self.code.load(Ordering::SeqCst)).filter(|&code| code > 0)
    }

    /// The same where a signal may be on its way, as that of a terminal that has gone.
    pub(crate) fn code_soon(&self) -> Option<u8> {
        let start = Instant::now();
        while self.code().is_none() && start.elapsed() < ON_ITS_WAY {
            thread::sleep(LOOK_AFTER);
        }
        self.code()
    }

    /// Whether the shell waits for somebody to type.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::SeqCst)
    }

    /// Does what waits for somebody to type.
    pub(crate) fn while_idle<R>(&self, work: impl FnOnce() -> R) -> R {
        self.is_idle.store(true, Ordering::SeqCst);
        let result = work();
        self.is_idle.store(false, Ordering::SeqCst);
        result
    }

    fn end(&self, signal: i32, terminal: Option<&Termios>) -> ! {
        let code = code_of(signal);
        self.code.store(code, Ordering::SeqCst);
        IS_ASKED.store(true, Ordering::SeqCst);
        interrupt::request();
        let start = Instant::now();
        while !self.is_idle() && start.elapsed() < PATIENCE {
            thread::sleep(LOOK_AFTER);
        }
        if let Some(terminal) = terminal {
            leave(terminal);
        }
        print::without_waiting(print::flush);
        std::process::exit(code.into());
    }
}

/// Has a signal end the process without a word, where nobody waits for it.
pub(crate) fn end_at_once(signal: i32) {
    let always = Arc::new(AtomicBool::new(true));
    // What cannot be registered has the system's own effect.
    drop(flag::register_conditional_shutdown(signal, i32::from(code_of(signal)), always));
}

/// Has writing more than a file may hold (`ulimit -f`) fail as on a full disk, not end the process by a signal.
pub(crate) fn heed_file_limit() {
    // Without it the system does what it does to other programs.
    drop(flag::register(SIGXFSZ, Arc::default()));
}

/// How the terminal was before anybody typed.
fn terminal() -> Option<Termios> {
    let input = io::stdin();
    if input.is_terminal() { tcgetattr(input.as_fd()).ok() } else { None }
}

/// Gives the terminal back as it was: the line editor does not come to it.
fn leave(before: &Termios) {
    // A terminal that is gone needs nothing.
    let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, before);
    print::without_waiting(|| {
        let mut output = io::stdout().lock();
        if output.is_terminal() {
            // What is pasted has no brackets any more.
            drop(output.write_all(b"\x1b[?2004l\r\n").and_then(|()| output.flush()));
        }
    });
}

/// The exit code of a process that a signal ends.
fn code_of(signal: i32) -> u8 {
    u8::try_from(signal).map_or(u8::MAX, |signal| BY_SIGNAL.saturating_add(signal))
}

//! Lines that no editor reads: those of a pipe, and of a terminal, where the system edits them, secrets, and all where there
//! are no escape sequences.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read, Write as _};
use std::rc::Rc;

use porcini_core::interrupt::{self, Cause};
use porcini_core::memory::caching_allocator::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;

/// Bytes of a line, at most, as of a script: what has no line ends must have one.
const LONGEST_LINE: u64 = 64 << 20;
/// Between two looks at the interrupt flag.
const LOOK_AFTER: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// What rustyline does not edit on.
const TERMINALS: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Whether no editor reads lines: they come through a pipe, or from such a terminal.
pub(crate) fn is_unedited() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    !io::stdin().is_terminal() || TERMINALS.iter().any(|other| term.eq_ignore_ascii_case(other))
}

/// A line that the terminal does not show while it is typed.
pub(crate) fn secret(prompt: &str) -> rustyline::Result<String> {
    // Who sees the question may type at once.
    let _silence = Silence::begin()?;
    show(prompt)?;
    Lines::new().next()
}

/// Until it is dropped, a terminal shows of what is typed only where a line ends.
struct Silence(Termios);

impl Silence {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // A terminal that has gone shows nothing any more.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.0).ok();
    }
}

/// Text at once.
pub(crate) fn show(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Standard input where no editor reads it, with what was read ahead of the next line.
#[derive(Clone)]
pub(crate) struct Lines(Rc<RefCell<BufReader<Input>>>);

impl Lines {
    /// Those that nobody has begun to read.
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(BufReader::new(Input))))
    }

    /// The next line, without its end. Of a terminal nothing is read ahead: it gives a line at a time.
    pub(crate) fn next(&self) -> rustyline::Result<String> {
        let mut line = String::new();
        match self.0.borrow_mut().by_ref().take(LONGEST_LINE + 1).read_line(&mut line) {
            Ok(n) if n as u64 > LONGEST_LINE => {
                let most = Bytes(LONGEST_LINE);
                Err(io::Error::other(format!("a line is at most {most} long")).into())
            }
            Ok(0) => Err(ReadlineError::Eof),
            Ok(_) => {
                line.truncate(line.trim_end_matches(['\n', '\r']).len());
                Ok(line)
            }
            Err(error) if is_interrupt(&error) => {
                if io::stdin().is_terminal() {
                    // It has forgotten the line, and echoed the key.
                    show("\n")?;
                }
                Err(ReadlineError::Interrupted)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Standard input, whose reader hears of Ctrl-C while it waits: a read would go on behind the signal.
pub(crate) struct Input;

impl Read for Input {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let input = io::stdin();
        loop {
            // First: a source that never waits, /dev/zero for one, would never let it be seen.
            if interrupt::cause() == Some(Cause::Asked) {
                return Err(Errno::CANCELED.into());
            }
            match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&LOOK_AFTER)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(rustix::io::read(&input, part)?),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether it says that Ctrl-C has ended a read: of its own kind readers would try again.
pub(crate) fn is_interrupt(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::CANCELED)
}

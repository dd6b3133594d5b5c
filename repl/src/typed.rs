//! Lines as a terminal gives them, which the system edits: secrets, and all where there are no escape sequences.

use std::io::{self, Write as _};

use porcini_core::interrupt::{self, Cause};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;

/// Between two looks at the interrupt flag: a read would go on behind the signal.
const LOOK_AFTER: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A line that the terminal does not show while it is typed.
pub(crate) fn secret(prompt: &str) -> rustyline::Result<String> {
    // Who sees the question may type at once.
    let _silence = Silence::begin()?;
    show(prompt)?;
    Ok(line()?.trim_end_matches(['\n', '\r']).into())
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

/// A line as the terminal gives it: never more than one at a time.
pub(crate) fn line() -> rustyline::Result<String> {
    let (input, mut typed, mut part) = (io::stdin(), Vec::new(), [0; 4096]);
    while !typed.ends_with(b"\n") {
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&LOOK_AFTER)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => match rustix::io::read(&input, &mut part).map_err(io::Error::from)? {
                0 if typed.is_empty() => return Err(ReadlineError::Eof),
                0 => break,
                n => typed.extend_from_slice(&part[..n]),
            },
            Err(error) => return Err(io::Error::from(error).into()),
        }
        if interrupt::cause() == Some(Cause::Asked) {
            // The terminal has forgotten the line, and echoed the key.
            show("\n")?;
            return Err(ReadlineError::Interrupted);
        }
    }
    Ok(String::from_utf8_lossy(&typed).into_owned())
}

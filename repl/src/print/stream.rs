//! Standard output and standard error, whose readers may stand still, and which others may have set not to wait for them:
//! who writes hears of Ctrl-C.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use porcini_core::interrupt::{self, Cause};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Bytes that a pipe which has room takes without a wait.
const PIECE: usize = 4096;
/// Between two looks at the interrupt flag.
const LOOK_AFTER: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// Where there is room, and not enough.
const MOMENT: Duration = Duration::from_millis(1);
/// How long a reader has to go on once somebody has had enough.
const GRACE: Duration = Duration::from_millis(100);

/// Whether it says that a write has ended so.
pub(super) fn is_given_up(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::CANCELED)
}

/// A stream, of which a write ends where Ctrl-C was pressed and nobody reads.
pub(super) struct Stream<F>(pub(super) F);

impl<F: AsFd> Write for Stream<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        let mut asked = None;
        loop {
            match poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&LOOK_AFTER)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => match rustix::io::write(&self.0, piece) {
                    Err(Errno::INTR | Errno::AGAIN) => thread::sleep(MOMENT),
                    // Where nothing can be written nothing is lost, as the standard library has it.
                    Err(Errno::BADF) => return Ok(piece.len()),
                    written => return Ok(written?),
                },
                Err(error) => return Err(error.into()),
            }
            if interrupt::cause() == Some(Cause::Asked)
                && asked.get_or_insert_with(Instant::now).elapsed() > GRACE
            {
                return Err(Errno::CANCELED.into());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

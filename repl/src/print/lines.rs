//! Lines of standard output. A terminal has each at once; of a pipe or a file many are written together, a call of the system
//! for each takes longer than most of what makes them.

use std::io::{self, IsTerminal, StdoutLock, Write};
use std::mem::take;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::stream::{Stream, is_given_up};

/// How long a line may wait for others.
const LONGEST: Duration = Duration::from_millis(10);
/// Bytes that wait for no more.
const MOST: usize = 64 << 10;

/// What is printed and not yet written.
struct Waiting {
    text: Vec<u8>,
    /// Parts of a line that waits for its end: see [`IS_SHARED`].
    begun: Vec<u8>,
    /// When something was written last.
    written: Option<Instant>,
    /// Whether a thread writes what nothing comes behind.
    is_watched: bool,
}

static WAITING: Mutex<Waiting> =
    Mutex::new(Waiting { text: Vec::new(), begun: Vec::new(), written: None, is_watched: false });
static SOMETHING_WAITS: Condvar = Condvar::new();
static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| io::stdout().is_terminal());
/// Whether standard error goes to the same pipe or file: what is told would stand inside a line that has begun.
static IS_SHARED: LazyLock<bool> = LazyLock::new(|| {
    let place = |status: rustix::fs::Stat| (status.st_dev, status.st_ino);
    let [out, err] = [rustix::fs::fstat(io::stdout()), rustix::fs::fstat(io::stderr())];
    matches!((out, err), (Ok(out), Ok(err)) if place(out) == place(err))
});

impl Waiting {
    fn write(&mut self) -> io::Result<()> {
        let mut text = take(&mut self.text);
        if text.is_empty() {
            return Ok(());
        }
        let (mut out, mut n) = (stdout()?, 0);
        while n < text.len() {
            match out.write(&text[n..]) {
                Ok(more) => n += more,
                // It waits until somebody reads again, and goes with the process.
                Err(error) if is_given_up(&error) => {
                    text.drain(..n);
                    self.text = text;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.written = Some(Instant::now());
        Ok(())
    }
}

/// Standard output behind what others have written there.
fn stdout() -> io::Result<Stream<StdoutLock<'static>>> {
    let mut out = io::stdout().lock();
    out.flush()?;
    Ok(Stream(out))
}

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line, or a part of one, with what ends it.
pub(super) fn put(text: &str, end: &str) -> io::Result<()> {
    if *IS_TERMINAL {
        return match stdout()?.write_all(format!("{text}{end}").as_bytes()) {
            // Nobody wants to see the rest.
            Err(error) if is_given_up(&error) => Ok(()),
            written => written,
        };
    }
    let mut waiting = waiting();
    if end.is_empty() && *IS_SHARED {
        waiting.begun.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    let begun = take(&mut waiting.begun);
    waiting.text.extend(begun);
    waiting.text.extend_from_slice(text.as_bytes());
    waiting.text.extend_from_slice(end.as_bytes());
    let is_due = waiting.written.is_none_or(|at| at.elapsed() >= LONGEST);
    if is_due || waiting.text.len() >= MOST || !watch(&mut waiting) {
        return waiting.write();
    }
    SOMETHING_WAITS.notify_one();
    Ok(())
}

/// Whether there is a thread that writes what waits.
fn watch(waiting: &mut Waiting) -> bool {
    if !waiting.is_watched {
        let watcher = thread::Builder::new().name("output".into()).spawn(|| {
            loop {
                let waits = |waiting: &mut Waiting| waiting.text.is_empty();
                drop(SOMETHING_WAITS.wait_while(self::waiting(), waits));
                thread::sleep(LONGEST);
                super::written(write());
            }
        });
        waiting.is_watched = watcher.is_ok();
    }
    waiting.is_watched
}

/// Writes what waits.
pub(super) fn write() -> io::Result<()> {
    waiting().write()
}

/// Whether something could not be written, as Ctrl-C was pressed while nobody read.
pub(super) fn is_left() -> bool {
    !waiting().text.is_empty()
}

/// Writes what waits, unless another thread does.
pub(super) fn write_unless_busy() -> io::Result<()> {
    WAITING.try_lock().map_or(Ok(()), |mut waiting| waiting.write())
}

/// Writes what waits, and keeps others from printing until it is given back.
pub(super) fn hold() -> (io::Result<()>, impl Drop) {
    let mut waiting = waiting();
    (waiting.write(), waiting)
}

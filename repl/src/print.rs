//! Output: values to standard output, everything else to standard error (S23), colour only there and
//! only on a terminal that wants it.

mod lines;
mod stream;

use std::io::{self, IsTerminal, StderrLock, Write};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use colored::Colorize;
use porcini_core::interrupt::{self, Cause};
use porcini_script::{Cell, Error, Interpreter, fitted};
use rustix::io::Errno;
use terminal_size::{Height, Width};

use stream::Stream;

/// Columns and rows of a window that does not say.
const COLUMNS: usize = 80;
const ROWS: usize = 24;
/// A window so narrow that words do not fit is left to break lines itself.
const NARROW: usize = 20;

/// How long a last word may take.
const LAST_WORD: Duration = Duration::from_millis(200);

/// The exit code of a program whose reader went away, as a shell reports it.
const BROKEN_PIPE: i32 = 141;
/// That of one whose results are lost: a full disk, for one.
const LOST: i32 = 1;

/// A value or `print` text.
pub(crate) fn value(text: &str) {
    written(lines::put(text, "\n"));
}

/// A part of a line, which others follow.
pub(crate) fn part(text: &str) {
    written(lines::put(text, ""));
}

/// Has whoever reads standard output see what was printed.
pub(crate) fn flush() {
    written(lines::write());
}

/// Whether Ctrl-C has kept something from being written that nobody reads.
pub(crate) fn is_cut() -> bool {
    lines::is_left()
}

/// Writes to standard error, behind what was printed before and ahead of what is printed then.
fn tell(write: impl FnOnce(&mut Stream<StderrLock<'_>>) -> io::Result<()>) {
    let (before, held) = lines::hold();
    if before.is_err() {
        drop(held);
        return written(before);
    }
    told(write(&mut Stream(io::stderr().lock())));
}

/// Draws a cell anew over what was typed as it, the last lines of a terminal.
pub(crate) fn redraw(typed: &str, cell: &str) {
    let mut out = io::stdout().lock();
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    if let Some((columns, rows)) = size()
        && out.is_terminal()
        && !dumb
    {
        let n = rows_of(typed, columns);
        // What has left the screen cannot be drawn over.
        if n < rows {
            written(writeln!(out, "\x1b[{n}A\r\x1b[J{cell}"));
        }
    }
}

/// Begins a line where another program has left one without an end: as many blanks as a line has lead to the next one,
/// but from the start of a line to its end.
pub(crate) fn end_line() {
    let mut out = io::stdout().lock();
    if let Some((columns, _)) = size().filter(|_| out.is_terminal()) {
        written(write!(out, "{:columns$}\r\x1b[K", "").and_then(|()| out.flush()));
    }
}

/// Rows that a text takes.
pub(crate) fn rows_of(text: &str, columns: usize) -> usize {
    text.split('\n').map(|line| line.chars().count().div_ceil(columns).max(1)).sum()
}

/// Tells what a script may have meant that gave the value `shown`.
pub(crate) fn notes(interpreter: &Interpreter, cell: &Cell, name: &str, shown: Option<&str>) {
    for (line, note) in interpreter.notes(cell, shown) {
        log(&format!("{note}\n --> {name}:{line}"));
    }
}

/// What a script says beside what it gives.
pub(crate) fn beside(text: &str) {
    tell(|err| writeln!(err, "{text}"));
}

/// A log line.
pub(crate) fn log(text: &str) {
    let line = if colours(&io::stderr()) { text.dimmed().to_string() } else { text.into() };
    tell(|err| writeln!(err, "{line}"));
}

/// How far something is, over what was said before; only on a terminal.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        let text: String = text.chars().take(width().saturating_sub(1)).collect();
        tell(|err| write!(err, "\r\x1b[K{text}").and_then(|()| err.flush()));
    }
}

/// Something the user should know that is no error.
pub(crate) fn warn(text: &str) {
    tell(|err| writeln!(err, "{}", in_window(&format!("warning: {text}"))));
}

/// Says something at the end of the process, unless nobody takes it: whoever runs may hold the streams, or who reads
/// them has stopped reading.
pub(crate) fn without_waiting(say: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let say = move || {
        say();
        // Nobody may wait any more.
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(say).is_ok() {
        let _ = is_done.recv_timeout(LAST_WORD);
    }
}

/// Tells why the process ends now, whoever waits for whom.
pub(crate) fn last_words(text: String) {
    without_waiting(move || {
        written(lines::write_unless_busy());
        told(writeln!(io::stderr().lock(), "{}", in_window(&text)));
    });
}

/// Something that keeps a script from starting.
pub(crate) fn failure(text: &str) {
    tell(|err| writeln!(err, "{}", in_window(&format!("error: {text}"))));
}

/// A diagnostic, in colour where there is a terminal.
pub(crate) fn error(error: &Error) {
    let text = error.report("error", message_columns(), colours(&io::stderr()));
    tell(|err| writeln!(err, "{text}"));
}

/// A message in lines that fit the window, if there is one; its further lines are indented.
fn in_window(text: &str) -> String {
    message_columns().map_or_else(|| text.into(), |columns| sentence(text, columns))
}

/// A sentence in lines that fit so many columns; its further lines are indented.
pub(crate) fn sentence(text: &str, columns: usize) -> String {
    fitted(text, columns - 2).replace('\n', "\n  ")
}

/// Columns of the window that shows messages, if there is one that words fit in.
fn message_columns() -> Option<usize> {
    let (columns, _) = terminal_size::terminal_size_of(io::stderr()).map(known)?;
    Some(columns).filter(|&columns| columns >= NARROW)
}

/// Ends the process if standard output was not written: quietly where nobody reads any more, as `| head` expects.
pub(crate) fn written(result: io::Result<()>) {
    let Err(error) = result else { return };
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(BROKEN_PIPE);
    }
    if Errno::from_io_error(&error) == Some(Errno::IO) {
        wait_for_end();
    }
    failure(&format!("standard output: {error}"));
    std::process::exit(LOST);
}

/// A terminal that has gone is told of by a signal, too, which ends the process with the exit code of its own.
fn wait_for_end() {
    thread::sleep(LAST_WORD);
    if interrupt::cause() == Some(Cause::Asked) {
        thread::sleep(10 * LAST_WORD);
    }
}

/// What cannot be told goes untold, and the script goes on; but not if nobody reads.
fn told(result: io::Result<()>) {
    if result.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        std::process::exit(BROKEN_PIPE);
    }
}

/// What the settings say about colour.
static COLOURS: OnceLock<bool> = OnceLock::new();

/// Has colour everywhere, or nowhere, whatever the streams are.
pub(crate) fn set_colours(everywhere: bool) {
    COLOURS.get_or_init(|| everywhere);
}

/// Whether a stream takes colour: settings, `NO_COLOR`, `CLICOLOR_FORCE`, dumb terminals.
pub(crate) fn colours(stream: &impl IsTerminal) -> bool {
    if let Some(&everywhere) = COLOURS.get() {
        return everywhere;
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    set("CLICOLOR_FORCE") || (stream.is_terminal() && !dumb)
}

/// Makes `colored` paint whenever it is asked: whether to ask is decided for each stream, see [`colours`].
pub(crate) fn paint_when_asked() {
    colored::control::set_override(true);
}

/// Columns of the window that shows standard output, if there is one.
pub(crate) fn window() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

/// Columns and rows of that window.
pub(crate) fn size() -> Option<(usize, usize)> {
    terminal_size::terminal_size_of(io::stdout()).map(known)
}

/// A window that says 0 does not know.
fn known((columns, rows): (Width, Height)) -> (usize, usize) {
    let or = |n: u16, usual| if n == 0 { usual } else { usize::from(n) };
    (or(columns.0, COLUMNS), or(rows.0, ROWS))
}

/// Rows of the window.
pub(crate) fn rows() -> usize {
    size().map_or(ROWS, |(_, rows)| rows)
}

/// Columns to fill.
pub(crate) fn width() -> usize {
    window().unwrap_or(COLUMNS)
}

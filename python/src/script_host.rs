//! The world of a Python process as scripts see it.
//!
//! What a script prints and shows goes to the thread that runs it, which waits: that writes as many lines at once as there are,
//! so Python's lock changes hands once for all of them.

use std::collections::HashSet;
use std::io;
use std::iter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use porcini_core::log::LogSink;
use porcini_script::{DisplayTarget, Host, Shown, folders};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::exchanged::mime_bundle;
use crate::interrupt::{LOOK, Request};

/// Lines that wait to be written at most; then the script does.
const WAITING: usize = 1 << 10;

/// What a script prints or shows.
pub(crate) enum Event {
    Printed(String),
    Shown(Shown, Place),
    Cleared { wait: bool },
}

/// Where something is shown: below, or under a name, in place of what is there or not.
#[derive(Default)]
pub(crate) struct Place {
    name: Option<String>,
    is_instead: bool,
}

/// Where a script's output goes while somebody runs it.
#[derive(Clone, Default)]
pub(crate) struct Outlet {
    open: Arc<Mutex<Option<Open>>>,
    n_bars: Arc<AtomicUsize>,
}

struct Open {
    events: SyncSender<Event>,
    /// Whether pictures are shown.
    shows: bool,
    /// The name of the bar that is shown.
    bar: Option<String>,
}

/// Closes the outlet when the run ends.
pub(crate) struct Run(Outlet);

impl Drop for Run {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl Outlet {
    /// Has output go to a channel, as long as the run lives.
    pub(crate) fn open(&self, events: SyncSender<Event>, shows: bool) -> Run {
        *self.lock() = Some(Open { events, shows, bar: None });
        Run(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shows(&self) -> bool {
        self.lock().as_ref().is_some_and(|open| open.shows)
    }

    /// Hands over what is printed or shown; gives it back where nobody is there.
    fn send(&self, event: Event) -> Result<(), Event> {
        // Not under the lock: it waits where much waits already.
        let events = self.lock().as_ref().map(|open| open.events.clone());
        match events {
            Some(events) => events.send(event).map_err(|unsent| unsent.0),
            None => Err(event),
        }
    }

    /// Shows how far something is in place of what was shown before; nothing when it has ended.
    fn show_progress(&self, line: &str) {
        let place = {
            let mut open = self.lock();
            let Some(open) = open.as_mut().filter(|open| open.shows) else { return };
            let shown = open.bar.take();
            if shown.is_none() && line.is_empty() {
                return;
            }
            let is_instead = shown.is_some();
            let next = || self.n_bars.fetch_add(1, Ordering::Relaxed);
            let name = shown.unwrap_or_else(|| format!("porcini progress {}", next()));
            if !line.is_empty() {
                open.bar = Some(name.clone());
            }
            Place { name: Some(name), is_instead }
        };
        let mut shown = Shown::plain(line);
        if line.is_empty() {
            // No line at all, where text has one that is empty.
            shown.forms.push(("text/html", String::new()));
        }
        drop(self.send(Event::Shown(shown, place)));
    }
}

/// The threads that write what scripts print.
#[derive(Clone, Default)]
pub(crate) struct Followers(Arc<Mutex<HashSet<ThreadId>>>);

/// This thread among them.
pub(crate) struct Following(Followers);

impl Followers {
    /// `None` within what this thread writes: the script that it waits for may wait until that is written.
    pub(crate) fn join(&self) -> Option<Following> {
        self.lock().insert(thread::current().id()).then(|| Following(self.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ThreadId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.lock().remove(&thread::current().id());
    }
}

/// A channel for what a script prints and shows.
pub(crate) fn events() -> (SyncSender<Event>, Receiver<Event>) {
    sync_channel(WAITING)
}

/// Writes and shows what comes until the script has ended, pictures by `display`, and has the handlers of signals run
/// meanwhile; the script is asked to stop by what one of them raises.
pub(crate) fn follow(events: &Receiver<Event>, display: Option<&Py<PyAny>>) -> Option<Request> {
    let mut stopped = None;
    loop {
        match events.recv_timeout(LOOK) {
            Ok(first) => {
                let batch = iter::once(first).chain(events.try_iter().take(WAITING));
                let raised = Python::attach(|py| told(py, batch, display));
                stopped = stopped.or_else(|| raised.map(Request::new));
            }
            Err(RecvTimeoutError::Timeout) => stopped = stopped.or_else(Request::if_raised),
            Err(RecvTimeoutError::Disconnected) => return stopped,
        }
    }
}

/// Writes and shows; what ends the script.
fn told(
    py: Python<'_>,
    batch: impl Iterator<Item = Event>,
    display: Option<&Py<PyAny>>,
) -> Option<PyErr> {
    if let Err(raised) = py.check_signals() {
        return Some(raised);
    }
    let error = tell(py, batch, display).err()?;
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Some(error);
    }
    error.write_unraisable(py, None);
    None
}

/// Writes lines together, up to something that is shown.
fn tell(
    py: Python<'_>,
    batch: impl Iterator<Item = Event>,
    display: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let mut lines = String::new();
    for event in batch {
        if let Event::Printed(text) = event {
            lines.push_str(&text);
            lines.push('\n');
            continue;
        }
        write(py, "stdout", &std::mem::take(&mut lines))?;
        let Some(display) = display else { continue };
        match event {
            Event::Shown(shown, place) => {
                let data = mime_bundle(py, &shown)?;
                display.call_method1(py, "show", (data, place.name, place.is_instead))?;
            }
            Event::Cleared { wait } => drop(display.call_method1(py, "clear", (wait,))?),
            Event::Printed(_) => {}
        }
    }
    write(py, "stdout", &lines)
}

fn write(py: Python<'_>, stream: &str, text: &str) -> PyResult<()> {
    if text.is_empty() {
        return Ok(());
    }
    py.import("sys")?.getattr(stream)?.call_method1("write", (text,)).map(drop)
}

/// Writes a line of a thread that does not wait for it.
fn write_at_once(stream: &str, text: &str) {
    Python::attach(|py| {
        if let Err(error) = write(py, stream, &format!("{text}\n")) {
            error.write_unraisable(py, None);
        }
    });
}

/// The world of a Python process.
pub(crate) struct PythonHost {
    start: Instant,
    arguments: Vec<String>,
    outlet: Outlet,
}

impl PythonHost {
    pub(crate) fn new(arguments: Vec<String>, outlet: Outlet) -> Self {
        Self { start: Instant::now(), arguments, outlet }
    }
}

impl Host for PythonHost {
    fn print(&self, text: &str) {
        if let Err(Event::Printed(text)) = self.outlet.send(Event::Printed(text.into())) {
            write_at_once("stdout", &text);
        }
    }

    fn shows_forms(&self) -> bool {
        self.outlet.shows()
    }

    fn display(&self, shown: &Shown, place: DisplayTarget<'_>) {
        if !self.shows_forms() {
            return self.print(&shown.text);
        }
        let (name, is_instead) = match place {
            DisplayTarget::Below => (None, false),
            DisplayTarget::Named(name) => (Some(name.into()), false),
            DisplayTarget::Instead(name) => (Some(name.into()), true),
        };
        drop(self.outlet.send(Event::Shown(shown.clone(), Place { name, is_instead })));
    }

    fn clear_output(&self, wait: bool) {
        if self.shows_forms() {
            drop(self.outlet.send(Event::Cleared { wait }));
        }
    }

    fn log_sink(&self) -> LogSink {
        Arc::new(|text| write_at_once("stderr", text))
    }

    fn progress_sink(&self) -> LogSink {
        let outlet = self.outlet.clone();
        Arc::new(move |line| outlet.show_progress(line))
    }

    fn read_file(&self, path: &str, room: folders::Room<'_>) -> io::Result<Vec<u8>> {
        folders::read(path, room, |_| {})
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        folders::replace(path, contents)
    }

    fn append_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        folders::append(path, contents)
    }

    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        folders::list(path)
    }

    fn folder(&self) -> io::Result<String> {
        folders::working()
    }

    fn read_module(&self, importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
        folders::read_module(&folders::search_path(PathBuf::from(".")), importer, name)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn clock(&self) -> Duration {
        self.start.elapsed()
    }

    fn arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }
}

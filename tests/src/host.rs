//! A world of its own for each test: output and files in memory, fixed arguments, a counting clock.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use porcini_core::log::LogSink;
use porcini_script::Host;
use porcini_script::folders::Room;

/// One line that a script showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it went.
    pub stream: Stream,
    /// The line.
    pub text: String,
}

/// Where a line went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// `print`, or the value of a cell.
    Out,
    /// The log.
    Log,
    /// The diagnostic of a cell that failed.
    Error,
}

/// A host without a system behind it.
#[derive(Default)]
pub struct TestHost {
    lines: Arc<Mutex<Vec<Shown>>>,
    files: RefCell<HashMap<String, Vec<u8>>>,
    ticks: Cell<u64>,
    arguments: Vec<String>,
    modules: PathBuf,
}

impl TestHost {
    /// A host whose scripts find `arguments` in ARGS and modules in the folder `modules`.
    pub fn new(arguments: Vec<String>, modules: PathBuf) -> Self {
        Self { arguments, modules, ..Self::default() }
    }

    /// Puts a file where scripts find it.
    pub fn put(&self, path: &str, contents: Vec<u8>) {
        self.files.borrow_mut().insert(path.into(), contents);
    }

    /// The contents of a file.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.files.borrow().get(path).cloned()
    }

    /// The lines shown since the last call.
    pub fn take(&self) -> Vec<Shown> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn add(lines: &Mutex<Vec<Shown>>, stream: Stream, text: &str) {
    let shown = text.split('\n').map(|line| Shown { stream, text: line.into() });
    lines.lock().unwrap_or_else(PoisonError::into_inner).extend(shown);
}

impl Host for TestHost {
    fn rank_program(&self) -> Vec<OsString> {
        crate::ranks::program()
    }

    fn print(&self, text: &str) {
        add(&self.lines, Stream::Out, text);
    }

    /// Every question has the same answer.
    fn input(&self, _: &str, _: bool) -> io::Result<String> {
        Ok("42".into())
    }

    fn log_sink(&self) -> LogSink {
        let lines = self.lines.clone();
        Arc::new(move |text| add(&lines, Stream::Log, text))
    }

    fn read_file(&self, path: &str, room: Room<'_>) -> io::Result<Vec<u8>> {
        let bytes = self.files.borrow().get(path).cloned();
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        room(bytes.len() as u64).map(|()| bytes)
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        self.files.borrow_mut().insert(path.into(), contents.into());
        Ok(())
    }

    fn append_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        self.files.borrow_mut().entry(path.into()).or_default().extend(contents);
        Ok(())
    }

    /// Without files there is no folder either.
    fn list_folder(&self, _: &str) -> io::Result<Vec<String>> {
        let files = self.files.borrow();
        if files.is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(files.keys().cloned().collect())
    }

    fn read_module(&self, _: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "outside the modules"));
        }
        let path = self.modules.join(format!("{name}.rhai"));
        let text = std::fs::read_to_string(&path)
            .map_err(|_| io::Error::new(io::ErrorKind::NotFound, "no such module"))?;
        Ok((PathBuf::from(name), text))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    /// Not that nobody can foretell it.
    fn entropy(&self) -> io::Result<u64> {
        Ok(0x0123_4567_89ab_cdef)
    }

    fn clock(&self) -> Duration {
        self.ticks.set(self.ticks.get() + 1);
        Duration::from_millis(self.ticks.get())
    }

    fn arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }
}

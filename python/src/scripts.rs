//! Scripts in Rhai, run from Python: they share the session, and so arrays, with it.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use porcini_core::log::LogSink;
use porcini_core::{Session, interrupt};
use porcini_script::{Exchanged, Host, Interpreter, Options, folders, start_engine_thread};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::convert::{Given, is_sequence, number, python_number};
use crate::home;
use crate::interrupt::blocking;
use crate::object::{self, PyValue};
use crate::recursion::Level;

type Object<'py> = Bound<'py, PyAny>;

/// The world of a Python process as scripts see it.
struct PythonHost {
    start: Instant,
    arguments: Vec<String>,
}

fn write(stream: &str, text: &str) {
    Python::attach(|py| {
        let stream = py.import("sys").and_then(|sys| sys.getattr(stream));
        let written =
            stream.and_then(|stream| stream.call_method1("write", (format!("{text}\n"),)));
        if let Err(error) = written {
            error.write_unraisable(py, None);
        }
    });
}

impl Host for PythonHost {
    fn print(&self, text: &str) {
        write("stdout", text);
    }

    fn log_sink(&self) -> LogSink {
        Arc::new(|text| write("stderr", text))
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

/// What is done where the interpreter lives.
type Job = Box<dyn FnOnce(&mut Interpreter) + Send>;

/// An interpreter on a thread of its own, whose stack is large. Functions and variables stay from text to text.
#[pyclass(module = "porcini", frozen)]
struct Scripts {
    jobs: Mutex<Sender<Job>>,
}

/// What a text made: its variables, and its value.
type Made = (Vec<(String, Exchanged)>, Option<Exchanged>);

#[pymethods]
impl Scripts {
    #[new]
    #[pyo3(signature = (arguments=Vec::new()))]
    fn new(py: Python<'_>, arguments: Vec<String>) -> PyResult<Self> {
        let session: Session = home::session(py)?.clone();
        let (jobs, taken) = channel::<Job>();
        let (started, starts) = channel();
        let thread = start_engine_thread(move || {
            let host = Rc::new(PythonHost { start: Instant::now(), arguments });
            let options = Options { session: Some(session), ..Options::default() };
            match Interpreter::new(host, &options) {
                Ok(mut interpreter) => {
                    drop(started.send(Ok(())));
                    taken.into_iter().for_each(|job| job(&mut interpreter));
                }
                Err(error) => drop(started.send(Err(error.to_string()))),
            }
        });
        thread.map_err(|error| PyRuntimeError::new_err(format!("scripts: {error}")))?;
        let started = py.detach(move || starts.recv());
        match started {
            Ok(Ok(())) => Ok(Self { jobs: Mutex::new(jobs) }),
            Ok(Err(error)) => Err(PyRuntimeError::new_err(error)),
            Err(_) => Err(PyRuntimeError::new_err("scripts: the interpreter did not start")),
        }
    }

    /// Runs a text; its variables and the value of its last expression. `given` are variables that it has from the start;
    /// `name` is what errors call it.
    fn run<'py>(
        &self,
        py: Python<'py>,
        text: String,
        name: String,
        given: &Bound<'py, PyDict>,
    ) -> PyResult<(Bound<'py, PyDict>, Object<'py>)> {
        let mut variables = Vec::new();
        for (key, object) in given.iter() {
            if let Some(value) = exchanged(&object)? {
                variables.push((key.to_string(), value));
            }
        }
        let (reply, replies) = channel::<Result<Made, String>>();
        let job: Job = Box::new(move |interpreter| {
            for (name, value) in variables {
                interpreter.set(&name, value);
            }
            let made = match interpreter.execute(&text, &name) {
                Ok(outcome) => {
                    let last = outcome.text.and_then(|_| interpreter.last());
                    Ok((interpreter.values(), last))
                }
                Err(error) => Err(error.report("error", None, false)),
            };
            drop(reply.send(made));
        });
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let made = blocking(py, move || {
            let sent = jobs.send(job).map_err(|_| ());
            Ok(sent.and_then(|()| replies.recv().map_err(|_| ())))
        });
        let (variables, last) = match made? {
            Ok(Ok(made)) => made,
            Ok(Err(report)) => {
                // Who stopped it knows.
                if report.contains("interrupted") && interrupt::is_requested() {
                    return Err(PyKeyboardInterrupt::new_err(()));
                }
                return Err(PyRuntimeError::new_err(report));
            }
            Err(()) => return Err(PyRuntimeError::new_err("scripts: the interpreter has ended")),
        };
        let found = PyDict::new(py);
        for (name, value) in variables {
            found.set_item(name, object(py, value)?)?;
        }
        let last = last.map_or_else(|| Ok(py.None().into_bound(py)), |last| object(py, last))?;
        Ok((found, last))
    }
}

/// What a Python object is to scripts; None of what they do not know.
fn exchanged(object: &Object<'_>) -> PyResult<Option<Exchanged>> {
    if let Ok(value) = object.cast::<PyValue>() {
        return Ok(Some(Exchanged::Value(value.get().value().clone())));
    }
    if object.is_none() {
        return Ok(Some(Exchanged::Nothing));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(Exchanged::Text(text.to_string())));
    }
    if let Ok(Some(number)) = number(object) {
        return Ok(Some(Exchanged::Number(number)));
    }
    let _level = Level::enter(object.py())?;
    if is_sequence(object) {
        let items = object.try_iter()?.map(|item| exchanged(&item?));
        return Ok(items.collect::<PyResult<Option<Vec<_>>>>()?.map(Exchanged::List));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let entry = |(key, item): (Object<'_>, Object<'_>)| {
            Ok(exchanged(&item)?.map(|item| (key.to_string(), item)))
        };
        return Ok(dict
            .iter()
            .map(entry)
            .collect::<PyResult<Option<Vec<_>>>>()?
            .map(Exchanged::Map));
    }
    if object.hasattr("__array_interface__")? {
        let session = home::session(object.py())?;
        if let Some(crate::given::Given::Value(value)) = Given::of(session, object)? {
            return Ok(Some(Exchanged::Value(value)));
        }
    }
    Ok(None)
}

fn object(py: Python<'_>, value: Exchanged) -> PyResult<Object<'_>> {
    Ok(match value {
        Exchanged::Nothing => py.None().into_bound(py),
        Exchanged::Number(number) => python_number(py, number),
        Exchanged::Text(text) => PyString::new(py, &text).into_any(),
        Exchanged::Value(value) => object::of(py, value)?,
        Exchanged::List(items) => {
            let items = items.into_iter().map(|item| object(py, item));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Exchanged::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(key, object(py, item)?)?;
            }
            dict.into_any()
        }
    })
}

/// The words of a text that may be names of variables.
#[pyfunction]
fn _words(text: &str) -> HashSet<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scripts>()?;
    module.add_function(wrap_pyfunction!(_words, module)?)
}

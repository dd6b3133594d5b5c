//! Scripts in Rhai, run from Python: they share the session, and so arrays, with it.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use porcini_core::{Session, interrupt};
use porcini_script::{Cell, Error, Exchanged, Interpreter, Options, start_engine_thread};
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::got;
use crate::exchanged::{Made, Picture, exchanged, is_same};
use crate::home;
use crate::interrupt::blocking_once;
use crate::script_host::{self, Followers, Following, Outlet, PythonHost, follow};
use crate::work;

type Object<'py> = Bound<'py, PyAny>;

/// What is done where the interpreter lives.
type Job = Box<dyn FnOnce(&mut Interpreter) + Send>;

/// An interpreter on a thread of its own, whose stack is large. Functions and variables stay from text to text.
#[pyclass(module = "porcini", frozen)]
struct Scripts {
    jobs: Mutex<Sender<Job>>,
    outlet: Outlet,
    followers: Followers,
}

/// The variables that a text has from the start.
#[derive(Default)]
struct Variables {
    given: Vec<(String, Exchanged)>,
    /// Those that scripts cannot have, and why.
    refused: Vec<(String, String)>,
}

/// What a text made: its variables, and its value.
type Results = (Vec<(String, Made)>, Option<Made>);

/// A name that could stand at the cursor, and what it is.
type Candidate = (String, String);

#[pymethods]
impl Scripts {
    #[new]
    #[pyo3(signature = (arguments=Vec::new()))]
    fn new(py: Python<'_>, arguments: Vec<String>) -> PyResult<Self> {
        let session: Session = home::session(py)?.clone();
        let (jobs, taken) = channel::<Job>();
        let (started, starts) = channel();
        let outlet = Outlet::default();
        let of_host = outlet.clone();
        let thread = start_engine_thread(move || {
            let host = Rc::new(PythonHost::new(arguments, of_host));
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
        let under_way = work::begin(py)?;
        let started = py.detach(move || starts.recv());
        drop(under_way);
        match started {
            Ok(Ok(())) => {
                Ok(Self { jobs: Mutex::new(jobs), outlet, followers: Followers::default() })
            }
            Ok(Err(error)) => Err(PyRuntimeError::new_err(error)),
            Err(_) => Err(PyRuntimeError::new_err("scripts: the interpreter did not start")),
        }
    }

    /// Runs a text; its variables, but for those that are as they were given, and the value of its last expression. `given`
    /// are variables that it has from the start; `name` is what errors call it; `display` shows pictures.
    #[pyo3(signature = (text, name, given, display=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        text: String,
        name: String,
        given: &Bound<'py, PyDict>,
        display: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyDict>, Object<'py>)> {
        let variables = Variables::of(given)?;
        let following = self.follow()?;
        let (output, events) = script_host::events();
        let (reply, replies) = channel();
        let (outlet, shows) = (self.outlet.clone(), display.is_some());
        let jobs = self.sender();
        let job: Job = Box::new(move |interpreter| {
            let run = outlet.open(output, shows);
            drop(reply.send(results(interpreter, &text, &name, variables)));
            drop(run);
        });
        py.check_signals()?;
        let under_way = work::begin(py)?;
        let (made, stopped) = py.detach(move || {
            let sent = jobs.send(job).is_ok();
            let stopped = follow(&events, display.as_ref());
            (replies.recv().ok().filter(|_| sent), stopped)
        });
        drop((under_way, following));
        if let Some(stopped) = stopped {
            return stopped.answered();
        }
        let (variables, last) = made.ok_or_else(ended)?.map_err(failure)?;
        let found = PyDict::new(py);
        for (name, made) in variables {
            found.set_item(name, made.object(py)?)?;
        }
        let last = last.map_or_else(|| Ok(py.None().into_bound(py)), |last| last.object(py))?;
        Ok((found, last))
    }

    /// Names that could stand before a character of a text: where they begin, and each with what it is.
    fn complete(
        &self,
        py: Python<'_>,
        text: String,
        cursor: usize,
    ) -> PyResult<(usize, Vec<Candidate>)> {
        let (reply, replies) = channel();
        let job: Job = Box::new(move |interpreter| {
            let byte = text.char_indices().nth(cursor).map_or(text.len(), |(byte, _)| byte);
            let found = interpreter.complete(&Cell::typed(&text), byte);
            let start = text[..found.start].chars().count();
            let candidates = found.candidates.into_iter();
            let candidates =
                candidates.map(|found| (found.name, format!("{:?}", found.kind).to_lowercase()));
            drop(reply.send((start, candidates.collect())));
        });
        let (jobs, _following) = (self.sender(), self.follow()?);
        let found = blocking_once(py, move || {
            drop(jobs.send(job));
            Ok(replies.recv().ok())
        });
        found?.ok_or_else(ended)
    }
}

impl Scripts {
    /// Notes that this thread waits for the interpreter.
    fn follow(&self) -> PyResult<Following> {
        let what = "scripts: one runs already, for which this writes; run it behind that";
        self.followers.join().ok_or_else(|| PyRuntimeError::new_err(what))
    }

    fn sender(&self) -> Sender<Job> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("scripts: the interpreter has ended")
}

fn failure(report: String) -> PyErr {
    // Who stopped it knows.
    if report.contains("interrupted") && interrupt::is_requested() {
        return PyKeyboardInterrupt::new_err(());
    }
    PyRuntimeError::new_err(report)
}

impl Variables {
    fn of(objects: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut variables = Self::default();
        for (name, object) in objects.iter() {
            let name = name.to_string();
            match exchanged(&object) {
                Ok(Some(value)) => variables.given.push((name, value)),
                // The interpreter still has what it is a picture of.
                Ok(None) if object.is_instance_of::<Picture>() => {}
                Ok(None) => {
                    let why =
                        format!("`{name}` is a Python {}, which scripts have not", got(&object));
                    variables.refused.push((name, why));
                }
                Err(error) if error.is_instance_of::<PyException>(object.py()) => {
                    let why = format!("`{name}`: {}", error.value(object.py()));
                    variables.refused.push((name, why));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(variables)
    }

    /// The report of an error, which may be that a variable was refused.
    fn report(&self, mut error: Error) -> String {
        let is_it = |name: &str| {
            error.message.starts_with(&format!("no function `{name}`"))
                || ["is not defined", "is no variable"]
                    .iter()
                    .any(|what| error.message.starts_with(&format!("`{name}` {what}")))
        };
        if let Some((_, why)) = self.refused.iter().find(|(name, _)| is_it(name)) {
            error.message.clone_from(why);
            let known = "scripts are given arrays, numbers, texts, lists and dicts of them";
            error.hints = vec![known.into()];
        }
        error.report("error", None, false)
    }
}

/// Runs a text with variables; what it made, or the report of its error.
fn results(
    interpreter: &mut Interpreter,
    text: &str,
    name: &str,
    variables: Variables,
) -> Result<Results, String> {
    for (name, value) in &variables.given {
        interpreter.set(name, value.clone());
    }
    // What was given under that name before is no longer what the name means.
    variables.refused.iter().for_each(|(name, _)| interpreter.forget(name));
    let outcome = interpreter.execute(text, name).map_err(|error| variables.report(*error))?;
    let is_new = |(name, value): &(String, Exchanged)| {
        let before = variables.given.iter().find(|(given, _)| given == name);
        before.is_none_or(|(_, before)| !is_same(before, value))
    };
    let values = interpreter.values().into_iter().filter(is_new);
    let mut made: Vec<_> = values.map(|(name, value)| (name, Made::Value(value))).collect();
    let pictures = interpreter.pictures(&words(text));
    made.extend(pictures.into_iter().map(|(name, shown)| (name, Made::Picture(shown))));
    let last = outcome.text.and_then(|text| {
        let picture =
            || Made::Picture(porcini_script::Shown { text, forms: outcome.forms.clone() });
        let value = interpreter.last().map(Made::Value);
        value.or_else(|| (!outcome.forms.is_empty()).then(picture))
    });
    Ok((made, last))
}

/// The words of a text that may be names of variables.
fn words(text: &str) -> HashSet<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect()
}

#[pyfunction]
fn _words(text: &str) -> HashSet<&str> {
    words(text)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scripts>()?;
    module.add_function(wrap_pyfunction!(_words, module)?)
}

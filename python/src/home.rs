//! What the module keeps: its session, which starts when it is first needed.

use std::str::FromStr;
use std::sync::Arc;

use porcini_core::device::Toolkit;
use porcini_core::log::LogSink;
use porcini_core::{DeviceChoice, Session};
use porcini_script::{Options, environment_variable, folders, parse_bytes};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors::OrRaise;
use crate::work;

/// A Python module is one of its process, and so is its session.
static SESSION: PyOnceLock<Session> = PyOnceLock::new();

/// The module's session.
pub(crate) fn session(py: Python<'_>) -> PyResult<&'static Session> {
    SESSION.get_or_try_init(py, || start(py, Options::default(), None))
}

/// The module's session, if it has started.
pub(crate) fn started(py: Python<'_>) -> Option<&'static Session> {
    SESSION.get(py)
}

fn start(py: Python<'_>, mut options: Options, log_level: Option<u8>) -> PyResult<Session> {
    let is_given = options.memory_limit.is_some();
    for warning in options.read_environment(environment_variable) {
        say(&format!("porcini: {warning}"));
    }
    let mut builder = Session::builder().device(options.device);
    if let Some(threads) = options.threads {
        builder = builder.threads(threads);
    }
    if let Some(bytes) = options.memory_limit {
        let name = if is_given { "memory_limit" } else { "PORCINI_MEMORY_LIMIT" };
        builder = builder.memory_limit_by(bytes, name);
    }
    // NVIDIA's programs and libraries are packages of this Python, where it is not activated too.
    let prefix: String = py.import("sys")?.getattr("prefix")?.extract()?;
    let variable = |name: &str| {
        let prefix = || (name == "VIRTUAL_ENV").then(|| prefix.clone());
        std::env::var(name).ok().or_else(prefix)
    };
    builder = builder.toolkit(Toolkit::new(variable));
    if let Some(folder) = folders::of_kernels(variable) {
        builder = builder.cache_folder(folder);
    }
    let sink: LogSink = Arc::new(|line: &str| say(line));
    builder = builder.log(log_level.unwrap_or_default(), sink.clone()).warnings(sink);
    let _under_way = work::begin(py)?;
    py.detach(|| builder.build()).or_raise()
}

/// Writes a line to where Python's errors go: a terminal, a notebook's cell.
fn say(line: &str) {
    Python::attach(|py| {
        let written = py
            .import("sys")
            .and_then(|sys| sys.getattr("stderr"))
            .and_then(|stderr| stderr.call_method1("write", (format!("{line}\n"),)));
        if let Err(error) = written {
            error.write_unraisable(py, None);
        }
    });
}

/// Chooses the device and its bounds. Only before anything was computed; without it the best device that answers is
/// taken, with all processors.
///
/// device: "auto", "cpu", "cpu:4" (four parts), "cuda", "cuda:1" or "cuda:*" (all GPUs); memory_limit: bytes, or a text such as "4G".
#[pyfunction]
#[pyo3(signature = (device=None, threads=None, memory_limit=None, log_level=None))]
fn init(
    py: Python<'_>,
    device: Option<&str>,
    threads: Option<usize>,
    memory_limit: Option<&Bound<'_, PyAny>>,
    log_level: Option<u8>,
) -> PyResult<()> {
    let mut options = Options { threads, ..Options::default() };
    if let Some(device) = device {
        options.device = DeviceChoice::from_str(device).or_raise()?;
    }
    if let Some(limit) = memory_limit {
        let bytes = match limit.extract::<u64>() {
            Ok(bytes) => Some(bytes),
            Err(_) => parse_bytes(&limit.extract::<String>()?),
        };
        let none = || PyValueError::new_err("init: expected bytes, or a text such as \"4G\"");
        options.memory_limit = Some(bytes.ok_or_else(none)?);
    }
    let session = start(py, options, log_level)?;
    SESSION.set(py, session).map_err(|_| {
        PyRuntimeError::new_err(
            "init: the session has started; call init before anything else, or move arrays: x.to(\"cuda\")",
        )
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(init, module)?)
}

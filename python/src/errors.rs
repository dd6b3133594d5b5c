//! Core's errors as Python's exceptions, with the same words.

use porcini_core::Error;
use pyo3::exceptions::{
    PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;

use crate::names::as_python;

/// What core returns, for Python.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception that an error is.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for porcini_core::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raised(&error))
    }
}

/// The exception that an error is.
pub(crate) fn raised(error: &Error) -> PyErr {
    let text = as_python(&error.to_string()).into_owned();
    match error {
        Error::TypeMismatch { .. }
        | Error::Conversion { .. }
        | Error::UnsupportedType { .. }
        | Error::NumberType { .. } => PyTypeError::new_err(text),
        Error::NumberRange { .. } => PyOverflowError::new_err(text),
        Error::IndexOutOfRange { .. } | Error::Bounds { .. } => PyIndexError::new_err(text),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::SizeMismatch { .. }
        | Error::EmptyReduction { .. }
        | Error::Forms { .. }
        | Error::Argument { .. }
        | Error::UnknownFlag { .. }
        | Error::NoDevice { .. }
        | Error::Kernel { .. }
        | Error::KernelArgument { .. } => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// A value that is not what a function takes.
pub(crate) fn wrong_type(what: impl Into<String>) -> PyErr {
    PyTypeError::new_err(what.into())
}

/// How an error calls an object: its type, numbers and short texts as they are.
pub(crate) fn got(object: &Bound<'_, PyAny>) -> String {
    // Not of arrays: it computes them, and there are none while a function is recorded.
    if is_plain(object)
        && let Ok(text) = object.repr()
        && text.len().is_ok_and(|n| n <= 40)
    {
        return text.to_string();
    }
    object.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string())
}

fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
    object.is_none()
        || object.is_instance_of::<PyBool>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyString>()
}

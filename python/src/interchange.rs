//! Arrays of other libraries, in whichever way they offer them.

use porcini_core::Session;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyType};

use crate::given::Given;
use crate::memory::Taking;
use crate::object::PyValue;
use crate::{arrow, buffers, dlpack, memory};

/// What an object with a buffer, DLPack, NumPy's methods or Arrow's is; `None` of other objects.
///
/// What is shared is not copied where its memory is the session's: the host's, or that of a GPU where arrays are.
pub(crate) fn taken(
    session: &Session,
    object: &Bound<'_, PyAny>,
    taking: Taking,
) -> PyResult<Option<Given>> {
    let py = object.py();
    memory::let_go();
    // Arrays on a GPU may say that they have a buffer.
    if buffers::has_one(object) && !object.hasattr(intern!(py, "__cuda_array_interface__"))? {
        return buffers::taken(session, object, taking).map(Some);
    }
    if object.hasattr(intern!(py, "__dlpack__"))? {
        return match dlpack::taken(session, object, taking)? {
            None => from_elsewhere(session, object).map(Some),
            taken => Ok(taken),
        };
    }
    if object.hasattr(intern!(py, "__array__"))? {
        return as_numpy(session, object, taking).map(Some);
    }
    // Arrow's columns are never written.
    arrow::taken(session, object)
}

/// What lies in a memory that we do not read, by way of the host: PyTorch calls that cpu, CuPy get.
fn from_elsewhere(session: &Session, object: &Bound<'_, PyAny>) -> PyResult<Given> {
    for copy in ["cpu", "get"] {
        if object.hasattr(copy)? {
            let copy = object.call_method0(copy)?;
            let none = || PyTypeError::new_err("got an object whose copy on the host is no array");
            return taken(session, &copy, Taking::Shared)?.ok_or_else(none);
        }
    }
    as_numpy(session, object, Taking::Now)
}

fn as_numpy(session: &Session, object: &Bound<'_, PyAny>, taking: Taking) -> PyResult<Given> {
    let py = object.py();
    let array = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (object,))?;
    buffers::taken(session, &array, taking)
}

/// Whether an object is an array of another library.
pub(crate) fn is_foreign(object: &Bound<'_, PyAny>) -> bool {
    !object.is_instance_of::<PyValue>() && has_one(object, &["__array_interface__", "__dlpack__"])
}

/// Whether an object offers contents in one of the ways of [`taken`]: a table of pandas has NumPy's method alone.
pub(crate) fn offers_contents(object: &Bound<'_, PyAny>) -> bool {
    let ways = ["__dlpack__", "__array__", "__arrow_c_array__", "__arrow_c_stream__"];
    buffers::has_one(object) || has_one(object, &ways)
}

/// Whether an object has one of some members. A class has what its objects have, of which it is none; modules may make what
/// they are asked for.
fn has_one(object: &Bound<'_, PyAny>, names: &[&str]) -> bool {
    let has = |name: &&str| object.hasattr(*name).unwrap_or_default();
    !object.is_instance_of::<PyType>()
        && !object.is_instance_of::<PyModule>()
        && !object.is_instance_of::<PyFunction>()
        && names.iter().any(has)
}

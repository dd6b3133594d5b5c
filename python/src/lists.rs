//! Values as Python's lists and NumPy's arrays.

use porcini_core::value::Form;
use porcini_core::{DType, Value};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyList, PyMemoryView};

use crate::convert::python_number;
use crate::errors::OrRaise;
use crate::interrupt::blocking;
use crate::memory::entries;
use crate::object::PyValue;

type Object<'py> = Bound<'py, PyAny>;

pub(crate) fn to_numpy<'py>(
    value: &Bound<'py, PyValue>,
    dtype: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let py = value.py();
    let view = PyMemoryView::from(value.as_any())?;
    let array = py.import("numpy")?.call_method1("asarray", (view,))?;
    match dtype {
        Some(dtype) if !dtype.is_none() => array.call_method1("astype", (dtype,)),
        _ => Ok(array),
    }
}

pub(crate) fn lists<'py>(value: &Bound<'py, PyValue>) -> PyResult<Object<'py>> {
    let py = value.py();
    let held = value.get().value().clone();
    let (parts, shape) = entries(&held).or_raise()?;
    let read = blocking(py, || {
        parts.iter().map(|part| part.read(0..part.size())).collect::<porcini_core::Result<Vec<_>>>()
    })?;
    let entry = |i: usize| match &read[..] {
        [re, im] => PyComplex::from_doubles(py, re[i].to_f64(), im[i].to_f64()).into_any(),
        parts => python_number(py, parts[0][i]),
    };
    let mut place = 0;
    nest(py, &shape, &mut || {
        place += 1;
        entry(place - 1)
    })
}

fn nest<'py>(
    py: Python<'py>,
    shape: &[u64],
    next: &mut dyn FnMut() -> Object<'py>,
) -> PyResult<Object<'py>> {
    let [n, rest @ ..] = shape else { return Ok(next()) };
    let items = (0..*n).map(|_| nest(py, rest, next)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, items)?.into_any())
}

/// The lane type as NumPy calls it.
pub(crate) fn numpy_name(value: &Value) -> &'static str {
    let is_complex = match value {
        Value::Tensor(tensor) => tensor.is_complex(),
        value => value.form() == Form::Complex,
    };
    match (value.dtype(), is_complex) {
        (DType::F64, true) => "complex128",
        (_, true) => "complex64",
        (dtype, false) => dtype.numpy_name(),
    }
}

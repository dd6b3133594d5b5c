//! Values of scripts as Python objects, and objects as what scripts are given.

use porcini_core::value::Form;
use porcini_core::{DType, Value};
use porcini_script::{Exchanged, Shown};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::convert::{Given, is_sequence, number, python_number};
use crate::errors::OrRaise;
use crate::home;
use crate::object::{self, PyValue};
use crate::recursion::Level;

type Object<'py> = Bound<'py, PyAny>;

/// What a script made: a value, or what it is shown as where it exists in scripts alone: a picture.
pub(crate) enum Made {
    Value(Exchanged),
    Picture(Shown),
}

impl Made {
    pub(crate) fn object(self, py: Python<'_>) -> PyResult<Object<'_>> {
        match self {
            Self::Value(value) => object(py, value),
            Self::Picture(shown) => Ok(Bound::new(py, Picture(shown))?.into_any()),
        }
    }
}

/// A picture of a script, which notebooks draw.
#[pyclass(module = "porcini", name = "_Picture", frozen)]
pub(crate) struct Picture(Shown);

#[pymethods]
impl Picture {
    fn __repr__(&self) -> &str {
        &self.0.text
    }

    /// What IPython shows.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        &self,
        py: Python<'py>,
        include: Option<Object<'py>>,
        exclude: Option<Object<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        // Who asks leaves out what it does not want.
        drop((include, exclude));
        mime_bundle(py, &self.0)
    }
}

/// All forms of what is shown, by MIME type.
pub(crate) fn mime_bundle<'py>(py: Python<'py>, shown: &Shown) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item("text/plain", &shown.text)?;
    for (mime, content) in &shown.forms {
        data.set_item(mime, content)?;
    }
    Ok(data)
}

/// What a Python object is to scripts; None of what they do not know.
pub(crate) fn exchanged(object: &Object<'_>) -> PyResult<Option<Exchanged>> {
    if let Ok(value) = object.cast::<PyValue>() {
        return Ok(Some(Exchanged::Value(value.get().value().clone())));
    }
    if object.is_none() {
        return Ok(Some(Exchanged::Nothing));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(Exchanged::Text(text.to_string())));
    }
    if let Some(number) = number(object)? {
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
    of_others(object)
}

/// What arrays and numbers of other libraries are to scripts, and complex numbers.
fn of_others(object: &Object<'_>) -> PyResult<Option<Exchanged>> {
    let session = home::session(object.py())?;
    Ok(match Given::of(session, object)? {
        Some(Given::Value(value)) => Some(Exchanged::Value(value)),
        Some(Given::Number(number)) => Some(Exchanged::Number(number)),
        Some(Given::Complex(re, im)) => {
            let part = |part: f64| session.full(DType::F64, part, 1).map(Value::Array);
            let parts = vec![part(re).or_raise()?, part(im).or_raise()?];
            Some(Exchanged::Value(Value::of_entries(Form::Complex, parts).or_raise()?))
        }
        Some(Given::Numbers(_)) | None => None,
    })
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

/// Whether a script left a variable as it was given.
pub(crate) fn is_same(given: &Exchanged, now: &Exchanged) -> bool {
    match (given, now) {
        (Exchanged::Nothing, Exchanged::Nothing) => true,
        (Exchanged::Number(a), Exchanged::Number(b)) => a == b,
        (Exchanged::Text(a), Exchanged::Text(b)) => a == b,
        (Exchanged::Value(a), Exchanged::Value(b)) => is_same_value(a, b),
        (Exchanged::List(a), Exchanged::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Exchanged::Map(a), Exchanged::Map(b)) => {
            // Maps of scripts are in the order of their keys.
            let item = |name: &String| b.iter().find(|(known, _)| known == name);
            let has =
                |(name, a): &(String, Exchanged)| item(name).is_some_and(|b| is_same(a, &b.1));
            a.len() == b.len() && a.iter().all(has)
        }
        _ => false,
    }
}

/// Whether values are the same variables in the same form.
fn is_same_value(a: &Value, b: &Value) -> bool {
    let serials = |value: &Value| -> Vec<_> {
        value.leaves().into_iter().map(porcini_core::Array::serial).collect()
    };
    let layout = |value: &Value| match value {
        Value::Tensor(tensor) => Some(tensor.layout()),
        Value::Array(_) | Value::Nested(..) => None,
    };
    a.form() == b.form() && layout(a) == layout(b) && serials(a) == serials(b)
}

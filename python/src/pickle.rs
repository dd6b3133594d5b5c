//! Values as bytes, for pickles: lanes as they lie in memory, and what is around them.

use porcini_core::tensor::Tensor;
use porcini_core::value::Form;
use porcini_core::{Array, DType, Session, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};

use crate::errors::OrRaise;
use crate::home;
use crate::interrupt::evaluating;
use crate::object::{self, PyValue};
use crate::recursion::Level;
use crate::types;

type Object<'py> = Bound<'py, PyAny>;

/// What makes the value again.
pub(crate) fn reduced<'py>(value: &Bound<'py, PyValue>) -> PyResult<Object<'py>> {
    let py = value.py();
    let held = value.get().value().clone();
    object::check_read("pickle", &held)?;
    let state = state(py, &held)?;
    let restore = py.import("porcini._porcini")?.getattr("_restored")?;
    let class = value.get_type();
    if !types::is_of_user(&class)? {
        let args = match held.is_tracked() {
            true => (state, py.None(), true).into_pyobject(py)?,
            false => (state,).into_pyobject(py)?,
        };
        return Ok(PyTuple::new(py, [restore, args.into_any()])?.into_any());
    }
    let args = (state, class, held.is_tracked()).into_pyobject(py)?.into_any();
    Ok(PyTuple::new(py, [restore, args, value.call_method0("__getstate__")?])?.into_any())
}

/// A copy of a value as one of the value's class, which may be one of a user: with its attributes, which are copied, too,
/// where a memo says what was.
pub(crate) fn copied<'py>(
    value: &Bound<'py, PyValue>,
    copy: Object<'py>,
    memo: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let (py, class) = (value.py(), value.get_type());
    if class.is(copy.get_type()) {
        return Ok(copy);
    }
    let held = copy.cast::<PyValue>()?.get().value().clone();
    let copy = object::made(&class, held)?;
    let mut attributes = value.call_method0("__getstate__")?;
    if let Some(memo) = memo {
        memo.set_item(value.as_ptr().addr(), &copy)?;
        attributes = py.import("copy")?.call_method1("deepcopy", (attributes, memo))?;
    }
    if class.getattr_opt("__setstate__")?.is_some() && !attributes.is_none() {
        copy.call_method1("__setstate__", (attributes,))?;
        return Ok(copy.into_any());
    }
    // Attributes in a dictionary, or in a pair of that and another one of those in slots.
    let all = match attributes.cast::<PyTuple>() {
        Ok(pair) => pair.iter().collect(),
        Err(_) => vec![attributes],
    };
    for attributes in all.iter().filter_map(|each| each.cast::<PyDict>().ok()) {
        for (name, attribute) in attributes.iter() {
            object::set_attribute(&copy, name.extract()?, Some(&attribute))?;
        }
    }
    Ok(copy.into_any())
}

fn state<'py>(py: Python<'py>, value: &Value) -> PyResult<Object<'py>> {
    let lanes = |array: &Array| -> PyResult<(&'static str, Bound<'py, PyBytes>)> {
        let bytes = evaluating(py, || array.read_bytes(0..array.size()))?;
        Ok((array.dtype().numpy_name(), PyBytes::new(py, &bytes)))
    };
    Ok(match value {
        Value::Array(array) => ("array", lanes(array)?).into_pyobject(py)?.into_any(),
        Value::Nested(form, components) => {
            let parts = components.iter().map(|part| state(py, part));
            (form.word(), parts.collect::<PyResult<Vec<_>>>()?).into_pyobject(py)?.into_any()
        }
        Value::Tensor(tensor) => {
            let parts = tensor.entries().or_raise()?;
            let parts = parts.iter().map(lanes).collect::<PyResult<Vec<_>>>()?;
            ("tensor", tensor.shape().extents().to_vec(), parts).into_pyobject(py)?.into_any()
        }
    })
}

fn value_of(session: &Session, state: &Object<'_>) -> PyResult<Value> {
    let lanes = |object: &Object<'_>| -> PyResult<Array> {
        let (name, bytes) = object.extract::<(String, Vec<u8>)>()?;
        let dtype = DType::ALL.into_iter().find(|dtype| dtype.numpy_name() == name);
        let dtype = dtype.ok_or_else(|| PyValueError::new_err(format!("no type {name}")))?;
        session.from_bytes(dtype, &bytes).or_raise()
    };
    let _level = Level::enter(state.py())?;
    let kind: String = state.get_item(0)?.extract()?;
    let second = state.get_item(1)?;
    if kind == "array" {
        return lanes(&second).map(Value::Array);
    }
    let parts = if kind == "tensor" { state.get_item(2)? } else { second.clone() };
    let parts = parts.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    if kind == "tensor" {
        let extents: Vec<u64> = second.extract()?;
        return match &parts[..] {
            [one] => Tensor::new(&lanes(one)?, &extents),
            [re, im] => Tensor::complex(&lanes(re)?, &lanes(im)?, &extents),
            _ => return Err(PyValueError::new_err("a tensor of no parts")),
        }
        .map(Value::Tensor)
        .or_raise();
    }
    let parts = parts.iter().map(|part| value_of(session, part)).collect::<PyResult<Vec<_>>>()?;
    let forms =
        [Form::Vector(parts.len()), Form::Complex, Form::Quaternion, Form::Matrix(parts.len())];
    let form =
        forms.into_iter().find(|form| form.word() == kind && form.n_components() == parts.len());
    let form =
        form.ok_or_else(|| PyValueError::new_err(format!("no values of the form {kind}")))?;
    Value::nested(form, parts).or_raise()
}

/// The value that a pickle holds, of its own class or of one of a user; marked if it was marked or computed from what was.
#[pyfunction]
#[pyo3(signature = (state, of = None, is_marked = false))]
fn _restored<'py>(
    py: Python<'py>,
    state: &Object<'py>,
    of: Option<&Bound<'py, PyType>>,
    is_marked: bool,
) -> PyResult<Object<'py>> {
    let mut value = value_of(home::session(py)?, state)?;
    if is_marked {
        let marked = value.each_array(&mut |array| match array.dtype().is_float() {
            true => array.enable_grad(),
            false => Ok(array.clone()),
        });
        value = marked.or_raise()?;
    }
    match of {
        Some(class) => Ok(object::made(class, value)?.into_any()),
        None => object::of(py, value),
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_restored, module)?)
}

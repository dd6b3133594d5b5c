//! Kernels that users write as text, in a small typed subset of C (S27).

use std::collections::HashSet;

use porcini_core::text_kernel::{
    Captured, Over, Parts, Store, Surroundings, TextKernel, TextReduction,
};
use porcini_core::value::Argument;
use porcini_core::{Scalar, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::convert::{Given, number};
use crate::errors::{OrRaise, got, wrong_type};
use crate::home;
use crate::object::{self, PyValue};

type Object<'py> = Bound<'py, PyAny>;

/// A kernel that was written as text: it is called, lane by lane.
#[pyclass(module = "porcini", frozen, weakref)]
pub(crate) struct Kernel(TextKernel, Captures);

/// The numbers and kernels that a text uses by name.
type Captures = Py<PyDict>;

/// What a text may use by name.
struct Names(Vec<(String, Captured)>);

impl Surroundings for Names {
    fn find(&self, name: &str) -> Option<Captured> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, captured)| captured.clone())
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// The numbers, kernels and arrays among variables.
fn around(names: Option<&Bound<'_, PyDict>>) -> PyResult<Names> {
    let mut known = Vec::new();
    for (name, object) in names.into_iter().flatten() {
        let captured = if let Ok(kernel) = object.cast::<Kernel>() {
            Captured::Kernel(kernel.get().0.clone())
        } else if object.is_instance_of::<PyValue>() {
            Captured::Array
        } else {
            match number(&object) {
                Ok(Some(number)) => Captured::Number(number),
                _ => continue,
            }
        };
        known.push((name.to_string(), captured));
    }
    Ok(Names(known))
}

#[pymethods]
impl Kernel {
    #[pyo3(signature = (*args))]
    fn __call__<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> PyResult<Object<'py>> {
        let (py, kernel) = (slf.py(), &slf.get().0);
        let session = home::session(py)?;
        let given = given(kernel.name(), args)?;
        let lent = one_each(args, &given);
        let called = kernel.call(session, &lent.iter().collect::<Vec<_>>()).or_raise()?;
        write(args, called.written)?;
        several(py, called.results)
    }

    /// k.into(target, *args): writes the result to an array that is there, converted to its type; active are the lanes that
    /// take part.
    #[pyo3(signature = (target, *args, active=None))]
    fn into(
        &self,
        target: &Object<'_>,
        args: &Bound<'_, PyTuple>,
        active: Option<&Bound<'_, PyValue>>,
    ) -> PyResult<()> {
        self.store(Store::Into, target, args, active)
    }

    /// As into; what is there is added to, in its accumulation type.
    #[pyo3(signature = (target, *args, active=None))]
    fn add_to(
        &self,
        target: &Object<'_>,
        args: &Bound<'_, PyTuple>,
        active: Option<&Bound<'_, PyValue>>,
    ) -> PyResult<()> {
        self.store(Store::AddTo, target, args, active)
    }

    /// The text.
    #[getter]
    fn source(&self) -> &str {
        self.0.source()
    }

    /// The name that the text gives it.
    #[getter]
    fn __name__(&self) -> &str {
        self.0.name()
    }

    fn __repr__(&self) -> String {
        format!("<kernel {}>", self.0.signature())
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Object<'py>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// What makes it again: its text, and what that uses by name.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Object<'py>, (&str, &Captures))> {
        let restore = py.import("porcini._porcini")?.getattr("_kernel")?;
        Ok((restore, (self.0.source(), &self.1)))
    }
}

impl Kernel {
    fn store(
        &self,
        store: Store,
        target: &Object<'_>,
        args: &Bound<'_, PyTuple>,
        active: Option<&Bound<'_, PyValue>>,
    ) -> PyResult<()> {
        let py = target.py();
        let session = home::session(py)?;
        let given = given(self.0.name(), args)?;
        let lent = one_each(args, &given);
        let targets: Vec<Object<'_>> = match target.cast::<PyTuple>() {
            Ok(several) => several.iter().collect(),
            Err(_) => vec![target.clone()],
        };
        let values = targets.iter().map(|target| match target.cast::<PyValue>() {
            Ok(value) => Ok(Some(value.get().value().clone())),
            Err(_) if target.is_none() => Ok(None),
            Err(_) => Err(wrong_type(format!(
                "{}: got {} as a target, expected an array",
                self.0.name(),
                got(target)
            ))),
        });
        let values = values.collect::<PyResult<Vec<Option<Value>>>>()?;
        let places: Vec<Option<Argument<'_>>> = targets
            .iter()
            .zip(&values)
            .map(|(target, value)| match args.iter().position(|arg| arg.is(target)) {
                Some(number) => Some(lent[number].clone()),
                None => value.as_ref().map(Into::into),
            })
            .collect();
        let active = active.map(|mask| mask.get().array("active")).transpose()?;
        let (stored, called) = self
            .0
            .store(
                session,
                store,
                &places.iter().map(Option::as_ref).collect::<Vec<_>>(),
                active.as_ref(),
                &lent.iter().collect::<Vec<_>>(),
            )
            .or_raise()?;
        let open = targets.iter().filter(|target| !target.is_none());
        for (target, value) in open.zip(stored) {
            target.cast::<PyValue>()?.get().set(py, value);
        }
        write(args, called.written)
    }
}

fn given(name: &str, args: &Bound<'_, PyTuple>) -> PyResult<Vec<Given>> {
    let session = home::session(args.py())?;
    args.iter().map(|arg| Given::expected(session, name, &arg)).collect()
}

/// Arguments as they are lent: an object that is given twice is one array.
fn one_each<'a>(args: &Bound<'_, PyTuple>, given: &'a [Given]) -> Vec<Argument<'a>> {
    let first = |arg: &Object<'_>| args.iter().position(|other| other.is(arg));
    let of = |(arg, own): (Object<'_>, &'a Given)| first(&arg).map_or(own, |at| &given[at]);
    args.iter().zip(given).map(of).map(Given::argument).collect()
}

/// Arrays that a kernel wrote by index.
fn write(args: &Bound<'_, PyTuple>, written: Vec<(usize, Value)>) -> PyResult<()> {
    for (i, value) in written {
        match args.get_item(i)?.cast::<PyValue>() {
            Ok(target) => target.get().set(args.py(), value),
            Err(_) => {
                return Err(PyTypeError::new_err(format!(
                    "argument {i} is written, expected an array of porcini"
                )));
            }
        }
    }
    Ok(())
}

/// One result, or a tuple of several; nothing of none.
fn several(py: Python<'_>, results: Vec<Value>) -> PyResult<Object<'_>> {
    let mut found =
        results.into_iter().map(|value| object::of(py, value)).collect::<PyResult<Vec<_>>>()?;
    match found.len() {
        0 => Ok(py.None().into_bound(py)),
        1 => Ok(found.remove(0)),
        _ => Ok(PyTuple::new(py, found)?.into_any()),
    }
}

#[pyfunction]
fn _kernel<'py>(
    py: Python<'py>,
    text: &str,
    names: Option<&Bound<'py, PyDict>>,
) -> PyResult<Kernel> {
    let kernel = TextKernel::new(text, &around(names)?).or_raise()?;
    Ok(Kernel(kernel, captures(py, text, names)?.unbind()))
}

/// Those of the numbers and kernels among variables that a text has words for.
fn captures<'py>(
    py: Python<'py>,
    text: &str,
    names: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: HashSet<&str> = text.split(|c| !is_word(c)).collect();
    let used = PyDict::new(py);
    for (name, object) in names.into_iter().flatten() {
        let is_used = words.contains(&*name.to_string());
        let is_known = object.is_instance_of::<Kernel>() || matches!(number(&object), Ok(Some(_)));
        if is_used && is_known {
            used.set_item(name, object)?;
        }
    }
    Ok(used)
}

/// A reduction, or scan, that was written as texts.
#[pyclass(module = "porcini", frozen, weakref)]
pub(crate) struct Reduction(TextReduction);

#[pymethods]
impl Reduction {
    /// Over all lanes or entries; over axes of a tensor; over segments that begin at offsets.
    #[pyo3(signature = (*args, axis=None, keepdims=false, offsets=None))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        axis: Option<&Object<'py>>,
        keepdims: bool,
        offsets: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        let py = slf.py();
        let session = home::session(py)?;
        let name = slf.get().0.name();
        let given = given(name, args)?;
        let lent: Vec<_> = given.iter().map(Given::argument).collect();
        let axes = axis.map(|axis| crate::make::extents("axis", axis)).transpose()?;
        let offsets = offsets.map(|offsets| match Given::expected(session, "offsets", offsets)? {
            Given::Value(Value::Array(array)) => Ok(array),
            _ => Err(wrong_type(format!("offsets: got {}, expected integers", got(offsets)))),
        });
        let offsets = offsets.transpose()?;
        let over = Over { axes, keepdims, offsets: offsets.as_ref() };
        several(py, slf.get().0.call(session, &lent.iter().collect::<Vec<_>>(), &over).or_raise()?)
    }

    /// The texts.
    #[getter]
    fn source(&self) -> &str {
        self.0.source()
    }

    fn __repr__(&self) -> String {
        format!("<reduction {}>", self.0.signature())
    }
}

/// Texts: one, a list, or a dict of names.
fn texts(object: Option<&Object<'_>>) -> PyResult<Vec<(String, String)>> {
    let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(Vec::new()) };
    let text = |object: &Object<'_>| match number(object)? {
        Some(Scalar::Bool(truth)) => Ok(truth.to_string()),
        Some(number) => Ok(number.to_string()),
        None => object
            .extract::<String>()
            .map_err(|_| wrong_type(format!("got {}, expected text", got(object)))),
    };
    if let Ok(dict) = object.cast::<PyDict>() {
        return dict.iter().map(|(name, object)| Ok((name.to_string(), text(&object)?))).collect();
    }
    if crate::convert::is_sequence(object) {
        return object.try_iter()?.map(|object| Ok((String::new(), text(&object?)?))).collect();
    }
    Ok(vec![(String::new(), text(object)?)])
}

#[pyfunction]
fn _reduction(
    header: &str,
    map: &Object<'_>,
    reduce: &Object<'_>,
    post: Option<&Object<'_>>,
    identity: Option<&Object<'_>>,
    is_scan: bool,
    names: Option<&Bound<'_, PyDict>>,
) -> PyResult<Reduction> {
    let map = texts(Some(map))?;
    // In the order of the state's parts.
    let ordered = |texts: Vec<(String, String)>| -> Vec<String> {
        let place = |name: &str| map.iter().position(|(known, _)| known == name);
        let mut texts = texts;
        texts.sort_by_key(|(name, _)| place(name));
        texts.into_iter().map(|(_, text)| text).collect()
    };
    let (reduce, identity) = (ordered(texts(Some(reduce))?), ordered(texts(identity)?));
    let parts = Parts { reduce, identity, post: texts(post)?, map: map.clone() };
    TextReduction::new(header, &parts, is_scan, &around(names)?).map(Reduction).or_raise()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Kernel>()?;
    module.add_function(wrap_pyfunction!(_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(_reduction, module)?)
}

//! Functions of core's tables as Python objects: those of the package, and methods of values.

use std::collections::BTreeSet;

use porcini_core::spelling;
use porcini_core::value::Form;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use crate::docs;
use crate::forms::{along_axis, form_along_axis, form_in_python, is_index, is_replaced, reduction};
use crate::functions::{Overloads, find, name_of, names};
use crate::object::PyValue;

type Object<'py> = Bound<'py, PyAny>;

// A function of the package, from core's tables. Without a help text of its own: that of each is its row's.
#[pyclass(module = "porcini", frozen, name = "function", weakref)]
#[derive(Clone, Copy)]
struct TableFunction {
    name: &'static str,
    overloads: &'static Overloads,
}

impl TableFunction {
    fn call<'py>(
        &self,
        py: Python<'py>,
        args: &[Object<'py>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let overloads = along_axis(self.name, args).unwrap_or(self.overloads);
        overloads.call(py, args, named).map_err(|error| self.told(py, error))
    }

    /// An error of the function that has another name in the tables, under the name that was called.
    fn told(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let known = [Some(self.overloads), reduction(self.name)];
        let text = error.value(py).to_string();
        for own in known.into_iter().flatten().map(|overloads| overloads.name) {
            let rest = text.strip_prefix(own).filter(|rest| rest.starts_with(": "));
            if let Some(rest) = rest.filter(|_| own != self.name) {
                let rest = rest.replace(&format!(" {own}("), &format!(" {}(", self.name));
                return self.worded(py, error, &rest);
            }
        }
        // Of another function that does the work, unless it says how that one is called.
        let is_of_arguments =
            error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py);
        match text.split_once(": ") {
            Some((own, rest))
                if own != self.name
                    && is_of_arguments
                    && find(own).is_some()
                    && !rest.contains(&format!(" {own}(")) =>
            {
                self.worded(py, error, &format!(": {rest}"))
            }
            _ => error,
        }
    }

    /// An error with the name that was called, and other words behind it.
    fn worded(&self, py: Python<'_>, error: PyErr, rest: &str) -> PyErr {
        let args = (format!("{}{rest}", self.name),);
        error.value(py).setattr("args", args).err().unwrap_or(error)
    }
}

#[pymethods]
impl TableFunction {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let args: SmallVec<[Object<'_>; 4]> = args.iter().collect();
        slf.get().call(slf.py(), &args, named)
    }

    #[getter]
    fn __name__(&self) -> &'static str {
        self.name
    }

    #[getter]
    fn __qualname__(&self) -> &'static str {
        self.name
    }

    #[getter]
    fn __doc__(&self, py: Python<'_>) -> String {
        let of_tables = self.overloads.forms().into_iter();
        let of_tables = of_tables.filter(|(parameters, _)| !is_replaced(self.name, parameters));
        let forms = form_along_axis(self.name).into_iter().chain(of_tables);
        let forms = forms.chain(form_in_python(py, self.overloads.name));
        docs::of_forms(self.name, forms.collect(), &|name| find(name).is_some())
    }

    /// Parameters, of the first form that has names for them.
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        let none = || PyAttributeError::new_err("no signature");
        let overloads = reduction(self.name).unwrap_or(self.overloads);
        let (names, n_required) = overloads.parameters().ok_or_else(none)?;
        let inspect = py.import("inspect")?;
        let (parameter, signature) = (inspect.getattr("Parameter")?, inspect.getattr("Signature")?);
        let kind = parameter.getattr("POSITIONAL_OR_KEYWORD")?;
        let is_keyword = py.import("keyword")?.getattr("iskeyword")?;
        let optional = PyDict::new(py);
        optional.set_item("default", py.None())?;
        let parameters = names.iter().enumerate().map(|(i, name)| {
            // A word of Python's, as from, is given by place, or by ** alone.
            let of_python = is_keyword.call1((name,))?.is_truthy()?;
            let name = if of_python { format!("{name}_") } else { (*name).to_owned() };
            parameter.call((name, &kind), Some(&optional).filter(|_| i >= n_required))
        });
        let mut parameters = parameters.collect::<PyResult<Vec<_>>>()?;
        if self.overloads.is_maker() {
            let kind = parameter.getattr("KEYWORD_ONLY")?;
            parameters.push(parameter.call(("dtype", &kind), Some(&optional))?);
        }
        signature.call1((parameters,))
    }

    fn __repr__(&self) -> String {
        format!("<function porcini.{}>", self.name)
    }

    fn __reduce__(&self) -> &'static str {
        self.name
    }
}

/// The function of a name as a Python object.
fn as_object<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Object<'py>>> {
    let Some(overloads) = find(name) else { return Ok(None) };
    let name = name_of(name, overloads);
    Ok(Some(Bound::new(py, TableFunction { name, overloads })?.into_any()))
}

/// A function as a method of all values: a descriptor, put into the class when it is first asked for.
#[pyclass(module = "porcini", frozen)]
struct Method(TableFunction);

#[pymethods]
impl Method {
    fn __get__<'py>(
        &self,
        instance: &Object<'py>,
        _class: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        let (py, function) = (instance.py(), self.0);
        if instance.is_none() {
            return Ok(Bound::new(py, function)?.into_any());
        }
        let value = instance.clone().unbind();
        Ok(Bound::new(py, BoundMethod { function, value })?.into_any())
    }
}

/// Methods whose extents or axes may stand side by side, as NumPy has them: `t.reshape(2, 3)`.
const TAKE_SEVERAL: [&str; 4] = ["reshape", "transpose", "permute", "broadcast_to"];

// A function with its first argument. The help text is that of the function.
#[pyclass(module = "porcini", frozen, name = "method")]
struct BoundMethod {
    function: TableFunction,
    value: Py<PyAny>,
}

#[pymethods]
impl BoundMethod {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let own = std::iter::once(self.value.bind(py).clone());
        let takes_several = TAKE_SEVERAL.contains(&self.function.overloads.name);
        if takes_several && args.len() > 1 && args.iter().all(|arg| is_index(&arg)) {
            let args: SmallVec<[Object<'_>; 4]> = own.chain([args.clone().into_any()]).collect();
            return self.function.call(py, &args, named);
        }
        let args: SmallVec<[Object<'_>; 4]> = own.chain(args.iter()).collect();
        self.function.call(py, &args, named)
    }

    #[getter]
    fn __name__(&self) -> &'static str {
        self.function.name
    }

    #[getter]
    fn __self__<'py>(&self, py: Python<'py>) -> &Object<'py> {
        self.value.bind(py)
    }

    #[getter]
    fn __doc__(&self, py: Python<'_>) -> String {
        self.function.__doc__(py)
    }

    /// The parameters of the function behind the first.
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        let whole = self.function.__signature__(py)?;
        let parameters = whole.getattr("parameters")?.call_method0("values")?;
        let parameters = parameters.try_iter()?.skip(1).collect::<PyResult<Vec<_>>>()?;
        py.import("inspect")?.getattr("Signature")?.call1((parameters,))
    }

    fn __repr__(&self) -> String {
        format!("<method {} of an array>", self.function.name)
    }
}

/// A function with a value as its first argument.
pub(crate) fn method<'py>(
    value: &Bound<'py, PyValue>,
    name: &str,
) -> PyResult<Option<Object<'py>>> {
    let Some(overloads) = find(name).filter(|known| known.takes_value()) else { return Ok(None) };
    let py = value.py();
    let function = TableFunction { name: name_of(name, overloads), overloads };
    // From now on Python finds it by itself, unless some values have components of the name.
    if !Form::Complex.component_names().contains(&name) {
        py.get_type::<PyValue>().setattr(name, Method(function))?;
    }
    let value = value.clone().unbind().into_any();
    Ok(Some(Bound::new(py, BoundMethod { function, value })?.into_any()))
}

/// The function of a name; None if there is none.
#[pyfunction]
fn _function<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Object<'py>>> {
    as_object(py, name)
}

/// The names of all functions that core's tables have.
#[pyfunction]
fn _function_names() -> Vec<&'static str> {
    names().collect::<BTreeSet<_>>().into_iter().collect()
}

/// What somebody who misspelt a name may have meant.
#[pyfunction]
fn _similar(name: &str) -> String {
    match &spelling::similar(name, names())[..] {
        [] => String::new(),
        similar => format!("; did you mean {}?", similar.join(", ")),
    }
}

/// What is written in the place of a member that arrays of others have.
pub(crate) fn member_elsewhere(py: Python<'_>, name: &str) -> Option<String> {
    // Other libraries look for members with such names all the time.
    let members = || py.import("porcini._elsewhere")?.getattr("MEMBERS")?.get_item(name)?.extract();
    if name.starts_with('_') { None } else { members().ok() }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_function, module)?)?;
    module.add_function(wrap_pyfunction!(_function_names, module)?)?;
    module.add_function(wrap_pyfunction!(_similar, module)?)
}

//! Objects of Python that hold others in fields: named tuples, data classes and those of Dr.Jit.

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::errors::wrong_type;
use crate::tree::values;

type Object<'py> = Bound<'py, PyAny>;

/// Such an object without what it holds.
pub(crate) enum Around {
    /// A named tuple, by its class.
    Named(Py<PyType>),
    /// An object of a data class, or of one with DRJIT_STRUCT, and the names of its fields.
    Data(Py<PyAny>, Vec<Py<PyString>>),
}

impl Around {
    /// The object, and what it holds; `None` of others. One whose arrays beside the fields would be lost is refused.
    pub(crate) fn of<'py>(object: &Object<'py>) -> PyResult<Option<(Self, Vec<Object<'py>>)>> {
        let found = Self::any(object)?;
        match found.iter().find_map(|(around, _)| around.lost(object.py()).transpose()) {
            Some(lost) => Err(lost?),
            None => Ok(found),
        }
    }

    /// As [`Around::of`], whatever it has beside its fields.
    pub(crate) fn any<'py>(object: &Object<'py>) -> PyResult<Option<(Self, Vec<Object<'py>>)>> {
        let (py, class) = (object.py(), object.get_type());
        if let Ok(tuple) = object.cast::<PyTuple>() {
            let is_named = !class.is(py.get_type::<PyTuple>())
                && class.getattr_opt(intern!(py, "_fields"))?.is_some()
                && class.getattr_opt(intern!(py, "_make"))?.is_some();
            return Ok(is_named.then(|| (Self::Named(class.unbind()), tuple.iter().collect())));
        }
        let Some(fields) = fields(object)? else { return Ok(None) };
        let (mut names, mut held) = (Vec::new(), Vec::new());
        for name in fields {
            match object.getattr(&name) {
                Ok(item) => {
                    names.push(name.unbind());
                    held.push(item);
                }
                // What has no value yet has none there either.
                Err(error) if error.is_instance_of::<PyAttributeError>(py) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some((Self::Data(object.clone().unbind(), names), held)))
    }

    /// An error that names arrays beside the fields, which would be those from before; what is made when it is asked for is
    /// made again.
    pub(crate) fn lost(&self, py: Python<'_>) -> PyResult<Option<PyErr>> {
        let Self::Data(object, fields) = self else { return Ok(None) };
        let object = object.bind(py);
        let class = object.get_type();
        for (name, item) in beside(object, fields)? {
            let mut lost = Vec::new();
            values(&item, &mut lost)?;
            if !lost.is_empty() && !is_made_when_asked(&class, &name)? {
                return Ok(Some(wrong_type(format!(
                    "got {}, whose attribute {name} has arrays in it and is no field: it would be lost; make it a field, or \
                     a property",
                    class.name()?
                ))));
            }
        }
        Ok(None)
    }

    /// An object of the class that holds others.
    pub(crate) fn with<'py>(
        &self,
        py: Python<'py>,
        held: Vec<Object<'py>>,
    ) -> PyResult<Object<'py>> {
        match self {
            Self::Named(class) => {
                class.bind(py).call_method1(intern!(py, "_make"), (PyList::new(py, held)?,))
            }
            Self::Data(object, names) => {
                let made = py.import(intern!(py, "copy"))?.call_method1("copy", (object,))?;
                // Fields of a frozen class are set beside it.
                let set = py.get_type::<PyAny>().getattr(intern!(py, "__setattr__"))?;
                for (name, item) in names.iter().zip(held) {
                    set.call1((&made, name, item))?;
                }
                for (name, _) in beside(&made, names)? {
                    if is_made_when_asked(&made.get_type(), &name)? {
                        made.getattr(intern!(py, "__dict__"))?.del_item(name)?;
                    }
                }
                Ok(made)
            }
        }
    }

    /// The same once more.
    pub(crate) fn again(&self, py: Python<'_>) -> Self {
        match self {
            Self::Named(class) => Self::Named(class.clone_ref(py)),
            Self::Data(object, names) => {
                let names = names.iter().map(|name| name.clone_ref(py)).collect();
                Self::Data(object.clone_ref(py), names)
            }
        }
    }
}

/// The names of the fields of a data class, or of a class that has them in DRJIT_STRUCT.
fn fields<'py>(object: &Object<'py>) -> PyResult<Option<Vec<Bound<'py, PyString>>>> {
    let (py, class) = (object.py(), object.get_type());
    if class.getattr_opt(intern!(py, "__dataclass_fields__"))?.is_some() {
        let fields = py.import(intern!(py, "dataclasses"))?.call_method1("fields", (object,))?;
        let name = |field: PyResult<Object<'py>>| field?.getattr(intern!(py, "name"));
        let names = fields.try_iter()?.map(|field| Ok(name(field)?.cast_into::<PyString>()?));
        return names.collect::<PyResult<_>>().map(Some);
    }
    match class.getattr_opt(intern!(py, "DRJIT_STRUCT"))? {
        Some(fields) if fields.is_instance_of::<PyDict>() => {
            let names = fields.try_iter()?.map(|name| Ok(name?.cast_into::<PyString>()?));
            names.collect::<PyResult<_>>().map(Some)
        }
        _ => Ok(None),
    }
}

/// The attributes of an object of a data class that are none of these fields.
fn beside<'py>(
    object: &Object<'py>,
    fields: &[Py<PyString>],
) -> PyResult<Vec<(Bound<'py, PyString>, Object<'py>)>> {
    let py = object.py();
    let Some(all) = object.getattr_opt(intern!(py, "__dict__"))? else { return Ok(Vec::new()) };
    let others = all.cast_into::<PyDict>()?.copy()?;
    for name in fields {
        if others.contains(name)? {
            others.del_item(name)?;
        }
    }
    others.iter().map(|(name, item)| Ok((name.cast_into::<PyString>()?, item))).collect()
}

/// Whether an attribute is a `cached_property`: one of other fields is to be computed from those.
fn is_made_when_asked(class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    let Some(member) = class.getattr_opt(name)? else { return Ok(false) };
    let functools = class.py().import(intern!(class.py(), "functools"))?;
    member.is_instance(&functools.getattr(intern!(class.py(), "cached_property"))?)
}

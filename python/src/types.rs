//! The classes of values: `Float`, `Vector3f`, `TensorXf`. They are made of core's lists of types.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use porcini_core::tensor;
use porcini_core::value::{Form, Type};
use porcini_core::{DType, Value};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::names::{as_python, name_of};
use crate::object::PyValue;

/// What the values of a class are.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Lanes of a type.
    Lanes(DType),
    /// Values with components.
    Nested(Type),
    /// Tensors; without a type it is that of what they are made of.
    Tensor {
        /// Type of the entries, or of their parts.
        dtype: Option<DType>,
        /// Whether they are complex.
        is_complex: bool,
    },
}

impl Kind {
    /// Whether it says nothing of the lane type.
    fn is_of_any(&self) -> bool {
        match self {
            Self::Lanes(_) => false,
            Self::Nested(nested) => nested.dtype.is_none(),
            Self::Tensor { dtype, .. } => dtype.is_none(),
        }
    }

    /// Whether values of the other kind have the form of this one.
    fn holds(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nested(own), Self::Nested(other)) => own.form == other.form,
            (Self::Tensor { .. }, Self::Tensor { .. }) => true,
            _ => false,
        }
    }
}

/// A class with what its values are.
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    class: Py<PyType>,
}

struct Classes {
    rows: Vec<Class>,
    /// Those of lanes, by type.
    lanes: Vec<Py<PyType>>,
    /// Every class by name; values that have none so far get one.
    by_name: Mutex<HashMap<String, Py<PyType>>>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// Other names of classes: those of Dr.Jit, NumPy and people.
const ALIASES: [(&str, &str); 10] = [
    ("Float32", "Float"),
    ("Int", "Int32"),
    ("UInt", "UInt32"),
    ("Bool", "Mask"),
    ("Array2f", "Vector2f"),
    ("Array3f", "Vector3f"),
    ("Array4f", "Vector4f"),
    ("Array3d", "Vector3d"),
    ("Array3i", "Vector3i"),
    ("Array3u", "Vector3u"),
];

/// The kind of a class's values; of a class of a user that of ours which it is made of.
pub(crate) fn kind_of<'a>(class: &Bound<'_, PyType>) -> PyResult<Option<&'a Class>> {
    let py = class.py();
    let Some(classes) = CLASSES.get(py) else { return Ok(None) };
    let find = |class: &Bound<'_, PyAny>| classes.rows.iter().find(|row| row.class.is(class));
    if let Some(found) = find(class) {
        return Ok(Some(found));
    }
    Ok(class.mro().iter().find_map(|class| find(&class)))
}

/// Whether a class is one of a user, and derived of ours for values of the other one.
pub(crate) fn is_derived(class: &Bound<'_, PyType>, own: &Bound<'_, PyType>) -> PyResult<bool> {
    let Some(known) = kind_of(class)? else { return Ok(false) };
    Ok(!known.class.is(class) && own.is_subclass(known.class.bind(class.py()))?)
}

/// Whether a class is one of a user: its objects may have attributes.
pub(crate) fn is_of_user(class: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(kind_of(class)?.is_some_and(|known| !known.class.is(class)))
}

/// The class of lanes of a type.
pub(crate) fn of_lanes(py: Python<'_>, dtype: DType) -> &Bound<'_, PyType> {
    let classes = CLASSES.get(py).expect("internal error: no classes");
    classes.lanes[dtype as usize].bind(py)
}

/// The class of a value.
pub(crate) fn class_of<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyType>> {
    if let Value::Array(array) = value {
        return Ok(of_lanes(py, array.dtype()).clone());
    }
    let classes = CLASSES.get(py).expect("internal error: no classes");
    let script = value.type_name();
    let name = as_python(&script);
    let known = |name: &str| {
        let by_name = classes.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        by_name.get(name).map(|class| class.bind(py).clone())
    };
    if let Some(class) = known(&name) {
        return Ok(class);
    }
    let class = made(py, &name, "A value with components.", &py.get_type::<PyValue>())?;
    let mut by_name = classes.by_name.lock().unwrap_or_else(PoisonError::into_inner);
    by_name.insert(name.into_owned(), class.clone().unbind());
    Ok(class)
}

/// A new class of values.
fn made<'py>(
    py: Python<'py>,
    name: &str,
    doc: &str,
    base: &Bound<'py, PyType>,
) -> PyResult<Bound<'py, PyType>> {
    let contents = PyDict::new(py);
    contents.set_item("__slots__", PyTuple::empty(py))?;
    contents.set_item("__module__", "porcini")?;
    contents.set_item("__doc__", doc)?;
    let class = py.get_type::<PyType>().call1((name, (base,), contents))?;
    Ok(class.cast_into::<PyType>()?)
}

fn all() -> Vec<(String, Kind, String)> {
    let mut all = Vec::new();
    for dtype in DType::ALL {
        let name = name_of(dtype.script_name());
        let doc = format!(
            "Array of {} lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, \
             whose memory it shares where it can.\n\n{name}.zeros(n), ones(n), full(value, n), arange(start, stop, step), \
             linspace(first, last, n), opaque(value, n), reinterpret(x) make others.",
            dtype.numpy_name()
        );
        all.push((name.to_string(), Kind::Lanes(dtype), doc));
    }
    for nested in Type::all() {
        let name = name_of(&nested.name).to_string();
        let doc = match nested.form {
            Form::Matrix(n) => format!(
                "Matrix of {n} x {n} arrays: from its entries row by row, rows, or a number."
            ),
            _ => format!(
                "{name}: from its components, arrays or numbers; of one it is that in each."
            ),
        };
        all.push((name, Kind::Nested(nested), doc));
    }
    for (name, dtype, is_complex) in tensor::types() {
        let doc = "Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape.";
        let kind = Kind::Tensor { dtype: Some(dtype), is_complex };
        all.push((name_of(&name).to_string(), kind, doc.into()));
    }
    let kind = Kind::Tensor { dtype: None, is_complex: false };
    all.push((
        name_of(tensor::ANY_TYPE).into(),
        kind,
        "Tensor of the type of what it is made of.".into(),
    ));
    all
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<PyValue>()?;
    let mut rows: Vec<Class> = Vec::new();
    let mut all = all();
    // Types of any lanes come first: TensorXf is a Tensor.
    all.sort_by_key(|(_, kind, _)| !kind.is_of_any());
    for (name, kind, doc) in all {
        let base = rows.iter().find(|row| row.kind.is_of_any() && row.kind.holds(&kind));
        let base = base.map_or_else(|| py.get_type::<PyValue>(), |row| row.class.bind(py).clone());
        let class = made(py, &name, &doc, &base)?;
        module.add(name.as_str(), &class)?;
        rows.push(Class { name, kind, class: class.unbind() });
    }
    let find =
        |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.class.clone_ref(py));
    for (alias, name) in ALIASES {
        module.add(alias, find(name))?;
    }
    let lanes = DType::ALL.map(|dtype| {
        find(name_of(dtype.script_name())).expect("internal error: a type without class")
    });
    let by_name = rows.iter().map(|row| (row.name.clone(), row.class.clone_ref(py))).collect();
    let classes = Classes { lanes: lanes.into(), by_name: Mutex::new(by_name), rows };
    drop(CLASSES.set(py, classes));
    Ok(())
}

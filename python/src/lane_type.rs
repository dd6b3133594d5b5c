//! Types of lanes as users say them: a class such as Float64, or a name as NumPy's.

use porcini_core::DType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::errors::got;
use crate::types::{self, Kind};

type Object<'py> = Bound<'py, PyAny>;

/// The type of lanes, and whether two of them are a complex number.
#[derive(Clone, Copy)]
pub(crate) struct LaneType {
    pub(crate) dtype: DType,
    pub(crate) is_complex: bool,
}

impl LaneType {
    /// As NumPy calls it.
    pub(crate) fn numpy_name(self) -> &'static str {
        match (self.dtype, self.is_complex) {
            (DType::F64, true) => "complex128",
            (_, true) => "complex64",
            (dtype, false) => dtype.numpy_name(),
        }
    }
}

/// Names of types besides NumPy's long ones, and its letters. Those of Python's own types mean what these do: 32 bits.
const SHORT_NAMES: [(&str, &str); 33] = [
    ("?", "bool"),
    ("i1", "int8"),
    ("u1", "uint8"),
    ("i2", "int16"),
    ("u2", "uint16"),
    ("i4", "int32"),
    ("u4", "uint32"),
    ("i8", "int64"),
    ("u8", "uint64"),
    ("f2", "float16"),
    ("f4", "float32"),
    ("f8", "float64"),
    ("c8", "complex64"),
    ("c16", "complex128"),
    ("int", "int32"),
    ("float", "float32"),
    ("double", "float64"),
    ("complex", "complex64"),
    ("b", "int8"),
    ("B", "uint8"),
    ("h", "int16"),
    ("H", "uint16"),
    ("i", "int32"),
    ("I", "uint32"),
    ("l", "int64"),
    ("L", "uint64"),
    ("q", "int64"),
    ("Q", "uint64"),
    ("e", "float16"),
    ("f", "float32"),
    ("d", "float64"),
    ("F", "complex64"),
    ("D", "complex128"),
];

/// The lane type that a class, or a name as NumPy's, says.
pub(crate) fn lane_type(object: &Object<'_>) -> PyResult<LaneType> {
    if let Ok(class) = object.cast::<PyType>()
        && let Some(known) = types::kind_of(class)?
    {
        match known.kind {
            Kind::Lanes(dtype) => return Ok(LaneType { dtype, is_complex: false }),
            Kind::Tensor { dtype: Some(dtype), is_complex } => {
                return Ok(LaneType { dtype, is_complex });
            }
            Kind::Nested(_) | Kind::Tensor { .. } => {}
        }
    }
    let name = match object.getattr("name") {
        Ok(name) => name.to_string(),
        Err(_) => {
            object.getattr("__name__").map_or_else(|_| object.to_string(), |name| name.to_string())
        }
    };
    // PyTorch's are torch.float64.
    let short = name.trim_start_matches("torch.").trim_start_matches(['<', '=']);
    let long =
        SHORT_NAMES.iter().find(|(known, _)| *known == short).map_or(short, |(_, long)| long);
    let (real, is_complex) = match long {
        "complex64" => ("float32", true),
        "complex128" => ("float64", true),
        real => (real, false),
    };
    let found = DType::ALL.into_iter().find(|dtype| dtype.numpy_name() == real);
    found.map(|dtype| LaneType { dtype, is_complex }).ok_or_else(|| {
        let all: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.numpy_name()).collect();
        PyTypeError::new_err(format!(
            "got {} as a type, expected a class such as Float, or one of {}, complex64, complex128",
            got(object),
            all.join(", ")
        ))
    })
}

/// The type of lanes that an array, or a number of another library, says; `None` of Python's own objects.
pub(crate) fn own_type(object: &Object<'_>) -> Option<LaneType> {
    let dtype = object.getattr("dtype").ok()?;
    lane_type(&dtype).ok()
}

//! Values as Python's lists, numbers one after the other, and NumPy's arrays.

use porcini_core::value::Form;
use porcini_core::{Array, DType, Scalar, Value};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyList, PyMemoryView};

use crate::convert::python_number;
use crate::errors::OrRaise;
use crate::home;
use crate::interrupt::evaluating;
use crate::memory::{complex_part, entries};
use crate::object::{PyValue, check_read, warn_of_read};

type Object<'py> = Bound<'py, PyAny>;

/// Lanes that are read at once: what converts them looks at Ctrl-C between pieces, and who wants the first of many
/// waits for so many.
const PIECE: u64 = 1 << 14;

/// A NumPy array that shares memory, or a copy of another type or because it is asked for.
pub(crate) fn to_numpy<'py>(
    value: &Bound<'py, PyValue>,
    dtype: Option<&Object<'py>>,
    is_copied: bool,
) -> PyResult<Object<'py>> {
    let py = value.py();
    let (numpy, view) = (py.import("numpy")?, PyMemoryView::from(value.as_any())?);
    let array = numpy.call_method1("asarray", (view,))?;
    let dtype = match dtype.filter(|dtype| !dtype.is_none()) {
        Some(dtype) => numpy.getattr("dtype")?.call1((dtype,))?,
        None if is_copied => array.getattr("dtype")?,
        None => return Ok(array),
    };
    // NumPy takes memory without a look at what there is.
    let n: u64 = array.getattr("size")?.extract()?;
    let width: u64 = dtype.getattr("itemsize")?.extract()?;
    home::session(py)?.check_host_memory(n.saturating_mul(width)).or_raise()?;
    array.call_method1("astype", (dtype,))
}

pub(crate) fn lists<'py>(value: &Bound<'py, PyValue>) -> PyResult<Object<'py>> {
    let py = value.py();
    let held = value.get().value().clone();
    check_read("tolist", &held)?;
    let (parts, shape) = entries(&held).or_raise()?;
    let mut entries = Entries::new(parts);
    nest(py, &shape, &mut entries)
}

fn nest<'py>(py: Python<'py>, shape: &[u64], entries: &mut Entries) -> PyResult<Object<'py>> {
    let [n, rest @ ..] = shape else { return entries.next(py) };
    let list = PyList::empty(py);
    for _ in 0..*n {
        list.append(nest(py, rest, entries)?)?;
    }
    Ok(list.into_any())
}

/// Entries as numbers of Python's, one after the other; of complex ones real and imaginary parts.
struct Entries {
    parts: Vec<Array>,
    /// Where the next piece begins.
    start: u64,
    piece: Vec<Vec<Scalar>>,
    /// The next entry in the piece.
    place: usize,
}

impl Entries {
    fn new(parts: Vec<Array>) -> Self {
        Self { parts, start: 0, piece: Vec::new(), place: 0 }
    }

    /// The next one. There is one.
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Object<'py>> {
        if self.piece.first().is_none_or(|piece| self.place == piece.len()) {
            self.read(py)?;
        }
        let place = self.place;
        self.place += 1;
        Ok(match &self.piece[..] {
            [re, im] => {
                PyComplex::from_doubles(py, re[place].to_f64(), im[place].to_f64()).into_any()
            }
            parts => python_number(py, parts[0][place]),
        })
    }

    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let (start, parts) = (self.start, &self.parts);
        let end = parts[0].size().min(start + PIECE);
        self.piece = evaluating(py, || parts.iter().map(|part| part.read(start..end)).collect())?;
        (self.start, self.place) = (end, 0);
        Ok(())
    }
}

/// Goes over the lanes of an array, or the entries of a tensor of one axis.
#[pyclass(module = "porcini")]
pub(crate) struct Lanes {
    entries: Entries,
    n_left: u64,
}

impl Lanes {
    pub(crate) fn of<'py>(py: Python<'py>, value: &Value) -> PyResult<Object<'py>> {
        check_read("iteration", value)?;
        warn_of_read(py, value)?;
        let (parts, _) = entries(value).or_raise()?;
        let n_left = parts.first().map_or(0, Array::size);
        let lanes = Self { entries: Entries::new(parts), n_left };
        Ok(Bound::new(py, lanes)?.into_any())
    }
}

#[pymethods]
impl Lanes {
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Object<'py>>> {
        if self.n_left == 0 {
            return Ok(None);
        }
        let number = self.entries.next(py)?;
        self.n_left -= 1;
        Ok(Some(number))
    }

    fn __length_hint__(&self) -> u64 {
        self.n_left
    }
}

/// Whether a value is complex numbers.
pub(crate) fn is_complex(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => tensor.is_complex(),
        value => value.form() == Form::Complex,
    }
}

/// The lane type as NumPy calls it.
pub(crate) fn numpy_name(value: &Value) -> &'static str {
    match (value.dtype(), is_complex(value)) {
        (dtype, true) if complex_part(dtype) == DType::F64 => "complex128",
        (_, true) => "complex64",
        (dtype, false) => dtype.numpy_name(),
    }
}

//! Files of pictures as tensors.

use std::io;
use std::path::PathBuf;

use porcini_core::{Error, Value};
use porcini_script::folders;
use porcini_script::images::{self, Refusal};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{got, raised};
use crate::home;
use crate::interrupt::blocking;
use crate::lane_type::lane_type;
use crate::object;

type Object<'py> = Bound<'py, PyAny>;

/// The picture in a file, PNG or JPEG, as a tensor: (rows, columns) of greys, (rows, columns, 3) of red, green and blue,
/// (rows, columns, 4) with the opacity last, also of greys that have one. Its numbers go from 0 to 255, or 65535 where a PNG has
/// 16 bits; with a float type as dtype, from 0 to 1. Rows and columns stand as they are stored, whatever a camera noted of
/// its orientation, and profiles of colours are not looked at. Of an animated PNG it is the first picture.
///
/// >>> import pathlib, tempfile
/// >>> path = pathlib.Path(tempfile.mkdtemp()) / "dot.png"
/// >>> _ = pc.run_text("save_image(PATH, FloatC([0, 1]), 2, 1)", {"PATH": str(path)})
/// >>> pc.read_image(path).shape
/// (1, 2, 3)
/// >>> pc.read_image(path, dtype=pc.Float)[0, :, 0]
/// [0, 1]
#[pyfunction]
#[pyo3(signature = (path, dtype=None))]
fn read_image<'py>(
    py: Python<'py>,
    path: PathBuf,
    dtype: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let floats = dtype.filter(|dtype| !dtype.is_none()).map(lane_type).transpose()?;
    if floats.is_some_and(|floats| floats.is_complex || !floats.dtype.is_float()) {
        let got = dtype.map(got).unwrap_or_default();
        return Err(PyValueError::new_err(format!(
            "read_image: got {got} as dtype, expected a float type; without it the numbers are those of the file"
        )));
    }
    let session = home::session(py)?.clone();
    let floats = floats.map(|floats| floats.dtype);
    let room = |bytes| session.check_file_memory(bytes).map_err(io::Error::other);
    let read = blocking(py, || match folders::read(&path, &room, |_| {}) {
        Ok(file) => match images::read(&session, &file, floats) {
            Err(Refusal::Core(Error::Interrupted)) => Err(Error::Interrupted),
            read => Ok(Ok(read)),
        },
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(Error::Interrupted),
        Err(error) => Ok(error.downcast().map(|error| Err(Refusal::Core(error)))),
    })?;
    let place = format!("read_image: {}", path.display());
    let read = read.map_err(|error| io::Error::new(error.kind(), format!("{place}: {error}")))?;
    object::of(py, Value::Tensor(read.map_err(|refusal| refused(py, &place, &refusal))?))
}

fn refused(py: Python<'_>, place: &str, refusal: &Refusal) -> PyErr {
    let remedy = refusal.remedy().map_or_else(String::new, |remedy| format!("; {remedy}"));
    match refusal {
        Refusal::Core(error) => {
            let error = raised(error);
            PyErr::from_type(error.get_type(py), format!("{place}: {}", error.value(py)))
        }
        Refusal::Room(_) => PyMemoryError::new_err(format!("{place}: {refusal}")),
        _ => PyValueError::new_err(format!("{place}: {refusal}{remedy}")),
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_image, module)?)
}

//! Arguments of recorded functions that are the same where they are equal: `jit(f, static_argnums=1)`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::convert::number;
use crate::errors::{got, wrong_type};
use crate::recursion::Level;

type Object<'py> = Bound<'py, PyAny>;

/// Arguments that are kept: several for each recording that is.
const MOST_MET: usize = 256;

/// Which arguments they are, and those that were met.
pub(crate) struct Statics {
    places: Vec<isize>,
    names: Vec<String>,
    /// Each by its class and itself: those of several classes may be equal.
    met: Py<PyDict>,
}

impl Statics {
    /// Those of a function by their numbers and names, if there are some.
    pub(crate) fn new(
        f: &Object<'_>,
        numbers: Option<&Object<'_>>,
        names: Option<&Object<'_>>,
    ) -> PyResult<Option<Self>> {
        let mut places = match numbers.filter(|numbers| !numbers.is_none()) {
            Some(numbers) => several::<isize>("static_argnums", numbers, false)?,
            None => Vec::new(),
        };
        let names = match names.filter(|names| !names.is_none()) {
            Some(names) => {
                several::<String>("static_argnames", names, names.is_instance_of::<PyString>())?
            }
            None => Vec::new(),
        };
        if !names.is_empty() {
            places.extend(places_of(f, &names));
        }
        let met = PyDict::new(f.py()).unbind();
        Ok((!places.is_empty() || !names.is_empty()).then_some(Self { places, names, met }))
    }

    /// The numbers and names of the arguments.
    pub(crate) fn told(&self) -> (Vec<isize>, Vec<String>) {
        (self.places.clone(), self.names.clone())
    }

    /// The arguments of a call, with those that were met in the place of what equals them.
    pub(crate) fn known<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>)> {
        let (py, n) = (args.py(), args.len());
        let is_static = |i: usize| {
            let place = |&place: &isize| {
                usize::try_from(place).ok().or(n.checked_sub(place.unsigned_abs()))
            };
            self.places.iter().any(|number| place(number) == Some(i))
        };
        let arg =
            |(i, arg): (usize, Object<'py>)| if is_static(i) { self.one(&arg) } else { Ok(arg) };
        let args = args.iter().enumerate().map(arg).collect::<PyResult<Vec<_>>>()?;
        let kwargs = kwargs.map(|kwargs| {
            let known = kwargs.copy()?;
            for name in &self.names {
                if let Some(value) = kwargs.get_item(name)? {
                    known.set_item(name, self.one(&value)?)?;
                }
            }
            PyResult::Ok(known)
        });
        Ok((PyTuple::new(py, args)?, kwargs.transpose()?))
    }

    /// The first object that was equal. Numbers and texts are facts of a call by themselves, and 0.0 is not -0.0, nor (1,) the
    /// same as (1.0,).
    fn one<'py>(&self, object: &Object<'py>) -> PyResult<Object<'py>> {
        let py = object.py();
        if object.is_none() || object.is_instance_of::<PyString>() || number(object)?.is_some() {
            return Ok(object.clone());
        }
        if let Ok(tuple) = object.cast_exact::<PyTuple>() {
            let _level = Level::enter(py)?;
            let items = tuple.iter().map(|item| self.one(&item)).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyTuple::new(py, items)?.into_any());
        }
        let (key, met) = ((object.get_type(), object), self.met.bind(py));
        let known = met.call_method1("setdefault", (key, object)).map_err(|error| {
            if error.is_instance_of::<PyTypeError>(py) {
                let got = got(object);
                wrong_type(format!(
                    "function: got {got} as a static argument, expected what has a hash"
                ))
            } else {
                error
            }
        })?;
        if met.len() > MOST_MET {
            // The first key is the oldest.
            if let Some(oldest) = met.as_any().try_iter()?.next() {
                // Another thread may have been faster.
                met.call_method1("pop", (oldest?, py.None()))?;
            }
        }
        Ok(known)
    }

    /// Forgets those that were met.
    pub(crate) fn clear(&self, py: Python<'_>) {
        self.met.bind(py).clear();
    }
}

/// One or several.
fn several<'py, T: for<'a> FromPyObject<'a, 'py>>(
    name: &str,
    object: &Object<'py>,
    is_one: bool,
) -> PyResult<Vec<T>> {
    let wrong =
        || wrong_type(format!("function: got {} as {name}, expected one or several", got(object)));
    if !is_one && let Ok(items) = object.try_iter() {
        return items.map(|item| item?.extract().map_err(|_| wrong())).collect();
    }
    object.extract().map(|one| vec![one]).map_err(|_| wrong())
}

/// Where a function takes what has these names; it may not say.
fn places_of(f: &Object<'_>, names: &[String]) -> Vec<isize> {
    let parameters = f.py().import("inspect").and_then(|inspect| {
        let parameters = inspect.call_method1("signature", (f,))?.getattr("parameters")?;
        parameters.try_iter()?.map(|name| name?.extract::<String>()).collect::<PyResult<Vec<_>>>()
    });
    let parameters = parameters.unwrap_or_default();
    let is_named = |(i, name): (isize, &String)| names.contains(name).then_some(i);
    (0..).zip(&parameters).filter_map(is_named).collect()
}

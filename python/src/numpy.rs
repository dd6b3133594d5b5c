//! NumPy's functions as ours: `np.sin(x)` where x is one of our values (`__array_ufunc__`, `__array_function__`).

use porcini_core::Session;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::convert::{Given, python_number};
use crate::functions::find;
use crate::home;
use crate::lists;
use crate::object::{self, PyValue};
use crate::recursion::Level;

type Object<'py> = Bound<'py, PyAny>;

/// What a ufunc of NumPy means here; NotImplemented where there is nothing of the same meaning.
pub(crate) fn of_ufunc<'py>(
    py: Python<'py>,
    ufunc: &Object<'py>,
    method: &str,
    inputs: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    let name: String = ufunc.getattr("__name__")?.extract()?;
    if method != "__call__" || kwargs.is_some_and(|kwargs| !kwargs.is_empty()) {
        return by_numpy(&ufunc.getattr(method)?, inputs, kwargs);
    }
    let all = inputs;
    let inputs: Vec<Object<'py>> = inputs.iter().collect();
    let operator = OPERATORS.iter().find(|(known, _)| *known == name);
    if let Some((_, operator)) = operator {
        // The other side may be a list or an array of NumPy: ours goes first.
        let session = home::session(py)?;
        let inputs =
            inputs.iter().map(|input| ours(session, input)).collect::<PyResult<Vec<_>>>()?;
        return py.import("operator")?.getattr(*operator)?.call1(PyTuple::new(py, inputs)?);
    }
    let name =
        UFUNCS.iter().find(|(known, _)| *known == name).map_or(name.as_str(), |(_, own)| own);
    match find(name) {
        Some(overloads) if overloads.is_lane_by_lane() => overloads.call(py, &inputs, None),
        _ => by_numpy(ufunc, all, kwargs),
    }
}

/// NumPy's own function, of what the lanes of values are.
fn by_numpy<'py>(
    function: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    let kwargs = kwargs.map(|kwargs| as_numpy_all(kwargs)).transpose()?;
    let kwargs = kwargs.as_ref().map(|kwargs| kwargs.cast::<PyDict>()).transpose()?;
    function.call(as_numpy_all(args)?.cast::<PyTuple>()?, kwargs)
}

/// An object as one of our values, or the number that it is.
fn ours<'py>(session: &Session, object: &Object<'py>) -> PyResult<Object<'py>> {
    match Given::of(session, object)? {
        Some(Given::Value(value)) if !object.is_instance_of::<PyValue>() => {
            object::of(object.py(), value)
        }
        Some(Given::Number(number)) => Ok(python_number(object.py(), number)),
        _ => Ok(object.clone()),
    }
}

/// Operators that NumPy calls by names.
const OPERATORS: [(&str, &str); 26] = [
    ("add", "add"),
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("divide", "truediv"),
    ("true_divide", "truediv"),
    ("floor_divide", "floordiv"),
    ("remainder", "mod"),
    ("mod", "mod"),
    ("power", "pow"),
    ("float_power", "pow"),
    ("matmul", "matmul"),
    ("negative", "neg"),
    ("positive", "pos"),
    ("absolute", "abs"),
    ("bitwise_and", "and_"),
    ("bitwise_or", "or_"),
    ("bitwise_xor", "xor"),
    ("invert", "invert"),
    ("left_shift", "lshift"),
    ("right_shift", "rshift"),
    ("equal", "eq"),
    ("not_equal", "ne"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
];

/// Ufuncs whose rows are called otherwise, beside the names that everybody has. NumPy's maximum is ours: both propagate NaN.
const UFUNCS: [(&str, &str); 3] = [("fmax", "max"), ("fmin", "min"), ("sign", "sgn")];

/// Functions of NumPy that mean the same as ours of the name, or of another one. Not among them: `max` and its like, which
/// go past NaN here; `outer`, `take`, `tile` and `repeat`, which there are about all entries in one row.
const NUMPY_FUNCTIONS: &[(&str, &str)] = &[
    ("sum", "hsum"),
    ("prod", "hprod"),
    ("mean", "hmean"),
    ("cumsum", "cumsum"),
    ("cumprod", "cumprod"),
    ("concatenate", "concat"),
    ("stack", "stack"),
    ("vstack", "vstack"),
    ("hstack", "hstack"),
    ("where", "where"),
    ("sort", "sort"),
    ("argsort", "argsort"),
    ("median", "median"),
    ("quantile", "quantile"),
    ("percentile", "percentile"),
    ("var", "var"),
    ("std", "std"),
    ("any", "any"),
    ("all", "all"),
    ("dot", "matmul"),
    ("inner", "inner"),
    ("kron", "kron"),
    ("tensordot", "tensordot"),
    ("transpose", "permute"),
    ("reshape", "reshape"),
    ("ravel", "ravel"),
    ("squeeze", "squeeze"),
    ("expand_dims", "expand_dims"),
    ("broadcast_to", "broadcast_to"),
    ("moveaxis", "moveaxis"),
    ("swapaxes", "swapaxes"),
    ("roll", "roll"),
    ("flip", "flip"),
    ("fliplr", "fliplr"),
    ("flipud", "flipud"),
    ("rot90", "rot90"),
    ("diff", "diff"),
    ("clip", "clip"),
    ("unique", "unique"),
    ("nonzero", "nonzero"),
    ("searchsorted", "searchsorted"),
    ("interp", "interp"),
    ("cov", "cov"),
    ("corrcoef", "corrcoef"),
    ("trapezoid", "trapezoid"),
    ("allclose", "allclose"),
    ("nan_to_num", "nan_to_num"),
    ("zeros_like", "zeros_like"),
    ("ones_like", "ones_like"),
    ("full_like", "full_like"),
    ("diag", "diag"),
    ("nansum", "nansum"),
    ("nanmean", "nanmean"),
    ("count_nonzero", "count_nonzero"),
];

/// Those of numpy.linalg.
const LINALG: &[(&str, &str)] = &[
    ("solve", "solve"),
    ("inv", "inv"),
    ("det", "det"),
    ("cholesky", "cholesky"),
    ("norm", "norm"),
    ("eigh", "eigh"),
    ("pinv", "pinv"),
];

/// What a function of NumPy is of values: ours where it means the same, else NumPy's own of what their lanes are.
pub(crate) fn of_numpy_function<'py>(
    py: Python<'py>,
    function: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Object<'py>> {
    let name: String = function.getattr("__name__")?.extract()?;
    let module =
        function.getattr("__module__").map_or_else(|_| String::new(), |module| module.to_string());
    let own = if module == "numpy.fft" {
        Some(name.as_str())
    } else {
        let table = if module == "numpy.linalg" { LINALG } else { NUMPY_FUNCTIONS };
        table.iter().find(|(known, _)| *known == name).map(|(_, own)| *own)
    };
    if let Some(overloads) = own.and_then(find)
        && let Some((args, named)) = by_names(function, args, kwargs)?
    {
        match overloads.call(py, &args, Some(&named).filter(|named| !named.is_empty())) {
            // NumPy knows forms that ours do not.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {}
            done => return done,
        }
    }
    by_numpy(function, args, Some(kwargs))
}

/// Arguments with those that NumPy has a default for by their names, which ours share; None if there is none of the name.
fn by_names<'py>(
    function: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Option<(Vec<Object<'py>>, Bound<'py, PyDict>)>> {
    let py = function.py();
    let inspect = py.import("inspect")?;
    let (Ok(signature), empty) =
        (inspect.call_method1("signature", (function,)), inspect.getattr("_empty")?)
    else {
        return Ok(None);
    };
    let bound = signature.call_method("bind", args, Some(kwargs))?;
    let parameters = signature.getattr("parameters")?;
    let (mut placed, named) = (Vec::new(), PyDict::new(py));
    for entry in bound.getattr("arguments")?.call_method0("items")?.try_iter()? {
        let (name, value): (String, Object<'py>) = entry?.extract()?;
        let default = parameters.get_item(&name)?.getattr("default")?;
        let is_value = default.is(&empty) || ["x", "y"].contains(&name.as_str());
        if is_value {
            placed.push(value);
        } else if name == "ddof" {
            return Ok(None);
        } else if !value.is(&default) {
            named.set_item(name, value)?;
        }
    }
    Ok(Some((placed, named)))
}

/// Values in an object as arrays of NumPy.
fn as_numpy_all<'py>(object: &Object<'py>) -> PyResult<Object<'py>> {
    let py = object.py();
    if let Ok(value) = object.cast::<PyValue>() {
        return lists::to_numpy(value, None);
    }
    let _level = Level::enter(py)?;
    if let Ok(list) = object.cast::<PyList>() {
        let items = list.iter().map(|item| as_numpy_all(&item)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        let items = tuple.iter().map(|item| as_numpy_all(&item)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyTuple::new(py, items)?.into_any());
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let found = PyDict::new(py);
        for (key, item) in dict {
            found.set_item(key, as_numpy_all(&item)?)?;
        }
        return Ok(found.into_any());
    }
    Ok(object.clone())
}

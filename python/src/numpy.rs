//! NumPy's functions as ours: `np.sin(x)` where x is one of our values (`__array_ufunc__`, `__array_function__`).

use porcini_core::Session;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::convert::{Given, python_number};
use crate::functions::find;
use crate::home;
use crate::object::{self, PyValue};

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
    let refused = || py.NotImplemented().into_bound(py);
    if method != "__call__" || kwargs.is_some_and(|kwargs| !kwargs.is_empty()) {
        return Ok(refused());
    }
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
        _ => Ok(refused()),
    }
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

/// Ufuncs whose rows are called otherwise. NumPy's maximum is ours: both propagate NaN.
const UFUNCS: [(&str, &str); 9] = [
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("fmax", "max"),
    ("fmin", "min"),
];

/// Functions of NumPy that mean the same as ours of the name, or of another one.
const NUMPY_FUNCTIONS: [(&str, &str); 68] = [
    ("sum", "hsum"),
    ("prod", "hprod"),
    ("mean", "hmean"),
    ("amin", "hmin"),
    ("amax", "hmax"),
    ("min", "hmin"),
    ("max", "hmax"),
    ("cumsum", "cumsum"),
    ("cumprod", "cumprod"),
    ("concatenate", "concat"),
    ("stack", "stack"),
    ("vstack", "vstack"),
    ("hstack", "hstack"),
    ("where", "where"),
    ("sort", "sort"),
    ("argsort", "argsort"),
    ("argmin", "argmin"),
    ("argmax", "argmax"),
    ("median", "median"),
    ("quantile", "quantile"),
    ("percentile", "percentile"),
    ("var", "var"),
    ("std", "std"),
    ("any", "any"),
    ("all", "all"),
    ("dot", "matmul"),
    ("vdot", "vdot"),
    ("inner", "inner"),
    ("outer", "outer"),
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
    ("tile", "tile"),
    ("repeat", "repeat"),
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
    ("tril", "tril"),
    ("triu", "triu"),
    ("trace", "trace"),
    ("diag", "diag"),
    ("nansum", "nansum"),
    ("nanmean", "nanmean"),
    ("count_nonzero", "count_nonzero"),
    ("take", "take"),
];

/// Modules of NumPy whose functions are called as ours.
const NUMPY_MODULES: [&str; 2] = ["numpy.linalg", "numpy.fft"];

pub(crate) fn of_numpy_function<'py>(
    py: Python<'py>,
    function: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Object<'py>> {
    let name: String = function.getattr("__name__")?.extract()?;
    let module =
        function.getattr("__module__").map_or_else(|_| String::new(), |module| module.to_string());
    let own = if NUMPY_MODULES.contains(&module.as_str()) {
        Some(name.as_str())
    } else {
        NUMPY_FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, own)| *own)
    };
    let Some(overloads) = own.and_then(find) else { return Ok(py.NotImplemented().into_bound(py)) };
    let args: Vec<Object<'py>> = args.iter().collect();
    overloads.call(py, &args, Some(kwargs).filter(|kwargs| !kwargs.is_empty()))
}

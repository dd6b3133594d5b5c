//! NumPy's functions as ours: `np.sin(x)` where x is one of our values (`__array_ufunc__`, `__array_function__`).

use porcini_core::{DType, Session, Value};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple};

use crate::components::{
    holds_components, is_row_of_complex, means_the_same, ufunc_means_the_same,
};
use crate::convert::{Given, python_number};
use crate::errors::OrRaise;
use crate::functions::{Overloads, find};
use crate::home;
use crate::lists;
use crate::object::{self, PyValue};
use crate::recursion::Level;

type Object<'py> = Bound<'py, PyAny>;

/// What a ufunc of NumPy means here; where there is nothing of the same meaning, what NumPy makes of the lanes.
pub(crate) fn of_ufunc<'py>(
    py: Python<'py>,
    ufunc: &Object<'py>,
    method: &str,
    inputs: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    let name: String = ufunc.getattr("__name__")?.extract()?;
    if let Some(done) = of_method(py, ufunc, (&name, method), inputs, kwargs)? {
        return Ok(done);
    }
    if method != "__call__" || kwargs.is_some_and(|kwargs| !kwargs.is_empty()) {
        return by_numpy(&ufunc.getattr(method)?, inputs, kwargs);
    }
    let is_complex = |input: Object<'_>| {
        input.cast::<PyValue>().is_ok_and(|value| lists::is_complex(&value.get().value()))
    };
    // NumPy refuses the size of complex numbers by this name; ours would be it.
    let is_refused = name == "fabs" && inputs.iter().any(is_complex);
    if is_refused || !ufunc_means_the_same(&name, inputs) {
        return by_numpy(ufunc, inputs, kwargs);
    }
    // The other side may be a list or an array of NumPy: ours goes first.
    let (session, all) = (home::session(py)?, inputs);
    let inputs = inputs.iter().map(|input| ours(session, &input));
    let mut inputs = inputs.collect::<PyResult<Vec<_>>>()?;
    if are_integers(&inputs) {
        match name.as_str() {
            // Ours of integers are floats; only powers that are known to be whole are integers.
            "power" if !is_count(&inputs[1]) => return by_numpy(ufunc, all, kwargs),
            "reciprocal" => return by_numpy(ufunc, all, kwargs),
            _ if !keeps_integers(ufunc)? => inputs = as_doubles(&inputs)?,
            _ => {}
        }
    }
    if name == "float_power" {
        // Doubles at least.
        inputs = as_doubles(&inputs)?;
    }
    if let Some(several) = several(py, &name, &inputs)? {
        return Ok(several);
    }
    let operator = OPERATORS.iter().find(|(known, _)| *known == name);
    if let Some((_, operator)) = operator {
        return py.import("operator")?.getattr(*operator)?.call1(PyTuple::new(py, inputs)?);
    }
    let name =
        UFUNCS.iter().find(|(known, _)| *known == name).map_or(name.as_str(), |(_, own)| own);
    match find(name) {
        Some(overloads) if overloads.is_lane_by_lane() => overloads.call(py, &inputs, None),
        _ => by_numpy(ufunc, all, kwargs),
    }
}

// ---- methods of ufuncs ----

/// Methods of ufuncs that are functions of NumPy: `np.add.reduce` is `np.sum`.
const METHODS: [(&str, &str, &str); 8] = [
    ("add", "reduce", "sum"),
    ("multiply", "reduce", "prod"),
    ("maximum", "reduce", "max"),
    ("minimum", "reduce", "min"),
    ("logical_or", "reduce", "any"),
    ("logical_and", "reduce", "all"),
    ("add", "accumulate", "cumsum"),
    ("multiply", "accumulate", "cumprod"),
];

/// What a method of a ufunc is here; None where there is nothing of the same meaning.
fn of_method<'py>(
    py: Python<'py>,
    ufunc: &Object<'py>,
    (name, method): (&str, &str),
    inputs: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Object<'py>>> {
    if method == "at" && inputs.get_item(0)?.is_instance_of::<PyValue>() {
        // NumPy would write to the memory, whoever shares it.
        return Err(PyTypeError::new_err(format!(
            "np.{name}.at: NumPy writes to no array of porcini: pc.scatter_add(x, v, i) and its like do"
        )));
    }
    if method == "outer" && kwargs.is_none_or(|kwargs| kwargs.is_empty()) {
        return outer(ufunc, inputs);
    }
    let known = METHODS.iter().find(|(of, known, _)| (*of, *known) == (name, method));
    let Some((.., function)) = known else { return Ok(None) };
    if n_axes(&inputs.get_item(0)?).is_none_or(|n| n == 0) {
        return Ok(None);
    }
    let along = PyDict::new(py);
    along.set_item("axis", 0)?;
    for (key, value) in kwargs.into_iter().flatten() {
        if !["axis", "keepdims"].contains(&&*key.to_string()) {
            return Ok(None);
        }
        along.set_item(key, value)?;
    }
    py.import("numpy")?.getattr(*function)?.call(inputs, Some(&along)).map(Some)
}

/// A ufunc of each entry of one with each of another; None unless both are arrays or tensors.
fn outer<'py>(ufunc: &Object<'py>, inputs: &Bound<'py, PyTuple>) -> PyResult<Option<Object<'py>>> {
    let session = home::session(ufunc.py())?;
    let inputs = inputs.iter().map(|input| ours(session, &input)).collect::<PyResult<Vec<_>>>()?;
    let [first, second] = &inputs[..] else { return Ok(None) };
    let (Some(_), Some(n)) = (n_axes(first), n_axes(second)) else { return Ok(None) };
    let mut shape: Vec<u64> = first.getattr("shape")?.extract()?;
    shape.extend(std::iter::repeat_n(1, n));
    let shape = PyTuple::new(ufunc.py(), shape)?;
    ufunc.call1((first.call_method1("reshape", (shape,))?, second)).map(Some)
}

/// How many axes an array or a tensor has; None of anything else.
fn n_axes(object: &Object<'_>) -> Option<usize> {
    match &*object.cast::<PyValue>().ok()?.get().value() {
        Value::Array(_) => Some(1),
        Value::Tensor(tensor) => Some(tensor.shape().rank()),
        Value::Nested(..) => None,
    }
}

/// What ufuncs with two results are.
fn several<'py>(
    py: Python<'py>,
    name: &str,
    inputs: &[Object<'py>],
) -> PyResult<Option<Object<'py>>> {
    let call = |name: &str, args: &[Object<'py>]| {
        find(name).expect("internal error: no such function").call(py, args, None)
    };
    let pair = match (name, inputs) {
        ("divmod", _) => [call("floor_divide", inputs)?, call("mod", inputs)?],
        ("modf", [x]) => {
            let whole = call("trunc", inputs)?;
            let rest = PyAnyMethods::sub(x, &whole)?;
            let zero = PyFloat::new(py, 0.0).into_any();
            let rest = call("select", &[call("isinf", inputs)?, zero, rest])?;
            [call("copysign", &[rest, x.clone()])?, whole]
        }
        ("frexp", [_]) => {
            let parts = call("frexp", inputs)?;
            let exponent = cast(&parts.get_item(1)?, |_| DType::I32)?;
            [parts.get_item(0)?, exponent]
        }
        _ => return Ok(None),
    };
    Ok(Some(PyTuple::new(py, pair)?.into_any()))
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

// ---- integers ----

/// Whether the values among operands are lanes of integers or truth values, and so is all beside them.
fn are_integers(operands: &[Object<'_>]) -> bool {
    operands.iter().all(|operand| match operand.cast::<PyValue>() {
        Ok(value) => value.get().value().leaves().iter().all(|leaf| !leaf.dtype().is_float()),
        Err(_) => operand.is_instance_of::<PyInt>(),
    })
}

fn is_count(exponent: &Object<'_>) -> bool {
    exponent.extract::<u32>().is_ok() && exponent.is_instance_of::<PyInt>()
}

/// Whether a ufunc gives integers or truth values of integers, by the types that it lists: `ii->i`.
fn keeps_integers(ufunc: &Object<'_>) -> PyResult<bool> {
    let types: Vec<String> = ufunc.getattr("types")?.extract()?;
    let is_int = |c: char| "?bBhHiIlLqQ".contains(c);
    Ok(types.iter().any(|of| of.split("->").all(|side| side.chars().all(is_int))))
}

/// NumPy takes integers to doubles where it computes in floats; ours would be floats of fewer digits.
fn as_doubles<'py>(operands: &[Object<'py>]) -> PyResult<Vec<Object<'py>>> {
    operands.iter().map(|operand| cast(operand, |_| DType::F64)).collect()
}

/// NumPy adds up and multiplies integers and truth values in 64 bits.
fn as_widest<'py>(operands: &[Object<'py>]) -> PyResult<Vec<Object<'py>>> {
    let widest = |dtype: DType| match dtype {
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => DType::U64,
        _ => DType::I64,
    };
    operands.iter().map(|operand| cast(operand, widest)).collect()
}

/// A value with lanes of the type that goes with its own; numbers as they are.
fn cast<'py>(object: &Object<'py>, dtype: impl Fn(DType) -> DType) -> PyResult<Object<'py>> {
    let Ok(value) = object.cast::<PyValue>() else { return Ok(object.clone()) };
    let value = value.get().value().clone();
    object::of(object.py(), value.cast(dtype(value.dtype())).or_raise()?)
}

// ---- functions ----

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
const OPERATORS: [(&str, &str); 27] = [
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
    ("fabs", "abs"),
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

/// Functions of NumPy that mean the same as ours of the name, or of another one. [`EXTREMES`] and [`OF_ROWS`] are more.
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
    ("unique", "unique"),
    ("sliding_window_view", "sliding_window_view"),
    ("nonzero", "nonzero"),
    ("searchsorted", "searchsorted"),
    ("interp", "interp"),
    ("cov", "cov"),
    ("corrcoef", "corrcoef"),
    ("trapezoid", "trapezoid"),
    ("allclose", "allclose"),
    ("isclose", "isclose"),
    ("average", "average"),
    ("nan_to_num", "nan_to_num"),
    ("zeros_like", "zeros_like"),
    ("ones_like", "ones_like"),
    ("full_like", "full_like"),
    ("diag", "diag"),
    ("nansum", "nansum"),
    ("nanmean", "nanmean"),
    ("nanmin", "nanmin"),
    ("nanmax", "nanmax"),
    ("nanmedian", "nanmedian"),
    ("nanvar", "nanvar"),
    ("nanstd", "nanstd"),
    ("nanquantile", "nanquantile"),
    ("nanpercentile", "nanpercentile"),
    ("count_nonzero", "count_nonzero"),
    ("real", "real"),
    ("imag", "imag"),
];

/// Those that add up or multiply, integers in 64 bits.
const WIDE: [&str; 5] = ["sum", "prod", "cumsum", "cumprod", "nansum"];

/// Those that are floats also of integers: doubles.
const DOUBLES: [&str; 17] = [
    "mean",
    "average",
    "median",
    "quantile",
    "percentile",
    "var",
    "std",
    "interp",
    "cov",
    "corrcoef",
    "trapezoid",
    "nanmean",
    "nanmedian",
    "nanvar",
    "nanstd",
    "nanquantile",
    "nanpercentile",
];

/// Those that ours go past NaN in, which NumPy's do not.
const EXTREMES: [(&str, &str); 4] =
    [("max", "hmax"), ("amax", "hmax"), ("min", "hmin"), ("amin", "hmin")];

/// Those that mean the same of arrays of one axis; of tensors NumPy's are about all entries in one row.
const OF_ROWS: [&str; 4] = ["tile", "repeat", "take", "outer"];

/// Those that the package has in Python, of the same parameters, and where.
const IN_PYTHON: [(&str, &str); 10] = [
    ("append", NAMES),
    ("insert", NAMES),
    ("delete", NAMES),
    ("column_stack", NAMES),
    ("array_split", NAMES),
    ("diagflat", NAMES),
    ("setxor1d", NAMES),
    ("copy", NAMES),
    ("dot", "porcini._as_numpy"),
    ("clip", "porcini._as_numpy"),
];

const NAMES: &str = "porcini._numpy_names";

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
    if kwargs.is_empty()
        && ["shape", "ndim", "size"].contains(&name.as_str())
        && args.len() == 1
        && args.get_item(0)?.is_instance_of::<PyValue>()
    {
        // Those of the object, as NumPy has them of any other. No lane is looked at.
        return args.get_item(0)?.getattr(name);
    }
    if let Some(done) = of_numpy_module(py, function, args, kwargs, &module, &name)? {
        return Ok(done);
    }
    by_numpy(function, args, Some(kwargs))
}

/// Ours of the same meaning; None where there is none, or where NumPy knows forms that ours does not.
fn of_numpy_module<'py>(
    py: Python<'py>,
    function: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    module: &str,
    name: &str,
) -> PyResult<Option<Object<'py>>> {
    let has_components = args.iter().any(|arg| holds_components(&arg));
    // Ours take components for lanes of their own; to NumPy they are an axis. Parts in a row are no entries to it.
    if has_components && !means_the_same(name, args.iter().chain(kwargs.values().iter()))
        || name == "ravel" && args.iter().any(|arg| is_row_of_complex(&arg))
    {
        return Ok(None);
    }
    let (is_linear, is_fourier) = (module == "numpy.linalg", module == "numpy.fft");
    let is_plain = !is_linear && !is_fourier;
    let extreme = EXTREMES.iter().find(|(known, _)| is_plain && *known == name);
    let is_of_rows = is_plain && OF_ROWS.contains(&name);
    let table = if is_linear { LINALG } else { NUMPY_FUNCTIONS };
    let listed = table.iter().find(|(known, _)| *known == name).map(|(_, own)| *own);
    let own = match extreme {
        Some((_, own)) => Some(*own),
        None if is_of_rows || is_fourier => Some(name),
        None => listed,
    };
    let in_python = IN_PYTHON.iter().find(|(known, _)| is_plain && *known == name);
    if let Some((_, module)) = in_python {
        let own = py.import(*module)?.getattr(name)?;
        return or_numpys(py, own.call(args, Some(kwargs)));
    }
    let Some(overloads) = own.and_then(find) else { return Ok(None) };
    let Some((mut args, named)) = by_names(function, args, kwargs)? else { return Ok(None) };
    let named = Some(&named).filter(|named| !named.is_empty());
    let is_along = |key: Object<'_>| ["axis", "keepdims"].contains(&&*key.to_string());
    let is_all_along = named.is_none_or(|named| named.keys().iter().all(is_along));
    if extreme.is_some() && !(is_all_along && args.first().is_some_and(is_plain_value)) {
        return Ok(None);
    }
    if is_of_rows && !args.iter().all(|arg| is_row_or_integers(arg))
        || name == "average" && !takes_weights(&args[0], named)?
    {
        return Ok(None);
    }
    let values: Vec<Object<'py>> =
        args.iter().filter(|arg| arg.is_instance_of::<PyValue>()).cloned().collect();
    if !values.is_empty() && are_integers(&values) {
        if is_plain && WIDE.contains(&name) {
            args = as_widest(&args)?;
        } else if !is_plain || DOUBLES.contains(&name) {
            args = as_doubles(&args)?;
        }
    }
    let done = match extreme {
        Some(_) => extreme_of(py, overloads, &args, named),
        None => overloads.call(py, &args, named),
    };
    match done {
        Err(error) if is_linear && error.is_instance_of::<PyValueError>(py) => {
            // Who catches what NumPy raises of a singular matrix catches ours.
            let class = py.import("numpy.linalg")?.getattr("LinAlgError")?;
            Err(PyErr::from_value(class.call1((error.value(py).to_string(),))?))
        }
        done => or_numpys(py, done),
    }
}

/// What ours gave; None where it does not take the arguments.
fn or_numpys<'py>(py: Python<'py>, done: PyResult<Object<'py>>) -> PyResult<Option<Object<'py>>> {
    match done {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(None),
        done => done.map(Some),
    }
}

/// The smallest or largest entry, NaN where one is.
fn extreme_of<'py>(
    py: Python<'py>,
    overloads: &Overloads,
    args: &[Object<'py>],
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    let found = overloads.call(py, args, named)?;
    let [x] = args else { return Ok(found) };
    let is_float = x.cast::<PyValue>().is_ok_and(|x| x.get().value().dtype().is_float());
    if !is_float {
        return Ok(found);
    }
    let call = |name: &str, args: &[Object<'py>], named| {
        find(name).expect("internal error: no such function").call(py, args, named)
    };
    // A count is recorded; any would look at the entries.
    let n_nan = call("hsum", &[call("isnan", args, None)?], named)?;
    let is_nan = n_nan.rich_compare(0, CompareOp::Gt)?;
    call("select", &[is_nan, PyFloat::new(py, f64::NAN).into_any(), found], None)
}

/// Whether an object is an array or a tensor of ours, of real numbers.
fn is_plain_value(object: &Object<'_>) -> bool {
    object.cast::<PyValue>().is_ok_and(|value| match &*value.get().value() {
        Value::Array(_) => true,
        Value::Tensor(tensor) => !tensor.is_complex(),
        Value::Nested(..) => false,
    })
}

/// Whether NumPy takes the weights of an average: without an axis as many as there are entries.
fn takes_weights(x: &Object<'_>, named: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    let Some(named) = named.filter(|named| !named.contains("axis").unwrap_or(true)) else {
        return Ok(true);
    };
    let Some(weights) = named.get_item("weights")? else { return Ok(true) };
    let shape = x.py().import("numpy")?.getattr("shape")?;
    shape.call1((x,))?.eq(shape.call1((weights,))?)
}

/// Whether an object is an array of one axis, or an integer or several.
fn is_row_or_integers(object: &Object<'_>) -> bool {
    match object.cast::<PyValue>() {
        Ok(value) => matches!(&*value.get().value(), Value::Array(_)),
        Err(_) => object.extract::<i64>().is_ok() || object.extract::<Vec<i64>>().is_ok(),
    }
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
        return lists::to_numpy(value, None, false);
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

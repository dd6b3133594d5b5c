//! What calls of some functions mean in Python alone: before core's tables are asked, and where these do not take them.

use porcini_core::tensor::Tensor;
use porcini_core::value::{Form, power};
use porcini_core::{DType, Scalar, Value};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyTuple, PyType};

use crate::convert::{Given, is_sequence, number, python_number};
use crate::errors::OrRaise;
use crate::functions::{Overloads, by_name, find};
use crate::home;
use crate::object::{self, PyValue, common_dtype, dtype_of};

type Object<'py> = Bound<'py, PyAny>;
type Named<'n, 'py> = Option<&'n Bound<'py, PyDict>>;

/// A call of a function.
pub(crate) struct Call<'c, 'py> {
    pub(crate) overloads: &'c Overloads,
    pub(crate) py: Python<'py>,
    pub(crate) args: &'c [Object<'py>],
    pub(crate) named: Named<'c, 'py>,
}

impl<'py> Call<'_, 'py> {
    /// What `porcini/_forms.py` makes of it.
    fn in_python(&self) -> PyResult<Option<Object<'py>>> {
        by_python(self.py, self.overloads.name, self.args, self.named)
    }

    /// An argument by its name, or in its place.
    fn argument(&self, name: &str, place: usize) -> PyResult<Option<Object<'py>>> {
        let named = self.named.map(|named| named.get_item(name)).transpose()?.flatten();
        Ok(named.or_else(|| self.args.get(place).cloned()))
    }
}

/// What a call means before the tables are asked; `None` leaves it to them.
pub(crate) type First = for<'py> fn(&Call<'_, 'py>) -> PyResult<Option<Object<'py>>>;

/// Names of functions with what their calls mean first.
pub(crate) const FIRST: [(&str, First); 62] = [
    ("real", itself),
    ("conj", itself),
    ("imag", zeros),
    ("pow", whole_power),
    ("nonzero", as_tuple),
    ("cho_solve", with_a_tuple),
    ("block_diag", of_numbers),
    ("fftconvolve", as_long_as_the_first),
    ("select", of_several),
    ("take_along_axis", in_one_row),
    ("cov", of_matrix_beside),
    ("polyfit", of_matrix_beside),
    ("concat", joined),
    ("sort", in_one_row),
    ("sort_desc", in_one_row),
    ("argsort", in_one_row),
    ("argsort_desc", in_one_row),
    ("take", in_one_row),
    ("repeat", in_one_row),
    ("compress", with_mask_first),
    ("softmax", along_axes),
    ("log_softmax", along_axes),
    ("ravel", of_entries),
    ("flatten", of_entries),
    ("psum", of_entries),
    ("cumsum", of_entries),
    ("cumprod", of_entries),
    ("convolve", of_entries),
    ("correlate", of_entries),
    ("roots", of_entries),
    ("split", between),
    ("trace", of_first_axes),
    ("equal", as_operator),
    ("not_equal", as_operator),
    ("tensordot", of_pair),
    ("norm", with_axis_second),
    ("diff", with_times_second),
    ("average", with_weights_second),
    ("unique", with_flag_second),
    ("bincount", with_weights_by_name),
    ("zeros_like", of_components),
    ("ones_like", of_components),
    ("full_like", of_components),
    ("hsum", of_vector),
    ("hprod", of_vector),
    ("hmin", of_vector),
    ("hmax", of_vector),
    ("hmean", of_vector),
    ("min", of_vector),
    ("max", of_vector),
    ("all", of_vector),
    ("any", of_vector),
    ("meshgrid", of_many),
    ("gather", with_class),
    ("reshape", with_class),
    ("rotate", with_class),
    ("scatter", of_flat_target),
    ("scatter_add", of_flat_target),
    ("scatter_min", of_flat_target),
    ("scatter_max", of_flat_target),
    ("scatter_and", of_flat_target),
    ("scatter_or", of_flat_target),
];

/// Whether an object is one of Python's integers.
fn is_integer(object: &Object<'_>) -> bool {
    object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>()
}

/// How many axes an object says that it has.
fn n_axes(object: &Object<'_>) -> Option<usize> {
    object.getattr(intern!(object.py(), "ndim")).ok()?.extract().ok()
}

/// Whether an object is an integer, also one of another library: the number of an axis, an extent.
pub(crate) fn is_index(object: &Object<'_>) -> bool {
    let is_other = object.is_instance_of::<PyBool>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyValue>();
    is_integer(object)
        || !is_other && n_axes(object).is_none_or(|n| n == 0) && object.extract::<i64>().is_ok()
}

// ---- the smallest and the largest ----

/// With one argument these are about all lanes, with an axis or a tuple of axes behind it about those along them.
const OF_ALL: [(&str, &str); 2] = [("min", "hmin"), ("max", "hmax")];

/// The reduction that a function is, by its name, where it gets one array.
pub(crate) fn reduction(name: &str) -> Option<&'static Overloads> {
    OF_ALL.iter().find(|(known, _)| *known == name).and_then(|(_, reduction)| find(reduction))
}

/// The reduction that a call is: `max(x, 0)` goes along an axis, as in NumPy; an array or a float is the other operand.
pub(crate) fn along_axis(name: &str, args: &[Object<'_>]) -> Option<&'static Overloads> {
    let reduction = reduction(name)?;
    let [first, second, ..] = args else { return None };
    let are_axes = match second.cast::<PyTuple>() {
        Ok(axes) => !axes.is_empty() && axes.iter().all(|axis| is_index(&axis)),
        Err(_) => second.is_none() || is_index(second),
    };
    (are_axes && has_axes(first)).then_some(reduction)
}

/// Whether an object has axes to go along: no number has, also none of NumPy, and no value with components.
fn has_axes(object: &Object<'_>) -> bool {
    match object.cast::<PyValue>() {
        Ok(value) => matches!(value.get().value().form(), Form::Scalar | Form::Tensor),
        Err(_) => !number(object).is_ok_and(|number| number.is_some()) && n_axes(object) != Some(0),
    }
}

/// What help says before all else of a function that goes along an axis in Python alone.
pub(crate) fn form_along_axis(name: &str) -> Option<(String, String)> {
    const ORDERS: [(&str, &str, &str); 2] = [
        ("min", "Smallest", "\n>> min(TensorXfC([[1, 5], [4, 2]]), 0)\n[1, 2]"),
        ("max", "Largest", "\n>> max(TensorXfC([[1, 5], [4, 2]]), 0)\n[4, 5]"),
    ];
    let (name, order, example) = ORDERS.iter().find(|(known, ..)| *known == name)?;
    let what = format!(
        "{order} entry, of all or along axes; NaN is ignored. An integer in second place is an axis, as in NumPy, and a\n\
         tuple of integers several: an array or a float there is the other operand, and {name}imum(a, 3) takes any. Of\n\
         vectors and matrices, which have no axes, any number is.\n{example}"
    );
    Some(("(t, axes=None, keepdims=False)".into(), what))
}

// ---- real numbers as complex ones ----

/// The only argument, if it is real.
fn real<'py>(args: &[Object<'py>], named: Named<'_, 'py>) -> PyResult<Option<Given>> {
    let ([x], None) = (args, named) else { return Ok(None) };
    let given = Given::of(home::session(x.py())?, x)?;
    Ok(given.filter(|given| match given {
        Given::Value(Value::Array(_)) | Given::Number(_) => true,
        Given::Value(Value::Tensor(tensor)) => !tensor.is_complex(),
        Given::Value(Value::Nested(..)) | Given::Numbers(_) | Given::Complex(..) => false,
    }))
}

/// What a real number is of itself: its real part, its conjugate.
fn itself<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match real(call.args, call.named)? {
        Some(Given::Value(value)) => object::of(call.py, value).map(Some),
        Some(Given::Number(number)) => Ok(Some(python_number(call.py, number))),
        _ => Ok(None),
    }
}

/// The imaginary part of a real number.
fn zeros<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let py = call.py;
    match real(call.args, call.named)? {
        Some(Given::Value(value)) => {
            by_name(py, "zeros_like", &[&object::of(py, value)?]).map(Some)
        }
        Some(Given::Number(Scalar::Float(_))) => Ok(Some(python_number(py, Scalar::Float(0.0)))),
        Some(Given::Number(_)) => Ok(Some(python_number(py, Scalar::Int(0)))),
        _ => Ok(None),
    }
}

// ---- powers ----

/// `pow(x, 3)` is `x ** 3`: by repeated squaring, exact for integers.
fn whole_power<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let Call { py, args, named, .. } = *call;
    let ([base, exponent], None) = (args, named) else { return Ok(None) };
    if !is_integer(exponent) {
        return Ok(None);
    }
    if is_integer(base) && exponent.ge(0)? {
        return base.pow(exponent, py.None()).map(Some);
    }
    match Given::of(home::session(py)?, base)? {
        Some(Given::Value(base)) => {
            object::of(py, power("pow", &base, exponent.extract()?).or_raise()?).map(Some)
        }
        _ => Ok(None),
    }
}

// ---- axes and lists ----

/// As one of Python's tuples, which `t[..]` takes as an index for each axis.
fn as_tuple<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let found = call.overloads.called(call.py, call.args, call.named)?;
    Ok(Some(match found.cast::<PyList>() {
        Ok(list) => list.to_tuple().into_any(),
        Err(_) => found,
    }))
}

/// `concat([a, b], 0)` joins along an axis: to the tables a list in front of a number may also be a vector.
fn joined<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let Call { overloads, py, args, named } = *call;
    if let ([list, axis], None) = (args, named)
        && is_sequence(list)
        && is_index(axis)
    {
        let named = PyDict::new(py);
        named.set_item("axis", axis)?;
        return overloads.called(py, &args[..1], Some(&named)).map(Some);
    }
    in_one_row(call)
}

/// axis=None is about all entries in one row; to the tables it is an axis that is left out.
fn in_one_row<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let Call { overloads, py, args, named } = *call;
    let place = overloads.place_of("axis").unwrap_or(usize::MAX);
    let by_word = named.map(|named| named.get_item("axis")).transpose()?.flatten();
    let axis = by_word.as_ref().or_else(|| args.get(place));
    let (true, Some(first)) = (axis.is_some_and(|axis| axis.is_none()), args.first()) else {
        return Ok(None);
    };
    let is_list = overloads.name == "concat" && is_sequence(first);
    let rows = match is_list {
        true => first.try_iter()?.collect::<PyResult<Vec<_>>>()?,
        false => vec![first.clone()],
    };
    let (session, common) = (home::session(py)?, common_dtype(&rows));
    // Complex numbers are a row of lanes, their parts no entries.
    let row = |x: &Object<'py>| match Given::beside(session, x, || common)? {
        Some(Given::Value(value)) if value.form() != Form::Complex => {
            by_name(py, "ravel", &[&object::of(py, value)?])
        }
        _ => Ok(x.clone()),
    };
    let mut rows = rows.iter().map(row).collect::<PyResult<Vec<_>>>()?;
    let first = if is_list { PyList::new(py, rows)?.into_any() } else { rows.swap_remove(0) };
    let others = args.iter().enumerate().skip(1).filter(|(i, _)| *i != place);
    let args: Vec<Object<'py>> =
        std::iter::once(first).chain(others.map(|(_, arg)| arg.clone())).collect();
    let rest = named.map(|named| named.copy()).transpose()?;
    if let (Some(rest), true) = (&rest, by_word.is_some()) {
        rest.del_item("axis")?;
    }
    overloads.called(py, &args, rest.as_ref().filter(|rest| !rest.is_empty())).map(Some)
}

/// `compress(mask, x, 0)` has the mask in front, as NumPy has it: of two masks the one with fewer axes.
fn with_mask_first<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let is_mask = |x: &Object<'_>| dtype_of(x) == Some(DType::Mask);
    match call.args {
        [mask, x, ..] if is_mask(mask) && is_mask(x) && n_axes(mask) < n_axes(x) => {
            call.in_python()
        }
        _ => in_one_row(call),
    }
}

/// Along all axes, or several, as `porcini/_forms.py` has it; to the tables an axis that is left out is the last one.
fn along_axes<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.argument("axis", 1)? {
        Some(axes) if axes.is_none() || is_sequence(&axes) => call.in_python(),
        _ => Ok(None),
    }
}

// ---- what stands in second place ----

/// `tensordot(a, b, (0, 1))` is an axis of each: to the tables a list is about the first alone.
fn of_pair<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.argument("axes", 2)? {
        Some(axes) if is_sequence(&axes) => call.in_python(),
        _ => Ok(None),
    }
}

/// `unique(x, True)` asks for more than the values, as NumPy has it; to the tables an axis is in its place.
fn with_flag_second<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.args.get(1) {
        Some(flag) if flag.is_instance_of::<PyBool>() => call.in_python(),
        _ => Ok(None),
    }
}

/// `diff(x, 2, 0)` has how often in front of the axis, as NumPy has it; to the tables it stands behind.
fn with_times_second<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let has_times = call.named.map(|named| named.contains("n")).transpose()?.unwrap_or(false);
    if has_times || call.args.len() > 2 {
        return call.in_python();
    }
    with_axis_second(call)
}

/// An axis that there is not, where NumPy has something else in its place.
fn with_axis_second<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let ([x, axis], None) = (call.args, call.named) else { return Ok(None) };
    if !is_integer(axis) || !has_axes(x) || !x.is_instance_of::<PyValue>() {
        return Ok(None);
    }
    let (n, name) = (n_axes(x).unwrap_or_default(), call.overloads.name);
    let ends = i64::try_from(n)?;
    if (-ends..ends).contains(&axis.extract()?) {
        return Ok(None);
    }
    let (what, word) = if name == "norm" { ("the order", "ord") } else { ("how often", "n") };
    Err(PyValueError::new_err(format!(
        "{name}: got axis {axis} of {n} axes; {what} is {name}(x, {word}={axis})"
    )))
}

fn with_weights_second<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.args.get(1) {
        Some(given) if number(given)?.is_some() => Err(PyTypeError::new_err(format!(
            "average: got {given} as weights, expected an array; an axis is average(x, axis={given})"
        ))),
        _ => Ok(None),
    }
}

/// `bincount(x, weights=2)` weighs all lanes alike; to the tables a number alone in second place is how many integers there are.
fn with_weights_by_name<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let Some(named) = call.named else { return Ok(None) };
    let Some(weight) = named.get_item("weights")? else { return Ok(None) };
    // Numbers of other libraries have no axes.
    let is_number = number(&weight)?.is_some()
        || !weight.is_instance_of::<PyValue>() && n_axes(&weight) == Some(0);
    if !is_number {
        return Ok(None);
    }
    let named = named.copy()?;
    named.set_item("weights", [weight])?;
    call.overloads.called(call.py, call.args, Some(&named)).map(Some)
}

/// As == and !=, which masks and values with components have, too.
fn as_operator<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let how = if call.overloads.name == "equal" { CompareOp::Eq } else { CompareOp::Ne };
    let is_value = |x: &Object<'_>| x.is_instance_of::<PyValue>();
    match (call.args, call.named) {
        ([a, b], None) if is_value(a) && (is_value(b) || number(b)?.is_some()) => {
            a.rich_compare(b, how).map(Some)
        }
        _ => Ok(None),
    }
}

// ---- complex entries ----

/// Python's complex numbers alone, which are one lane each; the result is a number again.
pub(crate) fn of_complex_numbers<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let Call { overloads, py, args, named } = *call;
    let is_complex = |x: &Object<'_>| x.is_instance_of::<PyComplex>();
    let is_number = |x| is_complex(x) || number(x).is_ok_and(|number| number.is_some());
    let is_meant = args.iter().any(is_complex) && overloads.is_lane_by_lane();
    if !is_meant || named.is_some() || !args.iter().all(is_number) {
        return Ok(None);
    }
    let class = py.import("porcini")?.getattr("Complex2d")?;
    let lanes = args.iter().map(|x| match x.cast::<PyComplex>() {
        Ok(z) => class.call1((z.real(), z.imag())),
        Err(_) => Ok(x.clone()),
    });
    let found = overloads.call(py, &lanes.collect::<PyResult<Vec<_>>>()?, None)?;
    if found.is_instance_of::<PyValue>() {
        found.call_method0("item").map(Some)
    } else {
        Ok(Some(found))
    }
}

fn is_complex_number(object: &Object<'_>) -> bool {
    let form = |value: &Bound<'_, PyValue>| value.get().value().form();
    object.is_instance_of::<PyComplex>()
        || object.cast::<PyValue>().is_ok_and(|value| form(value) == Form::Complex)
}

/// Complex entries in one row are a tensor here, where `z[0]` is the first: to the tables they are lanes, of which `z[0]`
/// would be the real parts. Lanes stay lanes.
fn of_entries<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let named = call.named.map(|named| named.values().iter().collect()).unwrap_or_default();
    if [call.args.to_vec(), named].concat().iter().any(is_complex_number) {
        return Ok(None);
    }
    let found = match call.overloads.called(call.py, call.args, call.named) {
        // Other forms may take the arguments.
        Err(error) if error.is_instance_of::<PyTypeError>(call.py) => return Ok(None),
        found => found?,
    };
    let value = found.cast::<PyValue>().map(|found| found.get().value().clone());
    let Ok(Value::Nested(Form::Complex, parts)) = value else { return Ok(Some(found)) };
    let [Value::Array(real), Value::Array(imag)] = &parts[..] else { return Ok(Some(found)) };
    let row = Tensor::complex(real, imag, &[real.size()]).or_raise()?;
    object::of(call.py, Value::Tensor(row)).map(Some)
}

/// Parts between places, and those of complex lanes, as `porcini/_forms.py` has them.
fn between<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.args.get(1) {
        Some(places) if !is_index(places) => call.in_python(),
        _ => of_lanes(call),
    }
}

/// Of many matrices NumPy means the first two axes. A value with components is one matrix a lane.
fn of_first_axes<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.args {
        [x] if has_axes(x) && n_axes(x).is_some_and(|n| n > 2) => call.in_python(),
        _ => Ok(None),
    }
}

/// Complex lanes as `porcini/_forms.py` has them.
fn of_lanes<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.args.first() {
        Some(z) if is_complex_number(z) => call.in_python(),
        _ => Ok(None),
    }
}

// ---- what the tables do not take ----

/// A pair in one argument, as SciPy has (c, True).
fn with_a_tuple<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.args.first() {
        Some(pair) if pair.is_instance_of::<PyTuple>() => call.in_python(),
        _ => Ok(None),
    }
}

/// `select([a, b], [x, y], 0)` has lists of conditions and of choices, as NumPy has it; to the tables lists are lanes.
fn of_several<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let [conditions, choices, ..] = call.args else { return Ok(None) };
    if !conditions.is_instance_of::<PyList>() || !is_sequence(choices) {
        return Ok(None);
    }
    let are_arrays =
        conditions.get_item(0).is_ok_and(|first| n_axes(&first).is_some_and(|n| n > 0));
    if are_arrays { call.in_python() } else { Ok(None) }
}

/// "same" has the length of the first, as SciPy has it; to the tables that of the longer one. These take no several axes.
fn as_long_as_the_first<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    if call.args.iter().take(2).any(|x| n_axes(x).is_some_and(|n| n > 1) && !is_complex_number(x)) {
        return call.in_python();
    }
    match call.argument("mode", 2)? {
        Some(mode) if mode.extract::<&str>().is_ok_and(|mode| mode == "same") => call.in_python(),
        _ => Ok(None),
    }
}

/// Of two of which one is a matrix, where the tables have two arrays.
fn of_matrix_beside<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let second = call.argument("y", 1)?.filter(|second| !second.is_none());
    match (call.args.first(), second) {
        (Some(first), Some(second)) if is_matrix(first) || is_matrix(&second) => call.in_python(),
        _ => Ok(None),
    }
}

fn is_matrix(x: &Object<'_>) -> bool {
    has_axes(x) && n_axes(x).is_some_and(|n| n > 1)
}

/// Numbers in lists are one block; to the tables each item is one.
fn of_numbers<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let [list] = call.args else { return Ok(None) };
    let is_plain =
        is_sequence(list) && list.get_item(0).is_ok_and(|item| !item.is_instance_of::<PyValue>());
    if is_plain { call.in_python() } else { Ok(None) }
}

/// Vectors, matrices and complex numbers are filled by their class; the tables know arrays and tensors.
fn of_components<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let value = call.args.first().and_then(|first| first.cast::<PyValue>().ok());
    if value.is_some_and(|value| matches!(&*value.get().value(), Value::Nested(..))) {
        call.in_python()
    } else {
        Ok(None)
    }
}

/// A vector has axes of components and of lanes, as Dr.Jit has it; the tables know those of tensors.
fn of_vector<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let Some(Ok(value)) = call.args.first().map(|first| first.cast::<PyValue>()) else {
        return Ok(None);
    };
    if !value.get().value().form().is_vector() {
        return Ok(None);
    }
    // Of the smallest of two the second is none.
    let of_all = reduction(call.overloads.name);
    let place = if of_all.is_some() { usize::MAX } else { 1 };
    if call.argument("axis", place)?.is_none() {
        return Ok(None);
    }
    by_python(call.py, of_all.unwrap_or(call.overloads).name, call.args, call.named)
}

/// Of more than two in NumPy's order; in the tables the first runs fastest, which is the same of two.
fn of_many<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    if call.args.len() > 2 { call.in_python() } else { Ok(None) }
}

/// Whether a form of the tables means something else in Python, which help of that says.
pub(crate) fn is_replaced(name: &str, parameters: &str) -> bool {
    (name, parameters) == ("meshgrid", "(x, y, z)")
}

/// With a class in front, as Dr.Jit has it.
fn with_class<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    match call.args.first() {
        Some(class) if class.is_instance_of::<PyType>() => call.in_python(),
        _ => Ok(None),
    }
}

/// Components side by side into an array, as Dr.Jit writes them.
fn of_flat_target<'py>(call: &Call<'_, 'py>) -> PyResult<Option<Object<'py>>> {
    let [target, value, ..] = call.args else { return Ok(None) };
    let form = |x: &Object<'_>| x.cast::<PyValue>().ok().map(|x| x.get().value().form());
    let has_components = |form| !matches!(form, Form::Scalar | Form::Tensor);
    if form(target) == Some(Form::Scalar) && form(value).is_some_and(has_components) {
        call.in_python()
    } else {
        Ok(None)
    }
}

/// What help says of a form in Python that a function has.
pub(crate) fn form_in_python(py: Python<'_>, name: &str) -> Option<(String, String)> {
    let forms = py.import("porcini._forms").ok()?;
    forms.call_method1("described", (name,)).ok()?.extract().ok()
}

/// What `porcini/_forms.py` makes of a call that the tables do not take: sum(x, dtype=..), split(x, [2, 5]).
pub(crate) fn by_python<'py>(
    py: Python<'py>,
    name: &str,
    args: &[Object<'py>],
    named: Named<'_, 'py>,
) -> PyResult<Option<Object<'py>>> {
    let named = named.cloned().unwrap_or_else(|| PyDict::new(py));
    let args = (name, PyTuple::new(py, args)?, named);
    let done = py.import("porcini._forms")?.call_method1("called", args)?;
    Ok(Some(done).filter(|done| !done.is(py.NotImplemented())))
}

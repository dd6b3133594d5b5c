//! Arguments of functions of the catalogue, by the kinds of their parameters.

use porcini_core::catalogue::{Kind, Row};
use porcini_core::tensor::Tensor;
use porcini_core::value::{Argument, Form};
use porcini_core::{DType, Scalar, Session, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{self, Given, integers, is_sequence};
use crate::errors::{OrRaise, got, wrong_type};
use crate::names::as_python;
use crate::object::{PyValue, common_dtype, dtype_of};

type Object<'py> = Bound<'py, PyAny>;

pyo3::create_exception!(
    porcini,
    Unfit,
    PyTypeError,
    "An argument that a form of a function does not take."
);

/// An error of arguments as users see it: that a form does not take something is between forms.
pub(crate) fn told(py: Python<'_>, error: PyErr) -> PyErr {
    match error.is_instance_of::<Unfit>(py) {
        true => PyTypeError::new_err(error.value(py).to_string()),
        false => error,
    }
}

/// Whether a row has parameters with these names that are not given by place.
pub(crate) fn takes_names(row: &Row, n_placed: usize, named: Option<&Bound<'_, PyDict>>) -> bool {
    let Some(named) = named else { return true };
    let open = row.parameters.get(n_placed..).unwrap_or_default();
    named.keys().iter().all(|key| {
        let key = key.to_string();
        open.iter().any(|(name, _)| is_called(name, &key))
    })
}

/// Parameters are called as in scripts, or as NumPy calls them.
pub(crate) fn is_called(parameter: &str, key: &str) -> bool {
    parameter == key || parameter == "axes" && key == "axis" || parameter == "axis" && key == "axes"
}

/// Arguments by the kinds of the parameters.
pub(crate) fn arguments(
    session: &Session,
    row: &'static Row,
    args: &[Object<'_>],
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Given>> {
    let mut given = Vec::with_capacity(row.parameters.len());
    let value_of = |name: &str| -> PyResult<Option<Object<'_>>> {
        let Some(named) = named else { return Ok(None) };
        let entries = named.iter();
        Ok(entries
            .into_iter()
            .find(|(key, _)| is_called(name, &key.to_string()))
            .map(|(_, value)| value))
    };
    let beside = dtype_beside(args, named);
    // Parameters that are left out before one that is given.
    let mut gaps = Vec::new();
    for (i, &(name, kind)) in row.parameters.iter().enumerate() {
        let object = match args.get(i) {
            Some(object) => Some(object.clone()),
            None => value_of(name)?,
        };
        let is_optional = i >= row.n_required;
        // What may be left out is None, as NumPy has it.
        let Some(object) = object.filter(|object| !(is_optional && object.is_none())) else {
            gaps.push((name, kind, is_optional));
            continue;
        };
        for (open, kind, is_optional) in gaps.drain(..) {
            if !is_optional {
                return Err(PyTypeError::new_err(format!(
                    "{}: got {name} without {open}, which stands before it: {}{}",
                    row.name,
                    row.name,
                    row.signature()
                )));
            }
            given.push(Given::Number(Scalar::Bool(!matches!(kind, Kind::Bool(_)))));
        }
        if kind == Kind::List {
            given.extend(list(session, row.name, &object)?);
        } else {
            given.push(argument(session, row, name, kind, &object, beside)?);
        }
    }
    Ok(given)
}

/// The type of the numbers beside a list, wherever they stand: that of floats, else the first's.
fn dtype_beside(args: &[Object<'_>], named: Option<&Bound<'_, PyDict>>) -> Option<DType> {
    let named = named.into_iter().flat_map(|named| named.values());
    let dtypes: Vec<DType> =
        args.iter().cloned().chain(named).filter_map(|arg| dtype_of(&arg)).collect();
    let floats = dtypes.iter().copied().filter(|dtype| dtype.is_float());
    let common = floats.reduce(|a, b| a.promote(b).unwrap_or(a));
    common.or_else(|| dtype_of(args.first()?))
}

fn argument(
    session: &Session,
    row: &'static Row,
    name: &str,
    kind: Kind,
    object: &Object<'_>,
    beside: Option<DType>,
) -> PyResult<Given> {
    let op = row.name;
    // To lists of numbers nothing is floats, to an index no numbers.
    if name == "index" && is_sequence(object) && object.len()? == 0 {
        let none = session.zeros(DType::I64, 0).or_raise()?;
        return Ok(Given::Value(none.into()));
    }
    let unfit = |expected: &str| {
        let takes = format!("it takes {op}{}", row.signature());
        Unfit::new_err(format!("{op}: got {} as {name}, expected {expected}; {takes}", got(object)))
    };
    let number = |expected: &str| match convert::number(object)? {
        Some(number) => Ok(number),
        None => match Given::of(session, object)? {
            Some(Given::Number(number)) => Ok(number),
            _ => Err(unfit(expected)),
        },
    };
    let given = match kind {
        Kind::Value | Kind::Each | Kind::Mask | Kind::Tensor => {
            match digits(session, object, beside)? {
                Some(Given::Value(value)) if kind == Kind::Tensor => {
                    Given::Value(with_an_axis(value)?)
                }
                Some(given) => given,
                None => return Err(unfit("an array")),
            }
        }
        Kind::Target | Kind::Marked => match object.cast::<PyValue>() {
            Ok(_) => Given::expected(session, op, object)?,
            Err(_) => return Err(unfit("an array of porcini, which is written")),
        },
        Kind::Operand | Kind::List => match Given::beside(session, object, || beside)? {
            Some(given) => given,
            None => return Err(unfit("an array or a number")),
        },
        Kind::Axes => integers(op, "an axis or a list of axes", object)?,
        Kind::Integers(what) => integers(op, what, object)?,
        Kind::Array | Kind::Index | Kind::Active => match digits(session, object, beside)? {
            // An index has any shape, and a mask that of the index.
            Some(Given::Value(value @ Value::Tensor(_)))
                if name == "index" || kind == Kind::Active =>
            {
                Given::Value(as_line(op, value.clone()).unwrap_or(value))
            }
            Some(Given::Value(value)) => Given::Value(as_line(op, value)?),
            Some(Given::Number(Scalar::Int(i))) if kind == Kind::Index => {
                Given::Number(Scalar::Int(i))
            }
            Some(Given::Number(all @ Scalar::Bool(_))) if kind == Kind::Active => {
                Given::Number(all)
            }
            _ => return Err(unfit("an array")),
        },
        Kind::Integer | Kind::Count(_) => match number("an integer")? {
            Scalar::Bool(truth) => Given::Number(Scalar::Int(truth.into())),
            number @ (Scalar::Int(_) | Scalar::UInt(_)) => {
                if matches!((kind, number), (Kind::Count(_), Scalar::Int(..0))) {
                    return Err(PyValueError::new_err(format!(
                        "{op}: got {number} as {name}, expected 0 or more"
                    )));
                }
                Given::Number(number)
            }
            Scalar::Float(_) => return Err(unfit("an integer")),
        },
        Kind::Numbers(_) if is_sequence(object) => {
            let numbers = object
                .try_iter()?
                .map(|item| convert::number(&item?)?.ok_or_else(|| unfit("numbers")));
            Given::Numbers(numbers.collect::<PyResult<_>>()?)
        }
        Kind::Numbers(_) => Given::expected(session, op, object)?,
        Kind::Number(_) => match number("a number")? {
            Scalar::Bool(_) => return Err(unfit("a number")),
            number => Given::Number(number),
        },
        Kind::Scalar(_) => Given::Number(number("a number")?),
        Kind::Bool(_) => {
            Given::Number(Scalar::Bool(object.extract().map_err(|_| unfit("True or False"))?))
        }
        Kind::Word(words) => {
            let word = object.extract::<String>().ok();
            let place = words.iter().position(|known| word.as_deref() == Some(known));
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let place = place.ok_or_else(|| unfit(&quoted.join(" or ")))?;
            Given::Number(Scalar::UInt(place as u64))
        }
    };
    Ok(given)
}

/// What an object is; a list of floats with the digits of the arguments beside it. One of integers may be an index.
fn digits(
    session: &Session,
    object: &Object<'_>,
    beside: Option<DType>,
) -> PyResult<Option<Given>> {
    let given = Given::of(session, object)?;
    let are_floats = matches!(&given, Some(Given::Value(value)) if value.dtype().is_float());
    if are_floats && is_sequence(object) {
        return Given::beside(session, object, || beside);
    }
    Ok(given)
}

/// A complex number of one lane as the only entry along an axis, as an array of one lane is.
fn with_an_axis(value: Value) -> PyResult<Value> {
    match &value {
        Value::Nested(Form::Complex, _) if value.lanes() == Some(1) => {
            let tensor = Argument::from(&value).to_tensor("tensor").or_raise()?;
            tensor.reshape(&[1]).map(Value::Tensor).or_raise()
        }
        _ => Ok(value),
    }
}

/// A tensor of one axis is an array.
fn as_line(op: &str, value: Value) -> PyResult<Value> {
    match value {
        Value::Tensor(tensor) if tensor.shape().rank() <= 1 && !tensor.is_complex() => {
            Ok(tensor.entries().or_raise()?.swap_remove(0).into())
        }
        Value::Array(array) => Ok(array.into()),
        other => {
            let is_complex = matches!(&other, Value::Tensor(tensor) if tensor.is_complex());
            let of = if is_complex { " of real numbers" } else { "" };
            let got = other.type_name();
            let got = as_python(&got);
            Err(wrong_type(format!("{op}: got {got}, expected a one-dimensional array{of}")))
        }
    }
}

/// The items of a list of arrays; numbers, and lists of such, meet the type that the arrays have in common.
fn list(session: &Session, op: &str, object: &Object<'_>) -> PyResult<Vec<Given>> {
    if !is_sequence(object) {
        return Ok(vec![Given::expected(session, op, object)?]);
    }
    let objects = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let common = common_dtype(&objects);
    let given = objects.iter().map(|item| Given::expected_beside(session, op, item, || common));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let is_complex = |given: &Given| matches!(given, Given::Value(Value::Nested(Form::Complex, _)));
    let are_complex = given.iter().any(is_complex);
    given.into_iter().map(|given| with_lanes(session, common, are_complex, given)).collect()
}

/// A number as one lane, or entry, of the type in which it meets others; `are_complex` if these are complex lanes.
fn with_lanes(
    session: &Session,
    common: Option<DType>,
    are_complex: bool,
    given: Given,
) -> PyResult<Given> {
    let lane = |number: Scalar| {
        // Truth values are numbers to masks alone.
        let is_truth = matches!(number, Scalar::Bool(_));
        let fits = |met: &DType| (*met == DType::Mask) == is_truth && met.encode(number).is_ok();
        let met = common.map(|common| common.meet(number)).filter(fits);
        let dtype = met.unwrap_or_else(|| convert::dtype_of(number));
        session.full(dtype, number, 1).or_raise()
    };
    let parts = match given {
        Given::Number(number) if !are_complex => {
            return Ok(Given::Value(lane(number)?.into()));
        }
        Given::Number(number) => [number.to_f64(), 0.0],
        Given::Complex(re, im) => [re, im],
        given => return Ok(given),
    };
    let [re, im] = parts.map(|part| lane(Scalar::Float(part)));
    let (re, im) = (re?, im?);
    Ok(Given::Value(if are_complex {
        Value::of_known(Form::Complex, vec![re.into(), im.into()])
    } else {
        Value::Tensor(Tensor::complex(&re, &im, &[1]).or_raise()?)
    }))
}

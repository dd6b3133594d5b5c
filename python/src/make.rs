//! Values of a class from Python objects: `Float([1, 2])`, `Vector3f(x, y, z)`, `TensorXf(rows, shape)`.

use porcini_core::tensor::Tensor;
use porcini_core::value::{Argument, Form, Type};
use porcini_core::{DType, Session, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};

use crate::convert::{self, Given, dtype_of, is_sequence};
use crate::errors::{OrRaise, got};
use crate::home;
use crate::lane_type::own_type;
use crate::memory::Taking;
use crate::names::as_python;
use crate::types::{self, Class, Kind};

/// The value of a class that arguments make.
pub(crate) fn value(class: &Bound<'_, PyType>, args: &Bound<'_, PyTuple>) -> PyResult<Value> {
    let Some(class) = types::kind_of(class)? else {
        return Err(PyTypeError::new_err(
            "Array has no type of its own: write Float(x), Int32(x), Vector3f(x, y, z), Tensor(x) ..",
        ));
    };
    let session = home::session(args.py())?;
    let mut objects: Vec<Bound<'_, PyAny>> = args.iter().collect();
    if let Some(first) = objects.first_mut()
        && let Some(list) = convert::drawn(first)?
    {
        *first = list.into_any();
    }
    match &class.kind {
        Kind::Lanes(dtype) => lanes(session, &class.name, *dtype, &objects),
        Kind::Nested(nested) => of_parts(session, class, nested, &objects),
        Kind::Tensor { dtype, is_complex } => {
            tensor(session, &class.name, *dtype, *is_complex, &objects).map(Value::Tensor)
        }
    }
}

/// Arguments of a class of tensors with the shape behind, where it is by place.
pub(crate) fn with_shape<'py>(
    class: &Bound<'py, PyType>,
    args: &Bound<'py, PyTuple>,
    shape: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let known = types::kind_of(class)?;
    if !known.is_some_and(|known| matches!(known.kind, Kind::Tensor { .. })) {
        let name = class.name()?;
        let what = format!("{name}: got shape=.., expected none; tensors have one, as TensorXf");
        return Err(PyTypeError::new_err(what));
    }
    if args.is_empty() {
        let name = class.name()?;
        let what = format!("{name}: got a shape without entries; zeros of it are pc.zeros(shape)");
        return Err(PyTypeError::new_err(what));
    }
    PyTuple::new(args.py(), args.iter().chain([shape]).collect::<Vec<_>>())
}

/// One-dimensional lanes of a type.
fn lanes(
    session: &Session,
    name: &str,
    dtype: DType,
    objects: &[Bound<'_, PyAny>],
) -> PyResult<Value> {
    let object = match objects {
        [] => return session.zeros(dtype, 0).map(Value::Array).or_raise(),
        [one] => one,
        [first, ..] => {
            let list = PyList::new(first.py(), objects)?;
            return convert::of_list(session, &list, Some(dtype));
        }
    };
    let made = if is_sequence(object) {
        convert::of_list(session, object, Some(dtype))?
    } else {
        match given(session, name, Some(dtype), object)? {
            Given::Number(number) => session.full(dtype, number, 1).map(Value::Array).or_raise()?,
            Given::Value(value) => value,
            Given::Numbers(_) | Given::Complex(..) => {
                let got = got(object);
                return Err(PyTypeError::new_err(format!(
                    "{name}: got {got}, expected real lanes"
                )));
            }
        }
    };
    let expected = |what: String| Err(PyTypeError::new_err(as_python(&what).into_owned()));
    match made {
        Value::Array(array) => array.cast(dtype).map(Value::Array).or_raise(),
        // As in scripts, of a tensor one with these lanes.
        Value::Tensor(tensor) if !tensor.is_complex() => {
            if tensor.shape().rank() == 1 && object.cast::<crate::object::PyValue>().is_err() {
                let entries = tensor.entries().or_raise()?.swap_remove(0);
                return entries.cast(dtype).map(Value::Array).or_raise();
            }
            Argument::Tensor(&tensor).cast(dtype).or_raise()
        }
        Value::Tensor(tensor) => expected(format!(
            "{name}: got {}, expected real entries; take the parts, as z.real and z.imag, or abs(z)",
            tensor.type_name()
        )),
        nested @ Value::Nested(..) => expected(format!(
            "{name}: got {}, expected a one-dimensional array; its components are v.x, v.y ..",
            nested.type_name()
        )),
    }
}

/// What an object is that becomes lanes of a type.
fn given(
    session: &Session,
    name: &str,
    dtype: Option<DType>,
    object: &Bound<'_, PyAny>,
) -> PyResult<Given> {
    match convert::number_for(object, dtype)? {
        Some(number) => Ok(Given::Number(number)),
        None => Given::expected_as(session, name, object, Taking::Shared),
    }
}

/// A value with components.
fn of_parts(
    session: &Session,
    class: &Class,
    nested: &Type,
    objects: &[Bound<'_, PyAny>],
) -> PyResult<Value> {
    let name = &class.name;
    let entry = |object: &Bound<'_, PyAny>| match (is_sequence(object), nested.dtype) {
        (true, Some(dtype)) => convert::of_list(session, object, Some(dtype)).map(Given::Value),
        _ => given(session, name, nested.dtype, object),
    };
    let objects = match objects {
        [] => {
            let zero = Given::Number(porcini_core::Scalar::Int(0));
            return nested.of(session, &zero.argument()).or_raise();
        }
        [one] if is_sequence(one) => rows(nested, one)?,
        [one] => {
            let given = given(session, name, nested.dtype, one)?;
            if let Given::Value(Value::Tensor(tensor)) = &given {
                return of_tensor(session, nested, tensor);
            }
            return nested.of(session, &given.argument()).or_raise();
        }
        several if matches!(nested.form, Form::Matrix(n) if n == several.len() && n > 1) => {
            let list = pyo3::types::PyList::new(several[0].py(), several)?;
            rows(nested, &list)?
        }
        several => several.to_vec(),
    };
    let entries = objects.iter().map(entry).collect::<PyResult<Vec<_>>>()?;
    let entries: Vec<Argument<'_>> = entries.iter().map(Given::argument).collect();
    if nested.form == Form::Complex && entries.iter().any(|part| part.form() == Form::Complex) {
        return Err(PyTypeError::new_err(format!(
            "{name}: got a complex number as a part, expected a real and an imaginary part; x + 1j * y takes any"
        )));
    }
    nested.of_entries(session, &entries.iter().collect::<Vec<_>>()).or_raise()
}

/// The entries of a list; of a matrix those of its rows, one after the other.
fn rows<'py>(nested: &Type, list: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let items = list.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let is_rows = matches!(nested.form, Form::Matrix(n) if n == items.len() && n > 1);
    if !is_rows {
        return Ok(items);
    }
    let rows = items.iter().map(|row| row.try_iter()?.collect::<PyResult<Vec<_>>>());
    Ok(rows.collect::<PyResult<Vec<_>>>()?.concat())
}

/// The value whose lanes are the first axis of a tensor and whose entries the others, row by row; without a first axis there is
/// one lane. Complex entries are complex numbers.
fn of_tensor(session: &Session, nested: &Type, tensor: &Tensor) -> PyResult<Value> {
    let extents = tensor.shape().extents();
    if nested.form == Form::Complex && tensor.is_complex() && extents.len() <= 1 {
        let lanes = tensor.lanes().or_raise()?;
        return nested.of(session, &Argument::from(&lanes)).or_raise();
    }
    let inner = inner_extents(nested.form);
    let fits = extents == inner || extents.get(1..) == Some(&inner[..]);
    if !fits || tensor.is_complex() {
        return Err(unfit_shape(nested, tensor, &inner));
    }
    let n = nested.form.n_entries() as i64;
    let one = tensor.reshape(&[-1, n]).or_raise()?;
    let parts = (0..n).map(|i| {
        let part = one.slice(1, i..i + 1)?.squeeze(1)?;
        Ok(part.entries()?.swap_remove(0))
    });
    let parts = parts.collect::<porcini_core::Result<Vec<_>>>().or_raise()?;
    let entries: Vec<Argument<'_>> = parts.iter().map(Argument::from).collect();
    nested.of_entries(session, &entries.iter().collect::<Vec<_>>()).or_raise()
}

/// The extents of one lane.
fn inner_extents(form: Form) -> Vec<u64> {
    match form {
        Form::Matrix(n) => vec![n as u64; 2],
        form => vec![form.n_components() as u64],
    }
}

/// An error that says how a tensor that is no such value may become one.
fn unfit_shape(nested: &Type, tensor: &Tensor, inner: &[u64]) -> PyErr {
    let (name, extents) = (as_python(&nested.name), tensor.shape().extents());
    let words: Vec<String> = inner.iter().map(ToString::to_string).collect();
    let words = words.join(", ");
    let n: u64 = inner.iter().product();
    let (kind, remedy) = if tensor.is_complex() {
        let remedy = match nested.form {
            Form::Complex => "x.ravel() has one axis, TensorXc(x) keeps all".into(),
            _ => "take the parts, as x.real and x.imag".into(),
        };
        (" complex entries of", remedy)
    } else if extents.strip_suffix(&extents[extents.len().saturating_sub(1)..]) == Some(inner) {
        let remedy = match inner.len() {
            1 => format!("lanes come first: {name}(x.T)"),
            _ => format!("lanes come first: {name}(pc.moveaxis(x, -1, 0))"),
        };
        ("", remedy)
    } else if extents.iter().product::<u64>().is_multiple_of(n) {
        let remedy = format!("{name}(x.reshape(-1, {words})) takes all entries in a row");
        ("", remedy)
    } else {
        ("", "components one by one are a list, as [a, b]".into())
    };
    let lanes = match (nested.form, tensor.is_complex()) {
        (Form::Complex, true) => "[lanes]".into(),
        _ => format!("[lanes, {words}]"),
    };
    PyValueError::new_err(format!(
        "{name}: got{kind} shape {}, expected {lanes}; {remedy}",
        tensor.shape()
    ))
}

/// A tensor of what has entries, and perhaps a shape.
fn tensor(
    session: &Session,
    name: &str,
    dtype: Option<DType>,
    is_complex: bool,
    objects: &[Bound<'_, PyAny>],
) -> PyResult<Tensor> {
    let of = |object: &Bound<'_, PyAny>| real_or_complex(session, name, dtype, is_complex, object);
    match objects {
        [] => {
            Tensor::new(&session.zeros(dtype.unwrap_or(DType::F32), 0).or_raise()?, &[0]).or_raise()
        }
        [one] => of(one),
        [real, imag] if is_complex && !is_shape(imag) => {
            let part = |object| real_or_complex(session, name, dtype, false, object);
            part(real)?.with_imaginary(&part(imag)?, dtype).or_raise()
        }
        [one, shape] => {
            let shape = extents(name, shape)?;
            of(one)?.spread(&shape).or_raise()
        }
        _ => Err(PyTypeError::new_err(format!(
            "{name}: got {} arguments, expected entries and perhaps a shape",
            objects.len()
        ))),
    }
}

/// Whether an object says a shape: a list of integers.
fn is_shape(object: &Bound<'_, PyAny>) -> bool {
    let are_integers = |object: &Bound<'_, PyAny>| {
        let mut items = object.try_iter().ok()?;
        Some(items.all(|item| item.is_ok_and(|item| item.extract::<i64>().is_ok())))
    };
    is_sequence(object) && are_integers(object).unwrap_or_default()
}

pub(crate) fn extents(name: &str, shape: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if let Ok(one) = shape.extract::<i64>() {
        return Ok(vec![one]);
    }
    shape.extract::<Vec<i64>>().map_err(|_| {
        PyTypeError::new_err(format!("{name}: got {} as a shape, expected integers", got(shape)))
    })
}

fn real_or_complex(
    session: &Session,
    name: &str,
    dtype: Option<DType>,
    is_complex: bool,
    object: &Bound<'_, PyAny>,
) -> PyResult<Tensor> {
    let given = if is_sequence(object) {
        // Floats take all numbers.
        let first = dtype.filter(|dtype| is_complex || dtype.is_float());
        let made = convert::of_list(session, object, first)?;
        match (&made, dtype) {
            (Value::Tensor(tensor), _) if tensor.is_complex() => Given::Value(made),
            // Read once more as what it is to be: the type that numbers have in common may not hold them.
            (_, Some(_)) if first.is_none() => {
                Given::Value(convert::of_list(session, object, dtype)?)
            }
            _ => Given::Value(made),
        }
    } else {
        given(session, name, dtype, object)?
    };
    let own = || own_type(object).map(|own| own.dtype);
    let made = match &given {
        Given::Number(number) => {
            let dtype = dtype.or_else(own).unwrap_or_else(|| dtype_of(*number));
            Tensor::from(&session.full(dtype, *number, 1).or_raise()?)
        }
        Given::Complex(re, im) => {
            let dtype = dtype.or_else(own).unwrap_or(DType::F32);
            let [re, im] = [*re, *im].map(|part| session.full(dtype, part, 1));
            Tensor::complex(&re.or_raise()?, &im.or_raise()?, &[]).or_raise()?
        }
        given => {
            let argument = given.argument();
            match argument.form() {
                Form::Vector(_) | Form::Matrix(_) => argument.stacked().or_raise()?,
                _ => argument.to_tensor(name).or_raise()?,
            }
        }
    };
    let made = match dtype {
        Some(dtype) if made.dtype() != dtype => made.each(|part| part.cast(dtype)).or_raise()?,
        _ => made,
    };
    if is_complex {
        return made.to_complex().or_raise();
    }
    if made.is_complex() && dtype.is_some() {
        return Err(PyTypeError::new_err(format!(
            "{name}: got complex entries, expected real ones; take the parts, as z.real and z.imag, or abs(z)"
        )));
    }
    Ok(made)
}

//! Lanes, components and entries: `x[2]`, `x[2:8]`, `v.x`, `t[0, :, mask]`.

use std::sync::atomic::{AtomicU64, Ordering};

use porcini_core::tensor::{AxisIndex, Tensor};
use porcini_core::value::{Argument, Form, Index, Slice, place};
use porcini_core::{Array, DType, Error, Session, Value, catalogue};
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

use crate::convert::{Given, python_number};
use crate::errors::{OrRaise, got, raised};
use crate::lists::Lanes;
use crate::names::as_python;
use crate::object::{self, PyValue, dtype_of, lane};
use crate::{functions, home, integers, types};

type Object<'py> = Bound<'py, PyAny>;

/// What stands between brackets.
enum Key {
    /// An integer.
    Number(i64),
    Slice(Slice),
    /// `None`, a new axis.
    New,
    /// `...`
    Rest,
    /// Integers or truth values: an array, a tensor, a list.
    Several(Value),
}

impl Key {
    /// `n` is what negative ends of slices count from.
    fn of(session: &Session, key: &Object<'_>, n: u64) -> PyResult<Self> {
        if key.is_none() {
            return Ok(Self::New);
        }
        if let Ok(slice) = key.cast::<PySlice>() {
            return sliced(slice, n).map(Self::Slice);
        }
        if key.is_instance_of::<PyEllipsis>() {
            return Ok(Self::Rest);
        }
        if key.is_instance_of::<PyInt>() && !key.is_instance_of::<PyBool>() {
            return Ok(Self::Number(key.extract().map_err(|_| out_of_reach(key))?));
        }
        // To lists of numbers nothing is floats.
        if key.cast::<PyList>().is_ok_and(|list| list.is_empty()) {
            let none = session.zeros(DType::I64, 0).or_raise()?;
            return Ok(Self::Several(none.into()));
        }
        match Given::of(session, key)? {
            Some(Given::Value(value)) => Ok(Self::Several(value)),
            Some(Given::Number(porcini_core::Scalar::Int(i))) => Ok(Self::Number(i)),
            _ => Err(PyTypeError::new_err(format!(
                "[]: got {} as an index, expected an integer, a slice, a mask or integers",
                got(key)
            ))),
        }
    }
}

fn out_of_reach(key: &Object<'_>) -> PyErr {
    PyIndexError::new_err(format!("index {} is out of bounds of any array", got(key)))
}

fn sliced(slice: &Bound<'_, PySlice>, n: u64) -> PyResult<Slice> {
    let found = slice.indices(isize::try_from(n)?)?;
    // Python's own ends: nothing is left to be counted from the end.
    if found.slicelength == 0 {
        return Ok(Slice::new(0, 0, 1));
    }
    Ok(Slice::new(found.start as i64, found.stop as i64, found.step as i64))
}

/// `value[key]`
pub(crate) fn get<'py>(value: &Bound<'py, PyValue>, key: &Object<'py>) -> PyResult<Object<'py>> {
    let py = value.py();
    let session = home::session(py)?;
    let held = value.get().value().clone();
    match &held {
        Value::Array(array) if !key.is_instance_of::<PyTuple>() => {
            match Key::of(session, key, array.size())? {
                Key::Number(i) => Ok(python_number(py, one(py, array, i)?)),
                Key::Slice(slice) => object::of(py, array.slice(slice).or_raise()?.into()),
                Key::Rest => object::of(py, held.clone()),
                Key::Several(Value::Array(index)) => {
                    object::of(py, chosen(session, &held, &index)?)
                }
                Key::Several(index) => match integers::of_lanes(session, &held, &index)? {
                    Some(found) => object::of(py, found),
                    None => of_array(&line(array)?, key),
                },
                Key::New => of_array(&line(array)?, key),
            }
        }
        Value::Array(array) => of_array(&line(array)?, key),
        Value::Tensor(tensor) => of_tensor(tensor, key),
        Value::Nested(form, components) => {
            if let (Form::Matrix(_), Ok(pair)) = (form, key.cast::<PyTuple>()) {
                let (i, j) = pair.extract::<(i64, i64)>()?;
                let places = Argument::from(&held).entry(i, j).or_raise()?;
                return object::part(value, &places);
            }
            match Key::of(session, key, components.len() as u64)? {
                Key::Number(i) => {
                    let i = place(i, components.len() as u64).or_raise()?;
                    object::part(value, &[usize::try_from(i)?])
                }
                Key::Slice(slice) => object::of(py, held.part(slice).or_raise()?),
                Key::Several(Value::Array(index)) => {
                    object::of(py, chosen(session, &held, &index)?)
                }
                Key::Several(index) => match integers::of_lanes(session, &held, &index)? {
                    Some(found) => object::of(py, found),
                    None => Err(no_component("[]", key)),
                },
                Key::New | Key::Rest => Err(no_component("[]", key)),
            }
        }
    }
}

fn no_component(op: &str, key: &Object<'_>) -> PyErr {
    PyTypeError::new_err(format!(
        "{op}: got {} as an index of a value with components, expected a component's number, or lanes",
        got(key)
    ))
}

/// The lanes that a mask or integers say: where the mask is false they are 0.
fn chosen(session: &Session, value: &Value, index: &Array) -> PyResult<Value> {
    if index.dtype() == DType::Mask {
        return value.masked(index).or_raise();
    }
    let index = counted(index, value.lanes().unwrap_or(1))?;
    let row = catalogue::find("gather").expect("internal error: no gather");
    let args = [&Argument::from(value), &Argument::from(&index)];
    match row.call(session, &args).or_raise()? {
        catalogue::Answer::Value(value) => Ok(value),
        other => Err(PyTypeError::new_err(format!("internal error: gather gave {other:?}"))),
    }
}

/// Integers of which negative ones count from the end.
fn counted(index: &Array, n: u64) -> PyResult<Array> {
    if !index.dtype().is_int() {
        let got = as_python(index.dtype().script_name());
        return Err(PyTypeError::new_err(format!(
            "[]: got an index of type {got}, expected integers or a mask"
        )));
    }
    if !index.dtype().is_signed() {
        return Ok(index.clone());
    }
    let n = porcini_core::Scalar::UInt(n);
    let wide = index.cast(DType::I64).or_raise()?;
    let from_end = wide.try_add(n).or_raise()?;
    let counted = wide.lt(0).and_then(|is_negative| is_negative.select(&from_end, &wide));
    counted.or_raise()
}

fn line(array: &Array) -> PyResult<Tensor> {
    Tensor::new(array, &[array.size()]).or_raise()
}

fn one(py: Python<'_>, array: &Array, i: i64) -> PyResult<porcini_core::Scalar> {
    if array.has_derivative_to_lose() {
        return Err(PyTypeError::new_err(
            "[]: a lane read as a number does not know what it was computed from; x[0:1] is the lane as an array, \
             detach(x)[0] the number without derivative",
        ));
    }
    if array.has_history() {
        object::warn_of_read(py, &array.clone().into())?;
    }
    lane(py, array, i)
}

/// Entries of an array, as a tensor of one axis: an array where they have one axis.
fn of_array<'py>(line: &Tensor, key: &Object<'py>) -> PyResult<Object<'py>> {
    let (index, found) = indexed(line, key)?;
    if found.shape().rank() == 1 {
        return object::of(key.py(), found.entries().or_raise()?.swap_remove(0).into());
    }
    entry_or_tensor(key.py(), &index, found)
}

/// Entries of a tensor.
fn of_tensor<'py>(tensor: &Tensor, key: &Object<'py>) -> PyResult<Object<'py>> {
    let (index, found) = indexed(tensor, key)?;
    entry_or_tensor(key.py(), &index, found)
}

fn indexed(tensor: &Tensor, key: &Object<'_>) -> PyResult<(Index, Tensor)> {
    let index = read(home::session(key.py())?, tensor, key)?;
    let found = tensor.indexed(&index).or_raise()?;
    Ok((index, found))
}

/// Where every axis is taken away by a number, a number of Python's.
fn entry_or_tensor<'py>(py: Python<'py>, index: &Index, found: Tensor) -> PyResult<Object<'py>> {
    match index {
        Index::Axes(..) if found.shape().rank() == 0 => match found.lanes().or_raise()? {
            Value::Array(array) => Ok(python_number(py, one(py, &array, 0)?)),
            complex => complex_number(py, &complex),
        },
        _ => object::of(py, Value::Tensor(found)),
    }
}

pub(crate) fn complex_number<'py>(py: Python<'py>, value: &Value) -> PyResult<Object<'py>> {
    let parts: Vec<f64> = value
        .leaves()
        .into_iter()
        .map(|part| Ok(one(py, part, 0)?.to_f64()))
        .collect::<PyResult<_>>()?;
    let [re, im] = parts[..] else { return object::of(py, value.clone()) };
    Ok(pyo3::types::PyComplex::from_doubles(py, re, im).into_any())
}

fn read(session: &Session, tensor: &Tensor, key: &Object<'_>) -> PyResult<Index> {
    let keys: Vec<Object<'_>> = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let extents = tensor.shape().extents();
    // How many axes the others take; a mask that is alone takes as many as it has.
    let takes = |key: &Object<'_>| !key.is_none() && !key.is_instance_of::<PyEllipsis>();
    let n_taken = keys.iter().filter(|key| takes(key)).count();
    let (mut axes, mut masks) = (Vec::with_capacity(keys.len()), Vec::new());
    // The axis that a key is about, and that of what is found.
    let (mut axis, mut found) = (0, 0);
    // Places where ... stands for no axis.
    let mut apart = Vec::new();
    for key in &keys {
        let n = extents.get(axis).copied().unwrap_or_default();
        match Key::of(session, key, n)? {
            Key::Rest => {
                let n = extents.len().saturating_sub(n_taken);
                apart.extend((n == 0).then_some(axes.len()));
                axes.extend((0..n).map(|_| AxisIndex::Slice(Slice::from(..))));
                axis += n;
                found += n;
                continue;
            }
            Key::New => {
                axes.push(AxisIndex::New);
                found += 1;
                continue;
            }
            Key::Number(i) => axes.push(AxisIndex::Number(i)),
            Key::Slice(slice) => {
                axes.push(AxisIndex::Slice(slice));
                found += 1;
            }
            Key::Several(several) => {
                let several = array_or_tensor(&several)?;
                if several.dtype() == DType::Mask {
                    if keys.len() == 1 {
                        return Index::mask(tensor, several).or_raise();
                    }
                    masks.push((found, several));
                    axes.push(AxisIndex::Slice(Slice::from(..)));
                } else {
                    axes.push(AxisIndex::Numbers(several));
                }
                found += 1;
            }
        }
        axis += 1;
    }
    if !masks.is_empty() && axes.iter().any(|chosen| matches!(chosen, AxisIndex::Numbers(_))) {
        return Err(PyTypeError::new_err(
            "[]: got a mask beside integers; take them one after the other: t[mask][:, numbers]",
        ));
    }
    integers::check_apart(&axes, &apart)?;
    integers::numbers_together(session, extents, &mut axes)?;
    Ok(Index::Axes(axes, masks))
}

fn array_or_tensor(value: &Value) -> PyResult<Tensor> {
    Argument::from(value).to_tensor("[]").or_raise()
}

/// `value[key] = new`
pub(crate) fn set(value: &Bound<'_, PyValue>, key: &Object<'_>, new: &Object<'_>) -> PyResult<()> {
    let py = value.py();
    let session = home::session(py)?;
    let held = value.get().value().clone();
    for leaf in held.leaves() {
        session.check_change("[]=", leaf).or_raise()?;
    }
    if let (true, Value::Nested(form, components)) = (key.is_instance_of::<PySlice>(), &held)
        && !matches!(form, Form::Matrix(_))
    {
        return set_components(value, "[]=", &places_of(key, components.len())?, new);
    }
    let given = Given::expected_beside(session, "[]=", new, || Some(held.dtype()))?;
    let changed = match &held {
        Value::Array(array) if !key.is_instance_of::<PyTuple>() => {
            match Key::of(session, key, array.size())? {
                Key::Number(i) => {
                    let mut array = array.clone();
                    let lane = array.lane(i).or_raise()?;
                    array.set_slice(lane, &fitted(&given, &held)?.array("[]=")?).or_raise()?;
                    Value::Array(array)
                }
                Key::Slice(slice) => {
                    let mut array = array.clone();
                    array.set_slice(slice, &fitted(&given, &held)?.array("[]=")?).or_raise()?;
                    Value::Array(array)
                }
                Key::Rest => {
                    let mut array = array.clone();
                    array.set_slice(.., &fitted(&given, &held)?.array("[]=")?).or_raise()?;
                    Value::Array(array)
                }
                Key::Several(Value::Array(index)) => written(session, &held, &index, &given)?,
                Key::New | Key::Several(_) => {
                    let changed = into_tensor(session, &line(array)?, key, &given)?;
                    Value::Array(changed.entries().or_raise()?.swap_remove(0))
                }
            }
        }
        Value::Array(array) => {
            let changed = into_tensor(session, &line(array)?, key, &given)?;
            Value::Array(changed.entries().or_raise()?.swap_remove(0))
        }
        Value::Tensor(tensor) => into_tensor(session, tensor, key, &given).map(Value::Tensor)?,
        Value::Nested(form, components) => {
            let places = match (form, key.cast::<PyTuple>()) {
                (Form::Matrix(_), Ok(pair)) => {
                    let (i, j) = pair.extract::<(i64, i64)>()?;
                    Argument::from(&held).entry(i, j).or_raise()?.to_vec()
                }
                _ => match Key::of(session, key, components.len() as u64)? {
                    Key::Number(i) => {
                        vec![usize::try_from(place(i, components.len() as u64).or_raise()?)?]
                    }
                    Key::Several(Value::Array(index)) => {
                        let new = written(session, &held, &index, &given)?;
                        value.get().set(py, new.own().or_raise()?);
                        return Ok(());
                    }
                    Key::Several(mask @ Value::Nested(..)) if mask.dtype() == DType::Mask => {
                        let new = fitted(&given, &held)?.0;
                        let n = mask.lanes().unwrap_or(1);
                        check_sizes(held.lanes().unwrap_or(1), n, &new)?;
                        let (mask, new) = (Argument::from(&mask), Argument::from(&new));
                        let new = Argument::from(&held).assigned(&mask, &new).or_raise()?;
                        value.get().set(py, new.own().or_raise()?);
                        return Ok(());
                    }
                    Key::Several(Value::Tensor(index))
                        if *form == Form::Complex && index.dtype().is_int() =>
                    {
                        let new = integers::with_lanes(&held, &index, &given.argument())?;
                        value.get().set(py, new.own().or_raise()?);
                        return Ok(());
                    }
                    Key::Rest => Vec::new(),
                    Key::Slice(_) | Key::New | Key::Several(_) => {
                        return Err(no_component("[]=", key));
                    }
                },
            };
            let part = object::part(value, &places)?;
            let part = part.cast::<PyValue>()?.get();
            let new = replaced(&part.value(), &given)?;
            part.set(py, new.own().or_raise()?);
            return Ok(());
        }
    };
    value.get().set(py, changed.own().or_raise()?);
    Ok(())
}

/// Another value in the place of a component: of its type.
fn replaced(old: &Value, given: &Given) -> PyResult<Value> {
    given.argument().fitted("[]=", &Argument::from(old)).or_raise()
}

struct Fitted(Value);

impl Fitted {
    fn array(self, op: &str) -> PyResult<Array> {
        match self.0 {
            Value::Array(array) => Ok(array),
            Value::Tensor(tensor) if tensor.shape().rank() <= 1 => {
                Ok(tensor.entries().or_raise()?.swap_remove(0))
            }
            other => Err(PyTypeError::new_err(format!(
                "{op}: got {}, expected lanes",
                as_python(&other.type_name())
            ))),
        }
    }
}

fn fitted(given: &Given, place: &Value) -> PyResult<Fitted> {
    let fitted = given.argument().fitted("[]=", &Argument::from(place));
    fitted.map(Fitted).map_err(|error| unfit(&error, place.dtype()))
}

/// What is not converted, since something might be lost: NumPy does it without a word.
fn unfit(error: &Error, dtype: DType) -> PyErr {
    let Error::Conversion { op, value, place } = error else { return raised(error) };
    let [values, place] = [value, place].map(|name| as_python(name));
    let dtype = dtype.numpy_name();
    PyTypeError::new_err(format!(
        "{op}: got values of {values} for {place}; convert them: values.astype(\"{dtype}\")"
    ))
}

/// The value with others in the lanes that a mask or integers say.
fn written(session: &Session, held: &Value, index: &Array, given: &Given) -> PyResult<Value> {
    let new = fitted(given, held)?.0;
    if index.dtype() == DType::Mask {
        check_sizes(held.lanes().unwrap_or(1), index.size(), &new)?;
        let (mask, new) = (Argument::from(index), Argument::from(&new));
        return Argument::from(held).assigned(&mask, &new).or_raise();
    }
    let index = counted(index, held.lanes().unwrap_or(1))?;
    let row = catalogue::find("scatter").expect("internal error: no scatter");
    let args = [&Argument::from(held), &Argument::from(&new), &Argument::from(&index)];
    match row.call(session, &args).or_raise()? {
        catalogue::Answer::Written(value, _) => Ok(value),
        other => Err(PyTypeError::new_err(format!("internal error: scatter gave {other:?}"))),
    }
}

/// A masked write leaves the target as long as it is, but for one lane, which is as many as the mask has: values are as
/// many, or one for all.
fn check_sizes(n: u64, n_mask: u64, new: &Value) -> PyResult<()> {
    let n_lanes = if n == 1 && n_mask > 0 { n_mask } else { n };
    let n_values = new.leaves().into_iter().map(Array::size).filter(|&size| size != 1).max();
    let wrong = [("mask", Some(n_mask)), ("values", n_values)];
    let wrong = wrong.into_iter().find_map(|(what, size)| {
        size.filter(|&size| size != 1 && size != n_lanes).map(|size| (what, size))
    });
    match wrong {
        Some((what, size)) => Err(PyValueError::new_err(format!(
            "[]=: got {size} lanes as {what}, expected 1 or as many as the target, {n_lanes}"
        ))),
        None => Ok(()),
    }
}

fn into_tensor(
    session: &Session,
    tensor: &Tensor,
    key: &Object<'_>,
    given: &Given,
) -> PyResult<Tensor> {
    let index = read(session, tensor, key)?;
    let new = given.argument().fitted_to("[]=", tensor);
    let new = new.map_err(|error| unfit(&error, tensor.dtype()))?;
    tensor.with_indexed(&index, &new).or_raise()
}

/// Goes over the items of a value: lanes as numbers, components, rows.
pub(crate) fn items<'py>(value: &Bound<'py, PyValue>) -> PyResult<Object<'py>> {
    let py = value.py();
    let held = value.get().value().clone();
    match &held {
        Value::Array(_) => Lanes::of(py, &held),
        Value::Tensor(tensor) if tensor.shape().rank() == 1 => Lanes::of(py, &held),
        Value::Nested(..) => Ok(PyList::new(py, components(value)?)?.try_iter()?.into_any()),
        Value::Tensor(tensor) => Rows::of(py, tensor),
    }
}

/// Goes over the entries along the first axis of a tensor, each of which is recorded when it is asked for.
#[pyclass(module = "porcini", frozen)]
struct Rows {
    tensor: Tensor,
    n: u64,
    /// The number of the next one, which goes on past the last.
    next: AtomicU64,
}

impl Rows {
    fn of<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Object<'py>> {
        let n = tensor.shape().extents().first().copied();
        let n = n.ok_or_else(|| PyTypeError::new_err("iteration over a tensor without axes"))?;
        Ok(Bound::new(py, Self { tensor: tensor.clone(), n, next: AtomicU64::new(0) })?.into_any())
    }
}

#[pymethods]
impl Rows {
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Object<'py>>> {
        let row = Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|&row| row < self.n);
        row.map(|i| of_tensor(&self.tensor, PyInt::new(py, i).as_any())).transpose()
    }

    fn __length_hint__(&self) -> u64 {
        self.n.saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

/// The components of a value.
fn components<'py>(value: &Bound<'py, PyValue>) -> PyResult<Vec<Object<'py>>> {
    let n = value.get().value().components().len();
    (0..n).map(|i| object::part(value, &[i])).collect()
}

/// A component by name, or another view of a value: `v.x`, `v.zyx`, `z.real`, `m.T`, `t.H`.
pub(crate) fn member<'py>(
    value: &Bound<'py, PyValue>,
    name: &str,
) -> PyResult<Option<Object<'py>>> {
    let py = value.py();
    let held = value.get().value().clone();
    let made = match (&held, name) {
        (Value::Nested(form, _), name) if form.positions(name).is_some() => {
            let places = form.positions(name).unwrap_or_default();
            if let [one] = places[..] {
                return object::part(value, &[one]).map(Some);
            }
            held.member(name).or_raise()?
        }
        (Value::Nested(Form::Matrix(_), _), "T") => {
            return functions::by_name(py, "transpose", &[value.as_any()]).map(Some);
        }
        (Value::Array(_), "T" | "real") => held.clone(),
        (Value::Tensor(tensor), "T") => Value::Tensor(tensor.transpose().or_raise()?),
        (Value::Tensor(tensor), "mT") => Value::Tensor(tensor.matrix_transpose().or_raise()?),
        (Value::Tensor(tensor), "H") => {
            let turned = tensor.matrix_transpose().and_then(|turned| turned.conjugate());
            Value::Tensor(turned.or_raise()?)
        }
        (Value::Tensor(tensor), "real") => Value::Tensor(tensor.part(0).or_raise()?),
        (Value::Tensor(tensor), "imag") if tensor.is_complex() => {
            Value::Tensor(tensor.part(1).or_raise()?)
        }
        (Value::Array(_) | Value::Tensor(_), "imag") => {
            return functions::by_name(py, "zeros_like", &[value.as_any()]).map(Some);
        }
        (Value::Tensor(tensor), "array") if !tensor.is_complex() => {
            Value::Array(tensor.entries().or_raise()?.swap_remove(0))
        }
        _ => return Ok(None),
    };
    object::of(py, made).map(Some)
}

/// `v.x = new`
pub(crate) fn set_member(value: &Bound<'_, PyValue>, name: &str, new: &Object<'_>) -> PyResult<()> {
    let py = value.py();
    if name == "grad" {
        // None clears it, as PyTorch has it.
        let (function, args) = match new.is_none() {
            true => ("clear_gradient", &[value.as_any()][..]),
            false => ("set_gradient", &[value.as_any(), new][..]),
        };
        return functions::by_name(py, function, args).map(drop);
    }
    let form = value.get().value().form();
    let Some(places) = form.positions(name) else {
        return set_attribute(value, name, new);
    };
    set_components(value, name, &places, new)
}

/// Sets an attribute of an object whose class is one of a user; ours have none.
fn set_attribute(value: &Bound<'_, PyValue>, name: &str, new: &Object<'_>) -> PyResult<()> {
    let class = value.get_type();
    if types::is_of_user(&class)? {
        return object::set_attribute(value, name, Some(new));
    }
    let class = class.name()?;
    Err(PyAttributeError::new_err(format!("{class} has no member {name} that can be set")))
}

/// The numbers of the components that a slice says.
fn places_of(key: &Object<'_>, n: usize) -> PyResult<Vec<usize>> {
    let all = PyList::new(key.py(), 0..n)?;
    all.as_any().get_item(key)?.extract()
}

/// Writes to components: to each its own of several values, or one to all.
fn set_components(
    value: &Bound<'_, PyValue>,
    name: &str,
    places: &[usize],
    new: &Object<'_>,
) -> PyResult<()> {
    let (py, session) = (value.py(), home::session(value.py())?);
    let parts: Vec<Object<'_>> = match (places.len(), new.cast::<PyValue>()) {
        (1, _) => vec![new.clone()],
        (n, Ok(several)) if several.len()? == n && several.get().value().form().is_vector() => {
            components(several)?
        }
        (n, _) if new.is_instance_of::<PyList>() || new.is_instance_of::<PyTuple>() => {
            let parts = new.try_iter()?.collect::<PyResult<Vec<_>>>()?;
            if parts.len() != n {
                let got = parts.len();
                return Err(PyTypeError::new_err(format!(
                    "{name}: got {got} values, expected {n}"
                )));
            }
            parts
        }
        (n, _) => vec![new.clone(); n],
    };
    for (&i, new) in places.iter().zip(&parts) {
        let given = Given::expected_beside(session, name, new, || dtype_of(value.as_any()))?;
        let part = object::part(value, &[i])?;
        let part = part.cast::<PyValue>()?.get();
        for leaf in part.value().leaves() {
            session.check_change(".=", leaf).or_raise()?;
        }
        let new = replaced(&part.value(), &given)?;
        part.set(py, new.own().or_raise()?);
    }
    Ok(())
}

//! Python objects with arrays in them: the arrays, and what is around them, for functions that change the arrays.

use porcini_core::tensor::Shape;
use porcini_core::value::Skeleton;
use porcini_core::{Array, DType, Result as CoreResult, Scalar, Session, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::around::Around;
use crate::convert::{Given, number};
use crate::errors::{OrRaise, got, wrong_type};
use crate::interchange::{is_foreign, offers_contents};
use crate::object::{self, PyValue};
use crate::random::Generator;
use crate::recursion::Level;

type Object<'py> = Bound<'py, PyAny>;

/// An object without its arrays.
pub(crate) enum Tree {
    Value(Skeleton),
    /// A generator: state and increment.
    Generator,
    List(Vec<Self>),
    Tuple(Vec<Self>),
    Dict(Vec<(Py<PyAny>, Self)>),
    /// A named tuple, or an object of a data class.
    Object(Around, Vec<Self>),
    /// What has no arrays in it.
    Other(Py<PyAny>),
    /// One of the objects that are known around, itself.
    Known(usize),
}

/// What numbers are.
#[derive(Clone, Copy)]
pub(crate) enum Numbers<'a> {
    /// Themselves.
    Kept,
    /// Themselves, and so are objects with fields: nothing in them changes.
    Untouched,
    /// Floats are arrays of one lane, others themselves.
    Floats,
    /// Arrays of one lane, of the types that those in the same places have.
    Arrays(Option<&'a [Array]>),
}

impl Tree {
    /// The shapes of the tensors in it.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        match self {
            Self::Value(Skeleton::Tensor(shape, _)) => vec![shape.clone()],
            Self::List(parts) | Self::Tuple(parts) | Self::Object(_, parts) => {
                parts.iter().flat_map(Self::shapes).collect()
            }
            Self::Dict(parts) => parts.iter().flat_map(|(_, part)| part.shapes()).collect(),
            Self::Value(_) | Self::Generator | Self::Other(_) | Self::Known(_) => Vec::new(),
        }
    }

    /// Takes the arrays out of an object.
    pub(crate) fn of(
        session: &Session,
        object: &Object<'_>,
        numbers: Numbers<'_>,
        arrays: &mut Vec<Array>,
    ) -> PyResult<Self> {
        Self::of_around(session, object, numbers, &[], arrays)
    }

    /// As [`Tree::of`]; of objects that are known their place is put down, and no arrays are taken out of them.
    pub(crate) fn of_around(
        session: &Session,
        object: &Object<'_>,
        numbers: Numbers<'_>,
        known: &[Object<'_>],
        arrays: &mut Vec<Array>,
    ) -> PyResult<Self> {
        if let Some(place) = known.iter().position(|known| known.is(object)) {
            return Ok(Self::Known(place));
        }
        if let Ok(value) = object.cast::<PyValue>() {
            let value = value.get().value().clone();
            arrays.extend(value.arrays().or_raise()?);
            return Ok(Self::Value(Skeleton::of(&value)));
        }
        if let Ok(generator) = object.cast::<Generator>() {
            arrays.extend(generator.get().arrays());
            return Ok(Self::Generator);
        }
        let _level = Level::enter(object.py())?;
        let mut of = |object: Object<'_>| Self::of_around(session, &object, numbers, known, arrays);
        if let Ok(list) = object.cast::<PyList>() {
            return list.iter().map(&mut of).collect::<PyResult<_>>().map(Self::List);
        }
        if let Some((around, held)) = named(object)? {
            let held = held.into_iter().map(&mut of).collect::<PyResult<_>>();
            return held.map(|held| Self::Object(around, held));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return tuple.iter().map(&mut of).collect::<PyResult<_>>().map(Self::Tuple);
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            let entries = dict.iter().map(|(key, item)| Ok((key.unbind(), of(item)?)));
            return entries.collect::<PyResult<_>>().map(Self::Dict);
        }
        if is_foreign(object)
            && let Some(Given::Value(value)) = Given::of(session, object)?
        {
            arrays.extend(value.arrays().or_raise()?);
            return Ok(Self::Value(Skeleton::of(&value)));
        }
        let found = number(object)?;
        let dtype = match (numbers, found) {
            (Numbers::Arrays(like), Some(number)) => {
                let like = like.and_then(|like| like.get(arrays.len())).map(Array::dtype);
                Some(like.unwrap_or(DType::of(number)))
            }
            (Numbers::Floats, Some(Scalar::Float(_))) => Some(DType::F32),
            _ => None,
        };
        if let (Some(dtype), Some(number)) = (dtype, found) {
            arrays.push(session.full(dtype, number, 1).or_raise()?);
            return Ok(Self::Value(Skeleton::Array));
        }
        if found.is_none()
            && !object.is_none()
            && !matches!(numbers, Numbers::Untouched)
            && let Some((around, held)) = Around::any(object)?
        {
            let before = arrays.len();
            let mut of = |held| Self::of_around(session, &held, numbers, known, arrays);
            let held = held.into_iter().map(&mut of).collect::<PyResult<_>>()?;
            let Some(lost) = around.lost(object.py())? else {
                return Ok(Self::Object(around, held));
            };
            // Where no field changes, nothing beside them is lost.
            let changes = |array: &Array| array.dtype().is_float();
            if !matches!(numbers, Numbers::Floats) || arrays[before..].iter().any(changes) {
                return Err(lost);
            }
            arrays.truncate(before);
        }
        Ok(Self::Other(object.clone().unbind()))
    }

    /// The object with other arrays.
    pub(crate) fn with<'py>(
        &self,
        py: Python<'py>,
        arrays: &mut dyn Iterator<Item = Array>,
    ) -> PyResult<Object<'py>> {
        self.with_around(py, &[], arrays)
    }

    /// As [`Tree::with`], with the objects that are known around.
    pub(crate) fn with_around<'py>(
        &self,
        py: Python<'py>,
        known: &[Object<'py>],
        arrays: &mut dyn Iterator<Item = Array>,
    ) -> PyResult<Object<'py>> {
        Ok(match self {
            Self::Value(skeleton) => object::of(py, skeleton.with(arrays).or_raise()?)?,
            Self::Generator => {
                let parts = [arrays.next(), arrays.next()];
                let [Some(state), Some(inc)] = parts else {
                    return Err(wrong_type("internal error: too few arrays"));
                };
                Generator::of(py, state, inc)?
            }
            Self::List(items) => {
                let items = items.iter().map(|item| item.with_around(py, known, arrays));
                PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Self::Tuple(items) => {
                let items = items.iter().map(|item| item.with_around(py, known, arrays));
                PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Self::Dict(entries) => {
                let dict = PyDict::new(py);
                for (key, item) in entries {
                    dict.set_item(key, item.with_around(py, known, arrays)?)?;
                }
                dict.into_any()
            }
            Self::Object(around, items) => {
                let items = items.iter().map(|item| item.with_around(py, known, arrays));
                around.with(py, items.collect::<PyResult<Vec<_>>>()?)?
            }
            Self::Other(object) => object.bind(py).clone(),
            Self::Known(place) => match known.get(*place) {
                Some(object) => object.clone(),
                None => return Err(wrong_type("internal error: an object that nobody knows")),
            },
        })
    }

    /// The same with 0 in the place of each number, and None in that of what is neither number nor array: their directions.
    pub(crate) fn still(&self, py: Python<'_>) -> PyResult<Self> {
        let all = |items: &[Self]| -> PyResult<Vec<Self>> {
            items.iter().map(|item| item.still(py)).collect()
        };
        Ok(match self {
            Self::Value(skeleton) => Self::Value(skeleton.clone()),
            Self::Generator => Self::Generator,
            Self::Known(place) => Self::Known(*place),
            Self::List(items) => Self::List(all(items)?),
            Self::Tuple(items) => Self::Tuple(all(items)?),
            Self::Object(around, items) => Self::Object(around.again(py), all(items)?),
            Self::Dict(entries) => {
                let still =
                    entries.iter().map(|(key, item)| Ok((key.clone_ref(py), item.still(py)?)));
                Self::Dict(still.collect::<PyResult<_>>()?)
            }
            Self::Other(object) => Self::Other(match number(object.bind(py))? {
                Some(Scalar::Float(_)) => PyFloat::new(py, 0.0).into_any().unbind(),
                Some(_) => PyInt::new(py, 0).into_any().unbind(),
                None => py.None(),
            }),
        })
    }

    /// Goes through the values in their order; of a generator there is none to see.
    pub(crate) fn each_value(
        &self,
        see: &mut dyn FnMut(Option<&Skeleton>) -> PyResult<()>,
    ) -> PyResult<()> {
        match self {
            Self::Value(skeleton) => see(Some(skeleton)),
            Self::Generator => see(None),
            Self::List(items) | Self::Tuple(items) | Self::Object(_, items) => {
                items.iter().try_for_each(|item| item.each_value(see))
            }
            Self::Dict(entries) => entries.iter().try_for_each(|(_, item)| item.each_value(see)),
            Self::Other(_) | Self::Known(_) => Ok(()),
        }
    }

    /// Refuses objects whose attributes are arrays: what a recorded function gives is made anew by each call.
    pub(crate) fn check_fields(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Self::List(items) | Self::Tuple(items) | Self::Object(_, items) => {
                items.iter().try_for_each(|item| item.check_fields(py))
            }
            Self::Dict(entries) => entries.iter().try_for_each(|(_, item)| item.check_fields(py)),
            Self::Other(object) => {
                let object = object.bind(py);
                let mut found = Vec::new();
                if !object.is_none()
                    && !object.is_instance_of::<PyType>()
                    && !object.is_instance_of::<PyModule>()
                    && let Some(fields) = object.getattr_opt(intern!(py, "__dict__"))?
                {
                    values(&fields, &mut found)?;
                }
                if found.is_empty() {
                    return Ok(());
                }
                let got = got(object);
                Err(wrong_type(format!(
                    "function: got {got} as a result, which has arrays in it; expected arrays and numbers, alone or in lists, \
                     tuples, dicts and data classes"
                )))
            }
            Self::Value(_) | Self::Generator | Self::Known(_) => Ok(()),
        }
    }

    /// What has no arrays in it, in its order.
    pub(crate) fn others(&self) -> Vec<&Py<PyAny>> {
        match self {
            Self::List(items) | Self::Tuple(items) | Self::Object(_, items) => {
                items.iter().flat_map(Self::others).collect()
            }
            Self::Dict(entries) => entries.iter().flat_map(|(_, item)| item.others()).collect(),
            Self::Other(object) => vec![object],
            Self::Value(_) | Self::Generator | Self::Known(_) => Vec::new(),
        }
    }

    /// An error that names what is neither an array nor None or a text, if something is.
    pub(crate) fn expect_arrays(&self, py: Python<'_>, op: &str) -> PyResult<()> {
        match self {
            Self::Value(_) | Self::Generator | Self::Known(_) => Ok(()),
            Self::List(items) | Self::Tuple(items) | Self::Object(_, items) => {
                items.iter().try_for_each(|item| item.expect_arrays(py, op))
            }
            Self::Dict(entries) => {
                entries.iter().try_for_each(|(_, item)| item.expect_arrays(py, op))
            }
            Self::Other(object) if is_word(object.bind(py)) => Ok(()),
            Self::Other(object) => {
                let got = got(object.bind(py));
                Err(wrong_type(format!(
                    "{op}: got {got}, expected an array, a number or a generator"
                )))
            }
        }
    }
}

/// Whether an object says something beside arrays, as a label does.
fn is_word(object: &Object<'_>) -> bool {
    object.is_none() || object.is_instance_of::<PyString>()
}

/// A tuple with names, and what it holds.
fn named<'py>(object: &Object<'py>) -> PyResult<Option<(Around, Vec<Object<'py>>)>> {
    if object.is_instance_of::<PyTuple>() { Around::of(object) } else { Ok(None) }
}

/// The values in an object, in their order.
pub(crate) fn values(object: &Object<'_>, found: &mut Vec<Value>) -> PyResult<()> {
    let _level = Level::enter(object.py())?;
    if let Ok(value) = object.cast::<PyValue>() {
        found.push(value.get().value().clone());
    } else if let Ok(dict) = object.cast::<PyDict>() {
        dict.iter().try_for_each(|(_, item)| values(&item, found))?;
    } else if crate::convert::is_sequence(object) {
        object.try_iter()?.try_for_each(|item| values(&item?, found))?;
    } else if let Some((_, held)) = Around::of(object)? {
        held.iter().try_for_each(|item| values(item, found))?;
    }
    Ok(())
}

/// The generators in an object, in their order.
pub(crate) fn generators<'py>(
    object: &Object<'py>,
    found: &mut Vec<Bound<'py, Generator>>,
) -> PyResult<()> {
    if object.is_instance_of::<PyValue>() {
        return Ok(());
    }
    let _level = Level::enter(object.py())?;
    if let Ok(generator) = object.cast::<Generator>() {
        found.push(generator.clone());
    } else if let Ok(dict) = object.cast::<PyDict>() {
        dict.iter().try_for_each(|(_, item)| generators(&item, found))?;
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        object.try_iter()?.try_for_each(|item| generators(&item?, found))?;
    } else if let Some((_, held)) = Around::any(object)? {
        held.iter().try_for_each(|item| generators(item, found))?;
    }
    Ok(())
}

/// The arrays in what a function gave.
pub(crate) fn outputs_of(op: &str, value: &Object<'_>) -> PyResult<Vec<Array>> {
    arrays_of(op, value, &Value::arrays)
}

/// The same of a function that is differentiated: integers and masks alone have no derivatives.
pub(crate) fn differentiable_of(op: &str, value: &Object<'_>) -> PyResult<Vec<Array>> {
    let outputs = outputs_of(op, value)?;
    match outputs.iter().any(|output| output.dtype().is_float()) {
        true => Ok(outputs),
        false => Err(wrong_type(format!(
            "{op}: the function gave {}, expected floats: integers and masks have no derivative",
            got(value)
        ))),
    }
}

/// Those of what a gradient is asked of, which is real.
pub(crate) fn losses_of(op: &'static str, value: &Object<'_>) -> PyResult<Vec<Array>> {
    arrays_of(op, value, &|value| value.arrays_of_loss(op))
}

fn arrays_of(
    op: &str,
    value: &Object<'_>,
    inside: &dyn Fn(&Value) -> CoreResult<Vec<Array>>,
) -> PyResult<Vec<Array>> {
    let mut found = Vec::new();
    values(value, &mut found)?;
    let arrays = found.iter().map(inside).collect::<CoreResult<Vec<_>>>().or_raise()?;
    if arrays.is_empty() {
        return Err(wrong_type(format!(
            "{op}: the function gave {}, expected an array",
            got(value)
        )));
    }
    Ok(arrays.concat())
}

/// One object, or several in a tuple.
pub(crate) fn one_or_tuple<'py>(
    py: Python<'py>,
    mut found: Vec<Object<'py>>,
) -> PyResult<Object<'py>> {
    if found.len() == 1 { Ok(found.remove(0)) } else { Ok(PyTuple::new(py, found)?.into_any()) }
}

/// An array of another library as one of ours; other objects as they are.
pub(crate) fn own<'py>(session: &Session, object: Object<'py>) -> PyResult<Object<'py>> {
    if is_foreign(&object)
        && let Some(Given::Value(value)) = Given::of(session, &object)?
    {
        return object::of(object.py(), value);
    }
    Ok(object)
}

/// As [`own`], also of what has an array to give, as a column of pandas.
pub(crate) fn own_contents<'py>(session: &Session, object: Object<'py>) -> PyResult<Object<'py>> {
    if !object.is_instance_of::<PyValue>()
        && offers_contents(&object)
        && let Some(Given::Value(value)) = Given::of(session, &object)?
    {
        return object::of(object.py(), value);
    }
    Ok(object)
}

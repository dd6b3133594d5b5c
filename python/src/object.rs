//! The object that a value is in Python: what all classes such as Float and Vector3f have in common.
#![expect(unsafe_code, reason = "an object gets the class of its value")]

use std::ops::Deref;
use std::ptr;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use porcini_core::tensor::Shape;
use porcini_core::{Array, DType, Scalar, Value};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::ffi;
use pyo3::impl_::pymethods::tp_new_impl;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::errors::OrRaise;
use crate::interrupt::evaluating;
use crate::names::as_python;
use crate::{stand_ins, types};

type Object<'py> = Bound<'py, PyAny>;

/// An array, or a value that has arrays as components: what classes such as Float and Vector3f have in common.
#[pyclass(name = "Array", module = "porcini", subclass, frozen, weakref)]
pub(crate) struct PyValue {
    value: RwLock<Value>,
    /// The value that it is a component of: each sees what is written to the other.
    whole: Option<(Py<Self>, usize)>,
}

/// What a thread sees in an object.
pub(crate) enum Seen<'a> {
    Held(RwLockReadGuard<'a, Value>),
    /// What stands there while a function is recorded.
    StandIn(Value),
}

impl Deref for Seen<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Held(held) => held,
            Self::StandIn(value) => value,
        }
    }
}

impl PyValue {
    /// A value by itself.
    pub(crate) fn new(value: Value) -> Self {
        Self { value: RwLock::new(value), whole: None }
    }

    /// The value that it is a component of.
    pub(crate) fn whole(&self) -> Option<&Py<Self>> {
        self.whole.as_ref().map(|(whole, _)| whole)
    }

    /// What it is now. Nobody waits for anything while holding this.
    pub(crate) fn value(&self) -> Seen<'_> {
        self.follow();
        let held = || Seen::Held(self.value.read().unwrap_or_else(PoisonError::into_inner));
        stand_ins::value(self.address()).map_or_else(held, Seen::StandIn)
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// A component becomes what others wrote in the whole. It waits for nobody: while one of them is held, it stays.
    fn follow(&self) {
        let Some((whole, i)) = &self.whole else { return };
        let whole = whole.get();
        whole.follow();
        let held = match stand_ins::value(whole.address()) {
            Some(stand_in) => Seen::StandIn(stand_in),
            None => match whole.value.try_read() {
                Ok(held) => Seen::Held(held),
                Err(_) => return,
            },
        };
        let Value::Nested(_, components) = &*held else { return };
        let Some(now) = components.get(*i) else { return };
        if stand_ins::has_value(self.address()) {
            stand_ins::lend_value(self.address(), now.clone());
        } else if let Ok(mut value) = self.value.try_write() {
            value.clone_from(now);
        }
    }

    /// Whether it is this value still: nobody wrote to it.
    pub(crate) fn is(&self, value: &Value) -> bool {
        let now = self.value();
        let (now, before) = (now.leaves(), value.leaves());
        let mut pairs = now.iter().zip(&before);
        now.len() == before.len() && pairs.all(|(now, before)| now.serial() == before.serial())
    }

    fn value_mut(&self) -> RwLockWriteGuard<'_, Value> {
        self.value.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes everybody who holds it see another value, and what it is a component of, too.
    #[expect(clippy::only_used_in_recursion, reason = "who changes values holds Python's lock")]
    pub(crate) fn set(&self, py: Python<'_>, value: Value) {
        if let Some((whole, changed)) = self.whole_with(&value) {
            whole.set(py, changed);
        }
        if stand_ins::has_value(self.address()) {
            stand_ins::lend_value(self.address(), value);
        } else {
            *self.value_mut() = value;
        }
    }

    /// As [`PyValue::set`], for this thread alone, until it has recorded a function.
    #[expect(clippy::only_used_in_recursion, reason = "who changes values holds Python's lock")]
    pub(crate) fn lend(&self, py: Python<'_>, value: Value) {
        if let Some((whole, changed)) = self.whole_with(&value) {
            whole.lend(py, changed);
        }
        stand_ins::lend_value(self.address(), value);
    }

    /// What it is a component of, and what that becomes with another value in its place.
    fn whole_with(&self, value: &Value) -> Option<(&Self, Value)> {
        let (whole, i) = self.whole.as_ref()?;
        let whole = whole.get();
        let Value::Nested(form, components) = whole.value().clone() else { return None };
        let mut parts = components.into_vec();
        parts[*i] = value.clone();
        Some((whole, Value::of_known(form, parts)))
    }

    /// The lanes of what decides in a loop or branch about values with tensors of these shapes: of a tensor its entries.
    pub(crate) fn deciding(&self, op: &str, shapes: &[Shape]) -> PyResult<Array> {
        match &*self.value() {
            Value::Tensor(tensor) => tensor.deciding(op, shapes).or_raise(),
            _ => self.array(op),
        }
    }

    /// The one-dimensional array that it is.
    pub(crate) fn array(&self, op: &str) -> PyResult<Array> {
        match &*self.value() {
            Value::Array(array) => Ok(array.clone()),
            Value::Tensor(tensor) if tensor.shape().rank() <= 1 && !tensor.is_complex() => {
                Ok(tensor.entries().or_raise()?.swap_remove(0))
            }
            other => Err(PyTypeError::new_err(
                as_python(&format!(
                    "{op}: got {}, expected a one-dimensional array",
                    other.type_name()
                ))
                .into_owned(),
            )),
        }
    }
}

/// The object of a value.
pub(crate) fn of(py: Python<'_>, value: Value) -> PyResult<Object<'_>> {
    let class = match &value {
        Value::Array(array) => types::of_lanes(py, array.dtype()).clone(),
        value => types::class_of(py, value)?,
    };
    Ok(with_own_class(Bound::new(py, PyValue::new(value))?, &class))
}

/// The object that a call of a class makes: of the class of its value, or of one of a user that is derived of it.
pub(crate) fn made<'py>(class: &Bound<'py, PyType>, value: Value) -> PyResult<Bound<'py, PyValue>> {
    let py = class.py();
    let own = types::class_of(py, &value)?;
    if !class.is(&own) && types::is_derived(class, &own)? {
        return of_derived(class, value);
    }
    Ok(with_class(Bound::new(py, PyValue::new(value))?, &own).cast_into::<PyValue>()?)
}

/// An object of a class of a user, which is laid out as that class has it: with room for attributes.
fn of_derived<'py>(class: &Bound<'py, PyType>, value: Value) -> PyResult<Bound<'py, PyValue>> {
    let (py, new) = (class.py(), PyClassInitializer::from(PyValue::new(value)));
    // SAFETY: the class is derived of that of PyValue.
    let made = unsafe { tp_new_impl::<_, PyValue>(py, new, class.as_type_ptr())? };
    // SAFETY: the call gives a reference to an object that nobody else has.
    let made = unsafe { Bound::from_owned_ptr(py, made) };
    Ok(made.cast_into::<PyValue>()?)
}

/// Sets an attribute, or deletes it, as objects do whose class does not say how.
pub(crate) fn set_attribute(
    object: &Bound<'_, PyValue>,
    name: &str,
    new: Option<&Object<'_>>,
) -> PyResult<()> {
    let name = PyString::intern(object.py(), name);
    let new = new.map_or(ptr::null_mut(), Bound::as_ptr);
    // SAFETY: all are alive; without a value the attribute is deleted.
    let done = unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), new) };
    if done == 0 { Ok(()) } else { Err(PyErr::fetch(object.py())) }
}

/// The object of an array.
pub(crate) fn lanes(py: Python<'_>, array: Array) -> PyResult<Object<'_>> {
    let class = types::of_lanes(py, array.dtype());
    Ok(with_own_class(Bound::new(py, PyValue::new(Value::Array(array)))?, class))
}

/// Gives an object the class of its value, which is one without members of its own beneath that of all.
fn with_class<'py>(object: Bound<'py, PyValue>, class: &Bound<'py, PyType>) -> Object<'py> {
    // SAFETY: the object is new, so nobody else looks at it.
    let raw = unsafe { &mut *object.as_ptr() };
    let before = std::mem::replace(&mut raw.ob_type, class.as_type_ptr());
    // SAFETY: an object owns a reference to its class. Both classes live on the heap, and their objects are laid out
    // alike, since ours have no slots.
    unsafe { ffi::Py_INCREF(class.as_ptr()) };
    // SAFETY: as above; the class before lives on, it is the base of the other one.
    unsafe { ffi::Py_DECREF(before.cast()) };
    object.into_any()
}

/// As [`with_class`], of an object that has no attributes of a class of the user: nothing that it refers to refers to it,
/// so Python's collector of cycles, which otherwise goes through all that is alive again and again, need not know it.
fn with_own_class<'py>(object: Bound<'py, PyValue>, class: &Bound<'py, PyType>) -> Object<'py> {
    let object = with_class(object, class);
    // SAFETY: the object is alive, and its class has it tracked.
    unsafe { ffi::PyObject_GC_UnTrack(object.as_ptr().cast()) };
    object
}

/// The component of a component and so on; what is written to it is seen in the whole.
pub(crate) fn part<'py>(whole: &Bound<'py, PyValue>, places: &[usize]) -> PyResult<Object<'py>> {
    let py = whole.py();
    let [place, rest @ ..] = places else { return Ok(whole.clone().into_any()) };
    let value = whole.get().value().components()[*place].clone();
    let class = types::class_of(py, &value)?;
    let value = RwLock::new(value);
    let part = Bound::new(py, PyValue { value, whole: Some((whole.clone().unbind(), *place)) })?;
    let part = with_class(part, &class);
    self::part(part.cast::<PyValue>()?, rest)
}

/// The type of the lanes of one of our values.
pub(crate) fn dtype_of(object: &Object<'_>) -> Option<DType> {
    object.cast::<PyValue>().ok().map(|value| value.get().value().dtype())
}

/// The type that the lanes of our values among objects have in common.
pub(crate) fn common_dtype(objects: &[Object<'_>]) -> Option<DType> {
    let dtypes = objects.iter().filter_map(dtype_of);
    dtypes.reduce(|a, b| a.promote(b).unwrap_or(a))
}

/// Refuses to read lanes as numbers while a function is differentiated and they have a derivative: it would be lost,
/// and the gradient wrong without a word.
pub(crate) fn check_read(op: &str, value: &Value) -> PyResult<()> {
    if value.leaves().into_iter().any(|leaf| leaf.has_derivative_to_lose()) {
        return Err(PyTypeError::new_err(format!(
            "{op}: a lane read as a number does not know what it was computed from; the functions of porcini keep \
             derivatives, detach(x) is x without one"
        )));
    }
    Ok(())
}

/// Warns that lanes which are read as numbers have no derivative, though what they are read from has: Python says it once
/// of each place in a program.
pub(crate) fn warn_of_read(py: Python<'_>, value: &Value) -> PyResult<()> {
    if !value.leaves().into_iter().any(|leaf| leaf.has_history()) {
        return Ok(());
    }
    let what = c"a lane read as a number has no derivative, and backward does not know of it: x[1:2] is the lane as an \
                 array, detach(x)[1] a number that nobody asks derivatives of";
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), what, 1)
}

/// A lane as a number.
pub(crate) fn lane(py: Python<'_>, array: &Array, i: i64) -> PyResult<Scalar> {
    evaluating(py, || array.item(i))
}

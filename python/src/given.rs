//! What Python objects are to core.

use porcini_core::value::{Argument, Form};
use porcini_core::{DType, Scalar, Value};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::errors::got;

/// What a Python object is to core.
pub(crate) enum Given {
    Value(Value),
    Number(Scalar),
    Numbers(Vec<Scalar>),
    Complex(f64, f64),
}

impl Given {
    /// Lends it to core.
    pub(crate) fn argument(&self) -> Argument<'_> {
        match self {
            Self::Value(value) => Argument::from(value),
            Self::Number(number) => Argument::Number(*number),
            Self::Numbers(numbers) => {
                let parts = numbers.iter().map(|&number| Argument::Number(number));
                Argument::Nested(Form::Vector(numbers.len()), parts.collect())
            }
            Self::Complex(re, im) => {
                let parts = [*re, *im].map(|part| Argument::Number(Scalar::Float(part)));
                Argument::Nested(Form::Complex, parts.into())
            }
        }
    }
}

/// The number that an object of Python's own is.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(Some(Scalar::Float(object.extract()?)));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Some(Scalar::Bool(object.extract()?)));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object).map(Some);
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Some(Scalar::Float(object.extract()?)));
    }
    Ok(None)
}

/// As [`number`], of what is to be lanes of a type: floats take integers of any size, rounded.
pub(crate) fn number_for(
    object: &Bound<'_, PyAny>,
    dtype: Option<DType>,
) -> PyResult<Option<Scalar>> {
    match number(object) {
        Err(error)
            if error.is_instance_of::<PyOverflowError>(object.py())
                && dtype.is_some_and(DType::is_float) =>
        {
            Ok(Some(Scalar::Float(object.extract()?)))
        }
        found => found,
    }
}

/// As [`number`]; `None` also of an integer that 64 bits do not hold: what stands beside it says whether it is rounded.
pub(crate) fn plain_number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    match number(object) {
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(None),
        found => found,
    }
}

/// The type of lanes that a number has which says no more: 32 bits, unless it needs 64.
pub(crate) fn dtype_of(number: Scalar) -> DType {
    match number {
        Scalar::Bool(_) => DType::Mask,
        Scalar::Int(i) if i32::try_from(i).is_ok() => DType::I32,
        Scalar::Int(_) => DType::I64,
        Scalar::UInt(_) => DType::U64,
        Scalar::Float(_) => DType::F32,
    }
}

/// An integer of Python's.
pub(crate) fn integer(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Ok(integer) = object.extract::<i64>() {
        return Ok(Scalar::Int(integer));
    }
    let large = object.extract::<u64>().map(Scalar::UInt);
    large.map_err(|_| {
        let what = format!("{}: integers go from -2**63 to 2**64 - 1", got(object));
        PyOverflowError::new_err(what)
    })
}

//! Operators of values and what stands beside them.

use porcini_core::ir::op::Op;
use porcini_core::value::{Argument, power};
use porcini_core::{Operand, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

use crate::convert::{Given, plain_number};
use crate::errors::OrRaise;
use crate::object::{self, PyValue, lanes};
use crate::{functions as tables, home};

type Object<'py> = Bound<'py, PyAny>;

/// What an operator gives of two objects, of which one is a value; NotImplemented where the other one is nothing we know.
pub(crate) fn binary<'py>(op: Op, a: &Object<'py>, b: &Object<'py>) -> PyResult<Object<'py>> {
    let py = a.py();
    if let Some(result) = of_arrays(op, a, b)? {
        return Ok(result);
    }
    let Some((a, b)) = both(a, b)? else { return Ok(not_implemented(py)) };
    let session = home::session(py)?;
    let args = [&a.argument(), &b.argument()];
    let leaf = |operands: &[Operand<'_>]| session.apply(op, operands);
    object::of(py, porcini_core::value::map(op.spelling(), &args, &leaf).or_raise()?)
}

/// The common case without detours: arrays and numbers.
fn of_arrays<'py>(op: Op, a: &Object<'py>, b: &Object<'py>) -> PyResult<Option<Object<'py>>> {
    let value = |object: &Object<'py>| object.cast::<PyValue>().ok().cloned();
    let (x, y) = (value(a), value(b));
    let x = x.as_ref().map(|x| x.get().value());
    let y = y.as_ref().map(|y| y.get().value());
    let (first, second) = (operand(x.as_deref(), a)?, operand(y.as_deref(), b)?);
    let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
    let result = home::session(a.py())?.apply(op, &[first, second]).or_raise()?;
    lanes(a.py(), result).map(Some)
}

/// A plain array or a number.
fn operand<'a>(value: Option<&'a Value>, object: &Object<'_>) -> PyResult<Option<Operand<'a>>> {
    match value {
        Some(Value::Array(array)) => Ok(Some(Operand::Array(array))),
        Some(Value::Nested(..) | Value::Tensor(_)) => Ok(None),
        None => Ok(plain_number(object)?.map(Operand::Number)),
    }
}

/// Two operands, if both are something we know.
fn both(a: &Object<'_>, b: &Object<'_>) -> PyResult<Option<(Given, Given)>> {
    let session = home::session(a.py())?;
    let given = |x, other| Given::beside(session, x, || object::dtype_of(other));
    let (Some(a), Some(b)) = (given(a, b)?, given(b, a)?) else {
        return Ok(None);
    };
    Ok(Some((a, b)))
}

/// What asks Python to try the other operand.
fn not_implemented(py: Python<'_>) -> Object<'_> {
    py.NotImplemented().into_bound(py)
}

/// As [`binary`], of a function of the table of functions.
pub(crate) fn by_function<'py>(
    name: &'static str,
    a: &Object<'py>,
    b: &Object<'py>,
) -> PyResult<Object<'py>> {
    let py = a.py();
    let Some((a, b)) = both(a, b)? else { return Ok(not_implemented(py)) };
    tables::of_function(py, name, &[&a.argument(), &b.argument()])
}

/// A power; of a whole exponent by multiplications.
pub(crate) fn raised_to<'py>(a: &Object<'py>, b: &Object<'py>) -> PyResult<Object<'py>> {
    let py = a.py();
    let is_integer = b.is_instance_of::<PyInt>() && !b.is_instance_of::<PyBool>();
    if let (true, Ok(base)) = (is_integer, a.cast::<PyValue>()) {
        let exponent = b.extract::<i64>()?;
        let base = base.get().value().clone();
        return object::of(py, power("**", &base, exponent).or_raise()?);
    }
    by_function("pow", a, b)
}

/// What an operator gives of one value.
pub(crate) fn unary<'py>(
    op: Op,
    symbol: &'static str,
    x: &Bound<'py, PyValue>,
) -> PyResult<Object<'py>> {
    let py = x.py();
    let value = x.get().value().clone();
    let session = home::session(py)?;
    let leaf = |operands: &[Operand<'_>]| session.apply(op, operands);
    let result = porcini_core::value::map(symbol, &[&Argument::from(&value)], &leaf);
    object::of(py, result.or_raise()?)
}

/// Quotients rounded down, and what is left.
pub(crate) fn divided<'py>(
    a: &Object<'py>,
    b: &Object<'py>,
) -> PyResult<(Object<'py>, Object<'py>)> {
    Ok((by_function("floor_divide", a, b)?, by_function("mod", a, b)?))
}

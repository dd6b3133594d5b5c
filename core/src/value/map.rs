//! How elementwise operations go through values.

use super::argument::{Argument, forms, operands, types};
use super::call::call_with;
use super::levels::{outermost, parts};
use super::multiply_add::in_steps;
use super::tensors::through_tensors;
use super::{Form, Value};
use crate::array::Array;
use crate::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{self, Op, Parts};
use crate::ir::var::MAX_OPERANDS;
use crate::session::Session;
use crate::trace::functions;
use crate::trace::nested::{find, named};

/// What an operation does to arrays and numbers.
pub type Leaf<'f> = dyn Fn(&[Operand<'_>]) -> Result<Array> + 'f;

/// Applies an operation through nested values; `op` is the name or operator of its row.
///
/// # Errors
/// `Forms` if values do not fit each other or the operation; what `leaf` returns.
pub fn map(op: &str, args: &[&Argument<'_>], leaf: &Leaf<'_>) -> Result<Value> {
    if let Some(result) = map_vectors(args, leaf) {
        return result;
    }
    if let Some(result) = through_tensors(op, args, &|entries| map(op, entries, leaf)) {
        return result;
    }
    if let Some(result) = map_parts(op, args, leaf) {
        return result;
    }
    if let Some(result) = in_steps(op, args) {
        return result;
    }
    match outermost(op, args)? {
        Form::Scalar => leaf(&operands(op, args)?).map(Value::Array),
        level @ Form::Vector(n) => {
            let component = |i| map(op, &parts(args, level, i), leaf);
            (0..n).map(component).collect::<Result<_>>().map(Value::of_known_vector)
        }
        number => map_numbers(op, args, number, leaf),
    }
}

/// Records an elementwise operation.
///
/// # Errors
/// As [`map`] and [`Array::apply`]; `Argument` without arrays.
pub fn apply(op: Op, args: &[&Argument<'_>]) -> Result<Value> {
    let symbol = if op == Op::Neg { "-" } else { op.spelling() };
    map(symbol, args, &|operands| session(op.spelling(), operands)?.apply(op, operands))
}

/// Records a function of the table of functions.
///
/// # Errors
/// As [`apply`]; `Argument` if there is no such function.
pub fn function(name: &'static str, args: &[&Argument<'_>]) -> Result<Value> {
    let none = || Error::Argument { op: name, what: "there is no such function".into() };
    let row = functions::find(name).ok_or_else(none)?;
    map(name, args, &|operands| session(name, operands)?.call(row, operands))
}

/// The session of the first array.
pub(super) fn session<'a>(op: &'static str, operands: &[Operand<'a>]) -> Result<&'a Session> {
    let array = operands.iter().find_map(|operand| match operand {
        Operand::Array(array) => Some(*array),
        Operand::Number(_) => None,
    });
    let none = || Error::Argument { op, what: "got no arrays, expected one".into() };
    array.map(Array::session).ok_or_else(none)
}

/// As [`map`], of numbers of several parts: what their row says, else part by part where that means the same.
fn map_numbers(op: &str, args: &[&Argument<'_>], number: Form, leaf: &Leaf<'_>) -> Result<Value> {
    let own = forms(args);
    // What has fewer levels is a real number, or a complex one without imaginary part.
    let among_reals = own.iter().map(|&form| if form == number { form } else { Form::Scalar });
    let mut readings = Vec::new();
    if !named(op).is_empty() {
        readings.extend([own.clone(), among_reals.collect()]);
        if !matches!(number, Form::Matrix(_)) {
            readings.push(vec![number; args.len()]);
        }
    }
    if let Some(forms) = readings.iter().find(|forms| find(op, forms).is_some()) {
        return Ok(call_with(op, forms, args)?.remove(0));
    }
    match (number, meaning(op)) {
        // Entries may be numbers of several parts themselves.
        (Form::Matrix(n), Parts::Linear | Parts::Entries) => {
            let column = |i| map(op, &parts(args, number, i), leaf);
            Ok(Value::of_known(number, (0..n).map(column).collect::<Result<_>>()?))
        }
        (Form::Complex | Form::Quaternion, Parts::Linear) => {
            let value = components(op, args, leaf)?;
            // A part that only some arguments have is of their type.
            let dtype = value.dtype();
            match &value {
                Value::Nested(form, parts) if parts.iter().any(|part| part.dtype() != dtype) => {
                    let parts: Vec<Argument<'_>> = parts.iter().map(Argument::from).collect();
                    let parts = alike(op, &parts.iter().collect::<Vec<_>>())?;
                    Ok(Value::of_known(*form, parts))
                }
                _ => Ok(value),
            }
        }
        _ => Err(undefined(op, number, args)),
    }
}

/// What an operation means for numbers of several parts, from its row.
pub(super) fn meaning(op: &str) -> Parts {
    let of_operation = op::find(op).map(|info| info.parts);
    let of_function = || functions::find(op).map(functions::Function::parts);
    of_operation.or_else(of_function).unwrap_or(Parts::Entries)
}

/// Applies an operation to every component, whatever the operation means for numbers of several parts: to convert, to
/// choose, to assign.
///
/// # Errors
/// As [`map`].
pub fn components(op: &str, args: &[&Argument<'_>], leaf: &Leaf<'_>) -> Result<Value> {
    if let Some(result) = through_tensors(op, args, &|entries| components(op, entries, leaf)) {
        return result;
    }
    let level = match outermost(op, args)? {
        Form::Scalar => return leaf(&operands(op, args)?).map(Value::Array),
        level => level,
    };
    let component = |i| components(op, &parts(args, level, i), leaf);
    let results = (0..level.n_components()).map(component).collect::<Result<_>>()?;
    Ok(of_components(level, results))
}

impl Argument<'_> {
    /// What a function makes of every array inside.
    pub(crate) fn each(
        &self,
        op: &'static str,
        change: impl Fn(&Array) -> Result<Array>,
    ) -> Result<Value> {
        components(op, &[self], &|operands| match *operands {
            [Operand::Array(array)] => change(array),
            _ => Err(Error::Argument { op, what: "an array expected".into() }),
        })
    }
}

/// Values as components of one: promoted to one type, and broadcast to the most deeply nested of them.
///
/// # Errors
/// `Forms` if there is no common type; see [`map`].
pub fn alike(op: &str, parts: &[&Argument<'_>]) -> Result<Vec<Value>> {
    let mix = || Error::forms(format!("{op}: components of types {}", types(parts, ", ")));
    let dtypes = parts.iter().filter_map(|part| part.dtype());
    let common = dtypes.map(Some).reduce(|common, dtype| common?.promote(dtype?));
    let dtype = common.unwrap_or(Some(DType::F32)).ok_or_else(mix)?;
    let deepest = parts.iter().max_by_key(|part| part.extents().len());
    let like = |&part: &&Argument<'_>| {
        let model = *deepest.unwrap_or(&part);
        components(op, &[part, model], &|operands| match *operands {
            [Operand::Array(part), _] => part.cast(dtype),
            // The imaginary part of a real number.
            [Operand::Number(zero), Operand::Array(model)] => model.session().full(dtype, zero, 1),
            _ => Err(Error::Argument { op: "components", what: "arrays expected".into() }),
        })
    };
    let alike: Vec<Value> = parts.iter().map(like).collect::<Result<_>>()?;
    let first = alike.first().map(Value::type_name);
    if alike.iter().any(|part| Some(part.type_name()) != first) {
        return Err(mix());
    }
    Ok(alike)
}

/// The common case without detours: vectors of arrays, all of one length, arrays and numbers beside them. `None` for
/// anything else.
fn map_vectors<'a>(args: &[&Argument<'a>], leaf: &Leaf<'_>) -> Option<Result<Value>> {
    let mut length = None;
    for arg in args {
        let (form, components) = match arg {
            Argument::Nested(form, components) => (form, components),
            Argument::Tensor(_) => return None,
            Argument::Number(_) | Argument::Array(_) => continue,
        };
        let of_arrays = form.is_vector() && !components.iter().any(Argument::is_nested);
        if !of_arrays || length.is_some_and(|length| length != components.len()) {
            return None;
        }
        length = Some(components.len());
    }
    // On the stack: this runs for every recorded operation.
    let mut operands = [Operand::Number(Scalar::Int(0)); MAX_OPERANDS];
    let operands = operands.get_mut(..args.len())?;
    let component = |i: usize| {
        for (operand, arg) in operands.iter_mut().zip(args) {
            *operand = arg.components().get(i).unwrap_or(arg).operand("")?;
        }
        leaf(operands).map(Value::Array)
    };
    Some((0..length?).map(component).collect::<Result<_>>().map(Value::of_known_vector))
}

/// As [`map_vectors`], of complex numbers or quaternions, all of one type, real numbers beside them, where an operation
/// on them is one on their parts.
fn map_parts(op: &str, args: &[&Argument<'_>], leaf: &Leaf<'_>) -> Option<Result<Value>> {
    let number = args.iter().find(|arg| arg.is_nested())?;
    let (form, dtype) = (number.form(), number.dtype()?);
    let is_of_parts = |arg: &&Argument<'_>| match arg {
        Argument::Number(number) => !matches!(number, Scalar::Bool(_)),
        Argument::Array(array) => array.dtype() == dtype,
        Argument::Nested(own, parts) => {
            *own == form && !parts.iter().any(Argument::is_nested) && arg.dtype() == Some(dtype)
        }
        Argument::Tensor(_) => false,
    };
    let is_number = matches!(form, Form::Complex | Form::Quaternion) && dtype != DType::Mask;
    // Rows of numbers of several parts with real ones say what becomes of the other parts.
    let has_row = || match args.iter().all(|arg| arg.is_nested()) {
        true => find(op, &forms(args)).is_some(),
        false => !named(op).is_empty(),
    };
    let is_linear = || meaning(op) == Parts::Linear && !has_row();
    if !is_number || !args.iter().all(is_of_parts) || !is_linear() {
        return None;
    }
    let part = |i| {
        let operands = parts(args, form, i);
        leaf(&super::argument::operands(op, &operands)?).map(Value::Array)
    };
    let results = (0..form.n_components()).map(part).collect::<Result<_>>();
    Some(results.map(|results| of_components(form, results)))
}

/// What an operation on each component of a level makes; what compares the parts of a number is none.
fn of_components(level: Form, results: Vec<Value>) -> Value {
    let is_mask = results.first().is_some_and(|result| result.dtype() == DType::Mask);
    let is_number = matches!(level, Form::Matrix(_)) || !is_mask;
    if is_number { Value::of_known(level, results) } else { Value::of_known_vector(results) }
}

/// The error of an operation that numbers of several parts do not have.
fn undefined(op: &str, number: Form, args: &[&Argument<'_>]) -> Error {
    let remedy = match (number, op) {
        (Form::Matrix(_), "/") => "write a * inverse(b); mul_elem(a, b) multiplies entry by entry",
        (Form::Matrix(_), _) => "mul_elem(a, b) multiplies entry by entry",
        (Form::Complex, "<" | "<=" | ">" | ">=") => {
            "complex numbers have no order; compare abs(z) or z.real"
        }
        (Form::Complex, _) => "apply it to z.real and z.imag",
        (_, "<" | "<=" | ">" | ">=") => "quaternions have no order; compare abs(q)",
        _ => "apply it to real(q) and imag(q)",
    };
    let what = format!("{op}: not defined for {}", types(args, " and "));
    Error::Forms { what, remedy: Some(remedy) }
}

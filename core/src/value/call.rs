//! Calls of the functions of vectors, matrices, complex numbers and quaternions.

use super::argument::{Argument, forms, operands, types};
use super::entries::{apply, apply_complex};
use super::levels::{entries, outermost, parts};
use super::over_lanes::over_lanes;
use super::tensors::through_tensors;
use super::{Form, Value};
use crate::array::Array;
use crate::array::Operand;
use crate::error::{Error, Result};
use crate::trace::nested::{Entries, NestedCall, NestedFunction, find, named};

/// What a function does to the entries of its arguments.
type Recipe<'f> = dyn Fn(&[Operand<'_>]) -> Result<Vec<Array>> + 'f;

/// What is done of entries that are numbers of several parts.
type OfNumbers<'f> = dyn Fn(&[&Argument<'_>]) -> Result<Vec<Value>> + 'f;

/// Calls the function `op` of [`trace::nested`](crate::trace::nested) by the forms of its arguments, or of their
/// components; lengths and products of arrays are those of their lanes.
///
/// # Errors
/// `Forms`, which lists what the function takes; as [`entries::apply`](super::entries::apply).
pub fn call(op: &str, args: &[&Argument<'_>]) -> Result<Vec<Value>> {
    let takes = || {
        if named(op).is_empty() {
            return Error::forms(format!(
                "{op}: there is no such function of ({})",
                types(args, ", ")
            ));
        }
        let rows = named(op).iter().map(|row| signature(row.parameters));
        let takes = rows.collect::<Vec<_>>().join(" or ");
        Error::forms(format!("{op}: got ({}), expected {takes}", types(args, ", ")))
    };
    for row in named(op) {
        if let [value] = args
            && row.entries == Entries::Itself
            && is_real(value)
        {
            return Ok(vec![value.to_value(op)?]);
        }
        if let Some(result) = over_lanes(row, args)? {
            return Ok(vec![result]);
        }
    }
    call_through(op, args)?.ok_or_else(takes)
}

/// Whether it is made of real arrays.
fn is_real(value: &Argument<'_>) -> bool {
    match value {
        Argument::Number(_) => false,
        Argument::Array(_) => true,
        Argument::Tensor(tensor) => !tensor.is_complex(),
        Argument::Nested(form, components) => {
            matches!(form, Form::Vector(_) | Form::Matrix(_)) && components.iter().all(is_real)
        }
    }
}

/// `None` if the function takes no such values.
fn call_through(op: &str, args: &[&Argument<'_>]) -> Result<Option<Vec<Value>>> {
    let forms = forms(args);
    if forms.contains(&Form::Tensor) {
        return of_tensors(op, args);
    }
    if find(op, &forms).is_some() {
        return call_with(op, &forms, args).map(Some);
    }
    let level = outermost(op, args)?;
    match level {
        Form::Vector(_) => {}
        // A matrix of complex numbers, entry by entry.
        Form::Matrix(_) if find(op, &[Form::Complex]).is_some() => {}
        Form::Scalar | Form::Matrix(_) | Form::Complex | Form::Quaternion | Form::Tensor => {
            return Ok(None);
        }
    }
    let component = |i| call_through(op, &parts(args, level, i));
    let rows = (0..level.n_components()).map(component).collect::<Result<Option<Vec<_>>>>()?;
    Ok(rows.map(|rows| columns(level, rows)))
}

/// The result of a function of complex numbers for those of tensors; `None` if it takes none.
fn of_tensors(op: &str, args: &[&Argument<'_>]) -> Result<Option<Vec<Value>>> {
    let is_complex = |arg: &&Argument<'_>| match arg {
        Argument::Tensor(tensor) => tensor.is_complex(),
        arg => arg.form() == Form::Complex,
    };
    // Real entries are no complex numbers where the same is said of vectors (normalize).
    let is_of_vectors = find(op, &vec![Form::Vector(2); args.len()]).is_some();
    let is_known = find(op, &vec![Form::Complex; args.len()]).is_some();
    if !is_known || is_of_vectors && !args.iter().any(is_complex) {
        return Ok(None);
    }
    let one = |entries: &[&Argument<'_>]| {
        let forms = vec![Form::Complex; entries.len()];
        Ok(call_with(op, &forms, entries)?.swap_remove(0))
    };
    through_tensors(op, args, &one).map(|result| Ok(vec![result?])).transpose()
}

/// The k-th result of every component, as the components of one.
fn columns(level: Form, rows: Vec<Vec<Value>>) -> Vec<Value> {
    let n_results = rows.first().map_or(0, Vec::len);
    let mut rows: Vec<_> = rows.into_iter().map(Vec::into_iter).collect();
    let column = |_| rows.iter_mut().filter_map(Iterator::next).collect();
    (0..n_results).map(column).map(|parts| Value::of_known(level, parts)).collect()
}

/// Whether a call with these arguments is one of this row.
pub fn takes(row: &'static NestedFunction, args: &[&Argument<'_>]) -> bool {
    // Not by address: an optimised build may hold several copies of a table.
    find(row.name, &forms(args)).is_some_and(|call| call.function().parameters == row.parameters)
}

/// Forms as a person reads them: `(vector, vector)`.
pub fn signature(forms: &[Form]) -> String {
    let words: Vec<String> = forms.iter().map(ToString::to_string).collect();
    format!("({})", words.join(", "))
}

/// Calls a function with arguments read as of these forms.
pub(super) fn call_with(op: &str, forms: &[Form], args: &[&Argument<'_>]) -> Result<Vec<Value>> {
    let none = || Error::forms(format!("{op}: no such function of {forms:?}"));
    let call = find(op, forms).ok_or_else(none)?;
    let pairs = args.iter().zip(forms);
    let entries: Vec<_> = pairs.flat_map(|(arg, &form)| entries(arg, form)).collect();
    let of_numbers = |entries: &[&Argument<'_>]| match call {
        _ if call.takes_complex_entries() => of_complex(op, call, entries),
        _ if call.takes_parts() => of_parts(op, call, entries),
        _ => Err(no_reals(op, entries)),
    };
    let results = lift_through(op, &entries, &|entries| apply(call, entries), &of_numbers)?;
    Ok(assembled(call.results(), results))
}

/// Values of these forms from their entries, one after the other.
fn assembled(forms: impl Iterator<Item = Form>, entries: Vec<Value>) -> Vec<Value> {
    let mut entries = entries.into_iter();
    let next =
        |form: Form| Value::assembled(form, entries.by_ref().take(form.n_entries()).collect());
    forms.map(next).collect()
}

/// Applies a function of several results through vectors among the entries.
///
/// # Errors
/// `Forms` if an entry is a number of several parts; what the function returns.
pub fn lift(op: &str, entries: &[&Argument<'_>], function: &Recipe<'_>) -> Result<Vec<Value>> {
    lift_through(op, entries, function, &|entries| Err(no_reals(op, entries)))
}

fn lift_through(
    op: &str,
    entries: &[&Argument<'_>],
    function: &Recipe<'_>,
    of_numbers: &OfNumbers<'_>,
) -> Result<Vec<Value>> {
    match outermost(op, entries)? {
        Form::Scalar => {
            Ok(function(&operands(op, entries)?)?.into_iter().map(Value::Array).collect())
        }
        level @ Form::Vector(n) => {
            let lane = |i| lift_through(op, &parts(entries, level, i), function, of_numbers);
            Ok(columns(level, (0..n).map(lane).collect::<Result<_>>()?))
        }
        Form::Complex | Form::Quaternion | Form::Matrix(_) | Form::Tensor => of_numbers(entries),
    }
}

/// Applies a function of vectors or matrices whose entries are complex.
fn of_complex<'a>(op: &str, call: NestedCall, entries: &[&Argument<'a>]) -> Result<Vec<Value>> {
    let pair = |entry: &&Argument<'a>| match (entry.form(), entry.components()) {
        (Form::Complex, [re, im]) => Ok((re.operand(op)?, Some(im.operand(op)?))),
        (Form::Scalar, _) => Ok((entry.operand(op)?, None)),
        _ => Err(no_reals(op, entries)),
    };
    let pairs = entries.iter().map(pair).collect::<Result<Vec<_>>>()?;
    let number = |(re, im): (Array, Option<Array>)| match im {
        Some(im) => Value::of_known(Form::Complex, vec![re.into(), im.into()]),
        None => re.into(),
    };
    Ok(apply_complex(call, &pairs)?.into_iter().map(number).collect())
}

/// Applies a function for which parts of numbers are entries: the result is one array, or has the same forms.
fn of_parts(op: &str, call: NestedCall, parts: &[&Argument<'_>]) -> Result<Vec<Value>> {
    let forms = forms(parts);
    if forms.iter().any(|form| matches!(form, Form::Vector(_) | Form::Matrix(_))) {
        return Err(no_reals(op, parts));
    }
    let all: Vec<_> =
        parts.iter().zip(&forms).flat_map(|(arg, &form)| entries(arg, form)).collect();
    let results: Vec<Value> =
        apply(call, &operands(op, &all)?)?.into_iter().map(Value::Array).collect();
    if results.len() == 1 {
        return Ok(results);
    }
    Ok(assembled(forms.into_iter(), results))
}

fn no_reals(op: &str, entries: &[&Argument<'_>]) -> Error {
    let number = entries.iter().find(|entry| entry.is_nested());
    let name = number.map_or_else(String::new, |number| number.type_name());
    Error::Forms {
        what: format!("{op}: got components of type {name}, expected real arrays"),
        remedy: Some("write it out with the components v.x, v.y, …"),
    }
}

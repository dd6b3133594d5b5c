//! Which level of nested values an operation goes through first, and what it finds there.

use super::Form;
use super::argument::{Argument, forms, types};
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::trace::nested::find;

pub(super) static ZERO: Argument<'static> = Argument::Number(Scalar::Int(0));

/// The outermost level of an operation: `Scalar` for arrays and numbers.
pub(super) fn outermost(op: &str, args: &[&Argument<'_>]) -> Result<Form> {
    if !args.iter().any(|arg| arg.is_nested()) {
        return Ok(Form::Scalar);
    }
    let nested: Vec<&Argument<'_>> = args.iter().copied().filter(|arg| arg.is_nested()).collect();
    let Some(deepest) = nested.iter().map(|arg| arg.level()).max() else {
        return Ok(Form::Scalar);
    };
    let forms = forms(args);
    let mut numbers = nested.iter().filter(|arg| !arg.form().is_vector());
    // A matrix or quaternion takes a vector as a whole.
    if let Some(number) = numbers.clone().next()
        && find(op, &forms).is_some()
        && nested.iter().all(|arg| !arg.form().is_vector() || !arg.has(&is_whole))
    {
        return Ok(number.form());
    }
    let number = numbers.find(|arg| arg.level() == deepest).map(|number| number.form());
    let top: Vec<&Argument<'_>> = nested.into_iter().filter(|arg| arg.level() == deepest).collect();
    if let Some(vector) = vector_level(op, args, &top, number)? {
        return Ok(vector);
    }
    match number {
        Some(number) => number_level(op, args, &forms, &top, number),
        None => Ok(Form::Scalar),
    }
}

/// The vectors among the deepest arguments, if there are any; masks that choose the parts of a number are none.
fn vector_level(
    op: &str,
    args: &[&Argument<'_>],
    top: &[&Argument<'_>],
    number: Option<Form>,
) -> Result<Option<Form>> {
    let chooses_parts = |arg: &Argument<'_>| {
        number.is_some_and(|number| number.n_components() == arg.components().len())
            && arg.is_mask()
    };
    let mut vectors = top.iter().filter(|arg| arg.form().is_vector() && !chooses_parts(arg));
    let Some(vector) = vectors.next() else { return Ok(None) };
    let form = vector.form();
    if matches!(number, Some(Form::Matrix(_))) && !vector.has(&|form| !form.is_vector()) {
        return Err(Error::Forms {
            what: format!("{op}: {} do not fit", types(args, " and ")),
            remedy: Some(
                "m * v takes a vector of as many components as m has columns; for v * m write transpose(m) * v",
            ),
        });
    }
    if vectors.any(|other| other.form() != form) {
        let types = types(args, " and ");
        return Err(Error::forms(format!("{op}: {types} have different numbers of components")));
    }
    Ok(Some(form))
}

/// The level of a number of several parts.
fn number_level(
    op: &str,
    args: &[&Argument<'_>],
    forms: &[Form],
    top: &[&Argument<'_>],
    mut number: Form,
) -> Result<Form> {
    // A complex number meets a matrix as one factor.
    if let Some(matrix) = top.iter().find(|arg| matches!(arg.form(), Form::Matrix(_)))
        && find(op, &complex_as_real(forms)).is_some()
    {
        number = matrix.form();
    }
    let mixes = |other: Form| {
        other.is_vector() || matches!((number, other), (Form::Matrix(_), Form::Complex))
    };
    if top.iter().any(|arg| !mixes(arg.form()) && arg.form() != number) {
        return Err(Error::forms(format!("{op}: {} do not mix", types(args, " and "))));
    }
    Ok(number)
}

/// Whether a value is no entry of a vector that a matrix takes.
fn is_whole(form: Form) -> bool {
    matches!(form, Form::Quaternion | Form::Matrix(_))
}

fn complex_as_real(forms: &[Form]) -> Vec<Form> {
    let real = |&form: &Form| if form == Form::Complex { Form::Scalar } else { form };
    forms.iter().map(real).collect()
}

/// The arguments of component `i` of a level.
pub(super) fn parts<'b, 'a>(
    args: &[&'b Argument<'a>],
    level: Form,
    i: usize,
) -> Vec<&'b Argument<'a>> {
    let vector = Form::Vector(level.n_components());
    let is_real = matches!(level, Form::Matrix(_)) || level.holds_real(i);
    let part = |arg: &&'b Argument<'a>| match arg.form() {
        // Masks choose the parts of numbers.
        form if form == level || form == vector && arg.is_mask() => &arg.components()[i],
        _ if is_real || arg.is_mask() => *arg,
        _ => &ZERO,
    };
    args.iter().map(part).collect()
}

/// The entries of an argument as one of the given form, in order; what has fewer levels is a real number.
pub(super) fn entries<'b, 'a>(arg: &'b Argument<'a>, form: Form) -> Vec<&'b Argument<'a>> {
    match form {
        Form::Scalar => vec![arg],
        form if arg.form() == form => match form {
            Form::Matrix(_) => arg.components().iter().flat_map(Argument::components).collect(),
            _ => arg.components().iter().collect(),
        },
        form => {
            let entry = |i| if form.holds_real(i) { arg } else { &ZERO };
            (0..form.n_entries()).map(entry).collect()
        }
    }
}

//! Which of NumPy's functions mean the same of values with components: to NumPy these are the last axis, or the last two.

use porcini_core::Value;
use porcini_core::value::Form;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::is_sequence;
use crate::object::PyValue;

type Object<'py> = Bound<'py, PyAny>;

fn form(object: &Object<'_>) -> Option<Form> {
    Some(object.cast::<PyValue>().ok()?.get().value().form())
}

/// The form of a value of ours that has components, other than the parts of complex numbers.
fn form_of_components(object: &Object<'_>) -> Option<Form> {
    form(object).filter(|form| !matches!(form, Form::Scalar | Form::Tensor | Form::Complex))
}

/// Whether an object is complex lanes, which to NumPy are one number each.
pub(crate) fn is_row_of_complex(object: &Object<'_>) -> bool {
    form(object) == Some(Form::Complex)
}

/// Whether an object is a value with components, or a list with one.
pub(crate) fn holds_components(object: &Object<'_>) -> bool {
    let is_one = |object: &Object<'_>| form_of_components(object).is_some();
    let has_one = |item: PyResult<Object<'_>>| item.is_ok_and(|item| is_one(&item));
    is_one(object)
        || is_sequence(object) && object.try_iter().is_ok_and(|mut items| items.any(has_one))
}

/// Whether an object has axes that NumPy would lay over those of components: a list, an array of another library, a tensor.
fn has_other_axes(object: &Object<'_>) -> bool {
    let n_axes = || object.getattr(intern!(object.py(), "ndim")).ok()?.extract::<usize>().ok();
    match object.cast::<PyValue>() {
        Ok(value) => matches!(&*value.get().value(), Value::Tensor(_)),
        Err(_) => is_sequence(object) || n_axes().is_some_and(|n| n > 0),
    }
}

/// Whether arguments lie as in NumPy: components of one form beside numbers, or beside lanes of ours, which NumPy would
/// refuse or lay across.
fn lie_alike<'py>(args: impl Iterator<Item = Object<'py>>) -> bool {
    let args: Vec<Object<'py>> = args.collect();
    let forms: Vec<Form> = args.iter().filter_map(form_of_components).collect();
    forms.windows(2).all(|pair| pair[0] == pair[1]) && !args.iter().any(has_other_axes)
}

/// Ufuncs that an array of NumPy's calls for an operator.
const OPERATORS: [&str; 14] = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "floor_divide",
    "remainder",
    "power",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
];

/// Whether a call may be the operator `array * v`, which is lane by lane as `v * array` is: NumPy does not tell which it
/// is.
fn may_be_operator(name: &str, inputs: &Bound<'_, PyTuple>) -> bool {
    let has_axes = |left: &Object<'_>| left.hasattr(intern!(left.py(), "ndim")).unwrap_or(false);
    let of_numpy = |left: Object<'_>| form(&left).is_none() && has_axes(&left);
    OPERATORS.contains(&name) && inputs.get_item(0).is_ok_and(of_numpy)
}

/// Whether ours of a ufunc does with matrices, quaternions, vectors and complex lanes what NumPy does with their entries.
pub(crate) fn ufunc_means_the_same(name: &str, inputs: &Bound<'_, PyTuple>) -> bool {
    if may_be_operator(name, inputs) {
        return true;
    }
    let forms: Vec<Option<Form>> = inputs.iter().map(|input| form_of_components(&input)).collect();
    if forms.iter().all(Option::is_none) {
        // Ours compare part by part.
        let is_comparison = ["equal", "not_equal"].contains(&name);
        return !(is_comparison && inputs.iter().any(|input| is_row_of_complex(&input)));
    }
    if !lie_alike(inputs.iter()) {
        return false;
    }
    let are_all = forms.iter().all(Option::is_some);
    if name == "matmul" {
        return forms.iter().all(|form| matches!(form, Some(Form::Matrix(_))));
    }
    // Products of these are theirs.
    forms.iter().flatten().all(|form| form.is_vector())
        || match name {
            "negative" | "positive" => true,
            "add" | "subtract" => are_all,
            "multiply" => !are_all,
            "divide" | "true_divide" => !are_all && forms[0].is_some(),
            "reciprocal" | "square" => false,
            _ => matches!(forms[..], [Some(Form::Matrix(_))]),
        }
}

/// Functions that go entry by entry, also of vectors.
const ENTRY_BY_ENTRY: [&str; 8] =
    ["where", "clip", "isclose", "copy", "nan_to_num", "zeros_like", "ones_like", "full_like"];

/// Whether ours of a function does with components what NumPy does with an axis of them.
pub(crate) fn means_the_same<'py>(name: &str, args: impl Iterator<Item = Object<'py>>) -> bool {
    ENTRY_BY_ENTRY.contains(&name) && lie_alike(args)
}

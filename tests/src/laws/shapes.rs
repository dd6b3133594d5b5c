//! Shapes of nested values, from the outermost level inwards, as scripts write them.

use porcini_core::value::Form;

/// A value of a form from the texts of its entries; those of a matrix row by row.
pub fn made(form: Form, entries: &[String]) -> String {
    let list = entries.join(", ");
    match form {
        Form::Scalar | Form::Tensor => list,
        Form::Vector(n) => format!("Vector{n}C([{list}])"),
        Form::Complex => format!("Complex2C({list})"),
        Form::Quaternion => format!("Quaternion4C({list})"),
        Form::Matrix(n) => format!("Matrix{n}C({list})"),
    }
}

/// Entry `k` of a value of a form.
pub fn entry(form: Form, value: &str, k: usize) -> String {
    match form {
        Form::Scalar | Form::Tensor => value.into(),
        Form::Matrix(n) => format!("{value}[[{}, {}]]", k / n, k % n),
        Form::Vector(_) | Form::Complex | Form::Quaternion => format!("{value}[{k}]"),
    }
}

/// A value of a shape from the names of plain arrays.
pub fn assembled(shape: &[Form], leaf: &mut dyn FnMut() -> String) -> String {
    match shape {
        [] => leaf(),
        [form, inner @ ..] => {
            let entries: Vec<String> =
                (0..form.n_entries()).map(|_| assembled(inner, leaf)).collect();
            made(*form, &entries)
        }
    }
}

/// The shape that the name of a type tells; `None` of what is no array.
pub fn of_type(name: &str) -> Option<Vec<Form>> {
    let levels = name.trim_end_matches('>').split('<');
    let shape: Vec<Form> = levels.filter_map(form_of_level).collect();
    name.trim_end_matches('>').ends_with('C').then_some(shape)
}

fn form_of_level(level: &str) -> Option<Form> {
    let kinds = ["Vector", "Matrix", "Complex", "Quaternion"];
    let (kind, rest) = kinds.iter().find_map(|kind| Some((*kind, level.strip_prefix(kind)?)))?;
    let digits = rest.trim_end_matches(|c: char| !c.is_ascii_digit());
    let n = digits.parse().ok()?;
    Some(match kind {
        "Vector" => Form::Vector(n),
        "Matrix" => Form::Matrix(n),
        "Complex" => Form::Complex,
        _ => Form::Quaternion,
    })
}

/// The name of the type with a form and the letter of a lane type.
pub fn type_name(form: Form, letter: &str) -> String {
    match form {
        Form::Scalar | Form::Tensor => "FloatC".into(),
        Form::Vector(n) => format!("Vector{n}{letter}C"),
        Form::Complex => format!("Complex2{letter}C"),
        Form::Quaternion => format!("Quaternion4{letter}C"),
        Form::Matrix(n) => format!("Matrix{n}{letter}C"),
    }
}

//! The call around a name: types and functions among its arguments are looked at before its own name is.

use porcini_core::catalogue::TENSOR_MAKERS;
use porcini_core::tensor;
use rhai::{EvalAltResult, Position};

use crate::diagnose::location::Location;
use crate::diagnose::python;
use crate::language::words::last_word;

/// The error of a call of others, `iinfo(Int8C)`, where Rhai only tells of what we have in its place; and where it stands.
pub(super) fn unknown_call(
    error: &EvalAltResult,
    location: &Location,
    is_known: impl Fn(&str) -> bool,
) -> Option<(EvalAltResult, Location)> {
    let EvalAltResult::ErrorVariableNotFound(argument, _) = error else { return None };
    let (before, _) = location.halves();
    let (start, name) = open_call(before)?;
    if !is_known(argument) || is_known(name) || python::word(name).is_none() {
        return None;
    }
    let column = before[..start].chars().count() + 1;
    let error = EvalAltResult::ErrorFunctionNotFound(name.into(), Position::NONE);
    Some((error, Location { column, ..location.clone() }))
}

/// How `zeros(shape, Float64C)` is written, for the type at the end of a text.
pub(super) fn maker(before: &str, dtype: &str) -> Option<String> {
    let (_, call) = open_call(before)?;
    let row = TENSOR_MAKERS.iter().find(|row| row.name == call)?;
    let is_meant = |is_complex: bool, lanes: &str| !is_complex && lanes == dtype;
    let (tensor, ..) = tensor::types()
        .find(|(_, lanes, is_complex)| is_meant(*is_complex, lanes.script_name()))?;
    let parameters = row.signature().replace("shape", "[2, 3]");
    Some(format!("write {tensor}::{call}{parameters}"))
}

/// Where the call begins that is open at the end of a text, and its name.
fn open_call(before: &str) -> Option<(usize, &str)> {
    let mut depth = 0;
    let is_open = |&(_, c): &(usize, char)| {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' => depth -= 1,
            _ => {}
        }
        depth < 0
    };
    let (at, '(') = before.char_indices().rev().find(is_open)? else { return None };
    let name = last_word(before[..at].trim_end());
    (!name.is_empty()).then(|| (before[..at].trim_end().len() - name.len(), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_around_names_are_found() {
        assert_eq!(open_call("y = x.astype("), Some((6, "astype")));
        assert_eq!(open_call("zeros([2, f(3)], "), Some((0, "zeros")));
        assert_eq!([open_call("f([a, "), open_call("(a, "), open_call("f(x)")], [None; 3]);
    }

    #[test]
    fn makers_have_types_of_their_own() {
        let hint = maker("y = zeros([4, 5], ", "Float64C");
        assert_eq!(hint.as_deref(), Some("write TensorXdC::zeros([2, 3])"));
        assert_eq!([maker("sin(", "Float64C"), maker("zeros(3, ", "max")], [None, None]);
    }
}

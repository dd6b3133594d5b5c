//! Shapes, axes and matrices as NumPy, Julia and MATLAB write them, and how they are written here.

use porcini_core::catalogue::{Kind, Row, TENSOR_MAKERS, rows, tensor_rows};

use crate::diagnose::python;
use crate::language::words::{first_word, is_name, last_word};
use crate::value::OF_LISTS_IN_LISTS;

/// What stands between numbers of a list.
pub(crate) const ITEMS: &str =
    "items stand between commas, rows of a matrix are lists: TensorXfC([[1, 2], [3, 4]])";

/// The rows of a name.
fn rows_of(name: &str) -> impl Iterator<Item = &'static Row> {
    tensor_rows().chain(TENSOR_MAKERS).filter(move |row| row.name == name)
}

/// The call to write where integers stand in place of a list of them, from the types of its arguments.
pub(crate) fn listed(name: &str, arguments: &str) -> Option<String> {
    let place =
        |row: &Row| row.parameters.iter().position(|(_, kind)| matches!(kind, Kind::Integers(_)));
    let (row, before) = rows_of(name).find_map(|row| Some((row, place(row)?)))?;
    let integers = || arguments.split(", ").skip(before);
    if integers().count() < 2 || integers().any(|argument| argument != "i64") {
        return None;
    }
    let list = match row.parameters[before].1 {
        Kind::Integers("a shape") => "[2, 3]",
        _ => "[1, 0]",
    };
    let names = row.parameters.iter().enumerate().take(row.n_required.max(before + 1));
    let names = names.map(|(i, (name, _))| if i == before { list } else { name });
    let call = names.collect::<Vec<_>>().join(", ");
    Some(format!("shapes and axes are lists: write {name}({call})"))
}

/// What to do with a list that a function of arrays does not take.
pub(crate) fn of_list(function: &str, line: &str) -> &'static str {
    if has_lists_in_lists(line) {
        return OF_LISTS_IN_LISTS;
    }
    if rows().all(|row| row.name != function) && rows_of(function).next().is_some() {
        return "make an array or a tensor of a list first: FloatC([1, 2, 3]), TensorXfC([[1, 2], [3, 4]])";
    }
    "make an array of a list first: FloatC([1, 2, 3])"
}

/// `[[1, 2], [3, 4]]`, but no `a[[1, 2]]`.
pub(crate) fn has_lists_in_lists(line: &str) -> bool {
    line.match_indices("[[").any(|(at, _)| !is_indexed(&line[..at]))
}

fn is_indexed(before: &str) -> bool {
    before.ends_with(|c: char| is_name(c) || matches!(c, ')' | ']'))
}

/// `a[1, :]` as it is written here, at a caret inside of the brackets or at their end.
pub(crate) fn index(before: &str, behind: &str) -> Option<String> {
    let open = before.rfind('[')?;
    let (array, start) = (&before[..open], &before[open + 1..]);
    let close = behind.find(']')?;
    let inside = format!("{start}{}", &behind[..close]);
    let is_plain = |c: char| is_name(c) || matches!(c, ',' | ':' | ' ' | '-' | '+' | '.');
    if !is_indexed(array) || !inside.contains(',') || !inside.chars().all(is_plain) {
        return None;
    }
    let places = inside.split(',').map(|place| place_of(place.trim()));
    let places = places.collect::<Option<Vec<_>>>()?.join(", ");
    let name = Some(last_word(array)).filter(|name| !name.is_empty()).unwrap_or("t");
    Some(format!("the places of an index are a list: {name}[[{places}]]"))
}

/// A place of an axis: `:` is `all`, `1:3` is `1..3`.
fn place_of(place: &str) -> Option<String> {
    let ends: Vec<&str> = place.split(':').map(str::trim).collect();
    match ends[..] {
        [place] if !place.is_empty() => Some(place.into()),
        ["", ""] => Some("all".into()),
        [start, end] => Some(format!("{start}..{end}")),
        _ => None,
    }
}

/// How a call with `axis=0` is written.
pub(crate) fn along(code: &str) -> Option<String> {
    let at = code.find("axis")?;
    if is_indexed(&code[..at]) || !code[at + 4..].trim_start().starts_with(['=', ':']) {
        return None;
    }
    let has_axis =
        |row: &&'static Row| row.parameters.iter().any(|(name, _)| name.starts_with("ax"));
    let ours = |name: &str| {
        let other = python::over_lanes(name).or_else(|| python::word(name));
        let name = other.map_or(name, first_word);
        rows_of(name).find(has_axis)
    };
    let calls = code[..at].match_indices('(').map(|(open, _)| last_word(&code[..open]));
    let row = calls.rev().find_map(ours);
    // Of some something else comes first.
    let is_second =
        |row: &Row| row.parameters.get(1).is_some_and(|(name, _)| name.starts_with("ax"));
    Some(match row {
        Some(row) if !is_second(row) => {
            format!("arguments stand in order: {}{}", row.name, row.signature())
        }
        _ => {
            format!("an axis stands behind the array: {}(a, 0)", row.map_or("hsum", |row| row.name))
        }
    })
}

/// The function behind the name of a module: `inv` of `.linalg.inv(a)`.
pub(crate) fn qualified(behind: &str) -> Option<&str> {
    let path = behind.strip_prefix('.')?;
    let end = path.find(|c: char| !is_name(c) && c != '.').unwrap_or(path.len());
    path[..end].rsplit('.').next().filter(|name| !name.is_empty())
}

/// The texts of the arguments of a call, from its opening bracket on; those behind the line are missing.
pub(crate) fn arguments(call: &str) -> Vec<&str> {
    let Some(inside) = call.strip_prefix('(') else { return Vec::new() };
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                found.push(inside[start..at].trim());
                return found;
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_others_are_written_here() {
        for (before, behind, want) in [
            ("a[1", ", 2]", Some("a[[1, 2]]")),
            ("x + a[", ":, 1:3] * 2", Some("a[[all, 1..3]]")),
            ("f(a)[0, -1", ", :2]", Some("t[[0, -1, ..2]]")),
            ("a[", "1:2]", None),
            ("b = [1", ", 2]", None),
            ("a[f(1", ", 2)]", None),
            ("a[::2", ", 1]", None),
        ] {
            let got = index(before, behind);
            let want = want.map(|want| format!("the places of an index are a list: {want}"));
            assert_eq!(got, want, "{before}{behind}");
        }
    }

    #[test]
    fn matrices_of_others_are_recognised() {
        for (code, want) in [
            ("np.sum(f(a), axis=0)", "hsum"),
            ("a.max( axis : 1)", "hmax"),
            ("argsort(a, axis = 0)", "argsort"),
            ("f(a, axis = 0)", "hsum"),
        ] {
            let want = format!("an axis stands behind the array: {want}(a, 0)");
            assert_eq!(along(code), Some(want), "{code}");
        }
        assert_eq!(along("f(#{xaxis: 1})"), None);
        assert!(has_lists_in_lists("inv([[1, 2]])") && !has_lists_in_lists("a[[1, 2]]"));
        assert_eq!(qualified(".linalg.inv(a)"), Some("inv"));
        assert_eq!(qualified(" + 1"), None);
        assert_eq!(arguments("(a, f(b, c), [1, 2]) + 1"), ["a", "f(b, c)", "[1, 2]"]);
        let listed = |name, arguments| {
            let hint = listed(name, arguments)?;
            hint.strip_prefix("shapes and axes are lists: write ").map(String::from)
        };
        assert_eq!(listed("zeros", "i64"), None);
        assert_eq!(listed("zeros", "i64, i64").as_deref(), Some("zeros([2, 3])"));
        assert_eq!(listed("full", "i64, i64, f64"), None);
        assert_eq!(listed("full", "i64, i64, i64").as_deref(), Some("full([2, 3], value)"));
        assert_eq!(listed("reshape", "ArrayC, i64, i64").as_deref(), Some("reshape(t, [2, 3])"));
        assert_eq!(
            listed("transpose", "ArrayC, i64, i64").as_deref(),
            Some("transpose(t, [1, 0])")
        );
    }
}

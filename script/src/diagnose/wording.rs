//! Words of Rhai's messages in place of which people read ours.

use porcini_core::DType;
use porcini_core::tensor::ANY_TYPE;
use porcini_core::text_kernel::lane_type;
use porcini_core::value::Type;
use rhai::EvalAltResult;

use crate::language::words::is_name;
use crate::value::own_name;

/// What Rhai's messages call our arrays; its own lists are "array" there.
pub(crate) const ARRAY: &str = "ArrayC";

/// A text that begins with a small letter.
pub(crate) fn lowercase(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// The type of arrays that is meant by a name made of what others call lanes: `DoubleC`.
pub(super) fn array_type(name: &str) -> Option<&'static str> {
    let lanes = name.strip_suffix('C')?.to_lowercase();
    lane_type(&lanes).map(DType::script_name)
}

/// A type whose lanes are of one type, for a name that takes them from values: `Vector3fC` for `Vector3C`.
fn of_lane_type(name: &str) -> Option<String> {
    if name == ANY_TYPE {
        return Some("TensorXfC".into());
    }
    let mut types = Type::all();
    let is_of_any = types.any(|known| known.dtype.is_none() && known.name == name);
    is_of_any.then(|| format!("{}fC", name.trim_end_matches('C')))
}

/// Type names as people read them, in place of Rust paths.
pub(crate) fn friendly_types(text: &str) -> String {
    let text = whole_word(text, "array", "list").replace(ARRAY, "array");
    let mut text = own_types(&text).replace("alloc::string::String", "text");
    text = text.replace(SHARED, "a variable that a function has captured");
    text = whole_word(&text, "Fn", "function");
    for (rust, name) in [("i64", "integer"), ("f64", "float")] {
        text = text.replace(rust, name);
    }
    text
}

/// What Rhai calls variables that it shares with a closure, whatever they are.
const SHARED: &str = "alloc::rc::Rc<core::cell::RefCell<rhai::types::dynamic::Dynamic>>";

/// Where the paths of our types begin.
const CRATES: [&str; 2] = ["porcini_script::", "porcini_core::"];

/// Our types by the names that scripts know.
fn own_types(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = CRATES.iter().filter_map(|of| rest.find(of)).min() {
        let (before, path) = rest.split_at(at);
        let end = path.find(|c| !is_name(c) && c != ':').unwrap_or(path.len());
        let path = path[..end].trim_end_matches(':');
        out.push_str(before);
        out.push_str(own_name(path.rsplit("::").next().unwrap_or(path)));
        rest = &rest[at + path.len()..];
    }
    out + rest
}

/// Replaces a word where it stands alone, not inside a longer name.
fn whole_word(text: &str, word: &str, replacement: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let alone = !before.ends_with(is_name) && !after.starts_with(is_name);
        out.push_str(before);
        out.push_str(if alone { replacement } else { word });
        rest = after;
    }
    out + rest
}

/// Functions of Rhai whose errors do not name them, by what these begin with.
const UNNAMED: [(&str, &str); 3] = [
    ("error parsing integer", "parse_int"),
    ("invalid radix", "parse_int"),
    ("error parsing floating-point", "parse_float"),
];

/// Rhai's own text without its position.
pub(crate) fn plain_text(error: &EvalAltResult) -> String {
    if let EvalAltResult::ErrorModuleNotFound(name, _) = error
        && let Some(typed) = of_lane_type(name)
    {
        return format!("{name} takes its lanes from values and has no functions; {typed} has");
    }
    let mut text = error.to_string();
    if let Some(at) = text.rfind(" (line ") {
        text.truncate(at);
    }
    let text = lowercase(&friendly_types(&text));
    match UNNAMED.iter().find(|(start, _)| text.starts_with(start)) {
        Some((_, function)) => format!("{function}: {text}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The types that files of a folder register with Rhai.
    fn registered(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                registered(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let parts = text.split("register_type_with_name::<").skip(1);
                found.extend(parts.filter_map(|rest| Some(rest.split_once(">(")?.0.to_string())));
            }
        }
    }

    #[test]
    fn messages_name_no_types_of_rust() {
        let mut found = vec!["Outputs".to_string(), "All".to_string()];
        registered(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        found.retain(|name| name != "Self" && name.chars().all(is_name));
        assert!(found.iter().any(|name| name == "HandleRef"), "{found:?}");
        for name in found {
            let told =
                friendly_types(&format!("expected bool, got porcini_script::bind::{name}: no"));
            assert!(!told.contains(&name) && !told.contains("::"), "{told}");
        }
        let two =
            "porcini_script::value::ArrayRef [porcini_script::bind::engine_handles::HandleRef]";
        assert_eq!(friendly_types(two), "array [handle]");
    }
}

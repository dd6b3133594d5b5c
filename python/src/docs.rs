//! Help texts of Python, of those that core's tables have: examples in Python's words.

use std::borrow::Cow;

use crate::names::{as_python, name_of};

/// What scripts and Python call otherwise.
const WORDS: [(&str, &str); 7] = [
    ("true", "True"),
    ("false", "False"),
    ("inf", "pc.inf"),
    ("nan", "pc.nan"),
    ("pi", "pc.pi"),
    ("e", "pc.e"),
    ("all", "None"),
];

/// What no example in Python has: closures, ranges, maps, texts with values, declarations.
const UNKNOWN: [&str; 9] = ["|", "..", "#{", "`", "let ", "::new", "!", "; ", "()[ "];

/// The help text of a function: a heading for each form.
pub(crate) fn of_forms(
    name: &str,
    forms: Vec<(String, String)>,
    is_function: &dyn Fn(&str) -> bool,
) -> String {
    let mut out = String::new();
    for (parameters, doc) in forms {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(name);
        out.push_str(&parameters);
        out.push_str("\n\n");
        out.push_str(&of_text(&doc, is_function));
    }
    out
}

/// A help text of a script's function in Python's words.
fn of_text(doc: &str, is_function: &dyn Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let (mut is_left_out, mut last) = (false, String::new());
    for line in doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(example) = line.strip_prefix(">> ") {
            let translated = example_of(example, is_function);
            is_left_out = translated.is_none();
            if let Some(example) = translated {
                out.push_str(">>> ");
                out.push_str(&example);
                out.push('\n');
                last = example;
            }
        } else if !is_left_out || line.is_empty() {
            out.push_str(&shown(line, &last));
            out.push('\n');
        }
    }
    out.trim_end().to_string() + "\n"
}

/// A line of text, or of what an example shows, as Python shows it.
fn shown<'l>(line: &'l str, example: &str) -> Cow<'l, str> {
    match line {
        "true" => "True".into(),
        "false" => "False".into(),
        _ if example.ends_with(".shape") && line.starts_with('[') => {
            line.replace('[', "(").replace(']', ")").into()
        }
        // A tuple in Python, where it is an index.
        _ if example.starts_with("pc.nonzero(") => match line.strip_prefix('[') {
            Some(rest) => format!("({})", rest.strip_suffix(']').unwrap_or(rest)).into(),
            None => line.into(),
        },
        // A number of a function of numbers with a point has one, too.
        _ if line.parse::<i64>().is_ok() && !example.contains('[') && example.contains("5,") => {
            format!("{line}.0").into()
        }
        _ => as_python(line),
    }
}

/// A line of a script as one of Python, if it is one.
fn example_of(line: &str, is_function: &dyn Fn(&str) -> bool) -> Option<String> {
    if UNKNOWN.iter().any(|part| line.contains(part)) {
        return None;
    }
    let line = line.replace("::", ".");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), line.as_str());
    while let Some(start) = rest.find(is_word) {
        let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |n| start + n);
        let word = &rest[start..end];
        out.push_str(&rest[..start]);
        let (is_member, in_text) = (out.ends_with('.'), out.matches('"').count() % 2 == 1);
        let is_called = rest[end..].starts_with('(');
        let word = match WORDS.iter().find(|(script, _)| *script == word) {
            _ if in_text || is_member => word.to_string(),
            Some((_, python)) if !is_called => (*python).to_string(),
            _ if as_python(word) != word => format!("pc.{}", name_of(word)),
            _ if is_called && word == "not" => "pc.not_".into(),
            _ if is_called && is_function(word) => format!("pc.{word}"),
            _ => word.to_string(),
        };
        out.push_str(&word);
        rest = &rest[end..];
    }
    out.push_str(rest);
    Some(out)
}

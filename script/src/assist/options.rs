//! Options of functions, `#{title: "a"}`, as their help tells them.

use crate::bind::doc::FunctionDoc;
use crate::language::words::{first_word, is_name, last_word};

/// How many helps refer to each other at most.
const DEEPEST: usize = 3;

/// The function whose options begin, or go on, at the end of a text: that of `plot(x, #{`, and behind a comma there.
pub(super) fn function_at(before: &str) -> Option<&str> {
    let before = before.trim_end();
    let start = before.rfind("#{")?;
    let inside = &before[start + 2..];
    let goes_on = inside.is_empty() || inside.ends_with(',');
    if !goes_on || inside.contains(['{', '}']) || !is_whole(inside) {
        return None;
    }
    let ahead = before[..start].trim_end();
    let call = ahead.strip_suffix(',').or_else(|| ahead.strip_suffix('('))?;
    let open = if ahead.ends_with('(') { call.len() } else { unclosed(call)? };
    Some(last_word(&ahead[..open])).filter(|function| !function.is_empty())
}

/// Whether all brackets that begin in a text end there.
fn is_whole(text: &str) -> bool {
    ["()", "[]"].iter().all(|pair| {
        let [open, close] = [0, 1].map(|i| text.matches(&pair[i..=i]).count());
        open == close
    })
}

/// Where the last bracket of a call stands that nothing closes.
fn unclosed(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().rev().find_map(|(at, letter)| {
        match letter {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(at),
            '(' => depth -= 1,
            _ => {}
        }
        None
    })
}

/// The names of a function's options; those of another one where its help says that they are the same.
pub(super) fn options_of(docs: &[FunctionDoc], function: &str) -> Vec<String> {
    let mut found = Vec::new();
    add(docs, function, DEEPEST, &mut found);
    found
}

fn add(docs: &[FunctionDoc], function: &str, depth: usize, found: &mut Vec<String>) {
    for doc in docs.iter().filter(|doc| doc.name == function && depth > 0) {
        let examples = doc.examples.iter().map(|example| example.code.as_str());
        examples.chain([doc.doc.as_str()]).for_each(|text| found.extend(keys(text)));
        let other = doc.doc.strip_prefix("As ");
        let other = other.or_else(|| doc.doc.split_once("ptions as of ").map(|(_, rest)| rest));
        if let Some(other) = other.map(first_word).filter(|other| *other != function) {
            add(docs, other, depth - 1, found);
        }
    }
}

/// The keys of the maps that a text writes.
fn keys(text: &str) -> impl Iterator<Item = String> + '_ {
    let maps = text.split("#{").skip(1).filter_map(|map| map.split_once('}'));
    maps.flat_map(|(map, _)| {
        map.match_indices(": ").filter_map(|(at, _)| {
            let key = last_word(&map[..at]);
            let ahead = map[..at - key.len()].trim_end();
            let is_key = !key.is_empty() && (ahead.is_empty() || ahead.ends_with(','));
            is_key.then(|| key.to_string()).filter(|key| key.chars().all(is_name))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_in_maps_of_calls() {
        for (before, want) in [
            ("plot(x, #{", Some("plot")),
            ("y = plot(sin(x), cos(x), #{title: \"a\", ", Some("plot")),
            ("engine(#{", Some("engine")),
            ("plot(x, #{xlim: [0, 1], ", Some("plot")),
            ("plot(x, #{xlim: [0, ", None),
            ("plot(x, #{title: ", None),
            ("plot(x, #{title: \"a\"}, ", None),
            ("m = #{", None),
            ("f(a, ", None),
        ] {
            assert_eq!(function_at(before), want, "{before}");
        }
    }

    #[test]
    fn help_tells_options() {
        let text = "Options: #{title: \"speed\", labels: [\"a\", \"b\"] (a legend), points: true (no lines)}.";
        assert_eq!(keys(text).collect::<Vec<_>>(), ["title", "labels", "points"]);
    }
}

//! Options of functions, `#{title: "a"}`, as their help tells them.

use rhai::Token;

use crate::bind::doc::FunctionDoc;
use crate::language::lexer::{Lexeme, Lexer};
use crate::language::words::{first_word, is_name, last_word};

/// How many helps refer to each other at most.
const DEEPEST: usize = 3;
/// Last parameters that a map is given for.
const OF_MAPS: [&str; 4] = ["options", "description", "parts", "functions"];
/// A parameter that is a map of data.
const DATA: &str = "columns";

/// What is open at a place of a text.
#[derive(Default)]
struct Open<'t> {
    /// The function whose call it is.
    function: &'t str,
    is_map: bool,
    /// Commas so far.
    n: usize,
}

/// Takes note of the next token.
fn follow<'t>(open: &mut Vec<Open<'t>>, text: &'t str, lexeme: &Lexeme) {
    match lexeme.token {
        Token::LeftParen => {
            let function = last_word(text[..lexeme.start].trim_end());
            open.push(Open { function, ..Open::default() });
        }
        Token::MapStart => open.push(Open { is_map: true, ..Open::default() }),
        Token::LeftBrace | Token::LeftBracket | Token::QuestionBracket => {
            open.push(Open::default());
        }
        Token::RightParen | Token::RightBrace | Token::RightBracket => {
            open.pop();
        }
        Token::Comma => open.last_mut().into_iter().for_each(|last| last.n += 1),
        _ => {}
    }
}

/// The function whose options begin, or go on, at the end of a text: that of `plot(x, #{`, and behind a comma there.
pub(super) fn function_at(before: &str) -> Option<&str> {
    let (mut open, mut last) = (Vec::new(), None);
    for lexeme in Lexer::new(before, 0).filter(|lexeme| !lexeme.is_comment()) {
        follow(&mut open, before, &lexeme);
        last = Some(lexeme.token);
    }
    let [.., call, map] = &open[..] else { return None };
    let is_key = map.is_map && matches!(last, Some(Token::MapStart | Token::Comma));
    (is_key && !call.function.is_empty()).then_some(call.function)
}

/// The names of a function's options; those of another one where its help says that they are the same.
pub(super) fn options_of(docs: &[FunctionDoc], function: &str) -> Vec<String> {
    let mut found = Vec::new();
    add(docs, function, DEEPEST, &mut found);
    found
}

fn add(docs: &[FunctionDoc], function: &str, depth: usize, found: &mut Vec<String>) {
    for doc in docs.iter().filter(|doc| doc.name == function && depth > 0) {
        for example in &doc.examples {
            found.extend(keys_in_calls(doc, &example.code));
        }
        found.extend(keys(&doc.doc));
        let other = doc.doc.strip_prefix("As ");
        let other = other.or_else(|| doc.doc.split_once("ptions as of ").map(|(_, rest)| rest));
        if let Some(other) = other.map(first_word).filter(|other| *other != function) {
            add(docs, other, depth - 1, found);
        }
    }
}

/// The keys of the maps that calls of a function are given as options.
fn keys_in_calls(doc: &FunctionDoc, code: &str) -> Vec<String> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for lexeme in Lexer::new(code, 0) {
        if lexeme.token == Token::MapStart
            && let Some(Open { function, n, .. }) = open.last()
            && *function == doc.name
            && takes_options(&doc.parameters, *n)
        {
            found.extend(keys_of(&code[lexeme.start..]).0);
        }
        follow(&mut open, code, &lexeme);
    }
    found
}

/// Whether a map behind `n` arguments holds options: parameters between may be left out.
fn takes_options(parameters: &str, n: usize) -> bool {
    let names = parameters.trim_matches(['(', ')']).split(", ").collect::<Vec<_>>();
    let is_last = n + 1 == names.len();
    let is_between = n > 0 && names.get(n).is_some_and(|name| *name != DATA);
    names.last().is_some_and(|name| OF_MAPS.contains(name)) && (is_last || is_between)
}

/// The keys of the maps that a text has.
fn keys(text: &str) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find("#{") {
        let (keys, bytes) = keys_of(&text[at + start..]);
        found.extend(keys);
        at += start + bytes;
    }
    found
}

/// The keys of the map that a text begins with, and its bytes but for the last bracket.
fn keys_of(text: &str) -> (Vec<String>, usize) {
    let map: Vec<Lexeme> = Lexer::new(text, 0).take_while(|lexeme| lexeme.depth > 0).collect();
    let key = |three: &[Lexeme]| {
        let [before, key, colon] = three else { return None };
        let is_first = matches!(before.token, Token::MapStart | Token::Comma);
        let name = text[key.start..key.end].to_string();
        (before.depth == 1 && is_first && colon.token == Token::Colon).then_some(name)
    };
    let keys = map.windows(3).filter_map(key).filter(|key| key.chars().all(is_name)).collect();
    (keys, map.last().map_or(text.len(), |last| last.end))
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
            ("plot(\")\", #{", Some("plot")),
            ("plot(x, #{title: \"{\", ", Some("plot")),
            ("plot(x, #{labels: [\"a\", `(${n}`], // no bracket: (\n", Some("plot")),
            ("f(#{a: #{", None),
            ("m = #{", None),
            ("f(a, ", None),
        ] {
            assert_eq!(function_at(before), want, "{before}");
        }
    }

    #[test]
    fn help_tells_options() {
        let text = "Options: #{title: \"speed\", labels: [\"a\", \"b\"] (a legend), points: true (no lines)}.";
        assert_eq!(keys(text), ["title", "labels", "points"]);
        assert_eq!(keys("#{a: #{b: 1}, c: \"}, d: \"} and #{e: 1}"), ["a", "c", "e"]);
        for (parameters, n, want) in [
            ("(path, options)", 1, true),
            ("(path, arrays)", 1, false),
            ("(path, columns, options)", 1, false),
            ("(x, y, options)", 1, true),
            ("(x, options)", 0, false),
            ("(parts)", 0, true),
        ] {
            assert_eq!(takes_options(parameters, n), want, "{parameters}");
        }
    }
}

//! What a name at the cursor is: help of functions, state of variables, source of script functions.

use std::fmt::Write as _;

use porcini_core::Array;
use rhai::{Dynamic, Map, Token};

use crate::assist::commands::{COMMANDS, Command};
use crate::assist::completion::{open_text, path};
use crate::assist::help;
use crate::bind::doc::FunctionDoc;
use crate::interpreter::Interpreter;
use crate::language::cell::Cell;
use crate::language::lexer::Lexeme;
use crate::language::tokens::registered;
use crate::language::words::{first_word, is_name, last_word, n_lines};
use crate::show::markup::escaped;
use crate::show::visible::visible;
use crate::value::text_kernel::KernelRef;
use crate::value::{ArrayRef, describe, size_memory_state};

/// What is known about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// As plain text.
    pub text: String,
    /// As HTML.
    pub html: String,
}

impl Interpreter {
    /// What the name around byte `cursor` is, a member, a key or a command; in the arguments of a call, in place of a
    /// variable or of nothing, the function called. Evaluates nothing.
    pub fn inspect(&self, cell: &Cell, cursor: usize) -> Option<Inspection> {
        let text = cell.text();
        let cursor = text.get(..cursor).unwrap_or(text).len();
        let name = name_around(text, cursor);
        if let Some(command) = command_around(text, cursor) {
            return Some(self.plain(command.help()));
        }
        let member = self.inspect_member(text, cursor).or_else(|| self.inspect_key(cell, cursor));
        if (member.is_some() || self.scope.get(name).is_some())
            && let Some(function) = called(cell, cursor)
            && let Some(inspection) = self.inspect_name(function)
        {
            return Some(inspection);
        }
        let found = member.map(|member| self.plain(member)).or_else(|| self.inspect_name(name));
        found.or_else(|| self.inspect_name(called(cell, cursor)?))
    }

    /// The source of the function of the session whose name is around byte `cursor`.
    pub fn inspect_source(&self, cell: &Cell, cursor: usize) -> Option<Inspection> {
        let text = cell.text();
        let name = name_around(text, text.get(..cursor).unwrap_or(text).len());
        let source = if self.scope.contains(name) { None } else { self.source(name) };
        Some(self.plain(source?))
    }

    /// The component, or the value of a map, that a path of names around a byte leads to.
    fn inspect_member(&self, text: &str, at: usize) -> Option<String> {
        let name = first_word(&text[at..]);
        let path = path(&text[..at + name.len()]);
        let value = self.value_at(path).filter(|_| path.contains('.'))?;
        Some(format!("{path}: {}", details(&value)))
    }

    /// The value of `map["key"]` whose key is around a byte, or that ends there.
    fn inspect_key(&self, cell: &Cell, at: usize) -> Option<String> {
        let text = cell.text();
        let at = text[..at].strip_suffix("\"]").map_or(at, str::len);
        let (start, quote) = open_text(cell, at)?;
        let owner = text[..start - 1].trim_end().strip_suffix('[').filter(|_| quote == '"')?;
        let (key, _) = text[start..].split_once('"')?;
        let (owner, map) = (path(owner), self.value_at(path(owner))?);
        let value = map.read_lock::<Map>()?.get(key)?.clone();
        Some(format!("{owner}[\"{key}\"]: {}", details(&value)))
    }

    /// What a name is: a variable, a function of the session with the comment above it, or a name that has help.
    pub fn inspect_name(&self, name: &str) -> Option<Inspection> {
        if name.is_empty() {
            return None;
        }
        if let Some(value) = self.scope.get(name) {
            let text = match KernelRef::of(value) {
                Some(_) => help::of_function(value).trim_end().into(),
                None => format!("{name}: {}", details(value)),
            };
            return Some(self.plain(text));
        }
        if let Some(summary) = self.summary(name) {
            return Some(self.plain(summary));
        }
        let is_meant = |doc: &&FunctionDoc| {
            doc.name == name || doc.name.rsplit_once("::").is_some_and(|(_, last)| last == name)
        };
        let docs: Vec<&FunctionDoc> = self.functions().iter().filter(is_meant).collect();
        if docs.is_empty() {
            return None;
        }
        let window = self.context.host.window();
        let text: Vec<String> = docs.iter().map(|doc| help::page(doc, window)).collect();
        let html = docs.iter().map(|doc| page_html(doc)).collect();
        Some(Inspection { text: text.join("\n\n"), html })
    }

    /// What a script says of itself.
    fn plain(&self, text: String) -> Inspection {
        let text = if self.context.is_sandbox { visible(&text).into_owned() } else { text };
        Inspection { html: format!("<pre>{}</pre>", escaped(&text)), text }
    }

    /// Parameters of a function of the session, what the comment above it says, and where it was written; all of its
    /// forms.
    fn summary(&self, name: &str) -> Option<String> {
        let (cell, text) = self.cells.get(&registered(name))?;
        let forms = definitions(text, name).into_iter().map(|(line, source)| {
            let is_comment = |line: &&str| line.trim_start().starts_with("//");
            let comment = source.lines().take_while(is_comment);
            let comment: Vec<&str> =
                comment.map(|line| line.trim_start().trim_start_matches('/').trim()).collect();
            let head = source.lines().find(|line| !is_comment(line)).unwrap_or_default().trim();
            let head = head.trim_start_matches("private ").trim_start_matches("fn ");
            let title = head.find(')').map_or(head, |end| &head[..=end]);
            let about =
                if comment.is_empty() { String::new() } else { comment.join("\n") + "\n\n" };
            format!("{title}\n\n{about}defined at {cell}:{line}; ??{name} shows its source")
        });
        let forms: Vec<String> = forms.collect();
        if forms.is_empty() { self.source(name) } else { Some(forms.join("\n\n")) }
    }

    /// Where a function of the session was written, and how, with the comment above it; all of its forms.
    pub fn source(&self, name: &str) -> Option<String> {
        let (cell, text) = self.cells.get(&registered(name))?;
        let known: Vec<_> =
            self.definitions.iter_functions().filter(|f| f.name == registered(name)).collect();
        let mut sources = Vec::new();
        for (line, source) in definitions(text, name) {
            sources.push(format!("defined at {cell}:{line}\n\n{source}"));
        }
        if sources.is_empty() {
            let head = |f: &rhai::ScriptFnMetadata<'_>| format!("{name}({})", f.params.join(", "));
            sources.extend(known.iter().map(head));
        }
        (!sources.is_empty()).then(|| sources.join("\n\n"))
    }
}

/// Type, size, memory and state of a value.
fn details(value: &Dynamic) -> String {
    let Some(array) = value.read_lock::<ArrayRef>() else { return describe(value) };
    let [_, memory, state] = size_memory_state(&array);
    let label = array.leaves().first().and_then(Array::label);
    let label = label.map(|label| format!(", label \"{label}\"")).unwrap_or_default();
    format!("{}, {memory}, {state}{label}", describe(value))
}

fn page_html(doc: &FunctionDoc) -> String {
    let mut html = format!("<h4><code>{}</code></h4>", escaped(&doc.title()));
    for paragraph in doc.doc.split("\n\n") {
        let _ = write!(html, "<p>{}</p>", prose(paragraph));
    }
    if !doc.examples.is_empty() {
        let _ = write!(html, "<pre>{}</pre>", escaped(&doc.example_lines().join("\n")));
    }
    html
}

/// A text with what stands between backticks as code.
fn prose(text: &str) -> String {
    let text = escaped(text);
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return text;
    }
    let code = |(i, piece): (usize, &&str)| {
        if i % 2 == 1 { format!("<code>{piece}</code>") } else { (*piece).into() }
    };
    pieces.iter().enumerate().map(code).collect()
}

/// The name that byte `at` stands in or behind.
fn name_around(text: &str, at: usize) -> &str {
    let start = at - last_word(&text[..at]).len();
    first_word(&text[start..])
}

/// The command whose name byte `at` stands in or behind, with its signs.
fn command_around(text: &str, at: usize) -> Option<&'static Command> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].trim_start();
    let name = first_word(line.strip_prefix('%')?.trim_start_matches('%'));
    let is_near = text[start..at].trim().trim_start_matches('%').chars().all(is_name);
    COMMANDS.iter().find(|known| is_near && known.name == name)
}

/// The function in whose arguments a byte stands.
fn called(cell: &Cell, byte: usize) -> Option<&str> {
    let n = cell.lexemes().partition_point(|lexeme| lexeme.end <= byte);
    let before = &cell.lexemes()[..n];
    let mut closed = 0;
    let open = before.iter().rposition(|lexeme| {
        match lexeme.token {
            Token::RightParen => closed += 1,
            Token::LeftParen => closed -= 1,
            _ => {}
        }
        closed < 0
    })?;
    let name = &before[open.checked_sub(1)?];
    Some(&cell.text()[name.start..name.end])
}

/// First line and text of every definition of a function, with the comment lines above.
fn definitions(text: &str, name: &str) -> Vec<(usize, String)> {
    let cell = Cell::typed(text);
    let text = cell.text();
    let lexemes = cell.lexemes();
    let is_head = |i: &usize| {
        let next = lexemes.get(i + 1);
        lexemes[*i].token == Token::Fn
            && next.is_some_and(|next| &text[next.start..next.end] == name)
    };
    let lines = |from: usize, to: usize| n_lines(&text[from..to]);
    let mut found = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for head in (0..lexemes.len()).filter(is_head) {
        line += lines(counted, lexemes[head].start);
        counted = lexemes[head].start;
        let start = start_with_comments(text, lexemes, head);
        let end = end_of_function(lexemes, head).unwrap_or(text.len());
        found.push((line, text[start..end].into()));
    }
    found
}

/// Where the comment lines above a function start, or its own line; itself, behind others on its line.
fn start_with_comments(text: &str, lexemes: &[Lexeme], head: usize) -> usize {
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let is_private = head > 0 && lexemes[head - 1].token == Token::Private;
    let first = lexemes[if is_private { head - 1 } else { head }].start;
    let own = line_start(first);
    if !text[own..first].trim().is_empty() {
        return first;
    }
    let mut start = own;
    for comment in lexemes[..head].iter().rev().skip_while(|lexeme| lexeme.start >= own) {
        let line = line_start(comment.start);
        let is_above = text[comment.end..start].trim_matches([' ', '\t', '\r']) == "\n";
        if !comment.is_comment() || !is_above || !text[line..comment.start].trim().is_empty() {
            break;
        }
        start = line;
    }
    start
}

/// Where the function that starts with a token ends.
fn end_of_function(lexemes: &[Lexeme], head: usize) -> Option<usize> {
    // Behind `fn` as much is open as behind its last brace.
    let depth = lexemes[head].depth;
    let is_end = |l: &&Lexeme| l.token == Token::RightBrace && l.depth == depth;
    Some(lexemes[head..].iter().find(is_end)?.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_cut_out_of_their_cell() {
        let text = "let a = 1;\n// Twice.\n// Really.\nfn f(x) {\n    2 * x\n}\nfn fg(x) { x }";
        assert_eq!(definitions(text, "f"), [(4, text[11..54].trim_end().to_string())]);
        assert_eq!(definitions(text, "fg"), [(7, "fn fg(x) { x }".to_string())]);
        assert!(definitions(text, "g").is_empty());
        let text = "let a = 1; private fn f(x) { x } fn g(x) { 2 }";
        assert_eq!(definitions(text, "f"), [(1, "private fn f(x) { x }".to_string())]);
        assert_eq!(definitions(text, "g"), [(1, "fn g(x) { 2 }".to_string())]);
    }

    #[test]
    fn backticks_mark_code() {
        assert_eq!(prose("`a < b` or `c`"), "<code>a &lt; b</code> or <code>c</code>");
        assert_eq!(prose("one ` alone"), "one ` alone");
    }

    #[test]
    fn commands_are_found_by_their_names() {
        let found = |text: &str, at| command_around(text, at).map(|command| command.name);
        assert_eq!(found("a\n%time f(x)", 5), Some("time"));
        assert_eq!(found("%%timeit\nf(x)", 8), Some("timeit"));
        assert_eq!(found("%time f(x)", 7), None);
        assert_eq!(found("7 %time", 5), None);
    }

    #[test]
    fn names_and_calls_are_found() {
        assert_eq!(name_around("a + sin(x)", 5), "sin");
        assert_eq!(name_around("a + sin(x)", 7), "sin");
        let called = |text: &str| called(&Cell::typed(text), text.len()).map(str::to_string);
        assert_eq!(called("sin(cos(1) + ").as_deref(), Some("sin"));
        assert_eq!(called("f(\")\", ").as_deref(), Some("f"));
        assert_eq!(called("sin(1)"), None);
    }
}

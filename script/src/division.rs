//! `7 // 2` is an integer division in Python; here `//` begins a comment. Who types it at a prompt is told.

use rhai::Dynamic;

use crate::interpreter::Interpreter;
use crate::scan::line_comments;

impl Interpreter {
    /// What to tell of a cell that ran and gave the text `shown`, if a comment in it reads as a divisor: behind a value
    /// stand numbers and names that are known. A comment that says what the value is, is a comment.
    pub(crate) fn note_on_division(&self, cell: &str, shown: Option<&str>) -> Option<String> {
        line_comments(cell).into_iter().find_map(|(start, end)| {
            let before = cell[..start].rsplit('\n').next().unwrap_or_default().trim();
            let divisor = cell[start + 2..end].trim().trim_end_matches(';');
            let is_value = before.ends_with(|c: char| c.is_alphanumeric() || "_)].".contains(c));
            if !is_value || !self.is_operand(divisor) || shown == Some(divisor) {
                return None;
            }
            let (target, dividend) = assignment(before);
            let is_result = |value: &Dynamic| value.is::<i64>() && value.to_string() == divisor;
            if target.and_then(|name| self.scope.get(name)).is_some_and(is_result) {
                return None;
            }
            let is_word = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
            let [a, b] =
                if is_word(dividend) && is_word(divisor) { [dividend, divisor] } else { ["a", "b"] };
            Some(format!(
                "note: // begins a comment, here // {divisor}; for integer division write idiv({a}, {b})"
            ))
        })
    }

    /// Whether a text is an expression of numbers and names that are known.
    fn is_operand(&self, text: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let known = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit())
                || self.scope.contains(word)
                || self.docs.iter().any(|doc| doc.is_function() && doc.name == word)
        };
        let mut words = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).peekable();
        words.peek().is_some()
            && text.chars().all(|c| is_part(c) || " .+-*/%()[],".contains(c))
            && words.all(known)
            && self.engine.compile_expression(text).is_ok()
    }
}

/// The name that a line assigns to, and what it assigns.
fn assignment(line: &str) -> (Option<&str>, &str) {
    let line = line.strip_prefix("let ").unwrap_or(line);
    match line.split_once('=') {
        Some((name, value)) => (Some(name.trim()), value.trim()),
        None => (None, line),
    }
}
